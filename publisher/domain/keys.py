"""Idempotency keys: a task's identity is its step and the grain that the line's table names.

The same key with the same input is the same work and is done once; the same key with another input is a conflict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from publisher.domain.business_calendar import iso_week
from publisher.domain.fingerprint import short
from publisher.domain.lines import Grain, Step


@dataclass(frozen=True, kw_only=True)
class KeyParts:
    """What grains are made of; only the parts that a grain names need be given."""

    site: str
    plan_key: str = ""
    day: date | None = None
    content: str = ""
    release: str = ""
    domain: str = ""
    channel: str = ""
    ticket: str = ""


def task_key(step: Step, parts: KeyParts) -> str:
    """``<step>:<site>:<grain>``. ``ValueError`` when a part that the grain needs is missing."""
    values = {name: value for name, value in _values(parts).items() if value}
    try:
        return ":".join([step.name, parts.site, *(values[name] for name in _NEEDS[step.grain])])
    except KeyError:
        raise ValueError(f"the key of {step.name} needs {', '.join(_NEEDS[step.grain])}") from None


def _values(parts: KeyParts) -> Mapping[str, str]:
    day = parts.day
    return {
        "plan": parts.plan_key, "day": day.isoformat() if day else "", "week": iso_week(day) if day else "",
        "content": short(parts.content), "release": short(parts.release), "domain": parts.domain,
        "channel": parts.channel, "ticket": parts.ticket,
    }  # fmt: skip


_NEEDS: dict[Grain, tuple[str, ...]] = {
    Grain.SITE_DOMAIN: ("domain",),
    Grain.SITE_DAY: ("day",),
    Grain.SITE_CONTENT: ("content",),
    Grain.SITE_RELEASE: ("release",),
    Grain.SITE_WEEK: ("week",),
    Grain.SITE_CHANNEL_WEEK: ("channel", "week"),
    Grain.SITE_TICKET: ("ticket",),
    Grain.PLAN: ("plan",),
    Grain.PLAN_CHANNEL: ("plan", "channel"),
}
