"""The next decision about a plan, as a pure function of plan, history, approvals, controls, production and now.

The order of the questions is the order of the rules:
1. what is over stays over;
2. what was set going outside is reconciled before anything else;
3. what failed or is unknown waits for a person;
4. what is public is confirmed and announced, whatever became of the approval since;
5. before a deploy intent: the same payload still stands, the site is not paused, the approval is valid at this moment, no other
   deploy of the site is open, and the preconditions for running unattended hold.
Nothing here reads a clock or a file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from publisher.domain.approval import NoApproval, Standing
from publisher.domain.business_calendar import business_date, for_people
from publisher.domain.fingerprint import short
from publisher.domain.gates import PLAN_GATE, subject_of
from publisher.domain.history import deploy_step
from publisher.domain.lines import Step
from publisher.domain.plan import Conflict, Kind, Plan
from publisher.engine.site_view import PlanView, SiteView, refusal_of, rejected
from publisher.engine.succession import check_successor, is_late_revision
from publisher.errors import EXIT_INPUT, EXIT_LATER, EXIT_OK, EXIT_PERSON, EXIT_UNKNOWN, NeedsPerson, Refusal


class Act(StrEnum):
    """What a run does about a plan. ``NONE`` means that nothing is to be done now."""

    NONE = "none"
    WORK = "work"
    """The named step's worker."""
    LOOK_AGAIN = "look-again"
    """Probes only; a record follows when the public facts have changed."""
    RECONCILE = "reconcile"
    """An open deploy intent: fence, look, record the truth."""
    CLOSE_TELLING = "close-telling"
    """Announcements that were intended and have no result: recorded as unknown."""
    RECORD_REJECTED = "record-rejected"
    RECORD_REVISED = "record-revised"
    RECORD_REVISION_REFUSED = "record-revision-refused"
    REQUEST = "request"
    """A gate file is proposed for review."""


class Who(StrEnum):
    NOBODY = "nobody"
    PERSON = "person"
    CLOCK = "clock"
    PROVIDER = "provider"
    RUN = "run"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What happens next to one plan, who must act, and the legal next command.

    ``exit_code`` is what a run of this plan alone ends with. ``gate`` and ``subject`` are set for ``REQUEST``.
    """

    plan: str
    act: Act = Act.NONE
    step: str = ""
    who: Who
    code: str
    what: str
    command: str = ""
    exit_code: int = EXIT_OK
    until: datetime | None = None
    gate: str = ""
    subject: str = ""

    @property
    def is_effect(self) -> bool:
        """Whether a run needs a claim for it."""
        return self.act not in (Act.NONE, Act.LOOK_AGAIN)


def decide(view: PlanView, site: SiteView, now: datetime) -> Decision:
    """The next decision about one plan of a site."""
    for rule in (_over, _unreadable, _open_ends, _troubled, _public_already, _changed_plan, _held_back, _approved):
        decision = rule(view, site, now)
        if decision:
            return decision
    return _run(view, Act.WORK, _next(view), _next(view), f"{_next(view)} is next")


def decisions(site: SiteView, now: datetime) -> tuple[Decision, ...]:
    """Every open plan's decision: what is under way first, then by date and path."""

    def order(view: PlanView) -> tuple[bool, str, str]:
        return not view.history.events, view.plan.day.isoformat() if view.plan else "", view.path

    return tuple(decide(view, site, now) for view in sorted(site.plans.values(), key=order))


# --- the rules, in order ------------------------------------------------------------------------------------------------------


def _over(view: PlanView, site: SiteView, now: datetime) -> Decision | None:
    if not view.history.over:
        return None
    left = [risk for risk, outcome in (view.history.takedown or {}).items() if not outcome]
    if left:
        # No run waits for it, so a run of this plan ends with 0.
        return Decision(
            plan=view.path, who=Who.PERSON, code="takedown-open", what=f"a takedown has open steps: {', '.join(left)}",
            command=f"publisher takedown {view.path}",
        )  # fmt: skip
    what = "canceled; nothing further of it runs" if view.history.canceled else "everything is done and recorded"
    return Decision(plan=view.path, who=Who.NOBODY, code="over", what=what)


def _unreadable(view: PlanView, site: SiteView, now: datetime) -> Decision | None:
    return None if view.plan else _missing(view)


