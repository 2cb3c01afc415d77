"""``publisher pause``: a person's decision about a site, as a ledger event."""

from __future__ import annotations

import click

from publisher.cli.pausing import decide
from publisher.cli.verb import Verb


@click.command(cls=Verb, examples=('publisher pause handbook --reason "…"',))
@click.argument("site")
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.pass_context
def command(context: click.Context, site: str, reason: str) -> int:
    """Pause a site: nothing new begins, and queue, plans and facts stay. What is open outside may still be reconciled."""
    from publisher.engine import people

    return decide(context, site, reason, people.pause)
