"""Restoring, rewinding, pausing, and what outlives its time."""

from __future__ import annotations

import json

from tests.field.stories import FIRST, SECOND, told
from tests.support.instance import make_keys
from tests.support.oracle import outside
from tests.support.scene import Scene, daily


def ledger_files(scene: Scene) -> list[str]:
    return scene.instance.remote.git("ls-tree", "-r", "--name-only", "main", "ledger/").split()


def test_R_01_restore_that_publishes_again(public: Scene) -> None:
    """The ledger is lost. Until it is restored nothing is published; afterwards nothing is published or told again."""
    before, messages = public.live, told(public)
    public.edit(dict.fromkeys(ledger_files(public)), "Tidy up")
    done = public.run("12-01 12:00", check=7)
    assert done.site_problem == "no-ledger"
    assert "--restore" in done.data["sites"][0]["problem"]["next"]
    public.do("ci", "reconcile", "blog", "--restore", now="12-01 12:10")
    # Whether everybody was told stood in the lost records alone: a person says so, and until then nobody is told.
    assert public.run("12-01 12:20", check=6).plan(FIRST)["next"]["code"] == "announce-unknown"
    assert (public.live, told(public)) == (before, messages)
    public.do("ci", "settle", FIRST, "announce", "--happened", "--reason", "the post says so", now="12-01 12:30")
    refs = public.refs()
    assert public.run("12-01 12:40").data["sites"][0]["pushes"] == 0
    assert (public.live, told(public), public.refs()) == (before, messages, refs)


def test_R_03_old_intent_survives_a_contrary_act(public: Scene) -> None:
    """What was planned for tomorrow is canceled, what is public is withdrawn: neither comes back by an older wish."""
    public.do("reviewer", "cancel", SECOND, "--reason", "not at all", now="12-01 10:00")
    public.publish("12-01 10:05", "change", "withdraw", "a-0002", "--reason", "no longer true")
    done = public.run("12-02 09:01", SECOND, "--yes")
    assert (done.plan(SECOND)["stage"], done.data["sites"][0]["pushes"]) == ("canceled", 0)
    made = public.do("planner", "plan", "--date", "2026-12-03", "--local", "--json", now="12-02 10:00").data["proposed"][0]
    assert "a-0002" not in [article["id"] for plan in made["plans"] for article in plan["articles"]]
    assert public.articles() == ["a-0001"]


def test_R_04_marker_apart_from_the_fact(public: Scene) -> None:
    """Only the records of seeing and telling are gone: the site is looked at again, nobody is told again, and it goes on."""
    messages = told(public)
    path = f"ledger/{FIRST}.jsonl"
    lines = public.text(path).splitlines(keepends=True)
    kinds = [json.loads(line)["type"] for line in lines]
    public.edit({path: "".join(lines[: kinds.index("confirmed")])}, "An older file")
    public.run("12-01 12:00")
    assert (public.events(FIRST).count("deployed"), public.events(FIRST).count("confirmed")) == (1, 1)
    assert told(public) == messages
    public.run("12-02 09:01")
    assert public.articles() == ["a-0001", "a-0002", "a-0003", "a-0004"]


def test_R_06_rules_rolled_back(approved: Scene) -> None:
    """Rules that were once in force are pushed again: the approved newer ones stay, and the older approver approves nothing."""
    scene = approved
    older = scene.text("approval.yaml")
    line = next(row for row in older.splitlines() if "reviewer@example.org" in row)
    keys = make_keys(scene.instance.folder / "more-keys")
    second = line.replace("reviewer@example.org", "second@example.org")
    second = second.split('"')[0] + f'"{keys["second"]}"' + second.split('"')[2]
    planner = scene.instance.clone("planner")
    planner.git("fetch", "--quiet", "origin")
    planner.git("checkout", "--quiet", "-B", "rules", "origin/main")
    planner.commit(
        {"approval.yaml": older.replace(line, second)}, "Another approver", key=scene.instance.folder / "keys" / "planner"
    )
    planner.push("publisher/requests/7")
    scene.approve(7, "12-01 08:10")
    scene.edit({"approval.yaml": older}, "Back to the rules from before")
    number = scene.plan("12-01 08:20", "--date", "2026-12-03")
    refused = scene.approve(number, "12-01 08:25", check=4)
    assert "[key-not-listed]" in refused.err
    told = scene.do("ci", "approve", "--record", now="12-01 08:30", check=4)
    assert "[rules-ignored]" in told.err
    assert daily("12-03") not in [plan["plan"] for plan in scene.run("12-03 09:01", check=None).data["sites"][0]["plans"]]


def test_R_07_pause_swallows_or_floods(approved: Scene) -> None:
    """After a pause of days nothing goes out by itself; each missed date waits for a person's word."""
    approved.do("reviewer", "pause", "blog", "--reason", "away", now="12-01 08:30")
    approved.do("reviewer", "resume", "blog", "--reason", "back", now="12-05 10:00")
    done = approved.run("12-05 10:05", check=4)
    assert [done.code_of(path) for path in (FIRST, SECOND)] == ["missed", "missed"]
    for path in (FIRST, SECOND):
        command = done.plan(path)["next"]["command"]
        assert f"publisher plan --again {path}" in command
        assert f"publisher skip {path[-10:]}" in command
    assert approved.live == {}


def test_R_09_what_can_never_work_tried_for_ever(approved: Scene) -> None:
    """The target is gone for good: one attempt, one message; later runs do and say nothing until a person retries."""
    (approved.instance.public / "current").mkdir(parents=True)
    assert approved.run("12-01 09:01", check=7).code_of(FIRST) == "target-foreign"
    said, before = len(approved.instance.alerts), outside(approved.instance)
    for minute in ("12-01 10:00", "12-01 11:00"):
        done = approved.run(minute, check=4)
        assert "publisher retry" in done.plan(FIRST)["next"]["command"]
    assert (len(approved.instance.alerts), outside(approved.instance)) == (said, before)
    assert said == 1


def test_R_10_one_fact_recorded_twice(public: Scene) -> None:
    """A ledger file is copied by hand under another date: told with its place, by every reader, and nobody crashes."""
    copied = f"ledger/{daily('12-05')}.jsonl"
    before = public.live
    public.edit({copied: public.text(f"ledger/{FIRST}.jsonl")}, "A copy")
    assert public.run("12-01 12:00", check=7).site_problem == "deployments-doubled"
    for verb, code in ((("status", "--fresh"), 7), (("reconcile", "blog"), 7), (("log",), 0), (("audit",), 7)):
        done = public.do("ci", *verb, now="12-01 12:00", check=code)
    assert f"{copied}:5:1: two records claim deployment 1 [deployments-doubled]" in done.text
    assert "a-0001 was public before [published-twice]" in done.text
    assert public.live == before
