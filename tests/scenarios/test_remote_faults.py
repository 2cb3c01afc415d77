"""The remote goes silent at every talk, its answers get lost, its hooks kill and refuse: whatever it was, it ends well, once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.gitrepos import Repository
from tests.support.instance import Instance
from tests.support.oracle import accept, all_events, branch_of, live_files, of_type, outside, published, site_of
from tests.support.stage import DATE, KINDS, PLAN, Stage, at
from tests.support.volume import fair_slice

Stages = Callable[[str], Stage]

TALKS = {"directory": 14, "same-repository": 16, "other-repository": 20}
"""How often an undisturbed run talks with a remote, be it that of the ledger or that of the site."""
PUSHES = {"directory": 5, "same-repository": 5, "other-repository": 6}
APPROVING = 2
"""Pushes of one approval: the merge, and the request's branch that is removed."""


def hosts(instance: Instance) -> list[Repository]:
    """The bare repositories that a run pushes to."""
    found = [instance.remote]
    if site_of(instance.folder)["target"]["kind"] == "git-branch":
        site = Repository(branch_of(instance.folder)[0], "host")
        found += [site] if site.path != instance.remote.path else []
    return found


# --- silence ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_talks_so_often(stages: Stages, kind: str) -> None:
    stage = stages(kind)
    log = stage.folder / "talks.log"
    log.unlink(missing_ok=True)
    stage.restore("approved").driven("ci", "run", check=0, now=at(10), talks=str(log), unreachable=str(TALKS[kind] + 1))
    talks = log.read_text().split()
    assert (len(talks), talks.count("push")) == (TALKS[kind], PUSHES[kind])


SILENCES = [(kind, number) for kind in KINDS for number in range(1, TALKS[kind] + 1)]


@pytest.mark.parametrize(("kind", "number"), fair_slice("silent remotes", SILENCES, 9, stratum=lambda cell: cell[0]))
def test_a_remote_that_goes_silent(stages: Stages, kind: str, number: int) -> None:
    stage = stages(kind)
    instance = stage.restore("approved")
    done = instance.driven("ci", "run", now=at(10), unreachable=str(number))
    assert done.returncode in (5, 6), done.stderr
    # A silent remote is no news for the people on call; a switch of which nobody knows is.
    assert {line["id"] for line in instance.alerts} <= {f"{PLAN}/switch-unknown:deploy:1 to on-call"}
    instance.fresh_clone("ci2")
    instance.driven("ci2", "run", check=0, now=at(60))
    accept(instance, DATE, first=stage.first, now=at(120))


# --- lost answers -----------------------------------------------------------------------------------------------------------------


LOST = [(kind, number) for kind in KINDS for number in range(1, PUSHES[kind] + 1)]


@pytest.mark.parametrize(("kind", "number"), fair_slice("lost answers", LOST, 6, stratum=lambda cell: cell[0]))
def test_a_push_whose_answer_is_lost_is_not_made_twice(stages: Stages, kind: str, number: int) -> None:
    stage = stages(kind)
    instance = stage.restore("approved")
    instance.driven("ci", "run", check=0, now=at(10), lost_answer=str(number))
    commits = instance.commits()
    accept(instance, DATE, first=stage.first, now=at(60))
    assert commits == stage.restore("first").commits()


def test_a_proposal_and_an_approval_whose_answers_are_lost(stages: Stages) -> None:
    stage = stages("directory")
    for lost in range(1, APPROVING + 1):
        instance = stage.restore("empty")
        instance.driven("planner", "plan", check=0, now=at(0), lost_answer="1")
        instance.driven("planner", "plan", check=0, now=at(0))
        instance.driven("reviewer", "approve", "1", "--yes", check=0, now=at(1), lost_answer=str(lost))
        assert not instance.remote.git("for-each-ref", "refs/heads/publisher/requests/")
    instance.driven("ci", "run", check=0, now=at(10))
    accept(instance, DATE, first=stage.first, now=at(60))


@pytest.mark.parametrize("kind", ["directory", "other-repository"])
def test_a_switch_whose_answer_is_lost_is_seen_at_the_target(stages: Stages, kind: str) -> None:
    stage = stages(kind)
    instance = stage.restore("approved")
    instance.driven("ci", "run", check=0, now=at(10), lost_switch="1")
    assert [event["how"] for event in of_type(all_events(instance)[PLAN], "deployed")] == ["switched"]
    accept(instance, DATE, first=stage.first, now=at(60))


