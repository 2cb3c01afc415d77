"""Records what people decided, as soon as it is merged: so that ``status`` knows it without asking anybody, and a merge that
approves nothing is told on the day of the merge and not on the day of the publication.

A record is a cache. A run derives each approval again before its first irreversible effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from publisher.domain.approval import NoApproval
from publisher.domain.fingerprint import short
from publisher.domain.gates import PLAN_GATE
from publisher.domain.ledger_events import EventType, NewEvent
from publisher.engine import people
from publisher.engine.bench import Doors, approvals_to_record
from publisher.engine.deciding import standing_plan
from publisher.engine.site_view import PlanView, SiteView, refusal_of
from publisher.errors import NeedsPerson, Refusal


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What became of one site's merges: the new records, and merges that prove no approval."""

    site: str
    approvals: tuple[dict[str, str], ...]
    """``plan``, ``gate``, ``payload``, ``by`` and ``request`` of each approval that was recorded now."""
    problems: tuple[Refusal, ...]


def record_approvals(doors: Doors, site: str) -> Recorded:
    """Appends an ``approved`` event for each approval that the ledger lacks; nothing is pushed when it lacks none."""
    new: list[dict[str, str]] = []

    def decide(view: SiteView) -> dict[str, list[NewEvent]]:
        new.clear()
        events = {}
        for path in view.plans:
            fields = approvals_to_record(view, path)
            if fields:
                events[path] = [NewEvent(type=EventType.APPROVED, fields=item) for item in fields]
                new.extend(_row(path, item) for item in fields)
        return events

    view = people.record(doors, site, f"Record approvals of {site}", decide, judge=True)
    return Recorded(site=site, approvals=tuple(new), problems=tuple(_problems(view)))


def _row(path: str, fields: dict[str, object]) -> dict[str, str]:
    by = fields["by"]
    assert isinstance(by, list)
    return {
        "plan": path, "gate": str(fields["gate"]), "payload": str(fields["payload"]), "by": ", ".join(by),
        "request": str(fields["request"]),
    }  # fmt: skip


def _problems(view: SiteView) -> Iterator[Refusal]:
    for commit in view.rules.ignored:
        yield NeedsPerson(
            "rules-ignored", f"commit {commit[:12]} changes approval.yaml without an approval; it is not in force",
            next="propose the change in a pull request of its own, or put the file back",
        )  # fmt: skip
    for plan in view.plans.values():
        refusal = _refusal(plan)
        if refusal:
            yield NeedsPerson(
                f"approval-{refusal.code}", f"payload {short(standing_plan(plan).payload)} is merged and not approved: {refusal.says}",
                next=f"publisher plan --again {plan.path}", plan=plan.path,
            )  # fmt: skip


def _refusal(plan: PlanView) -> NoApproval | None:
    if plan.found is None or plan.history.over or plan.history.is_public or plan.approval(PLAN_GATE):
        return None
    refusal = refusal_of(plan, PLAN_GATE)
    return None if refusal is None or refusal.absent else refusal
