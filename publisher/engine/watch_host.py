"""Whether the pull-request host still starts the scheduled workflows: its own word about each, and the runs that it made.

Rules:
* a workflow is asked about when its file on the default branch has a schedule and does publisher's work;
* any state but ``active`` is an alarm: a host switches schedules off by itself where a repository was quiet for long;
* a dropped event leaves no run, so that silence is measured: a line that should have started a run more than ``SILENCE`` ago, and
  no scheduled run since then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from publisher.domain.alarms import Alarm, Code
from publisher.domain.business_calendar import for_people, parse_instant, parse_zone
from publisher.engine.schedules import Cron, ticks, wrong_with
from publisher.ports import HostReads

SILENCE = timedelta(hours=26)
"""A day, and what a host may be late."""
LONGEST_SILENCE = timedelta(days=32)
"""How far back a schedule is followed; a monthly one has a tick in it."""
ACTIVE = "active"
NOT_FOUND = "not-found"


@dataclass(frozen=True, kw_only=True)
class Scheduled:
    """A workflow file with a schedule: its name below ``.github/workflows/``, and its lines."""

    name: str
    crons: tuple[Cron, ...]


@dataclass(frozen=True, kw_only=True)
class HostSays:
    """What the host says of one workflow. ``last`` is its newest scheduled run, ``known_since`` when the host last changed it."""

    workflow: Scheduled
    state: str
    known_since: datetime | None = None
    last: datetime | None = None


def ask(host: HostReads, workflows: Iterable[Scheduled]) -> Iterator[HostSays]:
    """Two requests for each workflow."""
    for workflow in workflows:
        found = host.get(f"actions/workflows/{workflow.name}")
        if not isinstance(found, dict):
            yield HostSays(workflow=workflow, state=NOT_FOUND)
            continue
        runs = host.get(f"actions/workflows/{workflow.name}/runs", event="schedule", per_page=1)
        listed = runs.get("workflow_runs") if isinstance(runs, dict) else None
        times = [_instant(found, "created_at"), _instant(found, "updated_at")]
        yield HostSays(
            workflow=workflow,
            state=_word(found.get("state")),
            known_since=max((at for at in times if at), default=None),
            last=_instant(listed[0], "created_at") if listed else None,
        )


def schedule_alarms(answers: Iterable[HostSays], now: datetime) -> Iterator[Alarm]:
    for answer in answers:
        name = answer.workflow.name
        if answer.state != ACTIVE:
            says = f"the host says {answer.state}: no run starts by itself until it is switched on again"
            yield Alarm(
                code=Code.SCHEDULE_OFF, about=name, says=says, next=f"gh workflow enable {name}, or its page at the host"
            )
        elif (since := silent_since(answer, now)) is not None:
            says = f"a run should have started {for_people(since, parse_zone('UTC'))}, and the host has made none since"
            yield Alarm(code=Code.SCHEDULE_OFF, about=name, says=says, next=f"gh workflow run {name}", since=since)


def silent_since(answer: HostSays, now: datetime) -> datetime | None:
    """The first moment, more than ``SILENCE`` ago, at which a scheduled run should have started and none did, then or later."""
    known = [at for at in (answer.last, answer.known_since) if at]
    start = max([*known, now - LONGEST_SILENCE]) + timedelta(seconds=1)
    lines = [line for line in answer.workflow.crons if not wrong_with(line)]
    return next(iter(ticks(lines, start, now - SILENCE)), None) if start < now - SILENCE else None


def _word(value: Any) -> str:
    """A state as one of the host's own words."""
    return value if isinstance(value, str) and re.fullmatch(r"[a-z_]{1,40}", value, re.ASCII) else "unknown"


def _instant(data: Any, name: str) -> datetime | None:
    value = data.get(name) if isinstance(data, dict) else None
    # Some answers carry fractions of a second, which no rule here needs.
    text = re.sub(r"\.[0-9]+", "", value) if isinstance(value, str) else ""
    try:
        return parse_instant(text).astimezone(UTC)
    except ValueError:
        return None
