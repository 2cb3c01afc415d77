"""``publisher audit`` and ``publisher log`` as people and scripts use them: exit codes, JSON, places, and nothing written."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.support.audited import CLAIMS, FIRST, LAUNCH, SECOND, Tampered, copy_clone, find, finished_story, recorded_events
from tests.support.command_line import publisher
from tests.support.gitrepos import snapshot

LINE = f"ledger/{FIRST}.jsonl:1:1"


@pytest.fixture(autouse=True)
def _no_root(monkeypatch):
    monkeypatch.delenv("PUBLISHER_ROOT", raising=False)


@pytest.fixture
def clone(tmp_path):
    return copy_clone(tmp_path / "clone")


@pytest.fixture
def tampered(clone):
    world = Tampered(clone, finished_story().clock.now())
    steps = world.steps()
    find(steps, FIRST, "approved")["by"] = ["mallory@example.org"]
    world.replay(steps)
    return clone


# --- audit ------------------------------------------------------------------------------------------------------------------


def test_a_clean_audit_says_who_approved_what_and_ends_with_0(clone):
    said = publisher("audit", at=clone)
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].startswith("blog: release ") and lines[0].endswith(", 4 public articles")
    assert (
        f"  a-0003  /article-0003/  {FIRST}: approved by reviewer@example.org (request 3), "
        "deployed 2026-01-05 08:08 HKT (00:08Z), confirmed 2026-01-05 08:08 HKT (00:08Z)" in lines
    )
    assert lines[-1] == "no problem found"
    assert "--rebuild" in said.err
    assert "Article number" not in said.out


def test_rebuilding_counts_what_was_built_again(clone):
    said = publisher("audit", "blog", "--rebuild", "--json", at=clone)
    assert said.code == 0
    assert said.data["schema"] == "publisher.audit/1" and said.data["rebuilt"] is True
    assert said.data["counts"]["releases_built_again"] == said.data["counts"]["deployments"] == 5
    (site,) = said.data["sites"]
    assert [row["id"] for row in site["articles"]] == ["a-0008", "a-0001", "a-0003", "a-0005"]


def test_a_problem_has_its_code_and_place_and_exit_7(tampered):
    said = publisher("audit", at=tampered)
    assert said.code == 7
    (line,) = [line for line in said.out.splitlines() if line.startswith("PROBLEM")]
    assert line.startswith(f"PROBLEM  {LINE}: ") and line.endswith("[approvers-differ]")
    assert said.out.splitlines()[-1] == "1 problem"


def test_a_problem_as_json(tampered):
    said = publisher("audit", "--json", at=tampered)
    assert said.code == 7
    (problem,) = said.data["problems"]
    assert (problem["code"], problem["where"]) == ("approvers-differ", LINE)
    assert said.data["sites"][0]["articles"], "the rest of the report is there too"


def test_the_pinned_root_is_asked_for_and_compared(clone, monkeypatch):
    said = publisher("audit", "--json", at=clone)
    (warning,) = said.data["warnings"]
    assert warning["code"] == "root-not-pinned" and said.data["root"] in warning["says"]
    monkeypatch.setenv("PUBLISHER_ROOT", said.data["root"])
    assert publisher("audit", "--json", at=clone).data["warnings"] == []
    monkeypatch.setenv("PUBLISHER_ROOT", "0" * 40)
    said = publisher("audit", "--json", at=clone)
    assert (said.code, said.data["error"]["code"]) == (7, "root-differs")


def test_a_shallow_clone_is_refused(clone):
    (clone / ".git" / "shallow").write_text("0" * 40 + "\n")
    said = publisher("audit", "--json", at=clone)
    assert (said.code, said.data["error"]["code"]) == (7, "shallow-history")


def test_an_unknown_site_is_an_input_to_fix(clone):
    said = publisher("audit", "shop", "--json", at=clone)
    assert (said.code, said.data["error"]["code"]) == (3, "unknown-site")


@pytest.mark.parametrize("argv", [("audit", "--rebuild"), ("log",)])
def test_nothing_is_written(clone, argv):
    before = snapshot(clone)
    assert publisher(*argv, at=clone).code == 0
    assert snapshot(clone) == before


@pytest.mark.parametrize("argv", [("audit",), ("log",)])
def test_no_connection_is_opened(clone, argv):
    subprocess.run(["git", "config", "remote.origin.url", "/nowhere/at/all.git"], cwd=clone, check=True)
    assert publisher(*argv, at=clone).code == 0


# --- log ----------------------------------------------------------------------------------------------------------------------


def test_the_story_of_a_site_with_the_newest_last(clone):
    said = publisher("log", at=clone)
    assert said.code == 0
    head, *lines = said.out.splitlines()
    assert head.split() == ["WHEN", "WHO", "ABOUT", "WHAT"]
    assert len(lines) == recorded_events()
    assert lines[0].startswith("2026-01-01 08:00 HKT (00:00Z)") and lines[-1].endswith("released the claim (fence 6)")
    (deployed,) = [line for line in lines if f" {FIRST} " in line and "deployed release" in line]
    assert deployed.endswith(", approved by reviewer@example.org") and "2026-01-05 08:08 HKT (00:08Z)  ci " in deployed
    assert "Article number" not in said.out and "marker-" not in said.out


def test_the_story_of_one_plan(clone):
    said = publisher("log", f"plans/{SECOND}.yaml", "--json", at=clone)
    assert said.code == 0 and said.data["schema"] == "publisher.log/1"
    types = [event["type"] for event in said.data["events"]]
    assert types == ["claimed", "approved", "prepared", "built", "deploy-intent", "deployed", "confirmed"]
    assert {event["about"] for event in said.data["events"]} == {SECOND, CLAIMS}
    assert said.data["events"][5]["approved_by"] == ["reviewer@example.org"]


def test_since_a_date(clone):
    said = publisher("log", "--site", "blog", "--since", "2026-01-06", "--json", at=clone)
    assert {event["at"][:10] for event in said.data["events"]} == {"2026-01-06"}
    assert publisher("log", "--since", "2027-01-01", "--json", at=clone).data["events"] == []


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        (("log", "--since", "yesterday"), 2, "bad-date"),
        (("log", "blog/daily/2026/2026-01-31"), 2, "no-such-plan"),
        (("log", LAUNCH, "--since", "2027-01-01"), 0, ""),
        (("log", "--site", "shop"), 3, "unknown-site"),
        (("log", "launch"), 2, "bad-plan-name"),
    ],
)
def test_what_cannot_be_told_is_said(clone, argv, code, word):
    said = publisher(*argv, "--json", at=clone)
    assert said.code == code
    assert (json.loads(said.out).get("error") or {"code": ""})["code"] == word


def test_a_broken_ledger_is_named_by_its_line(clone):
    world = Tampered(clone, finished_story().clock.now())
    path = f"ledger/{FIRST}.jsonl"
    world.commit({path: world.text(path).replace(b"a-0001", b"a-0009", 1)})
    said = publisher("log", "--json", at=clone)
    assert (said.code, said.data["error"]["code"], said.data["error"]["where"]) == (7, "ledger-broken", f"{path}:3:1")
