"""What a change of configuration or approval rules means, told without any value of an option."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from publisher.domain.approval import ApprovalRules, Approver, Signer
from publisher.domain.configuration_changes import instance_differences, rules_differences
from publisher.domain.instance import ChannelSpec, Drafts, GithubHost, TargetSpec
from tests.support.values import INSTANCE

SITE = next(iter(INSTANCE.sites.values()))


def codes(new: object) -> list[str]:
    return [item.code for item in instance_differences(INSTANCE, new)]  # type: ignore[arg-type]


def test_nothing_changed() -> None:
    assert codes(INSTANCE) == []
    assert codes(replace(INSTANCE, lease=timedelta(minutes=3))) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"id": "i-other"}, "instance-id-changed"),
        ({"forge": "github"}, "forge-changed"),
        ({"github": GithubHost(repository="ann/site")}, "host-changed"),
        ({"default_branch": "trunk"}, "branches-changed"),
        ({"state_branch": "elsewhere"}, "branches-changed"),
        ({"drafts": Drafts(remote="https://drafts.example/x")}, "drafts-moved"),
        ({"on_call": ("eve@example.org",)}, "on-call-changed"),
        ({"sites": {}}, "site-removed"),
        ({"sites": {**INSTANCE.sites, "more": replace(SITE, id="more")}}, "site-added"),
    ],
)
def test_a_change_of_the_instance(change: dict[str, object], code: str) -> None:
    assert codes(replace(INSTANCE, **change)) == [code]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"target": TargetSpec(kind="directory", options={"path": "/secret/place"})}, "target-changed"),
        ({"target": TargetSpec(kind="git-branch", options={"token_secret": "HUSH"})}, "target-changed"),
        ({"staging": TargetSpec(kind="directory", options={"path": "/secret/place"})}, "staging-changed"),
        ({"url": "https://other.example/"}, "address-changed"),
        ({"tag_authority": "other.example,2026"}, "guids-changed"),
        ({"channels": (ChannelSpec(name="mail", kind="smtp", options={}),)}, "channels-changed"),
        ({"title": "Another title"}, "look-changed"),
    ],
)
def test_a_change_of_a_site(change: dict[str, object], code: str) -> None:
    new = replace(INSTANCE, sites={**INSTANCE.sites, SITE.id: replace(SITE, **change)})  # type: ignore[arg-type]
    (found,) = instance_differences(INSTANCE, new)
    assert found.code == code and found.place[:2] == ("sites", SITE.id)
    assert "secret/place" not in found.says and "HUSH" not in found.says and "other.example" not in found.says


def test_what_never_changes_is_forbidden() -> None:
    new = replace(INSTANCE, id="i-other", sites={SITE.id: replace(SITE, tag_authority="other.example,2026")})
    forbidden = {item.code for item in instance_differences(INSTANCE, new) if item.forbidden}
    assert forbidden == {"instance-id-changed", "guids-changed"}


ANN = Approver(login="ann", id=1)
KEY = "ssh-ed25519 " + "A" * 60


def told(old: ApprovalRules, new: ApprovalRules) -> dict[str, str]:
    return {item.code: item.says for item in rules_differences(old, new)}


def test_accounts_are_told_apart_by_their_numbers() -> None:
    rules = ApprovalRules(approvers=(ANN,))
    assert told(rules, rules) == {}
    says = told(rules, replace(rules, approvers=(Approver(login="ann", id=2),)))["who-may-approve"]
    assert "adds ann (account 2) (may approve)" in says and "removes ann (account 1) (may approve)" in says


def test_keys_are_told_apart_by_their_ends() -> None:
    rules = ApprovalRules(signers=(Signer(principal="ann", key=KEY + "12345678", may_commit=True, may_approve=True),))
    other = replace(rules, signers=(replace(rules.signers[0], key=KEY + "87654321"),))
    says = told(rules, other)["who-may-approve"]
    assert (
        "adds ann with the key ending 87654321 (may approve, may commit)" in says
        and "removes ann with the key ending 12345678" in says
    )
    less = replace(rules, signers=(replace(rules.signers[0], may_approve=False),))
    assert told(rules, less)["who-may-approve"].endswith("removes ann with the key ending 12345678 (may approve)")


def test_numbers_and_times() -> None:
    rules = ApprovalRules(count=1)
    assert told(rules, replace(rules, count=2)) == {"approvals-needed": "a plan needs 2 approvals instead of 1 approval"}
    assert list(told(rules, replace(rules, max_lead=timedelta(days=90)))) == ["approval-window"]
    assert list(told(rules, replace(rules, expires_after=timedelta(days=90)))) == ["approval-window"]
