"""Objects of one repository, read through one git process that stays open.

Rules:
* an object's bytes are compared with its id when they come from git; what is kept was compared;
* what is kept is named by its id, so it cannot go out of date; how much is kept is bounded;
* git has no time-out of its own: an answer that does not come within the limit ends the process, and so does an interruption,
  because nobody could tell any more which answer belongs to which question.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import subprocess
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from publisher.errors import ComeBackLater, StoppedForSafety
from publisher.gitstore.git_objects import algorithm_of, object_id, text_of

AT_ONCE = 200
"""How many objects are asked for before the answers are read: few enough for the pipe to hold the questions."""
KEPT = 64 << 20
"""How many bytes of trees, commits and listings are kept, roughly."""
CHUNK = 1 << 20

V = TypeVar("V")


class Started(NamedTuple):
    """A running git: its process, and whatever must stay alive with it."""

    process: subprocess.Popen[bytes]
    handle: Any


class Entry(NamedTuple):
    """A tree's entry as git shows it: canonical mode, kind and id."""

    mode: str
    kind: str
    oid: str


class Memory(Generic[V]):
    """Answers about immutable things, the least recently used forgotten first. ``size`` is an estimate in bytes."""

    def __init__(self, most: int = KEPT) -> None:
        self._most, self._held = most, 0
        self._known: OrderedDict[Any, tuple[V, int]] = OrderedDict()

    def get(self, key: Any) -> V | None:
        found = self._known.get(key)
        if found is None:
            return None
        self._known.move_to_end(key)
        return found[0]

    def keep(self, key: Any, value: V, size: int) -> V:
        if key not in self._known:
            self._known[key] = (value, size)
            self._held += size
            while self._held > self._most and len(self._known) > 1:
                self._held -= self._known.popitem(last=False)[1][1]
        return value


