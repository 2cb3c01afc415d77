"""The grain of every key: what makes two runs of a step the same work."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from publisher.domain.fingerprint import digest
from publisher.domain.keys import KeyParts, task_key
from publisher.domain.lines import LAUNCH, LINES, Grain, Step

PARTS = KeyParts(
    site="shop", plan_key="launch", day=date(2026, 12, 1), content=digest(b"content"), release=digest(b"release"),
    domain="shop.example", channel="forum", ticket="T-1",
)  # fmt: skip

CHANGES = {
    "same day": {},
    "next day": {"day": date(2026, 12, 2)},
    "next week": {"day": date(2026, 12, 7)},
    "other content": {"content": digest(b"other")},
    "other release": {"release": digest(b"other")},
    "other domain": {"domain": "shop.test"},
    "other channel": {"channel": "list"},
    "other ticket": {"ticket": "T-2"},
    "other plan": {"plan_key": "daily-publication:2026-12-01"},
    "other site": {"site": "blog"},
}
DAY, WEEK = {"next day", "next week"}, {"next week"}
MATTERS = {
    "domain-check": {"other domain"}, "register": {"other domain"}, "allocate": DAY, "initialise": DAY,
    "build": {"other content"}, "release": {"other release"}, "submit": DAY, "daily": DAY, "tune": WEEK,
    "outreach": WEEK | {"other channel"}, "health": DAY, "replies": {"other ticket"}, "competitors": WEEK,
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("step", LAUNCH, ids=lambda step: step.name)
def test_a_key_changes_with_its_grain_and_with_nothing_else(step: Step, change: str) -> None:
    first = task_key(step, PARTS)
    second = task_key(step, replace(PARTS, **CHANGES[change]))
    assert (first != second) == (change in MATTERS[step.name] | {"other site"})


@pytest.mark.parametrize("step", LAUNCH, ids=lambda step: step.name)
def test_two_steps_never_share_a_key(step: Step) -> None:
    assert [other.name for other in LAUNCH if task_key(other, PARTS) == task_key(step, PARTS)] == [step.name]


def test_a_key_is_readable() -> None:
    keys = {step.name: task_key(step, PARTS) for step in LAUNCH}
    assert keys["allocate"] == "allocate:shop:2026-12-01"
    assert keys["tune"] == "tune:shop:2026-W49"
    assert keys["outreach"] == "outreach:shop:forum:2026-W49"
    assert keys["build"] == f"build:shop:{digest(b'content').removeprefix('sha256:')[:12]}"


@pytest.mark.parametrize(
    ("day", "week"),
    [
        (date(2026, 12, 28), "2026-W53"),
        (date(2026, 12, 31), "2026-W53"),
        (date(2027, 1, 3), "2026-W53"),
        (date(2027, 1, 4), "2027-W01"),
        (date(2024, 12, 30), "2025-W01"),
        (date(2021, 1, 1), "2020-W53"),
        (date(2026, 1, 1), "2026-W01"),
    ],
)
def test_weeks_are_iso_weeks_whose_year_can_differ_from_the_calendars(day: date, week: str) -> None:
    weekly = next(step for step in LAUNCH if step.name == "tune")
    assert task_key(weekly, replace(PARTS, day=day)) == f"tune:shop:{week}"


def test_sunday_and_monday_are_two_weeks_and_new_years_eve_and_day_are_one() -> None:
    weekly = next(step for step in LAUNCH if step.name == "competitors")
    key = {day: task_key(weekly, replace(PARTS, day=day)) for day in (date(2027, 1, n) for n in range(1, 6))}
    key[date(2026, 12, 31)] = task_key(weekly, replace(PARTS, day=date(2026, 12, 31)))
    assert key[date(2026, 12, 31)] == key[date(2027, 1, 1)] == key[date(2027, 1, 3)]
    assert key[date(2027, 1, 3)] != key[date(2027, 1, 4)]


NEEDS = {
    Grain.SITE_DOMAIN: ["domain"], Grain.SITE_DAY: ["day"], Grain.SITE_CONTENT: ["content"], Grain.SITE_RELEASE: ["release"],
    Grain.SITE_WEEK: ["day"], Grain.SITE_CHANNEL_WEEK: ["channel", "day"], Grain.SITE_TICKET: ["ticket"],
    Grain.PLAN: ["plan_key"], Grain.PLAN_CHANNEL: ["plan_key", "channel"],
}  # fmt: skip


@pytest.mark.parametrize("step", [step for line in LINES.values() for step in line], ids=lambda step: step.name)
def test_a_key_with_a_part_missing_is_refused(step: Step) -> None:
    for part in NEEDS[step.grain]:
        with pytest.raises(ValueError, match=step.name):
            task_key(step, replace(PARTS, **{part: None if part == "day" else ""}))


@pytest.mark.parametrize("step", [step for line in LINES.values() for step in line], ids=lambda step: step.name)
def test_only_the_named_parts_need_be_given(step: Step) -> None:
    given = {name: getattr(PARTS, name) for name in NEEDS[step.grain]}
    assert task_key(step, KeyParts(site="shop", **given)) == task_key(step, PARTS)


def test_the_same_article_in_two_channels_is_announced_twice_and_in_one_once() -> None:
    announce = LINES["publication"][-1]
    assert task_key(announce, PARTS) == task_key(announce, replace(PARTS, day=date(2030, 1, 1), release=""))
    assert task_key(announce, PARTS) != task_key(announce, replace(PARTS, channel="mail"))
