"""What ``doctor`` says of the workflows' schedules: whether they keep what the policies promise, and the minutes they cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from publisher.domain.business_calendar import business_date, for_people
from publisher.engine.examining import Finding, good, problem, warning
from publisher.errors import EXIT_INPUT, EXIT_PERSON, NeedsPerson, Refusal

if TYPE_CHECKING:
    from publisher.cli.doctor_seen import Seen
    from publisher.domain.instance import Instance, Site
    from publisher.domain.policy import Policy
    from publisher.engine.schedules import Cron, Kept
    from publisher.gitstore.workflow_files import Workflows
    from publisher.gitstore.workflow_reading import Workflow
    from publisher.wiring import Wired

FREE_MINUTES = 2000
"""What a private repository of a free account has a month (GitHub, "About billing for GitHub Actions")."""
OFF_THE_HOUR = timedelta(minutes=17)
AGAIN_AFTER = timedelta(hours=3)
EXPIRES_AFTER = timedelta(hours=24)
"""The validity of an approval where ``approval.yaml`` cannot be read."""


def look(wired: Wired, instance: Instance, sites: Sequence[Site], flows: Workflows, seen: Seen | None) -> Iterator[Finding]:
    now = wired.clock.now()
    try:
        lines = {role: [cron for flow in flows.of(role) for cron in _crons(flow)] for role in ("publish", "plan", "watch")}
        wrong = list(_wrong(flows))
        yield from wrong
        usable = {role: [cron for cron in crons if _usable(cron)] for role, crons in lines.items()}
        policies = _policies(wired, sites)
        if flows.of("publish"):
            yield from _promises(usable["publish"], policies, _expires_after(wired), flows, now)
        yield from _habits(usable, policies, now)
        yield from _minutes(flows, policies, seen, now)
    except NeedsPerson as missing:
        if missing.code != "github-extra-missing" or instance.forge == "github":
            raise
        # On plain git nothing else needs the library, so a run does not miss it.
        yield warning("schedule", missing.says, next=missing.next, code=missing.code)


# --- lines ------------------------------------------------------------------------------------------------------------------------


def _crons(flow: Workflow) -> list[Cron]:
    from publisher.engine.schedules import Cron

    return [Cron(expression=line.expression, zone_name=line.zone, where=line.where) for line in flow.crons]


def _usable(cron: Cron) -> bool:
    from publisher.engine.schedules import wrong_with

    return not wrong_with(cron)


def _wrong(flows: Workflows) -> Iterator[Finding]:
    from publisher.engine.schedules import wrong_with

    for flow in flows.found:
        for cron in _crons(flow):
            why = wrong_with(cron)
            if why:
                found = problem(
                    "schedule", "cron-wrong", f"a line of a schedule {why}", next=f"correct {flow.name}", exit_code=EXIT_INPUT
                )
                yield replace(found, where=cron.where)


def _policies(wired: Wired, sites: Sequence[Site]) -> Mapping[str, Policy]:
    """Those that can be read; what is wrong with the others is told with their sites."""
    from publisher.gitstore import working_tree

    found = {}
    for site in sites:
        try:
            policy = working_tree.read_policy(wired.root, site.id)
        except Refusal:
            continue
        if policy is not None:
            found[site.id] = policy
    return found


def _expires_after(wired: Wired) -> timedelta:
    from publisher.gitstore import instance_files, working_tree

    try:
        data = working_tree.read_file(wired.root, "approval.yaml")
        return EXPIRES_AFTER if data is None else instance_files.rules_of(data, "approval.yaml").expires_after
    except Refusal:
        return EXPIRES_AFTER


# --- the promise ------------------------------------------------------------------------------------------------------------------


def _promises(
    crons: Sequence[Cron], policies: Mapping[str, Policy], expires: timedelta, flows: Workflows, now: datetime
) -> Iterator[Finding]:
    """Sites that promise the same are told together."""
    file = flows.of("publish")[0].name
    if not crons:
        yield problem(
            "schedule",
            "no-schedule",
            f"{file} starts by itself at no time",
            next=f"add schedule: to {file}",
            exit_code=EXIT_INPUT,
        )
        return
    groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for site, policy in policies.items():
        groups[policy.zone_name, policy.publish_time, _from(policy, now)].append(site)
    for names in groups.values():
        yield from _promise(crons, policies[names[0]], _listed(names), expires, file, now)


def _from(policy: Policy, now: datetime) -> date:
    """Tomorrow: today's time may have been hours ago."""
    return max(policy.start, business_date(now, policy.zone) + timedelta(days=1))


