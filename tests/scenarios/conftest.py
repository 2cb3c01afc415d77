"""What the scenarios share: one warm process and one stage per kind of target, per test worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.stage import Stage, stage_of
from tests.support.warm import Warm

SWEEP = "test_kill_sweep.py::test_"


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


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """``kill sweep: n of n recovered``, whichever worker ran which cell."""
    cells = {
        outcome: [
            report
            for report in terminalreporter.stats.get(outcome, ())
            if SWEEP in report.nodeid and "[kill:" in report.nodeid and (outcome == "error" or report.when == "call")
        ]
        for outcome in ("passed", "failed", "error")
    }
    total = sum(len(reports) for reports in cells.values())
    if total:
        terminalreporter.write_line(f"kill sweep: {len(cells['passed'])} of {total} recovered")
