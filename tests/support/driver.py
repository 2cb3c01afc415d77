"""The real command line in a process of its own, with the doors wrapped: a clock at another date, and death at chosen effects.

    python -m tests.support.driver VERB …

Environment:
* ``DRIVER_NOW``: the instant at which the clock starts (it then runs on as usual);
* ``DRIVER_AT``: ``MODE:WHEN:NAME:N``: what goes wrong at the N-th call of a boundary (boundaries.py); for one,
  ``kill:before:NAME:N``: the process sends itself SIGKILL there. Every effect of ``ports.EFFECTS`` is a boundary;
* ``DRIVER_TRAIL``: a file that gets one line per boundary: name, number;
* ``DRIVER_LOG``: a file that gets one line per effect: name, worker's step;
* ``DRIVER_UNREACHABLE``: ``N``: the N-th and every later talk with the remote fails as an unreachable one does;
* ``DRIVER_TALKS``: a file that gets one line per talk with the remote;
* ``DRIVER_LOST_ANSWER``: ``N``: the N-th push happens and reports failure;
* ``DRIVER_LOST_SWITCH``: set: the target's switch happens and its answer is lost;
* ``DRIVER_UNDECLARED``: a step whose worker is taken to have declared no effects;
* ``STRIKE_…``: a system call is struck (strace.py).

An effect that a worker causes and did not declare ends the process with status 99. Production code knows nothing of this.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from publisher import wiring
from publisher.errors import ComeBackLater, OutcomeUnknown
from publisher.ports import EFFECTS, Worker
from tests.support.boundaries import DOORS, Boundaries

UNDECLARED = 99


class ShiftedClock:
    """Starts at an instant and runs on."""

    def __init__(self, start: str) -> None:
        self._shift = datetime.fromisoformat(start).astimezone(UTC) - datetime.now(UTC)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._shift

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.2))
        self._shift += timedelta(seconds=max(0.0, seconds - 0.2))

    def jump(self, seconds: float) -> None:
        self._shift += timedelta(seconds=seconds)


class Effects:
    """Logs effects, sees that workers declared theirs, and hands every call to the boundaries."""

    def __init__(self) -> None:
        self.worker: Worker | None = None
        self.clock: Any = None
        self.boundaries = Boundaries(lambda: self.clock)

    def wrap(self, door: Any, prefix: str) -> Any:
        return Wrapped(self, door, prefix, DOORS[prefix])

    def call(self, name: str, method: Any, args: Any, kwargs: Any) -> Any:
        if name in EFFECTS:
            self._declared(name)
            self._log(name)
        result = self.boundaries.call(name, method, args, kwargs)
        if name == "target.switch" and os.environ.get("DRIVER_LOST_SWITCH"):
            raise OutcomeUnknown("switch-unknown", "the answer was lost")
        return result

    def _declared(self, name: str) -> None:
        if self.worker and name != "records.publish" and name not in self.worker.effects:
            sys.stderr.write(f"undeclared effect {name} in {self.worker.step}\n")
            sys.stderr.flush()
            os._exit(UNDECLARED)

    def _log(self, name: str) -> None:
        if os.environ.get("DRIVER_LOG"):
            with Path(os.environ["DRIVER_LOG"]).open("a") as log:
                log.write(f"{name} {self.worker.step if self.worker else '-'}\n")


class Wrapped:
    """A door some of whose methods are boundaries; everything else passes through."""

    def __init__(self, effects: Effects, door: Any, prefix: str, methods: tuple[str, ...]) -> None:
        self._effects, self._door, self._prefix, self._methods = effects, door, prefix, methods

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._door, name)
        if name not in self._methods:
            return value
        return lambda *args, **kwargs: self._effects.call(f"{self._prefix}.{name}", value, args, kwargs)


class Talk:
    """Git's talk with the remote: unreachable from a point on, or answering falsely."""

    def __init__(self, git: Any) -> None:
        self._git = git
        self.talks = self.pushes = 0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._git, name)
        if name not in ("push", "fetch", "remote_refs"):
            return value

        def talk(*args: Any, **kwargs: Any) -> Any:
            self.talks += 1
            if os.environ.get("DRIVER_TALKS"):
                with Path(os.environ["DRIVER_TALKS"]).open("a") as log:
                    log.write(f"{name}\n")
            limit = int(os.environ.get("DRIVER_UNREACHABLE", "0"))
            if limit and self.talks >= limit:
                if name == "push":
                    return False
                raise ComeBackLater("remote-unreachable", "the remote does not answer", next="try again")
            result = value(*args, **kwargs)
            if name == "push":
                self.pushes += 1
                if self.pushes == int(os.environ.get("DRIVER_LOST_ANSWER", "0")):
                    return False
            return result

        return talk


def install() -> None:
    effects = Effects()
    plain_doors, plain_open, plain_requests = wiring.Wired.doors, wiring.open_instance, wiring.Wired.requests

    def doors(self: wiring.Wired) -> Any:
        made = plain_doors(self)
        workers = {
            key: dataclasses.replace(worker, work=_tracked(effects, _declared(worker))) for key, worker in made.workers.items()
        }
        target, staging, probes, channel = made.target, made.staging, made.probes, made.channel
        return dataclasses.replace(
            made,
            workers=workers,
            reads=effects.wrap(made.reads, "reads"),
            forge=effects.wrap(made.forge, "forge"),
            builder=effects.wrap(made.builder, "builder"),
            records=effects.wrap(made.records, "records"),
            alerts=effects.wrap(made.alerts, "alerts"),
            target=lambda site: effects.wrap(target(site), "target"),
            staging=lambda site: (door := staging(site)) and effects.wrap(door, "staging"),
            probes=lambda site: effects.wrap(probes(site), "probes"),
            channel=lambda site, name: effects.wrap(channel(site, name), "channel"),
        )

    def requests(self: wiring.Wired) -> Any:
        return effects.wrap(plain_requests.func(self), "requests")

    def open_instance(*args: Any, **kwargs: Any) -> Any:
        if os.environ.get("DRIVER_NOW"):
            kwargs["clock"] = ShiftedClock(os.environ["DRIVER_NOW"])
        made = plain_open(*args, **kwargs)
        effects.clock = made.clock
        talk = Talk(effects.wrap(made.git, "git"))
        made.git = made.store._git = talk
        return made

    wiring.Wired.doors = doors
    wiring.Wired.requests = cached_property(requests)
    wiring.Wired.requests.__set_name__(wiring.Wired, "requests")
    wiring.open_instance = open_instance


def _declared(worker: Worker) -> Worker:
    return dataclasses.replace(worker, effects=()) if worker.step == os.environ.get("DRIVER_UNDECLARED") else worker


def _tracked(effects: Effects, worker: Worker) -> Any:
    def work(bench: Any) -> None:
        effects.worker = worker
        try:
            worker.work(bench)
        finally:
            effects.worker = None

    return work


def start(argv: Sequence[str]) -> int:
    """Installs the wrapped doors and carries out one command line."""
    install()
    from publisher.cli.main import answer

    if "STRIKE_SELF" in os.environ:
        from tests.support.strace import trace_myself

        trace_myself()
    return answer(argv)


if __name__ == "__main__":
    sys.exit(start(sys.argv[1:]))
