"""What is wrong with a site at a moment: pure findings from its view, its policy, requests, a look at the public and ``now``.

Rules:
* a plan has one alarm at most, the one that names its trouble best; when it changes, that is news;
* what a person did on purpose (paused, skipped, canceled) is no trouble, and a paused site promises nothing;
* a date is promised by the policy from its start on, and from the ledger's epoch or the last resume on; a skipped one is not;
* a date that passed stays an alarm until a person closes it; nothing here fills a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from publisher.domain.alarms import Alarm, Code, Told
from publisher.domain.business_calendar import business_date, for_people, parse_date, parse_instant
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import Kind, Plan
from publisher.domain.policy import Policy
from publisher.engine.deciding import Act, Decision, decide
from publisher.engine.site_view import PlanView, SiteView, kind_of
from publisher.errors import EXIT_INPUT, Refusal

REMIND = timedelta(hours=18)
"""How long before ``publish_at`` a missing decision is told: the evening before a morning's publication."""
OPEN_TOO_LONG = timedelta(hours=1)
"""How long an outcome may be open, or an expired claim with open work, before somebody is told."""
LOOK_BACK = 2
"""Dates before today that are looked at for a plan that was never made; a longer silence has an alarm of its own."""
UNDECIDED = frozenset({"approval-absent", "request-closed"})


@dataclass(frozen=True, kw_only=True)
class Requested:
    """A plan that stands in an open request and not on the default branch yet."""

    number: int
    plan: Plan


@dataclass(frozen=True, kw_only=True)
class PublicLook:
    """What was seen of the live release: addresses that show something else, and those without an answer at a second look."""

    differ: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    plain: str = ""
    """The verdict of one ordinary look, which a cache may answer; it decides nothing."""


@dataclass(frozen=True, kw_only=True)
class SiteFacts:
    """Everything that a site's alarms follow from. ``policy`` None: the site promises nothing.

    ``short`` is why the next dates cannot be planned, if so. ``public`` None: there is nothing that could be compared.
    """

    view: SiteView
    policy: Policy | None = None
    requested: Mapping[str, Requested] = field(default_factory=dict)
    short: Refusal | None = None
    public: PublicLook | None = None
    told: Mapping[str, Told] = field(default_factory=dict)

    @property
    def site(self) -> str:
        return self.view.site.id

    def path_of(self, day: date) -> str:
        return f"{self.site}/daily/{day.year:04d}/{day.isoformat()}"

    def stands(self, code: Code, about: str) -> bool:
        found = self.told.get(f"{code}:{about}")
        return found is not None and found.stands


def site_alarms(facts: SiteFacts, now: datetime) -> tuple[Alarm, ...]:
    """Every alarm of one site, plans first."""
    return (
        *(alarm for view in facts.view.plans.values() if (alarm := plan_alarm(facts, view, now))),
        *(() if facts.view.controls.paused else _promises(facts, now)),
        *_public(facts),
    )


def _alarm(facts: SiteFacts, code: Code, about: str, says: str, next: str, since: datetime | None = None) -> Alarm:
    plan = about if "/" in about else ""
    return Alarm(code=code, about=about, site=facts.site, plan=plan, says=says, next=next, since=since)


# --- one plan -----------------------------------------------------------------------------------------------------------------


def plan_alarm(facts: SiteFacts, view: PlanView, now: datetime) -> Alarm | None:
    """The one alarm of a plan, or None."""
    if view.history.over:
        return None
    decision = decide(view, facts.view, now)
    for rule in (_unreadable, _unknown_open, _claim_stuck):
        if alarm := rule(facts, view, decision, now):
            return alarm
    if facts.view.controls.paused or decision.code == "skipped" or (view.plan or view.found) is None:
        return None
    for rule in (_missed, _not_proven, _undecided, _unclaimed, _late):
        if alarm := rule(facts, view, decision, now):
            return alarm
    return None


