"""The files of a release: what every output version shares. What a version has of its own stands in ``output_v1.py`` and so on.

A recorded release is built again by the version that its event names. So this file may only change in ways that leave every byte of
every version as it is; anything else is the version's own.

What each template gets besides the common names: ``article``: entry, html, newer, older · ``articles``: entries, neighbours,
number · ``entries``: entries, neighbours, number, term · ``terms``: groups · ``not-found``: nothing · ``moved``: to, to_url.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from publisher.domain.article import ManifestEntry, PublicArticle, page_path
from publisher.domain.fingerprint import digest
from publisher.errors import InputProblem
from publisher.ports import BuildRequest
from publisher.sitebuilder import feeds, internal_links, machines, withdrawn
from publisher.sitebuilder.characters import is_one_line
from publisher.sitebuilder.public_form import check_fields
from publisher.sitebuilder.references import Source
from publisher.sitebuilder.rendered import Address, Rendered
from publisher.sitebuilder.stable_pages import stable_pages
from publisher.sitebuilder.theme import Theme
from publisher.sitebuilder.views import Entry, Page, SiteView, Term, entry_of, site_view
from publisher.sitebuilder.words import Words

ARTICLES_A_PAGE = 10
ENTRIES_A_PAGE = 100
NUMBERED = re.compile(r"/page/[0-9]+/\Z")


class Renders(Protocol):
    """Makes an article's body into HTML. ``InputProblem`` where it breaks a rule."""

    def __call__(
        self, text: str, files: Mapping[str, bytes], *, source: Source, address: Address, words: Words
    ) -> Rendered: ...


@dataclass(frozen=True, kw_only=True)
class Making:
    """One build on its way: what every part of it needs."""

    version: Version
    site: SiteView
    theme: Theme
    articles: Sequence[PublicArticle]
    entries: Sequence[Entry]
    rendered: Mapping[str, Rendered]


@dataclass(frozen=True, kw_only=True)
class Version:
    """What an output version has of its own.

    ``about`` gives an article's template its further values, ``more`` the release its further files; ``order`` is the article's
    place in the order of publication.
    """

    render: Renders
    about: Callable[[Making, int], Mapping[str, Any]] = lambda making, order: {}
    more: Callable[[Making], Mapping[str, bytes]] = lambda making: {}


def files_of(request: BuildRequest, version: Version) -> dict[str, bytes]:
    """Every file of the release by path. ``InputProblem`` when text, theme or links break a rule."""
    making = _start(request, version)
    lists = _lists(making)
    parts = [
        _article_pages(making),
        _images(making),
        lists,
        withdrawn.pages(making.theme, making.site, request.withdrawn),
        {f"assets/{name}": data for name, data in making.theme.assets.items()},
        _feeds(making, request.site.tag_authority),
        version.more(making),
        machines.robots(making.site),
        request.static,
    ]
    files = merge(parts)
    entries = [_manifest_entry(article, files) for article in request.articles]
    listed = sorted("/" + path.removesuffix("index.html") for path in lists if path.endswith("index.html"))
    listed = [path for path in listed if not NUMBERED.search(path)]
    rest = [machines.manifest(making.site, entries, request.withdrawn), machines.sitemap(making.site, request.articles, listed)]
    files = merge([files, *rest])
    withdrawn.check(request.withdrawn, {article.url for article in request.articles}, files)
    internal_links.check(request.site.id, request.articles, making.rendered, files)
    return files


def merge(parts: Sequence[Mapping[str, bytes]]) -> dict[str, bytes]:
    """All files together. ``InputProblem`` when two parts make the same path."""
    files: dict[str, bytes] = {}
    for part in parts:
        for path, data in part.items():
            if path in files:
                raise InputProblem("two-outputs", f"two things want to be published at {path!a}", next="rename one of them")
            files[path] = data
    return files


def _start(request: BuildRequest, version: Version) -> Making:
    site = site_view(request.site)
    if not all(is_one_line(text) for text in (site.title, site.description, site.author)) or not site.title:
        raise InputProblem("bad-field", "a site's title, description and author are one line each", where="publisher.yaml:1:1")
    theme = Theme(request.theme, site, request.output)
    rendered = {}
    for article in request.articles:
        check_fields(article, internal_links.article_source(site.id, article).path, written=True)
        address = Address(root=site.base, page=site.href(article.url))
        source = internal_links.article_source(site.id, article)
        rendered[article.id] = version.render(
            article.body, article.files, source=source, address=address, words=theme.text_words()
        )
    for name in ("id", "url", "guid"):
        if len({getattr(article, name) for article in request.articles}) != len(request.articles):
            raise InputProblem("two-outputs", f"two articles share their {name}", next="rename one of them")
    entries = [entry_of(article) for article in request.articles]
    return Making(version=version, site=site, theme=theme, articles=request.articles, entries=entries, rendered=rendered)


