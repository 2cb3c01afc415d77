"""What an administrator has set, as far as the API shows it: Actions' permissions, variables, names of secrets, environments."""

from __future__ import annotations

from typing import Any

from tests.support.github import shapes
from tests.support.github.answers import Call, Page, not_found, route
from tests.support.github.simulator import Simulator


@route("GET", "actions/permissions", "administration")
def permissions(call: Call) -> Any:
    return {"enabled": True, "allowed_actions": "all", "sha_pinning_required": False}


@route("GET", "actions/permissions/workflow", "administration")
def workflow_permissions(call: Call) -> Any:
    return {
        "default_workflow_permissions": call.sim.settings.default_workflow_permissions,
        "can_approve_pull_request_reviews": call.sim.actions_may_create_pull_requests,
    }


def variable_shape(sim: Simulator, name: str) -> Any:
    when = shapes.moment(sim.created_at)
    return {"name": name, "value": sim.settings.variables[name], "created_at": when, "updated_at": when}


@route("GET", "actions/variables", "variables")
def variables(call: Call) -> Any:
    found = sorted(call.sim.settings.variables)
    return Page(found, lambda one: variable_shape(call.sim, one), under="variables", beside={"total_count": len(found)})


@route("GET", "actions/variables/{name}", "variables")
def variable(call: Call) -> Any:
    if call.at["name"] not in call.sim.settings.variables:
        raise not_found()
    return variable_shape(call.sim, call.at["name"])


@route("GET", "actions/secrets", "secrets")
def secrets(call: Call) -> Any:
    found, when = sorted(call.sim.settings.secrets), shapes.moment(call.sim.created_at)
    shape = lambda one: {"name": one, "created_at": when, "updated_at": when}  # noqa: E731
    return Page(found, shape, under="secrets", beside={"total_count": len(found)})


def environment_shape(sim: Simulator, name: str) -> Any:
    number, when = sum(name.encode()), shapes.moment(sim.created_at)
    return {
        "id": number, "node_id": shapes.node("EN", number), "name": name, "url": f"{sim.repo_url}/environments/{name}",
        "html_url": f"{sim.html_url}/deployments/activity_log?environments_filter={name}", "created_at": when,
        "updated_at": when, "protection_rules": [], "deployment_branch_policy": None,
    }  # fmt: skip


@route("GET", "environments", "actions")
def environments(call: Call) -> Any:
    found = sorted(call.sim.settings.environments)
    return Page(found, lambda one: environment_shape(call.sim, one), under="environments", beside={"total_count": len(found)})


@route("GET", "environments/{environment_name}", "actions")
def environment(call: Call) -> Any:
    if call.at["environment_name"] not in call.sim.settings.environments:
        raise not_found()
    return environment_shape(call.sim, call.at["environment_name"])
