"""What GitHub makes of reviews: who may, which count, what becomes of them when heads move and people change their minds."""

from __future__ import annotations

from typing import Any

from tests.contracts.github_merging import rewritten
from tests.support.github.world import START, World


def states(w: World, n: int) -> list[tuple[str | None, str]]:
    return [(one["user"] and one["user"]["login"], one["state"]) for one in w.get(f"pulls/{n}/reviews")]


def only(w: World, n: int) -> Any:
    (found,) = w.get(f"pulls/{n}/reviews")
    return found


def authors_cannot_approve(w: World) -> None:
    n = w.opened(by=w.rae)
    for event in ("APPROVE", "REQUEST_CHANGES"):
        reply = w.call(w.rae, "POST", f"pulls/{n}/reviews", {"event": event, "body": "fine"})
        assert reply.status == 422 and "your own pull request" in reply.body["errors"][0]
    assert w.does(w.rae, "POST", f"pulls/{n}/reviews", {"event": "COMMENT", "body": "mine"}) == 200
    assert w.does(w.ann, "POST", f"pulls/{n}/reviews", {"event": "APPROVE"}) == 200


def readers_may_review(w: World) -> None:
    n = w.opened()
    assert w.does(w.eve, "POST", f"pulls/{n}/reviews", {"event": "APPROVE"}) == 200
    assert states(w, n) == [("eve", "APPROVED")]


def readers_do_not_count(w: World) -> None:
    n = w.opened()
    w.sim.protect("main", required_reviews=1)
    w.sim.reviews.submit(w.eve, n, "APPROVED")
    assert w.does(w.rae, "PUT", f"pulls/{n}/merge", {}) == 405
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    assert w.does(w.rae, "PUT", f"pulls/{n}/merge", {}) == 200


def actions_may_not_approve(w: World) -> None:
    n = w.opened()
    assert w.does(w.job, "POST", f"pulls/{n}/reviews", {"event": "APPROVE"}) == 422
    w.sim.actions_may_create_pull_requests = True
    assert w.does(w.job, "POST", f"pulls/{n}/reviews", {"event": "APPROVE"}) == 200


def bots_are_marked(w: World) -> None:
    n = w.opened(by=w.rae)
    w.sim.reviews.submit(w.bot, n, "APPROVED")
    assert (only(w, n)["user"]["type"], w.get(f"pulls/{n}")["user"]["type"]) == ("Bot", "User")


def force_push_repoints_approvals(w: World) -> None:
    n = w.opened()
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    w.sim.reviews.submit(w.eve, n, "COMMENTED", "hm")
    old = w.tip("plan")
    w.later()
    w.sim.push_as(w.bot, rewritten(w), "plan", force=True)
    approved, commented = w.get(f"pulls/{n}/reviews")
    assert (approved["state"], approved["commit_id"]) == ("APPROVED", w.tip("plan"))
    assert approved["submitted_at"] == START.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert commented["commit_id"] == old
    w.sim.repoint_reviews = False
    w.sim.push_as(w.bot, rewritten(w, text="again\n"), "plan", force=True)
    assert w.get(f"pulls/{n}/reviews")[0]["commit_id"] == approved["commit_id"]


def plain_pushes_leave_reviews(w: World) -> None:
    n = w.opened()
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    old = w.tip("plan")
    w.sim.commit(w.bot, "plan", {"more.txt": "x\n"})
    assert (only(w, n)["state"], only(w, n)["commit_id"]) == ("APPROVED", old)
    w.sim.commit(w.ann, "main", {"other.txt": "x\n"})
    w.sim.pulls.update_branch(w.bot, n)
    assert (only(w, n)["state"], only(w, n)["commit_id"]) == ("APPROVED", old)


