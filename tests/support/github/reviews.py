"""Reviews of pull requests.

Rules:
* whoever can read may review; nobody approves, or asks for changes in, a request of their own (422);
* GITHUB_TOKEN approves only where the repository's settings let Actions approve; a bot's review has ``user.type`` Bot;
* a review belongs to the head that it was submitted on, but ``commit_id`` is no stable binding: after a force-push an approval may
  name the new head (``Simulator.repoint_reviews``);
* a dismissal replaces the state of the review and needs write access; the list stays chronological;
* with "dismiss stale approvals" a push that changes the request's own diff dismisses its approvals;
* a pending review is shown to its author alone, and has no ``submitted_at``;
* reviews can be added to and edited on merged requests; a deleted account's review has no user, a lost commit's no commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.support.github import shapes
from tests.support.github.accounts import Account
from tests.support.github.answers import ApiError, Call, Page, not_found, route

if TYPE_CHECKING:
    from tests.support.github.pulls import Pull
    from tests.support.github.simulator import Simulator

EVENTS = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED", "": "PENDING"}
DECISIONS = ("APPROVED", "CHANGES_REQUESTED")


@dataclass(eq=False, kw_only=True)
class Review:
    id: int
    user: Account
    state: str
    body: str
    commit: str
    submitted_at: datetime


class Reviews:
    def __init__(self, sim: Simulator) -> None:
        self.sim = sim

    def submit(self, account: Account, number: int, state: str, body: str = "", commit: str = "") -> int:
        """``state`` as the API lists it; returns the review's id. ``commit``: the head that was looked at, if not the present one."""
        with self.sim.lock:
            pull = self.sim.pulls.numbered(number)
            assert state in EVENTS.values()
            if pull.merged_at and not self.sim.models("merged-requests-take-reviews"):
                raise ApiError(422, "Unprocessable Entity", errors=["The pull request is merged"])
            self._may_review(account, pull, state, body)
            if commit and commit not in self.sim.pulls.heads_of(pull):
                raise ApiError(422, "Unprocessable Entity", errors=["The commit is not part of the pull request"])
            made = Review(
                id=self.sim.new_id(),
                user=account,
                state=state,
                body=body,
                commit=commit or pull.head_sha,
                submitted_at=self.sim.now,
            )
            pull.reviews.append(made)
            if state != "PENDING":
                self.sim.issues.note(number, "reviewed", account, review=made, state=state.lower())
            return made.id

    def _may_review(self, account: Account, pull: Pull, state: str, body: str) -> None:
        sim = self.sim
        if account.kind == "actions" and state == "APPROVED" and not sim.actions_may_create_pull_requests:
            if sim.models("actions-may-not-approve"):
                raise ApiError(
                    422, "Unprocessable Entity", errors=["GitHub Actions is not permitted to approve pull requests."]
                )
        elif account.kind != "user" and not account.may("pull_requests", "write", public=not sim.private):
            raise ApiError(403, "Resource not accessible by integration")
        needed = ("participate", "write") if sim.models("readers-may-review") else ("contents", "write")
        if account.kind == "user" and not account.may(*needed, public=not sim.private):
            raise ApiError(403, "Must have read access to review") if not sim.private else not_found()
        if account.id == pull.user.id and state in DECISIONS and sim.models("authors-cannot-approve"):
            verb = "approve" if state == "APPROVED" else "request changes on"
            raise ApiError(422, "Unprocessable Entity", errors=[f"Can not {verb} your own pull request"])
        if state in ("COMMENTED", "CHANGES_REQUESTED") and not body:
            raise ApiError(422, "Unprocessable Entity", errors=["Body can't be blank"])

    def find(self, number: int, review: int) -> tuple[Pull, Review]:
        pull = self.sim.pulls.numbered(number)
        found = [one for one in pull.reviews if one.id == review]
        if not found:
            raise not_found()
        return pull, found[0]

    def edit(self, account: Account, number: int, review: int, body: str) -> None:
        with self.sim.lock:
            _, found = self.find(number, review)
            if found.user.id != account.id:
                raise ApiError(403, "Must be the author of the review")
            found.body = body

    def dismiss(self, account: Account, number: int, review: int, message: str = "no longer") -> None:
        with self.sim.lock:
            _, found = self.find(number, review)
            area = "contents" if account.kind == "user" else "pull_requests"
            if not account.may(area, "write", public=not self.sim.private) and self.sim.models("readers-cannot-dismiss"):
                raise ApiError(403, "Must have write access to dismiss a review")
            if found.state not in DECISIONS:
                raise ApiError(422, "Unprocessable Entity", errors=["Can not dismiss a commented pull request review"])
            self._dismissed(number, found, account, message)

    def _dismissed(self, number: int, review: Review, account: Account, message: str) -> None:
        was = {"state": review.state.lower(), "review_id": review.id, "dismissal_message": message or None}
        if self.sim.models("dismissal-replaces-the-state"):
            review.state = "DISMISSED"
        self.sim.issues.note(number, "review_dismissed", account, dismissed_review=was)

    def lose_commit(self, number: int, review: int) -> None:
        """The commit was garbage collected: ``commit_id`` is null from now on."""
        if self.sim.models("lost-commits-are-null"):
            self.find(number, review)[1].commit = ""

    def head_moved(self, pull: Pull, old_head: str, actor: Account, *, forced: bool) -> None:
        plain = not self.sim.models("plain-pushes-leave-reviews")
        if (forced or plain) and self.sim.repoint_reviews and self.sim.models("force-push-repoints-approvals"):
            for one in pull.reviews:
                if one.state == "APPROVED" and one.commit:
                    one.commit = pull.head_sha
        rules = [one.rules.get("pull_request", {}) for one in self.sim.protection.of(pull.base)]
        asked = any(one.get("dismiss_stale_reviews_on_push") for one in rules) and self.sim.models(
            "stale-approvals-are-dismissed"
        )
        if asked and self._diff(pull, old_head) != self._diff(pull, pull.head_sha):
            for one in pull.reviews:
                if one.state == "APPROVED":
                    self._dismissed(pull.number, one, actor, "")

    def _diff(self, pull: Pull, head: str) -> str:
        tip = self.sim.git.branch(pull.base)
        return self.sim.git.run("diff-tree", "-r", self.sim.git.base_of(tip, head), head)


