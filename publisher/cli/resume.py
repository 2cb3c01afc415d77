"""``publisher resume``: a person's decision about a site, as a ledger event."""

from __future__ import annotations

import click

from publisher.cli.pausing import decide
from publisher.cli.verb import Verb


@click.command(cls=Verb, examples=('publisher resume handbook --reason "…"',))
@click.argument("site")
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.pass_context
def command(context: click.Context, site: str, reason: str) -> int:
    """Resume a site. It publishes nothing by itself: a date whose approval expired meanwhile is a decision of yours."""
    from publisher.engine import people

    return decide(context, site, reason, people.resume)
