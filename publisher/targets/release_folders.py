"""The immutable release folders of a directory target: stored verified, compared byte for byte, pruned whole.

``releases/<64 hex>/`` holds one release each; ``incoming/`` holds what is on its way in or out and never counts.

Rules:
* a release is copied aside, flushed, read back, and renamed into place whole; a kill leaves it absent or complete;
* one that is there is compared with every digest and reused; a damaged or foreign one stops and is kept for a person;
* what a dead process left in ``incoming/`` is removed by the next one; a living process holds a lock on its folder there;
* the newest few releases are kept; the live one and its base always.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from publisher.domain.article import CLAIM_PATH, Release
from publisher.domain.fingerprint import short
from publisher.errors import ComeBackLater, StoppedForSafety
from publisher.targets.durable import flush_folder, fresh_name, make_folder, write_new
from publisher.targets.release_bytes import built_differs, chunks, digest_at, hex_of

RELEASES = "releases"
INCOMING = "incoming"
HELD = "held"
"""Prefix of scratch names that only the holder of the target's lock makes: whoever gets the lock may remove them."""
HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)


class Strange(Exception):
    """Something that is neither a plain file nor a folder, or has a name that is no text. ``path`` is made printable."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = ascii(path)


def walk(root: Path) -> Iterator[str]:
    """The relative paths of the regular files below ``root``, in no promised order. ``Strange`` for anything else."""
    if not stat.S_ISDIR(root.lstat().st_mode):
        raise Strange(root.name)
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                path = f"{folder}{entry.name}"
                if not _is_text(path):
                    raise Strange(path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{path}/")
                elif entry.is_file(follow_symlinks=False):
                    yield path
                else:
                    raise Strange(path)


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def digests_below(root: Path) -> dict[str, str]:
    """path → digest of every file below ``root``, the claim file aside. ``Strange`` as for ``walk``."""
    return {path: digest_at(root, path) for path in walk(root) if path != CLAIM_PATH}


class ReleaseFolders:
    """The folders ``releases`` and ``incoming`` of one directory target."""

    def __init__(self, root: Path) -> None:
        self._releases = root / RELEASES
        self._incoming = root / INCOMING

    def make(self) -> None:
        make_folder(self._releases)
        make_folder(self._incoming)

    def folder(self, release: str) -> Path:
        return self._releases / hex_of(release)

    def scratch(self) -> Path:
        """A free name for a file that the lock's holder is about to rename into place."""
        return self._incoming / fresh_name(HELD)

    def store(self, release: Release) -> None:
        """Puts a release in place, or finds the identical one there. Refusals: ``release-differs``, ``built-differs``."""
        self._clear_abandoned()
        if not os.path.lexists(self.folder(release.id)) and self._bring_in(release):
            return
        self.require(release)
        os.utime(self.folder(release.id))  # newest again, so that pruning by another run leaves it

    def _bring_in(self, release: Release) -> bool:
        """Copies a release into place; False when another run put it there meanwhile."""
        with self._own_scratch(short(release.id)) as scratch:
            copy_verified(release, scratch)
            _require_same(scratch, release)
            try:
                scratch.rename(self.folder(release.id))
            except OSError as problem:
                if problem.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    return False
                raise
        flush_folder(self._releases)
        return True

    def require(self, release: Release) -> None:
        """Refuses unless the stored release is there, whole and unchanged."""
        if not os.path.lexists(self.folder(release.id)):
            raise ComeBackLater(
                "release-missing", f"release {short(release.id)} is not stored at the target", next="publisher run"
            )
        _require_same(self.folder(release.id), release)

    @contextmanager
    def _own_scratch(self, name: str) -> Iterator[Path]:
        while True:
            scratch = self._incoming / fresh_name(name)
            scratch.mkdir()
            lock = _lock_folder(scratch)
            if lock is not None:
                break
        try:
            scratch.chmod(0o755)
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)  # gone already when it was renamed into place
            os.close(lock)

    def _clear_abandoned(self) -> None:
        """Removes what dead processes left half brought in; a living one's lock on its folder protects it."""
        with os.scandir(self._incoming) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        for name in names:
            lock = _lock_folder(self._incoming / name)
            if lock is not None:
                shutil.rmtree(self._incoming / name, ignore_errors=True)
                os.close(lock)

    def clear_scratch(self) -> None:
        """Removes the scratch files of dead holders. Only for the holder of the target's lock."""
        with os.scandir(self._incoming) as entries:
            names = [e.name for e in entries if e.name.startswith(f"{HELD}-") and not e.is_dir(follow_symlinks=False)]
        for name in names:
            (self._incoming / name).unlink(missing_ok=True)

    def prune(self, *, keep: int, always: Collection[str]) -> None:
        """Removes all but the ``keep`` newest releases and those in ``always``. Only for the holder of the target's lock."""
        with os.scandir(self._releases) as entries:
            found = [
                (entry.stat(follow_symlinks=False).st_mtime_ns, entry.name)
                for entry in entries
                if HEX.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            ]
        kept = {hex_of(release) for release in always}
        for _, name in sorted(found, reverse=True)[keep:]:
            if name not in kept:
                # Renamed first: a kill in the middle of removing must not leave a damaged release under its name.
                trash = self._incoming / fresh_name("out")
                (self._releases / name).rename(trash)
                shutil.rmtree(trash, ignore_errors=True)


def _lock_folder(folder: Path) -> int | None:
    """The handle of a folder locked by this process; None when another holds it or it is gone."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), folder.lstat()):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass  # somebody else's, or removed by whoever locked it first
    os.close(handle)
    return None


def copy_verified(release: Release, into: Path) -> None:
    """Copies a built release into an empty folder, each file flushed and compared with its digest on the way."""
    source = Path(release.root)
    folders = {into}
    for path in sorted(release.files):
        for parent in reversed((into / path).relative_to(into).parents[:-1]):
            if into / parent not in folders:
                (into / parent).mkdir()
                (into / parent).chmod(0o755)
                folders.add(into / parent)
        _copy_file(source, path, release.files[path], into)
    for folder in folders:
        flush_folder(folder)


def _copy_file(source: Path, path: str, expected: str, into: Path) -> None:
    hashed = hashlib.sha256()

    def pieces() -> Iterator[bytes]:
        for piece in _built(source, path):
            hashed.update(piece)
            yield piece

    try:
        write_new(into / path, pieces())
    except FileExistsError:  # two paths are one on this file system (letter case)
        raise built_differs(path) from None
    if f"sha256:{hashed.hexdigest()}" != expected:
        raise built_differs(path)


def _built(source: Path, path: str) -> Iterator[bytes]:
    """A built file's bytes; what cannot be read there is not a problem of the target's folder."""
    try:
        yield from chunks(source, path)
    except OSError:
        raise built_differs(path) from None


def _require_same(folder: Path, release: Release) -> None:
    """Compares a stored folder with a release, byte for byte; names the first path that differs and both digests."""
    try:
        found = digests_below(folder)
    except Strange as strange:
        raise _differs(release, f"{strange.path} is neither a file nor a folder") from None
    for path in sorted(found.keys() | release.files.keys()):
        if found.get(path) != release.files.get(path):
            there, wanted = found.get(path, "missing"), release.files.get(path, "no such file")
            raise _differs(release, f"{path!a} is {there} there and {wanted} in the release")


def _differs(release: Release, reason: str) -> StoppedForSafety:
    return StoppedForSafety(
        "release-differs",
        f"the stored {RELEASES}/{short(release.id)}… is damaged or foreign and is kept for you to look at: {reason}",
        next="move that folder away, then: publisher run",
    )
