"""The model is honest: its targets keep the contract that the real ones keep, its remote does what a git remote does."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from publisher.domain.article import Release
from publisher.domain.claim import Fence
from publisher.errors import StoppedForSafety
from publisher.ports import Live
from publisher.simulation.doors import SITE_COMMITS, ModelTarget, refusal_of
from publisher.simulation.memo import Memo, Player
from publisher.simulation.oracles import Oracles
from publisher.simulation.talk import REFUSALS, Effect, Talk
from publisher.simulation.world import HANDLERS, TROUBLES, Actor, World
from tests.contracts.target_contract import TargetContract
from tests.support.gitrepos import bare, clone
from tests.support.target_actors import fence


class Silent(Oracles):
    """Judges nothing: the contract switches without any ledger."""

    def switching(self, *_: object) -> None: ...

    def public_changed(self, *_: object) -> None: ...

    def state_moved(self, *_: object) -> None: ...


def world_of(kind: str) -> World:
    memo = Memo()
    return World(memo.shared.contents, kind, Silent(memo.shared.contents))


class ModelArena:
    """One model target; every actor talks to the same world."""

    takes_claims = True
    moments = ()

    def __init__(self, kind: str) -> None:
        self.world = world_of(kind)
        self.kind = kind

    def actor(self, site: str = "blog") -> ModelTarget:
        memo = Memo()
        actor = Actor(0, ("run",), Player(memo, self.kind, ("run",)))

        def switch(effect: Effect) -> tuple[tuple[object, ...], int]:
            return self.world.perform(actor, effect, ""), 0

        return _Storing(Talk(switch), self.kind, self.world)

    def look(self) -> Live:
        return self.actor().look()

    def foreign_change(self) -> None:
        self.world.contents.public.setdefault("foreign", {})
        self.world.set_files("foreign")

    def public(self) -> object:
        return (self.world.files, self.world.claim, self.world.fence)


class _Storing(ModelTarget):
    """A release of the tests is put among the model's contents when it is stored."""

    def __init__(self, talk: Talk, kind: str, world: World) -> None:
        super().__init__(talk, kind)
        self._world = world

    def store(self, release: Release, *, base: str = "", fence: Fence | None = None) -> None:
        self._world.contents.public.setdefault(release.id, release.files)
        super().store(release, base=base, fence=fence)


NOT_MODELLED = {
    "test_a_place_of_another_site_is_refused": "a model target belongs to one site",
    "test_a_build_that_changed_is_not_stored": "the model has no bytes on a disk",
    "test_a_stopped_actor_changes_nothing_when_it_wakes": "the simulation itself is this test, at every effect",
    "test_of_many_at_once_one_switches": "an effect of the model is one moment",
    "test_a_kill_anywhere_leaves_old_or_new_and_a_rerun_completes": "the simulation itself is this test, at every effect",
    "test_a_wrong_base_is_refused_and_changes_nothing": "names the live release in its sentence, which the model has none of",
    "test_a_base_is_refused_where_nothing_is_live": "see above",
    "test_a_stale_or_doubled_fence_is_refused": "see above; the rule itself: test_fences_are_ordered_as_the_real_ones",
}


class TestConditional(TargetContract):
    @pytest.fixture(autouse=True)
    def _only_what_is_modelled(self, request: pytest.FixtureRequest) -> None:
        reason = NOT_MODELLED.get(request.node.originalname)
        if reason:
            pytest.skip(reason)

    @pytest.fixture
    def arena(self) -> ModelArena:
        return ModelArena("conditional")


@pytest.mark.parametrize("kind", ["conditional", "unconditional"])
@pytest.mark.parametrize(
    "stale",
    [fence(4), fence(5, nonce="b"), fence(5, epoch_id="d"), fence(6, epoch_id="d"), fence(9, epoch=1)],
    ids=["lower", "another's", "another epoch id", "higher of another epoch id", "earlier epoch"],
)
def test_a_stale_fence_and_a_wrong_base_are_refused(kind: str, stale: Fence, tmp_path: Path) -> None:
    held = fence(5, epoch=2) if stale.number == 9 else fence(5)
    arena = ModelArena(kind)
    for name in ("first", "second"):
        arena.world.contents.public.setdefault(name, {})
    first, second = (Release(id=name, files={}, root="") for name in ("first", "second"))
    arena.actor().switch(first, base="", fence=held, record="r1")
    before = arena.public()
    with pytest.raises(StoppedForSafety, match="fence-refused"):
        arena.actor().switch(second, base="first", fence=stale, record="r2")
    with pytest.raises(StoppedForSafety, match="base-moved"):
        arena.actor().switch(second, base="", fence=fence(7, epoch=2), record="r3")
    assert arena.public() == before


