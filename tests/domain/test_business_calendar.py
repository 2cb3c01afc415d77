"""Business dates: a literal table, the wall times that do not exist or occur twice, refused spellings, and all zones."""

from __future__ import annotations

import os
import time as system_time
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publisher.domain.business_calendar import (
    business_date,
    for_people,
    in_utc,
    instant_of,
    iso_week,
    parse_clock_time,
    parse_date,
    parse_duration,
    parse_instant,
    parse_zone,
    start_of,
    with_offset,
)

# An instant, a zone, and the clock on its wall, worked out from the zones' published rules: midnight in Hong Kong, the year's
# end, 29 February, clocks going forward and back, Samoa's missing day, odd offsets.
TABLE = """
2026-11-29T15:59:59Z Asia/Hong_Kong       2026-11-29T23:59:59+08:00
2026-11-29T16:00:00Z Asia/Hong_Kong       2026-11-30T00:00:00+08:00
2026-11-30T15:59:59Z Asia/Hong_Kong       2026-11-30T23:59:59+08:00
2026-11-30T16:00:00Z Asia/Hong_Kong       2026-12-01T00:00:00+08:00
2026-12-01T15:59:59Z Asia/Hong_Kong       2026-12-01T23:59:59+08:00
2026-12-01T16:00:00Z Asia/Hong_Kong       2026-12-02T00:00:00+08:00
2026-12-30T15:59:59Z Asia/Hong_Kong       2026-12-30T23:59:59+08:00
2026-12-30T16:00:00Z Asia/Hong_Kong       2026-12-31T00:00:00+08:00
2026-12-31T15:59:59Z Asia/Hong_Kong       2026-12-31T23:59:59+08:00
2026-12-31T16:00:00Z Asia/Hong_Kong       2027-01-01T00:00:00+08:00
2027-01-01T15:59:59Z Asia/Hong_Kong       2027-01-01T23:59:59+08:00
2027-01-01T16:00:00Z Asia/Hong_Kong       2027-01-02T00:00:00+08:00
2028-02-27T15:59:59Z Asia/Hong_Kong       2028-02-27T23:59:59+08:00
2028-02-27T16:00:00Z Asia/Hong_Kong       2028-02-28T00:00:00+08:00
2028-02-28T15:59:59Z Asia/Hong_Kong       2028-02-28T23:59:59+08:00
2028-02-28T16:00:00Z Asia/Hong_Kong       2028-02-29T00:00:00+08:00
2028-02-29T15:59:59Z Asia/Hong_Kong       2028-02-29T23:59:59+08:00
2028-02-29T16:00:00Z Asia/Hong_Kong       2028-03-01T00:00:00+08:00
2026-02-27T15:59:59Z Asia/Hong_Kong       2026-02-27T23:59:59+08:00
2026-02-27T16:00:00Z Asia/Hong_Kong       2026-02-28T00:00:00+08:00
2026-02-28T15:59:59Z Asia/Hong_Kong       2026-02-28T23:59:59+08:00
2026-02-28T16:00:00Z Asia/Hong_Kong       2026-03-01T00:00:00+08:00
2000-02-28T15:59:59Z Asia/Hong_Kong       2000-02-28T23:59:59+08:00
2000-02-28T16:00:00Z Asia/Hong_Kong       2000-02-29T00:00:00+08:00
2000-02-29T15:59:59Z Asia/Hong_Kong       2000-02-29T23:59:59+08:00
2000-02-29T16:00:00Z Asia/Hong_Kong       2000-03-01T00:00:00+08:00
2100-02-27T15:59:59Z Asia/Hong_Kong       2100-02-27T23:59:59+08:00
2100-02-27T16:00:00Z Asia/Hong_Kong       2100-02-28T00:00:00+08:00
2100-02-28T15:59:59Z Asia/Hong_Kong       2100-02-28T23:59:59+08:00
2100-02-28T16:00:00Z Asia/Hong_Kong       2100-03-01T00:00:00+08:00
2027-12-31T15:59:59Z Asia/Hong_Kong       2027-12-31T23:59:59+08:00
2027-12-31T16:00:00Z Asia/Hong_Kong       2028-01-01T00:00:00+08:00
2028-12-31T15:59:59Z Asia/Hong_Kong       2028-12-31T23:59:59+08:00
2028-12-31T16:00:00Z Asia/Hong_Kong       2029-01-01T00:00:00+08:00
2026-06-30T15:59:59Z Asia/Hong_Kong       2026-06-30T23:59:59+08:00
2026-06-30T16:00:00Z Asia/Hong_Kong       2026-07-01T00:00:00+08:00
2026-12-01T00:00:00Z Asia/Hong_Kong       2026-12-01T08:00:00+08:00
2026-12-01T01:00:00Z Asia/Hong_Kong       2026-12-01T09:00:00+08:00
2026-12-01T15:00:00Z Asia/Hong_Kong       2026-12-01T23:00:00+08:00
2026-12-01T23:59:59Z Asia/Hong_Kong       2026-12-02T07:59:59+08:00
2026-03-08T04:59:59Z America/New_York     2026-03-07T23:59:59-05:00
2026-03-08T05:00:00Z America/New_York     2026-03-08T00:00:00-05:00
2026-03-08T06:59:59Z America/New_York     2026-03-08T01:59:59-05:00
2026-03-08T07:00:00Z America/New_York     2026-03-08T03:00:00-04:00
2026-03-09T03:59:59Z America/New_York     2026-03-08T23:59:59-04:00
2026-03-09T04:00:00Z America/New_York     2026-03-09T00:00:00-04:00
2026-11-01T03:59:59Z America/New_York     2026-10-31T23:59:59-04:00
2026-11-01T04:00:00Z America/New_York     2026-11-01T00:00:00-04:00
2026-11-01T05:59:59Z America/New_York     2026-11-01T01:59:59-04:00
2026-11-01T06:00:00Z America/New_York     2026-11-01T01:00:00-05:00
2026-11-02T04:59:59Z America/New_York     2026-11-01T23:59:59-05:00
2026-11-02T05:00:00Z America/New_York     2026-11-02T00:00:00-05:00
2027-01-01T04:59:59Z America/New_York     2026-12-31T23:59:59-05:00
2027-01-01T05:00:00Z America/New_York     2027-01-01T00:00:00-05:00
2028-02-29T04:59:59Z America/New_York     2028-02-28T23:59:59-05:00
2028-02-29T05:00:00Z America/New_York     2028-02-29T00:00:00-05:00
2026-03-28T23:59:59Z Europe/London        2026-03-28T23:59:59+00:00
2026-03-29T00:00:00Z Europe/London        2026-03-29T00:00:00+00:00
2026-03-29T00:59:59Z Europe/London        2026-03-29T00:59:59+00:00
2026-03-29T01:00:00Z Europe/London        2026-03-29T02:00:00+01:00
2026-03-29T22:59:59Z Europe/London        2026-03-29T23:59:59+01:00
2026-03-29T23:00:00Z Europe/London        2026-03-30T00:00:00+01:00
2026-10-24T22:59:59Z Europe/London        2026-10-24T23:59:59+01:00
2026-10-24T23:00:00Z Europe/London        2026-10-25T00:00:00+01:00
2026-10-25T00:59:59Z Europe/London        2026-10-25T01:59:59+01:00
2026-10-25T01:00:00Z Europe/London        2026-10-25T01:00:00+00:00
2026-10-25T23:59:59Z Europe/London        2026-10-25T23:59:59+00:00
2026-10-26T00:00:00Z Europe/London        2026-10-26T00:00:00+00:00
2026-04-04T12:59:59Z Australia/Lord_Howe  2026-04-04T23:59:59+11:00
2026-04-04T13:00:00Z Australia/Lord_Howe  2026-04-05T00:00:00+11:00
2026-04-04T14:59:59Z Australia/Lord_Howe  2026-04-05T01:59:59+11:00
2026-04-04T15:00:00Z Australia/Lord_Howe  2026-04-05T01:30:00+10:30
2026-04-05T13:29:59Z Australia/Lord_Howe  2026-04-05T23:59:59+10:30
2026-04-05T13:30:00Z Australia/Lord_Howe  2026-04-06T00:00:00+10:30
2026-10-03T15:29:59Z Australia/Lord_Howe  2026-10-04T01:59:59+10:30
2026-10-03T15:30:00Z Australia/Lord_Howe  2026-10-04T02:30:00+11:00
2026-10-04T12:59:59Z Australia/Lord_Howe  2026-10-04T23:59:59+11:00
2026-10-04T13:00:00Z Australia/Lord_Howe  2026-10-05T00:00:00+11:00
2026-04-23T21:59:59Z Africa/Cairo         2026-04-23T23:59:59+02:00
2026-04-23T22:00:00Z Africa/Cairo         2026-04-24T01:00:00+03:00
2026-04-24T20:59:59Z Africa/Cairo         2026-04-24T23:59:59+03:00
2026-04-24T21:00:00Z Africa/Cairo         2026-04-25T00:00:00+03:00
2026-10-29T20:59:59Z Africa/Cairo         2026-10-29T23:59:59+03:00
2026-10-29T21:00:00Z Africa/Cairo         2026-10-29T23:00:00+02:00
2026-10-29T21:59:59Z Africa/Cairo         2026-10-29T23:59:59+02:00
2026-10-29T22:00:00Z Africa/Cairo         2026-10-30T00:00:00+02:00
2011-12-29T09:59:59Z Pacific/Apia         2011-12-28T23:59:59-10:00
2011-12-29T10:00:00Z Pacific/Apia         2011-12-29T00:00:00-10:00
2011-12-30T09:59:59Z Pacific/Apia         2011-12-29T23:59:59-10:00
2011-12-30T10:00:00Z Pacific/Apia         2011-12-31T00:00:00+14:00
2011-12-31T09:59:59Z Pacific/Apia         2011-12-31T23:59:59+14:00
2011-12-31T10:00:00Z Pacific/Apia         2012-01-01T00:00:00+14:00
2026-03-29T00:59:59Z America/Nuuk         2026-03-28T22:59:59-02:00
2026-03-29T01:00:00Z America/Nuuk         2026-03-29T00:00:00-01:00
2026-10-25T00:59:59Z America/Nuuk         2026-10-24T23:59:59-01:00
2026-10-25T01:00:00Z America/Nuuk         2026-10-24T23:00:00-02:00
2026-10-25T01:59:59Z America/Nuuk         2026-10-24T23:59:59-02:00
2026-10-25T02:00:00Z America/Nuuk         2026-10-25T00:00:00-02:00
2026-11-30T18:14:59Z Asia/Kathmandu       2026-11-30T23:59:59+05:45
2026-11-30T18:15:00Z Asia/Kathmandu       2026-12-01T00:00:00+05:45
2026-11-30T18:29:59Z Asia/Kolkata         2026-11-30T23:59:59+05:30
2026-11-30T18:30:00Z Asia/Kolkata         2026-12-01T00:00:00+05:30
2026-11-30T09:59:59Z Pacific/Kiritimati   2026-11-30T23:59:59+14:00
2026-11-30T10:00:00Z Pacific/Kiritimati   2026-12-01T00:00:00+14:00
2026-12-01T10:59:59Z Pacific/Pago_Pago    2026-11-30T23:59:59-11:00
2026-12-01T11:00:00Z Pacific/Pago_Pago    2026-12-01T00:00:00-11:00
2026-12-01T11:59:59Z Etc/GMT+12           2026-11-30T23:59:59-12:00
2026-12-01T12:00:00Z Etc/GMT+12           2026-12-01T00:00:00-12:00
2026-11-30T23:59:59Z UTC                  2026-11-30T23:59:59+00:00
2026-12-01T00:00:00Z UTC                  2026-12-01T00:00:00+00:00
2026-11-30T14:59:59Z Asia/Tokyo           2026-11-30T23:59:59+09:00
2026-11-30T15:00:00Z Asia/Tokyo           2026-12-01T00:00:00+09:00
"""
ROWS = [tuple(line.split()) for line in TABLE.strip().splitlines()]


