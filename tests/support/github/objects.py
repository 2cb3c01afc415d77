"""Git's objects, read and written without a git process where that is easy: loose ones, which are nearly all that a test makes.

Commits never change, so what is read once is kept. Git itself judges what is written here as soon as somebody fetches it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ZERO = "0" * 40
FILE, FOLDER = "100644", "40000"
Entries = dict[str, tuple[str, str]]
"""What a tree holds: name → (mode, id)."""


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

    def __str__(self) -> str:
        return f"{self.name} <{self.email}> {self.at} +0000"


@dataclass(frozen=True, kw_only=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str
    signed: bool


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """Nothing of the machine's configuration, nor of a surrounding git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {"LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
    return {**kept, **fixed, **(more or {})}


class Objects:
    """The object store of a bare repository."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._commits: dict[str, Commit] = {}
        self._trees: dict[str, Entries] = {}

    def _place(self, sha: str) -> Path:
        return self.path / "objects" / sha[:2] / sha[2:]

    def read(self, kind: str, sha: str) -> bytes:
        try:
            head, _, data = zlib.decompress(self._place(sha).read_bytes()).partition(b"\0")
        except FileNotFoundError:  # packed, or not there
            done = subprocess.run(
                ["git", "cat-file", kind, sha], cwd=self.path, env=environment(), capture_output=True, check=False
            )  # fmt: skip
            if done.returncode != 0:
                raise GitFailed(f"no {kind} {sha}") from None
            return done.stdout
        if head.split(b" ")[0] != kind.encode():
            raise GitFailed(f"{sha} is no {kind}")
        return data

    def write(self, kind: str, data: bytes) -> str:
        whole = b"%s %d\0%s" % (kind.encode(), len(data), data)
        sha = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        place = self._place(sha)
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            part = place.with_name(f"{place.name}.{os.getpid()}.{id(whole)}")
            part.write_bytes(zlib.compress(whole, 1))
            part.replace(place)
        return sha

    # --- commits ------------------------------------------------------------------------------------------------------------

    def commit(self, sha: str) -> Commit:
        if sha not in self._commits:
            self._commits[sha] = parsed(sha, self.read("commit", sha).decode("utf-8", "surrogateescape"))
        return self._commits[sha]

    def committed(self, tree: str, parents: tuple[str, ...], message: str, author: Person, committer: Person) -> str:
        lines = [
            f"tree {tree}",
            *(f"parent {one}" for one in parents),
            f"author {author}",
            f"committer {committer}",
            "",
            message,
        ]
        return self.write("commit", "\n".join(lines).encode("utf-8", "surrogateescape"))

    def is_ancestor(self, one: str, other: str) -> bool:
        """Whether ``other`` is ``one`` or has it in its history; both are full ids."""
        seen, left = {other}, [other]
        while left:
            sha = left.pop()
            if sha == one:
                return True
            fresh = [parent for parent in self.commit(sha).parents if parent not in seen]
            seen.update(fresh)
            left += fresh
        return False

    # --- trees --------------------------------------------------------------------------------------------------------------

    def tree(self, sha: str) -> Entries:
        if sha not in self._trees:
            found: Entries = {}
            rest = self.read("tree", sha)
            while rest:
                head, _, rest = rest.partition(b"\0")
                mode, _, name = head.partition(b" ")
                found[name.decode("utf-8", "surrogateescape")] = (mode.decode(), rest[:20].hex())
                rest = rest[20:]
            self._trees[sha] = found
        return self._trees[sha]

    def entry(self, tree: str, path: str) -> tuple[str, str] | None:
        """(mode, id) of a path, or None."""
        first, _, rest = path.partition("/")
        found = self.tree(tree).get(first)
        if not rest or found is None:
            return found
        return self.entry(found[1], rest) if found[0] == FOLDER else None

    def written_tree(self, entries: Entries) -> str:
        def order(name: str) -> bytes:  # git sorts a folder as if its name ended with a slash
            return (name + ("/" if entries[name][0] == FOLDER else "")).encode("utf-8", "surrogateescape")

        rows = [
            f"{entries[name][0]} {name}".encode("utf-8", "surrogateescape") + b"\0" + bytes.fromhex(entries[name][1])
            for name in sorted(entries, key=order)
        ]
        return self.write("tree", b"".join(rows))

    def tree_with(self, commit: str, files: Mapping[str, bytes | str | None], *, blobs: bool = False) -> str:
        """The tree of a commit (empty: none) with some files written, or removed where the value is None.

        ``blobs``: the values are ids of blobs.
        """
        ids: dict[str, str | None] = {}
        for name, data in files.items():
            given = data.encode("utf-8") if isinstance(data, str) else data
            ids[name] = None if given is None else given.decode() if blobs else self.write("blob", given)
        return self._with(self.commit(commit).tree if commit else "", ids) or self.written_tree({})

    def _with(self, tree: str, files: Mapping[str, str | None]) -> str:
        """The id of the changed tree; empty when nothing is left in it."""
        entries = dict(self.tree(tree)) if tree else {}
        below: dict[str, dict[str, str | None]] = {}
        for name, blob in files.items():
            first, _, rest = name.partition("/")
            if rest:
                below.setdefault(first, {})[rest] = blob
            elif blob is None:
                entries.pop(first, None)
            else:
                entries[first] = (FILE, blob)
        for name, inner in below.items():
            old = entries.get(name, ("", ""))
            made = self._with(old[1] if old[0] == FOLDER else "", inner)
            if made:
                entries[name] = (FOLDER, made)
            elif old[0] == FOLDER:
                entries.pop(name)
        return self.written_tree(entries) if entries else ""


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
