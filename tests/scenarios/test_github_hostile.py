"""People with write access and no right to approve, who use what GitHub and git let them do. Each attack must come to nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from publisher.domain.instance import ChannelSpec, GithubHost
from publisher.errors import NeedsPerson, StoppedForSafety
from publisher.forge.github_api import GithubApi
from publisher.notify.github_issue import LABEL, GithubIssues
from tests.support.github.merging import person
from tests.support.github_instance import github_instance
from tests.support.github_world import PLAN, REQUEST, RULES, World, github_world, plan_text, rules_text


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with github_world(tmp_path) as made:
        yield made


def turned_around(world: World, then: str) -> None:
    """An ordinary push, no forced one: the default branch becomes the second parent of a merge that stands on ``then``."""
    world.push(world.made({}, then, world.tip(), message="Merge branch 'main'", who=world.wes), "main", world.wes)


def test_history_turned_around_brings_a_withdrawn_plan_back(world: World) -> None:
    world.approved()
    then = world.tip()
    world.approved({PLAN: None}, branch="publisher/requests/withdraw")
    assert world.code() == "deleted"
    turned_around(world, then)
    assert world.code() == "put-aside"


def test_history_turned_around_brings_a_removed_approver_back(world: World) -> None:
    """rae was taken off the list, by sam. She puts the older list in force and approves with it."""
    then = world.tip()
    number = world.propose({RULES: rules_text(world.sam)}, "publisher/requests/rules")
    world.review(number, world.sam)
    world.merge(number, who=world.sam)
    turned_around(world, then)
    number = world.propose()
    world.review(number, world.rae)
    world.merge(number, who=world.rae)
    with pytest.raises(StoppedForSafety, match="rules-put-aside"):
        world.verdict()


def test_branch_forced_back_to_before_a_withdrawal(world: World) -> None:
    world.approved()
    then = world.tip()
    world.approved({PLAN: None}, branch="publisher/requests/withdraw")
    world.push(then, "main", world.wes, force=True)
    assert world.code() == "branch-rewritten"


def test_push_a_moment_before_the_reviewer_clicks(world: World) -> None:
    """The reviewer's page still shows the older head, and GitHub writes that head into the review."""
    number = world.propose({PLAN: plan_text("a-0002")})
    seen = world.tip(REQUEST)
    world.commit(REQUEST, {PLAN: plan_text()}, world.wes)
    world.tick()
    world.sim.reviews.submit(world.rae, number, "APPROVED", commit=seen)
    (shown,) = world.api().pages(f"pulls/{number}/reviews")
    assert shown["commit_id"] == seen
    world.merge(number, who=world.wes)
    assert world.code() == "review-of-older-head"


def test_somebody_elses_issue_does_not_stand_for_an_alarm(world: World, tmp_path: Path) -> None:
    """An issue with the marks of an alarm is made before the alarm; the marks are digests of names that anybody can work out."""
    spec = ChannelSpec(name="alerts", kind="github-issue", options={})
    alerts = GithubIssues(spec, tmp_path, (), world.api)
    alerts.say("n1", "the site stands still", thread="m")
    (real,) = world.api().pages("issues", state="open")
    world.sim.requests.clear()
    copy = real["body"].replace("the site stands still", "nothing to see")
    world.api().send("PATCH", f"issues/{real['number']}", {"state": "closed", "body": "gone"})
    world.api(world.wes).send("POST", "issues", {"title": "chore", "body": copy, "labels": [LABEL]})
    alerts.say("n1", "the site stands still", thread="m")
    issues = [one for one in world.api().pages("issues", state="open") if "stands still" in one["body"]]
    assert [one["user"]["login"] for one in issues] == [world.bot.login]


def test_configuration_does_not_say_where_a_persons_token_goes() -> None:
    """``publisher.yaml`` of a clone comes from whoever wrote it; a shell has no GITHUB_API_URL to compare with."""
    host = GithubHost(repository="ann/site", api="https://api.stranger.example")
    with pytest.raises(NeedsPerson, match="other-host"):
        GithubApi.from_environment(host, {"GH_TOKEN": "ghp_words"})


def test_forge_switched_by_a_push_does_not_entitle_everybody(tmp_path: Path) -> None:
    with github_instance(tmp_path, publish_time="09:00") as instance:
        sim = instance.sim
        wes = instance.people["wes"] = sim.user("wes", "write")
        instance.go_to("11-30 18:00")
        lines = sim.git.run("show", "main:publisher.yaml").replace("forge: github", "forge: git").split("\n")
        data = "\n".join([*(line for line in lines if not line.startswith("github:")), ""])
        tip, by = sim.git.branch("main"), person(wes, sim.seconds)
        made = sim.git.committed(sim.git.tree_with(tip, {"publisher.yaml": data}), (tip,), "words", by, by)
        sim.push_as(wes, made, "main")
        instance.environment |= {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ATTEMPT": "1"}
        form = json.dumps({"decision": "pause", "site": "blog", "reason": "words"})
        done = instance.do("wes", "decide", "--form", form, now="11-30 18:05", check=None)
        assert "[not-entitled]" in done.stderr
