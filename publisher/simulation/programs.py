"""What an actor can be: a scheduled run, or one of the verbs that people type. Each is the production code behind that verb.

A program takes doors and returns an outcome of plain values. A refusal of a person's verb is an outcome like others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from publisher.domain.fingerprint import canonical_json
from publisher.engine import people, recording, repairing, restoring
from publisher.engine.assembling import ReleaseAssembler
from publisher.engine.bench import Doors
from publisher.engine.deciding import Act
from publisher.engine.outcomes import SiteOutcome
from publisher.engine.running import run_site
from publisher.errors import Refusal
from publisher.simulation.stage import SITE_ID

Program = tuple[Any, ...]
Outcome = tuple[Any, ...]
LOOKS = frozenset({Act.RECONCILE, Act.LOOK_AGAIN, Act.CLOSE_TELLING})
REASON = "a reason"


def carry_out(doors: Doors, program: Program) -> Outcome:
    """Runs a program to its end. Anything but a refusal is a crash, and named as one."""
    try:
        return PROGRAMS[program[0]](doors, *program[1:])
    except Refusal as refusal:
        return ("refused", refusal.code)
    except Exception as crash:
        return ("crash", type(crash).__name__, _where(crash))


def _where(crash: Exception) -> str:
    trace = crash.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""


def _run(doors: Doors) -> Outcome:
    return _told(run_site(doors, SITE_ID))


def _look(doors: Doors) -> Outcome:
    return _told(run_site(doors, SITE_ID, acts=LOOKS))


def _told(outcome: SiteOutcome) -> Outcome:
    """The run's result: its own problem, what was pushed, and for each plan what it did and who must act next."""
    plans = tuple(
        (
            item.plan, tuple(item.did), item.problem.code if item.problem else "",
            (item.decision.code, item.decision.step, str(item.decision.who)) if item.decision else ("", "", ""),
        )
        for item in outcome.plans.values()
    )  # fmt: skip
    return ("ran", outcome.problem.code if outcome.problem else "", outcome.pushes, plans)


def _restore(doors: Doors) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="publisher-") as scratch:
        assembler = ReleaseAssembler(
            reads=doors.reads, builder=doors.builder, site=SITE_ID, scratch=Path(scratch), progress=doors.progress
        )
        restored = restoring.restore(doors, assembler, SITE_ID)
    return ("restored", restored.release)


def _person(verb: Callable[..., Any]) -> Callable[..., Outcome]:
    def act(doors: Doors, *arguments: Any) -> Outcome:
        verb(doors, SITE_ID, *arguments, REASON)
        return ("done",)

    return act


def _again(doors: Doors, path: str) -> Outcome:
    from publisher.engine.site_view import load

    view = load(doors.reads, doors.forge, doors.records.refresh(), SITE_ID)
    return ("asked", people.ask_again(doors, view, path)["request"])


def _revise(doors: Doors, path: str) -> Outcome:
    from publisher.engine.changes import revision
    from publisher.engine.site_view import load

    view = load(doors.reads, doors.forge, doors.records.refresh(), SITE_ID)
    revised = revision(doors.reads, view, path, REASON, {})
    return ("revised", canonical_json(dict(revised.data)).decode())


def _repair(doors: Doors) -> Outcome:
    return ("repaired", repairing.repair(doors, SITE_ID, REASON))


def _record(doors: Doors) -> Outcome:
    recording.record_approvals(doors, SITE_ID)
    return ("done",)


PROGRAMS: dict[str, Callable[..., Outcome]] = {
    "run": _run,
    "reconcile": _look,
    "restore": _restore,
    "repair": _repair,
    "approve": _record,
    "again": _again,
    "revise": _revise,
    "pause": _person(people.pause),
    "resume": _person(people.resume),
    "skip": _person(people.skip),
    "cancel": _person(people.cancel),
    "retry": _person(people.retry),
    "settle": _person(people.settle),
}
