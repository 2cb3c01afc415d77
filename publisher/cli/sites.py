"""``publisher sites``: the sites of this instance; ``--due --json`` feeds a matrix of CI jobs."""

from __future__ import annotations

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, opened, view_of
from publisher.cli.verb import Verb


@click.command(cls=Verb, examples=("publisher sites", "publisher sites --due --json"))
@click.option("--due", is_flag=True, help="Only sites for which a run has something to do now.")
@click.pass_context
def command(context: click.Context, due: bool) -> int:
    """List the sites, or those that are due."""
    from publisher.engine.deciding import Act, decisions

    rows = []
    with opened(context) as wired:
        tips = wired.store.tips()
        for name, site in sorted(wired.store.instance(tips.default).sites.items()):
            view = view_of(wired, tips, name)
            acts = [item for item in decisions(view, wired.clock.now()) if item.act is not Act.NONE]
            if acts or not due:
                rows.append(
                    {"site": name, "url": site.url, "target": site.target.kind, "due": bool(acts), "zone": site.zone_name}
                )
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.sites/1", "sites": rows})
    else:
        output.table(
            ("SITE", "URL", "TARGET", "DUE"), [(r["site"], r["url"], r["target"], "yes" if r["due"] else "") for r in rows]
        )
    return 0
