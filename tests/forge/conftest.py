from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.signed_forge import PLAN, World, copy_world, make_keys, make_template, plan_text, rules_text


@dataclass(frozen=True)
class Template:
    """A world to copy, and the time up to which things happened in it."""

    folder: Path
    now: datetime


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    make_keys(folder)
    return folder


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> dict[str, Template]:
    begun = tmp_path_factory.mktemp("begun")
    make_template(begun, keys, rules_text(keys))
    opened = copy_world(begun, tmp_path_factory.mktemp("opened"), keys)
    assert opened.open({PLAN: plan_text()}) == 1
    approved = copy_world(opened.folder, tmp_path_factory.mktemp("approved"), keys, opened.now)
    assert len(approved.decide(1)) == 1
    begun_of_two = tmp_path_factory.mktemp("begun-of-two")
    make_template(begun_of_two, keys, rules_text(keys, count=2))
    first = World(folder=begun, keys=keys)
    return {
        "begun": Template(begun, first.now),
        "opened": Template(opened.folder, opened.now),
        "approved": Template(approved.folder, approved.now),
        "begun of two": Template(begun_of_two, first.now),
    }


def _copy(templates: dict[str, Template], name: str, folder: Path, keys: Path) -> World:
    return copy_world(templates[name].folder, folder, keys, templates[name].now)


@pytest.fixture
def world(tmp_path: Path, templates: dict[str, Template], keys: Path) -> World:
    """One root commit with rules by which one approver suffices."""
    return _copy(templates, "begun", tmp_path, keys)


@pytest.fixture
def opened(tmp_path: Path, templates: dict[str, Template], keys: Path) -> World:
    """The planner's request 1 proposes the plan."""
    return _copy(templates, "opened", tmp_path, keys)


@pytest.fixture
def approved(tmp_path: Path, templates: dict[str, Template], keys: Path) -> World:
    """Alice approved request 1."""
    return _copy(templates, "approved", tmp_path, keys)


@pytest.fixture
def world_of_two(tmp_path: Path, templates: dict[str, Template], keys: Path) -> World:
    """Two approvers are needed."""
    return _copy(templates, "begun of two", tmp_path, keys)
