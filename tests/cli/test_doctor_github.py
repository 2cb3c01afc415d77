"""The GitHub half of ``doctor`` against the simulated host: an instance with nothing wrong, and each thing that can be, once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from publisher.cli import doctor_approvers, doctor_github
from publisher.engine import examining
from publisher.gitstore import working_tree
from publisher.wiring import open_instance
from tests.support.command_line import Said, publisher
from tests.support.github.simulator import Settings
from tests.support.github_instance import STATE, GithubInstance, github_instance
from tests.support.gitrepos import Repository, snapshot

SHIPPED = Path(__file__).parents[2] / ".github/workflows"
TOKENS = ("PUBLISHER_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")
APP = {"PUBLISHER_APP_CLIENT_ID": "Iv23liAbc"}
SECRETS = {"PUBLISHER_APP_PRIVATE_KEY", "PUBLISHER_PING_URL"}


@dataclass
class Look:
    """What the section about GitHub says, and the exit code that its problems alone end with."""

    findings: list[dict[str, Any]]
    code: int

    def bad(self) -> list[str]:
        return [item.get("code") or item["says"] for item in self.findings if item["level"] != "ok"]

    def coded(self, code: str) -> dict[str, Any]:
        (item,) = [item for item in self.findings if item.get("code") == code]
        return item

    def says(self, about: str) -> str:
        return "\n".join(item["says"] for item in self.findings if item["about"] == about)


class Hosted:
    """The instance, put back to its good state before every test."""

    def __init__(self, instance: GithubInstance, monkeypatch: pytest.MonkeyPatch) -> None:
        self.instance, self.sim, self.monkeypatch = instance, instance.sim, monkeypatch
        self.clone = instance.clone("ci")
        self.clone.git("fetch", "--quiet", str(self.sim.bare), "+refs/heads/*:refs/remotes/origin/*")
        self.clone.git("checkout", "--quiet", "--force", "-B", "main", "origin/main")
        self.clone.git("clean", "-fdq")
        self.sim.private = True
        self.sim.settings = Settings(variables={**APP, "PUBLISHER_ROOT": self.root}, secrets=set(SECRETS))
        self.sim.actions_may_create_pull_requests = False
        self.sim.protection.rulesets.clear()
        self.protect_main()
        self.sim.protection.protect(STATE, no_force=True, no_delete=True, only=[instance.people["ci"]])
        for name in ("GITHUB_ACTIONS", "CI", "PUBLISHER_ROOT", "PUBLISHER_SIGNING_KEY", *TOKENS):
            monkeypatch.delenv(name, raising=False)
        self.act_as("owner", "GITHUB_TOKEN")

    @property
    def root(self) -> str:
        return self.clone.git("log", "--format=%H", "--diff-filter=A", "--", "approval.yaml").strip()

    def protect_main(self, **changes: Any) -> None:
        self.sim.protection.unprotect("main")
        wanted = {"required_reviews": 1, "pull_request": True, "dismiss_stale": True, "no_force": True, "no_delete": True}
        self.sim.protection.protect("main", **{**wanted, "required_checks": ["publisher/payload"], **changes})

    def act_as(self, who: str, variable: str = "GH_TOKEN") -> None:
        """The process has this account's token, in this variable, and no other."""
        environment = self.sim.environment(self.instance.people[who])
        token = environment.pop("GITHUB_TOKEN")
        for name in TOKENS:
            self.monkeypatch.delenv(name, raising=False)
        for name, value in {**environment, variable: token}.items():
            self.monkeypatch.setenv(name, value)

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.clone.path / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    def look(self, *, offline: bool = False) -> Look:
        """The section alone, as ``doctor`` has it."""
        wired = open_instance(self.clone.path)
        instance = working_tree.read_instance(self.clone.path)
        sites = [instance.sites[name] for name in sorted(instance.sites)]
        found = list(examining.found("x", lambda: doctor_github.look(wired, instance, sites, root=self.root, offline=offline)))
        return Look([item.as_data() for item in found], examining.exit_code(found))

    def doctor(self, *argv: str) -> tuple[Said, Look]:
        """The whole command."""
        said = publisher("doctor", "--json", *argv, at=self.clone.path)
        listed = [item for item in said.data["findings"] if item.pop("section") == "GitHub"]
        return said, Look(listed, said.code)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GithubInstance]:
    with github_instance(tmp_path_factory.mktemp("hosted"), publish_time="09:00", checked=True) as instance:
        editor = Repository(instance.folder / "editor", "editor")
        text = (editor.path / "publisher.yaml").read_text()
        target = next(line for line in text.splitlines() if line.strip().startswith("target:"))
        files = {f".github/workflows/{path.name}": path.read_text() for path in SHIPPED.glob("*.yml") if path.name != "ci.yml"}
        editor.commit(
            {
                "publisher.yaml": text.replace(target, "    target: {kind: git-branch, branch: gh-pages}"),
                ".github/CODEOWNERS": "/plans/ @rae\n/approval.yaml @rae\n", **files,
            },
            "Workflows",
        )  # fmt: skip
        instance.sim.push_as(instance.people["owner"], "main", "refs/heads/main", folder=editor.path)
        yield instance


