"""Which characters may stand in text that becomes public.

Rules:
* only what XML 1.0 can hold (https://www.w3.org/TR/xml/#charsets), since every text ends in a feed: one control character
  makes the whole feed unreadable for all its readers;
* no C1 controls: legal XML, but never meant;
* one-line fields hold no line break of any kind.
"""

from __future__ import annotations

import re

ILLEGAL = re.compile("[^\t\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
LINE_BREAK = re.compile("[\n\r\v\f\u0085\u2028\u2029]")


def illegal_line(text: str) -> int:
    """The number of the first line (from 1) with a character that may not become public; 0 when there is none."""
    found = ILLEGAL.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def is_one_line(text: str) -> bool:
    """Whether ``text`` is legal, without line break or tab."""
    return not (ILLEGAL.search(text) or LINE_BREAK.search(text) or "\t" in text)
