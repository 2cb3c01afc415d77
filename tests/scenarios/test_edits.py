"""Edits at every stage between plan and public: the approved bytes go out, or a stop names both hashes; never the edited ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from publisher.domain.fingerprint import short
from tests.support.instance import draft, source
from tests.support.scene import Scene, daily, scene_of
from tests.support.sitebuilding import png

PLAN = daily("12-01")
PLAN_FILE = f"plans/{PLAN}.yaml"
TEXT = f"{source(1)}/index.md"
IMAGE = f"{source(1)}/chart.png"
STYLE = "site-src/blog/theme/style.css"
POLICY = "plans/blog/policy.yaml"
QUEUE = "plans/blog/queue.yaml"
APPROVED, EDITED = b"the-approved-sentence", b"the-edited-sentence"
APPROVED_IMAGE, EDITED_IMAGE = png(width=3), png(width=4)


def text(sentence: bytes) -> str:
    return draft(1, "guide", body=f"Here stands {sentence.decode()}, beside ![a chart](chart.png).\n")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("edits"), publish_time="09:00") as scene:
        scene.edit({TEXT: text(APPROVED), IMAGE: APPROVED_IMAGE})
        assert scene.plan("12-01 08:00") == 1
        scene.save("planned")
        scene.approve(1, "12-01 08:05")
        scene.save("approved")
        yield scene


@pytest.fixture
def planned(stage: Scene) -> Scene:
    stage.back_to("planned")
    return stage


@pytest.fixture
def approved(stage: Scene) -> Scene:
    stage.back_to("approved")
    return stage


def edit_sources(scene: Scene) -> None:
    """Whatever a publication is made from, and is not the plan, gets another content."""
    scene.edit(
        {
            TEXT: text(EDITED),
            IMAGE: EDITED_IMAGE,
            STYLE: scene.text(STYLE) + "/* the-edited-style */\n",
            POLICY: scene.text(POLICY).replace("quantity: 2", "quantity: 3").replace("version: 1", "version: 2"),
            QUEUE: "articles: []\n",
        }
    )


def require_approved_bytes(scene: Scene) -> None:
    page = scene.page("/article-0001/")
    assert page is not None
    assert APPROVED in page
    images = [data for path, data in scene.live.items() if path.startswith("article-0001/") and path.endswith(".png")]
    assert images == [APPROVED_IMAGE]
    assert scene.articles() == ["a-0001", "a-0002"]
    require_nothing_edited(scene)


def require_nothing_edited(scene: Scene) -> None:
    public = scene.everything_public
    assert EDITED not in public
    assert EDITED_IMAGE not in scene.live.values()
    assert b"the-edited-style" not in public


# --- sources -------------------------------------------------------------------------------------------------------------------


def test_sources_edited_after_the_approval(approved: Scene) -> None:
    edit_sources(approved)
    approved.run("12-01 09:01")
    require_approved_bytes(approved)


def test_sources_edited_while_the_site_is_paused(approved: Scene) -> None:
    approved.do("reviewer", "pause", "blog", "--reason", "a look first", now="12-01 08:30")
    edit_sources(approved)
    assert approved.run("12-01 09:01", check=4).code_of(PLAN) == "paused"
    assert approved.live == {}
    approved.do("reviewer", "resume", "blog", "--reason", "looked", now="12-01 09:30")
    approved.run("12-01 09:31")
    require_approved_bytes(approved)


@pytest.mark.parametrize("where", ["before:records.publish:2", "after:records.publish:2", "after:target.switch:1"])
def test_sources_edited_after_a_kill(approved: Scene, where: str) -> None:
    """After the claim, after the intent, and after the switch."""
    approved.killed("12-01 09:01", where)
    edit_sources(approved)
    approved.run("12-01 09:20")
    require_approved_bytes(approved)


@pytest.mark.parametrize("file", [TEXT, IMAGE], ids=["text", "image"])
def test_a_source_edited_before_the_approval_stops_with_both_hashes(planned: Scene, file: str) -> None:
    planned.edit({file: text(EDITED) if file == TEXT else EDITED_IMAGE})
    planned.approve(1, "12-01 08:05")
    done = planned.run("12-01 09:01", check=4)
    assert done.code_of(PLAN) == "fingerprint-differs"
    problem = done.plan(PLAN)["problem"]
    approved = yaml.safe_load(planned.text(PLAN_FILE))["articles"][0]["fingerprint"]
    assert short(approved) in _hashes(problem["says"])
    assert len(set(_hashes(problem["says"]))) == 2
    assert planned.live == {}
    assert problem["next"] == f'publisher revise {PLAN} --reason "…"'
    if file == IMAGE:
        return
    # The next command that the stop names leads on: a revision, approved by itself, publishes the edited text.
    planned.approve(planned.propose("12-01 10:00", "revise", PLAN, "--reason", "edited"), "12-01 10:01")
    planned.run("12-01 10:02")
    assert planned.articles() == ["a-0001", "a-0002"]


def _hashes(sentence: str) -> list[str]:
    return [word.strip(",.") for word in sentence.split() if len(word.strip(",.")) == 12 and word.strip(",.").isalnum()]


def test_look_and_rules_edited_before_the_approval(planned: Scene) -> None:
    """The first release takes the look at the approval's commit; policy and queue have no say once a plan is made."""
    planned.edit({STYLE: planned.text(STYLE) + "/* seen-by-the-approver */\n", QUEUE: "articles: []\n"})
    planned.approve(1, "12-01 08:05")
    planned.edit({STYLE: planned.text(STYLE) + "/* the-edited-style */\n"})
    planned.run("12-01 09:01")
    require_approved_bytes(planned)
    assert b"seen-by-the-approver" in planned.everything_public


