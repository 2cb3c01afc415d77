"""What the scenarios share: one warm process and one stage per kind of target, per test worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.support.stage import Stage, stage_of
from tests.support.warm import Warm


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    made = Warm()
    yield made
    made.close()


@pytest.fixture(scope="session")
def stages(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Stage]]:
    """The stage of a kind of target, with its approved plan, made when first asked for."""
    made: dict[str, Stage] = {}
    with ExitStack() as stack:

        def stage(kind: str) -> Stage:
            if kind not in made:
                made[kind] = stack.enter_context(stage_of(kind, tmp_path_factory.mktemp(kind), warm))
                made[kind].approved()
                made[kind].undisturbed()
            return made[kind]

        yield stage
