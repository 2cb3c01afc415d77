"""The shipped workflows and actions, read: thin, pinned, with few rights, and one with the code that they call.

What linters know better (`make lint`) is not repeated here. That the files work is shown by executing them (tests/e2e).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from publisher.cli import decide, init_github
from publisher.cli.main import cli
from publisher.engine import schedules
from tests.support import workflow_files

ROOT = Path(__file__).resolve().parents[1]
FILES = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / ".github/workflows").glob("*.yml"))}
FLOWS = {name: workflow_files.read(text) for name, text in FILES.items()}
OURS = sorted(set(FLOWS) - {"ci"})
ACTIONS = ("action.yml", ".github/actions/install/action.yml")
NEVER = {"pull_request_target", "workflow_run", "issue_comment"}
IFS = {
    "needs.due.outputs.sites != '[]'",
    "vars.PUBLISHER_APP_CLIENT_ID != ''",
    "${{ !cancelled() }}",
    "${{ !cancelled() && steps.run.outputs.pages_path != '' }}",
}
"""Every condition that there is: what is done is decided by publisher, never by a workflow."""
PINNED = re.compile(r"uses: ([\w-]+/[\w./-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+")
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def jobs(name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from FLOWS[name]["jobs"].items()


def steps(name: str) -> Iterator[Mapping[str, Any]]:
    for _, job in jobs(name):
        yield from job["steps"]


def runs(name: str) -> list[str]:
    return [step["run"] for step in steps(name) if "run" in step]


def crons(name: str) -> list[schedules.Cron]:
    return [
        schedules.Cron(expression=line["cron"], zone_name=line.get("timezone", ""))
        for line in workflow_files.triggers(FLOWS[name]).get("schedule", ())
    ]


def test_the_set_is_whole() -> None:
    assert OURS == ["approve", "decisions", "pages", "plan", "publish", "review", "watch"]


# --- thin -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OURS)
def test_steps_call_publisher_and_nothing_else(name: str) -> None:
    for line in runs(name):
        assert re.fullmatch(r'python -m publisher [a-z]+(?: (?:--[a-z]+|[a-z]+|"\$[A-Z]+"))*', line), line


@pytest.mark.parametrize("name", OURS)
def test_verbs_and_options_exist(name: str) -> None:
    for line in runs(name):
        verb, *words = shlex.split(line)[3:]
        command = cli.get_command(click.Context(cli), verb)
        assert command is not None, line
        known = {one for option in command.params for one in option.opts}
        assert [word for word in words if word.startswith("--") and word not in known] == [], line


@pytest.mark.parametrize("name", FLOWS)
def test_no_expression_reaches_a_shell(name: str) -> None:
    assert [line for line in runs(name) if "${{" in line] == []


@pytest.mark.parametrize("name", OURS)
def test_conditions_are_few_and_ask_nobody_who_runs_them(name: str) -> None:
    asked = {part["if"] for part in (*(job for _, job in jobs(name)), *steps(name)) if "if" in part}
    assert asked <= IFS


def test_the_projects_own_checks_are_one_command() -> None:
    assert runs("ci") == ["bash .ci/run"]


# --- pinned ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FLOWS)
def test_actions_are_pinned_by_commit_with_their_version(name: str) -> None:
    used = re.findall(r"(?<!\w)uses: .+", FILES[name])
    loose = [line for line in used if not PINNED.fullmatch(line) and not line.startswith("uses: $/")]
    assert used
    assert loose == []


@pytest.mark.parametrize("name", OURS)
def test_own_actions_are_folders_of_this_repository(name: str) -> None:
    own = [step["uses"].removeprefix("$/") for step in steps(name) if step.get("uses", "").startswith("$/")]
    assert own, "each job installs publisher"
    assert [path for path in own if not path or not (ROOT / path / "action.yml").is_file()] == []


def test_an_action_has_one_commit_everywhere() -> None:
    found: dict[str, set[str]] = {}
    for text in FILES.values():
        for action, commit in PINNED.findall(text):
            found.setdefault(action, set()).add(commit)
    assert [action for action, commits in found.items() if len(commits) > 1] == []


# --- rights ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FLOWS)
def test_a_workflow_has_no_rights_and_each_job_its_own(name: str) -> None:
    assert FLOWS[name]["permissions"] == {}
    for _, job in jobs(name):
        assert isinstance(job["permissions"], dict)
        assert job["permissions"], "a job that may read its own repository"
        assert set(job["permissions"].values()) <= {"read", "write"}


@pytest.mark.parametrize("name", FLOWS)
def test_nothing_starts_with_rights_that_its_author_lacks(name: str) -> None:
    assert not NEVER & workflow_files.triggers(FLOWS[name]).keys()
    assert "inherit" not in FILES[name]


@pytest.mark.parametrize("name", FLOWS)
def test_checkouts_are_whole_and_keep_no_token(name: str) -> None:
    checkouts = [step["with"] for step in steps(name) if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) == len(FLOWS[name]["jobs"])
    assert all(given == {"fetch-depth": "0", "persist-credentials": "false"} for given in checkouts)


@pytest.mark.parametrize("name", OURS)
def test_secrets_stand_where_they_are_used_and_are_declared(name: str) -> None:
    flow = FLOWS[name]
    assert "env" not in flow
    assert [id for id, job in jobs(name) if "env" in job] == []
    used = set(re.findall(r"secrets\.(\w+)", FILES[name]))
    assert used == set(workflow_files.triggers(flow)["workflow_call"].get("secrets", {}))
    for step in steps(name):
        given = {**step.get("env", {}), **step.get("with", {})}
        for key, value in given.items():
            handed = re.findall(r"secrets\.(\w+)", value)
            assert handed in ([], [key], ["PUBLISHER_APP_PRIVATE_KEY"]), "under its own name, or to make the App's token"


def test_a_strangers_request_meets_no_secret() -> None:
    assert "secrets." not in FILES["review"]
    assert "create-github-app-token" not in FILES["review"]


@pytest.mark.parametrize("name", OURS)
def test_an_apps_token_may_no_more_than_the_runs_own(name: str) -> None:
    for _, job in jobs(name):
        for step in job["steps"]:
            if "create-github-app-token@" in step.get("uses", ""):
                asked = {
                    key.removeprefix("permission-"): level
                    for key, level in step["with"].items()
                    if key.startswith("permission-")
                }
                assert asked
                assert asked.items() <= job["permissions"].items()


# --- times ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OURS)
def test_jobs_end_and_wait_in_groups_of_their_own(name: str) -> None:
    for _, job in jobs(name):
        assert 1 <= int(job["timeout-minutes"]) <= 60
        group = job["concurrency"]
        assert re.fullmatch(r"publisher-[a-z]+(?:-\$\{\{ [^}]+ \}\})?", group["group"]), "an empty group would be none"
        if name == "review":
            assert group["cancel-in-progress"] == "true"
        else:
            assert (group["queue"], group["cancel-in-progress"]) == ("max", "false")


def test_groups_are_shared_by_what_does_the_same_alone() -> None:
    groups = {name: {job["concurrency"]["group"] for _, job in jobs(name)} for name in OURS}
    shared = {(one, other) for one, other in combinations(OURS, 2) if groups[one] & groups[other]}
    assert shared == {("pages", "publish")}


def test_schedules_name_a_zone_and_keep_off_the_hour() -> None:
    for name in OURS:
        for cron in crons(name):
            assert cron.zone_name, f"{name}: {cron.expression}"
            assert schedules.wrong_with(cron) == ""
            assert not schedules.on_the_hour(cron, NOW)


def test_publish_has_a_second_chance_and_watch_looks_at_other_times() -> None:
    assert (len(crons("publish")), len(crons("watch"))) == (2, 2)
    for one, other in combinations(("publish", "plan", "watch"), 2):
        assert schedules.coinciding(crons(one), crons(other), NOW) == ()


# --- to be called ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OURS)
def test_others_can_call_it_with_typed_inputs(name: str) -> None:
    interface = workflow_files.triggers(FLOWS[name])["workflow_call"]
    assert {one["type"] for one in interface["inputs"].values()} <= {"string", "number"}
    assert all(one["required"] == "false" for one in interface.get("secrets", {}).values())
    assert "package" in interface["inputs"]


def test_pages_is_publish_with_an_upload_in_between() -> None:
    pages, publish = FLOWS["pages"]["jobs"], FLOWS["publish"]["jobs"]
    assert pages["due"] == publish["due"]
    run, upload, finish = pages["publish"]["steps"][-3:]
    assert run["run"] == finish["run"] == publish["publish"]["steps"][-1]["run"]
    assert run["env"] == publish["publish"]["steps"][-1]["env"]
    assert finish["env"] == {**run["env"], "PUBLISHER_PAGES_ARTIFACT_ID": "${{ steps.upload.outputs.artifact_id }}"}
    assert upload["with"]["include-hidden-files"] == "true", "the manifest lies in a folder that begins with a dot"
    assert pages["publish"]["environment"] == "github-pages"


def test_the_form_asks_what_decide_understands() -> None:
    form = workflow_files.triggers(FLOWS["decisions"])["workflow_dispatch"]["inputs"]
    assert set(form) == decide.FIELDS
    assert form["decision"]["options"] == list(decide.FORMS)
    written = workflow_files.read((init_github.TEMPLATES / "workflows/decisions.yml").read_text("utf-8"))
    assert set(workflow_files.triggers(written)["workflow_dispatch"]["inputs"]) == decide.FIELDS


def test_what_init_grants_is_what_is_asked_for() -> None:
    asked = {name: workflow_files.permissions(FLOWS[name]) for name in OURS}
    assert {name: asked[name] for name in init_github.PERMISSIONS} == init_github.PERMISSIONS
    assert asked["pages"] == {**asked["publish"], **init_github.FOR_PAGES}
    assert set(init_github.PERMISSIONS) == set(OURS) - {"pages"}


@pytest.mark.parametrize("path", ACTIONS)
def test_an_action_installs_by_the_one_script(path: str) -> None:
    action = yaml.load((ROOT / path).read_text("utf-8"), Loader=yaml.BaseLoader)
    first, *more = action["runs"]["steps"]
    folder = "/".join([".."] * path.count("/"))
    assert first["run"] == f'bash "$GITHUB_ACTION_PATH/{folder and folder + "/"}scripts/install-in-actions"'
    assert len(more) == (path == "action.yml")
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"


@pytest.mark.parametrize("name", OURS)
def test_what_is_executed_in_tests_is_what_is_shipped(name: str) -> None:
    shipped = FILES[name].splitlines()
    executed = workflow_files.runnable(FILES[name], "press/publisher", "a" * 40).splitlines()
    left = [line for line in shipped if line.strip() != "queue: max"]
    assert len(left) == len(executed)
    changed = [(was, now) for was, now in zip(left, executed, strict=True) if was != now]
    own = "- uses: $/.github/actions/install"
    assert {(was.strip(), now.strip()) for was, now in changed} == {
        (own, f"- uses: press/publisher/.github/actions/install@{'a' * 40}")
    }
    assert len(changed) == FILES[name].count(own)