# --- a remote of flesh and blood -----------------------------------------------------------------------------------------------------

KILL = 'kill -9 "$PPID"'
"""Ends git-receive-pack after it has moved the refs: the client sees a broken connection."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("script", [KILL, "exit 1"], ids=["kill", "exit"])
def test_a_remote_that_hangs_up_after_every_update(stages: Stages, kind: str, script: str) -> None:
    stage = stages(kind)
    instance = stage.restore("approved")
    for host in hosts(instance):
        host.hook("post-receive", script)
    instance.driven("ci", "run", check=0, now=at(10))
    for host in hosts(instance):
        host.hook("post-receive", "exit 0")
    accept(instance, DATE, first=stage.first, now=at(60))


@pytest.mark.parametrize("hook", ["update", "pre-receive"])
def test_a_site_branch_that_is_refused_takes_its_record_with_it(stages: Stages, hook: str) -> None:
    """The switch and its record are one push: where the host refuses one of the refs, neither moves."""
    stage = stages("same-repository")
    instance = stage.restore("approved")
    by_name = 'if [ "$1" = refs/heads/pages ]; then exit 1; fi'
    by_line = 'while read -r old new ref; do if [ "$ref" = refs/heads/pages ]; then exit 1; fi; done'
    instance.remote.hook(hook, by_name if hook == "update" else by_line)
    done = instance.driven("ci", "run", now=at(10))
    assert done.returncode == 5 and "[push-refused]" in done.stderr, done.stderr
    assert not live_files(instance.folder)
    assert not of_type(all_events(instance)[PLAN], "deployed")
    (instance.remote.path / "hooks" / hook).unlink()
    instance.fresh_clone("ci2")
    instance.driven("ci2", "run", check=0, now=at(60))
    accept(instance, DATE, first=stage.first, now=at(120))


def test_a_state_branch_that_is_refused_takes_the_site_branch_with_it(stages: Stages) -> None:
    stage = stages("same-repository")
    instance = stage.restore("approved")
    # The claim is taken; from then on the ledger's branch is refused.
    instance.remote.hook("update", '[ "$1" != refs/heads/main ] || [ ! -e claimed ] || exit 1; touch claimed')
    done = instance.driven("ci", "run", now=at(10))
    assert done.returncode == 5 and "[push-refused]" in done.stderr, done.stderr
    assert not live_files(instance.folder)
    (instance.remote.path / "hooks" / "update").unlink()
    (instance.remote.path / "claimed").unlink()
    instance.fresh_clone("ci2")
    instance.driven("ci2", "run", check=0, now=at(60))
    accept(instance, DATE, first=stage.first, now=at(120))


@pytest.mark.parametrize("kind", KINDS)
def test_a_ledger_that_takes_no_push_is_named_and_nothing_happens(stages: Stages, kind: str) -> None:
    stage = stages(kind)
    instance = stage.restore("approved")
    instance.remote.hook("pre-receive", "exit 1")
    tip, live = instance.remote.head("main"), published(instance)
    done = instance.driven("ci", "run", now=at(10))
    assert done.returncode == 5 and "[push-refused]" in done.stderr and "publisher doctor" in done.stderr
    assert (instance.remote.head("main"), published(instance)) == (tip, live)
    (instance.remote.path / "hooks" / "pre-receive").unlink()
    instance.driven("ci", "run", check=0, now=at(60))
    accept(instance, DATE, first=stage.first, now=at(120))


def test_a_site_repository_that_takes_no_push_leaves_an_open_deploy_that_is_closed_later(stages: Stages) -> None:
    stage = stages("other-repository")
    instance = stage.restore("approved")
    site = hosts(instance)[1]
    site.hook("pre-receive", "exit 1")
    done = instance.driven("ci", "run", now=at(10))
    assert done.returncode == 6, done.stderr
    held = outside(instance)
    assert not live_files(instance.folder) and held
    (site.path / "hooks" / "pre-receive").unlink()
    instance.fresh_clone("ci2")
    instance.driven("ci2", "run", check=0, now=at(60))
    accept(instance, DATE, first=stage.first, now=at(120))
