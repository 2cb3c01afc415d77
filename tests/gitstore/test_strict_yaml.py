"""Strict YAML: what is text stays text, and what can hide something is refused at its place."""

from __future__ import annotations

import contextlib
import random
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from publisher.errors import InputProblem
from publisher.gitstore.strict_yaml import MOST, Document, load


def read(text: str | bytes, **more: int) -> Document:
    return load(text.encode("utf-8") if isinstance(text, str) else text, "f.yaml", **more)


def problem_of(text: str | bytes, **more: int) -> tuple[str, str]:
    with pytest.raises(InputProblem) as problem:
        read(text, **more)
    assert problem.value.says
    return problem.value.code, problem.value.where


@pytest.fixture(params=["C", "pure"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is the same with libyaml and without it."""
    if request.param == "pure":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-7", -7),
        ("9007199254740991", 2**53 - 1),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("True", "True"),
        ("NULL", "NULL"),
        ("2026-12-01", "2026-12-01"),
        ("2026-12-01T09:00:00+08:00", "2026-12-01T09:00:00+08:00"),
        ("9:00", "9:00"),
        ("017", "017"),
        ("0x10", "0x10"),
        ("0b1", "0b1"),
        ("1e5", "1e5"),
        ("12e34", "12e34"),
        ("1.0", "1.0"),
        ("-0", "-0"),
        ("+1", "+1"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("12345678901234567", "12345678901234567"),
        ('"1"', "1"),
        ("'true'", "true"),
        ('""', ""),
        ("=", "="),
        ('"a\\nb"', "a\nb"),
        ("|\n  a\n  b", "a\nb\n"),
        ("[a, 1, {b: c}]", ["a", 1, {"b": "c"}]),
        ("{}", {}),
        ("[]", []),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = read(f"key: {text}\n").data["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("a: 1\nb: &x 1\n", "yaml-anchor", "2:4"),
        ("a: &x 1\nb: *x\n", "yaml-anchor", "1:4"),
        ("a: *x\n", "yaml-alias", "1:4"),
        ("&k a: 1\n", "yaml-anchor", "1:1"),
        ("a:\n  <<: {b: 1}\n", "yaml-merge-key", "2:3"),
        ("a: !!str 1\n", "yaml-tag", "1:4"),
        ("a: !!python/object:os.system x\n", "yaml-tag", "1:4"),
        ("a: !local x\n", "yaml-tag", "1:4"),
        ("a: ! x\n", "yaml-tag", "1:4"),
        ("!!set {a}\n", "yaml-tag", "1:1"),
        ("a: 1\n---\nb: 2\n", "yaml-documents", "2:1"),
        ("%YAML 1.1\n---\na: 1\n", "yaml-directive", "1:1"),
        ("", "yaml-empty", "1:1"),
        ("\n# only a comment\n", "yaml-empty", "1:1"),
        ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", "yaml-repeated-key", "5:3"),
        ('a: 1\n"a": 1\n', "yaml-repeated-key", "2:1"),
        ("1: a\n", "yaml-key", "1:1"),
        ("true: a\n", "yaml-key", "1:1"),
        ("a: {null: b}\n", "yaml-key", "1:5"),
        ("? [a]\n: b\n", "yaml-key", "1:3"),
        ("a: [\n", "yaml-syntax", "2:1"),
        ("a: b: c\n", "yaml-syntax", "1:5"),
        ("a: 1\n b: 2\n", "yaml-syntax", "2:3"),
        ("a: '\n", "yaml-syntax", "2:1"),
        ("a: @x\n", "yaml-syntax", "1:4"),
        ("a:\n\tb: 1\n", "yaml-tab", "2:1"),
        ("a: 1 \t# x\n", "yaml-tab", "1:6"),
        ("a: 1\r\nb: 2\r\n", "yaml-line-ends", "1:5"),
        ("a: x\0y\n", "yaml-control-character", "1:5"),
        ("a: x\x1b[31m\n", "yaml-control-character", "1:5"),
        ("a: x\x85y\n", "yaml-control-character", "1:5"),
        ("a: x\u2028y\n", "yaml-control-character", "1:5"),
        ("a: x\ufffey\n", "yaml-control-character", "1:5"),
        ("a: ü\u202ex\n", "yaml-hidden-character", "1:5"),
        ("a: x\u200by\n", "yaml-hidden-character", "1:5"),
        ("a: x\ufeffy\n", "yaml-hidden-character", "1:5"),
        ('a: "x\\0"\n', "yaml-control-character", "1:4"),
        ('a: "x\\u202e"\n', "yaml-hidden-character", "1:4"),
        ('a: "x\\e"\n', "yaml-control-character", "1:4"),
        ('"x\\0": 1\n', "yaml-control-character", "1:1"),
        ('a: "\\ud800"\n', "yaml-surrogate", None),
        ("a: 9007199254740992\n", "yaml-integer", "1:4"),
        (b"\xef\xbb\xbfa: 1\n", "yaml-byte-order-mark", "1:1"),
        ("a: 1\n".encode("utf-16"), "yaml-byte-order-mark", "1:1"),
        (b"a: 1\nb: \xff\n", "yaml-not-utf8", "2:4"),
        (b"a: \xed\xa0\x80\n", "yaml-not-utf8", "1:4"),
        (b"a: \xc0\x80\n", "yaml-not-utf8", "1:4"),
        ("[" * 17 + "]" * 17, "yaml-too-deep", "1:17"),
        ("a: " + "x" * MOST, "yaml-too-big", "1:1"),
    ],
)
def test_refusals(text: str | bytes, code: str, where: str | None) -> None:
    found = problem_of(text)
    assert found[0] == code
    if where:
        assert found[1] == f"f.yaml:{where}"


def test_the_first_line_of_a_repeated_key_is_named() -> None:
    with pytest.raises(InputProblem) as problem:
        read("secret title: 1\nb: 2\nsecret title: 3\n", first_line=2)
    assert "line 2" in problem.value.says and "secret" not in str(problem.value)
    assert problem.value.where == "f.yaml:4:1"


def test_places() -> None:
    document = read("a: 1\nlist:\n  - {id: x}\n  - {id: y, deep: [1,\n     2]}\n", first_line=10)
    assert document.where(["a"]) == "f.yaml:10:4"
    assert document.where(["a"], key=True) == "f.yaml:10:1"
    assert document.where(["list", 1, "id"]) == "f.yaml:13:10"
    assert document.where(["list", 1, "deep", 1]) == "f.yaml:14:6"
    assert document.where(["list", 1, "deep"], key=True) == "f.yaml:13:13"
    assert document.where(["list", 1, "none", "at all"]) == "f.yaml:13:5"
    assert document.where() == "f.yaml:10:1"
    assert document.where(["list"]) == "f.yaml:12:3"


def test_depth_and_size_are_exact() -> None:
    deep = read("[" * 16 + "]" * 16)
    assert str(deep.data) == "[" * 16 + "]" * 16
    assert read("a: " + "x" * (MOST - 3)).data["a"].startswith("x")
    assert len(read("- aaaa\n" * 30_000, most=2**21).data) == 30_000


@pytest.mark.parametrize(
    "text", ["[" * 60_000, "{a: " * 16_000, "- " * 32_000, "? " * 32_000, "&a [*a, *a]\n" * 5_000, "a: 'x\n" * 10_000]
)
def test_hostile_texts_end_soon(text: str) -> None:
    began = time.monotonic()
    problem_of(text)
    assert time.monotonic() - began < 5


def test_no_value_is_in_a_refusal() -> None:
    """Every single-byte change of a file with a secret in it: whatever is said, the secret is not."""
    text = 'title: "SENTINEL text"\nlist: [SENTINEL, {a: SENTINEL}]\nb: |\n  SENTINEL\n'
    rng = random.Random(3)
    said = []
    for at in range(len(text)):
        for new in rng.sample(":[]{}&*!|'\"\\%@`?-\t\0\n#", 6):
            try:
                read(text[:at] + new + text[at + 1 :])
            except InputProblem as problem:
                said.append(str(problem) + repr(problem.as_data()))
    assert len(said) > 100
    assert not any("SENTINEL" in words for words in said)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: text.encode("utf-8"))))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        document = load(data, "f.yaml")
    except InputProblem as problem:
        path, line, column = problem.where.split(":")
        assert path == "f.yaml" and int(line) >= 1 and int(column) >= 1
    else:
        assert document.where().startswith("f.yaml:")


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab:- \n[]{},'\"#|>&*!?%10~", max_size=60))
def test_what_both_parsers_accept_means_the_same(text: str) -> None:
    """PyYAML refuses a few spellings that libyaml takes, and the reverse; a digest must never depend on which is there."""
    found = []
    for kept in (yaml.__dict__.get("CSafeLoader"), None):
        with pytest.MonkeyPatch.context() as patch:
            if kept is None:
                patch.delattr(yaml, "CSafeLoader", raising=False)
            with contextlib.suppress(InputProblem):
                found.append(read(text).data)
    assert len(found) < 2 or found[0] == found[1]
