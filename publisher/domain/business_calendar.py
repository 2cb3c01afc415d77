"""Business dates and instants.

Rules:
* a business date is computed from the clock once, when a plan is made, in the editor's zone; later runs read the saved one;
* dates are Gregorian, ASCII ``YYYY-MM-DD``, years 1000 to 9999; nothing else is accepted;
* instants in files carry their offset; a time without one is refused;
* a wall time that does not exist (clocks go forward) means the same time read with the offset from before the change, so it
  lands that much later on the clock; where that would be another date, it is read with the offset from after. One that occurs
  twice (clocks go back) means the first. A date is never skipped or done twice; one that a zone leaves out is refused;
* times shown to people always carry their zone and the UTC time.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
CLOCK_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
# Hours and offsets are bounded here: what fromisoformat makes of 24:00 or +08:99 depends on the Python version.
INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])",
    re.ASCII,
)
DURATION = re.compile(r"([1-9][0-9]{0,5})(s|m|h|d)", re.ASCII)
CLOCK_TOLERANCE = timedelta(minutes=2)
"""How far two clocks may lie apart before nothing is decided by them."""
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

# Names that lead to a file of the machine's own, or to clocks that count leap seconds: another instant on another machine.
OF_THE_MACHINE = re.compile(r"localtime|posixrules|Factory|(?:posix|right)/.*", re.ASCII)
FIRST_INSTANT = datetime(1000, 1, 2, tzinfo=UTC)
LAST_INSTANT = datetime(9999, 12, 30, tzinfo=UTC)


def parse_date(text: str) -> date:
    """The date written as ``YYYY-MM-DD``. ``ValueError`` for every other spelling and for days that do not exist."""
    found = DATE.fullmatch(text)
    if not found or int(found[1]) < 1000:
        raise ValueError("a date is written YYYY-MM-DD")
    return date(int(found[1]), int(found[2]), int(found[3]))


def parse_zone(name: str) -> ZoneInfo:
    """The zone of an IANA name. ``ValueError`` when there is none, when it is this machine's own, or when it could be a path."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}", name, re.ASCII) or OF_THE_MACHINE.fullmatch(name):
        raise ValueError("a zone is an IANA name such as Asia/Hong_Kong")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        raise ValueError("no such zone in the time-zone database") from None


def parse_clock_time(text: str) -> time:
    """A wall time ``HH:MM``."""
    found = CLOCK_TIME.fullmatch(text)
    if not found:
        raise ValueError("a time of day is written HH:MM")
    return time(int(found[1]), int(found[2]))


def parse_instant(text: str) -> datetime:
    """An instant with its offset, seconds precision. ``ValueError`` for anything without an offset.

    The first and last days of the calendar are refused too: in another zone they would lie outside of it.
    """
    found = INSTANT.fullmatch(text)
    if not found:
        raise ValueError("an instant is written 2026-12-01T09:00:00+08:00, with its offset")
    parse_date(found[1])
    instant = datetime.fromisoformat(text)
    if not FIRST_INSTANT <= instant <= LAST_INSTANT:
        raise ValueError("an instant lies in the years 1000 to 9999 everywhere")
    return instant


def parse_duration(text: str) -> timedelta:
    """``90s``, ``15m``, ``24h`` or ``14d``."""
    found = DURATION.fullmatch(text)
    if not found:
        raise ValueError("a duration is written 90s, 15m, 24h or 14d")
    return timedelta(seconds=int(found[1]) * SECONDS[found[2]])


def business_date(now: datetime, zone: ZoneInfo) -> date:
    """The editor's calendar date at ``now``."""
    return now.astimezone(zone).date()


def instant_of(day: date, clock_time: time, zone: ZoneInfo) -> datetime:
    """The instant of a wall time on a date, by the rules for missing and doubled times above.

    ``ValueError`` for a date that the zone leaves out (Samoa had no 30 December 2011).
    """
    # fold=0 is "the first of two" and, in a gap, "the offset from before"; fold=1 in a gap is "the offset from after" (PEP 495).
    for fold in (0, 1):
        wall = datetime.combine(day, clock_time).replace(tzinfo=zone, fold=fold)
        instant = wall.astimezone(UTC).astimezone(zone)
        if instant.date() == day:
            return instant
    raise ValueError("the zone's calendar has no such date")


def start_of(day: date, zone: ZoneInfo) -> datetime:
    """00:00 of a date in its zone: what stands for ``publish_at`` where a plan has none."""
    return instant_of(day, time(0, 0), zone)


def in_utc(instant: datetime) -> str:
    """``2026-12-01T01:00:00Z``: how the ledger writes every time."""
    return instant.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"


def with_offset(instant: datetime) -> str:
    """``2026-12-01T09:00:00+08:00``: how plans write a time."""
    return instant.replace(microsecond=0).isoformat()


def for_people(instant: datetime, zone: ZoneInfo) -> str:
    """``2026-12-01 09:00 HKT (01:00Z)``: the one way in which a time is shown."""
    local = instant.astimezone(zone)
    utc = instant.astimezone(UTC)
    day = "" if utc.date() == local.date() else f"{utc:%Y-%m-%d} "
    return f"{local:%Y-%m-%d %H:%M} {local.tzname()} ({day}{utc:%H:%M}Z)"


def iso_week(day: date) -> str:
    """``2026-W49``: the ISO week, whose year can differ from the calendar's."""
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"
