"""The events of a Markdown text, and where they stand: the parser of ``article_html.py``.

The parser (pulldown-cmark, through ``pyromark``) is linear in the length of a text, and bounds what references expand to. Where an
event stands in the text is asked only when a refusal must say so, or a link into the site.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any

from publisher.errors import InputProblem
from publisher.sitebuilder import inline_text
from publisher.sitebuilder.limits import MOST_TOKENS
from publisher.sitebuilder.references import Kind, Source, check_image, file_name, kind_of_link

MOST_EVENTS = 2 * MOST_TOKENS

Event = tuple[str, Any]
"""What happens (``Start``, ``End``, ``Text``, ``SoftBreak`` …) and to what: a block or mark is a name, or a name with details."""


def events_of(text: str, places: Places) -> list[Event]:
    found = list(islice(parser().events(text), MOST_EVENTS + 1))
    if len(found) > MOST_EVENTS:
        raise InputProblem("text-too-tangled", "a text has too many parts", where=places.source.at(1))
    return [(event, None) if type(event) is str else next(iter(event.items())) for event in found]


class Places:
    """Where events stand in the text: asked for a refusal, and for links into the site."""

    def __init__(self, text: str, source: Source) -> None:
        self._text, self.source = text, source
        self._starts: list[int] = []
        self._breaks: list[int] = []
        self._bytes = b""

    def offset(self, index: int) -> int:
        """The place of an event, in bytes."""
        if not self._starts:
            self._bytes = self._text.encode("utf-8")
            self._breaks = [at for at, sign in enumerate(self._bytes) if sign == 10]
            self._starts = [place["start"] for _, place in parser().events_with_range(self._text, merge_text=True)]
        return self._starts[index] if index < len(self._starts) else len(self._bytes)

    def line(self, index: int) -> int:
        """The line of an event, from 1."""
        return bisect_left(self._breaks, self.offset(index)) + 1

    def at(self, index: int, more: int = 0) -> str:
        """``path:line:col`` of an event, or of the sign that many characters after its beginning."""
        start = self.offset(index)
        line = bisect_left(self._breaks, start) + 1
        begin = self._breaks[line - 2] + 1 if line > 1 else 0
        return self.source.at(line, len(self._bytes[begin:start].decode("utf-8", "replace")) + 1 + more)

    def checked(self, index: int, act: Callable[[str], Any]) -> Any:
        """What ``act`` gives; the place is worked out only when it refuses."""
        try:
            return act("")
        except InputProblem as problem:
            raise InputProblem(problem.code, problem.says, where=self.at(index)) from None


@cache
def parser() -> Any:
    from pyromark import Markdown, Options

    on = (
        Options.ENABLE_TABLES, Options.ENABLE_FOOTNOTES, Options.ENABLE_STRIKETHROUGH, Options.ENABLE_TASKLISTS,
        Options.ENABLE_GFM, Options.ENABLE_MATH, Options.ENABLE_DEFINITION_LIST,
    )  # fmt: skip
    options = on[0]
    for option in on[1:]:
        options |= option
    return Markdown(options=options)


def references(markdown: str) -> tuple[str, ...]:
    """The names of the files beside the article that its images and links use, sorted. ``InputProblem`` names the place.

    A front matter block may stand before the text; it is Markdown's thematic break and heading, and names no file.
    """
    places, names = Places(markdown, Source(path="index.md")), set()
    for index, (kind, value) in enumerate(events_of(markdown, places)):
        if kind == "Start" and isinstance(value, dict):
            if "Image" in value:
                check_image(value["Image"]["dest_url"], places.at(index))
                names.add(file_name(value["Image"]["dest_url"]))
            elif "Link" in value and value["Link"]["link_type"] != "Email":
                target = value["Link"]["dest_url"]
                if places.checked(index, partial(kind_of_link, target)) is Kind.FILE:
                    names.add(file_name(target))
    return tuple(sorted(names))


def named(value: Any) -> tuple[str, Any]:
    """The name of a block or mark that starts or ends, and its details."""
    if type(value) is str:
        return value, None
    name, more = next(iter(value.items()))
    return name, more


def parts_of(events: Sequence[Event]) -> tuple[list[int], dict[str, list[int]], dict[str, str]]:
    """The events of the text, those of each footnote by its name, and the abbreviations, whose paragraphs are no part of the text."""
    text: list[int] = []
    notes: dict[str, list[int]] = {}
    short: dict[str, str] = {}
    stack, index = [text], 0
    while index < len(events):
        kind, value = events[index]
        if kind == "Start" and type(value) is dict and "FootnoteDefinition" in value:
            stack.append(notes.setdefault(value["FootnoteDefinition"], []))
        elif kind == "End" and value == "FootnoteDefinition":
            stack.pop()
        elif kind == "Start" and value == "Paragraph" and (found := _abbreviations(events, index)):
            short |= found[0]
            index = found[1]
        else:
            stack[-1].append(index)
        index += 1
    return text, notes, short


def _abbreviations(events: Sequence[Event], index: int) -> tuple[dict[str, str], int] | None:
    """What the paragraph that begins here defines, and where it ends; None when it is an ordinary one."""
    kind, value = events[index + 1]
    if kind != "Text" or not value.startswith("*["):
        return None
    lines, at = [""], index + 1
    while events[at] != ("End", "Paragraph"):
        kind, value = events[at]
        if kind == "SoftBreak":
            lines.append("")
        elif kind == "Text":
            lines[-1] += value
        else:
            return None
        at += 1
    found = inline_text.abbreviations(lines)
    return (found, at) if found else None


def end_of_image(events: Sequence[Event], index: int) -> int:
    """Where the picture ends that begins at ``index``; others may stand in its text."""
    depth = 0
    for at in range(index, len(events)):
        kind, value = events[at]
        depth += (kind == "Start" and type(value) is dict and "Image" in value) - ((kind, value) == ("End", "Image"))
        if not depth:
            return at
    return len(events) - 1
