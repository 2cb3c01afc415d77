"""Which workflow files a host must keep starting: those with a schedule that do publisher's work, themselves or by what they call."""

from __future__ import annotations

import pytest

from publisher.gitstore.scheduled_workflows import scheduled_files

AT = "on:\n  schedule:\n    - cron: '13 9 * * *'\n      timezone: Asia/Hong_Kong\n    - cron: '47 10 * * *'\n"
BY_HAND = "on: workflow_dispatch\n"
CALLED = "on:\n  workflow_call: {}\n"


def job(body: str) -> str:
    return f"jobs:\n  one:\n{body}"


def steps(run: str) -> str:
    return job(f"    runs-on: ubuntu-24.04\n    steps:\n      - run: {run}\n")


def calls(what: str) -> str:
    return job(f"    uses: {what}\n")


def names(**files: str) -> list[str]:
    return [file.name for file in scheduled_files({f"{name}.yml": text.encode() for name, text in files.items()})]


def test_a_schedule_is_told_with_its_lines_zones_and_places() -> None:
    (found,) = scheduled_files({"publish.yml": (AT + steps("python -m publisher run --scheduled")).encode()})
    assert found.name == "publish.yml"
    assert [line[:2] for line in found.crons] == [("13 9 * * *", "Asia/Hong_Kong"), ("47 10 * * *", "")]
    assert all(line[2].startswith(".github/workflows/publish.yml:") for line in found.crons)


@pytest.mark.parametrize(
    "text",
    [
        BY_HAND + steps("python -m publisher run"),
        AT + steps("make test"),
        AT + calls("./.github/workflows/tests.yml"),
        AT + calls("./.github/workflows/gone.yml"),
        "on: [",
        "jobs: {}",
    ],
)
def test_what_has_no_schedule_or_is_no_work_of_ours_is_left_out(text: str) -> None:
    assert names(a=text, tests=CALLED + steps("make test")) == []


def test_whatever_runs_publisher_counts_however_it_is_called() -> None:
    """In its own steps, as a workflow of another repository, or as one of this repository, over several files."""
    assert names(
        a=AT + steps("python -m publisher watch"),
        b=AT + calls("press/publisher/.github/workflows/publish.yml@0123456789012345678901234567890123456789"),
        c=AT + calls("./.github/workflows/inner.yml"),
        d=AT + calls("./.github/workflows/outer.yml"),
        inner=CALLED + steps("publisher run --scheduled"),
        outer=CALLED + calls("./.github/workflows/inner.yml"),
    ) == ["a.yml", "b.yml", "c.yml", "d.yml"]


def test_a_circle_ends() -> None:
    assert names(a=AT + calls("./.github/workflows/b.yml"), b=CALLED + calls("./.github/workflows/a.yml")) == []
