"""Each rule of GitHub that the simulator models has a contract, which holds with it and fails without it.

The contracts are functions named after the rules; every answer that they get is also judged by GitHub's own schemas.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts import github_merging, github_moving, github_reviewing, github_running, github_wire
from tests.support.github.modelled_rules import RULES
from tests.support.github.world import World, world

MODULES = (github_merging, github_reviewing, github_moving, github_running, github_wire)
CONTRACTS: dict[str, Callable[[World], None]] = {
    contract.__name__.replace("_", "-"): contract for module in MODULES for contract in module.CONTRACTS
}


def test_every_rule_has_its_contract() -> None:
    assert set(CONTRACTS) == set(RULES)


@pytest.mark.parametrize("rule", CONTRACTS)
def test_github(rule: str, tmp_path: Path) -> None:
    with world(tmp_path) as w:
        CONTRACTS[rule](w)
        assert w.sim.unsimulated == []


@pytest.mark.parametrize("rule", CONTRACTS)
def test_without_the_rule_its_contract_fails(rule: str, tmp_path: Path) -> None:
    with world(tmp_path, without={rule}) as w:
        w.sim.checked = False
        with pytest.raises(AssertionError):
            CONTRACTS[rule](w)
