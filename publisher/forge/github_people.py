"""Who approved a merged pull request, and whether that may count.

Rules:
* of each account number the latest decisive review before the merge counts: approved, changes requested, or dismissed;
* a person counts whom ``approval.yaml`` lists by number under the login that the account has now, and who may write;
* nobody approves what they opened, wrote, committed or pushed, and no bot approves;
* a review counts for what it saw: the head's last movement, in the host's own record, must be older than it, and it must name
  that head. The commit that a review names has been seen to follow later pushes, so it is no evidence by itself; but one that
  names another head was written for another head, by somebody whose page was older than the push;
* where the host keeps no record of the head (a fork's branch), only a review counts that quotes the payload on a line of its
  own: ``approve sha256:…``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from publisher.domain.approval import ApprovalRules, Subject
from publisher.domain.fingerprint import short
from publisher.forge.github_facts import Account, Movement, Pull, Review, Written, payloads_in
from publisher.forge.github_landings import Landing
from publisher.forge.github_reads import GithubReads
from publisher.forge.reasons import Unproven

APPROVED, CHANGES, DISMISSED, COMMENTED = "APPROVED", "CHANGES_REQUESTED", "DISMISSED", "COMMENTED"
DECISIVE = (APPROVED, CHANGES, DISMISSED)
MAY_WRITE = ("admin", "write")
RETARGETED = ("base_ref_changed", "automatic_base_change_succeeded")


@dataclass(frozen=True, kw_only=True)
class Moved:
    """When what reviewers see last changed, and how: the code that a review from before it is refused with."""

    at: datetime
    code: str
    entry: int
    by: int


@dataclass(frozen=True, kw_only=True)
class Given:
    """A review that counts. ``bound`` tells by what it is tied to the payload: ``time`` or ``content``."""

    review: Review
    by: Account
    at: datetime
    bound: str


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the rules look at for one merged request. ``moved`` is None where the host has no record of the head."""

    pull: Pull
    reviews: tuple[Review, ...]
    late: tuple[Review, ...]
    writers: frozenset[int]
    moved: Moved | None


