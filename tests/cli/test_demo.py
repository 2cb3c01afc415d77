"""``publisher demo``: the whole story holds, leaves nothing behind, touches nothing of the machine, and tells when it fails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from publisher.cli.demo_stage import Stage, Unexpected, environment
from publisher.cli.demo_texts import ARTICLES, draft_files
from publisher.sitebuilder.builder import Builder
from tests.support.command_line import publisher

REPOSITORY = Path(__file__).resolve().parents[2]
HOSTILE = (
    "[user]\n\tname = Somebody\n[commit]\n\tgpgsign = true\n[init]\n\tdefaultBranch = trunk\n[core]\n\thooksPath = /nowhere\n"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a git configuration that would break every command of the demo, were it read; and a place for temporary files."""
    home = tmp_path / "home"
    (home / "tmp").mkdir(parents=True)
    (home / ".gitconfig").write_text(HOSTILE)
    return home


def start(home: Path, *argv: str, **more: str) -> subprocess.Popen[str]:
    env = (
        os.environ
        | {"HOME": str(home), "TMPDIR": str(home / "tmp"), "PYTHONPATH": str(REPOSITORY), "GIT_DIR": "/nowhere"}
        | more
    )
    return subprocess.Popen(
        [sys.executable, "-m", "publisher", "demo", *argv], cwd=home, env=env, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def demo(home: Path, *argv: str, **more: str) -> tuple[int, str, str]:
    process = start(home, *argv, **more)
    out, err = process.communicate(timeout=280)
    return process.returncode, out, err


def git(folder: Path, *argv: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *argv], capture_output=True, text=True, check=True, env=environment(folder, "")
    )
    return done.stdout.strip()


# --- the story ------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_whole_story_kept_in_a_directory(home):
    folder = home / "garden"
    code, out, err = demo(home, "--dir", str(folder), "--json")
    told = json.loads(out)
    assert code == 0, json.dumps(told["chapters"][-1], indent=1) + err
    assert told["holds"] and told["reached"] == "over" and told["folder"] == str(folder)
    commands = [command for chapter in told["chapters"] for command in chapter["commands"]]
    words = {command["command"].split(" && ")[-1].split()[0] for command in commands}
    assert words == {"git", "ssh-keygen", "publisher", "kill"}
    assert all(check["holds"] for chapter in told["chapters"] for check in chapter["checks"])
    refused = next(item for item in commands if item["command"].startswith("cd ci-2 && publisher run garden/"))
    assert refused["exit"] == 4

    assert {path.name for path in folder.iterdir()} == {
        "remote.git", "editor", "reviewer", "ci", "ci-2", "keys", "public", "NOTES.md",
    }  # fmt: skip
    assert (home / ".gitconfig").read_text() == HOSTILE and list((home / "tmp").iterdir()) == []

    ledger = git(folder / "remote.git", "show", f"main:ledger/{told['plan']}.jsonl").splitlines()
    types = [json.loads(line)["type"] for line in ledger]
    assert [types.count(kind) for kind in ("deploy-intent", "deployed", "confirmed")] == [1, 1, 1]
    assert "publish_at" not in git(folder / "remote.git", "show", f"main:plans/{told['plan']}.yaml")
    assert git(folder / "remote.git", "ls-tree", "-r", "--name-only", "main", "plans").count("/daily/") == 1, "no leftovers"
    assert not git(folder / "editor", "status", "--porcelain")
    assert told["plan"] in (folder / "NOTES.md").read_text()
    # What is kept is an instance like any other.
    status = publisher("status", "--all", "--json", at=folder / "ci-2").data
    assert status["live"]["articles"] == 2


@pytest.mark.slow
def test_stopped_before_the_review(home):
    folder = home / "garden"
    code, out, err = demo(home, "--dir", str(folder), "--until", "planned")
    assert code == 0, (out, err)
    assert "a plan is proposed" in out.lower()
    assert git(folder / "remote.git", "rev-parse", "publisher/requests/1")
    assert not (folder / "public").exists() and "begin at 1" in (folder / "NOTES.md").read_text()
    assert publisher("approve", "1", "--yes", at=folder / "reviewer").code == 0, "the rest can be done by hand"


@pytest.mark.slow
def test_stopped_after_the_review_leaves_nothing_without_dir(home):
    code, out, _ = demo(home, "--until", "approved", "--json")
    told = json.loads(out)
    assert code == 0 and told["reached"] == "approved" and told["folder"] is None
    assert list((home / "tmp").iterdir()) == []
    assert [chapter["title"] for chapter in told["chapters"]] == ["An instance", "Plan", "Review"]


