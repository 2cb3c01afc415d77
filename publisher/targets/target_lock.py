"""The lock of a directory target: held only while its fence is raised or its link is changed.

The lock is flock(2) on a file that stays; the system frees it when its holder dies. A holder that is stopped inside it blocks
others, who then name it, because nobody else can make it go on.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from publisher.domain.business_calendar import in_utc
from publisher.errors import ComeBackLater

LOCK = "lock"
PAUSE = 0.05
"""Seconds between two attempts."""


class TargetLock:
    """``wait`` is how long (seconds) another holder is waited for."""

    def __init__(self, root: Path, *, site: str, wait: float, now: Callable[[], datetime]) -> None:
        self._path = root / LOCK
        self._site = site
        self._wait = wait
        self._now = now

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock, or ``ComeBackLater`` ``target-locked`` naming who holds it."""
        handle = self._acquire()
        try:
            self._write_holder(handle)
            yield
        finally:
            os.ftruncate(handle, 0)
            os.close(handle)

    def _acquire(self) -> int:
        until = time.monotonic() + self._wait
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            if self._got(handle):
                return handle
            holder = os.pread(handle, 1000, 0)
            os.close(handle)
            if time.monotonic() >= until:
                raise self._busy(holder)
            time.sleep(PAUSE)

    def _got(self, handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A file that somebody removed meanwhile is locked by us alone and guards nothing.
            return os.path.samestat(os.fstat(handle), self._path.lstat())
        except (BlockingIOError, FileNotFoundError):
            return False

    def _write_holder(self, handle: int) -> None:
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": in_utc(self._now())}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(holder).encode(), 0)

    def _busy(self, holder: bytes) -> ComeBackLater:
        return ComeBackLater(
            "target-locked",
            f"the target of {self._site} is held by {_named(holder)}",
            next="let that process finish, or end it, then: publisher run",
        )


def _named(holder: bytes) -> str:
    try:
        data = json.loads(holder)
        return f"process {int(data['pid'])} on {ascii(str(data['host']))[1:-1]} since {ascii(str(data['since']))[1:-1]}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return "another process that has just taken it"
