"""The harness that executes the shipped workflows, tried on simple runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import shipped as shipping
from tests.support.actions import Actions, actions_at
from tests.support.github_instance import GithubInstance, github_instance
from tests.support.shipped import ship


@pytest.fixture(scope="session")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> shipping.Shipped:
    return ship(tmp_path_factory.mktemp("shipped"))


@pytest.fixture
def instance(tmp_path: Path):
    with github_instance(tmp_path) as made:
        yield made


@pytest.fixture
def actions(instance: GithubInstance, shipped: shipping.Shipped, tmp_path: Path):
    with actions_at(instance.sim, shipped, tmp_path / "actions") as made:
        made.variables["PUBLISHER_ROOT"] = instance.sim.git.branch("main")
        yield made


@pytest.mark.parametrize("name", ["publish.yml", "plan.yml", "approve.yml", "watch.yml", "decisions.yml"])
def test_x(actions: Actions, instance: GithubInstance, name):
    owner = instance.people["owner"]
    event = {"approve.yml": "push", "decisions.yml": "workflow_dispatch"}.get(name, "schedule")
    ran = actions.execute(actions.shipped_run(name, event, owner, {"decision": "pause", "site": "blog", "reason": "legal asks"} if "decisions" in name else {}))
    print(ran.log[-3500:])
    print([(j.id, j.result) for j in ran.jobs])
    print(instance.sim.requests)
    assert 0
