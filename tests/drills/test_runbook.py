"""The runbook's drills, each after the disaster that it is for. The page gives the commands; what happened before, and what must be
so afterwards, stands here."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.drills.conftest import STATE
from tests.support.mail import Mailbox
from tests.support.runbook import commands_of, sections, walk
from tests.support.scene import Scene, daily

FIRST, SECOND = daily("12-01"), daily("12-02")
PUBLIC = ["a-0001", "a-0002", "a-0003", "a-0004"]
DRILLS: dict[str, Callable[..., None]] = {}


def drill(title: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Marks the test of a section: ``test_every_section_has_its_drill`` knows them."""

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        assert title not in DRILLS
        DRILLS[title] = test
        return test

    return mark


def test_every_section_has_its_drill() -> None:
    assert set(DRILLS) == {title for title, section in sections().items() if section.steps}


def test_every_section_says_how_one_knows() -> None:
    for title, section in sections().items():
        if section.steps:
            assert "*How you know:*" in section.text, title
            assert any("publisher " in line for line in commands_of(section)), title


def set_back(scene: Scene, branch: str, commit: str) -> None:
    scene.instance.remote.git("update-ref", f"refs/heads/{branch}", commit)


def require_nothing_left(scene: Scene, before: dict[str, bytes], now: str) -> None:
    """What is public is as it was, and a further run adds nothing."""
    refs = scene.refs()
    assert scene.run(now).data["sites"][0]["pushes"] == 0
    assert (scene.refs(), scene.live) == (refs, before)


# --- first -------------------------------------------------------------------------------------------------------------


@drill("Stop the site first")
def test_pause(together: Scene) -> None:
    together.back_to("first-day")
    before = together.live
    with walk(together, "Stop the site first", now="12-02 09:01") as steps:
        steps.step(3)
        assert together.live == before, "a date that is due was published on a paused site"
        steps.rest()
    assert together.articles() == PUBLIC


# --- the ledger --------------------------------------------------------------------------------------------------------


@drill("1. The ledger is gone: A clone still has it")
def test_a_clone_has_the_lost_ledger(apart: Scene) -> None:
    apart.back_to("two-days")
    before, tip = apart.live, apart.refs()[f"refs/heads/{STATE}"]
    apart.instance.remote.git("update-ref", "-d", f"refs/heads/{STATE}")
    with walk(apart, "1. The ledger is gone: A clone still has it", now="12-02 12:00") as steps:
        steps.rest()
    assert apart.refs()[f"refs/heads/{STATE}"] == tip
    require_nothing_left(apart, before, "12-02 12:30")


@drill("1. The ledger is gone: Nobody has it")
def test_nobody_has_the_lost_ledger(apart: Scene) -> None:
    apart.back_to("two-days")
    before = apart.live
    apart.instance.remote.git("update-ref", "-d", f"refs/heads/{STATE}")
    with walk(apart, "1. The ledger is gone: Nobody has it", now="12-02 12:00") as steps:
        steps.rest()
    require_nothing_left(apart, before, "12-02 12:30")
    apart.approve(apart.plan("12-03 08:00"), "12-03 08:05")
    apart.run("12-03 09:01")
    assert apart.articles() == [*PUBLIC, "a-0005", "a-0006"]


@drill("1. The ledger is gone: A commit removed files of it")
def test_a_commit_removed_ledger_files(together: Scene) -> None:
    together.back_to("two-days")
    before, tip = together.live, together.refs()["refs/heads/main"]
    files = together.instance.remote.git("ls-tree", "-r", "--name-only", "main", "ledger/").split()
    removed = together.edit(dict.fromkeys(files), "Tidy up")
    with walk(together, "1. The ledger is gone: A commit removed files of it", now="12-02 12:00", commit=removed) as steps:
        steps.step(2)
        assert removed[:7] in steps.said[1], "the command does not find the commit"
        steps.rest()
    assert together.refs()["refs/heads/main"] == tip
    require_nothing_left(together, before, "12-02 12:30")


def backup(scene: Scene) -> str:
    """The ledger as it was after the first day's publication, while the second is public."""
    log = scene.instance.remote.git("log", "--first-parent", "--format=%H %s", STATE).splitlines()
    return next(line.split(" ")[0] for line in log if "2026-12-01: prepared" in line and "confirmed" in line)


@drill("2. The ledger is older than the site: A clone is ahead of the backup")
def test_a_clone_is_ahead_of_the_backup(apart: Scene) -> None:
    apart.back_to("two-days")
    before, tip = apart.live, apart.refs()[f"refs/heads/{STATE}"]
    set_back(apart, STATE, backup(apart))
    with walk(apart, "2. The ledger is older than the site: A clone is ahead of the backup", now="12-02 12:00") as steps:
        steps.rest()
    assert tip in apart.instance.remote.git("rev-list", STATE)
    require_nothing_left(apart, before, "12-02 12:30")


