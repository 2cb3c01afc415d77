"""What a token may, what the API refuses, and how its answers travel."""

from __future__ import annotations

import base64
from datetime import timedelta
from email.utils import parsedate_to_datetime

from tests.support.github.world import START, World


def tokens_have_permissions(w: World) -> None:
    w.opened()
    narrow = w.sim.app("narrow[bot]", {"contents": "read"})
    assert w.does(narrow, "GET", "commits") == 200
    assert w.does(narrow, "GET", "pulls") == 403
    assert w.does(narrow, "GET", "collaborators/rae/permission") == 200
    assert w.does(narrow, "POST", "git/refs", {"ref": "refs/heads/x", "sha": w.tip()}) == 403
    assert w.does(w.rae, "GET", "rulesets/rule-suites") == 403 and w.does(w.ann, "GET", "rulesets/rule-suites") == 200
    assert w.does(w.job, "GET", "actions/permissions/workflow") == 403
    w.sim.actions_may_create_pull_requests = True
    settings = {"default_workflow_permissions": "read", "can_approve_pull_request_reviews": True}
    assert w.get("actions/permissions/workflow", w.ann) == settings
    clone = w.clone(w.eve)
    clone.commit({"x.txt": "x\n"})
    assert "403" in w.git(clone, *w.credentials(w.eve), "push", "origin", "HEAD:refs/heads/x").stderr


def what_is_invisible_is_not_there(w: World) -> None:
    stranger = w.sim.user("stranger", "none")
    assert {w.does(who, "GET", path) for who in (stranger, None) for path in ("", "pulls", "commits/main")} == {404}
    assert w.does(w.ann, "GET", "/repos/ann/other") == 404 and w.does(w.ann, "GET", "pulls/99") == 404
    url = f"{w.sim.clone_url}/info/refs?service=git-upload-pack"
    assert (w.fetch(url).status, w.fetch(url, stranger).status, w.fetch(url, w.eve).status) == (401, 404, 200)


def wrong_tokens_are_refused(w: World) -> None:
    stranger = w.sim.user("stranger")
    stranger.token = "made-up"
    known = w.call(stranger, "GET", "")
    assert known.status == 200
    w.sim.delete_account(stranger)
    reply = w.call(stranger, "GET", "/users/ann")
    assert (reply.status, w.does(None, "GET", "/users/ann")) == (401, 200)


def apps_need_workflows_permission(w: World) -> None:
    clone, token = w.clone(w.bot), w.credentials(w.bot)
    clone.commit({".github/workflows/x.yml": "on: push\n"})
    for branch in ("main", "fresh"):
        done = w.git(clone, *token, "push", "origin", f"HEAD:refs/heads/{branch}")
        assert done.returncode == 1 and "`workflows` permission" in done.stderr
    w.bot.permissions = {**w.bot.permissions, "workflows": "write"}
    assert w.git(clone, *token, "push", "origin", "HEAD:refs/heads/main").returncode == 0
    w.bot.permissions = {**w.bot.permissions, "workflows": "none"}
    clone.commit({"plain.txt": "x\n"})
    assert w.git(clone, *token, "push", "origin", "HEAD:refs/heads/main").returncode == 0


def check_runs_are_for_apps(w: World) -> None:
    w.sim.user("checker", "admin")
    run = {"name": "publisher/payload", "head_sha": w.tip(), "status": "in_progress"}
    assert w.does(w.ann, "POST", "check-runs", run) == 403
    made = w.call(w.bot, "POST", "check-runs", run)
    assert made.status == 201 and made.body["conclusion"] is None
    closed = w.call(w.bot, "PATCH", f"check-runs/{made.body['id']}", {"conclusion": "success"}).body
    assert (closed["status"], closed["conclusion"], closed["app"]["slug"]) == ("completed", "success", "publisher")
    assert w.get(f"commits/{w.tip()}/check-runs", check_name="publisher/payload")["total_count"] == 1


def keys_have_no_api(w: World) -> None:
    key = w.sim.deploy_key(w.ann, write=False)
    assert w.does(key, "GET", "") == 401
    clone = w.clone(key)
    clone.commit({"x.txt": "x\n"})
    assert w.git(clone, *w.credentials(key), "push", "origin", "HEAD:refs/heads/main").returncode != 0


