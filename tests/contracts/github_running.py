"""What starts workflows and builds of Pages, and what does not."""

from __future__ import annotations

from pathlib import Path

from tests.support.github.world import World

PUBLISH = """\
name: publish
on:
  schedule: [{cron: "17 1 * * *", timezone: Asia/Hong_Kong}]
  workflow_dispatch: {inputs: {site: {type: string}}}
jobs: {}
"""
APPROVE = "name: approve\non: {push: {branches: [main], paths: ['plans/**']}}\njobs: {}\n"
REVIEW = "name: review\non: pull_request\njobs: {}\n"
FOLDER = ".github/workflows"


def with_workflows(w: World) -> None:
    files = {f"{FOLDER}/publish.yml": PUBLISH, f"{FOLDER}/approve.yml": APPROVE, f"{FOLDER}/review.yml": REVIEW}
    w.sim.commit(w.ann, "main", files)


def started(w: World) -> list[tuple[str, str]]:
    """(file, event), oldest first."""
    runs = w.get("actions/runs")["workflow_runs"]
    return [(one["path"].removeprefix(f"{FOLDER}/"), one["event"]) for one in reversed(runs)]


def the_actions_token_starts_nothing(w: World) -> None:
    with_workflows(w)
    w.sim.commit(w.job, "main", {"plans/a.yaml": "a\n"})
    assert started(w) == []
    w.sim.commit(w.bot, "main", {"plans/a.yaml": "b\n"})
    w.sim.commit(w.bot, "main", {"elsewhere.txt": "b\n"})
    assert started(w) == [("approve.yml", "push")]
    w.sim.actions_may_create_pull_requests = True
    w.opened("by-app")
    held = w.opened("by-job", by=w.job)
    runs = w.get("actions/runs", event="pull_request")["workflow_runs"]
    assert [(one["head_branch"], one["conclusion"]) for one in runs] == [("by-job", "action_required"), ("by-app", None)]
    assert w.get(f"pulls/{held}")["user"]["login"] == "github-actions[bot]"


def dispatches_always_start(w: World) -> None:
    with_workflows(w)
    asked = {"ref": "main", "inputs": {"site": "blog"}, "return_run_details": True}
    reply = w.call(w.job, "POST", "actions/workflows/publish.yml/dispatches", asked)
    assert reply.status == 200
    assert started(w) == [("publish.yml", "workflow_dispatch")]
    assert w.get(f"actions/runs/{reply.body['workflow_run_id']}")["actor"]["login"] == "github-actions[bot]"
    assert w.does(w.job, "POST", "actions/workflows/approve.yml/dispatches", {"ref": "main"}) == 422
    assert w.does(w.job, "POST", "actions/workflows/publish.yml/dispatches", {"ref": "main", "inputs": {"x": "y"}}) == 422


def disabled_workflows_do_not_run(w: World) -> None:
    with_workflows(w)
    w.sim.workflows.disable("publish", "disabled_inactivity")
    assert w.get("actions/workflows/publish.yml")["state"] == "disabled_inactivity"
    assert w.sim.workflows.tick("publish") is None and started(w) == []
    assert w.does(w.bot, "PUT", "actions/workflows/publish.yml/enable") == 204
    assert w.sim.workflows.tick("publish") is not None and started(w) == [("publish.yml", "schedule")]


def schedules_come_from_the_default_branch(w: World) -> None:
    with_workflows(w)
    later = PUBLISH.replace("17 1", "23 5")
    w.sim.commit(w.rae, "other", {f"{FOLDER}/publish.yml": later})
    assert w.sim.workflows.tick("publish", "23 5 * * *") is None
    run = w.sim.workflows.tick("publish", "17 1 * * *")
    assert run is not None and (run.sha, run.schedule) == (w.tip(), "17 1 * * *")


