"""``publisher plan``: proposes plans for the next dates, or asks again for an approval that expired."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import ci_report, output
from publisher.cli.opening import asked_of, chosen_sites, only_site, opened, plan_name, site_of_plan, view_of
from publisher.cli.proposing import page_of, propose, summarise, tell
from publisher.cli.verb import Verb
from publisher.errors import Refusal, UsageProblem, worst

if TYPE_CHECKING:
    from publisher.engine.site_view import SiteView
    from publisher.ports import Tips
    from publisher.wiring import Wired


@click.command(
    cls=Verb,
    examples=(
        "publisher plan                          # the next date that has no plan",
        "publisher plan --site handbook --days 7",
        "publisher plan --date 2026-12-01 --local",
        "publisher plan --again handbook/daily/2026/2026-12-01",
        "publisher plan --launch --site shop --source drafts/shop/hello",
    ),
)
@click.option("--site", metavar="NAME", help="Only this site.")
@click.option("--date", "day", metavar="DATE", help="This date (YYYY-MM-DD) instead of the next ones.")
@click.option("--days", type=click.IntRange(1, 60), default=1, show_default=True, help="How many dates from today.")
@click.option("--local", is_flag=True, help="Write the plan files here instead of opening a request.")
@click.option("--again", "again", metavar="PLAN", help="Ask for the approval of PLAN once more.")
@click.option("--launch", is_flag=True, help="Plan the launch of a site that is not public yet.")
@click.option("--source", "sources", multiple=True, metavar="FOLDER", help="With --launch: a first article (repeatable).")
@click.pass_context
def command(
    context: click.Context,
    site: str | None,
    day: str | None,
    days: int,
    local: bool,
    again: str | None,
    launch: bool,
    sources: tuple[str, ...],
) -> int:
    """Propose plans: articles from the queue, in order, meeting the policy's shares. A repetition finds its own request."""
    if not ci_report.is_set_up():
        return _report(context, [], [])
    with opened(context, online=True) as wired:
        wired.git.require_trustworthy()
        tips = wired.store.refresh()
        problems: list[Refusal] = []
        if again:
            made = [_ask_again(wired, tips, plan_name(again))]
        elif launch:
            made = [_launch(wired, tips, only_site(wired, tips, site), sources, local)]
        else:
            made, problems = _plan_sites(wired, tips, chosen_sites(wired, tips, site), day, days, local)
    return _report(context, made, problems)


def _plan_sites(
    wired: Wired, tips: Tips, sites: Sequence[str], day: str | None, days: int, local: bool
) -> tuple[list[dict[str, Any]], list[Refusal]]:
    """Every site in turn: what stops one is told beside what the others propose."""
    made: list[dict[str, Any]] = []
    problems: list[Refusal] = []
    opened_one = False
    for site in sites:
        if opened_one:
            tips = wired.store.refresh()  # so that what was opened here is not taken for somebody else's
        try:
            result, refused = _plan_site(wired, tips, site, day, days, local)
        except Refusal as problem:
            if len(sites) == 1:
                raise
            result, refused = [], [problem]
        opened_one = any(item["request"] and not item["known"] for item in result)
        made += result
        problems += refused
    return made, problems


def _report(context: click.Context, made: Sequence[dict[str, Any]], problems: Sequence[Refusal]) -> int:
    summarise(made)
    ci_report.refusals(problems)
    if asked_of(context).as_json:
        refused = [problem.as_data() for problem in problems]
        output.say_json({"schema": "publisher.plan/1", "proposed": list(made), "problems": refused})
    else:
        for item in made:
            tell(item)
        if not made and not problems:
            output.say("nothing to plan: every date has its plan or was skipped")
        for problem in problems:
            output.refused(problem)
    return worst([problem.exit_code for problem in problems])


def _plan_site(
    wired: Wired, tips: Tips, site: str, day: str | None, days: int, local: bool
) -> tuple[list[dict[str, Any]], list[Refusal]]:
    from publisher.engine.planning import Planner, by_request

    view = view_of(wired, tips, site)
    if (f"plans/{site}/policy.yaml") not in wired.store.blob_ids(tips.default, f"plans/{site}"):
        return [], []
    planner = Planner(reads=wired.store, forge=wired.forge, view=view, now=wired.clock.now())
    dates = [_parsed(day)] if day else list(planner.dates(days))
    for one in dates:
        reason = planner.why_not(one)
        if reason and day:
            raise UsageProblem("no-plan", f"{one}: {reason}", next=f"publisher status {planner.path_of(one)}")
    proposals = planner.propose(dates)
    made = [
        propose(wired, view, plans, _title(view, [plan.day for plan in plans]), local=local)
        for plans in by_request(proposals).values()
    ]
    return made, planner.problems


def _title(view: SiteView, dates: Sequence[date]) -> str:
    span = f"{dates[0]}" if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"{view.site.id}: publish {span}"


def _parsed(text: str) -> date:
    from publisher.domain.business_calendar import parse_date

    try:
        return parse_date(text)
    except ValueError as rule:
        raise UsageProblem("bad-date", f"--date: {rule}") from None


def _ask_again(wired: Wired, tips: Tips, name: str) -> dict[str, Any]:
    from publisher.engine.deciding import standing_plan
    from publisher.engine.people import ask_again, plan_in

    view = view_of(wired, tips, site_of_plan(name))
    plan = standing_plan(plan_in(view, name))
    asked = ask_again(wired.doors(), view, name)
    return {
        "request": asked["request"],
        "page": page_of(wired, asked["request"]),
        "plans": [{"plan": plan.path, "revision": plan.revision, "payload": plan.payload, "articles": []}],
        "files": [f"plans/{asked['path']}.yaml"],
    }


def _launch(wired: Wired, tips: Tips, site: str, sources: Sequence[str], local: bool) -> dict[str, Any]:
    from publisher.engine.changes import launch_plan

    view = view_of(wired, tips, site)
    plan = launch_plan(wired.store, view, sources, ("build", "release"), wired.clock.now())
    return propose(wired, view, [plan], f"{site}: launch", local=local)