@pytest.mark.parametrize(("instant", "zone", "local"), ROWS)
def test_the_business_date_is_the_wall_calendars(instant: str, zone: str, local: str) -> None:
    now = parse_instant(instant)
    assert business_date(now, parse_zone(zone)).isoformat() == local[:10]
    assert now.astimezone(parse_zone(zone)).isoformat() == local
    assert parse_instant(local) == now
    assert in_utc(parse_instant(local)) == instant


def test_the_table_is_long_enough() -> None:
    assert len(set(ROWS)) >= 100


# --- wall times that are missing or doubled ---------------------------------------------------------------------------------------

WALL_TIMES = """
America/New_York     2026-03-08 01:59 2026-03-08T01:59:00-05:00
America/New_York     2026-03-08 02:00 2026-03-08T03:00:00-04:00
America/New_York     2026-03-08 02:30 2026-03-08T03:30:00-04:00
America/New_York     2026-03-08 03:00 2026-03-08T03:00:00-04:00
America/New_York     2026-11-01 00:59 2026-11-01T00:59:00-04:00
America/New_York     2026-11-01 01:00 2026-11-01T01:00:00-04:00
America/New_York     2026-11-01 01:30 2026-11-01T01:30:00-04:00
America/New_York     2026-11-01 02:00 2026-11-01T02:00:00-05:00
Europe/London        2026-03-29 01:30 2026-03-29T02:30:00+01:00
Europe/London        2026-10-25 01:30 2026-10-25T01:30:00+01:00
Europe/London        2026-10-25 02:00 2026-10-25T02:00:00+00:00
Australia/Lord_Howe  2026-10-04 02:15 2026-10-04T02:45:00+11:00
Australia/Lord_Howe  2026-04-05 01:45 2026-04-05T01:45:00+11:00
Africa/Cairo         2026-04-24 00:00 2026-04-24T01:00:00+03:00
Africa/Cairo         2026-04-24 00:30 2026-04-24T01:30:00+03:00
Africa/Cairo         2026-10-29 23:30 2026-10-29T23:30:00+03:00
Africa/Cairo         2026-10-30 00:00 2026-10-30T00:00:00+02:00
America/Havana       2026-03-08 00:00 2026-03-08T01:00:00-04:00
America/Havana       2026-11-01 00:30 2026-11-01T00:30:00-04:00
America/Nuuk         2026-03-28 22:59 2026-03-28T22:59:00-02:00
America/Nuuk         2026-03-28 23:00 2026-03-28T22:00:00-02:00
America/Nuuk         2026-03-28 23:59 2026-03-28T22:59:00-02:00
America/Nuuk         2026-03-29 00:00 2026-03-29T00:00:00-01:00
America/Nuuk         2026-10-24 23:30 2026-10-24T23:30:00-01:00
Pacific/Apia         2011-12-29 23:59 2011-12-29T23:59:00-10:00
Pacific/Apia         2011-12-31 00:00 2011-12-31T00:00:00+14:00
Asia/Hong_Kong       2026-12-01 00:00 2026-12-01T00:00:00+08:00
"""


