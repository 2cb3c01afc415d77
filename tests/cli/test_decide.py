"""``decide``: a form becomes one verb's arguments, and nothing in it can become anything else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from publisher.cli.decide import FORMS, PROPOSALS, arguments_of, read_form
from publisher.errors import UsageProblem
from tests.support.github_instance import github_instance
from tests.support.instance import Instance, make_instance


def form(**fields: str | None) -> str:
    return json.dumps({"decision": "pause", "site": "blog", "reason": "legal asks", **fields})


def test_every_decision_names_a_verb_of_its_own() -> None:
    from publisher.cli.main import PEOPLE, VERBS

    # The steps of a takedown are done at other services, by somebody who sits at a machine and looks.
    assert set(FORMS) == {name for name, (_, _, group) in VERBS.items() if group == PEOPLE} - {"decide", "takedown"} | set(
        PROPOSALS
    )
    assert {verb for verb, _ in PROPOSALS.values()} <= set(VERBS)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (form(), ["--reason=legal asks", "--", "blog"]),
        (form(site="--help"), ["--reason=legal asks", "--", "--help"]),
        (form(reason="--yes; rm -rf /"), ["--reason=--yes; rm -rf /", "--", "blog"]),
        (form(decision="skip", date="2026-12-01", site=""), ["--reason=legal asks", "--", "2026-12-01"]),
        (form(decision="skip", date="2026-12-01"), ["--reason=legal asks", "--site=blog", "--", "2026-12-01"]),
        (form(decision="retry", plan="blog/x", step="deploy"), ["--reason=legal asks", "--", "blog/x", "deploy"]),
        (
            form(decision="settle", plan="blog/x", step="deploy", happened="yes"),
            ["--reason=legal asks", "--happened", "--", "blog/x", "deploy"],
        ),
        (
            form(decision="settle", plan="blog/x", step="deploy", happened="no"),
            ["--reason=legal asks", "--did-not", "--", "blog/x", "deploy"],
        ),
        (form(decision="revise", plan="blog/x"), ["--reason=legal asks", "--", "blog/x"]),
        (form(decision="correct", article="a-0001"), ["--reason=legal asks", "--site=blog", "--", "a-0001"]),
        (form(decision="cancel", plan=" blog/x ", date=None), ["--reason=legal asks", "--", "blog/x"]),
    ],
)
def test_a_form_becomes_single_arguments(text: str, arguments: list[str]) -> None:
    assert arguments_of(read_form(text)) == arguments


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", '"pause"', "{", form(decision="publish"), form(decision=""), form(site=""), form(reason=""), form(reason="a\nb"),
        form(reason="x" * 501), form(extra="1"), form(decision="settle", plan="p", step="s"),
        form(decision="settle", plan="p", step="s", happened="maybe"), form(decision="retry", plan="p"),
        json.dumps({"decision": "pause", "site": ["blog"], "reason": "r"}),
    ],
    ids=lambda text: text[:60],
)  # fmt: skip
def test_a_form_that_is_not_right_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(UsageProblem) as refused:
        read_form(text)
    assert refused.value.code in ("bad-form", "no-decision")


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    return make_instance(tmp_path_factory.mktemp("decide"), articles=2)


def test_a_decision_is_recorded(instance: Instance) -> None:
    instance.environment = {"PUBLISHER_DECISION": form()}
    instance.publisher("ci", "decide", check=0)
    assert [event["type"] for event in instance.ledger("blog/controls")] == ["paused"]


@pytest.mark.parametrize(
    ("more", "code"),
    [({"GITHUB_RUN_ATTEMPT": "2"}, "repeated-decision"), ({}, "not-entitled"), ({"PUBLISHER_ROOT": ""}, "not-entitled")],
    ids=["repeated", "forge-git", "not-set-up"],
)
def test_in_actions_somebody_must_vouch_for_who_decides(instance: Instance, more: dict[str, str], code: str) -> None:
    before = instance.commits()
    actions = {"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "rae", "GITHUB_ACTOR_ID": "7", "PUBLISHER_ROOT": "f" * 40}
    instance.environment = {**actions, **more, "PUBLISHER_DECISION": form(decision="resume")}
    assert f"[{code}]" in instance.publisher("ci", "decide", check=4).stderr
    assert instance.commits() == before


def test_what_the_verb_refuses_is_what_decide_ends_with(instance: Instance) -> None:
    instance.environment = {"PUBLISHER_DECISION": form(decision="cancel", plan="blog/daily/2026/2026-12-24")}
    refused = instance.publisher("ci", "decide", check=2)
    assert "[no-such-plan]" in refused.stderr


def test_the_summary_names_the_decision(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    with github_instance(tmp_path, articles=2) as instance:
        root = instance.remote.git("rev-list", "--max-parents=0", "main")
        instance.environment = {"GITHUB_ACTIONS": "true", "PUBLISHER_ROOT": root, "GITHUB_STEP_SUMMARY": str(summary)}
        instance.do("reviewer", "decide", "--form", form(decision="skip", date="2026-12-25"), now="12-01 08:00")
    assert "| `skip` | `blog` | rae |" in summary.read_text()
