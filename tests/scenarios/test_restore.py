"""A ledger that is lost, or older than the site: nothing is published from it again; public facts rebuild it, in a higher epoch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator

import pytest

from publisher.domain.fingerprint import short
from tests.support.instance import EPOCH_ID
from tests.support.scene import Done, Scene, daily, scene_of

FIRST, SECOND = daily("12-01"), daily("12-02")
STATE = "publisher-state"
PUBLIC = ["a-0001", "a-0002", "a-0003", "a-0004"]


def two_days(scene: Scene) -> None:
    """Two dates planned and approved at once, each published on its day; ``first-day`` and ``two-days`` are saved."""
    scene.approve(scene.plan("12-01 08:00", "--days", "2"), "12-01 08:05")
    scene.run("12-01 09:01")
    scene.save("first-day")
    scene.run("12-02 09:01")
    assert scene.articles() == PUBLIC
    scene.save("two-days")


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The ledger on a branch of its own."""
    with scene_of(tmp_path_factory.mktemp("apart"), publish_time="09:00", state=STATE) as scene:
        two_days(scene)
        yield scene


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Plans, drafts and ledger on one branch."""
    with scene_of(tmp_path_factory.mktemp("together"), publish_time="09:00") as scene:
        two_days(scene)
        yield scene


def reset(scene: Scene, commit: str, branch: str = STATE) -> None:
    scene.instance.remote.git("update-ref", *([f"refs/heads/{branch}", commit] if commit else ["-d", f"refs/heads/{branch}"]))


def tips(scene: Scene, branch: str) -> list[str]:
    """The branch's first-parent commits, oldest first, without the last."""
    return scene.instance.remote.git("rev-list", "--first-parent", "--reverse", branch).split()[:-1]


def epoch(scene: Scene) -> int:
    events = scene.instance.ledger("blog/claims/2026", scene.state)
    return max(event["epoch"] for event in events if event["type"] == "epoch")


def restore(scene: Scene, now: str) -> dict[str, object]:
    data: dict[str, object] = scene.do("ci", "reconcile", "blog", "--restore", "--json", now=now).data
    return data


def require_restored(scene: Scene, before: dict[str, bytes], now: str) -> None:
    """A further run adds nothing, what is public is as it was, and the planner takes none of it."""
    refs = scene.refs()
    done = scene.run(now)
    assert done.data["sites"][0]["pushes"] == 0
    assert (scene.refs(), scene.live) == (refs, before)
    assert scene.do("ci", "reconcile", "blog", "--json", now=now).data["sites"][0]["exit"] == 0
    made = scene.do("planner", "plan", "--date", "2026-12-03", "--json", now=now).data["proposed"][0]["plans"][0]
    assert [article["id"] for article in made["articles"]] == ["a-0005", "a-0006"]


def stopped(done: Done, *paths: str) -> set[str]:
    """The codes that stopped a run: of the site, or of its plans."""
    named = [plan["plan"] for site in done.data["sites"] for plan in site["plans"]]
    return {done.site_problem} if done.site_problem else {done.code_of(path) for path in paths if path in named}


# --- lost ------------------------------------------------------------------------------------------------------------------------


def test_a_deleted_state_branch_is_no_first_run(apart: Scene) -> None:
    apart.back_to("two-days")
    before = apart.live
    reset(apart, "")
    for verb in (("run", "--json"), ("run", SECOND, "--yes", "--json"), ("run", "--scheduled", "--json")):
        done = apart.do("ci", *verb, now="12-02 12:00", check=7)
        assert done.site_problem == "no-state-branch"
        assert done.data["sites"][0]["problem"]["next"] == "publisher reconcile --restore"
    assert f"refs/heads/{STATE}" not in apart.refs()
    made = restore(apart, "12-02 12:05")
    assert (made["articles"], made["plans"]) == (4, [FIRST, SECOND])
    assert epoch(apart) == 2
    require_restored(apart, before, "12-02 12:10")
    # And on it goes: the next date is planned, approved and published on top of what was there.
    apart.approve(1 + 1, "12-03 08:00")
    apart.run("12-03 09:01")
    assert apart.articles() == [*PUBLIC, "a-0005", "a-0006"]


def every_ledger_file(scene: Scene) -> list[str]:
    return scene.instance.remote.git("ls-tree", "-r", "--name-only", "main", "ledger/").split()


def every_plans_ledger_file(scene: Scene) -> list[str]:
    return [path for path in every_ledger_file(scene) if "/daily/" in path]


def the_last_plans_ledger_file(scene: Scene) -> list[str]:
    return [f"ledger/{SECOND}.jsonl"]


@pytest.mark.parametrize(
    ("lost", "code"),
    [(every_ledger_file, "no-ledger"), (every_plans_ledger_file, "foreign-live"), (the_last_plans_ledger_file, "foreign-live")],
)
def test_ledger_files_deleted_by_a_push(together: Scene, lost: Callable[[Scene], list[str]], code: str) -> None:
    together.back_to("two-days")
    before = together.live
    together.edit(dict.fromkeys(lost(together)), "Tidy up")
    done = together.run("12-02 12:00", check=7)
    assert code in stopped(done, SECOND)
    assert "publisher reconcile blog" in json.dumps(done.data)
    assert together.live == before
    assert together.run("12-02 12:05", check=None).code in (4, 7)
    assert together.live == before
    restore(together, "12-02 12:10")
    assert epoch(together) == 2
    require_restored(together, before, "12-02 12:15")


