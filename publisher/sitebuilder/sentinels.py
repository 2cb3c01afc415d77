"""What gives a private draft away: short pieces of it that do not occur by chance.

Rules:
* a draft's id, as a word; its slug as part of an address, and as a word when it is long (8) or has two words;
* title, summary, every line, every sentence, and every stretch of 24 letters of the text, compared in one spelling
  (``plain_text.squeeze``), so that whoever copies two lines, however set, carries at least one of them along;
* the bytes of its images, as they are and as they would be published; an image's name when it is distinctive;
* links are left out of the text: addresses are repeated everywhere, and prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from publisher.domain.article import Draft
from publisher.domain.fingerprint import digest
from publisher.errors import InputProblem
from publisher.sitebuilder import images
from publisher.sitebuilder.plain_text import squeeze
from publisher.sitebuilder.references import IMAGE_TYPES, suffix

Key = TypeVar("Key", str, bytes)

STRETCH = 24
SHORTEST_TITLE = 10
ADDRESSES = re.compile(r"\]\([^)\s]*[^)]*\)|<?https?://[^\s>)]+>?|^\[[^\]]+\]:\s*\S+", re.MULTILINE)
SENTENCE_END = re.compile(r"[.!?;:。！？；：]\s|[。！？；：]|\n\s*\n")


@dataclass(frozen=True, kw_only=True)
class Sentinels:
    """What to look for; each maps to the ids of the drafts that it stands for."""

    passages: Mapping[bytes, frozenset[str]] = field(repr=False)
    words: Mapping[str, frozenset[str]] = field(repr=False)
    address_parts: Mapping[str, frozenset[str]] = field(repr=False)
    digests: Mapping[str, frozenset[str]] = field(repr=False)


def sentinels_of(drafts: list[Draft]) -> Sentinels:
    """The sentinels of all drafts together."""
    passages: dict[bytes, set[str]] = {}
    words: dict[str, set[str]] = {}
    parts: dict[str, set[str]] = {}
    digests: dict[str, set[str]] = {}
    for draft in drafts:
        for passage in _passages(draft):
            passages.setdefault(passage, set()).add(draft.id)
        for word in _words(draft):
            words.setdefault(word, set()).add(draft.id)
        if not draft.slug.isdigit():  # /page/1/ is nobody's secret
            parts.setdefault(draft.slug.lower(), set()).add(draft.id)
        for image_digest in _digests(draft):
            digests.setdefault(image_digest, set()).add(draft.id)
    return Sentinels(passages=_frozen(passages), words=_frozen(words), address_parts=_frozen(parts), digests=_frozen(digests))


def _frozen(found: dict[Key, set[str]]) -> dict[Key, frozenset[str]]:
    return {key: frozenset(ids) for key, ids in found.items()}


def _passages(draft: Draft) -> Iterator[bytes]:
    title = draft.title.reveal()
    squeezed = squeeze(title)
    # One plain word, or a very short title, stands in other people's texts too.
    if len(squeezed) >= SHORTEST_TITLE and (len(title.split()) > 1 or not title.isascii()):
        yield squeezed
    text = ADDRESSES.sub(" ", draft.body.reveal())
    pieces = [draft.summary.reveal(), *text.splitlines(), *SENTENCE_END.split(text)]
    yield from {piece for piece in map(squeeze, pieces) if len(piece) >= STRETCH}
    whole = squeeze(text)
    yield from (whole[at : at + STRETCH] for at in range(0, len(whole) - STRETCH + 1, STRETCH))


def _words(draft: Draft) -> Iterator[str]:
    yield draft.id.lower()
    if _is_distinctive(draft.slug):
        yield draft.slug.lower()
    for name in draft.files:
        if suffix(name) in IMAGE_TYPES and _is_distinctive(name.rsplit(".", 1)[0]):
            yield name.lower()


def _is_distinctive(name: str) -> bool:
    return len(name) >= 8 or "-" in name or "_" in name


def _digests(draft: Draft) -> Iterator[str]:
    for name, data in draft.files.items():
        yield digest(data)
        if suffix(name) in IMAGE_TYPES:
            try:
                yield digest(images.clean(name, data, name))
            except InputProblem:
                continue  # an image that cannot become public has no public form to look for
