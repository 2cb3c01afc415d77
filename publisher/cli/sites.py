"""``publisher sites``: the sites of this instance; ``--due --json`` feeds a matrix of CI jobs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import ci_report, output
from publisher.cli.opening import asked_of, chosen_sites, opened, plan_name, site_of_plan, view_of
from publisher.cli.verb import Verb
from publisher.errors import ComeBackLater, Refusal

if TYPE_CHECKING:
    from publisher.ports import Tips
    from publisher.wiring import Wired


MOST_JOBS = 256
"""GitHub makes no larger matrix; what is left over is due at the next tick."""


@click.command(
    cls=Verb,
    examples=("publisher sites", "publisher sites --due --json", "publisher sites --due --fresh   # in CI: the deciding job"),
)
@click.option("--site", metavar="NAME", help="Only this site.")
@click.option("--plan", metavar="PLAN", help="Only the site of this plan, due or not: a run of it says what is in its way.")
@click.option("--due", is_flag=True, help="Only sites for which a run has something to do, or to tell, now.")
@click.option("--fresh", is_flag=True, help="Look at the remote, and ask the pull-request host.")
@click.pass_context
def command(context: click.Context, site: str | None, plan: str | None, due: bool, fresh: bool) -> int:
    """List the sites, or those that are due.

    In GitHub Actions the due sites' names also become the step's output `due`, a JSON list. A repository that is not set up
    yet has none: PUBLISHER_ROOT, which pins the approval rules from outside the repository, is a variable of it.
    """
    if due and not ci_report.is_set_up():
        return _answer(context, [], due=True)
    named = site_of_plan(plan_name(plan)) if plan else site
    with opened(context, fresh=fresh) as wired:
        tips = wired.store.refresh() if fresh else wired.store.tips()
        rows = [_row(wired, tips, name) for name in chosen_sites(wired, tips, named)]
    rows = [row for row in rows if row["due"] or plan or not due]
    return _answer(context, rows, due=due)


def _answer(context: click.Context, rows: list[dict[str, Any]], *, due: bool) -> int:
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.sites/1", "sites": rows})
    else:
        output.table(
            ("SITE", "URL", "TARGET", "DUE"), [(r["site"], r["url"], r["target"], "yes" if r["due"] else "") for r in rows]
        )
    if due:
        ci_report.result("due", json.dumps([row["site"] for row in rows[:MOST_JOBS]]))
        ci_report.summary(
            "Due sites", ("Site", "Address", "What is next"),
            [[ci_report.code(row["site"]), ci_report.text(row["url"]), ci_report.text(row["next"])] for row in rows],
            [] if rows else ["Nothing is due."],
        )  # fmt: skip
    return 0


def _row(wired: Wired, tips: Tips, name: str) -> dict[str, Any]:
    from publisher.engine.deciding import Act, decisions
    from publisher.engine.notices import has_news

    site = wired.store.instance(tips.default).sites[name]
    row = {"site": name, "url": site.url, "target": site.target.kind, "zone": site.zone_name}
    now = wired.clock.now()
    try:
        view = view_of(wired, tips, name)
        acts = [item for item in decisions(view, now) if item.act is not Act.NONE]
        news = has_news(view, now)
    except ComeBackLater:
        raise
    except Refusal as problem:
        # The run of this site says what is wrong; the others are not held back by it.
        return {**row, "due": True, "next": problem.code}
    return {**row, "due": bool(acts) or news, "next": acts[0].what if acts else "somebody must be told" if news else ""}
