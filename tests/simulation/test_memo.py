"""The memo: what is remembered is what the production code does; a killed actor does nothing more; each history stands alone."""

from __future__ import annotations

import pytest

from publisher.simulation import stage
from publisher.simulation.history import History
from publisher.simulation.memo import Memo, MemoBroken, Node, Player
from publisher.simulation.oracles import Oracles
from publisher.simulation.people import Ending
from publisher.simulation.volume import ORDER, Runner, carry_out, simulate, tasks_of
from publisher.simulation.world import World


def history(kind: str = "conditional", story: str = "one date", memo: Memo | None = None) -> History:
    memo = memo or Memo()
    return History(memo, Oracles(memo.shared.contents), kind, stage.BY_NAME[story])


@pytest.mark.parametrize("kind", stage.KINDS)
def test_a_second_history_that_goes_the_same_way_executes_nothing(kind: str) -> None:
    memo = Memo()
    Ending(history(kind, memo=memo)).reach()
    executed, courses = memo.new_steps, memo.courses
    assert executed
    again = history(kind, memo=memo)
    Ending(again).reach()
    assert (memo.new_steps, memo.courses) == (executed, courses)
    assert again.oracles.confirmed == 1


def test_what_is_remembered_is_executed_again_and_compared() -> None:
    one = history()
    Ending(one).reach()
    for actor in one.actors:
        actor.player.recheck()
    first = one.actors[0].player
    node = one.memo.root("conditional", first.program)
    while node.effect and node.effect[0] != "push":
        node = next(iter(node.edges.values()))
    node.effect = ("push", "something else", "", ())
    with pytest.raises(MemoBroken):
        first.recheck()


def test_a_killed_actor_does_nothing_more() -> None:
    """Its clean-up code runs when it is dropped, and reaches no door."""
    one = history()
    one.do(("start", ("run",), 0))
    one.do(("step", 0, 4))
    one.do(("trouble", 0, "crash before"))
    before = (one.world.state, one.world.files, one.memo.steps)
    assert not one.alive
    one.do(("step", 0, -1))
    assert (one.world.state, one.world.files, one.memo.steps) == before
    assert isinstance(one.actors[0].player.node, Node)


def test_a_known_way_that_is_left_is_gone_on_live_from_there() -> None:
    memo = Memo()
    Ending(history(memo=memo)).reach()
    one = history(memo=memo)
    one.do(("start", ("run",), 0))
    one.do(("step", 0, 6))
    courses = memo.courses
    one.do(("trouble", 0, "unreachable"))
    assert memo.courses in (courses, courses + 1)
    one.do(("step", 0, -1))
    Ending(one).reach()
    for actor in one.actors:
        actor.player.recheck()


def test_a_history_is_a_function_of_seed_number_and_kind() -> None:
    def told(numbers: range) -> list[tuple[object, ...]]:
        runner, seen = Runner("joined"), []
        original = Ending.reach

        def reach(ending: Ending) -> None:
            made = ending._history
            script = list(made.moves)
            original(ending)
            seen.append((script, made.world.state, made.world.files, sorted(made.world.struck.items())))

        Ending.reach = reach  # type: ignore[method-assign]
        try:
            for number in numbers:
                assert runner.play("w", number) is None
        finally:
            Ending.reach = original  # type: ignore[method-assign]
        return seen

    assert told(range(40))[20:] == told(range(20, 40))


def test_processes_do_what_one_does() -> None:
    alone, together = (simulate(["unconditional"], "p", 64, jobs=jobs)["unconditional"] for jobs in (1, 2))
    assert alone.histories == together.histories == 64
    assert (alone.struck, alone.counts, alone.spread) == (together.struck, together.counts, together.spread)


def test_every_history_belongs_to_one_task() -> None:
    tasks = tasks_of(stage.KINDS, "t", 0, 50)
    numbers = [(task[0], n) for task in tasks for n in task[3] if ORDER[n % len(ORDER)] is ORDER[task[2]]]
    assert sorted(numbers) == sorted((kind, n) for kind in stage.KINDS for n in range(50))
    assert carry_out(tasks[0])[1].histories


def test_nothing_is_asked_of_an_actor_that_has_ended() -> None:
    memo = Memo()
    player = Player(memo, "conditional", ("pause",))
    world = World(memo.shared.contents, "conditional", Oracles(memo.shared.contents))
    assert player.node.effect == ("refresh",)
    assert world.default in memo.shared.contents.defaults
