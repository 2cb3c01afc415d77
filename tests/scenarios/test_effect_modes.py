"""The exercise matrix: every boundary of a real run, on every kind of target, in fifteen modes; each cell is finished, once.

What a run meets is written down here, by kind and story, and compared with a real run's trail: a boundary that nobody listed, or
that has no row in ``exercise.FAMILIES``, fails. The crashes of the effects proper are cells too; they are the kill sweep's.

    export PUBLISHER_RECOVERY_REPORT=recovery.jsonl PUBLISHER_TEST_VOLUME=release
    python -m pytest tests/scenarios/test_effect_modes.py tests/scenarios/test_kill_sweep.py
    python -m tests.support.recovery recovery.jsonl
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from publisher.ports import EFFECTS
from tests.support.boundaries import DOORS, HANGS
from tests.support.exercise import FAMILIES, MEANS, MODES, ROWS, STORIES, Cell, cells_of, why_none
from tests.support.instance import Instance
from tests.support.oracle import accept, all_events, announcements, facts, of_type
from tests.support.recovery import Way, codes_in, finish, note, require_expected, require_well_ended
from tests.support.stage import DATE, PLAN, Stage, at, killed_at, launch_approved, requests
from tests.support.volume import fair_slice
from tests.support.warm import Stopped

Stages = Callable[[str], Stage]

_COMMON = {
    "reads.plans": 7, "forge.verdict": 6, "reads.draft": 2, "reads.drafts": 1, "builder.public_form": 2, "builder.build": 1,
    "builder.leaks": 1, "git.write_blob": 2, "git.fetch": 1, "records.publish": 5, "probes.look": 3, "target.show": 1,
    "channel.recipients": 1, "channel.send": 2,
}  # fmt: skip
_APART = {"target.look": 2, "target.store": 1, "target.switch": 1}
TRAILS: Mapping[tuple[str, str], Mapping[str, int]] = {
    ("directory", "first"): {**_COMMON, **_APART, "git.remote_refs": 8, "git.compose": 5, "git.push": 5},
    ("same-repository", "first"): {
        **_COMMON, "target.look": 1, "target.joined_update": 1, "git.remote_refs": 10, "git.compose": 6, "git.compose_tree": 1,
        "git.push": 5,
    },
    ("other-repository", "first"): {
        **_COMMON, **_APART, "git.remote_refs": 12, "git.fetch": 2, "git.compose": 6, "git.compose_tree": 2, "git.push": 6,
    },
    ("directory", "recovery"): {"target.raise_fence": 1, "alerts.say": 1},
    ("other-repository", "recovery"): {"target.raise_fence": 1, "alerts.say": 1},
    ("directory", "plan"): {"requests.open": 1, "git.push": 1},
    ("directory", "launch"): {"staging.look": 1, "staging.store": 1, "staging.switch": 1, "requests.open": 1},
}  # fmt: skip
"""How often a run meets each boundary; of the stories after the first, those that have their cells there."""

MIDNIGHT = 14 * 3600.0 + 30
"""From the story's beginning, ten in the morning, to half a minute into the next business date."""
MEANWHILE = "drafts/blog/article-0001/index.md"
EDIT = f"""\
export GIT_INDEX_FILE=edit-index GIT_AUTHOR_NAME=e GIT_AUTHOR_EMAIL=e@e GIT_COMMITTER_NAME=e GIT_COMMITTER_EMAIL=e@e
git read-tree main
blob=$( (git cat-file blob main:{MEANWHILE}; echo 'A second thought.' ) | git hash-object -w --stdin)
git update-index --cacheinfo 100644,"$blob",{MEANWHILE}
git update-ref refs/heads/main "$(git commit-tree -p main -m 'A second thought' "$(git write-tree)")"
rm edit-index
"""
"""Somebody edits an article of the plan, on the default branch, after its approval."""

DONE = frozenset({"lost-response", "repost", "twice"})
"""Modes in which the thing happened."""
ALONE = frozenset({"repost", "late", "twice"})
"""Modes in which a push arrives, whatever was said of it: the run that made it finds that out by itself, and goes on."""
UNSURE = {("channel.send", mode) for mode in ("lost-request", "lost-response", "repost", "error", "hang", "crash-after")}


def cells(kind: str, story: str) -> list[Cell]:
    trail = [f"{name} {number}" for name, most in TRAILS[kind, story].items() for number in range(1, most + 1)]
    return list(cells_of(kind, story, trail))


CELLS = [cell for kind, story in TRAILS for cell in cells(kind, story)]
OWN = [cell for cell in CELLS if cell.boundary not in EFFECTS or not cell.mode.startswith("crash-")]
"""Those that are swept here. The crashes of the effects are the kill sweep's."""


