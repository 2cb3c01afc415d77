"""publisher's own repository as other repositories at GitHub see it: a commit of what is shipped, and what its action installs.

An installation takes seconds, so that it is made once for many jobs: each of them then gets a link to it. With ``anew`` each job
installs for itself, as at GitHub. Nothing here needs the network once ``scripts/wheelhouse`` has run, which ``make test`` sees to.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.support import workflow_files
from tests.support.gitrepos import Repository

ROOT = Path(__file__).resolve().parents[2]
STUBS = Path(__file__).parent / "stub_actions"
NAME = "press/publisher"
INSTALL = "scripts/install-in-actions"
LINK = """\
#!/usr/bin/env bash
# Instead of the installation itself, which was made before by the script that stood here, from the same commit.
set -euo pipefail
[ -z "${PUBLISHER_PACKAGE:-}" ] || { echo "a package of its own is installed anew" >&2; exit 1; }
ln -s "@VENV@" "$RUNNER_TEMP/publisher-venv"
echo "$RUNNER_TEMP/publisher-venv/bin" >>"$GITHUB_PATH"
cat "@ENV@" >>"$GITHUB_ENV"
"""
PARTS = ("publisher", "scripts", ".github", "action.yml", "requirements-github.lock", "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True)
class Shipped:
    """``folder/publisher`` holds the copy: its commit has the shipped bytes, its working tree what ``act`` can read."""

    folder: Path
    commit: str

    @property
    def path(self) -> Path:
        return self.folder / "publisher"

    @property
    def uses(self) -> str:
        """What a caller names."""
        return f"{NAME}@{self.commit}"

    def text(self, path: str) -> str:
        """A file as it is shipped."""
        return (ROOT / path).read_text("utf-8")

    @cached_property
    def wheel(self) -> Path:
        """publisher built as it would be for a package index."""
        folder = self.folder / "wheel"
        command = [sys.executable, "-I", "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
        subprocess.run(command, check=True, env={**os.environ, **pip_environment()}, capture_output=True)
        (found,) = folder.glob("publisher-*.whl")
        return found

    @cached_property
    def local_repositories(self) -> tuple[str, ...]:
        """``--local-repository`` of act: what each action that a shipped file names is stood in for by."""
        mapped = {self.uses: self.path}
        for name, commit in sorted(pinned_actions()):
            mapped[f"{name}@{commit}"] = self.folder / "stubs" / name.rpartition("/")[2]
        return tuple(f"{name}={path}" for name, path in mapped.items())


def pinned_actions() -> set[tuple[str, str]]:
    """(owner/name, commit) of every action from elsewhere in the shipped workflows."""
    found = set()
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        for job in workflow_files.read(path.read_text("utf-8"))["jobs"].values():
            for step in job.get("steps", ()):
                name, _, commit = step.get("uses", "").partition("@")
                if commit:
                    found.add((name, commit))
    return found


def pip_environment() -> dict[str, str]:
    """Where pip finds everything: nowhere but in the wheelhouse."""
    subprocess.run([ROOT / "scripts/wheelhouse"], check=True)
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(ROOT / ".venv/wheelhouse"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def python_folder(folder: Path) -> Path:
    """A folder for PATH whose ``python3`` is the one that made .venv: the wheelhouse is for that version."""
    made = folder / "bin"
    made.mkdir(parents=True, exist_ok=True)
    link = made / "python3"
    if not link.exists():
        link.symlink_to(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    return made


def shipped_once(folder: Path) -> Shipped:
    """The same copy for every process that names ``folder``; the first one makes it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = folder / "ready"
        if not ready.exists():
            shutil.rmtree(folder / "copy", ignore_errors=True)
            ready.write_text(ship(folder / "copy").commit)
        return Shipped(folder / "copy", ready.read_text())


def ship(folder: Path, *, anew: bool = False) -> Shipped:
    """A commit of this checkout's shipped parts, uncommitted changes included, in ``folder``."""
    copy = folder / "publisher"
    copy.mkdir(parents=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *PARTS],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    made = Repository(copy, "press")
    made.git("init", "--quiet", "--initial-branch=main")
    commit = made.commit({}, "What is shipped")
    for path in (copy / ".github/workflows").glob("*.yml"):
        path.write_text(workflow_files.runnable(path.read_text("utf-8"), NAME, commit), "utf-8")
    for stub in STUBS.iterdir():
        repository = Repository(folder / "stubs" / stub.name)
        shutil.copytree(stub, repository.path)
        repository.git("init", "--quiet", "--initial-branch=main")
        repository.commit({}, "A stand-in")
    if not anew:
        _install_once(copy, folder)
    return Shipped(folder, commit)


def _install_once(copy: Path, folder: Path) -> None:
    runner = folder / "installed"
    runner.mkdir()
    given = {"RUNNER_TEMP": str(runner), "GITHUB_PATH": str(runner / "path"), "GITHUB_ENV": str(runner / "env")}
    path = f"{python_folder(folder)}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(copy / INSTALL)],
        env={"PATH": path, "HOME": str(runner), **pip_environment(), **given},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run([runner / "publisher-venv/bin/python", "-m", "compileall", "-q", runner / "publisher-venv"], check=False)
    script = LINK.replace("@VENV@", str(runner / "publisher-venv")).replace("@ENV@", str(runner / "env"))
    (copy / INSTALL).write_text(script, "utf-8")
