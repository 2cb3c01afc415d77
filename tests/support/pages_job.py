"""A job that publishes to GitHub Pages: two runs of publisher, and the upload between them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.article import Release
from publisher.domain.claim import Fence
from publisher.errors import ComeBackLater
from publisher.forge.github_api import GithubApi
from publisher.ports import Live
from publisher.targets.github_pages import GithubPagesTarget
from publisher.targets.options import Surroundings
from tests.support.github.pages_site import REPOSITORY, TOKEN, PagesSite
from tests.support.target_actors import SITE, at, fence

FIRST = fence(1)


def outputs_of(path: Path) -> dict[str, str]:
    """What the steps so far have put out."""
    return dict(line.split("=", 1) for line in path.read_text().splitlines()) if path.exists() else {}


class WatchedApi:
    """The API, with ``watch(moment)`` called around what changes something."""

    def __init__(self, api: GithubApi, watch: Callable[[str], None]) -> None:
        self._api, self._watch = api, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def send(self, *given: Any) -> Any:
        self._watch("before send")
        done = self._api.send(*given)
        self._watch("after send")
        return done


class Job:
    """One job on a machine of its own (``folder``), as another machine would be: nothing is shared but the site.

    It stands where the contract expects a target: its ``switch`` is a whole job, from the export to the deployment.
    """

    def __init__(
        self, pages: PagesSite, folder: Path, *, run: int, site: str = SITE, watch: Callable[[str], None] = lambda moment: None,
        record: Callable[[], str] = lambda: os.urandom(20).hex(),
    ) -> None:  # fmt: skip
        self.pages, self.folder, self.run, self.site = pages, folder, run, site
        self._watch, self._record = watch, record
        (folder / "temp").mkdir(parents=True)
        (folder / "repository").mkdir()

    @property
    def environment(self) -> dict[str, str]:
        return {
            **self.pages.environment(self.run), "RUNNER_TEMP": str(self.folder / "temp"),
            "GITHUB_OUTPUT": str(self.folder / "outputs"),
        }  # fmt: skip

    def target(self, artifact: str = "", **options: str) -> GithubPagesTarget:
        """The target as a step of this job sees it."""
        environment = {**self.environment, "PUBLISHER_PAGES_ARTIFACT_ID": artifact}
        api = WatchedApi(GithubApi(REPOSITORY, TOKEN, api=self.pages.api_url), self._watch)
        around = Surroundings(
            site=self.site, base=self.folder / "repository", git=None, state_remote="origin", now=at, sleep=lambda seconds: None,  # type: ignore[arg-type]
            url=self.pages.url, host=lambda: api, environment=environment,
        )  # fmt: skip
        return GithubPagesTarget.from_options(options, around)

    @property
    def outputs(self) -> dict[str, str]:
        return outputs_of(self.folder / "outputs")

    def look(self) -> Live:
        return self.target().look()

    def store(self, release: Release, *, base: str = "", fence: Fence = FIRST) -> None:
        with pytest.raises(ComeBackLater) as wanted:
            self.target().store(release, base=base, fence=fence)
        assert wanted.value.code == "artifact-wanted"

    def uploaded(self) -> str:
        """The artifact that the upload step makes of what the run before it put out."""
        put = self.outputs
        (self.folder / "outputs").unlink()
        return str(self.pages.upload(put["pages_artifact"], Path(put["pages_path"]), self.run))

    def raise_fence(self, fence: Fence) -> None:
        self.target().raise_fence(fence)

    def switch(self, release: Release, *, base: str, fence: Fence) -> None:
        self.run += 1000  # a job of its own
        self.store(release, base=base, fence=fence)
        self._watch("before upload")
        second = self.target(self.uploaded())
        second.store(release, base=base, fence=fence)
        second.switch(release, base=base, fence=fence, record=self._record())
