"""The one spelling in which texts are compared when looking for leaks.

``squeeze`` keeps letters and digits only, in one case and one Unicode form. So spacing, line ends, hyphens, quotation marks,
Markdown and the brackets of tags make no difference, in whatever way a text was wrapped, typeset or split.
"""

from __future__ import annotations

import re
import string
import unicodedata

_DROPPED = bytes(code for code in range(128) if not chr(code).isalnum())
_LOWER = bytes(code + 32 if 65 <= code <= 90 else code for code in range(256))
_NOT_ASCII = re.compile("[^\x00-\x7f]")


def squeeze(text: str) -> bytes:
    """``text`` as UTF-8 with nothing but letters and digits, casefolded, in NFKC."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).casefold()
        for sign in {sign for sign in _NOT_ASCII.findall(text) if not sign.isalnum()}:
            text = text.replace(sign, "")
    return text.encode("utf-8", "ignore").translate(_LOWER, _DROPPED)


def _table(kept: str) -> bytes:
    letters = (string.ascii_letters + string.digits + kept).encode()
    return bytes(_LOWER[code] if code in letters else 32 for code in range(256))


_WORDS = _table("-")
_NAMES = _table("-_.")


def words(text: str) -> set[str]:
    """The words of ``text`` as ids and slugs are made: small letters, digits and hyphens."""
    return set(text.encode("utf-8", "ignore").translate(_WORDS).decode("ascii").split())


def file_names(text: str) -> set[str]:
    """Whatever in ``text`` could be a file's name."""
    return set(text.encode("utf-8", "ignore").translate(_NAMES).decode("ascii").split())