def reruns_keep_their_commit(w: World) -> None:
    with_workflows(w)
    run = w.sim.workflows.tick("publish")
    assert run is not None
    w.sim.workflows.finish(run, "failure")
    sha, first = w.tip(), w.get(f"actions/runs/{run.id}")
    w.later()
    w.sim.commit(w.rae, "main", {"more.txt": "x\n"})
    w.sim.workflows.rerun(w.rae, run)
    again = w.get(f"actions/runs/{run.id}")
    assert (again["head_sha"], again["run_number"], again["run_attempt"]) == (sha, 1, 2)
    assert (again["actor"]["login"], again["triggering_actor"]["login"]) == ("ann", "rae")
    assert again["run_started_at"] > first["run_started_at"] and again["created_at"] == first["created_at"]
    assert (first["conclusion"], again["conclusion"], again["status"]) == ("failure", None, "queued")


# --- Pages ------------------------------------------------------------------------------------------------------------------


def publishing(w: World) -> None:
    w.bot.permissions = {**w.bot.permissions, "pages": "write"}
    w.sim.commit(w.ann, "gh-pages", {"index.html": "first\n"})
    w.sim.pages.from_branch("gh-pages")


def the_actions_token_builds_no_pages(w: World) -> None:
    publishing(w)
    w.sim.commit(w.bot, "gh-pages", {"index.html": "second\n"})
    assert w.get("pages/builds/latest")["commit"] == w.tip("gh-pages")
    w.sim.commit(w.job, "gh-pages", {"index.html": "third\n"})
    assert w.get("pages/builds/latest")["commit"] != w.tip("gh-pages")
    assert w.fetch(w.sim.pages.url).body == b"second\n"
    assert w.call(w.bot, "POST", "pages/builds").body["status"] == "queued"
    live = w.fetch(w.sim.pages.url)
    assert (live.body, live.headers["cache-control"]) == (b"third\n", "max-age=600")


def newer_builds_cancel_older(w: World) -> None:
    publishing(w)
    w.sim.pages.at_once = False
    for text in ("second\n", "third\n"):
        w.sim.commit(w.bot, "gh-pages", {"index.html": text})
    assert [one["status"] for one in w.get("pages/builds")] == ["queued", "errored"]
    w.sim.pages.finish(w.sim.pages.builds[-1])
    assert w.get("pages/builds/latest")["status"] == "built" and w.fetch(w.sim.pages.url).body == b"third\n"


def artifact(w: World, text: str) -> int:
    folder = Path(w.folder) / text
    folder.mkdir()
    (folder / "index.html").write_text(text)
    return w.sim.pages.upload(folder, run=1)


def deployment(w: World, text: str, version: str) -> int:
    body = {"artifact_id": artifact(w, text), "pages_build_version": version, "oidc_token": "signed"}
    return w.does(w.bot, "POST", "pages/deployments", body)


def one_deployment_at_a_time(w: World) -> None:
    publishing(w)
    w.sim.pages.from_workflow()
    w.sim.pages.at_once = False
    assert deployment(w, "one", "v1") == 200
    assert deployment(w, "two", "v2") == 400
    assert w.does(w.bot, "POST", "pages/deployments/v1/cancel") == 204
    assert w.get("pages/deployments/v1") == {"status": "deployment_cancelled"}
    assert deployment(w, "three", "v2") == 200
    w.sim.pages.finish(w.sim.pages.deployments["v2"])
    assert w.get("pages/deployments/v2") == {"status": "succeed"} and w.fetch(w.sim.pages.url).body == b"three"
    assert w.get("actions/runs/1/artifacts", name="github-pages")["total_count"] == 3


def a_version_is_one_deployment(w: World) -> None:
    publishing(w)
    w.sim.pages.from_workflow()
    assert deployment(w, "one", "same") == 200
    assert deployment(w, "two", "same") == 200
    assert list(w.sim.pages.deployments) == ["same"]
    assert w.get("pages")["build_type"] == "workflow" and w.fetch(w.sim.pages.url).body == b"two"


CONTRACTS = (
    the_actions_token_starts_nothing, dispatches_always_start, disabled_workflows_do_not_run, schedules_come_from_the_default_branch,
    reruns_keep_their_commit, the_actions_token_builds_no_pages, newer_builds_cancel_older, one_deployment_at_a_time,
    a_version_is_one_deployment,
)  # fmt: skip
