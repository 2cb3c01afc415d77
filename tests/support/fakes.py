"""Small fakes of the ports that speak the domain: a repository at a few commits, a forge with its answers, requests, a clock.

They hold values and do nothing of their own; ``tests/engine/test_fakes.py`` compares them with the Protocols, so that they cannot
drift. ``asked`` lists what was asked of them, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from publisher.domain.approval import Approval, ApprovalRules, NoApproval, Subject, Verdict
from publisher.domain.article import Draft, Private
from publisher.domain.gates import GateFile
from publisher.domain.instance import Instance
from publisher.domain.ledger_events import Event
from publisher.domain.plan import Plan
from publisher.domain.policy import Policy
from publisher.domain.queue import Queued
from publisher.errors import InputProblem, Refusal
from publisher.ports import OpenRequest, PlanFile, Tips
from tests.support.values import COMMIT, INSTANCE, RULES


def draft_of(
    number: int, *, category: str = "guide", slug: str = "", text: str = "", mark: bool = False, salt: str = ""
) -> Draft:
    """The private source of ``values.article(number)``."""
    slug = slug or f"text-{number}"
    return Draft(
        id=f"a-{number:04}", slug=slug, source=f"drafts/handbook/{slug}", title=Private(f"Title {number}"), summary=Private("S"),
        category=category, draft_mark=mark, salt=salt, body=Private("B"), files={"index.md": f"text {number}{text}".encode()},
    )  # fmt: skip


@dataclass(kw_only=True)
class FakeRepository:
    """Implements ``ReadsRepository``. Plans, gates and texts by commit; what a commit lacks is looked up at ``COMMIT``."""

    known: Tips
    instance_at: Instance = INSTANCE
    policy_of: Policy | None = None
    queued: tuple[Queued, ...] = ()
    plans_at: dict[str, dict[str, Plan | Refusal]] = field(default_factory=dict)
    before: dict[str, Plan] = field(default_factory=dict)
    drafts_at: dict[str, Draft] = field(default_factory=dict)
    broken: dict[str, InputProblem] = field(default_factory=dict)
    records: dict[str, tuple[Event, ...]] = field(default_factory=dict)
    gate_files: tuple[GateFile, ...] = ()
    gates_at: dict[str, tuple[GateFile, ...] | Refusal] = field(default_factory=dict)
    bytes_of: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def tips(self) -> Tips:
        return self.known

    def instance(self, commit: str) -> Instance:
        return self.instance_at

    def policy(self, commit: str, site: str) -> Policy:
        if self.policy_of is None:
            raise InputProblem("missing-file", "the policy does not exist")
        return self.policy_of

    def queue(self, commit: str, site: str) -> tuple[Queued, ...]:
        return self.queued

    def plan_paths(self, commit: str, site: str) -> tuple[str, ...]:
        return tuple(sorted(self.plans_at.get(commit, {})))

    def plans(self, commit: str, site: str, only: Iterable[str] | None = None) -> tuple[PlanFile, ...]:
        chosen = None if only is None else set(only)
        self.asked.append(("plans", *sorted(chosen or ())))
        files = sorted(self.plans_at.get(commit, {}).items())
        return tuple(
            PlanFile(path=path, plan=None, problem=found) if isinstance(found, Refusal) else PlanFile(path=path, plan=found)
            for path, found in files
            if chosen is None or path in chosen
        )

    def plan(self, commit: str, path: str) -> Plan | None:
        self.asked.append(("plan", commit, path))
        found = self.plans_at.get(commit, {}).get(path)
        if isinstance(found, Refusal):
            raise found
        return found

    def plan_before(self, commit: str, path: str) -> Plan | None:
        return self.before.get(path)

    def draft(self, commit: str, source: str) -> Draft:
        found, problems = self.drafts(commit, "", [source])
        if source in problems:
            raise problems[source]
        return found[source]

    def drafts(self, commit: str, site: str, sources: Iterable[str]) -> tuple[Mapping[str, Draft], Mapping[str, InputProblem]]:
        wanted = list(sources)
        self.asked.append(("drafts", commit, *wanted))
        found = {source: self.drafts_at[source] for source in wanted if source in self.drafts_at and source not in self.broken}
        return found, {source: self.broken[source] for source in wanted if source in self.broken}

    def draft_sources(self, commit: str, site: str) -> tuple[str, ...]:
        return tuple(sorted({*self.drafts_at, *self.broken}))

    def ledger(self, state: str, site: str) -> Mapping[str, tuple[Event, ...]]:
        return self.records

    def gates(self, commit: str, site: str) -> tuple[GateFile, ...]:
        self.asked.append(("gates", commit))
        found = self.gates_at.get(commit, self.gate_files)
        if isinstance(found, Refusal):
            raise found
        return found

    def blobs(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        return {oid: self.bytes_of[oid] for oid in oids}

    def blob_ids(self, commit: str, folder: str) -> Mapping[str, str]:
        return {path: oid for oid, path in self._below(folder)}

    def files(self, commit: str, folder: str) -> Mapping[str, bytes]:
        return {path.removeprefix(f"{folder}/"): self.bytes_of[oid] for oid, path in self._below(folder)}

    def last_change(self, commit: str, path: str) -> str:
        return commit if path in self.plan_paths(commit, "") else ""

    def recorded_in(self, state: str, path: str, n: int) -> str:
        return state if len(self.records.get(path, ())) >= n else ""

    def _below(self, folder: str) -> list[tuple[str, str]]:
        return [(oid, oid) for oid in self.bytes_of if oid.startswith(f"{folder}/")]


@dataclass(kw_only=True)
class FakeForge:
    """Implements ``ReadsForge``. ``answers`` by path and payload; nobody has decided anything else."""

    answers: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    requests: tuple[OpenRequest, ...] = ()
    rules_at: ApprovalRules = RULES
    asked: list[Subject] = field(default_factory=list)

    def rules(self, commit: str) -> ApprovalRules:
        return self.rules_at

    def verdict(self, tips: Tips, subject: Subject) -> Verdict:
        self.asked.append(subject)
        return self.answers.get((subject.path, subject.payload), NoApproval(subject=subject, code="absent"))

    def open_requests(self, tips: Tips) -> tuple[OpenRequest, ...]:
        return self.requests


@dataclass(kw_only=True)
class FakeRequests:
    """Implements ``Requests`` as a forge does: a marker finds its own open request again."""

    opened: dict[int, tuple[str, Mapping[str, bytes]]] = field(default_factory=dict)
    left_alone: tuple[int, ...] = ()

    def open(self, tips: Tips, files: Mapping[str, bytes], title: str, marker: str, body: str = "") -> int:
        number = next((number for number, (known, _) in self.opened.items() if known == marker), len(self.opened) + 1)
        self.opened[number] = (marker, dict(files))
        return number

    def decide(self, tips: Tips, number: int, approve: bool, now: datetime) -> tuple[Approval, ...]:
        del self.opened[number]
        return ()

    def as_open(self) -> Sequence[OpenRequest]:
        """What the reading door shows of them."""
        return [OpenRequest(number=n, head=f"head of {n}", paths=tuple(sorted(files))) for n, (_, files) in self.opened.items()]


@dataclass(kw_only=True)
class FakeClock:
    """Implements ``Clock``; sleeping only moves it."""

    at: datetime

    def now(self) -> datetime:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def repository(**fields: object) -> FakeRepository:
    known = Tips(default=COMMIT, state=COMMIT, drafts="d" * 40)
    return FakeRepository(**{"known": known, **fields})  # type: ignore[arg-type]
