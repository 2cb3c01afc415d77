"""This repository is a working instance: what its ledger records holds, from a fresh clone, and builds again to its digests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gitrepos import environment
from tests.support.instance import REPOSITORY


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("needs the repository's history")
    path = tmp_path_factory.mktemp("handbook") / "clone"
    subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(path)], check=True, capture_output=True, env=environment())
    return path


def publisher(clone: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    env = {**environment(), "PYTHONPATH": str(REPOSITORY), "PUBLISHER_ROOT": ""}
    return subprocess.run(
        [sys.executable, "-m", "publisher", *argv], cwd=clone, env=env, capture_output=True, text=True, timeout=300
    )


def test_everything_public_was_approved_and_builds_again(clone: Path) -> None:
    done = publisher(clone, "audit", "--rebuild", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0, (report["problems"], done.stderr)
    assert report["problems"] == []
    assert report["not_proven"] == []
    (site,) = report["sites"]
    assert len(site["articles"]) >= 4
    assert all(article["approved_by"] and article["confirmed_at"] for article in site["articles"])


def test_the_queue_can_be_planned_in_its_order(clone: Path) -> None:
    """Links lead backwards only: each next date can be built when its turn comes."""
    ids = [
        line["id"] for line in json.loads(publisher(clone, "queue", "list", "--site", "handbook", "--json").stdout)["articles"]
    ]
    assert len(ids) >= 10
    assert ids == sorted(ids)


def test_a_preview_knows_the_handbook(clone: Path) -> None:
    report = json.loads(publisher(clone, "preview", "--json").stdout)
    assert report["site"] == "handbook"
    assert report["live"]["articles"] >= 4
