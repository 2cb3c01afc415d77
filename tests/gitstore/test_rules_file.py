"""``approval.yaml`` edited as lines: comments stay, and nothing else changes than what was asked for."""

from __future__ import annotations

import pytest

from publisher.domain.approval import Signer
from publisher.errors import InputProblem, NeedsPerson, UsageProblem
from publisher.gitstore import rules_file

ANN, BEN, NEW = (f"ssh-ed25519 {letter * 40}" for letter in "ABC")
FILE = f"""\
# Who may approve.
approvals: 1   # four eyes later
expires_after: 24h
signers:
  # proposes
  - {{principal: ann@example.org, key: "{ANN}", may: [commit]}}
  # decides
  - principal: ben@example.org
    key: "{BEN}"   # since March
    may: [commit, approve]
approvers:
  - {{login: ann, id: 1}}
  - {{login: ben, id: 2}}   # the second
""".encode()


def test_a_principal_goes_with_its_comment_and_nothing_else() -> None:
    text = rules_file.without(FILE, "ben@example.org").decode()
    assert text == FILE.decode().replace(
        f'  # decides\n  - principal: ben@example.org\n    key: "{BEN}"   # since March\n    may: [commit, approve]\n', ""
    )


def test_an_account_goes_by_its_login() -> None:
    text = rules_file.without(FILE, "ann").decode()
    assert text == FILE.decode().replace("  - {login: ann, id: 1}\n", "")


def test_the_last_one_leaves_an_empty_list() -> None:
    data = rules_file.without(rules_file.without(FILE, "ann"), "ben")
    assert rules_file.rules_of(data).approvers == ()
    assert b"approvers: []\n" in data


def test_every_key_of_a_principal_goes() -> None:
    more = Signer(principal="ann@example.org", key=NEW, may_commit=True, may_approve=False)
    data = rules_file.without(rules_file.with_signer(FILE, more), "ann@example.org")
    assert [signer.principal for signer in rules_file.rules_of(data).signers] == ["ben@example.org"]


def test_another_key_keeps_what_its_owner_may() -> None:
    data = rules_file.with_key(FILE, "ben@example.org", NEW)
    ann, ben = rules_file.rules_of(data).signers
    assert (ann.key, ben.key, ben.may_commit, ben.may_approve) == (ANN, NEW, True, True)
    assert BEN.encode() not in data
    assert b"# proposes\n" in data


def test_the_number_changes_and_its_comment_stays() -> None:
    assert rules_file.with_count(FILE, 2) == FILE.replace(b"approvals: 1 ", b"approvals: 2 ")


@pytest.mark.parametrize("edit", [rules_file.without, lambda data, who: rules_file.with_key(data, who, NEW)])
def test_nobody_of_that_name(edit: object) -> None:
    with pytest.raises(UsageProblem) as refused:
        edit(FILE, "carl@example.org")  # type: ignore[operator]
    assert refused.value.code == "no-such-person"


def test_a_key_that_somebody_else_has_is_refused() -> None:
    with pytest.raises(InputProblem) as refused:
        rules_file.with_key(FILE, "ben@example.org", ANN)
    assert refused.value.code == "key-shared"


def test_the_only_signer_keeps_its_key() -> None:
    with pytest.raises(NeedsPerson) as refused:
        rules_file.with_key(rules_file.without(FILE, "ann@example.org"), "ben@example.org", NEW)
    assert refused.value.code == "nobody-left"


def test_signers_are_not_added_to_accounts() -> None:
    data = b"approvals: 1\napprovers:\n  - {login: ann, id: 1}\n"
    with pytest.raises(UsageProblem) as refused:
        rules_file.with_signer(data, Signer(principal="ann@example.org", key=NEW, may_commit=True, may_approve=True))
    assert refused.value.code == "no-signers"