def _unreadable(facts: SiteFacts, view: PlanView, decision: Decision, now: datetime) -> Alarm | None:
    problem = view.problem
    if not isinstance(problem, Refusal) or problem.exit_code != EXIT_INPUT:
        return None
    return _alarm(facts, Code.INSTANCE_UNREADABLE, view.path, _told(decision.what, decision.code), decision.command)


def _unknown_open(facts: SiteFacts, view: PlanView, decision: Decision, now: datetime) -> Alarm | None:
    history = view.history
    begun = history.unknown.at if history.unknown else history.intent.at if history.intent else ""
    begun = begun or (history.last_at if history.telling else "")
    if not begun or now < parse_instant(begun) + OPEN_TOO_LONG:
        return None
    code = history.unknown.code if history.unknown else decision.code
    alarm = _alarm(facts, Code.UNKNOWN_OPEN, view.path, _told(decision.what, code), decision.command, parse_instant(begun))
    return _noticed(alarm, view, code)


def _claim_stuck(facts: SiteFacts, view: PlanView, decision: Decision, now: datetime) -> Alarm | None:
    last = facts.view.standing.last
    if last is None or last.released or last.plan != view.path or now < last.until + OPEN_TOO_LONG or not decision.is_effect:
        return None
    says = f"{last.holder} held fence {last.fence.number} until {_when(facts, last.until)}; its work is open: {decision.what}"
    return _alarm(facts, Code.CLAIM_STUCK, view.path, says, "publisher run", last.until)


def _missed(facts: SiteFacts, view: PlanView, decision: Decision, now: datetime) -> Alarm | None:
    plan, history = _plan(view), view.history
    passed = plan.kind is Kind.PUBLICATION and business_date(now, plan.zone) > plan.day
    if not passed or history.is_public or history.intent or history.failed or decision.act is Act.WORK:
        return None
    says = f"{plan.day} passed, and nothing was published for it: {_told(decision.what, decision.code)}"
    alarm = _alarm(facts, Code.MISSED, view.path, says, _again_or_skip(view.path, plan.day, facts.site), plan.publish_at)
    return _noticed(alarm, view, decision.code)


def _not_proven(facts: SiteFacts, view: PlanView, decision: Decision, now: datetime) -> Alarm | None:
    merged = decision.code.startswith("approval-") and decision.code not in ("approval-absent", "approval-needed")
    if not merged and decision.code != "approved-too-early":
        return None
    alarm = _alarm(facts, Code.APPROVAL_NOT_PROVEN, view.path, _told(decision.what, decision.code), decision.command)
    return _noticed(alarm, view, decision.code)


def _undecided(facts: SiteFacts, view: PlanView, decision: Decision, now: datetime) -> Alarm | None:
    """Nobody has decided: told the evening before the date, or when a request of later has waited as long."""
    if decision.code not in UNDECIDED:
        return None
    plan = _plan(view)
    opened = [parse_instant(event.at) for event in facts.view.events.get(view.path, ()) if event.type is EventType.REQUESTED]
    late = bool(opened) and opened[-1] >= plan.publish_at
    if now < (opened[-1] + REMIND if late else plan.publish_at - REMIND):
        return None
    says = f"it is due {for_people(plan.publish_at, plan.zone)}, and {_told(decision.what, decision.code)}"
    alarm = _alarm(facts, Code.UNAPPROVED_TOMORROW, view.path, says, decision.command, plan.publish_at)
    return _noticed(alarm, view, decision.code)


def _unclaimed(facts: SiteFacts, view: PlanView, decision: Decision, now: datetime) -> Alarm | None:
    opens, last, limits = _opens(view), facts.view.standing.last, facts.view.instance.watch
    if decision.act is not Act.WORK or view.history.stage or now < opens + limits.unclaimed_after:
        return None
    if (last and not last.released and now < last.until) or _was_claimed(facts, view.path, opens):
        return None
    says = f"due {_when(facts, opens)} and validly approved; the schedule may be switched off, queued or failing to start"
    return _alarm(facts, Code.DUE_UNCLAIMED, view.path, says, f"publisher run {view.path}", opens)


