"""A run: resumes what is open, then carries out what is due, one site under one claim.

The loop is short on purpose: look at the remote, ask ``deciding`` for the next decision, claim if it is an effect, carry it out, and
ask again. What cannot go on is recorded once, told once, and does not hold back other plans.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from publisher.domain.approval import Rejection
from publisher.domain.business_calendar import CLOCK_TOLERANCE, in_utc, parse_instant
from publisher.domain.gates import PLAN_GATE
from publisher.domain.handover import Handed
from publisher.domain.history import History
from publisher.domain.ledger_events import EventType, NewEvent
from publisher.engine import reconciling
from publisher.engine.assembling import ReleaseAssembler
from publisher.engine.bench import Doors, RunBench, approvals_to_record
from publisher.engine.deciding import Act, Decision, Who, decide, decisions, standing_plan
from publisher.engine.disk import disk_trouble
from publisher.engine.journal import Journal
from publisher.engine.notices import speak
from publisher.engine.outcomes import PlanOutcome, SiteOutcome
from publisher.engine.requesting import fields_of, next_gate_file, open_gate
from publisher.engine.sides import Side, hands_over, is_of
from publisher.engine.site_view import SiteView, load, rejected
from publisher.errors import (
    Bug,
    ComeBackLater,
    OutcomeUnknown,
    Refusal,
    StoppedForSafety,
)

# Refusals after which this run must not write anything more for the site.
CLAIM_IS_GONE = frozenset({"claim-lost", "claim-released", "epoch-changed", "ledger-moved", "record-unknown", "claims-corrupt"})
# Refusals after which somebody else acts for the site, and this run neither writes nor speaks.
ANOTHERS_TURN = frozenset({"busy", "claimed-meanwhile"})
# Refusals that are no failure of a step: the world changed, and the next decision says what to do.
NOT_A_FAILURE = frozenset({"decision-changed", "plan-changed", "paused", "approval-changed", "clocks-apart", "clock-behind"})


def run_site(
    doors: Doors,
    site_id: str,
    only: str = "",
    acts: frozenset[Act] = frozenset(Act),
    *,
    side: Side = Side.WHOLE,
    handed: Mapping[str, Handed] | None = None,
) -> SiteOutcome:
    """Runs one site; ``only`` limits the run to one plan, ``acts`` to some kinds of acts, ``side`` to one side of it.

    ``handed`` is what the deploy side was handed.

    Never raises a ``Refusal``: it stands in the outcome.
    """
    run = SiteRun(doors, site_id, only, acts, side, handed)
    try:
        run.go()
    except Refusal as problem:
        run.outcome.problem = problem
    finally:
        run.clean_up()
    return run.outcome


class SiteRun:
    """One run of one site."""

    def __init__(
        self,
        doors: Doors,
        site_id: str,
        only: str,
        acts: frozenset[Act],
        side: Side = Side.WHOLE,
        handed: Mapping[str, Handed] | None = None,
    ) -> None:
        self._doors = doors
        self._side, self._handed = side, handed
        self._acts = acts
        self._only = only
        self._site_id = site_id
        self._scratch = Path(tempfile.mkdtemp(prefix="publisher-"))
        self._assembler = ReleaseAssembler(
            reads=doors.reads, builder=doors.builder, site=site_id, scratch=self._scratch, progress=doors.progress
        )
        self._stopped: set[str] = set()
        self._left_over: Decision | None = None
        self.outcome = SiteOutcome(site=site_id)

    def clean_up(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)

    def go(self) -> None:
        doors = self._doors
        doors.progress(f"reading the remote for {self._site_id}")
        tips = doors.records.refresh()
        view = self._load(tips)
        require_ledger(view)
        self._journal = Journal(records=doors.records, load=self._load, clock=doors.clock, view=view, actor=doors.actor)
        require_clock(view, doors.clock.now(), doors.host_time())
        if self._only and self._only not in view.plans:
            raise ComeBackLater(
                "no-such-plan", f"{self._only} is not on the default branch", next="publisher status", plan=self._only
            )
        try:
            self._carry_on()
        finally:
            self._finish()

    def _load(self, tips: Any) -> SiteView:
        return load(self._doors.reads, self._doors.forge, tips, self._site_id)

    # --- the loop ----------------------------------------------------------------------------------------------------------

    def _carry_on(self) -> None:
        while decision := self._next():
            outcome = self._outcome(decision.plan)
            try:
                self._carry_out(decision, outcome)
            except Refusal as problem:
                problem.plan = problem.plan or decision.plan
                self._stop(decision, problem)
                if problem.code in CLAIM_IS_GONE or self._journal.fence is None:
                    raise
            except Exception as crash:
                if trouble := disk_trouble(crash):
                    self._stop(decision, trouble)
                    raise trouble from None
                self._stop(decision, Bug("crash", f"{type(crash).__name__} in step {decision.step}", plan=decision.plan))
                raise

    def _next(self) -> Decision | None:
        for decision in decisions(self._journal.view, self._doors.clock.now()):
            if decision.plan in self._stopped or (self._only and decision.plan != self._only):
                continue
            if decision.act is not Act.NONE and decision.act in self._acts and self._is_ours(decision):
                return decision
        return None

    def _is_ours(self, decision: Decision) -> bool:
        return is_of(self._side, decision, self._journal.view.plans[decision.plan].history)

    def _outcome(self, plan: str) -> PlanOutcome:
        return self.outcome.plans.setdefault(plan, PlanOutcome(plan=plan))

    def _carry_out(self, decision: Decision, outcome: PlanOutcome) -> None:
        if decision.act is Act.LOOK_AGAIN and not self._seen_in_public(decision):
            self._stopped.add(decision.plan)
            return
        if self._journal.fence is None:
            self._claim(decision)
            plan = self._journal.view.plans.get(decision.plan)
            if plan is None:
                return  # its file is gone, and nothing was recorded of it yet
            again = decide(plan, self._journal.view, self._doors.clock.now())
            if (again.act, again.step) != (decision.act, decision.step):
                return
        else:
            for fields in approvals_to_record(self._journal.view, decision.plan):
                self._journal.note(decision.plan, EventType.APPROVED, fields)
        self._perform(decision, outcome)

    def _claim(self, decision: Decision) -> None:
        notes = [
            (decision.plan, NewEvent(type=EventType.APPROVED, fields=fields))
            for fields in approvals_to_record(self._journal.view, decision.plan)
        ]
        self._doors.progress(f"claiming {self._site_id}")
        self._journal.claim(decision, nonce=self._doors.new_nonce(), notes=notes)

    def _perform(self, decision: Decision, outcome: PlanOutcome) -> None:
        self._push_left_over()
        self._journal.begin()
        if decision.act in (Act.WORK, Act.LOOK_AGAIN):
            self._work(decision, outcome)
        elif decision.act is Act.RECONCILE:
            outcome.did.append(reconciling.close_intent(self._bench(decision)))
        elif decision.act is Act.CLOSE_TELLING:
            self._close_telling(decision)
        elif decision.act is Act.REQUEST:
            self._request(decision, outcome)
        else:
            self._record(decision, outcome)

    def _push_left_over(self) -> None:
        """What a plan recorded before it stopped is pushed before another plan's step: that step scans whatever it would push."""
        if self._left_over and self._journal.fence:
            stopped, self._left_over = self._left_over, None
            self._journal.commit(f"{self._site_id}: {stopped.plan} waits", decision=stopped, fact=True)

    def _work(self, decision: Decision, outcome: PlanOutcome) -> None:
        history = self._journal.view.plans[decision.plan].history
        if hands_over(self._side, decision, history):
            self._hand_over(decision, history, outcome)
            return
        worker = self._doors.workers.get((history.kind, decision.step))
        if worker is None:
            raise Bug(
                "no-worker",
                f"step {decision.step} of a {history.kind} has no worker yet",
                next=f"publisher log {decision.plan}",
            )
        self._renew()
        worker.work(self._bench(decision))
        step = next(step for step in history.steps if step.name == decision.step)
        outcome.did.append(step.word)

    def _hand_over(self, decision: Decision, history: History, outcome: PlanOutcome) -> None:
        """The build side's end of a plan: its release is made and scanned as a deploy would, and recorded before it is vouched for."""
        vouch = next(worker.vouch for (kind, _), worker in self._doors.workers.items() if kind == history.kind and worker.vouch)
        self._renew()
        entry = vouch(self._bench(decision))
        if self._journal.pending:
            self._journal.commit(f"{self._site_id}: {decision.plan} is ready to be deployed", decision=decision)
        self.outcome.handed[decision.plan] = entry
        outcome.did.append("handed over")
        self._stopped.add(decision.plan)

    def _bench(self, decision: Decision) -> RunBench:
        return RunBench(
            doors=self._doors, journal=self._journal, decision=decision, assembler=self._assembler, handed=self._handed
        )

    def _renew(self) -> None:
        """A lease with less than half its time left is renewed with the next push."""
        last, now = self._journal.view.standing.last, self._doors.clock.now()
        lease = self._journal.view.instance.lease
        if last and self._journal.fence and last.until - now < lease / 2:
            fields = {**self._journal.fence.as_data(), "until": in_utc(now + lease)}
            self._journal.note(f"{self._site_id}/claims/{in_utc(now)[:4]}", EventType.RENEWED, fields)

    # --- records that need no worker ----------------------------------------------------------------------------------------

    def _record(self, decision: Decision, outcome: PlanOutcome) -> None:
        view = self._journal.view.plans[decision.plan]
        plan = standing_plan(view)
        if decision.act is Act.RECORD_REJECTED:
            gates = [PLAN_GATE, *(step.gate for step in view.history.steps if step.gate)]
            rejection: Rejection = next(filter(None, (rejected(view, gate) for gate in gates)))
            fields: Mapping[str, Any] = {
                "payload": rejection.subject.payload, "by": rejection.by, "request": rejection.request, "merge": rejection.merge,
            }  # fmt: skip
            self._journal.note(decision.plan, EventType.REJECTED, fields)
            outcome.did.append("canceled")
            return
        assert view.found is not None
        kind = EventType.REVISED if decision.act is Act.RECORD_REVISED else EventType.REVISION_REFUSED
        fields = {"from": view.history.payload or plan.payload, "to": view.found.payload, "revision": view.found.revision}
        self._journal.note(decision.plan, kind, fields)
        # A revision is another payload with tasks of its own: it is read afresh before anything is decided about it.
        self._journal.commit(f"{self._site_id} {plan.day}: {kind} to revision {view.found.revision}", decision=decision)
        outcome.did.append(str(kind))

    def _request(self, decision: Decision, outcome: PlanOutcome) -> None:
        view = self._journal.view.plans[decision.plan]
        gate = next_gate_file(view, decision.gate, decision.subject)
        request = open_gate(self._doors, self._journal.view, gate)
        self._journal.saw_request(request)
        self._journal.note(decision.plan, EventType.REQUESTED, fields_of(gate, request))
        outcome.did.append(f"requested {decision.gate} (request {request})")

    def _close_telling(self, decision: Decision) -> None:
        history = self._journal.view.plans[decision.plan].history
        for name, recipients in history.telling.items():
            channel = self._doors.channel(self._journal.view.site, name)
            results = {} if channel.idempotent else dict.fromkeys(recipients, "unknown")
            fields = {"channel": name, "results": results, "codes": dict.fromkeys(results, "interrupted")}
            self._journal.note(decision.plan, EventType.ANNOUNCE_RESULT, fields)

    def _seen_in_public(self, decision: Decision) -> bool:
        """A look without a claim: a record is worth a push only when the public facts have changed."""
        view = self._journal.view
        return reconciling.is_public(self._doors, self._assembler, view, view.plans[decision.plan])

    # --- the end ----------------------------------------------------------------------------------------------------------------

    def _stop(self, decision: Decision, problem: Refusal) -> None:
        """A plan that cannot go on now: recorded as failed where the result is known, told, and set aside for this run."""
        self._outcome(decision.plan).problem = problem
        self._stopped.add(decision.plan)
        if problem.code in CLAIM_IS_GONE:
            return
        keeps_facts = isinstance(problem, OutcomeUnknown)
        if not keeps_facts:
            self._journal.forget()
        self._left_over = decision if self._journal.pending else None
        plan = self._journal.view.plans.get(decision.plan)
        if plan is None:
            return  # its file is gone, and nothing was recorded of it yet
        history = plan.history
        transient = isinstance(problem, (ComeBackLater, OutcomeUnknown)) or problem.code in NOT_A_FAILURE
        worked = decision.act in (Act.WORK, Act.LOOK_AGAIN)
        if transient or not worked or history.intent or self._journal.fence is None or history.over:
            return
        step = history.next_step.name if history.next_step else decision.step
        failed_step = decision.step if decision.step in history.states else step
        self._journal.note(decision.plan, EventType.FAILED, {"step": failed_step, "code": problem.code})

    def _finish(self) -> None:
        """The last push: what is noted, the notices, and the end of the claim, in one commit."""
        journal = self._journal
        problems = [self.outcome.problem, *(outcome.problem for outcome in self.outcome.plans.values())]
        if any(problem and problem.code in CLAIM_IS_GONE | ANOTHERS_TURN for problem in problems):
            self._summarise()
            return
        try:
            speak(self._doors, journal, self.outcome)
        except StoppedForSafety as superseded:
            self._blame(superseded)
            raise
        if journal.fence:
            journal.release_claim()
        if journal.pending:
            last = next(reversed(self.outcome.plans), "")
            closing = Decision(plan=last, who=Who.RUN, code="closing", what="")
            journal.commit(_subject(self._site_id, self.outcome), decision=closing, fact=True)
        self._summarise()

    def _blame(self, lost: StoppedForSafety) -> None:
        """What a superseded run stumbled over is the doing of whoever came after it."""
        for outcome in self.outcome.plans.values():
            if outcome.problem:
                outcome.problem = lost
        self._summarise()

    def _summarise(self) -> None:
        view = self._journal.view
        for decision in decisions(view, self._doors.clock.now()):
            if self._only and decision.plan != self._only:
                continue
            if decision.code == "over" and not self._only and decision.plan not in self.outcome.plans:
                continue
            self._outcome(decision.plan).decision = decision
        self.outcome.pushes = self._journal.pushes
        self.outcome.view = view


