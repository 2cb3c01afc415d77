"""``publisher log``: the story across plans, from the ledger as it is known here. Opens no connection and writes nothing."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, chosen_sites, opened, plan_name, site_of_plan
from publisher.cli.reports import age
from publisher.cli.verb import Verb
from publisher.errors import StoppedForSafety, UsageProblem

if TYPE_CHECKING:
    from publisher.engine.story import Line
    from publisher.ports import Tips
    from publisher.wiring import Wired


@click.command(
    cls=Verb,
    examples=(
        "publisher log",
        "publisher log handbook/daily/2026/2026-12-01",
        "publisher log --site handbook --since 2026-12-01 --json",
    ),
)
@click.argument("plan", required=False)
@click.option("--site", metavar="NAME", help="Only this site.")
@click.option("--since", metavar="DATE", help="From this date (YYYY-MM-DD, 00:00 in the site's zone) on.")
@click.option("--all", "everything", is_flag=True, help="Also renewals of claims.")
@click.pass_context
def command(context: click.Context, plan: str | None, site: str | None, since: str | None, everything: bool) -> int:
    """Tell the story, the newest last: who claimed, approved, prepared, deployed and confirmed what, and when.

    Changes of production name whose approval they were made on. Ids, addresses and people's reasons only, no titles.
    """
    name = plan_name(plan) if plan else ""
    start = _parsed(since) if since else None
    with opened(context) as wired:
        tips = wired.store.tips()
        lines: list[Line] = []
        for site_id in chosen_sites(wired, tips, site_of_plan(name) if name else site):
            lines += _of_site(wired, tips, site_id, name, start, everything)
    if name and not lines and start is None:
        raise UsageProblem("no-such-plan", f"the ledger has no record of {name}", next="publisher status", plan=name)
    lines.sort(key=lambda line: line.at)  # keeps the order within each site
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.log/1", "state": tips.state, "events": [line.as_data() for line in lines]})
        return 0
    output.table(["WHEN", "WHO", "ABOUT", "WHAT"], [(line.when, line.actor, line.about, line.what) for line in lines])
    output.note(f"(the remote was last looked at {age(tips.age)})")
    return 0


def _of_site(wired: Wired, tips: Tips, site: str, plan: str, since: date | None, everything: bool) -> tuple[Line, ...]:
    from publisher.engine.story import story

    instance = wired.store.instance(tips.default)
    if not tips.state:
        raise StoppedForSafety(
            "no-state-branch", f"no branch {instance.state_branch} is known here", next="git fetch origin"
        )  # fmt: skip
    events = wired.store.ledger(tips.state, site)
    return story(events, instance.sites[site].zone, plan=plan, since=since, everything=everything)


def _parsed(text: str) -> date:
    from publisher.domain.business_calendar import parse_date

    try:
        return parse_date(text)
    except ValueError as rule:
        raise UsageProblem("bad-date", f"--since: {rule}", next="publisher log --since 2026-12-01") from None
