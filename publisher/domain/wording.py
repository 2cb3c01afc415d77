"""Every sentence that a notice or an announcement is made of.

Announcements hold confirmed public facts only. Notices to the people on call name the plan (its path carries site and date),
the step, a code, public addresses and the next command: never a draft's title or text. The first line is the subject.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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


HEADLINES: Mapping[str, str] = {
    "due-unclaimed": "{about} is due and no run has claimed it",
    "late": "{about} is late",
    "unapproved-tomorrow": "{about} waits for a decision before its date",
    "missed": "{about} was not published on its date",
    "nothing-confirmed": "{about}: nothing was published for days",
    "drifted": "{about}: the public site is not what the ledger records",
    "public-unreachable": "{about}: the public site does not answer",
    "claim-stuck": "{about}: a run stopped in the middle, and none has finished its work",
    "schedule-off": "the schedule of {about} does not run",
    "unknown-open": "{about}: what became of it is still not known",
    "queue-low": "{about}: the queue does not fill the next dates",
    "no-plan": "{about} has no plan and no open request",
    "instance-unreadable": "{about} cannot be read or judged",
    "approval-not-proven": "{about}: what was merged approves nothing",
}
"""What is wrong, by an alarm's code."""


def alarm(about: str, code: str, says: str, next: str, urls: Sequence[str] = ()) -> str:
    """Something is wrong that no run may be there to tell of."""
    return _notice(f"{headline(about, code)} [{code}]", says, *_listed(urls), f"next: {next}")


def cleared(about: str, code: str) -> str:
    """An alarm came to an end."""
    return _notice(f"no longer so: {headline(about, code)} [{code}]", "Nothing needs doing.")


def headline(about: str, code: str) -> str:
    return HEADLINES.get(code, "{about}").format(about=about)


def _notice(*lines: str) -> str:
    return "\n".join(one_line(line) for line in lines) + "\n"


def _listed(urls: Sequence[str]) -> list[str]:
    shown = [f"- {url}" for url in urls[:MOST_URLS]]
    return [*shown, f"- and {len(urls) - MOST_URLS} more"] if len(urls) > MOST_URLS else shown


def one_line(text: str) -> str:
    """Text as one line: no line break, control character or half a surrogate pair gets into a subject, a log or a header."""
    return " ".join(CONTROLS.sub(" ", text).split())
