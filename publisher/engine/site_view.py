"""One site as a run sees it at one pair of tips: plans, histories, approvals, claims, controls, production.

Everything here is read; nothing is decided. A plan with ledger records is read at the commit that its ledger names; the file at
the default branch's tip is kept beside it, so that an edit shows as another payload. Plans that are over are not opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from publisher.domain.approval import Approval, ApprovalRules, NoApproval, Rejection, Subject, Verdict, Window, window
from publisher.domain.claim import Standing, fold_claims
from publisher.domain.controls import Controls, fold_controls
from publisher.domain.facts import Prepared, public_text_of
from publisher.domain.gates import PLAN_GATE, GateFile, subject_of
from publisher.domain.history import History, apply, unwritten, with_steps
from publisher.domain.instance import Instance, Site
from publisher.domain.ledger_events import Event, EventType
from publisher.domain.lines import steps_of
from publisher.domain.plan import Kind, Plan
from publisher.domain.site_content import Deployment, Production, deployment_of, production
from publisher.domain.tasks import IllegalTransition
from publisher.errors import InputProblem, NeedsPerson, Refusal, StoppedForSafety
from publisher.ports import PlanFile, ReadsForge, ReadsRepository, Tips

AREAS = {"daily": Kind.PUBLICATION, "changes": Kind.CHANGE, "launch": Kind.LAUNCH}


def kind_of(path: str) -> Kind | None:
    """The kind of plan that a ledger or plan path belongs to; None for claims, controls and other site records."""
    parts = path.split("/")
    return AREAS.get(parts[1]) if len(parts) > 1 else None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What people decided about one request file: the plan itself (number 0) or a numbered gate file."""

    number: int
    verdict: Verdict
    window: Window | None


@dataclass(frozen=True, kw_only=True)
class PlanView:
    """A plan with everything known about it. ``plan`` is None when the bound file cannot be read.

    ``found`` is the file at the default branch's tip: None when it was deleted or cannot be read; ``problem`` says why either
    is missing. ``asked`` maps a gate to its requests, oldest first. ``displaced`` are request files whose
    number another request has now: a branch that is deleted undecided frees its number.
    """

    path: str
    plan: Plan | None
    found: Plan | None
    problem: Exception | None
    history: History
    asked: Mapping[str, tuple[Asked, ...]]
    displaced: frozenset[str] = frozenset()
    before: Plan | None = None
    """While the ledger binds the key to nothing: the file as it was before its newest change, which bound it by its merge."""

    def latest(self, gate: str) -> Asked | None:
        asked = self.asked.get(gate, ())
        return asked[-1] if asked else None

    def approval(self, gate: str = PLAN_GATE) -> Approval | None:
        """The newest verified approval for a gate, whatever its window."""
        found = [item.verdict for item in self.asked.get(gate, ()) if isinstance(item.verdict, Approval)]
        return found[-1] if found else None


@dataclass(frozen=True, kw_only=True)
class SiteView:
    """Everything that decisions about one site are made from."""

    tips: Tips
    instance: Instance
    site: Site
    rules: ApprovalRules
    events: Mapping[str, tuple[Event, ...]]
    plans: Mapping[str, PlanView]
    has_ledger: bool

    @cached_property
    def standing(self) -> Standing:
        names = sorted(name for name in self.events if name.startswith(f"{self.site.id}/claims/"))
        return fold_claims(event for name in names for event in self.events[name])

    @cached_property
    def controls(self) -> Controls:
        path = f"{self.site.id}/controls"
        events = self.events.get(path, ())
        for event in events:
            with _well_formed(path, event.n):
                fold_controls([event])
        return fold_controls(events)

    @cached_property
    def production(self) -> Production:
        found = [deployment_of(path, view.history) for path, view in self.plans.items()]
        return production([*self._baselines(), *(item for item in found if item)])

    def _baselines(self) -> Iterable[Deployment]:
        for name, events in self.events.items():
            if name.startswith(f"{self.site.id}/baseline/"):
                # The file may also say that this baseline's release was put back on a target that had lost it.
                for event in events:
                    if event.type is EventType.BASELINE:
                        with _well_formed(name, event.n):
                            found = _baseline(name, event)
                        yield found

    @cached_property
    def last_at(self) -> str:
        """The newest time in the site's ledger: a floor for the clock."""
        return max((events[-1].at for events in self.events.values() if events), default="")

    def with_event(self, path: str, event: Event) -> SiteView:
        """The view with one more event: what the next decision is made from before the journal is pushed."""
        events = {**self.events, path: (*self.events.get(path, ()), event)}
        plans = self.plans
        if path in plans:
            plans = {**plans, path: replace(plans[path], history=apply(plans[path].history, event))}
        return replace(self, events=events, plans=plans)


