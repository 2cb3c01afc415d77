"""What the tests share that execute the shipped workflows: publisher's repository, an instance, and its Actions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.actions import Actions, actions_at
from tests.support.github_instance import GithubInstance, github_instance
from tests.support.shipped import Shipped, shipped_once


@pytest.fixture(scope="session")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    """One for all workers of a test run, since publisher is installed in it."""
    base = tmp_path_factory.getbasetemp()
    return shipped_once((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shipped")


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[GithubInstance]:
    with github_instance(tmp_path) as made:
        made.go_to("12-01 12:00")
        yield made


@pytest.fixture
def actions(instance: GithubInstance, shipped: Shipped, tmp_path: Path) -> Iterator[Actions]:
    """The Actions of the instance's repository, whose approval rules are pinned."""
    with actions_at(instance.sim, shipped, tmp_path / "actions") as made:
        made.variables["PUBLISHER_ROOT"] = instance.sim.git.branch("main")
        yield made