def _open_ends(view: PlanView, site: SiteView, now: datetime) -> Decision | None:
    history = view.history
    if _deploy_is_unknown(view):
        return _settle(view, deploy_step(history.kind), "it is not known whether the release became public")
    if history.intent:
        return Decision(
            plan=view.path, act=Act.RECONCILE, step=deploy_step(history.kind), who=Who.RUN, code="deploy-open",
            what=f"a deploy of release {short(history.intent.release)} was begun and has no recorded outcome",
            command="publisher run", exit_code=EXIT_UNKNOWN,
        )  # fmt: skip
    if history.telling and not history.unknown:
        return Decision(
            plan=view.path, act=Act.CLOSE_TELLING, step="announce", who=Who.RUN, code="announcement-open",
            what="announcements were begun and have no recorded outcome", command="publisher run", exit_code=EXIT_UNKNOWN,
        )  # fmt: skip
    return None


def _troubled(view: PlanView, site: SiteView, now: datetime) -> Decision | None:
    history = view.history
    if history.failed:
        # A revision is a person's answer to the failure: another payload, with tasks of its own. So is a rejection.
        revision = None if history.is_public else _changed_plan(view, site, now)
        if revision and revision.act is Act.RECORD_REVISED:
            return revision
        if not history.is_public and (rejection := _rejected(view)):
            return rejection
        retry = f'publisher retry {view.path} {history.failed.step} --reason "…"'
        return Decision(
            plan=view.path, step=history.failed.step, who=Who.PERSON, code=history.failed.code,
            what=f"{history.failed.step} failed: {history.failed.code}",
            command=retry if history.is_public else f'{retry}, or publisher revise {view.path} --reason "…"', exit_code=EXIT_PERSON,
        )  # fmt: skip
    if history.unknown and history.unknown.step == "announce":
        return _settle(view, "announce", "it is not known whether every recipient got the announcement")
    return None


def _public_already(view: PlanView, site: SiteView, now: datetime) -> Decision | None:
    step = view.history.next_step
    if not view.history.is_public or step is None or step.name not in (deploy_step(view.history.kind), "confirm", "announce"):
        return None
    if is_late_revision(view):
        return _run(
            view, Act.RECORD_REVISION_REFUSED, step.name, "revised-late", "a revision came after the release became public"
        )
    if step.name == "announce":
        if site.controls.paused:
            return _paused(view, site, step.name)
        return _run(view, Act.WORK, "announce", "announce", "the publication is confirmed and not announced yet")
    if view.history.unknown:
        return Decision(
            plan=view.path, act=Act.LOOK_AGAIN, step=step.name, who=Who.PERSON, code="not-confirmed",
            what="it was deployed, and the public site does not show it in full",
            command=f'publisher run {view.path}, or publisher settle {view.path} {step.name} --happened --reason "…"',
            exit_code=EXIT_UNKNOWN,
        )  # fmt: skip
    return _run(view, Act.WORK, step.name, "confirm", "it was deployed and is not confirmed yet")


def _changed_plan(view: PlanView, site: SiteView, now: datetime) -> Decision | None:
    """The file at the default branch against the payload that the key is bound to."""
    history, found = view.history, view.found
    if found is None:
        return _missing(view)
    if found.payload in history.refused_revisions:
        return _person(view, "revision-refused", "the revision came too late and was refused", f"publisher log {view.path}")
    try:
        check_successor(view, found)
    except Conflict as conflict:
        what = f"the key is bound to payload {short(conflict.bound)}, the file now has {short(conflict.found)}"
        return _person(view, "conflict", what, f'publisher revise {view.path} --reason "…"')
    if history.payload in ("", found.payload):
        return None
    what = f"revision {found.revision} replaces payload {short(history.payload)}"
    return _run(view, Act.RECORD_REVISED, _next(view), "revised", what)


def _held_back(view: PlanView, site: SiteView, now: datetime) -> Decision | None:
    plan = standing_plan(view)
    if plan.day.isoformat() in site.controls.skipped and plan.kind is Kind.PUBLICATION:
        return _person(view, "skipped", "its date was skipped by a person", _cancel(view))
    if rejection := _rejected(view):
        return rejection
    if site.controls.paused:
        return _paused(view, site, _next(view))
    taken = _public_elsewhere(plan, site)
    if taken:
        return _person(view, "already-public", f"{taken} is public already; a publication never names it again", _cancel(view))
    return None