@drill("2. The ledger is older than the site: Nobody is ahead")
def test_nobody_is_ahead_of_the_backup(apart: Scene) -> None:
    apart.back_to("two-days")
    before = apart.live
    set_back(apart, STATE, backup(apart))
    apart.run("12-02 11:50", check=7)
    assert apart.live == before
    with walk(apart, "2. The ledger is older than the site: Nobody is ahead", now="12-02 12:00") as steps:
        steps.rest()
    require_nothing_left(apart, before, "12-02 12:30")


@pytest.mark.parametrize("lost", ["all of it", "since the intent"])
def test_a_restored_ledger_announces_nothing_a_second_time(telling: Scene, box: Mailbox, lost: str) -> None:
    """The public shows that a plan is public, and not whether anybody was told: a person says that, and nothing is sent before."""
    telling.back_to("approved")
    box.mails.clear()
    telling.run("12-01 09:01")
    assert len(box.mails) == 2
    if lost == "all of it":
        telling.instance.remote.git("update-ref", "-d", f"refs/heads/{STATE}")
    else:
        log = telling.instance.remote.git("log", "--first-parent", "--format=%H %s", STATE).splitlines()
        set_back(
            telling, STATE, next(line.split(" ")[0] for line in log if "about to deploy" in line or "about to switch" in line)
        )
    telling.do("ci", "reconcile", "blog", "--restore", now="12-01 12:00")
    assert telling.run("12-01 12:30", check=6).code_of(FIRST) == "announce-unknown"
    assert len(box.mails) == 2, "somebody was told twice"
    refs = telling.refs()
    telling.do("ci", "reconcile", "blog", "--restore", now="12-01 12:40")
    assert telling.refs() != refs, "the epoch is higher"
    assert telling.events(FIRST).count("restored") == 1, "and nothing else is said twice"
    telling.do("oncall", "settle", FIRST, "announce", "--happened", "--reason", "both have it", now="12-01 13:00")
    assert telling.run("12-01 13:05").data["sites"][0]["pushes"] == 0
    assert telling.do("ci", "status", FIRST, "--json", now="12-01 13:06").plan(FIRST)["stage"] == "announced"
    telling.do("ci", "audit", "blog", now="12-01 13:10")
    assert len(box.mails) == 2


def test_after_a_restore_a_person_may_say_that_nobody_was_told(telling: Scene, box: Mailbox) -> None:
    telling.back_to("approved")
    box.mails.clear()
    telling.killed("12-01 09:01", "after:target.switch:1")
    telling.instance.remote.git("update-ref", "-d", f"refs/heads/{STATE}")
    telling.do("ci", "reconcile", "blog", "--restore", now="12-01 12:00")
    telling.run("12-03 12:00", check=6)
    assert not box.mails
    telling.do("oncall", "settle", FIRST, "announce", "--did-not", "--reason", "nobody has it", now="12-03 12:05")
    telling.do("oncall", "retry", FIRST, "announce", "--reason", "they shall hear of it", now="12-03 12:06")
    telling.run("12-03 12:10")
    assert len(box.mails) == 2


# --- the target --------------------------------------------------------------------------------------------------------


@drill("3. The wrong site is on the domain: The target lost the site")
def test_the_target_lost_the_site(together: Scene) -> None:
    together.back_to("two-days")
    before = together.live
    shutil.rmtree(together.instance.public)
    with walk(together, "3. The wrong site is on the domain: The target lost the site", now="12-02 12:00") as steps:
        steps.rest()
    require_nothing_left(together, before, "12-02 12:30")


@drill("3. The wrong site is on the domain: It holds an older release")
def test_the_target_holds_an_older_release(together: Scene) -> None:
    together.back_to("first-day")
    older = (together.instance.public / "current").readlink()
    together.back_to("two-days")
    before, current = together.live, together.instance.public / "current"
    current.unlink()
    current.symlink_to(older)
    with walk(together, "3. The wrong site is on the domain: It holds an older release", now="12-02 12:00") as steps:
        steps.rest()
    require_nothing_left(together, before, "12-02 12:30")


def somebody_elses(scene: Scene) -> None:
    """Another site is copied to where the web server looks."""
    current = scene.instance.public / "current"
    if current.exists():
        current.unlink()
    current.mkdir(parents=True)
    (current / "index.html").write_text("<p>Another site</p>\n")


@drill("3. The wrong site is on the domain: Somebody put another site there")
def test_somebody_put_another_site_there(together: Scene) -> None:
    together.back_to("two-days")
    before = together.live
    somebody_elses(together)
    with walk(together, "3. The wrong site is on the domain: Somebody put another site there", now="12-02 12:00") as steps:
        steps.rest()
    require_nothing_left(together, before, "12-02 12:30")


