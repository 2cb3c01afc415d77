"""Workflows and their runs: which event starts which file, and which workflow is switched off.

Rules:
* the files are read from the default branch's ``.github/workflows`` for schedules and dispatches, from the pushed commit for a push;
* what GITHUB_TOKEN does starts no run, but for a dispatch; a request that it opened has its runs held for approval;
* a disabled workflow (by a person, or after 60 idle days) starts nothing until it is enabled again, and leaves no run behind;
* a re-run keeps its number, commit and first actor, and counts its attempts.

The simulator executes nothing: a test takes a run out of ``runs`` and executes the file as it likes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import yaml

from tests.support.github import shapes
from tests.support.github.accounts import Account
from tests.support.github.answers import Answer, ApiError, Call, Page, not_found, route
from tests.support.github.git import ZERO

if TYPE_CHECKING:
    from tests.support.github.pulls import Pull
    from tests.support.github.simulator import Simulator

FOLDER = ".github/workflows"


@dataclass(eq=False, kw_only=True)
class Workflow:
    id: int
    path: str
    name: str
    state: str
    created_at: datetime


@dataclass(eq=False, kw_only=True)
class Run:
    id: int
    number: int
    workflow: Workflow
    event: str
    sha: str
    branch: str
    actor: Account
    at: datetime
    started_at: datetime
    status: str = "queued"
    conclusion: str | None = None
    attempt: int = 1
    triggering: Account
    pull: int = 0
    inputs: Mapping[str, Any] = field(default_factory=dict)
    schedule: str = ""


class Workflows:
    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.runs: list[Run] = []
        self._known: dict[str, Workflow] = {}
        self._read: dict[str, dict[str, Any]] = {}

    # --- files --------------------------------------------------------------------------------------------------------------

    def files_at(self, commit: str) -> dict[str, dict[str, Any]]:
        """The triggers (``on``) of each workflow file of a commit."""
        if not commit:
            return {}
        git = self.sim.git
        folder = git.entry(git.commit(commit).tree, FOLDER)
        entries = git.tree(folder[1]) if folder else {}
        return {
            f"{FOLDER}/{name}": self._parsed(blob) for name, (_, blob) in entries.items() if name.endswith((".yml", ".yaml"))
        }

    def _parsed(self, blob: str) -> dict[str, Any]:
        if blob not in self._read:
            try:
                read = yaml.safe_load(self.sim.git.read("blob", blob))
            except yaml.YAMLError:
                read = None
            self._read[blob] = read if isinstance(read, dict) else {}
        return self._read[blob]

    def all(self) -> list[Workflow]:
        """Those of the default branch, and the deleted ones that were known."""
        files = self.files_at(self._home())
        for path, read in files.items():
            known = self._known.get(path)
            if known is None:
                name = str(read.get("name", path))
                self._known[path] = Workflow(
                    id=self.sim.new_id(), path=path, name=name, state="active", created_at=self.sim.now
                )  # fmt: skip
            elif known.state == "deleted":
                known.state = "active"
        for path, known in self._known.items():
            if path not in files:
                known.state = "deleted"
        return list(self._known.values())

    def _home(self) -> str:
        """The commit whose files count: the default branch's."""
        entries = [] if self.sim.models("schedules-come-from-the-default-branch") else self.sim.activity.entries
        return entries[-1].after if entries else self.sim.git.branch(self.sim.default)

    def named(self, name: str) -> Workflow:
        """By id, path, file name or ``name:``."""
        for one in self.all():
            if name in (str(one.id), one.path, one.path.rsplit("/", 1)[1], one.name):
                return one
        raise not_found()

    def disable(self, name: str, state: str = "disabled_manually") -> None:
        """``state``: also ``disabled_inactivity``, as GitHub does after 60 idle days."""
        self.named(name).state = state

    def disable_all(self, state: str = "disabled_inactivity") -> None:
        for one in self.all():
            one.state = state

    def enable(self, name: str) -> None:
        self.named(name).state = "active"

    # --- events -------------------------------------------------------------------------------------------------------------

    def _start(self, path: str, event: str, sha: str, branch: str, actor: Account, **more: Any) -> Run | None:
        self.all()
        workflow = self._known.get(path)
        if workflow is None:
            workflow = Workflow(id=self.sim.new_id(), path=path, name=path, state="active", created_at=self.sim.now)
            self._known[path] = workflow
        if workflow.state.startswith("disabled") and self.sim.models("disabled-workflows-do-not-run"):
            return None
        made = Run(
            id=self.sim.new_id(), number=sum(one.workflow is workflow for one in self.runs) + 1, workflow=workflow,
            event=event, sha=sha, branch=branch, actor=actor.who, triggering=actor.who, at=self.sim.now,
            started_at=self.sim.now, **more,
        )  # fmt: skip
        self.runs.append(made)
        return made

    def _silent(self, actor: Account) -> bool:
        return actor.kind == "actions" and self.sim.models("the-actions-token-starts-nothing")

    def branch_moved(self, ref: str, before: str, after: str, actor: Account) -> None:
        if after == ZERO or self._silent(actor) or not ref.startswith("refs/heads/"):
            return
        branch = ref.removeprefix("refs/heads/")
        for path, read in self.files_at(after).items():
            wanted = triggers(read).get("push", False)
            if wanted is not False and fits(wanted, branch, lambda: self._changed(before, after)):
                self._start(path, "push", after, branch, actor)

    def _changed(self, before: str, after: str) -> list[str]:
        if before == ZERO:
            return self.sim.git.lines("ls-tree", "-r", "--name-only", after)
        return self.sim.git.lines("diff", "--name-only", before, after)

    def pull_request(self, pull: Pull, actor: Account, action: str) -> None:
        base, _ = self.sim.pulls.span(pull)
        for path, read in self.files_at(pull.head_sha).items():
            wanted = triggers(read).get("pull_request", False)
            if wanted is False or not fits(wanted, pull.base, lambda: self._changed(base, pull.head_sha)):
                continue
            if action not in ((wanted or {}).get("types") or ("opened", "synchronize", "reopened")):
                continue
            run = self._start(path, "pull_request", pull.head_sha, pull.head, actor, pull=pull.number)
            if run and self._silent(actor):
                run.status, run.conclusion = "completed", "action_required"

    def tick(self, name: str, cron: str = "") -> Run | None:
        """The schedule of a workflow strikes. None when nothing starts: disabled, or no such schedule."""
        with self.sim.lock:
            workflow = self.named(name)
            tip = self._home()
            crons = [one["cron"] for one in triggers(self.files_at(tip).get(workflow.path, {})).get("schedule") or ()]
            if not crons or (cron and cron not in crons):
                return None
            owner = self.sim.accounts.owner
            return self._start(workflow.path, "schedule", tip, self.sim.default, owner, schedule=cron or crons[0])

    def dispatch(self, account: Account, name: str, ref: str, inputs: Mapping[str, Any]) -> Run:
        with self.sim.lock:
            workflow, sha = self.named(name), self.sim.git.branch(ref.removeprefix("refs/heads/"))
            if not sha:
                raise ApiError(422, f"No ref found for: {ref}")
            on = triggers(self.files_at(sha).get(workflow.path, {}))
            if "workflow_dispatch" not in on:
                raise ApiError(422, "Workflow does not have 'workflow_dispatch' trigger")
            unknown = set(inputs) - set((on["workflow_dispatch"] or {}).get("inputs") or ())
            if unknown:
                raise ApiError(422, f"Unexpected inputs provided: {sorted(unknown)}")
            if account.kind == "actions" and not self.sim.models("dispatches-always-start"):
                raise ApiError(422, "not started")
            made = self._start(
                workflow.path, "workflow_dispatch", sha, ref.removeprefix("refs/heads/"), account, inputs=dict(inputs)
            )
            if made is None:
                raise ApiError(422, "Cannot trigger a 'workflow_dispatch' on a disabled workflow")
            return made

    def finish(self, run: Run, conclusion: str = "success") -> None:
        run.status, run.conclusion = "completed", conclusion

    def rerun(self, account: Account, run: Run) -> None:
        run.attempt, run.triggering, run.started_at = run.attempt + 1, account, self.sim.now
        run.status, run.conclusion = "queued", None
        if not self.sim.models("reruns-keep-their-commit"):
            run.sha = self._home()


