"""People's decisions as ledger events: ask again, retry, settle, cancel, skip, pause, resume. They carry no claim.

Rules:
* a decision is refused on a clock that is behind the ledger's newest record, but for a pause: stopping must never wait, so it is
  recorded at that record's time;
* a decision names who and why; it is refused, with the reason, where the table of states does not allow it;
* it is one compare-and-swap on the state branch, made again on a moved tip only if it is still allowed there;
* settling an unknown as "it happened" records the fact that goes with it; it is the one way in which a person's word stands for
  evidence, and the record says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from publisher.domain.business_calendar import parse_date, parse_instant
from publisher.domain.history import RECORD_LOST, deploy_step
from publisher.domain.ledger_events import EventType, NewEvent
from publisher.domain.tasks import State
from publisher.engine import requesting
from publisher.engine.bench import Doors
from publisher.engine.patience import Patience
from publisher.engine.running import require_clock, require_ledger
from publisher.engine.site_view import PlanView, SiteView, load
from publisher.errors import ComeBackLater, NeedsPerson, OutcomeUnknown, UsageProblem
from publisher.ports import Batch

Decide = Callable[[SiteView], dict[str, list[NewEvent]]]


def record(doors: Doors, site: str, subject: str, decide: Decide, *, judge: bool = False, urgent: bool = False) -> SiteView:
    """Makes a decision on the newest ledger and returns the view with it. ``decide`` gives the events, or refuses.

    Approvals are looked at only where ``judge`` says so: a pause must not wait for a pull-request host. ``urgent`` does not even wait
    for a clock.
    """
    tips = doors.records.refresh()
    patience = Patience(doors.clock)
    while patience.lasts(tips.state):
        view = load(doors.reads, doors.forge, tips, site, judge=judge)
        require_ledger(view)
        now = doors.clock.now()
        if urgent and view.last_at:
            now = max(now, parse_instant(view.last_at))
        require_clock(view, now)
        events = decide(view)
        if not events:
            return view
        commit = doors.records.compose(tips, Batch(events=events, message=f"{subject}\n\nBy: {doors.actor}"), now)
        try:
            landing = doors.records.publish(tips, commit)
        except ComeBackLater:
            raise OutcomeUnknown(
                "record-unknown", "the decision was pushed and the remote cannot be read, so it is not known whether it arrived",
                next="publisher status",
            ) from None  # fmt: skip
        tips = landing.tips
        if landing.landed:
            return load(doors.reads, doors.forge, tips, site, judge=judge)
    if not patience.moved:
        says = "the remote answers and does not take the decision, though nobody else moved the branch; its rules may forbid it"
        raise ComeBackLater("push-refused", says, next="publisher doctor")
    raise ComeBackLater("state-branch-busy", "the state branch keeps moving", next="try again")


def plan_in(view: SiteView, path: str) -> PlanView:
    if path not in view.plans:
        raise UsageProblem("no-such-plan", f"there is no plan {path}", next="publisher status", plan=path)
    return view.plans[path]


def ask_again(doors: Doors, site: SiteView, path: str) -> dict[str, Any]:
    """Asks for a plan's approval once more and records that, since a rejected request never reaches the tree."""
    fields = requesting.ask_again(doors, site, plan_in(site, path))

    def decide(view: SiteView) -> dict[str, list[NewEvent]]:
        known = [(item.request, item.path) for item in plan_in(view, path).history.requests]
        return (
            {} if (fields["request"], fields["path"]) in known else {path: [NewEvent(type=EventType.REQUESTED, fields=fields)]}
        )

    record(doors, site.site.id, f"Ask again for {path} (request {fields['request']})", decide)
    return fields


def pause(doors: Doors, site: str, reason: str) -> SiteView:
    def decide(view: SiteView) -> dict[str, list[NewEvent]]:
        if view.controls.paused:
            return {}
        return {f"{site}/controls": [NewEvent(type=EventType.PAUSED, fields={"reason": reason})]}

    return record(doors, site, f"Pause {site}", decide, urgent=True)


def resume(doors: Doors, site: str, reason: str) -> SiteView:
    def decide(view: SiteView) -> dict[str, list[NewEvent]]:
        if not view.controls.paused:
            return {}
        return {f"{site}/controls": [NewEvent(type=EventType.RESUMED, fields={"reason": reason})]}

    return record(doors, site, f"Resume {site}", decide)


