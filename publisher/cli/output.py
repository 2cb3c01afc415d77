"""What a person or a script reads: data on stdout, everything else on stderr.

Rules:
* nothing that is printed can steer a terminal: control and direction characters are shown escaped, one line stays one line;
* ``Private`` text never comes out by accident, neither as text nor as JSON;
* JSON is ASCII with sorted keys, so that it survives every locale and can be compared;
* a reader that goes away (``publisher log | head``) never interrupts the work that is being told about;
* progress appears only after a second of waiting, and never with ``--quiet``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from pathlib import PurePath
from typing import Any, TextIO
from zoneinfo import ZoneInfo

import click

from publisher.domain.article import Private
from publisher.domain.business_calendar import for_people, in_utc
from publisher.errors import Bug, ComeBackLater, Refusal

PATIENCE = 1.0
"""Seconds of silence that nobody minds; progress is told after them."""

UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that draw nothing themselves but move, hide or reorder what is drawn."""


def clean(text: object) -> str:
    """``text`` as one harmless line: what would steer a terminal appears as ``\\x1b`` or ``\\u202e``."""
    plain = str(text)  # Private says "<private>" here
    if plain.isascii() and plain.isprintable():
        return plain
    return "".join(_escaped(char) if unicodedata.category(char) in UNSEEN else char for char in plain)


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def say(text: object = "", *, bold: bool = False) -> None:
    """One line of data, on stdout."""
    write(click.style(_line(text), bold=True) + "\n" if bold else _line(text) + "\n")


def note(text: object) -> None:
    """One line beside the data (a hint, a warning, what comes next), on stderr; none with ``--quiet``."""
    if not is_quiet():
        write(_line(text) + "\n", err=True)


def in_actions() -> bool:
    """Whether GitHub Actions runs us."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _line(text: object) -> str:
    """A harmless line; in GitHub Actions one that the runner takes for no command either."""
    if not in_actions():
        return clean(text)
    from publisher.cli.ci_annotations import plain_line

    return plain_line(clean(text))


def refused(refusal: Refusal) -> None:
    """A refusal beside the data: what, and the next command on a line of its own."""
    where = f"{refusal.where}: " if refusal.where else ""
    note(f"{where}{refusal.says} [{refusal.code}]")
    if refusal.next:
        note(f"  next: {refusal.next}")


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows in aligned columns under their headers, on stdout; the last column is not padded."""
    lines = [[clean(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(headers, *lines, strict=True)]
    for number, line in enumerate([list(headers), *lines]):
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        say(text, bold=number == 0)


def when(instant: datetime, zone: ZoneInfo) -> str:
    """A time as people read it, with its zone and in UTC."""
    return for_people(instant, zone)


def as_json(data: Any) -> str:
    """The text of ``data`` for ``--json``. Times are UTC; ``Bug`` when it holds ``Private`` text."""
    return json.dumps(_plain(data), sort_keys=True, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def say_json(data: Any) -> None:
    """``data`` as one JSON document on stdout."""
    write(as_json(data))


def _plain(value: Any) -> Any:
    if isinstance(value, Private):
        raise Bug("private-in-output", "private text was about to be printed")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, datetime):
        return in_utc(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, set | frozenset):
        return sorted(_plain(item) for item in value)
    return [_plain(item) for item in value]


# --- the streams ------------------------------------------------------------------------------------------------------------


def write(text: str, *, err: bool = False, color: bool | None = None) -> None:
    """Text as it stands, its colours stripped where they are not wanted (``None``: as the verb's context says).

    A stream whose reader has gone away swallows everything from then on.
    """
    try:
        click.echo(text, nl=False, err=err, color=color)
    except BrokenPipeError:
        silence(sys.stderr if err else sys.stdout)
    except OSError:
        raise ComeBackLater("output-failed", "the output could not be written", next="free space on the disk, then the same")


def silence(stream: TextIO) -> None:
    """Points a stream with no reader at nothing, so that neither we nor the interpreter's exit stumble over it."""
    # What Python's documentation of SIGPIPE advises; a stream without a descriptor has no pipe to break.
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def color_wanted() -> bool | None:
    """NO_COLOR (no-color.org) and FORCE_COLOR; None leaves it to whether the stream is a terminal."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return True if os.environ.get("FORCE_COLOR", "0") not in ("", "0") else None


def is_quiet() -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and getattr(context.find_root().obj, "quiet", False))


def is_interactive() -> bool:
    """Whether somebody sits there to answer: both ways are a terminal, and no CI runs us."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not os.environ.get("CI")


# --- progress ---------------------------------------------------------------------------------------------------------------


class Telling:
    """``Progress``: the latest word, shown once it has been waited for. Safe to call from any thread."""

    def __init__(self, stream: TextIO, *, rewrite: bool) -> None:
        self._stream = stream
        self._rewrite = rewrite
        self._lock = threading.Lock()
        self._patient = True
        self._text = ""
        self._timer = threading.Timer(PATIENCE, self._lose_patience)
        self._timer.daemon = True

    def start(self) -> None:
        self._timer.start()

    def __call__(self, text: str) -> None:
        with self._lock:
            self._text = clean(text)
            if not self._patient:
                self._show()

    def _lose_patience(self) -> None:
        with self._lock:
            self._patient = False
            if self._text:
                self._show()

    def _show(self) -> None:
        # Progress is a courtesy: a closed stderr must never reach the work.
        with suppress(OSError, ValueError):
            self._stream.write(f"\r\x1b[2K{self._text}" if self._rewrite else self._text + "\n")
            self._stream.flush()

    def end(self) -> None:
        """No word after this. A rewritten line is wiped."""
        self._timer.cancel()
        with self._lock:
            shown, self._patient, self._text = not self._patient and self._text, True, ""
            if shown and self._rewrite:
                with suppress(OSError, ValueError):
                    self._stream.write("\r\x1b[2K")
                    self._stream.flush()


@contextmanager
def progress() -> Iterator[Telling]:
    """Tells a waiting person what is going on: one line that is rewritten on a terminal, plain lines elsewhere."""
    stream = sys.stderr
    telling = Telling(stream, rewrite=stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI"))
    if not is_quiet():
        telling.start()
    try:
        yield telling
    finally:
        telling.end()
