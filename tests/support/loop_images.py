"""File systems in a file, whose power can be cut: what was not flushed to the image is gone after the next mount.

``xfs_io -x -c shutdown`` stops a mounted file system (xfs or ext4) at once, without writing its journal out, as the end of the
current does. Needs root, loop devices and xfsprogs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("ext4", "xfs")
SIZES = {"ext4": "64M", "xfs": "300M"}
"""The smallest that each kind takes, and enough for a clone and a target. The files are sparse."""
CHECKS = {"ext4": ("e2fsck", "-f", "-n"), "xfs": ("xfs_repair", "-n")}
TOOLS = ("mount", "umount", "xfs_io", "mkfs.ext4", "mkfs.xfs", "e2fsck", "xfs_repair")
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def why_not(folder: Path) -> str:
    """Why power cannot be cut here; "" where it can. Tried out, because a container may be root and have no loop devices."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "needs root on Linux"
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=SBIN)]
    if missing:
        return f"needs {', '.join(missing)}"
    image = Image("ext4", folder / "try")
    try:
        image.make()
        image.cut()
        image.unmount()
    except subprocess.CalledProcessError:
        image.unmount()
        return "needs loop devices, and to be allowed to mount"
    return ""


def run(*command: str | Path) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True, env={**os.environ, "PATH": SBIN})


@dataclass
class Image:
    """One file system, at ``folder/disk``; parts of it are shown at other places too (``show_at``)."""

    kind: str
    folder: Path
    shown: list[Path] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / f"{self.kind}.img"

    @property
    def disk(self) -> Path:
        return self.folder / "disk"

    def make(self) -> None:
        """A new, empty file system."""
        self.disk.mkdir(parents=True, exist_ok=True)
        self.file.unlink(missing_ok=True)
        run("truncate", "-s", SIZES[self.kind], self.file)
        run(f"mkfs.{self.kind}", "-q", self.file)
        self._mount()

    def move_in(self, places: Sequence[Path]) -> None:
        """These folders lie on the image from now on, at the paths that they have; all that is in them is safely there."""
        for number, place in enumerate(places):
            run("cp", "-a", place, self.disk / str(number))
            shutil.rmtree(place)
            place.mkdir()
        run("sync", "-f", self.disk)
        self.shown = list(places)
        self._show()

    def _mount(self) -> None:
        run("mount", "-o", "loop", self.file, self.disk)

    def _show(self) -> None:
        for number, place in enumerate(self.shown):
            run("mount", "--bind", self.disk / str(number), place)

    @property
    def cutting(self) -> str:
        """The shell command that cuts the power."""
        return f"xfs_io -x -c shutdown '{self.disk}'"

    def cut(self) -> None:
        run("xfs_io", "-x", "-c", "shutdown", self.disk)

    def back(self) -> str:
        """The current is there again: mounted, its journal played. Returns what the file system's own check finds wrong, or ""."""
        self.unmount(forget=False)
        self._mount()
        self.unmount(forget=False)
        check = subprocess.run([*CHECKS[self.kind], str(self.file)], capture_output=True, env={**os.environ, "PATH": SBIN})
        self._mount()
        self._show()
        return (check.stdout + check.stderr).decode("utf-8", "replace") if check.returncode else ""

    def unmount(self, *, forget: bool = True) -> None:
        for place in [*reversed(self.shown), self.disk]:
            for _ in range(100):
                done = subprocess.run(
                    ["umount", str(place)], capture_output=True, env={**os.environ, "PATH": SBIN, "LC_ALL": "C"}
                )
                if done.returncode == 0 or not os.path.ismount(place):
                    break
                time.sleep(0.05)  # somebody who is being ended still has a file open
            else:
                raise AssertionError(f"{place} stays busy")
        if forget:
            self.shown = []
