"""A look at a site's public face beside what the ledger says: the newest deploy's own pages, the list, both feeds, the manifest.

Rules:
* what must be seen is what the last confirmation saw; only where no record has it is the release built again;
* one ordinary look, which caches may answer, is noted; the look that caches pass on decides;
* trouble counts at a second look only, after the remote was read again: a deploy that is on its way is no drift.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from publisher.domain.evidence import ExpectedPage, Public, Report, Verdict, judge
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import Presentation
from publisher.domain.public_pages import expected_pages
from publisher.domain.site_content import Deployment
from publisher.engine.assembling import ReleaseAssembler
from publisher.engine.bench import Doors
from publisher.engine.site_view import SiteView, load
from publisher.engine.watching import PublicLook
from publisher.errors import ComeBackLater

SECONDS = 15.0
"""How long one look at all pages may take."""
PAUSE = 10.0
"""Seconds between the first look and the second."""
MOST_PAGES = 60


def look_at_public(doors: Doors, view: SiteView) -> PublicLook | None:
    """What was seen; None where nothing is confirmed, or a deploy is under way."""
    pages = _expected(doors, view)
    if not pages:
        return None
    probes, urls = doors.probes(view.site), [page.url for page in pages]
    plain = judge(pages, probes.look(urls, seconds=SECONDS, bust=""))
    report = judge(pages, probes.look(urls, seconds=SECONDS, bust=doors.new_nonce()[:12]))
    if report.verdict is not Verdict.CONFIRMED:
        doors.progress(f"looking at {view.site.url} once more")
        doors.clock.sleep(PAUSE)
        if _moved_on(doors, view):
            return None
        report = judge(pages, probes.look(urls, seconds=SECONDS, bust=doors.new_nonce()[:12]))
    return PublicLook(differ=_those(report, Public.ABSENT), silent=_those(report, Public.UNKNOWN), plain=str(plain.verdict))


def _those(report: Report, state: Public) -> tuple[str, ...]:
    return tuple(sorted(url for url, found in report.pages.items() if found is state))


def _moved_on(doors: Doors, view: SiteView) -> bool:
    """Whether another release became public meanwhile, or is about to."""
    try:
        seen = load(doors.reads, doors.forge, doors.records.refresh(), view.site.id, judge=False)
    except ComeBackLater:
        return False  # what was read before still is the newest that is known
    return seen.production.release != view.production.release or _is_open(seen)


def _is_open(view: SiteView) -> bool:
    return any(plan.history.intent for plan in view.plans.values())


def _expected(doors: Doors, view: SiteView) -> tuple[ExpectedPage, ...]:
    if not view.production.deployments:
        return ()
    last = view.production.deployments[-1]
    if not last.confirmed:
        return ()  # not confirmed yet: the plan's own alarm, and every run looks again
    return (_recorded(view, last) or _built(doors, view, last))[:MOST_PAGES]


def _recorded(view: SiteView, last: Deployment) -> tuple[ExpectedPage, ...]:
    """The pages of the newest confirmation, the shared ones first; none where a person's word stands for it."""
    events = [event for event in view.events.get(last.plan, ()) if event.type is EventType.CONFIRMED]
    pages = events[-1].fields.get("pages") if events and events[-1].fields.get("release") == last.release else None
    if not isinstance(pages, dict):
        return ()
    listed = [
        ExpectedPage(url=str(url), digest="" if digest == "gone" else str(digest), gone=digest == "gone")
        for url, digest in reversed(pages.items())
    ]
    return tuple(listed)


def _built(doors: Doors, view: SiteView, last: Deployment) -> tuple[ExpectedPage, ...]:
    """The same from the release, built again; none where the ledger never had what it is made of (an adopted site)."""
    production = view.production
    if not production.presentation:
        return ()
    with tempfile.TemporaryDirectory(prefix="publisher-") as scratch:
        assembler = ReleaseAssembler(
            reads=doors.reads, builder=doors.builder, site=view.site.id, scratch=Path(scratch), progress=doors.progress
        )
        release = assembler.build(production.content, Presentation(**production.presentation))
    if release.id != production.release:
        return ()  # `publisher audit --rebuild` says so
    pages = expected_pages(view.site.url, release, last.prepared, production.content)
    return tuple(reversed(pages))
