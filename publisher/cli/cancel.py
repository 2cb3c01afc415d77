"""``publisher cancel``: nothing further of a plan runs."""

from __future__ import annotations

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, opened, plan_name, site_of_plan
from publisher.cli.verb import Verb


@click.command(cls=Verb, examples=('publisher cancel handbook/daily/2026/2026-12-01 --reason "not today"',))
@click.argument("plan")
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.pass_context
def command(context: click.Context, plan: str, reason: str) -> int:
    """Cancel PLAN for good. Refused once it is public, or while a deploy of it is open."""
    from publisher.engine import people

    name = plan_name(plan)
    with opened(context, requests=False) as wired:
        people.cancel(wired.doors(), site_of_plan(name), name, reason)
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.decision/1", "plan": name, "stage": "canceled"})
    else:
        output.say(f"{name} is canceled")
    return 0
