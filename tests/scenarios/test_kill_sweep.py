"""SIGKILL before and after every effect of the line, on every kind of target; a fresh clone finishes the same work, once.

The effects are written down here, in order. A test compares them with what really happens, so that a new effect cannot be
forgotten; and every member of ``ports.EFFECTS`` is in some story.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from publisher.ports import EFFECTS
from tests.support import exercise
from tests.support.oracle import CLAIM, accept, files_below, published
from tests.support.recovery import Way, note
from tests.support.stage import DATE, KINDS, Stage, at, effects_of, killed_at, launch_approved, requests
from tests.support.volume import fair_slice

Stages = Callable[[str], Stage]

PUSH, SHOW, SEND = "records.publish", "target.show", "channel.send"
APART = (PUSH, "target.store", PUSH, "target.switch", SHOW, PUSH, SEND, SEND, PUSH, PUSH)
LINE = {
    "directory": APART,
    "same-repository": (PUSH, PUSH, SHOW, PUSH, SEND, SEND, PUSH, PUSH),
    "other-repository": APART,
}
"""A publication on a quiet day: claim, intent, switch, announcements, end; a target that joins the ledger has no intent."""

RECOVERY = {
    "switched": (PUSH, "target.raise_fence", PUSH, SHOW, PUSH, SEND, SEND, PUSH, "alerts.say", PUSH),
    "intended": (
        PUSH, "target.raise_fence", PUSH, "target.store", PUSH, "target.switch", SHOW, PUSH, SEND, SEND, PUSH, PUSH,
    ),
}  # fmt: skip
RECOVERED_KINDS = {"directory": ("switched", "intended"), "other-repository": ("switched",)}
BOTH, BEFORE = ("before", "after"), ("before",)

LAUNCH = (PUSH, "staging.store", "staging.switch", PUSH, "requests.open", "alerts.say", PUSH)
"""A launch up to the request for its gate."""
LAUNCH_SWEPT = ("staging.store", "staging.switch", "requests.open")


@dataclass(frozen=True)
class Cell:
    """One death: in which story, at which occurrence of which effect, before or after it."""

    kind: str
    story: str
    when: str
    effect: str
    number: int

    @property
    def at(self) -> str:
        return f"kill:{self.when}:{self.effect}:{self.number}"

    def __str__(self) -> str:
        return f"{self.at}-{self.story}-{self.kind}"

    def note(self) -> None:
        """A line of the exercise matrix's report."""
        note(exercise.Cell(self.kind, self.story, self.effect, self.number, f"crash-{self.when}"), Way(-signal.SIGKILL))


def cells(
    kind: str, story: str, effects: Sequence[str], only: Sequence[str] = (), moments: Sequence[str] = BOTH
) -> Iterator[Cell]:
    for place, effect in enumerate(effects):
        if not only or effect in only:
            for when in moments:
                yield Cell(kind, story, when, effect, effects[: place + 1].count(effect))


FIRST = [cell for kind in KINDS for cell in cells(kind, "first", LINE[kind])]
# Before an effect and after the one before it, the world outside is the same; one story has both all the same.
SECOND = [
    *cells("directory", "switched", RECOVERY["switched"]),
    *cells("directory", "intended", RECOVERY["intended"], moments=BEFORE),
    *cells("other-repository", "switched", RECOVERY["switched"], moments=BEFORE),
]
SWEPT_FIRST = fair_slice("kill sweep", FIRST, 12, stratum=lambda cell: (cell.effect, cell.when))
SWEPT_SECOND = fair_slice("kill sweep of recoveries", SECOND, 8, stratum=lambda cell: cell.effect)
PLANNING = list(cells("directory", "plan", ("requests.open",)))
GATE = list(cells("directory", "launch", LAUNCH, LAUNCH_SWEPT))


def kill(stage: Stage, who: str, cell_at: str, now: float, *argv: str) -> None:
    done = stage.instance.driven(who, *(argv or ("run",)), now=at(now), at=cell_at)
    assert done.returncode == -signal.SIGKILL, f"it was not killed: {done.returncode}\n{done.stdout}\n{done.stderr}"


# --- the list is complete -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_line_has_these_effects(stages: Stages, kind: str) -> None:
    assert stages(kind).effects == LINE[kind]


