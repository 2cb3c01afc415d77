"""The real command line in a process of its own, with the doors wrapped: a clock at another date, and death at chosen effects.

    python -m tests.support.driver VERB …

Environment:
* ``DRIVER_NOW``: the instant at which the clock starts (it then runs on as usual);
* ``DRIVER_AT``: ``kill:before:NAME:N``, ``kill:after:NAME:N``, ``stop:before:NAME:N`` or ``stop:after:NAME:N``: the process sends
  itself SIGKILL or SIGSTOP at the N-th call of an effect of ``ports.EFFECTS``;
* ``DRIVER_LOG``: a file that gets one line per effect: name, worker's step;
* ``DRIVER_UNREACHABLE``: ``N``: the N-th and every later talk with the remote fails as an unreachable one does;
* ``DRIVER_TALKS``: a file that gets one line per talk with the remote;
* ``DRIVER_LOST_ANSWER``: ``N``: the N-th push happens and reports failure;
* ``DRIVER_LOST_SWITCH``: set: the target's switch happens and its answer is lost;
* ``DRIVER_UNDECLARED``: a step whose worker is taken to have declared no effects.

An effect that a worker causes and did not declare ends the process with status 99. Production code knows nothing of this.
"""

from __future__ import annotations

import dataclasses
import os
import signal
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


class Effects:
    """Counts effects, logs them, and dies where it was told to."""

    def __init__(self) -> None:
        self.worker: Worker | None = None
        self.counts: dict[str, int] = {}
        kind, when, name, number = (os.environ.get("DRIVER_AT", "") + ":::").split(":")[:4]
        self.plan = (kind, when, name, int(number or 0))

    def wrap(self, door: Any, prefix: str, methods: tuple[str, ...]) -> Any:
        return Wrapped(self, door, prefix, methods)

    def call(self, name: str, method: Any, args: Any, kwargs: Any) -> Any:
        self._declared(name)
        self.counts[name] = self.counts.get(name, 0) + 1
        self._log(name)
        self._die("before", name)
        result = method(*args, **kwargs)
        self._die("after", name)
        if name == "target.switch" and os.environ.get("DRIVER_LOST_SWITCH"):
            raise OutcomeUnknown("switch-unknown", "the answer was lost")
        return result

    def _declared(self, name: str) -> None:
        assert name in EFFECTS, name
        if self.worker and name != "records.publish" and name not in self.worker.effects:
            sys.stderr.write(f"undeclared effect {name} in {self.worker.step}\n")
            sys.stderr.flush()
            os._exit(UNDECLARED)

    def _log(self, name: str) -> None:
        if os.environ.get("DRIVER_LOG"):
            with Path(os.environ["DRIVER_LOG"]).open("a") as log:
                log.write(f"{name} {self.worker.step if self.worker else '-'}\n")

    def _die(self, when: str, name: str) -> None:
        kind, planned_when, planned_name, number = self.plan
        if (when, name, self.counts[name]) == (planned_when, planned_name, number):
            os.kill(os.getpid(), signal.SIGKILL if kind == "kill" else signal.SIGSTOP)


class Wrapped:
    """A door whose writing methods are counted effects; everything else passes through."""

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
        target, staging, channel = made.target, made.staging, made.channel
        return dataclasses.replace(
            made,
            workers=workers,
            records=effects.wrap(made.records, "records", ("publish",)),
            alerts=effects.wrap(made.alerts, "alerts", ("say",)),
            target=lambda site: effects.wrap(target(site), "target", ("store", "switch", "raise_fence", "show")),
            staging=lambda site: effects.wrap(staging(site), "staging", ("store", "switch")),
            channel=lambda site, name: effects.wrap(channel(site, name), "channel", ("send",)),
        )

    def requests(self: wiring.Wired) -> Any:
        return effects.wrap(plain_requests.func(self), "requests", ("open",))

    def open_instance(*args: Any, **kwargs: Any) -> Any:
        if os.environ.get("DRIVER_NOW"):
            kwargs["clock"] = ShiftedClock(os.environ["DRIVER_NOW"])
        made = plain_open(*args, **kwargs)
        talk = Talk(made.git)
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

    return answer(argv)


if __name__ == "__main__":
    sys.exit(start(sys.argv[1:]))
