"""``publisher settle``: a person says what became of something whose outcome is unknown."""

from __future__ import annotations

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, opened, plan_name, site_of_plan
from publisher.cli.verb import Verb
from publisher.errors import UsageProblem


@click.command(
    cls=Verb,
    examples=(
        'publisher settle handbook/daily/2026/2026-12-01 announce --happened --reason "asked three readers"',
        'publisher settle handbook/daily/2026/2026-12-01 deploy --did-not --reason "host says no"',
    ),
)
@click.argument("plan")
@click.argument("step")
@click.option("--happened", is_flag=True, help="It happened.")
@click.option("--did-not", "did_not", is_flag=True, help="It did not happen.")
@click.option("--reason", required=True, help="How you know; it is recorded.")
@click.pass_context
def command(context: click.Context, plan: str, step: str, happened: bool, did_not: bool, reason: str) -> int:
    """Settle an unknown STEP of PLAN. Look first: `publisher reconcile` finds out what can be found out."""
    from publisher.engine import people

    if happened == did_not:
        raise UsageProblem("which", "say --happened or --did-not", next="publisher settle --help")
    name = plan_name(plan)
    with opened(context, requests=False) as wired:
        people.settle(wired.doors(), site_of_plan(name), name, step, happened, reason)
    word = "happened" if happened else "did not happen"
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.decision/1", "plan": name, "step": step, "happened": happened})
    else:
        output.say(f"{name}: {step} {word}")
    return 0
