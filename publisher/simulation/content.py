"""Content of the model: everything that has an id made of its own bytes, shared by all histories of one process.

Rules:
* a commit, a text and a set of public files are interned: the same content has the same id in every history, so that what a run
  does after reading it can be remembered;
* nothing here is ever changed or removed while a history runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from publisher.domain.approval import Verdict
from publisher.domain.fingerprint import digest, tree_digest
from publisher.domain.gates import GateFile
from publisher.domain.ledger_events import Event
from publisher.domain.plan import Plan

HOME = "index.html"


def oid_of(*parts: object) -> str:
    """An id with the form of git's, from whatever is named."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class StateCommit:
    """A commit of the state branch: the whole ledger at it, and what it added."""

    oid: str
    parent: str
    depth: int
    events: Mapping[str, tuple[Event, ...]]
    files: Mapping[str, str]
    appended: tuple[tuple[str, Event], ...]


@dataclass(frozen=True, slots=True)
class DefaultCommit:
    """A commit of the default branch, or of a request's branch. ``verdicts`` are what people decided, by file and payload."""

    oid: str
    parent: str
    plans: Mapping[str, Plan]
    gates: Mapping[str, GateFile]
    drafts: Mapping[int, int]
    theme: int
    verdicts: Mapping[tuple[str, str], Verdict]
    changed: Mapping[str, str]
    before: Mapping[str, Plan | None]


@dataclass
class Contents:
    """Every interned thing by its id. ``public`` maps the id of a set of files to the files, by path and digest."""

    states: dict[str, StateCommit] = field(default_factory=dict)
    defaults: dict[str, DefaultCommit] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    public: dict[str, Mapping[str, str]] = field(default_factory=lambda: {"": {}})

    def keep(self, data: bytes) -> str:
        oid = oid_of("blob", data)
        self.blobs.setdefault(oid, data)
        return oid

    def publish_files(self, files: Mapping[str, bytes]) -> tuple[str, Mapping[str, str]]:
        """The id and digests of a set of public files."""
        digests = {}
        for path, data in files.items():
            digests[path] = digest(data)
            self.bodies.setdefault(digests[path], data)
        name = tree_digest(digests)
        return name, self.public.setdefault(name, digests)

    def mixed(self, new: str, old: str, path: str = HOME) -> str:
        """The id of ``new`` with one file as it is in ``old``, or missing where it is not there."""
        files = dict(self.public[new])
        if path in self.public[old]:
            files[path] = self.public[old][path]
        else:
            files.pop(path, None)
        name = tree_digest(files) if files else ""
        self.public.setdefault(name, files)
        return name

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether one state commit is another, or lies below it."""
        if older not in self.states:
            return False
        depth, commit = self.states[older].depth, self.states.get(newer)
        while commit and commit.depth > depth:
            commit = self.states.get(commit.parent)
        return commit is not None and commit.oid == older