def triggers(read: Mapping[Any, Any]) -> dict[str, Any]:
    """``on:`` as a mapping (YAML 1.1 reads the key as true)."""
    on = read.get("on", read.get(True))
    if isinstance(on, str):
        return {on: None}
    return dict.fromkeys(on) if isinstance(on, list) else dict(on or {})


def fits(wanted: Any, branch: str, changed: Any) -> bool:
    """The filters ``branches``, ``branches-ignore``, ``paths`` and ``tags`` of a trigger."""
    wanted = wanted or {}
    if "branches" in wanted and not any(fnmatchcase(branch, one) for one in wanted["branches"]):
        return False
    if any(fnmatchcase(branch, one) for one in wanted.get("branches-ignore") or ()):
        return False
    if "tags" in wanted and "branches" not in wanted:
        return False
    if "paths" in wanted:
        return any(fnmatchcase(path, one) for path in changed() for one in wanted["paths"])
    return True


def workflow_shape(sim: Simulator, one: Workflow) -> Any:
    return {
        "id": one.id, "node_id": shapes.node("W", one.id), "name": one.name, "path": one.path, "state": one.state,
        "created_at": shapes.moment(one.created_at), "updated_at": shapes.moment(one.created_at),
        "url": f"{sim.repo_url}/actions/workflows/{one.id}", "html_url": f"{sim.html_url}/blob/{sim.default}/{one.path}",
        "badge_url": f"{sim.html_url}/workflows/{one.id}/badge.svg",
    }  # fmt: skip


