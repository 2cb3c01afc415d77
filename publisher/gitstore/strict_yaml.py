"""A strict reading of YAML: few types, no surprises, and a position for everything.

Rules:
* true, false, null and whole numbers are what they look like; everything else is text: dates, ``9:00``, ``no``, ``017``,
  ``1e5`` (an approval names a digest over the values, so no value may depend on a YAML library's taste; libyaml and
  PyYAML's own parser each refuse a few odd spellings that the other takes; what both take means the same);
* what can hide something is refused, each with a code of its own: anchors and aliases, merge keys, tags, directives, a second
  document, repeated keys, keys that are not text, control and direction-changing characters, byte-order marks;
* size and depth are bounded before and while parsing;
* the library's error texts, which quote the file, are never passed on: only where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from publisher.errors import InputProblem

MOST = 64 * 1024
"""Bytes of an ordinary file."""
DEEPEST = 16
LARGEST = 2**53 - 1
"""What canonical JSON can hold; see ``domain/fingerprint.py``."""

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,15}", re.ASCII)
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}

# C0 but for the line feed, DEL, C1 (with NEL), the Unicode line separators, and code points that are no characters.
_CONTROL = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufdd0-\ufdef\ufffe\uffff]")
# They change the order in which text is shown, or show nothing: what a reviewer sees is then not what is there.
_HIDING = re.compile("[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff]")

Path = Sequence[str | int]
_Place = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file's values and where each of them stands."""

    data: Any = field(repr=False)
    path: str
    places: dict[tuple[str | int, ...], _Place] = field(repr=False)
    keys: dict[tuple[str | int, ...], _Place] = field(repr=False)

    def where(self, json_path: Path = (), key: bool = False) -> str:
        """``path:line:col`` of a value (or of its key); of the nearest thing above it where it does not exist."""
        return where(self.path, self.place(json_path, key))

    def place(self, json_path: Path = (), key: bool = False) -> _Place:
        wanted = tuple(json_path)
        if key and wanted in self.keys:
            return self.keys[wanted]
        while wanted and wanted not in self.places:
            wanted = wanted[:-1]
        return self.places[wanted]


def where(path: str, place: _Place) -> str:
    return f"{path}:{place[0]}:{place[1]}"


def load(data: bytes, path: str, *, first_line: int = 1, most: int = MOST) -> Document:
    """The one document in ``data``. ``InputProblem`` with its place otherwise.

    ``first_line`` is the number of the text's first line in its file, for front matter; ``most`` bounds the bytes.
    """
    text = _text(data, path, first_line, most)
    return _Reader(path, first_line).read(text)


