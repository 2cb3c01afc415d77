"""How a rule of the production code is broken on purpose, for as long as a block lasts: one function for each known-bad variant.

Each takes the place of one rule, as somebody could have written it who did not know better. They are the harness' own test: what is
broken here must be found by the oracles (``known_bad`` names and counts them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from publisher.domain import claim
from publisher.domain.approval import Approval
from publisher.domain.article import Release
from publisher.domain.business_calendar import business_date
from publisher.domain.controls import Controls
from publisher.domain.ledger_events import EventType
from publisher.engine import deciding, journal, reconciling, restoring, running, site_view
from publisher.engine.bench import RunBench
from publisher.engine.site_view import SiteView
from publisher.errors import OutcomeUnknown
from publisher.ports import Tips
from publisher.simulation import doors, stage, world
from publisher.simulation.reads import ModelForge
from publisher.workers import deploy

FOR_EVER = timedelta(days=3000)


class Patches:
    """Attributes that were changed, and what they were."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def put(self, owner: Any, name: str, value: Any) -> Any:
        """Puts something in an attribute's place; returns what was there."""
        before = vars(owner)[name]
        self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, value)
        return before

    def put_item(self, table: dict[str, Any], name: str, value: Any) -> None:
        """The same for an entry of a table."""
        before = table[name]
        self._undo.append(lambda: table.update({name: before}))
        table[name] = value

    def undo(self) -> None:
        for undo in reversed(self._undo):
            undo()


@contextmanager
def broken(breaks: Any) -> Iterator[None]:
    """The production code with one rule broken, until the block ends."""
    patches = Patches()
    try:
        breaks(patches)
        yield
    finally:
        patches.undo()


def nothing(*_: Any, **__: Any) -> None:
    return None


# --- the remote and the claim ---------------------------------------------------------------------------------------------------


def no_compare_and_swap(patches: Patches) -> None:
    def take(self: Any, actor: Any, commit: str, expected: str, updates: Any) -> bool:
        return self.state == commit or bool(self.take_anyway(actor, commit, updates))

    patches.put(world.World, "_take", take)


def not_atomic(patches: Patches) -> None:
    def take(self: Any, actor: Any, commit: str, expected: str, updates: Any) -> bool:
        if self.state not in (commit, expected):
            for _, tip, old in updates:
                if self.site_tip == old:
                    _, release, fence, base = doors.SITE_COMMITS[tip]
                    self.site_tip = tip
                    self._now_live(actor, release, base, fence)
            return False
        return bool(plain(self, actor, commit, expected, updates))

    plain = patches.put(world.World, "_take", take)


def no_nonce(patches: Patches) -> None:
    def nonce(self: Any, actor: Any, trouble: str) -> Any:
        actor.nonces.add("0" * 32)
        return ("nonce", "0" * 32)

    patches.put_item(world.HANDLERS, "nonce", nonce)


def own_claim_not_required(patches: Patches) -> None:
    patches.put(journal, "require_mine", nothing)


def no_lease_cap(patches: Patches) -> None:
    patches.put(claim, "LONGEST_LEASE", FOR_EVER)
    patches.put(journal, "acquire", lambda standing, **named: claim.acquire(standing, **{**named, "lease": FOR_EVER}))


def lease_never_ends(patches: Patches) -> None:
    def acquire(standing: Any, **named: Any) -> Any:
        last = standing.last
        held = replace(standing, last=replace(last, until=named["now"] + FOR_EVER)) if last else standing
        return claim.acquire(held, **named)

    patches.put(journal, "acquire", acquire)


def no_epoch(patches: Patches) -> None:
    def events(view: SiteView, *others: Any) -> Any:
        made = plain(view, *others)
        made.epoch.fields.update(epoch=1, epoch_id="e" * 32)
        return made

    plain = patches.put(restoring, "_events", events)


def restore_forgets(patches: Patches) -> None:
    def events(view: SiteView, *others: Any) -> Any:
        made = plain(view, *others)
        claims = {path: news for path, news in made.by_path.items() if "/claims/" in path}
        return replace(made, by_path=claims, plans=[])

    plain = patches.put(restoring, "_events", events)


# --- the target -----------------------------------------------------------------------------------------------------------------


def no_fence(patches: Patches) -> None:
    def refusal(held: Any, offered: Any, live: str, release: str, base: str) -> str:
        return "" if live in (base, release) else "base-moved"

    patches.put(world, "refusal_of", refusal)
    patches.put(doors, "refusal_of", refusal)


def no_base(patches: Patches) -> None:
    def refusal(held: Any, offered: Any, live: str, release: str, base: str) -> str:
        return str(plain(held, offered, base, release, base))

    plain = patches.put(world, "refusal_of", refusal)
    patches.put(doors, "refusal_of", refusal)
    patches.put(deploy, "require_known_live", lambda bench: bench.production.release)


def fence_not_raised(patches: Patches) -> None:
    patches.put(doors.ModelTarget, "raise_fence", nothing)


def timeout_taken_for_failure(patches: Patches) -> None:
    def switch(bench: Any, release: Release, base: str, number: int) -> None:
        try:
            plain(bench, release, base, number)
        except OutcomeUnknown:
            deploy._close(bench, number, "timeout")
            raise

    plain = patches.put(deploy, "_switch_after_intent", switch)


