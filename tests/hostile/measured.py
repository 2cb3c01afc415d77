"""Commands as ``tests.support.warm`` runs them, and what each cost: seconds of processor time, and the most memory at once.

python -m tests.hostile.measured
"""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import publisher
from publisher.cli.main import VERBS
from tests.support import warm


@dataclass(frozen=True, kw_only=True)
class Done:
    """``cpu`` are seconds of the command and all its children; ``rss`` is the most megabytes that one of them had at once."""

    code: int
    out: str
    err: str
    cpu: float
    rss: float

    @property
    def said(self) -> tuple[int, str, list[str]]:
        """What must be the same whenever it is asked: progress, and how long ago something was, are not."""
        return self.code, self.out, [line for line in self.err.splitlines() if line.endswith("]")]


class Measured:
    """Owns the warm process."""

    def __init__(self) -> None:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PUBLISHER_", "DRIVER_"))
        }
        self._folder = tempfile.TemporaryDirectory(prefix="publisher-measured-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.hostile.measured"], cwd=warm.REPOSITORY, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], *, seconds: int = 60) -> Done:
        out, err = Path(self._folder.name) / "out", Path(self._folder.name) / "err"
        asked = {
            "argv": list(argv), "cwd": str(cwd), "env": dict(env), "out": str(out), "err": str(err), "seconds": seconds, "driven": True,
        }  # fmt: skip
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the warm process is gone"
        return Done(**json.loads(answer), out=out.read_text("utf-8", "replace"), err=err.read_text("utf-8", "replace"))

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=20)
        self._process.stdout.close()
        self._folder.cleanup()


def serve() -> None:
    warm._import_everything()
    for module, _, _ in VERBS.values():
        import_module(module)  # the verbs load their parts late; here they are no part of what is measured
    for part in pkgutil.walk_packages(publisher.__path__, "publisher."):
        if not part.name.startswith(("publisher.simulation", "publisher.__main__")):
            import_module(part.name)
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            warm._become(asked)
        _, status, used = os.wait4(pid, 0)
        answer = {
            "code": os.waitstatus_to_exitcode(status), "cpu": used.ru_utime + used.ru_stime, "rss": used.ru_maxrss / 1024,
        }  # fmt: skip
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