def _promise(
    crons: Sequence[Cron], policy: Policy, names: str, expires: timedelta, file: str, now: datetime
) -> Iterator[Finding]:
    from publisher.engine.schedules import promise

    kept = promise(crons, policy, expires, _from(policy, now))
    told = list(_told(kept, policy, names, file))
    if not told:
        day = kept.days[0]
        again = f", and again from {day.runs[1].astimezone(policy.zone):%H:%M}"
        told = [good("schedule", f"{names}: {_time(policy)} is served from {day.runs[0].astimezone(policy.zone):%H:%M}{again}")]
    yield from told
    yield from _over_the_year(crons, policy, names, expires, kept, now)


def _told(kept: Kept, policy: Policy, names: str, file: str) -> Iterator[Finding]:
    from publisher.engine.schedules import LATE

    missed, worst = kept.missed, kept.worst
    if missed:
        days = _listed([f"{day.day:%a} {day.day}" for day in missed], most=3)
        yield problem(
            "schedule", "schedule-misses",
            f"{names}: what is due at {_time(policy)} on {days} is met by no run before its approval expires",
            next=f"add to schedule: of {file}: {_suggested(policy, OFF_THE_HOUR)}", exit_code=EXIT_PERSON,
        )  # fmt: skip
        return
    if worst and worst.late and worst.late > LATE and policy.publish_time:
        yield warning(
            "schedule",
            f"{names}: the first run after {_time(policy)} comes {_span(worst.late)} later ({for_people(worst.runs[0], policy.zone)})",
            next=f"add to schedule: of {file}: {_suggested(policy, OFF_THE_HOUR)}", code="schedule-late",
        )  # fmt: skip
    if kept.single:
        day = kept.single[0]
        yield warning(
            "schedule",
            f"{names}: one run a date ({for_people(day.runs[0], policy.zone)}); GitHub drops some when it is busy, and nothing follows",
            next=f"add to schedule: of {file}: {_suggested(policy, AGAIN_AFTER)}", code="no-catch-up",
        )  # fmt: skip


def _over_the_year(
    crons: Sequence[Cron], policy: Policy, names: str, expires: timedelta, week: Kept, now: datetime
) -> Iterator[Finding]:
    """The first change of a clock in the coming year after which the promise is kept less well than this week."""
    from publisher.engine.schedules import LATE, WEEK, clock_changes, promise

    zones = {policy.zone_name, *(cron.zone_named for cron in crons)}
    bound = max(LATE, (week.worst.late if week.worst and week.worst.late else timedelta(0)))
    for day in sorted({change.day for zone in zones for change in clock_changes(zone, "UTC", now)}):
        after = promise(crons, policy, expires, day - timedelta(days=1), WEEK + 1)
        late = after.worst.late if after.worst else None
        if (after.missed and not week.missed) or (policy.publish_time and late and late > bound):
            then = "no run serves some dates" if after.missed else f"the first run comes {_span(late or LATE)} late"
            yield warning(
                "clocks", f"{names}: when clocks change about {day}, {then}", next=f"name the zone: timezone: {policy.zone_name}",
                code="clock-change",
            )  # fmt: skip
            return


def _suggested(policy: Policy, after: timedelta) -> str:
    """A line that would serve the policy: off the full hour, in its own zone."""
    hour, minute = (policy.publish_time or "00:00").split(":")
    at = datetime(2000, 1, 1, int(hour), int(minute), tzinfo=UTC) + after
    at += timedelta(minutes=17 if at.minute == 0 else 0)
    return f"cron: '{at.minute} {at.hour} * * *' with timezone: {policy.zone_name}"


def _time(policy: Policy) -> str:
    return f"{policy.publish_time or '00:00'} {policy.zone_name}"


