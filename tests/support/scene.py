"""A story's stage: one instance at a fixed path, whose saved states are put back, and the few things that people do in it.

Commands are the real command line in a process of its own, each actor in its own clone; the clock is given with every command.
Times are Hong Kong wall times (``12-01 09:00`` is in 2026) unless a whole instant is given.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import copies
from tests.support.gitrepos import Repository
from tests.support.instance import Instance, make_instance
from tests.support.warm import Warm
from tests.support.web import StaticSite, serving

YEAR = 2026


@cache
def warm_process() -> Warm:
    """One warm process for all scenes of this test run."""
    warm = Warm()
    atexit.register(warm.close)
    return warm


def at(time_of_day: str) -> str:
    """``12-01 09:00`` or ``12-01 09:00:30`` of 2026, or with a year, in Hong Kong; whole instants pass."""
    if "T" in time_of_day:
        return time_of_day
    day, clock = time_of_day.split(" ")
    day = day if day.count("-") == 2 else f"{YEAR}-{day}"
    return f"{day}T{clock if clock.count(':') == 2 else clock + ':00'}+08:00"


def daily(day: str) -> str:
    """The path of a date's plan; ``12-01`` is in 2026."""
    day = day if day.count("-") == 2 else f"{YEAR}-{day}"
    return f"blog/daily/{day[:4]}/{day}"


@dataclass
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def data(self) -> Any:
        return json.loads(self.out)

    def plan(self, path: str) -> dict[str, Any]:
        """What ``run --json`` or ``status --json`` says about one plan."""
        data = self.data
        plans = [plan for site in data.get("sites", [data]) for plan in site["plans"]]
        return next(plan for plan in plans if plan["plan"] == path)

    def code_of(self, path: str) -> str:
        """Why a plan does not go on: the refusal's code, else that of the next decision."""
        plan = self.plan(path)
        return str((plan.get("problem") or plan["next"])["code"])

    @property
    def site_problem(self) -> str:
        """The code for which a site could not be run at all, or ""."""
        return str((self.data["sites"][0]["problem"] or {}).get("code", ""))


@dataclass
class Scene:
    """``instance`` always lies at the same path."""

    folder: Path
    web: StaticSite
    instance: Instance

    # --- states -----------------------------------------------------------------------------------------------------------

    def save(self, name: str) -> None:
        copies.replace(self.folder / f"saved-{name}", self.instance.folder)

    def has(self, name: str) -> bool:
        return (self.folder / f"saved-{name}").exists()

    def back_to(self, name: str) -> None:
        copies.replace(self.instance.folder, self.folder / f"saved-{name}")
        self.web.missing.clear()
        self.web.foreign = None

    # --- commands ---------------------------------------------------------------------------------------------------------

    def do(self, who: str, *argv: str, now: str, check: int | None = 0, **driver: str) -> Done:
        done = self.instance.driven(who, *argv, check=check, now=at(now), **driver)
        return Done(done.returncode, done.stdout, done.stderr)

    def run(self, now: str, *argv: str, check: int | None = 0, who: str = "ci", **driver: str) -> Done:
        return self.do(who, "run", "--json", *argv, now=now, check=check, **driver)

    def killed(self, now: str, where: str) -> None:
        """A run that dies (SIGKILL) at an effect, such as ``after:records.publish:2``."""
        self.run(now, check=-signal.SIGKILL, at=f"kill:{where}")

    def plan(self, now: str, *argv: str, check: int = 0) -> int:
        """The number of the request that the planner opened or found."""
        done = self.do("planner", "plan", "--json", *argv, now=now, check=check)
        return int(done.data["proposed"][0]["request"])

    def propose(self, now: str, *argv: str) -> int:
        """The request of a ``change`` or ``revise``."""
        return int(self.do("planner", *argv, "--json", now=now).data["proposed"][0]["request"])

    def approve(self, number: int, now: str, *argv: str, check: int = 0) -> Done:
        return self.do("reviewer", "approve", str(number), "--yes", *argv, now=now, check=check)

    def publish(self, now: str, *argv: str) -> None:
        """Everything that a change or revision needs until it is public."""
        self.approve(self.propose(now, *argv), now)
        self.run(now)

    @contextmanager
    def stopped(self, now: str, where: str, *argv: str, who: str = "ci") -> Iterator[StoppedRun]:
        """A command (``run`` where none is named) that is stopped (SIGSTOP) at an effect, and goes on after the block."""
        command = argv if argv and not argv[0].startswith("-") else ("run", "--json", *argv)
        process = self.instance.start_driven(who, *command, now=at(now), at=f"stop:{where}")
        held = StoppedRun(process)
        try:
            held.wait_until_stopped()
            yield held
        finally:
            if held.done is None:
                held.go_on()

    # --- people -----------------------------------------------------------------------------------------------------------

    def edit(self, files: Mapping[str, bytes | str | None], message: str = "An edit") -> str:
        """A plain push to the default branch."""
        editor = self.pulled()
        editor.commit(files, message)
        editor.push()
        return editor.head()

    def pulled(self) -> Repository:
        editor = self.instance.clone("editor")
        editor.git("fetch", "--quiet", "origin")
        editor.git("reset", "--quiet", "--hard", "origin/main")
        return editor

    def text(self, path: str, ref: str = "main") -> str:
        return self.instance.remote.git("show", f"{ref}:{path}") + "\n"

    # --- what is there ----------------------------------------------------------------------------------------------------

    def page(self, path: str) -> bytes | None:
        """What the public web answers, None for 404 and 410."""
        try:
            with urllib.request.urlopen(f"{self.web.url}{path.lstrip('/')}", timeout=10) as answer:
                body: bytes = answer.read()
                return body
        except urllib.error.HTTPError as error:
            error.close()
            if error.code not in (404, 410):
                raise
            return None

    @property
    def live(self) -> dict[str, bytes]:
        """Every public file, less the claim file; empty before the first release."""
        return self.instance.live() if (self.instance.public / "current").exists() else {}

    @property
    def everything_public(self) -> bytes:
        return b"\n".join(self.live.values())

    def articles(self) -> list[str]:
        """The ids in the public manifest, in its order."""
        data = self.live.get(".well-known/publisher.json")
        return [item["id"] for item in json.loads(data)["articles"]] if data else []

    def events(self, path: str) -> list[str]:
        return [event["type"] for event in self.instance.ledger(path, self.state)]

    @property
    def state(self) -> str:
        return "publisher-state" if "publisher-state" in self.text("publisher.yaml") else "main"

    def refs(self) -> dict[str, str]:
        return self.instance.remote.refs()


@dataclass
class StoppedRun:
    """A process that stopped itself."""

    process: subprocess.Popen[str]
    done: Done | None = None

    def wait_until_stopped(self, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.process.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                return
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                raise AssertionError(f"it ended instead of stopping: {self.process.communicate()}")
            time.sleep(0.01)
        raise AssertionError("it never stopped")

    def go_on(self) -> Done:
        self.process.send_signal(signal.SIGCONT)
        out, err = self.process.communicate(timeout=120)
        self.done = Done(self.process.returncode, out, err)
        return self.done


@contextmanager
def scene_of(folder: Path, **options: Any) -> Iterator[Scene]:
    """A new instance and the web server at its site's address; ``options`` are those of ``make_instance``."""
    with serving(folder / "instance" / "public" / "current") as web:
        web.date = None  # the story has a clock of its own
        instance = make_instance(folder / "instance", url=web.url.rstrip("/"), **options)
        instance.warm = warm_process()
        scene = Scene(folder, web, instance)
        scene.save("new")
        yield scene