# --- the plan's file --------------------------------------------------------------------------------------------------------------


def swapped(plan: str) -> str:
    """The same plan with its second article's URL changed: what somebody with push rights could write."""
    assert "/article-0002/" in plan
    return plan.replace('"/article-0002/"', '"/elsewhere/"').replace("url: /article-0002/", "url: /elsewhere/")


def test_a_plan_edited_by_a_push_after_its_approval(approved: Scene) -> None:
    before = approved.text(PLAN_FILE)
    approved.edit({PLAN_FILE: swapped(before)})
    done = approved.run("12-01 09:01", check=4)
    assert done.code_of(PLAN) == "conflict"
    assert approved.live == {}
    # Putting the approved bytes back by another push does not bring the approval back.
    approved.edit({PLAN_FILE: before})
    assert approved.run("12-01 09:05", check=4).code_of(PLAN) == "conflict"
    assert approved.live == {}


def test_a_plan_edited_by_a_push_after_a_kill_is_a_conflict_with_both_hashes(approved: Scene) -> None:
    approved.killed("12-01 09:01", "before:records.publish:2")
    bound = approved.instance.ledger(PLAN)[0]["plan_payload"]
    approved.edit({PLAN_FILE: swapped(approved.text(PLAN_FILE))})
    done = approved.run("12-01 09:20", check=4)
    assert done.code_of(PLAN) == "conflict"
    hashes = _hashes(done.plan(PLAN)["next"]["what"])
    assert short(bound) in hashes
    assert len(set(hashes)) == 2
    assert approved.live == {}


def test_a_plan_edited_after_the_intent_neither_stops_nor_changes_what_was_begun(approved: Scene) -> None:
    """The switch may have happened: it is reconciled first. It had not, so the intent closes, and the conflict stops."""
    approved.killed("12-01 09:01", "after:records.publish:2")
    approved.edit({PLAN_FILE: swapped(approved.text(PLAN_FILE))})
    assert approved.run("12-01 09:20", check=4).code_of(PLAN) == "conflict"
    assert approved.live == {}
    assert approved.events(PLAN)[-1] in ("deploy-closed", "noticed")


def test_a_commit_pushed_onto_the_request(planned: Scene) -> None:
    """Somebody without a listed key adds a commit to the planner's request; nobody can approve that."""
    editor = planned.pulled()
    editor.git("checkout", "--quiet", "-B", "request", "origin/publisher/requests/1")
    editor.commit({PLAN_FILE: swapped((editor.path / PLAN_FILE).read_text())})
    editor.push("publisher/requests/1")
    done = planned.approve(1, "12-01 08:05", check=4)
    assert "unsigned-commit" in done.text
    assert planned.run("12-01 09:01").data["sites"][0]["plans"] == []


# --- between the last check and the switch ----------------------------------------------------------------------------------------


def revert(scene: Scene) -> None:
    scene.edit({PLAN_FILE: None}, "Revert the plan")


def touch(scene: Scene) -> None:
    """Edited, and edited back: the same payload, but its approval is spent."""
    before = scene.text(PLAN_FILE)
    scene.edit({PLAN_FILE: swapped(before)})
    scene.edit({PLAN_FILE: before})


def pause(scene: Scene) -> None:
    scene.do("reviewer", "pause", "blog", "--reason", "stop it", now="12-01 09:01:30")


@pytest.mark.parametrize(
    ("change", "code"),
    [(revert, "plan-changed"), (touch, "approval-changed"), (pause, "paused")],
    ids=["revert", "touch", "pause"],
)
def test_a_change_after_the_intent_closes_it(approved: Scene, change: Callable[[Scene], None], code: str) -> None:
    with approved.stopped("12-01 09:01", "after:records.publish:2") as held:
        assert approved.events(PLAN)[-1] == "deploy-intent"
        change(approved)
        done = held.go_on()
    assert (done.code, done.code_of(PLAN)) == (7, code), done.text
    assert approved.live == {}
    closed = [event for event in approved.instance.ledger(PLAN) if event["type"] == "deploy-closed"]
    assert [event["why"] for event in closed] == [code]
    again = approved.run("12-01 09:20", check=4)
    assert again.data["sites"][0]["pushes"] <= 1  # the notice that a person is needed
    assert approved.live == {}


def test_what_was_paused_after_its_intent_goes_out_once_resumed(approved: Scene) -> None:
    with approved.stopped("12-01 09:01", "after:records.publish:2") as held:
        pause(approved)
        held.go_on()
    approved.do("reviewer", "resume", "blog", "--reason", "on", now="12-01 09:10")
    approved.run("12-01 09:20")
    require_approved_bytes(approved)
    assert approved.events(PLAN).count("deployed") == 1


def test_cancel_and_skip_are_refused_while_a_deploy_is_open(approved: Scene, tmp_path: Path) -> None:
    with approved.stopped("12-01 09:01", "after:records.publish:2") as held:
        refused = approved.do("reviewer", "cancel", PLAN, "--reason", "no", now="12-01 09:01:30", check=6)
        assert "deploy-open" in refused.text
        assert (
            "deploy-open" in approved.do("reviewer", "skip", "2026-12-01", "--reason", "no", now="12-01 09:01:30", check=6).text
        )
        assert held.go_on().code == 0
    require_approved_bytes(approved)
