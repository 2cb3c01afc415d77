"""The story across plans, from the ledger: who did what and when, and on whose approval production changed.

One line for each event, in plain words, the newest last. Lines hold ids, short digests, addresses, codes and the reasons that
people gave; never a title or text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from heapq import merge
from typing import Any
from zoneinfo import ZoneInfo

from publisher.domain.business_calendar import for_people, parse_instant, start_of
from publisher.domain.fingerprint import short
from publisher.domain.history import deploy_step
from publisher.domain.ledger_events import Event, EventType
from publisher.domain.lines import find
from publisher.engine.site_view import kind_of
from publisher.errors import StoppedForSafety

HIDDEN = frozenset({EventType.RENEWED})
"""What says nothing but that a run is still at work."""

CHANGES_PRODUCTION = frozenset({EventType.DEPLOY_INTENT, EventType.DEPLOYED})
# Records of one push share their second: a claim opens it, and its release or renewal ends it.
_ORDER = {EventType.EPOCH: 0, EventType.CLAIMED: 0, EventType.RENEWED: 2, EventType.RELEASED: 2}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One event. ``about`` is its ledger path, ``plan`` the plan it is about ("" for none).

    ``approved_by`` is filled for changes of production.
    """

    at: str
    when: str
    site: str
    about: str
    plan: str
    n: int
    type: str
    actor: str
    claim: int | None
    what: str
    approved_by: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        return {
            "at": self.at, "when": self.when, "site": self.site, "about": self.about, "plan": self.plan, "n": self.n, "type": self.type,
            "actor": self.actor, "claim": self.claim, "what": self.what, "approved_by": list(self.approved_by),
        }  # fmt: skip


def story(
    events: Mapping[str, Sequence[Event]],
    zone: ZoneInfo,
    *,
    plan: str = "",
    since: date | None = None,
    everything: bool = False,
) -> tuple[Line, ...]:
    """The lines of one site's ledger; only those about ``plan``, and from ``since`` (00:00 in ``zone``) on, where given."""
    files = [list(_lines(name, items, zone, everything=everything)) for name, items in sorted(events.items())]
    lines = merge(*files, key=lambda line: (line.at, _ORDER.get(EventType(line.type), 1), line.about))
    start = start_of(since, zone) if since else None
    return tuple(line for line in lines if plan in ("", line.plan) and (start is None or parse_instant(line.at) >= start))


def _lines(name: str, events: Iterable[Event], zone: ZoneInfo, *, everything: bool) -> Iterator[Line]:
    approvals: dict[str, tuple[str, ...]] = {}
    kind = str(kind_of(name) or "")
    for event in events:
        fields = Fields(event.fields)
        if event.type is EventType.APPROVED:
            approvals[fields["gate"]] = tuple(map(str, fields.items("by")))
        elif event.type is EventType.REVISED:
            approvals = {}
        if event.type in HIDDEN and not everything:
            continue
        by = approvals.get(find(kind, deploy_step(kind)).gate, ()) if kind and event.type in CHANGES_PRODUCTION else ()
        yield Line(
            at=event.at, when=_when(name, event, zone), site=name.split("/", 1)[0], about=name, n=event.n, actor=event.actor,
            plan=name if kind else fields["plan"] if event.type is EventType.CLAIMED else "", type=str(event.type),
            claim=event.claim, what=WORDS[event.type](fields) + (f", approved by {', '.join(by)}" if by else ""), approved_by=by,
        )  # fmt: skip


def _when(name: str, event: Event, zone: ZoneInfo) -> str:
    try:
        return for_people(parse_instant(event.at), zone)
    except ValueError:
        raise StoppedForSafety(
            "ledger-broken", "a ledger line has no time", where=f"ledger/{name}.jsonl:{event.n}:1", next="publisher audit"
        ) from None


