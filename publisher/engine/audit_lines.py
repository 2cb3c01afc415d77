"""The audit of branches as lines: that nothing was taken back, and that no other line of history hides behind a merge.

Rules:
* a tip that an earlier audit printed is still on its branch's own (first-parent) line; a branch that was put back, begun anew or
  turned around has lost it. Only somebody who kept the earlier tip can know that, so it is given from outside;
* publisher never merges into a ledger. Whatever another line recorded must stand on the branch's own line too: a merge with its
  parents exchanged moves a branch forward and swaps its whole past.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from publisher.engine.audit_findings import Findings
from publisher.ports import GitReads, Tips

SUBMODULE = "160000"
"""A tree's entry of this mode names a commit of another repository, and no bytes."""
MOST_LINES = 1000
"""Commits of other lines that are looked at: the newest ones, since a line's last commit holds what those before it recorded."""


def check_tips(git: GitReads, tips: Tips, earlier: Sequence[str], found: Findings) -> None:
    """That default and state branch descend from tips that were printed earlier."""
    if not earlier:
        return
    lines = {*git.own_line(tips.default), *git.own_line(tips.state)}
    for name in earlier:
        if git.resolve(name) not in lines:
            says = "this commit is on neither branch's own line any more: a branch was put back, begun anew or turned around"
            found.problem("tip-lost", name, says)


def check_other_lines(git: GitReads, state: str, texts: Mapping[str, bytes], found: Findings) -> None:
    """``texts`` are the ledger files at the state tip by path."""
    own = set(git.own_line(state))
    others = [commit for commit in git.changes_on_any_line(state, "ledger") if commit not in own]
    seen: set[str] = set()
    told: set[str] = set()
    for commit in islice(others, MOST_LINES):
        for path, data in _files(git, commit, seen):
            if path not in told and not texts.get(path, b"").startswith(data):
                told.add(path)
                says = f"commit {commit[:12]}, which was merged in, recorded here what the branch's own line does not have"
                found.problem("ledger-other-line", path, says)


def _files(git: GitReads, commit: str, seen: set[str]) -> Iterable[tuple[str, bytes]]:
    """The ledger files of a commit that no commit before had with the same bytes."""
    entries = [
        entry for entry in git.tree(commit, "ledger") if entry.mode != SUBMODULE and f"{entry.path}:{entry.oid}" not in seen
    ]
    seen |= {f"{entry.path}:{entry.oid}" for entry in entries}
    texts = git.blobs(entry.oid for entry in entries)
    return [(entry.path, texts[entry.oid]) for entry in entries]
