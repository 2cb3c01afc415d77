"""Git on the server's side: the bare repository, seen as GitHub's own processes see it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.github.objects import ZERO, Commit, GitFailed, Objects, Person, environment

__all__ = ["ZERO", "BareGit", "Commit", "GitFailed", "Person", "environment"]

CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = true
\tlogAllRefUpdates = false
\tfsync = none
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
"""
LOOSE = ("refs/heads/", "refs/pull/", "refs/forks/")
SHA = re.compile(r"[0-9a-f]{40}")


class BareGit(Objects):
    """The bare repository. What is asked of full ids can never change, and is asked of git once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._bases: dict[tuple[str, str], str] = {}
        self._between: dict[tuple[str, ...], list[str]] = {}
        self._merged: dict[tuple[str, str], str] = {}

    def create(self, default: str, *, shown: Sequence[str] = ()) -> None:
        """``shown``: refs that are not hidden from clients, though GitHub hides them."""
        for folder in ("hooks", "objects/info", "objects/pack", "refs/heads", "refs/tags"):
            (self.path / folder).mkdir(parents=True)
        (self.path / "HEAD").write_text(f"ref: refs/heads/{default}\n", encoding="utf-8")
        lines = [
            line for line in CONFIG.splitlines(keepends=True) if line.strip() not in [f"hideRefs = {one}" for one in shown]
        ]
        (self.path / "config").write_text("".join(lines), encoding="utf-8")

    def raw(
        self, *arguments: str, stdin: bytes | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
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

    # --- names --------------------------------------------------------------------------------------------------------------

    def resolved(self, name: str, kind: str = "commit") -> str:
        """The full id of a ref or an abbreviated id; empty when there is none."""
        if not name or name.startswith("-"):
            return ""
        if kind == "commit" and (name in self._commits or self._loose(name)):
            return self._loose(name) or name
        if name.startswith(LOOSE) and not re.search(r"[~^:@]", name) and not (self.path / "packed-refs").exists():
            return ""
        done = self.raw("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{{kind}}}")
        return done.stdout.decode().strip() if done.returncode == 0 else ""

    def _loose(self, ref: str) -> str:
        """A branch or request that has a file of its own, as every ref has that was moved since the last packing."""
        if not ref.startswith(LOOSE) or ".." in ref:
            return ""
        try:
            text = (self.path / ref).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""
        return text if SHA.fullmatch(text) else ""

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

    def point(self, ref: str, sha: str) -> None:
        """Sets a ref that the server alone writes (``refs/pull``); ``ZERO`` removes it."""
        assert ref.startswith("refs/pull/")
        place = self.path / ref
        if sha == ZERO:
            place.unlink(missing_ok=True)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name}.part.lock")
        part.write_text(f"{sha}\n", encoding="ascii")
        part.replace(place)

    # --- histories ----------------------------------------------------------------------------------------------------------

    def base_of(self, one: str, other: str) -> str:
        """The best common ancestor of two full ids; empty when there is none."""
        if (one, other) not in self._bases:
            self._bases[one, other] = self.raw("merge-base", one, other).stdout.decode().split("\n")[0]
        return self._bases[one, other]

    def between(self, since: str, until: str, *options: str) -> list[str]:
        """The commits of ``until`` that ``since`` lacks, oldest first; both are full ids."""
        key = (since, until, *options)
        if key not in self._between:
            excluded = () if since == ZERO else (f"^{since}",)
            self._between[key] = self.lines("rev-list", "--reverse", "--topo-order", *options, until, *excluded)
        return list(self._between[key])

    def merged_tree(self, ours: str, theirs: str) -> str:
        """The tree of a clean merge; empty when the two conflict or have nothing in common."""
        if (ours, theirs) not in self._merged:
            if self.is_ancestor(ours, theirs):
                self._merged[ours, theirs] = self.commit(theirs).tree
            elif self.is_ancestor(theirs, ours):
                self._merged[ours, theirs] = self.commit(ours).tree
            else:
                done = self.raw("merge-tree", "--write-tree", "--no-messages", ours, theirs)
                self._merged[ours, theirs] = done.stdout.decode().split("\n")[0] if done.returncode == 0 else ""
        return self._merged[ours, theirs]
