"""Every system call by which a whole run changes a file, struck once: killed there, or answered with EIO or ENOSPC.

The places are those of a real run, the run's own and those of every git that it starts; they are found by looking, so that none can
be forgotten, and counted on until a number is reached that strikes nothing and harms nothing. The remote is behind smart HTTP, so
that what is struck is this side alone. After each strike nothing is torn in public, no lock is in the next run's way, and the next
run, in the same clone and in a fresh one, ends in the one judgement.

Left out: writes to pipes and sockets, which are no part of a file system, and faults that a call does not have (a full disk does not
refuse ``fsync`` or ``unlink``).
"""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple

import pytest

from tests.support import strace
from tests.support.git_http_stage import HttpStage
from tests.support.instance import Instance
from tests.support.oracle import accept, all_events, live_files, published
from tests.support.recovery import Way, codes_in, finish, require_well_ended
from tests.support.stage import DATE, at
from tests.support.strace import Place
from tests.support.volume import RELEASE, fair_slice

pytestmark = [
    pytest.mark.skipif(not strace.works(), reason="needs strace, and to be allowed to trace"),
    pytest.mark.timeout(36_000 if RELEASE else 300),
]
HttpStages = Callable[[str], HttpStage]

NEEDS_ROOM = ("write", "pwrite64", "openat", "mkdir", "mkdirat", "link", "linkat", "symlink", "symlinkat", "rename", "renameat")
BREAKS = ("rename", "link", "fsync")
"""Where a git dies together with its run, as on a machine that dies; elsewhere that is the same as one of the two alone."""
WHOLE = {"run": 9, "git": 12}
"""So many cells a test run has of each, divided between the faults; some of the calls that make things last are among them."""


def meant(place: Place, fault: str) -> bool:
    if fault == "death":
        return place.git > 0 and place.call in BREAKS
    return fault != "ENOSPC" or place.call in NEEDS_ROOM


# --- the places --------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def every_place(http_stages: HttpStages, tmp_path_factory: pytest.TempPathFactory) -> list[Place]:
    """Of an undisturbed run. One worker looks, the others take its word."""
    from fcntl import LOCK_EX, flock

    kept = tmp_path_factory.getbasetemp().parent / "places.json"
    with kept.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not kept.exists() or "gw" not in tmp_path_factory.getbasetemp().name:
            kept.write_text(json.dumps([astuple(place) for place in _looked(http_stages("directory"))]))
        return [Place(*row) for row in json.loads(kept.read_text())]


def _looked(way: HttpStage) -> list[Place]:
    instance = way.ready()
    log = strace.fresh_log(way.stage.folder / "strikes")
    done = _run(instance, "ci", 10, strace.looking(log))
    assert done.returncode == 0, done.stderr
    return sorted(strace.places(log, instance.folder))


def _run(instance: Instance, who: str, now: float, more: dict[str, str] | None = None) -> object:
    """A run with more in its environment."""
    kept = dict(instance.environment)
    instance.environment.update(more or {})
    try:
        return instance.driven(who, "run", now=at(now))
    finally:
        instance.environment.clear()
        instance.environment.update(kept)


def test_the_places_are_where_they_should_be(every_place: list[Place]) -> None:
    """Something of everything that a run does to a file system: objects, refs, scratch space, target, announcements."""
    abouts = {place.about.split("/")[0] for place in every_place}
    assert {"ci", "scratch", "public", "post.jsonl"} <= abouts
    assert {"rename", "link", "unlink", "mkdir", "write", "fsync", "openat", "symlink"} <= {p.call for p in every_place}
    assert {place.verb for place in every_place if place.git} == {
        "fetch",
        "push",
        "unpack-objects",
        "commit-tree",
        "hash-object",
    }
    assert len(every_place) >= 600


# --- the sweep -----------------------------------------------------------------------------------------------------------------------


def kind_of(place: Place) -> str:
    """What is alike: the same call of the same program about the same sort of file."""
    folder = re.sub(r"/[^/]*\.(?:html|xml|json|css|svg|txt)$", "/a page", place.about)
    return f"{place.verb} {place.call} {folder.split('#-#-#')[0]}"


def chosen(every: list[Place], fault: str, who: str) -> list[Place]:
    cells = [place for place in every if meant(place, fault) and bool(place.git) == (who == "git")]
    faults = [name for name in strace.FAULTS if name != "death" or who == "git"]
    most = WHOLE[who] // len(faults)
    if RELEASE:
        return fair_slice(f"syscalls {who} {fault}", cells, most)
    # The strata are divided between the faults: over all of them each kind of place is struck.
    kinds = sorted({kind_of(place) for place in cells})
    mine = set(kinds[faults.index(fault) :: len(faults)])
    ours = [place for place in cells if kind_of(place) in mine]
    slice_of_them = fair_slice(f"syscalls {who} {fault}", ours, most, stratum=lambda place: place.call in BREAKS)
    fair_slice(f"syscalls {who} {fault}", cells, len(slice_of_them))
    return slice_of_them


