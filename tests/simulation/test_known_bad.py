"""Every known-bad variant is found, what is broken is whole again afterwards, and the command says both."""

from __future__ import annotations

import pytest

from publisher.domain import claim
from publisher.simulation import breaking, breaking_content, known_bad
from publisher.simulation.breaking import Patches, broken
from publisher.simulation.known_bad import BY_NAME, VARIANTS, detect
from tests.support.command_line import publisher
from tests.support.volume import rounds

MOST = rounds(6_000, 20_000)
"""Histories in which a variant must be found once; most are found among the first hundred."""


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_broken_rule_is_found(variant: known_bad.Variant) -> None:
    """On one kind of target in an ordinary run, on each in a release run."""
    for kind in variant.kinds[: rounds(1, 3)]:
        seen = detect(variant, kind, "known-bad", MOST, enough=1)
        assert seen.found == 1, f"{variant.name} was not found on {kind} in {seen.histories} histories"
        assert seen.example and seen.first == seen.histories - 1


def test_there_are_enough_of_them_and_each_says_what_it_breaks() -> None:
    modules = (breaking, breaking_content)
    own = {
        name
        for module in modules
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
    }
    functions = {name.replace("_", "-") for name in own}
    helpers = {"Patches", "broken", "nothing", "-is-today"}
    assert set(BY_NAME) == functions - helpers
    assert len(VARIANTS) >= 25
    assert all(variant.says and variant.kinds for variant in VARIANTS)


def test_what_was_broken_is_whole_again() -> None:
    before = claim.LONGEST_LEASE

    def fails() -> None:
        with broken(breaking.no_lease_cap):
            assert before != claim.LONGEST_LEASE
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert before == claim.LONGEST_LEASE


def test_nested_patches_are_undone_in_reverse() -> None:
    class Thing:
        value = 1

    patches = Patches()
    assert patches.put(Thing, "value", 2) == 1
    assert patches.put(Thing, "value", 3) == 2
    patches.undo()
    assert Thing.value == 1


def test_the_command_tells_what_was_found_and_fails_where_something_was_not() -> None:
    said = publisher("simulate", "--broken", "no-intent", "--histories", "3", "--target", "conditional", "--json")
    (row,) = said.data["variants"]
    assert said.code == 0 and row["found"] == 3 and row["oracles"] == {"public-unintended": 3}
    # One history is too few for a rule that is about a ledger put back.
    said = publisher("simulate", "--broken", "no-epoch", "--histories", "1", "--target", "joined")
    assert said.code == 1 and "0 of 1 found" in said.out
    said = publisher("simulate", "--broken", "no-such")
    assert said.code == 2 and "no-variant" in said.err
