"""The model repository's reading doors: everything is looked up by commit, so nothing here is an effect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from publisher.domain.approval import ApprovalRules, NoApproval, Subject, Verdict
from publisher.domain.article import Draft
from publisher.domain.gates import GateFile
from publisher.domain.instance import Instance
from publisher.domain.ledger_events import Event
from publisher.domain.plan import Plan
from publisher.domain.policy import Policy
from publisher.domain.queue import Queued
from publisher.errors import InputProblem
from publisher.ports import OpenRequest, PlanFile, Tips
from publisher.simulation import stage
from publisher.simulation.content import Contents
from publisher.simulation.editors import theme_of


class ModelReads:
    """Implements ``ReadsRepository`` over interned commits."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def tips(self) -> Tips:
        raise NotImplementedError("a simulated run always asks the remote")

    def instance(self, commit: str) -> Instance:
        return stage.INSTANCE

    def policy(self, commit: str, site: str) -> Policy:
        raise InputProblem("missing-file", "nothing is planned in the simulation")

    def queue(self, commit: str, site: str) -> tuple[Queued, ...]:
        return ()

    def plan_paths(self, commit: str, site: str) -> tuple[str, ...]:
        return tuple(sorted(self._contents.defaults[commit].plans))

    def plans(self, commit: str, site: str, only: Iterable[str] | None = None) -> tuple[PlanFile, ...]:
        found = self._contents.defaults[commit].plans
        chosen = found.keys() if only is None else found.keys() & set(only)
        return tuple(PlanFile(path=path, plan=found[path]) for path in sorted(chosen))

    def plan(self, commit: str, path: str) -> Plan | None:
        return self._contents.defaults[commit].plans.get(path)

    def draft(self, commit: str, source: str) -> Draft:
        number = stage.NUMBERS[source]
        return stage.draft_of(number, self._contents.defaults[commit].drafts[number])

    def drafts(self, commit: str, site: str, sources: Iterable[str]) -> tuple[Mapping[str, Draft], Mapping[str, InputProblem]]:
        return {source: self.draft(commit, source) for source in sources}, {}

    def draft_sources(self, commit: str, site: str) -> tuple[str, ...]:
        return tuple(stage.NUMBERS)

    def ledger(self, state: str, site: str) -> Mapping[str, tuple[Event, ...]]:
        return self._contents.states[state].events

    def gates(self, commit: str, site: str) -> tuple[GateFile, ...]:
        return tuple(self._contents.defaults[commit].gates.values())

    def blobs(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        return {oid: self._contents.blobs[oid] for oid in oids}

    def blob_ids(self, commit: str, folder: str) -> Mapping[str, str]:
        files = self._contents.states[commit].files
        return {path: oid for path, oid in files.items() if path.startswith(f"{folder}/")}

    def files(self, commit: str, folder: str) -> Mapping[str, bytes]:
        if commit in self._contents.defaults:
            return {"base": theme_of(self._contents.defaults[commit].theme)} if folder.endswith("/theme") else {}
        found = self.blob_ids(commit, folder) if commit in self._contents.states else {}
        return {path.removeprefix(f"{folder}/"): self._contents.blobs[oid] for path, oid in found.items()}

    def last_change(self, commit: str, path: str) -> str:
        return self._contents.defaults[commit].changed.get(path, "")

    def recorded_in(self, state: str, path: str, n: int) -> str:
        commit, found = self._contents.states.get(state), ""
        while commit and len(commit.events.get(path, ())) >= n:
            found = commit.oid
            commit = self._contents.states.get(commit.parent)
        return found

    def plan_before(self, commit: str, path: str) -> Plan | None:
        return self._contents.defaults[commit].before.get(path)


class ModelForge:
    """Implements ``ReadsForge``: a verdict follows from the default branch's tip."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def rules(self, commit: str) -> ApprovalRules:
        return stage.RULES

    def verdict(self, tips: Tips, subject: Subject) -> Verdict:
        found = self._contents.defaults[tips.default].verdicts.get((subject.path, subject.payload))
        return found or NoApproval(subject=subject, code="absent")

    def open_requests(self, tips: Tips) -> tuple[OpenRequest, ...]:
        return tuple(OpenRequest(number=number, head=head, paths=()) for number, head in tips.requests.items())
