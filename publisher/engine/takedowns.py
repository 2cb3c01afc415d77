"""A takedown: a withdrawal whose leftovers a person goes through, step by step, each with its own record.

Rules:
* it belongs to the withdrawal's plan, and is opened only when that is public: before, a copy would be taken anew;
* opening it twice, or saying the same of a step twice, records nothing; another word about a step is another record;
* nothing here changes what is public.
"""

from __future__ import annotations

from publisher.domain.ledger_events import EventType, NewEvent
from publisher.domain.takedown import Outcome, risks_of
from publisher.engine.bench import Doors
from publisher.engine.people import plan_in, record
from publisher.engine.site_view import PlanView, SiteView
from publisher.errors import NeedsPerson, UsageProblem

ON_A_BRANCH = frozenset({"git-branch"})


def find(view: SiteView, what: str) -> PlanView:
    """The plan that withdrew ``what``: its own path, or an article's id."""
    if "/" in what:
        plan = plan_in(view, what)
        if not _withdrawn(plan):
            raise UsageProblem("no-withdrawal", f"{what} withdraws nothing", next="publisher change withdraw", plan=what)
        return plan
    found = [plan for _, plan in sorted(view.plans.items()) if what in _withdrawn(plan) and not plan.history.canceled]
    if not found:
        raise UsageProblem("no-withdrawal", f"no plan withdraws {what}", next=f'publisher change withdraw {what} --reason "…"')
    return found[-1]


def open_takedown(doors: Doors, site: str, what: str, reason: str) -> SiteView:
    """Records that the leftovers of a withdrawal are to be gone through, and which they are."""

    def decide(view: SiteView) -> dict[str, list[NewEvent]]:
        plan = find(view, what)
        _require_public(plan)
        if plan.history.takedown is not None:
            return {}
        articles = _withdrawn(plan)
        told = any(_told(other) & articles for other in view.plans.values())
        risks = risks_of(announced=told, on_a_branch=view.site.target.kind in ON_A_BRANCH)
        fields = {"articles": sorted(articles), "risks": list(risks), "reason": reason}
        return {plan.path: [NewEvent(type=EventType.TAKEDOWN, fields=fields)]}

    return record(doors, site, f"Takedown of {what}", decide)


def follow_up(doors: Doors, site: str, what: str, risk: str, outcome: Outcome, reason: str) -> SiteView:
    """A person's word about one step."""

    def decide(view: SiteView) -> dict[str, list[NewEvent]]:
        plan = find(view, what)
        steps = plan.history.takedown
        if steps is None:
            raise NeedsPerson(
                "no-takedown",
                f"no takedown of {what} was opened",
                next=f'publisher takedown {what} --reason "…"',
                plan=plan.path,
            )
        if risk not in steps:
            raise UsageProblem("no-such-risk", f"the steps are {', '.join(steps)}", next=f"publisher takedown {what}")
        if steps[risk] == outcome:
            return {}
        fields = {"risk": risk, "outcome": str(outcome), "reason": reason}
        return {plan.path: [NewEvent(type=EventType.FOLLOWED_UP, fields=fields)]}

    return record(doors, site, f"Takedown of {what}, {risk}: {outcome}", decide)


def _withdrawn(plan: PlanView) -> frozenset[str]:
    prepared, file = plan.history.prepared, plan.plan or plan.found
    items = [item.id for item in file.withdrawals] if file else []
    return frozenset([*items, *(str(item["id"]) for item in prepared.withdraws)] if prepared else items)


def _told(plan: PlanView) -> frozenset[str]:
    """The articles that readers were told of, or may have been."""
    file = plan.plan or plan.found
    return frozenset(file.article_ids) if file and file.announce and plan.history.is_public else frozenset()


def _require_public(plan: PlanView) -> None:
    if not plan.history.confirmed:
        raise NeedsPerson(
            "not-taken-down", f"{plan.path} is not confirmed: the page may still be there, and copies would be taken anew",
            next=f"publisher status {plan.path}", plan=plan.path,
        )  # fmt: skip
