"""``decide``: a form becomes one verb's arguments, and nothing in it can become anything else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from publisher.cli.decide import FORMS, PROPOSALS, arguments_of, read_form
from publisher.errors import UsageProblem
from tests.support.instance import Instance, make_instance


def form(**fields: str | None) -> str:
    return json.dumps({"decision": "pause", "site": "blog", "reason": "legal asks", **fields})


def test_every_decision_names_a_verb_of_its_own() -> None:
    from publisher.cli.main import PEOPLE, VERBS

    assert set(FORMS) == {name for name, (_, _, group) in VERBS.items() if group == PEOPLE} - {"decide"} | set(PROPOSALS)
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


def test_a_decision_is_recorded_once_and_never_by_repeating_its_run(instance: Instance) -> None:
    actions = {"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "rae", "GITHUB_ACTOR_ID": "7", "GITHUB_RUN_ATTEMPT": "1"}
    instance.environment = {**actions, "PUBLISHER_DECISION": form()}
    instance.publisher("ci", "decide", check=0)
    assert [event["type"] for event in instance.ledger("blog/controls")] == ["paused"]
    instance.environment = {**actions, "GITHUB_RUN_ATTEMPT": "2", "PUBLISHER_DECISION": form(decision="resume")}
    again = instance.publisher("ci", "decide", check=4)
    assert "[repeated-decision]" in again.stderr
    assert [event["type"] for event in instance.ledger("blog/controls")] == ["paused"]


def test_what_the_verb_refuses_is_what_decide_ends_with(instance: Instance) -> None:
    instance.environment = {"PUBLISHER_DECISION": form(decision="cancel", plan="blog/daily/2026/2026-12-24")}
    refused = instance.publisher("ci", "decide", check=2)
    assert "[no-such-plan]" in refused.stderr


def test_the_summary_names_the_decision(instance: Instance, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    instance.environment = {
        "GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "rae", "GITHUB_STEP_SUMMARY": str(summary),
        "PUBLISHER_DECISION": form(decision="skip", date="2026-12-25"),
    }  # fmt: skip
    instance.publisher("ci", "decide", check=0)
    assert "| `skip` | `blog` | rae |" in summary.read_text()
