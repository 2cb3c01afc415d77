"""``approval.yaml`` edited as lines, so that its comments and order stay: people taken out or put in, a key changed, the number.

Each edit takes a file's bytes and returns the new ones. It is made only if the strict reader then finds exactly the rules that were
meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from publisher.domain.approval import ApprovalRules, Signer
from publisher.errors import NeedsPerson, UsageProblem
from publisher.gitstore import instance_files, strict_yaml
from publisher.gitstore.working_tree import require_same
from publisher.gitstore.yaml_lines import Entries, entries_of
from publisher.gitstore.yaml_writing import render_yaml

PATH = "approval.yaml"


def rules_of(data: bytes) -> ApprovalRules:
    return instance_files.rules_of(data, PATH)


def without(data: bytes, who: str) -> bytes:
    """``who`` (a principal with every key of it, or a login) is not listed any more."""
    rules = rules_of(data)
    names = [signer.principal for signer in rules.signers]
    logins = [approver.login for approver in rules.approvers]
    if who not in (*names, *logins):
        raise UsageProblem("no-such-person", f"approval.yaml does not list {who}", next="publisher doctor")
    text = _take(data, "signers", [place for place, name in enumerate(names) if name == who])
    text = _take(text, "approvers", [place for place, name in enumerate(logins) if name == who])
    signers = tuple(signer for signer in rules.signers if signer.principal != who)
    approvers = tuple(approver for approver in rules.approvers if approver.login != who)
    return _as_meant(text, replace(rules, signers=signers, approvers=approvers))


def with_signer(data: bytes, signer: Signer) -> bytes:
    """One more signer, at the end."""
    rules = instance_files.rules_of(data, PATH)
    if not rules.signers:
        raise UsageProblem(
            "no-signers", "approval.yaml lists no signers; accounts are edited by hand", next="edit approval.yaml"
        )
    entries = _entries(data, "signers")
    may = [word for word, allowed in (("commit", signer.may_commit), ("approve", signer.may_approve)) if allowed]
    values = {"principal": signer.principal, "key": signer.key, "may": may}
    line = render_yaml({"signers": [values]}).decode("utf-8").splitlines()[1].strip()
    entries.insert(len(entries.chunks), [f"{entries.indent}{line}\n"])
    return _as_meant(entries.text().encode(), replace(rules, signers=(*rules.signers, signer)))


def with_key(data: bytes, principal: str, key: str) -> bytes:
    """``principal`` has this key and no other; what it may do stays."""
    rules = instance_files.rules_of(data, PATH)
    old = [signer for signer in rules.signers if signer.principal == principal]
    if not old:
        raise UsageProblem("no-such-person", f"approval.yaml does not list {principal}", next="publisher doctor")
    may_commit, may_approve = any(signer.may_commit for signer in old), any(signer.may_approve for signer in old)
    signer = Signer(principal=principal, key=key, may_commit=may_commit, may_approve=may_approve)
    others = [place for place, signer in enumerate(rules.signers) if signer.principal != principal]
    if not others:
        raise NeedsPerson(
            "nobody-left", f"{principal} is the only signer; nobody else could approve this", next="publisher doctor"
        )
    return with_signer(without(data, principal), signer)


def with_count(data: bytes, count: int) -> bytes:
    """So many people must approve."""
    rules = instance_files.rules_of(data, PATH)
    text = re.sub(r"(?m)^approvals:( *)\d+", rf"approvals:\g<1>{count}", data.decode("utf-8"), count=1)
    return _as_meant(text.encode(), replace(rules, count=count))


def _entries(data: bytes, key: str) -> Entries:
    return entries_of(data, strict_yaml.load(data, PATH), key)


def _take(data: bytes, key: str, places: Iterable[int]) -> bytes:
    places = list(places)
    if not places:
        return data
    entries = _entries(data, key)
    for place in reversed(places):
        entries.take(place)
    text = entries.text()
    if not entries.chunks:
        text = re.sub(rf"(?m)^{key}:(?= *(?:#.*)?$)", f"{key}: []", text, count=1)
    return text.encode()


def _as_meant(data: bytes, expected: ApprovalRules) -> bytes:
    require_same(instance_files.rules_of(data, PATH), expected)
    return data
