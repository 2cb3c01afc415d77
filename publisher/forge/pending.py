"""Approvals that wait for more: where ``approval.yaml`` asks for several people, each leaves statements on a branch of the
remote, and the one who completes the number merges with all of them.

Nothing here is trusted for being on that branch: a statement counts when its signature and all its fields hold for the merge
that is about to be made, and others are passed over.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from publisher.domain.approval import ApprovalRules, Signer, Subject
from publisher.errors import ComeBackLater
from publisher.forge.merges import MergeJudge
from publisher.forge.reasons import Unproven
from publisher.forge.request_branches import APPROVALS, RequestBranches
from publisher.forge.statements import Signed, block_of, statements_in
from publisher.ports import CommitFacts, GitWrites

MOST = 50
"""How many waiting commits are looked at; more than any number of approvers."""


class Pending:
    """Statements waiting under ``publisher/approvals/<request number>``."""

    def __init__(self, git: GitWrites, judge: MergeJudge, branches: RequestBranches) -> None:
        self._git = git
        self._judge = judge
        self._branches = branches

    def statements(
        self, number: int, target: str, head: str, subjects: Sequence[Subject], rules: ApprovalRules, without: Collection[str]
    ) -> tuple[Signed, ...]:
        """One valid statement per person and subject, for merging ``head`` onto ``target``, of people not in ``without``."""
        tip = self._tip(number) if rules.count > 1 else ""
        if not tip:
            return ()
        found: dict[tuple[str, str], Signed] = {}
        for commit in self._git.commits([tip], [head])[:MOST]:
            for signed in _statements(commit):
                for subject in subjects:
                    principal = self._principal(signed, subject, number, target, rules)
                    if principal and principal not in without:
                        found.setdefault((principal, subject.path), signed)
        return tuple(found.values())

    def _tip(self, number: int) -> str:
        ref = f"{APPROVALS}{number}"
        tip = self._branches.look(ref).get(ref, "")
        if tip:
            self._branches.fetch(ref)
        return tip

    def _principal(self, signed: Signed, subject: Subject, number: int, target: str, rules: ApprovalRules) -> str:
        if signed.statement.request != number or signed.statement.path != subject.path:
            return ""
        try:
            return self._judge.approver(signed, subject, rules, target)
        except Unproven:
            return ""

    def add(self, number: int, head: str, signed: Sequence[Signed], *, key: Path, me: Signer, now: datetime) -> None:
        """Leaves statements for whoever completes the number; repeating it leaves them once more, which changes nothing."""
        ref = f"{APPROVALS}{number}"
        tip = self._tip(number)
        commit = self._git.compose(
            parents=[tip or head], base_tree=head, changes={}, message=f"Approval for request {number}\n\n{block_of(signed)}\n",
            author=me.principal, email=me.principal, at=now, signing_key=key,
        )  # fmt: skip
        if self._branches.put(commit, ref, tip) != commit:
            raise ComeBackLater("approval-raced", "somebody else approved at the same moment", next="publisher approve")

    def remove(self, number: int) -> None:
        """Clears what waited for a request that is decided. Best effort."""
        ref = f"{APPROVALS}{number}"
        tip = self._branches.look(ref).get(ref, "")
        if tip:
            self._branches.remove(ref, tip)


def _statements(commit: CommitFacts) -> tuple[Signed, ...]:
    try:
        return statements_in(commit.message)
    except Unproven:
        return ()
