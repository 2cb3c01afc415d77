"""Real processes without their start-up: one warm process has everything imported, and forks itself for each command.

    python -m tests.support.warm

It reads one JSON line per command (``argv``, ``cwd``, ``env``, ``out``, ``err``, ``seconds``), runs it in a child of its own, and
answers with one JSON line: the child's exit status as ``subprocess`` counts it (negative for a signal), or ``stopped`` with its
number where it stopped itself. A line ``{"wake": number}`` lets a stopped child go on, to its end. Commands are those of
``tests.support.driver`` where ``driven`` is set, else those of ``python -m publisher``.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
KEPT = 20
"""So many commands' outputs lie side by side, for those that stand still while others run."""


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """A command that stands still where it stopped itself."""

    warm: Warm
    number: int
    argv: list[str]
    out: Path
    err: Path

    def wake(self) -> subprocess.CompletedProcess[str]:
        """Lets it go on, to its end."""
        return self.warm.wake(self)


class Warm:
    """The calling side: owns the warm process and its temporary files."""

    def __init__(self) -> None:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PUBLISHER_", "DRIVER_"))
        }
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="publisher-warm-")
        self._begun = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm"], cwd=REPOSITORY, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], seconds: int = 120, *, driven: bool = True
    ) -> subprocess.CompletedProcess[str]:
        ended = self._begin(argv, cwd, env, seconds, driven=driven)
        assert isinstance(ended, subprocess.CompletedProcess), "it stopped itself"
        return ended

    def run_until_stopped(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], seconds: int = 300
    ) -> subprocess.CompletedProcess[str] | Stopped:
        """Runs a driven command that may stop itself (SIGSTOP) on the way; then it stands still until it is woken."""
        return self._begin(argv, cwd, env, seconds, driven=True)

    def _begin(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], seconds: int, *, driven: bool
    ) -> subprocess.CompletedProcess[str] | Stopped:
        with self._lock:
            self._begun += 1
            out, err = (Path(self._folder.name) / f"{name}-{self._begun % KEPT}" for name in ("out", "err"))
            asked = {
                "argv": list(argv), "cwd": str(cwd), "env": dict(env), "out": str(out), "err": str(err), "seconds": seconds,
                "driven": driven,
            }  # fmt: skip
            answer = self._ask(asked)
            if "stopped" in answer:
                return Stopped(warm=self, number=answer["stopped"], argv=list(argv), out=out, err=err)
            return subprocess.CompletedProcess(list(argv), answer["status"], out.read_text(), err.read_text())

    def wake(self, stopped: Stopped) -> subprocess.CompletedProcess[str]:
        with self._lock:
            answer = self._ask({"wake": stopped.number})
            assert "status" in answer, "it stopped once more"
            return subprocess.CompletedProcess(stopped.argv, answer["status"], stopped.out.read_text(), stopped.err.read_text())

    def _ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the warm process is gone"
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=20)
        self._process.stdout.close()
        self._folder.cleanup()


@functools.cache
def shared() -> Warm:
    """One warm process for whoever needs no interpreter of its own, until this process ends."""
    made = Warm()
    atexit.register(made.close)
    return made


def needs_an_interpreter(env: Mapping[str, str]) -> bool:
    """Whether a command's environment says something that only a fresh interpreter reads."""

    def read_at_start(names: Mapping[str, str]) -> dict[str, str]:
        return {name: names[name] for name in names if name.startswith(("PYTHON", "LC_", "LANG")) and name != "PYTHONPATH"}

    return env.get("PYTHONPATH") != str(REPOSITORY) or read_at_start(env) != read_at_start(os.environ)


def serve() -> None:
    """The warm side."""
    _import_everything()
    for line in sys.stdin:
        asked = json.loads(line)
        if "wake" in asked:
            pid = asked["wake"]
            os.kill(pid, signal.SIGCONT)
        else:
            pid = os.fork()
            if pid == 0:
                _become(asked)
        _, status = os.waitpid(pid, os.WUNTRACED)
        answer = {"stopped": pid} if os.WIFSTOPPED(status) else {"status": os.waitstatus_to_exitcode(status)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _import_everything() -> None:
    import cronsim
    import feedgenerator
    import git.cmd
    import github
    import jinja2.sandbox
    import jsonschema
    import pygments
    import pyromark
    import yaml.cyaml

    from publisher.cli import main, plan, run, status  # noqa: F401
    from publisher.engine import planning, running  # noqa: F401
    from publisher.forge import github_api, github_forge, github_requests, requests  # noqa: F401
    from publisher.gitstore import store, validation  # noqa: F401
    from publisher.notify import alerts  # noqa: F401
    from publisher.sitebuilder import builder, output_v2  # noqa: F401
    from publisher.targets import all_targets  # noqa: F401
    from publisher.verify import probes  # noqa: F401

    assert cronsim and git.cmd and github and jsonschema and yaml.cyaml
    assert feedgenerator and jinja2.sandbox and pygments and pyromark


def _become(asked: Mapping[str, Any]) -> None:
    """Turns the fork into a command of its own; never returns."""
    signal.alarm(asked["seconds"])
    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, asked["out"], os.O_WRONLY), (2, asked["err"], os.O_WRONLY)):
        handle = os.open(path, flags | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, number)
        os.close(handle)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    time.tzset()
    code: Any = 1
    try:
        if asked["driven"]:
            from tests.support import driver

            code = driver.start(asked["argv"])
        else:
            from publisher.cli.main import main

            sys.argv = ["publisher", *asked["argv"]]
            main()
    except SystemExit as leave:
        code = leave.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    serve()
