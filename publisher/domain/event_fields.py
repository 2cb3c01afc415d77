"""The fields that each type of ledger event may have, beside those that every event has (``docs/files.md`` says what they mean).

Rules:
* a field is added here before anything writes it, and is never taken away: an old record keeps its meaning;
* a record with another field was not written by this version or an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping

from publisher.domain.ledger_events import Event, EventType

_FENCE = "epoch epoch_id fence nonce"
_TABLE: Mapping[EventType, str] = {
    EventType.EPOCH: "epoch epoch_id reason",
    EventType.CLAIMED: f"{_FENCE} holder plan until",
    EventType.RENEWED: f"{_FENCE} until",
    EventType.RELEASED: _FENCE,
    EventType.PAUSED: "reason",
    EventType.RESUMED: "reason",
    EventType.SKIPPED: "date reason",
    EventType.ALARM_RAISED: "alarm by code",
    EventType.ALARM_CLEARED: "alarm",
    EventType.BASELINE: "deployment presentation puts release why withdraws",
    EventType.RESTORED: "payload release unknown urls",
    EventType.APPROVED: "by evidence gate merge merged_at path payload plan_commit plan_payload request revision steps",
    EventType.REJECTED: "by merge payload request",
    EventType.CANCELED: "reason",
    EventType.RETRIED: "reason step",
    EventType.SETTLED: "happened reason step",
    EventType.TAKEDOWN: "articles reason risks",
    EventType.FOLLOWED_UP: "outcome reason risk",
    EventType.REVISED: "from revision to",
    EventType.REVISION_REFUSED: "from revision to",
    EventType.REQUESTED: "gate number path payload request",
    EventType.PREPARED: "hides input output payload plan puts reverts withdraws",
    EventType.BUILT: "base files input presentation rebased release",
    EventType.DEPLOY_INTENT: "base deployment release",
    EventType.DEPLOYED: "base deployment how release",
    EventType.DEPLOY_CLOSED: "deployment why",
    EventType.UNKNOWN: "code found pages recipients step",
    EventType.CONFIRMED: "how pages plain release urls",
    EventType.ANNOUNCE_INTENT: "channel to",
    EventType.ANNOUNCE_RESULT: "channel codes results",
    EventType.ANNOUNCED: "channels recipients",
    EventType.FAILED: "code step",
    EventType.NOTICED: "notice",
    EventType.REPAIRED: "found reason release",
}
FIELDS: Mapping[EventType, frozenset[str]] = {kind: frozenset(names.split()) for kind, names in _TABLE.items()}


def unknown_fields(event: Event) -> tuple[str, ...]:
    """The names of an event's fields that its type does not have."""
    return tuple(sorted(event.fields.keys() - FIELDS[event.type]))
