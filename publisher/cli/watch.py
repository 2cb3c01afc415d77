"""``publisher watch``: looks whether everything goes as promised, and tells the people on call once of each change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from publisher.cli import ci_report, output
from publisher.cli.opening import asked_of, chosen_sites, opened
from publisher.cli.verb import Verb
from publisher.domain.alarms import Alarm, Code
from publisher.domain.business_calendar import for_people, in_utc, parse_zone
from publisher.errors import EXIT_LATER, EXIT_OK, ComeBackLater, InputProblem, Refusal, worst

if TYPE_CHECKING:
    from publisher.engine.watch_round import Outcome
    from publisher.wiring import Wired

SCHEMA = "publisher.watch/1"
UTC_ZONE = "UTC"


@click.command(
    cls=Verb,
    examples=(
        "publisher watch",
        "publisher watch --scheduled             # from a timer of its own, apart from the one that publishes",
        "publisher watch --site handbook --json  # only this site: the monitor is not called",
    ),
)
@click.option("--site", metavar="NAME", help="Only this site: no look at the host's schedules, and no call to the monitor.")
@click.option("--scheduled", is_flag=True, help="Called by a timer: reminders, and a host that asks for patience, end with 0.")
@click.option("--no-ping", "silent", is_flag=True, help="Do not call the monitor that PUBLISHER_PING_URL names.")
@click.pass_context
def command(context: click.Context, site: str | None, scheduled: bool, silent: bool) -> int:
    """Look at plans, claims, the public site and the schedule, and tell the people on call what has changed.

    An alarm that stands is told once, and once more when it is over. It claims nothing and publishes nothing. When everything
    was really looked at, it calls the monitor that PUBLISHER_PING_URL names, whose own alarm is for the day on which nothing
    runs any more, this verb included.
    """
    if not ci_report.is_set_up():
        if asked_of(context).as_json:
            output.say_json({"schema": SCHEMA, "complete": False, "alarms": [], "problems": [], "exit": EXIT_OK})
        return EXIT_OK
    with opened(context, online=True) as wired:
        wired.git.require_trustworthy()
        outcome = _round(wired, site)
        pinged = _ping(wired, outcome) if outcome.complete and not site and not silent else None
        now = wired.clock.now()
    code = outcome.exit_code(scheduled=scheduled)
    if pinged and pinged[0]:
        code = worst([code, EXIT_OK if scheduled and pinged[0].exit_code == EXIT_LATER else pinged[0].exit_code])
    _report(outcome, pinged)
    if asked_of(context).as_json:
        output.say_json({**_data(outcome, pinged), "now": in_utc(now), "exit": code})
    else:
        _tell(outcome, pinged)
    return code


def _round(wired: Wired, site: str | None) -> Outcome:
    """A round over the remote as it is now; where the instance itself cannot be read, that is its one alarm."""
    from publisher.engine.watch_round import Outcome, Round

    try:
        tips = wired.store.refresh()
        instance = wired.store.instance(tips.default)
    except InputProblem as problem:
        return _unreadable(wired, problem)
    except ComeBackLater as problem:
        return Outcome(problems=[problem], complete=False)
    wired.__dict__["instance"] = instance  # as the remote has it, whatever this clone's own refs say
    asks = instance.forge == "github" and not site
    return Round(
        wired.doors(), chosen_sites(wired, tips, site), host=(lambda: wired.host) if asks else None, scheduled=wired.scheduled
    ).go(tips)


def _unreadable(wired: Wired, problem: InputProblem) -> Outcome:
    """``publisher.yaml`` cannot be read: told by what the last readable one says, and not recorded, for want of a state branch."""
    from publisher.domain.wording import alarm as text
    from publisher.engine.watch_round import Outcome, unreadable

    alarm = unreadable("", "publisher.yaml", problem)
    outcome = Outcome(alarms=[alarm], complete=False)
    try:
        wired.alerts_before().say(
            f"watch/{alarm.id}/1", text(alarm.about, str(alarm.code), alarm.says, alarm.next), thread=f"watch/{alarm.id}"
        )
        outcome.new.append(alarm.id)
    except Refusal as silent:
        outcome.problems.append(silent)
    return outcome


Pinged = tuple[Refusal | None]
"""Whether the monitor was called: what kept the call from arriving, or None."""


def _ping(wired: Wired, outcome: Outcome) -> Pinged | None:
    ping = wired.heartbeat
    if ping is None:
        return None
    wired.progress("calling the monitor")
    try:
        ping()
    except Refusal as problem:
        return (problem,)
    return (None,)


# --- telling ------------------------------------------------------------------------------------------------------------------


def _data(outcome: Outcome, pinged: Pinged | None) -> dict[str, Any]:
    refused = pinged[0] if pinged else None
    return {
        "schema": SCHEMA,
        "complete": outcome.complete,
        "alarms": [{**alarm.as_data(), "new": alarm.id in outcome.new} for alarm in outcome.alarms],
        "cleared": outcome.cleared,
        "problems": [problem.as_data() for problem in outcome.problems],
        "plain": outcome.plain,
        "ping": "none" if pinged is None else refused.code if refused else "sent",
    }


def _tell(outcome: Outcome, pinged: Pinged | None) -> None:
    for alarm in outcome.alarms:
        _tell_one(alarm, new=alarm.id in outcome.new)
    for name in outcome.cleared:
        output.say(f"over: {name}")
    for problem in outcome.problems:
        output.refused(problem)
    if not outcome.alarms and outcome.complete:
        output.say("all is well", bold=True)
    if pinged and pinged[0]:
        output.refused(pinged[0])
    elif pinged:
        output.note("(the monitor was called)")
    elif not outcome.complete:
        output.note("(not everything could be looked at, so the monitor was not called)")


def _tell_one(alarm: Alarm, *, new: bool) -> None:
    from publisher.domain.wording import headline

    output.say(f"{headline(alarm.about, str(alarm.code))} [{alarm.code}]{' (new)' if new else ''}", bold=True)
    output.say(f"  {alarm.says}")
    for url in alarm.urls:
        output.say(f"  - {url}")
    since = f"since {for_people(alarm.since, parse_zone(UTC_ZONE))}; " if alarm.since else ""
    output.say(f"  {since}next: {alarm.next}")


def _report(outcome: Outcome, pinged: Pinged | None) -> None:
    """A CI job's summary and annotations."""
    rows = [
        [ci_report.code(alarm.code), ci_report.code(alarm.about), ci_report.text(alarm.says), ci_report.text(alarm.next)]
        for alarm in outcome.alarms
    ]
    problems = [*outcome.problems, *([pinged[0]] if pinged and pinged[0] else [])]
    notes = [ci_report.text(f"over: {name}") for name in outcome.cleared]
    notes += [ci_report.text(f"{problem.says} [{problem.code}] Next: {problem.next}") for problem in problems]
    title = f"Watch: {len(rows)} alarms" if rows else "Watch: all is well" if outcome.complete else "Watch: could not look"
    ci_report.summary(title, ("Alarm", "About", "What", "Next"), rows, notes)
    for alarm in outcome.alarms:
        level = "notice" if alarm.code in (Code.UNAPPROVED_TOMORROW, Code.QUEUE_LOW) else "error"
        ci_report.annotate(level, f"{alarm.about}: {alarm.says}. Next: {alarm.next}", title=str(alarm.code))
    ci_report.refusals(problems)
