"""``publisher doctor``: each thing that a run needs, broken once; and nothing changed by looking."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.approval import ApprovalRules, Signer
from publisher.engine import examining
from publisher.engine.examining import Level
from tests.support.command_line import Said, publisher
from tests.support.gitrepos import Repository, snapshot
from tests.support.instance import Instance, make_instance
from tests.support.web import StaticSite, serving


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PUBLISHER_ROOT", "PUBLISHER_SIGNING_KEY", "CI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def web(tmp_path: Path):
    with serving(tmp_path / "instance/public/current") as site:
        yield site


@pytest.fixture
def instance(tmp_path: Path, web: StaticSite) -> Instance:
    return make_instance(tmp_path / "instance", url=web.url.rstrip("/"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """One instance for all tests that break no more than files of a clone of their own."""
    return make_instance(tmp_path_factory.mktemp("shared") / "instance")


@pytest.fixture
def checkout(shared: Instance, request: pytest.FixtureRequest) -> Checkout:
    who = f"clone-{abs(hash(request.node.nodeid))}"
    return Checkout(shared, who, shared.fresh_clone(who))


@dataclass
class Checkout:
    instance: Instance
    who: str
    clone: Repository

    def doctor(self) -> tuple[Said, list[dict[str, Any]]]:
        return doctor(self.instance, "--offline", who=self.who)


def doctor(instance: Instance, *argv: str, who: str = "ci") -> tuple[Said, list[dict[str, Any]]]:
    said = publisher("doctor", "--json", *argv, at=instance.clone(who).path)
    return said, said.data["findings"]


def about(findings: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [item for item in findings if item["about"] == name]


def problems(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in findings if item["level"] == "problem"]


def coded(findings: list[dict[str, Any]], code: str) -> dict[str, Any]:
    (item,) = [item for item in findings if item.get("code") == code]
    return item


# --- nothing wrong ------------------------------------------------------------------------------------------------------------


def test_a_healthy_instance_before_its_first_publication(instance):
    said, findings = doctor(instance)
    assert said.code == 0 and problems(findings) == [] and said.data["schema"] == "publisher.doctor/1"
    assert about(findings, "ledger")[0]["says"].endswith("nothing public yet")
    assert "nothing is public yet" in about(findings, "public site")[0]["says"]
    assert "fence and base are checked" in about(findings, "guarantee")[0]["says"]
    assert about(findings, "queue")[0]["says"].startswith("8 waiting")
    assert "renders" in about(findings, "theme")[0]["says"]
    assert {item["section"] for item in findings} == {"this machine", "the instance", "blog"}


def test_a_healthy_instance_after_a_publication(instance):
    instance.plan_and_approve()
    instance.publisher("ci", "run", check=0)
    said, findings = doctor(instance)
    assert said.code == 0 and problems(findings) == []
    assert "lists the 2 articles" in about(findings, "public site")[0]["says"]
    assert "as recorded" in about(findings, "target")[0]["says"]
    assert about(findings, "queue")[0]["says"].startswith("6 waiting"), "what is public is not read again"


def test_people_read_one_line_each(instance):
    said = publisher("doctor", at=instance.clone("ci").path)
    assert said.code == 0
    lines = said.out.splitlines()
    assert "blog" in lines and any(line.startswith("  ✓ ledger") for line in lines)
    assert lines[-1] == "1 warning"


@pytest.mark.parametrize("argv", [(), ("--offline",)])
def test_it_changes_nothing(instance, argv):
    clone = instance.clone("ci").path
    before, remote = snapshot(clone), snapshot(instance.remote.path)
    doctor(instance, *argv)
    assert snapshot(clone) == before and snapshot(instance.remote.path) == remote
    assert not instance.public.exists()


def test_offline_opens_no_connection(instance, web):
    said, findings = doctor(instance, "--offline")
    assert said.code == 0 and web.log == []
    assert "--offline" in about(findings, "remote")[0]["says"] and "--offline" in about(findings, "public site")[0]["says"]


def test_an_unknown_site_is_a_usage_error(instance):
    assert publisher("doctor", "--site", "blgo", at=instance.clone("ci").path).code == 2


# --- approvals ----------------------------------------------------------------------------------------------------------------


def test_the_root_to_pin_is_printed_and_recognised(instance, monkeypatch):
    root = instance.remote.head("main")
    _, findings = doctor(instance)
    assert coded(findings, "root-not-pinned")["next"].startswith(f"set PUBLISHER_ROOT={root} ")
    monkeypatch.setenv("PUBLISHER_ROOT", root)
    _, findings = doctor(instance)
    assert about(findings, "approval root")[0]["level"] == "ok"
    monkeypatch.setenv("PUBLISHER_ROOT", "0" * 40)
    said, findings = doctor(instance)
    assert said.code == 7 and "root-differs" in {item["code"] for item in problems(findings)}


def test_an_unapproved_change_of_the_rules_is_named(instance):
    editor = instance.clone("editor")
    text = (editor.path / "approval.yaml").read_text()
    change = editor.commit({"approval.yaml": text.replace("approvals: 1", "approvals: 2")}, "mine")
    editor.push()
    instance.clone("ci").git("pull", "--quiet", "--ff-only", "origin", "main")
    _, findings = doctor(instance)
    assert change[:12] in coded(findings, "rules-ignored")["says"]


def test_as_whom_this_clone_signs(instance):
    assert "reviewer@example.org" in about(doctor(instance, who="reviewer")[1], "signing key")[0]["says"]
    assert "none" in about(doctor(instance)[1], "signing key")[0]["says"]
    instance.clone("ci").setting("publisher.signingkey", str(instance.folder / "keys/second"))
    assert coded(doctor(instance)[1], "key-unknown")["level"] == "warning"


def signer(name: str, *, commit: bool = True, approve: bool = False) -> Signer:
    return Signer(principal=name, key=f"ssh-ed25519 {name}", may_commit=commit, may_approve=approve)


@pytest.mark.parametrize(
    ("count", "signers", "good"),
    [
        (1, (signer("bot"), signer("ann", approve=True)), True),
        (1, (signer("ann", approve=True), signer("bob", approve=True)), True),
        (1, (signer("ann", approve=True),), False),
        (1, (signer("bot"),), False),
        (1, (signer("ann", commit=False, approve=True),), False),
        (2, (signer("bot"), signer("ann", approve=True)), False),
        (2, (signer("bot"), signer("ann", approve=True), signer("bob", approve=True)), True),
        (1, (), False),
    ],
)
def test_somebody_else_must_be_able_to_approve(count, signers, good):
    finding = examining.signers(ApprovalRules(count=count, signers=signers))
    assert (finding.level is Level.OK) == good
    assert good or (finding.code, finding.exit_code) == ("nobody-approves", 3)


# --- files --------------------------------------------------------------------------------------------------------------------

BROKEN_PLAN = "kind: publication\nsite: blog\nkey: daily-publication:2026-02-03\n"


@pytest.mark.parametrize(
    ("path", "change", "where"),
    [
        ("publisher.yaml", lambda text: text.replace("forge: git", "forge: gitt"), "publisher.yaml:2:8"),
        ("publisher.yaml", lambda text: text + "  oops: 1\n", "publisher.yaml:"),
        ("approval.yaml", lambda text: text.replace("approvals: 1", "approvals: one"), "approval.yaml:1:12"),
        ("plans/blog/policy.yaml", lambda text: text.replace("quantity: 2", "quantity: 0"), "plans/blog/policy.yaml:2:11"),
        ("plans/blog/queue.yaml", lambda text: text.replace("a-0002,", "a-0001,"), "plans/blog/queue.yaml:3:"),
        ("plans/blog/daily/2026/2026-02-03.yaml", lambda _: BROKEN_PLAN, "plans/blog/daily/2026/2026-02-03.yaml:"),
        ("plans/blog/launch.yaml", lambda _: "kind: lunch\n", "plans/blog/launch.yaml:1:7"),
        ("drafts/blog/article-0003/index.md", lambda _: None, "drafts/blog/article-0003/index.md:1:1"),
        ("drafts/blog/article-0003/index.md", lambda text: text.replace("summary:", "sumary:"), "drafts/blog/article-0003/index.md:"),
        ("drafts/blog/article-0003/index.md", lambda text: text.replace("a-0003", "a-9003"), "plans/blog/queue.yaml:1:1"),
        ("drafts/blog/article-0003/index.md", lambda text: text + "![x](lost.png)\n", "drafts/blog/article-0003/"),
        ("site-src/blog/theme/article.html.j2", lambda text: text + "{% endif %}", "site-src/blog/theme/article.html.j2:"),
        ("site-src/blog/theme/terms.html.j2", lambda _: None, "site-src/blog/theme"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_with_its_place(checkout, path, change, where):
    clone = checkout.clone
    file = clone.path / path
    text = change(file.read_text() if file.exists() else "")
    clone.write({path: text})
    said, findings = checkout.doctor()
    assert said.code == 3
    (item,) = problems(findings)
    assert item["where"].startswith(where), item


def test_open_plans_are_read_wherever_they_are(instance):
    instance.plan_and_approve()
    instance.clone("ci").git("fetch", "--quiet")
    said, findings = doctor(instance)
    assert said.code == 0 and about(findings, "plans")[0]["says"] == "1 open, each can be read; 0 are over"
    editor = instance.clone("editor")
    editor.commit({"plans/blog/daily/2026/2026-02-03.yaml": BROKEN_PLAN}, "broken, and pushed")
    editor.git("pull", "--quiet", "--rebase", "origin", "main")
    editor.push()
    instance.clone("ci").git("fetch", "--quiet")
    said, findings = doctor(instance)
    assert said.code == 3 and problems(findings)[0]["where"].startswith("plans/blog/daily/2026/2026-02-03.yaml:")


def test_no_text_of_a_draft_is_quoted(checkout):
    clone = checkout.clone
    clone.write(
        {
            "drafts/blog/article-0003/index.md": '---\nid: a-0003\ntitle: "The secret name"\nThe secret line: x\n---\nThe secret text\n'
        }
    )
    said = publisher("doctor", "--offline", at=clone.path)
    assert said.code == 3 and "secret" not in said.out + said.err


def test_many_broken_drafts_are_counted(checkout):
    for number in range(1, 9):
        (checkout.clone.path / f"drafts/blog/article-{number:04d}/index.md").unlink()
    _, findings = checkout.doctor()
    assert len(problems(findings)) == 6 and "3 more" in coded(findings, "and-more")["says"]


def test_edited_configuration_is_not_what_runs_read(checkout):
    clone = checkout.clone
    clone.write(
        {"plans/blog/policy.yaml": (clone.path / "plans/blog/policy.yaml").read_text().replace("version: 1", "version: 2")}
    )
    said, findings = checkout.doctor()
    assert said.code == 0 and "plans/blog/policy.yaml" in coded(findings, "not-pushed")["says"]


# --- preconditions --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [("on_call: [ops@example.org]\n", "", "no-on-call"), ("    staging:", "    #staging:", "no-staging")],
)
def test_preconditions_for_running_unattended(checkout, old, new, code):
    clone = checkout.clone
    text = (clone.path / "publisher.yaml").read_text()
    assert old in text
    clone.write({"publisher.yaml": text.replace(old, new)})
    said, findings = checkout.doctor()
    assert said.code == 3 and coded(findings, code)["level"] == "problem"


CHANNEL = """\
    channels:
      mail:
        kind: smtp
        host: mail.example.org
        from: blog@example.org
        username_secret: MAIL_USER
        password_secret: MAIL_PASSWORD
        pseudonym_key_secret: MAIL_KEY
        list_secrets: {readers: MAIL_READERS}
