"""``publisher why`` as people and scripts use it: what is told apart, the JSON, proofs, exit codes, and that it only reads."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.audited import (
    CORRECTION,
    FIRST,
    LAUNCH,
    OTHER_DRAFTS,
    SECOND,
    WITHDRAWAL,
    Tampered,
    copy_clone,
    find,
    finished_story,
)
from tests.support.command_line import publisher
from tests.support.gitrepos import Repository, snapshot


@pytest.fixture
def clone(tmp_path):
    return copy_clone(tmp_path / "clone")


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """A clone that tests only read."""
    return copy_clone(tmp_path_factory.mktemp("why") / "clone")


def plans(said):
    assert said.code == 0, said.err
    return [plan["plan"] for site in said.data["sites"] for plan in site["plans"]]


@pytest.mark.parametrize(
    ("asked", "kind", "found"),
    [
        (FIRST, "plan", [FIRST]),
        (f"plans/{FIRST}.yaml", "plan", [FIRST]),
        ("daily-publication:2026-01-05", "plan", [FIRST]),
        ("change:2026-01-06-2", "plan", [WITHDRAWAL]),
        ("launch", "plan", [LAUNCH]),
        ("2026-01-06", "date", [CORRECTION, WITHDRAWAL, "blog/changes/2026/2026-01-06-3", OTHER_DRAFTS, SECOND]),
        ("2026-02-01", "date", []),
        ("a-0001", "article", [FIRST, CORRECTION]),
        ("a-0007", "article", []),
        ("/article-0002/", "url", [WITHDRAWAL, SECOND]),
        ("/article-0002", "url", [WITHDRAWAL, SECOND]),
        ("{url}/article-0008/", "url", [LAUNCH]),
    ],
)
def test_what_is_asked_is_told_apart_by_its_form(read_only, asked, kind, found):
    said = publisher("why", asked.format(url=finished_story().instance.url), "--json", at=read_only)
    assert plans(said) == found
    assert (said.data["schema"], said.data["asked"]["kind"]) == ("publisher.why/1", kind)


def test_one_plan_is_told_from_the_request_to_the_public(read_only):
    said = publisher("why", FIRST, "--json", at=read_only)
    (plan,) = said.data["sites"][0]["plans"]
    ledger = {event["type"]: event for event in finished_story().instance.ledger(FIRST, "publisher-state")}
    assert (plan["exists"], plan["stage"], plan["stopped"], plan["next"]["who"]) == ("merged", "confirmed", None, "nobody")
    assert plan["asked"] == [{"request": 3, "gate": "plan", "by": ["planner@example.org"], "at": "", "how": "written"}]
    (approval,) = plan["approvals"]
    assert (approval["by"], approval["at"], approval["merge"], approval["proof"]) == (
        ["reviewer@example.org"], ledger["approved"]["merged_at"], ledger["approved"]["merge"], "derived",
    )  # fmt: skip
    (claim,) = plan["claims"]
    assert (claim["fence"], claim["holder"], claim["epoch"]) == (3, "ci", 1) and claim["released"]
    assert [act["type"] for act in plan["carried_out"]] == ["prepared", "built", "deploy-intent", "deployed", "confirmed"]
    first, second = plan["public"]
    assert (first["id"], first["public"], first["seen_at"]) == ("a-0001", "confirmed", ledger["confirmed"]["at"])
    assert first["seen"].endswith("/article-0001/") and first["seen"] in ledger["confirmed"]["pages"]
    assert [(change["what"], change["plan"]) for change in first["since"]] == [("corrected", CORRECTION)]
    assert second["since"] == [] and plan["decided"] == []


def test_an_approval_that_its_merge_does_not_prove_is_said_so(clone):
    world = Tampered(clone, finished_story().clock.now())
    steps = world.steps()
    find(steps, FIRST, "approved")["by"] = ["mallory@example.org"]
    find(steps, SECOND, "approved")["merge"] = "1" * 40
    world.replay(steps)
    for path in (FIRST, SECOND):
        said = publisher("why", path, "--json", at=clone)
        assert said.data["sites"][0]["plans"][0]["approvals"][0]["proof"] == "not-proven"
    assert "NOT PROVEN" in publisher("why", FIRST, at=clone).out


def test_a_plan_that_is_only_proposed_is_found_in_its_request(clone):
    hand = Repository(clone)
    merge = hand.git("rev-parse", "refs/remotes/origin/main")
    head = hand.git("rev-parse", f"{merge}^2")
    hand.git("update-ref", "refs/remotes/origin/main", f"{merge}^1")
    hand.git("update-ref", "refs/remotes/origin/publisher/requests/8", head)
    said = publisher("why", OTHER_DRAFTS, "--json", at=clone)
    assert said.data["sites"][0]["proposed"] == [{"plan": OTHER_DRAFTS, "request": 8, "command": "publisher approve 8"}]
    assert "request 8 waits for a decision" in publisher("why", OTHER_DRAFTS, at=clone).out


@pytest.mark.parametrize(
    ("asked", "exit_code", "code"),
    [
        ("blog/daily/2026/2026-01-31", 2, "no-such-plan"),
        ("a-9999", 2, "not-known"),
        ("/nowhere/", 2, "not-known"),
        ("https://elsewhere.example/article-0001/", 2, "not-known"),
        ("2026-02-30", 2, "bad-date"),
        ("what is this", 2, "bad-question"),
        ("shop/daily/2026/2026-01-05", 3, "unknown-site"),
        ("blog/../secret", 2, "bad-plan-name"),
    ],
)
def test_what_cannot_be_answered_is_said(read_only, asked, exit_code, code):
    said = publisher("why", asked, "--json", at=read_only)
    assert (said.code, said.data["error"]["code"]) == (exit_code, code)


def test_nothing_is_written_no_connection_is_opened_and_no_title_is_told(clone):
    subprocess.run(["git", "config", "remote.origin.url", "/nowhere/at/all.git"], cwd=clone, check=True)
    before = snapshot(clone)
    for asked in (FIRST, LAUNCH, "2026-01-06", "a-0002", "/article-0001/"):
        for more in ((), ("--json",)):
            said = publisher("why", asked, *more, at=clone)
            assert said.code == 0
            assert "Article number" not in said.out and "marker-" not in said.out
    assert snapshot(clone) == before
