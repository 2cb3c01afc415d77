"""What every test has: properties are explored without a stopwatch, and a summary says what the sweeps swept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.volume import SLICED

SWEEP = "test_kill_sweep.py::test_"

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_sessionfinish(session: Any) -> None:
    """A worker tells the process that prints the summary which sweeps it had a slice of."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["sliced"] = {name: list(counts) for name, counts in SLICED.items()}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    SLICED.update(
        {name: (chosen, total) for name, (chosen, total) in getattr(node, "workeroutput", {}).get("sliced", {}).items()}
    )


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
    for name, (chosen, cells_in_all) in sorted(SLICED.items()):
        if chosen < cells_in_all:
            terminalreporter.write_line(
                f"{name}: a slice of {chosen} of {cells_in_all} (PUBLISHER_TEST_VOLUME=release for all)"
            )
