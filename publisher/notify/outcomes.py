"""What became of one send. "Refused" is a promise that nothing was sent; where that cannot be promised, it is "unknown"."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """``outcome`` is ``sent``, ``refused`` or ``unknown``; ``code`` is a word or ``smtp-<number>``, never a server's text."""

    outcome: str
    code: str


def sent(code: str) -> Outcome:
    return Outcome(outcome="sent", code=code)


def refused(code: str) -> Outcome:
    return Outcome(outcome="refused", code=code)


def unknown(code: str) -> Outcome:
    return Outcome(outcome="unknown", code=code)
