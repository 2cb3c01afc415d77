"""What a request changes, and the tree that merging it would make: git objects only, read as data.

Rules:
* changes are those since the request left the default branch, whatever the default branch did meanwhile;
* only folders whose ids differ are opened, and only so many of them: a small pack can hold a tree without end;
* a file that both sides changed is a clash: what a merge makes of it is not known here;
* a path is shown in plain characters only, because anybody can choose it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from publisher.errors import Bug, InputProblem
from publisher.ports import GitReads, GitWrites

MOST_FILES = 3000
"""As many as the host itself would list."""
MOST_FOLDERS = 4000
MOST_COMMITS = 5000
DEEPEST = 50
MOST_BYTES = 512 * 1024 * 1024
LARGEST_FILE = 10 * 1024 * 1024
LONGEST_PATH = 300
PLAIN_FILE = "100644"
FOLDER = "040000"
SUBMODULE = "160000"

_ODD = re.compile(r"[^A-Za-z0-9 _./@+=,~()-]")
_PLAN_AREAS = ("daily", "changes", "episodes")
_OURS = ("publisher.yaml", "approval.yaml", "plans", "ledger", "drafts", "site-src", ".github")


class Area(StrEnum):
    """What a path of the repository is to publisher."""

    INSTANCE = "publisher.yaml"
    RULES = "approval.yaml"
    POLICY = "policy"
    QUEUE = "queue"
    PLAN = "plan"
    GATE = "gate"
    DRAFT = "draft"
    LEDGER = "ledger"
    PUBLIC_TEXT = "public text"
    LOOK = "theme"
    WORKFLOW = "workflow"
    STRAY = "stray"
    """Below ``plans/``, and nothing that is ever read."""
    OTHER = "other"


MERGED = frozenset({Area.INSTANCE, Area.RULES, Area.POLICY, Area.QUEUE, Area.PLAN, Area.GATE, Area.DRAFT})
"""What decisions are made from: these come into the tree that a merge would make."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a path holds in a tree: git mode and object id."""

    mode: str
    oid: str


@dataclass(frozen=True, kw_only=True)
class Changed:
    """One file that differs: what it was and what it is, None where it is not."""

    path: str
    old: Entry | None
    new: Entry | None

    @property
    def area(self) -> Area:
        return area_of(self.path)

    @property
    def site(self) -> str:
        parts = self.path.split("/")
        return parts[1] if len(parts) > 2 else ""

    @property
    def shown(self) -> str:
        return shown(self.path)

    @property
    def is_odd(self) -> bool:
        """Whether the path holds characters that publisher never writes into one."""
        return self.shown != self.path


def area_of(path: str) -> Area:
    """What a path is, by its name alone."""
    parts = path.split("/")
    top = parts[0]
    if path in ("publisher.yaml", "approval.yaml"):
        return Area(path)
    if top == "plans":
        return _plan_area(parts)
    if top == "ledger":
        return Area.LEDGER
    if top == "drafts" and len(parts) > 3:
        return Area.DRAFT
    if top == "site-src" and len(parts) > 3:
        return {"articles": Area.PUBLIC_TEXT, "theme": Area.LOOK, "static": Area.LOOK}.get(parts[2], Area.OTHER)
    if path.startswith(".github/workflows/") or path in ("action.yml", "action.yaml"):
        return Area.WORKFLOW
    return Area.OTHER


def _plan_area(parts: Sequence[str]) -> Area:
    if len(parts) == 3:
        return {"policy.yaml": Area.POLICY, "queue.yaml": Area.QUEUE, "launch.yaml": Area.PLAN}.get(parts[2], Area.STRAY)
    if len(parts) > 3 and parts[-1].endswith(".yaml"):
        if parts[2] in _PLAN_AREAS:
            return Area.PLAN
        if parts[2] == "gates":
            return Area.GATE
    return Area.STRAY


def shown(path: str) -> str:
    """A path in plain characters: every other one as an escape, so that it can steer nothing that shows it."""
    plain = _ODD.sub(lambda found: f"\\x{ord(found[0]):02x}" if ord(found[0]) < 0x100 else f"\\u{ord(found[0]):04x}", path)
    return plain if len(plain) <= LONGEST_PATH else plain[: LONGEST_PATH - 1] + "…"


def twin_of_ours(path: str) -> str:
    """The name of publisher's own that some systems take the path's first part for, or ""."""
    top = path.split("/", 1)[0]
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", top).casefold())
    return plain if plain in _OURS and plain != top else ""


