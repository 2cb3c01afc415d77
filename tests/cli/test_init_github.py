"""``publisher init --github``: an instance whose workflows call publisher's, in each of the documented arrangements."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from publisher.cli import init_github
from publisher.cli.init_github import Place, daily
from publisher.engine import schedules
from publisher.gitstore import instance_files, working_tree
from tests.support import workflow_files
from tests.support.command_line import Said, publisher
from tests.support.gitrepos import Repository
from tests.support.instance_folder import handbook, snapshot, write

ROOT = Path(__file__).resolve().parents[2]
NOBODY = "http://127.0.0.1:9/"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
USES = ("--uses", f"press/publisher@{COMMIT}")
PRIVATE = ("--approver", "ann:1234567", "--approver", "rae:22", "--site-repository", "ann/garden")
NAMES = ("approve", "decisions", "plan", "publish", "review", "watch")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "garden"
    folder.mkdir()
    Repository(folder).git("init", "--quiet", "--initial-branch=main")
    return folder


def init(root: Path, *more: str, uses: tuple[str, ...] = USES, repository: str = "ann/drafts") -> Said:
    named = ("--repository", repository) if repository else ()
    return publisher(
        "init", "--github", *named, *uses, "--new-site", "--site", "garden", "--url", NOBODY, "--zone", "Europe/Paris", *more, at=root
    )  # fmt: skip


def flow(root: Path, name: str) -> dict[str, Any]:
    return workflow_files.read((root / f".github/workflows/{name}.yml").read_text("utf-8"))


def call(root: Path, name: str) -> dict[str, Any]:
    """The one job of a written workflow."""
    ((_, job),) = flow(root, name)["jobs"].items()
    assert isinstance(job, dict)
    return job


def test_a_private_instance_that_deploys_into_a_public_repository(root: Path) -> None:
    said = init(root, *PRIVATE, "--time", "09:00")
    assert said.code == 0, said.err
    assert set(said.out.splitlines()[:-1]) == set(snapshot(root))
    assert said.out.splitlines()[-1].endswith("on branch publisher-state")
    instance = working_tree.read_instance(root)
    assert (instance.forge, instance.default_branch, instance.state_branch) == ("github", "main", "publisher-state")
    assert instance.github is not None
    assert (instance.github.repository, instance.github.api) == ("ann/drafts", "")
    assert instance.on_call == ("ann", "rae")
    assert instance.alerts is not None
    assert instance.alerts.kind == "github-issue"
    site = instance.sites["garden"]
    assert (site.target.kind, dict(site.target.options)) == (
        "git-branch", {"branch": "gh-pages", "repository": "git@github.com:ann/garden.git", "key": "PUBLISHER_DEPLOY_KEY"}
    )  # fmt: skip
    assert site.staging is not None
    assert (site.staging.kind, dict(site.staging.options)) == ("git-branch", {"branch": "staging/garden"})
    rules = instance_files.rules_of((root / "approval.yaml").read_bytes(), "approval.yaml")
    assert [(who.login, who.id) for who in rules.approvers] == [("ann", 1234567), ("rae", 22)]
    assert rules.signers == ()
    assert "names nobody" not in said.err
    assert "PUBLISHER_ROOT" in said.err


def test_a_second_run_writes_nothing_and_what_is_there_stays(root: Path) -> None:
    write(root, {"README.md": "mine\n", ".github/CODEOWNERS": "* @me\n"})
    assert init(root, *PRIVATE).code == 0
    before = snapshot(root)
    assert (before["README.md"], before[".github/CODEOWNERS"]) == (b"mine\n", b"* @me\n")
    said = publisher("init", "--github", "--repository", "ann/drafts", *USES, "--site", "garden", at=root)
    assert (said.code, said.out) == (0, ""), said.err
    assert snapshot(root) == before


def test_files_that_are_missing_are_written_again(root: Path) -> None:
    init(root, *PRIVATE)
    before = snapshot(root)
    (root / ".github/workflows/watch.yml").unlink()
    said = publisher("init", "--github", "--repository", "ann/drafts", *USES, "--site", "garden", at=root)
    assert said.out == ".github/workflows/watch.yml\n"
    assert snapshot(root) == before


@pytest.mark.parametrize(
    "more",
    [PRIVATE, ("--target", "git-branch:gh-pages"), ("--target", "github-pages", "--approver", "ann:1")],
    ids=["private", "one", "pages"],
)
def test_every_call_is_one_that_github_takes(root: Path, more: tuple[str, ...]) -> None:
    assert init(root, *more).code == 0
    for name in NAMES:
        job = call(root, name)
        repository, _, commit = job["uses"].partition("@")
        assert (repository.split("/.github/")[0], commit) == ("press/publisher", COMMIT)
        called = workflow_files.read((ROOT / ".github" / repository.split("/.github/")[1]).read_text("utf-8"))
        workflow_files.require_callable(job, called)
        assert job["permissions"] == workflow_files.permissions(called), "no more than it asks for"
        assert flow(root, name)["permissions"] == {}
        text = (root / f".github/workflows/{name}.yml").read_text("utf-8")
        assert {key for key, value in job.get("secrets", {}).items() if value != f"${{{{ secrets.{key} }}}}"} == set()
        assert "__" not in text


def test_only_the_secrets_that_the_arrangement_needs_are_handed_on(root: Path) -> None:
    init(root, *PRIVATE)
    app = {"PUBLISHER_APP_PRIVATE_KEY"}
    assert {name: set(call(root, name).get("secrets", {})) for name in NAMES} == {
        "approve": app, "decisions": app, "plan": app, "publish": {*app, "PUBLISHER_DEPLOY_KEY"}, "review": set(),
        "watch": {*app, "PUBLISHER_PING_URL"},
    }  # fmt: skip


def test_pages_by_actions(root: Path) -> None:
    init(root, "--target", "github-pages")
    assert working_tree.read_instance(root).sites["garden"].target.options == {}
    job = call(root, "publish")
    assert "/pages.yml@" in job["uses"]
    assert init_github.FOR_PAGES.items() <= job["permissions"].items()
    assert set(job["secrets"]) == {"PUBLISHER_APP_PRIVATE_KEY"}


def test_one_repository_for_everything(root: Path) -> None:
    init(root, "--target", "git-branch:gh-pages", "--staging", "git-branch:next")
    site = working_tree.read_instance(root).sites["garden"]
    assert dict(site.target.options) == {"branch": "gh-pages", "pages": "build"}
    assert site.staging is not None
    assert dict(site.staging.options) == {"branch": "next"}


def test_a_further_site_with_a_repository_of_its_own_is_for_the_app(root: Path) -> None:
    init(root, *PRIVATE)
    more = ("--site", "field", "--url", NOBODY, "--zone", "UTC", "--site-repository", "ann/field", "--new-site")
    said = publisher("init", "--github", "--repository", "ann/drafts", *USES, *more, at=root)
    assert said.code == 0, said.err
    sites = working_tree.read_instance(root).sites
    assert dict(sites["field"].target.options) == {"branch": "gh-pages", "repository": "https://github.com/ann/field.git"}
    assert sites["garden"].target.options["key"] == "PUBLISHER_DEPLOY_KEY"
    assert ".github" not in said.out


def test_without_approvers_it_is_said_and_nobody_owns_code(root: Path) -> None:
    said = init(root, "--site-repository", "ann/garden")
    assert "approvers, with login and id" in said.err
    assert "nobody is on call" in said.err
    assert not (root / ".github/CODEOWNERS").exists()


def test_a_version_stands_beside_the_commit_where_it_is_given(root: Path) -> None:
    init(root, *PRIVATE, uses=("--uses", f"press/publisher@{COMMIT} # v1.2.3"))
    assert f"publish.yml@{COMMIT} # v1.2.3\n" in (root / ".github/workflows/publish.yml").read_text("utf-8")


# --- times ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "publish", "again", "watch"),
    [
        ("09:00", "7 9 * * *", "41 10 * * *", "29 11 * * *"),
        ("", "7 0 * * *", "41 1 * * *", "29 2 * * *"),
        ("08:53", "4 9 * * *", "34 10 * * *", "22 11 * * *"),
        ("22:45", "52 22 * * *", "26 0 * * *", "14 1 * * *"),
    ],
)
def test_schedules_follow_the_time_of_publication(root: Path, time: str, publish: str, again: str, watch: str) -> None:
    init(root, *PRIVATE, *(("--time", time) if time else ()))
    assert workflow_files.crons(flow(root, "publish")) == [publish, again]
    assert workflow_files.crons(flow(root, "watch"))[0] == watch
    lines = [line for name in NAMES for line in workflow_files.triggers(flow(root, name)).get("schedule", ())]
    assert {line["timezone"] for line in lines} == {"Europe/Paris"}
    assert [
        line for line in lines if schedules.wrong_with(schedules.Cron(expression=line["cron"], zone_name=line["timezone"]))
    ] == []


def test_no_time_of_day_gives_a_full_hour() -> None:
    every = [
        daily(hour, minute, after)
        for hour in range(24)
        for minute in range(60)
        for after in (init_github.FIRST, init_github.AGAIN)
    ]
    assert [line for line in every if line.startswith("0 ") or int(line.split()[1]) > 23] == []


# --- which repository -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("remote", "place"),
    [
        ("git@github.com:ann/drafts.git", Place(repository="ann/drafts")),
        ("https://github.com/ann/drafts", Place(repository="ann/drafts")),
        ("https://ann@github.com/ann/drafts.git", Place(repository="ann/drafts")),
        ("ssh://git@github.com/ann/my.drafts.git", Place(repository="ann/my.drafts")),
        ("https://git.example.org/ann/drafts.git", Place(repository="ann/drafts", host="git.example.org", api="https://git.example.org/api/v3")),
        ("git@git.example.org:ann/drafts.git", Place(repository="ann/drafts", host="git.example.org", api="https://git.example.org/api/v3")),
    ],
)  # fmt: skip
def test_the_repository_is_that_of_origin(remote: str, place: Place) -> None:
    assert init_github._place(None, remote) == place


@pytest.mark.parametrize("remote", ["", "/srv/git/drafts.git", "../drafts", "https://github.com/ann", "file:///ann/drafts"])
def test_an_origin_elsewhere_names_none(root: Path, remote: str) -> None:
    if remote:
        Repository(root).git("remote", "add", "origin", remote)
    said = init(root, *PRIVATE, repository="")
    assert said.code == 2
    assert "[which-repository]" in said.err
    assert snapshot(root) == {}


@pytest.mark.parametrize(
    ("more", "uses", "word"),
    [
        (PRIVATE, (), "which-publisher"),
        (PRIVATE, ("--uses", "press/publisher@main"), "bad-uses"),
        (PRIVATE, ("--uses", f"press/publisher@{COMMIT[:12]}"), "bad-uses"),
        (("--approver", "ann", "--target", "github-pages"), USES, "bad-approver"),
        (("--approver", "ann:0", "--target", "github-pages"), USES, "bad-approver"),
        (("--site-repository", "garden"), USES, "bad-repository"),
        (("--site-repository", "ann/garden", "--target", "directory:x"), USES, "bad-target"),
        (("--target", "github-pages:x"), USES, "bad-target"),
        (("--target", "git-branch"), USES, "bad-target"),
        (("--approver", "ann:1", "--approver", "bob:1", "--target", "github-pages"), USES, "account-twice"),
        ((), USES, "not-given"),
    ],
)
def test_what_does_not_go_writes_nothing(root: Path, more: tuple[str, ...], uses: tuple[str, ...], word: str) -> None:
    said = init(root, *more, uses=uses)
    assert (said.code in (2, 3), said.out) == (True, ""), said.err
    assert f"[{word}]" in said.err
    assert snapshot(root) == {}


def test_its_options_mean_nothing_without_it(root: Path) -> None:
    said = publisher("init", "--approver", "ann:1", "--site", "garden", at=root)
    assert (said.code, "[needs-github]" in said.err) == (2, True)


def test_an_instance_with_signed_merges_stays_one(root: Path) -> None:
    handbook(root)
    before = snapshot(root)
    said = init(root, *PRIVATE)
    assert (said.code, "[instance-exists]" in said.err) == (2, True)
    assert snapshot(root) == before


# --- what people and editors read -------------------------------------------------------------------------------------------------


def test_the_readme_names_every_secret_and_leaves_no_gap(root: Path) -> None:
    init(root, *PRIVATE)
    text = (root / "README.md").read_text("utf-8")
    assert "__" not in text
    declared = {
        name
        for path in (ROOT / ".github/workflows").glob("*.yml")
        for name in workflow_files.triggers(workflow_files.read(path.read_text("utf-8")))
        .get("workflow_call", {})
        .get("secrets", {})
    }
    assert declared
    assert [name for name in sorted(declared) if f"`{name}`" not in text] == []
    assert re.findall(r"^(\d)\.", text, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    assert "--repo ann/garden --title publisher --allow-write" in text


def test_without_a_site_repository_the_readme_has_no_key_to_make(root: Path) -> None:
    init(root, "--target", "github-pages")
    text = (root / "README.md").read_text("utf-8")
    assert re.findall(r"^(\d)\.", text, re.MULTILINE) == ["1", "2", "3", "4"]
    assert "ssh-keygen" not in text


def test_editors_find_the_schemas(root: Path) -> None:
    init(root, *PRIVATE)
    mapped = json.loads((root / ".vscode/settings.json").read_text("utf-8"))["yaml.schemas"]
    there = {path.relative_to(root).as_posix() for path in (root / ".vscode/publisher").iterdir()}
    assert set(mapped) == there
    assert all(json.loads((root / path).read_text("utf-8"))["$schema"] for path in there)


@pytest.mark.parametrize("more", [PRIVATE, ("--target", "github-pages", "--approver", "ann:1")], ids=["private", "pages"])
def test_doctor_finds_nothing_wrong_with_the_workflows(root: Path, more: tuple[str, ...]) -> None:
    init(root, *more, "--time", "09:00")
    Repository(root).commit({})
    said = publisher("doctor", "--json", at=root)
    about = [one for one in said.data["findings"] if one["about"] in ("workflows", "schedule", "minutes", "alarm")]
    assert about
    assert [one for one in about if one["level"] != "ok"] == []
