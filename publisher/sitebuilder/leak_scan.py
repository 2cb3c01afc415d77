"""The leak scan: whether a finished release, or anything about to leave, holds a trace of a private draft.

Rules:
* a finding names a path and a draft's id, and never the text;
* what also stands in an approved article's own reviewed text is public, and no finding;
* every file is read once, in all its readings (``readings.py``), against all drafts at once.

How it stays fast: each passage is filed under its pieces at its first eight places, and a text is cut at every eighth place.
A passage of ``piece + stride - 1`` bytes and more has one of those pieces at such a place, wherever it stands (the idea behind
rsync's and MOSS's fingerprints). So a text costs a set of an eighth of its length, whatever the number of drafts; only
passages of which a piece was seen are really compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from publisher.domain.article import Draft, PublicArticle, Release
from publisher.domain.fingerprint import digest
from publisher.sitebuilder.plain_text import file_names, squeeze, words
from publisher.sitebuilder.readings import readings
from publisher.sitebuilder.sentinels import ADDRESSES, SHORTEST_TITLE, STRETCH, Sentinels, sentinels_of

# A slug in an address: between slashes, or at an address's end or beginning; but no closing tag such as </main>.
ADDRESS_PART = r"""(?:(?<!<)/{slug}(?=[/?#"'\s<>)]|$)|(?<=["'(=]){slug}(?=/))"""
# The addresses of XML vocabularies: no pages, and the same everywhere.
VOCABULARY = re.compile(r"""xmlns(?::[a-z]+)?=["'][^"']*["']""")

Key = tuple[str, str | bytes]
"""The kind of a sentinel, and the sentinel."""


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
    sentinels = sentinels_of(private)
    scanner = Scanner(sentinels)
    found = [(path, keys) for path, data in files if (keys := scanner.keys(path, data))]
    public = _public({key for _, keys in found for key in keys}, approved)
    findings = {f"{path}: {draft}" for path, keys in found for key in keys - public for draft in sentinels.drafts_of(*key)}
    return tuple(sorted(findings))


@dataclass(frozen=True, kw_only=True)
class Filed:
    """Passages under their pieces: each has ``piece + stride - 1`` bytes or more."""

    piece: int
    stride: int
    passages: dict[bytes, list[bytes]] = field(default_factory=dict, repr=False)

    def add(self, passage: bytes) -> None:
        for at in range(self.stride):
            self.passages.setdefault(passage[at : at + self.piece], []).append(passage)

    def found_in(self, text: bytes) -> Iterator[bytes]:
        """The passages that ``text`` holds."""
        if self.passages:
            size = self.piece
            pieces = {text[at : at + size] for at in range(0, len(text), self.stride)}
            for seen in pieces & self.passages.keys():
                yield from (passage for passage in self.passages[seen] if passage in text)


class Scanner:
    """All drafts' sentinels, filed for looking up."""

    def __init__(self, sentinels: Sentinels) -> None:
        self._sentinels = sentinels
        self._long = Filed(piece=STRETCH - 7, stride=8)
        self._short = Filed(piece=SHORTEST_TITLE - 3, stride=4)
        for passage in sentinels.passages:
            (self._long if len(passage) >= STRETCH else self._short).add(passage)

    def keys(self, path: str, data: bytes) -> set[Key]:
        """The sentinels found in a file's path and bytes."""
        found = self._names_in(f"/{path}")
        for reading in readings(data):
            found |= self._names_in(reading.whole)
            # A name in pieces, such as g-<b>0077</b>, is whole again outside the tags.
            found |= {("word", word) for word in self._sentinels.words.keys() & words(reading.text)}
            for squeezed in (squeeze(reading.text), squeeze(reading.tags)):
                found |= {("passage", passage) for filed in (self._long, self._short) for passage in filed.found_in(squeezed)}
        contents = [data, data.partition(b"\0")[2]] if data.startswith(b"blob ") else [data]  # a git object's head
        return found | {("digest", name) for name in map(digest, contents) if name in self._sentinels.digests}

    def _names_in(self, text: str) -> set[Key]:
        seen = words(text)
        found: set[Key] = {("word", word) for word in self._sentinels.words.keys() & seen}
        if self._sentinels.file_names:
            found |= {("word", name) for name in self._sentinels.file_names.keys() & file_names(text)}
        parts = self._sentinels.address_parts.keys() & seen
        return found | {("part", part) for part in parts if _is_in_address(part, text)}


def _is_in_address(slug: str, text: str) -> bool:
    text = VOCABULARY.sub("", text) if "xmlns" in text else text
    return re.search(ADDRESS_PART.format(slug=re.escape(slug)), text, re.IGNORECASE) is not None


def _public(keys: set[Key], approved: Sequence[PublicArticle]) -> set[Key]:
    """Those of ``keys`` that stand in the approved articles' own text."""
    public: set[Key] = set()
    passages = {value for kind, value in keys if kind == "passage" and isinstance(value, bytes)}
    parts = {value for kind, value in keys if kind == "part" and isinstance(value, str)}
    for article in approved if keys else ():
        text = "\n".join((article.id, article.url, article.guid, article.title, article.summary, article.body))
        terms = (article.category, *article.tags)
        seen = words(text) | set(terms)
        public |= {("word", word) for word in seen | file_names(text) | set(article.files)}
        public |= {("part", part) for part in parts & seen if part in terms or _is_in_address(part, text)}
        public |= {("digest", digest(data)) for data in article.files.values()}
        for squeezed in (squeeze(text), squeeze(ADDRESSES.sub(" ", text))):
            public |= {("passage", passage) for passage in passages if passage in squeezed}
    return public & keys