@pytest.mark.parametrize(("zone", "day", "clock", "expected"), [line.split() for line in WALL_TIMES.strip().splitlines()])
def test_a_wall_time_has_one_documented_instant(zone: str, day: str, clock: str, expected: str) -> None:
    assert with_offset(instant_of(parse_date(day), parse_clock_time(clock), parse_zone(zone))) == expected


@pytest.mark.parametrize("clock", [time(0), time(12), time(23, 59)])
@pytest.mark.parametrize(("zone", "day"), [("Pacific/Apia", date(2011, 12, 30)), ("Pacific/Kwajalein", date(1993, 8, 21))])
def test_a_date_that_a_zone_leaves_out_is_refused(zone: str, day: date, clock: time) -> None:
    with pytest.raises(ValueError, match="no such date"):
        instant_of(day, clock, parse_zone(zone))


ZONES = sorted(name for name in available_timezones() if not name.startswith(("posix", "right", "localtime", "Factory")))
DAYS = st.dates(date(1970, 1, 3), date(2100, 12, 30))
CLOCK = st.builds(time, st.integers(0, 23), st.integers(0, 59))


@settings(max_examples=600)
@given(st.sampled_from(ZONES), DAYS, CLOCK)
def test_in_every_zone_a_wall_time_stays_on_its_date(name: str, day: date, clock: time) -> None:
    zone = parse_zone(name)
    try:
        instant = instant_of(day, clock, zone)
    except ValueError:
        # Only where no instant at all has this date.
        noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
        assert day not in {business_date(noon + timedelta(minutes=15 * step), zone) for step in range(-110, 111)}
        return
    assert business_date(instant, zone) == day
    wall = {instant.astimezone(zone).replace(fold=0, tzinfo=None)}
    if wall == {datetime.combine(day, clock)}:
        earlier = (instant.astimezone(UTC) - timedelta(minutes=minutes) for minutes in (20, 30, 60, 120))
        assert all(one.astimezone(zone).replace(tzinfo=None, fold=0) not in wall for one in earlier), "the first of two"


