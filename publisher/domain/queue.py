"""The queue: articles that may be scheduled, in order. Being queued is a permission of its own; unqueued is never chosen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Queued:
    """``held`` entries keep their place and are passed over."""

    id: str
    source: str
    held: bool = False


def available(queue: Sequence[Queued], taken: Collection[str]) -> tuple[Queued, ...]:
    """The entries that a planner may take: not held, and named by no live plan and no open request (``taken`` ids)."""
    return tuple(entry for entry in queue if not entry.held and entry.id not in taken)


def repeated(queue: Sequence[Queued]) -> str:
    """The first id or source that stands twice, or ""."""
    seen: set[str] = set()
    for entry in queue:
        for name in (entry.id, entry.source):
            if name in seen:
                return name
            seen.add(name)
    return ""
