"""Writes that survive a power cut, and the one place that turns the system's errors into refusals.

Rules:
* a file is written elsewhere, flushed, and renamed into place; a reader sees the old bytes or the new, never a part;
* a rename counts once the directory that holds it is flushed;
* the system's error text is never passed on; its symbolic code (``ENOSPC``) is.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from publisher.errors import NeedsPerson, Refusal

NOT_PERMITTED = (errno.EACCES, errno.EPERM, errno.EROFS)
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def system_errors(shown: str) -> Iterator[None]:
    """Turns ``OSError`` into a refusal that names the target's path as it was configured (``shown``)."""
    try:
        yield
    except OSError as problem:
        raise refusal_for(problem.errno or 0, shown) from None


def refusal_for(number: int, shown: str) -> Refusal:
    """The refusal for a system error ``number`` met at ``shown``."""
    name = errno.errorcode.get(number, "no code")
    if number in NOT_PERMITTED:
        return NeedsPerson(
            "target-not-writable", f"{shown} may not be read or written by this user ({name})", next="publisher doctor"
        )
    if number in NO_SPACE:
        return NeedsPerson("target-full", f"{shown} has no space left ({name}); nothing was switched", next="publisher doctor")
    return NeedsPerson("target-failed", f"{shown} could not be read or written ({name})", next="publisher doctor")


def flush(handle: int) -> None:
    """Onto the disk itself, where the system knows how to say that."""
    # macOS: fsync(2) leaves the data in the drive's cache; fcntl(2) F_FULLFSYNC does not, but some file systems lack it.
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(handle, full)
            return
        except OSError:
            pass  # not offered here; fsync is what there is
    os.fsync(handle)


def flush_folder(folder: Path) -> None:
    """Makes the folder's entries durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        flush(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """A folder that web servers may read, durable; one that exists is left as it is."""
    try:
        folder.mkdir()
    except FileExistsError:
        return
    folder.chmod(0o755)
    flush_folder(folder.parent)


def write_new(path: Path, pieces: Iterator[bytes]) -> None:
    """A new file, flushed. ``FileExistsError`` when the name is taken."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    try:
        os.fchmod(handle, 0o644)
        for piece in pieces:
            _write_all(handle, piece)
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def replace_file(path: Path, data: bytes, *, scratch: Path) -> None:
    """``path`` gets ``data`` in one step. ``scratch`` is a free name on the same file system, in a folder of its own kind.

    The scratch is not beside ``path``: a kill would leave it among a release's files, where it would count as one.
    """
    write_new(scratch, iter((data,)))
    scratch.replace(path)
    flush_folder(path.parent)


def fresh_name(prefix: str) -> str:
    """A name that no other process takes."""
    return f"{prefix}-{os.getpid()}-{secrets.token_hex(6)}"
