"""What is the world's trouble ends with 5, and a run later does the work; what is gone is said, not shown as nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.support.scene import Scene, daily, scene_of

PLAN = daily("12-01")
LAGS = """\
#!/bin/bash
# In the place of ssh: by turns, the machine that took the last push answers, and one that lags behind it.
if [ -e "{mark}" ]; then rm "{mark}"; exec git upload-pack "{replica}"; fi
: > "{mark}"
exec git upload-pack "{primary}"
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("outside"), publish_time="09:00") as scene:
        yield scene


@pytest.fixture
def new(stage: Scene) -> Iterator[Scene]:
    stage.back_to("new")
    yield stage
    stage.instance.environment.pop("GIT_SSH_COMMAND", None)


def test_a_replica_that_lags_behind_is_waited_for(new: Scene) -> None:
    folder = new.instance.folder / "lagging"
    folder.mkdir()
    primary, replica = new.instance.remote.path, folder / "replica.git"
    shutil.copytree(primary, replica)
    new.approve(new.plan("12-01 08:00"), "12-01 08:05")
    program = folder / "ssh"
    program.write_text(LAGS.format(mark=folder / "mark", primary=primary, replica=replica))
    program.chmod(0o755)
    runner = new.instance.clone("ci")
    runner.git("remote", "set-url", "origin", f"ssh://git@replicas.example{primary}")
    new.instance.environment["GIT_SSH_COMMAND"] = str(program)
    done = new.run("12-01 09:01", check=5)
    assert "remote-lags" in done.text
    assert new.live == {}
    runner.git("remote", "set-url", "origin", str(primary))
    new.run("12-01 09:05")
    assert new.articles() == ["a-0001", "a-0002"]


@pytest.mark.parametrize("argv", [("status",), ("status", "--fresh")])
def test_status_says_that_the_ledger_is_gone(new: Scene, argv: tuple[str, ...]) -> None:
    assert "problem" not in new.do("ci", *argv, "--json", now="12-01 08:00").data
    claims = "ledger/blog/claims/2026.jsonl"
    new.edit({claims: None}, "Tidy up")
    new.instance.clone("ci").git("fetch", "--quiet", "origin")
    done = new.do("ci", *argv, "--json", now="12-01 08:00", check=7)
    assert done.data["problem"]["code"] == "no-ledger"
    assert "[no-ledger]" in new.do("ci", *argv, now="12-01 08:00", check=7).err