@pytest.fixture
def hosted(made: GithubInstance, monkeypatch: pytest.MonkeyPatch) -> Hosted:
    return Hosted(made, monkeypatch)


# --- nothing wrong ----------------------------------------------------------------------------------------------------------------


def test_an_instance_with_nothing_wrong(hosted):
    said, look = hosted.doctor()
    assert look.bad() == [] and said.code == 0
    assert look == hosted.look(), "the tests below look at this part alone"
    assert look.says("repository").startswith("ann/site, private")
    assert look.says("token") == "GITHUB_TOKEN, of ann, who administers it"
    assert look.says("Actions") == "on" and "GitHub App" in look.says("requests")
    assert look.says("rules") == "main requires a request with 1 approving review"
    assert look.says("ledger") == f"{STATE} can be neither deleted nor rewritten, nor written to by others"
    assert f"update of {STATE} keeps the run's own token out, and a GitHub App goes past it" in look.says("pushes")
    assert look.says("approvers").startswith("rae can approve, 1 needed")
    assert "watch.yml" in look.says("workflows") and "09:13" in look.says("schedule")


def test_it_asks_little_and_changes_nothing(hosted):
    clone, remote = snapshot(hosted.clone.path), snapshot(hosted.sim.bare)
    hosted.sim.requests.clear()
    hosted.look()
    asked = [seen for seen in hosted.sim.requests if seen.account]
    assert {seen.method for seen in asked} == {"GET"} and len(asked) <= 20
    assert snapshot(hosted.clone.path) == clone and snapshot(hosted.sim.bare) == remote


def test_people_read_one_line_each(hosted):
    said = publisher("doctor", at=hosted.clone.path)
    lines = said.out.splitlines()
    assert "GitHub" in lines and any(line.startswith("  ✓ repository") for line in lines)


def test_offline_asks_nothing_and_still_reads_the_files(hosted):
    hosted.edit(".github/workflows/publish.yml", 'cron: "13 9 * * *"', 'cron: "0 9 * * *"')
    hosted.sim.requests.clear()
    said, look = hosted.doctor("--offline")
    assert hosted.sim.requests == [] and said.code == 0
    assert "not asked (--offline)" in look.says("repository")
    assert look.coded("on-the-hour")["where"].startswith(".github/workflows/publish.yml:")