def _was_claimed(facts: SiteFacts, path: str, since: datetime) -> bool:
    return any(
        event.type is EventType.CLAIMED and event.fields.get("plan") == path and parse_instant(event.at) >= since
        for name, events in facts.view.events.items()
        if name.startswith(f"{facts.site}/claims/")
        for event in reversed(events)
    )


def _late(facts: SiteFacts, view: PlanView, decision: Decision, now: datetime) -> Alarm | None:
    approved = view.approval() or view.history.approvals
    opens = _opens(view)
    waits = decision.code in UNDECIDED or decision.act is Act.RECORD_REJECTED
    if not approved or view.history.confirmed or waits or now < opens + facts.view.instance.watch.late_after:
        return None
    reached = f"it has only been {view.history.stage}" if view.history.stage else "nothing of it is done"
    says = f"due {_when(facts, opens)} and approved; {reached}: {_told(decision.what, decision.code)}"
    alarm = _alarm(facts, Code.LATE, view.path, says, decision.command or f"publisher status {view.path}", opens)
    return _noticed(alarm, view, decision.code)


def _opens(view: PlanView) -> datetime:
    """From when on a run may act: the latest of ``publish_at`` and the merges of its approvals."""
    windows = [asked.window.opens for gate in view.asked if (asked := view.latest(gate)) and asked.window]
    return max([_plan(view).publish_at, *windows])


def _plan(view: PlanView) -> Plan:
    plan = view.plan or view.found
    assert plan is not None
    return plan


def _noticed(alarm: Alarm, view: PlanView, code: str) -> Alarm:
    """Marked as told where a run's own notice of this attempt gave the same reason."""
    attempt = str(view.history.attempt)
    said = any((notice.split(":")[0], notice.split(":")[-1]) == (code, attempt) for notice in view.history.notices)
    return replace(alarm, noticed=said)


# --- what the policy promises -------------------------------------------------------------------------------------------------


def _promises(facts: SiteFacts, now: datetime) -> Iterator[Alarm]:
    yield from _requests(facts, now)
    policy = facts.policy
    if policy is None:
        return
    today = business_date(now, policy.zone)
    yield from _without_plan(facts, policy, today, now)
    yield from _nothing_confirmed(facts, policy, now)
    if facts.short:
        says = f"the next dates cannot be planned: {_told(facts.short.says, facts.short.code)}"
        yield _alarm(facts, Code.QUEUE_LOW, facts.site, says, facts.short.next or "publisher queue list")


def _requests(facts: SiteFacts, now: datetime) -> Iterator[Alarm]:
    """Plans that stand in an open request alone."""
    for path, item in facts.requested.items():
        plan = item.plan
        if path in facts.view.plans or plan.day.isoformat() in facts.view.controls.skipped:
            continue
        daily = plan.kind is Kind.PUBLICATION
        if daily and business_date(now, plan.zone) > plan.day:
            says = f"{plan.day} passed while request {item.number} waited for a decision"
            yield _alarm(facts, Code.MISSED, path, says, f"close request {item.number}, or {_skip(plan.day, facts.site)}")
        elif now >= plan.publish_at - REMIND and (
            daily or now < plan.publish_at or facts.stands(Code.UNAPPROVED_TOMORROW, path)
        ):
            says = f"it is due {for_people(plan.publish_at, plan.zone)}, and request {item.number} waits for a decision"
            yield _alarm(facts, Code.UNAPPROVED_TOMORROW, path, says, f"publisher approve {item.number}", plan.publish_at)


def _without_plan(facts: SiteFacts, policy: Policy, today: date, now: datetime) -> Iterator[Alarm]:
    """Promised dates for which nothing was proposed: told the evening before, and once they passed."""
    before = {today - timedelta(days=number) for number in range(1, LOOK_BACK + 1)}
    for day in sorted(before | set(_standing_dates(facts))):
        if _is_empty(facts, policy, day):
            says = f"{day} passed without a plan, though the policy promises {policy.quantity} a day"
            yield _alarm(facts, Code.MISSED, facts.path_of(day), says, _skip(day, facts.site))
    for number in range(min(2, policy.horizon_days)):
        day = today + timedelta(days=number)
        if _is_empty(facts, policy, day) and now >= policy.instant(day) - REMIND:
            says = f"it would be due {for_people(policy.instant(day), policy.zone)}, and nothing is proposed for it"
            next = f"publisher plan --date {day} --site {facts.site}, or {_skip(day, facts.site)}"
            yield _alarm(facts, Code.NO_PLAN, facts.path_of(day), says, next, policy.instant(day))


