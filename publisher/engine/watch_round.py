"""One round of ``watch``: look at everything, tell the people on call what is new, record what was told.

Rules:
* it claims nothing, plans nothing and deploys nothing: what it writes are notices, and records that they were said;
* said first, recorded after: a round that dies in between is said once more by the next one, and never lost;
* an alarm is over only where the round could look; what could not be looked at keeps its alarms;
* a site that cannot be read is an alarm like the others, and holds no other site back;
* a record that cannot be pushed does not keep an alarm from being said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from publisher.domain.alarms import REMINDERS, Alarm, Code, Told, fold_alarms
from publisher.domain.ledger_events import BrokenLedger, EventType, NewEvent, decode
from publisher.domain.wording import alarm as alarm_text
from publisher.domain.wording import cleared as cleared_text
from publisher.engine.bench import Doors
from publisher.engine.patience import Patience
from publisher.engine.planning import Planner
from publisher.engine.running import require_clock, require_ledger
from publisher.engine.site_view import SiteView, load
from publisher.engine.watch_host import Scheduled, ask, schedule_alarms
from publisher.engine.watch_public import look_at_public
from publisher.engine.watching import Requested, SiteFacts, site_alarms
from publisher.errors import EXIT_OK, ComeBackLater, InputProblem, Refusal, StoppedForSafety, worst
from publisher.ports import Batch, HostReads, Tips

AHEAD = 3
"""The next dates that the queue must be able to fill."""
QUIET_WHEN_SCHEDULED = frozenset({"host-busy"})
"""What a timer may take for a quiet round: the host asked to be left alone for a while."""
PUBLIC = frozenset({Code.DRIFTED, Code.PUBLIC_UNREACHABLE})
HOST = frozenset({Code.SCHEDULE_OFF})
WORKFLOWS = ".github/workflows"
Value = TypeVar("Value")


@dataclass(kw_only=True)
class SiteSeen:
    """What a round found out about one site. ``looked`` are the codes whose absence was seen."""

    site: str
    alarms: list[Alarm] = field(default_factory=list)
    looked: frozenset[Code] = frozenset()
    told: Mapping[str, Told] = field(default_factory=dict)
    plain: str = ""


@dataclass(kw_only=True)
class Outcome:
    """A round's result. ``new`` and ``cleared`` are ids that were told now; ``problems`` is what could not be looked at or done."""

    alarms: list[Alarm] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    problems: list[Refusal] = field(default_factory=list)
    complete: bool = True
    """Whether everything was really looked at."""
    plain: dict[str, str] = field(default_factory=dict)

    def exit_code(self, *, scheduled: bool) -> int:
        told = [alarm.ends_with for alarm in self.alarms if not (scheduled and alarm.code in REMINDERS)]
        missed = [item.exit_code for item in self.problems if not (scheduled and item.code in QUIET_WHEN_SCHEDULED)]
        return worst([*told, *missed]) if told or missed else EXIT_OK