@settings(max_examples=300)
@given(st.sampled_from(ZONES), DAYS)
def test_in_every_zone_dates_begin_in_order(name: str, day: date) -> None:
    zone = parse_zone(name)
    starts = []
    for n in range(3):
        try:
            starts.append(start_of(day + timedelta(days=n), zone))
        except ValueError:
            continue
    assert starts == sorted(set(starts))
    assert len(starts) >= 2


@pytest.fixture(params=["UTC", "America/New_York", "Pacific/Kiritimati", "Asia/Kathmandu"])
def machine_zone(request: pytest.FixtureRequest) -> Iterator[str]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    system_time.tzset()
    yield request.param
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    system_time.tzset()


def test_the_machines_zone_decides_nothing(machine_zone: str) -> None:
    zone = parse_zone("Asia/Hong_Kong")
    assert business_date(datetime(2026, 12, 1, 16, tzinfo=UTC), zone) == date(2026, 12, 2)
    assert in_utc(start_of(date(2026, 12, 1), zone)) == "2026-11-30T16:00:00Z"
    assert for_people(datetime(2026, 12, 1, 1, tzinfo=UTC), zone) == "2026-12-01 09:00 HKT (01:00Z)"


# --- spellings --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "", "20261130", "2026-W49-1", "2026-334", "2026-1-1", "26-12-01", "10000-01-01", "0999-12-31", "0000-01-01", "-2026-12-01",
        "+2026-12-01", "2026-12-01\n", "\n2026-12-01", " 2026-12-01", "2026-12-01 ", "2026/12/01", "2026-13-01", "2026-00-01",
        "2026-02-29", "2100-02-29", "2026-04-31", "2026-12-32", "2026-12-00", "２０２６-１２-０１", "2026-12-0１", "٢٠٢٦-١٢-٠١",
        "2026‐12‐01", "2026-12-01T00:00:00Z", "2026-12-01\x00", "2026-12-1e", "today",
    ],
)  # fmt: skip
def test_other_spellings_of_a_date_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_date(text)