def test_no_token_no_questions(hosted, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN")
    hosted.sim.requests.clear()
    look = hosted.look()
    assert hosted.sim.requests == [] and look.coded("no-token")["level"] == "warning"
    monkeypatch.setenv("CI", "true")
    assert hosted.look().coded("no-token")["level"] == "problem"


def test_what_a_token_may_not_see_is_said_once(hosted):
    hosted.act_as("ci", "GITHUB_TOKEN")
    look = hosted.look()
    assert look.says("token") == "GITHUB_TOKEN, of a GitHub App"
    says = look.coded("not-visible")["says"]
    for what in (
        "whether Actions is on",
        "the repository's variables",
        "which secrets there are",
        "who may pass the branch rules",
    ):
        assert says.count(what) == 1
    assert look.coded("pushes-unclear")["level"] == "warning"
    assert "problem" not in {item["level"] for item in look.findings}


def test_the_runs_own_token(hosted, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    hosted.instance.people["job"] = hosted.sim.actions_token({"contents": "write"})
    hosted.act_as("job", "GITHUB_TOKEN")
    assert hosted.look().says("token") == "GITHUB_TOKEN, of this run"


def test_a_persons_token_for_runs_takes_away_an_approver(hosted):
    hosted.act_as("reviewer", "PUBLISHER_TOKEN")
    assert "opened as rae" in hosted.look().coded("token-of-approver")["says"]


# --- the repository ---------------------------------------------------------------------------------------------------------------


def test_another_repository_than_the_one_meant(hosted, monkeypatch):
    monkeypatch.setenv("GITHUB_REPOSITORY", "eve/fork")
    look = hosted.look()
    assert look.coded("other-repository")["level"] == "problem" and look.code == 4


def test_a_repository_that_is_not_seen(hosted):
    hosted.instance.people["stranger"] = hosted.sim.user("max", permission="none")
    hosted.act_as("stranger")
    assert hosted.look().coded("repository-not-seen")["level"] == "problem"


def test_a_host_that_asks_to_wait_is_later(hosted):
    hosted.sim.faults.next(f"GET /repos/{hosted.sim.repository}", kind="secondary")
    look = hosted.look()
    hosted.sim.faults.clear()
    assert look.coded("host-busy")["level"] == "problem" and look.code == 5
    assert "is served from" in look.says("schedule"), "files are looked at all the same"


def test_a_public_repository_with_drafts(hosted):
    hosted.sim.private = False
    look = hosted.look()
    assert look.coded("drafts-public")["level"] == "warning" and "60 days" in look.says("idle")
    assert "not billed" in look.says("minutes")
    shutil.rmtree(hosted.clone.path / "drafts")
    assert "drafts-public" not in hosted.look().bad()


def test_another_default_branch(hosted):
    hosted.edit("publisher.yaml", "default: main", "default: trunk")
    look = hosted.look()
    assert "is main, publisher.yaml says trunk" in look.coded("default-branch-differs")["says"]


# --- settings ---------------------------------------------------------------------------------------------------------------------


def test_the_pinned_root(hosted):
    hosted.sim.settings.variables.pop("PUBLISHER_ROOT")
    assert hosted.look().coded("variable-missing")["next"] == f"gh variable set PUBLISHER_ROOT --body {hosted.root}"
    hosted.sim.settings.variables["PUBLISHER_ROOT"] = "0" * 40
    look = hosted.look()
    assert look.coded("variable-differs")["level"] == "problem" and look.code == 7


def test_requests_by_the_runs_own_token(hosted):
    hosted.sim.settings.variables.pop("PUBLISHER_APP_CLIENT_ID")
    assert hosted.look().coded("actions-no-requests")["level"] == "problem"
    hosted.sim.actions_may_create_pull_requests = True
    assert "by the run's own token" in hosted.look().says("requests")


def test_an_app_without_its_key_and_a_missing_switch(hosted):
    hosted.sim.settings.secrets.clear()
    assert {"app-key-missing", "no-dead-mans-switch"} == set(hosted.look().bad())


def test_a_workflow_that_is_switched_off_or_not_there(hosted):
    hosted.sim.workflows.disable("watch.yml")
    look = hosted.look()
    hosted.sim.workflows.enable("watch.yml")
    assert "watch.yml is switched off" in look.coded("workflow-off")["says"] and look.code == 4
    assert look.coded("workflow-off")["next"] == "gh workflow enable watch.yml"
    hosted.clone.write({".github/workflows/second.yml": (SHIPPED / "watch.yml").read_text()})
    assert "second.yml" in hosted.look().coded("workflow-not-there")["says"]


# --- rules ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"required_checks": []}, ["check-not-required"]),
        ({"required_checks": ["tests"]}, ["check-not-required"]),
        ({"dismiss_stale": False}, ["stale-reviews"]),
        ({"required_reviews": 0, "pull_request": False, "dismiss_stale": False}, ["no-request-rule"]),
    ],
)
def test_rules_of_the_default_branch(hosted, changes, codes):
    hosted.protect_main(**changes)
    assert hosted.look().bad() == codes


def test_who_may_pass_is_said(hosted):
    hosted.protect_main(bypass=[hosted.instance.people["ci"], hosted.instance.people["owner"]])
    assert hosted.look().says("rules").endswith("; a GitHub App, a person may pass")


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"no_force": True, "only": True}, "rewritten"),
        ({"no_delete": True, "no_force": True}, "written to"),
        ({}, "deleted, rewritten and written to"),
    ],
)
def test_the_ledgers_branch(hosted, rules, words):
    hosted.sim.protection.unprotect(STATE)
    if rules:
        only = [hosted.instance.people["ci"]] if rules.pop("only", False) else []
        hosted.sim.protection.protect(STATE, **rules, only=only)
    look = hosted.look()
    if words == "rewritten":
        assert look.bad() == [], "creation, update and deletion are all restricted"
    else:
        assert f"can be {words} by whoever may push" in look.coded("ledger-unprotected")["says"]
        assert "no rule keeps it out" in look.says("pushes")


