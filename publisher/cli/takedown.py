"""``publisher takedown``: what a withdrawal does not take back, gone through step by step and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, only_site, opened, site_of_plan, view_of
from publisher.cli.verb import Verb
from publisher.domain.takedown import RISKS, Outcome
from publisher.errors import EXIT_OK, EXIT_PERSON, UsageProblem

if TYPE_CHECKING:
    from publisher.engine.site_view import PlanView, SiteView
    from publisher.wiring import Wired


@click.command(
    cls=Verb,
    examples=(
        'publisher takedown a-0007 --reason "published by mistake"',
        "publisher takedown a-0007",
        'publisher takedown a-0007 search-engines --done --reason "asked two of them, ticket 12"',
        'publisher takedown a-0007 feed-readers --not-possible --reason "nobody reaches them"',
    ),
)
@click.argument("what", metavar="ARTICLE|PLAN")
@click.argument("risk", required=False)
@click.option("--done", "outcome", flag_value="done", help="It was done.")
@click.option("--nothing-there", "outcome", flag_value="nothing-there", help="Somebody looked, and nothing is there.")
@click.option("--not-possible", "outcome", flag_value="not-possible", help="Nobody can do it.")
@click.option("--reason", help="Why, or what was done; it is recorded.")
@click.option("--site", metavar="NAME", help="The site, where there are several.")
@click.pass_context
def command(
    context: click.Context, what: str, risk: str | None, outcome: str | None, reason: str | None, site: str | None
) -> int:
    """Go through what a withdrawal leaves behind. It was public: it never goes back to being a draft.

    With --reason alone it is opened; without, its steps are shown. Ends with 4 while a step is open.
    """
    from publisher.engine import takedowns

    if bool(risk) != bool(outcome) or (risk and not reason):
        raise UsageProblem("which", "a step needs one of its three ends, and --reason", next="publisher takedown --help")
    name = what.removeprefix("plans/").removesuffix(".yaml")
    with opened(context, requests=False) as wired:
        tips = wired.store.refresh()
        chosen = site_of_plan(name) if "/" in name else only_site(wired, tips, site)
        view = _acted(wired, chosen, name, risk, outcome, reason) or view_of(wired, tips, chosen)
        return _tell(context, takedowns.find(view, name))


def _acted(wired: Wired, site: str, what: str, risk: str | None, outcome: str | None, reason: str | None) -> SiteView | None:
    from publisher.engine import takedowns

    if risk and outcome and reason:
        return takedowns.follow_up(wired.doors(), site, what, risk, Outcome(outcome), reason)
    return takedowns.open_takedown(wired.doors(), site, what, reason) if reason else None


def _tell(context: click.Context, plan: PlanView) -> int:
    steps: dict[str, Any] = dict(plan.history.takedown or {})
    is_open = plan.history.takedown is None or not all(steps.values())
    if asked_of(context).as_json:
        rows = [{"risk": name, "outcome": end or "open"} for name, end in steps.items()]
        output.say_json({"schema": "publisher.takedown/1", "plan": plan.path, "opened": bool(steps), "steps": rows})
        return EXIT_PERSON if is_open else EXIT_OK
    output.say(f"takedown of {plan.path}" if steps else f"no takedown of {plan.path} was opened", bold=True)
    for name, end in steps.items():
        output.say(f"  {end or 'open':<14} {name}")
        if not end:
            output.say(f"                 {RISKS[name].remains}")
            output.say(f"                 {RISKS[name].act}")
    if is_open:
        left = next((name for name, end in steps.items() if not end), "")
        step = f'{left} --done|--nothing-there|--not-possible --reason "…"' if left else '--reason "…"'
        output.note(f"next: publisher takedown {plan.path} {step}")
    return EXIT_PERSON if is_open else EXIT_OK