class People:
    """Judges the reviews of merged requests."""

    def __init__(self, reads: GithubReads) -> None:
        self._reads = reads

    def request(self, landing: Landing, written: Sequence[Written]) -> Request:
        """Everything about a request that does not depend on whose approval is asked for."""
        pull, merged_at = landing.pull, landing.merged_at
        record = self._record(pull, merged_at)
        own = {commit.oid for commit in written}
        people = {account for commit in written for account in commit.people}
        people |= {movement.by.id for movement in record if movement.by and movement.after in own}
        people |= {pull.author.id} if pull.author else set()
        people |= {pull.head_owner} if pull.head_repository != pull.base_repository else set()
        reviews = [review for review in self._reads.reviews(pull.number) if review.submitted_at]
        early = [review for review in reviews if review.submitted_at and review.submitted_at <= merged_at]
        return Request(
            pull=pull, reviews=tuple(sorted(early, key=_order)), late=tuple(review for review in reviews if review not in early),
            writers=frozenset(people), moved=self._moved(pull, merged_at, record, written),
        )  # fmt: skip

    def _record(self, pull: Pull, merged_at: datetime) -> tuple[Movement, ...]:
        """How the head's branch moved until the merge, newest first; nothing for a fork's."""
        if pull.head_repository != pull.base_repository:
            return ()
        return tuple(one for one in self._reads.movements(f"refs/heads/{pull.branch}") if one.at <= merged_at)

    def _moved(self, pull: Pull, merged_at: datetime, record: Sequence[Movement], written: Sequence[Written]) -> Moved | None:
        last = next((movement for movement in record if movement.after == pull.head), None)
        if last is None or last.by is None:
            return None
        updated = any(commit.oid == pull.head and commit.parents > 1 for commit in written)
        code = "force-pushed-after-review" if last.kind == "force_push" else "review-of-older-head"
        found = Moved(at=last.at, code="updated-after-review" if updated else code, entry=last.id, by=last.by.id)
        for event in self._reads.timeline(pull.number):
            if found.at < event.at <= merged_at and event.kind not in ("closed", "reopened"):
                code = "retargeted-after-review" if event.kind in RETARGETED else "force-pushed-after-review"
                found = Moved(at=event.at, code=code, entry=last.id, by=last.by.id)
        return found

    # --- whose approval counts -------------------------------------------------------------------------------------------

    def approvals(self, request: Request, subject: Subject, rules: ApprovalRules) -> tuple[Given, ...]:
        """The reviews that approve ``subject`` by ``rules``, enough of them. Raises ``Unproven``."""
        latest: dict[int, Review] = {}
        for review in request.reviews:
            if review.by and review.state in DECISIVE:
                latest[review.by.id] = review
        self._require_nobody_against(request, latest, rules)
        good: list[Given] = []
        bad: list[Unproven] = []
        for review in sorted(latest.values(), key=_order):
            if review.state == APPROVED and review.by and review.submitted_at:
                try:
                    bound = self._counts(request, review, review.by, review.submitted_at, subject, rules)
                    good.append(Given(review=review, by=review.by, at=review.submitted_at, bound=bound))
                except Unproven as problem:
                    bad.append(problem)
        if len(good) >= max(rules.count, 1):
            return tuple(good)
        if good:
            raise Unproven("too-few", f"{len(good)} of {rules.count}")
        raise bad[-1] if bad else Unproven(_why_none(request, latest), str(request.pull.number))

    def _require_nobody_against(self, request: Request, latest: dict[int, Review], rules: ApprovalRules) -> None:
        listed = {approver.id for approver in rules.approvers}
        for account, review in latest.items():
            if account in listed and review.state == CHANGES:
                before = [one.state for one in request.reviews if one.by and one.by.id == account and one is not review]
                raise Unproven("approval-withdrawn" if APPROVED in before else "changes-requested", str(request.pull.number))

    def _counts(
        self, request: Request, review: Review, by: Account, at: datetime, subject: Subject, rules: ApprovalRules
    ) -> str:
        """By what a review is tied to the payload. Raises ``Unproven`` where it does not count."""
        _require_listed(by, rules)
        moved = request.moved
        if moved and moved.by == by.id:
            raise Unproven("pushed-after-own-review" if at <= moved.at else "last-pusher", by.login)
        if by.id in request.writers:
            raise Unproven("own-approval", by.login)
        bound = _bound(request.pull, review, at, moved, subject)
        account, may = self._reads.permission(by.login)
        if account != by.id or may not in MAY_WRITE:
            raise Unproven("reviewer-without-write", by.login)
        return bound


def _order(review: Review) -> tuple[float, int]:
    return review.submitted_at.timestamp() if review.submitted_at else 0.0, review.id


def _require_listed(by: Account, rules: ApprovalRules) -> None:
    if not by.is_person:
        raise Unproven("review-by-bot", by.login)
    listed = [
        approver for approver in rules.approvers if approver.id == by.id or approver.login.casefold() == by.login.casefold()
    ]
    if not listed:
        raise Unproven("reviewer-not-listed", by.login)
    if any((approver.id, approver.login.casefold()) != (by.id, by.login.casefold()) for approver in listed):
        raise Unproven("login-differs", by.login)


def _bound(pull: Pull, review: Review, at: datetime, moved: Moved | None, subject: Subject) -> str:
    if moved and at <= moved.at:
        raise Unproven(moved.code)
    if moved and review.commit == pull.head:
        return "time"
    named = payloads_in(review.body)
    if subject.payload in named:
        return "content"
    if named:
        raise Unproven("review-names-another-payload", short(subject.payload))
    # A page that was opened before a push sends a review of the older head after it.
    raise Unproven("review-of-older-head") if moved else Unproven("freshness-unknown", short(subject.payload))


def _why_none(request: Request, latest: dict[int, Review]) -> str:
    """Why nobody approved at all."""
    states = {review.state for review in latest.values()}
    if DISMISSED in states:
        return "approval-dismissed"
    if any(review.state == APPROVED for review in request.late):
        return "reviewed-after-merge"
    if any(review.state == COMMENTED for review in request.reviews):
        return "commented-only"
    return "not-reviewed"