class Round:
    """One round over ``sites``. ``host`` None: no host starts this instance's runs, or only some sites are looked at."""

    def __init__(
        self,
        doors: Doors,
        sites: Sequence[str],
        *,
        host: Callable[[], HostReads] | None = None,
        scheduled: Callable[[Tips], Iterable[Scheduled]] = lambda tips: (),
    ) -> None:
        self._doors = doors
        self._sites = tuple(sites)
        self._host = host
        self._scheduled = scheduled
        self._news: dict[str, list[NewEvent]] = {}
        self.outcome = Outcome()

    def go(self, tips: Tips) -> Outcome:
        """Looks, tells and records. ``tips`` are fresh."""
        self._tips = tips
        seen = [self._look(site) for site in self._sites]
        if self._host and seen:
            self._ask_host(seen[0])
        for item in seen:
            self.outcome.alarms += item.alarms
            self._tell(item)
        self._record()
        return self.outcome

    # --- looking --------------------------------------------------------------------------------------------------------------

    def _look(self, site: str) -> SiteSeen:
        seen = SiteSeen(site=site)
        try:
            seen.told = read_told(self._doors, self._tips, site)
            self._doors.progress(f"looking at {site}")
            view = load(self._doors.reads, self._doors.forge, self._tips, site)
            require_ledger(view)
            require_clock(view, self._doors.clock.now())
            self._judge(view, seen)
        except Refusal as problem:
            seen.alarms, seen.looked = self._not_looked(problem, site, site), frozenset()
        return seen

    def _judge(self, view: SiteView, seen: SiteSeen) -> None:
        now = self._doors.clock.now()
        policy = self._file(view, seen, "policy", self._doors.reads.policy)
        queue = self._file(view, seen, "queue", self._doors.reads.queue)
        short = self._short(view) if policy and queue is not None else None
        try:
            public, unseen = look_at_public(self._doors, view), frozenset[Code]()
        except ComeBackLater as problem:
            public, unseen = None, PUBLIC
            self._not_looked(problem, view.site.id, view.site.id)
        facts = SiteFacts(
            view=view, policy=policy, requested=self._requested(view), short=short, public=public, told=seen.told,
        )  # fmt: skip
        try:
            seen.alarms += site_alarms(facts, now)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise StoppedForSafety(
                "ledger-broken", "a record lacks a field, or has a time that is none", where=f"ledger/{view.site.id}:1:1",
                next="publisher audit",
            ) from None  # fmt: skip
        if public and public.silent:
            unseen |= {Code.DRIFTED}  # an address without an answer may still show something else
        seen.looked = frozenset(Code) - HOST - unseen
        seen.plain = public.plain if public else ""

    def _file(self, view: SiteView, seen: SiteSeen, name: str, read: Callable[[str, str], Value]) -> Value | None:
        """A site's policy or queue; None where there is none, which promises nothing, or where it cannot be read."""
        try:
            return read(view.tips.default, view.site.id)
        except InputProblem as problem:
            if problem.code != "missing-file":
                seen.alarms.append(unreadable(view.site.id, f"plans/{view.site.id}/{name}.yaml", problem))
            return None

    def _requested(self, view: SiteView) -> dict[str, Requested]:
        """Plans of this site in open requests, by path; what cannot be read there is the request's own trouble."""
        found: dict[str, Requested] = {}
        for request in self._doors.forge.open_requests(view.tips):
            for path in request.paths:
                name = path.removeprefix("plans/").removesuffix(".yaml")
                if not name.startswith(f"{view.site.id}/") or "/gates/" in name or not path.endswith(".yaml"):
                    continue
                try:
                    plan = self._doors.reads.plan(request.head, name)
                except Refusal:
                    continue
                if plan:
                    found[name] = Requested(number=request.number, plan=plan)
        return found

    def _short(self, view: SiteView) -> Refusal | None:
        """Why the next dates cannot be planned from the queue; None when they can, or are planned already."""
        if view.controls.paused:
            return None
        planner = Planner(reads=self._doors.reads, forge=self._doors.forge, view=view, now=self._doors.clock.now())
        known = len(planner.problems)
        planner.propose([day for day in planner.dates(AHEAD) if planner.path_of(day) not in planner.requested])
        return next((item for item in planner.problems[known:] if item.code != "proposal-rejected"), None)

    def _ask_host(self, first: SiteSeen) -> None:
        """The instance's own alarms stand in the first site's record."""
        assert self._host is not None
        try:
            self._doors.progress("asking the host about its schedules")
            answers = tuple(ask(self._host(), self._scheduled(self._tips)))
            first.alarms += schedule_alarms(answers, self._doors.clock.now())
            first.looked |= HOST
        except Refusal as problem:
            first.alarms += self._not_looked(problem, "", WORKFLOWS)

    def _not_looked(self, problem: Refusal, site: str, about: str) -> list[Alarm]:
        """Something could not be looked at: for now, which is a problem of this round, or until somebody acts, which is an alarm."""
        self.outcome.complete = False
        if not isinstance(problem, ComeBackLater):
            return [unreadable(site, about, problem)]
        self.outcome.problems.append(problem)
        return []

    # --- telling --------------------------------------------------------------------------------------------------------------

    def _tell(self, seen: SiteSeen) -> None:
        self.outcome.plain |= {seen.site: seen.plain} if seen.plain else {}
        standing = {alarm.id for alarm in seen.alarms}
        for alarm in seen.alarms:
            before = seen.told.get(alarm.id)
            if before and before.stands:
                continue
            number = before.times + 1 if before else 1
            text = alarm_text(alarm.about, str(alarm.code), alarm.says, alarm.next, alarm.urls)
            if alarm.noticed or self._said(alarm.id, f"{number}", text, over=False):
                fields = {"alarm": alarm.id, "code": str(alarm.code), **({"by": "run"} if alarm.noticed else {})}
                self._note(seen.site, EventType.ALARM_RAISED, fields)
                self.outcome.new.append(alarm.id)
        replaced = {alarm.about for alarm in seen.alarms}
        for item in seen.told.values():
            if not item.stands or item.id in standing or item.code not in seen.looked:
                continue
            # Another alarm about the same says how it went on: the matter ends without a word of its own.
            text = "" if item.about in replaced else cleared_text(item.about, item.code)
            if item.by_run or self._said(item.id, f"{item.times}/over", text, over=True):
                self._note(seen.site, EventType.ALARM_CLEARED, {"alarm": item.id})
                self.outcome.cleared.append(item.id)

    def _said(self, alarm: str, number: str, text: str, *, over: bool) -> bool:
        try:
            self._doors.alerts.say(f"watch/{alarm}/{number}", text, thread=f"watch/{alarm}", over=over)
        except Refusal as silent:
            self.outcome.problems.append(silent)  # not recorded, so that the next round says it
            return False
        return True

    def _note(self, site: str, kind: EventType, fields: Mapping[str, str]) -> None:
        self._news.setdefault(site, []).append(NewEvent(type=kind, fields=fields))

    # --- recording ------------------------------------------------------------------------------------------------------------

    def _record(self) -> None:
        """One push for all sites; made again on a moved branch with what is still not recorded there."""
        tips = self._tips
        try:
            patience = Patience(self._doors.clock)
            while patience.lasts(tips.state):
                events = {f"{site}/watch": news for site in self._news if (news := self._unrecorded(tips, site))}
                if not events:
                    return
                message = f"Watch: {_subject(events.values())}\n\nBy: {self._doors.actor}"
                commit = self._doors.records.compose(tips, Batch(events=events, message=message), self._doors.clock.now())
                landing = self._doors.records.publish(tips, commit)
                if landing.landed:
                    return
                tips = landing.tips
            raise _gave_up(moved=patience.moved)
        except Refusal as problem:
            self.outcome.problems.append(problem)

    def _unrecorded(self, tips: Tips, site: str) -> list[NewEvent]:
        """What another watcher has not recorded meanwhile."""
        if not tips.state:
            raise StoppedForSafety(
                "no-state-branch", "there is no state branch to record alarms on; that is never taken for a first run",
                next="publisher reconcile --restore",
            )  # fmt: skip
        told = read_told(self._doors, tips, site)
        stand = {name for name, item in told.items() if item.stands}
        return [new for new in self._news[site] if (new.fields["alarm"] in stand) is (new.type is EventType.ALARM_CLEARED)]


