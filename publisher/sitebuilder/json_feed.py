"""JSON Feed 1.1 (https://www.jsonfeed.org/version/1.1/): the newest articles, in full.

An item's identity is the article's GUID, as in the other feeds; every address is absolute.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from publisher.sitebuilder.feeds import FeedItem
from publisher.sitebuilder.views import SiteView

PATH = "feed.json"


def feed(site: SiteView, items: Sequence[FeedItem]) -> dict[str, bytes]:
    authors = [{"name": site.author}] if site.author else []
    value: dict[str, Any] = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": site.title,
        "home_page_url": site.absolute("/"),
        "feed_url": site.absolute(f"/{PATH}"),
        "description": site.description,
        "language": site.language,
        "authors": authors,
        "items": [_item(site, item) for item in items],
    }
    shown = {key: part for key, part in value.items() if part or key == "items"}
    return {PATH: (json.dumps(shown, ensure_ascii=False, indent=1) + "\n").encode("utf-8")}


def _item(site: SiteView, item: FeedItem) -> dict[str, Any]:
    article = item.article
    return {
        "id": article.guid,
        "url": site.absolute(article.url),
        "title": article.title,
        "summary": article.summary,
        "content_html": item.html,
        "date_published": article.date,
        "date_modified": article.updated or article.date,
        "tags": [article.category, *article.tags],
    }
