"""What ``doctor`` says of workflow files: nothing bad of the shipped ones, and each thing that can be wrong with them, once."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from publisher.cli import doctor_schedules, doctor_workflows
from publisher.cli.doctor_seen import Seen
from publisher.domain.instance import ChannelSpec, Drafts, GithubHost, Instance, Site, TargetSpec
from publisher.engine.examining import Finding, Level
from publisher.errors import NeedsPerson
from publisher.gitstore import workflow_files
from tests.support.command_line import publisher
from tests.support.gitrepos import Repository, bare
from tests.support.values import INSTANCE, SITE

SHIPPED = Path(__file__).parents[2] / ".github/workflows"
WINTER, SUMMER = datetime(2026, 12, 1, 10, 30, tzinfo=UTC), datetime(2026, 7, 1, 10, 30, tzinfo=UTC)
BRANCH = TargetSpec(kind="git-branch", options={"branch": "gh-pages"})
ON_GITHUB = replace(INSTANCE, forge="github", github=GithubHost(repository="ann/site"))
POLICY = 'version: 1\nquantity: 1\nstart: "2026-01-01"\nzone: {zone}\npublish_time: "{time}"\nhorizon_days: 14\n'


@dataclass
class Checkout:
    """A folder with the shipped workflows and sites with policies."""

    root: Path
    now: datetime = WINTER
    instance: Instance = ON_GITHUB
    sites: list[Site] = field(default_factory=list)
    seen: Seen | None = None

    def site(self, name: str = "handbook", zone: str = "Asia/Hong_Kong", time: str = "09:00", **changes: Any) -> None:
        self.sites.append(replace(SITE, id=name, zone_name=zone, target=BRANCH, **changes))
        path = self.root / f"plans/{name}/policy.yaml"
        path.parent.mkdir(parents=True)
        text = POLICY.format(zone=zone, time=time)
        path.write_text(text if time else text.replace('publish_time: ""\n', ""))

    def target(self, kind: str = "git-branch", **options: str) -> None:
        self.sites[0] = replace(self.sites[0], target=TargetSpec(kind=kind, options=options))

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.root / f".github/workflows/{name}.yml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def only(self, **files: str) -> None:
        """These workflows and no others."""
        shutil.rmtree(self.root / ".github/workflows")
        for name, text in files.items():
            path = self.root / f".github/workflows/{name}.yml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def workflows(self) -> list[Finding]:
        return list(doctor_workflows.look(self.instance, self.sites, workflow_files.read(self.root), self.seen))

    def schedule(self) -> list[Finding]:
        wired: Any = SimpleNamespace(root=self.root, clock=SimpleNamespace(now=lambda: self.now))
        return list(doctor_schedules.look(wired, self.instance, self.sites, workflow_files.read(self.root), self.seen))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    shutil.copytree(SHIPPED, tmp_path / ".github/workflows")
    made = Checkout(tmp_path)
    made.site()
    return made


def coded(findings: list[Finding], code: str) -> Finding:
    (found,) = [item for item in findings if item.code == code]
    return found


def bad(findings: list[Finding]) -> list[str]:
    return [item.code or item.says for item in findings if item.level is not Level.OK]


def says(findings: list[Finding], about: str) -> str:
    return "\n".join(item.says for item in findings if item.about == about)


def seen(*, private: bool = True, variables: dict[str, str] | None = None, secrets: set[str] | None = None) -> Seen:
    nobody: Any = None
    return Seen(host=nobody, private=private, variables=variables, secrets=None if secrets is None else frozenset(secrets))


# --- the shipped ones -------------------------------------------------------------------------------------------------------------


def test_nothing_is_wrong_with_the_shipped_workflows(checkout):
    findings = checkout.workflows()
    assert bad(findings) == []
    assert says(findings, "workflows").startswith("here: ") and "publish.yml" in says(findings, "workflows")
    findings = checkout.schedule()
    assert bad(findings) == []
    assert "is served from 09:13, and again from 10:47" in says(findings, "schedule")


def test_forge_git_needs_fewer(checkout):
    checkout.instance = INSTANCE
    assert bad(checkout.workflows()) == []
    for name in ("plan", "review", "approve", "decisions", "pages"):
        (checkout.root / f".github/workflows/{name}.yml").unlink()
    assert bad(checkout.workflows()) == []


# --- which there are --------------------------------------------------------------------------------------------------------------


def test_without_publish_nothing_is_published(checkout):
    for name in ("publish", "pages"):
        (checkout.root / f".github/workflows/{name}.yml").unlink()
    found = coded(checkout.workflows(), "no-publish-workflow")
    assert (found.level, found.exit_code) == (Level.PROBLEM, 3) and "init --github" in found.next


@pytest.mark.parametrize(
    ("role", "event"), [("plan", "schedule:"), ("review", "pull_request:"), ("approve", "push:"), ("watch", "schedule:")]
)
def test_what_must_start_by_itself(checkout, role, event):
    checkout.edit(role, f"\n  {event}", "\n  release:")
    assert f"none starts {role} by itself" in coded(checkout.workflows(), "workflow-missing").says


def test_pull_request_target_is_a_danger(checkout):
    checkout.edit("review", "\n  pull_request:", "\n  pull_request_target:")
    found = coded(checkout.workflows(), "pull-request-target")
    assert (found.level, found.exit_code) == (Level.PROBLEM, 7)


def test_an_unreadable_one_is_told_with_its_place(checkout):
    checkout.edit("watch", "permissions: {}", "permissions: &x {}")
    found = coded(checkout.workflows(), "yaml-anchor")
    assert found.level is Level.WARNING and found.where.startswith(".github/workflows/watch.yml:")


SET = {"PUBLISHER_PING_URL"}
CALLERS = {
    "publish": """\
