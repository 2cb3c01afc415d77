"""A folder for what only this process may read: made when first needed, removed when the process ends.

Rules:
* the folder is 0700 and its files are 0600 from the moment they exist;
* a process that is killed leaves its folder behind, and nothing else; the next process that needs one removes it;
* whether a folder is in use is told by a lock that ends with its process, never by a process id, which may be somebody else's now.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PREFIX = "publisher-private-"
LOCK = "in-use"
FRESH = 60.0
"""Seconds in which a folder without a lock may still be on its way to having one."""

_OURS: dict[int, Path] = {}
"""By process id, so that a forked process makes a folder of its own and leaves its parent's alone."""


def private_file(name: str, data: bytes) -> Path:
    """The path of a new file in this process's private folder; a file of that name there is replaced."""
    folder = _folder()
    path, scratch = folder / name, folder / f"{name}.new"
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return scratch.replace(path)


def _folder() -> Path:
    folder = _OURS.get(os.getpid())
    if folder is None or not folder.is_dir():
        _sweep(Path(tempfile.gettempdir()))
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # 0700
        _OURS[os.getpid()] = folder
        _lock(folder)
        atexit.register(_remove, folder, os.getpid())
    return folder


def _lock(folder: Path) -> None:
    """Locked before it has its name: whoever sees a lock that nobody holds sees the folder of a dead process."""
    handle = os.open(folder / f"{LOCK}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)  # open as long as the process lives
    fcntl.flock(handle, fcntl.LOCK_EX)
    (folder / f"{LOCK}.new").rename(folder / LOCK)


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(below: Path) -> None:
    """Removes what dead processes of this user left."""
    for folder in below.glob(f"{PREFIX}*"):
        with suppress(OSError):  # it went meanwhile, or is not ours to look into
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and _is_abandoned(folder, found.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path, changed: float) -> bool:
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return time.time() - changed > FRESH
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True