@route("GET", "pulls/{pull_number}/reviews", "pull_requests")
def list_reviews(call: Call) -> Any:
    sim, pull = call.sim, call.sim.pulls.numbered(call.number("pull_number"))
    me = call.account.id if call.account else 0
    shown = [one for one in pull.reviews if one.state != "PENDING" or one.user.id == me or not sim.models("pending-is-private")]
    if not sim.models("reviews-are-chronological"):
        shown.reverse()
    return Page(shown, lambda one: shapes.review(sim, pull, one))


@route("POST", "pulls/{pull_number}/reviews", "participate", "write")
def create_review(call: Call) -> Any:
    number, body = call.number("pull_number"), call.body
    state = EVENTS[body.get("event", "")]
    made = call.sim.reviews.submit(call.actor, number, state, body.get("body", ""), body.get("commit_id", ""))
    return shapes.review(call.sim, *call.sim.reviews.find(number, made))


@route("GET", "pulls/{pull_number}/reviews/{review_id}", "pull_requests")
def get_review(call: Call) -> Any:
    return shapes.review(call.sim, *call.sim.reviews.find(call.number("pull_number"), call.number("review_id")))


@route("PUT", "pulls/{pull_number}/reviews/{review_id}", "participate", "write")
def edit_review(call: Call) -> Any:
    number, review = call.number("pull_number"), call.number("review_id")
    call.sim.reviews.edit(call.actor, number, review, call.body["body"])
    return shapes.review(call.sim, *call.sim.reviews.find(number, review))


@route("PUT", "pulls/{pull_number}/reviews/{review_id}/dismissals", "participate", "write")
def dismiss_review(call: Call) -> Any:
    number, review = call.number("pull_number"), call.number("review_id")
    call.sim.reviews.dismiss(call.actor, number, review, call.body["message"])
    return shapes.review(call.sim, *call.sim.reviews.find(number, review))
