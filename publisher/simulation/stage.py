"""The stage: one site with eight drafts, its plans, and the stories that a history begins with.

Times are whole seconds since midnight of the first date in Hong Kong (``MIDNIGHT``). Articles 1 to 6 belong to plans and their
revisions; 7 stands in a plan that nobody approves; 8 in none. Every draft's text holds a word of its own, which must never be
seen before its article is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from publisher.domain.approval import ApprovalRules
from publisher.domain.article import Draft, Private
from publisher.domain.fingerprint import article_fingerprint, digest
from publisher.domain.instance import ChannelSpec, Instance, Site, TargetSpec
from publisher.domain.plan import Plan, plan_of

SITE_ID = "blog"
ZONE = "Asia/Hong_Kong"
MIDNIGHT = datetime(2026, 11, 30, 16, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = 60, 3600, 86400
LEASE = 10 * MINUTE
KINDS = ("conditional", "joined", "unconditional")
"""The target checks fence and base, apart from the ledger; it moves in the ledger's own push; it takes no condition."""
RULES = ApprovalRules()
READERS = ("ann@readers.example", "bob@readers.example")
FIRST, SECOND, THIRD = "2026-12-01", "2026-12-02", "2026-12-03"
STATE_BRANCH = "publisher-state"

SITE = Site(
    id=SITE_ID, url="https://blog.example", zone_name=ZONE, title="Blog", description="About.", language="en", author="Us",
    tag_authority="blog.example,2026-01-01", target=TargetSpec(kind="directory", options={}),
    staging=TargetSpec(kind="directory", options={}), channels=(ChannelSpec(name="mail", kind="smtp", options={}),),
    confirm_within=timedelta(seconds=3),
)  # fmt: skip
INSTANCE = Instance(
    id="5" * 32, forge="git", default_branch="main", state_branch=STATE_BRANCH, on_call=("ops@blog.example",),
    lease=timedelta(seconds=LEASE), sites={SITE_ID: SITE},
)  # fmt: skip


@cache
def instant(seconds: int) -> datetime:
    return MIDNIGHT + timedelta(seconds=seconds)


def seconds_of(moment: datetime) -> int:
    return int((moment - MIDNIGHT).total_seconds())


# --- drafts ---------------------------------------------------------------------------------------------------------------------


def source_of(number: int) -> str:
    return f"drafts/{SITE_ID}/text-{number}"


def word_of(number: int, version: int) -> str:
    """What stands in this version of this draft and nowhere else."""
    return f"sentinel{number}v{version}"


@cache
def draft_of(number: int, version: int) -> Draft:
    """A draft; edited, it has the next version."""
    word = word_of(number, version)
    return Draft(
        id=f"a-{number:04}", slug=f"text-{number}", source=source_of(number), title=Private(f"Title {word}"),
        summary=Private("-"), category="guide", body=Private(f"Body {word}"), files={"index.md": f"{number} {word}".encode()},
    )  # fmt: skip


DRAFTS = tuple(range(1, 9))
NUMBERS: Mapping[str, int] = {source_of(number): number for number in DRAFTS}


@cache
def fingerprint_of(number: int, version: int) -> str:
    return article_fingerprint({name: digest(data) for name, data in draft_of(number, version).files.items()})


FINGERPRINTS: Mapping[str, tuple[str, int]] = {
    fingerprint_of(number, version): (f"a-{number:04}", version) for number in DRAFTS for version in range(4)
}


# --- plans ----------------------------------------------------------------------------------------------------------------------


def article_data(number: int, version: int = 0) -> dict[str, str]:
    name = f"a-{number:04}"
    return {
        "id": name, "source": source_of(number), "category": "guide", "url": f"/text-{number}/",
        "guid": SITE.guid_of(name), "fingerprint": fingerprint_of(number, version),
    }  # fmt: skip


DAILY = {FIRST: (1, 2), SECOND: (3, 4), THIRD: (5,)}
REVISED = {FIRST: (1, 6), SECOND: (3, 6), THIRD: (6,)}
UNAPPROVED = 7
"""Stands only in a plan that is pushed past the review."""


def daily_path(day: str) -> str:
    return f"{SITE_ID}/daily/{day[:4]}/{day}"


def change_path(day: str, number: int = 1) -> str:
    return f"{SITE_ID}/changes/{day[:4]}/{day}-{number}"


@cache
def daily(day: str, variant: str = "", *, at: str = "", announce: bool = False) -> Plan:
    """The plan of a date. ``variant``: "" as first planned, "revised" its proper revision, "edited" changed without one."""
    numbers = {"": DAILY[day], "revised": REVISED[day], "edited": (DAILY[day][0], UNAPPROVED)}[variant]
    data: dict[str, Any] = {
        "kind": "publication", "site": SITE_ID, "key": f"daily-publication:{day}", "date": day, "zone": ZONE,
        "policy": {"version": 1, "digest": digest(b"policy")}, "revision": 1, "articles": [article_data(n) for n in numbers],
    }  # fmt: skip
    if at:
        data["publish_at"] = f"{day}T{at}:00+08:00"
    if announce:
        data["announce"] = {"channels": ["mail"], "list": "readers", "at_most": 500}
    if variant == "revised":
        first = daily(day, at=at, announce=announce)
        data |= {"revision": 2, "supersedes": first.payload, "reason": "another text"}
    return plan_of(daily_path(day), data)


