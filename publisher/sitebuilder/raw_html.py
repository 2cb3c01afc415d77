"""HTML that an author wrote into Markdown: an allow-list of elements, written anew from what was read.

Rules:
* nothing is dropped silently: an element or attribute outside the list is refused, with its place; comments alone are left out,
  because nobody reads them on the page, and nobody should read them in its source;
* what is opened is closed in the same block of Markdown, so that a text cannot break out of its place on the page;
* a link follows the rules of Markdown's links; pictures are Markdown's;
* everything is written anew: the author's spelling, quoting and case never reach the page.

The elements are those of HTML's text-level semantics and grouping content (https://html.spec.whatwg.org/multipage/, 4.4 and 4.5)
that need no script, no style and no address but a link's.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from html.parser import HTMLParser

WITHIN_TEXT = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "cite",
        "code",
        "del",
        "dfn",
        "em",
        "i",
        "ins",
        "kbd",
        "mark",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "u",
        "var",
    ]
)
BLOCKS = frozenset(
    [
        "blockquote",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "li",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "ul",
    ]
)
EMPTY = frozenset({"br", "hr", "wbr"})
ATTRIBUTES = {
    "a": {"href", "title"}, "abbr": {"title"}, "bdo": {"dir"}, "del": {"datetime"}, "details": {"open"}, "dfn": {"title"},
    "ins": {"datetime"}, "ol": {"start", "reversed"}, "time": {"datetime"},
}  # fmt: skip
EVERYWHERE = frozenset({"lang", "dir"})


class Refused(Exception):
    """``code`` and ``says`` of a refusal, and ``at``: how many characters of the fragment stand before the place."""

    def __init__(self, code: str, says: str, at: int) -> None:
        super().__init__(code)
        self.code, self.says, self.at = code, says, at


def written(source: str, opened: list[str], block: bool, link: Callable[[str], str]) -> str:
    """A fragment, written anew. ``opened`` is what is open where it begins, and afterwards what is open at its end.

    ``block`` is whether elements may stand here that hold paragraphs; ``link`` gives the address for an author's ``href``.
    """
    reader = _Reader(source, opened, block, link)
    try:
        reader.feed(source)
        reader.close()
    except AssertionError:  # how Python's reader says that it does not know a declaration
        raise Refused("html-refused", "a declaration may not stand in a text", 0) from None
    return "".join(reader.made)


class _Reader(HTMLParser):
    def __init__(self, source: str, opened: list[str], block: bool, link: Callable[[str], str]) -> None:
        super().__init__(convert_charrefs=True)
        self._lines = [0]
        for line in source.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        self._source, self._opened, self._block, self._link = source, opened, block, link
        self.made: list[str] = []

    def _at(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def _refuse(self, code: str, says: str) -> Refused:
        return Refused(code, says, self._at())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in WITHIN_TEXT | EMPTY and not (self._block and tag in BLOCKS):
            raise self._refuse("html-refused", f"the element {_shown(tag)} may not stand here")
        self.made.append(f"<{tag}{''.join(self._attribute(tag, name, value or '') for name, value in attrs)}>")
        if tag not in EMPTY:
            self._opened.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in EMPTY:
            raise self._refuse("html-refused", f"the element {_shown(tag)} is closed by a tag of its own")
        self.handle_starttag(tag, attrs)

    def _attribute(self, tag: str, name: str, value: str) -> str:
        if name not in EVERYWHERE and name not in ATTRIBUTES.get(tag, ()):
            raise self._refuse("html-refused", f"the element {tag} may not have the attribute {_shown(name)}")
        if name == "href":
            value = self._link(value)
        return f' {name}="{escape(value)}"'

    def handle_endtag(self, tag: str) -> None:
        if tag in EMPTY or not self._opened or self._opened[-1] != tag:
            raise self._refuse("html-unbalanced", f"the element {_shown(tag)} is not the one to close here")
        self._opened.pop()
        self.made.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.made.append(escape(data, quote=False))

    def handle_comment(self, data: str) -> None:
        """Left out."""

    def handle_decl(self, decl: str) -> None:
        raise self._refuse("html-refused", "a declaration may not stand in a text")

    def handle_pi(self, data: str) -> None:
        raise self._refuse("html-refused", "a processing instruction may not stand in a text")

    def unknown_decl(self, data: str) -> None:
        raise self._refuse("html-refused", "a declaration may not stand in a text")


def _shown(name: str) -> str:
    """A tag's or attribute's name for a message, which never quotes more of a text than such a name."""
    return name if name.isascii() and name.isalnum() and len(name) <= 20 else "of an unusual name"
