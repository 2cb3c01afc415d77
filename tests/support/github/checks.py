"""Commit statuses and check runs.

Rules:
* a status is written by whoever may write; a check run by Apps only (403 for a person's token);
* the newest status of a context counts; the combined state is failure before pending before success, and pending when there is none;
* a description has at most 140 characters (422); a request at most 50 annotations, which its schema says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.support.github import shapes
from tests.support.github.accounts import Account
from tests.support.github.answers import Answer, ApiError, Call, Page, invalid, not_found, route

if TYPE_CHECKING:
    from tests.support.github.simulator import Simulator

LONGEST = 140


@dataclass(eq=False, kw_only=True)
class Status:
    id: int
    sha: str
    context: str
    state: str
    description: str | None
    target_url: str | None
    creator: Account
    at: datetime


@dataclass(eq=False, kw_only=True)
class CheckRun:
    id: int
    sha: str
    name: str
    creator: Account
    status: str = "queued"
    conclusion: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    external_id: str = ""
    details_url: str = ""
    output: dict[str, Any] = field(default_factory=dict)
    annotations: list[dict[str, Any]] = field(default_factory=list)


class Checks:
    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.statuses: list[Status] = []
        self.runs: list[CheckRun] = []

    def newest(self, sha: str) -> list[Status]:
        """One for each context, newest first."""
        found: dict[str, Status] = {}
        for one in self.statuses if self.sim.models("newest-status-counts") else reversed(self.statuses):
            if one.sha == sha:
                found[one.context] = one
        return sorted(found.values(), key=lambda one: -one.id)

    def succeeded(self, sha: str, name: str) -> bool:
        runs = [one for one in self.runs if (one.sha, one.name) == (sha, name)]
        if runs and runs[-1].conclusion in ("success", "neutral", "skipped"):
            return True
        return any(one.context == name and one.state == "success" for one in self.newest(sha))

    def found(self, number: int) -> CheckRun:
        runs = [one for one in self.runs if one.id == number]
        if not runs:
            raise not_found()
        return runs[0]

    def written(self, run: CheckRun, body: Any) -> None:
        output = dict(body.get("output", {}))
        annotations = output.pop("annotations", [])
        for name in ("name", "details_url", "external_id", "started_at", "completed_at"):
            setattr(run, name, body.get(name, getattr(run, name)))
        run.status, run.conclusion = body.get("status", run.status), body.get("conclusion", run.conclusion)
        if run.conclusion:
            run.status, run.completed_at = "completed", run.completed_at or shapes.moment(self.sim.now)
        elif run.status == "completed":
            raise invalid("CheckRun", "conclusion", "missing_field")
        run.started_at = run.started_at or shapes.moment(self.sim.now)
        run.output |= output
        run.annotations += annotations


def status_shape(sim: Simulator, one: Status) -> Any:
    return {
        "id": one.id, "node_id": shapes.node("SC", one.id), "url": f"{sim.repo_url}/statuses/{one.sha}", "state": one.state,
        "description": one.description, "target_url": one.target_url, "context": one.context,
        "created_at": shapes.moment(one.at), "updated_at": shapes.moment(one.at),
        "avatar_url": f"{sim.server_url}/avatars/{one.creator.id}",
    }  # fmt: skip


def run_shape(sim: Simulator, one: CheckRun) -> Any:
    at = f"{sim.repo_url}/check-runs/{one.id}"
    output = {name: one.output.get(name) for name in ("title", "summary", "text")}
    output |= {"annotations_count": len(one.annotations), "annotations_url": f"{at}/annotations"}
    return {
        "id": one.id, "node_id": shapes.node("CR", one.id), "head_sha": one.sha, "name": one.name, "url": at,
        "html_url": f"{sim.html_url}/runs/{one.id}", "details_url": one.details_url or f"{sim.html_url}/runs/{one.id}",
        "status": one.status, "conclusion": one.conclusion, "started_at": one.started_at, "completed_at": one.completed_at,
        "external_id": one.external_id, "check_suite": {"id": one.creator.id}, "output": output,
        "app": shapes.app(sim, one.creator), "pull_requests": [],
    }  # fmt: skip


def commit_of(call: Call, name: str) -> str:
    sha = call.sim.git.resolved(call.at[name])
    if not sha:
        raise ApiError(422, f"No commit found for SHA: {call.at[name]}")
    return sha


@route("POST", "statuses/{sha}", "statuses", "write")
def create_status(call: Call) -> Any:
    body = call.body
    if len(body.get("description") or "") > LONGEST and call.sim.models("descriptions-are-short"):
        raise invalid("Status", "description", "custom", "description is too long (maximum is 140 characters)")
    made = Status(
        id=call.sim.new_id(), sha=commit_of(call, "sha"), context=body.get("context", "default"), state=body["state"],
        description=body.get("description"), target_url=body.get("target_url"), creator=call.actor, at=call.sim.now,
    )  # fmt: skip
    call.sim.checks.statuses.append(made)
    return Answer(201, {**status_shape(call.sim, made), "creator": shapes.user(call.sim, made.creator)})


@route("GET", "commits/{ref}/status", "statuses")
def combined_status(call: Call) -> Any:
    sim, sha = call.sim, commit_of(call, "ref")
    newest = sim.checks.newest(sha)
    states = {one.state for one in newest}
    state = "failure" if states & {"failure", "error"} else "pending" if "pending" in states or not states else "success"
    return Page(
        newest, lambda one: status_shape(sim, one), under="statuses",
        beside={
            "state": state, "sha": sha, "total_count": len(newest), "repository": shapes.minimal_repository(sim),
            "commit_url": f"{sim.repo_url}/commits/{sha}", "url": f"{sim.repo_url}/commits/{sha}/status",
        },
    )  # fmt: skip


@route("GET", "commits/{ref}/statuses", "statuses")
def list_statuses(call: Call) -> Any:
    sha = commit_of(call, "ref")
    found = [one for one in reversed(call.sim.checks.statuses) if one.sha == sha]
    return Page(found, lambda one: {**status_shape(call.sim, one), "creator": shapes.user(call.sim, one.creator)})


@route("GET", "commits/{ref}/check-runs", "checks")
def runs_of_commit(call: Call) -> Any:
    sha, name = commit_of(call, "ref"), call.query.get("check_name", "")
    found = [one for one in call.sim.checks.runs if one.sha == sha and name in ("", one.name)]
    if call.query.get("filter", "latest") == "latest":
        found = list({(one.creator.id, one.name): one for one in found}.values())
    found.sort(key=lambda one: -one.id)
    return Page(found, lambda one: run_shape(call.sim, one), under="check_runs", beside={"total_count": len(found)})


def apps_only(call: Call) -> Account:
    if not call.actor.is_bot and call.sim.models("check-runs-are-for-apps"):
        raise ApiError(403, "You must authenticate via a GitHub App.")
    return call.actor


@route("POST", "check-runs", "checks", "write")
def create_check_run(call: Call) -> Any:
    who = apps_only(call)
    sha = call.sim.git.resolved(call.body["head_sha"])
    if not sha:
        raise ApiError(422, f"No commit found for SHA: {call.body['head_sha']}")
    made = CheckRun(id=call.sim.new_id(), sha=sha, name=call.body["name"], creator=who)
    call.sim.checks.written(made, call.body)
    call.sim.checks.runs.append(made)
    return Answer(201, run_shape(call.sim, made))


@route("GET", "check-runs/{check_run_id}", "checks")
def get_check_run(call: Call) -> Any:
    return run_shape(call.sim, call.sim.checks.found(call.number("check_run_id")))


@route("PATCH", "check-runs/{check_run_id}", "checks", "write")
def edit_check_run(call: Call) -> Any:
    who, run = apps_only(call), call.sim.checks.found(call.number("check_run_id"))
    if run.creator.id != who.id:
        raise ApiError(403, f"Invalid app_id `{who.id}` - check run can only be modified by the GitHub App that created it.")
    call.sim.checks.written(run, call.body)
    return run_shape(call.sim, run)


@route("GET", "check-runs/{check_run_id}/annotations", "checks")
def run_annotations(call: Call) -> Any:
    run = call.sim.checks.found(call.number("check_run_id"))
    optional = ("start_column", "end_column", "title", "raw_details")
    href = f"{call.sim.repo_url}/contents/"

    def shown(one: Any) -> Any:
        return {**dict.fromkeys(optional), **one, "blob_href": f"{href}{one['path']}?ref={run.sha}"}

    return Page(run.annotations, shown)