# --- what goes wrong ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_step_that_fails_says_what_was_expected_and_keeps_everything(home):
    tools = home / "bin"
    tools.mkdir()
    real = shutil.which("git")
    (tools / "git").write_text(f'#!/bin/sh\n[ "$1" = ls-remote ] && echo no such thing && exit 3\nexec {real} "$@"\n')
    (tools / "git").chmod(0o755)
    code, out, _ = demo(home, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
    assert code == 1
    assert "no such thing" in out and "✗ expected: this ends with 0; it ended with 3" in out
    (kept,) = (home / "tmp").iterdir()
    assert str(kept) in out and (kept / "editor").is_dir()


@pytest.mark.slow
def test_ctrl_c_ends_every_command_and_cleans_up(home):
    folder = home / "garden"
    process = start(home, "--dir", str(folder))
    try:
        deadline = time.monotonic() + 60
        while not (folder / "editor/publisher.yaml").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and list(folder.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_directory_in_use_is_not_touched(tmp_path):
    (tmp_path / "mine").write_text("mine")
    said = publisher("demo", "--dir", str(tmp_path))
    assert said.code == 2 and "[not-empty]" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_without_ssh_keygen_the_package_is_named(tmp_path, monkeypatch):
    (tmp_path / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", str(tmp_path))
    said = publisher("demo", "--dir", str(tmp_path / "garden"))
    assert said.code == 4 and "[ssh-keygen-missing]" in said.err and "openssh-client" in said.err
    assert not (tmp_path / "garden").exists()


# --- parts ----------------------------------------------------------------------------------------------------------------------


def test_there_are_ten_articles_that_build():
    files = draft_files()
    assert len(files) == len(ARTICLES) == 10
    assert len({data.split(b"\n")[1] for data in files.values()}) == 10, "ids differ"
    for data in files.values():
        assert Builder().references(data.decode()) == ()


def test_what_the_commands_see():
    seen = environment(
        Path("/d"), "ci", {"GIT_DIR": "/x", "PUBLISHER_ROOT": "r", "FORCE_COLOR": "1", "PYTHONPATH": "/p", "PATH": "/bin"}
    )
    assert seen["GIT_CONFIG_GLOBAL"] == os.devnull and seen["PATH"] == "/bin" and seen["PUBLISHER_ACTOR"] == "ci"
    assert {"GIT_DIR", "PUBLISHER_ROOT", "FORCE_COLOR"}.isdisjoint(seen)
    assert seen["PYTHONPATH"] == f"{REPOSITORY}{os.pathsep}/p" and seen["TMPDIR"] == "/d/tmp"


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("COLUMNS", "60")
    (tmp_path / "tmp").mkdir()
    stage = Stage(tmp_path, silent=False)
    stage.chapter("A chapter", "What it is about.")
    return stage


def test_a_long_command_is_broken_between_words(stage, capsys):
    stage.run("", "git", "--version", shown="git --version --title 'The Kitchen Garden' --url http://127.0.0.1:1/ --zone UTC")
    lines = capsys.readouterr().out.splitlines()
    shown = [line for line in lines if line.lstrip().startswith(("$", "--"))]
    assert len(shown) == 2 and all(len(line) <= 60 for line in shown)
    assert shown[0].endswith("'The Kitchen Garden' \\") and shown[1].strip().startswith("--url")


def test_long_output_is_cut_or_counted_and_cannot_steer_the_terminal(stage, capsys):
    stage.run("", "git", "init", "--quiet", "-b", "main", ".")
    stage.run("", "git", "config", "alias.say", "!printf 'one\\n\\033[2Jtwo\\n%0200d\\nfour\\n' 0")
    capsys.readouterr()
    ran = stage.run("", "git", "say", most=3, cut=True)
    out = capsys.readouterr().out
    assert len(ran.said) == 4 and "\x1b" not in out and "\\x1b[2Jtwo" in out
    assert "… and 1 more lines" in out and max(map(len, out.splitlines())) <= 60


def test_an_unexpected_end_shows_everything_and_stops(stage, capsys):
    with pytest.raises(Unexpected):
        stage.run("", "git", "no-such-verb", most=1)
    out = capsys.readouterr().out
    assert "✗ expected: this ends with 0" in out and "no-such-verb" in out
    assert not stage.chapters[0].holds


def test_nothing_else_is_executed(stage):
    with pytest.raises(Exception, match="demo-command"):
        stage.run("", "rm", "-r", "x")
