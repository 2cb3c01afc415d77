"""Decisions as commit messages near a tip record them: rejections, request numbers, and approvals that were put aside.

Rules:
* a rejection is a signed statement with the decision "reject" in a commit that the default branch contains; it changes no file,
  so it is looked for in one reading of the newest commits (``LOOK_BACK``);
* a push that makes the default branch the *second* parent of a merge replaces its first-parent chain, and with it the approval
  rules in force; where an approved change of ``approval.yaml`` was put aside like that, everything stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from publisher.domain.approval import ApprovalRules, Rejection, Subject
from publisher.errors import InputProblem, NeedsPerson, StoppedForSafety
from publisher.forge.incoming import RULES_PATH
from publisher.forge.merges import MergeJudge
from publisher.forge.reasons import Unproven
from publisher.forge.statements import APPROVE, REJECT, Signed, approver_of, statements_in
from publisher.ports import CommitFacts, GitReads

LOOK_BACK = 400
RECENT_MERGES = 5
LARGEST_NUMBER = 999_999_999
"""Larger request numbers are nobody's: they would leave no next one."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A statement as a commit carries it; not verified. ``on_chain`` tells whether that is a first-parent commit of the tip."""

    commit: str
    parent: str
    on_chain: bool
    signed: Signed


class Closings:
    """Reads recorded decisions; ``rules_at`` gives the rules in force at a commit."""

    def __init__(self, git: GitReads, judge: MergeJudge, rules_at: Callable[[str], ApprovalRules]) -> None:
        self._git = git
        self._judge = judge
        self._rules_at = rules_at
        self._recorded: dict[str, tuple[Recorded, ...]] = {}

    def rejection(self, commit: str, subject: Subject) -> Rejection | None:
        """The newest rejection of exactly ``subject`` by somebody entitled, among the commits before ``commit``."""
        for item in self._near(commit):
            said = item.signed.statement
            if said.decision == REJECT and (said.path, said.payload) == (subject.path, subject.payload):
                principal = self._signer(item, commit)
                if principal and self._is_about(item, subject):
                    return Rejection(subject=subject, by=principal, merge=item.commit, request=said.request)
        return None

    def _is_about(self, item: Recorded, subject: Subject) -> bool:
        try:
            self._judge.check_fields(item.signed, subject, REJECT)
        except Unproven:
            return False
        return True

    def _signer(self, item: Recorded, tip: str) -> str:
        """Who signed a statement, if the rules where it was made permit it and descend from the root of ``tip``'s; else ""."""
        try:
            rules = self._rules_at(item.parent)
            return approver_of(self._git, item.signed, rules) if rules.root == self._rules_at(tip).root else ""
        except (Unproven, NeedsPerson, InputProblem):  # nobody's decision, or made where no rules were in force
            return ""
        except StoppedForSafety as stop:
            if stop.code != "root-differs":
                raise
            return ""  # a foreign history that somebody merged in; its people decide nothing here

    def require_rules_in_line(self, commit: str) -> None:
        """Stops when an approved change of the rules lies beside the first-parent chain of ``commit``."""
        for item in self._near(commit):
            said = item.signed.statement
            if not item.on_chain and (said.path, said.decision) == (RULES_PATH, APPROVE) and self._signer(item, commit):
                raise StoppedForSafety(
                    "rules-put-aside", f"the approved {RULES_PATH} of {item.commit[:12]} left the first-parent chain",
                    next=f"git log --first-parent; then put the default branch back on a descendant of {item.commit[:12]}",
                )  # fmt: skip

    def highest_number(self, commit: str) -> int:
        """The highest request number in a verified statement, 0 when there is none. Only for choosing the next number."""
        # Approvals are also found by the files they changed, however long ago that was.
        merges = [self._git.commit(oid) for oid in self._git.first_parent_changes(commit, "plans", limit=RECENT_MERGES)]
        found = [*self._near(commit), *_carried(merges, commit)]
        for item in sorted(found, key=lambda item: -item.signed.statement.request):
            if item.signed.statement.request <= LARGEST_NUMBER and self._signer(item, commit):
                return item.signed.statement.request
        return 0

    def _near(self, commit: str) -> tuple[Recorded, ...]:
        """Statements in the commits that ``commit`` has and its ``LOOK_BACK``th first-parent ancestor has not, newest first."""
        if commit not in self._recorded:
            start = self._git.resolve(f"{commit}~{LOOK_BACK}")
            self._recorded[commit] = _carried(self._git.commits([commit], [start] if start else []), commit)
        return self._recorded[commit]


def _carried(commits: Sequence[CommitFacts], tip: str) -> tuple[Recorded, ...]:
    parents = {item.oid: next(iter(item.parents), "") for item in commits}
    chain: set[str] = set()
    while tip in parents:
        chain.add(tip)
        tip = parents[tip]
    return tuple(
        Recorded(commit=item.oid, parent=item.parents[0], on_chain=item.oid in chain, signed=signed)
        for item in commits
        for signed in _statements(item)
    )


def _statements(commit: CommitFacts) -> tuple[Signed, ...]:
    try:
        return statements_in(commit.message) if commit.parents else ()
    except Unproven:
        return ()
