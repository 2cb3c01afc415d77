"""Six states and one literal transition table.

A task is one step of one plan. There is no skip, nothing leaves ``succeeded`` or ``canceled``, and ``failed`` never leaves by
itself: only a person's retry moves it. A lost heartbeat after an intent does not go back to the queue: the run reconciles
first and then records what is true.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    BLOCKED = "blocked"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


class Signal(StrEnum):
    APPROVED = "approved"
    REJECTED = "rejected"
    CANCELED = "canceled"
    APPROVAL_LAPSED = "approval-lapsed"
    """Expired, spent, or the payload changed, before the first deploy intent."""
    PICKED_UP = "picked-up"
    EVIDENCE_COMPLETE = "evidence-complete"
    FAILED = "failed"
    """The worker failed with a known result."""
    HEARTBEAT_LOST = "heartbeat-lost"
    """Nothing was intended outside; or reconciled: it did not happen, and the target is fenced."""
    DEFERRED = "deferred"
    """A provider's quota was reached; it ends by itself at a time."""
    SETTLED_HAPPENED = "settled-happened"
    SETTLED_DID_NOT = "settled-did-not"
    RETRIED = "retried"


class IllegalTransition(Exception):
    """A signal that the table does not list for a state."""


CREATED_NEEDS_GATE = State.BLOCKED
CREATED = State.QUEUED

TRANSITIONS: dict[tuple[State, Signal], State] = {
    (State.BLOCKED, Signal.APPROVED): State.QUEUED,
    (State.BLOCKED, Signal.REJECTED): State.CANCELED,
    (State.QUEUED, Signal.REJECTED): State.CANCELED,
    (State.FAILED, Signal.REJECTED): State.CANCELED,
    (State.BLOCKED, Signal.CANCELED): State.CANCELED,
    (State.QUEUED, Signal.CANCELED): State.CANCELED,
    (State.FAILED, Signal.CANCELED): State.CANCELED,
    (State.QUEUED, Signal.APPROVAL_LAPSED): State.BLOCKED,
    (State.QUEUED, Signal.PICKED_UP): State.RUNNING,
    (State.RUNNING, Signal.EVIDENCE_COMPLETE): State.SUCCEEDED,
    (State.RUNNING, Signal.FAILED): State.FAILED,
    (State.RUNNING, Signal.HEARTBEAT_LOST): State.QUEUED,
    (State.RUNNING, Signal.DEFERRED): State.QUEUED,
    (State.RUNNING, Signal.SETTLED_HAPPENED): State.SUCCEEDED,
    (State.RUNNING, Signal.SETTLED_DID_NOT): State.FAILED,
    (State.FAILED, Signal.RETRIED): State.QUEUED,
}


def move(state: State, signal: Signal) -> State:
    """The state after ``signal``; ``IllegalTransition`` for every pair the table does not list."""
    try:
        return TRANSITIONS[state, signal]
    except KeyError:
        raise IllegalTransition(f"{state} does not accept {signal}") from None
