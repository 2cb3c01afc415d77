"""What scripts and CI rely on: exit codes, JSON, streams, waiting for an approval, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from publisher.cli.main import VERBS
from tests.support.instance import Instance, make_instance
from tests.support.web import serving

PLAN = "blog/daily/2026/2026-03-01"
EVENING = "2026-03-01T08:00:00+08:00"


@pytest.fixture
def instance(tmp_path: Path):
    with serving(tmp_path / "i" / "public" / "current") as web:
        web.date = None
        yield make_instance(tmp_path / "i", url=web.url, publish_time="09:00", lease="1s")


def test_exit_codes_of_a_day(instance: Instance) -> None:
    instance.driven("ci", "run", now=EVENING, check=0)
    instance.driven("planner", "plan", now=EVENING, check=0)
    instance.driven("ci", "run", now="2026-03-01T09:01:00+08:00", check=0)  # an open request is no plan yet
    instance.driven("reviewer", "approve", "1", "--yes", now=EVENING, check=0)
    instance.driven("ci", "run", now="2026-03-01T08:30:00+08:00", check=0)
    instance.driven("ci", "run", PLAN, "--yes", now="2026-03-01T08:30:00+08:00", check=5)
    instance.driven("ci", "run", PLAN, now="2026-03-01T09:01:00+08:00", check=2)  # nobody is there to be asked
    instance.driven("ci", "run", "--scheduled", now="2026-03-01T09:01:00+08:00", check=0)
    instance.driven("ci", "run", PLAN, "--yes", now="2026-03-01T09:02:00+08:00", check=0)
    instance.driven("ci", "status", "blog/daily/2026/2031-01-01", check=2)
    instance.driven("ci", "pause", "blog", "--reason", "x", now="2026-03-01T09:03:00+08:00", check=0)
    instance.driven("ci", "run", now="2026-03-01T09:03:00+08:00", check=0)


def test_a_plan_that_nobody_approved(instance: Instance) -> None:
    instance.driven("planner", "plan", "--local", now=EVENING, check=0)
    planner = instance.clone("planner")
    planner.commit({}, "a plan, pushed directly")
    planner.push()
    done = instance.driven("ci", "run", "--json", now="2026-03-01T09:01:00+08:00")
    assert done.returncode == 4
    (plan,) = json.loads(done.stdout)["sites"][0]["plans"]
    assert plan["next"]["code"] == "approval-no-request"
    assert not instance.public.exists()


def test_status_json_has_what_is_promised(instance: Instance) -> None:
    instance.driven("planner", "plan", now=EVENING, check=0)
    instance.driven("reviewer", "approve", "1", "--yes", now=EVENING, check=0)
    instance.driven("ci", "run", now="2026-03-01T09:01:00+08:00", check=0)
    status = json.loads(instance.driven("ci", "status", "--all", "--json", check=0).stdout)
    assert status["schema"] == "publisher.status/1"
    assert {"site", "now", "plans"} <= set(status)
    (plan,) = status["plans"]
    assert {"plan", "kind", "key", "stage", "payload", "approval", "claim", "tasks", "articles", "next"} <= set(plan)
    assert (plan["plan"], plan["kind"], plan["stage"]) == (PLAN, "publication", "confirmed")
    assert plan["approval"]["by"] == "reviewer@example.org"
    assert [task["state"] for task in plan["tasks"]] == ["succeeded"] * 4
    assert [article["public"] for article in plan["articles"]] == ["confirmed", "confirmed"]
    assert set(plan["next"]) >= {"who", "what", "command"}


def test_waiting_for_an_approval(instance: Instance) -> None:
    """A live run asks every two seconds, and goes on as soon as somebody approved."""
    instance.driven("planner", "plan", "--local", now=EVENING, check=0)
    planner = instance.clone("planner")
    planner.commit({}, "pushed directly, so that the plan exists without an approval")
    planner.push()
    again = json.loads(instance.driven("planner", "plan", "--again", PLAN, "--json", now=EVENING, check=0).stdout)
    waiting = instance.start_driven("ci", "run", PLAN, "--yes", "--wait", "1h", now="2026-03-01T09:01:00+08:00")
    time.sleep(1.5)
    assert waiting.poll() is None
    assert not instance.public.exists()
    instance.driven(
        "reviewer", "approve", str(again["proposed"][0]["request"]), "--yes", now="2026-03-01T09:01:00+08:00", check=0
    )
    out, err = waiting.communicate(timeout=90)
    assert waiting.returncode == 0, err
    assert "confirmed" in out


def test_ctrl_c_loses_nothing(instance: Instance) -> None:
    instance.driven("planner", "plan", now=EVENING, check=0)
    instance.driven("reviewer", "approve", "1", "--yes", now=EVENING, check=0)
    log = instance.folder / "effects"
    running = instance.start_driven("ci", "run", now="2026-03-01T09:01:00+08:00", log=str(log))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (log.exists() and log.read_text().count("\n") >= 2):
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    if running.returncode != 0:
        assert running.returncode == 130, err
        assert "Nothing is lost" in err
    instance.fresh_clone("ci-2")
    instance.driven("ci-2", "run", now="2026-03-01T09:30:00+08:00", check=0)
    assert instance.ledger(PLAN)[-1]["type"] in ("confirmed", "noticed")
    assert sum(event["type"] == "deployed" for event in instance.ledger(PLAN)) == 1


def test_errors_are_one_json_document_when_asked(instance: Instance) -> None:
    done = instance.publisher("ci", "status", "blog/daily/2026/2031-01-01", "--json", check=2)
    error = json.loads(done.stdout)
    assert (error["schema"], error["error"]["code"]) == ("publisher.error/1", "no-such-plan")
    assert done.stderr == ""


def test_no_colour_without_a_terminal(instance: Instance) -> None:
    assert "\x1b" not in instance.publisher("ci", "status").stdout
    instance.environment |= {"FORCE_COLOR": "1", "NO_COLOR": ""}
    assert "\x1b" in instance.publisher("ci", "status").stdout


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_has_help_with_examples(verb: str) -> None:
    done = subprocess.run([sys.executable, "-m", "publisher", verb, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert f"$ publisher {verb}" in done.stdout


def test_outside_an_instance(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "publisher", "status"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3
    assert "next:" in done.stderr