class ObjectReader:
    """``start`` begins ``git cat-file --batch``; ``end`` ends a process and everything it started."""

    def __init__(self, start: Callable[[], Started], end: Callable[[subprocess.Popen[bytes]], None], limit: float) -> None:
        self._start, self._end, self._limit = start, end, limit
        self._open: Started | None = None
        self._closing: weakref.finalize[Any, Any] | None = None
        self._lock = threading.Lock()
        self._left = b""
        self._folders: Memory[dict[bytes, Entry]] = Memory()
        self._tops: Memory[str] = Memory(1 << 20)

    # --- objects ------------------------------------------------------------------------------------------------------------

    def read(self, oids: Sequence[str]) -> list[tuple[str, bytes] | None]:
        """(kind, bytes) of each object, None for one that is not here. The bytes are what the id says."""
        found: list[tuple[str, bytes] | None] = []
        with self._lock:
            for start in range(0, len(oids), AT_ONCE):
                found += self._asked(oids[start : start + AT_ONCE])
        return found

    def _asked(self, oids: Sequence[str]) -> list[tuple[str, bytes] | None]:
        if self._open and self._open.process.poll() is not None:
            self._forget()
        opened = self._open or self._opened()
        deadline = time.monotonic() + self._limit
        try:
            assert opened.process.stdin is not None
            opened.process.stdin.write("".join(f"{oid}\n" for oid in oids).encode("ascii"))
            opened.process.stdin.flush()
            return [self._answer(oid, deadline) for oid in oids]
        except OSError:
            self._forget()
            raise _unreadable() from None
        except BaseException:
            self._forget()
            raise

    def _answer(self, oid: str, deadline: float) -> tuple[str, bytes] | None:
        while (at := self._left.find(b"\n")) < 0:
            self._left += self._more(deadline)
        words, self._left = self._left[:at].split(b" "), self._left[at + 1 :]
        if words[-1] == b"missing":
            return None
        if len(words) != 3 or not words[2].isdigit():
            raise _unreadable()
        size = int(words[2])
        parts, held = [self._left], len(self._left)
        while held < size + 1:
            parts.append(self._more(deadline))
            held += len(parts[-1])
        all_of_it = b"".join(parts)
        data, self._left = all_of_it[:size], all_of_it[size + 1 :]
        kind = words[1].decode("ascii", "replace")
        if object_id(kind, data, algorithm_of(oid)) != oid:
            raise StoppedForSafety("object-corrupt", "an object of this clone is not what its id says", next="git fsck")
        return kind, data

    def _more(self, deadline: float) -> bytes:
        assert self._open is not None
        assert self._open.process.stdout is not None
        source = self._open.process.stdout.fileno()
        ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise ComeBackLater("git-slow", "git did not finish in time", next="publisher doctor")
        data = os.read(source, CHUNK)
        if not data:
            raise _unreadable()
        return data

    def _opened(self) -> Started:
        self._left = b""
        self._open = self._start()
        self._closing = weakref.finalize(self, _close, self._open)
        return self._open

    def _forget(self) -> None:
        """Ends a process whose answers cannot be trusted to be in step any more."""
        if self._closing:
            self._closing.detach()
        if self._open:
            self._end(self._open.process)
        self._open, self._closing, self._left = None, None, b""

    # --- trees --------------------------------------------------------------------------------------------------------------

    def top(self, name: str) -> str:
        """The id of the top tree of a commit, or of a tree itself."""
        known = self._tops.get(name)
        if known:
            return known
        kind, data = self._required(name)
        if kind == "tree":
            return name
        head, _, rest = data.partition(b"\n")
        if kind != "commit" or not head.startswith(b"tree ") or not rest:
            raise _unreadable()
        return self._tops.keep(name, head[5:].decode("ascii", "replace"), 200)

    def folder(self, tree: str) -> dict[bytes, Entry]:
        """The entries of a tree by name, in git's order."""
        known = self._folders.get(tree)
        if known is not None:
            return known
        kind, data = self._required(tree)
        if kind != "tree":
            raise _unreadable()
        try:
            entries = dict(_entries(data, len(tree) // 2))
        except ValueError:
            raise _unreadable() from None
        return self._folders.keep(tree, entries, 200 + 3 * len(data))

    def find(self, name: str, path: str) -> Entry | None:
        """What stands at ``path`` in a commit or tree; the top tree for "". Nothing is found below what is no folder."""
        found = Entry("040000", "tree", self.top(name))
        for part in path.encode("utf-8", "surrogateescape").split(b"/") if path else ():
            below = self.folder(found.oid).get(part) if found.kind == "tree" else None
            if below is None:
                return None
            found = below
        return found

    def _required(self, oid: str) -> tuple[str, bytes]:
        (found,) = self.read([oid])
        if found is None:
            raise _missing()
        return found


def _entries(data: bytes, width: int) -> Iterator[tuple[bytes, Entry]]:
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        oid = data[end + 1 : end + 1 + width]
        if len(oid) != width:
            raise ValueError("a tree that ends in the middle of an entry")
        yield data[space + 1 : end], _canonical(int(data[at:space], 8), oid.hex())
        at = end + 1 + width


def _canonical(mode: int, oid: str) -> Entry:
    """Git shows a few modes only, whatever number a tree holds."""
    if stat.S_ISREG(mode):
        return Entry("100755" if mode & 0o100 else "100644", "blob", oid)
    if stat.S_ISLNK(mode):
        return Entry("120000", "blob", oid)
    if stat.S_ISDIR(mode):
        return Entry("040000", "tree", oid)
    return Entry("160000", "commit", oid)


def listed(folder: dict[bytes, Entry], prefix: str) -> Iterator[tuple[str, Entry]]:
    """A folder's entries with their whole paths; a name that is no UTF-8 is refused."""
    for name, entry in folder.items():
        yield prefix + text_of(name), entry


def _close(opened: Started) -> None:
    """At the end of its input, git ends by itself."""
    for pipe in (opened.process.stdin, opened.process.stdout, opened.process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):  # it ended before
                pipe.close()
    opened.process.wait()


def _missing() -> StoppedForSafety:
    what = "a commit or file that must exist cannot be read from this clone"
    return StoppedForSafety("object-missing", what, next="git fetch, then git fsck")


def _unreadable() -> StoppedForSafety:
    return StoppedForSafety("object-unreadable", "git could not read an object of this repository", next="git fsck")