def bots_are_no_collaborators(w: World) -> None:
    rows = {who: w.get(f"collaborators/{who}/permission") for who in ("ann", "rae", "eve")}
    assert {who: row["permission"] for who, row in rows.items()} == {"ann": "admin", "rae": "write", "eve": "read"}
    assert rows["rae"]["user"]["id"] == w.rae.id
    w.sim.user("eve", "maintain")
    assert (w.get("collaborators/eve/permission")["permission"], w.get("collaborators/eve/permission")["role_name"]) == (
        "write",
        "maintain",
    )
    w.sim.user("gone", "none")
    assert w.get("collaborators/gone/permission")["permission"] == "none"
    assert {w.does(w.ann, "GET", f"collaborators/{who}/permission") for who in ("publisher[bot]", "nobody")} == {404}


def logins_can_move(w: World) -> None:
    n = w.opened()
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    old = w.rae.id
    w.sim.rename(w.rae, "rae-was-here")
    squatter = w.sim.user("rae", "read")
    assert (w.get("/users/rae")["id"], w.get(f"/user/{old}")["login"]) == (squatter.id, "rae-was-here")
    assert w.get(f"pulls/{n}/reviews")[0]["user"]["id"] == old != squatter.id


# --- files, statuses, refs --------------------------------------------------------------------------------------------------


def large_files_have_no_content(w: World) -> None:
    w.sim.commit(w.ann, "main", {"large.bin": "x" * 1_000_001, "docs/small.txt": "small\n"})
    large, small = w.get("contents/large.bin"), w.get("contents/docs/small.txt", ref="main")
    assert (large["encoding"], large["content"], large["size"]) == ("none", "", 1_000_001)
    assert (small["encoding"], base64.b64decode(small["content"])) == ("base64", b"small\n")
    assert len(base64.b64decode(w.get(f"git/blobs/{large['sha']}")["content"])) == 1_000_001
    assert [(one["name"], one["type"]) for one in w.get("contents/docs")] == [("small.txt", "file")]
    assert w.does(w.bot, "GET", "contents/none.txt") == 404


def contents_compare_the_blob(w: World) -> None:
    sha = w.get("contents/README.md")["sha"]
    body = {"message": "new text", "content": base64.b64encode(b"new\n").decode()}
    assert w.does(w.bot, "PUT", "contents/README.md", body) == 422
    assert w.does(w.bot, "PUT", "contents/README.md", {**body, "sha": "0" * 40}) == 409
    assert w.does(w.bot, "PUT", "contents/README.md", {**body, "sha": sha}) == 200
    assert w.does(w.bot, "PUT", "contents/README.md", {**body, "sha": sha}) == 409
    assert w.does(w.bot, "PUT", "contents/fresh.md", body) == 201
    assert w.sim.git.run("show", "main:README.md") == "new"
    gone = {"message": "away", "sha": w.get("contents/fresh.md")["sha"]}
    assert w.does(w.bot, "DELETE", "contents/fresh.md", gone) == 200 and w.does(w.bot, "GET", "contents/fresh.md") == 404


def descriptions_are_short(w: World) -> None:
    status = {"state": "success", "context": "x"}
    assert w.does(w.bot, "POST", f"statuses/{w.tip()}", {**status, "description": "x" * 140}) == 201
    assert w.does(w.bot, "POST", f"statuses/{w.tip()}", {**status, "description": "x" * 141}) == 422


def newest_status_counts(w: World) -> None:
    sha = w.tip()
    assert w.get(f"commits/{sha}/status")["state"] == "pending"
    for state in ("failure", "success"):
        w.call(w.bot, "POST", f"statuses/{sha}", {"state": state, "context": "publisher/payload", "description": state})
    found = w.get(f"commits/{sha}/status")
    assert (found["state"], [one["description"] for one in found["statuses"]]) == ("success", ["success"])
    assert len(w.get(f"commits/{sha}/statuses")) == 2
    w.call(w.bot, "POST", f"statuses/{sha}", {"state": "error", "context": "other"})
    assert w.get(f"commits/{sha}/status")["state"] == "failure"


def creating_a_ref_never_moves_it(w: World) -> None:
    first = w.tip()
    assert w.does(w.bot, "POST", "git/refs", {"ref": "refs/heads/claims", "sha": first}) == 201
    w.sim.commit(w.ann, "main", {"x.txt": "x\n"})
    assert w.does(w.bot, "POST", "git/refs", {"ref": "refs/heads/claims", "sha": w.tip()}) == 422
    assert w.get("git/ref/heads/claims")["object"]["sha"] == first
    assert [one["ref"] for one in w.get("git/matching-refs/heads/cla")] == ["refs/heads/claims"]