def answer_taken_for_evidence(patches: Patches) -> None:
    def switch(bench: Any, release: Release, base: str, number: int) -> None:
        bench.target.store(release, base=base, fence=bench.fence)
        bench.note(EventType.DEPLOY_INTENT, deployment=number, release=release.id, base=base)
        bench.commit("about to deploy")
        with suppress(OutcomeUnknown):  # it will have worked
            bench.target.switch(release, base=base, fence=bench.fence, record=bench.announced_in())
        deploy._note_deployed(bench, release, base, number, "switched")

    patches.put(deploy, "_switch_after_intent", switch)


def recorded_before_done(patches: Patches) -> None:
    def switch(bench: Any, release: Release, base: str, number: int) -> None:
        bench.target.store(release, base=base, fence=bench.fence)
        bench.note(EventType.DEPLOY_INTENT, deployment=number, release=release.id, base=base)
        deploy._note_deployed(bench, release, base, number, "switched")
        bench.commit("deployed")
        bench.target.switch(release, base=base, fence=bench.fence, record=bench.announced_in())

    patches.put(deploy, "_switch_after_intent", switch)


def no_intent(patches: Patches) -> None:
    def switch(bench: Any, release: Release, base: str, number: int) -> None:
        bench.target.store(release, base=base, fence=bench.fence)
        bench.target.switch(release, base=base, fence=bench.fence, record="")
        deploy._note_deployed(bench, release, base, number, "switched")

    patches.put(deploy, "_switch_after_intent", switch)


def late_switch_forgotten(patches: Patches) -> None:
    patches.put(doors.ModelTarget, "came_to_nothing", lambda self, release, *, record: True)


def open_intent_ignored(patches: Patches) -> None:
    patches.put(deciding, "_preconditions", lambda view, site: None)


def never_reconciled(patches: Patches) -> None:
    def close(bench: RunBench) -> str:
        intent = bench.history.intent
        assert intent is not None
        bench.note(EventType.DEPLOY_CLOSED, deployment=intent.deployment, why="not-switched")
        bench.commit("its run died, so it had not happened", fact=True)
        return "reconciled"

    patches.put(reconciling, "close_intent", close)


# --- approval, time, controls ---------------------------------------------------------------------------------------------------


def no_expiry(patches: Patches) -> None:
    def window(merged_at: Any, publish_at: Any, rules: Any) -> Any:
        return replace(plain(merged_at, publish_at, rules), closes=merged_at + FOR_EVER)

    plain = patches.put(site_view, "window", window)


def not_before_ignored(patches: Patches) -> None:
    def window(merged_at: Any, publish_at: Any, rules: Any) -> Any:
        return replace(plain(merged_at, publish_at, rules), opens=merged_at)

    plain = patches.put(site_view, "window", window)


def time_not_asked_again(patches: Patches) -> None:
    patches.put(RunBench, "require_in_time", nothing)


def no_second_look(patches: Patches) -> None:
    patches.put(RunBench, "require_still_allowed", nothing)


def approval_is_for_ever(patches: Patches) -> None:
    """What was approved once is approved, whatever became of the review and the file since."""

    def verdict(self: Any, tips: Tips, subject: Any) -> Any:
        commit = self._contents.defaults.get(tips.default)
        while commit:
            found = commit.verdicts.get((subject.path, subject.payload))
            if isinstance(found, Approval):
                return found
            commit = self._contents.defaults.get(commit.parent)
        return plain(self, tips, subject)

    plain = patches.put(ModelForge, "verdict", verdict)


def approval_of_the_path(patches: Patches) -> None:
    """An approval counts for whatever its file holds now."""

    def verdict(self: Any, tips: Tips, subject: Any) -> Any:
        commit = self._contents.defaults.get(tips.default)
        while commit:
            found = [item for (path, _), item in commit.verdicts.items() if path == subject.path and isinstance(item, Approval)]
            if found:
                return replace(found[-1], subject=subject)
            commit = self._contents.defaults.get(commit.parent)
        return plain(self, tips, subject)

    plain = patches.put(ModelForge, "verdict", verdict)


def unreviewed_push_counts(patches: Patches) -> None:
    def verdict(self: Any, tips: Tips, subject: Any) -> Any:
        found = plain(self, tips, subject)
        if getattr(found, "code", "") == "not-reviewed":
            return Approval(
                subject=subject, by=("ann",), merged_at=stage.instant(0), merge=tips.default, request=1, evidence={}
            )
        return found

    plain = patches.put(ModelForge, "verdict", verdict)


def pause_ignored(patches: Patches) -> None:
    def fold(events: Any) -> Controls:
        controls: Controls = plain(events)
        return replace(controls, paused=False)

    plain = patches.put(site_view, "fold_controls", fold)


def date_from_the_clock(patches: Patches) -> None:
    """A run works on the date that its clock shows, and on no other."""

    def found(site: SiteView, now: Any) -> Any:
        return tuple(item for item in plain(site, now) if _is_today(site, item.plan, now))

    plain = patches.put(running, "decisions", found)


def _is_today(site: SiteView, path: str, now: Any) -> bool:
    plan = site.plans[path].plan
    return plan is not None and plan.day == business_date(now, plan.zone)
