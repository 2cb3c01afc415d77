"""What is public changes by change plans alone; a plan that is not public yet changes by a numbered revision."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml

from publisher.domain.fingerprint import short
from tests.support.instance import draft, source
from tests.support.scene import Scene, daily, scene_of

PLAN = daily("12-01")
PLAN_FILE = f"plans/{PLAN}.yaml"
FIRST, CORRECTED = b"marker-0001", b"the-corrected-sentence"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("changes"), publish_time="09:00") as scene:
        scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")
        scene.save("approved")
        scene.run("12-01 09:01")
        scene.save("public")
        yield scene


@pytest.fixture
def approved(stage: Scene) -> Scene:
    stage.back_to("approved")
    return stage


@pytest.fixture
def public(stage: Scene) -> Scene:
    stage.back_to("public")
    return stage


def manifest(scene: Scene) -> dict[str, dict[str, str]]:
    return {item["id"]: item for item in json.loads(scene.live[".well-known/publisher.json"])["articles"]}


def withdrawn(scene: Scene) -> list[str]:
    return [item["id"] for item in json.loads(scene.live[".well-known/publisher.json"])["withdrawn"]]


# --- changes of what is public ------------------------------------------------------------------------------------------------------


def test_correct_withdraw_and_roll_back(public: Scene) -> None:
    """One site's story; every change is approved by itself, and identity and date of an article never change."""
    scene = public
    before = manifest(scene)

    scene.edit({f"{source(1)}/index.md": draft(1, "guide", body=f"{CORRECTED.decode()}.\n")})
    scene.publish("12-01 10:00", "change", "correct", "a-0001", "--reason", "a wrong figure")  # deployment 2
    page = scene.page("/article-0001/")
    assert page is not None
    assert CORRECTED in page
    assert FIRST not in scene.everything_public
    after = manifest(scene)
    assert list(after) == list(before)
    for name in ("id", "url", "guid", "date"):
        assert [item[name] for item in after.values()] == [item[name] for item in before.values()]
    assert after["a-0001"]["digest"] != before["a-0001"]["digest"]
    assert after["a-0002"]["digest"] == before["a-0002"]["digest"]

    scene.publish("12-01 11:00", "change", "withdraw", "a-0002", "--reason", "no longer true")  # deployment 3
    assert scene.page("/article-0002/") is None
    assert b"/article-0002/" not in scene.live["feed.xml"] + scene.live["atom.xml"] + scene.live["index.html"]
    assert (list(manifest(scene)), withdrawn(scene)) == (["a-0001"], ["a-0002"])
    refused = scene.do("planner", "change", "correct", "a-0002", "--reason", "no", now="12-01 11:30", check=2)
    assert "not-public" in refused.err

    scene.approve(scene.plan("12-02 08:00"), "12-02 08:05")
    scene.run("12-02 09:01")  # deployment 4
    assert list(manifest(scene)) == ["a-0001", "a-0003", "a-0004"]

    scene.publish("12-02 10:00", "change", "rollback", "1", "--reason", "all of it was wrong")
    assert list(manifest(scene)) == ["a-0001"]
    for name in ("id", "url", "guid", "date"):
        assert manifest(scene)["a-0001"][name] == before["a-0001"][name]
    page = scene.page("/article-0001/")
    assert page is not None
    assert FIRST in page
    assert scene.page("/article-0002/") is None, "withdrawn never returns by a rollback"
    assert withdrawn(scene) == ["a-0002"]

    # Hidden stays hidden through the next publication, and is never planned again, until a correction shows it.
    scene.approve(scene.plan("12-03 08:00"), "12-03 08:05")
    scene.run("12-03 09:01")
    assert sorted(manifest(scene)) == ["a-0001", "a-0005", "a-0006"]
    assert scene.page("/article-0003/") is None
    scene.publish("12-03 10:00", "change", "correct", "a-0003", "--reason", "it was right after all")
    assert sorted(manifest(scene)) == ["a-0001", "a-0003", "a-0005", "a-0006"]
    assert manifest(scene)["a-0003"]["date"] == "2026-12-02T09:00:00+08:00"


