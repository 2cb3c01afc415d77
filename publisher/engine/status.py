"""Where everything stands and who must act next: one description for ``status``, ``preview`` and ``run``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from publisher.domain.approval import Approval
from publisher.domain.business_calendar import for_people, in_utc
from publisher.domain.evidence import Public
from publisher.domain.gates import PLAN_GATE
from publisher.domain.keys import KeyParts, task_key
from publisher.domain.lines import Step
from publisher.domain.plan import Kind, Plan
from publisher.domain.public_pages import absolute
from publisher.domain.tasks import State
from publisher.engine.deciding import Decision, decide
from publisher.engine.site_view import PlanView, SiteView

SCHEMA = "publisher.status/1"


def site_status(view: SiteView, now: datetime, only: str = "", *, closed: bool = False) -> dict[str, Any]:
    """The status of a site as data. Plans that are over are left out unless ``closed`` or named."""
    plans = []
    for plan in sorted(view.plans.values(), key=lambda item: item.path):
        decision = decide(plan, view, now)
        if (only and plan.path == only) or (not only and (closed or decision.code != "over")):
            plans.append(plan_status(view, plan, decision, now))
    last = view.production.deployments[-1] if view.production.deployments else None
    return {
        "schema": SCHEMA,
        "site": view.site.id,
        "now": in_utc(now),
        "zone": view.site.zone_name,
        "paused": view.controls.paused,
        "claim": _claim(view, now),
        "live": {"release": view.production.release, "plan": last.plan, "articles": len(view.production.content.shown)}
        if last
        else None,
        "closed": sum(item.history.over for item in view.plans.values()),
        "plans": plans,
    }


def plan_status(view: SiteView, plan: PlanView, decision: Decision, now: datetime) -> dict[str, Any]:
    file = plan.plan or plan.found
    return {
        "plan": plan.path,
        "kind": plan.history.kind,
        "key": file.key if file else _key_of(plan),
        "date": file.day.isoformat() if file else "",
        "publish_at": for_people(file.publish_at, file.zone) if file else "",
        "stage": stage(view, plan),
        "payload": plan.history.payload or (file.payload if file else ""),
        "revision": file.revision if file else 1,
        "approval": _approval(plan),
        "claim": _claim(view, now) if view.standing.last and view.standing.last.plan == plan.path else None,
        "tasks": [_task(view, plan, file, step, decision) for step in plan.history.steps],
        "articles": _articles(plan, file, view),
        "next": {
            "who": str(decision.who), "what": decision.what, "command": decision.command, "code": decision.code,
            **({"until": in_utc(decision.until)} if decision.until else {}),
        },
    }  # fmt: skip


def stage(view: SiteView, plan: PlanView) -> str:
    """planned, approved, claimed, or the last succeeded step's word, or canceled."""
    if plan.history.stage:
        return plan.history.stage
    last = view.standing.last
    if last and not last.released and last.plan == plan.path:
        return "claimed"
    return "approved" if plan.approval() or plan.history.approvals else "planned"


def _key_of(plan: PlanView) -> str:
    name = plan.path.rsplit("/", 1)[-1]
    prefix = {"publication": f"daily-publication:{name}", "change": f"change:{name}"}
    return prefix.get(plan.history.kind, "launch")


def _approval(plan: PlanView) -> dict[str, Any] | None:
    latest = plan.latest(PLAN_GATE)
    if latest and isinstance(latest.verdict, Approval) and latest.window:
        return {
            "by": ", ".join(latest.verdict.by), "until": in_utc(latest.window.closes), "request": latest.verdict.request,
            "merged_at": in_utc(latest.verdict.merged_at), "merge": latest.verdict.merge,
        }  # fmt: skip
    if plan.history.approvals and not plan.asked:
        recorded = plan.history.approvals[-1]
        return {
            "by": ", ".join(recorded["by"]), "until": None, "request": recorded["request"],
            "merged_at": recorded["merged_at"], "merge": recorded["merge"],
        }  # fmt: skip
    return None


def _claim(view: SiteView, now: datetime) -> dict[str, Any] | None:
    last = view.standing.last
    if not last or last.released:
        return None
    return {
        "holder": last.holder, "fence": last.fence.number, "plan": last.plan, "until": in_utc(last.until),
        "expired": now >= last.until,
    }  # fmt: skip


def _task(view: SiteView, plan: PlanView, file: Plan | None, step: Step, decision: Decision) -> dict[str, str]:
    state = plan.history.states[step.name]
    if state is State.BLOCKED and step.gate and plan.approval(step.gate) and decision.exit_code not in (3, 4):
        state = State.QUEUED  # approved, and not recorded yet
    lapsed = state is State.QUEUED and decision.exit_code in (3, 4) and plan.history.intent is None
    return {
        "step": step.name,
        "state": str(State.BLOCKED if lapsed else state),
        "key": _task_key(plan, file, step, view.site.id),
    }


def _task_key(plan: PlanView, file: Plan | None, step: Step, site: str) -> str:
    built = plan.history.built
    parts = KeyParts(
        site=site, plan_key=file.key if file else _key_of(plan), day=file.day if file else None,
        content=built.release if built else "", release=built.release if built else "",
        channel=",".join(file.announce.channels) if file and file.announce else "",
    )  # fmt: skip
    try:
        return task_key(step, parts)
    except ValueError:
        # The grain is not known before the build: the release is what the key is made of.
        return f"{step.name}:{site}:…"


def _articles(plan: PlanView, file: Plan | None, view: SiteView) -> list[dict[str, str]]:
    history = plan.history
    if history.prepared and history.prepared.puts:
        items = [(text.id, text.url) for text in history.prepared.puts]
    else:
        items = [(article.id, article.url) for article in file.articles] if file else []
    if history.kind == Kind.CHANGE and file and file.withdrawals:
        items += [(item.id, item.url) for item in file.withdrawals]
    return [{"id": name, "url": url, "public": str(_public(plan, name, url, view))} for name, url in items]


def _public(plan: PlanView, article: str, url: str, view: SiteView) -> Public:
    history = plan.history
    if history.is_public and article not in {text.id for text in view.production.content.shown}:
        return Public.ABSENT  # withdrawn or hidden since, or by this plan
    if history.confirmed:
        return Public.CONFIRMED
    if history.unknown and history.unknown.pages:
        return Public(history.unknown.pages.get(absolute(view.site.url, url), Public.UNKNOWN))
    if history.is_public or history.intent or history.unknown:
        return Public.UNKNOWN
    return Public.NOT_YET