@drill("3. The wrong site is on the domain: The domain leads elsewhere")
def test_the_domain_leads_elsewhere(together: Scene, tmp_path: Path) -> None:
    together.back_to("two-days")
    before, right = together.live, together.web.root
    other = tmp_path / "other"
    shutil.copytree(together.instance.public / "current", other)
    manifest = other / ".well-known" / "publisher.json"
    manifest.write_text(re.sub(r'"site":\s*"blog"', '"site": "garden"', manifest.read_text()))
    with walk(together, "3. The wrong site is on the domain: The domain leads elsewhere", now="12-02 12:00") as steps:
        together.web.root = other
        try:
            steps.step()
        finally:
            together.web.root = right
        steps.rest()
    require_nothing_left(together, before, "12-02 12:30")


# --- half way ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["before:target.switch:1", "after:target.switch:1", "after:records.publish:2"])
@drill("4. A deploy stopped half way: The run died")
def test_the_run_died(together: Scene, where: str) -> None:
    together.back_to("approved")
    together.killed("12-01 09:01", where)
    with walk(together, "4. A deploy stopped half way: The run died", now="12-01 09:30") as steps:
        steps.step()
        assert together.articles() == PUBLIC[:2]
        refs, live = together.refs(), together.live
        steps.rest()
    assert (together.refs(), together.live) == (refs, live)
    assert together.events(FIRST).count("deployed") == 1


@drill("4. A deploy stopped half way: Readers see a part of it")
def test_readers_see_a_part(together: Scene) -> None:
    together.back_to("approved")
    with walk(together, "4. A deploy stopped half way: Readers see a part of it", now="12-01 09:01", plan=FIRST) as steps:
        together.web.missing.add("/article-0002/")
        steps.step()
        together.web.missing.clear()
        steps.rest()
    assert together.articles() == PUBLIC[:2]
    assert together.do("ci", "status", FIRST, "--json", now="12-01 09:30").plan(FIRST)["stage"] == "confirmed"


@drill("4. A deploy stopped half way: Something else was put there meanwhile")
def test_something_else_was_put_there(together: Scene) -> None:
    together.back_to("first-day")
    together.killed("12-02 09:01", "before:target.switch:1")
    somebody_elses(together)
    title = "4. A deploy stopped half way: Something else was put there meanwhile"
    with walk(together, title, now="12-02 09:30", plan=SECOND) as steps:
        steps.rest()
    assert together.articles() == PUBLIC
    assert together.do("ci", "status", SECOND, "--json", now="12-02 10:00").plan(SECOND)["stage"] == "confirmed"


# --- approvals ---------------------------------------------------------------------------------------------------------


@drill("5. An approval must not stand: The plan is not public")
def test_an_approval_by_mistake(together: Scene) -> None:
    together.back_to("first-day")
    before = together.live
    title = "5. An approval must not stand: The plan is not public"
    with walk(together, title, now="12-02 09:01", plan=SECOND, date="2026-12-03") as steps:
        steps.rest()
    assert together.live == before
    together.run("12-03 09:01")
    assert together.articles() == PUBLIC, "its articles are planned again, under an approval of their own"


@drill("5. An approval must not stand: The texts are right and one article is wrong")
def test_an_approved_plan_is_revised(together: Scene) -> None:
    together.back_to("first-day")
    before = together.live
    title = "5. An approval must not stand: The texts are right and one article is wrong"
    with walk(together, title, now="12-02 09:01", plan=SECOND, old="a-0003", new="a-0005") as steps:
        steps.step(2)
        together.run("12-02 09:05", check=4)
        assert together.live == before, "the old payload was published while the revision waited"
        steps.rest()
    assert together.articles() == [*PUBLIC[:2], "a-0005", "a-0004"]


# --- keys ----------------------------------------------------------------------------------------------------------------


def second_reviewer(scene: Scene, now: str) -> None:
    """One more may approve, by a request that the first approves."""
    key = scene.instance.folder / "keys" / "second.pub"
    asked = ("rules", "add", "--reviewer", f"second@example.org={key}", "--reason", "two see more", "--json")
    scene.approve(int(scene.do("planner", *asked, now=now).data["request"]), now)


