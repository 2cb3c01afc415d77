"""What commits' trees hold, and what differs between two of them, found by opening only the folders whose ids differ.

The cost follows what changed, not how many plans the repository has gathered over the years.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from publisher.ports import GitReads

PLAIN_FILE = "100644"
FOLDER = "040000"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a path holds in a tree: git mode and object id."""

    mode: str
    oid: str

    @property
    def is_folder(self) -> bool:
        return self.mode == FOLDER

    @property
    def is_plain(self) -> bool:
        """A regular file, not executable: neither a link, nor a submodule, nor a folder."""
        return self.mode == PLAIN_FILE


class Trees:
    """Folders of commits. Each distinct tree object is read once, however many commits share it."""

    def __init__(self, git: GitReads) -> None:
        self._git = git
        self._listings: dict[str, Mapping[str, Entry]] = {}

    def folder(self, commit: str, folder: str) -> Mapping[str, Entry]:
        """The entries of one folder ("" = the top), by repository-relative path; none where there is no such folder."""
        if not folder:
            return self._listing(commit)
        above = self.entry(commit, folder)
        if above is None or not above.is_folder:
            return {}
        return {f"{folder}/{name}": entry for name, entry in self._listing(above.oid).items()}

    def _listing(self, oid: str) -> Mapping[str, Entry]:
        """The entries of a tree, or of a commit's tree, by name."""
        if oid not in self._listings:
            entries = self._git.tree(oid, "", recursive=False)
            self._listings[oid] = {entry.path: Entry(mode=entry.mode, oid=entry.oid) for entry in entries}
        return self._listings[oid]

    def entry(self, commit: str, path: str) -> Entry | None:
        """What a path holds, or None."""
        return self.folder(commit, path.rpartition("/")[0]).get(path)

    def changes(self, old: str, new: str) -> dict[str, Entry | None]:
        """Every file that differs from commit ``old`` to ``new``, with what it holds in ``new``; None where it is gone."""
        found: dict[str, Entry | None] = {}
        self._walk(old, new, "", found)
        return found

    def _walk(self, old: str, new: str, folder: str, found: dict[str, Entry | None]) -> None:
        """``old`` or ``new`` is "" where that side has no such folder."""
        before = self.folder(old, folder) if old else {}
        after = self.folder(new, folder) if new else {}
        for path in sorted({*before, *after}):
            was, now = before.get(path), after.get(path)
            if was == now:
                continue
            was_folder, now_folder = was is not None and was.is_folder, now is not None and now.is_folder
            if was_folder or now_folder:
                self._walk(old if was_folder else "", new if now_folder else "", path, found)
            if now is not None and not now_folder:
                found[path] = now
            elif was is not None and not was_folder:
                # A file that became a folder is gone as a file; what the folder holds was found above.
                found[path] = None

    def twin(self, commit: str, path: str) -> str:
        """Another path that a file system could take for ``path`` (case, Unicode form), at any of its levels, or ""."""
        parts = path.split("/")
        for depth, name in enumerate(parts):
            for other in self.folder(commit, "/".join(parts[:depth])):
                other_name = other.rpartition("/")[2]
                if other_name != name and _folded(other_name) == _folded(name):
                    return other
        return ""


def changed_beside(git: GitReads, trees: Trees, change: str, tip: str, path: str) -> str:
    """A commit of ``tip`` that changed ``path`` after ``change``, the newest change on the first-parent chain; "" when there is none.

    Whoever pushes a merge whose first parent is an old commit puts everything since then beside the chain, and with it what
    withdrew or replaced a file. The chain alone would show the old state as the newest.
    """
    for oid in git.later_changes(change, tip, path):
        here = trees.entry(oid, path)
        # A merge that takes one side's file as it is changes nothing by itself.
        if all(trees.entry(parent, path) != here for parent in git.commit(oid).parents):
            return oid
    return ""


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
