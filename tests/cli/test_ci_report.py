"""What a verb leaves for a CI run: summaries that are data whatever they hold, and outputs that no value can forge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from publisher.cli import ci_report
from publisher.errors import NeedsPerson
from tests.support.instance import Instance, make_instance

HOSTILE = "a|b `c` <img src=x> [x](https://e) @ann #1 ~~x~~ *y* | \x1b[31m & $z$"


@pytest.fixture
def ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    return tmp_path


def test_nothing_is_written_outside_of_a_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    ci_report.summary("Title", notes=["note"])
    assert not (tmp_path / "summary.md").exists()


@pytest.mark.parametrize("shown", [ci_report.text, ci_report.code])
def test_a_value_stays_one_cell_of_plain_text(ci: Path, shown: object) -> None:
    ci_report.summary(HOSTILE, ("One", "Two"), [[shown(HOSTILE), shown("x")]], [shown(HOSTILE)])  # type: ignore[operator]
    html = MarkdownIt("commonmark").enable("table").render((ci / "summary.md").read_text())
    assert html.count("<td>") == 2
    assert "<img" not in html and "<a " not in html and "<em>" not in html
    assert "\x1b" not in html


def test_a_long_table_is_cut_and_counted(ci: Path) -> None:
    ci_report.summary("Long", ("N",), [[str(n)] for n in range(ci_report.MOST_ROWS + 7)])
    text = (ci / "summary.md").read_text()
    assert "and 7 more" in text and f"| {ci_report.MOST_ROWS} |" not in text


def test_no_value_can_set_another_output(ci: Path) -> None:
    ci_report.result("due", "[]\nEOF\nother=1")
    lines = (ci / "output").read_text().splitlines()
    name, end = lines[0].split("<<")
    assert (name, lines[-1]) == ("due", end) and lines.count(end) == 1
    ci_report.result("due", "[]")
    assert end not in (ci / "output").read_text().splitlines()[-1]


def test_a_file_that_cannot_be_written_changes_nothing(ci: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(ci))
    ci_report.summary("Title")


def test_refusals_become_annotations_on_stderr(ci: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = NeedsPerson("approval-absent", "nobody\n::add-mask::x approved", next="publisher approve", plan="blog/p")
    ci_report.refusals([problem] * 12)
    out = capsys.readouterr()
    lines = out.err.splitlines()
    assert out.out == "" and len(lines) == ci_report.MOST_ANNOTATIONS
    assert all(
        line.startswith("::error ") and "title=approval-absent" in line and "publisher approve" in line for line in lines
    )


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    return make_instance(tmp_path_factory.mktemp("report"), articles=6)


def test_a_repository_that_is_not_set_up_has_nothing_due_and_is_green(instance: Instance, tmp_path: Path) -> None:
    instance.environment = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_OUTPUT": str(tmp_path / "out"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "s"),
    }
    done = instance.publisher("ci", "sites", "--due", "--json", check=0)
    assert json.loads(done.stdout)["sites"] == []
    assert "[not-set-up]" in done.stderr and "PUBLISHER\\_ROOT" in (tmp_path / "s").read_text()
    assert (tmp_path / "out").read_text().splitlines()[1] == "[]"


def test_the_deciding_job_names_due_sites_and_a_merge_is_recorded_at_once(instance: Instance, tmp_path: Path) -> None:
    root = instance.remote.git("rev-list", "--max-parents=0", "main")
    ci = {"GITHUB_ACTIONS": "true", "PUBLISHER_ROOT": root}
    instance.environment = {**ci, "GITHUB_OUTPUT": str(tmp_path / "before")}
    assert instance.data("ci", "sites", "--due", "--fresh")["sites"] == []
    assert (tmp_path / "before").read_text().splitlines()[1] == "[]"

    instance.environment = {}
    instance.plan_and_approve("--date", "2026-01-02", "--site", "blog")
    instance.environment = {**ci, "GITHUB_OUTPUT": str(tmp_path / "after"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    (row,) = instance.data("ci", "approve", "--record")["approvals"]
    assert (row["plan"], row["gate"], row["by"]) == ("blog/daily/2026/2026-01-02", "plan", "reviewer@example.org")
    assert row["payload"] in (tmp_path / "summary").read_text()
    before = instance.commits()
    assert instance.data("ci", "approve", "--record")["approvals"] == []
    assert instance.commits() == before
    assert [event["type"] for event in instance.ledger(row["plan"])] == ["approved"]
    (due,) = instance.data("ci", "sites", "--due", "--fresh")["sites"]
    assert due["site"] == "blog"
    assert json.loads((tmp_path / "after").read_text().splitlines()[1]) == ["blog"]
