"""Gate requests: what they name, and where their files stand."""

from __future__ import annotations

import pytest

from publisher.domain.fingerprint import digest, payload_hash, short
from publisher.domain.gates import PLAN_GATE, RELEASE_GATE, gate_file, gate_of, subject_of
from publisher.domain.lines import LINES, Action
from tests.support.values import RELEASE, launch, publication


def test_a_request_names_gate_plan_payload_and_subject() -> None:
    plan = launch()
    gate = gate_file(plan, "G3", RELEASE, 2)
    assert gate.path == f"handbook/gates/g3-{short(RELEASE)}-2"
    assert gate.data == {
        "kind": "gate", "gate": "G3", "site": "handbook", "plan": "handbook/launch", "plan_payload": plan.payload,
        "subject": RELEASE, "number": 2,
    }  # fmt: skip
    assert (gate.gate, gate.plan, gate.plan_payload, gate.subject_hash, gate.number) == (
        "G3", plan.path, plan.payload, RELEASE, 2,
    )  # fmt: skip
    assert gate.payload == payload_hash(gate.data)


def test_the_same_request_is_the_same_file() -> None:
    assert gate_file(publication(), PLAN_GATE, publication().payload, 1) == gate_file(
        publication(), PLAN_GATE, publication().payload, 1
    )


def test_every_part_makes_another_payload() -> None:
    plan = launch()
    requests = [
        gate_file(plan, "G3", RELEASE, 1), gate_file(plan, "G3", RELEASE, 2), gate_file(plan, "G1", RELEASE, 1),
        gate_file(plan, "G3", digest(b"other"), 1), gate_file(launch(zone="UTC"), "G3", RELEASE, 1),
        gate_file(publication(), "G3", RELEASE, 1),
    ]  # fmt: skip
    assert len({gate.payload for gate in requests}) == len(requests)


def test_a_file_reads_back_as_the_request_it_was() -> None:
    gate = gate_file(launch(), "G3", RELEASE, 1)
    assert gate_of(gate.path, dict(gate.data)) == gate


@pytest.mark.parametrize(
    "path",
    [
        "handbook/gates/g3-000000000000-1",
        "shop/gates/g3-{short}-1",
        "handbook/gates/g3-{short}-2",
        "handbook/gates/G3-{short}-1",
    ],
)
def test_a_request_at_the_path_of_another_is_refused(path: str) -> None:
    gate = gate_file(launch(), "G3", RELEASE, 1)
    with pytest.raises(ValueError, match="belongs at"):
        gate_of(path.format(short=short(RELEASE)), dict(gate.data))


def test_only_the_release_gate_asks_about_a_release() -> None:
    plan = launch()
    assert subject_of(RELEASE_GATE, plan, RELEASE) == RELEASE
    for gate in (PLAN_GATE, "G1", "G2", "G4"):
        assert subject_of(gate, plan, RELEASE) == plan.payload
    gated = [step for step in LINES["launch"] if step.action is Action.RELEASE]
    assert [step.gate for step in gated] == [RELEASE_GATE]