def _rejected(view: PlanView) -> Decision | None:
    if not any(rejected(view, gate) for gate in (PLAN_GATE, _gate_of(view))):
        return None
    return _run(view, Act.RECORD_REJECTED, _next(view), "rejected", "the request was rejected")


def _public_elsewhere(plan: Plan, site: SiteView) -> str:
    if plan.kind is Kind.CHANGE:
        return ""
    texts = site.production.content.texts
    return next((item for item in plan.article_ids if item in texts and texts[item].plan != plan.path), "")


def _approved(view: PlanView, site: SiteView, now: datetime) -> Decision | None:
    """The plan's own approval; for a launch that of the gate before the next step, once it is built."""
    plan, built, gate = standing_plan(view), view.history.built, _gate_of(view)
    gates = [] if built and plan.kind is Kind.LAUNCH else [PLAN_GATE]
    gates += [gate] if gate != PLAN_GATE else []
    for name in gates:
        waiting = _gate_state(view, site, now, name, subject_of(name, plan, built.release if built else ""))
        if waiting:
            return waiting
    return _preconditions(view, site)


def _gate_state(view: PlanView, site: SiteView, now: datetime, gate: str, subject: str) -> Decision | None:
    """None when the gate is open now; otherwise who must act."""
    plan = standing_plan(view)
    latest = view.latest(gate)
    if latest is None:
        return _ask(view, site, gate, subject, 1)
    if latest.window is None:
        return _waiting(view, site, gate, latest.number) or _no_approval(view, refusal_of(view, gate))
    standing = latest.window.standing(now)
    if standing is Standing.VALID:
        return None
    if standing is Standing.EARLY:
        opens = for_people(latest.window.opens, plan.zone)
        return Decision(
            plan=view.path, step=_next(view), who=Who.CLOCK, code="not-due", what=f"approved; due {opens}",
            command="publisher run", exit_code=EXIT_LATER, until=latest.window.opens,
        )  # fmt: skip
    if standing is Standing.TOO_FAR_AHEAD:
        return _person(view, "approved-too-early", "the approval was given longer before the date than max_lead", _again(view))
    return _expired(view, site, gate, subject, latest.number, now)


def _expired(view: PlanView, site: SiteView, gate: str, subject: str, number: int, now: datetime) -> Decision:
    plan = standing_plan(view)
    missed = plan.kind is Kind.PUBLICATION and business_date(now, plan.zone) > plan.day
    if gate == PLAN_GATE and missed and not _waiting(view, site, gate, number):
        command = f'{_again(view)}, or publisher skip {plan.day} --site {plan.site} --reason "…"'
        return _person(view, "missed", f"{plan.day} passed without a run under a valid approval", command)
    return _ask(view, site, gate, subject, number + 1)


def _ask(view: PlanView, site: SiteView, gate: str, subject: str, number: int) -> Decision:
    """A request for this gate: proposed once, then a person's."""
    if waiting := _waiting(view, site, gate, number - 1):
        return waiting
    asked = [item for item in view.history.requests if item.gate == gate and item.number >= number]
    if asked:
        # The branch is gone and neither an approval nor a rejection stands on the default branch.
        return _person(view, "request-closed", f"request {asked[-1].request} was closed without a decision", _again(view))
    return Decision(
        plan=view.path, act=Act.REQUEST, step=_next(view), who=Who.RUN, code="approval-needed",
        what=f"gate {gate} of {view.path} needs a decision", command="publisher run", gate=gate, subject=subject,
        exit_code=EXIT_PERSON,
    )  # fmt: skip


def _waiting(view: PlanView, site: SiteView, gate: str, number: int) -> Decision | None:
    """The newest request for a gate after its ``number``-th file, while it is open."""
    newest = next((item for item in reversed(view.history.requests) if item.gate == gate and item.number > number), None)
    if newest is None or newest.request not in site.tips.requests or newest.path in view.displaced:
        return None
    what = f"request {newest.request} waits for a decision"
    return _person(view, "approval-absent", what, f"publisher approve {newest.request}")


