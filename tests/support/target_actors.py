"""Actors for the targets' tests: releases on disk, fences, real processes that stop or die at a chosen moment, real git.

An actor is a forked process. It stops or kills itself at a chosen system call (seen by an audit hook of its own) or at a
chosen call of the git gateway (seen by a wrapper around the door); production code knows nothing of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from publisher.domain.article import MANIFEST_PATH, Release
from publisher.domain.claim import Fence
from publisher.domain.fingerprint import release_id
from publisher.errors import Refusal
from publisher.gitstore.gateway import Git

SITE = "handbook"
AT = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)


def at() -> datetime:
    return AT


def fence(number: int, *, epoch: int = 1, nonce: str = "a", epoch_id: str = "e") -> Fence:
    return Fence(epoch=epoch, epoch_id=epoch_id * 32, number=number, nonce=nonce * 32)


def make_release(folder: Path, files: Mapping[str, bytes] | str) -> Release:
    """A built release below ``folder``; a plain text stands for a small site about it."""
    if isinstance(files, str):
        text = files.encode()
        files = {"index.html": b"home of " + text, f"{files}/index.html": text, MANIFEST_PATH: b"manifest " + text}
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    digests = {path: f"sha256:{hashlib.sha256(data).hexdigest()}" for path, data in files.items()}
    return Release(id=release_id(digests), files=digests, root=str(folder))


# --- processes ----------------------------------------------------------------------------------------------------------------


RUNNING: set[int] = set()


@dataclass
class Actor:
    """A forked process that carries out one act and reports how it ended."""

    pid: int
    pipe: int

    @classmethod
    def start(cls, act: Callable[[], None]) -> Actor:
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reads)
            os.write(writes, _outcome(act).encode())
            os._exit(0)
        os.close(writes)
        RUNNING.add(pid)
        return cls(pid, reads)

    @staticmethod
    def end_all() -> None:
        """Ends the actors that a failed test did not wait for."""
        while RUNNING:
            pid = RUNNING.pop()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def wait_stopped(self) -> None:
        """Returns when the process has stopped itself; fails when it ended instead."""
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            RUNNING.discard(self.pid)
        assert os.WIFSTOPPED(status), f"the actor ended instead of stopping: {self._said()}"

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def outcome(self) -> str:
        """``ok``, a refusal's code, ``killed``, or a traceback."""
        _, status = os.waitpid(self.pid, 0)
        RUNNING.discard(self.pid)
        return "killed" if os.WIFSIGNALED(status) else self._said()

    def _said(self) -> str:
        with os.fdopen(self.pipe, "rb") as pipe:
            return pipe.read().decode()


def _outcome(act: Callable[[], None]) -> str:
    try:
        act()
    except Refusal as refusal:
        return refusal.code
    except BaseException:
        return traceback.format_exc()
    return "ok"


def stop_here() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def die_here() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_process(act: Callable[[], None]) -> str:
    """The outcome of an act in a process of its own."""
    return Actor.start(act).outcome()


CHANGING = {"os.rename", "os.mkdir", "os.symlink", "os.remove", "os.rmdir", "os.utime", "os.chmod", "os.truncate", "open"}


def on_change(below: Path, do: Callable[[str, str, int], None]) -> None:
    """Calls ``do(event, path, nth)`` right before each change that this process makes below a folder.

    It lasts as long as the process: fork first.
    """
    count = 0
    inside = str(below)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event not in CHANGING:
            return
        paths = [str(item) for item in arguments if isinstance(item, (str, os.PathLike))]
        if not any(path.startswith(inside) for path in paths):
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        count += 1
        do(event, paths[-1], count)

    sys.addaudithook(watch)


# --- git ----------------------------------------------------------------------------------------------------------------------


def run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    env = {
        "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C",
        "GIT_AUTHOR_NAME": "editor", "GIT_AUTHOR_EMAIL": "editor@example.org", "GIT_AUTHOR_DATE": "@1796086800 +0000",
        "GIT_COMMITTER_NAME": "editor", "GIT_COMMITTER_EMAIL": "editor@example.org", "GIT_COMMITTER_DATE": "@1796086800 +0000",
    }  # fmt: skip
    done = subprocess.run(["git", *arguments], cwd=folder, env=env, input=stdin, capture_output=True, check=True)
    return done.stdout.decode().strip()


def bare_repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    run_git(folder, "init", "--quiet", "--template=", "--bare", "-b", "main")
    return folder


def clone(folder: Path) -> Git:
    """An empty clone of an actor's own."""
    folder.mkdir(parents=True)
    run_git(folder, "init", "--quiet", "--template=", "-b", "main")
    return Git(folder)


def commit_files(repository: Path, ref: str, changes: Mapping[str, bytes | None]) -> str:
    """A commit of somebody else's on a bare repository's ref, made without publisher."""
    with contextlib.suppress(subprocess.CalledProcessError):
        run_git(repository, "read-tree", ref)
    for path, data in changes.items():
        if data is None:
            run_git(repository, "update-index", "--force-remove", path)
            continue
        blob = run_git(repository, "hash-object", "-w", "--stdin", stdin=data)
        run_git(repository, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    tree = run_git(repository, "write-tree")
    parents = []
    with contextlib.suppress(subprocess.CalledProcessError):
        parents = ["-p", run_git(repository, "rev-parse", "--verify", "--quiet", ref)]
    commit = run_git(repository, "commit-tree", tree, *parents, "-m", "by hand")
    run_git(repository, "update-ref", ref, commit)
    (repository / "index").unlink()
    return commit


class WatchedGit:
    """The gateway, with ``before(method, nth)`` and ``after`` called around each call that changes something."""

    WATCHED = ("write_blob", "compose", "compose_tree", "fetch", "push")

    def __init__(self, git: Git, watch: Callable[[str, str, int], None]) -> None:
        self._git = git
        self._watch = watch
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._git, name)
        if name not in self.WATCHED:
            return found

        def called(*arguments: Any, **named: Any) -> Any:
            self._count += 1
            self._watch("before", name, self._count)
            result = found(*arguments, **named)
            self._count += 1
            self._watch("after", name, self._count)
            return result

        return called


def files_below(folder: Path) -> Iterator[tuple[str, bytes | str]]:
    """Every path below a folder with its bytes, or where it leads; for comparing before and after."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            yield str(path.relative_to(folder)), str(path.readlink())
        elif path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()
