"""A working instance into which something hostile is put, for one command to meet, and out of which it is taken again.

The first date is public, the second is approved and due. Whatever a command changes in the remote, in its clone, in what is
public or beside them shows in ``state``.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.hostile.measured import Done, Measured
from tests.support.gitrepos import Repository, environment, snapshot
from tests.support.instance import Instance, make_instance

PUBLIC, DUE, LATER = "2026-03-01", "2026-03-02", "2026-03-03"
PLAN = f"blog/daily/2026/{DUE}"
NOW = f"{DUE}T10:00:00+08:00"
WHO = "ci"


@dataclass(frozen=True)
class Entry:
    """A tree's entry that is no plain file. ``data`` is a link's target or a submodule's commit."""

    mode: str
    data: bytes


@dataclass
class Ground:
    """``state`` of two moments is equal when nothing was written between them."""

    instance: Instance
    measured: Measured
    base: str = ""
    spoilt: bool = field(default=False, init=False)

    @property
    def folder(self) -> Path:
        return self.instance.folder

    @property
    def clone(self) -> Repository:
        return self.instance.clone(WHO)

    def run(self, *argv: str, now: str = NOW, env: Mapping[str, str] | None = None) -> Done:
        environment_of = {**self.instance.driver_env(WHO, {"now": now}), **(env or {})}
        return self.measured.run(argv, self.clone.path, environment_of)

    def texts(self) -> dict[str, bytes]:
        """The harmless files by path."""
        rows = [line.split("\t") for line in _git(self.clone.path, "ls-tree", "-r", self.base).decode().splitlines()]
        return {path: _git(self.clone.path, "cat-file", "blob", head.split(" ")[2]) for head, path in rows}

    def state(self) -> dict[str, str]:
        return snapshot(self.folder)

    def commit(self, puts: Mapping[str | bytes, bytes | Entry | None], parent: str = "") -> str:
        """One commit on top of the harmless state (or of ``parent``), on the remote's main and known to the clone."""
        lines = [
            b"commit refs/heads/main\ncommitter h <h@example.org> 1796000000 +0000\ndata 1\nx\nfrom %s\n"
            % (parent or self.base).encode()
        ]
        for path, what in puts.items():
            name = _quoted(path if isinstance(path, bytes) else path.encode("utf-8", "surrogateescape"))
            if what is None:
                lines.append(b"D %s\n" % name)
            elif isinstance(what, Entry) and what.mode == "160000":
                lines.append(b"M 160000 %s %s\n" % (what.data, name))
            else:
                mode, data = (what.mode, what.data) if isinstance(what, Entry) else ("100644", what)
                lines.append(b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), name, len(data), data))
        _git(self.instance.remote.path, "fast-import", "--quiet", "--force", stdin=b"".join(lines))
        self.fetch()
        return self.instance.remote.head("refs/heads/main")

    def fetch(self) -> None:
        _git(self.clone.path, "fetch", "--quiet", "--no-write-fetch-head", "origin", "+refs/heads/*:refs/remotes/origin/*")

    def write(self, puts: Mapping[str, bytes]) -> None:
        """Files of the clone's working tree."""
        self.spoilt = True
        for path, data in puts.items():
            file = self.clone.path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    def clear(self) -> None:
        """Everything as it was."""
        if self.spoilt:
            shutil.rmtree(self.folder)
            subprocess.run(["cp", "-a", str(self.folder) + ".saved", str(self.folder)], check=True)
            self.spoilt = False
            return
        for place, ref in ((self.instance.remote.path, "refs/heads/main"), (self.clone.path, "refs/remotes/origin/main")):
            _git(place, "update-ref", ref, self.base)


def made(folder: Path, url: str, measured: Measured) -> Ground:
    """A ground at ``folder``; a copy of it is kept beside it."""
    instance = make_instance(folder, url=url, confirm="20s", lease="1s")
    ground = Ground(instance, measured)
    instance.driven("planner", "plan", "--date", PUBLIC, now=f"{PUBLIC}T09:00:00+08:00", check=0)
    instance.driven("reviewer", "approve", "1", "--yes", now=f"{PUBLIC}T09:01:00+08:00", check=0)
    instance.driven("ci", "run", now=f"{PUBLIC}T10:00:00+08:00", check=0)
    instance.driven("planner", "plan", "--date", DUE, now=f"{DUE}T09:00:00+08:00", check=0)
    instance.driven("reviewer", "approve", "2", "--yes", now=f"{DUE}T09:01:00+08:00", check=0)
    ground.base = instance.remote.head("refs/heads/main")
    ground.fetch()
    _git(ground.clone.path, "reset", "--quiet", "--hard", ground.base)
    for name in ("editor", "planner", "reviewer"):
        shutil.rmtree(folder / name)
    for place in (instance.remote.path, ground.clone.path):
        _git(place, "repack", "-adq")
    subprocess.run(["cp", "-a", str(folder), str(folder) + ".saved"], check=True)
    return ground


def _git(place: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=place, env=environment("h"), input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout


def _quoted(path: bytes) -> bytes:
    special = {0x22: b'\\"', 0x5C: b"\\\\", 0x0A: b"\\n"}
    return b'"' + b"".join(special.get(code, bytes([code]) if 32 <= code < 127 else b"\\%03o" % code) for code in path) + b'"'