def test_an_unreachable_site_is_not_an_empty_one(apart: Scene) -> None:
    apart.back_to("two-days")
    reset(apart, "")
    apart.web.statuses["/.well-known/publisher.json"] = 503
    try:
        refused = apart.do("ci", "reconcile", "blog", "--restore", now="12-02 12:05", check=5)
    finally:
        apart.web.statuses.clear()
    assert "publisher" in refused.err
    apart.web.missing.add("/.well-known/publisher.json")
    assert "target-not-public" in apart.do("ci", "reconcile", "blog", "--restore", now="12-02 12:06", check=7).err
    assert f"refs/heads/{STATE}" not in apart.refs()


# --- older than the site ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(7))
def test_the_state_branch_is_set_back(apart: Scene, k: int) -> None:
    """To each earlier tip of the two days: epoch, then claim, intent and end of each day."""
    apart.back_to("two-days")
    before, earlier = apart.live, tips(apart, STATE)
    assert len(earlier) == 6, "epoch, and three records a day"
    if k == 6:
        reset(apart, earlier[0])
        restore(apart, "12-02 11:00")
        k = 0  # restored once, and set back once more: the epoch is higher again
    reset(apart, earlier[k])
    done = apart.run("12-02 12:00", check=None)
    assert apart.live == before, "nothing is published again"
    healed = k == 5  # the intent of the release that is live: it is seen, and the ledger catches up by itself
    assert done.code == (0 if healed else 7), done.text
    if not healed:
        assert stopped(done, FIRST, SECOND) & {"foreign-live", "fence-refused", "deploy-blocked"}
    old = max(epoch(apart), 1)
    made = restore(apart, "12-02 12:20")
    assert made["epoch"] == epoch(apart) > old
    require_restored(apart, before, "12-02 12:30")


@pytest.mark.parametrize("day", ["", "12-01"])
def test_the_one_branch_is_set_back(together: Scene, day: str) -> None:
    """Plans and drafts are set back with the ledger: to before the first plan, and to the end of the first day."""
    together.back_to("two-days")
    before = together.live
    commits = together.instance.remote.git("log", "--first-parent", "--format=%H %s", "main").splitlines()
    ends = [line.split(" ", 1)[0] for line in commits if f"2026-{day}: prepared" in line and "confirmed" in line]
    reset(together, ends[0] if day else tips(together, "main")[0], "main")
    together.run("12-02 12:00", check=None)
    assert together.live == before
    restore(together, "12-02 12:10")
    require_restored(together, before, "12-02 12:15")


def test_restoring_twice_changes_the_epoch_only(apart: Scene) -> None:
    apart.back_to("two-days")
    before = apart.live
    reset(apart, "")
    first = restore(apart, "12-02 12:00")
    second = restore(apart, "12-02 12:05")
    assert (first["epoch"], second["epoch"]) == (2, 3)
    assert second["plans"] == []
    require_restored(apart, before, "12-02 12:10")


def test_a_stale_actor_of_the_old_epoch_is_refused(apart: Scene) -> None:
    """It was about to switch; meanwhile the ledger was lost and restored. What it does then changes nothing."""
    apart.back_to("first-day")
    with apart.stopped("12-02 09:01", "before:target.switch:1") as held:
        before = apart.live
        reset(apart, "")
        assert restore(apart, "12-02 09:02")["epoch"] == 2
        refs = apart.refs()
        done = held.go_on()
    assert done.code in (6, 7), done.text
    assert (apart.live, apart.refs()) == (before, refs)
    # The date itself is still approved: a run of the new epoch publishes it, once.
    apart.run("12-02 09:10")
    assert apart.articles() == PUBLIC
    assert EPOCH_ID not in (apart.instance.public / "fence.json").read_text()


# --- a target that lost the site ---------------------------------------------------------------------------------------------------


def test_a_wiped_target_gets_the_same_release_back(together: Scene) -> None:
    together.back_to("two-days")
    before = together.live
    shutil.rmtree(together.instance.public)
    looked = together.do("ci", "reconcile", "blog", "--json", now="12-02 12:00", check=7).data["sites"][0]
    assert looked["target"] == ""
    together.approve(together.plan("12-03 08:00"), "12-03 08:05")
    done = together.run("12-03 09:01", check=7)
    assert done.code_of(daily("12-03")) == "nothing-live"
    assert "publisher reconcile blog --repair" in done.plan(daily("12-03"))["problem"]["next"]
    assert together.live == {}
    together.do("ci", "reconcile", "blog", "--repair", "--reason", "the disk was replaced", now="12-03 09:10")
    assert together.live == before
    refs = together.refs()
    together.do("ci", "reconcile", "blog", "--repair", "--reason", "again", now="12-03 09:20")
    assert (together.live, together.refs()) == (before, refs)
    together.do("reviewer", "retry", daily("12-03"), "deploy", "--reason", "repaired", now="12-03 09:25")
    together.run("12-03 09:30")
    assert together.articles() == [*PUBLIC, "a-0005", "a-0006"]
    release = [event["release"] for event in together.instance.ledger(SECOND) if event["type"] == "repaired"]
    assert [short(item) for item in release] == [short(release[0])]
