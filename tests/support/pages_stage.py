"""An instance whose site is at GitHub Pages, and jobs that publish to it: the real command line twice, the upload in between."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import copies
from tests.support.github.pages_site import REPOSITORY, PagesSite, pages_site
from tests.support.instance import Instance, make_instance
from tests.support.pages_job import outputs_of
from tests.support.scene import Done
from tests.support.stage import at
from tests.support.warm import Warm

KEPT = ("artifacts", "deployments", "files", "fate", "slow", "cancels", "posts", "tokens", "private", "missing", "asked")


@dataclass
class PagesStage:
    """The instance always lies at the same path; ``save`` and ``back_to`` take the site along."""

    folder: Path
    pages: PagesSite
    instance: Instance
    _saved: dict[str, dict[str, Any]] = field(default_factory=dict)
    _runs: int = 100

    def save(self, name: str) -> None:
        copies.replace(self.folder / name, self.instance.folder)
        self._saved[name] = {part: deepcopy(getattr(self.pages, part)) for part in KEPT}

    def back_to(self, name: str) -> None:
        copies.replace(self.instance.folder, self.folder / name)
        for part, value in self._saved[name].items():
            setattr(self.pages, part, deepcopy(value))
        self.pages.ten_minutes_later()

    def approved(self, date: str, seconds: float, request: int) -> str:
        """A date is planned and approved; returns its plan's path."""
        self.instance.driven("planner", "plan", "--date", date, check=0, now=at(seconds))
        self.instance.driven("reviewer", "approve", str(request), "--yes", check=0, now=at(seconds + 1))
        return f"blog/daily/{date[:4]}/{date}"

    # --- jobs -------------------------------------------------------------------------------------------------------------

    def job(self, *, run: int = 0) -> Job:
        """A job of a workflow run of its own, on a machine of its own."""
        self._runs += 1
        return Job(self, run or self._runs)

    def publish(self, seconds: float) -> tuple[Done, Done]:
        """A whole job that has something to publish."""
        job = self.job()
        first = job.run_publisher(seconds, "--scheduled")
        job.upload()
        return first, job.run_publisher(seconds + 5, "--scheduled")

    # --- what is there ----------------------------------------------------------------------------------------------------

    def events(self, plan: str) -> list[str]:
        return [event["type"] for event in self.instance.ledger(plan)]

    @property
    def live(self) -> dict[str, bytes]:
        """Every public file, less the target's own."""
        own = (".well-known/publisher-claim.json", ".well-known/publisher-files.json")
        return {path: data for path, data in self.pages.files.items() if path not in own}

    @property
    def public_text(self) -> bytes:
        return b"".join(data for _, data in sorted(self.live.items()))

    def has_commit(self, version: str) -> bool:
        """Whether the repository has a commit on one of its branches, as GitHub asks."""
        found = self.instance.remote.git("for-each-ref", "--contains", version, "refs/heads/", check=False)
        return bool(found)


@dataclass
class Job:
    stage: PagesStage
    run: int
    attempt: int = 1
    artifact: str = ""
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.stage.folder / f"machine-{self.run}-{self.attempt}"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def do(self, seconds: float, *argv: str, check: int | None = 0, **driver: str) -> Done:
        """A step that runs publisher in a fresh clone. Each step has outputs of its own."""
        self.output.unlink(missing_ok=True)
        instance, before = self.stage.instance, dict(self.stage.instance.environment)
        clone = f"ci-{self.run}-{self.attempt}"
        instance.clone(clone)
        instance.environment |= {
            "PUBLISHER_ROOT": instance.remote.git("rev-list", "--max-parents=0", "main").split()[-1],
            **self.stage.pages.environment(self.run, self.attempt), "RUNNER_TEMP": str(self.folder),
            "GITHUB_OUTPUT": str(self.output), "PUBLISHER_PAGES_ARTIFACT_ID": self.artifact,
        }  # fmt: skip
        try:
            done = instance.driven(clone, *argv, check=check, now=at(seconds), **driver)
        finally:
            instance.environment = before
        return Done(done.returncode, done.stdout, done.stderr)

    def run_publisher(self, seconds: float, *argv: str, check: int | None = 0, **driver: str) -> Done:
        return self.do(seconds, "run", "--json", *argv, check=check, **driver)

    @property
    def output(self) -> Path:
        return self.folder / "outputs"

    @property
    def outputs(self) -> dict[str, str]:
        return outputs_of(self.output)

    def upload(self) -> None:
        put = self.outputs
        self.artifact = str(self.stage.pages.upload(put["pages_artifact"], Path(put["pages_path"]), self.run))


@contextmanager
def pages_stage(folder: Path, warm: Warm) -> Iterator[PagesStage]:
    with pages_site() as pages:
        instance = make_instance(
            folder / "instance", url=pages.url.rstrip("/"), lease="1s", confirm="20s", target="{kind: github-pages}"
        )
        instance.warm = warm
        editor = instance.clone("editor")
        text = (editor.path / "publisher.yaml").read_text()
        editor.commit({"publisher.yaml": text.replace("on_call:", f"github: {{repository: {REPOSITORY}}}\non_call:")})
        editor.push()
        stage = PagesStage(folder, pages, instance)
        pages.has_commit = stage.has_commit
        stage.save("new")
        yield stage