def _baseline(name: str, event: Event) -> Deployment:
    fields = event.fields
    puts = tuple(public_text_of(item, name) for item in fields["puts"])
    return Deployment(
        number=fields["deployment"], release=fields["release"], base="", plan=name,
        prepared=Prepared(payload="", puts=puts, withdraws=tuple(fields.get("withdraws", ()))),
        presentation=fields["presentation"], confirmed=True, whole=True,
    )  # fmt: skip


def load(reads: ReadsRepository, forge: ReadsForge, tips: Tips, site_id: str, *, judge: bool = True) -> SiteView:
    """The view of a site at ``tips``. ``judge`` False leaves approvals out (nobody asked for them)."""
    instance = reads.instance(tips.default)
    site = site_of(instance, site_id)
    events = reads.ledger(tips.state, site_id) if tips.state else {}
    histories = {path: _history(path, items) for path, items in events.items() if kind_of(path)}
    open_paths = [path for path in reads.plan_paths(tips.default, site_id) if path not in histories or not histories[path].over]
    files = {file.path: file for file in reads.plans(tips.default, site_id, open_paths)}
    gates = reads.gates(tips.default, site_id) if judge else ()
    plans = {}
    for path in sorted({*histories, *files}):
        history = histories.get(path)
        plans[path] = _plan_view(reads, forge, tips, path, history, files.get(path), gates, judge)
    return SiteView(
        tips=tips, instance=instance, site=site, rules=forge.rules(tips.default), events=events, plans=plans,
        has_ledger=any(name.startswith(f"{site_id}/claims/") for name in events),
    )  # fmt: skip


def site_of(instance: Instance, site_id: str) -> Site:
    if site_id not in instance.sites:
        known = ", ".join(sorted(instance.sites)) or "none"
        raise InputProblem(
            "unknown-site",
            f"publisher.yaml has no site {site_id} (it has: {known})",
            where="publisher.yaml:1:1",
            next="publisher sites",
        )
    return instance.sites[site_id]


def _history(path: str, events: tuple[Event, ...]) -> History:
    """The fold of a plan's file. Its approvals name its steps, so that a closed plan's own file need not be opened."""
    kind = str(kind_of(path))
    history = unwritten(kind, steps_of(kind))
    for event in events:
        with _well_formed(path, event.n):
            history = apply(history, event)
    return history


