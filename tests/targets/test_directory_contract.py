"""The target contract on real directories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.article import CLAIM_PATH
from publisher.ports import Live
from publisher.targets.directory import DirectoryTarget
from tests.contracts.target_contract import TargetContract
from tests.support.target_actors import SITE, at, files_below, on_change


class DirectoryArena:
    takes_claims = True
    moments = ("lock",)

    def __init__(self, root: Path) -> None:
        self.root = root

    def actor(self, site: str = SITE) -> DirectoryTarget:
        return DirectoryTarget(self.root, shown="public", site=site, now=at)

    def look(self) -> Live:
        return self.actor().look()

    def stopping_actor(self, moment: str, stop: Callable[[], None]) -> DirectoryTarget:
        def at_the_lock(event: str, path: str, nth: int) -> None:
            if path == str(self.root / moment):
                stop()

        on_change(self.root, at_the_lock)
        return self.actor()

    def dying_actor(self, nth: int, die: Callable[[], None]) -> DirectoryTarget:
        on_change(self.root, lambda event, path, count: die() if count == nth else None)
        return self.actor()

    def foreign_change(self) -> None:
        (self.root / "current" / "extra.html").write_bytes(b"by hand")

    def public(self) -> Any:
        """Everything but what was only stored, or is under way."""
        live = dict(files_below((self.root / "current").resolve()))
        return live, (self.root / "fence.json").read_bytes(), (self.root / "current").readlink()


class TestDirectory(TargetContract):
    @pytest.fixture
    def arena(self, tmp_path: Path) -> DirectoryArena:
        return DirectoryArena(tmp_path / "public")

    def test_the_claim_file_is_served_beside_the_release(self, arena: DirectoryArena, first: Any) -> None:
        assert (arena.root / "current" / CLAIM_PATH).is_file()