def test_withdraw_with_a_redirect(public: Scene) -> None:
    public.publish("12-01 10:00", "change", "withdraw", "a-0002", "--redirect-to", "/article-0001/", "--reason", "merged")
    page = public.page("/article-0002/")
    assert page is not None
    assert b"/article-0001/" in page
    assert b"marker-0002" not in public.everything_public
    assert withdrawn(public) == ["a-0002"]


def test_a_new_look_goes_live_by_its_own_change_only(public: Scene) -> None:
    style = "site-src/blog/theme/style.css"
    public.edit({style: public.text(style) + "/* the-new-look */\n"})
    public.approve(public.plan("12-02 08:00"), "12-02 08:05")
    public.run("12-02 09:01")
    assert b"the-new-look" not in public.everything_public
    public.publish("12-02 10:00", "change", "presentation", "--reason", "new look")
    assert b"the-new-look" in public.everything_public
    assert public.articles() == ["a-0001", "a-0002", "a-0003", "a-0004"]
    again = public.do("planner", "change", "presentation", "--reason", "again", now="12-02 11:00", check=2)
    assert "same-presentation" in again.err


def test_a_correction_of_a_text_that_changed_meanwhile(public: Scene) -> None:
    """Two corrections made of the same public text: the second says which text it was made for, and stops."""
    public.edit({f"{source(1)}/index.md": draft(1, "guide", body=f"{CORRECTED.decode()} one.\n")})
    first = public.propose("12-01 10:00", "change", "correct", "a-0001", "--reason", "one")
    second = public.propose("12-01 10:01", "change", "correct", "a-0001", "--reason", "two")
    assert first != second
    public.approve(first, "12-01 10:02")
    public.approve(second, "12-01 10:03")
    done = public.run("12-01 10:04", check=4)
    assert done.code_of("blog/changes/2026/2026-12-01-2") == "text-moved"
    assert public.events("blog/changes/2026/2026-12-01-1")[-1] == "confirmed"
    page = public.page("/article-0001/")
    assert page is not None
    assert CORRECTED in page


# --- revisions -------------------------------------------------------------------------------------------------------------------


def test_a_revision_swaps_an_article(approved: Scene) -> None:
    number = approved.propose("12-01 08:10", "revise", PLAN, "--swap", "a-0002=a-0004", "--reason", "not ready")
    approved.approve(number, "12-01 08:15")
    approved.run("12-01 09:01")
    assert approved.articles() == ["a-0001", "a-0004"]
    assert approved.page("/article-0002/") is None
    # What was swapped out is free again.
    made = approved.do("planner", "plan", "--json", now="12-02 08:00").data["proposed"][0]["plans"][0]
    assert [article["id"] for article in made["articles"]] == ["a-0003", "a-0002"]


def test_a_revision_binds_nothing_before_its_merge(approved: Scene) -> None:
    """A revision waits for its review; until it is merged, the approved payload is the one that counts."""
    approved.propose("12-01 08:10", "revise", PLAN, "--swap", "a-0002=a-0004", "--reason", "not ready")
    approved.run("12-01 09:01")
    assert approved.articles() == ["a-0001", "a-0002"]


