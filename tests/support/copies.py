"""Whole folders, taken away and put back: with their times, modes and links."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def replace(folder: Path, source: Path) -> None:
    """``folder`` is a copy of ``source`` from now on, whatever it was. (``cp`` alone would put the copy into what is there.)"""
    if folder.exists():
        shutil.rmtree(folder)
    subprocess.run(["cp", "-a", str(source), str(folder)], check=True)