def dismissal_replaces_the_state(w: World) -> None:
    n = w.opened()
    review = w.sim.reviews.submit(w.rae, n, "APPROVED")
    comment = w.sim.reviews.submit(w.rae, n, "COMMENTED", "hm")
    dismissal = {"message": "too early", "event": "DISMISS"}
    assert w.does(w.ann, "PUT", f"pulls/{n}/reviews/{review}/dismissals", dismissal) == 200
    assert states(w, n) == [("rae", "DISMISSED"), ("rae", "COMMENTED")]
    assert w.does(w.ann, "PUT", f"pulls/{n}/reviews/{comment}/dismissals", dismissal) == 422
    (noted,) = [one for one in w.get(f"issues/{n}/timeline") if one["event"] == "review_dismissed"]
    was = {"state": "approved", "review_id": review, "dismissal_message": "too early"}
    assert (noted["actor"]["login"], noted["dismissed_review"]) == ("ann", was)


def readers_cannot_dismiss(w: World) -> None:
    n = w.opened()
    review = w.sim.reviews.submit(w.rae, n, "APPROVED")
    assert w.does(w.eve, "PUT", f"pulls/{n}/reviews/{review}/dismissals", {"message": "no"}) == 403
    assert states(w, n) == [("rae", "APPROVED")]


def stale_approvals_are_dismissed(w: World) -> None:
    n = w.opened()
    w.sim.protect("main", required_reviews=1, dismiss_stale=True)
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    w.sim.commit(w.ann, "unrelated", {"other.txt": "x\n"})
    w.sim.pulls.merge(w.rae, approved(w, "unrelated"))
    w.sim.pulls.update_branch(w.bot, n)
    assert states(w, n) == [("rae", "APPROVED")], "the request's own diff is the same"
    w.sim.commit(w.bot, "plan", {"plan.txt": "changed\n"})
    assert states(w, n) == [("rae", "DISMISSED")]


def approved(w: World, head: str) -> int:
    n = w.sim.pulls.open(w.ann, head)
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    return n


def pending_is_private(w: World) -> None:
    n = w.opened()
    reply = w.call(w.rae, "POST", f"pulls/{n}/reviews", {"body": "not yet"})
    assert (reply.body["state"], "submitted_at" in reply.body) == ("PENDING", False)
    assert w.get(f"pulls/{n}/reviews", w.rae) == [reply.body]
    assert w.get(f"pulls/{n}/reviews", w.ann) == []
    assert "reviewed" not in w.kinds(n)


def deleted_reviewers_are_null(w: World) -> None:
    n = w.opened(by=w.ann)
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    w.sim.delete_account(w.rae)
    assert states(w, n) == [(None, "APPROVED")]
    assert w.does(w.bot, "GET", "/users/rae") == 404


def lost_commits_are_null(w: World) -> None:
    n = w.opened()
    w.sim.reviews.lose_commit(n, w.sim.reviews.submit(w.rae, n, "APPROVED"))
    assert only(w, n)["commit_id"] is None


def merged_requests_take_reviews(w: World) -> None:
    n = w.opened()
    w.sim.pulls.merge(w.rae, n)
    w.later()
    assert w.does(w.ann, "POST", f"pulls/{n}/reviews", {"event": "APPROVE"}) == 200
    assert only(w, n)["submitted_at"] > w.get(f"pulls/{n}")["merged_at"]


def reviews_are_chronological(w: World) -> None:
    n = w.opened()
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    w.sim.reviews.submit(w.ann, n, "CHANGES_REQUESTED", "no")
    w.sim.reviews.submit(w.rae, n, "CHANGES_REQUESTED", "on second thought")
    expected = [("rae", "APPROVED"), ("ann", "CHANGES_REQUESTED"), ("rae", "CHANGES_REQUESTED")]
    assert states(w, n) == expected
    assert w.get(f"pulls/{n}/reviews", per_page=1, page=3)[0]["body"] == "on second thought"


CONTRACTS = (
    authors_cannot_approve, readers_may_review, readers_do_not_count, actions_may_not_approve, bots_are_marked,
    force_push_repoints_approvals, plain_pushes_leave_reviews, dismissal_replaces_the_state, readers_cannot_dismiss,
    stale_approvals_are_dismissed, pending_is_private, deleted_reviewers_are_null, lost_commits_are_null, merged_requests_take_reviews,
    reviews_are_chronological,
)  # fmt: skip
