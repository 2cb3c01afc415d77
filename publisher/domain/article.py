"""Articles in their two forms, and releases.

Rules:
* a *draft* is private: its title and text cannot be printed by accident (``Private`` hides them in ``repr``);
* the *public form* is what ``prepare`` writes into the build source; the builder reads nothing else;
* id, URL, GUID and date of an article are fixed at plan time and never change once public;
* the set of files of a release decides its id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

ARTICLE_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?", re.ASCII)
SLUG = ARTICLE_ID
TAG = ARTICLE_ID
URL_PATH = re.compile(r"/(?:[a-z0-9](?:[a-z0-9-]{0,126}[a-z0-9])?/)+", re.ASCII)
FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,126}[a-z0-9]", re.ASCII)
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""How a file begins that stands for another one, which Git LFS keeps elsewhere."""

# Names that some file system, server or git treats as something else; and pages that every site makes for itself.
RESERVED_NAMES = frozenset(
    {"con", "prn", "aux", "nul", "git", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))}
)
RESERVED_PAGES = frozenset(
    {"tags", "categories", "archive", "page", "assets", "articles", "index", "404", "feed", "rss", "atom", "about"}
)


class Private(str):
    """Text that must not reach a log by accident: ``repr`` and ``format`` hide it; ``reveal`` says it on purpose."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<private>"

    def __str__(self) -> str:
        return "<private>"

    def __format__(self, spec: str) -> str:
        return "<private>"

    def reveal(self) -> str:
        return str.__str__(self)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A private source as read from git objects at one commit.

    ``files`` are the bytes of ``index.md`` and of every file it uses, by name. ``draft_mark`` is true when the author wrote
    ``draft: true``: such a text is never planned.
    """

    id: str
    slug: str
    source: str
    title: Private
    summary: Private
    category: str
    tags: tuple[str, ...] = ()
    draft_mark: bool = False
    salt: str = field(default="", repr=False)
    body: Private
    files: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class PublicArticle:
    """The public form of an article: what its page, list entries and feed entries are made from.

    ``date`` and ``updated`` are instants with their offset (``updated`` is "" until a correction). ``body`` is Markdown.
    ``files`` are the images beside it, by name; they appear beside the article's page.
    """

    id: str
    url: str
    guid: str
    title: str
    summary: str
    category: str
    tags: tuple[str, ...]
    date: str
    updated: str = ""
    body: str
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class Withdrawn:
    """An address that was public and answers differently now: ``gone`` (410), or a redirect to ``to``."""

    id: str
    url: str
    answer: str
    to: str = ""


@dataclass(frozen=True, kw_only=True)
class ManifestEntry:
    """One article as the release's manifest lists it: what a restore reads from the public site."""

    id: str
    url: str
    guid: str
    date: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class Release:
    """An immutable built artifact in a directory: ``files`` maps each path to its digest, ``root`` is where they lie."""

    id: str
    files: Mapping[str, str] = field(repr=False)
    root: str


MANIFEST_PATH = ".well-known/publisher.json"
CLAIM_PATH = ".well-known/publisher-claim.json"


def page_path(url: str) -> str:
    """The release path of the page at a URL path: ``/fences/`` → ``fences/index.html``."""
    return url.strip("/") + "/index.html" if url.strip("/") else "index.html"


def is_safe_name(name: str) -> bool:
    """Whether a slug, id or tag is safe on every file system, in every URL and on every command line."""
    return ARTICLE_ID.fullmatch(name) is not None and name not in RESERVED_NAMES
