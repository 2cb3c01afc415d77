"""Claims, locks, fences and pushes: who may act, and what a refused push means."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from publisher.errors import InputProblem, StoppedForSafety
from publisher.gitstore.instance_files import plan_of_file
from publisher.gitstore.yaml_writing import render_yaml
from publisher.targets.directory import DirectoryTarget
from tests.field.stories import FIRST, SECOND, claims, effects, manifest, told
from tests.support.github_instance import STATE, GithubInstance
from tests.support.oracle import outside
from tests.support.scene import Scene
from tests.support.target_actors import SITE, at, fence, make_release
from tests.support.values import publication_data
from tests.support.volume import fair_slice

FULL = re.compile(r"sha256:[0-9a-f]{64}")
PAUSED_AT = ("before:records.publish:1", "after:records.publish:2")
STALLED_AT = ("after:records.publish:2", "before:channel.send:1")
SHORT = re.compile(r"sha256:(?![0-9a-f]{64}(?![0-9a-f]))")


def test_C_01_record_refused_after_the_effect(approved: Scene) -> None:
    """The branch moved between switch and record: the same record is applied on top, and nothing is done again."""
    log = approved.folder / "record.log"
    log.unlink(missing_ok=True)
    with approved.stopped("12-01 09:01", "after:target.switch:1") as held:
        other = approved.edit({"README.md": "somebody else's change\n"})
        done = held.go_on()
    assert done.code == 0
    approved.run("12-01 09:10", log=str(log))
    assert effects(log) == []
    assert (approved.events(FIRST).count("deployed"), approved.events(FIRST).count("confirmed")) == (1, 1)
    assert approved.instance.remote.git("merge-base", "--is-ancestor", other, "main") == ""
    assert approved.text("README.md") == "somebody else's change\n"


def test_C_02_half_of_the_refs_moved(approved: Scene) -> None:
    """A site branch in the ledger's repository: where one of both is refused, neither moves."""
    configuration = approved.text("publisher.yaml")
    target = next(line for line in configuration.splitlines() if line.strip().startswith("target:"))
    approved.edit({"publisher.yaml": configuration.replace(target, "    target: {kind: git-branch, branch: pages}")})
    approved.instance.remote.hook("update", '[ "$1" != refs/heads/pages ] || exit 1')
    done = approved.run("12-01 09:01", check=5)
    assert done.code_of(FIRST) == "push-refused"
    assert "refs/heads/pages" not in approved.refs()
    assert not {"deployed", "confirmed"} & set(approved.events(FIRST))


def test_C_04_built_and_not_public(approved: Scene) -> None:
    """A page that answers 404 is absent, whatever the target said; once it is there, the same plan is confirmed."""
    log = approved.folder / "again.log"
    log.unlink(missing_ok=True)
    approved.web.missing.add("/article-0001/")
    done = approved.run("12-01 09:01", check=6)
    plan = done.plan(FIRST)
    assert (plan["problem"]["code"], plan["stage"]) == ("public-partial", "deployed")
    assert {item["id"]: item["public"] for item in plan["articles"]} == {"a-0001": "absent", "a-0002": "confirmed"}
    approved.web.missing.clear()
    approved.run("12-01 09:30", log=str(log))
    assert "target.switch" not in effects(log)
    assert {"confirmed", "announced"} <= set(approved.events(FIRST))


def test_C_05_public_article_lost_by_a_tree_without_it(public: Scene) -> None:
    """The records of the first date are gone from the branch: the next release would lack its articles, so none goes out."""
    before = public.live
    public.edit({f"ledger/{FIRST}.jsonl": None}, "Tidy up")
    done = public.run("12-02 09:01", check=7)
    assert done.code_of(SECOND) == "foreign-live"
    assert public.live == before


def test_C_07_policy_refusal_taken_for_a_race(approved: Scene) -> None:
    """A protected branch is asked once; its own words are not passed on, the next command is."""
    talks = approved.folder / "talks.log"
    talks.unlink(missing_ok=True)
    approved.instance.remote.hook("pre-receive", "echo 'GH006: Protected branch update failed' >&2; exit 1")
    done = approved.run("12-01 09:01", check=5, talks=str(talks))
    assert talks.read_text().split().count("push") <= 4, "twice for the claim, twice for the notice that a person is needed"
    problem = done.data["sites"][0]["problem"] or done.plan(FIRST)["problem"]
    assert (problem["code"], "publisher doctor" in problem["next"]) == ("push-refused", True)
    assert "GH006" not in done.text
    assert approved.live == {}
    talks.unlink()
    paused = approved.do("reviewer", "pause", "blog", "--reason", "x", now="12-01 09:10", check=5, talks=str(talks))
    assert "[push-refused]" in paused.err
    assert talks.read_text().split().count("push") == 2


