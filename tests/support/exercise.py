"""The exercise matrix: every boundary that a real run meets, in fifteen modes; which cells there are, and why others are none.

A boundary is a door's method and which call of it (boundaries.py). ``FAMILIES`` says what kind of thing each method is, ``MEANS`` how
a mode is brought about there, and ``NONE`` why a mode means nothing for a family. A method without a family, or a family whose
fifteen modes are not all spoken for, fails: a new boundary cannot be forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MODES = (
    "crash-before", "crash-after", "lost-request", "lost-response", "repost", "late", "twice", "error", "stale", "hang", "full",
    "pause", "edit", "clock", "restore",
)  # fmt: skip

FAMILIES: Mapping[str, str] = {
    "reads.plans": "local-read", "reads.draft": "local-read", "reads.drafts": "local-read", "forge.verdict": "local-read",
    "builder.public_form": "local-read", "builder.leaks": "local-read", "channel.recipients": "local-read",
    "target.joined_update": "composed",
    "git.compose": "local-write", "git.compose_tree": "local-write", "git.write_blob": "local-write", "builder.build": "local-write",
    "git.remote_refs": "remote-read", "git.fetch": "fetch", "git.push": "push",
    "records.publish": "composed", "requests.open": "composed",
    "target.look": "target-read",
    "staging.look": "target-read", "target.store": "target-write", "staging.store": "target-write",
    "target.switch": "switch", "target.raise_fence": "switch", "staging.switch": "switch", "target.show": "show",
    "probes.look": "probe", "channel.send": "message", "alerts.say": "notice",
}  # fmt: skip

ROWS: Mapping[str, str] = {
    "E1": "reads.plans", "E2": "reads.draft, reads.drafts", "E3": "forge.verdict", "E4": "git.push 1", "E5": "git.remote_refs 3",
    "E6": "builder.public_form 1", "E7": "builder.public_form 2",
    "E8": "git.write_blob, git.compose: the build source is files of a commit, moved into place by its push",
    "E9": "builder.build", "E10": "builder.leaks",
    "E11": "git.compose 2, git.push 2: recorded together with the intent",
    "E12": "git.compose 2, git.push 2: the same record",
    "E13": "none: a release is named by its bytes, and no ref keeps it; the nearest is target.store",
    "E14": "git.push 3 of a git-branch in another repository; in the ledger's own, git.push 2",
    "E15": "target.look, git.remote_refs", "E16": "git.push 2", "E17": "target.switch",
    "E18": "page 1 of test_probes_that_lie", "E19": "page 2", "E20": "feed.xml and atom.xml", "E21": "the list",
    "E22": "the manifest", "E23": "git.push 3", "E24": "the last git.push", "E25": "channel.send 1, channel.send 2",
    "E26": "alerts.say",
}  # fmt: skip
"""The effects of the design's matrix, and what they are in this code (numbers: of a publication on a ``directory``)."""

_EVERYWHERE = ("crash-before", "pause", "edit", "clock", "restore")
MEANS: Mapping[str, tuple[str, ...]] = {
    "local-read": _EVERYWHERE,
    "local-write": (*_EVERYWHERE, "full"),
    "remote-read": (*_EVERYWHERE, "lost-request", "lost-response", "twice", "error", "stale", "hang"),
    "fetch": (*_EVERYWHERE, "lost-request", "lost-response", "twice", "error", "stale", "hang", "full"),
    "push": (*_EVERYWHERE, "crash-after", "lost-request", "lost-response", "repost", "late", "twice", "error", "hang", "full"),
    "composed": (*_EVERYWHERE, "crash-after"),
    "target-read": (*_EVERYWHERE, "twice", "error"),
    "target-write": (*_EVERYWHERE, "crash-after", "twice", "error", "full"),
    "switch": (*_EVERYWHERE, "crash-after", "lost-request", "lost-response", "repost", "twice", "error", "full"),
    "show": (*_EVERYWHERE, "crash-after"),
    "probe": (*_EVERYWHERE, "lost-request", "lost-response", "twice", "error", "stale", "hang"),
    "message": (*_EVERYWHERE, "crash-after", "lost-request", "lost-response", "repost", "twice", "error", "hang", "full"),
    "notice": (*_EVERYWHERE, "crash-after", "lost-request", "lost-response", "repost", "twice", "error", "full"),
}