"""


def test_secrets_are_looked_for_by_name(tmp_path, web, monkeypatch):
    instance = make_instance(tmp_path / "instance", url=web.url.rstrip("/"), more=CHANNEL)
    monkeypatch.setenv("MAIL_USER", "hunter2")
    said, findings = doctor(instance)
    item = coded(findings, "secret-missing")
    assert said.code == 0 and item["level"] == "warning"
    assert "MAIL_KEY, MAIL_PASSWORD, MAIL_READERS" in item["says"] and "hunter2" not in said.out
    monkeypatch.setenv("CI", "true")
    assert doctor(instance)[0].code == 4, "where runs happen it is a problem"
    for name in ("MAIL_KEY", "MAIL_PASSWORD", "MAIL_READERS"):
        monkeypatch.setenv(name, "x" * 20)
    said, findings = doctor(instance)
    assert said.code == 0 and about(findings, "channel mail")[0]["level"] == "ok"


# --- clone, remote, machine -----------------------------------------------------------------------------------------------------


def test_a_shallow_clone_is_refused(instance):
    instance.clone("editor").commit({"more": "x"})
    instance.clone("editor").push()
    shutil.rmtree(instance.clone("ci").path)
    instance.remote.git("clone", "--quiet", "--depth", "1", f"file://{instance.remote.path}", str(instance.folder / "ci"))
    said, findings = doctor(instance)
    assert said.code == 7 and "shallow-history" in {item["code"] for item in problems(findings)}


def test_a_lock_that_a_killed_git_left(checkout):
    git_dir = checkout.clone.path / ".git"
    (git_dir / "index.lock").touch()
    (git_dir / "refs/heads/main.lock").touch()
    assert about(checkout.doctor()[1], "git locks") == [], "somebody's git may be at work"
    long_ago = time.time() - 3 * 3600
    os.utime(git_dir / "index.lock", (long_ago, long_ago))
    said, findings = checkout.doctor()
    (item,) = about(findings, "git locks")
    assert said.code == 0 and ".git/index.lock has been there for 3 hours" in item["says"]


def test_a_clone_that_is_behind_or_ahead(instance):
    instance.clone("editor").commit({"more": "x"})
    instance.clone("editor").push()
    assert coded(doctor(instance)[1], "behind")["level"] == "warning"
    instance.clone("reviewer").commit({"other": "x"})
    assert coded(doctor(instance, who="reviewer")[1], "unpushed")["level"] == "warning"


def test_a_remote_that_does_not_answer(instance):
    instance.remote.path.rename(instance.folder / "moved.git")
    said, findings = doctor(instance)
    assert said.code == 5 and coded(findings, "remote-unreachable")["level"] == "problem"
    assert about(findings, "ledger")[0]["level"] == "ok", "the rest is looked at all the same"


def test_missing_and_old_programs(instance, tmp_path, monkeypatch):
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "git").write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo git version 2.30.1 && exit\nexec {shutil.which("git")} "$@"\n'
    )
    (tools / "git").chmod(0o755)
    for name in ("sh", "env"):
        (tools / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tools))
    said, findings = doctor(instance)
    assert said.code == 4
    assert (
        "2.30.1" in coded(findings, "git-too-old")["says"] and "openssh-client" in coded(findings, "ssh-keygen-missing")["next"]
    )


# --- target, public site, ledger --------------------------------------------------------------------------------------------------


def test_a_target_among_what_git_keeps(tmp_path, web):
    instance = make_instance(tmp_path / "instance", url=web.url.rstrip("/"), target="{kind: directory, path: public}")
    editor = instance.clone("editor")
    editor.commit({"public/index.html": "by hand"})
    editor.push()
    instance.clone("ci").git("pull", "--quiet", "--ff-only", "origin", "main")
    said, findings = doctor(instance)
    assert said.code == 3 and "public/ is committed" in coded(findings, "target-tracked")["says"]


def test_a_target_inside_the_drafts(tmp_path, web):
    instance = make_instance(tmp_path / "instance", url=web.url.rstrip("/"), target="{kind: directory, path: drafts/out}")
    assert coded(doctor(instance)[1], "target-options")["level"] == "problem"


def test_a_target_that_somebody_else_changed(instance):
    instance.plan_and_approve()
    instance.publisher("ci", "run", check=0)
    (instance.public / "current/index.html").write_text("mine")
    said, findings = doctor(instance)
    assert said.code == 4 and coded(findings, "foreign-live")["next"] == "publisher reconcile blog"


def test_a_public_site_that_differs(instance, web):
    instance.plan_and_approve()
    instance.publisher("ci", "run", check=0)
    web.missing.add("/.well-known/publisher.json")
    said, findings = doctor(instance)
    assert said.code == 4 and "missing a-0001, a-0002" in coded(findings, "public-differs")["says"]
    web.foreign = b"<title>Somebody else's</title>"
    said, findings = doctor(instance)
    assert said.code == 7 and coded(findings, "manifest-garbled")


def test_a_public_site_that_is_silent(tmp_path):
    with serving(tmp_path / "instance/public/current") as web:
        instance = make_instance(tmp_path / "instance", url=web.url.rstrip("/"))
        instance.plan_and_approve()
        instance.publisher("ci", "run", check=0)
    said, findings = doctor(instance)
    item = coded(findings, "manifest-unreachable")
    assert said.code == 5 and item["level"] == "problem" and item["next"].startswith("publisher serve --site blog")


def test_a_clock_that_is_apart(instance, web):
    web.date = lambda: datetime.now(UTC) + timedelta(minutes=5)
    said, findings = doctor(instance)
    assert said.code == 4 and coded(findings, "clocks-apart")["about"] == "clock"


def test_a_lost_ledger_is_never_a_first_run(instance):
    editor = instance.clone("editor")
    editor.commit({"ledger/blog/claims/2026.jsonl": None})
    editor.push()
    instance.clone("ci").git("pull", "--quiet", "--ff-only", "origin", "main")
    said, findings = doctor(instance)
    assert said.code == 7 and coded(findings, "no-ledger")["about"] == "ledger"
