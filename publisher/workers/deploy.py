"""deploy: from the base to the release, and nothing else.

What is live must be what the ledger records as live, byte for byte. The intent is recorded and read back before the switch, the
remote is read once more after that, and what became of the switch is learnt by looking at the target, not from its answer. A
target that joins the ledger's own push needs no intent: effect and record are one.
"""

from __future__ import annotations

from publisher.domain.article import Release
from publisher.domain.business_calendar import CLOCK_TOLERANCE
from publisher.domain.fingerprint import short
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import Presentation
from publisher.domain.public_site import clock_apart
from publisher.errors import OutcomeUnknown, Refusal, StoppedForSafety
from publisher.ports import Bench, Live
from publisher.workers import build

CLOCK_LOOK = 5.0
"""Seconds for the one look at the site's clock."""


def work(bench: Bench) -> None:
    release = build.make(bench)
    require_clock(bench)
    base = require_known_live(bench)
    require_known_content(bench)
    number = bench.production.deployment + 1
    if bench.target.joins_ledger:
        _switch_with_record(bench, release, base, number)
    else:
        _switch_after_intent(bench, release, base, number)


def require_clock(bench: Bench) -> None:
    """This machine's clock against the site's own (its HTTP Date). A site that does not answer yet says nothing."""
    url = bench.site.url
    seen = bench.probes.look([url], seconds=CLOCK_LOOK, bust=bench.fence.nonce[:12])[url]
    apart = clock_apart(seen, bench.clock.now())
    if apart is not None and apart > CLOCK_TOLERANCE:
        raise StoppedForSafety(
            "clocks-apart", f"this machine's clock and that of {url} are {int(apart.total_seconds())} seconds apart",
            next="set the clock, then publisher run", plan=bench.plan.path,
        )  # fmt: skip


def require_known_live(bench: Bench) -> str:
    """The live release, which must be the one that the ledger records; "" before the first."""
    live = bench.target.look()
    expected = bench.production.release
    if live.release == expected:
        return expected
    if not live.release:
        raise StoppedForSafety(
            "nothing-live", f"the ledger records release {short(expected)} as live, the target holds nothing",
            next=f'publisher reconcile {bench.site.id} --repair --reason "…"', plan=bench.plan.path,
        )  # fmt: skip
    if live.release in bench.production.releases:
        raise StoppedForSafety(
            "older-live", f"the target holds the older release {short(live.release)}, the ledger records {short(expected)}",
            next=f'publisher reconcile {bench.site.id} --repair --reason "…"', plan=bench.plan.path,
        )  # fmt: skip
    raise StoppedForSafety(
        "foreign-live", f"the target holds {short(live.release)}, which no record of this ledger names; it was not built upon",
        next=f"publisher reconcile {bench.site.id}", plan=bench.plan.path,
    )  # fmt: skip


def require_known_content(bench: Bench) -> None:
    """What the ledger says is public must build to the release that is live.

    Records are believed about the past only as far as the live bytes bear them out: a text that was written into the ledger, and
    never deployed, would otherwise ride with the next release.
    """
    production = bench.production
    if not production.release:
        return
    assert production.presentation is not None
    made = bench.assembler.build(production.content, Presentation(**production.presentation))
    if made.id != production.release:
        raise StoppedForSafety(
            "ledger-not-live",
            f"what the ledger records as public builds {short(made.id)}, live is {short(production.release)}; it was not built upon",
            next="publisher audit", plan=bench.plan.path,
        )  # fmt: skip


def _switch_with_record(bench: Bench, release: Release, base: str, number: int) -> None:
    bench.require_still_allowed()
    update = bench.target.joined_update(release, base=base, fence=bench.fence)
    # The last thing before the record: whatever took long above may have outlasted the approval.
    bench.require_in_time()
    _note_deployed(bench, release, base, number, "switched")
    bench.progress(f"switching {bench.site.id} to release {short(release.id)}")
    bench.commit(f"{bench.site.id} {bench.plan.day}: deployed release {short(release.id)}", [update])


def _switch_after_intent(bench: Bench, release: Release, base: str, number: int) -> None:
    bench.progress(f"storing release {short(release.id)}")
    bench.target.store(release, base=base, fence=bench.fence)
    bench.require_in_time()
    bench.note(EventType.DEPLOY_INTENT, deployment=number, release=release.id, base=base)
    bench.commit(f"{bench.site.id} {bench.plan.day}: prepared, built, about to deploy release {short(release.id)}")
    try:
        bench.require_still_allowed()
    except StoppedForSafety as change:
        if change.code in ("plan-changed", "paused", "approval-changed"):
            _close(bench, number, change.code)
        raise
    bench.progress(f"switching {bench.site.id} to release {short(release.id)}")
    problem: Refusal | None = None
    try:
        bench.target.switch(release, base=base, fence=bench.fence, record=bench.announced_in())
    except Refusal as refusal:
        problem = refusal
    live = _look(bench)
    if live and live.release == release.id and live.fence == bench.fence:
        _note_deployed(bench, release, base, number, "switched")
        return
    if problem and not bench.target.can_fence and not isinstance(problem, OutcomeUnknown):
        # Without a fence no later run can tell that nothing was set going; this one can, and only now.
        _close(bench, number, problem.code)
        raise problem
    if problem and isinstance(problem, StoppedForSafety):
        raise problem
    raise OutcomeUnknown(
        "switch-unknown", f"the switch to release {short(release.id)} was begun and its outcome is not known yet",
        next="publisher run", plan=bench.plan.path,
    ) from None  # fmt: skip


def _look(bench: Bench) -> Live | None:
    try:
        return bench.target.look()
    except Refusal:
        return None


def _close(bench: Bench, number: int, code: str) -> None:
    """The intent is closed where nothing was set going outside: a change came before the switch, or the switch was refused."""
    bench.note(EventType.DEPLOY_CLOSED, deployment=number, why=code)
    bench.commit(f"{bench.site.id} {bench.plan.day}: did not deploy ({code})", fact=True)


def _note_deployed(bench: Bench, release: Release, base: str, number: int, how: str) -> None:
    bench.note(EventType.DEPLOYED, deployment=number, release=release.id, base=base, how=how)
