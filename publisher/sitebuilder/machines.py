"""What machines read: the manifest, the sitemap, robots.txt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from publisher.domain.article import MANIFEST_PATH, ManifestEntry, PublicArticle, Withdrawn
from publisher.domain.fingerprint import canonical_json
from publisher.sitebuilder.views import SiteView

SCHEMA = "publisher.manifest/1"
# https://www.sitemaps.org/protocol.html allows 50,000 addresses in one file.
LARGEST_SITEMAP = 45_000


def manifest(site: SiteView, entries: Sequence[ManifestEntry], withdrawn: Sequence[Withdrawn]) -> dict[str, bytes]:
    """The list of what is public: what a restore starts from. One article a line, in order of first publication."""
    articles = [{"id": e.id, "url": e.url, "guid": e.guid, "date": e.date, "digest": e.digest} for e in entries]
    gone = [{"id": w.id, "url": w.url, "answer": w.answer} | ({"to": w.to} if w.to else {}) for w in withdrawn]
    text = (
        f'{{"schema": {json.dumps(SCHEMA)}, "site": {json.dumps(site.id)},\n'
        f'"articles": {_lines(articles)},\n"withdrawn": {_lines(gone)}}}\n'
    )
    # Without .nojekyll, GitHub's branch-built Pages leave out every folder whose name begins with a dot.
    return {MANIFEST_PATH: text.encode("utf-8"), ".nojekyll": b""}


def _lines(values: Sequence[Mapping[str, Any]]) -> str:
    return "[\n" + ",\n".join(canonical_json(value).decode("utf-8") for value in values) + "\n]" if values else "[]"


def sitemap(site: SiteView, articles: Sequence[PublicArticle], lists: Sequence[str]) -> dict[str, bytes]:
    """``sitemap.xml``; with very many pages an index of numbered parts. ``lastmod`` only says when a text changed."""
    urls = [f"<url><loc>{escape(site.absolute(path))}</loc></url>" for path in lists]
    urls += [
        f"<url><loc>{escape(site.absolute(a.url))}</loc><lastmod>{escape(a.updated or a.date)}</lastmod></url>"
        for a in articles
    ]
    parts = [urls[at : at + LARGEST_SITEMAP] for at in range(0, len(urls), LARGEST_SITEMAP)]
    if len(parts) == 1:
        return {"sitemap.xml": _xml("urlset", parts[0])}
    files = {f"sitemap-{number}.xml": _xml("urlset", part) for number, part in enumerate(parts, start=1)}
    index = [f"<sitemap><loc>{escape(site.absolute('/' + name))}</loc></sitemap>" for name in files]
    return {"sitemap.xml": _xml("sitemapindex", index), **files}


def _xml(root: str, lines: Sequence[str]) -> bytes:
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return (
        head + f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n' + "\n".join(lines) + f"\n</{root}>\n"
    ).encode("utf-8")


def robots(site: SiteView) -> dict[str, bytes]:
    """Everything may be read; the sitemap is there."""
    return {"robots.txt": f"User-agent: *\nAllow: /\n\nSitemap: {site.absolute('/sitemap.xml')}\n".encode()}
