"""Plans: what should happen, as one immutable value with one payload hash.

Rules:
* site and key are a plan's identity for ever; the key binds at the plan's first merge;
* the payload hash covers every field of the file, so any edit is another payload;
* the same key with another payload and no higher revision is a conflict, never a retry;
* a revision is numbered one higher, names what it supersedes and why;
* no article stands in two live plans, and a publication never names what is already public;
* what is public changes by ``change`` plans alone: correct, withdraw, presentation, rollback.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from publisher.domain.article import Withdrawn
from publisher.domain.business_calendar import parse_date, parse_instant, parse_zone, start_of
from publisher.domain.fingerprint import payload_hash
from publisher.domain.lines import Step, steps_of


class Kind(StrEnum):
    PUBLICATION = "publication"
    CHANGE = "change"
    LAUNCH = "launch"


class ChangeAction(StrEnum):
    CORRECT = "correct"
    WITHDRAW = "withdraw"
    PRESENTATION = "presentation"
    ROLLBACK = "rollback"


@dataclass(frozen=True, kw_only=True)
class PlannedArticle:
    """An article as the plan fixes it. ``was`` is set on corrections: the digest of the public text that it replaces."""

    id: str
    source: str
    category: str
    url: str
    guid: str
    fingerprint: str
    was: str = ""


@dataclass(frozen=True, kw_only=True)
class Revert:
    """A rollback's instruction to show an article at an earlier public text (its recorded digest)."""

    id: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """A theme and site configuration at a commit, and the builder's output version, under one digest."""

    commit: str
    output: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class Announcement:
    """Where a publication is announced: channel names of the site's configuration, a list, and its approved size."""

    channels: tuple[str, ...]
    list: str
    at_most: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One plan file. ``path`` is relative to ``plans/`` without its ending; ``data`` is the file as plain values."""

    path: str
    kind: Kind
    site: str
    key: str
    day: date
    zone_name: str
    publish_at: datetime
    revision: int
    supersedes: str = ""
    articles: tuple[PlannedArticle, ...] = ()
    announce: Announcement | None = None
    steps: tuple[Step, ...]
    action: ChangeAction | None = None
    withdrawals: tuple[Withdrawn, ...] = ()
    presentation: Presentation | None = None
    to_release: str = ""
    hides: tuple[str, ...] = ()
    reverts: tuple[Revert, ...] = ()
    sources: str = ""
    payload: str
    data: Mapping[str, Any] = field(repr=False)

    @property
    def zone(self) -> ZoneInfo:
        return parse_zone(self.zone_name)

    @property
    def article_ids(self) -> tuple[str, ...]:
        return tuple(article.id for article in self.articles)

    @property
    def policy(self) -> tuple[int, str] | None:
        """(version, digest) of the policy a publication was made under."""
        policy = self.data.get("policy")
        return (policy["version"], policy["digest"]) if policy else None


def plan_of(path: str, data: Mapping[str, Any]) -> Plan:
    """A plan from a schema-valid mapping. ``ValueError`` names the rule that the schema cannot express."""
    kind = Kind(data["kind"])
    day = parse_date(data["date"])
    zone = parse_zone(data["zone"])
    publish_at = parse_instant(data["publish_at"]) if "publish_at" in data else start_of(day, zone)
    if publish_at.astimezone(zone).date() != day:
        raise ValueError("publish_at lies on the plan's date in the plan's zone")
    _check_key(path, kind, data)
    announce = data.get("announce")
    presentation = data.get("presentation")
    steps = tuple(data.get("steps", ()))
    if kind is Kind.LAUNCH and not steps:
        raise ValueError("a launch names its steps, in the line's order: build and release")
    if kind is Kind.PUBLICATION and not announce:
        steps = ("prepare", "build", "deploy", "confirm")
    plan = Plan(
        path=path,
        kind=kind,
        site=data["site"],
        key=data["key"],
        day=day,
        zone_name=data["zone"],
        publish_at=publish_at,
        revision=data["revision"],
        supersedes=data.get("supersedes", ""),
        articles=tuple(PlannedArticle(**article) for article in data.get("articles", ())),
        announce=Announcement(channels=tuple(announce["channels"]), list=announce.get("list", ""), at_most=announce["at_most"])
        if announce
        else None,
        steps=steps_of(kind, steps),
        action=ChangeAction(data["action"]) if "action" in data else None,
        withdrawals=tuple(Withdrawn(**item) for item in data.get("withdrawals", ())),
        presentation=Presentation(**presentation) if presentation else None,
        to_release=data.get("to_release", ""),
        hides=tuple(data.get("hides", ())),
        reverts=tuple(Revert(**item) for item in data.get("reverts", ())),
        sources=data.get("sources", ""),
        payload=payload_hash(data),
        data=data,
    )
    _check_articles(plan)
    return plan


def _check_key(path: str, kind: Kind, data: Mapping[str, Any]) -> None:
    site, day, name = data["site"], data["date"], path.rsplit("/", 1)[-1]
    if kind is Kind.PUBLICATION:
        expected = (f"daily-publication:{day}", f"{site}/daily/{day[:4]}/{day}")
    elif kind is Kind.CHANGE:
        expected = (f"change:{name}", f"{site}/changes/{day[:4]}/{name}")
        if not name.startswith(f"{day}-"):
            raise ValueError("a change is named by its date and a number, such as 2026-12-03-1")
    else:
        expected = ("launch", f"{site}/launch")
    if data["key"] != expected[0]:
        raise ValueError(f"the key of this plan is {expected[0]}")
    if path != expected[1]:
        raise ValueError(f"this plan belongs at plans/{expected[1]}.yaml")
    if data["revision"] > 1 and not (data.get("supersedes") and data.get("reason")):
        raise ValueError("a revision carries supersedes and reason")


def _check_articles(plan: Plan) -> None:
    for name in ("id", "source", "url", "guid"):
        values = [getattr(article, name) for article in plan.articles]
        if len(set(values)) != len(values):
            raise ValueError(f"two articles of one plan share their {name}")
    if plan.kind is Kind.PUBLICATION and not plan.articles:
        raise ValueError("a publication names its articles")


class Conflict(Exception):
    """The same key with another payload and no valid revision."""

    def __init__(self, bound: str, found: str) -> None:
        super().__init__("conflict")
        self.bound = bound
        self.found = found


def check_succession(bound: Plan, found: Plan) -> bool:
    """Whether ``found`` is a proper revision of ``bound`` (True), the same payload (False), or a ``Conflict``."""
    if found.payload == bound.payload:
        return False
    if found.key == bound.key and found.revision == bound.revision + 1 and found.supersedes == bound.payload:
        return True
    raise Conflict(bound.payload, found.payload)
