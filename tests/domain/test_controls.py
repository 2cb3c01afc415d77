"""Pause, resume and skip, folded."""

from __future__ import annotations

from datetime import datetime, timedelta

from publisher.domain.controls import Controls, fold_controls
from publisher.domain.ledger_events import EventType
from tests.support.values import NOW, Record, event, log


def paused(reason: str = "holidays") -> Record:
    return EventType.PAUSED, {"reason": reason}


def skipped(day: str) -> Record:
    return EventType.SKIPPED, {"date": day, "reason": "nobody home"}


RESUMED: Record = (EventType.RESUMED, {"reason": "back"})


def test_nothing_is_in_force_at_first() -> None:
    assert fold_controls(()) == Controls(paused=False, since="", reason="", skipped=frozenset())


def test_a_pause_says_since_when_and_why_until_it_is_resumed() -> None:
    assert fold_controls(log(paused())) == Controls(paused=True, since="2026-12-01T01:30:00Z", reason="holidays")
    assert fold_controls(log(paused(), RESUMED)) == Controls()
    assert fold_controls(log(paused(), RESUMED, paused("again"))).reason == "again"


def test_the_last_pause_counts() -> None:
    later: datetime = NOW + timedelta(days=1)
    first = event(EventType.PAUSED, reason="one")
    second = event(EventType.PAUSED, after=first, at=later, reason="two")
    assert fold_controls([first, second]) == Controls(paused=True, since="2026-12-02T01:30:00Z", reason="two")


def test_skipped_dates_add_up_and_no_resume_brings_them_back() -> None:
    controls = fold_controls(log(skipped("2026-12-01"), paused(), skipped("2026-12-03"), RESUMED, skipped("2026-12-01")))
    assert controls == Controls(skipped=frozenset({"2026-12-01", "2026-12-03"}))


def test_other_events_say_nothing_here() -> None:
    assert fold_controls(log((EventType.NOTICED, {"notice": "x"}))) == Controls()
