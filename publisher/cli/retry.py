"""``publisher retry``: a failed step may run again, because a person says so."""

from __future__ import annotations

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, opened, plan_name, site_of_plan
from publisher.cli.verb import Verb


@click.command(cls=Verb, examples=('publisher retry handbook/daily/2026/2026-12-01 deploy --reason "disk was full"',))
@click.argument("plan")
@click.argument("step")
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.pass_context
def command(context: click.Context, plan: str, step: str, reason: str) -> int:
    """Put a failed STEP of PLAN back in the queue. The next run carries it out under the same approval, if that still holds."""
    from publisher.engine import people

    name = plan_name(plan)
    with opened(context, requests=False) as wired:
        people.retry(wired.doors(), site_of_plan(name), name, step, reason)
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.decision/1", "plan": name, "step": step, "state": "queued"})
    else:
        output.say(f"{name}: {step} is queued again")
        output.note("next: publisher run")
    return 0