@drill("6. A key is not ours alone any more: The key of somebody who approves")
def test_a_signing_key_is_stolen(together: Scene) -> None:
    together.back_to("first-day")
    second_reviewer(together, "12-01 12:00")
    before = together.live
    together.instance.fresh_clone("thief", key_of="reviewer")
    title = "6. A key is not ours alone any more: The key of somebody who approves"
    names = {"plan": SECOND, "who": "reviewer@example.org", "date": "2026-12-01"}
    with walk(together, title, now="12-02 09:01", **names) as steps:
        steps.step(4)
        assert "approved by reviewer@example.org" in steps.said[3]
        steps.step(2)
        assert together.live == before
        refused = together.plan("12-02 09:10", "--date", "2026-12-03")
        assert "key-not-listed" in together.do("thief", "approve", str(refused), "--yes", now="12-02 09:11", check=4).err
        steps.rest()
    assert together.articles() == PUBLIC
    (approved,) = [
        event for event in together.instance.ledger(SECOND) if event["type"] == "approved" and event["revision"] == 2
    ]
    assert approved["by"] == ["second@example.org"]


@drill("6. A key is not ours alone any more: A deploy key, a token, a secret")
def test_a_deploy_key_was_used(together: Scene) -> None:
    together.back_to("two-days")
    with walk(together, "6. A key is not ours alone any more: A deploy key, a token, a secret", now="12-02 12:00") as steps:
        steps.rest()
    somebody_elses(together)
    assert together.do("ci", "reconcile", "blog", now="12-02 12:30", check=7).code, "what was written with it is found"


# --- public by mistake -------------------------------------------------------------------------------------------------


@drill("7. Something was published by mistake")
def test_published_by_mistake(together: Scene) -> None:
    together.back_to("two-days")
    with walk(together, "7. Something was published by mistake", now="12-02 12:00", article="a-0003") as steps:
        steps.rest()
    assert together.articles() == ["a-0001", "a-0002", "a-0004"]
    assert together.page("/article-0003/") is None
    assert b"marker-0003" not in together.everything_public
    left = {"caches", "archives", "copies", "preview"}
    for number, risk in enumerate(sorted(left)):
        (open_plan,) = together.do("ci", "status", "--fresh", "--json", now="12-02 13:00").data["plans"]
        assert open_plan["next"]["code"] == "takedown-open"
        asked = ("takedown", "a-0003", risk, "--nothing-there", "--reason", "somebody looked", "--json")
        together.do("oncall", *asked, now=f"12-02 13:0{number}", check=4 if number < len(left) - 1 else 0)
    assert together.do("ci", "status", "--fresh", "--json", now="12-02 13:10").data["plans"] == []
    kinds = [event["type"] for event in together.instance.ledger("blog/changes/2026/2026-12-02-1")]
    assert (kinds.count("takedown"), kinds.count("followed-up")) == (1, 6)
    refs = together.refs()
    together.run("12-02 13:15")
    together.do("oncall", "takedown", "a-0003", "--reason", "again", now="12-02 13:16")
    assert together.refs() == refs, "neither a run nor a repetition records anything"
    together.do("ci", "audit", "blog", now="12-02 13:20")


@drill("8. Nobody knows who was told")
def test_nobody_knows_who_was_told(telling: Scene, box: Mailbox) -> None:
    telling.back_to("approved")
    box.mails.clear()
    telling.killed("12-01 09:01", "after:channel.send:1")
    assert len(box.mails) == 1
    with walk(telling, "8. Nobody knows who was told", now="12-01 09:30", plan=FIRST) as steps:
        steps.rest()
    assert len(box.mails) == 1, "somebody was told twice"
    assert telling.do("ci", "status", FIRST, "--json", now="12-01 10:00").plan(FIRST)["stage"] == "announced"


@drill("9. A clock is wrong")
def test_a_clock_is_behind(together: Scene) -> None:
    together.back_to("first-day")
    before = together.live
    with walk(together, "9. A clock is wrong", now="12-01 08:00", plan=SECOND) as steps:
        steps.step(3)
        assert together.live == before
        steps.later("12-02 09:01")
        steps.rest()
    assert together.articles() == PUBLIC


@drill("10. Nothing is released, and nothing is wrong")
@pytest.mark.parametrize("lacks", ["on_call: []", "staging"])
def test_nothing_is_released_unattended_without_its_preconditions(together: Scene, lacks: str) -> None:
    """I85: no staging preview, or nobody on call, and no production release starts by itself."""
    together.back_to("first-day")
    before, text = together.live, together.text("publisher.yaml")
    if lacks == "staging":
        together.edit({"publisher.yaml": "".join(line for line in text.splitlines(keepends=True) if "staging:" not in line)})
        assert together.run("12-02 09:01", check=3).code_of(SECOND) == "no-staging"
        assert together.live == before
        together.edit({"publisher.yaml": text})
        together.run("12-02 09:10")
    else:
        together.edit({"publisher.yaml": re.sub(r"(?m)^on_call:.*$", lacks, text)})
        with walk(together, "10. Nothing is released, and nothing is wrong", now="12-02 09:01", who="ann@example.org") as steps:
            steps.step()
            assert together.live == before
            steps.rest()
    assert together.articles() == PUBLIC
