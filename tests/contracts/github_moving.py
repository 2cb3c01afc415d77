"""What GitHub notes of moved refs, and which moves its rules refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.contracts.github_merging import rewritten
from tests.support.github.answers import ApiError
from tests.support.github.git import ZERO
from tests.support.github.world import START, World


def only(rows: list[Any]) -> Any:
    assert len(rows) == 1, rows
    return rows[0]


def activity_tells_merges_from_pushes(w: World) -> None:
    n, before = w.opened(), w.tip()
    w.later()
    made = w.sim.pulls.merge(w.rae, n, "squash")
    pushed = w.sim.commit(w.ann, "main", {"direct.txt": "x\n"})
    rows = [
        (one["activity_type"], one["before"], one["after"], one["actor"]["login"])
        for one in w.get("activity", ref="refs/heads/main")
    ]
    assert rows[:2] == [("push", made, pushed, "ann"), ("pr_merge", before, made, "rae")]
    assert [one["after"] for one in w.get("activity", ref="main", activity_type="pr_merge")] == [made]


def activity_tells_forced_pushes(w: World) -> None:
    w.opened()
    old, new = w.tip("plan"), rewritten(w)
    w.sim.push_as(w.bot, new, "plan", force=True)
    w.sim.push_as(w.bot, "", "plan")
    rows = [(one["activity_type"], one["before"], one["after"]) for one in w.get("activity", ref="plan")]
    assert rows == [("branch_deletion", new, ZERO), ("force_push", old, new), ("branch_creation", ZERO, old)]


def activity_has_the_servers_word(w: World) -> None:
    clone = w.clone(w.rae)
    made = clone.commit({"x.txt": "x\n"})
    claimed = w.sim.git.raw("log", "-1").returncode == 0 and clone.git("log", "-1", "--format=%cI")
    assert w.git(clone, *w.credentials(w.rae), "push", "origin", "HEAD:refs/heads/main").returncode == 0
    entry = w.get("activity", ref="main")[0]
    assert (entry["after"], entry["actor"]["id"], entry["timestamp"]) == (made, w.rae.id, START.strftime("%Y-%m-%dT%H:%M:%SZ"))
    assert datetime.fromisoformat(str(claimed)) != START


def activity_has_cursors(w: World) -> None:
    for n in range(5):
        w.sim.commit(w.rae, "main", {"n.txt": f"{n}\n"})
    first = w.call(w.bot, "GET", "activity", ref="main", per_page=2)
    assert "page=" not in first.links["next"].replace("per_page=", "") and "last" not in first.links
    w.sim.commit(w.rae, "main", {"n.txt": "meanwhile\n"})
    seen, reply = list(first.body), first
    while "next" in reply.links:
        reply = w.fetch(reply.links["next"], w.bot)
        seen += reply.body
    assert len({one["id"] for one in seen}) == len(seen) == 6
    assert [one["before"] for one in seen[:-1]] == [one["after"] for one in seen[1:]]


def keys_push_as_their_owner(w: World) -> None:
    key = w.sim.deploy_key(w.ann)
    clone = w.clone(key)
    clone.commit({"x.txt": "x\n"})
    assert w.git(clone, *w.credentials(key), "push", "origin", "HEAD:refs/heads/main").returncode == 0
    assert w.get("activity", ref="main")[0]["actor"]["login"] == "ann"


def timeline_tells_forced_pushes(w: World) -> None:
    n = w.opened()
    w.later(90)
    w.sim.push_as(w.rae, rewritten(w), "plan", force=True)
    noted = only([one for one in w.get(f"issues/{n}/timeline") if one["event"] == "head_ref_force_pushed"])
    at = (START + timedelta(seconds=90)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert (noted["actor"]["login"], noted["commit_id"], noted["created_at"]) == ("rae", w.tip("plan"), at)
    w.sim.commit(w.bot, "plan", {"more.txt": "x\n"})
    assert w.kinds(n).count("head_ref_force_pushed") == 1


def timeline_commits_have_their_own_dates(w: World) -> None:
    clone = w.clone(w.rae)
    clone.git("checkout", "--quiet", "-b", "plan")
    made = clone.commit({"x.txt": "x\n"})
    w.git(clone, *w.credentials(w.rae), "push", "origin", "HEAD:refs/heads/plan")
    n = w.sim.pulls.open(w.rae, "plan")
    (noted,) = [one for one in w.get(f"issues/{n}/timeline") if one["event"] == "committed"]
    assert noted["sha"] == made and "created_at" not in noted and "actor" not in noted
    assert datetime.fromisoformat(noted["committer"]["date"]) == datetime.fromisoformat(clone.git("log", "-1", "--format=%cI"))


def timeline_shows_reviews_as_they_are(w: World) -> None:
    n = w.opened()
    review = w.sim.reviews.submit(w.rae, n, "APPROVED")
    w.sim.reviews.dismiss(w.ann, n, review)
    (noted,) = [one for one in w.get(f"issues/{n}/timeline") if one["event"] == "reviewed"]
    assert (noted["user"]["login"], noted["state"], noted["id"]) == ("rae", "dismissed", review)


def refusal(act: Callable[[], object]) -> int:
    """The status that an act is refused with; 0 when it is not."""
    try:
        act()
    except ApiError as refused:
        return refused.status
    return 0


# --- rules ------------------------------------------------------------------------------------------------------------------


def rulesets_bind_pushes(w: World) -> None:
    w.sim.protect("main", pull_request=True)
    w.sim.protect("state-*", no_force=True, no_delete=True)
    w.sim.protect("mine", only=[w.rae])
    clone = w.clone(w.bot)
    clone.commit({"x.txt": "x\n"})
    token, before = w.credentials(w.bot), w.tip()
    refused = w.git(clone, *token, "push", "origin", "HEAD:refs/heads/main", "HEAD:refs/heads/free")
    assert refused.returncode == 1 and "GH013" in refused.stderr
    assert (w.tip(), w.tip("free")) == (before, ""), "a refused push moves nothing"
    assert w.git(clone, *token, "push", "origin", "HEAD:refs/heads/state-1").returncode == 0
    assert w.git(clone, *token, "push", "--force", "origin", "HEAD~1:refs/heads/state-1").returncode == 1
    assert w.git(clone, *token, "push", "origin", ":refs/heads/state-1").returncode == 1
    assert w.git(clone, *token, "push", "origin", "HEAD:refs/heads/mine").returncode == 1
    assert w.sim.push_as(w.rae, before, "mine") == before
    assert w.sim.pushes[-1].moved and not w.sim.pushes[-2].moved


def rulesets_bind_merges(w: World) -> None:
    n = w.opened()
    w.sim.protect("main", required_reviews=1, required_checks=["publisher/payload"])
    assert w.does(w.ann, "PUT", f"pulls/{n}/merge", {}) == 405
    assert w.get(f"pulls/{n}")["mergeable_state"] == "blocked"
    w.sim.reviews.submit(w.ann, n, "APPROVED")
    assert w.does(w.ann, "PUT", f"pulls/{n}/merge", {}) == 405
    status = {"state": "success", "context": "publisher/payload"}
    assert w.does(w.bot, "POST", f"statuses/{w.tip('plan')}", status) == 201
    w.sim.reviews.submit(w.rae, n, "CHANGES_REQUESTED", "wait")
    assert w.does(w.ann, "PUT", f"pulls/{n}/merge", {}) == 405
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    assert w.does(w.ann, "PUT", f"pulls/{n}/merge", {}) == 200


def rules_bind_admins(w: World) -> None:
    w.sim.protect("main", pull_request=True)
    assert refusal(lambda: w.sim.commit(w.ann, "main", {"x.txt": "x\n"})) == 422


def bypass_actors_pass(w: World) -> None:
    w.sim.protect("main", pull_request=True, bypass=[w.bot])
    clone, before = w.clone(w.bot), w.tip()
    made = clone.commit({"x.txt": "x\n"})
    assert w.git(clone, *w.credentials(w.bot), "push", "origin", "HEAD:refs/heads/main").returncode == 0
    suite = w.get("rulesets/rule-suites", w.ann, ref="refs/heads/main")[0]
    row = (suite["actor_name"], suite["before_sha"], suite["after_sha"], suite["result"])
    assert row == ("publisher[bot]", before, made, "bypass")


def exempt_leaves_no_trace(w: World) -> None:
    w.sim.protect("main", pull_request=True, bypass=[w.ann], mode="exempt")
    made = w.sim.commit(w.ann, "main", {"x.txt": "x\n"})
    assert w.tip() == made and w.get("rulesets/rule-suites", w.ann) == []
    assert refusal(lambda: w.sim.commit(w.rae, "main", {"y.txt": "y\n"})) == 422
    assert [one["result"] for one in w.get("rulesets/rule-suites", w.ann)] == ["fail"]


def actions_cannot_bypass(w: World) -> None:
    assert refusal(lambda: w.sim.protect("main", pull_request=True, bypass=[w.job])) == 422


def last_pusher_does_not_count(w: World) -> None:
    n = w.opened()
    w.sim.protect("main", required_reviews=1, last_push_approval=True)
    w.sim.commit(w.rae, "plan", {"suggested.txt": "x\n"})
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    assert w.does(w.ann, "PUT", f"pulls/{n}/merge", {}) == 405
    w.sim.reviews.submit(w.ann, n, "APPROVED")
    assert w.does(w.ann, "PUT", f"pulls/{n}/merge", {}) == 200


def rules_are_readable(w: World) -> None:
    w.sim.protect("main", required_reviews=2, dismiss_stale=True)
    w.sim.protect("publisher-*", no_force=True, no_delete=True)
    rules = {one["type"]: one for one in w.get("rules/branches/main", w.eve)}
    assert set(rules) == {"pull_request"}
    assert rules["pull_request"]["parameters"]["required_approving_review_count"] == 2
    assert {one["type"] for one in w.get("rules/branches/publisher-state", w.eve)} == {"non_fast_forward", "deletion"}
    assert w.get("rules/branches/free", w.eve) == []
    number = rules["pull_request"]["ruleset_id"]
    assert w.get(f"rulesets/{number}", w.eve)["rules"][0]["type"] == "pull_request"
    assert (
        "bypass_actors" not in w.get(f"rulesets/{number}", w.eve) and w.get(f"rulesets/{number}", w.ann)["bypass_actors"] == []
    )
    assert len(w.get("rulesets")) == 2 and w.get("branches/main")["protected"] is True


CONTRACTS = (
    activity_tells_merges_from_pushes, activity_tells_forced_pushes, activity_has_the_servers_word, activity_has_cursors,
    keys_push_as_their_owner, timeline_tells_forced_pushes, timeline_commits_have_their_own_dates, timeline_shows_reviews_as_they_are,
    rulesets_bind_pushes, rulesets_bind_merges, rules_bind_admins, bypass_actors_pass, exempt_leaves_no_trace, actions_cannot_bypass,
    last_pusher_does_not_count, rules_are_readable,
)  # fmt: skip
