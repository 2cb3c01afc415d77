"""A person's decision on a request: signed statements inside a signed merge on the default branch.

Rules:
* nobody decides on a request that they wrote or signed a commit of;
* what would be pushed is judged first by the same code that will judge it ever after; what would prove nothing is not pushed;
* a rejection is a merge too, one that changes no file, so that the close stays on the default branch for ever;
* only a read of the remote says whether it landed; where the default branch moved meanwhile, everything is checked again on
  its new tip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from publisher.domain.approval import NAMESPACE, Approval, ApprovalRules, NoApproval, Rejection, Signer, Statement, Subject
from publisher.domain.business_calendar import in_utc
from publisher.domain.fingerprint import digest, short
from publisher.errors import ComeBackLater, NeedsPerson, Refusal, UsageProblem
from publisher.forge.incoming import RULES_PATH, Incoming, incoming, signers_of, writers_of
from publisher.forge.pending import Pending
from publisher.forge.reasons import Unproven
from publisher.forge.request_branches import REQUESTS, RequestBranches, own_signer
from publisher.forge.signed_git import SignedGit
from publisher.forge.statements import APPROVE, REJECT, Signed, block_of
from publisher.ports import GitWrites, Tips

TRIES = 5
AGAIN = "publisher approve"
REVISE = "publisher revise"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A person about to decide: on which request, how and when, with which key."""

    number: int
    head: str
    approve: bool
    now: datetime
    key: Path
    me: Signer
    rules: ApprovalRules
    writers: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Composed:
    """A merge that is ready to be pushed onto the commit ``onto``, and the approvals that it proves."""

    onto: str
    commit: str
    approvals: tuple[Approval, ...]


