"""What every target promises, whatever it is made of. Each kind's test module subclasses ``TargetContract`` with its arena."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from publisher.domain.article import Release
from publisher.domain.claim import Fence
from publisher.errors import StoppedForSafety
from publisher.ports import Live, Target
from tests.support.target_actors import Actor, die_here, fence, in_process, make_release, stop_here


class Arena(Protocol):
    """One place where releases become public, and the actors around it."""

    takes_claims: bool
    """Whether a raised fence shows in ``look`` (not where the ledger's own compare-and-swap is the fence)."""

    moments: tuple[str, ...]
    """Moments between what an actor reads and the change that it makes."""

    def actor(self, site: str = ...) -> Target:
        """A fresh actor, as another machine would be: nothing is shared but the place itself."""

    def look(self) -> Live:
        """What an onlooker, who changes nothing, finds there."""

    def stopping_actor(self, moment: str, stop: Callable[[], None]) -> Target:
        """An actor that calls ``stop`` at one of ``moments``; used in a forked process."""

    def dying_actor(self, nth: int, die: Callable[[], None]) -> Target:
        """An actor that calls ``die`` at its nth step that writes anything; used in a forked process."""

    def foreign_change(self) -> None:
        """Somebody adds a file to what is live."""

    def public(self) -> Any:
        """Everything that visitors and later actors can see, comparable."""


def publish(target: Target, release: Release, base: str, held: Fence) -> None:
    target.store(release)
    target.switch(release, base=base, fence=held)


class TargetContract:
    """``arena`` comes from the subclass; ``releases`` makes releases by a word."""

    @pytest.fixture
    def releases(self, tmp_path: Path) -> Callable[[str], Release]:
        return lambda word: make_release(tmp_path / "built" / word, word)

    @pytest.fixture
    def first(self, arena: Arena, releases: Callable[[str], Release]) -> Release:
        """A first release, live under fence 1."""
        release = releases("first")
        publish(arena.actor(), release, "", fence(1))
        return release

    def test_nothing_is_there_at_first(self, arena: Arena) -> None:
        assert arena.look() == Live(release="", fence=None, base="")

    def test_a_first_release_becomes_live(self, arena: Arena, first: Release) -> None:
        assert arena.look() == Live(release=first.id, fence=fence(1), base="")

    def test_storing_makes_nothing_public(self, arena: Arena, releases: Callable[[str], Release]) -> None:
        arena.actor().store(releases("first"))
        assert arena.look() == Live(release="", fence=None, base="")

    def test_a_second_release_replaces_its_base(self, arena: Arena, first: Release, releases: Callable[[str], Release]) -> None:
        second = releases("second")
        publish(arena.actor(), second, first.id, fence(2))
        assert arena.look() == Live(release=second.id, fence=fence(2), base=first.id)

    def test_an_earlier_release_can_be_made_live_again(
        self, arena: Arena, first: Release, releases: Callable[[str], Release]
    ) -> None:
        second = releases("second")
        publish(arena.actor(), second, first.id, fence(2))
        publish(arena.actor(), first, second.id, fence(3))
        assert arena.look() == Live(release=first.id, fence=fence(3), base=second.id)

    @pytest.mark.parametrize("base", ["", "sha256:" + "0" * 64])
    def test_a_wrong_base_is_refused_and_changes_nothing(
        self, arena: Arena, first: Release, releases: Callable[[str], Release], base: str
    ) -> None:
        actor, before = arena.actor(), arena.public()
        actor.store(releases("second"))
        with pytest.raises(StoppedForSafety) as stopped:
            actor.switch(releases("second"), base=base, fence=fence(2))
        assert stopped.value.code == "base-moved"
        assert first.id in stopped.value.says
        assert arena.public() == before

    def test_a_base_is_refused_where_nothing_is_live(self, arena: Arena, releases: Callable[[str], Release]) -> None:
        with pytest.raises(StoppedForSafety) as stopped:
            publish(arena.actor(), releases("second"), releases("first").id, fence(1))
        assert stopped.value.code == "base-moved"
        assert arena.look() == Live(release="", fence=None)

    @pytest.mark.parametrize(
        "stale",
        [
            pytest.param(fence(4), id="lower"),
            pytest.param(fence(5, nonce="b"), id="equal-of-another-holder"),
            pytest.param(fence(5, epoch_id="d"), id="equal-of-another-epoch-id"),
            pytest.param(fence(6, epoch_id="d"), id="higher-of-another-epoch-id"),
            pytest.param(fence(9, epoch=1), id="of-an-earlier-epoch"),
        ],
    )
    def test_a_stale_or_doubled_fence_is_refused(
        self, arena: Arena, releases: Callable[[str], Release], stale: Fence, request: pytest.FixtureRequest
    ) -> None:
        held = fence(5, epoch=2) if "earlier-epoch" in request.node.name else fence(5)
        release, second = releases("first"), releases("second")
        publish(arena.actor(), release, "", held)
        before = arena.public()
        with pytest.raises(StoppedForSafety) as stopped:
            publish(arena.actor(), second, release.id, stale)
        assert stopped.value.code == "fence-refused"
        assert "fence 5" in stopped.value.says and f"fence {stale.number}" in stopped.value.says
        assert ("another" in stopped.value.says) == ("another" in request.node.name)
        assert arena.public() == before
        with pytest.raises(StoppedForSafety):  # not even for what is live already
            publish(arena.actor(), release, "", stale)
        assert arena.public() == before

    def test_a_later_epoch_goes_on_with_a_lower_number(
        self, arena: Arena, first: Release, releases: Callable[[str], Release]
    ) -> None:
        restored = fence(1, epoch=2, epoch_id="d")
        publish(arena.actor(), releases("second"), first.id, restored)
        assert arena.look().fence == restored

    def test_a_raised_fence_shuts_the_older_holder_out(
        self, arena: Arena, first: Release, releases: Callable[[str], Release]
    ) -> None:
        older = arena.actor()
        older.store(releases("second"))
        arena.actor().raise_fence(fence(3))
        live = arena.look()
        assert (live.release, live.base) == (first.id, "")
        assert live.fence == (fence(3) if arena.takes_claims else fence(1))
        with pytest.raises(StoppedForSafety):
            older.switch(releases("second"), base=first.id, fence=fence(2))
        assert arena.look().release == first.id

    def test_raising_is_repeatable_and_never_lowers(self, arena: Arena, first: Release) -> None:
        if not arena.takes_claims:
            pytest.skip("in the ledger's own repository the claim is the fence")
        for _ in range(2):
            arena.actor().raise_fence(fence(3))
        before = arena.public()
        for stale in (fence(2), fence(3, nonce="b")):
            with pytest.raises(StoppedForSafety) as stopped:
                arena.actor().raise_fence(stale)
            assert stopped.value.code == "fence-refused"
        assert arena.public() == before
        assert arena.look() == Live(release=first.id, fence=fence(3), base="")

    def test_a_fence_can_be_raised_before_the_first_release(self, arena: Arena, releases: Callable[[str], Release]) -> None:
        if not arena.takes_claims:
            pytest.skip("in the ledger's own repository the claim is the fence")
        arena.actor().raise_fence(fence(2))
        assert arena.look() == Live(release="", fence=fence(2))
        with pytest.raises(StoppedForSafety):
            publish(arena.actor(), releases("first"), "", fence(1))
        publish(arena.actor(), releases("first"), "", fence(2))
        assert arena.look() == Live(release=releases("first").id, fence=fence(2))

    def test_repeating_a_switch_changes_nothing(self, arena: Arena, first: Release, releases: Callable[[str], Release]) -> None:
        second = releases("second")
        publish(arena.actor(), second, first.id, fence(2))
        before = arena.look()
        for _ in range(3):
            publish(arena.actor(), second, first.id, fence(2))
        assert arena.look() == before

    def test_a_foreign_change_is_seen_and_stops_the_next_switch(
        self, arena: Arena, first: Release, releases: Callable[[str], Release]
    ) -> None:
        arena.foreign_change()
        assert arena.look().release not in ("", first.id)
        before = arena.public()
        with pytest.raises(StoppedForSafety) as stopped:
            publish(arena.actor(), releases("second"), first.id, fence(2))
        assert stopped.value.code == "base-moved"
        assert arena.public() == before

    def test_a_place_of_another_site_is_refused(self, arena: Arena, first: Release) -> None:
        with pytest.raises(StoppedForSafety) as stopped:
            arena.actor(site="other").look()
        assert stopped.value.code == "target-foreign"

    def test_a_build_that_changed_is_not_stored(self, arena: Arena, first: Release, releases: Callable[[str], Release]) -> None:
        second = releases("second")
        (Path(second.root) / "index.html").write_bytes(b"a private sentence")
        with pytest.raises(StoppedForSafety) as stopped:
            arena.actor().store(second)
        assert stopped.value.code == "built-differs"
        assert "private" not in str(stopped.value)
        with pytest.raises(StoppedForSafety):
            arena.actor().store(Release(id=first.id, files=second.files, root=second.root))

    def test_a_stopped_actor_changes_nothing_when_it_wakes(
        self, arena: Arena, first: Release, releases: Callable[[str], Release]
    ) -> None:
        live, number = first.id, 1
        for moment in arena.moments:
            stale, newest = releases(f"stale-{moment}"), releases(f"newest-{moment}")
            older, newer = fence(number + 1), fence(number + 2)
            actor = Actor.start(lambda: publish(arena.stopping_actor(moment, stop_here), stale, live, older))  # noqa: B023
            actor.wait_stopped()
            taker = arena.actor()
            taker.raise_fence(newer)
            assert arena.look().release == live
            publish(taker, newest, live, newer)
            before = arena.public()
            actor.resume()
            assert actor.outcome() in ("fence-refused", "base-moved", "claim-lost")
            assert arena.public() == before
            assert arena.look() == Live(release=newest.id, fence=newer, base=live)
            live, number = newest.id, newer.number

    def test_of_many_at_once_one_switches(self, arena: Arena, first: Release, releases: Callable[[str], Release]) -> None:
        built = [releases(f"rival-{number}") for number in range(4)]
        actors = [
            Actor.start(lambda number=number: publish(arena.actor(), built[number], first.id, fence(number + 2)))
            for number in range(len(built))
        ]
        outcomes = [actor.outcome() for actor in actors]
        assert outcomes.count("ok") == 1, outcomes
        # "not taken": git's server refused because a rival's push was under way and not to be seen yet.
        assert set(outcomes) <= {"ok", "fence-refused", "base-moved", "claim-lost", "switch-not-taken"}, outcomes
        winner = outcomes.index("ok")
        live = arena.look()
        assert (live.release, live.base) == (built[winner].id, first.id)

    @pytest.mark.slow
    def test_a_kill_anywhere_leaves_old_or_new_and_a_rerun_completes(
        self, arena: Arena, first: Release, releases: Callable[[str], Release]
    ) -> None:
        live, seen = first.id, set()
        for nth in itertools.count(1):
            release, held = releases(f"day-{nth}"), fence(nth + 1)
            outcome = in_process(lambda: publish(arena.dying_actor(nth, die_here), release, live, held))  # noqa: B023
            found = arena.look()
            assert found.release in (live, release.id), f"killed at step {nth}"
            seen.add(found.release == release.id)
            publish(arena.actor(), release, live, held)
            assert arena.look() == Live(release=release.id, fence=held, base=live)
            live = release.id
            if outcome != "killed":
                assert outcome == "ok"
                break
        assert nth > 5
        assert seen == {True, False}