def read_told(doors: Doors, tips: Tips, site: str) -> Mapping[str, Told]:
    """The alarms of a site's ``watch`` record alone: the rest of its ledger may be what is broken."""
    path = f"ledger/{site}/watch.jsonl"
    blob = doors.reads.blob_ids(tips.state, f"ledger/{site}").get(path) if tips.state else None
    try:
        return fold_alarms(decode(doors.reads.blobs([blob])[blob])) if blob else {}
    except (BrokenLedger, ValueError) as broken:
        line = broken.line if isinstance(broken, BrokenLedger) else 1
        raise StoppedForSafety(
            "ledger-broken", "a record of watch is not one that publisher writes", where=f"{path}:{line}:1", next="publisher audit",
        ) from None  # fmt: skip


def _gave_up(*, moved: bool) -> ComeBackLater:
    """Why none of several pushes landed."""
    if moved:
        return ComeBackLater("state-branch-busy", "the state branch keeps moving", next="publisher watch")
    says = "the remote takes no push to the state branch; what was said is not recorded, and is said again"
    return ComeBackLater("push-refused", says, next="publisher doctor")


def unreadable(site: str, about: str, problem: Refusal) -> Alarm:
    where = f"{problem.where}: " if problem.where else ""
    return Alarm(
        code=Code.INSTANCE_UNREADABLE, about=about, site=site, says=f"{where}{problem.says} [{problem.code}]",
        next=problem.next or "publisher doctor", exit_code=problem.exit_code,
    )  # fmt: skip


def _subject(batches: Iterable[Sequence[NewEvent]]) -> str:
    """The commit's subject: how many alarms were raised and cleared, by code where it is one."""
    kinds = [new.type for news in batches for new in news]
    raised, over = kinds.count(EventType.ALARM_RAISED), kinds.count(EventType.ALARM_CLEARED)
    parts = [f"{raised} raised"] if raised else []
    return ", ".join([*parts, *([f"{over} cleared"] if over else [])])
