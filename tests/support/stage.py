"""A prepared instance that each cell of a sweep gets as if it were the first: planned and approved, of one kind of target.

The instance always lies at the same path, so that nothing in it has to be rewritten; copies taken of it are put back there.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from tests.support import copies
from tests.support.gitrepos import bare
from tests.support.instance import Instance, make_instance
from tests.support.oracle import Published, published
from tests.support.warm import Warm
from tests.support.web import StaticSite, serving

KINDS = ("directory", "same-repository", "other-repository")
DATE = "2026-03-01"
PLAN = f"blog/daily/2026/{DATE}"
NEXT = "2026-03-02"
START = datetime.fromisoformat(f"{DATE}T10:00:00+08:00")
READERS = ("anna@example.org", "ben@example.org")

SITE_MORE = """\
    channels:
      post: {kind: file, path: ../post.jsonl, lists: ../lists, pseudonym_key_secret: LIST_KEY}
    announce: {channels: [post], list: readers, at_most: 10}
"""


def target_of(kind: str) -> str:
    return {
        "directory": "{kind: directory, path: ../public}",
        "same-repository": "{kind: git-branch, branch: pages}",
        "other-repository": "{kind: git-branch, branch: pages, repository: ../site.git}",
    }[kind]


def at(seconds: float) -> str:
    """The instant so many seconds after the story's beginning, as the driver's clock takes it."""
    return (START + timedelta(seconds=seconds)).isoformat()


@dataclass
class BranchSite(StaticSite):
    """Serves the files at the tip of the branch ``pages`` of the repository at ``root``, as a pages host does."""

    def _read(self, name: str, request: object) -> bytes | None:
        done = subprocess.run(["git", "cat-file", "blob", f"pages:{name}"], cwd=self.root, capture_output=True)
        return done.stdout if done.returncode == 0 else None


@dataclass
class Stage:
    """One kind of target. ``instance`` is the cell under way; ``first`` is what an undisturbed run makes public."""

    kind: str
    folder: Path
    web: StaticSite
    warm: Warm
    channels: bool = True
    lease: str = "1s"
    instance: Instance = field(init=False)
    first: Published = field(init=False)
    effects: tuple[str, ...] = ()
    """What the undisturbed run did to the world, in order."""

    def __post_init__(self) -> None:
        self._saved = self.folder / "saved"
        self._saved.mkdir(parents=True)
        self.instance = make_instance(
            self.folder / "instance", url=self.web.url.rstrip("/"), lease=self.lease, confirm="20s", target=target_of(self.kind),
            more=SITE_MORE if self.channels else "",
        )  # fmt: skip
        self.instance.warm = self.warm
        if self.kind == "other-repository":
            bare(self.instance.folder / "site.git")
        (self.instance.folder / "lists").mkdir()
        (self.instance.folder / "lists" / "readers.txt").write_text("\n".join(READERS) + "\n")
        self.instance.environment["LIST_KEY"] = "a key of more than sixteen characters"
        self.save("empty")

    def approved(self) -> None:
        """The date's plan is proposed and approved; saved as ``approved``."""
        self.instance.driven("planner", "plan", check=0, now=at(0))
        self.instance.driven("reviewer", "approve", "1", "--yes", check=0, now=at(1))
        self.save("approved")

    def undisturbed(self) -> None:
        """Runs the approved plan without a disturbance, and keeps what became public and its effects; saved as ``first``."""
        log = self.folder / "effects.log"
        log.unlink(missing_ok=True)
        self.restore("approved")
        self.instance.driven("ci", "run", check=0, now=at(10), log=str(log))
        self.first = published(self.instance)
        self.effects = effects_of(log)
        self.save("first")

    def save(self, name: str) -> None:
        """Takes a copy of the instance as it is, in the place of an earlier one of that name."""
        copies.replace(self._saved / name, self.instance.folder)

    def restore(self, name: str) -> Instance:
        """Puts a copy back."""
        copies.replace(self.instance.folder, self._saved / name)
        return self.instance

    def has(self, name: str) -> bool:
        return (self._saved / name).exists()


def effects_of(log: Path) -> tuple[str, ...]:
    return tuple(line.split(" ")[0] for line in log.read_text().splitlines()) if log.exists() else ()


@contextmanager
def stage_of(kind: str, folder: Path, warm: Warm, *, lease: str = "1s", channels: bool = True) -> Iterator[Stage]:
    """A stage with the web server that stands at its site's address."""
    places = {"directory": "public/current", "same-repository": "remote.git", "other-repository": "site.git"}
    root = folder / "instance" / places[kind]
    with serving(root if kind == "directory" else BranchSite(root=root)) as web:
        web.date = None  # the story has a clock of its own
        yield Stage(kind, folder, web, warm, channels, lease)


def plan(instance: Instance, date: str, seconds: float, request: int) -> None:
    """A date is planned and approved."""
    instance.driven("planner", "plan", "--date", date, check=0, now=at(seconds))
    instance.driven("reviewer", "approve", str(request), "--yes", check=0, now=at(seconds + 1))


@contextmanager
def stopped(instance: Instance, who: str, boundary: str, now: float) -> Iterator[subprocess.Popen[str]]:
    """A run of ``who`` that has stopped itself at a boundary; it is woken at the latest when the block is left."""
    process = instance.start_driven(who, "run", now=at(now), at=f"stop:{boundary}")
    try:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"it ended instead of stopping: {process.communicate()}"
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=60)


def woken(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err


# --- beginnings of stories that several sweeps share ---------------------------------------------------------------------------------

KILLED = {"switched": "kill:after:target.switch:1", "intended": "kill:before:target.switch:1"}
"""Where the run before was killed, for the stories that disturb the recovery too."""


def killed_at(stage: Stage, base: str) -> None:
    """The approved plan's run was killed there; its state is kept for the next cell."""
    if not stage.has(base):
        stage.restore("approved")
        done = stage.instance.driven("ci", "run", now=at(10), at=KILLED[base])
        assert done.returncode == -signal.SIGKILL, f"it was not killed: {done.returncode}\n{done.stdout}\n{done.stderr}"
        stage.save(base)
    stage.restore(base)


def launch_approved(stage: Stage) -> None:
    """A launch with the day's two articles is planned and approved."""
    if not stage.has("launch-approved"):
        instance = stage.restore("empty")
        sources = [f"--source=drafts/blog/article-000{number}" for number in (1, 2)]
        instance.driven("planner", "plan", "--launch", *sources, check=0, now=at(0))
        instance.driven("reviewer", "approve", "1", "--yes", check=0, now=at(1))
        stage.save("launch-approved")
    stage.restore("launch-approved")


def requests(stage: Stage) -> list[str]:
    """The branches of the open requests."""
    out = stage.instance.remote.git("for-each-ref", "--format=%(refname:short)", "refs/heads/publisher/requests/")
    return out.split()