# --- nothing is forgotten -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "story"), TRAILS)
def test_a_run_meets_these_boundaries(stages: Stages, kind: str, story: str) -> None:
    stage = stages(kind)
    who, now = begin(stage, story)
    trail = stage.folder / f"{story}.trail"
    trail.unlink(missing_ok=True)
    stage.instance.driven(who, VERBS[story], now=at(now), trail=str(trail))
    met = Counter(line.split()[0] for line in trail.read_text().splitlines())
    assert {name: number for name, number in met.items() if not STORIES[story] or name in STORIES[story]} == TRAILS[kind, story]


def test_every_method_of_a_door_has_a_row_and_every_row_speaks_of_every_mode() -> None:
    assert {f"{door}.{method}" for door, methods in DOORS.items() for method in methods} == set(FAMILIES)
    for boundary, family in FAMILIES.items():
        assert [mode for mode in MODES if mode in MEANS[family] or why_none(boundary, mode)] == list(MODES)
    assert set(EFFECTS) <= set(FAMILIES)


def test_every_boundary_and_every_effect_of_the_design_has_cells() -> None:
    have = {cell.boundary for cell in CELLS}
    assert have == set(FAMILIES)
    assert {(cell.boundary, cell.mode) for cell in CELLS} == {
        (name, mode) for name in FAMILIES for mode in MEANS[FAMILIES[name]]
    }
    assert list(ROWS) == [f"E{number}" for number in range(1, 27)]


# --- the matrix -----------------------------------------------------------------------------------------------------------------


VERBS = {"first": "run", "recovery": "run", "plan": "plan", "launch": "run"}


def begin(stage: Stage, story: str) -> tuple[str, float]:
    """Puts the story's beginning in place; who runs, and when."""
    if story == "recovery":
        killed_at(stage, "switched")
        stage.instance.fresh_clone("ci2")
        return "ci2", 60
    if story == "launch":
        launch_approved(stage)
        return "planner", 10
    stage.restore("empty" if story == "plan" else "approved")
    return ("planner", 0) if story == "plan" else ("ci", 10)


def disturbance(cell: Cell, instance: Instance) -> dict[str, str]:
    place = f"{cell.boundary}:{cell.number}"
    remote, tip = instance.remote.path, instance.remote.head("main")
    if cell.mode in ("crash-before", "crash-after"):
        return {"at": f"kill:{cell.mode.removeprefix('crash-')}:{place}"}
    if cell.mode == "pause":
        return {"at": f"stop:before:{place}"}
    if cell.mode == "edit":
        return {"at": f"do:before:{place}", "do": f"cd '{remote}'\n{EDIT}"}
    if cell.mode == "restore":
        return {"at": f"do:before:{place}", "do": f"git -C '{remote}' update-ref refs/heads/main {tip}"}
    if cell.mode == "clock":
        return {"at": f"clock:before:{place}", "jump": str(MIDNIGHT)}
    return {"at": f"{cell.mode}:at:{place}"}


CHOSEN = fair_slice("exercise matrix", OWN, 36, stratum=lambda cell: cell.boundary, also=lambda cell: cell.mode)


@pytest.mark.parametrize("cell", CHOSEN, ids=str)
def test_each_cell_is_finished_once(stages: Stages, cell: Cell) -> None:
    stage = stages(cell.kind)
    who, now = begin(stage, cell.story)
    instance = stage.instance
    asked = {"now": at(now), **disturbance(cell, instance)}
    way = paused(stage, cell, who, asked) if cell.mode == "pause" else disturbed(instance, cell, who, asked)
    if cell.mode != "pause":
        ended(stage, cell, way, now + (MIDNIGHT if cell.mode == "clock" else 0))
    note(cell, way)


def disturbed(instance: Instance, cell: Cell, who: str, asked: Mapping[str, str]) -> Way:
    done = instance.driven(who, VERBS[cell.story], **asked)
    if cell.mode in ("crash-before", "crash-after"):
        assert done.returncode == -signal.SIGKILL, f"it was not killed: {done.returncode}\n{done.stdout}\n{done.stderr}"
    else:
        require_well_ended(done)
    if cell.boundary == "git.push" and cell.mode in ALONE:
        assert done.returncode == 0, f"its own push was taken for another's\n{done.stdout}\n{done.stderr}"
    if cell.mode == "hang":
        assert not hanging(), "a hanging process was left behind"
    return Way(done.returncode, codes_in(done))


def hanging() -> list[Path]:
    """Processes that a hang left behind."""
    word, found = HANGS.split()[-1].rstrip("'").encode(), []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in path.read_bytes():
                found.append(path)
        except OSError:
            pass  # it ended meanwhile
    return found


