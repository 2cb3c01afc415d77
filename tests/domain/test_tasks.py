"""All states by all signals against DESIGN.md, section 4, written out again here by hand."""

from __future__ import annotations

from itertools import product

import pytest

from publisher.domain import tasks
from publisher.domain.tasks import IllegalTransition, Signal, State, move

# from, signal, to: the design's table, row by row.
DESIGN = """
blocked  approved           queued
blocked  rejected           canceled
queued   rejected           canceled
failed   rejected           canceled
blocked  canceled           canceled
queued   canceled           canceled
failed   canceled           canceled
queued   approval-lapsed    blocked
queued   picked-up          running
running  evidence-complete  succeeded
running  failed             failed
running  heartbeat-lost     queued
running  deferred           queued
running  settled-happened   succeeded
running  settled-did-not    failed
failed   retried            queued
"""
TABLE = {(before, signal): after for before, signal, after in (line.split() for line in DESIGN.strip().splitlines())}


def test_there_are_six_states_and_no_more() -> None:
    assert [str(state) for state in State] == ["blocked", "queued", "running", "succeeded", "failed", "canceled"]


def test_a_created_task_waits_for_its_gate_or_in_the_queue() -> None:
    assert (tasks.CREATED_NEEDS_GATE, tasks.CREATED) == (State.BLOCKED, State.QUEUED)


@pytest.mark.parametrize(("state", "signal"), list(product(State, Signal)))
def test_every_pair_is_as_designed(state: State, signal: Signal) -> None:
    expected = TABLE.get((str(state), str(signal)))
    if expected is None:
        with pytest.raises(IllegalTransition):
            move(state, signal)
    else:
        assert move(state, signal) == expected


def test_the_table_covers_every_signal_and_no_unknown_one() -> None:
    assert {signal for _, signal in TABLE} == {str(signal) for signal in Signal}


def test_nothing_leaves_what_succeeded_or_was_canceled() -> None:
    assert {str(state) for state in State} - {state for state, _ in TABLE} == {"succeeded", "canceled"}


def test_failed_is_left_by_a_person_only() -> None:
    assert {signal for state, signal in TABLE if state == "failed"} == {"rejected", "canceled", "retried"}


def test_success_needs_evidence_or_a_person() -> None:
    assert {signal for (_, signal), after in TABLE.items() if after == "succeeded"} == {"evidence-complete", "settled-happened"}
