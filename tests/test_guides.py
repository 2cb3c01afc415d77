"""What the README and the guide for GitHub tell people to paste: workflows that GitHub takes, rules by GitHub's schema, known names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import workflow_files
from tests.support.github.openapi.judge import faults_of
from tests.test_workflows import FILES, PINNED

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "docs/github.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
PASTED = re.findall(r"^```yaml\n(.*?)^```", README + GUIDE, re.MULTILINE | re.DOTALL)
RULESETS = [json.loads(text) for text in re.findall(r"<<'EOF'\n(.*?)^EOF", GUIDE, re.MULTILINE | re.DOTALL)]
COMMIT = "0123456789" * 4
CALLS = re.compile(r"OWNER/publisher/\.github/workflows/(\w+)\.yml@COMMIT")


def flows() -> list[Any]:
    found = [text for text in PASTED if "\njobs:\n" in text]
    assert len(found) >= 4
    return [pytest.param(text, id=re.search(r"^  (\w+):$", text.split("\njobs:\n")[1], re.MULTILINE)[1]) for text in found]  # type: ignore[index]


@pytest.mark.parametrize("text", flows())
def test_a_workflow_is_one_that_github_takes(text: str) -> None:
    flow = workflow_files.read(text)
    assert flow["permissions"] == {}
    for job in flow["jobs"].values():
        called = CALLS.fullmatch(job.get("uses", ""))
        if called:
            workflow_files.require_callable(job, workflow_files.read(FILES[called[1]]))
            continue
        assert job["permissions"], "a job says what it may"
        assert "OWNER/publisher@COMMIT" in [step.get("uses") for step in job["steps"]]
        assert all(step.get("run", "python -m publisher ").startswith("python -m publisher ") for step in job["steps"])
    assert "${{" not in "".join(re.findall(r"run: .*", text)).replace('run: "${{ inputs.verb }}"', ""), (
        "no expression in a shell"
    )


@pytest.mark.parametrize("text", flows())
def test_an_action_is_pinned_as_in_the_shipped_files(text: str) -> None:
    shipped = {found for file in FILES.values() for found in PINNED.findall(file)}
    assert set(PINNED.findall(text)) <= shipped
    others = re.findall(r"uses: (?!OWNER/publisher)(\S+)@", text)
    assert len(others) == len(PINNED.findall(text))


def test_rules_are_as_github_describes_them() -> None:
    assert len(RULESETS) == 3
    for ruleset in RULESETS:
        assert (ruleset["target"], ruleset["enforcement"]) == ("branch", "active")
        assert ruleset["conditions"]["ref_name"].keys() == {"include", "exclude"}
        for rule in ruleset["rules"]:
            assert faults_of({"$ref": "#/$defs/repository-rule"}, rule) == []
        for actor in ruleset.get("bypass_actors", []):
            assert faults_of({"$ref": "#/$defs/repository-ruleset-bypass-actor"}, actor) == []


def test_every_secret_that_the_workflows_take_stands_in_the_table_and_no_other() -> None:
    table = GUIDE.split("### What each needs")[1].split("\n## ")[0]
    told = set(re.findall(r"`(PUBLISHER_[A-Z_]+)`", table))
    taken = {name for text in FILES.values() for name in re.findall(r"(?:secrets|vars)\.(PUBLISHER_[A-Z_]+)", text)}
    assert (sorted(taken - told), sorted(told - taken)) == ([], [])


def test_a_pasted_rule_that_github_does_not_know_is_found() -> None:
    assert faults_of({"$ref": "#/$defs/repository-rule"}, {"type": "only_me"})
    with pytest.raises(AssertionError):
        workflow_files.require_callable(
            {"uses": "", "permissions": {"contents": "read"}}, workflow_files.read(FILES["publish"])
        )
