"""Planners that run at once, again, and out of articles: no article is proposed twice, and nothing is filled up silently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import yaml

from publisher.wiring import open_instance
from tests.support.instance import draft, source
from tests.support.scene import Scene, at, daily, scene_of

QUEUE = "plans/blog/queue.yaml"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("planning")) as scene:
        second = scene.instance.fresh_clone("planner-2")
        second.setting("publisher.signingkey", str(scene.instance.folder / "keys" / "planner"))
        scene.save("two-planners")
        yield scene


@pytest.fixture
def scene(stage: Scene) -> Scene:
    stage.back_to("two-planners")
    return stage


def requests(scene: Scene) -> dict[int, list[dict[str, Any]]]:
    """The plans that each open request brings."""
    found = {}
    for name in scene.refs():
        if name.startswith("refs/heads/publisher/requests/"):
            paths = scene.instance.remote.git("diff", "--name-only", "main", name).splitlines()
            plans = [yaml.safe_load(scene.text(path, name)) for path in paths if path.startswith("plans/blog/daily/")]
            found[int(name.rsplit("/", 1)[1])] = plans
    return found


def articles(plans: list[dict[str, Any]]) -> list[str]:
    return [article["id"] for plan in plans for article in plan["articles"]]


def queue(scene: Scene, *numbers: int, held: tuple[int, ...] = ()) -> None:
    rows = [f"  - {{id: a-{n:04d}, source: {source(n)}{', held: true' if n in held else ''}}}\n" for n in numbers]
    scene.edit({QUEUE: "articles:\n" + "".join(rows)})


# --- at once ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("date", ["2026-12-01", "2026-12-02"], ids=["same-date", "another-date"])
def test_two_planners_at_the_same_moment(scene: Scene, date: str) -> None:
    """The first has chosen its articles and not said so yet; the second is faster. Only one of them may have the articles."""
    with scene.stopped("12-01 08:00", "before:requests.open:1", "plan", "--date", date, who="planner-2") as held:
        scene.plan("12-01 08:00", "--date", "2026-12-01")
        done = held.go_on()
    assert (done.code, "request-raced" in done.err) == (5, True), done.text
    found = requests(scene)
    assert list(found) == [1]
    assert articles(found[1]) == ["a-0001", "a-0002"]
    # The one who came late looks again, and takes the next ones.
    again = scene.do("planner-2", "plan", "--date", date, "--json", now="12-01 08:05").data["proposed"][0]
    found = requests(scene)
    if date == "2026-12-01":
        assert (again["request"], list(found)) == (1, [1])
    else:
        assert articles(found[again["request"]]) == ["a-0003", "a-0004"]
        assert len(found) == 2


def test_two_planners_racing_freely(scene: Scene) -> None:
    """Whoever wins, whatever the timing: no article stands in two requests or under two dates."""
    processes = [
        scene.instance.start_driven(who, "plan", "--date", date, now=at("12-01 08:00"))
        for who, date in (("planner", "2026-12-01"), ("planner-2", "2026-12-02"))
    ]
    codes = []
    for process in processes:
        process.communicate(timeout=120)
        codes.append(process.returncode)
    assert set(codes) <= {0, 5}
    assert 0 in codes
    chosen = [name for plans in requests(scene).values() for name in articles(plans)]
    assert len(chosen) == len(set(chosen)) > 0


def test_requests_that_are_open_side_by_side_share_no_article(scene: Scene) -> None:
    scene.plan("12-01 08:00", "--date", "2026-12-01")
    scene.plan("12-01 08:01", "--date", "2026-12-02")
    found = requests(scene)
    assert [articles(found[number]) for number in sorted(found)] == [["a-0001", "a-0002"], ["a-0003", "a-0004"]]


def test_a_request_that_is_decided_while_it_is_being_fetched(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its branch was listed and is gone a moment later: what the remote has then is what counts."""
    scene.plan("12-01 08:00")
    wired = open_instance(scene.instance.clone("ci").path)
    listed = wired.git.remote_refs

    def listed_too_early(remote: str, patterns: Sequence[str]) -> Mapping[str, str]:
        refs: Mapping[str, str] = listed(remote, patterns)
        monkeypatch.undo()
        scene.instance.remote.git("update-ref", "-d", "refs/heads/publisher/requests/1")
        return refs

    monkeypatch.setattr(wired.git, "remote_refs", listed_too_early)
    assert wired.store.refresh().requests == {}


