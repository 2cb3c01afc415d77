"""How a site's status is shown to people: one block per plan, the next act last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from publisher.cli import output
from publisher.domain.business_calendar import parse_instant, parse_zone
from publisher.domain.fingerprint import short

AGE_UNITS = ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def tell_site(status: Mapping[str, Any], *, details: bool = False) -> None:
    live = status["live"]
    head = f"{status['site']}: " + (
        f"release {short(live['release'])} live, {live['articles']} articles" if live else "nothing public yet"
    )
    output.say(head + (", PAUSED" if status["paused"] else ""), bold=True)
    claim = status["claim"]
    if claim:
        state = "expired" if claim["expired"] else "until " + _when(claim["until"], status["zone"])
        output.say(f"  claim: fence {claim['fence']} by {claim['holder']} for {claim['plan']}, {state}")
    for plan in status["plans"]:
        tell_plan(plan, status["zone"], details=details)
    if not status["plans"]:
        output.say("  no open plan")


def tell_plan(plan: Mapping[str, Any], zone: str, *, details: bool = False) -> None:
    """``zone`` is the site's: every time of a plan is shown in it, and in one way."""
    output.say(f"  {plan['plan']}  [{plan['stage']}]")
    due = f"due       {plan['publish_at']}   " if plan["publish_at"] else ""
    output.say(f"    {due}payload {short(plan['payload'])}, revision {plan['revision']}")
    approval = plan["approval"]
    if approval:
        until = f", usable until {_when(approval['until'], zone)}" if approval["until"] else ""
        output.say(f"    approved  by {approval['by']} (request {approval['request']}){until}")
    for article in plan["articles"]:
        output.say(f"    article   {article['id']}  {article['url']}  {article['public']}")
    if details:
        for task in plan["tasks"]:
            output.say(f"    step      {task['step']:<9} {task['state']:<9} {task['key']}")
    following = plan["next"]
    output.say(f"    next      {following['who']}: {following['what']}")
    if following["command"]:
        output.say(f"              {following['command']}")


def _when(instant: str, zone: str) -> str:
    return output.when(parse_instant(instant), parse_zone(zone))


def age(seconds: float | None) -> str:
    """How old a look at the remote is, in one unit."""
    if seconds is None:
        return "never"
    for size, name in AGE_UNITS:
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"
