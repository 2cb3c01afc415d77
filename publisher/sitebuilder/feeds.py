"""RSS 2.0 and Atom 1.0: the newest twenty articles, in full.

Rules:
* an item's identity is the article's GUID, never its address, so that a moved page is not new to anybody;
* every address is absolute: readers show the text elsewhere;
* the feed's own date is that of its newest item, so that building again gives the same bytes;
* both feeds are read back by an XML parser before they may leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from io import StringIO
from typing import Any
from xml.etree import ElementTree

from publisher.domain.article import PublicArticle
from publisher.domain.business_calendar import parse_instant
from publisher.errors import Bug
from publisher.sitebuilder.views import SiteView

RSS_PATH = "feed.xml"
ATOM_PATH = "atom.xml"
NEWEST = 20
CONTENT = "http://purl.org/rss/1.0/modules/content/"
ATOM = "{http://www.w3.org/2005/Atom}"


@dataclass(frozen=True, kw_only=True)
class FeedItem:
    """An article with its text as HTML whose addresses are all absolute."""

    article: PublicArticle
    html: str


def newest(articles: Sequence[PublicArticle]) -> tuple[PublicArticle, ...]:
    """The articles that a feed shows, newest first; of two with the same date the later published comes first."""
    ordered = sorted(enumerate(articles), key=lambda pair: (parse_instant(pair[1].date), pair[0]), reverse=True)
    return tuple(article for _, article in ordered[:NEWEST])


def feeds(site: SiteView, tag_authority: str, items: Sequence[FeedItem]) -> dict[str, bytes]:
    """Both feeds by path."""
    guids = [item.article.guid for item in items]
    rss = _write(_rss_class(), site, tag_authority, items, RSS_PATH)
    atom = _write(_atom_class(), site, tag_authority, items, ATOM_PATH)
    _read_back(rss, "./channel/item/guid", guids)
    _read_back(atom, f"./{ATOM}entry/{ATOM}id", guids)
    return {RSS_PATH: rss, ATOM_PATH: atom}


def _write(kind: Any, site: SiteView, tag_authority: str, items: Sequence[FeedItem], path: str) -> bytes:
    feed = kind(
        title=site.title,
        link=site.absolute("/"),
        description=site.description,
        language=site.language,
        author_name=site.author,
        feed_url=site.absolute(f"/{path}"),
        feed_guid=f"tag:{tag_authority}:{site.id}",
    )
    feed.when_empty = _date_of(tag_authority)
    for item in items:
        article = item.article
        feed.add_item(
            title=article.title,
            link=site.absolute(article.url),
            # Both formats read a description as HTML; ours is plain text.
            description=escape(article.summary, quote=False),
            content=item.html,
            author_name=site.author,
            pubdate=parse_instant(article.date),
            updateddate=parse_instant(article.updated) if article.updated else None,
            unique_id=article.guid,
            unique_id_is_permalink=False,
            categories=(article.category, *article.tags),
        )
    out = StringIO()
    feed.write(out, "utf-8")
    return (out.getvalue().rstrip("\n") + "\n").encode("utf-8")


def _date_of(tag_authority: str) -> datetime:
    """The date in ``authority,date`` (RFC 4151: a year, a month or a day): what an empty feed shows, instead of the clock."""
    parts = [int(part) for part in tag_authority.rpartition(",")[2].split("-")]
    year, month, day = (*parts, 1, 1)[:3]
    return datetime(year, month, day, tzinfo=UTC)


def _rss_class() -> Any:
    from feedgenerator import Rss201rev2Feed

    class Rss(Rss201rev2Feed):  # type: ignore[misc]
        when_empty: datetime

        def rss_attributes(self) -> dict[str, str]:
            return {**super().rss_attributes(), "xmlns:content": CONTENT}

        def latest_post_date(self) -> datetime:
            return super().latest_post_date() if self.items else self.when_empty

        def add_item_elements(self, handler: Any, item: Any) -> None:
            super().add_item_elements(handler, item)
            handler.addQuickElement("content:encoded", item["content"])

    return Rss


def _atom_class() -> Any:
    from feedgenerator import Atom1Feed

    class Atom(Atom1Feed):  # type: ignore[misc]
        when_empty: datetime

        def latest_post_date(self) -> datetime:
            return super().latest_post_date() if self.items else self.when_empty

    return Atom


def _read_back(data: bytes, path: str, guids: list[str]) -> None:
    try:
        found = [element.text for element in ElementTree.fromstring(data).findall(path)]
    except ElementTree.ParseError:
        found = []
    if found != guids:
        raise Bug("feed-broken", "a feed does not read back as the articles that it was made from")
