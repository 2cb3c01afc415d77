"""The line tables against DESIGN.md, section 4."""

from __future__ import annotations

from dataclasses import replace

import pytest

from publisher.domain.lines import (
    CHANGE,
    LAUNCH,
    LINES,
    PERSONS_ACTIONS,
    PUBLICATION,
    UNKNOWN_STEP,
    Action,
    Grain,
    Risk,
    Step,
    find,
    steps_of,
    unattended,
)

EVERY_STEP = [(kind, step) for kind, line in LINES.items() for step in line]

# name, risk, gate, grain: the launch table of the design, S1 to S13.
LAUNCH_TABLE = [
    ("domain-check", "low", "", "site+domain"),
    ("register", "high", "G1", "site+domain"),
    ("allocate", "low", "G2", "site+day"),
    ("initialise", "low", "", "site+day"),
    ("build", "low", "plan", "site+content"),
    ("release", "high", "G3", "site+release"),
    ("submit", "low", "", "site+day"),
    ("daily", "low", "", "site+day"),
    ("tune", "low", "", "site+iso-week"),
    ("outreach", "high", "G4", "site+channel+iso-week"),
    ("health", "low", "", "site+day"),
    ("replies", "low", "", "site+ticket"),
    ("competitors", "low", "", "site+iso-week"),
]


def test_the_launch_line_is_the_designs_table() -> None:
    assert [(step.name, step.risk, step.gate, step.grain) for step in LAUNCH] == LAUNCH_TABLE


def test_a_publication_goes_through_five_steps_and_a_change_is_never_announced() -> None:
    assert [step.name for step in PUBLICATION] == ["prepare", "build", "deploy", "confirm", "announce"]
    assert [step.name for step in CHANGE] == ["prepare", "build", "deploy", "confirm"]


@pytest.mark.parametrize(("kind", "step"), EVERY_STEP, ids=lambda value: getattr(value, "name", value))
def test_a_step_runs_unattended_only_if_three_columns_allow_it(kind: str, step: Step) -> None:
    if unattended(step):
        assert step.reversible, "its result can be taken back"
        assert step.repeatable, "a second run has no second effect"
        assert step.proof.startswith("publisher "), "one command proves success"
        assert step.risk is Risk.LOW
    else:
        assert step.gate, "what may not run unattended has a gate"


@pytest.mark.parametrize(("kind", "step"), EVERY_STEP, ids=lambda value: getattr(value, "name", value))
def test_one_of_the_five_actions_always_has_a_gate(kind: str, step: Step) -> None:
    assert step.action is None or step.gate


def test_five_actions_need_a_person() -> None:
    assert len(PERSONS_ACTIONS) == 5
    used = {step.action for _, step in EVERY_STEP if step.action}
    assert used == PERSONS_ACTIONS - {Action.BULK_DELETION}, "bulk deletion is a guard inside build, not a step"


@pytest.mark.parametrize("column", ["reversible", "repeatable"])
def test_each_column_alone_keeps_a_step_from_running_unattended(column: str) -> None:
    assert unattended(LAUNCH[0])
    assert not unattended(replace(LAUNCH[0], **{column: False}))
    assert not unattended(replace(LAUNCH[0], proof=""))
    assert not unattended(replace(LAUNCH[0], risk=Risk.HIGH))


def test_names_and_words_are_unique_in_their_line() -> None:
    for line in LINES.values():
        assert len({step.name for step in line}) == len({step.word for step in line}) == len(line)


def test_every_grain_is_used() -> None:
    assert {step.grain for _, step in EVERY_STEP} == set(Grain)


def test_a_step_that_no_table_knows_is_high_risk_whatever_the_plan_says() -> None:
    for kind, name in [("launch", "format-the-disk"), ("publication", "release"), ("episode", "voice"), ("", "")]:
        assert find(kind, name) is UNKNOWN_STEP
    assert UNKNOWN_STEP.risk is Risk.HIGH
    assert not unattended(UNKNOWN_STEP)
    assert UNKNOWN_STEP.gate


def test_a_known_step_is_found_in_its_own_line() -> None:
    assert find("launch", "build").gate == "plan"
    assert find("publication", "deploy").action is Action.RELEASE


def test_without_a_choice_the_whole_line_runs() -> None:
    assert steps_of("launch") == LAUNCH
    assert steps_of("change") == CHANGE


def test_a_launch_may_be_cut_to_steps_in_order() -> None:
    assert [step.name for step in steps_of("launch", ("build", "release"))] == ["build", "release"]


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [
        ("episode", ()),
        ("", ()),
        ("launch", ("build", "release", "format-the-disk")),
        ("launch", ("release", "build")),
        ("launch", ("build", "build")),
        ("launch", ("release",)),
        ("publication", ("deploy", "prepare")),
        ("publication", ("release",)),
    ],
)
def test_other_choices_are_refused(kind: str, chosen: tuple[str, ...]) -> None:
    with pytest.raises(ValueError):
        steps_of(kind, chosen)
