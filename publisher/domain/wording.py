"""Every sentence that a notice or an announcement is made of.

Announcements hold confirmed public facts only. Notices to the people on call name the plan (its path carries site and date),
the step, a code, public addresses and the next command: never a draft's title or text. The first line is the subject.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from publisher.domain.business_calendar import for_people

MOST_URLS = 20
# Not "whatever cannot be printed": joiners are invisible, and some scripts cannot be written without them.
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def announcement(site_title: str, articles: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Subject and text for readers, from the (title, URL) pairs of a confirmed publication."""
    site = one_line(site_title)
    subject = f"{site}: {one_line(articles[0][0])}" if len(articles) == 1 else f"{site}: {len(articles)} new articles"
    blocks = [f"{one_line(title)}\n{url}" for title, url in articles]
    return subject, "\n\n".join([f"New on {site}:", *blocks]) + "\n"


def recovered(plan: str, release_short: str, urls: Sequence[str]) -> str:
    """A plan that had stopped, or was late, is public after all."""
    return _notice(
        f"{plan} is public and confirmed",
        f"Release {release_short} was seen in public, byte for byte. Nothing needs doing.",
        *_listed(urls),
    )


def stopped(plan: str, code: str, says: str, next: str, *, step: str = "") -> str:
    """A plan needs somebody: ``says`` and ``next`` are the refusal's own."""
    where = f" at {step}" if step else ""
    return _notice(f"{plan} stopped{where} [{code}]", says, f"next: {next or f'publisher status {plan}'}")


def unclaimed(plan: str, due: datetime, zone: ZoneInfo) -> str:
    """A plan is due and no run has taken it up: the schedule may not be running at all."""
    return _notice(
        f"{plan} is due and no run has claimed it",
        f"It was due at {for_people(due, zone)}. The scheduled workflow may be switched off, queued or failing to start.",
        f"next: publisher run {plan}",
    )


def late(plan: str, due: datetime, zone: ZoneInfo, *, stage: str) -> str:
    """A run took the plan up and has not brought it to its end."""
    return _notice(
        f"{plan} is late: it has only been {stage}",
        f"It was due at {for_people(due, zone)}.",
        f"next: publisher status {plan}",
    )


def quiet(site: str, days: int, last: str) -> str:
    """Nothing was confirmed for ``days`` days; ``last`` is the last confirmed plan, or ""."""
    since = f"The last confirmed publication is {last}." if last else "Nothing was ever confirmed."
    return _notice(f"{site}: nothing was published for {days} days", since, "next: publisher status")


def drifted(site: str, urls: Sequence[str]) -> str:
    """Pages that were confirmed are no longer what the ledger says."""
    return _notice(
        f"{site}: the public site is not what the ledger records",
        "These addresses answer with something else, or not at all:",
        *_listed(urls),
        "next: publisher reconcile",
    )


def schedule_off(workflow: str, state: str) -> str:
    """The forge says that the scheduled workflow does not run."""
    return _notice(
        f"the schedule of {workflow} is switched off ({state})",
        "No run will start by itself until it is switched on again.",
        f"next: switch {workflow} on in the forge, then publisher doctor",
    )


def _notice(*lines: str) -> str:
    return "\n".join(one_line(line) for line in lines) + "\n"


def _listed(urls: Sequence[str]) -> list[str]:
    shown = [f"- {url}" for url in urls[:MOST_URLS]]
    return [*shown, f"- and {len(urls) - MOST_URLS} more"] if len(urls) > MOST_URLS else shown


def one_line(text: str) -> str:
    """Text as one line: no line break, control character or half a surrogate pair gets into a subject, a log or a header."""
    return " ".join(CONTROLS.sub(" ", text).split())