# --- pushes -----------------------------------------------------------------------------------------------------------------------


def test_an_app_that_is_let_through_and_not_configured(hosted):
    hosted.sim.settings.variables.pop("PUBLISHER_APP_CLIENT_ID")
    hosted.sim.actions_may_create_pull_requests = True
    found = hosted.look().coded("cannot-push")
    assert "a GitHub App may pass it, and runs have none" in found["says"] and "PUBLISHER_APP_CLIENT_ID" in found["next"]


def test_an_app_that_is_configured_and_not_let_through(hosted):
    hosted.sim.protection.unprotect(STATE)
    hosted.sim.protection.protect(STATE, no_force=True, no_delete=True, only=[hosted.instance.people["owner"]])
    found = hosted.look().coded("cannot-push")
    assert "runs have a GitHub App, and it may not pass" in found["says"] and found["level"] == "problem"


def test_a_deploy_key_for_the_state_branch(hosted):
    key = hosted.sim.deploy_key(hosted.instance.people["owner"])
    hosted.sim.settings.variables.pop("PUBLISHER_APP_CLIENT_ID")
    hosted.sim.actions_may_create_pull_requests = True
    hosted.sim.protection.unprotect(STATE)
    hosted.sim.protection.protect(STATE, no_force=True, no_delete=True, only=[key])
    assert "PUBLISHER_STATE_KEY" in hosted.look().coded("cannot-push")["next"]
    hosted.edit("publisher.yaml", "repository: ann/site", "repository: ann/site, state_key: PUBLISHER_STATE_KEY")
    assert "PUBLISHER_STATE_KEY, for pushes to" in hosted.look().coded("secret-not-set")["says"]
    hosted.sim.settings.secrets.add("PUBLISHER_STATE_KEY")
    look = hosted.look()
    assert look.bad() == [] and "a deploy key goes past it" in look.says("pushes")


def test_the_default_branch_as_the_ledgers(hosted):
    hosted.edit("publisher.yaml", f"state: {STATE}", "state: main")
    found = hosted.look().coded("cannot-push")
    assert "the rule pull request of main keeps the run's own token out" in found["says"]
    hosted.protect_main(bypass=[hosted.instance.people["ci"]])
    look = hosted.look()
    assert "cannot-push" not in look.bad() and look.says("ledger") == "main can be neither deleted nor rewritten"


def test_the_sites_branch_is_pushed_to_as_well(hosted):
    hosted.sim.protection.protect("gh-pages", pull_request=True)
    found = hosted.look().coded("cannot-push")
    hosted.sim.protection.unprotect("gh-pages")
    assert "of gh-pages" in found["says"]


# --- Pages ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pages(hosted):
    hosted.sim.pages.from_branch("gh-pages")
    yield hosted.sim.pages
    hosted.sim.pages.build_type = ""


def test_a_branch_that_pages_shows(hosted, pages):
    assert "builds it after each push" in hosted.look().says("Pages")
    hosted.sim.settings.variables.pop("PUBLISHER_APP_CLIENT_ID")
    look = hosted.look()
    assert "pages: build" in look.coded("pages-no-build")["next"]
    hosted.edit("publisher.yaml", "branch: gh-pages}", "branch: gh-pages, pages: build}")
    look = hosted.look()
    assert "pages-no-build" not in look.bad() and "asks for each build" in look.says("Pages")


def test_a_site_by_actions(hosted, pages):
    hosted.edit("publisher.yaml", "{kind: git-branch, branch: gh-pages}", "{kind: github-pages}")
    look = hosted.look()
    assert {"pages-source", "no-upload"} <= set(look.bad())
    hosted.sim.pages.from_workflow()
    hosted.edit(".github/workflows/pages.yml", "on:\n", 'on:\n  schedule: [{cron: "13 9 * * *", timezone: Asia/Hong_Kong}]\n')
    look = hosted.look()
    assert look.bad() == [] and "built by Actions, as blog needs" in look.says("Pages")


# --- people -----------------------------------------------------------------------------------------------------------------------


def approvers(hosted: Hosted, *people: tuple[str, int], count: int = 1) -> Look:
    listed = ", ".join(f"{{login: {login}, id: {number}}}" for login, number in people)
    hosted.clone.write({"approval.yaml": f"approvals: {count}\nexpires_after: 24h\napprovers: [{listed}]\n"})
    return hosted.look()