def _article_pages(making: Making) -> dict[str, bytes]:
    """Each article's page, with links to the ones published right before and after it."""
    made: dict[str, bytes] = {}
    entries = making.entries
    for index, entry in enumerate(entries):
        html = making.theme.render(
            "article",
            page=Page(kind="article", path=entry.path, title=entry.title, description=entry.summary),
            entry=entry,
            html=making.rendered[entry.id].html,
            newer=entries[index + 1] if index + 1 < len(entries) else None,
            older=entries[index - 1] if index else None,
            **making.version.about(making, index),
        )
        made[page_path(entry.path)] = html
    return made


def _images(making: Making) -> dict[str, bytes]:
    return {f"{a.url.strip('/')}/{name}": data for a in making.articles for name, data in a.files.items()}


def _manifest_entry(article: PublicArticle, files: Mapping[str, bytes]) -> ManifestEntry:
    page = files[page_path(article.url)]
    return ManifestEntry(id=article.id, url=article.url, guid=article.guid, date=article.date, digest=digest(page))


def _groups(making: Making) -> dict[str, dict[str, list[Entry]]]:
    """Entries (oldest first) by category and by tag, each in the order of its name."""
    groups: dict[str, dict[str, list[Entry]]] = {"categories": {}, "tags": {}}
    for entry in making.entries:
        groups["categories"].setdefault(entry.category, []).append(entry)
        for tag in entry.tags:
            groups["tags"].setdefault(tag, []).append(entry)
    return {kind: dict(sorted(terms.items())) for kind, terms in groups.items()}


def _lists(making: Making) -> dict[str, bytes]:
    """Home, archive, tags and categories with their numbered pages, and the page for missing ones."""
    words, made = making.theme.words, {"404.html": _missing(making)}
    for listed in stable_pages(making.entries, ARTICLES_A_PAGE, "/"):
        title = words["page_number"].format(number=listed.number) if listed.number else making.site.title
        page = Page(
            kind="articles" if listed.number else "home", path=listed.path, title=title, description=making.site.description
        )
        made[page_path(listed.path)] = making.theme.render(
            "articles", page=page, entries=listed.items, neighbours=listed.neighbours, number=listed.number
        )
    made |= _entry_pages(making, making.entries, "/archive/", words["archive"], "")
    for kind, terms in _groups(making).items():
        made |= _terms_page(making, kind, terms)
        for name, entries in terms.items():
            made |= _entry_pages(making, entries, f"/{kind}/{name}/", words[f"title_of_{kind}"].format(name=name), name)
    return made


def _missing(making: Making) -> bytes:
    title = making.theme.words["not_found"]
    return making.theme.render("not-found", page=Page(kind="not-found", path="", title=title, description=title))


def _entry_pages(making: Making, entries: Sequence[Entry], path: str, title: str, term: str) -> dict[str, bytes]:
    made = {}
    for listed in stable_pages(entries, ENTRIES_A_PAGE, path):
        heading = f"{title} · {making.theme.words['page_number'].format(number=listed.number)}" if listed.number else title
        page = Page(kind="entries", path=listed.path, title=heading, description=making.site.description)
        made[page_path(listed.path)] = making.theme.render(
            "entries", page=page, entries=listed.items, neighbours=listed.neighbours, number=listed.number, term=term
        )
    return made


def _terms_page(making: Making, kind: str, terms: Mapping[str, Sequence[Entry]]) -> dict[str, bytes]:
    page = Page(kind="terms", path=f"/{kind}/", title=making.theme.words[kind], description=making.site.description)
    listed = [Term(name=name, path=f"/{kind}/{name}/") for name in terms]
    return {page_path(page.path): making.theme.render("terms", page=page, terms=listed)}


def feed_items(making: Making, articles: Sequence[PublicArticle]) -> list[feeds.FeedItem]:
    """The newest of ``articles`` with their texts as feeds have them: all addresses absolute."""
    items = []
    for article in feeds.newest(articles):
        url = making.site.absolute(article.url)
        source = internal_links.article_source(making.site.id, article)
        address = Address(root=making.site.url, page=url, fragment=url)
        text = making.version.render(
            article.body, article.files, source=source, address=address, words=making.theme.text_words()
        )
        items.append(feeds.FeedItem(article=article, html=text.html))
    return items


def _feeds(making: Making, tag_authority: str) -> dict[str, bytes]:
    return feeds.feeds(making.site, tag_authority, feed_items(making, making.articles))