def _span(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    parts = [(minutes // 60, "hour"), (minutes % 60, "minute")]
    return " ".join(f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in parts if count) or "a minute"


def _listed(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# --- habits of the scheduler ------------------------------------------------------------------------------------------------------


def _habits(lines: Mapping[str, Sequence[Cron]], policies: Mapping[str, Policy], now: datetime) -> Iterator[Finding]:
    from publisher.engine import schedules

    for cron in dict.fromkeys(cron for crons in lines.values() for cron in crons):
        if schedules.too_close(cron, now):
            yield warning(
                "schedule", "GitHub starts runs five minutes apart at the closest", next="a wider interval", code="cron-too-close",
                where=cron.where,
            )  # fmt: skip
        if schedules.on_the_hour(cron, now):
            yield warning(
                "schedule", "runs at the full hour are the ones that GitHub delays and drops", next="another minute, such as 17",
                code="on-the-hour", where=cron.where,
            )  # fmt: skip
    yield from _in_utc(lines["publish"], policies, now)
    meeting = schedules.coinciding(lines["publish"], lines["watch"], now)
    if meeting:
        yield warning(
            "schedule", f"watch starts together with what it watches ({for_people(meeting[0], _zone(policies, meeting[0]))})",
            next="another minute for watch, some time after publish", code="watch-coincides",
        )  # fmt: skip
    zones = {policy.zone_name for policy in policies.values()}
    for zone in sorted(zones):
        evenings = schedules.evening_only(lines["plan"], zone, now)
        if evenings:
            yield warning(
                "schedule", f"plan runs in the evening only ({zone}): little time is left to review what it proposes",
                next=f"a line before {schedules.EVENING}:00", code="plan-in-the-evening",
            )  # fmt: skip


def _zone(policies: Mapping[str, Policy], fallback: datetime) -> Any:
    return next((policy.zone for policy in policies.values()), fallback.tzinfo)


def _in_utc(crons: Sequence[Cron], policies: Mapping[str, Policy], now: datetime) -> Iterator[Finding]:
    """What a line without a zone means where the site is."""
    from publisher.engine.schedules import WEEK, ticks

    zone = next((policy.zone for policy in policies.values() if policy.zone_name not in ("UTC", "Etc/UTC")), None)
    for cron in crons:
        first = next(iter(ticks([cron], now, now + timedelta(days=WEEK))), None)
        if zone and not cron.zone_name and first:
            finding = good("schedule", f"a line without timezone: is UTC, so this one runs at {for_people(first, zone)}")
            yield replace(finding, where=cron.where)


# --- minutes ----------------------------------------------------------------------------------------------------------------------


def _minutes(flows: Workflows, policies: Mapping[str, Policy], seen: Seen | None, now: datetime) -> Iterator[Finding]:
    """What the schedules alone are billed; what pushes, requests and people start comes on top."""
    from publisher.engine.schedules import DECIDING_MINUTES, SITE_MINUTES, Load, month_of

    parts = []
    for flow in flows.found:
        crons = tuple(cron for cron in _crons(flow) if _usable(cron))
        if crons:
            jobs = max(1, sum(not job.waits for job in flow.jobs))
            due = len(policies) if "publish" in flow.roles else 0
            parts.append(month_of(Load(name=flow.name, crons=crons, jobs=jobs, due_a_day=due), now))
    if not parts:
        return
    total = sum(part.minutes for part in parts)
    says = (
        f"about {total} a month: " + ", ".join(f"{part.name} {part.minutes} ({part.runs} runs)" for part in parts)
        + f"; {DECIDING_MINUTES} for a look, {SITE_MINUTES} for a site's publication, and what reviews and pushes start on top"
    )  # fmt: skip
    if seen and seen.private is False:
        yield good("minutes", f"{says}; a public repository is not billed")
    elif total > FREE_MINUTES:
        yield warning(
            "minutes", f"{says}; a private repository of a free account has {FREE_MINUTES}", next="fewer lines in schedule:",
            code="minutes-short",
        )  # fmt: skip
    else:
        yield good("minutes", f"{says}; a private repository of a free account has {FREE_MINUTES}")
