"""Output version 2: another renderer (``article_html.py``), and what readers and machines find beside the pages.

Beside the values of ``site_files.py`` the template ``article`` gets: ``contents`` (the headings of levels 2 and 3, none when there
are fewer than three), ``minutes`` (of reading, at least 1), ``related`` (entries) and ``structured`` (JSON-LD).

Rules:
* related articles are ones that were public before, so that a page never changes because of a later article;
* reading time is counted in words, at the speed at which people read on screens for understanding.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from publisher.domain.article import PublicArticle
from publisher.domain.word_count import count_words
from publisher.ports import BuildRequest
from publisher.sitebuilder import json_feed, llms_text
from publisher.sitebuilder.article_html import render
from publisher.sitebuilder.site_files import Making, Version, feed_items, files_of
from publisher.sitebuilder.views import Entry

WORDS_A_MINUTE = 230
"""Adults read 238 words of non-fiction a minute silently (Brysbaert, Journal of Memory and Language 109, 2019); rounded down."""
FEWEST_HEADINGS = 3
MOST_RELATED = 3
MOST_LOOKED_AT = 400
"""How many earlier articles are compared with one, so that a page costs the same in every archive."""


def outputs(request: BuildRequest) -> dict[str, bytes]:
    """Every file of the release by path. ``InputProblem`` when text, theme or links break a rule."""
    return files_of(request, VERSION)


def about(making: Making, order: int) -> Mapping[str, Any]:
    article, entry = making.articles[order], making.entries[order]
    headings = [heading for heading in making.rendered[article.id].headings if heading.level <= 3]
    return {
        "contents": headings if len(headings) >= FEWEST_HEADINGS else [],
        "minutes": max(1, round(count_words(article.body) / WORDS_A_MINUTE)),
        "related": related(making, order),
        "structured": structured(making, article, entry),
    }


def related(making: Making, order: int) -> list[Entry]:
    """Up to three earlier articles that share the most tags with this one, then its category; the newest first among equals.

    The one right before it is linked as its neighbour already.
    """
    entry = making.entries[order]
    found: list[tuple[int, int]] = []
    for other in range(max(0, order - 1 - MOST_LOOKED_AT), max(0, order - 1)):
        shared = 2 * len(set(entry.tags) & set(making.entries[other].tags)) + (entry.category == making.entries[other].category)
        if shared > 1:
            found.append((shared, other))
    return [making.entries[other] for _, other in sorted(found, reverse=True)[:MOST_RELATED]]


def structured(making: Making, article: PublicArticle, entry: Entry) -> str:
    """A ``BlogPosting`` (https://schema.org/BlogPosting) as JSON in which no sign can end a ``script`` element."""
    site, url = making.site, making.site.absolute(article.url)
    value: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "BlogPosting",
        "headline": article.title,
        "description": article.summary,
        "url": url,
        "mainEntityOfPage": url,
        "datePublished": article.date,
        "dateModified": article.updated or article.date,
        "inLanguage": site.language,
        "articleSection": article.category,
        "keywords": list(article.tags),
        "isPartOf": {"@type": "Blog", "name": site.title, "url": site.absolute("/")},
    }
    if site.author:
        value["author"] = {"@type": "Person", "name": site.author, "url": site.absolute("/")}
    pictures = [name for name in article.files if not name.endswith(".svg")]
    if pictures:
        value["image"] = [f"{url}{name}" for name in sorted(pictures)]
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def more(making: Making) -> Mapping[str, bytes]:
    items = feed_items(making, making.articles)
    return {**json_feed.feed(making.site, items), **llms_text.llms(making.site, making.entries)}


VERSION = Version(render=render, about=about, more=more)
