"""Plain text between Markdown's marks: escaped, with bare addresses as links and abbreviations with what they stand for.

Rules:
* a bare address is what GitHub makes a link of (https://github.github.com/gfm/, 6.9): ``www.``, ``http://``, ``https://`` and mail
  addresses; punctuation at its end, and a bracket that it did not open, belong to the sentence;
* an abbreviation is explained where it first stands as a word of its own; ``*[GFM]: GitHub Flavored Markdown`` says what it means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from urllib.parse import quote, urlsplit, urlunsplit

HOST = r"(?:[\w-]+\.)+[^\W_][\w-]*"
BARE = re.compile(
    rf"(?<![\w/@.+-])(?:(?P<url>https?://(?:{HOST}|localhost)[^\s<]*)|(?P<www>www\.{HOST}[^\s<]*)"
    r"|(?P<mail>[A-Za-z0-9._+-]+@(?:[A-Za-z0-9_-]+\.)+[A-Za-z0-9-]*[A-Za-z0-9])(?![\w/@-]))",
    re.IGNORECASE,
)
MAY_HAVE = re.compile(r"://|www\.|@", re.IGNORECASE)
CLOSING = "?!.,:*_~'\""
ENTITY = re.compile(r"&[A-Za-z0-9]{1,32};\Z")
DEFINITION = re.compile(r"\*\[(?P<short>[^\[\]\n]{1,100})\]:[ \t]+(?P<long>\S.{0,299})")
PLAIN_ADDRESS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*", re.ASCII)


def address(target: str) -> str:
    """A link's target as an ASCII URL: other signs percent-encoded, a host's in its ASCII form."""
    if PLAIN_ADDRESS.fullmatch(target):
        return target
    try:
        parts = urlsplit(target)
        host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode("ascii")
        target = urlunsplit(parts._replace(netloc=host))
    except (ValueError, UnicodeError):
        pass  # no host that could be told apart: encoded as a whole
    return quote(target, safe="-._~:/?#[]@!$&'()*+,;=%")


def abbreviations(lines: list[str]) -> dict[str, str] | None:
    """The abbreviations that a paragraph defines, when it does nothing else."""
    found = [DEFINITION.fullmatch(line) for line in lines]
    return {m["short"].strip(): m["long"].strip() for m in found if m} if found and all(found) else None


def explained(abbreviations: Mapping[str, str]) -> Callable[[str], str]:
    """Makes of plain text its HTML, with each of the abbreviations explained where it stands first."""
    left = dict(abbreviations)
    names = "|".join(re.escape(name) for name in sorted(abbreviations, key=lambda name: (-len(name), name)))
    words = re.compile(rf"(?<!\w)(?:{names})(?!\w)")

    def made(text: str) -> str:
        parts, at = [], 0
        for found in words.finditer(text) if left else ():
            if found[0] not in left:
                continue
            parts.append(escape(text[at : found.start()], quote=False))
            parts.append(f'<abbr title="{escape(left.pop(found[0]))}">{escape(found[0], quote=False)}</abbr>')
            at = found.end()
        return "".join((*parts, escape(text[at:], quote=False)))

    return made


def plain(text: str) -> str:
    return escape(text, quote=False)


def linked(text: str, words: Callable[[str], str]) -> str:
    """The HTML of ``text`` outside a link; ``words`` makes that of what is no bare address."""
    if not MAY_HAVE.search(text):
        return words(text)
    parts, at = [], 0
    for found in BARE.finditer(text):
        shown = found["mail"] or _without_closing(found[0])
        target = f"mailto:{shown}" if found["mail"] else f"http://{shown}" if found["www"] else shown
        parts.append(words(text[at : found.start()]))
        parts.append(f'<a href="{escape(address(target))}">{escape(shown, quote=False)}</a>')
        at = found.start() + len(shown)
    return "".join((*parts, words(text[at:])))


def _without_closing(found: str) -> str:
    """What of a bare address is its own: no punctuation at its end, no bracket that it did not open."""
    end, spare = len(found), found.count(")") - found.count("(")
    while end:
        sign = found[end - 1]
        entity = ENTITY.search(found, max(0, end - 40), end) if sign == ";" else None
        if entity:
            end = entity.start()
        elif sign == ")" and spare > 0:
            end, spare = end - 1, spare - 1
        elif sign in CLOSING:
            end -= 1
        else:
            break
    return found[:end]