@pytest.mark.parametrize("text", ["1000-01-01", "9999-12-31", "2000-02-29", "2028-02-29", "2026-12-01"])
def test_a_date_reads_back_as_it_was_written(text: str) -> None:
    assert parse_date(text).isoformat() == text


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-01T09:00:00", "2026-12-01T09:00+08:00", "2026-12-01 09:00:00+08:00", "2026-12-01T09:00:00+0800", "2026-12-01",
        "2026-12-01T09:00:00+08", "2026-12-01T09:00:00.5+08:00", "2026-12-01T24:00:00Z", "2026-12-01T09:60:00Z", "2026-12-01T09:00:60Z",
        "2026-12-01T09:00:00+08:60", "2026-12-01T09:00:00+24:00", "2026-12-01T09:00:00+99:99", "2026-12-01T09:00:00z",
        "2026-12-01t09:00:00Z", "2026-12-01T09:00:00Z\n", "2026-02-29T09:00:00Z", "0999-12-31T09:00:00Z", "2026-W49-1T09:00:00Z",
        "２０２６-12-01T09:00:00Z", "2026-12-01T0９:00:00Z", "9999-12-31T23:00:00-12:00", "1000-01-01T00:00:00+14:00", "now", "",
    ],
)  # fmt: skip
def test_other_spellings_of_an_instant_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_instant(text)


