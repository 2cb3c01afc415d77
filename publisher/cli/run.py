"""``publisher run``: resumes what is open, then carries out what is due."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import ci_report, output
from publisher.cli.divided import Divided
from publisher.cli.opening import asked_of, chosen_sites, opened, plan_name, site_of_plan, view_of
from publisher.cli.reports import tell_plan
from publisher.cli.verb import Verb
from publisher.errors import EXIT_LATER, EXIT_OK, EXIT_PERSON, EXIT_UNKNOWN, Refusal, StoppedForSafety, UsageProblem, worst

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from publisher.engine.outcomes import PlanOutcome, SiteOutcome
    from publisher.wiring import Wired

NEVER_QUIET = frozenset({"remote-unreachable", "push-refused"})
"""What a timer must not take for a quiet morning: nothing can be written, and it may stay so."""
POLL = 2.0
"""Seconds between two looks for an approval with ``--wait``."""
LONGEST_WAIT_HOURS = 24
EXPECT = "expect"

LARGEST_REPORT = 64 * 1024 * 1024
"""Bytes. What was given as a report may be a device that never ends."""


@click.command(
    cls=Verb,
    examples=(
        "publisher run                                              # everything that is open or due",
        "publisher run --scheduled                                  # from a timer: waiting is not an error",
        "publisher run handbook/daily/2026/2026-12-01               # shows it and asks",
        "publisher run handbook/daily/2026/2026-12-01 --yes --wait 1h",
        "publisher run --site handbook --expect report.json",
        "publisher run --scheduled --only build --handover handover.json    # reads the drafts",
        "publisher run --scheduled --only deploy --handover handover.json   # elsewhere, without them",
    ),
)
@click.argument("plan", required=False)
@click.option("--site", metavar="NAME", help="Only this site.")
@click.option("--scheduled", is_flag=True, help="Called by a timer: busy, not due and waiting for review end with 0.")
@click.option("--wait", "wait", metavar="TIME", help="Ask every 2 seconds for a missing approval, for so long (1h).")
@click.option(
    "--expect", "report", metavar="REPORT", type=click.Path(dir_okay=False), help="Stop if `preview --json` no longer holds."
)
@click.option("--only", "side", type=click.Choice(["build", "deploy"]), help="One side of a divided run; needs --handover.")
@click.option(
    "--handover", metavar="FILE", type=click.Path(dir_okay=False), help="What the build side writes and the deploy side reads."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def command(
    context: click.Context,
    plan: str | None,
    site: str | None,
    scheduled: bool,
    wait: str | None,
    report: str | None,
    side: str | None,
    handover: str | None,
    yes: bool,
) -> int:
    """Carry out what is due, under a claim, step by step; whatever was begun is finished first.

    Kill it anywhere: the next run finds out what happened and finishes the same work, once.
    """
    name = plan_name(plan) if plan else ""
    if scheduled and not ci_report.is_set_up():
        if asked_of(context).as_json:
            output.say_json({"schema": "publisher.run/1", "sites": []})
        return EXIT_OK
    patience = _duration(wait) if wait else None
    divided = Divided(side, handover)
    with opened(context, online=True, drafts=divided.reads_drafts) as wired:
        wired.git.require_trustworthy()
        tips = wired.store.refresh()
        sites = chosen_sites(wired, tips, site_of_plan(name) if name else site)
        if report:
            _require_expected(wired, Path(report), sites, name)
        if name and not yes:
            _ask(wired, name)
        divided.read(wired.store.instance(tips.default).id)
        outcomes = [_run(wired, one, name, patience, divided) for one in sites]
        divided.write(wired.store.instance(tips.default).id, outcomes)
        now = wired.clock.now()
    _tell(context, outcomes, now)
    return worst([_exit_code(outcome, now, scheduled=scheduled, named=bool(name)) for outcome in outcomes])


def _run(wired: Wired, site: str, name: str, patience: timedelta | None, divided: Divided) -> SiteOutcome:
    from publisher.engine.running import run_site

    doors = wired.doors()
    deadline = wired.clock.now() + patience if patience else None
    while True:
        outcome = run_site(doors, site, name, **divided.arguments())
        codes = [item.decision.code for item in outcome.plans.values() if item.decision]
        codes += [outcome.problem.code] if outcome.problem else []
        waiting = any(_waits_for_review(code) for code in codes)
        if deadline is None or not waiting or wired.clock.now() >= deadline:
            return outcome
        doors.progress("waiting for an approval")
        wired.clock.sleep(POLL)


def _waits_for_review(code: str) -> bool:
    """Whether a reviewer's merge is what is missing, or whether that could not be found out this time.

    A plan that is still a request is on the default branch only after its merge.
    """
    return code.startswith("approval-") or code in ("missed", "no-such-plan", "remote-unreachable")


def _duration(text: str) -> timedelta:
    from datetime import timedelta

    from publisher.domain.business_calendar import parse_duration

    try:
        return min(parse_duration(text), timedelta(hours=LONGEST_WAIT_HOURS))
    except ValueError as rule:
        raise UsageProblem("bad-duration", f"--wait: {rule}") from None


def _ask(wired: Wired, name: str) -> None:
    """A manual run names its plan, sees where it stands, and is asked."""
    from publisher.engine.people import plan_in
    from publisher.engine.status import site_status

    view = view_of(wired, wired.store.tips(), site_of_plan(name))
    plan_in(view, name)
    status = site_status(view, wired.clock.now(), name)
    for plan in status["plans"]:
        tell_plan(plan, status["zone"], details=True)
    if not output.is_interactive():
        raise UsageProblem("needs-yes", "nobody is there to be asked", next=f"publisher run {name} --yes")
    click.confirm("Run it?", abort=True, err=True)


def _require_expected(wired: Wired, path: Path, sites: tuple[str, ...], name: str) -> None:
    """Compares a preview's report with the remote as it is now."""
    from publisher.engine.previewing import site_preview

    expected = _expectations(path)
    tips = wired.store.refresh()
    for site in sites:
        found = site_preview(view_of(wired, tips, site), wired.clock.now(), name)[EXPECT]
        if site not in expected:
            raise UsageProblem(
                "no-expectation", f"the report says nothing about {site}", next=f"publisher preview --site {site} --json"
            )
        if found != expected[site]:
            raise StoppedForSafety(
                "expectation-differs",
                f"{site} is no longer as the preview showed it; nothing was run",
                next="publisher preview --fresh",
            )


