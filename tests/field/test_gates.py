"""Gates, their time, and who deploys."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from publisher.cli import doctor_workflows
from publisher.domain.instance import TargetSpec
from publisher.domain.tasks import State
from publisher.engine.deciding import Act, decide
from publisher.engine.examining import Level
from publisher.gitstore import workflow_files
from tests.field.stories import FIRST
from tests.field.test_triggers import ON_GITHUB, SHIPPED, coded
from tests.support.instance import draft, source
from tests.support.scene import Scene, at
from tests.support.values import NOW, SITE, launch, no, plan_view, site_view, up_to


def test_Q_09_source_that_grows_under_the_plan(planned: Scene) -> None:
    """Longer at the approval than when it was planned: a stop, a new approval of the longer text, and that goes out."""
    planned.edit({f"{source(1)}/index.md": draft(1, "guide", body="Twenty minutes more of marker-0001.\n")})
    planned.approve(1, "12-01 08:05")
    assert planned.run("12-01 09:01", check=4).code_of(FIRST) == "fingerprint-differs"
    assert planned.live == {}
    planned.approve(planned.propose("12-01 10:00", "revise", FIRST, "--reason", "as it is now"), "12-01 10:05")
    planned.run("12-01 10:10")
    assert b"Twenty minutes more" in planned.live["article-0001/index.html"]


@pytest.mark.parametrize(("now", "code"), [("12-02 08:59:59", "prepare"), ("12-02 09:00", "missed")])
def test_Q_11_gate_that_waits_or_lapses(approved: Scene, now: str, code: str) -> None:
    """Nothing runs while somebody thinks; an approval is over a day after its time, whoever asks."""
    shown = approved.do("ci", "preview", FIRST, "--fresh", "--now", at(now), "--json", now="12-01 09:00").data["plans"][0]
    assert shown["next"]["who"] == ("run" if code == "prepare" else "person")
    assert code in (shown["next"]["code"], shown["next"]["what"]) or code in shown["next"]["what"]


def test_Q_11_gate_for_other_parameters(approved: Scene) -> None:
    """One parameter of what was approved is changed: another payload, which nobody approved."""
    name = f"plans/{FIRST}.yaml"
    approved.edit({name: approved.text(name).replace("at_most: 3", "at_most: 300")})
    assert approved.run("12-01 09:01", check=4).code_of(FIRST) == "conflict"
    assert approved.live == {}


def test_Q_12_skipped_taken_for_passed() -> None:
    """A gate needs a positive record: without one nothing is released, and a task has no state "skipped"."""
    plan = launch()
    built = plan_view(plan, *up_to("built", plan))
    for view in (
        built,
        plan_view(plan, *up_to("gate", plan)),
        replace(built, asked={**built.asked, "G3": (no(plan, "skipped"),)}),
    ):
        decision = decide(view, site_view(view), NOW)
        assert (decision.step, decision.act in (Act.WORK, Act.RECONCILE)) == ("release", False), decision
        assert decision.exit_code == 4
    assert sorted(State) == ["blocked", "canceled", "failed", "queued", "running", "succeeded"]
    with pytest.raises(ValueError, match="skipped"):
        State("skipped")


def test_Q_14_two_release_lines_for_one_site(tmp_path: Path) -> None:
    """A second workflow that may deploy to GitHub Pages would take the site's place: doctor names it, and its job."""
    shutil.copytree(SHIPPED, tmp_path / ".github/workflows")
    site = replace(SITE, target=TargetSpec(kind="github-pages", options={}))
    docs = tmp_path / ".github/workflows/docs.yml"

    def look() -> list[str]:
        found = doctor_workflows.look(ON_GITHUB, [site], workflow_files.read(tmp_path), None)
        return [item.code for item in found if item.code == "other-deployer"]

    assert look() == [], "publisher's own workflows"
    step = "actions/deploy-pages@0123456789abcdef0123456789abcdef01234567"
    for text in (
        f"on: push\npermissions: {{}}\njobs: {{site: {{steps: [{{uses: {step}}}]}}}}\n",
        "on: push\npermissions: {pages: write}\njobs: {site: {steps: [{run: make}]}}\n",
        "on: push\njobs: {site: {permissions: write-all, steps: [{run: make}]}}\n",
    ):
        docs.write_text(text)
        (found,) = [
            item
            for item in doctor_workflows.look(ON_GITHUB, [site], workflow_files.read(tmp_path), None)
            if item.code == "other-deployer"
        ]
        assert (found.level, found.exit_code) == (Level.PROBLEM, 3)
        assert "docs.yml: site" in found.says
        assert SITE.id in found.says
        assert found.where.startswith(".github/workflows/docs.yml:")
    docs.write_text("on: push\npermissions: {contents: read}\njobs: {test: {steps: [{run: make test}]}}\n")
    assert look() == []
    branch = replace(site, target=TargetSpec(kind="git-branch", options={"branch": "gh-pages"}))
    docs.write_text(f"on: push\njobs: {{site: {{steps: [{{uses: {step}}}]}}}}\n")
    listed = list(doctor_workflows.look(ON_GITHUB, [branch], workflow_files.read(tmp_path), None))
    assert [item.code for item in listed if item.code == "other-deployer"] == []
    assert coded([*listed, *doctor_workflows.look(ON_GITHUB, [site], workflow_files.read(tmp_path), None)], "other-deployer")