def paused(stage: Stage, cell: Cell, who: str, asked: dict[str, str]) -> Way:
    """It stands still until its lease is over and another has done the work; then it wakes, is refused, and changes nothing."""
    instance = stage.instance
    process = instance.driven_until_stopped(who, VERBS[cell.story], **asked)
    assert isinstance(process, Stopped), f"it ended instead of stopping: {process}"
    held = holding(instance, who)
    way = Way(0)
    try:
        ended(stage, cell, way, 60 if cell.story == "recovery" else 10)
        before, tip = world(instance, cell), instance.remote.head("main")
    finally:
        done = process.wake()
    require_well_ended(done)
    assert (world(instance, cell), instance.remote.head("main")) == (before, tip), "who woke up late changed something"
    if cell.story != "plan":
        said = (done.returncode, *codes_in(done))
        assert said in {"held": {(7, "claim-lost")}, "over": {(0,)}, "none": {(0,), (5, "claimed-meanwhile")}}[held], (
            held,
            said,
        )
    return Way(done.returncode, codes_in(done), way.stops, way.commands)


def world(instance: Instance, cell: Cell) -> dict[str, str]:
    """Everything that a late one must not change. No fence stands before people's ears: who is stopped between the last look at its
    claim and the word itself says the word when it wakes, and each notice at most once all the same."""
    return {name: state for name, state in facts(instance).items() if (name, cell.boundary) != ("alerts.jsonl", "alerts.say")}


def holding(instance: Instance, who: str) -> str:
    """What has become of the claim of ``who``, by the ledger: ``none`` yet, ``held``, or ``over``."""
    claims = all_events(instance).get("blog/claims/2026", [])
    mine = [event["nonce"] for event in of_type(claims, "claimed") if event["holder"] == who]
    released = [event["nonce"] for event in of_type(claims, "released")]
    return "none" if not mine else "over" if mine[-1] in released else "held"


def ended(stage: Stage, cell: Cell, way: Way, after: float) -> None:
    """What is next is done until nothing is, and then the world is right."""
    instance = stage.instance
    if cell.story == "plan":
        instance.fresh_clone("planner2", key_of="planner")
        instance.driven("planner2", "plan", check=0, now=at(after + 2))
        assert requests(stage) == ["publisher/requests/1"]
        instance.driven("reviewer", "approve", "1", "--yes", check=0, now=at(after + 3))
    moment = finish(instance, way, after=after, at=at, happened=cell.mode in DONE)
    unsure = (cell.boundary, cell.mode) in UNSURE
    if cell.story == "launch":  # the same two articles; a launch announces nothing
        accept(instance, "launch", first=replace(stage.first, told=()), now=at(moment + 60), restored=cell.mode == "restore")
    else:
        edited = cell.story == "plan" and cell.mode == "edit"  # before its approval, an edit is what gets approved
        first = None if edited else stage.first
        accept(instance, DATE, first=first, now=at(moment + 60), unsure=unsure, restored=cell.mode == "restore")
    require_expected(cell.boundary, cell.mode, way)


# --- the web shows something else (E18 to E22) ------------------------------------------------------------------------------------

PAGES = {
    "E18": "/article-0001/", "E19": "/article-0002/", "E20": "/feed.xml", "E20-atom": "/atom.xml", "E21": "/",
    "E22": "/.well-known/publisher.json",
}  # fmt: skip
LIES = ("gone", "error", "other", "elsewhere")
SHOWN = [f"{page}-{lie}" for page in PAGES for lie in LIES]


@pytest.mark.parametrize("cell", fair_slice("pages that lie", SHOWN, 4, stratum=lambda cell: cell.rpartition("-")[2]))
def test_a_page_that_lies_is_not_confirmed_until_it_is_seen(stages: Stages, cell: str) -> None:
    page, _, lie = cell.rpartition("-")
    stage, path = stages("directory"), PAGES[page]
    instance, web = stage.restore("approved"), stage.web
    try:
        if lie == "elsewhere":
            web.redirects[path] = "/somewhere-else/"
        else:
            web.statuses[path] = {"gone": 404, "error": 503, "other": 200}[lie]
        done = instance.driven("ci", "run", now=at(10))
    finally:
        web.redirects.clear()
        web.statuses.clear()
    code = "public-partial" if lie in ("gone", "other") else "public-unknown"
    assert (done.returncode, codes_in(done)) == (6, (code,)), done.stdout + done.stderr
    assert [line["id"] for line in instance.alerts] == [f"{PLAN}/{code}:confirm:1 to on-call"]
    assert not of_type(all_events(instance)[PLAN], "confirmed") and not announcements(instance)
    way = Way(done.returncode, codes_in(done))
    moment = finish(instance, way, after=60, at=at, happened=True)
    assert not way.stops
    accept(instance, DATE, first=stage.first, now=at(moment + 60))
