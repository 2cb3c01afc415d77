"""What a change of the configuration means: one sentence for each difference that somebody who approves ought to see.

Rules:
* an option's value is never told, only its name: the file itself shows it, to whoever may read the file;
* what must never change (the instance's id, what GUIDs are made from) is marked as forbidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from publisher.domain.approval import ApprovalRules
from publisher.domain.instance import Instance, Site, TargetSpec


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One difference. ``place`` is where the new value stands in its file."""

    code: str
    says: str
    place: tuple[str | int, ...] = ()
    forbidden: bool = False
    quiet: bool = False
    """A fact to know rather than something to decide about."""


def instance_differences(old: Instance, new: Instance) -> Iterator[Difference]:
    """What changes from one ``publisher.yaml`` to another."""
    if old.id != new.id:
        says = "the instance's id never changes: every approval names it"
        yield Difference(code="instance-id-changed", says=says, place=("instance", "id"), forbidden=True)
    if old.forge != new.forge:
        says = f"approvals are read otherwise: the forge changes from {old.forge} to {new.forge}"
        yield Difference(code="forge-changed", says=says, place=("forge",))
    if old.github != new.github:
        yield Difference(code="host-changed", says="approvals are asked for at another repository or host", place=("github",))
    if (old.default_branch, old.state_branch) != (new.default_branch, new.state_branch):
        says = "plans are read from, or records written to, another branch"
        yield Difference(code="branches-changed", says=says, place=("branches",))
    if old.drafts != new.drafts:
        yield Difference(code="drafts-moved", says="drafts are read from another place", place=("drafts",))
    if old.on_call != new.on_call:
        yield Difference(
            code="on-call-changed", says="other people are told when something stops", place=("on_call",), quiet=True
        )
    for name in sorted(old.sites.keys() - new.sites.keys()):
        yield Difference(code="site-removed", says=f"site {name} is taken out: nothing of it runs any more", place=("sites",))
    for name in sorted(new.sites.keys() - old.sites.keys()):
        says = f"site {name} is new; its target is {new.sites[name].target.kind}"
        yield Difference(code="site-added", says=says, place=("sites", name))
    for name in sorted(new.sites.keys() & old.sites.keys()):
        yield from _site_differences(old.sites[name], new.sites[name])


def _site_differences(old: Site, new: Site) -> Iterator[Difference]:
    at = ("sites", new.id)
    if old.target != new.target:
        says = f"site {new.id} becomes public elsewhere: its target's {_fields(old.target, new.target)} changes"
        yield Difference(code="target-changed", says=says, place=(*at, "target"))
    if old.staging != new.staging:
        yield Difference(code="staging-changed", says=f"site {new.id} is staged elsewhere", place=(*at, "staging"))
    if old.url != new.url:
        yield Difference(code="address-changed", says=f"site {new.id} gets another address", place=(*at, "url"))
    if old.tag_authority != new.tag_authority:
        says = f"the GUIDs of site {new.id} are made from its tag_authority, which never changes"
        yield Difference(code="guids-changed", says=says, place=(*at, "tag_authority"), forbidden=True)
    if (old.channels, old.announce) != (new.channels, new.announce):
        yield Difference(code="channels-changed", says=f"site {new.id} is announced otherwise", place=(*at,))
    shown = ("title", "description", "language", "author", "zone_name")
    if any(getattr(old, name) != getattr(new, name) for name in shown):
        says = f"what the pages of site {new.id} say changes; it goes live by a presentation change"
        yield Difference(code="look-changed", says=says, place=at, quiet=True)


def _fields(old: TargetSpec, new: TargetSpec) -> str:
    if old.kind != new.kind:
        return f"kind (from {old.kind} to {new.kind})"
    return " and ".join(_differing(old.options, new.options))


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def rules_differences(old: ApprovalRules, new: ApprovalRules) -> Iterator[Difference]:
    """What changes from one ``approval.yaml`` to another. ``old`` is the version in force."""
    people = list(_people(old, new))
    if people:
        yield Difference(code="who-may-approve", says=f"this changes who may approve: {'; '.join(people)}")
    if old.count != new.count:
        says = f"a plan needs {_approvals(new.count)} instead of {_approvals(old.count)}"
        yield Difference(code="approvals-needed", says=says, place=("approvals",))
    if (old.expires_after, old.max_lead) != (new.expires_after, new.max_lead):
        yield Difference(code="approval-window", says="approvals may be used for another time than before")


def _people(old: ApprovalRules, new: ApprovalRules) -> Iterator[str]:
    before, after = _who(old), _who(new)
    for name in sorted({*before, *after}):
        could, can = before.get(name, frozenset()), after.get(name, frozenset())
        gained, lost = can - could, could - can
        if gained:
            yield f"adds {name} ({', '.join(sorted(gained))})"
        if lost:
            yield f"removes {name} ({', '.join(sorted(lost))})"


def _who(rules: ApprovalRules) -> dict[str, frozenset[str]]:
    """What each person may do, by what tells people apart: a key for signers, an account's number for approvers."""
    found: dict[str, frozenset[str]] = {}
    for signer in rules.signers:
        may = {"may commit"} if signer.may_commit else set()
        may |= {"may approve"} if signer.may_approve else set()
        name = f"{signer.principal} with the key ending {signer.key.rstrip('=')[-8:]}"
        found[name] = found.get(name, frozenset()) | may
    for approver in rules.approvers:
        found[f"{approver.login} (account {approver.id})"] = frozenset({"may approve"})
    return found


def _approvals(count: int) -> str:
    return "1 approval" if count == 1 else f"{count} approvals"
