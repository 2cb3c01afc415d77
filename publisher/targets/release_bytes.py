"""A release's bytes: read from where it was built, checked against its digests, and its id recomputed from what a target holds.

Rules:
* a release's id covers its files and not the claim file;
* bytes are compared with their digest each time they are read; a difference stops;
* paths are plain relative ones; nothing of a release can land outside its own folder, or in ``.git``.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from publisher.domain.article import CLAIM_PATH, Release
from publisher.domain.fingerprint import release_id
from publisher.errors import StoppedForSafety

CHUNK = 1 << 20


def hex_of(release: str) -> str:
    """The 64 hex digits of a release id."""
    return release.removeprefix("sha256:")


def live_release(files: Mapping[str, str]) -> str:
    """The release id of the files (path → digest) that a target holds, its claim file aside; "" when there are none."""
    held = {path: digest for path, digest in files.items() if path != CLAIM_PATH}
    return release_id(held) if held else ""


def require_sound(release: Release) -> None:
    """Refuses a release whose id is not that of its files, or with a path that is not plain and relative."""
    if not release.files or live_release(release.files) != release.id or CLAIM_PATH in release.files:
        raise StoppedForSafety(
            "release-inconsistent", "the release's id is not the digest over its files; it was not stored", next="publisher run"
        )
    for path in release.files:
        if not is_plain(path):
            raise StoppedForSafety(
                "release-path", f"the release holds {path!a}, which is not a plain relative path", next="publisher doctor"
            )


def is_plain(path: str) -> bool:
    """Whether a path is relative, stays in its folder, and means the same everywhere."""
    parts = path.split("/")
    return "\0" not in path and "\\" not in path and not any(p in ("", ".", "..") or p.casefold() == ".git" for p in parts)


def chunks(root: Path, path: str) -> Iterator[bytes]:
    """The bytes of one regular file below ``root``, in pieces. Symbolic links are not followed."""
    # O_NONBLOCK: opening a FIFO that somebody put there must not wait for its writer.
    handle = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError
        while piece := os.read(handle, CHUNK):
            yield piece
    finally:
        os.close(handle)


def digest_at(root: Path, path: str) -> str:
    """The digest of one file below ``root``."""
    hashed = hashlib.sha256()
    for piece in chunks(root, path):
        hashed.update(piece)
    return f"sha256:{hashed.hexdigest()}"


class BuiltFiles(Mapping[str, bytes]):
    """A built release as path → bytes, read when asked for and checked then, so that large files are not all in memory."""

    def __init__(self, release: Release) -> None:
        self._release = release

    def __getitem__(self, path: str) -> bytes:
        expected = self._release.files[path]
        try:
            data = b"".join(chunks(Path(self._release.root), path))
        except OSError:
            raise built_differs(path) from None
        if f"sha256:{hashlib.sha256(data).hexdigest()}" != expected:
            raise built_differs(path)
        return data

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._release.files))

    def __len__(self) -> int:
        return len(self._release.files)


def built_differs(path: str) -> StoppedForSafety:
    """The refusal of a build whose files changed, or vanished, since they were digested."""
    return StoppedForSafety(
        "built-differs", f"{path!a} of the built release is not what was built; nothing was stored", next="publisher run"
    )
