"""A run that is stopped (SIGSTOP) and wakes up long after its lease, when a fresh clone has finished its work.

It ends with a refusal and changes nothing: not the ledger, not the target, not what anybody is told. Every boundary at which
a run can stand still is a cell of the exercise matrix (test_effect_modes.py, mode ``pause``); here are those with more to them.
"""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from tests.support.oracle import accept, facts, published
from tests.support.stage import DATE, PLAN, Stage, at, stopped, woken

Stages = Callable[[str], Stage]


@pytest.mark.parametrize("kind", ["directory", "other-repository"])
def test_a_recovery_that_wakes_up_late_cannot_raise_its_fence(stages: Stages, kind: str) -> None:
    stage = stages(kind)
    instance = stage.restore("approved")
    killed = instance.driven("ci", "run", now=at(10), at="kill:before:target.switch:1")
    assert killed.returncode == -signal.SIGKILL
    instance.fresh_clone("ci2")
    with stopped(instance, "ci2", "before:target.raise_fence:1", 60) as process:
        instance.fresh_clone("ci3")
        instance.driven("ci3", "run", check=0, now=at(120))
        accept(instance, DATE, first=stage.first, now=at(180))
        before = facts(instance)
        ended, said = woken(process)
    assert ended == 7 and "[claim-lost]" in said, said
    assert facts(instance) == before


@pytest.mark.parametrize("kind", ["directory", "other-repository"])
def test_what_was_canceled_meanwhile_does_not_become_public_by_waking_up(stages: Stages, kind: str) -> None:
    instance = stages(kind).restore("approved")
    with stopped(instance, "ci", "before:target.switch:1", 10) as process:
        instance.fresh_clone("ci2")
        instance.driven("ci2", "reconcile", now=at(60))
        instance.driven("reviewer", "cancel", PLAN, "--reason", "a second thought", check=0, now=at(70))
        before = facts(instance)
        ended, said = woken(process)
    assert ended == 7 and "[claim-lost]" in said, said
    assert facts(instance) == before
    assert not published(instance).files


def test_while_the_lease_lasts_nobody_else_goes_on(stages: Stages) -> None:
    """The other side of the same coin: before the lease is over, the fresh clone waits."""
    stage = stages("directory")
    instance = stage.restore("approved")
    with stopped(instance, "ci", "after:records.publish:1", 10) as process:
        tip = instance.remote.head("main")
        instance.fresh_clone("ci2")
        done = instance.driven("ci2", "run", now=at(10))
        assert done.returncode == 5 and "[busy]" in done.stderr and PLAN in done.stderr
        assert instance.remote.head("main") == tip
        assert woken(process)[0] == 0
    accept(instance, DATE, first=stage.first, now=at(120))
