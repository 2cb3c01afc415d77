"""Controls of a site: pause, resume, skip.

Rules:
* pause is not cancel: queue, plans and facts stay; nothing new begins, while an open deploy may still be reconciled;
* resuming publishes nothing by itself: an approval that expired meanwhile needs a person again, date by date;
* skipping closes one date by a person's recorded decision; it is never relabelled as done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from publisher.domain.ledger_events import Event, EventType


@dataclass(frozen=True, kw_only=True)
class Controls:
    paused: bool = False
    since: str = ""
    reason: str = ""
    skipped: frozenset[str] = frozenset()


def fold_controls(events: Iterable[Event]) -> Controls:
    """The controls in force after all events."""
    controls = Controls()
    for event in events:
        if event.type is EventType.PAUSED:
            controls = replace(controls, paused=True, since=event.at, reason=event.fields["reason"])
        elif event.type is EventType.RESUMED:
            controls = replace(controls, paused=False, since="", reason="")
        elif event.type is EventType.SKIPPED:
            controls = replace(controls, skipped=controls.skipped | {event.fields["date"]})
    return controls
