"""Several runs at once: one of them gets the claim, the others write nothing."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.support.instance import Instance
from tests.support.oracle import accept, all_events, facts, of_type, path_of
from tests.support.stage import DATE, NEXT, PLAN, Stage, at, plan, stage_of, stopped, woken
from tests.support.volume import rounds
from tests.support.warm import Warm

Stages = Callable[[str], Stage]

ACTORS, ROUNDS = 8, rounds(25, 1000)
DAY = 25 * 3600.0
"""The next day at 11:00, when the first day's approval is over."""
LONG = 1000.0
"""Seconds between two rounds, far longer than a lease."""


class Actors:
    """Eight processes with a clone each. Nobody goes on before everybody has looked."""

    def __init__(self, instance: Instance) -> None:
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.support.claimer", PLAN], cwd=instance.fresh_clone(f"actor-{number}").path,
                env=instance.env(f"actor-{number}"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for number in range(ACTORS)
        ]  # fmt: skip

    def tell(self, line: str) -> list[str]:
        """Says the same to all at once, and collects every answer."""
        for process in self.processes:
            assert process.stdin
            process.stdin.write(line + "\n")
            process.stdin.flush()
        return [process.stdout.readline().strip() for process in self.processes if process.stdout]

    def end(self) -> None:
        for process in self.processes:
            assert process.stdin and process.stdout
            process.stdin.close()
            process.wait(timeout=20)
            process.stdout.close()


@contextmanager
def actors_of(instance: Instance) -> Iterator[Actors]:
    actors = Actors(instance)
    try:
        yield actors
    finally:
        actors.end()


def test_eight_at_once_give_one_claim_each_round(stages: Stages) -> None:
    instance = stages("directory").restore("approved")
    winners = Counter[int]()
    with actors_of(instance) as actors:
        for number in range(1, ROUNDS + 1):
            tip = instance.remote.head("main")
            assert actors.tell(f"look {at(number * LONG)}") == ["ready"] * ACTORS
            answers = actors.tell("claim")
            won = [place for place, answer in enumerate(answers) if answer.startswith("won ")]
            assert len(won) == 1, answers
            lost = {answer for answer in answers if not answer.startswith("won ")}
            assert lost <= {"lost busy", "lost claimed-meanwhile"}, answers
            claim = of_type(all_events(instance)["blog/claims/2026"], "claimed")[-1]
            assert answers[won[0]] == f"won {claim['fence']} {claim['nonce']}"
            assert (claim["fence"], claim["holder"]) == (number, f"actor-{won[0]}")
            assert instance.remote.git("rev-list", f"{tip}..main").split() == [instance.remote.head("main")]
            winners[won[0]] += 1
    claims = of_type(all_events(instance)["blog/claims/2026"], "claimed")
    assert [claim["fence"] for claim in claims] == list(range(1, ROUNDS + 1))
    assert len({claim["nonce"] for claim in claims}) == ROUNDS
    assert len(winners) > 1, "the same actor won every round, so nobody raced"


@pytest.mark.parametrize("round_", range(rounds(1, 20)))
def test_two_runs_at_once_publish_once(patient: Stage, round_: int) -> None:
    instance = patient.restore("approved")
    for who in ("one", "two"):
        instance.fresh_clone(who)
    processes = [instance.start_driven(who, "run", now=at(10)) for who in ("one", "two")]
    ends = [(*process.communicate(timeout=110), process.returncode) for process in processes]
    codes = sorted(code for _, _, code in ends)
    # The other one is either too late for the claim (5), or begins when everything is done (0).
    assert codes in ([0, 5], [0, 0]), ends
    claims = of_type(all_events(instance)["blog/claims/2026"], "claimed")
    assert len(claims) == 1
    accept(instance, DATE, first=patient.first, now=at(60))


def test_who_comes_while_the_claim_is_held_says_and_writes_nothing(patient: Stage) -> None:
    """Not even about another plan, of which there is news: that is the holder's to tell."""
    instance = patient.restore("approved")
    plan(instance, NEXT, 100, 2)
    with stopped(instance, "ci", "after:records.publish:1", DAY) as holder:
        before = facts(instance)
        instance.fresh_clone("second")
        done = instance.driven("second", "run", now=at(DAY))
        assert done.returncode == 4 and "[busy]" in done.stderr and "nothing was written" in done.stdout
        assert facts(instance) == before and not instance.alerts
        assert woken(holder)[0] == 4
    assert [line["id"] for line in instance.alerts] == [f"{PLAN}/missed:prepare:1 to on-call"]
    assert len(of_type(all_events(instance)[path_of(NEXT)], "confirmed")) == 1


def test_who_claims_a_moment_too_late_says_and_writes_nothing(stages: Stages) -> None:
    """The lease that came first is over already by the other's clock; the next run may claim, this one may not."""
    stage = stages("directory")
    instance = stage.restore("approved")
    instance.fresh_clone("late")
    first, then = "before:records.publish:1", "after:records.publish:1"
    with stopped(instance, "late", first, 60) as late, stopped(instance, "ci", then, 10) as holder:
        before = facts(instance)
        ended, said = woken(late)
        assert ended == 5 and "[claimed-meanwhile]" in said and "nothing was written" in said
        assert facts(instance) == before and not instance.alerts
        assert woken(holder)[0] == 0
    accept(instance, DATE, first=stage.first, now=at(120))


@pytest.fixture(scope="module")
def patient(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage whose leases outlast a run on a slow machine."""
    with stage_of("directory", tmp_path_factory.mktemp("patient"), warm, lease="10m") as stage:
        stage.approved()
        stage.undisturbed()
        yield stage
