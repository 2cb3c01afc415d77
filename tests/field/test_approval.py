"""Approval and payload: what was approved is what goes out, however it was merged and whatever moved meanwhile."""

from __future__ import annotations

import json

import pytest

from publisher.domain.fingerprint import short
from publisher.errors import InputProblem
from publisher.gitstore.instance_files import plan_of_file
from publisher.gitstore.yaml_writing import render_yaml
from publisher.wiring import payload_of
from tests.field.stories import FIRST, SECOND, manifest
from tests.support.github_instance import STATE, GithubInstance
from tests.support.instance import draft, source
from tests.support.scene import Scene, daily
from tests.support.values import publication_data

PLACE = "plans/handbook/daily/2026/2026-12-01.yaml"
STYLE = "site-src/blog/theme/style.css"


def test_P_02_leftover_of_an_earlier_plan(approved: Scene) -> None:
    """An article was prepared for the first payload and is not in the next one: its file lies there, and does not ship."""
    approved.killed("12-01 09:01", "after:records.publish:2")
    number = approved.propose("12-01 09:15", "revise", FIRST, "--swap", "a-0002=a-0006", "--reason", "not ready")
    approved.approve(number, "12-01 09:16")
    approved.run("12-01 09:20")
    assert approved.text("site-src/blog/articles/a-0002/index.md")
    assert approved.articles() == ["a-0001", "a-0006"]
    assert b"marker-0002" not in approved.everything_public


def test_P_03_baseline_moves_between_two_steps(approved: Scene) -> None:
    """The theme is edited between build and deploy, by another process's run: one look throughout, the approved one."""
    approved.killed("12-01 09:01", "before:records.publish:2")
    approved.edit({STYLE: approved.text(STYLE) + "/* the-edited-look */\n"})
    approved.run("12-01 09:20")
    built = [event for event in approved.instance.ledger(FIRST) if event["type"] == "built"]
    assert approved.articles() == ["a-0001", "a-0002"]
    assert b"the-edited-look" not in approved.everything_public
    assert {"release", "base", "presentation", "input"} <= set(built[-1])


def test_P_05_good_plan_made_stale_by_a_counter(two: Scene) -> None:
    """An unrelated commit came between the approval and the publication; the approval is about inputs, not revisions."""
    assert two.text("README.md") == "unrelated\n"
    assert two.articles() == ["a-0001", "a-0002", "a-0003", "a-0004"]


def test_P_06_review_of_an_older_head(hosted: GithubInstance) -> None:
    number = hosted.propose("12-03 18:00", "--date", "2026-12-04")
    path = daily("12-04")
    hosted.go_to("12-03 18:30")
    hosted.sim.reviews.submit(hosted.people["reviewer"], number, "APPROVED")
    branch = hosted.sim.pulls.numbered(number).head
    hosted.go_to("12-03 18:40")
    edited = hosted.sim.git.raw("cat-file", "blob", f"{branch}:plans/{path}.yaml").stdout.replace(
        b"/article-000", b"/article-900"
    )
    hosted.sim.commit(hosted.people["planner"], branch, {f"plans/{path}.yaml": edited})
    hosted.merge(number, "12-03 19:00", review=False)
    told = hosted.do("ci", "approve", "--record", now="12-03 19:05", check=4)
    assert "[approval-" in told.stderr
    assert path in told.stderr + told.stdout
    assert "approved" not in [event["type"] for event in hosted.ledger(path, STATE)]


def test_P_08_merged_without_one_of_its_inputs(planned: Scene) -> None:
    """The plan is on the branch, one article's text is not: nothing of the plan goes out."""
    planned.edit({f"{source(2)}/index.md": None})
    planned.approve(1, "12-01 08:05")
    done = planned.run("12-01 09:01", check=3)
    assert (done.code_of(FIRST), done.plan(FIRST)["stage"]) == ("draft-missing", "approved")
    assert done.plan(FIRST)["problem"]["where"].startswith(f"{source(2)}/index.md:")
    assert planned.live == {}


