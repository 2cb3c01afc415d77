"""The simulation in quantity: no rule is broken, and what a history is made of is worth the name.

Here a slice; ``make simulate`` plays 100,000 histories on each kind of target, and PUBLISHER_TEST_VOLUME=release as many here.
"""

from __future__ import annotations

import pytest

from publisher.simulation import stage
from publisher.simulation.volume import TIME_AND_PEOPLE, Figures, as_data, expected_faults, simulate
from tests.support.volume import RELEASE, rounds

HISTORIES = rounds(800, 100_000)
SEED = "ci"


@pytest.fixture(scope="module")
def figures() -> dict[str, Figures]:
    return simulate(stage.KINDS, SEED, HISTORIES, jobs=1)


@pytest.mark.timeout(7200 if RELEASE else 900)
@pytest.mark.parametrize("kind", stage.KINDS)
def test_no_history_breaks_a_rule(figures: dict[str, Figures], kind: str) -> None:
    found = figures[kind].found
    assert not found, [f"{item.number} {item.story}: {item.oracle}: {item.says}" for item in found]
    assert figures[kind].histories == HISTORIES


@pytest.mark.parametrize("kind", stage.KINDS)
def test_the_median_history_is_a_real_one(figures: dict[str, Figures], kind: str) -> None:
    """At least three actors, two faults that struck, and one publication that was completed."""
    medians = {name: figures[kind].quartiles(name)[1] for name in ("actors", "faults", "confirmed")}
    assert medians["actors"] >= 3
    assert medians["faults"] >= 2
    assert medians["confirmed"] >= 1


def test_every_fault_strikes(figures: dict[str, Figures]) -> None:
    """A slice is too small for the rarest; in a release run, and in ``make simulate``, none may be missing on any kind."""
    missing = {
        kind: {what for what in expected_faults([kind]) if not (item.struck[what] or item.counts[what])}
        for kind, item in figures.items()
    }
    if RELEASE:
        assert not any(missing.values()), missing
    everywhere = set.intersection(*missing.values())
    assert len(everywhere) <= len(expected_faults(stage.KINDS)) / 5, everywhere


@pytest.mark.parametrize("kind", stage.KINDS)
def test_time_passes_and_people_act(figures: dict[str, Figures], kind: str) -> None:
    """Not only faults are counted: nights, pauses, take-overs, every edit of every story, every decision."""
    assert expected_faults([kind]) >= TIME_AND_PEOPLE
    never = {what for what in TIME_AND_PEOPLE if not figures[kind].counts[what]}
    assert never <= (set() if RELEASE else {"decide: grant", "decide: reject", "decide: drop"})


def test_most_steps_are_remembered_and_some_are_executed_again(figures: dict[str, Figures]) -> None:
    for item in figures.values():
        data = as_data(item)
        assert data["executed"] < data["steps"]
        assert data["rechecked"] > 0
        assert data["crashes"] > 0
        assert data["takeovers"] > 0
