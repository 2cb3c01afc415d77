"""The current ends in the middle of a run: what was not flushed is gone. The next run finishes the same work, once.

Clone and target lie on an image of their own, ext4 or xfs; in one variant the bare remote, and everything else, too. The cut comes at
a boundary of the run; nothing that was written since the beginning is in safety but what the run itself flushed. Afterwards the file
system, the clone and the target are looked at before anything touches them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.support import loop_images
from tests.support.gitrepos import Repository
from tests.support.instance import Instance
from tests.support.loop_images import Image
from tests.support.oracle import accept, all_events, live_files, of_type, published
from tests.support.recovery import Way, codes_in, finish
from tests.support.stage import DATE, PLAN, Stage, at
from tests.support.volume import fair_slice

PARTS = {"clone and target": ("ci", "public"), "everything": (".",)}
LAST = 57
"""Boundaries of an undisturbed run, at the least; a test counts them."""


@dataclass(frozen=True)
class Cut:
    """On which file system, with what on it, at which boundary of the run: the share of the way that the run has gone."""

    kind: str
    parts: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.parts.split()[0]}-{self.number:02d}"


CUTS = [Cut(kind, parts, number) for kind in loop_images.KINDS for parts in PARTS for number in range(1, LAST + 1)]


@pytest.fixture(scope="session")
def stage(stages: Callable[[str], Stage], tmp_path_factory: pytest.TempPathFactory) -> Stage:
    why = loop_images.why_not(tmp_path_factory.mktemp("loop"))
    if why:
        pytest.skip(why)
    return stages("directory")


@pytest.fixture(scope="session")
def trail(stage: Stage) -> list[str]:
    """The boundaries of an undisturbed run, as ``NAME:N``, in order."""
    log = stage.folder / "trail.log"
    stage.restore("approved").driven("ci", "run", check=0, now=at(10), trail=str(log))
    return [line.replace(" ", ":") for line in log.read_text().splitlines()]


@pytest.fixture
def image(stage: Stage) -> Iterator[Callable[[str], Image]]:
    made: list[Image] = []

    def new(kind: str) -> Image:
        made.append(Image(kind, stage.folder / "image"))
        made[0].make()
        return made[0]

    yield new
    for one in made:
        one.unmount()


def test_a_run_has_so_many_boundaries(trail: list[str]) -> None:
    assert len(trail) >= LAST, f"{len(trail)}: every boundary can be cut at when LAST is right"


@pytest.mark.parametrize("cut", fair_slice("power cuts", CUTS, 2, stratum=lambda cut: cut.kind), ids=str)
def test_a_run_without_current_is_finished_once(
    stage: Stage, trail: list[str], image: Callable[[str], Image], cut: Cut
) -> None:
    instance = stage.restore("approved")
    disk = image(cut.kind)
    instance.remote.setting("core.fsync", "all")  # the remote's own duty, where it lies on the disk as well
    disk.move_in([instance.folder / part for part in PARTS[cut.parts] if prepared(instance, part)])
    boundary = trail[cut.number * len(trail) // LAST - 1]
    done = instance.driven("ci", "run", now=at(10), at=f"do:before:{boundary}", do=disk.cutting)
    assert "Traceback" not in done.stderr, done.stderr
    damage = disk.back()
    assert not damage, damage
    sound(instance)
    true_so_far(stage)
    way, moment, restored = Way(done.returncode, codes_in(done)), 60.0, False
    again = instance.driven("ci", "run", now=at(60))
    if again.returncode:
        way.codes = codes_in(again)
        moment = finish(instance, way, after=60, at=at, happened=True)
        restored = any("--restore" in command for command in way.commands)
    unsure = "delivery-unknown" in (*way.codes, *way.stops)
    accept(instance, DATE, first=stage.first, now=at(moment + 60), unsure=unsure, restored=restored)
    ENDS[f"{way.status} {', '.join(way.codes)} {way.outcome}"] += 1
    print(f"power cut {cut} before {boundary}: {dict(ENDS)}")


ENDS: Counter[str] = Counter()


def prepared(instance: Instance, part: str) -> bool:
    (instance.folder / part).mkdir(exist_ok=True)
    return True


def sound(instance: Instance) -> None:
    """Git's own check of the clone and of the remote, before anything reads them."""
    for repository in (instance.clone("ci"), instance.remote):
        Repository(repository.path).git("fsck", "--full", "--no-dangling", "--no-progress")


def true_so_far(stage: Stage) -> None:
    """What the ledger calls deployed is public, whole; and nothing is public by halves."""
    instance = stage.instance
    files = published(instance).files if live_files(instance.folder) else {}
    assert files in ({}, stage.first.files), "half of a release is public"
    if of_type(all_events(instance).get(PLAN, []), "deployed"):
        assert files == stage.first.files, "recorded as deployed, and not there"