class Decider:
    """Decides requests for whoever holds ``key``."""

    def __init__(self, git: GitWrites, forge: SignedGit, branches: RequestBranches, key: Path | None) -> None:
        self._git = git
        self._forge = forge
        self._branches = branches
        self._key = key
        self._pending = Pending(git, forge.judge, branches)

    def decide(self, tips: Tips, number: int, approve: bool, now: datetime) -> tuple[Approval, ...]:
        """Merges or closes a request. Returns the approvals made, none for a rejection."""
        if number not in tips.requests:
            raise UsageProblem("no-such-request", f"there is no open request {number}", next="publisher status")
        head, tip = tips.requests[number], tips.default
        mine: list[Composed] = []
        still = 0
        for _ in range(TRIES):
            live = self._branches.look(self._branches.default, f"{REQUESTS}{number}")
            tip = self._follow(tip, live.get(self._branches.default, ""))
            landed = next((made for made in mine if self._git.is_ancestor(made.commit, tip)), None)
            if landed:
                return self._finish(landed, number, head)
            self._check_open(number, head, tip, live.get(f"{REQUESTS}{number}", ""))
            # Where nobody else moved the branch, it is asked once more and then believed.
            still = still + 1 if mine and mine[-1].onto == tip else 0
            if still == 2:
                break
            if not mine or mine[-1].onto != tip:
                mine.append(self._compose(replace(tips, default=tip), number, head, approve, now))
            if self._branches.put(mine[-1].commit, self._branches.default, tip) == mine[-1].commit:
                return self._finish(mine[-1], number, head)
        raise ComeBackLater("decision-not-landed", f"the remote did not take the decision on request {number}", next=AGAIN)

    def _follow(self, tip: str, live: str) -> str:
        if not live:
            raise ComeBackLater("no-default-branch", "the remote does not show the default branch", next="publisher doctor")
        if live != tip:
            self._branches.fetch(self._branches.default)
        return live

    def _check_open(self, number: int, head: str, tip: str, live: str) -> None:
        if self._git.is_ancestor(head, tip):
            raise NeedsPerson("already-decided", f"request {number} was decided before", next="publisher status")
        if live != head:
            what = "changed" if live else "withdrawn"
            raise NeedsPerson(f"request-{what}", f"request {number} was {what} since it was read", next=AGAIN)

    def _finish(self, landed: Composed, number: int, head: str) -> tuple[Approval, ...]:
        self._branches.remove(f"{REQUESTS}{number}", head)
        self._pending.remove(number)
        return landed.approvals

    # --- one try ----------------------------------------------------------------------------------------------------------

    def _compose(self, tips: Tips, number: int, head: str, approve: bool, now: datetime) -> Composed:
        rules = self._forge.rules(tips.default)
        key, me = own_signer(self._git, self._key, rules)
        if not (me.may_approve and me.may_commit):
            raise NeedsPerson(
                "not-entitled", "approval.yaml does not permit this key to decide requests", next="ask a reviewer"
            )
        request = self._request(tips, number, head, rules if approve else None)
        decision = Decision(
            number=number, head=head, approve=approve, now=now, key=key, me=me, rules=rules,
            writers=writers_of(self._git, request.commits, rules),
        )  # fmt: skip
        if me.principal in decision.writers:
            raise NeedsPerson(
                "own-request", f"{me.principal} wrote a commit of request {number}", next="somebody else runs publisher approve"
            )
        texts = self._git.blobs(entry.oid for entry in request.files.values())
        files = {path: texts[entry.oid] for path, entry in request.files.items()}
        subjects = tuple(self._subject(path, data, approve) for path, data in sorted(files.items()))
        if not approve:
            return Composed(onto=tips.default, commit=self._merge(tips, decision, subjects, {}), approvals=())
        self._check_fresh(tips, request, subjects, number)
        return self._approved(tips, decision, subjects, files)

    def _request(self, tips: Tips, number: int, head: str, rules: ApprovalRules | None) -> Incoming:
        """What the request brings; with ``rules``, signed as they want it."""
        try:
            request = incoming(self._git, self._forge.trees, tips.default, head)
            if rules:
                signers_of(self._git, request.commits, rules)
        except Unproven as problem:
            raise NeedsPerson(problem.code, f"request {number}: {problem.says}", next="correct or delete its branch")
        if not request.files:
            raise NeedsPerson("nothing-to-decide", f"request {number} changes no file", next="delete its branch")
        return request

    def _subject(self, path: str, data: bytes, approve: bool) -> Subject:
        try:
            payload, revision = self._forge.payload_of(path, data)
            if path == RULES_PATH and approve:
                self._forge.parse_rules(data, path)  # rules that cannot be read would never come into force
        except Refusal:
            if approve:
                raise
            payload, revision = digest(data), 1  # what cannot be read can still be rejected
        return Subject(path=path, payload=payload, revision=revision)

    def _check_fresh(self, tips: Tips, request: Incoming, subjects: Sequence[Subject], number: int) -> None:
        trees = self._forge.trees
        for subject in subjects:
            if trees.entry(tips.default, subject.path) != trees.entry(request.base, subject.path):
                raise NeedsPerson(
                    "request-stale", f"{subject.path} changed since request {number} was made", next="publisher plan"
                )

    def _approved(self, tips: Tips, decision: Decision, subjects: Sequence[Subject], files: Mapping[str, bytes]) -> Composed:
        """The merge that approves, judged before anybody else sees it."""
        without = {decision.me.principal, *decision.writers}
        others = self._pending.statements(decision.number, tips.default, decision.head, subjects, decision.rules, without)
        commit = self._merge(tips, decision, subjects, files, others)
        approvals = []
        for subject in subjects:
            verdict = self._forge.verdict(replace(tips, default=commit), subject)
            if not isinstance(verdict, Approval):
                self._refuse(decision, subjects, verdict)
            approvals.append(verdict)
        return Composed(onto=tips.default, commit=commit, approvals=tuple(approvals))

    def _refuse(self, decision: Decision, subjects: Sequence[Subject], verdict: NoApproval | Rejection) -> NoReturn:
        """Says why the merge would prove nothing. Where only more people are missing, this approval is kept for them."""
        path = verdict.subject.path
        if isinstance(verdict, Rejection):
            raise NeedsPerson("already-rejected", f"{path} was rejected at this payload, which is final", next=REVISE)
        if verdict.code == "too-few":
            signed = self._signed(decision, subjects)
            self._pending.add(decision.number, decision.head, signed, key=decision.key, me=decision.me, now=decision.now)
            raise NeedsPerson(
                "too-few", f"your approval of request {decision.number} is kept; more people must approve it",
                next="somebody else runs publisher approve",
            )  # fmt: skip
        raise NeedsPerson(verdict.code, f"{path}: {verdict.says}", next="publisher status")

    def _merge(
        self,
        tips: Tips,
        decision: Decision,
        subjects: Sequence[Subject],
        files: Mapping[str, bytes],
        more: Sequence[Signed] = (),
    ) -> str:
        signed = [*more, *self._signed(decision, subjects)]
        word = "Approve" if decision.approve else "Reject"
        lines = [f"{subject.path} {short(subject.payload)}" for subject in subjects]
        lines = [f"{word} request {decision.number}", "", *lines, "", f"Request: {decision.number}", block_of(signed), ""]
        return self._git.compose(
            parents=[tips.default, decision.head], base_tree=tips.default, changes=dict(files), message="\n".join(lines),
            author=decision.me.principal, email=decision.me.principal, at=decision.now, signing_key=decision.key,
        )  # fmt: skip

    def _signed(self, decision: Decision, subjects: Sequence[Subject]) -> tuple[Signed, ...]:
        place = self._forge.place
        statements = [
            Statement(
                instance=place.instance, branch=place.branch, path=subject.path, payload=subject.payload,
                revision=subject.revision, request=decision.number, time=in_utc(decision.now),
                decision=APPROVE if decision.approve else REJECT,
            )
            for subject in subjects
        ]  # fmt: skip
        return tuple(
            Signed(statement=item, signature=self._git.sign(decision.key, NAMESPACE, item.signed_bytes()))
            for item in statements
        )
