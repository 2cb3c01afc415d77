"""Lines that GitHub Actions reads as commands, and lines that it must not.

The runner takes a printed line that begins with ``::`` for a command, and so it takes ``##[…]`` anywhere in a line.

Rules:
* whatever a stranger can choose (a path, a key, a name) is escaped before it becomes part of a command, as the runner undoes it:
  ``%``, line breaks, and in properties ``:`` and ``,`` too;
* an ordinary line is made harmless with ``plain_line`` before it is printed;
* the runner shows ten annotations of a kind for each step; what is more is counted by the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LEVELS = ("error", "warning", "notice")
MOST = 10
"""Annotations of one kind that are shown for a step."""
LONGEST = 1000

_COMMAND = re.compile(r"^(\s*)::")


def escape_data(text: str) -> str:
    """``text`` as the message of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """``text`` as the value of a command's property."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def annotation(level: str, says: str, *, title: str = "", where: str = "") -> str:
    """One annotation line. ``where`` is ``path:line:col``, a path alone, or ""."""
    assert level in LEVELS, level
    path, line, column = place_of(where)
    named = {"file": path, "line": str(line or ""), "col": str(column or ""), "title": title}
    properties = ",".join(f"{name}={escape_property(value)}" for name, value in named.items() if value)
    message = says if len(says) <= LONGEST else says[: LONGEST - 1] + "…"
    return f"::{level} {properties}::{escape_data(message)}" if properties else f"::{level}::{escape_data(message)}"


def annotation_lines(level: str, items: Sequence[tuple[str, str, str]], most: int = MOST) -> Iterable[str]:
    """Annotation lines for (sentence, title, where), at most ``most``; the last one counts what is left out."""
    shown = items if len(items) <= most else items[: most - 1]
    yield from (annotation(level, says, title=title, where=where) for says, title, where in shown)
    if len(items) > most:
        yield annotation(level, f"{len(items) - most + 1} more; the summary lists them", title="and-more")


def place_of(where: str) -> tuple[str, int, int]:
    """(path, line, column) of ``path:line:col``; 0 for what it does not say. A path may hold colons itself."""
    parts = where.rsplit(":", 2)
    if len(parts) == 3 and parts[1].isdecimal() and parts[2].isdecimal():
        return parts[0], int(parts[1]), int(parts[2])
    return where, 0, 0


def plain_line(text: str) -> str:
    """A line that shows what ``text`` says and is no command to the runner."""
    return _COMMAND.sub(r"\1: :", text).replace("##[", "# #[")