def _no_approval(view: PlanView, refusal: NoApproval | None) -> Decision:
    if refusal is None or refusal.absent:
        return _person(view, "approval-absent", "nobody has approved this payload", "publisher approve")
    if refusal.code == "not-recorded":
        return _person(view, "approval-absent", refusal.says, "publisher status --fresh")
    return _person(view, f"approval-{refusal.code}", refusal.says or "what was merged is not an approval", _again(view))


def _preconditions(view: PlanView, site: SiteView) -> Decision | None:
    other = next((path for path, item in site.plans.items() if path != view.path and _deploy_is_open(item)), "")
    if other:
        what = f"the deploy of {other} has no known outcome; no other deploy of the site begins"
        return Decision(
            plan=view.path, step=_next(view), who=Who.RUN, code="deploy-blocked", what=what, command="publisher run",
            exit_code=EXIT_UNKNOWN,
        )  # fmt: skip
    if site.site.staging is None:
        return _input(view, "no-staging", f"site {site.site.id} has no staging target, so nothing is released unattended")
    if not site.instance.on_call:
        return _input(view, "no-on-call", "nobody is on call, so nothing is released unattended")
    return None


def _deploy_is_open(view: PlanView) -> bool:
    return view.history.intent is not None or _deploy_is_unknown(view)


def _deploy_is_unknown(view: PlanView) -> bool:
    unknown = view.history.unknown
    return bool(unknown and unknown.step == deploy_step(view.history.kind) and not view.history.is_public)


# --- parts -----------------------------------------------------------------------------------------------------------------------


def standing_plan(view: PlanView) -> Plan:
    """The plan that decisions are about: the bound one, or the file. Refuses where neither stands: verbs may be asked then, too."""
    plan = view.plan or view.found
    if plan is None:
        raise _nothing_stands(view)
    return plan


def _next(view: PlanView) -> str:
    step = view.history.next_step
    return step.name if step else ""


def _gate_of(view: PlanView) -> str:
    step: Step | None = view.history.next_step
    return step.gate if step and step.gate and view.history.kind == Kind.LAUNCH else PLAN_GATE


def _run(view: PlanView, act: Act, step: str, code: str, what: str) -> Decision:
    return Decision(plan=view.path, act=act, step=step, who=Who.RUN, code=code, what=what, command="publisher run")


def _missing(view: PlanView) -> Decision:
    """The plan's file, or the one that its key is bound to, is not there or cannot be read."""
    problem = view.problem
    if not isinstance(problem, Refusal):
        return _person(view, "plan-deleted", "the plan's file is gone from the default branch", _cancel(view))
    what = f"{problem.where}: {problem.says}" if problem.where else problem.says
    command = problem.next or f"publisher preview {view.path}"
    decision = _person(view, problem.code, what, command)
    return replace(decision, exit_code=problem.exit_code)


def _nothing_stands(view: PlanView) -> Refusal:
    if isinstance(view.problem, Refusal):
        return view.problem
    return NeedsPerson("plan-deleted", "the plan's file is gone from the default branch", next=_cancel(view))


def _person(view: PlanView, code: str, what: str, command: str) -> Decision:
    return Decision(
        plan=view.path, step=_next(view), who=Who.PERSON, code=code, what=what, command=command, exit_code=EXIT_PERSON
    )


def _input(view: PlanView, code: str, what: str) -> Decision:
    return replace(_person(view, code, what, "edit publisher.yaml"), exit_code=EXIT_INPUT)


def _settle(view: PlanView, step: str, what: str) -> Decision:
    command = f'publisher settle {view.path} {step} --happened|--did-not --reason "…"'
    return Decision(
        plan=view.path, step=step, who=Who.PERSON, code=f"{step}-unknown", what=what, command=command, exit_code=EXIT_UNKNOWN
    )


def _paused(view: PlanView, site: SiteView, step: str) -> Decision:
    return Decision(
        plan=view.path, step=step, who=Who.PERSON, code="paused", what=f"the site is paused since {site.controls.since}",
        command=f'publisher resume {site.site.id} --reason "…"', exit_code=EXIT_PERSON,
    )  # fmt: skip


def _again(view: PlanView) -> str:
    return f"publisher plan --again {view.path}"


def _cancel(view: PlanView) -> str:
    return f'publisher cancel {view.path} --reason "…"'
