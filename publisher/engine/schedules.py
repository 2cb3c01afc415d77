"""Whether a CI's schedule keeps a policy's promise, and what it costs. Pure: crons, a policy and ``now`` in, facts out.

Rules:
* a schedule is GitHub's: five fields of POSIX cron, read in UTC unless it names a zone; no shorthand, and never closer than five
  minutes. A wall time that the clocks leave out comes at the next one that there is; one that occurs twice comes once, the first;
* a date is kept when a run starts at or after its ``publish_at`` and before an approval given in time has expired;
* it is kept well when the first such run comes within the hour, and another follows for when GitHub drops the first;
* a week is looked at, and the week after each change of a clock in the coming year: what holds in winter may fail in summer;
* a runner's minutes are counted as they are billed: each job rounded up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from publisher.domain.business_calendar import business_date, parse_zone
from publisher.domain.policy import Policy
from publisher.errors import NeedsPerson

LATE = timedelta(hours=1)
"""A first run further behind ``publish_at`` than this is told: readers were promised a time."""
CLOSEST = timedelta(minutes=5)
"""GitHub's shortest interval (docs, "Events that trigger workflows", schedule)."""
WEEK = 7
MONTH = 30
YEAR = 366
EVENING = 18
"""The hour by which the next dates should have been proposed, so that somebody can review them the same day."""

