"""What the tests of this folder share: one warm process, and one stage for each kind of target, with and without HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.support.git_http_stage import HttpStage, http_stage_of
from tests.support.stage import Stage, stage_of
from tests.support.warm import Warm

Stages = Callable[[str], Stage]
HttpStages = Callable[[str], HttpStage]


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    made = Warm()
    yield made
    made.close()


@pytest.fixture(scope="session")
def http_stages(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpStages]:
    """The stage of a kind of target, made when first asked for."""
    made: dict[str, HttpStage] = {}
    with ExitStack() as stack:

        def stage(kind: str) -> HttpStage:
            if kind not in made:
                made[kind] = stack.enter_context(http_stage_of(kind, tmp_path_factory.mktemp(f"http-{kind}"), warm))
            return made[kind]

        yield stage


@pytest.fixture(scope="session")
def stages(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stages]:
    """The same with a remote that is a path of this machine, made when first asked for."""
    made: dict[str, Stage] = {}
    with ExitStack() as stack:

        def stage(kind: str) -> Stage:
            if kind not in made:
                made[kind] = stack.enter_context(stage_of(kind, tmp_path_factory.mktemp(kind), warm))
                made[kind].approved()
                made[kind].undisturbed()
            return made[kind]

        yield stage