def run_shape(sim: Simulator, one: Run) -> Any:
    at, commit = f"{sim.repo_url}/actions/runs/{one.id}", sim.git.commit(one.sha)
    head = {
        "id": one.sha, "tree_id": commit.tree, "message": commit.message, "timestamp": commit.committer.iso,
        "author": {"name": commit.author.name, "email": commit.author.email},
        "committer": {"name": commit.committer.name, "email": commit.committer.email},
    }  # fmt: skip
    endings = {"jobs": "jobs", "logs": "logs", "cancel": "cancel", "rerun": "rerun", "artifacts": "artifacts"}
    return {
        "id": one.id, "name": one.workflow.name, "node_id": shapes.node("WFR", one.id), "check_suite_id": one.id,
        "path": one.workflow.path, "head_branch": one.branch, "head_sha": one.sha, "run_number": one.number,
        "run_attempt": one.attempt, "event": one.event, "display_title": commit.message.splitlines()[0], "status": one.status,
        "conclusion": one.conclusion, "workflow_id": one.workflow.id, "url": at,
        "html_url": f"{sim.html_url}/actions/runs/{one.id}", "pull_requests": [], "created_at": shapes.moment(one.at),
        "updated_at": shapes.moment(one.started_at), "run_started_at": shapes.moment(one.started_at),
        "actor": shapes.user(sim, one.actor), "triggering_actor": shapes.user(sim, one.triggering), "head_commit": head,
        "previous_attempt_url": f"{at}/attempts/{one.attempt - 1}" if one.attempt > 1 else None,
        **{f"{name}_url": f"{at}/{ending}" for name, ending in endings.items()},
        "check_suite_url": f"{sim.repo_url}/check-suites/{one.id}",
        "workflow_url": f"{sim.repo_url}/actions/workflows/{one.workflow.id}", "repository": shapes.minimal_repository(sim),
        "head_repository": shapes.minimal_repository(sim), "referenced_workflows": [],
    }  # fmt: skip


@route("GET", "actions/workflows", "actions")
def list_workflows(call: Call) -> Any:
    found = call.sim.workflows.all()
    return Page(found, lambda one: workflow_shape(call.sim, one), under="workflows", beside={"total_count": len(found)})


@route("GET", "actions/workflows/{workflow_id}", "actions")
def get_workflow(call: Call) -> Any:
    return workflow_shape(call.sim, call.sim.workflows.named(call.at["workflow_id"]))


@route("PUT", "actions/workflows/{workflow_id}/enable", "actions", "write")
def enable_workflow(call: Call) -> Any:
    call.sim.workflows.enable(call.at["workflow_id"])
    return Answer(204)


@route("PUT", "actions/workflows/{workflow_id}/disable", "actions", "write")
def disable_workflow(call: Call) -> Any:
    call.sim.workflows.disable(call.at["workflow_id"])
    return Answer(204)


@route("POST", "actions/workflows/{workflow_id}/dispatches", "actions", "write")
def dispatch(call: Call) -> Any:
    made = call.sim.workflows.dispatch(call.actor, call.at["workflow_id"], call.body["ref"], call.body.get("inputs", {}))
    if not call.body.get("return_run_details"):
        return Answer(204)
    at = f"{call.sim.repo_url}/actions/runs/{made.id}"
    return {"workflow_run_id": made.id, "run_url": at, "html_url": f"{call.sim.html_url}/actions/runs/{made.id}"}


def listed(call: Call, runs: list[Run]) -> Page:
    query = call.query
    found = [
        one
        for one in reversed(runs)
        if query.get("head_sha", one.sha) == one.sha
        and query.get("event", one.event) == one.event
        and query.get("branch", one.branch) == one.branch
        and query.get("actor", one.actor.login) == one.actor.login
        and query.get("status", one.status) in (one.status, one.conclusion)
        and created_in(query.get("created", ""), one.at)
    ]
    return Page(found, lambda one: run_shape(call.sim, one), under="workflow_runs", beside={"total_count": len(found)})


def created_in(span: str, when: datetime) -> bool:
    """``>=2026-12-01``, ``<…`` or ``a..b``: compared as text, a bare day standing for its first second."""
    at = shapes.moment(when)
    if ".." in span:
        first, last = span.split("..")
        return first <= at <= (last if "T" in last else f"{last}T23:59:59Z")
    for sign, holds in ((">=", at.__ge__), ("<=", at.__le__), (">", at.__gt__), ("<", at.__lt__)):
        if span.startswith(sign):
            return bool(holds(span.removeprefix(sign)))
    return at.startswith(span)


@route("GET", "actions/runs", "actions")
def list_runs(call: Call) -> Any:
    return listed(call, call.sim.workflows.runs)


@route("GET", "actions/workflows/{workflow_id}/runs", "actions")
def runs_of_workflow(call: Call) -> Any:
    workflow = call.sim.workflows.named(call.at["workflow_id"])
    return listed(call, [one for one in call.sim.workflows.runs if one.workflow is workflow])


@route("GET", "actions/runs/{run_id}", "actions")
def get_run(call: Call) -> Any:
    found = [one for one in call.sim.workflows.runs if one.id == call.number("run_id")]
    if not found:
        raise not_found()
    return run_shape(call.sim, found[0])
