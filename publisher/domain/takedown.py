"""What a withdrawal does not take back, as steps for a person: a page that was public has left copies behind.

Rules:
* the list is made when a takedown is opened, from what the site does (announcements, a public branch), and is recorded with it;
* every step ends with a person's word: done, nothing there, or not possible; the word and its reason are recorded, never guessed;
* none of them brings the text back to being a draft: it was public, and its record says so for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a step ended."""

    DONE = "done"
    NOTHING_THERE = "nothing-there"
    NOT_POSSIBLE = "not-possible"


@dataclass(frozen=True, kw_only=True)
class Risk:
    """``remains`` is where a copy may be, ``act`` what a person can do about it."""

    remains: str
    act: str


RISKS: Mapping[str, Risk] = {
    "caches": Risk(
        remains="caches and content networks between the site and its readers serve the page until it expires",
        act="purge the address there, and look at it past your own browser's cache",
    ),
    "search-engines": Risk(
        remains="search engines show title, extract and a copy of the page",
        act="ask each for the removal of the address; they want it to answer 404, which it does now",
    ),
    "archives": Risk(
        remains="web archives keep the page as it was",
        act="search them for the address, and write to those that have it",
    ),
    "feed-readers": Risk(
        remains="feed readers have fetched the article and do not delete it when the feed no longer has it",
        act="nothing reaches them; say publicly what was wrong, if readers must know",
    ),
    "copies": Risk(
        remains="other sites may have quoted, translated or copied it, and readers may have saved it",
        act="search for a sentence of it, and write to those who have it",
    ),
    "preview": Risk(
        remains="staging, previews of requests and artifacts of jobs may show it too",
        act="delete them where they lie; staging shows the next release after the next run",
    ),
    "mails": Risk(
        remains="announcements with its title and address were sent, and stay in mailboxes",
        act="nothing takes them back; write to the readers, if they must know",
    ),
    "branch-history": Risk(
        remains="the branch that the site is published from keeps every earlier release, and so do its clones and forks",
        act="if it is public: rewrite that branch at its host and ask the host to drop old objects; audit then says what is gone",
    ),
}
"""By name; the names are written to the ledger and stay."""
ALWAYS = ("caches", "search-engines", "archives", "feed-readers", "copies", "preview")


def risks_of(*, announced: bool, on_a_branch: bool) -> tuple[str, ...]:
    """The steps of one takedown."""
    return (*ALWAYS, *(["mails"] if announced else []), *(["branch-history"] if on_a_branch else []))
