"""Gate requests: a file under ``plans/<site>/gates/`` that a person decides by merging or closing its request.

Rules:
* a gate's payload names exactly what is asked: the plan's payload, the step's gate and, for a release, the release id;
* requests for the same thing are numbered; a further one is made only after the one before was merged and has expired, or when
  a person asks again; a rejection is final.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from publisher.domain.fingerprint import payload_hash, short
from publisher.domain.plan import Plan

PLAN_GATE = "plan"
RELEASE_GATE = "G3"


def subject_of(gate: str, plan: Plan, release: str) -> str:
    """What a request of this gate names: the built ``release`` before it becomes public, for every other gate the payload."""
    return release if gate == RELEASE_GATE else plan.payload


@dataclass(frozen=True, kw_only=True)
class GateFile:
    """A request file. ``subject_hash`` is what it asks for (a plan's payload or a release id); ``number`` counts from 1."""

    path: str
    gate: str
    site: str
    plan: str
    plan_payload: str
    subject_hash: str
    number: int
    payload: str
    data: Mapping[str, Any]


def gate_file(plan: Plan, gate: str, subject_hash: str, number: int) -> GateFile:
    """The file that asks for ``gate`` of a plan: deterministic, so that a rerun finds its own."""
    data = {
        "kind": "gate", "gate": gate, "site": plan.site, "plan": plan.path, "plan_payload": plan.payload,
        "subject": subject_hash, "number": number,
    }  # fmt: skip
    return gate_of(f"{plan.site}/gates/{gate.lower()}-{short(subject_hash)}-{number}", data)


def gate_of(path: str, data: Mapping[str, Any]) -> GateFile:
    """A gate file from its schema-valid mapping; ``ValueError`` when it stands at a path of another request."""
    expected = f"{data['site']}/gates/{data['gate'].lower()}-{short(data['subject'])}-{data['number']}"
    if path != expected:
        raise ValueError(f"this request belongs at plans/{expected}.yaml")
    return GateFile(
        path=path, gate=data["gate"], site=data["site"], plan=data["plan"], plan_payload=data["plan_payload"],
        subject_hash=data["subject"], number=data["number"], payload=payload_hash(data), data=data,
    )  # fmt: skip
