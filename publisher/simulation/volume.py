"""Many histories: numbered by seed, spread over processes, added up.

History ``i`` of a seed begins with story ``ORDER[i % len(ORDER)]`` and draws its moves from ``Random("seed:i")``; nothing else decides
it, so each can be played alone. A task is one story on one kind of target: tasks share nothing, so it does not matter which process
does which.
"""

from __future__ import annotations

import gc
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from publisher.simulation import stage
from publisher.simulation.generator import WITHOUT, play
from publisher.simulation.history import History, Move
from publisher.simulation.memo import Memo
from publisher.simulation.oracles import Oracles, Violation
from publisher.simulation.people import Ending
from publisher.simulation.remembering import aside, remembered
from publisher.simulation.world import CRASHES, ONLY_UNCONDITIONAL, TROUBLES

SPREADS = ("actors", "faults", "confirmed")
ORDER: tuple[stage.Story, ...] = tuple(story for story in stage.STORIES for _ in range(story.weight))
MOST_NODES = 600_000
"""A memo is forgotten when it has grown so large."""
RECHECK_EVERY = 503
"""Of so many histories, one has all its courses executed again."""
MOST_FOUND = 20
UPSETS = ("rewind", "domain", "wipe", "older", "skew", "arrive")
TIME_AND_PEOPLE = frozenset(
    {"tick", "midnight", "pauses", "takeovers"}
    | {f"decide: {what}" for what in ("grant", "reject", "drop")}
    | {f"edit: {edit[0]}" for story in stage.STORIES for edit in story.later}
)  # fmt: skip
"""What is no fault, and as much a part of the histories: a run in which one of them never happened says less than it seems to."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A history that came to a bad end. ``moves`` are those before its end phase."""

    kind: str
    seed: str
    number: int
    story: str
    oracle: str
    says: str
    moves: tuple[Move, ...]


