"""Forge ``github``: requests are pull requests, approvals are what GitHub observed about them.

Rules:
* only the newest first-parent change of a file counts; so any later edit, revert or deletion spends its approval;
* that change must be one that ``github_judge.py`` finds proven, under the rules of ``trusted_rules.py``;
* a rejection of a payload (``github_rejections.py``) is final, whether it came before or after an approval;
* what GitHub does not answer, or answers unreadably, is no answer: come back later, never an approval;
* what needs no answer of GitHub asks for none: ``approval.yaml`` as it began, a file that nobody proposed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from publisher.domain.approval import Approval, ApprovalRules, NoApproval, Subject, Verdict
from publisher.errors import ComeBackLater, InputProblem, NeedsPerson, StoppedForSafety
from publisher.forge.github_judge import GithubJudge
from publisher.forge.github_landings import Landings
from publisher.forge.github_reads import GithubReads
from publisher.forge.github_rejections import Rejections
from publisher.forge.incoming import RULES_PATH, is_ours
from publisher.forge.merges import PayloadOf
from publisher.forge.reasons import Unproven, sentence
from publisher.forge.tree_changes import Trees, changed_beside
from publisher.forge.trusted_rules import ALL, ParseRules, TrustedRules
from publisher.ports import GitReads, HostReads, OpenRequest, Tips


class GithubForge:
    """Implements ``ReadsForge``. Reads only."""

    def __init__(
        self,
        git: GitReads,
        host: HostReads,
        *,
        branch: str,
        parse_rules: ParseRules,
        payload_of: PayloadOf,
        clock: Callable[[], datetime],
        pinned_root: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``branch`` is the default branch's name; ``pinned_root`` is ``PUBLISHER_ROOT``; ``sleep`` waits for GitHub's indexes."""
        self._git = git
        self.branch = branch
        self.trees = Trees(git)
        reads = GithubReads(host, clock)
        landings = Landings(git, self.trees, reads, branch, clock=clock, sleep=sleep)
        self._judge = GithubJudge(git, self.trees, reads, landings, branch=branch, payload_of=payload_of, clock=clock)
        self._rejections = Rejections(git, reads, branch=branch, payload_of=payload_of)
        self._payload_of = payload_of
        self._beside: dict[str, bool] = {}
        self._rules = TrustedRules(git, self._judge, parse_rules=parse_rules, payload_of=payload_of, pinned_root=pinned_root)

    def rules(self, commit: str) -> ApprovalRules:
        """The approval rules in force at a commit."""
        self._git.require_trustworthy()
        return self._rules.at(commit)

    def verdict(self, tips: Tips, subject: Subject) -> Verdict:
        """What people decided about one file at one payload, derived from the default branch and GitHub."""
        self._git.require_trustworthy()
        rules = self._rules_at(tips.default)
        if rules:
            self._require_rules_in_line(tips.default, rules)
        rejection = self._rejections.of(subject, rules) if rules else None
        if rejection:
            return rejection
        changes = self._git.first_parent_changes(tips.default, subject.path)
        if not changes:
            return NoApproval(subject=subject, code="absent", says=sentence("absent"))
        try:
            return self._approval(tips.default, changes[0], subject)
        except Unproven as problem:
            return NoApproval(subject=subject, code=problem.code, says=problem.says)

    def _require_rules_in_line(self, tip: str, rules: ApprovalRules) -> None:
        """Stops when an approved change of the rules lies beside the first-parent chain: older rules would be in force again."""
        for oid in self._git.later_changes(rules.commit, tip, RULES_PATH):
            if oid in self._git.first_parent_changes(tip, RULES_PATH, limit=ALL):
                continue  # on the chain itself, where ``rules`` has judged it
            if self._was_approved(oid):
                raise StoppedForSafety(
                    "rules-put-aside", f"the approved {RULES_PATH} of {oid[:12]} left the first-parent chain",
                    next=f"git log --first-parent; then put the default branch back on a descendant of {oid[:12]}",
                )  # fmt: skip

    def _was_approved(self, oid: str) -> bool:
        """Whether a commit was an approved change of the rules where it stood."""
        if oid not in self._beside:
            try:
                self._beside[oid] = self._judged(oid)
            except ComeBackLater as later:
                if later.code != "host-lags":
                    raise
                return False  # the host knows of no merge that brought it: a request's own commit, which never was the tip
        return self._beside[oid]

    def _judged(self, oid: str) -> bool:
        data, parents = self._git.blob_at(oid, RULES_PATH), self._git.commit(oid).parents
        before = self._rules_at(parents[0]) if data is not None and parents else None
        if data is None or before is None:
            return False
        try:
            payload, revision = self._payload_of(RULES_PATH, data)
            self._judge.judge(oid, Subject(path=RULES_PATH, payload=payload, revision=revision), before)
        except (Unproven, InputProblem):
            return False
        return True

    def _approval(self, tip: str, change: str, subject: Subject) -> Approval:
        twin = self.trees.twin(tip, subject.path)
        if twin:
            raise Unproven("case-twin", twin)
        beside = changed_beside(self._git, self.trees, change, tip, subject.path)
        if beside:
            raise Unproven("put-aside", beside[:12])
        parents = self._git.commit(change).parents
        rules = self._rules_at(parents[0] if parents else change)
        if rules is None:
            raise Unproven("no-rules")
        return self._judge.judge(change, subject, rules)

    def _rules_at(self, commit: str) -> ApprovalRules | None:
        try:
            return self._rules.at(commit)
        except NeedsPerson as problem:
            if problem.code != "no-approval-rules":
                raise
            return None

    # --- open requests -----------------------------------------------------------------------------------------------------

    def open_requests(self, tips: Tips) -> tuple[OpenRequest, ...]:
        """Requests not merged or closed, by number, with the plans that each brings."""
        waiting = [(n, head) for n, head in sorted(tips.requests.items()) if not self._git.is_ancestor(head, tips.default)]
        return tuple(OpenRequest(number=number, head=head, paths=self._paths(tips, head)) for number, head in waiting)

    def _paths(self, tips: Tips, head: str) -> tuple[str, ...]:
        base = self._base(tips.default, head)
        found = self.trees.changes(base, head) if base else {}
        return tuple(sorted(path for path, entry in found.items() if is_ours(path) and entry and entry.is_plain))

    def _base(self, target: str, head: str) -> str:
        """The newest commit that a request and the default branch share; "" where there is none, or no single one.

        People update a request's branch by merging the default branch into it, so it need not be a straight line.
        """
        commits = self._git.commits([head], [target])
        own = {commit.oid for commit in commits}
        shared = {parent for commit in commits for parent in commit.parents if parent not in own}
        newest = [one for one in shared if all(self._git.is_ancestor(other, one) for other in shared)]
        return newest[0] if len(newest) == 1 else ""
