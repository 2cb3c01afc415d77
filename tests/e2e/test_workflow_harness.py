"""The harness that executes the shipped workflows, tried on simple runs."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

from publisher.cli.init_github import TEMPLATES
from tests.support import workflow_files
from tests.support.actions import Actions, actions_at
from tests.support.command_line import publisher
from tests.support.github_instance import GithubInstance
from tests.support.gitrepos import Repository
from tests.support.shipped import NAME, ROOT, Shipped, ship

HOSTILE = "import pathlib\npathlib.Path('{mark}').write_text('a stranger was here')\n"
SHADOWING = (
    "publisher/__init__.py",
    "publisher/__main__.py",
    "click/__init__.py",
    "yaml.py",
    "venv.py",
    "pip/__init__.py",
    "json.py",
)
"""Modules that Python would find in the current directory before the installed ones, if it looked there."""


@pytest.fixture(scope="session")
def shipped_anew(tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    return ship(tmp_path_factory.mktemp("shipped-anew"), anew=True)


def written_by_init(instance: GithubInstance, shipped: Shipped) -> None:
    """The workflows that ``init --github`` writes, pushed by the owner."""
    editor = Repository(instance.folder / "editor", "editor")
    said = publisher(
        "init", "--github", "--repository", instance.sim.repository, "--site", "blog", "--uses", shipped.uses, "--no-example",
        at=editor.path,
    )  # fmt: skip
    assert said.code == 0, said.err
    editor.commit({}, "Workflows")
    instance.sim.push_as(instance.people["owner"], editor.head(), "refs/heads/main", folder=editor.path)


def test_a_run_with_nothing_to_do_is_green_short_and_writes_nothing(actions: Actions, instance: GithubInstance) -> None:
    before = instance.remote.refs()
    ran = actions.execute(actions.shipped_run("publish.yml", "schedule", instance.people["owner"]))
    assert (ran.conclusion, ran.ids) == ("success", ["due"]), ran.log
    assert ran.job("due").step("due").outputs == {"due": "[]"}
    assert "Nothing is due" in ran.summary
    assert instance.remote.refs() == before
    assert {seen.method for seen in instance.sim.requests} == {"GET"}


def test_a_repository_that_is_not_set_up_is_told_what_to_do(actions: Actions, instance: GithubInstance) -> None:
    del actions.variables["PUBLISHER_ROOT"]
    ran = actions.execute(actions.shipped_run("publish.yml", "schedule", instance.people["owner"]))
    assert (ran.conclusion, ran.ids) == ("success", ["due"]), ran.log
    assert [(one["level"], one["title"]) for one in ran.annotations] == [("notice", "not-set-up")]
    assert "PUBLISHER\\_ROOT" in ran.summary


def test_a_persons_decision_from_the_form(actions: Actions, instance: GithubInstance, shipped: Shipped, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    written_by_init(instance, shipped)
    rae, eve = instance.people["reviewer"], instance.sim.user("mal", "write")
    form = {"decision": "pause", "site": "blog", "reason": f'legal "asks" $(touch {mark}); `touch {mark}` --yes\\'}
    refused = actions.dispatch(eve, "decisions.yml", form)
    assert refused.conclusion == "failure"
    assert "[not-entitled]" in refused.job("decide").step("publisher decide").log
    assert instance.ledger("blog/controls") == []

    ran = actions.dispatch(rae, "decisions.yml", form)
    assert ran.conclusion == "success", ran.log
    (event,) = instance.ledger("blog/controls")
    assert (event["type"], event["actor"], event["reason"]) == ("paused", rae.login, form["reason"])

    again = actions.sim.workflows.runs[-1]
    actions.sim.workflows.rerun(eve, again)
    assert "[repeated-decision]" in actions.execute(again).job("decide").log
    assert not mark.exists()
    assert len(instance.ledger("blog/controls")) == 1


def test_a_day_from_the_request_to_the_public(actions: Actions, instance: GithubInstance, shipped: Shipped) -> None:
    written_by_init(instance, shipped)
    rae, sim = instance.people["reviewer"], instance.sim
    actions.app = instance.people["planner"]
    actions.variables["PUBLISHER_APP_CLIENT_ID"] = actions.app.login

    instance.go_to("11-30 18:00")
    planned = actions.dispatch(rae, "plan.yml", {"days": "2"})
    assert planned.conclusion == "success", planned.log
    (number,) = (one.number for one in sim.pulls.all if not one.closed_at)
    (reviewed,) = actions.pending()
    assert (reviewed.conclusion, reviewed.ids) == ("success", ["review"]), reviewed.log
    assert [one.name for one in sim.pages.artifacts] == ["preview-1"]

    instance.merge(number, "11-30 19:00")
    (approved,) = actions.pending()
    assert (approved.conclusion, approved.ids) == ("success", ["approve"]), approved.log

    instance.go_to("12-01 09:13")
    published = actions.tick("publish.yml")
    assert (published.conclusion, published.ids) == ("success", ["due", "publish"]), published.log
    assert "confirmed" in published.job("publish", site="blog").log
    again = actions.tick("publish.yml")
    assert (again.conclusion, again.ids) == ("success", ["due"]), again.log
    assert actions.app.token not in "".join(ran.log for ran in actions.ran)


def test_a_release_is_uploaded_between_two_parts_of_one_job(
    actions: Actions, instance: GithubInstance, shipped: Shipped
) -> None:
    sim = instance.sim
    sim.pages.from_workflow()
    editor = Repository(instance.folder / "editor", "editor")
    text = (editor.path / "publisher.yaml").read_text("utf-8")
    text = re.sub(r"target: \{.*\}", "target: {kind: github-pages}", text).replace(f"{instance.url}/", sim.pages.url)
    editor.commit({"publisher.yaml": text}, "The site is shown by Pages")
    written_by_init(instance, shipped)
    instance.merge(instance.propose("11-30 18:00", "--date", "2026-12-01"), "11-30 19:00")
    instance.go_to("12-01 09:13")
    ran = actions.tick("publish.yml")
    assert (ran.conclusion, ran.ids) == ("success", ["due", "publish"]), ran.log
    assert [step.result for step in ran.job("publish").steps][-3:] == ["success"] * 3
    (artifact,) = sim.pages.artifacts
    assert {**artifact.files} == {**sim.pages.live}
    assert ".well-known/publisher.json" in sim.pages.live
    assert "confirmed" in ran.job("publish").steps[-1].log
    assert "identity-of" not in ran.log


def test_a_step_that_is_killed_fails_its_job_and_the_next_run_finds_no_harm(
    actions: Actions, instance: GithubInstance, shipped: Shipped
) -> None:
    written_by_init(instance, shipped)
    rae = instance.people["reviewer"]
    form = {"decision": "pause", "site": "blog", "reason": "legal asks"}
    killed = actions.dispatch(rae, "decisions.yml", form, at="kill:before:records.publish:1")
    assert (killed.conclusion, killed.job("decide").step("publisher decide").result) == ("failure", "failure")
    assert instance.ledger("blog/controls") == []
    assert actions.dispatch(rae, "decisions.yml", form).conclusion == "success"


def test_a_job_installs_the_wheel_that_it_names_and_runs_nothing_of_the_checkout(
    instance: GithubInstance, shipped_anew: Shipped, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    editor = Repository(instance.folder / "editor", "editor")
    hostile = dict.fromkeys(SHADOWING, HOSTILE.format(mark=mark))
    text = TEN_LINES.replace("@USES@", shipped_anew.uses).replace("@WHEEL@", str(shipped_anew.wheel))
    editor.commit({**hostile, ".github/workflows/look.yml": text}, "A workflow, and a trap")
    instance.sim.push_as(instance.people["owner"], editor.head(), "refs/heads/main", folder=editor.path)
    with actions_at(instance.sim, shipped_anew, tmp_path / "actions") as actions:
        ran = actions.tick("look.yml")
    assert ran.conclusion == "success", ran.log
    assert not mark.exists()
    assert json.loads(ran.job("look").step("status").log)["schema"] == "publisher.status/1"
    with zipfile.ZipFile(shipped_anew.wheel) as wheel:
        written = {path.relative_to(ROOT).as_posix() for path in TEMPLATES.rglob("*") if path.is_file()}
        assert written
        assert written <= set(wheel.namelist())


TEN_LINES = """\
on: {schedule: [{cron: "7 9 * * *"}]}
permissions: {}
jobs:
  look:
    runs-on: ubuntu-24.04
    permissions: {contents: read}
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1
        with: {fetch-depth: 0, persist-credentials: false}
      - uses: @USES@
        with: {package: "@WHEEL@"}
      - run: python -m publisher status --json
