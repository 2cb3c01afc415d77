"""When publisher speaks: once per meaningful change, to the people on call.

A notice has an id made of plan, reason, step and attempt. What was said is recorded in the plan's ledger, so that a failing plan
run fifty times speaks once, and a person's retry that fails again speaks once more. A finished recovery names release and URLs.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from publisher.domain.fingerprint import short
from publisher.domain.ledger_events import EventType
from publisher.domain.wording import recovered, stopped
from publisher.engine.bench import Doors
from publisher.engine.deciding import Decision, Who, decisions
from publisher.engine.journal import Journal
from publisher.engine.outcomes import PlanOutcome, SiteOutcome
from publisher.engine.site_view import PlanView, SiteView
from publisher.errors import Refusal

# What a person did on purpose, or what the clock ends, is no news.
NO_NEWS = frozenset({"over", "paused", "not-due", "skipped", "takedown-open"})
# Problems that the next run, or the next step of this job, ends: nobody has to hear of them. What lasts, the watch tells.
PASSING = frozenset({"busy", "remote-unreachable", "artifact-wanted", "deployment-under-way", "not-in-actions"})


def speak(doors: Doors, journal: Journal, outcome: SiteOutcome) -> None:
    """Says what is new about the site's plans, and notes that it was said. Refuses when the claim is another's by now."""
    news = list(_unsaid(journal, outcome, doors.clock.now()))
    newest = journal.require_claim() if news else journal.view
    for plan, notice, text in news:
        if plan in newest.plans and notice in newest.plans[plan].history.notices:
            continue  # another run, which claimed nothing, said it while this one was at work
        try:
            doors.alerts.say(f"{plan}/{notice}", text, thread=plan, over=notice.startswith("recovered:"))
        except Refusal as silent:
            # A notice that nobody got is not recorded, so that the next run says it; the run itself goes on.
            doors.progress(f"a notice about {plan} was not delivered [{silent.code}]")
            continue
        journal.note(plan, EventType.NOTICED, {"notice": notice})


def _unsaid(journal: Journal, outcome: SiteOutcome, now: datetime) -> Iterator[tuple[str, str, str]]:
    """(plan, notice, text) of everything that the ledger does not record as said."""
    for decision in decisions(journal.view, now):
        view = journal.view.plans[decision.plan]
        notice, text = _news(view, decision, outcome.plans.get(decision.plan), now)
        if notice and notice not in view.history.notices:
            yield decision.plan, notice, text


def has_news(site: SiteView, now: datetime) -> bool:
    """Whether a run would tell the people on call something that the ledger does not record as said."""
    for decision in decisions(site, now):
        view = site.plans[decision.plan]
        notice, _ = _news(view, decision, None, now)
        if notice and notice not in view.history.notices:
            return True
    return False


def _news(view: PlanView, decision: Decision, done: PlanOutcome | None, now: datetime) -> tuple[str, str]:
    history = view.history
    if done and not {"confirmed", "released"}.isdisjoint(done.did) and _was_in_trouble(view):
        release = history.confirmed
        return f"recovered:{short(release)}", recovered(view.path, short(release), history.urls)
    # What a run could not find out, and the look of a later run that finds it no clearer, are one piece of news.
    unknown = history.unknown.code if history.unknown else ""
    if decision.code in NO_NEWS or not _is_due(view, now):
        return "", ""
    if done and done.problem and done.problem.exit_code > 2 and done.problem.code not in PASSING:
        problem = done.problem
        notice = f"{unknown or problem.code}:{decision.step}:{history.attempt}"
        return notice, stopped(view.path, problem.code, problem.says, problem.next)
    if decision.who is Who.PERSON:
        notice = f"{unknown or decision.code}:{decision.step}:{history.attempt}"
        return notice, stopped(view.path, decision.code, decision.what, decision.command, step=decision.step)
    return "", ""


def _is_due(view: PlanView, now: datetime) -> bool:
    return view.plan is None or now >= view.plan.publish_at


def _was_in_trouble(view: PlanView) -> bool:
    history = view.history
    return bool(history.notices) or history.attempt > 1 or (history.deployed is not None and history.deployed.how != "switched")