@pytest.mark.parametrize(("kind", "base"), [(kind, base) for kind, bases in RECOVERED_KINDS.items() for base in bases])
def test_a_recovery_has_these_effects(stages: Stages, kind: str, base: str) -> None:
    stage = stages(kind)
    killed_at(stage, base)
    log = stage.folder / "recovery.log"
    log.unlink(missing_ok=True)
    stage.instance.fresh_clone("ci2")
    stage.instance.driven("ci2", "run", check=0, now=at(60), log=str(log))
    assert effects_of(log) == RECOVERY[base]


def test_a_launch_has_these_effects(stages: Stages) -> None:
    stage = stages("directory")
    launch_approved(stage)
    log = stage.folder / "launch.log"
    log.unlink(missing_ok=True)
    stage.instance.driven("planner", "run", now=at(10), log=str(log))
    assert effects_of(log) == LAUNCH


def test_every_effect_is_swept() -> None:
    swept = {(cell.effect, cell.when) for cell in (*FIRST, *SECOND, *PLANNING, *GATE)}
    assert swept == {(effect, when) for effect in EFFECTS for when in ("before", "after")}


@pytest.mark.parametrize(("step", "effect"), [("deploy", "target.store"), ("announce", "channel.send")])
def test_an_effect_that_its_worker_did_not_declare_ends_the_process(stages: Stages, step: str, effect: str) -> None:
    instance = stages("directory").restore("approved")
    done = instance.driven("ci", "run", now=at(10), undeclared=step)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (99, f"undeclared effect {effect} in {step}")
    assert instance.driven("ci", "run", now=at(60), undeclared="build").returncode == 0  # its pushes are the journal's


# --- the sweep ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", SWEPT_FIRST, ids=str)
def test_a_killed_run_is_finished_once(stages: Stages, cell: Cell) -> None:
    stage = stages(cell.kind)
    instance = stage.restore("approved")
    kill(stage, "ci", cell.at, 10)
    instance.fresh_clone("ci2")
    instance.driven("ci2", "run", check=0, now=at(60))
    accept(instance, DATE, first=stage.first, now=at(120))
    cell.note()


@pytest.mark.parametrize("cell", SWEPT_SECOND, ids=str)
def test_a_killed_recovery_is_finished_once(stages: Stages, cell: Cell) -> None:
    stage = stages(cell.kind)
    killed_at(stage, cell.story)
    instance = stage.instance
    instance.fresh_clone("ci2")
    kill(stage, "ci2", cell.at, 60)
    instance.fresh_clone("ci3")
    instance.driven("ci3", "run", check=0, now=at(120))
    accept(instance, DATE, first=stage.first, now=at(180))
    cell.note()


@pytest.mark.parametrize("cell", PLANNING, ids=str)
def test_a_killed_planner_proposes_once(stages: Stages, cell: Cell) -> None:
    stage = stages(cell.kind)
    instance = stage.restore("empty")
    kill(stage, "planner", cell.at, 0, "plan")
    instance.fresh_clone("planner2", key_of="planner")
    instance.driven("planner2", "plan", check=0, now=at(2))
    assert requests(stage) == ["publisher/requests/1"]
    instance.driven("reviewer", "approve", "1", "--yes", check=0, now=at(3))
    instance.driven("ci", "run", check=0, now=at(10))
    accept(instance, DATE, first=stage.first, now=at(120))
    cell.note()


@pytest.mark.parametrize("cell", GATE, ids=str)
def test_a_killed_launch_asks_for_its_gate_once(stages: Stages, cell: Cell) -> None:
    stage = stages(cell.kind)
    launch_approved(stage)
    instance = stage.instance
    kill(stage, "planner", cell.at, 10)
    instance.fresh_clone("planner2", key_of="planner")
    instance.driven("planner2", "run", check=4, now=at(60))
    assert requests(stage) == ["publisher/requests/2"]
    instance.driven("planner2", "run", check=4, now=at(90))
    assert requests(stage) == ["publisher/requests/2"]
    staged = {path: data for path, data in files_below(instance.folder / "staging" / "current").items() if path != CLAIM}
    assert staged == stage.first.files, "the reviewer cannot see what the gate is about"
    instance.driven("reviewer", "approve", "2", "--yes", check=0, now=at(100))
    instance.driven("ci", "run", check=0, now=at(120))
    live = published(instance)
    assert live.files == stage.first.files  # the launch shows the same two articles as the day's plan would
    accept(instance, "launch", now=at(180))
    cell.note()
