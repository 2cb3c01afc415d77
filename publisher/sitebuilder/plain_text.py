"""The one spelling in which texts are compared when looking for leaks.

``squeeze`` keeps letters and digits only, in one case and one Unicode form. So spacing, line ends, hyphens, quotation marks,
Markdown and the brackets of tags make no difference, in whatever way a text was wrapped, typeset or split.
"""

from __future__ import annotations

import re
import unicodedata

_KEPT = b"abcdefghijklmnopqrstuvwxyz0123456789"
_DROPPED = bytes(code for code in range(128) if bytes((code,)).lower() not in (bytes((kept,)) for kept in _KEPT))
_LOWER = bytes(code + 32 if 65 <= code <= 90 else code for code in range(256))
_NOT_WORD = re.compile(r"(?:[^\w\x00-\x7f])+")


def squeeze(text: str) -> bytes:
    """``text`` as UTF-8 with nothing but letters and digits, casefolded, in NFKC."""
    if not text.isascii():
        text = _NOT_WORD.sub("", unicodedata.normalize("NFKC", text).casefold())
    return text.encode("utf-8", "ignore").translate(_LOWER, _DROPPED)
