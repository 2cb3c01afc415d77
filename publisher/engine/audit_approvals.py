"""The audit of approvals: each one that the ledger records is derived again from the default branch's history.

The ledger's record is a cache. What counts is the merge it names: that it lies on the default branch's first-parent chain, holds
exactly the recorded payload, and carries the signed evidence of the same people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from publisher.domain.approval import Approval, ApprovalRules, NoApproval, Subject
from publisher.domain.business_calendar import in_utc
from publisher.domain.fingerprint import canonical_json, short
from publisher.domain.gates import PLAN_GATE
from publisher.domain.ledger_events import Event
from publisher.domain.plan import Plan
from publisher.engine.audit_findings import Findings, line
from publisher.errors import ComeBackLater
from publisher.ports import GitReads, ReadsForge, ReadsRepository, Tips

ALL = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A recorded approval. ``approval`` is None when history does not prove it, ``plan`` when its commit has another one.

    ``subject`` is what was asked for: the plan's payload, or the release that a gate names. ``commit`` is where the plan stands.
    """

    event: Event
    gate: str
    plan_payload: str
    subject: str
    commit: str
    approval: Approval | None
    plan: Plan | None


class Approvals:
    """Derives approvals again, each at its own merge."""

    def __init__(self, *, reads: ReadsRepository, git: GitReads, forge: ReadsForge, tips: Tips, found: Findings) -> None:
        self._reads = reads
        self._git = git
        self._forge = forge
        self._tips = tips
        self._found = found
        # A merge that brings a plan or a gate file in changes something below plans/, so this is every merge that can count.
        self._chain = frozenset(git.first_parent_changes(tips.default, "plans", limit=ALL))
        self.count = 0

    def rules(self, commit: str) -> ApprovalRules:
        return self._forge.rules(commit)

    def contains(self, older: str, newer: str) -> bool:
        return older == newer or self._git.is_ancestor(older, newer)

    def on_default(self, commit: str) -> bool:
        return self.contains(commit, self._tips.default)

    def prove(self, path: str, event: Event) -> Proof:
        """The proof of an ``approved`` event of a plan's file."""
        self.count += 1
        fields, where = event.fields, line(path, event.n)
        plan = self._plan(path, fields["plan_commit"], fields["plan_payload"], where)
        own = fields["path"] == f"plans/{path}.yaml"
        approval = self._derive(fields, fields["revision"] if own else 1, where)
        subject = fields["plan_payload"]
        if own:
            claims = (fields["gate"], fields["plan_payload"], fields["plan_commit"])
            if claims != (PLAN_GATE, fields["payload"], fields["merge"]):
                self._found.problem("approval-differs", where, "the record says something else than the merge of the plan")
        else:
            subject = self._gate_subject(path, fields, where)
        if plan and [step.name for step in plan.steps] != fields["steps"]:
            self._found.problem("approval-differs", where, "the recorded steps are not those of the approved plan")
        return Proof(
            event=event, gate=fields["gate"], plan_payload=fields["plan_payload"], subject=subject,
            commit=fields["plan_commit"], approval=approval, plan=plan,
        )  # fmt: skip

    def _plan(self, path: str, commit: str, payload: str, where: str) -> Plan | None:
        if commit not in self._chain:
            says = f"the plan's commit {short(commit)} is no change of plans on the default branch's own chain"
            self._found.problem("approval-elsewhere", where, says)
            return None
        plan = self._reads.plan(commit, path)
        if plan is None or plan.payload != payload:
            found = short(plan.payload) if plan else "no such plan"
            self._found.problem("plan-differs", where, f"payload {short(payload)} is recorded, its commit has {found}")
            return None
        return plan

    def _derive(self, fields: Mapping[str, Any], revision: int, where: str) -> Approval | None:
        merge = fields["merge"]
        if merge not in self._chain:
            says = f"merge {short(merge)} is no change of plans on the default branch's own chain"
            self._found.problem("approval-elsewhere", where, says)
            return None
        subject = Subject(path=fields["path"], payload=fields["payload"], revision=revision)
        approval = self.derive(merge, subject, where)
        if approval is None:
            return None
        if list(approval.by) != fields["by"]:
            says = f"history proves the approval of {', '.join(approval.by)}, the record names others"
            self._found.problem("approvers-differ", where, says)
            return None
        recorded = [fields["merge"], fields["request"], fields["merged_at"], fields["evidence"]]
        derived = [approval.merge, approval.request, in_utc(approval.merged_at), dict(approval.evidence)]
        if canonical_json(recorded) != canonical_json(derived):
            self._found.problem("approval-differs", where, "merge, request, time or evidence are not what history proves")
            return None
        return approval

    def derive(self, merge: str, subject: Subject, where: str) -> Approval | None:
        """The approval that history proves for a file as it was merged; None, with a finding, when there is none."""
        try:
            verdict = self._forge.verdict(replace(self._tips, default=merge), subject)
        except ComeBackLater:
            self._found.unproven(
                "approval-not-derived", where, "the forge that holds the evidence was not asked: no connection"
            )
            return None
        if isinstance(verdict, Approval):
            return verdict
        why = f"{verdict.says} [{verdict.code}]" if isinstance(verdict, NoApproval) else "it was rejected"
        self._found.problem("approval-not-proven", where, f"merge {short(merge)} approves nothing: {why}")
        return None

    def _gate_subject(self, path: str, fields: Mapping[str, Any], where: str) -> str:
        """What a merged gate file asks for; "" when it is not the one that the record describes."""
        name = fields["path"].removeprefix("plans/").removesuffix(".yaml")
        files = {file.path: file for file in self._reads.gates(fields["merge"], path.split("/", 1)[0])}
        file = files.get(name)
        if file is None or (file.gate, file.plan, file.plan_payload) != (fields["gate"], path, fields["plan_payload"]):
            self._found.problem("gate-differs", where, "the merged request asks for something else than the record says")
            return ""
        return file.subject_hash