def test_approvers_are_the_accounts_that_are_meant(hosted):
    people = hosted.instance.people
    rae, eve, bot = people["reviewer"], people["reader"], people["ci"]
    assert approvers(hosted, ("rae", rae.id)).bad() == []
    look = approvers(hosted, ("rae", rae.id), ("max", 999_999))
    assert "no account 999999, which approval.yaml names max" in look.coded("approver-unknown")["says"]
    look = approvers(hosted, ("rae", rae.id), ("ray", eve.id))
    assert f"account {eve.id} is eve, and approval.yaml names it ray" in look.coded("approver-differs")["says"]
    look = approvers(hosted, ("rae", rae.id), ("bot", bot.id))
    assert look.coded("approver-not-person")["level"] == "problem"
    look = approvers(hosted, ("rae", rae.id), ("eve", eve.id))
    assert (
        "eve may not write here" in look.coded("approver-cannot-write")["says"]
        and look.says("approvers").count("rae can approve") == 1
    )


def test_enough_of_them(hosted):
    people = hosted.instance.people
    rae, ann, eve = people["reviewer"], people["owner"], people["reader"]
    assert (
        "2 must approve, and rae can"
        in approvers(hosted, ("rae", rae.id), ("eve", eve.id), count=2).coded("too-few-approvers")["says"]
    )
    assert "1 must approve, and nobody can" in approvers(hosted, ("eve", eve.id)).coded("too-few-approvers")["says"]
    look = approvers(hosted, ("rae", rae.id), ("ann", ann.id), count=1)
    assert look.says("approvers") == "rae, ann can approve, 1 needed"
    look = approvers(hosted, ("rae", rae.id), ("ann", ann.id), count=2)
    assert look.says("approvers").endswith("; what one of them requests, nobody else can approve")


def test_approval_rules_that_cannot_be_read_are_told_elsewhere(hosted):
    hosted.clone.write({"approval.yaml": "approvals: no\n"})
    said, look = hosted.doctor()
    assert look.says("approvers") == "" and said.code == 3


# --- CODEOWNERS -------------------------------------------------------------------------------------------------------------------


def test_codeowners(hosted):
    hosted.clone.write({".github/CODEOWNERS": "/plans/ @rae\n"})
    assert "names nobody for approval.yaml" in hosted.look().coded("codeowners-gap")["says"]
    (hosted.clone.path / ".github/CODEOWNERS").unlink()
    assert hosted.look().coded("no-codeowners")["level"] == "warning"
    hosted.clone.write({"CODEOWNERS": "* @rae\n"})
    assert hosted.look().bad() == []


@pytest.mark.parametrize(
    ("text", "path", "owners"),
    [
        ("* @a\n", "plans/x/y.yaml", ("@a",)),
        ("/plans/ @a\n", "plans/x/y.yaml", ("@a",)),
        ("plans/ @a @b\n", "plans/x/y.yaml", ("@a", "@b")),
        ("plans/ @a\n", "site-src/plans/y.yaml", ("@a",)),
        ("/plans/ @a\n", "site-src/plans/y.yaml", ()),
        ("/plans/* @a\n", "plans/x/y.yaml", ()),
        ("/plans/* @a\n", "plans/y.yaml", ("@a",)),
        ("/plans/** @a\n", "plans/x/y.yaml", ("@a",)),
        ("**/y.yaml @a\n", "plans/x/y.yaml", ("@a",)),
        ("*.yaml @a\n", "plans/x/y.yaml", ("@a",)),
        ("*.yml @a\n", "plans/x/y.yaml", ()),
        ("plans/?/y.yaml @a\n", "plans/x/y.yaml", ("@a",)),
        ("/plans @a\n", "plans/x/y.yaml", ("@a",)),
        ("/plan @a\n", "plans/x/y.yaml", ()),
        ("* @a\n/plans/ @b\n", "plans/x/y.yaml", ("@b",)),
        ("* @a\n/plans/\n", "plans/x/y.yaml", ()),
        ("# /plans/ @a\n\n/plans/ @b # people\n", "plans/x/y.yaml", ("@b",)),
        ("approval.yaml @a\n", "approval.yaml", ("@a",)),
        ("approval_yaml @a\n", "approval.yaml", ()),
    ],
)
def test_patterns_of_codeowners(text, path, owners):
    assert doctor_approvers.owners_of(text, path) == owners
