from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.signed_forge import World, copy_world, make_keys, make_template, rules_text


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    make_keys(folder)
    return folder


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Path:
    folder = tmp_path_factory.mktemp("forge")
    make_template(folder, keys, rules_text(keys))
    return folder


@pytest.fixture(scope="session")
def template_of_two(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Path:
    folder = tmp_path_factory.mktemp("forge-two")
    make_template(folder, keys, rules_text(keys, count=2))
    return folder


@pytest.fixture
def world(tmp_path: Path, template: Path, keys: Path) -> World:
    """One approver suffices."""
    return copy_world(template, tmp_path, keys)


@pytest.fixture
def world_of_two(tmp_path: Path, template_of_two: Path, keys: Path) -> World:
    """Two approvers are needed."""
    return copy_world(template_of_two, tmp_path, keys)
