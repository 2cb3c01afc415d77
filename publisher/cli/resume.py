"""``publisher resume``: a person's decision about a site, as a ledger event."""

from __future__ import annotations

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, chosen_sites, opened
from publisher.cli.verb import Verb


@click.command(cls=Verb, examples=('publisher resume handbook --reason "…"',))
@click.argument("site")
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.pass_context
def command(context: click.Context, site: str, reason: str) -> int:
    """Resume a site. It publishes nothing by itself: a date whose approval expired meanwhile is a decision of yours."""
    from publisher.engine import people

    with opened(context) as wired:
        (name,) = chosen_sites(wired, wired.store.refresh(), site)
        view = people.resume(wired.doors(), name, reason)
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.decision/1", "site": name, "paused": view.controls.paused})
    else:
        output.say(f"{name} is " + ("paused: nothing new begins" if view.controls.paused else "not paused"))
    return 0