@settings(max_examples=300)
@given(st.datetimes(datetime(1000, 1, 3), datetime(9999, 12, 29)), st.integers(-23 * 60 - 59, 23 * 60 + 59))
def test_an_instant_keeps_its_offset_and_fits_into_every_zone(wall: datetime, minutes: int) -> None:
    sign, size = ("-", -minutes) if minutes < 0 else ("+", minutes)
    text = f"{wall:%Y-%m-%dT%H:%M:%S}{sign}{size // 60:02}:{size % 60:02}"
    instant = parse_instant(text)
    assert with_offset(instant) == text
    assert parse_instant(in_utc(instant)) == instant
    for name in ("Pacific/Kiritimati", "Etc/GMT+12"):
        assert instant.astimezone(parse_zone(name)) == instant


@pytest.mark.parametrize(
    "name",
    [
        "", "Asia/Nowhere", "Asia", "/etc/passwd", "../UTC", "Asia/../UTC", "asia\\hong_kong", "UTC\n", "Asia/Hong Kong",
        "localtime", "posixrules", "Factory", "right/UTC", "posix/Asia/Hong_Kong", "zone.tab", "tzdata.zi", "leapseconds", "+08:00",
        "a/b/c/d", "UTC\x00", "８", "Asia/Hong_Kong/",
    ],
)  # fmt: skip
def test_what_is_no_zone_or_the_machines_own_is_refused(name: str) -> None:
    with pytest.raises(ValueError):
        parse_zone(name)


@pytest.mark.parametrize(
    "name", ["Asia/Hong_Kong", "America/Argentina/Buenos_Aires", "Etc/GMT+12", "UTC", "America/Port-au-Prince"]
)
def test_an_iana_name_is_a_zone(name: str) -> None:
    assert parse_zone(name).key == name


@pytest.mark.parametrize("text", ["9:00", "24:00", "23:60", "09:00:00", "0900", "09:00\n", "０9:00", "", "noon", "-1:00"])
def test_other_times_of_day_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_clock_time(text)


def test_times_of_day_reach_from_midnight_to_midnight() -> None:
    assert (parse_clock_time("00:00"), parse_clock_time("23:59")) == (time(0), time(23, 59))


@pytest.mark.parametrize("text", ["0s", "1", "m", "1.5h", "-1h", "01h", "1w", "1h\n", "1h30m", "１h", "1000000s", ""])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("24h", 86400), ("14d", 1209600), ("999999d", 86399913600)]
)
def test_a_duration_has_one_unit(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


# --- showing ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instant", "zone", "shown"),
    [
        ("2026-12-01T01:00:00Z", "Asia/Hong_Kong", "2026-12-01 09:00 HKT (01:00Z)"),
        ("2026-11-30T16:30:00Z", "Asia/Hong_Kong", "2026-12-01 00:30 HKT (2026-11-30 16:30Z)"),
        ("2026-12-01T01:00:00Z", "America/New_York", "2026-11-30 20:00 EST (2026-12-01 01:00Z)"),
        ("2026-07-01T08:00:00Z", "Europe/London", "2026-07-01 09:00 BST (08:00Z)"),
        ("2026-12-01T01:00:00Z", "UTC", "2026-12-01 01:00 UTC (01:00Z)"),
    ],
)
def test_people_see_a_time_with_its_zone_and_in_utc(instant: str, zone: str, shown: str) -> None:
    assert for_people(parse_instant(instant), parse_zone(zone)) == shown


def test_fractions_of_a_second_are_not_written() -> None:
    assert with_offset(datetime(2026, 12, 1, 1, 2, 3, 999999, tzinfo=UTC)) == "2026-12-01T01:02:03+00:00"
    assert in_utc(datetime(2026, 12, 1, 1, 2, 3, 999999, tzinfo=UTC)) == "2026-12-01T01:02:03Z"


@given(st.dates(date(1000, 1, 1), date(9999, 12, 31)))
def test_an_iso_week_holds_its_monday_to_sunday(day: date) -> None:
    monday = day - timedelta(days=day.weekday()) if day > date(1000, 1, 7) else day
    assert iso_week(day) == iso_week(monday)
    assert iso_week(day) == f"{day:%G}-W{day:%V}"