def skip(doors: Doors, site: str, date: str, reason: str) -> SiteView:
    """Closes a date: nothing is published for it, and its plan, if there is one, is canceled."""
    try:
        day = parse_date(date)
    except ValueError as rule:
        raise UsageProblem("bad-date", f"{rule}", next="publisher skip 2026-12-01") from None
    path = f"{site}/daily/{day.year:04d}/{day.isoformat()}"

    def decide(view: SiteView) -> dict[str, list[NewEvent]]:
        if date in view.controls.skipped:
            return {}
        events = {f"{site}/controls": [NewEvent(type=EventType.SKIPPED, fields={"date": date, "reason": reason})]}
        if path in view.plans:
            if view.plans[path].history.is_public:
                raise NeedsPerson(
                    "already-public", f"{date} is public; skipping it is not possible", next="publisher change withdraw"
                )
            events[path] = [_canceled(view.plans[path], reason)]
        return events

    return record(doors, site, f"Skip {site} {date}", decide)


def cancel(doors: Doors, site: str, path: str, reason: str) -> SiteView:
    def decide(view: SiteView) -> dict[str, list[NewEvent]]:
        plan = plan_in(view, path)
        return {} if plan.history.canceled else {path: [_canceled(plan, reason)]}

    return record(doors, site, f"Cancel {path}", decide)


def _canceled(plan: PlanView, reason: str) -> NewEvent:
    history = plan.history
    if history.over and not history.canceled:
        raise NeedsPerson(
            "already-done", f"{plan.path} is done; what is public changes by a change plan", next="publisher change"
        )
    if history.is_public:
        raise NeedsPerson("already-public", f"{plan.path} is public; withdraw it instead", next="publisher change withdraw")
    if history.intent or history.unknown:
        raise OutcomeUnknown(
            "deploy-open", f"a deploy of {plan.path} is open; reconcile first", next="publisher run", plan=plan.path
        )
    return NewEvent(type=EventType.CANCELED, fields={"reason": reason})


def retry(doors: Doors, site: str, path: str, step: str, reason: str) -> SiteView:
    def decide(view: SiteView) -> dict[str, list[NewEvent]]:
        history = plan_in(view, path).history
        if history.states.get(step) is not State.FAILED:
            state = history.states.get(step)
            known = ", ".join(history.states)
            says = f"{step} is {state}, and only a failed step is retried" if state else f"the steps of {path} are {known}"
            raise UsageProblem("not-failed", says, next=f"publisher status {path}", plan=path)
        return {path: [NewEvent(type=EventType.RETRIED, fields={"step": step, "reason": reason})]}

    return record(doors, site, f"Retry {path} {step}", decide)


def settle(doors: Doors, site: str, path: str, step: str, happened: bool, reason: str) -> SiteView:
    def decide(view: SiteView) -> dict[str, list[NewEvent]]:
        plan = plan_in(view, path)
        unknown = plan.history.unknown
        if unknown is None or unknown.step != step:
            raise UsageProblem("not-unknown", f"{step} of {path} is not unknown", next=f"publisher status {path}", plan=path)
        events = [NewEvent(type=EventType.SETTLED, fields={"step": step, "happened": happened, "reason": reason})]
        if happened and unknown.code != RECORD_LOST:
            events.append(_fact(view, plan, step))
        return {path: events}

    return record(doors, site, f"Settle {path} {step}: {'it happened' if happened else 'it did not'}", decide)


def _fact(view: SiteView, plan: PlanView, step: str) -> NewEvent:
    """The fact that a person vouches for. It is written under the number of the claim that intended it."""
    history = plan.history
    claim = view.standing.last.fence.number if view.standing.last else 0
    fields: dict[str, Any]
    if step == deploy_step(history.kind) and history.intent:
        intent = history.intent
        number = max(intent.deployment, view.production.deployment + 1)
        fields = {"deployment": number, "release": intent.release, "base": intent.base, "how": "settled"}
        return NewEvent(type=EventType.DEPLOYED, fields=fields, claim=intent.fence)
    if step == "announce":
        counts = {name: len(told) for name, told in sorted(history.told.items())}
        return NewEvent(type=EventType.ANNOUNCED, fields={"channels": sorted(counts), "recipients": counts}, claim=claim)
    fields = {"release": view.production.release, "urls": [], "pages": {}, "how": "settled"}
    return NewEvent(type=EventType.CONFIRMED, fields=fields, claim=claim)
