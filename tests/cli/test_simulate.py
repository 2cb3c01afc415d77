"""``publisher simulate``: figures, replays, and what it says of a history that goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from publisher.cli import simulate
from publisher.cli.main import answer
from publisher.simulation import volume
from publisher.simulation.oracles import Oracles, Violation

CORPUS = sorted((Path(__file__).parents[1] / "simulation" / "corpus").glob("*.json"))


def test_a_small_run_tells_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["simulate", "--histories", "20", "--target", "joined", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["seed"], data["broken"]) == ("publisher.simulation/1", "1", [])
    joined = data["targets"]["joined"]
    assert joined["histories"] == 20
    assert joined["violations"] == 0
    assert joined["courses"] > 0
    assert "sleep: crash after" in joined["never_struck"] or "sleep: crash after" in joined["struck"]


def test_people_get_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["simulate", "--histories", "20", "--target", "conditional"]) == 0
    out = capsys.readouterr().out
    assert "20 histories, 0 broken rules" in out
    assert "distinct courses executed by the production code" in out


@pytest.mark.parametrize(("enough", "code"), [(10, 1), (11, 0)])
def test_what_never_struck_fails_a_run_that_is_large_enough(
    enough: int, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten histories are too few for every fault: that fails them only when ten count as enough."""
    monkeypatch.setattr(simulate, "ENOUGH", enough)
    assert answer(["simulate", "--histories", "10", "--target", "joined"]) == code
    assert ("joined: never struck in 10 histories: " in capsys.readouterr().out) == bool(code)


def test_one_history_is_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["simulate", "--replay", "1:7", "--target", "unconditional"]) == 0
    assert "no rule was broken" in capsys.readouterr().out
    assert answer(["simulate", "--replay", str(CORPUS[0]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["broken"] == []


@pytest.mark.parametrize(
    ("argv", "code"),
    [(["--replay", "1:7"], "which"), (["--replay", "nothing.json"], "no-history"), (["--replay", "x:y"], "no-history")],
)
def test_what_cannot_be_replayed_is_refused(argv: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["simulate", *argv]) == 2
    assert f"[{code}]" in capsys.readouterr().err


def test_a_broken_rule_is_shrunk_told_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an oracle that forbids every confirmation, each history goes wrong; a short one is shown, with its command."""

    def never(*_: object) -> None:
        raise Violation("never", "nothing may be confirmed")

    from publisher.simulation import oracles

    monkeypatch.setitem(oracles.RULES, "confirmed", never)
    assert isinstance(volume.Runner("joined").oracles, Oracles)
    command = ["simulate", "--histories", "9", "--target", "joined", "--keep", str(tmp_path)]
    assert answer(command) == 1
    out = capsys.readouterr().out
    assert "publisher simulate --replay 1:" in out
    assert "nothing may be confirmed" in out
    kept = sorted(tmp_path.glob("never-joined-*.json"))
    assert kept
    assert answer(["simulate", "--replay", str(kept[0])]) == 1
    data = json.loads(kept[0].read_text())
    assert len(data["moves"]) <= 3
