"""The GitHub workflows of a checkout that are about publisher.

Rules:
* a file is read as strict YAML and by its values alone (``workflow_reading.py``); nothing in it is executed, expanded or fetched;
* a workflow of the same repository that another calls is looked into; one from elsewhere is known by its name alone;
* a file that cannot be read is told only if it speaks of publisher: other people's workflows are their own matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from publisher.errors import InputProblem
from publisher.gitstore.workflow_reading import PUBLISHER, WHOLE, Job, Workflow, workflow_of
from publisher.gitstore.working_tree import read_file, told

FOLDER = ".github/workflows"


@dataclass(frozen=True, kw_only=True)
class Workflows:
    """Those that speak of publisher, in path order, those of them that could not be read, and the others."""

    found: tuple[Workflow, ...]
    unread: tuple[InputProblem, ...]
    others: tuple[Workflow, ...] = ()

    def of(self, role: str) -> tuple[Workflow, ...]:
        """Those that do something, and start by themselves or by an event; a merely callable one does not count."""
        return tuple(flow for flow in self.found if role in flow.roles and flow.triggers - {"workflow_call"})


def read(root: Path) -> Workflows:
    """The workflows of a checkout."""
    every: dict[str, Workflow] = {}
    unread = []
    for path in _paths(root):
        data = None
        try:
            data = (read_file(root, path) or b"").replace(b"\r\n", b"\n")
            every[path] = workflow_of(data, path)
        except InputProblem as problem:
            if data is None or PUBLISHER.encode() in data:  # a link is told: what it leads to was not read
                unread.append(problem)
    followed = [_followed(flow, every, ()) for flow in every.values()]
    found, others = ([flow for flow in followed if bool(flow.roles) is ours] for ours in (True, False))
    return Workflows(found=tuple(found), unread=tuple(unread), others=tuple(others))


def _paths(root: Path) -> list[str]:
    folder = root / FOLDER
    with told(FOLDER):
        names = sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []
    return [f"{FOLDER}/{name}" for name in names if name.endswith((".yml", ".yaml"))]


def _followed(flow: Workflow, every: Mapping[str, Workflow], seen: tuple[str, ...]) -> Workflow:
    """A workflow whose jobs that call another file of the same repository do what that file does."""
    if flow.path in seen:
        return flow  # a circle, which GitHub refuses
    return replace(flow, jobs=tuple(job for own in flow.jobs for job in _jobs_behind(own, every, (*seen, flow.path))))


def _jobs_behind(job: Job, every: Mapping[str, Workflow], seen: tuple[str, ...]) -> Iterator[Job]:
    called = every.get(job.calls.local) if job.calls else None
    if called is None:
        yield job
        return
    for inner in _followed(called, every, seen).jobs:
        yield replace(
            inner, id=f"{job.id}.{inner.id}", waits=job.waits or inner.waits, group=inner.group or called.group or job.group,
            # A caller narrows what the called jobs ask for; what they ask for is what is needed.
            permissions=inner.permissions if inner.permissions is not None else called.permissions or job.permissions,
            passes={**job.passes, **{name: of for name, of in inner.passes.items() if WHOLE in job.passes or of & _given(job)}},
            variables=job.variables | inner.variables,
        )  # fmt: skip


def _given(job: Job) -> frozenset[str]:
    """Names of the secrets that a called workflow has: those that its caller hands on, and the token of the run."""
    return frozenset({*job.passes, "GITHUB_TOKEN"})
