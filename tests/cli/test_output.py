"""What is printed: harmless, aligned, never private, and quiet about short waits."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import click
import pytest

from publisher.cli import output
from publisher.cli.boundary import Asked
from publisher.domain.article import Private
from publisher.errors import Bug


def printed(work) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        work()
    return out.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fences", "fences"),
        ("Größe · 中文 — ok", "Größe · 中文 — ok"),
        ("a\nb\tc", "a\\x0ab\\x09c"),
        ("\x1b[31m\x7f\x9b", "\\x1b[31m\\x7f\\x9b"),
        ("\u202ecod\u2066\u200b\u2028", "\\u202ecod\\u2066\\u200b\\u2028"),
        ("\U000e0041\udc80", "\\U000e0041\\udc80"),
        (Private("the title"), "<private>"),
        (17, "17"),
    ],
)
def test_clean_escapes_what_steers_a_terminal(text, shown):
    assert output.clean(text) == shown


def test_a_table_is_aligned_and_clean():
    text = printed(lambda: output.table(["ID", "SOURCE"], [["a-1", "x"], ["a-0002", "y\x1b[2J"]]))
    assert text == "ID      SOURCE\na-1     x\na-0002  y\\x1b[2J\n"


def test_a_table_refuses_a_row_of_another_length():
    with pytest.raises(ValueError):
        output.table(["ID", "SOURCE"], [["a-1"]])


def test_an_empty_table_still_has_its_headers():
    assert printed(lambda: output.table(["ID", "SOURCE"], [])) == "ID  SOURCE\n"


def test_json_is_sorted_ascii_and_ends_its_line():
    data = {"b": (1, None), "a": {"é\x1b": Path("x/y")}, "at": datetime(2026, 12, 1, 1, tzinfo=UTC), "day": date(2026, 12, 1)}
    text = output.as_json(data | {"set": frozenset({"z", "y"})})
    assert text.isascii() and text.endswith("}\n") and "\x1b" not in text
    assert json.loads(text) == {
        "a": {"é\x1b": "x/y"}, "at": "2026-12-01T01:00:00Z", "b": [1, None], "day": "2026-12-01", "set": ["y", "z"],
    }  # fmt: skip
    assert text.index('"a"') < text.index('"b"')


@pytest.mark.parametrize("data", [Private("the title"), {"rows": [{"title": Private("the title")}]}])
def test_private_text_does_not_leave_as_json(data):
    with pytest.raises(Bug) as refused:
        output.as_json(data)
    assert "title" not in refused.value.says


def test_times_carry_their_zone():
    at = datetime(2026, 11, 30, 17, tzinfo=UTC)
    assert output.when(at, ZoneInfo("Asia/Hong_Kong")) == "2026-12-01 01:00 HKT (2026-11-30 17:00Z)"


def with_context(work, **asked):
    err = io.StringIO()
    with redirect_stderr(err), click.Context(click.Command("x"), obj=Asked(**asked)):
        work()
    return err.getvalue()


def test_notes_go_to_stderr_and_not_when_quiet():
    assert with_context(lambda: output.note("next: publisher plan")) == "next: publisher plan\n"
    assert with_context(lambda: output.note("next: publisher plan"), quiet=True) == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def telling(stream, rewrite=False):
    """A teller whose second has not passed until the test says so."""
    return output.Telling(stream, rewrite=rewrite)


def test_short_work_tells_nothing():
    stream = io.StringIO()
    teller = telling(stream)
    teller("building")
    teller("deploying")
    teller.end()
    assert stream.getvalue() == ""


def test_after_a_second_the_last_word_and_every_later_one_are_told():
    stream = io.StringIO()
    teller = telling(stream)
    teller("building")
    teller("deploying")
    teller._lose_patience()
    teller("confirming\x1b[2J")
    teller.end()
    teller("too late")
    assert stream.getvalue() == "deploying\nconfirming\\x1b[2J\n"


def test_on_a_terminal_one_line_is_rewritten_and_wiped():
    stream = Terminal()
    teller = telling(stream, rewrite=True)
    teller("building")
    teller._lose_patience()
    teller.end()
    assert stream.getvalue() == "\r\x1b[2Kbuilding\r\x1b[2K"


def test_a_closed_stderr_never_reaches_the_work():
    stream = io.StringIO()
    teller = telling(stream)
    teller._lose_patience()
    stream.close()
    teller("building")
    teller.end()


def test_quiet_starts_no_clock(monkeypatch):
    started = []
    monkeypatch.setattr(output.Telling, "start", lambda self: started.append(self))

    def work():
        with output.progress() as tell:
            tell("building")

    assert with_context(work, quiet=True) == "" and not started
    with_context(work)
    assert len(started) == 1


@pytest.mark.parametrize(
    ("env", "wanted"),
    [({}, None), ({"NO_COLOR": "1"}, False), ({"FORCE_COLOR": "1"}, True), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
     ({"TERM": "dumb"}, False), ({"NO_COLOR": "", "FORCE_COLOR": "0"}, None)],
)  # fmt: skip
def test_colour_follows_the_conventions(monkeypatch, env, wanted):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert output.color_wanted() is wanted
