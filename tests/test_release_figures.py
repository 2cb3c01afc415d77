"""The page of known-bad variants says what was measured, and when each variant was caught last."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "bench" / "release_figures.py"


@pytest.fixture
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("release_figures", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FILE", tmp_path / "figures.json")
    monkeypatch.setattr(module, "PAGE", tmp_path / "known-bad.md")
    return module


def said(found: int) -> str:
    row = {
        "variant": "no-nonce", "target": "joined", "histories": 100, "found": found, "first": 7 if found else None,
        "rate": found / 100, "oracles": {"claim-shared": found} if found else {},
    }  # fmt: skip
    return json.dumps({"schema": "publisher.known-bad/1", "variants": [row]})


def kept(figures: Any, rows: Any) -> dict[str, Any]:
    return {"figure": figures.summary(rows), "rows": rows, "commit": "a" * 40, "date": "2026-12-01", "command": "x"}


def test_a_variant_that_is_missed_keeps_the_commit_at_which_it_was_caught_last(figures: Any) -> None:
    first = kept(figures, figures.rows_of(said(5), "a" * 40, "2026-12-01", {}))
    second = kept(figures, figures.rows_of(said(0), "b" * 40, "2026-12-02", first))
    assert "1 of 1 found in 100 histories each" in first["figure"]
    assert "0 of 1 found" in second["figure"]
    assert "| `no-nonce` | joined | 5.00% | 7 | claim-shared | aaaaaaaaaaaa | 2026-12-01 |" in figures.page(first)
    assert "| `no-nonce` | joined | 0.00% | - | - | aaaaaaaaaaaa | 2026-12-01 |" in figures.page(second)
    never = figures.rows_of(said(0), "b" * 40, "2026-12-02", {})
    assert "| never | - |" in figures.page(kept(figures, never))


def test_a_command_that_broke_down_says_nothing_of_any_variant(figures: Any) -> None:
    assert figures.rows_of("Traceback", "a" * 40, "2026-12-01", {}) == []


def test_a_page_that_somebody_edited_fails_the_check(figures: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert figures.write_page() == 1
    rows = figures.rows_of(said(5), "a" * 40, "2026-12-01", {})
    item = {**kept(figures, rows), "tree": "", "passed": True}
    figures.FILE.write_text(json.dumps({"known-bad": item}))
    assert figures.write_page() == 0
    figures.check()
    assert "known-bad.md" not in capsys.readouterr().out
    figures.PAGE.write_text(figures.PAGE.read_text().replace("5.00%", "95.00%"))
    assert figures.check() == 1
    assert "known-bad.md is not what" in capsys.readouterr().out