def moving_a_ref_is_a_fast_forward(w: World) -> None:
    first = w.tip()
    second = w.sim.commit(w.ann, "main", {"x.txt": "x\n"})
    w.sim.push_as(w.bot, first, "claims")
    assert w.does(w.bot, "PATCH", "git/refs/heads/claims", {"sha": second}) == 200
    assert w.does(w.bot, "PATCH", "git/refs/heads/claims", {"sha": first}) == 422
    assert w.does(w.bot, "PATCH", "git/refs/heads/claims", {"sha": first, "force": True}) == 200


# --- the wire ---------------------------------------------------------------------------------------------------------------


def lists_have_pages(w: World) -> None:
    for n in range(35):
        w.sim.issues.open(w.ann, f"issue {n}")
    first = w.call(w.bot, "GET", "issues")
    assert len(first.body) == 30 and set(first.links) == {"next", "last"}
    assert first.links["next"].startswith(f"{w.sim.api_url}/repos/ann/site/issues?")
    second = w.fetch(first.links["next"], w.bot)
    assert len(second.body) == 5 and set(second.links) == {"prev", "first"}
    assert {one["number"] for one in (*first.body, *second.body)} == set(range(1, 36))
    assert w.get("issues", per_page=10, page=4)[0]["title"] == "issue 4"


def a_page_has_at_most_100(w: World) -> None:
    for n in range(101):
        w.sim.issues.open(w.ann, f"issue {n}")
    assert len(w.get("issues", per_page=1000)) == 100 and len(w.get("issues", per_page=1000, page=2)) == 1


def requests_are_counted(w: World) -> None:
    first = w.call(w.bot, "GET", "").headers
    assert (first["x-ratelimit-limit"], first["x-ratelimit-remaining"]) == ("5000", "4999")
    assert w.call(w.job, "GET", "").headers["x-ratelimit-limit"] == "1000"
    w.sim.quota.limit = 2
    assert w.does(w.bot, "GET", "") == 200
    reply = w.call(w.bot, "GET", "")
    assert (reply.status, reply.headers["x-ratelimit-remaining"]) == (403, "0")
    assert int(reply.headers["x-ratelimit-reset"]) == int((START + timedelta(hours=1)).timestamp())
    assert w.get("/rate_limit")["resources"]["core"]["remaining"] == 0
    w.later(3600)
    assert w.does(w.bot, "GET", "") == 200


def answers_have_the_servers_date(w: World) -> None:
    assert parsedate_to_datetime(w.call(w.bot, "GET", "").headers["date"]) == START
    w.later(90)
    assert parsedate_to_datetime(w.call(w.bot, "GET", "pulls/99").headers["date"]) == START + timedelta(seconds=90)


def bodies_are_judged(w: World) -> None:
    w.sim.commit(w.bot, "plan", {"x.txt": "x\n"})
    good = {"head": "plan", "base": "main", "title": "x"}
    assert w.does(w.bot, "POST", "pulls", {**good, "draft": "no"}) == 422
    assert w.does(w.bot, "POST", "pulls", {"title": "x", "base": "main"}) == 422
    assert w.does(w.bot, "POST", "pulls", good) == 201
    status = {"state": "great", "context": "x"}
    assert w.does(w.bot, "POST", f"statuses/{w.tip()}", status) == 422
    note = {"path": "plans/a.yaml", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "no"}
    output = {"title": "t", "summary": "s"}
    run = {"name": "x", "head_sha": w.tip(), "conclusion": "failure", "output": {**output, "annotations": [note] * 50}}
    made = w.call(w.bot, "POST", "check-runs", run).body
    for count, status_code in ((51, 422), (1, 200)):
        more = {"output": {**output, "annotations": [note] * count}}
        assert w.does(w.bot, "PATCH", f"check-runs/{made['id']}", more) == status_code
    assert w.get(f"check-runs/{made['id']}")["output"]["annotations_count"] == 51
    assert len(w.get(f"check-runs/{made['id']}/annotations", per_page=100)) == 51


CONTRACTS = (
    tokens_have_permissions, what_is_invisible_is_not_there, wrong_tokens_are_refused, apps_need_workflows_permission,
    check_runs_are_for_apps, keys_have_no_api, bots_are_no_collaborators, logins_can_move, large_files_have_no_content,
    contents_compare_the_blob, descriptions_are_short, newest_status_counts, creating_a_ref_never_moves_it,
    moving_a_ref_is_a_fast_forward, lists_have_pages, a_page_has_at_most_100, requests_are_counted, answers_have_the_servers_date,
    bodies_are_judged,
)  # fmt: skip
