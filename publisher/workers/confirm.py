"""confirm: the plan's pages, the list, both feeds and the manifest, seen on the configured domain with the release's own bytes.

Reads are bounded by the site's deadline. Past it the record says unknown, and later runs only look again: nothing is ever sent
because a page was not seen.
"""

from __future__ import annotations

from publisher.domain.article import Release
from publisher.domain.evidence import ExpectedPage, Report, Verdict, judge
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import Presentation
from publisher.domain.public_pages import absolute, expected_pages, plan_urls
from publisher.errors import Bug, OutcomeUnknown
from publisher.ports import Bench

PAUSE = 2.0
"""Seconds between two looks."""
ONE_LOOK = 10.0
"""Seconds that one look at all pages may take."""


def work(bench: Bench) -> None:
    bench.target.show()
    report, pages = look_until(bench, bench.site.confirm_within.total_seconds())
    if report.verdict is Verdict.CONFIRMED:
        note_confirmed(bench, pages)
        return
    code = f"public-{report.verdict}"
    bench.note(
        EventType.UNKNOWN, step=step_name(bench), code=code, pages={url: str(state) for url, state in report.pages.items()}
    )
    raise OutcomeUnknown(
        code, f"deployed, but not seen in public within {bench.site.confirm_within}: {', '.join(report.missing)}",
        next=f"publisher run {bench.plan.path} (looks again)", plan=bench.plan.path,
    )  # fmt: skip


def step_name(bench: Bench) -> str:
    step = bench.history.next_step
    assert step is not None
    return step.name


def look_until(bench: Bench, seconds: float) -> tuple[Report, tuple[ExpectedPage, ...]]:
    """Looks until everything is confirmed or the time is over; at least once."""
    prepared = bench.history.prepared
    assert prepared is not None
    pages = expected_pages(bench.site.url, _live_release(bench), prepared, bench.production.content)
    deadline = bench.clock.now().timestamp() + seconds
    attempt = 0
    while True:
        attempt += 1
        bench.progress(f"looking at {len(pages)} pages of {bench.site.url}")
        left = max(1.0, min(ONE_LOOK, deadline - bench.clock.now().timestamp()))
        bust = f"{bench.fence.number}-{bench.fence.nonce[:8]}-{attempt}"
        report = judge(pages, bench.probes.look([page.url for page in pages], seconds=left, bust=bust))
        if report.verdict is Verdict.CONFIRMED or bench.clock.now().timestamp() + PAUSE >= deadline:
            return report, pages
        bench.clock.sleep(PAUSE)


def _live_release(bench: Bench) -> Release:
    """The release that the ledger says is live now, built again: a later plan's deploy changed lists and feeds."""
    production = bench.production
    assert production.presentation is not None
    release = bench.assembler.build(production.content, Presentation(**production.presentation))
    if release.id != production.release:
        raise Bug("release-not-reproduced", "the recorded release does not build to its id again", next="publisher audit")
    return release


def note_confirmed(bench: Bench, pages: tuple[ExpectedPage, ...]) -> None:
    prepared = bench.history.prepared
    assert prepared is not None
    bench.note(
        EventType.CONFIRMED,
        release=bench.production.release,
        urls=[absolute(bench.site.url, url) for url in plan_urls(prepared, bench.production.content)],
        pages={page.url: page.digest or "gone" for page in pages},
        plain=str(plain_look(bench, pages).verdict),
    )


def plain_look(bench: Bench, pages: tuple[ExpectedPage, ...]) -> Report:
    """One ordinary look, as a reader's browser makes it: noted, never waited for, since caches keep old copies for a while."""
    return judge(pages, bench.probes.look([page.url for page in pages], seconds=ONE_LOOK, bust=""))
