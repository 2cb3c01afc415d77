"""Every kind of tampering is found by its own code and place, and a clean instance has no finding."""

from __future__ import annotations

import shutil

import pytest

from publisher.errors import StoppedForSafety
from tests.audit.tampering import KINDS
from tests.support.audited import STATE, Tampered, copy_clone, finished_story
from tests.support.command_line import publisher
from tests.support.gitrepos import Repository, clone


@pytest.fixture
def world(tmp_path):
    return Tampered(copy_clone(tmp_path / "clone"), finished_story().clock.now())


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_tampering_is_found(world, name):
    kind = KINDS[name]
    printed = kind.do(world) or ""
    if kind.refused:
        with pytest.raises(StoppedForSafety) as stop:
            world.audit()
        assert stop.value.code == kind.code
        return
    report = world.audit(since=[printed] if printed else [])
    found = [(finding.code, finding.where) for finding in report.problems]
    assert (kind.code, kind.where.format(tip=printed)) in found, found
    says = [finding.says for finding in report.problems if finding.code == kind.code]
    assert any(f"[{kind.reason}]" in text for text in says) or not kind.reason, says
    assert report.exit_code == 7


def test_there_are_many_kinds_and_most_have_a_code_of_their_own():
    assert len(KINDS) >= 45
    assert len({(kind.code, kind.reason) for kind in KINDS.values()}) >= 25


# --- with a real remote, by the command line ------------------------------------------------------------------------------------


@pytest.fixture
def remote(tmp_path):
    """A copy of the story's remote, with the strictest rules that plain git has."""
    shutil.copytree(finished_story().instance.remote.path, tmp_path / "remote.git")
    made = Repository(tmp_path / "remote.git", "remote")
    made.setting("receive.denyNonFastForwards", "true")
    made.setting("receive.denyDeletes", "true")
    made.setting("receive.fsckObjects", "true")
    return made


def audited(path, *argv):
    return publisher("audit", "--json", *argv, at=path)


def test_a_fast_forward_that_swaps_the_past_passes_the_hosts_rules_and_not_the_audit(world, remote, tmp_path):
    KINDS["the state branch is turned around by a merge"].do(world)
    hand = Repository(world.path)
    hand.git("push", "--quiet", str(remote.path), f"refs/remotes/origin/{STATE}:refs/heads/{STATE}")
    said = audited(clone(remote, tmp_path / "auditor").path)
    assert said.code == 7
    assert {problem["code"] for problem in said.data["problems"]} == {"ledger-other-line"}


def test_a_branch_that_was_put_back_is_known_to_whoever_kept_its_tip(remote, tmp_path):
    auditor = clone(remote, tmp_path / "auditor")
    first = audited(auditor.path)
    assert first.code == 0
    tips = [first.data["state"], first.data["default"]]
    assert audited(auditor.path, "--since-tip", tips[0], "--since-tip", tips[1]).code == 0
    remote.setting("receive.denyNonFastForwards", "false")
    attacker = clone(remote, tmp_path / "attacker")
    attacker.git("push", "--quiet", "--force", "origin", f"origin/{STATE}~4:refs/heads/{STATE}")
    later = clone(remote, tmp_path / "later")
    assert audited(later.path).code == 0  # what is left is in order; only the earlier tip tells that more was there
    said = audited(later.path, "--since-tip", tips[0], "--since-tip", tips[1])
    assert said.code == 7
    assert [(problem["code"], problem["where"]) for problem in said.data["problems"]] == [("tip-lost", tips[0])]


def test_the_tips_to_keep_are_said(remote, tmp_path):
    auditor = clone(remote, tmp_path / "auditor")
    said = publisher("audit", at=auditor.path)
    report = audited(auditor.path).data
    assert f"publisher audit --since-tip {report['default']} --since-tip {report['state']}" in said.err


@pytest.mark.parametrize("tip", ["main", "HEAD", "abc", "0" * 39, "--all"])
def test_a_tip_is_a_whole_id(remote, tmp_path, tip):
    said = audited(clone(remote, tmp_path / "auditor").path, f"--since-tip={tip}")
    assert (said.code, said.data["error"]["code"]) == (2, "bad-commit")
