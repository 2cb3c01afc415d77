"""Lines that a CI's runner takes for commands: what a stranger chooses stays inside them, and ordinary lines are none."""

from __future__ import annotations

import pytest

from publisher.cli.ci_annotations import annotation, annotation_lines, escape_data, escape_property, place_of, plain_line

HOSTILE = "100%\r\n::set-output name=a::b, c:d"


def runners_reading(line: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner reads it: it cuts at the next ``::``, parts properties at commas, then undoes the escapes."""

    def undone(text: str, signs: dict[str, str]) -> str:
        for escaped, sign in signs.items():
            text = text.replace(escaped, sign)
        return text.replace("%25", "%")

    data = {"%0D": "\r", "%0A": "\n"}
    head, _, message = line.removeprefix("::").partition("::")
    name, _, rest = head.partition(" ")
    pairs = (item.partition("=") for item in rest.split(",") if item)
    return name, {key: undone(value, {**data, "%3A": ":", "%2C": ","}) for key, _, value in pairs}, undone(message, data)


def test_whatever_stands_in_an_annotation_comes_out_as_it_went_in() -> None:
    line = annotation("error", HOSTILE, title=HOSTILE, where=f"plans/{HOSTILE}:3:5")
    assert "\n" not in line and "\r" not in line
    named = {"file": f"plans/{HOSTILE}", "line": "3", "col": "5", "title": HOSTILE}
    assert runners_reading(line) == ("error", named, HOSTILE)


def test_an_annotation_without_a_place() -> None:
    assert annotation("notice", "hello") == "::notice::hello"
    assert annotation("warning", "hello", where="a.yaml") == "::warning file=a.yaml::hello"
    with pytest.raises(AssertionError):
        annotation("set-output", "x")
    assert len(annotation("error", "x" * 5000)) < 1100


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("a/b.yaml:3:5", ("a/b.yaml", 3, 5)), ("a:b.yaml:3:5", ("a:b.yaml", 3, 5)), ("a.yaml", ("a.yaml", 0, 0)), ("", ("", 0, 0)),
        ("a:x:5", ("a:x:5", 0, 0)), ("a:3:", ("a:3:", 0, 0)),
    ],
)  # fmt: skip
def test_places(where: str, place: tuple[str, int, int]) -> None:
    assert place_of(where) == place


def test_escapes() -> None:
    assert escape_data("%0A\n,:") == "%250A%0A,:"
    assert escape_property("%0A\n,:") == "%250A%0A%2C%3A"


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (10, 10), (11, 10), (500, 10)])
def test_ten_are_shown_and_the_last_counts_the_rest(count: int, shown: int) -> None:
    lines = list(annotation_lines("error", [(f"number {n}", "code", "") for n in range(count)]))
    assert len(lines) == shown
    if count > 10:
        assert lines[-1] == f"::error title=and-more::{count - 9} more; the summary lists them"


@pytest.mark.parametrize("line", ["::set-output name=a::b", "  \t::add-mask::x", "hello ##[set-output name=a;]b", "##[debug]x"])
def test_a_plain_line_is_no_command(line: str) -> None:
    harmless = plain_line(line)
    assert not harmless.lstrip().startswith("::") and "##[" not in harmless
    assert harmless.replace(" ", "") == line.replace(" ", "")


@pytest.mark.parametrize("line", ["", "a::b", "path:3:5: hello [code]", "# [x]"])
def test_other_lines_stay_as_they_are(line: str) -> None:
    assert plain_line(line) == line
