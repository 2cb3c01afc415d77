"""The target contract on a modelled GitHub Pages: what holds everywhere holds here, but for what needs a fence.

Where the contract asks for more than GitHub offers, this module says what holds instead: a late holder is refused as long as the
site shows that it is late, and what lands all the same is found and put right.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.article import CLAIM_PATH, Release
from publisher.errors import Bug, StoppedForSafety
from publisher.ports import Live
from tests.contracts.target_contract import TargetContract, publish
from tests.support.github.pages_site import PagesSite, pages_site
from tests.support.pages_job import Job
from tests.support.target_actors import SITE, Actor, die_here, fence, in_process, on_change, stop_here


class PagesArena:
    takes_claims = False
    moments = ("before send",)

    def __init__(self, folder: Path, pages: PagesSite) -> None:
        self.folder, self.pages = folder, pages
        self._runs = itertools.count(1)

    def actor(self, site: str = SITE, watch: Callable[[str], None] = lambda moment: None) -> Job:
        folder = self.folder / f"job-{secrets.token_hex(6)}"
        return Job(self.pages, folder, run=next(self._runs), site=site, watch=watch)

    def look(self) -> Live:
        return self.actor().look()

    def stopping_actor(self, moment: str, stop: Callable[[], None]) -> Any:
        return self.actor(watch=lambda now: stop() if now == moment else None)

    def dying_actor(self, nth: int, die: Callable[[], None]) -> Any:
        count = itertools.count(1)

        def step(*what: Any) -> None:
            if next(count) == nth:
                die()

        job = self.actor(watch=step)
        on_change(job.folder, step)
        return job

    def foreign_change(self) -> None:
        self.pages.by_hand({"index.html": b"by hand"})

    def public(self) -> Any:
        return dict(self.pages.files), len(self.pages.deployments)


class TestGithubPages(TargetContract):
    @pytest.fixture
    def arena(self, tmp_path: Path) -> Iterator[PagesArena]:
        with pages_site(slow=0) as pages:
            yield PagesArena(tmp_path / "jobs", pages)

    def test_the_claim_file_is_served_beside_the_release(self, arena: PagesArena, first: Release) -> None:
        assert arena.pages.live(CLAIM_PATH)

    def test_a_raised_fence_shuts_the_older_holder_out(
        self, arena: Any, first: Release, releases: Callable[[str], Release]
    ) -> None:
        """Nobody can be shut out beforehand. A newer deployment shuts the older holder out."""
        with pytest.raises(Bug):
            arena.actor().raise_fence(fence(3))
        older = arena.actor()
        second, third = releases("second"), releases("third")
        older.store(second)
        publish(arena.actor(), third, first.id, fence(3))
        for base in (first.id, third.id):
            with pytest.raises(StoppedForSafety):
                older.switch(second, base=base, fence=fence(2))
        assert arena.look() == Live(release=third.id, fence=fence(3), base=first.id)

    def test_a_stopped_actor_changes_nothing_when_it_wakes(
        self, arena: Any, first: Release, releases: Callable[[str], Release]
    ) -> None:
        """It does here: between its last look and its request nothing can hold it up. Whoever looks next sees it, and repairs."""
        stale, newest = releases("stale"), releases("newest")
        actor = Actor.start(lambda: publish(arena.stopping_actor("before send", stop_here), stale, first.id, fence(2)))
        actor.wait_stopped()
        publish(arena.actor(), newest, first.id, fence(3))
        actor.resume()
        assert actor.outcome() == "ok"
        found = arena.look()
        assert found == Live(release=stale.id, fence=fence(2), base=first.id)
        publish(arena.actor(), newest, found.release, fence(4))
        assert arena.look() == Live(release=newest.id, fence=fence(4), base=stale.id)
        with pytest.raises(StoppedForSafety):  # and now that the site shows it, the late one is refused
            publish(arena.actor(), stale, first.id, fence(2))

    def test_of_many_at_once_one_switches(self, arena: Any, first: Release, releases: Callable[[str], Release]) -> None:
        """Among holders of claims, which there is one of, this does not happen. Without: one of them is live, whole."""
        built = [releases(f"rival-{number}") for number in range(4)]
        actors = [
            Actor.start(lambda number=number: publish(arena.actor(), built[number], first.id, fence(number + 2)))
            for number in range(len(built))
        ]
        outcomes = [actor.outcome() for actor in actors]
        assert set(outcomes) <= {"ok", "fence-refused", "base-moved", "pages-busy", "artifact-wanted", "deployment-unknown"}, (
            outcomes
        )
        live = arena.look()
        assert live.release in {release.id for release in built} and live.base == first.id
        winner = next(release for release in built if release.id == live.release)
        assert {path: arena.pages.live(path) for path in winner.files} == {
            path: (Path(winner.root) / path).read_bytes() for path in winner.files
        }

    def test_repeating_a_switch_deploys_nothing(self, arena: Any, first: Release) -> None:
        before = arena.public()
        arena.actor().switch(first, base="", fence=fence(1))
        assert arena.public() == before

    def test_a_death_between_the_request_and_its_answer(self, arena: Any, first: Release, releases: Any) -> None:
        second = releases("second")

        def act() -> None:
            actor = arena.stopping_actor("after send", die_here)
            publish(actor, second, first.id, fence(2))

        assert in_process(act) == "killed"
        assert arena.look() == Live(release=second.id, fence=fence(2), base=first.id)
        before = arena.public()
        publish(arena.actor(), second, first.id, fence(2))
        assert arena.public() == before
