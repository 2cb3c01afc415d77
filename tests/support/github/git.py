"""Git on the server's side: the bare repository, seen as GitHub's own processes see it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ZERO = "0" * 40
CONFIG = """\
[http]
\treceivepack = true
[receive]
\thideRefs = refs/pull
\tautogc = false
\tadvertisePushOptions = true
[transfer]
\thideRefs = refs/forks
[uploadpack]
\tallowAnySHA1InWant = true
\tallowFilter = true
[gc]
\tauto = 0
[core]
\tlogAllRefUpdates = false
\tfsync = none
"""


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """Nothing of the machine's configuration, nor of a surrounding git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {"LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
    return {**kept, **fixed, **(more or {})}


class GitFailed(Exception):
    """The server's own git could not do what it should always be able to."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """A name in a commit."""

    name: str
    email: str
    at: int

    @property
    def iso(self) -> str:
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def variables(self, role: str) -> dict[str, str]:
        return {f"GIT_{role}_NAME": self.name, f"GIT_{role}_EMAIL": self.email, f"GIT_{role}_DATE": f"@{self.at} +0000"}


@dataclass(frozen=True, kw_only=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str
    signed: bool


class BareGit:
    """The bare repository. Every method is one git process, but for commits, which never change and are kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._commits: dict[str, Commit] = {}

    def create(self, default: str, *, hidden: bool = True) -> None:
        made = ["git", "init", "--quiet", "--bare", "--template=", f"--initial-branch={default}", str(self.path)]
        subprocess.run(made, env=environment(), check=True, capture_output=True)
        with (self.path / "config").open("a", encoding="utf-8") as file:
            file.write(CONFIG if hidden else CONFIG.replace("\thideRefs = refs/pull\n", ""))
        (self.path / "hooks").mkdir(exist_ok=True)

    def raw(self, *arguments: str, stdin: bytes | None = None, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *arguments], cwd=self.path, env=environment(env), input=stdin, capture_output=True, check=False
        )

    def run(self, *arguments: str, stdin: bytes | None = None, env: dict[str, str] | None = None) -> str:
        done = self.raw(*arguments, stdin=stdin, env=env)
        if done.returncode != 0:
            raise GitFailed(f"git {' '.join(arguments)}: {done.stderr.decode('utf-8', 'replace')}")
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def ok(self, *arguments: str) -> bool:
        return self.raw(*arguments).returncode == 0

    def lines(self, *arguments: str) -> list[str]:
        return self.run(*arguments).splitlines()

    def resolved(self, name: str, kind: str = "commit") -> str:
        """The full id of a ref or an abbreviated id; empty when there is none."""
        if name.startswith("-"):
            return ""
        done = self.raw("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{{kind}}}")
        return done.stdout.decode().strip() if done.returncode == 0 else ""

    def branch(self, name: str) -> str:
        return self.resolved(f"refs/heads/{name}")

    def refs(self, *patterns: str) -> dict[str, str]:
        rows = self.lines("for-each-ref", "--format=%(refname) %(objectname)", *patterns)
        return dict(row.split(" ", 1) for row in rows)

    def update(self, ref: str, new: str, old: str = "") -> bool:
        """Moves a ref if it still is at ``old`` (``ZERO``: if there is none); False when somebody was faster."""
        if new == ZERO:
            return self.ok("update-ref", "-d", ref, *((old,) if old else ()))
        return self.ok("update-ref", ref, new, *((old,) if old else ()))

    def is_ancestor(self, one: str, other: str) -> bool:
        return self.ok("merge-base", "--is-ancestor", one, other)

    def base_of(self, one: str, other: str) -> str:
        done = self.raw("merge-base", one, other)
        return done.stdout.decode().strip()

    def between(self, since: str, until: str, *options: str) -> list[str]:
        """The commits of ``until`` that ``since`` lacks, oldest first."""
        excluded = () if since == ZERO else (f"^{since}",)
        return self.lines("rev-list", "--reverse", "--topo-order", *options, until, *excluded)

    def merged_tree(self, ours: str, theirs: str) -> str:
        """The tree of a clean merge; empty when the two conflict or have nothing in common."""
        done = self.raw("merge-tree", "--write-tree", "--no-messages", ours, theirs)
        return done.stdout.decode().split("\n")[0] if done.returncode == 0 else ""

    def committed(self, tree: str, parents: tuple[str, ...], message: str, author: Person, committer: Person) -> str:
        given = [option for parent in parents for option in ("-p", parent)]
        env = author.variables("AUTHOR") | committer.variables("COMMITTER")
        return self.run("commit-tree", tree, *given, stdin=message.encode("utf-8", "surrogateescape"), env=env)

    def tree_with(self, commit: str, files: Mapping[str, bytes | str | None], *, blobs: bool = False) -> str:
        """The tree of a commit (empty: none) with some files written, or removed where the value is None."""
        rows = []
        for name, data in files.items():
            if data is None:
                rows.append(f"0 {ZERO}\t{name}\n")
                continue
            given = data.encode("utf-8") if isinstance(data, str) else data
            sha = given.decode() if blobs else self.run("hash-object", "-w", "--stdin", stdin=given)
            rows.append(f"100644 {sha}\t{name}\n")
        with tempfile.TemporaryDirectory(dir=self.path) as folder:
            env = {"GIT_INDEX_FILE": f"{folder}/index"}
            self.run("read-tree", commit or "--empty", env=env)
            self.run("update-index", "--index-info", stdin="".join(rows).encode("utf-8"), env=env)
            return self.run("write-tree", env=env)

    def commit(self, sha: str) -> Commit:
        if sha not in self._commits:
            self._commits[sha] = parsed(sha, self.run("cat-file", "commit", sha))
        return self._commits[sha]


def parsed(sha: str, text: str) -> Commit:
    head, _, message = text.partition("\n\n")
    fields: dict[str, list[str]] = {}
    for line in head.splitlines():
        name, _, value = line.partition(" ")
        fields.setdefault(name, []).append(value)
    return Commit(
        sha=sha, tree=fields["tree"][0], parents=tuple(fields.get("parent", ())), author=_person(fields["author"][0]),
        committer=_person(fields["committer"][0]), message=message.rstrip("\n"), signed="gpgsig" in fields,
    )  # fmt: skip


def _person(text: str) -> Person:
    named, _, when = text.rpartition("> ")
    name, _, email = named.partition(" <")
    return Person(name=name, email=email, at=int(when.split(" ")[0]))
