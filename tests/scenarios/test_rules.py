"""Who may approve is changed by a request that the rules before it approve, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.scene import Scene, scene_of

NOW = "12-01 08:00"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("rules"), publish_time="09:00") as scene:
        yield scene


@pytest.fixture
def new(stage: Scene) -> Scene:
    stage.back_to("new")
    return stage


def rules(scene: Scene, *argv: str, check: int = 0) -> int:
    done = scene.do("planner", "rules", *argv, "--reason", "a test", "--json", now=NOW, check=check)
    return int(done.data.get("request", 0))


def test_two_must_approve(new: Scene) -> None:
    key = new.instance.folder / "keys" / "second.pub"
    assert rules(new, "require", "2", check=4) == 0, "one may approve, and two must: nobody could undo that"
    new.approve(rules(new, "add", "--reviewer", f"second@example.org={key}"), NOW)
    number = rules(new, "require", "2")
    assert rules(new, "require", "2") == number, "a repetition finds its own request"
    assert "approvals: 1\n" in new.text("approval.yaml")
    new.approve(number, NOW)
    assert "approvals: 2\n" in new.text("approval.yaml")
    plan = new.plan(NOW)
    new.approve(plan, NOW, check=4)
    new.do("second", "approve", str(plan), "--yes", now=NOW)
    new.run("12-01 09:01")
    assert new.articles() == ["a-0001", "a-0002"]


def test_a_new_key_counts_and_the_old_one_does_not(new: Scene) -> None:
    key = new.instance.folder / "keys" / "second.pub"
    new.approve(rules(new, "key", f"reviewer@example.org={key}"), NOW)
    number = new.plan(NOW)
    assert "key-not-listed" in new.approve(number, NOW, check=4).err
    new.do("second", "approve", str(number), "--yes", now=NOW)


def test_a_change_that_was_pushed_past_the_rules_is_taken_back(new: Scene) -> None:
    """Who can push can write any file. It is not in force, and no request for another change brings it in."""
    own = (new.instance.folder / "keys" / "second.pub").read_text().split(" ")[:2]
    line = f'  - {{principal: mallory@example.org, key: "{" ".join(own)}", may: [commit, approve]}}\n'
    pushed = new.edit({"approval.yaml": new.text("approval.yaml") + line}, "A small change")
    done = new.do("planner", "rules", "remove", "nobody@example.org", "--reason", "a test", now=NOW, check=2)
    assert "no-such-person" in done.err
    third = new.instance.folder / "third"
    third.write_text("ssh-ed25519 " + "C" * 40 + " third\n")
    done = new.do("planner", "rules", "add", "--planner", f"third@example.org={third}", "--reason", "a test", now=NOW)
    assert f"the change in {pushed[:12]} was never approved; this request takes it back" in done.err
    new.approve(1, NOW)
    assert "third@example.org" in new.text("approval.yaml")
    assert "mallory" not in new.text("approval.yaml")


def test_what_is_in_force_is_not_proposed_again(new: Scene) -> None:
    assert "nothing-to-propose" in new.do("planner", "rules", "require", "1", "--reason", "a test", now=NOW, check=5).err


def test_the_only_approver_stays(new: Scene) -> None:
    done = new.do("planner", "rules", "remove", "reviewer@example.org", "--reason", "a test", now=NOW, check=4)
    assert "nobody-left" in done.err
    assert "publisher rules add --reviewer" in done.err
