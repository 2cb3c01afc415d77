"""What every test has: properties are explored without a stopwatch, and the kill sweep says how many cells recovered."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

SWEEP = "test_kill_sweep.py::test_"

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


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
