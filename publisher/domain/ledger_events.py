"""The ledger: event types and the line format. ``history.apply`` says what an event makes true.

Rules:
* a ledger file has one JSON event a line, numbered from 1, each naming the digest of the line before (``prev``);
* state is a fold over events, never a stored flag; records are never edited, corrections are new records;
* an intent before and an observation after each outside effect are separate events; a fact is recorded only when true;
* people's decisions and approvals carry no claim, and only those types may lack one;
* the ledger holds ids, digests, codes and public facts: never titles or text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from publisher.domain.fingerprint import digest

FIRST_PREV = digest(b"")
COMMON = ("n", "at", "type", "claim", "actor", "prev", "commit")
TEXTS = ("at", "type", "actor", "prev", "commit")


class EventType(StrEnum):
    # claims/<year>
    EPOCH = "epoch"
    CLAIMED = "claimed"
    RENEWED = "renewed"
    RELEASED = "released"
    # controls
    PAUSED = "paused"
    RESUMED = "resumed"
    SKIPPED = "skipped"
    # watch
    ALARM_RAISED = "alarm-raised"
    """``watch`` told the people on call of something: ``alarm`` (its id), ``code``; ``by`` is ``run`` where a notice had."""
    ALARM_CLEARED = "alarm-cleared"
    """It is no longer so: ``alarm``."""
    # baseline/<epoch>
    BASELINE = "baseline"
    """What was public when the ledger began or was rebuilt: ``deployment``, ``release``, ``puts``, ``why``."""
    RESTORED = "restored"
    """In a plan's file after a restore: everything it names was found public, so nothing of it is done again."""
    # a plan's file: people
    APPROVED = "approved"
    REJECTED = "rejected"
    CANCELED = "canceled"
    RETRIED = "retried"
    SETTLED = "settled"
    TAKEDOWN = "takedown"
    """In a withdrawal's file: its leftovers are to be gone through: ``articles``, ``risks`` (names of takedown.py), ``reason``."""
    FOLLOWED_UP = "followed-up"
    """A person's word about one of them: ``risk``, ``outcome``, ``reason``."""
    # a plan's file: runs
    REVISED = "revised"
    REVISION_REFUSED = "revision-refused"
    REQUESTED = "requested"
    """A gate file was proposed, by a run or by a person who asks again: ``gate``, ``number`` (of the file), ``request``, ``path``,
    ``payload``."""
    PREPARED = "prepared"
    BUILT = "built"
    DEPLOY_INTENT = "deploy-intent"
    DEPLOYED = "deployed"
    DEPLOY_CLOSED = "deploy-closed"
    """The intent came to nothing, and nothing of it can come later: ``deployment``, ``why``."""
    UNKNOWN = "unknown"
    """A step's outcome is not known after its deadline; a person settles it: ``step``, ``code``."""
    CONFIRMED = "confirmed"
    ANNOUNCE_INTENT = "announce-intent"
    ANNOUNCE_RESULT = "announce-result"
    ANNOUNCED = "announced"
    FAILED = "failed"
    NOTICED = "noticed"
    REPAIRED = "repaired"
    """The recorded live release was put back on a target that had lost it: ``release``, ``found``."""


KNOWN_TYPES = frozenset(str(kind) for kind in EventType)
WITHOUT_CLAIM = frozenset(
    {
        EventType.EPOCH,
        EventType.PAUSED,
        EventType.RESUMED,
        EventType.SKIPPED,
        EventType.ALARM_RAISED,
        EventType.ALARM_CLEARED,
        EventType.BASELINE,
        EventType.RESTORED,
        EventType.APPROVED,
        EventType.REJECTED,
        EventType.CANCELED,
        EventType.RETRIED,
        EventType.SETTLED,
        EventType.TAKEDOWN,
        EventType.FOLLOWED_UP,
        EventType.REQUESTED,
        EventType.NOTICED,
    }
)