class Fields:
    """An event's fields for telling; what is missing is told as ``?``, because a story must not stop at an old record."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> str:
        value = self._fields.get(name)
        return "?" if value is None else str(value)

    def short(self, name: str) -> str:
        return short(self[name]) or "nothing"

    def items(self, name: str) -> list[Any]:
        value = self._fields.get(name)
        return list(value) if isinstance(value, (list, tuple)) else []

    def ids(self, name: str) -> list[str]:
        return [str(item.get("id")) if isinstance(item, Mapping) else str(item) for item in self.items(name)]

    def values(self, name: str) -> list[str]:
        value = self._fields.get(name)
        return [str(item) for item in value.values()] if isinstance(value, Mapping) else []

    def reason(self) -> str:
        return f": {self['reason']}" if self._fields.get("reason") else ""

    def count(self, name: str) -> int:
        value = self._fields.get(name)
        return len(value) if isinstance(value, (list, tuple, Mapping)) else 0


def _approved(f: Fields) -> str:
    gate = "" if f["gate"] == "plan" else f" for gate {f['gate']}"
    return f"approved request {f['request']}{gate} (payload {f.short('payload')}) by {', '.join(map(str, f.items('by')))}"


def _prepared(f: Fields) -> str:
    parts = [
        *([f"prepared {', '.join(f.ids('puts'))}"] if f.items("puts") else []),
        *([f"withdraws {', '.join(f.ids('withdraws'))}"] if f.items("withdraws") else []),
        *([f"hides {', '.join(f.ids('hides'))}"] if f.items("hides") else []),
        *([f"reverts {', '.join(f.ids('reverts'))}"] if f.items("reverts") else []),
    ]
    return "; ".join(parts) or "prepared a change of presentation"


def _built(f: Fields) -> str:
    again = " again, on a moved base" if f["rebased"] == "True" else ""
    return f"built release {f.short('release')} on base {f.short('base')}{again}"


def _deployed(f: Fields) -> str:
    how = {"switched": "", "seen": " (found live)", "settled": " (a person's word)"}.get(f["how"], "")
    return f"deployed release {f.short('release')} on base {f.short('base')} (deployment {f['deployment']}){how}"


def _confirmed(f: Fields) -> str:
    urls = [str(url) for url in f.items("urls")]
    return f"confirmed in public: {', '.join(urls)}" if urls else f"confirmed release {f.short('release')}"


def _told(f: Fields) -> str:
    counts = Counter(f.values("results"))
    said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or "nothing handed over"
    return f"announced on {f['channel']}: {said}"


WORDS: dict[EventType, Callable[[Fields], str]] = {
    EventType.EPOCH: lambda f: f"began epoch {f['epoch']} of the ledger ({f['reason']})",
    EventType.CLAIMED: lambda f: f"claimed (fence {f['fence']}) for {f['plan']}",
    EventType.RENEWED: lambda f: f"renewed the claim (fence {f['fence']})",
    EventType.RELEASED: lambda f: f"released the claim (fence {f['fence']})",
    EventType.PAUSED: lambda f: f"paused the site{f.reason()}",
    EventType.RESUMED: lambda f: f"resumed the site{f.reason()}",
    EventType.SKIPPED: lambda f: f"skipped {f['date']}{f.reason()}",
    EventType.ALARM_RAISED: lambda f: f"raised the alarm {f['alarm']}",
    EventType.ALARM_CLEARED: lambda f: f"the alarm {f['alarm']} is over",
    EventType.BASELINE: lambda f: f"recorded {f.count('puts')} public articles as the baseline ({f['why']})",
    EventType.RESTORED: lambda f: f"found public by a restore, in release {f.short('release')}",
    EventType.APPROVED: _approved,
    EventType.REJECTED: lambda f: f"rejected request {f['request']} (payload {f.short('payload')}) by {f['by']}",
    EventType.CANCELED: lambda f: f"canceled{f.reason()}",
    EventType.RETRIED: lambda f: f"allowed {f['step']} to run again{f.reason()}",
    EventType.SETTLED: lambda f: (
        f"settled {f['step']}: {'it happened' if f['happened'] == 'True' else 'it did not'}{f.reason()}"
    ),
    EventType.TAKEDOWN: lambda f: f"opened a takedown with {f.count('risks')} steps{f.reason()}",
    EventType.FOLLOWED_UP: lambda f: f"takedown, {f['risk']}: {f['outcome']}{f.reason()}",
    EventType.REVISED: lambda f: f"revised from payload {f.short('from')} to {f.short('to')} (revision {f['revision']})",
    EventType.REVISION_REFUSED: lambda f: f"refused revision {f['revision']} (payload {f.short('to')}): it came too late",
    EventType.REQUESTED: lambda f: f"asked for gate {f['gate']} in request {f['request']}",
    EventType.PREPARED: _prepared,
    EventType.BUILT: _built,
    EventType.DEPLOY_INTENT: lambda f: f"about to deploy release {f.short('release')} on base {f.short('base')}",
    EventType.DEPLOYED: _deployed,
    EventType.DEPLOY_CLOSED: lambda f: f"did not deploy ({f['why']})",
    EventType.UNKNOWN: lambda f: f"the outcome of {f['step']} is not known ({f['code']})",
    EventType.CONFIRMED: _confirmed,
    EventType.ANNOUNCE_INTENT: lambda f: f"about to announce to {f.count('to')} on {f['channel']}",
    EventType.ANNOUNCE_RESULT: _told,
    EventType.ANNOUNCED: lambda f: f"announced on {', '.join(map(str, f.items('channels')))}",
    EventType.FAILED: lambda f: f"{f['step']} failed ({f['code']})",
    EventType.NOTICED: lambda f: f"told the people on call ({f['notice']})",
    EventType.REPAIRED: lambda f: f"put release {f.short('release')} back on the target{f.reason()}",
}
"""How each event is told. A type without words would be a bug, and a test looks for it."""
