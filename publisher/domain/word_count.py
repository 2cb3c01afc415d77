"""How long a text is, in words: what tells a reviewer how much there is to read.

Rules:
* a word stands between spaces and holds a letter or a digit; signs alone are none;
* Chinese and Japanese put no spaces between words, so each of their characters counts as one; Korean does put them;
* what Markdown needs and nobody reads does not count: targets of links, tags, comments, numbers of lists, fences.
"""

from __future__ import annotations

import re

# Han, Hiragana, Katakana (whole and half width) and Bopomofo, with the marks that repeat or lengthen a character.
_EACH = re.compile(
    "[\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af]"
)
_LINES = re.compile(r"^[ \t>]*(?:(?:`{3,}|~{3,}).*|\[[^\]\n]+\]:[ \t].*)$", re.MULTILINE)
"""Lines that open or close a fence, or say where a link of another line leads."""
_NUMBERS = re.compile(r"^[ \t>]*[0-9]{1,9}[.)][ \t]", re.MULTILINE)
_TARGETS = re.compile(r"\]\([^()\n]*\)")
_TAGS = re.compile(r"<[A-Za-z/!?][^<>]*>")


def count_words(markdown: str) -> int:
    """The words of a Markdown text."""
    text = _TAGS.sub(" ", _without_comments(markdown))
    for unread in (_LINES, _NUMBERS):
        text = unread.sub("", text)
    text = _TARGETS.sub("] ", text)
    spaced, each = _EACH.subn(" ", text)
    return each + sum(any(map(str.isalnum, word)) for word in spaced.split())


def _without_comments(text: str) -> str:
    before, *rest = text.split("<!--")
    # Not a pattern: one that looks for the end of every comment takes for ever in a text that closes none.
    return before + "".join(part.partition("-->")[2] if "-->" in part else part for part in rest)
