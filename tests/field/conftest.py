"""One warm instance for the field reports of a test worker, and its states by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.field import stories
from tests.support.github_instance import GithubInstance, github_instance
from tests.support.scene import Scene

SHIPPED = Path(__file__).parents[2] / ".github/workflows"


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with stories.story(tmp_path_factory.mktemp("field")) as scene:
        yield scene


def _fixture(state: Callable[[Scene], Scene]) -> Callable[[Scene], Scene]:
    def at_this_state(stage: Scene) -> Scene:
        return state(stage)

    at_this_state.__doc__ = state.__doc__
    return at_this_state


planned = pytest.fixture(name="planned")(_fixture(stories.planned))
approved = pytest.fixture(name="approved")(_fixture(stories.approved))
public = pytest.fixture(name="public")(_fixture(stories.public))
two = pytest.fixture(name="two")(_fixture(stories.two))


@pytest.fixture
def new(stage: Scene) -> Scene:
    """Nothing is planned."""
    stage.back_to("new")
    stage.web.statuses.clear()
    stage.web.purge()
    return stage


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GithubInstance]:
    """An instance at a simulated GitHub, with the shipped workflows and a protected default branch."""
    with github_instance(tmp_path_factory.mktemp("hosted"), publish_time="09:00", articles=12) as made:
        flows = {
            f".github/workflows/{path.name}": path.read_text("utf-8") for path in SHIPPED.glob("*.yml") if path.name != "ci.yml"
        }
        made.go_to("11-29 08:00")
        made.sim.commit(made.people["owner"], "main", flows)
        made.sim.protection.protect("main", required_reviews=1, pull_request=True, no_force=True, no_delete=True)
        yield made