@dataclass(frozen=True, kw_only=True)
class NewEvent:
    """An event to append: the writer adds number, time, actor, chain and commit. ``claim`` is the fence's number or None."""

    type: EventType
    fields: Mapping[str, Any] = field(default_factory=dict)
    claim: int | None = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of a ledger file. ``at`` is UTC; ``commit`` is the default-branch commit that it was decided on."""

    n: int
    at: str
    type: EventType
    claim: int | None
    actor: str
    prev: str
    commit: str
    fields: Mapping[str, Any]
    line_digest: str


class BrokenLedger(ValueError):
    """A ledger file that cannot be what publisher wrote. ``line`` counts from 1."""

    def __init__(self, line: int, rule: str) -> None:
        super().__init__(rule)
        self.line = line
        self.rule = rule


_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def encode(new: NewEvent, *, after: Event | None, at: str, actor: str, commit: str) -> tuple[bytes, Event]:
    """The line to append (with its newline), and the event it reads back as."""
    if new.claim is None and new.type not in WITHOUT_CLAIM:
        raise ValueError(f"{new.type} is written under a claim")
    if not new.fields.keys().isdisjoint(COMMON):
        raise ValueError(f"a field of {new.type} has the name of one that every event has")
    data = {
        "n": after.n + 1 if after else 1,
        "at": at,
        "type": str(new.type),
        "claim": new.claim,
        "actor": actor,
        "prev": after.line_digest if after else FIRST_PREV,
        "commit": commit,
        **{name: new.fields[name] for name in sorted(new.fields)},
    }
    line = _ENCODER.encode(data).encode() + b"\n"
    return line, _event(data, digest(line))


def decode(text: bytes) -> tuple[Event, ...]:
    """Every event of a file, its numbering and chain checked. ``BrokenLedger`` otherwise."""
    if text and not text.endswith(b"\n"):
        raise BrokenLedger(text.count(b"\n") + 1, "the last line is not complete")
    events: list[Event] = []
    prev = FIRST_PREV
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        event = _decode_line(line, number)
        if event.n != number:
            raise BrokenLedger(number, "events are numbered 1, 2, 3 without gaps")
        if event.prev != prev:
            raise BrokenLedger(number, "an event names the digest of the line before it")
        prev = event.line_digest
        events.append(event)
    return tuple(events)


def _decode_line(line: bytes, number: int) -> Event:
    try:
        # As ``encode`` writes it; given bytes, json.loads would also take UTF-16 and a byte-order mark.
        data = _DECODER.decode(line.decode("ascii"))
    except (ValueError, RecursionError):
        raise BrokenLedger(number, "a line is one JSON object without repeated names") from None
    if not isinstance(data, dict) or any(name not in data for name in COMMON):
        raise BrokenLedger(number, "an event has n, at, type, claim, actor, prev and commit")
    if type(data["n"]) is not int or not (data["claim"] is None or type(data["claim"]) is int):
        raise BrokenLedger(number, "n and claim are whole numbers")
    if not all(isinstance(data[name], str) for name in TEXTS):
        raise BrokenLedger(number, "at, type, actor, prev and commit are text")
    if data["type"] not in KNOWN_TYPES:
        raise BrokenLedger(number, "an event type that this version does not know")
    event = _event(data, digest(line))
    if event.claim is None and event.type not in WITHOUT_CLAIM:
        raise BrokenLedger(number, "this type of event is written under a claim")
    return event


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("repeated name")
    return data


_DECODER = json.JSONDecoder(object_pairs_hook=_no_duplicates)


def _event(data: Mapping[str, Any], line_digest: str) -> Event:
    return Event(
        n=data["n"],
        at=data["at"],
        type=EventType(data["type"]),
        claim=data["claim"],
        actor=data["actor"],
        prev=data["prev"],
        commit=data["commit"],
        fields={name: value for name, value in data.items() if name not in COMMON},
        line_digest=line_digest,
    )


def chain_of(events: Sequence[Event]) -> str:
    """Where a file ends: the digest of its last line. Two readers with equal values saw the same file."""
    return events[-1].line_digest if events else FIRST_PREV