"""


# --- what GitHub refuses is refused here ------------------------------------------------------------------------------------------


def test_a_call_that_grants_too_little_never_starts(shipped: Shipped) -> None:
    called = workflow_files.read(shipped.text(".github/workflows/watch.yml"))
    granted = workflow_files.permissions(called)
    workflow_files.require_callable({"permissions": granted}, called)
    for scope in granted:
        with pytest.raises(AssertionError, match=scope):
            workflow_files.require_callable({"permissions": {**granted, scope: "none"}}, called)
    with pytest.raises(AssertionError, match="a secret"):
        workflow_files.require_callable({"permissions": granted, "secrets": {"OTHER": "x"}}, called)
    with pytest.raises(AssertionError, match="an input"):
        workflow_files.require_callable({"permissions": granted, "with": {"other": "x"}}, called)


def test_a_form_is_filled_in_as_github_asks(shipped: Shipped) -> None:
    flow = workflow_files.read(shipped.text(".github/workflows/decisions.yml"))
    filled = workflow_files.form(flow, {"decision": "pause", "reason": "because"})
    assert (filled["happened"], filled["site"]) == ("-", "")
    for wrong in (
        {"decision": "stop", "reason": "x"},
        {"decision": "pause"},
        {"decision": "pause", "reason": "x", "who": "me"},
    ):
        with pytest.raises(AssertionError):
            workflow_files.form(flow, wrong)


def test_every_action_that_is_shipped_has_a_stand_in(shipped: Shipped) -> None:
    paths = {Path(one.split("=", 1)[1]) for one in shipped.local_repositories}
    assert len(paths) == 5
    assert [path for path in paths if not (path / "action.yml").exists()] == []
    assert [one for one in shipped.local_repositories if one.startswith(f"{NAME}@{shipped.commit}=")]
