"""Branch-based Pages: a build is asked for where a push starts none, watched for a while, and never in a run's way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.instance import TargetSpec
from publisher.errors import NeedsPerson
from publisher.forge.github_api import GithubApi
from publisher.targets.all_targets import make_target
from publisher.targets.pages_builds import PAUSE, WATCHED
from tests.support.github.pages_site import REPOSITORY, TOKEN, Build, PagesSite, pages_site
from tests.support.target_actors import SITE, at, bare_repository, clone, commit_files, run_git

REF = "refs/heads/gh-pages"


class Place:
    """A repository whose branch Pages builds, and a clone of it."""

    def __init__(self, folder: Path, pages: PagesSite) -> None:
        self.pages, self.slept = pages, list[float]()
        self.remote = bare_repository(folder / "remote.git")
        self.git = clone(folder / "clone")
        commit_files(self.remote, REF, {"index.html": b"one"})
        pages.tip = lambda: self.tip

    @property
    def tip(self) -> str:
        return run_git(self.remote, "rev-parse", REF)

    def show(self, **options: str) -> None:
        spec = TargetSpec(kind="git-branch", options={"branch": "gh-pages", **options})
        api = GithubApi(REPOSITORY, TOKEN, api=self.pages.api_url)
        make_target(
            spec, site=SITE, base=self.git.root(), git=self.git, state_remote=str(self.remote), now=at, sleep=self.slept.append,
            host=lambda: api,
        ).show()  # fmt: skip

    @property
    def asked(self) -> int:
        return sum(path == "pages/builds" for path, _ in self.pages.posts)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with pages_site() as pages:
        yield Place(tmp_path, pages)


def test_a_push_that_started_no_build_gets_one(place: Place) -> None:
    place.show(pages="build")
    assert (place.asked, place.pages.builds) == (1, [Build(place.tip, "built")])


def test_an_older_build_is_not_enough(place: Place) -> None:
    place.pages.builds.append(Build("0" * 40, "built"))
    place.show(pages="build")
    assert place.asked == 1 and place.pages.builds[-1].commit == place.tip


@pytest.mark.parametrize("status", ["queued", "building", "built"])
def test_a_build_of_this_commit_is_not_asked_for_again(place: Place, status: str) -> None:
    place.pages.builds.append(Build(place.tip, status))
    for _ in range(2):
        place.show(pages="build")
    assert place.asked == 0 and place.pages.builds[-1].status == "built"


def test_a_build_that_failed_is_asked_for_once_more_and_not_for_ever(place: Place) -> None:
    place.pages.builds.append(Build(place.tip, "errored"))
    place.pages.build_fate = "errored"
    place.show(pages="build")
    assert place.asked == 1 and place.pages.builds[-1].status == "errored"


def test_a_build_that_does_not_end_is_left_after_a_while(place: Place) -> None:
    place.pages.build_fate = "building"
    place.show(pages="build")
    assert place.asked == 1
    assert WATCHED - PAUSE <= sum(place.slept) <= WATCHED


def test_without_the_option_nobody_is_asked(place: Place) -> None:
    place.show()
    assert not place.pages.posts and not place.pages.builds


def test_what_goes_wrong_is_not_the_run_s_trouble(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*given: Any) -> Any:
        raise NeedsPerson("host-forbidden", "no")

    monkeypatch.setattr(GithubApi, "send", forbidden)
    place.show(pages="build")
    monkeypatch.setattr(GithubApi, "get", forbidden)
    place.show(pages="build")
    run_git(place.remote, "update-ref", "-d", REF)
    place.show(pages="build")
    assert not place.pages.builds