def _subject(site: str, outcome: SiteOutcome) -> str:
    """The closing commit's subject: what was done, by plan."""
    parts = []
    for plan in outcome.plans.values():
        words = [*plan.did, *([plan.problem.code] if plan.problem else [])]
        if words:
            parts.append(f"{plan.plan.split('/', 1)[-1]}: {', '.join(words)}")
    return f"{site} {'; '.join(parts)}" if parts else f"{site}: notices recorded"


def require_ledger(view: SiteView) -> None:
    """A missing ledger is never a first run."""
    if not view.tips.state:
        raise StoppedForSafety(
            "no-state-branch", f"the remote has no branch {view.instance.state_branch}; that is never taken for a first run",
            next="publisher reconcile --restore",
        )  # fmt: skip
    if not view.has_ledger:
        raise StoppedForSafety(
            "no-ledger", f"ledger/{view.site.id} has no claims; that is never taken for a first run",
            next=f"publisher init --site {view.site.id}, or publisher reconcile {view.site.id} --restore",
        )  # fmt: skip


def require_clock(view: SiteView, now: datetime, host: datetime | None = None) -> None:
    """The ledger's newest time is a floor for this machine's clock, and a pull-request host's clock is compared with it."""
    if view.last_at and now < parse_instant(view.last_at) - CLOCK_TOLERANCE:
        raise StoppedForSafety(
            "clock-behind",
            f"this machine's clock is behind the ledger's last record ({view.last_at})",
            next="set the clock, then the same command",
        )
    if host and abs(now - host) > CLOCK_TOLERANCE:
        seconds = int(abs(now - host).total_seconds())
        raise StoppedForSafety(
            "clocks-apart", f"this machine's clock and the pull-request host's are {seconds} seconds apart",
            next="set the clock, then publisher run",
        )  # fmt: skip
