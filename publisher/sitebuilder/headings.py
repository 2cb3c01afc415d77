"""Headings and the ids by which they are linked: as GitHub makes them, a repeated one with a number."""

from __future__ import annotations

import re
from dataclasses import dataclass

NOT_IN_SLUG = re.compile(r"[^\w\s-]|_")
FOOTNOTE_ID = re.compile(r"fn(?:ref)?[0-9-]+")


@dataclass(frozen=True, kw_only=True)
class Heading:
    """``level`` 2 to 6, ``anchor`` its id, ``text`` without marks."""

    level: int
    anchor: str
    text: str


class Headings:
    """Names one text's headings, in their order."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self._numbers: dict[str, int] = {}

    def anchor(self, text: str) -> str:
        base = "-".join(NOT_IN_SLUG.sub("", text.strip().lower()).split()).strip("-") or "section"
        # The footnotes' own ids start like this.
        base = f"section-{base}" if FOOTNOTE_ID.fullmatch(base) else base
        anchor, number = base, self._numbers.get(base, 1)
        while anchor in self.used:
            anchor, number = f"{base}-{number}", number + 1
        self._numbers[base] = number
        self.used.add(anchor)
        return anchor