CASES = [(who, fault) for who in WHOLE for fault in strace.FAULTS if fault != "death" or who == "git"]


@pytest.mark.parametrize(("who", "fault"), CASES, ids=["-".join(case) for case in CASES])
def test_a_struck_run_is_finished_once(http_stages: HttpStages, every_place: list[Place], who: str, fault: str) -> None:
    way, outcomes, bad = http_stages("directory"), Counter[str](), []
    worlds: set[str] = set()
    for place in chosen(every_place, fault, who):
        try:
            outcomes[cell(way, place, fault, worlds)] += 1
        except AssertionError as problem:
            bad.append(f"{place}-{fault} ({place.about}): {str(problem)[:600]}")
    print(f"syscalls {who} {fault}: {sum(outcomes.values())} finished, {len(worlds)} worlds: {dict(outcomes)}")
    assert not bad, "\n".join([f"{len(bad)} of {len(bad) + sum(outcomes.values())}", *bad])
    # A run's writes are not always as many as the last time, so the last places may not be reached.
    assert outcomes["not struck"] <= max(1, sum(outcomes.values()) // 20), outcomes


def cell(way: HttpStage, place: Place, fault: str, worlds: set[str]) -> str:
    """One strike and what comes of it; returns how the struck run ended."""
    instance = way.ready()
    log = strace.fresh_log(way.stage.folder / "strikes")
    done = _run(instance, "ci", 10, place.environment(log, fault))
    ended = _ended(done, strace.struck(log, place), place, fault)
    nothing_torn(way)
    world = world_of(instance)
    if world not in worlds:
        worlds.add(world)
        way.stage.save("struck")
        way.over_http("ci2")
        judged(way, "ci2", fault)
        way.stage.restore("struck")
    judged(way, "ci", fault)
    return ended


def _ended(done: object, hit: bool, place: Place, fault: str) -> str:
    code = done.returncode  # type: ignore[attr-defined]
    if not hit:
        assert code == 0, f"not struck, and ended with {code}: {done.stderr}"  # type: ignore[attr-defined]
        return "not struck"
    if code == -signal.SIGKILL:
        assert fault in ("kill", "death"), done
        return "killed"
    assert not (fault == "kill" and not place.git), "it was not killed"
    require_well_ended(done)  # type: ignore[arg-type]
    return f"{code} {', '.join(codes_in(done))}".strip()  # type: ignore[arg-type]


def nothing_torn(way: HttpStage) -> None:
    """What is public is nothing, or everything."""
    if live_files(way.stage.instance.folder):
        assert published(way.stage.instance).files == way.stage.first.files, "half of a release is public"


def world_of(instance: Instance) -> str:
    """Everything that a fresh clone can meet: the ledger's story, the target's files, the messages. Random names taken out."""
    story = {name: [event["type"] for event in events] for name, events in sorted(all_events(instance).items())}
    target = sorted(
        re.sub(r"[0-9a-f]{12,}|-\d+", "#", str(path.relative_to(instance.folder))) for path in instance.public.rglob("*")
    )
    post = instance.folder / "post.jsonl"
    return json.dumps([story, target, post.read_bytes().count(b"\n") if post.exists() else -1, len(instance.alerts)])


def judged(way: HttpStage, who: str, fault: str) -> None:
    """The next run of ``who``, and whatever it says is next, ends in the one judgement."""
    instance = way.stage.instance
    done = instance.driven(who, "run", now=at(60))
    unsure, moment = False, 60.0
    if done.returncode:
        assert fault not in ("kill", "death"), f"the next run of {who}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        require_well_ended(done)
        told = Way(done.returncode, codes_in(done))
        moment = finish(instance, told, after=60, at=at, happened=True)
        unsure = "delivery-unknown" in (*told.codes, *told.stops)
    accept(instance, DATE, first=way.stage.first, now=at(moment + 60), unsure=unsure)


def test_the_count_ends_where_nothing_is_struck(http_stages: HttpStages, every_place: list[Place]) -> None:
    """One more than the last place of a call: the run goes through unharmed. So the last place was the last."""
    way, ends = http_stages("directory"), {}
    for place in every_place:
        if place.call != "openat":
            ends[place.git, place.verb, place.call] = place.number
    beyond = [Place(git, verb, call, last + 40, "") for (git, verb, call), last in sorted(ends.items())]
    for place in fair_slice("syscalls beyond the last", beyond, 2, stratum=lambda place: place.git > 0):
        instance = way.ready()
        log = strace.fresh_log(way.stage.folder / "strikes")
        done = _run(instance, "ci", 10, place.environment(log, "EIO"))
        assert not strace.struck(log, place), place
        assert done.returncode == 0, done  # type: ignore[attr-defined]
        accept(instance, DATE, first=way.stage.first, now=at(60))