_NUMBER = r"[0-9]{1,2}"
_FIELDS = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")),
    ("day of the week", 0, 6, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")),
)
_TERM = re.compile(rf"(?:\*|({_NUMBER}|[A-Z]{{3}})(?:-({_NUMBER}|[A-Z]{{3}}))?)(?:/({_NUMBER}))?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Cron:
    """One line of a schedule. ``zone_name`` "" means UTC; ``where`` is ``path:line:col``."""

    expression: str
    zone_name: str = ""
    where: str = ""

    @property
    def zone_named(self) -> str:
        return self.zone_name or "UTC"


def wrong_with(cron: Cron) -> str:
    """Why GitHub would not take this line, as the end of a sentence; "" when it would."""
    try:
        parse_zone(cron.zone_named)
    except ValueError:
        return "names a zone that does not exist"
    fields = cron.expression.upper().split()
    if len(fields) != len(_FIELDS):
        return "has five fields: minute, hour, day of the month, month, day of the week"
    for text, (name, low, high, words) in zip(fields, _FIELDS, strict=True):
        if not all(_is_term(term, low, high, words) for term in text.split(",")):
            return f"has a {name} that GitHub does not know: {low} to {high}{', or a name' if words else ''}, with * , - and /"
    if _never_comes(cron):
        return "names a day that no month has"
    return ""


def _is_term(term: str, low: int, high: int, words: Sequence[str]) -> bool:
    found = _TERM.fullmatch(term)
    if not found:
        return False
    first, last, step = found.groups()
    ends = [words.index(end) + low if end in words else int(end) if end.isdigit() else -1 for end in (first, last) if end]
    return all(low <= end <= high for end in ends) and ends == sorted(ends) and step not in ("0", "00")


def _never_comes(cron: Cron) -> bool:
    # Four years hold a 29 February, and so every date that there is (but for 1900, 2100, …).
    start = datetime(2024, 1, 1, tzinfo=UTC)
    return next(_from(cron, start, start + timedelta(days=4 * 366)), None) is None


def ticks(crons: Iterable[Cron], start: datetime, end: datetime) -> tuple[datetime, ...]:
    """When the lines start a run, from ``start`` up to and not including ``end``: UTC, in order, each once.

    Lines that GitHub would not take (``wrong_with``) must have been sorted out before.
    """
    return tuple(sorted({tick for cron in crons for tick in _from(cron, start, end)}))


def _from(cron: Cron, start: datetime, end: datetime) -> Iterator[datetime]:
    try:
        from cronsim import CronSim, CronSimError  # an optional library, for those who use GitHub
    except ImportError:
        raise NeedsPerson(
            "github-extra-missing", "a schedule is read by a library that is not here", next="pip install 'publisher[github]'"
        )
    local = (start - timedelta(seconds=1)).astimezone(parse_zone(cron.zone_named))
    try:
        for tick in CronSim(cron.expression, local):
            moment = tick.astimezone(UTC)
            if moment >= end:
                return
            # Where clocks go back, the library may begin in the second of two equal hours, before ``start``.
            if moment >= start:
                yield moment
    except CronSimError:
        return


# --- the promise ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Day:
    """One promised date: when it is due, when an approval given in time expires, and the runs that start in between."""

    day: date
    due: datetime
    closes: datetime
    runs: tuple[datetime, ...]

    @property
    def late(self) -> timedelta | None:
        """How far behind its time the first run is; None when there is none."""
        return self.runs[0] - self.due if self.runs else None


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How a schedule keeps a promise over some dates."""

    days: tuple[Day, ...]

    @property
    def missed(self) -> tuple[Day, ...]:
        """Dates on which nothing would run in time."""
        return tuple(day for day in self.days if not day.runs)

    @property
    def single(self) -> tuple[Day, ...]:
        """Dates with one chance only: a run that GitHub drops is not made up for."""
        return tuple(day for day in self.days if len(day.runs) == 1)

    @property
    def worst(self) -> Day | None:
        """The date whose first run is furthest behind, of those that have one."""
        return max((day for day in self.days if day.runs), key=lambda day: day.runs[0] - day.due, default=None)


def promise(crons: Sequence[Cron], policy: Policy, expires_after: timedelta, first: date, days: int = WEEK) -> Kept:
    """How the lines keep the policy's promise from ``first`` (or the policy's start, if later) for so many dates."""
    begin = max(first, policy.start)
    due = list(_due(policy, begin, days))
    if not due:
        return Kept(days=())
    # One expansion for all dates: a window may reach over the dates that follow.
    all_ticks = ticks(crons, due[0][1], due[-1][1] + expires_after)
    return Kept(
        days=tuple(
            Day(day=day, due=at, closes=at + expires_after, runs=tuple(t for t in all_ticks if at <= t < at + expires_after))
            for day, at in due
        )
    )


def _due(policy: Policy, begin: date, days: int) -> Iterator[tuple[date, datetime]]:
    for number in range(days):
        day = begin + timedelta(days=number)
        try:
            yield day, policy.instant(day).astimezone(UTC)
        except ValueError:
            continue  # a date that the zone leaves out (Samoa, 30 December 2011) promises nothing


# --- clocks ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ClockChange:
    """The offset of one zone against another changes between the noon (UTC) before ``day`` and that of ``day``."""

    day: date
    by: timedelta
    """By how much the first zone's clock goes forward against the other's."""


def clock_changes(zone_name: str, other: str, now: datetime, days: int = YEAR) -> tuple[ClockChange, ...]:
    """When in the coming days two zones move against each other."""
    zone, against = parse_zone(zone_name), parse_zone(other)
    noon = now.astimezone(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    noons = [noon + timedelta(days=number) for number in range(days + 1)]
    apart = [(at.date(), _offset(at, zone) - _offset(at, against)) for at in noons]
    return tuple(ClockChange(day=day, by=after - before) for (_, before), (day, after) in pairwise(apart) if after != before)


def _offset(at: datetime, zone: ZoneInfo) -> timedelta:
    return at.astimezone(zone).replace(tzinfo=None) - at.replace(tzinfo=None)


# --- habits of GitHub's scheduler -----------------------------------------------------------------------------------------------


def on_the_hour(cron: Cron, now: datetime) -> bool:
    """Whether a run would start at the full hour, when GitHub's load is highest and runs are delayed or dropped.

    The hour is the world's: half past nine in Kolkata is one.
    """
    return any(tick.minute == 0 for tick in _week(cron, now=now))


def too_close(cron: Cron, now: datetime) -> bool:
    """Whether the line asks for runs closer than GitHub starts them."""
    return any(later - earlier < CLOSEST for earlier, later in pairwise(_week(cron, now=now)))


def coinciding(some: Sequence[Cron], others: Sequence[Cron], now: datetime) -> tuple[datetime, ...]:
    """Moments of the coming week at which both sets of lines start a run."""
    return tuple(sorted({*_week(*some, now=now)} & {*_week(*others, now=now)}))


def evening_only(crons: Sequence[Cron], zone_name: str, now: datetime) -> tuple[date, ...]:
    """Dates of the coming week on which the lines run, and not before the evening of the zone."""
    local = [tick.astimezone(parse_zone(zone_name)) for tick in _week(*crons, now=now)]
    early = {tick.date() for tick in local if tick.hour < EVENING}
    today = business_date(now, parse_zone(zone_name))  # its morning may be over
    return tuple(sorted({tick.date() for tick in local} - early - {today}))


def _week(*crons: Cron, now: datetime) -> tuple[datetime, ...]:
    return ticks(crons, now, now + timedelta(days=WEEK))


# --- minutes --------------------------------------------------------------------------------------------------------------------

DECIDING_MINUTES = 1
"""What a job that finds nothing to do is billed: started minutes count whole."""
SITE_MINUTES = 3
"""What a job that publishes for one site is taken to need: set-up, build, deploy and a confirmation that comes at once."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """One scheduled workflow: its lines, the jobs of every run, and the jobs a day that something is due for."""

    name: str
    crons: tuple[Cron, ...]
    jobs: int = 1
    due_a_day: int = 0


@dataclass(frozen=True, kw_only=True)
class Minutes:
    """What a workflow is predicted to be billed in 30 days: its runs, and the minutes of all its jobs."""

    name: str
    runs: int
    jobs: int
    minutes: int


def month_of(load: Load, now: datetime) -> Minutes:
    runs = len(ticks(load.crons, now, now + timedelta(days=MONTH)))
    # However often the schedule comes round, a date's work is done once; without a run it is not done at all.
    due = min(runs, MONTH) * load.due_a_day
    minutes = runs * load.jobs * DECIDING_MINUTES + due * SITE_MINUTES
    return Minutes(name=load.name, runs=runs, jobs=runs * load.jobs + due, minutes=minutes)