def test_what_the_key_is_bound_to_is_not_free_because_its_file_was_edited(scene: Scene) -> None:
    """A push put another article into a plan that a run has begun: neither payload's articles are for another date."""
    scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")
    scene.killed("12-01 08:10", "after:records.publish:1")
    path = f"plans/{daily('12-01')}.yaml"
    scene.edit({path: scene.text(path).replace("-0002", "-0008")})
    number = scene.plan("12-01 08:30", "--date", "2026-12-02")
    assert set(articles(requests(scene)[number])).isdisjoint({"a-0001", "a-0002", "a-0008"})


# --- again -----------------------------------------------------------------------------------------------------------------------


def test_a_repetition_finds_its_own_request_and_brings_it_up_to_date(scene: Scene) -> None:
    assert scene.plan("12-01 08:00", "--days", "2") == 1
    before = scene.refs()
    assert scene.plan("12-01 08:10", "--days", "2") == 1
    assert scene.refs() == before
    # A text changes while the request is open: the same request, the new fingerprint.
    scene.edit({f"{source(1)}/index.md": draft(1, "guide", body="Another text.\n")})
    old = requests(scene)[1]
    assert scene.plan("12-01 08:20", "--days", "2") == 1
    new = requests(scene)[1]
    assert list(requests(scene)) == [1]
    assert articles(new) == articles(old)
    fingerprints = [[article["fingerprint"] for plan in plans for article in plan["articles"]] for plans in (old, new)]
    assert [a == b for a, b in zip(*fingerprints, strict=True)] == [False, True, True, True]
    scene.approve(1, "12-01 08:30")
    scene.run("12-01 08:40")
    assert scene.articles() == ["a-0001", "a-0002"]
    # A date that has its plan is not planned again.
    assert "nothing to plan" in scene.do("planner", "plan", "--days", "2", now="12-01 09:00").out
    assert "no-plan" in scene.do("planner", "plan", "--date", "2026-12-02", now="12-01 09:00", check=2).err


def test_a_rejected_payload_is_not_proposed_again(scene: Scene) -> None:
    scene.approve(scene.plan("12-01 08:00"), "12-01 08:10", "--reject")
    before = scene.refs()
    refused = scene.do("planner", "plan", now="12-01 08:20", check=4)
    assert "proposal-rejected" in refused.err
    assert "publisher queue hold a-0001" in refused.err
    assert scene.refs() == before
    # The next command it names leads on: another choice is another payload.
    queue(scene, *range(1, 9), held=(1,))
    scene.plan("12-01 08:30")
    assert [articles(plans) for plans in requests(scene).values()] == [["a-0003", "a-0002"]]


# --- the queue -------------------------------------------------------------------------------------------------------------------


def test_a_short_queue_fills_what_it_can_and_says_where_it_ends(scene: Scene) -> None:
    done = scene.do("planner", "plan", "--days", "6", "--json", now="12-01 08:00", check=4)
    assert [problem["code"] for problem in done.data["problems"]] == ["queue-short"]
    plans = requests(scene)[1]
    assert [plan["date"] for plan in plans] == ["2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04"]
    assert all(len(plan["articles"]) == 2 for plan in plans)


def test_a_category_that_is_owed_is_not_replaced(scene: Scene) -> None:
    """Notes are left over, a guide is owed: nothing takes the guide's place, and the category is named."""
    queue(scene, 2, 4, 6, 8)
    done = scene.do("planner", "plan", "--json", now="12-01 08:00", check=4)
    assert done.data["proposed"] == []
    assert "category guide" in done.data["problems"][0]["says"]
    assert requests(scene) == {}


def test_held_and_unqueued_articles_are_never_chosen(scene: Scene) -> None:
    queue(scene, 3, 2, 1, 4, held=(3, 2))
    scene.plan("12-01 08:00")
    assert articles(requests(scene)[1]) == ["a-0001", "a-0004"]
    done = scene.do("planner", "plan", "--date", "2026-12-02", "--json", now="12-01 08:10", check=4)
    assert done.data["problems"][0]["code"] == "queue-short"


def test_local_writes_files_and_pushes_nothing(scene: Scene) -> None:
    before = scene.refs()
    scene.do("planner", "plan", "--days", "2", "--local", now="12-01 08:00")
    planner = scene.instance.clone("planner").path
    written = [yaml.safe_load((planner / f"plans/{daily(day)}.yaml").read_text()) for day in ("12-01", "12-02")]
    assert articles(written) == ["a-0001", "a-0002", "a-0003", "a-0004"]
    assert scene.refs() == before
    (planner / f"plans/{daily('12-01')}.yaml").write_text("kind: mine\n")
    kept = scene.do("planner", "plan", "--days", "2", "--local", now="12-01 08:10", check=2)
    assert "file-exists" in kept.err
    assert (planner / f"plans/{daily('12-01')}.yaml").read_text() == "kind: mine\n"
