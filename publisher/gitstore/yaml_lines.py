"""Edits of hand-written YAML as lines, so that every comment, blank line and spelling of the rest stays as it was.

Rules:
* an entry of a list is its own lines and the comment lines directly above it; they travel together;
* blank lines, and comments that stand apart, stay where they are;
* only the plain spelling is edited: one ``- `` line for each entry. Any other is refused, never rewritten.

Whoever edits reads the result back and compares; these functions only move lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from publisher.errors import InputProblem
from publisher.gitstore.strict_yaml import Document

_ENTRY = re.compile(r"( *)- *")


@dataclass
class Entries:
    """A list inside a file: its entries with the gaps before each, and one gap after the last; every line with its end."""

    head: list[str]
    gaps: list[list[str]]
    chunks: list[list[str]]
    rest: list[str]
    indent: str

    def text(self) -> str:
        """The whole file."""
        parts = [*self.head]
        for gap, chunk in zip(self.gaps, [*self.chunks, []], strict=True):
            parts += gap + chunk
        return "".join(parts + self.rest)

    def insert(self, position: int, chunk: list[str]) -> None:
        """Puts lines in so that they become the entry at ``position``; at the end, directly below the last one."""
        gap = self.gaps[position] if position < len(self.chunks) or not self.chunks else []
        if position == len(self.chunks) and self.chunks:
            self.gaps.insert(position, gap)
        else:
            self.gaps[position : position + 1] = [gap, []]
        self.chunks.insert(position, chunk)

    def take(self, position: int) -> list[str]:
        """Takes an entry's lines out; the gaps around it become one."""
        self.gaps[position : position + 2] = [self.gaps[position] + self.gaps[position + 1]]
        return self.chunks.pop(position)


def entries_of(data: bytes, document: Document, key: str) -> Entries:
    """The list at the top-level ``key``. ``InputProblem`` when it is not written one entry to a line."""
    lines = data.decode("utf-8").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    count = len(document.data[key])
    if count == 0:
        return _empty(lines, document, key)
    starts = [document.place([key, number])[0] - 1 for number in range(count)]
    found = [_ENTRY.match(lines[at]) for at in starts]
    columns = [document.place([key, number])[1] - 1 for number in range(count)]
    if any(match is None or match.end() != column for match, column in zip(found, columns, strict=True)):
        raise _spelling(document, key)
    indents = {match[1] for match in found if match}
    if len(indents) != 1 or len(set(starts)) != count:
        raise _spelling(document, key)
    return _split(lines, starts, indents.pop())


def _empty(lines: list[str], document: Document, key: str) -> Entries:
    """``articles: []`` becomes ``articles:`` with room below it."""
    at = document.place([key], key=True)[0] - 1
    opened = re.sub(r":\s*\[\s*\]", ":", lines[at], count=1)
    if opened == lines[at]:
        raise _spelling(document, key)
    return Entries(head=[*lines[:at], opened], gaps=[[]], chunks=[], rest=lines[at + 1 :], indent="  ")


def _split(lines: list[str], starts: Sequence[int], indent: str) -> Entries:
    spans = [(_top(lines, at), _bottom(lines, at, indent)) for at in starts]
    first, last = spans[0][0], spans[-1][1]
    gaps: list[list[str]] = [[]] + [lines[before[1] : after[0]] for before, after in pairwise(spans)] + [[]]
    return Entries(
        head=lines[:first], gaps=gaps, chunks=[lines[top:bottom] for top, bottom in spans], rest=lines[last:], indent=indent
    )


def _top(lines: Sequence[str], at: int) -> int:
    while at > 0 and lines[at - 1].lstrip(" ").startswith("#"):
        at -= 1
    return at


def _bottom(lines: Sequence[str], at: int, indent: str) -> int:
    """One past an entry's last line: all that is indented deeper than its dash."""
    at += 1
    while at < len(lines) and lines[at].strip() and lines[at].startswith(indent + " "):
        if lines[at].lstrip(" ").startswith("#"):
            break
        at += 1
    return at


def _spelling(document: Document, key: str) -> InputProblem:
    return InputProblem(
        "edit-by-hand", f"{key} is spelled in a way that is not edited here: write one entry to a line, each after a dash",
        where=document.where([key], key=True), next="edit the file by hand",
    )  # fmt: skip


def with_flag(chunk: Sequence[str], name: str) -> list[str]:
    """The entry's lines with ``name: true``, added at its end where the key is not there; flow and block spelling."""
    lines = _each_body(chunk, lambda body: re.sub(rf"\b{name}: *false\b", f"{name}: true", body, count=1))
    if lines != list(chunk):
        return lines
    at = max(number for number, line in enumerate(lines) if line.strip() and not line.lstrip(" ").startswith("#"))
    body, end = _apart(lines[at])
    if body.endswith("}"):
        lines[at] = f"{body[:-1].rstrip(' ,')}, {name}: true}}{end}"
    else:
        dash = next(found for found in map(_ENTRY.match, lines) if found)
        lines.insert(at + 1, f"{' ' * dash.end()}{name}: true\n")
    return lines


def without_flag(chunk: Sequence[str], name: str) -> list[str]:
    """The entry's lines without the key ``name``; where it comes first in the entry it becomes false."""
    kept = [line for line in chunk if not re.fullmatch(rf" +{name}: *true\s*(?:#.*)?\n", line)]
    lines = _each_body(kept, lambda body: re.sub(rf", *{name}: *true(?= *[,}}])", "", body, count=1))
    if lines != list(chunk):
        return lines
    return _each_body(chunk, lambda body: re.sub(rf"\b{name}: *true\b", f"{name}: false", body, count=1))


def _each_body(chunk: Sequence[str], change: Callable[[str], str]) -> list[str]:
    """The lines with ``change`` made to what is no comment."""
    return [line if line.lstrip(" ").startswith("#") else change(_apart(line)[0]) + _apart(line)[1] for line in chunk]


def _apart(line: str) -> tuple[str, str]:
    """A line's content, and what comes after it: spaces, a comment, the line's end."""
    content = re.split(r"(?= +#)", line.rstrip("\n"), maxsplit=1)[0].rstrip(" ")
    return content, line[len(content) :]


def into_mapping(data: bytes, document: Document, key: str, block: Sequence[str]) -> str:
    """The file with ``block`` (lines indented by two) as the last entry of the top-level mapping ``key``."""
    lines = data.decode("utf-8").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    start = document.place([key], key=True)[0] - 1
    children = [document.place([key, name], key=True) for name in document.data[key]]
    column = children[0][1] - 1
    if any(line - 1 <= start or at - 1 != column for line, at in children) or column < 1:
        raise _spelling(document, key)
    end = start + 1
    for at in range(start + 1, len(lines)):
        if lines[at].strip() and not lines[at].startswith(" " * column):
            if not lines[at].startswith("#"):
                break
        elif lines[at].strip():
            end = at + 1
    indented = [" " * column + line.removeprefix("  ") for line in block]
    return "".join([*lines[:end], *indented, *lines[end:]])
