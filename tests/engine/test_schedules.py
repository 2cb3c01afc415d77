"""A schedule's arithmetic: what GitHub takes, when runs start, what a policy gets of it over changes of clocks, what it costs."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publisher.domain.policy import Policy
from publisher.engine import schedules
from publisher.engine.schedules import Cron, Load
from publisher.errors import NeedsPerson

HONG_KONG = "Asia/Hong_Kong"
DAY = timedelta(hours=24)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def cron(expression: str, zone: str = "") -> Cron:
    return Cron(expression=expression, zone_name=zone)


def policy(time: str = "09:00", zone: str = HONG_KONG, start: str = "2026-01-01") -> Policy:
    return Policy(
        version=1, quantity=2, start=date.fromisoformat(start), zone_name=zone, publish_time=time, shares={}, horizon_days=14, digest=""
    )  # fmt: skip


def starts(line: Cron, first: str, last: str) -> list[str]:
    return [f"{tick:%m-%dT%H:%M}" for tick in schedules.ticks([line], at(first), at(last))]


# --- what GitHub takes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "17 9 * * *",
        "*/15 * * * *",
        "5,25,45 1-3 * * MON-FRI",
        "20/15 * * * *",
        "0 0 29 2 *",
        "0 0 * JAN,DEC 0",
        "30 5 1-7/2 * 6",
        "07 01 * * *",
    ],
)
def test_lines_that_github_takes(expression):
    assert schedules.wrong_with(cron(expression, "Europe/Berlin")) == ""


@pytest.mark.parametrize(
    ("expression", "about"),
    [
        ("@daily", "five fields"), ("17 9 * *", "five fields"), ("0 17 9 * * *", "five fields"), ("", "five fields"),
        ("60 9 * * *", "minute"), ("50-10 9 * * *", "minute"), ("*/0 9 * * *", "minute"), ("1,,2 9 * * *", "minute"),
        ("-5 9 * * *", "minute"), ("5-7-9 9 * * *", "minute"), ("٥ 9 * * *", "minute"), ("5 24 * * *", "hour"), ("5 ? * * *", "hour"),
        ("5 9 0 * *", "day of the month"), ("5 9 L * *", "day of the month"), ("5 9 * 13 *", "month"), ("5 9 * MON *", "month"),
        ("5 9 * * 7", "day of the week"), ("5 9 * * MON#1", "day of the week"), ("5 9 * * 5L", "day of the week"),
        ("5 9 * * FRI-MON", "day of the week"), ("5 9 * * SUNDAY", "day of the week"),
        ("0 0 30 2 *", "no month"), ("0 0 31 4,6 *", "no month"),
    ],
)  # fmt: skip
def test_lines_that_github_does_not_take(expression, about):
    assert about in schedules.wrong_with(cron(expression))


@pytest.mark.parametrize("zone", ["Mars/Olympus", "localtime", "../etc/passwd", "+08:00"])
def test_a_zone_that_is_none(zone):
    assert "zone" in schedules.wrong_with(cron("17 9 * * *", zone))


# --- when runs start --------------------------------------------------------------------------------------------------------------


def test_without_a_zone_a_line_is_utc_and_with_one_it_is_local():
    assert starts(cron("17 9 * * *"), "2026-12-01", "2026-12-03") == ["12-01T09:17", "12-02T09:17"]
    assert starts(cron("17 9 * * *", HONG_KONG), "2026-12-01", "2026-12-03") == ["12-01T01:17", "12-02T01:17"]
    assert starts(cron("47 0 * * *", HONG_KONG), "2026-12-01", "2026-12-02") == ["12-01T16:47"]


def test_the_start_counts_and_the_end_does_not():
    assert starts(cron("0 9 * * *"), "2026-12-01T09:00", "2026-12-02T09:00") == ["12-01T09:00"]
    assert starts(cron("0 9 * * *"), "2026-12-01T09:00:01", "2026-12-02T09:00:01") == ["12-02T09:00"]


def test_a_time_that_the_clocks_leave_out_comes_at_the_next_there_is():
    # Berlin, 29 March 2026: 02:00 becomes 03:00.
    assert starts(cron("30 2 * * *", "Europe/Berlin"), "2026-03-28", "2026-03-31") == [
        "03-28T01:30",
        "03-29T01:00",
        "03-30T00:30",
    ]


def test_a_time_that_occurs_twice_comes_once_the_first():
    # Berlin, 25 October 2026: 03:00 becomes 02:00, at 01:00 UTC.
    assert starts(cron("30 2 * * *", "Europe/Berlin"), "2026-10-24", "2026-10-27") == [
        "10-24T00:30",
        "10-25T00:30",
        "10-26T01:30",
    ]
    assert starts(cron("30 2 * * *", "Europe/Berlin"), "2026-10-25T01:00", "2026-10-26") == []
    assert starts(cron("30 2 * * *", "Europe/Berlin"), "2026-10-25T01:10", "2026-10-26") == [], "not again in the second hour"


def test_lines_that_run_all_day_do_so_through_a_change_too():
    assert len(starts(cron("*/30 * * * *", "Europe/Berlin"), "2026-10-24", "2026-10-27")) == 3 * 48
    assert len(starts(cron("*/30 * * * *", "Europe/Berlin"), "2026-03-28", "2026-03-31")) == 3 * 48


def test_a_half_hour_change():
    # Lord Howe moves by half an hour: on 4 October 2026, 02:00 becomes 02:30.
    assert starts(cron("10 2 * * *", "Australia/Lord_Howe"), "2026-10-02T12:00", "2026-10-04T12:00") == [
        "10-02T15:40",
        "10-03T15:30",
    ]


def test_several_lines_are_one_schedule():
    found = schedules.ticks([cron("17 9 * * *"), cron("17 9,12 * * *"), cron("5 1 * * *")], at("2026-12-01"), at("2026-12-02"))
    assert [tick.strftime("%H:%M") for tick in found] == ["01:05", "09:17", "12:17"]


def by_hand(expression: str, start: datetime, end: datetime) -> list[datetime]:
    """Every minute held against the five fields; days as POSIX has them: either of two restricted ones."""
    minute, hour, day, month, weekday = [
        numbers(text, low, high) for text, (low, high) in zip(expression.split(), RANGES, strict=True)
    ]
    free_day, free_weekday = (expression.split()[n] == "*" for n in (2, 4))
    found, moment = [], start
    while moment < end:
        on_day, on_weekday = moment.day in day, moment.isoweekday() % 7 in weekday
        right = (on_day or on_weekday) if not free_day and not free_weekday else on_day and on_weekday
        if right and moment.minute in minute and moment.hour in hour and moment.month in month:
            found.append(moment)
        moment += timedelta(minutes=1)
    return found


RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


def numbers(text: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for term in text.split(","):
        ends, _, step = term.partition("/")
        first, _, last = (f"{low}-{high}" if ends == "*" else ends).partition("-")
        found |= set(range(int(first), int(last or (high if step else first)) + 1, int(step or 1)))
    return found


def field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    pair = st.tuples(number, number).filter(lambda ends: ends[0] < ends[1]).map(lambda ends: f"{ends[0]}-{ends[1]}")
    some = st.lists(number, min_size=1, max_size=3).map(lambda several: ",".join(map(str, several)))
    stepped = st.tuples(pair, st.integers(1, 9)).map(lambda both: f"{both[0]}/{both[1]}")
    return st.one_of(st.just("*"), number.map(str), pair, some, stepped)


@given(expression=st.tuples(*(field(low, high) for low, high in RANGES)).map(" ".join), day=st.integers(0, 700))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_any_line_comes_when_its_fields_say(expression, day):
    start = at("2026-01-01") + timedelta(days=day)
    line = cron(expression)
    if not schedules.wrong_with(line):
        end = start + timedelta(days=3)
        assert list(schedules.ticks([line], start, end)) == by_hand(expression, start, end)


# --- the promise ------------------------------------------------------------------------------------------------------------------


def test_a_promise_that_is_kept():
    kept = schedules.promise([cron("17 9,12 * * *", HONG_KONG)], policy(), DAY, date(2026, 12, 1))
    assert [day.day.isoformat() for day in kept.days] == [f"2026-12-0{n}" for n in range(1, 8)]
    assert kept.missed == () and kept.single == ()
    assert {day.late for day in kept.days} == {timedelta(minutes=17)}
    assert [len(day.runs) for day in kept.days] == [2] * 7
    assert kept.days[0].due == at("2026-12-01T01:00") and kept.days[0].closes == at("2026-12-02T01:00")


def test_a_run_at_publish_at_itself_is_in_time_and_one_at_the_end_of_the_window_is_not():
    (day,) = schedules.promise([cron("0 1 * * *")], policy(), DAY, date(2026, 12, 1), days=1).days
    assert day.runs == (at("2026-12-01T01:00"),) and day.late == timedelta(0)


def test_a_run_just_before_publish_at_serves_the_date_before_nearly_a_day_late():
    kept = schedules.promise([cron("59 8 * * *", HONG_KONG)], policy(), DAY, date(2026, 12, 1))
    assert kept.missed == () and kept.worst is not None and kept.worst.late == timedelta(hours=23, minutes=59)


def test_a_short_window_is_missed():
    kept = schedules.promise([cron("17 9 * * *", HONG_KONG)], policy(time="03:00"), timedelta(hours=6), date(2026, 12, 1))
    assert len(kept.missed) == 7 and kept.worst is None


def test_working_days_only_leaves_the_weekend():
    kept = schedules.promise([cron("17 9 * * MON-FRI", HONG_KONG)], policy(), DAY, date(2026, 12, 1))
    assert [day.day.strftime("%a") for day in kept.missed] == ["Sat", "Sun"]
    assert len(kept.single) == 5


def test_a_local_weekday_is_not_the_utc_one():
    # 00:30 on a Monday in Hong Kong is Sunday in UTC: a line for MON-FRI in UTC runs on Tuesday to Saturday mornings there.
    kept = schedules.promise([cron("30 16 * * MON-FRI")], policy(time="00:15"), timedelta(hours=1), date(2026, 12, 1))
    assert [day.day.strftime("%a") for day in kept.missed] == ["Sun", "Mon"]


def test_only_what_the_policy_promises_counts():
    later = policy(start="2026-12-10")
    kept = schedules.promise([cron("17 9 * * *", HONG_KONG)], later, DAY, date(2026, 12, 1))
    assert kept.days[0].day == date(2026, 12, 10) and len(kept.days) == 7


def test_without_a_schedule_every_date_is_missed():
    kept = schedules.promise([], policy(), DAY, date(2026, 12, 1))
    assert len(kept.missed) == 7


def test_a_date_that_a_zone_leaves_out_promises_nothing():
    samoa = policy(zone="Pacific/Apia", start="2011-12-01")
    kept = schedules.promise([cron("17 * * * *")], samoa, DAY, date(2011, 12, 28), days=4)
    assert [day.day.day for day in kept.days] == [28, 29, 31]


def test_a_utc_line_drifts_when_the_clocks_change():
    berlin = policy(zone="Europe/Berlin")
    lines = [cron("30 7 * * *")]
    summer = schedules.promise(lines, berlin, DAY, date(2026, 7, 1)).worst
    winter = schedules.promise(lines, berlin, DAY, date(2026, 12, 1)).worst
    assert summer is not None and summer.late == timedelta(minutes=30)
    assert winter is not None and winter.late == timedelta(hours=23, minutes=30), (
        "08:30 is before 09:00: it serves the day before"
    )


def test_publish_at_in_the_hour_that_is_left_out():
    # 02:30 does not exist in Berlin on 29 March 2026; a plan then has 03:30 (domain/business_calendar.py), the line comes at 03:00.
    berlin = policy(time="02:30", zone="Europe/Berlin")
    kept = schedules.promise([cron("30 2 * * *", "Europe/Berlin")], berlin, DAY, date(2026, 3, 28), days=3)
    assert [day.late for day in kept.days] == [timedelta(0), timedelta(hours=23), timedelta(0)]
    assert kept.days[1].due.astimezone(ZoneInfo("Europe/Berlin")).strftime("%H:%M") == "03:30"


# --- clocks -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "other", "expected"),
    [
        ("Europe/Berlin", "UTC", [("2027-03-28", 1), ("2027-10-31", -1)]),
        (HONG_KONG, "UTC", []),
        ("Europe/Berlin", "Europe/Paris", []),
        ("America/New_York", "Europe/Berlin", [("2027-03-14", 1), ("2027-03-28", -1), ("2027-10-31", 1), ("2027-11-07", -1)]),
        ("Australia/Lord_Howe", "UTC", [("2027-04-04", -0.5), ("2027-10-03", 0.5)]),
        ("Asia/Kolkata", "Asia/Kathmandu", []),
    ],
)
def test_when_two_zones_move_against_each_other(zone, other, expected):
    found = schedules.clock_changes(zone, other, at("2026-12-01T10:00"))
    assert [(change.day.isoformat(), change.by / timedelta(hours=1)) for change in found] == expected


# --- habits of the scheduler ------------------------------------------------------------------------------------------------------

NOW = at("2026-12-01T10:30")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (cron("0 9 * * *"), True), (cron("17 9 * * *"), False), (cron("*/20 * * * *"), True), (cron("5,35 * * * *"), False),
        (cron("30 9 * * *", "Asia/Kolkata"), True), (cron("0 9 * * *", "Asia/Kolkata"), False), (cron("0 9 * * *", HONG_KONG), True),
    ],
)  # fmt: skip
def test_the_full_hour(line, expected):
    assert schedules.on_the_hour(line, NOW) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("*/4 * * * *", True),
        ("* * * * *", True),
        ("*/5 * * * *", False),
        ("1,4 9 * * *", True),
        ("58 9 * * *", False),
        ("2,58 * * * *", True),
    ],
)
def test_closer_than_github_starts_runs(expression, expected):
    assert schedules.too_close(cron(expression), NOW) is expected


def test_two_schedules_on_the_same_minute():
    publish = [cron("17 9,12 * * *", HONG_KONG)]
    assert schedules.coinciding(publish, [cron("17 4 * * *")], NOW)[0] == at("2026-12-02T04:17")
    assert schedules.coinciding(publish, [cron("43 * * * *")], NOW) == ()


def test_proposals_in_the_evening_only():
    assert schedules.evening_only([cron("23 7 * * *", HONG_KONG)], HONG_KONG, NOW) == ()
    evening = schedules.evening_only([cron("23 20 * * *", HONG_KONG)], HONG_KONG, NOW)
    assert [day.day for day in evening] == [2, 3, 4, 5, 6, 7]
    assert schedules.evening_only([cron("23 20 * * *", HONG_KONG), cron("23 7 * * *", HONG_KONG)], HONG_KONG, NOW) == ()
    monday = schedules.evening_only([cron("23 12 * * MON")], HONG_KONG, NOW)
    assert [day.isoformat() for day in monday] == ["2026-12-07"], (
        "20:23 in Hong Kong; the days on which nothing runs are no matter"
    )


# --- minutes ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "runs", "jobs", "minutes"),
    [
        (Load(name="watch", crons=(cron("43 */6 * * *"),)), 120, 120, 120),
        (Load(name="publish", crons=(cron("17 9,12 * * *"),), due_a_day=1), 60, 90, 60 + 30 * 3),
        (Load(name="publish", crons=(cron("17 9,12 * * *"),), due_a_day=10), 60, 360, 60 + 300 * 3),
        (Load(name="two jobs", crons=(cron("23 7 * * *"),), jobs=2), 30, 60, 60),
        (Load(name="weekly", crons=(cron("23 7 * * MON"),), due_a_day=2), 4, 12, 4 + 8 * 3),
        (Load(name="never", crons=(), due_a_day=3), 0, 0, 0),
    ],
)
def test_minutes_of_thirty_days(load, runs, jobs, minutes):
    found = schedules.month_of(load, NOW)
    assert (found.name, found.runs, found.jobs, found.minutes) == (load.name, runs, jobs, minutes)


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cronsim", None)
    with pytest.raises(NeedsPerson) as refusal:
        schedules.ticks([cron("17 9 * * *")], NOW, NOW + DAY)
    assert refusal.value.code == "github-extra-missing" and "publisher[github]" in refusal.value.next


def test_a_policy_whose_dates_the_zone_leaves_out_promises_nothing():
    samoa = policy(zone="Pacific/Apia", start="2011-12-30")
    assert schedules.promise([cron("17 * * * *")], samoa, DAY, date(2011, 12, 30), days=1).days == ()


def test_a_line_for_a_day_that_never_comes_has_no_ticks():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert schedules.ticks([cron("0 0 31 2 *")], start, start + timedelta(days=400)) == ()
