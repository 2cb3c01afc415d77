"""The model's builder: public forms and releases as small values. It writes no file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

from publisher.domain.article import MANIFEST_PATH, Draft, PublicArticle, Release, page_path
from publisher.domain.fingerprint import canonical_json
from publisher.domain.public_site import SCHEMA
from publisher.ports import BuildRequest
from publisher.simulation.content import HOME, Contents

FIELDS = ("id", "url", "guid", "title", "summary", "category", "date", "updated", "body")


class ModelBuilder:
    """Implements ``SiteBuilder``. The same request gives the same release, and is built once."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._built: dict[bytes, Release] = {}

    def references(self, markdown: str) -> tuple[str, ...]:
        return ()

    def public_form(self, draft: Draft, article: PublicArticle) -> Mapping[str, bytes]:
        return {"index.md": _page(article)}

    def read_public_form(self, files: Mapping[str, bytes]) -> PublicArticle:
        return PublicArticle(**json.loads(files["index.md"]), tags=())

    def build(self, request: BuildRequest, into: str) -> Release:
        pages = [(article, _page(article)) for article in request.articles]
        key = b"\n".join([*(page for _, page in pages), repr((request.theme, request.withdrawn)).encode()])
        if key not in self._built:
            self._built[key] = self._release(request, pages)
        return self._built[key]

    def _release(self, request: BuildRequest, pages: Sequence[tuple[PublicArticle, bytes]]) -> Release:
        theme = request.theme["base"]
        files = {page_path(article.url): theme + page for article, page in pages}
        _, digests = self._contents.publish_files(files) if files else ("", {})
        files[HOME] = theme + b" ".join(article.id.encode() for article, _ in pages)
        files["feed.xml"] = b"rss " + b" ".join(page for _, page in pages)
        files["atom.xml"] = b"atom " + b" ".join(page for _, page in pages)
        for item in request.withdrawn:
            if item.answer == "redirect":
                files[page_path(item.url)] = item.to.encode()
        entries = [
            {"id": a.id, "url": a.url, "guid": a.guid, "date": a.date, "digest": digests[page_path(a.url)]} for a, _ in pages
        ]
        gone = [{"id": item.id, "url": item.url, "answer": item.answer} for item in request.withdrawn]
        manifest = {"schema": SCHEMA, "site": request.site.id, "articles": entries, "withdrawn": gone}
        files[MANIFEST_PATH] = canonical_json(manifest)
        name, listed = self._contents.publish_files(files)
        return Release(id=name, files=listed, root="")

    def leaks(self, release: Release, private: Sequence[Draft], approved: Sequence[PublicArticle]) -> tuple[str, ...]:
        return self.leaks_in({path: self._contents.bodies[name] for path, name in release.files.items()}, private, approved)

    def leaks_in(
        self, items: Mapping[str, bytes], private: Sequence[Draft], approved: Sequence[PublicArticle]
    ) -> tuple[str, ...]:
        words = [(draft.id, draft.body.reveal().encode()) for draft in private]
        return tuple(f"{path}: {name}" for path, data in items.items() for name, word in words if word in data)


def _page(article: PublicArticle) -> bytes:
    return _page_of(tuple([getattr(article, name) for name in FIELDS]))


@cache
def _page_of(values: tuple[str, ...]) -> bytes:
    return canonical_json(dict(zip(FIELDS, values, strict=True)))
