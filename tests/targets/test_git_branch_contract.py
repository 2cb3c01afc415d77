"""The target contract on real repositories: a site branch elsewhere, and one that joins the ledger's push."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.article import Release
from publisher.domain.claim import Fence
from publisher.errors import StoppedForSafety
from publisher.ports import Live
from publisher.targets.git_branch import GitBranchTarget
from tests.contracts.target_contract import TargetContract
from tests.support.target_actors import SITE, WatchedGit, at, bare_repository, clone, commit_files, fence, run_git

REF = "refs/heads/gh-pages"
STATE = "refs/heads/publisher-state"


class RepositoryArena:
    takes_claims = True
    moments = ("compose", "push")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.remote = bare_repository(folder / "site.git")
        self._onlooker: Any = None

    def actor(self, site: str = SITE) -> Any:
        return self._over(self._clone(), site)

    def look(self) -> Live:
        if self._onlooker is None:
            self._onlooker = self.actor()
        live = self._onlooker.look()
        assert isinstance(live, Live)
        return live

    def _clone(self) -> Any:
        return clone(self.folder / f"clone-{secrets.token_hex(6)}")

    def _over(self, git: Any, site: str = SITE) -> Any:
        return GitBranchTarget(git=git, remote=str(self.remote), ref=REF, joined=False, site=site, now=at)

    def stopping_actor(self, moment: str, stop: Callable[[], None]) -> Any:
        stops: list[int] = []

        def before_it(when: str, method: str, nth: int) -> None:
            if (when, method) == ("before", moment) and not stops:
                stops.append(nth)
                stop()

        return self._over(WatchedGit(self._clone(), before_it))

    def dying_actor(self, nth: int, die: Callable[[], None]) -> Any:
        return self._over(WatchedGit(self._clone(), lambda when, method, count: die() if count == nth else None))

    def foreign_change(self) -> None:
        commit_files(self.remote, REF, {"extra.html": b"by hand"})

    def public(self) -> Any:
        return run_git(self.remote, "for-each-ref")


class JoinedActor:
    """A joined target with as much of the ledger as its guarantee rests on: a claim moves the state branch, and a switch is an
    atomic push of both branches with the exact lease on both."""

    def __init__(self, git: Any, remote: Path, site: str) -> None:
        self._git = git
        self._remote = str(remote)
        self._state = git.remote_refs(self._remote, [STATE]).get(STATE, "")
        if self._state:
            git.fetch(self._remote, [f"+{STATE}:refs/remotes/origin/state"])
        self._target = GitBranchTarget(git=git, remote=self._remote, ref=REF, joined=True, site=site, now=at)

    def look(self) -> Live:
        return self._target.look()

    def store(self, release: Release) -> None:
        self._target.store(release)

    def _record(self, text: str) -> str:
        parents = [self._state] if self._state else []
        return str(
            self._git.compose(
                parents=parents, base_tree=self._state, changes={"ledger": text.encode()}, message=text, author="a",
                email="a@localhost", at=at(),
            )
        )  # fmt: skip

    def _push(self, *updates: tuple[str, str, str]) -> None:
        self._git.push(self._remote, updates)
        if self._git.remote_refs(self._remote, [STATE]).get(STATE) != updates[0][0]:
            raise StoppedForSafety("claim-lost", "the state branch moved")

    def raise_fence(self, fence: Fence) -> None:
        self._target.raise_fence(fence)
        record = self._record(f"claim {fence.number}")
        self._push((record, STATE, self._state))
        self._state = record

    def switch(self, release: Release, *, base: str, fence: Fence) -> None:
        update = self._target.joined_update(release, base=base, fence=fence)
        record = self._record(f"deployed {release.id} by {fence.number} on {update.expected}")
        self._push((record, STATE, self._state), (update.commit, update.ref, update.expected))
        self._state = record


class JoinedArena(RepositoryArena):
    takes_claims = False

    def _over(self, git: Any, site: str = SITE) -> Any:
        return JoinedActor(git, self.remote, site)


class TestAnotherRepository(TargetContract):
    @pytest.fixture
    def arena(self, tmp_path: Path) -> RepositoryArena:
        return RepositoryArena(tmp_path)

    def test_repeating_a_switch_pushes_nothing(self, arena: RepositoryArena, first: Release) -> None:
        before = arena.public()
        arena.actor().switch(first, base="", fence=fence(1))
        assert arena.public() == before


class TestSameRepository(TargetContract):
    @pytest.fixture
    def arena(self, tmp_path: Path) -> JoinedArena:
        return JoinedArena(tmp_path)
