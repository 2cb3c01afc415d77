"""What ``pause`` and ``resume`` have in common: one site, one reason, one record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, chosen_sites, opened

if TYPE_CHECKING:
    from publisher.engine.bench import Doors
    from publisher.engine.site_view import SiteView


def decide(context: click.Context, site: str, reason: str, decision: Callable[[Doors, str, str], SiteView]) -> int:
    """Records the decision and says how the site stands now."""
    with opened(context, requests=False) as wired:
        (name,) = chosen_sites(wired, wired.store.refresh(), site)
        view = decision(wired.doors(), name, reason)
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.decision/1", "site": name, "paused": view.controls.paused})
    else:
        output.say(f"{name} is " + ("paused: nothing new begins" if view.controls.paused else "not paused"))
    return 0