def _standing_dates(facts: SiteFacts) -> Iterator[date]:
    """Dates of alarms that stand: such a date stays one until a person closes it, however long ago it is."""
    for item in facts.told.values():
        if item.stands and item.code == Code.MISSED:
            try:
                yield parse_date(item.about.rsplit("/", 1)[-1])
            except ValueError:
                continue


def _is_empty(facts: SiteFacts, policy: Policy, day: date) -> bool:
    """Whether a date is promised and has neither plan nor request."""
    path = facts.path_of(day)
    if day.isoformat() in facts.view.controls.skipped or path in facts.view.plans or path in facts.requested:
        return False
    try:
        due = policy.instant(day)
    except ValueError:
        return False  # a date that the zone leaves out
    return day >= policy.start and due > _promised_since(facts)


def _promised_since(facts: SiteFacts) -> datetime:
    """The ledger's epoch or the last resume: before it, nothing of what was promised is known, or it was suspended on purpose."""
    kept = {EventType.EPOCH, EventType.RESUMED}
    names = [name for name in facts.view.events if name.split("/")[1] in ("claims", "controls")]
    found = [event.at for name in names for event in facts.view.events[name] if event.type in kept]
    return parse_instant(max(found, default="1970-01-01T00:00:00Z"))


def _nothing_confirmed(facts: SiteFacts, policy: Policy, now: datetime) -> Iterator[Alarm]:
    names = [name for name in facts.view.events if kind_of(name) in (Kind.PUBLICATION, Kind.LAUNCH)]
    confirmed = ((event.at, name) for name in names for event in facts.view.events[name] if event.type is EventType.CONFIRMED)
    last_at, last = max(confirmed, default=("", ""))
    try:
        start = policy.instant(policy.start)
    except ValueError:
        return
    since = max(_promised_since(facts), start, *([parse_instant(last_at)] if last_at else []))
    limits = facts.view.instance.watch
    skipped = sum(parse_date(day) >= business_date(since, policy.zone) for day in facts.view.controls.skipped)
    if now < since + limits.nothing_confirmed_after + timedelta(days=skipped) + limits.late_after:
        return
    says = (
        f"the last confirmed plan is {last} ({_when(facts, parse_instant(last_at))})" if last else "nothing was ever confirmed"
    )
    yield _alarm(
        facts, Code.NOTHING_CONFIRMED, facts.site, f"{says}, though the policy promises {policy.quantity} a day",
        f"publisher status --site {facts.site}", since,
    )  # fmt: skip


# --- the public ---------------------------------------------------------------------------------------------------------------


def _public(facts: SiteFacts) -> Iterator[Alarm]:
    look, next = facts.public, f"publisher reconcile {facts.site}"
    if look is None:
        return
    if look.differ:
        alarm = _alarm(facts, Code.DRIFTED, facts.site, "these addresses show something else than was confirmed", next)
        yield replace(alarm, urls=look.differ)
    if look.silent:
        alarm = _alarm(facts, Code.PUBLIC_UNREACHABLE, facts.site, "these addresses gave no usable answer, twice", next)
        yield replace(alarm, urls=look.silent)


# --- words --------------------------------------------------------------------------------------------------------------------


def _told(what: str, code: str) -> str:
    return f"{what} [{code}]"


def _when(facts: SiteFacts, at: datetime) -> str:
    return for_people(at, facts.view.site.zone)


def _skip(day: date, site: str) -> str:
    return f'publisher skip {day} --site {site} --reason "…"'


def _again_or_skip(path: str, day: date, site: str) -> str:
    return f"publisher plan --again {path}, or {_skip(day, site)}"
