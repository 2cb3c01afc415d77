"""What a stranger does first: clone this repository, and run the demo from the clone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


# Run by `make test`, a make inside would take itself for a part of it.
OUTSIDE_MAKE = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of what is committed here."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no clone, so it cannot be cloned")
    folder = tmp_path_factory.mktemp("fresh") / "publisher"
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(folder)], check=True, capture_output=True, env=env)
    return folder


@pytest.mark.slow
def test_the_demo_runs_from_a_fresh_clone(fresh):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PUBLISHER_"))}
    env |= {"PYTHONPATH": str(fresh), "PYTHONDONTWRITEBYTECODE": "1"}
    where = "import publisher; print(publisher.__file__)"
    imported = subprocess.run([sys.executable, "-c", where], cwd=fresh, env=env, capture_output=True, text=True, check=True)
    assert Path(imported.stdout.strip()).is_relative_to(fresh), "the clone's code runs, not this checkout's"
    done = subprocess.run(
        [sys.executable, "-m", "publisher", "demo"], cwd=fresh, env=env, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "became public, once" in done.stdout
    status = subprocess.run(
        ["git", "status", "--porcelain", "--ignored"], cwd=fresh, capture_output=True, text=True, check=True
    )
    assert status.stdout == "", "the demo leaves nothing in the checkout"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
def test_make_demo_would_run_it(fresh):
    said = subprocess.run(
        ["make", "-n", "demo"], cwd=fresh, env=OUTSIDE_MAKE, capture_output=True, text=True, check=True
    ).stdout
    assert "scripts/venv requirements.lock" in said and said.rstrip().endswith("-m publisher demo")


def test_what_make_needs_is_committed_and_can_run(fresh):
    for path in ("scripts/venv", "scripts/lock", "scripts/install-system-packages", ".ci/run"):
        assert os.access(fresh / path, os.X_OK), path


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_the_locks_name_every_file_by_digest_and_no_place(fresh, lock):
    text = (fresh / lock).read_text()
    entries = re.split(r"\n(?=[a-z0-9])", re.sub(r"(?m)^#.*\n", "", text))
    assert len(entries) > 20
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+==[^ ]+ ", entry) and "--hash=sha256:" in entry, entry.split("\n")[0]
    assert "://" not in text and "index-url" not in text and "find-links" not in text
