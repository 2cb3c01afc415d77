"""Alarms: what ``watch`` tells the people on call, and what the ledger says of alarms told before.

Rules:
* an alarm's id is its code and what it is about, so that the same trouble seen twice is one alarm;
* an alarm that stands is not said again; one that came to an end and comes back is said again, under the next number;
* a reminder asks for something in good time, and is no trouble yet: a timer does not fail because of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from publisher.domain.business_calendar import in_utc
from publisher.domain.ledger_events import Event, EventType
from publisher.errors import EXIT_INPUT, EXIT_LATER, EXIT_PERSON, EXIT_UNKNOWN


class Code(StrEnum):
    """What can be wrong. The sentence for each stands in ``domain/wording.py``."""

    DUE_UNCLAIMED = "due-unclaimed"
    LATE = "late"
    UNAPPROVED_TOMORROW = "unapproved-tomorrow"
    MISSED = "missed"
    NOTHING_CONFIRMED = "nothing-confirmed"
    DRIFTED = "drifted"
    PUBLIC_UNREACHABLE = "public-unreachable"
    CLAIM_STUCK = "claim-stuck"
    SCHEDULE_OFF = "schedule-off"
    UNKNOWN_OPEN = "unknown-open"
    QUEUE_LOW = "queue-low"
    NO_PLAN = "no-plan"
    INSTANCE_UNREADABLE = "instance-unreadable"
    APPROVAL_NOT_PROVEN = "approval-not-proven"


REMINDERS = frozenset({Code.UNAPPROVED_TOMORROW, Code.QUEUE_LOW})
EXITS: Mapping[Code, int] = {
    **dict.fromkeys(Code, EXIT_PERSON),
    **dict.fromkeys((Code.DRIFTED, Code.CLAIM_STUCK, Code.UNKNOWN_OPEN), EXIT_UNKNOWN),
    Code.PUBLIC_UNREACHABLE: EXIT_LATER,
    Code.INSTANCE_UNREADABLE: EXIT_INPUT,
}
"""What ``watch`` ends with while an alarm stands."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long is too long, as ``watch`` in ``publisher.yaml`` says."""

    unclaimed_after: timedelta = timedelta(minutes=30)
    late_after: timedelta = timedelta(hours=2)
    nothing_confirmed_after: timedelta = timedelta(days=2)


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """One thing that is wrong now. ``about`` is a plan's path, a site, a file or a workflow; ``site`` "" is the whole instance.

    ``says`` and ``urls`` hold ids, codes and public addresses only. ``noticed``: a run told the same people of it already.
    """

    code: Code
    about: str
    site: str = ""
    plan: str = ""
    says: str
    next: str
    since: datetime | None = None
    urls: tuple[str, ...] = ()
    exit_code: int = -1
    noticed: bool = False

    @property
    def id(self) -> str:
        return f"{self.code}:{self.about}"

    @property
    def ends_with(self) -> int:
        return EXITS[self.code] if self.exit_code < 0 else self.exit_code

    def as_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "id": self.id, "code": str(self.code), "about": self.about, "site": self.site, "plan": self.plan, "says": self.says,
            "next": self.next, "since": in_utc(self.since) if self.since else "", "urls": list(self.urls),
        }  # fmt: skip
        return {name: value for name, value in data.items() if value}


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the ledger says of one alarm: how often it was raised, and whether it stands. ``by_run``: a run's notice said it."""

    id: str
    code: str
    about: str
    times: int
    stands: bool
    by_run: bool = False


def fold_alarms(events: Iterable[Event]) -> dict[str, Told]:
    """Every alarm of a ``watch`` file by id. ``ValueError`` for a record that publisher does not write."""
    told: dict[str, Told] = {}
    for event in events:
        name = event.fields.get("alarm")
        if not isinstance(name, str) or ":" not in name:
            raise ValueError("a record of watch names its alarm")
        code, _, about = name.partition(":")
        before = told.get(name) or Told(id=name, code=code, about=about, times=0, stands=False)
        if event.type is EventType.ALARM_RAISED:
            by_run = event.fields.get("by") == "run"
            told[name] = Told(id=name, code=code, about=about, times=before.times + 1, stands=True, by_run=by_run)
        elif event.type is EventType.ALARM_CLEARED:
            told[name] = Told(id=name, code=code, about=about, times=before.times, stands=False)
    return told
