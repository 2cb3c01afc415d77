"""What one execution of a workflow by ``act`` came to, read out of its JSON log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Step:
    """``result`` is success, failure or skipped; ``outputs`` those that it set."""

    id: str
    name: str
    result: str = ""
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)


@dataclass
class Job:
    """``steps`` are those of the file, in order; what runs inside an action counts to its step."""

    id: str
    matrix: dict[str, str]
    steps: list[Step] = field(default_factory=list)
    summary: str = ""
    annotations: list[dict[str, str]] = field(default_factory=list)
    finished: bool = False

    @property
    def result(self) -> str:
        if any(step.result == "failure" for step in self.steps):
            return "failure"
        return "success" if self.finished else "cancelled"

    @property
    def log(self) -> str:
        return "".join(step.log for step in self.steps)

    def step(self, name: str) -> Step:
        """The step with this id, or the only one whose name holds this text."""
        (found,) = [one for one in self.steps if one.id == name] or [one for one in self.steps if name in one.name]
        return found


@dataclass
class Ran:
    """A finished run. ``code`` is act's own; a job that did not start is not in ``jobs``."""

    code: int
    jobs: list[Job]
    text: str

    @property
    def conclusion(self) -> str:
        results = {job.result for job in self.jobs}
        return "failure" if "failure" in results or self.code else "cancelled" if "cancelled" in results else "success"

    def job(self, id: str, **matrix: str) -> Job:
        """A job by its id in the file that defines it; ``matrix`` picks one of several."""
        (found,) = [job for job in self.jobs if job.id == id and (not matrix or job.matrix == matrix)]
        return found

    @property
    def ids(self) -> list[str]:
        return [job.id for job in self.jobs]

    @property
    def summary(self) -> str:
        return "".join(job.summary for job in self.jobs)

    @property
    def annotations(self) -> list[dict[str, str]]:
        return [one for job in self.jobs for one in job.annotations]

    @property
    def log(self) -> str:
        """Everything that people with access to the run could read."""
        return self.text


def ran_of(out: str, err: str, code: int) -> Ran:
    jobs: dict[str, Job] = {}
    told = []
    for line in out.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            told.append(line)
            continue
        told.append(str(entry.get("msg", "")).rstrip("\n"))
        if "stepID" in entry or "jobResult" in entry or entry.get("step") in ("Set up job", "Complete job"):
            name = entry["job"].strip()
            _note(jobs.setdefault(name, Job(entry["jobID"], _words(entry.get("matrix")))), entry)
    return Ran(code, list(jobs.values()), "\n".join([*told, err]))


def _words(matrix: Any) -> dict[str, str]:
    return {name: str(value) for name, value in (matrix or {}).items()}


def _note(job: Job, entry: dict[str, Any]) -> None:
    if entry.get("step") == "Complete job" and entry.get("stepResult"):
        job.finished = True
    if entry.get("stage") != "Main":
        return
    step = _step(job, entry["stepID"][0], entry["step"])
    command = entry.get("command")
    if entry.get("raw_output"):
        step.log += entry["msg"]
    elif command == "set-output" and len(entry["stepID"]) == 1:
        step.outputs[entry["name"]] = entry["arg"]
    elif command == "summary":
        job.summary += entry["content"]
    elif command in ("error", "warning", "notice"):
        job.annotations.append({"level": command, "says": entry["arg"], **(entry.get("kvPairs") or {})})
    if entry.get("stepResult") and len(entry["stepID"]) == 1:
        step.result = entry["stepResult"]


def _step(job: Job, id: str, name: str) -> Step:
    found: Iterable[Step] = (one for one in job.steps if one.id == id)
    step = next(iter(found), None)
    if step is None:
        step = Step(id, name)
        job.steps.append(step)
    return step
