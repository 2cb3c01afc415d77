"""How a rule of the production code is broken on purpose, for as long as a block lasts: one function for each known-bad variant.

Each takes the place of one rule, as somebody could have written it who did not know better. They are the harness' own test: what is
broken here must be found by the oracles (``known_bad`` names and counts them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from publisher.domain import claim
from publisher.domain.approval import Approval
from publisher.domain.article import Release
from publisher.domain.business_calendar import business_date
from publisher.domain.controls import Controls
from publisher.domain.evidence import Report, Verdict
from publisher.domain.ledger_events import EventType
from publisher.domain.public_pages import expected_pages
from publisher.domain.site_content import Content
from publisher.engine import deciding, journal, notices, reconciling, restoring, running, site_view
from publisher.engine.bench import RunBench
from publisher.engine.site_view import SiteView
from publisher.errors import OutcomeUnknown
from publisher.ports import Tips
from publisher.simulation import doors, stage, world
from publisher.simulation.builder import ModelBuilder
from publisher.simulation.reads import ModelForge
from publisher.workers import announce, build, confirm, deploy, prepare

FOR_EVER = timedelta(days=3000)


class Patches:
    """Attributes that were changed, and what they were."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, value: Any) -> Any:
        """Puts something in an attribute's place; returns what was there."""
        before = vars(owner)[name]
        self._before.append((owner, name, before))
        setattr(owner, name, value)
        return before

    def undo(self) -> None:
        for owner, name, value in reversed(self._before):
            setattr(owner, name, value)


@contextmanager
def broken(breaks: Any) -> Iterator[None]:
    """The production code with one rule broken, until the block ends."""
    patches = Patches()
    try:
        breaks(patches)
        yield
    finally:
        patches.undo()


def _nothing(*_: Any, **__: Any) -> None:
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

    patches.put(world.World, "_nonce", nonce)


def own_claim_not_required(patches: Patches) -> None:
    patches.put(journal, "require_mine", _nothing)


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
    patches.put(doors.ModelTarget, "raise_fence", _nothing)


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
    patches.put(RunBench, "require_in_time", _nothing)


def no_second_look(patches: Patches) -> None:
    patches.put(RunBench, "require_still_allowed", _nothing)


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


def late_revision_taken(patches: Patches) -> None:
    """A revision replaces what is public already, as if nothing of it were."""
    patches.put(deciding, "is_late_revision", lambda view: False)

    def changed(view: Any, site: Any, now: Any) -> Any:
        found = plain_changed(view, site, now)
        return found if found and found.act is deciding.Act.RECORD_REVISED else plain(view, site, now)

    plain_changed = deciding._changed_plan
    plain = patches.put(deciding, "_public_already", changed)


# --- content --------------------------------------------------------------------------------------------------------------------


def reads_head(patches: Patches) -> None:
    """The newest draft instead of the one that was approved."""

    def draft(bench: Any, planned: Any) -> Any:
        return bench.reads.draft(bench.tips.drafts, planned.source)

    patches.put(prepare, "_approved_draft", draft)


def selects_again(patches: Patches) -> None:
    """A run that goes on with another's work fills the plan from the queue once more."""

    def draft(bench: Any, planned: Any) -> Any:
        found = plain(bench, planned)
        other = bench.reads.draft(bench.tips.drafts, stage.source_of(8))
        return replace(found, body=other.body, files=other.files) if bench.fence.number > 1 else found

    plain = patches.put(prepare, "_approved_draft", draft)
    patches.put(build, "_scan", _nothing)


def builds_everything(patches: Patches) -> None:
    """The folder's listing decides what is published, not the record."""

    def pages(self: Any, request: Any, listed: Any) -> Any:
        made = plain(self, request, listed)
        extra = stage.draft_of(8, 0).files["index.md"]
        name, files = self._contents.publish_files(
            {**{path: self._contents.bodies[found] for path, found in made.files.items()}, "text-8/index.html": extra}
        )
        return Release(id=name, files=files, root="")

    plain = patches.put(ModelBuilder, "_release", pages)
    patches.put(build, "_scan", _nothing)


def forgets_the_archive(patches: Patches) -> None:
    """Each release holds its own date's articles only."""

    def after(content: Content, prepared: Any) -> Content:
        made: Content = plain(replace(content, texts={}), prepared)
        return made

    plain = patches.put(build, "after", after)
    patches.put(build, "_check_removals", _nothing)


def no_leak_scan(patches: Patches) -> None:
    """A title rides with a record, and nothing looks at what is pushed."""

    def note(self: Any, kind: EventType, **fields: Any) -> None:
        if kind is EventType.PREPARED:
            fields = {**fields, "title": self.reads.draft(self.tips.drafts, stage.source_of(8)).title.reveal()}
        plain(self, kind, **fields)

    plain = patches.put(RunBench, "note", note)
    patches.put(build, "_scan", _nothing)


# --- confirmation and people ----------------------------------------------------------------------------------------------------


def home_page_only(patches: Patches) -> None:
    def pages(*arguments: Any) -> Any:
        return tuple(page for page in expected_pages(*arguments) if page.url.rstrip("/") == stage.SITE.url)

    patches.put(confirm, "expected_pages", pages)
    patches.put(reconciling, "expected_pages", pages)


def any_answer_confirms(patches: Patches) -> None:
    def judged(pages: Sequence[Any], seen: Mapping[str, Any]) -> Report:
        found: Report = plain(pages, seen)
        good = any(item.status == 200 for item in seen.values())
        return replace(found, verdict=Verdict.CONFIRMED) if good else found

    plain = patches.put(confirm, "judge", judged)
    patches.put(reconciling, "judge", judged)


def unknown_taken_for_unsent(patches: Patches) -> None:
    def close(self: Any, decision: Any) -> None:
        history = self._journal.view.plans[decision.plan].history
        for name, recipients in history.telling.items():
            results = dict.fromkeys(recipients, "refused")
            fields = {"channel": name, "results": results, "codes": dict.fromkeys(results, "interrupted")}
            self._journal.note(decision.plan, EventType.ANNOUNCE_RESULT, fields)

    patches.put(running.SiteRun, "_close_telling", close)


def unknown_sent_again(patches: Patches) -> None:
    patches.put(doors.ModelChannel, "idempotent", True)


def announces_without_intent(patches: Patches) -> None:
    def tell(bench: Any, name: str, channel: Any, group: Sequence[str]) -> None:
        results = {}
        for address in group:
            pseudonym = channel.pseudonym(address)
            results[pseudonym] = channel.send(announce._message(bench, name, address, pseudonym)).outcome
        bench.note(EventType.ANNOUNCE_RESULT, channel=name, results=results, codes={})
        bench.commit("announced", fact=True)

    patches.put(announce, "_tell_group", tell)


def says_it_every_time(patches: Patches) -> None:
    def speak(doors: Any, run: Any, outcome: Any) -> None:
        for decision in deciding.decisions(run.view, doors.clock.now()):
            view = run.view.plans[decision.plan]
            notice, text = notices._news(view, decision, outcome.plans.get(decision.plan), doors.clock.now())
            if notice:
                doors.alerts.say(f"{decision.plan}/{notice}", text)
                run.note(decision.plan, EventType.NOTICED, {"notice": notice})

    patches.put(running, "speak", speak)


def notice_quotes_the_text(patches: Patches) -> None:
    def text(*arguments: Any, **named: Any) -> str:
        return f"{plain(*arguments, **named)} {stage.draft_of(1, 0).title.reveal()}"

    plain = patches.put(notices, "stopped", text)