@pytest.mark.parametrize("where", ["after:records.publish:1", "closed"])
def test_a_revision_of_what_was_begun(approved: Scene, where: str) -> None:
    """Bound by the claim, or even prepared, built and intended: the new payload has tasks of its own, and the old text stays."""
    if where == "closed":
        with approved.stopped("12-01 09:01", "after:records.publish:2") as held:
            approved.do("reviewer", "pause", "blog", "--reason", "wait", now="12-01 09:02")
            held.go_on()
        approved.do("reviewer", "resume", "blog", "--reason", "on", now="12-01 09:03")
    else:
        approved.killed("12-01 09:01", where)
    number = approved.propose("12-01 09:15", "revise", PLAN, "--swap", "a-0002=a-0004", "--reason", "not ready")
    approved.approve(number, "12-01 09:16")
    approved.run("12-01 09:20")
    assert approved.articles() == ["a-0001", "a-0004"]
    assert b"marker-0002" not in approved.everything_public
    events = approved.events(PLAN)
    assert (
        events.index("revised")
        < len(events) - 1 - events[::-1].index("approved")
        < len(events) - 1 - events[::-1].index("prepared")
    )
    assert events.count("deployed") == 1


def test_a_revision_is_refused_once_public(public: Scene) -> None:
    refused = public.do("planner", "revise", PLAN, "--reason", "late", now="12-01 10:00", check=4)
    assert "already-public" in refused.err


def test_a_revision_that_was_merged_after_the_switch_is_refused(approved: Scene) -> None:
    number = approved.propose("12-01 08:10", "revise", PLAN, "--swap", "a-0002=a-0004", "--reason", "not ready")
    approved.killed("12-01 09:01", "after:target.switch:1")
    approved.approve(number, "12-01 09:05")
    done = approved.run("12-01 09:20", check=None)
    assert "revision-refused" in approved.events(PLAN)
    assert approved.events(PLAN).count("deployed") == 1
    assert "confirmed" in approved.events(PLAN)
    assert approved.articles() == ["a-0001", "a-0002"]
    assert done.code in (0, 4)
    before = approved.refs()
    approved.run("12-01 09:30", check=None)
    assert approved.refs() == before


def test_another_payload_under_the_same_key_is_a_conflict(approved: Scene) -> None:
    """Reviewed and approved like any other, but not a revision: the first payload is what the key means."""
    approved.killed("12-01 09:01", "after:records.publish:1")
    bound = approved.instance.ledger(PLAN)[0]["plan_payload"]
    planner = approved.instance.clone("planner")
    planner.git("fetch", "--quiet", "origin")
    planner.git("checkout", "--quiet", "-B", "other", "origin/main")
    text = (planner.path / PLAN_FILE).read_text()
    plan = yaml.safe_load(text)
    other = text.replace(plan["articles"][1]["url"], "/elsewhere/")
    planner.commit({PLAN_FILE: other}, "Another plan", key=approved.instance.folder / "keys" / "planner")
    planner.push("publisher/requests/9")
    approved.approve(9, "12-01 09:05")
    done = approved.run("12-01 09:20", check=4)
    assert done.code_of(PLAN) == "conflict"
    said = done.plan(PLAN)["next"]["what"]
    assert short(bound) in said
    assert len({word.strip(",") for word in said.split() if len(word.strip(",")) == 12 and word.strip(",").isalnum()}) == 2
    assert approved.live == {}
    # The next command that it names leads on: a revision of what the key is bound to.
    assert done.plan(PLAN)["next"]["command"].startswith(f"publisher revise {PLAN}")
    approved.approve(approved.propose("12-01 09:30", "revise", PLAN, "--reason", "back to the first"), "12-01 09:31")
    approved.run("12-01 09:40")
    assert approved.articles() == ["a-0001", "a-0002"]
    assert approved.page("/elsewhere/") is None


def test_what_a_canceled_plan_named_is_free_again(approved: Scene) -> None:
    approved.do("reviewer", "cancel", PLAN, "--reason", "not this week", now="12-01 08:30")
    number = approved.plan("12-02 08:00")
    approved.approve(number, "12-02 08:05")
    approved.run("12-02 09:01")
    assert approved.articles() == ["a-0001", "a-0002"]
    assert manifest(approved)["a-0001"]["date"] == "2026-12-02T09:00:00+08:00"
    assert approved.events(PLAN) == ["canceled"]