@cache
def change(day: str, action: str, **fields: Any) -> Plan:
    """A change plan: ``correct`` article 1 to its next version, ``withdraw`` article 2, or a new ``presentation``."""
    data: dict[str, Any] = {
        "kind": "change", "site": SITE_ID, "key": f"change:{day}-1", "date": day, "zone": ZONE, "revision": 1, "action": action,
        **({"articles": [article_data(1, 1)]} if action == "correct" else {}),
        **({"withdrawals": [{"id": "a-0002", "url": "/text-2/", "answer": "gone"}]} if action == "withdraw" else {}),
        **({"presentation": dict(zip(("commit", "output", "digest"), fields["look"], strict=True))} if "look" in fields else {}),
    }  # fmt: skip
    return plan_of(change_path(day), data)


# --- stories --------------------------------------------------------------------------------------------------------------------

Edit = tuple[Any, ...]
"""Something that an editor does to the default branch; see ``editors``."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """How a history begins: what was merged at which second, when it starts, and what may come of its plans.

    ``days`` are the dates that have plans; ``later`` are edits that may happen at any moment afterwards.
    """

    name: str
    start: int
    merged: tuple[tuple[int, Edit], ...]
    days: tuple[str, ...]
    later: tuple[Edit, ...]
    weight: int = 1


def plan_edit(how: str, day: str, variant: str = "", at: str = "", announce: bool = False) -> Edit:
    return (how, day, variant, at, announce)


EVENING = -30 * MINUTE
ONE_DAY = (plan_edit("merge", FIRST, "revised"), plan_edit("push", FIRST, "edited"), ("delete", daily_path(FIRST)),
           ("dismiss", daily_path(FIRST)), ("draft", 1), ("draft", 8), ("theme",))  # fmt: skip
STORIES: tuple[Story, ...] = (
    Story(
        name="one date", start=5 * MINUTE, merged=((EVENING, plan_edit("merge", FIRST)),), days=(FIRST,), later=ONE_DAY, weight=3
    ),
    Story(
        name="two dates", start=5 * MINUTE, days=(FIRST, SECOND), later=(*ONE_DAY, ("dismiss", daily_path(SECOND))), weight=3,
        merged=((EVENING, plan_edit("merge", FIRST)), (EVENING, plan_edit("merge", SECOND))),
    ),
    Story(
        name="announced", start=5 * MINUTE, days=(FIRST,), later=(("draft", 2), ("theme",)), weight=2,
        merged=((EVENING, plan_edit("merge", FIRST, announce=True)),),
    ),
    Story(
        name="early", start=8 * HOUR + 55 * MINUTE, days=(FIRST,), later=(("draft", 1), ("dismiss", daily_path(FIRST))),
        merged=((EVENING, plan_edit("merge", FIRST, at="09:00")),),
    ),
    Story(
        name="not approved", start=5 * MINUTE, days=(FIRST,), weight=1,
        merged=((EVENING, plan_edit("push", FIRST)),), later=(plan_edit("merge", FIRST), ("draft", 1)),
    ),
    Story(
        name="expired", start=DAY + 2 * HOUR, days=(FIRST, SECOND), weight=1, later=(("dismiss", daily_path(SECOND)), ("theme",)),
        merged=((EVENING, plan_edit("merge", FIRST)), (EVENING, plan_edit("merge", SECOND))),
    ),
    Story(
        name="corrected", start=DAY - 10 * MINUTE, days=(FIRST,), weight=2, later=(("dismiss", change_path(SECOND)), ("theme",)),
        merged=((EVENING, plan_edit("merge", FIRST)), (EVENING + 60, ("draft", 1)), (EVENING + 120, ("change", SECOND, "correct"))),
    ),
    Story(
        name="withdrawn", start=DAY - 10 * MINUTE, days=(FIRST,), weight=1, later=(("delete", change_path(SECOND)), ("draft", 2)),
        merged=((EVENING, plan_edit("merge", FIRST)), (EVENING + 60, ("change", SECOND, "withdraw"))),
    ),
    Story(
        name="redressed", start=DAY - 10 * MINUTE, days=(FIRST,), weight=1, later=(("theme",), ("dismiss", change_path(SECOND))),
        merged=((EVENING, plan_edit("merge", FIRST)), (EVENING + 60, ("theme",)), (EVENING + 120, ("change", SECOND, "presentation"))),
    ),
)  # fmt: skip
BY_NAME = {story.name: story for story in STORIES}
