"""Everything that leaves a machine which runs publisher, collected piece by piece while a story goes on.

A piece has an outlet, a name and bytes. Names count too: a path or a branch is searched like what it holds. What people push
themselves (drafts, the queue) is not publisher's outlet; everything that a command adds to a remote is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.privacy.sentinels import MARK, find
from tests.support.gitrepos import script_at
from tests.support.instance import Instance
from tests.support.scene import Done, at

OUTLETS = (
    "release", "target", "site branch", "pushed files", "pushed commits", "refs", "stdout", "stderr", "step summary",
    "step output", "messages", "alerts", "mail", "public web", "child arguments", "child environment", "temporary files",
    "clone", "pull requests", "issues", "statuses", "host requests",
)  # fmt: skip
NAMED = frozenset({"release", "target", "site branch", "temporary files", "clone"})
"""Outlets whose pieces' names are paths."""
PROGRAMS = ("git", "ssh-keygen")
CLONE_FILES = ("logs", "FETCH_HEAD", "HEAD", "ORIG_HEAD", "config", "packed-refs", "info", "publisher", "worktrees", "hooks")


@dataclass(frozen=True, kw_only=True)
class Piece:
    outlet: str
    name: str
    data: bytes

    def traces(self, mark: str = MARK) -> set[str]:
        """A file's or a branch's name is public with it; a command's is what somebody typed."""
        named = find(self.name.encode(), mark) if self.outlet in NAMED else set()
        return find(self.data, mark) | {f"name: {trace}" for trace in named}