@dataclass(kw_only=True)
class Figures:
    """What many histories added up to. ``spread`` counts histories by actors, faults and confirmed publications."""

    histories: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    spread: dict[str, Counter[int]] = field(default_factory=lambda: {name: Counter() for name in SPREADS})
    found: list[Found] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Figures) -> None:
        self.histories += other.histories
        self.counts += other.counts
        self.struck += other.struck
        for name, counter in other.spread.items():
            self.spread[name] += counter
        self.found += other.found
        self.seconds += other.seconds

    def quartiles(self, name: str) -> tuple[int, int, int]:
        """Lower quartile, median, upper quartile."""
        values = sorted(self.spread[name].elements())
        return tuple(values[len(values) * part // 4] for part in (1, 2, 3)) if values else (0, 0, 0)  # type: ignore[return-value]


def expected_faults(kinds: Iterable[str]) -> set[str]:
    """Every fault that must strike at least once in a run over these kinds of target, and what else must happen."""
    found = {*UPSETS, *TIME_AND_PEOPLE}
    for kind in kinds:
        for effect, troubles in TROUBLES.items():
            if effect not in WITHOUT[kind]:
                able = [what for what in troubles if kind == "unconditional" or what not in ONLY_UNCONDITIONAL]
                found |= {f"{effect}: {what}" for what in (*able, *CRASHES)}
    return found


class Runner:
    """Plays histories of one kind of target in this process."""

    def __init__(self, kind: str, forget: Callable[[], None] = lambda: None) -> None:
        self.kind = kind
        self.figures = Figures()
        self._forget = forget
        self._begin()

    def _begin(self) -> None:
        self.memo = Memo()
        self.oracles = Oracles(self.memo.shared.contents)
        self._forget()

    def play(self, seed: str, number: int) -> Found | None:
        """One history, generated and ended; what was wrong with it, if anything."""
        random = Random(f"{seed}:{number}")
        history = History(self.memo, self.oracles, self.kind, ORDER[number % len(ORDER)])
        found = self._judged(history, lambda: play(history, random), seed, number)
        if number % RECHECK_EVERY == 0:
            with aside():
                for actor in history.actors:
                    actor.player.recheck()
        return found

    def replay(self, story: str, moves: Sequence[Move]) -> Found | None:
        """A history that is given by its moves."""
        history = History(self.memo, self.oracles, self.kind, stage.BY_NAME[story])

        def make() -> None:
            for move in moves:
                history.do(move)

        return self._judged(history, make, "", 0)

    def _judged(self, history: History, make: Callable[[], None], seed: str, number: int) -> Found | None:
        found = None
        script: tuple[Move, ...] | None = None
        try:
            make()
            script = tuple(history.moves)
            self._count_faults(history)
            Ending(history).reach()
        except Violation as violation:
            found = Found(
                kind=self.kind, seed=seed, number=number, story=history.story.name, oracle=violation.oracle, says=violation.says,
                moves=tuple(history.moves) if script is None else script,
            )  # fmt: skip
            self.figures.found = [*self.figures.found, found][:MOST_FOUND]
            self.figures.counts["violations"] += 1
        for actor in history.alive:
            actor.player.drop()
        self._count(history)
        return found

    def _count_faults(self, history: History) -> None:
        upsets = sum(history.counts[name] for name in UPSETS)
        self.figures.spread["actors"][len(history.actors)] += 1
        takeovers = self.oracles.takeovers  # of a claim whose holder was killed or stood still
        self.figures.spread["faults"][sum(history.world.struck.values()) + upsets + takeovers] += 1

    def _count(self, history: History) -> None:
        figures = self.figures
        figures.histories += 1
        figures.counts += history.counts
        figures.counts["takeovers"] += self.oracles.takeovers
        figures.counts["confirmed"] += self.oracles.confirmed
        figures.struck += history.world.struck
        figures.spread["confirmed"][self.oracles.confirmed] += 1

    def close(self) -> None:
        """Adds what the memo counted, and begins another."""
        memo = self.memo
        self.figures.counts += Counter(
            courses=memo.courses, nodes=memo.nodes, steps=memo.steps, executed=memo.new_steps, rechecked=memo.rechecked
        )
        self._begin()

    def play_all(self, seed: str, numbers: Iterable[int]) -> Figures:
        began = time.process_time()
        for number in numbers:
            self.play(seed, number)
            if self.memo.nodes > MOST_NODES:
                self.close()
        self.close()
        self.figures.seconds = time.process_time() - began
        return self.figures


# --- processes -------------------------------------------------------------------------------------------------------------------

Task = tuple[str, str, int, range, str]


def tasks_of(kinds: Sequence[str], seed: str, first: int, count: int, broken: str = "") -> list[Task]:
    """One task for each kind and story, the longest first."""
    found = []
    for kind in kinds:
        for story in stage.STORIES:
            places = [place for place, item in enumerate(ORDER) if item is story]
            found.append((kind, seed, places[0], range(first, first + count), broken))
    return sorted(found, key=lambda task: -ORDER[task[2]].weight)


def carry_out(task: Task) -> tuple[str, Figures]:
    """Plays one task's histories; used in a process of its own, or in this one."""
    kind, seed, place, numbers, _ = task
    story = ORDER[place]
    mine = [number for number in numbers if ORDER[number % len(ORDER)] is story]
    with remembered() as forget, _without_collecting():
        return kind, Runner(kind, forget).play_all(seed, mine)


class _without_collecting:
    """Trees are long-lived and have no cycles worth looking for: collecting would go through all of them, again and again."""

    def __enter__(self) -> None:
        self._shared = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._shared:
            gc.enable()
            gc.collect()
        else:
            gc.freeze()  # a process of its own ends now, and Python would go through everything once more before it does


def simulate(kinds: Sequence[str], seed: str, count: int, *, first: int = 0, jobs: int = 1) -> dict[str, Figures]:
    """Figures by kind of target."""
    merged = {kind: Figures() for kind in kinds}
    for kind, figures in _results(tasks_of(kinds, seed, first, count), jobs):
        merged[kind].add(figures)
    return merged


def _results(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[str, Figures]]:
    if jobs == 1:
        yield from map(carry_out, tasks)
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    # A process a task: what it remembers goes with it, and one that dies is an error, not a wait for ever.
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_for_one_task, max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(carry_out, task) for task in tasks]):
            yield done.result()


def _for_one_task() -> None:
    """A process that does one task and ends. The few scratch folders are in memory, where there is such a place."""
    import tempfile

    gc.disable()

    if os.access("/dev/shm", os.W_OK):  # noqa: S108 (a place, not a file name)
        tempfile.tempdir = "/dev/shm"  # noqa: S108


def as_data(figures: Figures) -> dict[str, Any]:
    """The figures of one kind of target for ``--json``."""
    counts = figures.counts
    return {
        "histories": figures.histories, "violations": counts["violations"], "effects": counts["effects"],
        "crashes": counts["crashes"], "pauses": counts["pauses"], "takeovers": counts["takeovers"], "confirmed": counts["confirmed"],
        "courses": counts["courses"], "nodes": counts["nodes"], "steps": counts["steps"], "executed": counts["executed"],
        "rechecked": counts["rechecked"], "cpu_seconds": round(figures.seconds, 1),
        "quartiles": {name: list(figures.quartiles(name)) for name in SPREADS},
        "struck": dict(sorted(figures.struck.items())),
        "world": {name: counts[name] for name in sorted({*UPSETS, *TIME_AND_PEOPLE} & counts.keys())},
    }  # fmt: skip
