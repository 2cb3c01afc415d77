"""The bench at which a worker works: one plan's facts and the doors that its step may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from publisher.domain.approval import Approval
from publisher.domain.article import Draft
from publisher.domain.claim import Fence
from publisher.domain.fingerprint import short
from publisher.domain.gates import PLAN_GATE
from publisher.domain.handover import Handed
from publisher.domain.history import History
from publisher.domain.instance import Instance, Site
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import Plan
from publisher.domain.site_content import Production
from publisher.engine.deciding import Decision
from publisher.engine.journal import Journal
from publisher.engine.site_view import SiteView
from publisher.errors import Bug
from publisher.ports import (
    Alerts,
    Assembler,
    BranchUpdate,
    Channel,
    Clock,
    Probes,
    Progress,
    ReadsForge,
    ReadsRepository,
    Records,
    Requests,
    SiteBuilder,
    Target,
    Tips,
    Worker,
)


@dataclass(frozen=True, kw_only=True)
class Doors:
    """Every door that a run may use, as wiring opened them. The callables take a site and make that site's own door."""

    reads: ReadsRepository
    records: Records
    forge: ReadsForge
    requests: Requests
    builder: SiteBuilder
    clock: Clock
    progress: Progress
    alerts: Alerts
    workers: Mapping[tuple[str, str], Worker]
    target: Callable[[Site], Target]
    staging: Callable[[Site], Target | None]
    probes: Callable[[Site], Probes]
    channel: Callable[[Site, str], Channel]
    render: Callable[[Mapping[str, Any]], bytes]
    actor: str
    new_nonce: Callable[[], str]
    host_time: Callable[[], datetime | None] = lambda: None
    """What a pull-request host's clock said last; None where there is none, or it was not asked yet."""


class RunBench:
    """Implements ``ports.Bench`` over a journal."""

    def __init__(
        self,
        *,
        doors: Doors,
        journal: Journal,
        decision: Decision,
        assembler: Assembler,
        handed: Mapping[str, Handed] | None = None,
    ) -> None:
        view = journal.view.plans[decision.plan]
        if view.plan is None or journal.fence is None:
            raise Bug("no-bench", "a worker needs a readable plan and a claim")
        self._doors = doors
        self._journal = journal
        self._decision = decision
        self.plan: Plan = view.plan
        self.site: Site = journal.view.site
        self.instance: Instance = journal.view.instance
        self.approval: Approval | None = view.approval()
        gate = next((step.gate for step in view.plan.steps if step.name == decision.step), "")
        found = {name: view.approval(name) for name in (PLAN_GATE, gate) if name}
        self._merges = {name: approval.merge if approval else "" for name, approval in found.items()}
        self.fence: Fence = journal.fence
        self.reads = doors.reads
        self.builder = doors.builder
        self.assembler = assembler
        self.handed = handed
        self.target = doors.target(self.site)
        self.staging = doors.staging(self.site)
        self.probes = doors.probes(self.site)
        self.clock = doors.clock
        self.progress = doors.progress

    @property
    def tips(self) -> Tips:
        return self._journal.view.tips

    @property
    def history(self) -> History:
        return self._journal.view.plans[self.plan.path].history

    @property
    def production(self) -> Production:
        return self._journal.view.production

    def channel(self, name: str) -> Channel:
        return self._doors.channel(self.site, name)

    def announced_in(self) -> str:
        events = self._journal.view.events.get(self.plan.path, ())
        n = next((event.n for event in reversed(events) if event.type is EventType.DEPLOY_INTENT), 0)
        return self.reads.recorded_in(self.tips.state, self.plan.path, n) if n else self.tips.state

    def keep(self, data: bytes) -> str:
        return self._doors.records.keep(data)

    def note(self, kind: EventType, **fields: Any) -> None:
        self._journal.note(self.plan.path, kind, fields)

    def put(self, files: Mapping[str, bytes]) -> None:
        self._journal.put(files)

    def commit(self, subject: str, joined: Sequence[BranchUpdate] = (), *, fact: bool = False) -> None:
        self._journal.commit(subject, decision=self._decision, payload=self.plan.payload, joined=joined, fact=fact)

    def require_in_time(self) -> None:
        self._journal.require_in_time(self._decision)

    def require_still_allowed(self) -> None:
        self._journal.require_still_allowed(self._decision, self.plan.payload, self._merges)

    def outgoing(self) -> Mapping[str, bytes]:
        return self._journal.outgoing()

    def private_drafts(self) -> Sequence[Draft]:
        """Every source of the site that is neither public nor part of this plan.

        A source whose address is public already is left out: its text was reviewed, and a later edit of it is in no build's reach.
        """
        public = {text.url.strip("/") for text in self.production.content.texts.values()}
        ours = {article.id for article in self.plan.articles} | set(self.production.content.texts)
        commit = self.tips.drafts
        sources = [s for s in self.reads.draft_sources(commit, self.site.id) if s.rsplit("/", 1)[-1] not in public]
        found, unreadable = self.reads.drafts(commit, self.site.id, sources)
        for source in unreadable:
            # Somebody's work in progress: no build can read it either, and once it is readable it is scanned for. Its address is
            # private where drafts lie elsewhere: this run's log may be public then.
            named = "a draft" if self.instance.drafts.remote else source
            self.progress(f"{named} cannot be read and was not scanned for")
        return [draft for draft in found.values() if draft.id not in ours]


def approvals_to_record(site: SiteView, path: str) -> list[dict[str, Any]]:
    """The fields of ``approved`` events that the ledger lacks: one per gate whose newest approval is not recorded."""
    view = site.plans[path]
    recorded = {(item["gate"], item["merge"]) for item in view.history.approvals}
    found: list[dict[str, Any]] = []
    plan = view.found
    if plan and view.history.payload not in ("", plan.payload):
        # The file is a revision that no record names yet: recorded first, its approval would stand for the old payload's tasks.
        return found
    for gate, asked in view.asked.items():
        approval = next((item.verdict for item in reversed(asked) if isinstance(item.verdict, Approval)), None)
        if approval and plan and (gate, approval.merge) not in recorded:
            own = view.asked[PLAN_GATE][0].verdict
            commit = own.merge if isinstance(own, Approval) else approval.merge
            found.append(_approved_fields(gate, approval, plan, commit))
    return found


def _approved_fields(gate: str, approval: Approval, plan: Plan, commit: str) -> dict[str, Any]:
    return {
        "gate": gate,
        "plan_payload": plan.payload,
        "plan_commit": commit,
        "payload": approval.subject.payload,
        "path": approval.subject.path,
        "revision": plan.revision,
        "steps": [step.name for step in plan.steps],
        "by": list(approval.by),
        "merged_at": approval.merged_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "merge": approval.merge,
        "request": approval.request,
        "evidence": dict(approval.evidence),
    }


def name_of(decision: Decision, plan: Plan) -> str:
    """How a commit's subject names a plan: site and date, or site and what it is."""
    return f"{plan.site} {plan.key.split(':', 1)[-1]} ({short(plan.payload)})"