@dataclass
class Watch:
    """Runs commands on an instance and keeps what each of them lets out. ``own`` is a folder for this watch's own files."""

    instance: Instance
    own: Path
    repositories: tuple[Path, ...] = ()
    """Bare repositories that commands may push to."""
    pieces: list[Piece] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    _known: dict[Path, set[str]] = field(default_factory=dict)
    _seen: set[tuple[str, bytes]] = field(default_factory=set)
    _lines: set[tuple[str, bytes]] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name in ("tmp", "bin", "out"):
            (self.own / name).mkdir(parents=True)
        for program in PROGRAMS:
            real = shutil.which(program)
            log = self.own / "out"
            # Words of the shell itself, no process of its own: this is done a hundred times for one publication.
            record = f"printf '%s\\n' \"$@\" >> '{log}/argv'; export -p >> '{log}/environ'"
            script_at(self.own / "bin" / program, f'{record}\nexec {real} "$@"')
        self.instance.environment |= {
            "TMPDIR": str(self.own / "tmp"), "PATH": f"{self.own / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(self.own / "out" / "summary"), "GITHUB_OUTPUT": str(self.own / "out" / "output"),
        }  # fmt: skip

    # --- commands ---------------------------------------------------------------------------------------------------------

    def do(self, who: str, *argv: str, now: str, check: int | None = None, actions: bool = False, **driver: str) -> Done:
        """A command; everything that it printed, pushed and left behind becomes pieces."""
        before = {path: self._objects(path) for path in self.repositories}
        environment = dict(self.instance.environment)
        if actions:
            self.instance.environment |= {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "4711"}
        try:
            done = self.instance.driven(who, *argv, now=at(now), check=check, **driver)
        finally:
            self.instance.environment = environment
        name = " ".join(argv)
        self.commands.append(name)
        self.add("stdout", name, done.stdout.encode())
        self.add("stderr", name, done.stderr.encode())
        for path, known in before.items():
            self._add_pushed(path, name, self._objects(path) - known)
        self._add_left_behind(name, killed=done.returncode < 0)
        return Done(done.returncode, done.stdout, done.stderr)

    def add(self, outlet: str, name: str, data: bytes) -> None:
        assert outlet in OUTLETS, outlet
        if data and (outlet, data) not in self._seen:
            self._seen.add((outlet, data))
            self.pieces.append(Piece(outlet=outlet, name=name, data=data))

    # --- what is collected --------------------------------------------------------------------------------------------------

    @staticmethod
    def _objects(repository: Path) -> set[str]:
        """All objects of a repository, reachable or not."""
        listing = ["git", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]
        return set(subprocess.run(listing, cwd=repository, capture_output=True, check=True).stdout.decode().split())

    def _add_pushed(self, repository: Path, name: str, oids: Iterable[str]) -> None:
        for kind, data in objects_of(repository, sorted(oids)):
            self.add("pushed commits" if kind in ("commit", "tag") else "pushed files", f"{repository.name}: {name}", data)

    def _add_left_behind(self, name: str, *, killed: bool) -> None:
        folder = self.own / "tmp"
        for path in sorted(folder.rglob("*")):
            where = path.relative_to(folder).as_posix()
            self.add("temporary files", where, (path.read_bytes() if path.is_file() else b"") + b"\n" + where.encode())
        if killed:
            shutil.rmtree(folder)
            folder.mkdir()
        for file, outlet in (("argv", "child arguments"), ("environ", "child environment"), ("summary", "step summary"),
                             ("output", "step output")):  # fmt: skip
            path = self.own / "out" / file
            if path.exists():
                lines = path.read_bytes().splitlines(keepends=True)
                self.add(outlet, name, b"".join(line for line in dict.fromkeys(lines) if self._is_new(outlet, line)))
                path.unlink()

    def _is_new(self, outlet: str, line: bytes) -> bool:
        if (outlet, line) in self._lines:
            return False
        self._lines.add((outlet, line))
        return True

    def collect(self, clones: Iterable[str] = ()) -> None:
        """What stands somewhere by now: the target, branches, messages, and the clones' own files."""
        folder = self.instance.folder
        for place in ("public", "staging"):
            for path, data in files_below(folder / place):
                self.add("target", f"{place}/{path}", data)
        for path, data in files_below(folder / "public" / "current"):
            self.add("release", path, data)
        for repository in self.repositories:
            refs = subprocess.run(
                ["git", "for-each-ref", "--format=%(refname) %(objectname)"], cwd=repository, capture_output=True, check=True
            )
            self.add("refs", repository.name, refs.stdout)
            for branch in ("pages", "gh-pages"):
                self._add_branch(repository, f"refs/heads/{branch}")
        for name, outlet in (("post.jsonl", "messages"), ("alerts.jsonl", "alerts")):
            path = folder / name
            if path.exists():
                self.add(outlet, name, path.read_bytes())
        for who in clones:
            self._add_clone(who)

    def _add_branch(self, repository: Path, ref: str) -> None:
        """Every object that a reader of the branch can fetch."""
        listed = subprocess.run(["git", "rev-list", "--objects", ref], cwd=repository, capture_output=True)
        if listed.returncode == 0:
            oids = [line.split(b" ")[0].decode() for line in listed.stdout.splitlines()]
            for kind, data in objects_of(repository, oids):
                self.add("site branch", f"{repository.name}: {kind}", data)

    def _add_clone(self, who: str) -> None:
        """A clone's own notes; its objects hold the drafts, which are its to read."""
        folder = self.instance.clone(who).path
        for name in CLONE_FILES:
            place = folder / ".git" / name
            for path, data in files_below(place) if place.is_dir() else [("", place.read_bytes())] if place.exists() else []:
                self.add("clone", f"{who}: {name}/{path}", data)
        untracked = subprocess.run(["git", "ls-files", "--others"], cwd=folder, capture_output=True, check=True).stdout.decode()
        self.add("clone", f"{who}: files beside the tracked ones", untracked.encode())

    def forget(self) -> None:
        """Begins anew."""
        for seen in (self.pieces, self._seen, self._lines):
            seen.clear()

    # --- judging ------------------------------------------------------------------------------------------------------------

    def traces(self, mark: str = MARK) -> dict[str, set[str]]:
        """By ``outlet: name`` what was found; empty where nothing private left."""
        return {f"{piece.outlet}: {piece.name}": found for piece in self.pieces if (found := piece.traces(mark))}

    def outlets(self) -> set[str]:
        return {piece.outlet for piece in self.pieces}


def objects_of(repository: Path, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """(kind, content) of objects."""
    done = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=repository, input="".join(f"{oid}\n" for oid in oids).encode(), capture_output=True,
        check=True,
    )  # fmt: skip
    rest = done.stdout
    while rest:
        head, _, rest = rest.partition(b"\n")
        _, kind, size = head.split(b" ")
        yield kind.decode(), rest[: int(size)]
        rest = rest[int(size) + 1 :]


def files_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    root = folder.resolve()
    for path in sorted(root.rglob("*")) if root.is_dir() else ():
        if path.is_file():
            yield path.relative_to(root).as_posix(), path.read_bytes()


def text_of(value: Any) -> bytes:
    """Everything that a document says, as bytes to be searched."""
    if isinstance(value, Mapping):
        return b"\n".join(text_of(part) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple)):
        return b"\n".join(text_of(part) for part in value)
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