def _text(data: bytes, path: str, first_line: int, most: int) -> str:
    start = where(path, (first_line, 1))
    if len(data) > most:
        raise InputProblem("yaml-too-big", f"this file is larger than {most // 1024} KiB", where=start)
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise InputProblem(
            "yaml-byte-order-mark", "a byte-order mark stands before the first character; save as plain UTF-8", where=start
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        place = _place_in(data[: problem.start].decode("utf-8"), first_line)
        raise InputProblem("yaml-not-utf8", "this is not UTF-8 text", where=where(path, place))
    found = _CONTROL.search(text) or _HIDING.search(text)
    if found:
        code, says = _character_problem(found[0])
        raise InputProblem(code, says, where=where(path, _place_in(text[: found.start()], first_line)))
    return text


def _character_problem(character: str) -> tuple[str, str]:
    if character == "\t":
        return "yaml-tab", "a tab stands here; YAML is indented by spaces"
    if character == "\r":
        return "yaml-line-ends", "lines end with a carriage return; save with LF line ends"
    if _HIDING.match(character):
        return "yaml-hidden-character", "a character stands here that hides or reorders text"
    return "yaml-control-character", "a control character stands here"


def _place_in(before: str, first_line: int) -> _Place:
    return first_line + before.count("\n"), len(before) - (before.rfind("\n") + 1) + 1


class _Reader:
    """Builds values from a YAML parser's events, so that nothing is constructed that was not asked for."""

    def __init__(self, path: str, first_line: int) -> None:
        self._path = path
        self._first_line = first_line
        self._places: dict[tuple[str | int, ...], _Place] = {}
        self._keys: dict[tuple[str | int, ...], _Place] = {}

    def read(self, text: str) -> Document:
        import yaml  # imported late: start-up time

        parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            data = self._document(yaml.parse(text, Loader=parser))
        except yaml.MarkedYAMLError as problem:
            mark = problem.problem_mark or problem.context_mark
            raise self._syntax(text, (mark.line, mark.column) if mark else (0, 0))
        except yaml.YAMLError:
            raise self._syntax(text, (0, 0))
        return Document(data=data, path=self._path, places=self._places, keys=self._keys)

    def _syntax(self, text: str, at: tuple[int, int]) -> InputProblem:
        place = (self._first_line + at[0], at[1] + 1)
        line = text.split("\n")[at[0]] if at[0] <= text.count("\n") else ""
        if re.search(r"\\u[dD][89a-fA-F]", line):
            return self._problem("yaml-surrogate", "half of a surrogate pair is no character", place)
        return self._problem("yaml-syntax", "this is not well-formed YAML", place)

    def _problem(self, code: str, says: str, place: _Place) -> InputProblem:
        return InputProblem(code, says, where=where(self._path, place))

    def _at(self, event: Any) -> _Place:
        return self._first_line + event.start_mark.line, event.start_mark.column + 1

    def _document(self, events: Iterator[Any]) -> Any:
        import yaml

        data, seen = None, 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                seen += 1
                if seen > 1:
                    raise self._problem("yaml-documents", "a second document begins here; a file holds one", self._at(event))
                if event.version or event.tags:
                    raise self._problem("yaml-directive", "directives (%YAML, %TAG) are not used", self._at(event))
                data = self._value(next(events), events, ())
        if not seen:
            raise self._problem("yaml-empty", "this file is empty", (self._first_line, 1))
        return data

    def _value(self, event: Any, events: Iterator[Any], path: tuple[str | int, ...]) -> Any:
        import yaml

        place = self._at(event)
        self._places[path] = place
        if isinstance(event, yaml.AliasEvent):
            raise self._problem("yaml-alias", "aliases (*name) are not used; write the value out", place)
        if event.anchor is not None:
            raise self._problem("yaml-anchor", "anchors (&name) are not used", place)
        if event.tag is not None:
            raise self._problem("yaml-tag", "tags (!name) are not used", place)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if len(path) >= DEEPEST:
            raise self._problem("yaml-too-deep", f"values are nested more than {DEEPEST} deep", place)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(events, path)
        return self._mapping(events, path)

    def _list(self, events: Iterator[Any], path: tuple[str | int, ...]) -> list[Any]:
        import yaml

        items: list[Any] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._value(event, events, (*path, len(items))))
        return items

    def _mapping(self, events: Iterator[Any], path: tuple[str | int, ...]) -> dict[str, Any]:
        import yaml

        items: dict[str, Any] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._key(event, events, path)
            place = self._at(event)
            if key in items:
                line = self._keys[(*path, key)][0]
                raise self._problem("yaml-repeated-key", f"this key stands on line {line} already", place)
            self._keys[(*path, key)] = place
            items[key] = self._value(next(events), events, (*path, key))
        return items

    def _key(self, event: Any, events: Iterator[Any], path: tuple[str | int, ...]) -> str:
        import yaml

        place = self._at(event)
        if not isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
            raise self._problem("yaml-key", "a key is text", place)
        if isinstance(event, yaml.ScalarEvent) and not event.style and event.value == "<<":
            raise self._problem("yaml-merge-key", "merge keys (<<) are not used; write the values out", place)
        kept = self._places.get(path)
        key = self._value(event, events, path)
        if kept:
            self._places[path] = kept
        if not isinstance(key, str):
            raise self._problem("yaml-key", "a key is text; put it in quotes", place)
        return key

    def _scalar(self, event: Any) -> str | int | bool | None:
        text: str = event.value
        if not event.style:  # plain: neither quoted nor a block; libyaml says "", PyYAML None
            if text in _WORDS:
                return _WORDS[text]  # type: ignore[no-any-return]
            if _INTEGER.fullmatch(text):
                return self._integer(int(text), self._at(event))
        # A quoted text can spell any character with a backslash.
        found = _CONTROL.search(text) or _HIDING.search(text)
        if found:
            code, _ = _character_problem(found[0])
            raise self._problem(code, "a text holds a control, hiding or reordering character", self._at(event))
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise self._problem("yaml-surrogate", "half of a surrogate pair is no character", self._at(event))
        return text

    def _integer(self, number: int, place: _Place) -> int:
        if abs(number) > LARGEST:
            raise self._problem("yaml-integer", "a whole number is below 2^53; put it in quotes if it is a name", place)
        return number
