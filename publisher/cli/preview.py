"""``publisher preview``: what a run would do. It changes nothing: not a byte here, and nothing anywhere else."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, chosen_sites, opened, plan_name, site_of_plan, view_of
from publisher.cli.reports import age, tell_site
from publisher.cli.verb import Verb
from publisher.errors import UsageProblem

if TYPE_CHECKING:
    from publisher.engine.site_view import SiteView
    from publisher.ports import Tips
    from publisher.wiring import Wired


@click.command(
    cls=Verb,
    examples=(
        "publisher preview",
        "publisher preview handbook/daily/2026/2026-12-01",
        "publisher preview --now 2026-12-01T09:05:00+08:00",
        "publisher preview --fresh --json > report.json   # then: publisher run --expect report.json",
        "publisher preview handbook/daily/2026/2026-12-01 --output /tmp/site",
    ),
)
@click.argument("plan", required=False)
@click.option("--site", metavar="NAME", help="Only this site.")
@click.option("--fresh", is_flag=True, help="Look at the remote, into a temporary object store.")
@click.option("--now", "moment", metavar="INSTANT", help="Judge as if it were then (2026-12-01T09:05:00+08:00).")
@click.option("--output", "folder", metavar="DIR", type=click.Path(file_okay=False), help="Render the site with PLAN into DIR.")
@click.pass_context
def command(
    context: click.Context, plan: str | None, site: str | None, fresh: bool, moment: str | None, folder: str | None
) -> int:
    """Show what a run would do: dates, articles, fingerprints, approval, stage and the next act."""
    from publisher.engine.people import plan_in
    from publisher.engine.previewing import site_preview

    name = plan_name(plan) if plan else ""
    if folder and not name:
        raise UsageProblem("which-plan", "--output renders one plan; name it", next="publisher preview PLAN --output DIR")
    with opened(context, fresh=fresh) as wired:
        tips = wired.store.refresh() if fresh else wired.store.tips()
        now = _moment(moment) if moment else wired.clock.now()
        reports = []
        for site_id in chosen_sites(wired, tips, site_of_plan(name) if name else site):
            view = view_of(wired, tips, site_id)
            if name:
                plan_in(view, name)
            reports.append({**site_preview(view, now, name), "not_pushed": list(_local_only(wired, tips, site_id))})
            if folder:
                _render(wired, view, name, Path(folder))
    _tell(context, reports, tips)
    return 0


def _tell(context: click.Context, reports: list[dict[str, Any]], tips: Tips) -> None:
    if asked_of(context).as_json:
        output.say_json(reports[0] if len(reports) == 1 else {"schema": "publisher.previews/1", "sites": reports})
        return
    for report in reports:
        tell_site(report, details=True)
        for plan in report["plans"]:
            for article in plan["articles"]:
                output.say(f"    text      {article['id']}  {article['fingerprint']}")
        for path in report["not_pushed"]:
            output.say(f"  {path}  [not pushed]")
    output.note(f"(judged by the remote as it was {age(tips.age)}; nothing was changed)")


def _moment(text: str) -> datetime:
    from publisher.domain.business_calendar import parse_instant

    try:
        return parse_instant(text)
    except ValueError as rule:
        raise UsageProblem("bad-instant", f"--now: {rule}") from None


def _local_only(wired: Wired, tips: Tips, site: str) -> tuple[str, ...]:
    """Plans that are committed here and not on the remote's default branch."""
    head = wired.git.resolve("HEAD")
    if not head or head == tips.default:
        return ()
    pushed = set(wired.store.plan_paths(tips.default, site))
    return tuple(path for path in wired.store.plan_paths(head, site) if path not in pushed)


def _render(wired: Wired, view: SiteView, name: str, folder: Path) -> None:
    from publisher.engine.rendering import render_plan

    inside = folder.resolve()
    for part in ("site-src", "drafts", "plans", "ledger", "publisher", ".git"):
        if inside.is_relative_to((wired.root / part).resolve()):
            raise UsageProblem("bad-output", f"a preview is never written into {part}/, where a build could read it")
    if folder.exists() and any(folder.iterdir()):
        raise UsageProblem("not-empty", "the output directory is not empty", next="name a new directory")
    render_plan(wired, view, view.plans[name], folder)
