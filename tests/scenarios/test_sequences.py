"""Days that meet each other: what one day left half done never harms, and never rides with, what another day makes public."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable

import pytest

from tests.support.gitrepos import Repository, clone
from tests.support.instance import Instance, draft, source
from tests.support.oracle import (
    MANIFEST,
    accept,
    all_events,
    branch_of,
    files_at,
    live_files,
    of_type,
    outside,
    path_of,
    published,
    site_of,
)
from tests.support.stage import DATE, KINDS, NEXT, PLAN, Stage, at, plan

Stages = Callable[[str], Stage]

THIRD = "2026-03-03"
NEXT_PLAN, THIRD_PLAN = path_of(NEXT), path_of(THIRD)
MIDNIGHT = 14 * 3600
"""The next day's beginning, in seconds of the story; the first day's approval is usable for ten hours more."""


def two_days(stage: Stage) -> Instance:
    """Two days are approved, and nothing is public."""
    if not stage.has("two-days"):
        plan(stage.restore("approved"), NEXT, 100, 2)
        stage.save("two-days")
    return stage.restore("two-days")


def built_only(stage: Stage) -> Instance:
    """The first day is prepared and built, and its deploy is known not to have happened."""
    if not stage.has("built-only"):
        instance = two_days(stage)
        killed = instance.driven("ci", "run", now=at(200), at="kill:before:target.switch:1")
        assert killed.returncode == -signal.SIGKILL
        instance.driven("ci", "reconcile", now=at(260))
        assert not published(instance).files
        stage.save("built-only")
    return stage.restore("built-only")


def ids(instance: Instance) -> list[str]:
    """The article ids of the live manifest, in order."""
    return [item["id"] for item in json.loads(live_files(instance.folder)[MANIFEST])["articles"]]


# --- one day late, another on time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["directory", "other-repository"])
def test_a_day_that_is_retried_comes_on_top_of_the_next_one(stages: Stages, kind: str) -> None:
    stage = stages(kind)
    instance = built_only(stage)
    instance.driven("ci", "run", NEXT_PLAN, "--yes", check=0, now=at(MIDNIGHT + 300))
    assert ids(instance) == ["a-0003", "a-0004"]
    instance.fresh_clone("ci2")
    instance.driven("ci2", "run", check=0, now=at(MIDNIGHT + 600))
    assert ids(instance) == ["a-0003", "a-0004", "a-0001", "a-0002"]
    assert b"marker-0003" in published(instance).files["article-0003/index.html"]
    assert [event["rebased"] for event in of_type(all_events(instance)[PLAN], "built")] == [False, True]
    accept(instance, DATE, before=[NEXT], now=at(MIDNIGHT + 900))


def test_a_day_that_failed_is_retried_by_a_person_and_comes_on_top(stages: Stages) -> None:
    stage = stages("directory")
    instance = two_days(stage)
    by_hand(instance, {"index.html": b"somebody else's"})
    instance.driven("ci", "run", check=7, now=at(200))
    shutil.rmtree(instance.public)
    instance.driven("ci", "run", check=4, now=at(MIDNIGHT + 300))  # the next day goes out; the first one waits for a person
    assert ids(instance) == ["a-0003", "a-0004"]
    instance.driven("reviewer", "retry", PLAN, "deploy", "--reason", "the folder was cleared", check=0, now=at(MIDNIGHT + 400))
    instance.driven("ci", "run", check=0, now=at(MIDNIGHT + 500))
    accept(instance, DATE, before=[NEXT], now=at(MIDNIGHT + 900))


@pytest.mark.parametrize("kind", ["directory", "other-repository"])
def test_a_canceled_days_articles_never_ride_with_the_next(stages: Stages, kind: str) -> None:
    instance = built_only(stages(kind))
    instance.driven("reviewer", "cancel", PLAN, "--reason", "not now", check=0, now=at(300))
    instance.driven("ci", "run", check=0, now=at(MIDNIGHT + 300))
    assert ids(instance) == ["a-0003", "a-0004"]
    accept(instance, NEXT, prepared=[DATE], now=at(MIDNIGHT + 900))


def test_a_rollback_is_not_undone_by_the_next_mornings_build(stages: Stages) -> None:
    instance = two_days(stages("directory"))
    instance.driven("ci", "run", check=0, now=at(200))
    shown = published(instance)
    instance.driven("ci", "run", check=0, now=at(MIDNIGHT + 300))
    instance.driven("planner", "change", "rollback", "1", "--reason", "too early", check=0, now=at(MIDNIGHT + 400))
    instance.driven("reviewer", "approve", "3", "--yes", check=0, now=at(MIDNIGHT + 401))
    instance.driven("ci", "run", check=0, now=at(MIDNIGHT + 500))
    assert published(instance).files == shown.files
    plan(instance, THIRD, MIDNIGHT + 600, 4)
    instance.driven("ci", "run", check=0, now=at(2 * MIDNIGHT + 10 * 3600 + 300))
    assert ids(instance) == ["a-0001", "a-0002", "a-0005", "a-0006"]
    accept(instance, THIRD, before=[DATE], prepared=[NEXT], now=at(2 * MIDNIGHT + 10 * 3600 + 900))


# --- an open deploy -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["directory", "other-repository"])
def test_an_open_deploy_holds_back_the_next(stages: Stages, kind: str) -> None:
    instance = two_days(stages(kind))
    killed = instance.driven("ci", "run", now=at(200), at="kill:before:target.switch:1")
    assert killed.returncode == -signal.SIGKILL
    tip = instance.remote.head("main")
    held = instance.driven("ci", "run", NEXT_PLAN, "--yes", "--json", now=at(MIDNIGHT + 300))
    assert held.returncode == 6 and "deploy-blocked" not in held.stderr
    nexts = [item["next"] for site in json.loads(held.stdout)["sites"] for item in site["plans"] if item["plan"] == NEXT_PLAN]
    assert [item["who"] for item in nexts] == ["run"] and PLAN in nexts[0]["what"]
    assert instance.remote.head("main") == tip and "index.html" not in live_files(instance.folder)
    instance.driven("ci", "run", check=0, now=at(MIDNIGHT + 600))
    accept(instance, NEXT, before=[DATE], now=at(MIDNIGHT + 900))


def test_a_deploy_whose_outcome_is_unknown_holds_back_the_next_until_a_person_settles_it(stages: Stages) -> None:
    instance = two_days(stages("directory"))
    instance.driven("ci", "run", now=at(200), at="kill:before:target.switch:1")
    by_hand(instance, {"index.html": b"somebody else's"})
    done = instance.driven("ci", "run", now=at(MIDNIGHT + 300))
    assert done.returncode == 7 and "[foreign-live]" in done.stderr
    instance.driven("ci", "run", check=6, now=at(MIDNIGHT + 400))
    assert live_files(instance.folder) == {"index.html": b"somebody else's"}
    assert not of_type(all_events(instance).get(NEXT_PLAN, []), "deploy-intent")
    (instance.public / "current").unlink()
    instance.driven("ci", "run", check=6, now=at(MIDNIGHT + 500))
    reason = ("--reason", "somebody had used the folder")
    instance.driven("reviewer", "settle", PLAN, "deploy", "--did-not", *reason, check=0, now=at(MIDNIGHT + 600))
    instance.driven("ci", "run", check=4, now=at(MIDNIGHT + 700))
    assert ids(instance) == ["a-0003", "a-0004"]
    instance.driven("reviewer", "retry", PLAN, "deploy", *reason, check=0, now=at(MIDNIGHT + 800))
    instance.driven("ci", "run", check=0, now=at(MIDNIGHT + 900))
    accept(instance, DATE, before=[NEXT], now=at(MIDNIGHT + 1200))


# --- something live that no record names --------------------------------------------------------------------------------------


def by_hand(instance: Instance, files: dict[str, bytes]) -> None:
    """Somebody puts files at the target, on top of what is there, with the tools that they would use."""
    if site_of(instance.folder)["target"]["kind"] == "git-branch":
        editor = clone(Repository(branch_of(instance.folder)[0], "host"), instance.folder / "by-hand")
        if editor.git("ls-remote", "origin", "refs/heads/pages"):
            editor.git("checkout", "--quiet", "-B", "pages", "origin/pages")
        else:
            editor.git("checkout", "--quiet", "--orphan", "pages")
            editor.git("rm", "-rfq", "--ignore-unmatch", ".")
        editor.commit(dict(files), "by hand")
        editor.push("pages")
        shutil.rmtree(editor.path)
        return
    folder = instance.public / "releases" / ("f" * 64)
    if (instance.public / "current").exists():
        shutil.copytree((instance.public / "current").resolve(), folder)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (instance.public / "current").unlink(missing_ok=True)
    (instance.public / "current").symlink_to(f"releases/{folder.name}")


@pytest.mark.parametrize("kind", KINDS)
def test_another_projects_files_at_the_target_are_not_built_upon(stages: Stages, kind: str) -> None:
    instance = stages(kind).restore("approved")
    by_hand(instance, {"index.html": b"another project", "docs/index.html": b"its handbook"})
    theirs = live_files(instance.folder)
    done = instance.driven("ci", "run", now=at(10))
    assert done.returncode == 7 and "[foreign-live]" in done.stderr
    again = instance.driven("ci", "run", now=at(60))
    assert again.returncode == 4, "it waits for a person, and does not try by itself"
    assert live_files(instance.folder) == theirs
    assert not of_type(all_events(instance)[PLAN], "deploy-intent")
    assert len(instance.alerts) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_push_by_hand_on_top_of_a_release_is_not_built_upon(stages: Stages, kind: str) -> None:
    stage = stages(kind)
    instance = stage.restore("first")
    plan(instance, NEXT, 100, 2)
    by_hand(instance, {"article-0001/index.html": b"a quick fix, directly on the server"})
    theirs = live_files(instance.folder)
    done = instance.driven("ci", "run", now=at(MIDNIGHT + 300))
    assert done.returncode == 7 and "[foreign-live]" in done.stderr
    assert live_files(instance.folder) == theirs
    assert len(of_type(all_events(instance)[PLAN], "deployed")) == 1
    assert not of_type(all_events(instance)[NEXT_PLAN], "deployed")


def test_a_folder_in_place_of_the_link_is_not_replaced(stages: Stages) -> None:
    instance = stages("directory").restore("approved")
    (instance.public / "current").mkdir(parents=True)
    (instance.public / "current" / "index.html").write_bytes(b"served by hand")
    done = instance.driven("ci", "run", now=at(10))
    assert done.returncode == 7 and "[target-foreign]" in done.stderr
    assert [path.name for path in instance.public.rglob("*")] == ["current", "index.html"]


# --- the build source ---------------------------------------------------------------------------------------------------------


ARTICLE = "site-src/blog/articles/a-0001/index.md"


def edit(instance: Instance, files: dict[str, bytes]) -> None:
    """Somebody commits files to the default branch."""
    editor = instance.fresh_clone("editor2")
    editor.commit(dict(files), "by hand")
    editor.push()


def test_a_prepared_file_with_this_plans_bytes_goes_on(stages: Stages) -> None:
    stage = stages("directory")
    ready = files_at(stage.restore("first").remote.path, "main", "site-src/blog/articles/")
    assert len(ready) == 2
    instance = stage.restore("approved")
    edit(instance, ready)
    instance.driven("ci", "run", check=0, now=at(10))
    accept(instance, DATE, first=stage.first, now=at(60))


def test_a_correction_replaces_the_bytes_recorded_last(stages: Stages) -> None:
    instance = stages("directory").restore("first")
    before = published(instance)
    known = json.loads(before.files[MANIFEST])["articles"]
    edit(instance, {f"{source(1)}/index.md": draft(1, "guide", "A better sentence, still marker-0001.\n").encode()})
    instance.driven("planner", "change", "correct", "a-0001", "--reason", "a better sentence", check=0, now=at(100))
    instance.driven("reviewer", "approve", "2", "--yes", check=0, now=at(101))
    instance.driven("ci", "run", check=0, now=at(200))
    after = published(instance)
    assert b"A better sentence" in instance.remote.git("show", f"main:{ARTICLE}").encode()
    assert b"A better sentence" in after.files["article-0001/index.html"]
    listed = json.loads(after.files[MANIFEST])["articles"]
    assert [{**item, "digest": ""} for item in listed] == [{**item, "digest": ""} for item in known]
    assert after.told == before.told, "a correction is not announced"
    accept(instance, DATE, now=at(260))


@pytest.mark.parametrize("name", ["index.md", "note.txt"])
def test_any_other_prepared_file_stops_and_is_kept(stages: Stages, name: str) -> None:
    instance = stages("directory").restore("approved")
    theirs = {f"site-src/blog/articles/a-0001/{name}": b"somebody's own text\n"}
    edit(instance, theirs)
    done = instance.driven("ci", "run", now=at(10))
    assert done.returncode == 7 and "[build-source-differs]" in done.stderr
    assert "somebody" not in done.stderr + done.stdout
    assert files_at(instance.remote.path, "main", "site-src/blog/articles/") == theirs
    assert not live_files(instance.folder)
    facts = outside(instance)
    instance.driven("ci", "run", check=4, now=at(60))
    assert outside(instance) == facts, "it waits for a person, and says so once"
