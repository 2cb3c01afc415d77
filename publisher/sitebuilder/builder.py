"""The builder: approved public forms and a theme into an immutable release.

Rules:
* the same request gives the same bytes: no clock, zone, locale, environment, directory order or machine has a say;
* every release is built by the output version that the request names; an unknown one stops;
* two files never share a path, also on file systems that do not tell capitals or Unicode spellings apart;
* a site may be empty before its first article; a file's path is one that every server and file system takes as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from publisher.domain.article import CLAIM_PATH, RESERVED_NAMES, Draft, PublicArticle, Release
from publisher.domain.fingerprint import digest, release_id
from publisher.errors import Bug, InputProblem, StoppedForSafety
from publisher.ports import BuildRequest
from publisher.sitebuilder import leak_scan, output_v1, output_v2, public_form
from publisher.sitebuilder.markdown_events import references as files_used_by

OUTPUTS: dict[int, Callable[[BuildRequest], dict[str, bytes]]] = {1: output_v1.outputs, 2: output_v2.outputs}
"""Output version → what makes it. Old versions stay: recorded releases are built again by them."""

NEWEST_OUTPUT = max(OUTPUTS)
SEGMENT = re.compile(r"\.?[A-Za-z0-9_][A-Za-z0-9_.-]{0,126}", re.ASCII)
NOT_EMPTY_FOLDER = "the directory to build into is not there or not empty"


class Builder:
    """The ``SiteBuilder`` of ``publisher/ports.py``."""

    def references(self, markdown: str) -> tuple[str, ...]:
        """The files beside an article that its text uses, sorted. ``InputProblem`` at ``index.md:<line>:1``."""
        return files_used_by(markdown)

    def public_form(self, draft: Draft, article: PublicArticle) -> Mapping[str, bytes]:
        """The files to write for an article. ``InputProblem`` at the draft's own path and line."""
        return public_form.write(draft, article)

    def read_public_form(self, files: Mapping[str, bytes]) -> PublicArticle:
        """The article that those files hold. ``InputProblem`` for anything that ``public_form`` would not have made."""
        return public_form.read(files)

    def build(self, request: BuildRequest, into: str) -> Release:
        """Writes the release below ``into``. ``InputProblem`` before anything is written when an input breaks a rule."""
        make = OUTPUTS.get(request.output)
        if make is None:
            says = f"output version {request.output} is not known to this publisher: it is newer, or was taken out"
            raise StoppedForSafety("unknown-output-version", says, next="publisher doctor")
        root = Path(into)
        if not root.is_dir() or any(root.iterdir()):
            raise Bug("not-an-empty-directory", NOT_EMPTY_FOLDER)
        files = make(request)
        check_paths(files)
        _write(files, root)
        digests = {path: digest(files[path]) for path in sorted(files)}
        return Release(id=release_id(digests), files=digests, root=str(root))

    def leaks(self, release: Release, private: Sequence[Draft], approved: Sequence[PublicArticle]) -> tuple[str, ...]:
        """``path: draft id`` for every file in which private text was found, sorted."""
        return leak_scan.leaks(release, private, approved)

    def leaks_in(
        self, items: Mapping[str, bytes], private: Sequence[Draft], approved: Sequence[PublicArticle]
    ) -> tuple[str, ...]:
        """The same over named bytes."""
        return leak_scan.leaks_in(items, private, approved)


def is_safe_segment(segment: str) -> bool:
    """Whether one part of a path means the same everywhere: no device's name, no git folder, no dot at its end."""
    stem = segment.lstrip(".").partition(".")[0].lower()
    reserved = stem in RESERVED_NAMES and segment != "git"  # the tag; git's own folder is .git
    return SEGMENT.fullmatch(segment) is not None and not reserved and not segment.endswith(".")


def check_paths(files: Mapping[str, bytes]) -> None:
    """``InputProblem`` for a path that some file system or server takes for another, or for something else."""
    spellings: dict[str, str] = {}
    for path in sorted(files):
        for segment in path.split("/"):
            if not is_safe_segment(segment) or path == CLAIM_PATH:
                raise InputProblem(
                    "bad-output-path", f"{path!a} is not a path that every server takes as it is", next="rename it"
                )
        key = unicodedata.normalize("NFKC", path).casefold()
        if key in spellings:
            raise InputProblem(
                "two-outputs", f"{path!a} and {spellings[key]!a} are one path on some file systems", next="rename one of them"
            )
        spellings[key] = path
    folders = {key[:at] for key in spellings for at in range(len(key)) if key[at] == "/"}
    both = sorted(folders & spellings.keys())
    if both:
        raise InputProblem("two-outputs", f"{both[0]!a} would be a file and a folder", next="rename one of them")


def _write(files: Mapping[str, bytes], root: Path) -> None:
    made: set[Path] = set()
    for path, data in files.items():
        file = root / path
        if file.parent not in made:
            file.parent.mkdir(parents=True, exist_ok=True)
            made.add(file.parent)
        file.write_bytes(data)