def test_C_08_protection_taken_away_for_the_robot(hosted: GithubInstance) -> None:
    """The default branch takes no push from the run's account, and a whole publication works; without a rule, doctor says so."""
    number = hosted.propose("11-30 18:00", "--date", "2026-12-01")
    hosted.merge(number, "11-30 20:00")
    tip = hosted.remote.head("main")
    hosted.do("ci", "run", "--scheduled", "--yes", now="12-01 09:07")
    assert sorted(manifest(hosted.live())) == ["a-0001", "a-0002"]
    assert hosted.remote.head("main") == tip
    assert [event["type"] for event in hosted.ledger(FIRST, STATE)][-1] == "confirmed"

    def codes() -> set[str]:
        said = hosted.driven("owner", "doctor", "--json", now=hosted.go_to("12-01 10:00"))
        return {item.get("code", "") for item in json.loads(said.stdout)["findings"]}

    assert "no-request-rule" not in codes()
    hosted.sim.protection.unprotect("main")
    try:
        assert "no-request-rule" in codes()
    finally:
        hosted.sim.protection.protect("main", required_reviews=1, pull_request=True, no_force=True, no_delete=True)


@pytest.mark.parametrize("where", PAUSED_AT, ids=["claim", "intent"])
def test_C_10_pause_between_look_and_act(approved: Scene, where: str) -> None:
    """Pause and claim lie on one branch: a claim that was decided before the pause is not taken, an intent is closed."""
    with approved.stopped("12-01 09:01", where) as held:
        approved.do("reviewer", "pause", "blog", "--reason", "stop", now="12-01 09:01:30")
        done = held.go_on()
    assert done.code in (4, 5, 7), done.text
    assert approved.live == {}
    assert claims(approved) == (0 if where.startswith("before") else 1)
    assert "deployed" not in approved.events(FIRST)


@pytest.mark.parametrize("where", fair_slice("field C-11", STALLED_AT, 1, stratum=bool))
def test_C_11_stalled_worker_against_its_successor(approved: Scene, where: str) -> None:
    """Every boundary has its cell in scenarios/test_stale_holder.py; here one before the switch, and one after it."""
    with approved.stopped("12-01 09:01", where) as held:
        approved.run("12-01 09:20", who="second")
        before = outside(approved.instance)
        done = held.go_on()
    assert (done.code, done.code_of(FIRST)) == (7, "claim-lost")
    after = outside(approved.instance)
    assert {name for name in after if after[name] != before.get(name)} <= {"public/lock"}
    assert sorted(told(approved)) == sorted(set(told(approved)))


def test_C_13_pushed_and_never_shown(public: Scene) -> None:
    """The switch happened, and what the public gets stays the old site: not confirmed, with the next command."""
    public.web.cache(busted_too=True)
    done = public.run("12-02 09:01", check=6)
    plan = done.plan(SECOND)
    assert (plan["stage"], plan["problem"]["code"]) == ("deployed", "public-absent")
    assert plan["problem"]["next"].startswith(f"publisher run {SECOND}")
    assert len(told(public)) == 2, "only the first date was announced"


def test_C_14_credential_shorter_than_the_work(hosted: GithubInstance) -> None:
    """The run's token is void when it comes to its record; the next run, with a fresh one, finishes the same work."""
    number = hosted.propose("12-01 18:00", "--date", "2026-12-02")
    hosted.merge(number, "12-01 20:00")
    process = hosted.start_driven("ci", "run", "--yes", now=hosted.go_to("12-02 09:01"), at="stop:after:target.switch:1")
    os.waitpid(process.pid, os.WUNTRACED)
    account, hosted.people["ci"].token = hosted.people["ci"].token, "void"
    process.send_signal(signal.SIGCONT)
    said = "".join(process.communicate(timeout=120))
    assert process.returncode in (5, 6), said
    assert account not in said
    assert "confirmed" not in [event["type"] for event in hosted.ledger(SECOND, STATE)]
    hosted.people["ci"].token = "fresh-" + account
    hosted.do("ci", "run", "--yes", now="12-02 09:30")
    kinds = [event["type"] for event in hosted.ledger(SECOND, STATE)]
    assert (kinds.count("deployed"), kinds.count("confirmed")) == (1, 1)


def test_C_16_serial_and_out_of_order(tmp_path: Path) -> None:
    """Two builds on the same base; the older one reaches the switch second, with everything in order otherwise."""

    def actor() -> DirectoryTarget:
        return DirectoryTarget(tmp_path / "public", shown="public", site=SITE, now=at)

    base, older, newer = (make_release(tmp_path / word, word) for word in ("base", "older", "newer"))
    for release, on, number in ((base, "", 1), (newer, base.id, 3)):
        actor().store(release)
        actor().switch(release, base=on, fence=fence(number))
    actor().store(older)
    for number, code in ((2, "fence-refused"), (4, "base-moved")):
        with pytest.raises(StoppedForSafety) as refusal:
            actor().switch(older, base=base.id, fence=fence(number))
        assert refusal.value.code == code
    assert actor().look().release == newer.id


def test_C_17_abbreviated_identity(public: Scene) -> None:
    """Records and plans hold whole digests and commits; a short one is refused, and no command takes one."""
    for path in (FIRST, "blog/claims/2026", "blog/content"):
        for event in public.instance.ledger(path):
            assert not SHORT.search(json.dumps(event))
            assert len(event["commit"]) == 40
    assert FULL.search(json.dumps(public.instance.ledger(FIRST)))
    data = publication_data(policy={"version": 3, "digest": "sha256:1a2b3c4d5e6f"})
    with pytest.raises(InputProblem) as refusal:
        plan_of_file(render_yaml(data), "plans/handbook/daily/2026/2026-12-01.yaml")
    assert refusal.value.code == "schema-pattern"
    assert public.do("reviewer", "approve", "1a2b3c4d5e6f", "--yes", now="12-01 10:00", check=2).err