on:
  schedule: [{cron: '17 9 * * *', timezone: Asia/Hong_Kong}, {cron: '47 11 * * *', timezone: Asia/Hong_Kong}]
permissions: {}
jobs:
  publish:
    permissions: {contents: write, pull-requests: write, statuses: read}
    uses: ann/publisher/.github/workflows/publish.yml@0123456789abcdef0123456789abcdef01234567
    secrets: inherit
""",
}


def test_a_caller_of_a_workflow_from_elsewhere(checkout):
    checkout.only(**CALLERS)
    findings = checkout.workflows()
    assert bad(findings) == ["workflow-missing"], "plan, review, approve, watch"
    assert bad(checkout.schedule()) == []
    checkout.edit("publish", "contents: write, ", "")
    checkout.edit("publish", "@0123456789abcdef0123456789abcdef01234567", "@v1")
    findings = checkout.workflows()
    assert "lacks contents: write" in coded(findings, "permissions-narrow").says
    assert "ann/publisher/.github/workflows/publish.yml" in coded(findings, "not-pinned").says


# --- each file --------------------------------------------------------------------------------------------------------------------


def test_waiting_runs_are_kept(checkout):
    checkout.edit("approve", "      queue: max\n", "")
    assert coded(checkout.workflows(), "group-drops").where.startswith(".github/workflows/approve.yml:")
    checkout.edit("approve", "cancel-in-progress: false", "cancel-in-progress: true")
    assert "approve.yml" in coded(checkout.workflows(), "group-cancels").says
    checkout.edit("decisions", "concurrency:", "environment:")
    assert "decisions.yml" in coded(checkout.workflows(), "group-drops").says


@pytest.mark.parametrize(
    ("name", "old", "new", "code", "what"),
    [
        ("approve", "contents: write # the ledger", "contents: read", "permissions-narrow", "contents: write"),
        ("review", "contents: read", "contents: write", "permissions-wide", "(contents)"),
        ("watch", "actions: read", "actions: write", "permissions-wide", "(actions)"),
        ("plan", "contents: write # the branches of requests", "issues: write", "permissions-narrow", "contents: write"),
        ("publish", "pages: write", "packages: write", "permissions-wide", "(packages)"),
    ],
)  # fmt: skip
def test_permissions_that_are_too_wide_or_too_narrow(checkout, name, old, new, code, what):
    checkout.edit(name, old, new)
    found = coded(checkout.workflows(), code)
    assert name in found.says and what in found.says and found.where.startswith(f".github/workflows/{name}.yml:")


def test_no_permissions_and_all_permissions(checkout):
    text = (checkout.root / ".github/workflows/watch.yml").read_text()
    jobs = text[text.index("    permissions:") : text.index("    concurrency:")]
    checkout.edit("watch", jobs, "")
    checkout.edit("watch", "permissions: {}\n", "")
    assert "watch" in coded(checkout.workflows(), "permissions-unset").says
    checkout.edit("watch", "jobs:\n", "permissions: write-all\njobs:\n")
    assert "(all)" in coded(checkout.workflows(), "permissions-wide").says


def test_actions_are_pinned(checkout):
    text = (checkout.root / ".github/workflows/publish.yml").read_text()
    full = text[text.index("actions/checkout@") :].split()[0]
    checkout.edit("publish", full, "actions/checkout@v7")
    found = coded(checkout.workflows(), "not-pinned")
    assert "actions/checkout" in found.says and found.where.startswith(".github/workflows/publish.yml:")


def test_runs_know_where_the_rules_begin(checkout):
    checkout.edit("watch", "PUBLISHER_ROOT: ${{ vars.PUBLISHER_ROOT }}", "X: y")
    assert "watch.yml" in coded(checkout.workflows(), "root-not-passed").says


# --- secrets ----------------------------------------------------------------------------------------------------------------------

MAIL = ChannelSpec(
    name="mail",
    kind="smtp",
    options={"host": "x", "username_secret": "PUBLISHER_SMTP_USER", "password_secret": "PUBLISHER_SMTP_PASSWORD"},
)


def test_named_secrets_and_who_hands_them_on(checkout):
    checkout.sites[0] = replace(checkout.sites[0], channels=(MAIL,))
    findings = checkout.workflows()
    assert bad(findings) == []
    assert "PUBLISHER_SMTP_PASSWORD, for channel mail of handbook: handed on by pages.yml, publish.yml" in says(
        findings, "secrets"
    )
    checkout.seen = seen(secrets={*SET, "PUBLISHER_SMTP_USER"})
    assert "PUBLISHER_SMTP_PASSWORD" in coded(checkout.workflows(), "secret-not-set").says
    checkout.seen = seen(secrets={*SET, "PUBLISHER_SMTP_USER", "PUBLISHER_SMTP_PASSWORD"})
    assert bad(checkout.workflows()) == [] and says(checkout.workflows(), "secrets").count("; set") == 2


def test_a_secret_that_no_workflow_hands_on(checkout):
    other = ChannelSpec(name="hook", kind="smtp", options={"token_secret": "HOOK_TOKEN"})
    checkout.sites[0] = replace(checkout.sites[0], channels=(other,))
    found = coded(checkout.workflows(), "secret-not-passed")
    assert "HOOK_TOKEN" in found.says and "hook of handbook" in found.says
    checkout.only(**CALLERS)
    assert "HOOK_TOKEN, for channel hook of handbook: handed on by publish.yml" in says(checkout.workflows(), "secrets")


@pytest.mark.parametrize("repository", ["git@github.com:ann/public.git", "ssh://git@github.com/ann/public.git"])
def test_a_public_repository_by_key_needs_the_deploy_key(checkout, repository):
    checkout.target(branch="gh-pages", repository=repository)
    assert coded(checkout.workflows(), "target-without-key").next == "key: PUBLISHER_DEPLOY_KEY in the target of handbook"
    checkout.target(branch="gh-pages", repository=repository, key="PUBLISHER_DEPLOY_KEY")
    checkout.seen = seen(secrets=SET)
    assert "PUBLISHER_DEPLOY_KEY, for the target of handbook" in coded(checkout.workflows(), "secret-not-set").says
    checkout.seen = seen(secrets={*SET, "PUBLISHER_DEPLOY_KEY"})
    assert bad(checkout.workflows()) == []


def test_a_repository_elsewhere_by_https(checkout):
    checkout.target(branch="gh-pages", repository="https://github.com/ann/public.git")
    assert "an App's may" in coded(checkout.workflows(), "target-by-https").says


def test_a_directory_of_a_runner(checkout):
    checkout.target("directory", path="public")
    assert "gone afterwards" in coded(checkout.workflows(), "target-on-runner").says
    checkout.instance = INSTANCE
    assert bad(checkout.workflows()) == []


def test_a_site_by_actions_needs_an_upload(checkout):
    checkout.target("github-pages")
    assert coded(checkout.workflows(), "no-upload").exit_code == 3, "publish.yml uploads nothing, pages.yml has no schedule"
    checkout.edit("pages", "\non:\n", "\non:\n  schedule: [{cron: '13 9 * * *', timezone: Asia/Hong_Kong}]\n")
    assert bad(checkout.workflows()) == []
    checkout.only(publish=CALLERS["publish"].replace("publish.yml@", "pages.yml@"))
    assert bad(checkout.workflows()) == ["workflow-missing"]


def test_keys_for_the_state_branch_and_the_drafts(checkout):
    checkout.instance = replace(
        checkout.instance, github=GithubHost(repository="ann/site", state_key="PUBLISHER_STATE_KEY"),
        drafts=Drafts(remote="git@github.com:ann/drafts.git", key="PUBLISHER_NOBODYS_KEY"),
    )  # fmt: skip
    findings = checkout.workflows()
    assert "PUBLISHER_STATE_KEY, for pushes to main: handed on by" in says(findings, "secrets")
    found = coded(findings, "secret-not-passed")
    assert (
        "PUBLISHER_NOBODYS_KEY, for the drafts' repository, is not handed on by pages.yml, publish.yml, plan.yml" in found.says
    )
    checkout.edit("approve", "PUBLISHER_STATE_KEY: ${{ secrets", "X: ${{ secrets")
    both = [item.says for item in checkout.workflows() if item.code == "secret-not-passed"]
    assert len(both) == 2 and "PUBLISHER_STATE_KEY, for pushes to main, is not handed on by approve.yml" in both[1]


def test_alerts_as_issues_need_the_permission(checkout):
    text = (checkout.root / ".github/workflows/watch.yml").read_text()
    checkout.instance = replace(checkout.instance, alerts=ChannelSpec(name="alerts", kind="github-issue", options={}))
    line = next((line for line in text.splitlines() if "issues: write" in line), "")
    if line:
        checkout.edit("watch", f"{line}\n", "")
    assert any("watch.yml: watch lacks issues: write" in item.says for item in checkout.workflows())


def test_a_dead_mans_switch(checkout):
    assert "whether it is set is not seen" in says(checkout.workflows(), "alarm")
    checkout.seen = seen(secrets=set())
    assert "PUBLISHER_PING_URL" in coded(checkout.workflows(), "no-dead-mans-switch").next
    checkout.seen = None
    checkout.edit("watch", "PUBLISHER_PING_URL: ${{ secrets.PUBLISHER_PING_URL }}", "X: y")
    assert coded(checkout.workflows(), "no-dead-mans-switch").level is Level.WARNING


def test_alerts_are_handed_to_watch(checkout):
    checkout.instance = replace(
        checkout.instance, alerts=ChannelSpec(name="alerts", kind="smtp", options={"password_secret": "ALARM"})
    )
    assert "ALARM, for alerts, is not handed on by watch.yml" in coded(checkout.workflows(), "secret-not-passed").says


def test_an_app_without_its_key(checkout):
    checkout.seen = seen(variables={"PUBLISHER_APP_CLIENT_ID": "Iv1"}, secrets=SET)
    assert coded(checkout.workflows(), "app-key-missing").exit_code == 4
    checkout.seen = seen(variables={"PUBLISHER_APP_CLIENT_ID": "Iv1"}, secrets={*SET, "PUBLISHER_APP_PRIVATE_KEY"})
    assert bad(checkout.workflows()) == []


# --- schedules --------------------------------------------------------------------------------------------------------------------


def lines(*crons: str, zone: str = "") -> str:
    timezone = f", timezone: {zone}" if zone else ""
    each = ", ".join(f"{{cron: '{cron}'{timezone}}}" for cron in crons)
    return f"on: {{schedule: [{each}]}}\njobs: {{a: {{steps: [{{run: publisher run}}]}}}}\n"


@pytest.mark.parametrize(
    ("crons", "zone", "time", "codes"),
    [
        (["17 9 * * *", "17 12 * * *"], "Asia/Hong_Kong", "09:00", []),
        (["17 1 * * *", "17 4 * * *"], "", "09:00", []),
        (["17 9 * * *"], "Asia/Hong_Kong", "09:00", ["no-catch-up"]),
        (["17 10 * * *", "17 12 * * *"], "Asia/Hong_Kong", "09:00", ["schedule-late"]),
        (["57 8 * * *"], "Asia/Hong_Kong", "09:00", ["schedule-late", "no-catch-up"]),
        (["17 9 * * MON-FRI", "17 12 * * MON-FRI"], "Asia/Hong_Kong", "09:00", ["schedule-misses"]),
        (["17 23 * * *", "47 23 * * *"], "Asia/Hong_Kong", "", []),
        (["17 23 * * *"], "Asia/Hong_Kong", "", ["no-catch-up"]),
        (["0 9 * * *", "17 12 * * *"], "Asia/Hong_Kong", "09:00", ["on-the-hour"]),
        (["1-4 9 * * *"], "Asia/Hong_Kong", "09:00", ["cron-too-close"]),
        (["17 9 * * 7", "17 9 * * *", "17 12 * * *"], "Asia/Hong_Kong", "09:00", ["cron-wrong"]),
        (["17 9 * * *", "17 12 * * *"], "Asia/Hongkong/X", "09:00", ["cron-wrong", "cron-wrong", "no-schedule"]),
    ],
)
def test_whether_a_schedule_keeps_the_promise(checkout, crons, zone, time, codes):
    checkout.only(publish=lines(*crons, zone=zone))
    (checkout.root / "plans/handbook/policy.yaml").unlink()
    (checkout.root / "plans/handbook").rmdir()
    checkout.sites.clear()
    checkout.site(time=time)
    assert bad(checkout.schedule()) == codes


def test_what_is_missed_is_said_with_a_line_that_would_serve(checkout):
    checkout.only(publish=lines("17 9 * * MON-FRI", "17 12 * * MON-FRI", zone="Asia/Hong_Kong"))
    found = coded(checkout.schedule(), "schedule-misses")
    assert (found.level, found.exit_code) == (Level.PROBLEM, 4)
    assert "09:00 Asia/Hong_Kong on Sat 2026-12-05, Sun 2026-12-06 is met by no run" in found.says
    assert "cron: '17 9 * * *' with timezone: Asia/Hong_Kong" in found.next


def test_how_late_the_worst_is(checkout):
    checkout.only(publish=lines("17 10 * * *", "17 12 * * *", zone="Asia/Hong_Kong"))
    assert "comes 1 hour 17 minutes later (2026-12-02 10:17 HKT (02:17Z))" in coded(checkout.schedule(), "schedule-late").says


def test_no_schedule_at_all(checkout):
    checkout.only(publish="on: workflow_dispatch\njobs: {a: {steps: [{run: publisher run}]}}\n")
    assert coded(checkout.schedule(), "no-schedule").exit_code == 3


def test_a_wrong_line_is_named_with_its_place(checkout):
    checkout.edit("watch", 'cron: "38 11 * * *"', 'cron: "@daily"')
    found = coded(checkout.schedule(), "cron-wrong")
    assert found.where == ".github/workflows/watch.yml:6:13" and "five fields" in found.says and found.exit_code == 3


def test_a_short_approval_is_missed_by_a_late_run(checkout):
    checkout.only(publish=lines("17 12 * * *", "47 12 * * *", zone="Asia/Hong_Kong"))
    (checkout.root / "approval.yaml").write_text("approvals: 1\nexpires_after: 2h\n")
    assert bad(checkout.schedule()) == ["schedule-misses"]
    (checkout.root / "approval.yaml").write_text("approvals: 1\nexpires_after: 6h\n")
    assert bad(checkout.schedule()) == ["schedule-late"]


def test_a_line_without_a_zone_is_explained(checkout):
    checkout.only(publish=lines("17 1 * * *", "17 4 * * *"))
    assert "UTC, so this one runs at 2026-12-02 09:17 HKT (01:17Z)" in says(checkout.schedule(), "schedule")


@pytest.mark.parametrize(("now", "codes"), [(SUMMER, ["clock-change"]), (WINTER, ["schedule-late"])], ids=["summer", "winter"])
def test_a_utc_line_that_is_late_in_winter(checkout, now, codes):
    checkout.sites.clear()
    checkout.site("berlin", "Europe/Berlin")
    checkout.now = now
    checkout.only(publish=lines("30 7 * * *", "50 7 * * *"))
    findings = checkout.schedule()
    assert bad(findings) == codes
    if codes == ["clock-change"]:
        found = coded(findings, "clock-change")
        assert "about 2026-10-25, the first run comes 23 hours" in found.says and "Europe/Berlin" in found.next


def test_a_line_in_the_sites_own_zone_does_not_drift(checkout):
    checkout.sites.clear()
    checkout.site("berlin", "Europe/Berlin")
    checkout.only(publish=lines("17 9 * * *", "17 12 * * *", zone="Europe/Berlin"))
    assert bad(checkout.schedule()) == []


def test_sites_with_the_same_promise_share_a_line(checkout):
    for name in ("blog", "shop", "news", "pod", "wiki", "zine"):
        checkout.site(name)
    checkout.site("tokyo", "Asia/Tokyo", "10:00")
    told = [item.says for item in checkout.schedule() if "is served from" in item.says]
    assert told[0].startswith("handbook, blog, shop, news, pod and 2 more: 09:00 Asia/Hong_Kong is served from 09:13")
    assert told[1].startswith("tokyo: 10:00 Asia/Tokyo is served from 10:13") and len(told) == 2


def test_watch_comes_at_another_minute_and_plan_before_the_evening(checkout):
    checkout.edit("watch", 'cron: "38 11 * * *"', 'cron: "13 9 * * *"')
    assert "2026-12-02 09:13 HKT" in coded(checkout.schedule(), "watch-coincides").says
    checkout.edit("plan", 'cron: "23 7 * * *"', 'cron: "23 19 * * *"')
    assert "Asia/Hong_Kong" in coded(checkout.schedule(), "plan-in-the-evening").says


# --- minutes ----------------------------------------------------------------------------------------------------------------------


def test_the_months_minutes(checkout):
    told = says(checkout.schedule(), "minutes")
    assert told.startswith("about 240 a month: plan.yml 30 (30 runs), publish.yml 150 (60 runs), watch.yml 60 (60 runs)")
    assert "free account has 2000" in told
    checkout.seen = seen(private=False)
    assert "a public repository is not billed" in says(checkout.schedule(), "minutes")


def test_ten_sites_and_a_busy_schedule(checkout):
    for number in range(9):
        checkout.site(f"site-{number}")
    assert "publish.yml 960 (60 runs)" in says(checkout.schedule(), "minutes")
    checkout.edit("publish", 'cron: "47 10 * * *"', 'cron: "4-59/5 * * * *"')
    found = coded(checkout.schedule(), "minutes-short")
    assert found.level is Level.WARNING and "about 9660 a month" in found.says
    checkout.seen = seen(private=False)
    assert bad(checkout.schedule()) == []


# --- the library ------------------------------------------------------------------------------------------------------------------


def test_without_the_library(checkout, monkeypatch):
    monkeypatch.setitem(sys.modules, "cronsim", None)
    with pytest.raises(NeedsPerson):
        checkout.schedule()
    checkout.instance = INSTANCE
    assert coded(checkout.schedule(), "github-extra-missing").level is Level.WARNING


# --- a new instance ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [("--site-repository", "ann/garden"), ("--target", "github-pages"), ("--target", "git-branch:gh-pages")],
    ids=["another repository", "Pages", "a branch"],
)
def test_nothing_is_wrong_with_what_init_writes(tmp_path, target, monkeypatch):
    for name in ("PUBLISHER_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "PUBLISHER_ROOT"):
        monkeypatch.delenv(name, raising=False)
    bare(tmp_path / "remote.git")
    here = Repository(tmp_path / "here")
    here.path.mkdir()
    here.git("init", "--quiet", "--initial-branch", "main")
    here.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    made = publisher(
        "init", "--github", "--repository", "ann/site", "--site", "garden", "--url", "http://127.0.0.1:9/", "--zone", "Europe/Paris",
        "--time", "09:00", "--approver", "ann:1234567", *target, "--uses", "ann/publisher@" + "0123456789" * 4, "--new-site", "--yes",
        at=here.path,
    )  # fmt: skip
    assert made.code == 0, made.err
    listed = publisher("doctor", "--json", "--offline", at=here.path).data["findings"]
    about_github = [item for item in listed if item["section"] == "GitHub"]
    assert [item["about"] for item in about_github if item["level"] != "ok"] == ["repository"], "it was not asked"
    assert any("09:00 Europe/Paris is served from" in item["says"] for item in about_github)
