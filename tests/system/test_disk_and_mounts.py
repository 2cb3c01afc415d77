"""Disks that are full, mounts that are read-only, machines without a network: each has its name, and nothing is half done.

Commands that only read work on a read-only copy of everything, without a network, and say the same as ever.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support import strace
from tests.support.git_http_stage import HttpStage
from tests.support.instance import Instance
from tests.support.oracle import accept, all_events, live_files, of_type, outside
from tests.support.recovery import Way, codes_in, finish
from tests.support.stage import DATE, PLAN, Stage, at
from tests.support.volume import fair_slice

Stages = Callable[[str], Stage]
HttpStages = Callable[[str], HttpStage]

ROOT = sys.platform.startswith("linux") and os.geteuid() == 0


def mount(*words: str | Path) -> None:
    done = subprocess.run(["mount", *map(str, words)], capture_output=True)
    if done.returncode:
        pytest.skip("mounting is not allowed here")


@contextmanager
def small(folder: Path, size: str) -> Iterator[Path]:
    """A disk at ``folder`` with what was there, of a size; without one, with room for a page or two more."""
    disk = folder.with_name(f"{folder.name}-disk")
    disk.mkdir()
    mount("-t", "tmpfs", "-o", f"size={size or '64m'}", "publisher-test", disk)
    try:
        subprocess.run(["cp", "-a", f"{folder}/.", str(disk)], check=True)
        if not size:
            about = os.statvfs(disk)
            size = f"{(about.f_blocks - about.f_bfree) * about.f_frsize // 1024 + 8}k"
            subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)
        mount("--bind", disk, folder)
        yield folder
    finally:
        for place in (folder, disk):
            if os.path.ismount(place):
                subprocess.run(["umount", str(place)], check=True)
        disk.rmdir()


def grow(folder: Path) -> None:
    """Somebody makes room."""
    subprocess.run(["mount", "-o", "remount,size=64m", f"{folder}-disk"], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    mount("--bind", folder, folder)
    try:
        mount("-o", "remount,ro,bind", folder)
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


# --- full disks ----------------------------------------------------------------------------------------------------------------------

FULL = {
    "target": ("public", "64k", {(4, "target-full")}),
    "clone": ("ci", "", {(5, "clone-not-written"), (5, "remote-unreachable")}),
    "scratch": ("scratch", "16k", {(5, "disk-trouble")}),
    "remote": ("remote.git", "", {(5, "push-refused"), (5, "remote-unreachable")}),
}
"""By what is on the disk: its folder, its size ("": what is there, and a little more), and how a run may end."""


@pytest.mark.skipif(not ROOT, reason="needs root on Linux, for a small disk")
@pytest.mark.parametrize("what", fair_slice("full disks", list(FULL), 1))
def test_a_full_disk_has_its_name_and_the_rest_is_done_later(stages: Stages, what: str) -> None:
    folder, size, ends = FULL[what]
    stage = stages("directory")
    instance = stage.restore("approved")
    disk = instance.folder / folder
    disk.mkdir(exist_ok=True)
    with small(disk, size):
        if what == "scratch":
            instance.environment["TMPDIR"] = str(disk)
        done = instance.driven("ci", "run", now=at(10))
        instance.environment.pop("TMPDIR", None)
        assert {(done.returncode, code) for code in codes_in(done)} & ends, done.stdout + done.stderr
        assert not live_files(instance.folder) and not of_type(all_events(instance).get(PLAN, []), "deployed")
        grow(disk)
        way, moment = Way(done.returncode, codes_in(done)), 60.0
        again = instance.driven("ci", "run", now=at(60))
        if again.returncode:
            moment = finish(instance, way, after=60, at=at, happened=False)
        accept(instance, DATE, first=stage.first, now=at(moment + 60))


# --- what may not be written --------------------------------------------------------------------------------------------------------

CLOSED = {
    "target": ("public", {(4, "target-not-writable")}),
    "clone": ("ci/.git", {(5, "clone-not-written"), (5, "remote-unreachable")}),
}


@pytest.mark.skipif(not ROOT, reason="needs root on Linux, for a read-only mount")
@pytest.mark.parametrize("what", CLOSED)
def test_what_may_not_be_written_has_its_name_and_the_rest_is_done_later(stages: Stages, what: str) -> None:
    folder, ends = CLOSED[what]
    stage = stages("directory")
    instance = stage.restore("approved")
    with read_only(instance.folder / folder):
        done = instance.driven("ci", "run", now=at(10))
    assert {(done.returncode, code) for code in codes_in(done)} & ends, done.stdout + done.stderr
    assert not live_files(instance.folder)
    way, moment = Way(done.returncode, codes_in(done)), 60.0
    again = instance.driven("ci", "run", now=at(60))
    if again.returncode:
        moment = finish(instance, way, after=60, at=at, happened=False)
    accept(instance, DATE, first=stage.first, now=at(moment + 60))


# --- reading, where nothing can be written and nobody can be reached ----------------------------------------------------------------

NOW = ("--now", "2026-03-01T10:00:00+08:00")
READING = (
    ("preview", *NOW), ("preview", PLAN, *NOW, "--json"), ("status", "--all"), ("status", PLAN, "--json"), ("log",),
    ("log", PLAN, "--json"), ("audit",), ("audit", "--rebuild"), ("why", PLAN), ("why", DATE, "--json"), ("sites", "--due", "--json"),
    ("queue", "list"), ("doctor", "--offline"), ("schema",),
)  # fmt: skip
"""The verbs that only read, as people type them; ``preview --output`` has a test of its own."""


def alone(instance: Instance, *argv: str, sockets: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, without a network: not even this machine's.

    ``sockets`` gets a line for each socket that it, or anything that it starts, asks for.
    """
    traced = [strace.STRACE, "-f", "-q", "--seccomp-bpf", "-e", "trace=socket", "-o", str(sockets)] if sockets else []
    return subprocess.run(
        ["unshare", "--net", "--", *map(str, traced), *instance.command(*argv)], cwd=instance.clone("ci").path,
        env=instance.env("ci"), capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def no_network() -> bool:
    return (
        ROOT
        and bool(shutil.which("unshare"))
        and subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0
    )


needs_unshare = pytest.mark.skipif(not no_network(), reason="needs root on Linux, and unshare")


@pytest.fixture
def published_stage(stages: Stages) -> Stage:
    """The first date is out, and ci knows it."""
    stage = stages("directory")
    stage.restore("first").clone("ci").git("fetch", "--quiet")
    return stage


@needs_unshare
@pytest.mark.parametrize("argv", fair_slice("reading verbs", READING, 3, stratum=lambda argv: argv[0] == "why"), ids=" ".join)
def test_reading_needs_no_network_and_no_writing(published_stage: Stage, tmp_path: Path, argv: tuple[str, ...]) -> None:
    instance = published_stage.instance
    as_ever = instance.publisher("ci", *argv)
    assert as_ever.returncode in (0, 3, 4, 5), as_ever.stderr
    before, clone = outside(instance), everything(instance.clone("ci").path)
    sockets = tmp_path / "sockets" if strace.works() else None
    with read_only(instance.folder):
        done = alone(instance, *argv, sockets=sockets)
    assert not sockets or "AF_INET" not in sockets.read_text()
    assert (done.returncode, without_age(done.stdout)) == (as_ever.returncode, without_age(as_ever.stdout)), done.stderr
    assert (outside(instance), everything(instance.clone("ci").path)) == (before, clone)


def without_age(text: str) -> str:
    """Less what says how long ago something was, or when this was said."""
    return re.sub(r'"(?:age|now|at)": *[^,\n}]*|\b\d+ (?:second|minute|hour)s?\b|\d\d:\d\d(?::\d\d)?', "#", text)


def everything(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Mode, mtime, ctime and bytes, ``.git`` included."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        about = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (about.st_mode, about.st_mtime_ns, about.st_ctime_ns, data)
    return found


@needs_unshare
def test_a_site_is_built_without_a_network(stages: Stages, tmp_path: Path) -> None:
    stage = stages("directory")
    instance = stage.restore("approved")
    instance.clone("ci").git("fetch", "--quiet")
    before = everything(instance.folder)
    out = tmp_path / "look"
    with ExitStack() as stack:
        stack.enter_context(read_only(instance.folder))
        done = alone(instance, "preview", PLAN, *NOW, "--output", str(out))
    assert done.returncode == 0, done.stderr
    assert everything(instance.folder) == before
    made = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert made == set(stage.first.files), "other files than the run makes public"


@needs_unshare
def test_a_run_without_a_network_says_so_and_does_nothing(http_stages: HttpStages) -> None:
    way: HttpStage = http_stages("directory")
    instance = way.ready()
    before = outside(instance)
    done = alone(instance, "run")
    assert (done.returncode, codes_in(done)) == (5, ("remote-unreachable",)), done.stdout + done.stderr
    assert outside(instance) == before
    assert way.host.log == []
