"""``docs/field-reports.md`` and the tests beside this file: the same reports, each once, under the same names."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs/field-reports.md"
ROW = re.compile(r"^\| ([A-Z]-[0-9]{2}) \| (\S[^|]*) \| (\S[^|]*) \| (\S[^|]*) \|(?: (\S[^|]*) \|)?$", re.MULTILINE)
SOURCE = re.compile(r"[\w.-]+/[\w.-]+#[0-9]+|GHSA(?:-[a-z0-9]{4}){3}")
NAME = re.compile(r"test_([A-Z])_([0-9]{2})_[a-z0-9_]+")


def rows() -> list[tuple[str, ...]]:
    return ROW.findall(PAGE.read_text("utf-8"))


def functions() -> list[str]:
    """The tests here that are named after a report."""
    trees = [ast.parse(file.read_text("utf-8")) for file in sorted(HERE.glob("test_*.py"))]
    names = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [name for name in names if NAME.fullmatch(name)]


def named(cell: str) -> list[str]:
    return re.findall(r"`(test_[^`]+)`", cell)


def test_every_report_stands_once() -> None:
    counts = Counter(row[0] for row in rows())
    assert [name for name, count in counts.items() if count > 1] == []
    text = PAGE.read_text("utf-8")
    assert len(re.findall(r"^\| [A-Z]-[0-9]", text, re.MULTILINE)) == len(rows()), "a row is not read"
    assert f"{len(counts)} public reports" in text
    assert f"{sum(bool(named(row[4])) for row in rows())} are executed" in text
    assert [row[1] for row in rows() if not SOURCE.fullmatch(row[1].strip())] == []


def test_every_named_test_is_there_and_every_test_is_named() -> None:
    told = [name for row in rows() for name in named(row[4])]
    assert sorted(told) == sorted(functions())


def test_a_test_bears_its_reports_id() -> None:
    for row in rows():
        for name in named(row[4]):
            found = NAME.fullmatch(name)
            assert found
            assert f"{found[1]}-{found[2]}" == row[0]


def test_what_is_not_tested_has_its_reason() -> None:
    text = PAGE.read_text("utf-8")
    left_out = {row[0] for row in ROW.findall(text[text.index("## What does not apply") :])}
    assert {row[0] for row in rows() if not named(row[4])} == left_out
