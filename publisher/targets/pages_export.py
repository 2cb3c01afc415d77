"""A release as a folder for the step that uploads it to GitHub Pages, with what tells later what was uploaded.

    …                                    the release's files, byte for byte
    .well-known/publisher-claim.json     which claim exported it, on which base
    .well-known/publisher-files.json     every file of the release with its digest

Rules:
* the upload is made by an action of GitHub's, so claim and list must travel in it: nothing can be added when it is switched to;
* the folder is filled aside, read back, and only then renamed into place;
* a folder that is no export of this site is never removed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from publisher.domain.article import CLAIM_PATH, Release
from publisher.domain.fingerprint import canonical_json, is_digest, short
from publisher.errors import NeedsPerson, Refusal, StoppedForSafety
from publisher.targets.claim_file import LARGEST_CLAIM, ClaimFile, read_claim
from publisher.targets.release_bytes import BuiltFiles, built_differs, digest_at, is_plain
from publisher.targets.release_folders import Strange, walk

FILES_PATH = ".well-known/publisher-files.json"
LARGEST_LIST = 32 * 1024 * 1024
"""Bytes: some hundred thousand files."""


def files_list(release: Release, *, site: str) -> bytes:
    """What ``read_files_list`` reads."""
    return canonical_json({"files": dict(release.files), "release": release.id, "site": site}) + b"\n"


def read_files_list(data: bytes, *, site: str) -> Mapping[str, str]:
    """path → digest out of a list of a release's files. ``StoppedForSafety`` when it does not read, or is another site's."""
    try:
        fields = json.loads(data.decode("utf-8")) if len(data) <= LARGEST_LIST else None
    except (ValueError, RecursionError):
        fields = None
    files = fields.get("files") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(files, dict) or not files:
        raise _unreadable(site, "the list of files at the target cannot be read")
    if fields.get("site") != site:
        raise _unreadable(site, "the list of files at the target belongs to another site")
    if not all(is_digest(value) and is_plain(path) for path, value in files.items()):
        raise _unreadable(site, "the list of files at the target holds something that is no file of a release")
    return files


def _unreadable(site: str, says: str) -> StoppedForSafety:
    return StoppedForSafety("target-foreign", f"{site}: {says}", next="publisher reconcile")


def artifact_name(claim: ClaimFile, *, run: str, attempt: str) -> str:
    """The name that an export is uploaded under. Artifacts outlive attempts, and a name can be used once in a run."""
    return f"github-pages-{short(claim.release)}-{claim.fence.epoch}.{claim.fence.number}-{run}-{attempt}"


def export(release: Release, claim: ClaimFile, folder: Path) -> None:
    """Fills ``folder`` with a release. Refusals: ``built-differs``, ``export-folder``."""
    _require_ours(folder, claim.site)
    scratch = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    extra = {CLAIM_PATH: claim.as_bytes(), FILES_PATH: files_list(release, site=claim.site)}
    built = BuiltFiles(release)
    for path in (*built, *extra):
        _write(scratch / path, extra[path] if path in extra else built[path])
    for path, expected in release.files.items():
        if digest_at(scratch, path) != expected:
            raise built_differs(path)
    shutil.rmtree(folder, ignore_errors=True)
    scratch.rename(folder)


def _write(path: Path, data: bytes) -> None:
    """Readable by all, whatever this process's mask says: Pages refuses anything else."""
    missing = []
    folder = path.parent
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir()
        one.chmod(0o755)
    path.write_bytes(data)
    path.chmod(0o644)


def exported(folder: Path, *, site: str) -> ClaimFile | None:
    """The claim of the export in ``folder``; None where there is none of this site."""
    try:
        data = (folder / CLAIM_PATH).read_bytes()
        return read_claim(data, site=site) if len(data) <= LARGEST_CLAIM else None
    except (OSError, Refusal):
        return None


def _require_ours(folder: Path, site: str) -> None:
    try:
        taken = folder.is_symlink() or (folder.exists() and any(True for _ in walk(folder)))
    except (Strange, OSError):
        taken = True
    if taken and exported(folder, site=site) is None:
        raise NeedsPerson(
            "export-folder", f"the folder for the upload of {site} holds something else, and stays as it is",
            next="set PUBLISHER_PAGES_DIR to another folder",
        )  # fmt: skip
