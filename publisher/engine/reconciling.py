"""Reconciling: public facts first, then what is recorded about them.

Rules:
* where a deploy intent is open, the target's fence is raised before looking, so that what is seen stays true;
* a target that cannot be fenced is asked what became of the switch; while it is under way, nothing is recorded;
* seen live: it happened, and is recorded as seen; base still live on a fenced target, or on one that says that the switch came to
  nothing: it did not happen, and the intent closes;
* anything else live, or a switch that may still land, is a person's to settle;
* a look alone never changes anything.
"""

from __future__ import annotations

from publisher.domain.evidence import ExpectedPage, Report, Verdict, judge
from publisher.domain.facts import Intent
from publisher.domain.fingerprint import short
from publisher.domain.history import deploy_step
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import Presentation
from publisher.domain.public_pages import expected_pages
from publisher.engine.bench import Doors, RunBench
from publisher.engine.site_view import PlanView, SiteView
from publisher.errors import OutcomeUnknown, StoppedForSafety
from publisher.ports import Assembler

LOOK_SECONDS = 15.0


def close_intent(bench: RunBench) -> str:
    """Finds out what became of an open deploy intent and records it; returns the word for what was found."""
    intent = bench.history.intent
    assert intent is not None
    if bench.target.can_fence:
        bench.progress("raising the fence at the target")
        bench.target.raise_fence(bench.fence)
        over = True
    else:
        over = bench.target.came_to_nothing(intent.release, record=bench.announced_in())
    live = bench.target.look()
    subject = f"{bench.site.id} {bench.plan.day}"
    if live.release == intent.release:
        # A restore since the intent may have taken its number: an observation follows what is recorded now.
        number = max(intent.deployment, bench.production.deployment + 1)
        fields = {"deployment": number, "release": intent.release, "base": intent.base, "how": "seen"}
        bench.note(EventType.DEPLOYED, **fields)
        bench.commit(f"{subject}: release {short(intent.release)} was seen live", fact=True)
        return "deployed"
    if live.release == intent.base and over:
        bench.note(EventType.DEPLOY_CLOSED, deployment=intent.deployment, why="not-switched")
        bench.commit(f"{subject}: the deploy of {short(intent.release)} had not happened", fact=True)
        return "reconciled"
    return _not_ours(bench, intent, live.release, over)


def _not_ours(bench: RunBench, intent: Intent, found: str, over: bool) -> str:
    """Neither the release nor, where no late switch can come, its base: recorded as unknown, and a person's to settle."""
    code = "foreign-live" if over else "not-seen"
    bench.note(EventType.UNKNOWN, step=deploy_step(bench.history.kind), code=code, found=found)
    bench.commit(f"{bench.site.id} {bench.plan.day}: the deploy's outcome is not known ({code})", fact=True)
    settle = f'publisher settle {bench.plan.path} {deploy_step(bench.history.kind)} --did-not --reason "…"'
    if code == "not-seen":
        raise OutcomeUnknown(
            "deploy-unknown", f"release {short(intent.release)} was not seen, and the target cannot shut out a late switch",
            next=settle, plan=bench.plan.path,
        )  # fmt: skip
    shown = short(found) if found else "nothing"
    raise StoppedForSafety(
        "foreign-live",
        f"the target holds {shown}, neither the intended {short(intent.release)} nor its base; it was left as it is",
        next=settle, plan=bench.plan.path,
    )  # fmt: skip


def expected_of(assembler: Assembler, view: SiteView, plan: PlanView) -> tuple[ExpectedPage, ...]:
    """What the public must show of a plan now."""
    production = view.production
    assert production.presentation is not None
    assert plan.history.prepared is not None
    release = assembler.build(production.content, Presentation(**production.presentation))
    return expected_pages(view.site.url, release, plan.history.prepared, production.content)


def look(doors: Doors, assembler: Assembler, view: SiteView, plan: PlanView) -> Report:
    """One look at everything that a plan made public. Reads only."""
    pages = expected_of(assembler, view, plan)
    seen = doors.probes(view.site).look([page.url for page in pages], seconds=LOOK_SECONDS, bust=doors.new_nonce()[:12])
    return judge(pages, seen)


def is_public(doors: Doors, assembler: Assembler, view: SiteView, plan: PlanView) -> bool:
    return look(doors, assembler, view, plan).verdict is Verdict.CONFIRMED