def test_P_09_approval_lost_by_the_way_of_merging(hosted: GithubInstance) -> None:
    """Merge commit, squash and rebase: what is approved is the payload, and no commit's name."""
    days = {"12-06": "merge", "12-07": "squash", "12-08": "rebase"}
    for day, method in days.items():
        hosted.merge(hosted.propose("12-05 18:00", "--date", f"2026-{day}"), "12-05 20:00", method)
    hosted.do("ci", "approve", "--record", now="12-05 20:05", check=None)
    for day in days:
        (event,) = [event for event in hosted.ledger(daily(day), STATE) if event["type"] == "approved"]
        name = f"plans/{daily(day)}.yaml"
        text = (hosted.remote.git("show", f"main:{name}") + "\n").encode()
        assert event["payload"] == payload_of(name, text)[0]
        assert event["by"] == ["rae"]


def test_P_11_refused_merge_loses_the_item(planned: Scene) -> None:
    """Who may not approve is refused with the reason; the request stays where it was."""
    before = planned.refs()
    refused = planned.do("planner", "approve", "1", "--yes", now="12-01 08:05", check=4)
    assert "[not-entitled]" in refused.err
    assert planned.refs() == before
    assert FIRST in planned.do("reviewer", "approve", now="12-01 08:06", check=None).text


def test_P_12_change_by_another_hand(planned: Scene) -> None:
    """An article is edited after it was planned: its plan stops and names it with both hashes, and no other does."""
    planned.edit({f"{source(3)}/index.md": draft(3, "guide", body="Another hand's sentence.\n")})
    planned.approve(1, "12-01 08:05")
    planned.run("12-01 09:01")
    assert planned.articles() == ["a-0001", "a-0002"]
    done = planned.run("12-02 09:01", check=4)
    problem = done.plan(SECOND)["problem"]
    named = plan_of_file(planned.text(f"plans/{SECOND}.yaml").encode(), f"plans/{SECOND}.yaml").articles[0]
    assert (problem["code"], named.id) == ("fingerprint-differs", "a-0003")
    assert "a-0003" in problem["says"]
    assert short(named.fingerprint) in problem["says"]
    assert "a-0004" not in problem["says"]


def test_P_14_what_exactly_is_hashed() -> None:
    """The order of keys and the spelling of YAML say nothing, every value does; other line ends are refused."""
    data = publication_data()
    plain = plan_of_file(render_yaml(data), PLACE).payload
    assert plan_of_file(render_yaml(dict(reversed(data.items()))), PLACE).payload == plain
    assert plan_of_file(json.dumps(data).encode(), PLACE).payload == plain
    changed = {**data, "articles": [{**data["articles"][0], "url": "/text-1b/"}, data["articles"][1]]}
    assert plan_of_file(render_yaml(changed), PLACE).payload != plain
    with pytest.raises(InputProblem) as refusal:
        plan_of_file(render_yaml(data).replace(b"\n", b"\r\n"), PLACE)
    assert refusal.value.code == "yaml-line-ends"


def test_P_15_approved_after_the_deadline(planned: Scene) -> None:
    """Nothing goes out unapproved; approved three hours late it goes out once, under its own date."""
    assert planned.run("12-01 09:01").data["sites"][0]["plans"] == []
    (alarm,) = planned.do("watcher", "watch", "--json", now="12-01 09:40", check=4).data["alarms"]
    assert alarm["next"] == "publisher approve 1"
    planned.approve(1, "12-01 12:00")
    assert "[no-such-request]" in planned.approve(1, "12-01 12:00:30", check=2).err, "it was decided, and is decided once"
    planned.run("12-01 12:05")
    assert {item["date"] for item in manifest(planned.live).values()} == {"2026-12-01T09:00:00+08:00"}
    assert planned.events(FIRST).count("deployed") == 1
