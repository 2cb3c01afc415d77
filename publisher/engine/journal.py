"""The journal of one run: events are noted, then pushed together, and count when a read of the remote shows them.

Rules:
* events are grouped so that the happy path costs the fewest pushes: what has no outside effect waits for the next push;
* a push that meets a moved tip is made again there only if the claim is still this run's, every ledger file ends where this run
  left it, and the decision taken anew there is the same; otherwise the run stops and changes nothing;
* the view that decisions are made from already holds the noted events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from publisher.domain.business_calendar import in_utc
from publisher.domain.claim import Fence, acquire, require_mine
from publisher.domain.fingerprint import canonical_json, short
from publisher.domain.ledger_events import WITHOUT_CLAIM, EventType, NewEvent, chain_of, encode
from publisher.engine.deciding import Decision, decide
from publisher.engine.patience import Patience
from publisher.engine.site_view import SiteView
from publisher.errors import Bug, ComeBackLater, OutcomeUnknown, StoppedForSafety
from publisher.ports import Batch, BranchUpdate, Clock, Records, Tips

Loader = Callable[[Tips], SiteView]


class Journal:
    """Notes for one site under (at most) one claim. ``view`` is the site with everything noted so far."""

    def __init__(self, *, records: Records, load: Loader, clock: Clock, view: SiteView, actor: str) -> None:
        self._records = records
        self._load = load
        self._clock = clock
        self._actor = actor
        self._base = view
        self._events: dict[str, list[NewEvent]] = {}
        self._files: dict[str, bytes] = {}
        self._mark: tuple[dict[str, int], dict[str, bytes]] = ({}, {})
        self._tried: tuple[Batch | None, tuple[str, str], str] = (None, ("", ""), "")
        self.view = view
        self.fence: Fence | None = None
        self.pushes = 0

    # --- claim ----------------------------------------------------------------------------------------------------------

    def claim(self, decision: Decision, *, nonce: str, notes: Sequence[tuple[str, NewEvent]] = ()) -> Fence:
        """Acquires the site's claim with one push; ``ComeBackLater`` when somebody else has it.

        ``notes`` are claimless records (approvals seen) that ride in the same push.
        """
        patience = Patience(self._clock)
        while patience.lasts(self._base.tips.state):
            now = self._clock.now()
            event = acquire(
                self.view.standing, holder=self._actor, nonce=nonce, plan=decision.plan, now=now, lease=self.view.instance.lease
            )
            year = in_utc(now)[:4]
            events: dict[str, list[NewEvent]] = {f"{self.view.site.id}/claims/{year}": [event]}
            for path, note in notes:
                events.setdefault(path, []).append(note)
            fence = _fence(event)
            subject = f"Claim {self.view.site.id} for {decision.plan} (fence {fence.number})"
            message = _message(subject, plan=decision.plan, claim=fence)
            before = self._base
            if self._push_claim(Batch(events=events, message=message)):
                require_mine(self._base.standing, fence)
                self.fence = fence
                return fence
            # Somebody else's push came first. Try again only if the claims are as they were and the work is still there.
            if self._base.standing != before.standing:
                if self._base.standing.last and self._base.standing.last.fence == fence:
                    self.fence = fence
                    return fence
                acquire(self._base.standing, holder=self._actor, nonce=nonce, plan="", now=now, lease=self.view.instance.lease)
                raise ComeBackLater("claimed-meanwhile", "another run claimed the site first", next="publisher status")
            self._require_same_decision(decision, self._base)
        raise gave_up(self._base, moved=patience.moved)

    # --- notes --------------------------------------------------------------------------------------------------------------

    def note(self, path: str, kind: EventType, fields: Mapping[str, Any]) -> None:
        """One more event for a ledger file; seen by the next decision at once, pushed with the next ``commit``."""
        claim = None if kind in WITHOUT_CLAIM else self._required_fence().number
        new = NewEvent(type=kind, fields=fields, claim=claim)
        self._events.setdefault(path, []).append(new)
        known = self.view.events.get(path, ())
        _, event = encode(
            new, after=known[-1] if known else None, at=in_utc(self._clock.now()), actor=self._actor,
            commit=self.view.tips.default,
        )  # fmt: skip
        self.view = self.view.with_event(path, event)

    def put(self, files: Mapping[str, bytes]) -> None:
        self._files.update(files)

    def saw_request(self, number: int) -> None:
        """A request that this run opened is open from now on, though the tips were read before it was."""

        def seen(view: SiteView) -> SiteView:
            return replace(view, tips=replace(view.tips, requests={number: "", **view.tips.requests}))

        self._base, self.view = seen(self._base), seen(self.view)

    def begin(self) -> None:
        """What is noted from here on belongs to one decision; facts of others that wait for the next push lie before it."""
        self._mark = ({path: len(news) for path, news in self._events.items()}, dict(self._files))

    def forget(self) -> None:
        """Drops what was noted since ``begin`` and not pushed: a step that failed leaves nothing half-written."""
        self._events, self._files = self._noted_before(), dict(self._mark[1])
        self.view = self._with(self._base, self._events)

    def _noted_before(self) -> dict[str, list[NewEvent]]:
        """What was noted before ``begin`` and is not pushed yet."""
        return {path: news[: self._mark[0][path]] for path, news in self._events.items() if self._mark[0].get(path)}

    def _with(self, view: SiteView, noted: Mapping[str, Sequence[NewEvent]]) -> SiteView:
        for path, news in noted.items():
            known = view.events.get(path, ())
            for new in news:
                _, event = encode(
                    new, after=known[-1] if known else None, at=in_utc(self._clock.now()), actor=self._actor,
                    commit=view.tips.default,
                )  # fmt: skip
                known = (*known, event)
                view = view.with_event(path, event)
        return view

    def release_claim(self) -> None:
        """The claim's end, as the last record of the run."""
        fence = self._required_fence()
        year = in_utc(self._clock.now())[:4]
        self.note(f"{self.view.site.id}/claims/{year}", EventType.RELEASED, fence.as_data())

    def outgoing(self) -> dict[str, bytes]:
        """What is noted and not pushed: files, and the events as canonical JSON."""
        events = {f"ledger/{path}": canonical_json([dict(new.fields) for new in news]) for path, news in self._events.items()}
        return {**self._files, **events}

    @property
    def pending(self) -> bool:
        return bool(self._events or self._files)

    def commit(
        self,
        subject: str,
        *,
        decision: Decision,
        payload: str = "",
        joined: Sequence[BranchUpdate] = (),
        fact: bool = False,
    ) -> None:
        """Pushes everything noted as one commit. Raises when this run may no longer write, and then nothing was written.

        ``fact`` marks records of what was observed: they stay true whatever was decided meanwhile, so only the claim and the
        ledger file's end are compared when the tip moved.
        """
        if not self.pending:
            return
        message = _message(subject, plan=decision.plan, payload=payload, claim=self.fence)
        batch = Batch(events=self._events, files=self._files, message=message)
        patience = Patience(self._clock)
        while patience.lasts(self._base.tips.state):
            before = self._base
            if self._push(batch, joined):
                ends = any(new.type is EventType.RELEASED for news in self._events.values() for new in news)
                self._events, self._files, self._mark = {}, {}, ({}, {})
                if self.fence and not ends:
                    # It arrived, and the read that shows it may come after another's claim on top of it: nothing more is mine then.
                    require_mine(self._base.standing, self.fence)
                return
            self._require_reapplicable(before, None if fact else decision)
        raise gave_up(self._base, moved=patience.moved)

    def _push_claim(self, batch: Batch) -> bool:
        try:
            return self._push(batch)
        except OutcomeUnknown:
            # Nothing was intended outside yet: whether or not the claim arrived, waiting is safe.
            raise ComeBackLater(
                "remote-unreachable", "the remote cannot be reached, so nothing was claimed for certain", next="publisher run"
            ) from None

    def _push(self, batch: Batch, joined: Sequence[BranchUpdate] = ()) -> bool:
        """True when a read of the remote shows the batch. Either way ``view`` is what that read showed."""
        tips = self._base.tips
        commit = self._composed(tips, batch)
        try:
            landing = self._records.publish(tips, commit, joined)
        except ComeBackLater:
            landing = self._look_again(tips, commit, joined)
        self._base = self.view = self._load(landing.tips)
        self.pushes += landing.landed
        return landing.landed

    def _composed(self, tips: Tips, batch: Batch) -> str:
        """The batch's commit; the very same where it is tried again on the same tips, so that a push which arrives late is known."""
        tried, on, commit = self._tried
        if tried is not batch or on != (tips.state, tips.default):
            commit = self._records.compose(tips, batch, self._clock.now())
            self._tried = (batch, (tips.state, tips.default), commit)
        return commit

    def _look_again(self, tips: Tips, commit: str, joined: Sequence[BranchUpdate]) -> Any:
        """The remote could not be read after a push: once more, else the outcome is unknown."""
        self._clock.sleep(1)
        try:
            return self._records.publish(tips, commit, joined)
        except ComeBackLater:
            raise OutcomeUnknown(
                "record-unknown", "a record was pushed and the remote cannot be read, so it is not known whether it arrived",
                next="publisher run",
            ) from None  # fmt: skip

    # --- conditions ---------------------------------------------------------------------------------------------------------

    def _require_reapplicable(self, before: SiteView, decision: Decision | None) -> None:
        if self.fence:
            require_mine(self._base.standing, self.fence)
        for path in self._events:
            if chain_of(self._base.events.get(path, ())) != chain_of(before.events.get(path, ())):
                raise StoppedForSafety(
                    "ledger-moved", f"ledger/{path}.jsonl was written by somebody else meanwhile; this run changes nothing",
                    next="publisher run",
                )  # fmt: skip
        if decision:
            self._require_same_decision(decision, self._with(self._base, self._noted_before()))
        self.view = self._with(self._base, self._events)

    def _require_same_decision(self, decision: Decision, view: SiteView) -> None:
        if decision.plan not in view.plans:
            return
        again = decide(view.plans[decision.plan], view, self._clock.now())
        if (again.act, again.step) != (decision.act, decision.step):
            raise StoppedForSafety(
                "decision-changed", f"{decision.plan} was about to {decision.code}; now: {again.what}", plan=decision.plan,
                next=again.command or "publisher status",
            )  # fmt: skip

    def require_in_time(self, decision: Decision) -> None:
        """An approval that closed while a step was at work allows nothing any more."""
        self._require_same_decision(decision, self.view)

    def require_still_allowed(self, decision: Decision, payload: str, merges: Mapping[str, str]) -> None:
        """One more look at the remote between an intent and its switch.

        The claim must still be this run's, and plan, approvals and controls must still allow the deploy that was intended.
        ``merges`` names, by gate, the merges whose approvals it was intended under.
        """
        before, seen = self._base, self._load(self._records.refresh())
        self._base = seen
        # What is noted and not pushed yet (a switch that rides with its record) stays noted.
        self._require_reapplicable(before, None)
        known = before.events.get(decision.plan, ())
        if chain_of(seen.events.get(decision.plan, ())[: len(known)]) != chain_of(known):
            # The branch was put back behind this run's records, the intent among them: what follows would rest on nothing.
            raise StoppedForSafety(
                "ledger-moved",
                f"ledger/{decision.plan}.jsonl lost records of this run; it changes nothing more",
                next="publisher run",
            )
        plan = seen.plans.get(decision.plan)
        found = plan.found.payload if plan and plan.found else ""
        if found != payload:
            now_has = short(found) if found else "no such file"
            raise StoppedForSafety(
                "plan-changed", f"payload {short(payload)} was intended, the default branch now has {now_has}", plan=decision.plan,
                next="publisher status",
            )  # fmt: skip
        if seen.controls.paused:
            raise StoppedForSafety(
                "paused", "the site was paused before the switch", next="publisher status", plan=decision.plan
            )
        standing = {gate: plan.approval(gate) if plan else None for gate in merges}
        if any(approval is None or approval.merge != merges[gate] for gate, approval in standing.items()):
            raise StoppedForSafety(
                "approval-changed", "the approval that this deploy was intended under no longer stands", plan=decision.plan,
                next="publisher status",
            )  # fmt: skip

    def require_claim(self) -> SiteView:
        """A look at the remote before anything is said outside: a holder that was superseded says nothing. Returns what it shows.

        An unreachable remote takes nothing away: being told twice does less harm than not being told.
        """
        newest = self._base
        if self.fence is not None:
            with suppress(ComeBackLater):
                newest = self._load(self._records.refresh())
                require_mine(newest.standing, self.fence)
        return newest

    def now(self) -> datetime:
        return self._clock.now()

    def _required_fence(self) -> Fence:
        if self.fence is None:
            raise Bug("no-claim", "a record that needs a claim was written without one")
        return self.fence


def gave_up(now: SiteView, *, moved: bool) -> ComeBackLater:
    """Why none of several pushes landed: others' came first each time, or the remote takes none."""
    if not moved:
        branch = now.instance.state_branch
        return ComeBackLater(
            "push-refused",
            f"the remote answers and does not take pushes to {branch}, though nobody else moved it; its rules may forbid them",
            next="publisher doctor",
        )
    return ComeBackLater("state-branch-busy", "the state branch keeps moving", next="publisher run")


def _fence(event: NewEvent) -> Fence:
    fields = event.fields
    return Fence(epoch=fields["epoch"], epoch_id=fields["epoch_id"], number=fields["fence"], nonce=fields["nonce"])


def _message(subject: str, *, plan: str = "", payload: str = "", claim: Fence | None = None) -> str:
    trailers = [f"Plan: {plan}"] if plan else []
    trailers += [f"Payload: {payload}"] if payload else []
    trailers += [f"Claim: {claim.epoch}.{claim.number} {claim.nonce}"] if claim else []
    return subject + ("\n\n" + "\n".join(trailers) if trailers else "")
