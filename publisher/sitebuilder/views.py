"""What templates see. Plain values, made once for a build; nothing in them leads anywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from publisher.domain.article import PublicArticle
from publisher.domain.business_calendar import parse_instant
from publisher.domain.instance import Site


@dataclass(frozen=True, kw_only=True)
class SiteView:
    """The site. ``url`` is its address without a closing slash; ``base`` the path part of that ("" at a domain's root)."""

    id: str
    title: str
    description: str
    language: str
    author: str
    url: str
    base: str

    def href(self, path: str) -> str:
        """A site path as an address for links: ``/fences/`` → ``/handbook/fences/`` where the site stands in a folder."""
        return f"{self.base}{path}"

    def absolute(self, path: str) -> str:
        """The full URL of a site path."""
        return f"{self.url}{path}"


def site_view(site: Site) -> SiteView:
    url = site.url.rstrip("/")
    return SiteView(
        id=site.id,
        title=site.title,
        description=site.description,
        language=site.language,
        author=site.author,
        url=url,
        base=urlsplit(url).path,
    )


@dataclass(frozen=True, kw_only=True)
class Day:
    """An instant as readers see it: the calendar date in the instant's own offset. ``iso`` is the instant in full."""

    iso: str
    year: int
    month: int
    day: int


def day_of(instant: str) -> Day:
    moment = parse_instant(instant)
    return Day(iso=instant, year=moment.year, month=moment.month, day=moment.day)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An article in a list. ``updated`` is None until a correction."""

    id: str
    path: str
    title: str
    summary: str
    category: str
    tags: tuple[str, ...]
    date: Day
    updated: Day | None


def entry_of(article: PublicArticle) -> Entry:
    return Entry(
        id=article.id,
        path=article.url,
        title=article.title,
        summary=article.summary,
        category=article.category,
        tags=article.tags,
        date=day_of(article.date),
        updated=day_of(article.updated) if article.updated else None,
    )


@dataclass(frozen=True, kw_only=True)
class Page:
    """The page itself. ``path`` "" means that it has no address of its own (the page for missing ones). ``kind`` is
    ``home``, ``articles``, ``article``, ``entries``, ``terms``, ``not-found`` or ``moved``."""

    kind: str
    path: str
    title: str
    description: str


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The pages beside a numbered one, as site paths; "" where there is none."""

    newer: str = ""
    older: str = ""


@dataclass(frozen=True, kw_only=True)
class Term:
    """A tag or category and its list. There is no count: it would change a page that else stays as it is."""

    name: str
    path: str
