"""Requests for a gate: one numbered file each, found again by a repetition."""

from __future__ import annotations

from dataclasses import asdict

from publisher.domain.gates import PLAN_GATE, GateFile, gate_file, subject_of
from publisher.domain.lines import Step
from publisher.domain.plan import Kind
from publisher.engine.bench import Doors
from publisher.engine.deciding import standing_plan
from publisher.engine.describing import describe_gate
from publisher.engine.site_view import PlanView, SiteView
from publisher.errors import NeedsPerson


def next_gate_file(view: PlanView, gate: str, subject: str) -> GateFile:
    """The request file that follows those asked before for this gate."""
    numbers = [item.number for item in view.asked.get(gate, ())]
    numbers += [item.number for item in view.history.requests if item.gate == gate]
    return gate_file(standing_plan(view), gate, subject, max(numbers, default=0) + 1)


def open_gate(doors: Doors, view: SiteView, gate: GateFile) -> int:
    """Opens the request of a gate file; the same file asked for twice is one request."""
    files = {f"plans/{gate.path}.yaml": doors.render(gate.data)}
    title = f"{gate.site}: {gate.gate} for {gate.plan}"
    body = describe_gate(doors.reads, view, gate)
    return doors.requests.open(view.tips, files, title, marker=f"{gate.path}@{gate.payload}", body=body)


def fields_of(gate: GateFile, request: int) -> dict[str, object]:
    return {"gate": gate.gate, "number": gate.number, "request": request, "path": gate.path, "payload": gate.payload}


def ask_again(doors: Doors, site: SiteView, view: PlanView) -> dict[str, object]:
    """A person's wish to have an expired or refused approval decided once more: the fields of its ``requested`` record."""
    if view.history.is_public or view.history.over:
        raise NeedsPerson("already-done", f"{view.path} needs no approval any more", next=f"publisher status {view.path}")
    gate, subject = _wanted(view)
    # A request that is open already is found: asking twice does not make two.
    asked = [item for item in view.history.requests if item.gate == gate and item.path not in view.displaced]
    pending = [item for item in asked if item.request in site.tips.requests]
    if pending:
        return asdict(pending[-1])
    gate_request = next_gate_file(view, gate, subject)
    return fields_of(gate_request, open_gate(doors, site, gate_request))


def _wanted(view: PlanView) -> tuple[str, str]:
    step: Step | None = view.history.next_step
    built = view.history.built
    if view.history.kind == Kind.LAUNCH and step and built and step.gate not in ("", PLAN_GATE):
        return step.gate, subject_of(step.gate, standing_plan(view), built.release)
    return PLAN_GATE, standing_plan(view).payload
