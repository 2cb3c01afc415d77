"""Plans: every rule that the schema cannot express, identity, succession."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.domain.fingerprint import digest
from publisher.domain.lines import LAUNCH
from publisher.domain.plan import (
    Announcement,
    ChangeAction,
    Conflict,
    Kind,
    Plan,
    Presentation,
    Revert,
    check_succession,
    plan_of,
)
from tests.support.values import article, change, change_data, launch, publication, publication_data, revised, whole_launch


def names(plan: Plan) -> list[str]:
    return [step.name for step in plan.steps]


# --- what a plan says -----------------------------------------------------------------------------------------------------------


def test_a_publication_is_read_in_full() -> None:
    plan = publication()
    assert (plan.kind, plan.site, plan.key, plan.day) == (
        Kind.PUBLICATION, "handbook", "daily-publication:2026-12-01", date(2026, 12, 1),
    )  # fmt: skip
    assert plan.publish_at == datetime(2026, 12, 1, 1, tzinfo=UTC)
    assert plan.zone.key == "Asia/Hong_Kong"
    assert plan.article_ids == ("a-0001", "a-0002")
    assert plan.announce == Announcement(channels=("mail",), list="readers", at_most=500)
    assert plan.policy == (3, digest(b"policy"))
    assert names(plan) == ["prepare", "build", "deploy", "confirm", "announce"]


def test_without_an_announcement_there_is_no_step_for_it() -> None:
    plan = publication(announce=None)
    assert names(plan) == ["prepare", "build", "deploy", "confirm"]
    assert plan.announce is None
    assert publication(announce={"channels": ["indexnow"], "at_most": 1}).announce == Announcement(
        channels=("indexnow",), list="", at_most=1
    )


def test_without_publish_at_the_date_begins_at_midnight_in_its_zone() -> None:
    assert publication(publish_at=None).publish_at == datetime(2026, 11, 30, 16, tzinfo=UTC)
    assert publication(publish_at=None, zone="America/New_York").publish_at == datetime(2026, 12, 1, 5, tzinfo=UTC)


def test_a_change_is_read_in_full() -> None:
    plan = change()
    assert (plan.action, plan.withdrawals[0].id, plan.withdrawals[0].answer, plan.policy) == (
        ChangeAction.WITHDRAW, "a-0001", "gone", None,
    )  # fmt: skip
    presentation = {"commit": "c" * 40, "output": 1, "digest": digest(b"p")}
    back = change(
        action="rollback", withdrawals=None, to_release=digest(b"r"), hides=["a-0003"], presentation=presentation,
        reverts=[{"id": "a-0001", "digest": digest(b"t")}], sources="d" * 40,
    )  # fmt: skip
    assert (back.to_release, back.hides, back.sources) == (digest(b"r"), ("a-0003",), "d" * 40)
    assert back.reverts == (Revert(id="a-0001", digest=digest(b"t")),)
    assert back.presentation == Presentation(commit="c" * 40, output=1, digest=digest(b"p"))
    assert names(back) == ["prepare", "build", "deploy", "confirm"]


def test_a_launch_goes_through_the_steps_it_names() -> None:
    assert names(launch()) == ["build", "release"]
    assert names(whole_launch()) == [step.name for step in LAUNCH]


# --- what is refused --------------------------------------------------------------------------------------------------------------

HANDBOOK = "handbook/daily/2026/2026-12-01"


@pytest.mark.parametrize(
    ("path", "changes", "rule"),
    [
        (HANDBOOK, {"key": "daily-publication:2026-12-02"}, "key"),
        (HANDBOOK, {"key": "change:2026-12-01-1"}, "key"),
        ("handbook/daily/2026/2026-12-02", {}, "belongs at"),
        ("handbook/daily/2025/2026-12-01", {}, "belongs at"),
        ("handbook/daily/2026-12-01", {}, "belongs at"),
        ("shop/daily/2026/2026-12-01", {}, "belongs at"),
        ("handbook/Daily/2026/2026-12-01", {}, "belongs at"),
        (HANDBOOK, {"site": "shop"}, "belongs at"),
        (HANDBOOK, {"date": "2026-12-02"}, "plan's date"),
        (HANDBOOK, {"publish_at": "2026-12-02T00:00:00+08:00"}, "plan's date"),
        (HANDBOOK, {"publish_at": "2026-11-30T23:59:59+08:00"}, "plan's date"),
        (HANDBOOK, {"publish_at": "2026-12-01T09:00:00-12:00"}, "plan's date"),
        (HANDBOOK, {"zone": "America/New_York"}, "plan's date"),
        (HANDBOOK, {"zone": "Nowhere/Land"}, "zone"),
        (HANDBOOK, {"date": "2026-12-1"}, "YYYY-MM-DD"),
        (HANDBOOK, {"revision": 2}, "supersedes"),
        (HANDBOOK, {"revision": 2, "supersedes": digest(b"")}, "reason"),
        (HANDBOOK, {"revision": 2, "reason": "why"}, "supersedes"),
        (HANDBOOK, {"articles": []}, "names its articles"),
        (HANDBOOK, {"articles": [article(1), article(1, source="s", url="/u/", guid="g")]}, "id"),
        (HANDBOOK, {"articles": [article(1), article(2, source=article(1)["source"])]}, "source"),
        (HANDBOOK, {"articles": [article(1), article(2, url=article(1)["url"])]}, "url"),
        (HANDBOOK, {"articles": [article(1), article(2, guid=article(1)["guid"])]}, "guid"),
        (HANDBOOK, {"kind": "episode"}, "episode"),
    ],
)
def test_a_publication_that_breaks_a_rule_is_refused(path: str, changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        plan_of(path, publication_data(**changes))


@pytest.mark.parametrize(
    ("path", "changes", "rule"),
    [
        ("handbook/changes/2026/2026-12-01-2", {}, "key"),
        ("handbook/changes/2026/2026-12-02-1", {"key": "change:2026-12-02-1"}, "named by its date"),
        ("handbook/changes/2025/2026-12-01-1", {}, "belongs at"),
        ("handbook/daily/2026/2026-12-01-1", {}, "belongs at"),
        ("handbook/changes/2026/2026-12-01-1", {"action": "erase"}, "erase"),
        ("handbook/changes/2026/2026-12-01-1", {"revision": 3}, "supersedes"),
    ],
)
def test_a_change_that_breaks_a_rule_is_refused(path: str, changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        plan_of(path, change_data(**changes))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"key": "launch:2"}, "key"),
        ({"site": "shop"}, None),
        ({"steps": []}, "names its steps"),
        ({"steps": ["release"]}, "build before"),
        ({"steps": ["release", "build"]}, "order"),
        ({"steps": ["deploy"]}, "does not have"),
    ],
)
def test_a_launch_that_breaks_a_rule_is_refused(changes: dict[str, Any], rule: str | None) -> None:
    data = {**launch().data, **changes}
    with pytest.raises(ValueError, match=rule or "belongs at"):
        plan_of("handbook/launch", data)


def test_a_date_that_the_zone_leaves_out_has_no_plan() -> None:
    data = publication_data(day=date(2011, 12, 30), publish_at=None, zone="Pacific/Apia")
    with pytest.raises(ValueError, match="no such date"):
        plan_of("handbook/daily/2011/2011-12-30", data)


def test_the_edges_of_a_date_belong_to_it() -> None:
    for text in ("2026-12-01T00:00:00+08:00", "2026-12-01T23:59:59+08:00", "2026-11-30T16:00:00Z"):
        assert publication(publish_at=text).day == date(2026, 12, 1)


# --- identity ---------------------------------------------------------------------------------------------------------------------


@given(st.data())
def test_any_edit_is_another_payload(draw: st.DataObject) -> None:
    data = publication_data()
    place = draw.draw(st.sampled_from(["announce", "policy", "zone_note", "articles"]))
    if place == "articles":
        number = draw.draw(st.integers(0, 1))
        field = draw.draw(st.sampled_from(sorted(article(1))))
        changed = [dict(item) for item in data["articles"]]
        changed[number][field] += "x"
        data = {**data, "articles": changed}
    else:
        data = {
            **data,
            place: {"at_most": draw.draw(st.integers(501, 10**6)), "channels": ["mail"], "version": 3, "digest": ""},
        }
    assert plan_of(HANDBOOK, data).payload != publication().payload


def test_the_order_of_the_articles_is_part_of_the_payload() -> None:
    assert publication(numbers=(1, 2)).payload != publication(numbers=(2, 1)).payload


def test_the_files_own_layout_is_not() -> None:
    data = publication_data()
    assert plan_of(HANDBOOK, dict(reversed(data.items()))).payload == plan_of(HANDBOOK, data).payload


def test_the_same_payload_is_no_revision() -> None:
    assert check_succession(publication(), publication()) is False


def test_a_proper_revision_succeeds() -> None:
    old = publication()
    assert check_succession(old, revised(old, articles=[article(1), article(3)])) is True
    again = revised(revised(old))
    assert check_succession(revised(old), again) is True


@pytest.mark.parametrize(
    "changes",
    [
        {"revision": 1},
        {"revision": 3},
        {"supersedes": digest(b"something else")},
        {"revision": 2, "supersedes": revised(publication()).payload},
    ],
)
def test_another_payload_without_a_proper_revision_is_a_conflict(changes: dict[str, Any]) -> None:
    old = publication()
    found = revised(old, **{"articles": [article(3), article(4)], **changes})
    with pytest.raises(Conflict) as conflict:
        check_succession(old, found)
    assert (conflict.value.bound, conflict.value.found) == (old.payload, found.payload)


def test_a_revision_of_another_key_is_a_conflict() -> None:
    other = publication(day=date(2026, 12, 2), revision=2, supersedes=publication().payload, reason="moved")
    with pytest.raises(Conflict):
        check_succession(publication(), other)


def test_an_older_revision_does_not_come_back() -> None:
    old = publication()
    with pytest.raises(Conflict):
        check_succession(revised(old), old)