def twins(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of names of one folder that some systems take for one."""
    seen: dict[str, str] = {}
    found = []
    for name in sorted(names):
        first = seen.setdefault(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()), name)
        if first != name:
            found.append((first, name))
    return tuple(found)


# --- where the request left the default branch -------------------------------------------------------------------------------


def fork_point(git: GitReads, base: str, head: str) -> str:
    """The newest commit that both have. ``InputProblem`` where there is none, or more than ``MOST_COMMITS`` lie between."""
    if git.is_ancestor(head, base):
        return head
    commits = git.commits([head], [base])
    if len(commits) > MOST_COMMITS:
        raise _too_big(f"more than {MOST_COMMITS} commits")
    own = {commit.oid for commit in commits}
    # The last common commit on any way back from the head is a parent of a commit that only the head has.
    shared = {parent for commit in commits for parent in commit.parents} - own
    if not shared:
        raise InputProblem(
            "unrelated-history", "this request shares no commit with the default branch", next="begin a branch from it"
        )
    newest, *others = sorted(shared)
    for other in others:
        if git.is_ancestor(newest, other):
            newest = other
    return newest


def _too_big(what: str) -> InputProblem:
    return InputProblem("request-too-big", f"this request brings {what}; it was not looked at further", next="split it up")


# --- what differs ------------------------------------------------------------------------------------------------------------


class Trees:
    """Folders of commits, each read once. Counts what it visits: the same folder can stand in a tree without end."""

    def __init__(self, git: GitReads) -> None:
        self._git = git
        self._listings: dict[str, Mapping[str, Entry]] = {}
        self._visits = 0

    def listing(self, oid: str) -> Mapping[str, Entry]:
        """The entries of a tree, or of a commit's tree, by name."""
        if oid not in self._listings:
            entries = self._git.tree(oid, "", recursive=False)
            self._listings[oid] = {entry.path: Entry(mode=entry.mode, oid=entry.oid) for entry in entries}
        return self._listings[oid]

    def folder(self, commit: str, folder: str) -> Mapping[str, Entry]:
        """The entries of one folder by name; none where there is no such folder."""
        found = self.listing(commit)
        for name in folder.split("/") if folder else ():
            entry = found.get(name)
            if entry is None or entry.mode != FOLDER:
                return {}
            found = self.listing(entry.oid)
        return found

    def changes(self, old: str, new: str) -> tuple[Changed, ...]:
        """Every file that differs from commit ``old`` to ``new``, by path."""
        found: list[Changed] = []
        for change in self._differing(old, new, ""):
            found.append(change)
            if len(found) > MOST_FILES:
                raise _too_big(f"more than {MOST_FILES} changed files")
        return tuple(found)

    def _differing(self, old: str, new: str, above: str) -> Iterator[Changed]:
        """``old`` or ``new`` is "" where that side has no such folder."""
        self._visits += 1
        if self._visits > MOST_FOLDERS:
            raise _too_big(f"more than {MOST_FOLDERS} changed folders")
        if above.count("/") > DEEPEST:
            raise _too_big(f"folders more than {DEEPEST} deep")
        before = self.listing(old) if old else {}
        after = self.listing(new) if new else {}
        for name in sorted({*before, *after}):
            was, now = before.get(name), after.get(name)
            if was == now:
                continue
            folders = [entry.oid if entry and entry.mode == FOLDER else "" for entry in (was, now)]
            if any(folders):
                yield from self._differing(folders[0], folders[1], f"{above}{name}/")
            was, now = (entry if entry and entry.mode != FOLDER else None for entry in (was, now))
            if was or now:
                yield Changed(path=f"{above}{name}", old=was, new=now)


def require_bounded(git: GitReads, changes: Sequence[Changed]) -> None:
    """``InputProblem`` for more bytes than a review may have to hold: what compresses well is small only on its way here."""
    oids = [change.new.oid for change in changes if change.new and change.area in MERGED and change.new.mode != SUBMODULE]
    sizes = git.sizes(oids)
    if sum(sizes.get(oid, 0) for oid in oids) > MOST_BYTES:
        raise _too_big(f"more than {MOST_BYTES // (1024 * 1024)} MiB")


# --- what a merge would make -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Merged:
    """The tree that merging would make, as a commit that no ref points at. ``clashes`` are paths that both sides changed."""

    commit: str
    clashes: frozenset[str] = frozenset()

    def moved(self, head: str) -> bool:
        """Whether the default branch moved on since the request left it."""
        return self.commit != head


def merged(git: GitWrites, *, base: str, head: str, fork: str, changes: Sequence[Changed], now: datetime) -> Merged:
    """The request's files on top of the default branch's. Only what decisions are made from is brought over."""
    if fork == base:
        return Merged(commit=head)
    wanted = [change for change in changes if change.area in MERGED and not change.is_odd and _is_plain(change)]
    ours = git.blob_ids(base, [change.path for change in wanted])
    clashes, taken = set(), []
    for change in wanted:
        there = ours.get(change.path, "")
        if there == (change.new.oid if change.new else ""):
            continue
        if there != (change.old.oid if change.old else ""):
            clashes.add(change.path)
        taken.append(change)
    sizes = git.sizes(change.new.oid for change in taken if change.new)
    taken = [change for change in taken if not change.new or sizes.get(change.new.oid, 0) <= LARGEST_FILE]
    blobs = git.blobs(change.new.oid for change in taken if change.new)
    files = {change.path: blobs[change.new.oid] if change.new else None for change in taken}
    if not files:
        return Merged(commit=base, clashes=frozenset(clashes))
    try:
        commit = git.compose(
            parents=[base, head], base_tree=base, changes=files, message="What a merge would make\n", author="publisher",
            email="publisher@localhost", at=now,
        )  # fmt: skip
    except Bug as problem:
        if problem.code != "tree-conflict":
            raise
        # One side has a file where the other has a folder: no merge makes that by itself.
        raise InputProblem(
            "request-conflicts", "this request has a file where the default branch has a folder", next="update the branch"
        ) from None
    return Merged(commit=commit, clashes=frozenset(clashes))


def _is_plain(change: Changed) -> bool:
    return all(entry is None or entry.mode == PLAIN_FILE for entry in (change.old, change.new))
