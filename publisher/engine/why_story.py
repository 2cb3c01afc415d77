"""One plan's story as an answer: does it exist, who asked, who approved which payload, under which claim it was carried out, what
became public when and was seen where, who decided what, where it stopped, and what must happen next.

Everything is read from the ledger and from git objects as they are known here; nothing is judged anew but approvals, each of which
is derived once more at its own merge. Ids, digests, addresses, codes and people's reasons only; never a title or text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from publisher.domain.approval import Approval, NoApproval, Rejection, Subject
from publisher.domain.business_calendar import in_utc
from publisher.domain.gates import PLAN_GATE
from publisher.domain.ledger_events import Event, EventType
from publisher.domain.plan import Kind, Plan
from publisher.domain.public_pages import absolute
from publisher.engine.deciding import decide
from publisher.engine.site_view import PlanView, SiteView
from publisher.engine.status import plan_status
from publisher.engine.story import WORDS, Fields
from publisher.errors import ComeBackLater, Refusal
from publisher.ports import ReadsForge, ReadsRepository

BY_PEOPLE = frozenset(
    {
        EventType.REJECTED, EventType.CANCELED, EventType.RETRIED, EventType.SETTLED, EventType.PAUSED, EventType.RESUMED,
        EventType.SKIPPED, EventType.REPAIRED, EventType.TAKEDOWN, EventType.FOLLOWED_UP,
    }
)  # fmt: skip
"""What a person decided, approvals aside."""

CARRIED_OUT = frozenset(
    {
        EventType.REVISED, EventType.REVISION_REFUSED, EventType.PREPARED, EventType.BUILT, EventType.DEPLOY_INTENT,
        EventType.DEPLOYED, EventType.DEPLOY_CLOSED, EventType.UNKNOWN, EventType.CONFIRMED, EventType.ANNOUNCE_INTENT,
        EventType.ANNOUNCE_RESULT, EventType.ANNOUNCED, EventType.FAILED, EventType.RESTORED,
    }
)  # fmt: skip
"""What runs did."""


@dataclass(frozen=True, kw_only=True)
class Teller:
    """Tells plans of one site. ``recorded`` says that ``forge`` shows what the ledger has of a host's answers."""

    reads: ReadsRepository
    forge: ReadsForge
    view: SiteView
    now: datetime
    recorded: bool = False

    def tell(self, path: str) -> dict[str, Any]:
        """The story of a plan that the view knows."""
        plan = self.view.plans[path]
        file = plan.plan or plan.found or self.bound(plan)
        if file and plan.plan is None and plan.found is None:
            plan = replace(plan, plan=file)
        decision = decide(plan, self.view, self.now)
        status = plan_status(self.view, plan, decision, self.now)
        events = self.view.events.get(path, ())
        approvals = self._approvals(plan, file, events)
        kept = ("plan", "kind", "key", "date", "publish_at", "stage", "payload", "revision", "next")
        return {
            **{name: status[name] for name in kept},
            "exists": "merged" if path in self._merged else "ledger",
            "action": str(file.action or "") if file else "",
            "reason": str(file.data.get("reason", "")) if file else "",
            "supersedes": file.supersedes if file else "",
            "asked": self._asked(approvals, events),
            "approvals": approvals,
            "claims": self._claims(events),
            "carried_out": [_act(event) for event in events if event.type in CARRIED_OUT],
            "public": [self._public(plan, item) for item in status["articles"]],
            "decided": self._decided(file, events, approvals),
            "stopped": self._stopped(plan, status["next"]),
        }

    def bound(self, plan: PlanView) -> Plan | None:
        """The file of a plan that is over, which the view does not open: as its ledger names it, else as it is now."""
        history = plan.history
        try:
            found = self.reads.plan(history.commit or self.view.tips.default, plan.path)
        except Refusal:
            return None
        return found if found and history.payload in ("", found.payload) else None

    @cached_property
    def _merged(self) -> frozenset[str]:
        return frozenset(self.reads.plan_paths(self.view.tips.default, self.view.site.id))

    # --- people -------------------------------------------------------------------------------------------------------------

    def _asked(self, approvals: Sequence[Mapping[str, Any]], events: Sequence[Event]) -> list[dict[str, Any]]:
        """Each request: the plan's own as its approvals name it, and gates as they were recorded when they were proposed."""
        asked = [
            {"request": e.fields["request"], "gate": e.fields["gate"], "by": [e.actor], "at": e.at, "how": "asked for"}
            for e in events
            if e.type is EventType.REQUESTED
        ]
        again = {row["request"] for row in asked}
        written = [
            {"request": row["request"], "gate": row["gate"], "by": row["written_by"], "at": "", "how": "written"}
            for row in approvals
            if row["gate"] == PLAN_GATE and row["request"] is not None and row["request"] not in again
        ]
        return [*written, *asked]

    def _approvals(self, plan: PlanView, file: Plan | None, events: Sequence[Event]) -> list[dict[str, Any]]:
        closes = {
            (gate, item.verdict.merge): in_utc(item.window.closes)
            for gate, asked in plan.asked.items()
            for item in asked
            if isinstance(item.verdict, Approval) and item.window
        }
        found = [self._recorded(event) for event in events if event.type is EventType.APPROVED]
        if not found and plan.history.over and file:
            found = self._never_recorded(plan, file)
        known = {(row["gate"], row["merge"]) for row in found}
        for gate, asked in plan.asked.items():
            for verdict in (item.verdict for item in asked):
                if isinstance(verdict, Approval) and (gate, verdict.merge) not in known:
                    found.append(_approval_row(gate, verdict, "derived" if not self.recorded else "recorded"))
                elif isinstance(verdict, NoApproval) and not verdict.absent:
                    found.append(_no_row(gate, verdict.subject.payload, f"{verdict.says} [{verdict.code}]"))
                elif isinstance(verdict, Rejection):
                    found.append(
                        _no_row(gate, verdict.subject.payload, f"rejected by {verdict.by} (request {verdict.request})")
                    )
        return [{**row, "until": closes.get((row["gate"], row["merge"]), "")} for row in found]

    def _never_recorded(self, plan: PlanView, file: Plan) -> list[dict[str, Any]]:
        """The approval of a plan that ended without a record of it: canceled before, or found public by a restore."""
        path = f"plans/{plan.path}.yaml"
        merge = self.reads.last_change(self.view.tips.default, path)
        if not merge:
            return []
        subject = Subject(path=path, payload=file.payload, revision=file.revision)
        try:
            verdict = self.forge.verdict(replace(self.view.tips, default=merge), subject)
        except Refusal:
            return []
        derived = "recorded" if self.recorded else "derived"
        return [_approval_row(PLAN_GATE, verdict, derived)] if isinstance(verdict, Approval) else []

    def _recorded(self, event: Event) -> dict[str, Any]:
        fields = event.fields
        row = {
            "gate": fields["gate"], "payload": fields["payload"], "by": list(fields["by"]), "at": fields["merged_at"],
            "request": fields["request"], "merge": fields["merge"], "why_not": "",
        }  # fmt: skip
        return {**row, "proof": self._proof(fields), "written_by": _signers(fields.get("evidence"))}

    def _proof(self, fields: Mapping[str, Any]) -> str:
        """Whether the merge that a record names proves it still: ``derived``, ``recorded``, ``not-derived`` or ``not-proven``."""
        subject = Subject(path=fields["path"], payload=fields["payload"], revision=self._revision(fields))
        try:
            verdict = self.forge.verdict(replace(self.view.tips, default=fields["merge"]), subject)
        except ComeBackLater:
            return "not-derived"
        except Refusal:
            return "not-proven"
        if not isinstance(verdict, Approval) or list(verdict.by) != list(fields["by"]):
            return "not-proven"
        return "recorded" if self.recorded else "derived"

    def _revision(self, fields: Mapping[str, Any]) -> int:
        return int(fields["revision"]) if "/gates/" not in fields["path"] else 1

    def _decided(
        self, file: Plan | None, events: Sequence[Event], approvals: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """People's decisions about the plan, and about its site while the plan was open."""
        first = min([event.at for event in events[:1]] + [row["at"] for row in approvals if row["at"]], default="")
        last = events[-1].at if events and _is_over(events) else ""
        found = [event for event in events if event.type in BY_PEOPLE]
        for event in self.view.events.get(f"{self.view.site.id}/controls", ()):
            if event.type is EventType.SKIPPED:
                own = file is not None and file.kind is Kind.PUBLICATION and file.day.isoformat() == event.fields.get("date")
            else:
                own = bool(first) and first <= event.at and (not last or event.at <= last)
            found += [event] if own else []
        return [_act(event) for event in sorted(found, key=lambda event: event.at)]

    # --- runs ---------------------------------------------------------------------------------------------------------------

    def _claims(self, events: Sequence[Event]) -> list[dict[str, Any]]:
        """The claims under which the plan's records were written, in order."""
        given = [event for name, items in sorted(self.view.events.items()) if "/claims/" in name for event in items]
        found: list[dict[str, Any]] = []
        for event in events:
            if event.claim is None:
                continue
            made = [c for c in given if c.type is EventType.CLAIMED and c.claim == event.claim and c.at <= event.at]
            if not made or any(row["nonce"] == made[-1].fields.get("nonce") for row in found):
                continue
            nonce = made[-1].fields.get("nonce")
            ended = next((c.at for c in given if c.type is EventType.RELEASED and c.fields.get("nonce") == nonce), "")
            row = {"epoch": made[-1].fields.get("epoch"), "fence": event.claim, "holder": made[-1].fields.get("holder")}
            found.append({**row, "nonce": nonce, "at": made[-1].at, "released": ended})
        return found

    def _stopped(self, plan: PlanView, following: Mapping[str, Any]) -> dict[str, Any] | None:
        """Where the plan stands still; None when all is done, or it only waits for its time or the next run."""
        trouble = plan.history.failed or plan.history.unknown
        if trouble:
            return {"step": trouble.step, "code": trouble.code, "at": trouble.at}
        step = plan.history.next_step
        if plan.history.canceled:
            return {"step": step.name if step else "", "code": "canceled", "at": plan.history.last_at}
        if plan.history.over or following["who"] in ("nobody", "clock", "run"):
            return None
        return {"step": step.name if step else "", "code": following["code"], "at": plan.history.last_at}

    # --- the public ---------------------------------------------------------------------------------------------------------

    def _public(self, plan: PlanView, item: Mapping[str, Any]) -> dict[str, Any]:
        """One article of the plan: when this plan made it public, where that was seen, and what changed it since."""
        events = self.view.events.get(plan.path, ())
        url = absolute(self.view.site.url, str(item["url"]))
        deployed = next((event for event in events if event.type is EventType.DEPLOYED), None)
        seen = next((event for event in reversed(events) if event.type is EventType.CONFIRMED), None)
        pages = seen.fields.get("pages") if seen else None
        seen_there = pages.get(url) if isinstance(pages, Mapping) else None
        return {
            **item, "deployed_at": deployed.at if deployed else "", "release": deployed.fields["release"] if deployed else "",
            "seen_at": seen.at if seen else "", "seen": url if seen_there else "", "gone": seen_there == "gone",
            "by_word": bool(seen and seen.fields.get("how") == "settled"),
            "since": list(_since(self.view, plan.path, str(item["id"]))),
        }  # fmt: skip


def _since(view: SiteView, path: str, article: str) -> Iterator[dict[str, Any]]:
    """What later deployments did to an article."""
    numbers = {item.plan: item.number for item in view.production.deployments}
    for item in view.production.deployments:
        if path not in numbers or item.number <= numbers[path]:
            continue
        done = [
            *(["corrected"] if article in {text.id for text in item.prepared.puts} else []),
            *(["withdrawn"] if article in {row["id"] for row in item.prepared.withdraws} else []),
            *(["hidden"] if article in item.prepared.hides else []),
            *(["put back to an earlier text"] if article in {row["id"] for row in item.prepared.reverts} else []),
        ]
        for what in done:
            history = view.plans[item.plan].history if item.plan in view.plans else None
            at = history.deployed.at if history and history.deployed else ""
            yield {"what": what, "plan": item.plan, "at": at}


def _act(event: Event) -> dict[str, Any]:
    fields = Fields(event.fields)
    by, what = event.actor, WORDS[event.type](fields)
    if event.type is EventType.REJECTED:  # written down by a run, decided by a person
        by, what = fields["by"], f"rejected request {fields['request']} (payload {fields.short('payload')})"
    return {"at": event.at, "by": by, "claim": event.claim, "type": str(event.type), "what": what}


def _is_over(events: Iterable[Event]) -> bool:
    ends = (EventType.CONFIRMED, EventType.CANCELED, EventType.REJECTED, EventType.RESTORED)
    return any(event.type in ends for event in events)


def _signers(evidence: object) -> list[str]:
    """Who wrote the request, where the evidence says it: forge ``git``, whose commits are signed."""
    found = evidence.get("signers", ()) if isinstance(evidence, Mapping) else ()
    return [str(name) for name in found]


def _approval_row(gate: str, approval: Approval, proof: str) -> dict[str, Any]:
    return {
        "gate": gate, "payload": approval.subject.payload, "by": list(approval.by), "at": in_utc(approval.merged_at),
        "request": approval.request, "merge": approval.merge, "why_not": "", "proof": proof,
        "written_by": _signers(approval.evidence),
    }  # fmt: skip


def _no_row(gate: str, payload: str, why: str) -> dict[str, Any]:
    return {
        "gate": gate, "payload": payload, "by": [], "at": "", "request": None, "merge": "", "why_not": why, "proof": "not-proven",
        "written_by": [],
    }  # fmt: skip
