"""``publisher revise``: the next numbered revision of a plan, with its reason; it needs an approval of its own."""

from __future__ import annotations

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, opened, plan_name, site_of_plan, view_of
from publisher.cli.proposing import propose, summarise, tell
from publisher.cli.verb import Verb
from publisher.errors import UsageProblem


@click.command(
    cls=Verb,
    examples=(
        'publisher revise handbook/daily/2026/2026-12-01 --reason "a-0007 was edited"',
        'publisher revise handbook/daily/2026/2026-12-01 --swap a-0007=a-0012 --reason "not ready"',
    ),
)
@click.argument("plan")
@click.option("--reason", required=True, help="Why; it stands in the plan and in the ledger.")
@click.option("--swap", "swaps", multiple=True, metavar="OLD=NEW", help="Put queued article NEW in the place of OLD.")
@click.option("--local", is_flag=True, help="Write the plan file here instead of opening a request.")
@click.pass_context
def command(context: click.Context, plan: str, reason: str, swaps: tuple[str, ...], local: bool) -> int:
    """Propose the next revision of PLAN at today's texts. It is refused once any of its articles is public."""
    from publisher.engine.changes import revision

    pairs = dict(_pair(text) for text in swaps)
    name = plan_name(plan)
    with opened(context, online=True) as wired:
        wired.git.require_trustworthy()
        tips = wired.store.refresh()
        view = view_of(wired, tips, site_of_plan(name))
        revised = revision(wired.store, view, name, reason, pairs)
        made = propose(wired, view, [revised], f"{view.site.id}: revision {revised.revision} of {name}", local=local)
    summarise([made])
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.plan/1", "proposed": [made], "problems": []})
    else:
        tell(made)
    return 0


def _pair(text: str) -> tuple[str, str]:
    old, separator, new = text.partition("=")
    if not (old and separator and new):
        raise UsageProblem("bad-swap", "--swap is written OLD=NEW, two article ids", next="publisher queue list")
    return old, new