_OUTSIDE = ("lost-request", "lost-response", "repost", "late", "twice", "error", "stale", "hang", "full")
_CHANGES_NOTHING = "it changes nothing outside, so after it is before it; the next boundary has that moment"
_NO_WAY = "it stays in the process and its own clone: there is no request and no answer"
_A_READ = "a read changes nothing, however often or late it arrives"
_ITS_PARTS = "its push and its look are boundaries of their own, with this mode"
_LOCAL_TARGET = (
    "a call into the file system has no way on which it could be lost, repeated or late; over git its push has the mode"
)
_NONE: Mapping[str, Mapping[str, str]] = {
    "local-read": {
        "crash-after": _CHANGES_NOTHING, "lost-request": _NO_WAY, "lost-response": _NO_WAY, "repost": _A_READ, "late": _A_READ,
        "twice": _A_READ, "error": "a clone that cannot be read is tested in tests/gitstore; a run begins in a fresh one",
        "stale": "objects are read by the id that a look at the remote gave; that look has the mode",
        "hang": "a hanging local git is ended by the limit that git.fetch exercises", "full": "it writes nothing",
    },
    "local-write": {
        "crash-after": "nothing refers to the objects or the folder yet; the next boundary has that moment",
        "lost-request": _NO_WAY, "lost-response": _NO_WAY, "repost": _NO_WAY, "late": _NO_WAY,
        "twice": "objects and releases are named by their bytes; the recovery of every cell makes them again",
        "error": "full is its error", "stale": "it reads nothing", "hang": "as for a local read",
    },
    "remote-read": {
        "crash-after": _CHANGES_NOTHING, "repost": _A_READ, "late": "an answer that comes late is stale, or lost",
        "full": "it writes nothing",
    },
    "fetch": {
        "crash-after": "it changes the clone alone, and a fresh one goes on", "repost": _A_READ,
        "late": "an answer that comes late is lost",
    },
    "push": {"stale": "it reads nothing: it names what it expects, and the remote compares"},
    "composed": dict.fromkeys(_OUTSIDE, _ITS_PARTS),
    "target-read": {
        "crash-after": _CHANGES_NOTHING, "lost-request": _LOCAL_TARGET, "lost-response": _LOCAL_TARGET, "repost": _A_READ,
        "late": _A_READ, "stale": "a local file system is not stale; over git, git.remote_refs has the mode",
        "hang": "a process that stands still in the file system is the mode pause; over git, git.fetch has the mode",
        "full": "it writes nothing",
    },
    "target-write": {
        "lost-request": _LOCAL_TARGET, "lost-response": _LOCAL_TARGET, "repost": _LOCAL_TARGET, "late": _LOCAL_TARGET,
        "stale": "it compares with the release's own digests", "hang": "a process that stands still is the mode pause",
    },
    "switch": {
        "late": "a late switch is that of a process which stood still: the mode pause; over git, git.push has the mode",
        "stale": "it compares under the lock, or the remote does", "hang": "a process that stands still is the mode pause",
    },
    "show": dict.fromkeys(_OUTSIDE, "it asks nothing of these targets; that of GitHub Pages is in test_github_pages"),
    "probe": {
        "crash-after": _CHANGES_NOTHING, "repost": _A_READ, "late": "an answer past the deadline is none: the mode hang",
        "full": "it writes nothing",
    },
    "message": {
        "late": "a message that arrives late was unknown until then, as with lost-response", "stale": "it reads nothing",
    },
    "notice": {
        "late": "as for a message", "stale": "it reads nothing",
        "hang": "a notice that hangs is refused by its own limit, as in error; tests/notify has the limits",
    },
}  # fmt: skip

STORIES: Mapping[str, tuple[str, ...]] = {
    "first": (),
    "recovery": ("target.raise_fence", "alerts.say"),
    "plan": ("requests.open", "git.push"),
    "launch": ("staging.look", "staging.store", "staging.switch", "requests.open"),
}
"""The stories, and of which boundaries a story's cells are ("": all). The others of its boundaries have cells in ``first``."""


@dataclass(frozen=True, order=True)
class Cell:
    """One boundary in one mode, in one story, on one kind of target."""

    kind: str
    story: str
    boundary: str
    number: int
    mode: str

    def __str__(self) -> str:
        return f"{self.boundary}:{self.number}-{self.mode}-{self.story}-{self.kind}"


def family_of(boundary: str) -> str:
    assert boundary in FAMILIES, f"{boundary} is a boundary without a row: give it a family in tests/support/exercise.py"
    return FAMILIES[boundary]


def why_none(boundary: str, mode: str) -> str:
    """Why a mode means nothing at a boundary; "" where it has a cell."""
    family = family_of(boundary)
    if mode in MEANS[family]:
        return ""
    return _NONE[family][mode]


def cells_of(kind: str, story: str, trail: Sequence[str]) -> Iterator[Cell]:
    """The cells of a story whose run met ``trail`` (``NAME N`` each)."""
    for boundary, number in (line.split() for line in trail):
        for mode in MODES:
            if (not STORIES[story] or boundary in STORIES[story]) and not why_none(boundary, mode):
                yield Cell(kind, story, boundary, int(number), mode)


def meaningless() -> list[tuple[str, str, str]]:
    """(boundary, mode, reason) of every cell that is none."""
    return [(boundary, mode, why) for boundary in FAMILIES for mode in MODES if (why := why_none(boundary, mode))]
