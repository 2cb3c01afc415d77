"""Repairing a target that lost the recorded live release: the same release, built again, put back under a claim.

A person asks for it. Nothing is selected and nothing new becomes public: the release is the one that the ledger records as live.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from publisher.domain.fingerprint import short
from publisher.domain.ledger_events import EventType
from publisher.engine.assembling import ReleaseAssembler
from publisher.engine.bench import Doors
from publisher.engine.deciding import Act, Decision, Who
from publisher.engine.journal import Journal
from publisher.engine.restoring import live_presentation
from publisher.engine.running import require_clock, require_ledger
from publisher.engine.site_view import SiteView, load
from publisher.errors import NeedsPerson, Refusal, StoppedForSafety
from publisher.ports import Live, Tips


def repair(doors: Doors, site: str, reason: str) -> str:
    """Puts the recorded live release back and returns its id. Does nothing when it is live."""
    view = load(doors.reads, doors.forge, doors.records.refresh(), site)
    require_ledger(view)
    require_clock(view, doors.clock.now())
    _require_settled(view)
    target = doors.target(view.site)
    found = target.look()
    if found.release == view.production.release:
        return found.release
    _require_ours(view, found)
    last = view.production.deployments[-1]
    with tempfile.TemporaryDirectory(prefix="publisher-") as scratch:
        assembler = ReleaseAssembler(
            reads=doors.reads, builder=doors.builder, site=site, scratch=Path(scratch), progress=doors.progress
        )
        release = assembler.build(view.production.content, live_presentation(view))
        if release.id != view.production.release:
            raise StoppedForSafety(
                "release-not-reproduced", "the recorded release does not build to its id", next="publisher audit"
            )

        def again(tips: Tips) -> SiteView:
            return load(doors.reads, doors.forge, tips, site)

        journal = Journal(records=doors.records, load=again, clock=doors.clock, view=view, actor=doors.actor)
        fence = journal.claim(
            Decision(plan=last.plan, act=Act.NONE, who=Who.PERSON, code="repair", what=reason), nonce=doors.new_nonce()
        )
        if not target.joins_ledger:
            try:
                target.store(release, base=found.release, fence=fence)
            except Refusal:
                # Nothing was set going, so the claim need not run out before anybody tries again.
                _give_up(journal, last.plan, reason)
                raise
            target.switch(release, base=found.release, fence=fence, record=journal.view.tips.state)
        fields = {"release": release.id, "found": found.release, "reason": reason}
        journal.note(last.plan, EventType.REPAIRED, fields)
        journal.release_claim()
        joined = [target.joined_update(release, base=found.release, fence=fence)] if target.joins_ledger else []
        closing = Decision(plan=last.plan, who=Who.PERSON, code="repair", what=reason)
        journal.commit(f"{site}: put release {short(release.id)} back", decision=closing, joined=joined, fact=True)
    return release.id


def _give_up(journal: Journal, plan: str, reason: str) -> None:
    journal.release_claim()
    closing = Decision(plan=plan, who=Who.PERSON, code="repair", what=reason)
    journal.commit(f"{journal.view.site.id}: not put back", decision=closing, fact=True)


def _require_settled(view: SiteView) -> None:
    for path, plan in view.plans.items():
        if plan.history.intent:
            raise NeedsPerson("deploy-open", f"the deploy of {path} is open; reconcile it first", next="publisher run")
    if not view.production.release:
        raise NeedsPerson(
            "nothing-published", "the ledger records no deploy, so there is nothing to put back", next="publisher status"
        )


def _require_ours(view: SiteView, found: Live) -> None:
    if found.release and found.release not in view.production.releases:
        raise StoppedForSafety(
            "foreign-live",
            f"the target holds {short(found.release)}, which no record names; move it away by hand if it may go",
            next=f"publisher reconcile {view.site.id}",
        )
