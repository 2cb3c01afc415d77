"""The one error boundary: exit codes, what is told, and what never is."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click
import pytest

from publisher import errors
from publisher.cli.boundary import Asked, guarded
from publisher.domain.tasks import State
from publisher.errors import NeedsPerson, StoppedForSafety

SECRET = "ghp_0123456789 and the draft's title"


def told(work, **asked):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = guarded(work, Asked(**asked))
    return code, out.getvalue(), err.getvalue()


def raising(error):
    def work():
        raise error

    return work


def test_what_a_verb_returns_is_the_exit_code():
    assert told(lambda: None) == (0, "", "")
    assert told(lambda: 4) == (4, "", "")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.UsageProblem, 2),
        (errors.InputProblem, 3),
        (errors.NeedsPerson, 4),
        (errors.ComeBackLater, 5),
        (errors.OutcomeUnknown, 6),
        (errors.StoppedForSafety, 7),
        (errors.Bug, 1),
    ],
)
def test_a_refusal_names_the_thing_the_reason_and_the_next_command(kind, code):
    refusal = kind("some-code", "it is so", next="publisher status", where="plans/a/b.yaml:3:5")
    assert told(raising(refusal)) == (
        code,
        "",
        "publisher: plans/a/b.yaml:3:5: it is so [some-code]\n  next: publisher status\n",
    )


def test_a_refusal_as_json_stands_alone_on_stdout():
    code, out, err = told(raising(NeedsPerson("decide", "someone decides", plan="handbook/launch")), as_json=True)
    assert (code, err) == (4, "")
    assert json.loads(out) == {
        "schema": "publisher.error/1",
        "error": {"code": "decide", "says": "someone decides", "plan": "handbook/launch"},
        "exit": 4,
    }


def test_a_printed_id_cannot_steer_the_terminal():
    evil = "\x1b]0;owned\x07\x1b[2J\n next: rm -rf / \u202e\x9b31m"
    _, _, err = told(raising(StoppedForSafety("x", evil, next=evil, where=evil)))
    assert not [char for char in err if char != "\n" and not char.isprintable()]
    assert err.count("\n") == 2
    assert "\\x1b]0;owned\\x07" in err


def test_a_bug_tells_its_type_and_place_but_never_its_text():
    def work():
        State(SECRET)  # raises inside the standard library, called from our own file

    code, out, err = told(work, debug=True)
    assert code == 1
    assert "ValueError" in err
    assert SECRET not in out + err

    def deep():
        from publisher.domain.business_calendar import parse_date

        parse_date(SECRET)

    _, _, err = told(deep)
    assert "publisher/domain/business_calendar.py:" in err.splitlines()[0]
    assert SECRET not in err
    assert "Traceback" not in err and "raise" not in err


def test_the_machines_own_trouble_is_no_bug():
    code, _, err = told(raising(OSError(errno.ENOSPC, SECRET)))
    assert code == 5
    assert "[disk-trouble]" in err and "ENOSPC" in err and SECRET not in err
    code, _, err = told(raising(OSError(errno.ENOENT, SECRET)))
    assert code == 1
    assert SECRET not in err


def test_debug_shows_frames_and_no_values():
    def work():
        held = SECRET
        raise RuntimeError(held) from KeyError(held)

    _, _, err = told(work, debug=True)
    assert "raise RuntimeError(held)" in err
    assert err.rstrip().endswith("builtins.RuntimeError")
    assert SECRET not in err


def test_a_bug_as_json_is_json():
    code, out, err = told(raising(MemoryError()), as_json=True)
    assert (code, err) == (1, "")
    assert json.loads(out)["error"]["code"] == "bug"


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), click.Abort()])
def test_ctrl_c_says_that_nothing_is_lost(stop):
    code, out, err = told(raising(stop))
    assert (code, out) == (130, "")
    assert err.count("\n") == 1
    assert "Nothing is lost" in err and "publisher status" in err


def test_a_broken_pipe_that_is_not_ours_is_a_bug():
    assert told(raising(BrokenPipeError()))[0] == 1


def test_click_errors_are_usage():
    code, _, err = told(raising(click.BadParameter("not a date")))
    assert (code, err) == (2, "publisher: Invalid value: not a date [usage]\n  next: publisher --help\n")


def test_a_verb_must_not_return_something_else():
    assert told(lambda: "fine")[0] == 1


def test_a_reader_that_goes_away_is_quiet():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "publisher", "--version"], stdout=gone, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_not_a_success():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "publisher", "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 5
    assert "[output-failed]" in done.stderr
