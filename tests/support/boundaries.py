"""Every place where the real command line touches something outside its own memory, and what can go wrong there.

The driver wraps the doors with these. Each call is a *boundary*: a name, and which call of that name it is. One of them can be
chosen, by ``DRIVER_AT``, as ``MODE:WHEN:NAME:N``:

* ``kill`` and ``stop``, ``before`` or ``after``: the process sends itself SIGKILL or SIGSTOP;
* ``do:before``: the shell command in ``DRIVER_DO`` runs first, as somebody else's deed at that moment;
* ``clock:before``: the clock jumps by ``DRIVER_JUMP`` seconds;
* ``full:at``: no byte can be written to a file while the call lasts, by this process or any that it starts (RLIMIT_FSIZE);
* a fault of the way to somebody else, ``at`` the call: ``lost-request`` (it never arrives), ``lost-response`` (it is done, and the
  answer is lost), ``repost`` (it is done, repeated, and reported as refused), ``twice`` (it is done twice), ``late`` (it is done
  after the caller has looked, before the caller tries again), ``error`` (refused from here on), ``stale`` (the answer is an earlier
  one), ``hang`` (no answer: the way is a real one that stays silent, or the caller's own limit is over).

What a fault looks like to the caller is what the real adapter would say of it. Production code knows nothing of this.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from publisher.domain.evidence import Seen
from publisher.errors import ComeBackLater, NeedsPerson, OutcomeUnknown
from publisher.notify import outcomes

DOORS: Mapping[str, tuple[str, ...]] = {
    "reads": ("plans", "draft", "drafts"),
    "forge": ("verdict",),
    "git": ("remote_refs", "fetch", "push", "compose", "compose_tree", "write_blob"),
    "records": ("publish",),
    "requests": ("open",),
    "builder": ("public_form", "build", "leaks"),
    "target": ("look", "store", "raise_fence", "switch", "joined_update", "show"),
    "staging": ("look", "store", "switch"),
    "probes": ("look",),
    "channel": ("recipients", "send"),
    "alerts": ("say",),
}
"""The methods that are boundaries, by door. The rest of a door answers out of what these have brought."""

SILENT = "ssh://silent.invalid/nobody"
HANGS = "sh -c 'exec sleep 4711.4711'"
"""What git is given as ssh where it shall hang; nothing may be left of it afterwards."""
HANG_LIMIT = 0.8
"""Seconds after which the gateway ends a git that hangs; the limit of production is a minute."""


class Boundaries:
    """Counts the calls of each boundary, keeps their trail, and strikes at the chosen one. ``clock`` is the driver's."""

    def __init__(self, clock: Callable[[], Any]) -> None:
        mode, when, name, number = (os.environ.get("DRIVER_AT", "") + ":::").split(":")[:4]
        self.mode, self.when, self.name, self.number = mode, when, name, int(number or 0)
        self.counts: dict[str, int] = {}
        self._clock = clock
        self._way = Way()

    def call(self, name: str, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self.counts[name] = self.counts.get(name, 0) + 1
        _append("DRIVER_TRAIL", f"{name} {self.counts[name]}")
        here = (name, self.counts[name]) == (self.name, self.number)
        if here and self.when == "before":
            self._strike()
        happen = self._at if here and self.when == "at" else self._way.call
        result = happen(name, method, args, kwargs)
        if here and self.when == "after":
            self._strike()
        return result

    def _strike(self) -> None:
        if self.mode in ("kill", "stop"):
            os.kill(os.getpid(), signal.SIGKILL if self.mode == "kill" else signal.SIGSTOP)
        elif self.mode == "do":
            subprocess.run(["sh", "-ec", os.environ["DRIVER_DO"]], check=True, capture_output=True)
        elif self.mode == "clock":
            self._clock().jump(float(os.environ["DRIVER_JUMP"]))
        else:
            raise AssertionError(f"nothing strikes as {self.mode}")

    def _at(self, name: str, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if self.mode == "full":
            with full_disk():
                return method(*args, **kwargs)
        if name in ("git.push", "git.remote_refs", "git.fetch"):
            return self._way.fault(self.mode, name, method, args, kwargs)
        fault = FAULTS[name.split(".", 1)[1] if name.startswith(("target.", "staging.")) else name]
        if self.mode == "hang":
            self._clock().jump(10.0)
        return fault(self.mode, lambda: method(*args, **kwargs), args)


def _append(variable: str, line: str) -> None:
    if os.environ.get(variable):
        with Path(os.environ[variable]).open("a") as log:
            log.write(line + "\n")


@contextmanager
def full_disk() -> Iterator[None]:
    """While it lasts, this process and those that it starts can write no byte into a file."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


class Way:
    """The way to the repositories' hosts: what was struck there lasts, or comes back later."""

    def __init__(self) -> None:
        self._silent_once = self._silent = self._refusing = False
        self._late: Callable[[], Any] | None = None
        self._answers: dict[str, Any] = {}

    def call(self, name: str, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if name == "git.push":
            self._arrive()
            return False if self._silent or self._refusing else method(*args, **kwargs)
        if name in ("git.remote_refs", "git.fetch"):
            if self._silent or self._silent_once:
                self._silent_once = False
                raise unreachable()
            return self._remembered(name, args, method(*args, **kwargs))
        return method(*args, **kwargs)

    def _remembered(self, name: str, args: Any, result: Any) -> Any:
        if name == "git.remote_refs":
            self._answers[repr(args)] = result
        return result

    def _arrive(self) -> None:
        late, self._late = self._late, None
        if late:
            late()

    def fault(self, mode: str, name: str, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if mode == "hang":
            return self._hang(method, args, kwargs)
        if name == "git.push":
            return self._push(mode, lambda: method(*args, **kwargs))
        return self._read(mode, name, method, args, kwargs)

    def _hang(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The same words to somebody who never answers; the gateway has to end it."""
        git, before = method.__self__, os.environ.get("GIT_SSH_COMMAND")  # type: ignore[attr-defined]
        limit, git._limit = git._limit, HANG_LIMIT
        os.environ["GIT_SSH_COMMAND"] = HANGS
        try:
            return method(SILENT, *args[1:], **kwargs)
        finally:
            git._limit = limit
            if before is None:
                del os.environ["GIT_SSH_COMMAND"]
            else:
                os.environ["GIT_SSH_COMMAND"] = before

    def _push(self, mode: str, push: Callable[[], Any]) -> Any:
        if mode == "lost-request":
            return False
        if mode == "lost-response":
            push()
            self._silent_once = True  # the connection is down for the look that follows at once
            return False
        if mode == "repost":
            push()
            push()
            return False
        if mode == "twice":
            push()
            return push()
        if mode == "late":
            self._late = push
            return False
        if mode == "error":
            self._refusing = True
            return False
        raise AssertionError(f"a push has no {mode}")

    def _read(self, mode: str, name: str, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if mode == "lost-request":
            raise unreachable()
        if mode == "lost-response":
            method(*args, **kwargs)
            raise unreachable()
        if mode == "twice":
            method(*args, **kwargs)
            return self._remembered(name, args, method(*args, **kwargs))
        if mode == "error":
            self._silent = True
            raise unreachable()
        if mode == "stale":
            return None if name == "git.fetch" else self._stale(method, args, kwargs)
        raise AssertionError(f"a read has no {mode}")

    def _stale(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What the same question was answered before; the first time, what the main branch was one commit ago."""
        if repr(args) in self._answers:
            return self._answers[repr(args)]
        found = dict(method(*args, **kwargs))
        tip = found.get("refs/heads/main")
        if tip:
            git = method.__self__  # type: ignore[attr-defined]
            older = git.commit(tip).parents[0]
            found = {name: older if oid == tip else oid for name, oid in found.items()}
        return found


def unreachable() -> ComeBackLater:
    return ComeBackLater("remote-unreachable", "the remote does not answer", next="publisher doctor")


# --- faults of the other doors, as their adapters would tell them -----------------------------------------------------------------


def _deed(code: str) -> Callable[[str, Callable[[], Any], Any], Any]:
    """A call that changes a target: its answer may be lost, and the target is looked at afterwards."""

    def fault(mode: str, do: Callable[[], Any], args: Any) -> Any:
        if mode in ("lost-response", "repost", "twice"):
            do()
        if mode in ("repost", "twice"):
            do()
        if mode in ("lost-request", "lost-response"):
            raise OutcomeUnknown("switch-unknown", "the answer was lost", next="publisher run")
        if mode == "repost":
            raise ComeBackLater(code, "reported as refused", next="publisher run")
        if mode == "error":
            raise ComeBackLater(code, "refused", next="publisher run")
        assert mode == "twice", mode

    return fault


def _kept(mode: str, do: Callable[[], Any], args: Any) -> Any:
    """A call that only prepares: done twice, or refused."""
    if mode == "error":
        raise NeedsPerson("target-failed", "the target could not be written (EIO)", next="publisher doctor")
    assert mode == "twice", mode
    do()
    return do()


def _seen(mode: str, do: Callable[[], Any], args: Any) -> Any:
    """A look at public pages: nothing, an error page, or what stood there before."""
    urls = args[0]
    if mode == "lost-request":
        return {url: Seen(url=url, status=0, problem="dropped") for url in urls}
    found = do()
    if mode == "lost-response":
        return {url: Seen(url=url, status=0, problem="short-body") for url in urls}
    if mode == "twice":
        return do()
    if mode == "error":
        return {url: Seen(url=url, status=503) for url in urls}
    if mode == "stale":
        return {url: replace(seen, status=404, digest="", size=0, body=b"") for url, seen in found.items()}
    if mode == "hang":
        return {url: Seen(url=url, status=0, problem="timeout") for url in urls}
    raise AssertionError(f"a look has no {mode}")


def _sent(mode: str, do: Callable[[], Any], args: Any) -> Any:
    """A message to one recipient."""
    if mode == "lost-request":
        return outcomes.unknown("no-answer")
    if mode == "error":
        return outcomes.refused("smtp-550")
    if mode == "hang":
        return outcomes.refused("timeout")
    done = do()
    if mode == "twice":
        return do()
    if mode == "lost-response":
        return outcomes.unknown("no-answer")
    if mode == "repost":
        do()
        return outcomes.refused("smtp-550")
    raise AssertionError(f"a message has no {mode}, {done}")


def _said(mode: str, do: Callable[[], Any], args: Any) -> Any:
    """A notice to the people on call."""
    if mode in ("lost-response", "repost", "twice"):
        do()
    if mode in ("repost", "twice"):
        do()
    if mode != "twice":
        raise NeedsPerson("alert-undelivered", "nobody was surely told", next="publisher doctor")


FAULTS: Mapping[str, Callable[[str, Callable[[], Any], Any], Any]] = {
    "store": _kept,
    "look": _kept,
    "raise_fence": _deed("fence-not-taken"),
    "switch": _deed("switch-not-taken"),
    "probes.look": _seen,
    "channel.send": _sent,
    "alerts.say": _said,
}
