"""Dates, zones and calendars: a date is written once, as a date, and shown in one way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import pytest

from publisher.domain.business_calendar import for_people, parse_date, parse_instant, parse_zone
from publisher.errors import InputProblem
from publisher.gitstore.instance_files import plan_of_file
from publisher.gitstore.yaml_writing import render_yaml
from tests.field.stories import FIRST, atom_entries, feed_items, manifest, times_shown
from tests.support.scene import Scene
from tests.support.values import publication_data
from tests.support.volume import fair_slice

PLACE = "plans/handbook/daily/2026/2026-12-01.yaml"
LOS_ANGELES = "2027-03-15 07:30 PDT (14:30Z)"


@contextmanager
def machine(scene: Scene, **environment: str) -> Iterator[None]:
    """Commands run in interpreters of their own, started in another zone or language."""
    warm, scene.instance.warm = scene.instance.warm, None
    before = dict(scene.instance.environment)
    scene.instance.environment |= environment
    try:
        yield
    finally:
        scene.instance.environment = before
        scene.instance.warm = warm


def refused(**changes: str) -> tuple[str, str]:
    with pytest.raises(InputProblem) as found:
        plan_of_file(render_yaml(publication_data(**changes)), PLACE)
    return found.value.code, found.value.where


def test_T_01_time_without_a_zone(public: Scene) -> None:
    """A plan with one is refused at its place. East of UTC, a minute after nine, the articles are there all the same."""
    for text in ("2026-12-01T09:00:00", "2026-12-01 09:00:00", "2026-12-01T09:00:00 Asia/Hong_Kong"):
        code, where = refused(publish_at=text)
        assert code == "schema-format"
        assert where.startswith(f"{PLACE}:")
    assert [public.page(f"/article-000{number}/") is not None for number in (1, 2, 3)] == [True, True, False]


def test_T_03_leap_days_and_year_ends(new: Scene) -> None:
    for text, day in (("2028-02-29", date(2028, 2, 29)), ("2027-12-31", date(2027, 12, 31)), ("2028-01-01", date(2028, 1, 1))):
        assert parse_date(text) == day
        assert plan_of_file(
            render_yaml(publication_data(day, publish_at=f"{text}T09:00:00+08:00")),
            f"plans/handbook/daily/{day.year}/{text}.yaml",
        ).day == day  # fmt: skip
    assert refused(date="2027-02-29", key="daily-publication:2027-02-29")[0] == "schema-format"
    made = new.do("planner", "plan", "--date", "2028-02-29", "--local", "--json", now="2028-02-28 08:00").data["proposed"][0]
    assert [plan["date"] for plan in made["plans"]] == ["2028-02-29"]
    refusal = new.do("planner", "plan", "--date", "2027-02-29", now="2027-02-27 08:00", check=2)
    assert "[bad-date]" in refusal.err


def test_T_04_date_shifted_by_the_machines_zone(approved: Scene) -> None:
    with machine(approved, TZ="America/Chicago"):
        approved.run("12-01 09:01")
    written = "2026-12-01T09:00:00+08:00"
    assert {item["date"] for item in manifest(approved.live).values()} == {written}
    assert {item["pubDate"] for item in feed_items(approved.live).values()} == {"Tue, 01 Dec 2026 09:00:00 +0800"}
    published = "{http://www.w3.org/2005/Atom}published"
    assert {entry[published] for entry in atom_entries(approved.live).values()} == {written}
    assert f'datetime="{written}"' in approved.live["article-0001/index.html"].decode()
    assert b"30 Nov" not in approved.everything_public


@pytest.mark.parametrize("language", fair_slice("field T-06", ("th_TH.UTF-8", "ar_SA.UTF-8", "en_CA.UTF-8"), 1, stratum=bool))
def test_T_06_locale_in_an_identity(approved: Scene, language: str) -> None:
    with machine(approved, LANG=language, LC_ALL=language):
        plans = approved.do("ci", "status", "--json", "--fresh", now="12-01 08:30").data["plans"]
    assert [plan["key"] for plan in plans] == ["daily-publication:2026-12-01", "daily-publication:2026-12-02"]


def test_T_07_one_instant_shown_in_two_ways(new: Scene) -> None:
    """Before a change of clocks, every view shows a time after it alike: wall time, zone and UTC."""
    assert for_people(parse_instant("2027-03-15T14:30:00+00:00"), parse_zone("America/Los_Angeles")) == LOS_ANGELES
    policy, site = new.text("plans/blog/policy.yaml"), new.text("publisher.yaml")
    new.edit(
        {
            "plans/blog/policy.yaml": policy.replace("09:00", "07:30").replace("Asia/Hong_Kong", "America/Los_Angeles"),
            "publisher.yaml": site.replace("Asia/Hong_Kong", "America/Los_Angeles"),
        }
    )
    new.approve(new.plan("2027-03-12 12:00", "--date", "2027-03-15"), "2027-03-12 12:05")
    path = "blog/daily/2027/2027-03-15"
    views = [("run", path, "--yes"), ("status", "--fresh"), ("preview", "--fresh")]
    for argv in views:
        said = new.do("ci", *argv, now="2027-03-12 12:10", check=5 if argv[0] == "run" else 0).out
        shown = times_shown(said)
        assert LOS_ANGELES in shown, said
        assert shown <= {LOS_ANGELES, "2027-03-16 07:30 PDT (14:30Z)"}, "due, and the approval's end"


def test_the_views_are_compared_in_every_form() -> None:
    """What finds the times finds those that are shown otherwise too."""
    forms = {"2027-03-15T14:30:00Z", "2027-03-15 07:30", "2027-03-15T07:30:00-07:00", LOS_ANGELES}
    assert times_shown(" and ".join(forms) + f" of {FIRST}") == forms
