"""``publisher skip``: closes a date by a person's recorded decision."""

from __future__ import annotations

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, only_site, opened
from publisher.cli.verb import Verb


@click.command(cls=Verb, examples=('publisher skip 2026-12-01 --reason "public holiday"',))
@click.argument("date")
@click.option("--site", metavar="NAME", help="The site, where there are several.")
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.pass_context
def command(context: click.Context, date: str, site: str | None, reason: str) -> int:
    """Close DATE: nothing is published for it, and a plan for it is canceled. Its articles are free to be planned again."""
    from publisher.engine import people

    with opened(context, requests=False) as wired:
        name = only_site(wired, wired.store.refresh(), site)
        people.skip(wired.doors(), name, date, reason)
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.decision/1", "site": name, "skipped": date})
    else:
        output.say(f"{name}: {date} is skipped")
    return 0
