"""The workflow files that have a schedule and do publisher's work, from their bytes at a commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from publisher.errors import InputProblem
from publisher.gitstore.workflow_files import FOLDER
from publisher.gitstore.workflow_reading import Workflow, workflow_of


@dataclass(frozen=True, kw_only=True)
class ScheduledFile:
    """``name`` below the workflows' folder; ``crons`` are (expression, zone, ``path:line:col``), zone "" for UTC."""

    name: str
    crons: tuple[tuple[str, str, str], ...]


def scheduled_files(files: Mapping[str, bytes]) -> tuple[ScheduledFile, ...]:
    """``files`` by name. One that cannot be read is left out: it starts nothing, and ``doctor`` says why."""
    flows: dict[str, Workflow] = {}
    for name, data in sorted(files.items()):
        try:
            flows[name] = workflow_of(data.replace(b"\r\n", b"\n"), f"{FOLDER}/{name}")
        except InputProblem:
            continue
    return tuple(
        ScheduledFile(name=name, crons=tuple((line.expression, line.zone, line.where) for line in flow.crons))
        for name, flow in flows.items()
        if flow.crons and _works(flow, flows, frozenset())
    )


def _works(flow: Workflow, flows: Mapping[str, Workflow], seen: frozenset[str]) -> bool:
    """Whether the workflow, or a local one that it calls, runs publisher."""
    if flow.roles:
        return True
    called = {job.calls.local.rpartition("/")[2] for job in flow.jobs if job.calls and job.calls.local}
    return any(_works(flows[name], flows, seen | {flow.name}) for name in called - seen - {flow.name} if name in flows)