@contextmanager
def _well_formed(path: str, line: int) -> Iterator[None]:
    """A record whose chain is right can still be one that publisher never writes: that stops the site, and names the line."""
    try:
        yield
    except (IllegalTransition, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise StoppedForSafety(
            "ledger-broken", "this record lacks a field, or does not follow from those before it",
            where=f"ledger/{path}.jsonl:{line}:1", next="publisher audit",
        ) from None  # fmt: skip


def _plan_view(
    reads: ReadsRepository,
    forge: ReadsForge,
    tips: Tips,
    path: str,
    history: History | None,
    file: PlanFile | None,
    gates: tuple[GateFile, ...],
    judge: bool,
) -> PlanView:
    found = file.plan if file else None
    plan, problem = found, file.problem if file else None
    if history and history.payload and history.commit and not history.over:
        plan = reads.plan(history.commit, path)
        if plan is None or plan.payload != history.payload:
            plan, problem = None, _unreadable(path)
    if history is None:
        history = unwritten(str(kind_of(path)), plan.steps if plan else steps_of(str(kind_of(path))))
    elif plan and history.steps != plan.steps:
        # Nothing of this payload is recorded yet, or its approval was recorded before approvals named steps.
        history = with_steps(history, plan.steps)
    asked: dict[str, tuple[Asked, ...]] = {}
    if judge and found and not history.over:
        asked = _asked(forge, tips, found, gates, history)
    displaced = _displaced(reads, tips, path, history)
    before = reads.plan_before(tips.default, path) if judge and found and not history.payload and not history.over else None
    return PlanView(
        path=path, plan=plan, found=found, problem=problem, history=history, asked=asked, displaced=displaced, before=before
    )


def _displaced(reads: ReadsRepository, tips: Tips, path: str, history: History) -> frozenset[str]:
    found = set()
    for item in () if history.over else history.requests:
        head = tips.requests.get(item.request)
        try:
            if head and item.path not in {gate.path for gate in reads.gates(head, path.split("/", 1)[0])}:
                found.add(item.path)
        except Refusal:
            found.add(item.path)  # whatever stands there is not what was asked
    return frozenset(found)


def _unreadable(path: str) -> Exception:
    return NeedsPerson(
        "plan-not-found", f"{path} is not at the commit that its ledger names", next=f"publisher log {path}", plan=path
    )


def _asked(
    forge: ReadsForge, tips: Tips, plan: Plan, gates: tuple[GateFile, ...], history: History
) -> dict[str, tuple[Asked, ...]]:
    rules = forge.rules(tips.default)
    own = forge.verdict(tips, Subject(path=f"plans/{plan.path}.yaml", payload=plan.payload, revision=plan.revision))
    asked: dict[str, list[Asked]] = {PLAN_GATE: [_asked_one(0, own, plan, rules)]}
    files = [(gate.gate, gate.number, gate.path, gate.payload) for gate in gates if _asks_for(gate, plan, history)]
    merged = {path for _, _, path, _ in files}
    # A rejected request never reached the tree: its file is known from the ledger alone.
    files += [(item.gate, item.number, item.path, item.payload) for item in history.requests if item.path not in merged]
    for gate_name, number, path, payload in sorted(files, key=lambda item: item[1]):
        verdict = forge.verdict(tips, Subject(path=f"plans/{path}.yaml", payload=payload))
        if path in merged or isinstance(verdict, Rejection):
            asked.setdefault(gate_name, []).append(_asked_one(number, verdict, plan, rules))
    return {name: tuple(items) for name, items in asked.items()}


def _asks_for(gate: GateFile, plan: Plan, history: History) -> bool:
    """A request counts for this payload and, for a release, for the release that was built."""
    if gate.plan != plan.path or gate.plan_payload != plan.payload:
        return False
    return gate.subject_hash == subject_of(gate.gate, plan, history.built.release if history.built else "")


def _asked_one(number: int, verdict: Verdict, plan: Plan, rules: ApprovalRules) -> Asked:
    if isinstance(verdict, Approval):
        return Asked(number=number, verdict=verdict, window=window(verdict.merged_at, plan.publish_at, rules))
    return Asked(number=number, verdict=verdict, window=None)


def rejected(view: PlanView, gate: str) -> Rejection | None:
    """The rejection of a gate's request, if any: final for its payload."""
    return next((item.verdict for item in view.asked.get(gate, ()) if isinstance(item.verdict, Rejection)), None)


def refusal_of(view: PlanView, gate: str) -> NoApproval | None:
    """Why there is no approval for a gate: the newest answer that is neither an approval nor a rejection."""
    latest = view.latest(gate)
    return latest.verdict if latest and isinstance(latest.verdict, NoApproval) else None
