"""The leak scan: whether a finished release, or anything about to leave, holds a trace of a private draft.

Rules:
* a finding names a path and a draft's id, and never the text;
* what also stands in an approved article's own reviewed text is public, and no finding;
* every file is read once, in all its readings (``readings.py``), against all drafts at once.

How it stays fast: each passage is filed under a few short pieces of it, and a text is cut at every fourth place only. A passage
of at least ``piece + STRIDE - 1`` bytes has one of its first four pieces at such a place, wherever it stands (the idea behind
rsync's and MOSS's fingerprints). So a text costs a set of a quarter of its length, whatever the number of drafts; only passages
whose piece was seen are really compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from publisher.domain.article import Draft, PublicArticle, Release
from publisher.domain.fingerprint import digest
from publisher.sitebuilder.plain_text import squeeze
from publisher.sitebuilder.readings import readings
from publisher.sitebuilder.sentinels import ADDRESSES, STRETCH, Sentinels, sentinels_of

STRIDE = 4
LONG_PIECE = 16
SHORT_PIECE = 7
WORD = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*")
IMAGE_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*\.(?:png|jpe?g|svg)")
# A slug in an address: between slashes, or at an address's end or beginning; but no closing tag such as </main>.
ADDRESS_PART = re.compile(r"""(?<!<)/([a-z0-9-]+)(?=[/?#"'\s<>)]|$)|(?<=["'(=])([a-z0-9-]+)(?=/)""")
# The addresses of XML vocabularies: no pages, and the same everywhere.
VOCABULARY = re.compile(r"""xmlns(?::[a-z]+)?=["'][^"']*["']""")

Hits = dict[tuple[str, str | bytes], frozenset[str]]
"""(kind of sentinel, sentinel) → the drafts that it stands for."""


def leaks(release: Release, private: Sequence[Draft], approved: Sequence[PublicArticle]) -> tuple[str, ...]:
    """``path: draft id`` for each file of a release in which something private was found, sorted."""
    root = Path(release.root)
    return _report(((path, (root / path).read_bytes()) for path in sorted(release.files)), private, approved)


def leaks_in(items: Mapping[str, bytes], private: Sequence[Draft], approved: Sequence[PublicArticle]) -> tuple[str, ...]:
    """The same over named bytes."""
    return _report(sorted(items.items()), private, approved)


def _report(files: Iterable[tuple[str, bytes]], private: Sequence[Draft], approved: Sequence[PublicArticle]) -> tuple[str, ...]:
    if not private:
        return ()
    scanner = Scanner(sentinels_of(list(private)))
    found = [(path, hits) for path, data in files if (hits := scanner.hits(path, data))]
    public = _public({key for _, hits in found for key in hits}, approved)
    return tuple(
        sorted({f"{path}: {draft}" for path, hits in found for key, ids in hits.items() if key not in public for draft in ids})
    )


class Scanner:
    """All drafts' sentinels, filed for looking up."""

    def __init__(self, sentinels: Sentinels) -> None:
        self._sentinels = sentinels
        self._long = _filed((p for p in sentinels.passages if len(p) >= STRETCH), LONG_PIECE)
        self._short = _filed((p for p in sentinels.passages if len(p) < STRETCH), SHORT_PIECE)

    def hits(self, path: str, data: bytes) -> Hits:
        """The sentinels found in a file's path and bytes."""
        found: Hits = {}
        for text in readings(data):
            found |= self._in_text(text)
        found |= self._in_words(f"/{path}".lower())
        for candidate in (data, data.partition(b"\0")[2] if data.startswith(b"blob ") else b""):
            ids = self._sentinels.digests.get(digest(candidate)) if candidate else None
            if ids:
                found["digest", digest(candidate)] = ids
        return found

    def _in_text(self, text: str) -> Hits:
        found = self._in_words(text.lower())
        squeezed = squeeze(text)
        for filed, piece in ((self._long, LONG_PIECE), (self._short, SHORT_PIECE)):
            if filed:
                for passage in _candidates(squeezed, filed, piece):
                    if passage in squeezed:
                        found["passage", passage] = self._sentinels.passages[passage]
        return found

    def _in_words(self, text: str) -> Hits:
        words, parts = self._sentinels.words, self._sentinels.address_parts
        found: Hits = {("word", word): words[word] for word in words.keys() & set(WORD.findall(text))}
        found |= {("word", name): words[name] for name in words.keys() & set(IMAGE_NAME.findall(text))}
        found |= {("part", part): parts[part] for part in parts.keys() & _address_parts(text)}
        return found


def _address_parts(text: str) -> set[str]:
    if "xmlns" in text:
        text = VOCABULARY.sub("", text)
    return {one or other for one, other in ADDRESS_PART.findall(text)}


def _filed(passages: Iterable[bytes], piece: int) -> dict[bytes, list[bytes]]:
    filed: dict[bytes, list[bytes]] = {}
    for passage in passages:
        for at in range(STRIDE):
            filed.setdefault(passage[at : at + piece], []).append(passage)
    return filed


def _candidates(text: bytes, filed: Mapping[bytes, list[bytes]], piece: int) -> Iterator[bytes]:
    pieces = {text[at : at + piece] for at in range(0, len(text), STRIDE)}
    for seen in pieces & filed.keys():
        yield from filed[seen]


def _public(keys: set[tuple[str, str | bytes]], approved: Sequence[PublicArticle]) -> set[tuple[str, str | bytes]]:
    """Those of ``keys`` that stand in the approved articles' own text."""
    if not keys:
        return set()
    public: set[tuple[str, str | bytes]] = set()
    passages = {value for kind, value in keys if kind == "passage" and isinstance(value, bytes)}
    for article in approved:
        text = "\n".join(
            (article.id, article.url, article.guid, article.title, article.summary, article.category, article.body)
        )
        lowered = "\n".join((text, *article.tags, *article.files)).lower()
        public |= {("word", word) for word in WORD.findall(lowered) + IMAGE_NAME.findall(lowered)}
        public |= {("part", part) for part in (*_address_parts(lowered), article.category, *article.tags)}
        public |= {("digest", digest(data)) for data in article.files.values()}
        for squeezed in (squeeze(text), squeeze(ADDRESSES.sub(" ", text))):
            public |= {("passage", passage) for passage in passages if passage in squeezed}
    return public & keys
