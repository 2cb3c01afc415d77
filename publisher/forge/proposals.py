"""What a request proposes, whichever forge shows it: its files, its message, and whether an open one still brings exactly that.

Rules:
* a request is about plans and ``approval.yaml``; what the default branch has already is not proposed;
* ``marker`` stands in the commit's message, so that a repetition finds its own request;
* an open request still fits while it brings exactly the wanted files and the default branch has not changed them meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from publisher.domain.fingerprint import digest, tree_digest
from publisher.errors import Bug, ComeBackLater
from publisher.forge.incoming import RULES_PATH, incoming, is_ours, straight_line
from publisher.forge.reasons import Unproven
from publisher.forge.tree_changes import Trees
from publisher.ports import CommitFacts, GitReads

MARKER = "Marker: "
CONTENT = "Content: "
Files = Mapping[str, bytes]


def require_proposable(git: GitReads, default: str, files: Files) -> None:
    """Refuses files that no request may touch, and what the default branch has already."""
    if not files or not all(is_ours(path) for path in files):
        raise Bug("request-touches-more", "a request is about plans and approval.yaml")
    if held(git, default, files) == set(files):
        raise ComeBackLater("nothing-to-propose", "the default branch has these files already", next="publisher status")


def held(git: GitReads, commit: str, files: Files) -> set[str]:
    """Those of ``files`` that a commit holds with the same bytes."""
    ids = git.blob_ids(commit, sorted(files))
    texts = git.blobs(ids.values())
    return {path for path, oid in ids.items() if texts[oid] == files[path]}


def still_fits(git: GitReads, trees: Trees, default: str, head: str, files: Files) -> bool:
    """Whether a request brings exactly these files and can still be merged."""
    try:
        request = incoming(git, trees, default, head)
    except Unproven:
        return False
    fresh = all(trees.entry(default, path) == trees.entry(request.base, path) for path in files)
    return fresh and set(request.files) <= set(files) and held(git, head, files) == set(files)


def line_of(git: GitReads, default: str, head: str) -> tuple[CommitFacts, ...]:
    """The commits that a request brings, oldest first; none where that is no straight line."""
    try:
        return straight_line(git, default, head)
    except Unproven:
        return ()


def sites_in(paths: Iterable[str]) -> frozenset[str]:
    """The sites whose plans the paths are; ``approval.yaml`` stands for itself."""
    return frozenset(path if path == RULES_PATH else path.split("/")[1] for path in paths if is_ours(path))


def message_of(title: str, marker: str, *more: str) -> str:
    """A request's commit message; ``more`` are further trailers."""
    return "\n".join([_line(title), "", f"{MARKER}{_line(marker)}", *more]) + "\n"


def is_marked(commit: CommitFacts, marker: str) -> bool:
    """Whether a commit's message carries a marker. Anybody can write one: it finds a request and proves nothing."""
    return f"{MARKER}{_line(marker)}" in commit.message.split("\n")


def content_of(files: Files) -> str:
    """The trailer that names all bytes of a proposal: a commit that was changed by hand does not fit its own any more."""
    return CONTENT + tree_digest({path: digest(data) for path, data in files.items()})


def is_as_composed(git: GitReads, trees: Trees, default: str, head: str, marker: str) -> bool:
    """Whether ``head`` is one commit on the default branch whose message names exactly the bytes that it brings."""
    try:
        request = incoming(git, trees, default, head)
    except Unproven:
        return False
    if len(request.commits) != 1 or not is_marked(request.commits[0], marker):
        return False
    texts = git.blobs(entry.oid for entry in request.files.values())
    files = {path: texts[entry.oid] for path, entry in request.files.items()}
    return content_of(files) in request.commits[0].message.split("\n")


def _line(text: str) -> str:
    return " ".join(text.split())