def _expectations(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_REPORT + 1)
        data: Any = json.loads(text) if len(text) <= LARGEST_REPORT else None
        reports = data.get("sites", [data])
        return {report["site"]: report[EXPECT] for report in reports}
    except OSError:
        raise UsageProblem("no-report", f"{path} cannot be read", next="publisher preview --json > report.json") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UsageProblem(
            "not-a-report", f"{path} is not a preview's report", next="publisher preview --json > report.json"
        ) from None


def _exit_code(outcome: SiteOutcome, now: datetime, *, scheduled: bool, named: bool) -> int:
    codes = [_plan_code(outcome, item, now, scheduled=scheduled, named=named) for item in outcome.plans.values()]
    if outcome.problem:
        later = isinstance(outcome.problem, Refusal) and outcome.problem.exit_code == EXIT_LATER
        codes.append(EXIT_OK if scheduled and later and outcome.problem.code not in NEVER_QUIET else outcome.problem.exit_code)
    return worst(codes)


def _is_busy(outcome: SiteOutcome) -> bool:
    from publisher.engine.running import ANOTHERS_TURN

    problems = [outcome.problem, *(item.problem for item in outcome.plans.values())]
    return any(problem and problem.code in ANOTHERS_TURN for problem in problems)


def _plan_code(outcome: SiteOutcome, item: PlanOutcome, now: datetime, *, scheduled: bool, named: bool) -> int:
    from publisher.engine.deciding import Who

    if item.problem:
        return EXIT_OK if scheduled and item.problem.exit_code == EXIT_LATER else item.problem.exit_code
    decision = item.decision
    if scheduled and decision and decision.who is Who.RUN and _is_busy(outcome):
        return EXIT_OK  # another run is at work on this site: what looks open is in its hands
    if decision is None or decision.exit_code in (EXIT_OK, EXIT_UNKNOWN):
        return decision.exit_code if decision else EXIT_OK
    view = outcome.view.plans.get(item.plan) if outcome.view else None
    plan = view.plan if view else None
    early = plan is not None and now < plan.publish_at
    if decision.exit_code == EXIT_LATER or early:
        # What is not due yet is nothing wrong; it is only worth a code of its own when somebody asked for this plan.
        return decision.exit_code if named and not scheduled else EXIT_OK
    if scheduled and decision.code == "approval-absent" and plan and outcome.view:
        inside = now < plan.publish_at + outcome.view.rules.expires_after
        return EXIT_OK if inside else EXIT_PERSON
    return decision.exit_code