def test_fences_are_ordered_as_the_real_ones() -> None:
    """The model's rule against that of the real targets, over all pairs of fences that differ in each part."""
    from publisher.targets.claim_file import require_fence

    fences = [
        Fence(epoch=epoch, epoch_id=epoch_id * 32, number=number, nonce=nonce * 32)
        for epoch, epoch_id, number, nonce in itertools.product((1, 2), "ab", (1, 2), "cd")
    ]
    for held, offered in itertools.product([None, *fences], fences):
        values = [(f.epoch, f.epoch_id, f.number, f.nonce) if f else None for f in (held, offered)]
        refused = refusal_of(values[0], values[1], "", "", "") == "fence-refused"
        try:
            require_fence(held, offered, site="blog")
            really = False
        except StoppedForSafety:
            really = True
        assert refused is really, (held, offered)


# --- the remote --------------------------------------------------------------------------------------------------------------------


class AnyRemote(Protocol):
    """A remote with one branch: commits are made on a parent, pushed with an exact lease, and the tip is read."""

    def commit(self, parent: str, word: str) -> str: ...

    def push(self, commit: str, expected: str) -> None: ...

    def tip(self) -> str: ...


class ModelRemote:
    def __init__(self, _: Path) -> None:
        self.world = world_of("conditional")
        self.actor = Actor(0, ("run",), Player(Memo(), "conditional", ("run",)))

    def commit(self, parent: str, word: str) -> str:
        return f"{parent[:8]}-{word}"

    def push(self, commit: str, expected: str) -> None:
        self.world.perform(self.actor, ("push", commit, expected, ()), "")

    def tip(self) -> str:
        return self.world.state


class GitRemote:
    def __init__(self, folder: Path) -> None:
        self.clone = clone(bare(folder / "remote.git"), folder / "clone")

    def commit(self, parent: str, word: str) -> str:
        tree = self.clone.git("mktree", stdin=b"").strip()
        parents = ("-p", parent) if parent else ()
        return self.clone.git("commit-tree", tree, *parents, "-m", word).strip()

    def push(self, commit: str, expected: str) -> None:
        lease = f"--force-with-lease=refs/heads/state:{expected}"
        self.clone.git("push", lease, "origin", f"{commit}:refs/heads/state", check=False)

    def tip(self) -> str:
        return self.clone.git("ls-remote", "origin", "refs/heads/state").split("\t")[0]


@pytest.fixture(params=[ModelRemote, GitRemote], ids=["model", "git"])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> AnyRemote:
    made: Callable[[Path], AnyRemote] = request.param
    return made(tmp_path)


def test_a_push_lands_on_the_tip_that_was_read_and_nowhere_else(remote: AnyRemote) -> None:
    assert remote.tip() == ""
    first = remote.commit("", "first")
    remote.push(first, "")
    assert remote.tip() == first
    rival, second = remote.commit(first, "rival"), remote.commit(first, "second")
    remote.push(rival, first)
    remote.push(second, first)
    assert remote.tip() == rival
    remote.push(remote.commit(first, "late"), "")
    assert remote.tip() == rival


def test_the_same_commit_pushed_twice_is_there_once(remote: AnyRemote) -> None:
    """A lost answer: whoever pushes again what arrived changes nothing, even with a lease that is wrong by now."""
    first = remote.commit("", "first")
    for _ in range(2):
        remote.push(first, "")
    assert remote.tip() == first
    second = remote.commit(first, "second")
    remote.push(second, first)
    remote.push(first, "")
    assert remote.tip() == second


# --- the vocabulary -----------------------------------------------------------------------------------------------------------------


def test_every_effect_has_a_handler_and_its_troubles() -> None:
    assert set(HANDLERS) == set(TROUBLES)
    assert set(REFUSALS) == {"later", "person", "unknown", "safety"}


def test_every_effect_of_the_ports_is_one_of_the_model() -> None:
    from publisher.ports import EFFECTS

    as_modelled = {
        "records.publish": "push", "requests.open": "request", "target.store": "store", "target.raise_fence": "raise",
        "target.switch": "switch", "target.show": "show", "channel.send": "send", "alerts.say": "alert",
    }  # fmt: skip
    assert set(EFFECTS) - set(as_modelled) == {"staging.store", "staging.switch"}, "launches are not simulated"
    assert set(as_modelled.values()) <= set(HANDLERS)
    assert not SITE_COMMITS or all(len(item) == 4 for item in SITE_COMMITS.values())
