"""Forge ``git``: no host at all. Requests are branches of a bare remote, approvals are signatures inside merge commits.

Rules:
* only the newest first-parent change of a file counts; so any later edit, revert or deletion spends its approval;
* that change must be a merge which ``merges.py`` finds proven, under the rules of ``trusted_rules.py``;
* a signed rejection of a payload is final, whether it came before or after an approval;
* everything is derived from git objects each time; a clone that lies about history is refused first.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from publisher.domain.approval import Approval, ApprovalRules, NoApproval, Rejection, Subject, Verdict
from publisher.errors import NeedsPerson
from publisher.forge.closings import Closings
from publisher.forge.incoming import incoming
from publisher.forge.merges import MergeJudge, PayloadOf, Place
from publisher.forge.reasons import Unproven, sentence
from publisher.forge.tree_changes import Trees, changed_beside
from publisher.forge.trusted_rules import ParseRules, TrustedRules
from publisher.ports import GitReads, OpenRequest, Tips


class SignedGit:
    """Implements ``ReadsForge``. Reads only."""

    def __init__(
        self,
        git: GitReads,
        *,
        instance: str,
        branch: str,
        parse_rules: ParseRules,
        payload_of: PayloadOf,
        clock: Callable[[], datetime],
        pinned_root: str = "",
    ) -> None:
        """``instance`` and ``branch`` are the instance's id and default branch; ``pinned_root`` is ``PUBLISHER_ROOT``."""
        self._git = git
        self.place = Place(instance=instance, branch=branch)
        self.payload_of = payload_of
        self.parse_rules = parse_rules
        self.trees = Trees(git)
        self.judge = MergeJudge(git, self.trees, self.place, payload_of, clock)
        self._rules = TrustedRules(git, self.judge, parse_rules=parse_rules, payload_of=payload_of, pinned_root=pinned_root)
        self.closings = Closings(git, self.judge, self._rules.at)

    def rules(self, commit: str) -> ApprovalRules:
        """The approval rules in force at a commit."""
        self._git.require_trustworthy()
        return self._rules.at(commit)

    def verdict(self, tips: Tips, subject: Subject) -> Verdict:
        """What people decided about one file at one payload, derived from the default branch."""
        self._git.require_trustworthy()
        self.closings.require_rules_in_line(tips.default)
        changes = self._git.first_parent_changes(tips.default, subject.path)
        rejection = self._rejection(tips.default, changes[0] if changes else "", subject)
        if rejection:
            return rejection
        if not changes:
            return NoApproval(subject=subject, code="absent", says=sentence("absent"))
        try:
            return self._approval(tips.default, changes[0], subject)
        except Unproven as problem:
            return NoApproval(subject=subject, code=problem.code, says=problem.says)

    def _rejection(self, tip: str, merge: str, subject: Subject) -> Rejection | None:
        """Looks back from the tip, and from the file's own merge, so that the answer for an old plan does not fade."""
        found = self.closings.rejection(tip, subject)
        return found or (self.closings.rejection(merge, subject) if merge else None)

    def _approval(self, tip: str, merge: str, subject: Subject) -> Approval:
        twin = self.trees.twin(tip, subject.path)
        if twin:
            raise Unproven("case-twin", twin)
        beside = changed_beside(self._git, self.trees, merge, tip, subject.path)
        if beside:
            raise Unproven("put-aside", beside[:12])
        return self.judge.judge(merge, subject, self._rules_before(merge))

    def _rules_before(self, merge: str) -> ApprovalRules:
        parents = self._git.commit(merge).parents
        try:
            return self._rules.at(parents[0] if parents else merge)
        except NeedsPerson:
            raise Unproven("no-rules") from None

    def open_requests(self, tips: Tips) -> tuple[OpenRequest, ...]:
        """Requests not merged or rejected, by number. One that could never be approved brings no paths."""
        waiting = [(n, head) for n, head in sorted(tips.requests.items()) if not self._git.is_ancestor(head, tips.default)]
        return tuple(OpenRequest(number=number, head=head, paths=self._paths(tips, head)) for number, head in waiting)

    def _paths(self, tips: Tips, head: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(incoming(self._git, self.trees, tips.default, head).files))
        except Unproven:
            return ()