def _tell(context: click.Context, outcomes: list[SiteOutcome], now: datetime) -> None:
    for outcome in outcomes:
        _report(outcome)
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.run/1", "sites": [_data(outcome, now) for outcome in outcomes]})
        return
    for outcome in outcomes:
        _tell_site(outcome)


def _report(outcome: SiteOutcome) -> None:
    """A CI job's summary: what was done plan by plan, where it stands, what is next, and what went public."""
    from publisher.engine.status import stage

    rows, notes, problems = [], [], [outcome.problem] if outcome.problem else []
    for item in outcome.plans.values():
        view = outcome.view.plans.get(item.plan) if outcome.view else None
        where = stage(outcome.view, view) if view and outcome.view else ""
        following = f"{item.decision.who}: {item.decision.what}" if item.decision and item.decision.code != "over" else ""
        what = f"{item.problem.says} [{item.problem.code}]" if item.problem else following
        rows.append([ci_report.code(item.plan), ci_report.text(", ".join(item.did)), where, ci_report.text(what)])
        notes += [ci_report.text(url) for url in (view.history.urls if view and "confirmed" in item.did else ())]
        problems += [item.problem] if item.problem and item.problem is not outcome.problem else []
    notes += [ci_report.text(f"{problem.says} [{problem.code}] Next: {problem.next}") for problem in problems]
    title = f"{outcome.site}: {f'{outcome.pushes} pushes' if outcome.pushes else 'nothing was written'}"
    ci_report.summary(title, ("Plan", "Did", "Stage", "Now"), rows, notes)
    ci_report.refusals(problems)


def _tell_site(outcome: SiteOutcome) -> None:
    from publisher.engine.status import stage

    output.say(
        f"{outcome.site}: {outcome.pushes} pushes" if outcome.pushes else f"{outcome.site}: nothing was written", bold=True
    )
    for item in outcome.plans.values():
        view = outcome.view.plans.get(item.plan) if outcome.view else None
        where = f"  [{stage(outcome.view, view)}]" if view and outcome.view else ""
        did = f"  {', '.join(item.did)}" if item.did else ""
        output.say(f"  {item.plan}{did}{where}")
        for url in view.history.urls if view and "confirmed" in item.did else ():
            output.say(f"    {url}")
        if item.problem:
            output.refused(item.problem)
        elif item.decision and item.decision.code != "over":
            output.say(f"    next: {item.decision.who}: {item.decision.what}")
            if item.decision.command:
                output.say(f"          {item.decision.command}")
    if outcome.problem and not any(item.problem is outcome.problem for item in outcome.plans.values()):
        output.refused(outcome.problem)


def _data(outcome: SiteOutcome, now: datetime) -> dict[str, Any]:
    from publisher.engine.status import site_status

    status = site_status(outcome.view, now, closed=True) if outcome.view else {"plans": []}
    plans = {plan["plan"]: plan for plan in status["plans"]}
    return {
        "site": outcome.site,
        "pushes": outcome.pushes,
        "problem": outcome.problem.as_data() if outcome.problem else None,
        "plans": [
            {
                **plans.get(item.plan, {"plan": item.plan}),
                "did": item.did,
                "problem": item.problem.as_data() if item.problem else None,
            }
            for item in outcome.plans.values()
        ],
    }
