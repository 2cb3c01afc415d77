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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from publisher.domain.article import Draft
from publisher.domain.fingerprint import digest
from publisher.errors import InputProblem
from publisher.sitebuilder import images
from publisher.sitebuilder.plain_text import squeeze
from publisher.sitebuilder.readings import undo_escapes
from publisher.sitebuilder.references import IMAGE_TYPES, suffix

Key = TypeVar("Key", str, bytes)

STRETCH = 24
SHORTEST_TITLE = 10
ADDRESSES = re.compile(r"\]\([^)\s]*[^)]*\)|<?https?://[^\s>)]+>?|^\[[^\]]+\]:\s*\S+", re.MULTILINE)
SENTENCE_END = re.compile(r"[.!?;:。！？；：]\s|[。！？；：]|\n\s*\n")


@dataclass(frozen=True, kw_only=True)
class Sentinels:
    """What to look for; each maps to the ids of the drafts that it stands for."""

    passages: Mapping[bytes, set[str]] = field(repr=False)
    words: Mapping[str, set[str]] = field(repr=False)
    file_names: Mapping[str, set[str]] = field(repr=False)
    address_parts: Mapping[str, set[str]] = field(repr=False)
    digests: Mapping[str, set[str]] = field(repr=False)

    def drafts_of(self, kind: str, sentinel: str | bytes) -> set[str]:
        """The drafts that a sentinel stands for; ``kind`` is passage, word (or file name), part or digest."""
        if isinstance(sentinel, bytes):
            return self.passages[sentinel]
        if kind == "word":
            return self.words.get(sentinel, set()) | self.file_names.get(sentinel, set())
        return self.address_parts[sentinel] if kind == "part" else self.digests[sentinel]


def sentinels_of(drafts: Sequence[Draft]) -> Sentinels:
    """The sentinels of all drafts together."""
    return Sentinels(
        passages=_by_sentinel(drafts, _passages),
        words=_by_sentinel(drafts, _words),
        file_names=_by_sentinel(drafts, _file_names),
        # /page/1/ is nobody's secret
        address_parts=_by_sentinel(drafts, lambda draft: () if draft.slug.isdigit() else (draft.slug.lower(),)),
        digests=_by_sentinel(drafts, _digests),
    )


def _by_sentinel(drafts: Sequence[Draft], sentinels: Callable[[Draft], Iterable[Key]]) -> dict[Key, set[str]]:
    found: dict[Key, set[str]] = {}
    for draft in drafts:
        for sentinel in sentinels(draft):
            found.setdefault(sentinel, set()).add(draft.id)
    return found


def _passages(draft: Draft) -> Iterator[bytes]:
    texts = (draft.title.reveal(), draft.summary.reveal(), ADDRESSES.sub(" ", draft.body.reveal()))
    yield from _passages_of(*texts)
    # Everything is read with its escapes undone; a draft that speaks about %20 looks different then.
    undone = tuple(map(undo_escapes, texts))
    if undone != texts:
        yield from _passages_of(*undone)


def _passages_of(title: str, summary: str, text: str) -> Iterator[bytes]:
    squeezed = squeeze(title)
    # One plain word, or a very short title, stands in other people's texts too.
    if len(squeezed) >= SHORTEST_TITLE and (len(title.split()) > 1 or not title.isascii()):
        yield squeezed
    pieces = [summary, *text.splitlines(), *SENTENCE_END.split(text)]
    yield from {piece for piece in map(squeeze, pieces) if len(piece) >= STRETCH}
    whole = squeeze(text)
    yield from (whole[at : at + STRETCH] for at in range(0, len(whole) - STRETCH + 1, STRETCH))


def _words(draft: Draft) -> Iterator[str]:
    yield draft.id.lower()
    if _is_distinctive(draft.slug):
        yield draft.slug.lower()


def _file_names(draft: Draft) -> Iterator[str]:
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
