"""``publisher status``: where everything stands and who must act next. Reads what is here; opens no connection."""

from __future__ import annotations

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, chosen_sites, opened, plan_name, site_of_plan, view_of
from publisher.cli.reports import age, tell_site
from publisher.cli.verb import Verb
from publisher.errors import StoppedForSafety, worst


@click.command(
    cls=Verb,
    examples=(
        "publisher status",
        "publisher status handbook/daily/2026/2026-12-01",
        "publisher status --fresh",
        "publisher status --site handbook --json",
    ),
)
@click.argument("plan", required=False)
@click.option("--site", metavar="NAME", help="Only this site.")
@click.option("--fresh", is_flag=True, help="Look at the remote, and ask the pull-request host; into a temporary object store.")
@click.option("--all", "everything", is_flag=True, help="Also plans that are done or canceled.")
@click.pass_context
def command(context: click.Context, plan: str | None, site: str | None, fresh: bool, everything: bool) -> int:
    """Show where everything stands, by what is known here of the remote (`git fetch` or --fresh renews it)."""
    from publisher.engine.people import plan_in
    from publisher.engine.running import require_ledger
    from publisher.engine.status import site_status

    name = plan_name(plan) if plan else ""
    with opened(context, fresh=fresh) as wired:
        tips = wired.store.refresh() if fresh else wired.store.tips()
        sites, problems = [], []
        for site_id in chosen_sites(wired, tips, site_of_plan(name) if name else site):
            view = view_of(wired, tips, site_id)
            if name:
                plan_in(view, name)
            sites.append(site_status(view, wired.clock.now(), name, closed=everything))
            try:
                require_ledger(view)
            except StoppedForSafety as gone:
                problems.append(gone)
                sites[-1]["problem"] = gone.as_data()
    if asked_of(context).as_json:
        output.say_json(sites[0] if len(sites) == 1 else {"schema": "publisher.statuses/1", "sites": sites})
        return worst([problem.exit_code for problem in problems])
    for status in sites:
        tell_site(status, details=bool(name))
    output.note(f"(the remote was last looked at {age(tips.age)})")
    for problem in problems:
        output.note(f"{problem}")
    return worst([problem.exit_code for problem in problems])
