"""What an article's text becomes, and how its addresses are written: what every output version's renderer takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

from publisher.sitebuilder.headings import Heading


@dataclass(frozen=True, kw_only=True)
class Address:
    """How links are written. ``root`` stands before site paths and ``page`` before files beside the article; ``fragment``
    before ``#anchor`` ("" on the page itself, the page's full URL in a feed)."""

    root: str
    page: str
    fragment: str = ""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link into this site that the finished release must be able to follow: ``path`` "" means the page itself.

    ``line`` is the text's, from 1.
    """

    path: str
    anchor: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """An article's text as HTML, the ids in it, its links into the site, and its headings in order."""

    html: str
    anchors: frozenset[str]
    links: tuple[Link, ...]
    headings: tuple[Heading, ...] = ()
