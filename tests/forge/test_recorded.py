"""What the ledger recorded of a host's answers: shown while it still fits the default branch, and never more than that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.approval import Approval, NoApproval, Rejection, Subject
from publisher.domain.ledger_events import Event, EventType
from publisher.errors import NeedsPerson, StoppedForSafety
from publisher.forge.recorded import RecordedForge
from publisher.gitstore.gateway import Git
from publisher.gitstore.instance_files import rules_of
from publisher.ports import Tips
from publisher.wiring import payload_of
from tests.support.gitrepos import Repository, bare, clone

PLAN = "plans/blog/daily/2026/2026-12-01.yaml"
RULES = "approvals: 1\napprovers: [{login: rae, id: 7}]\n"


@dataclass
class Ledger:
    """The only thing that a recorded forge asks the repository for."""

    events: dict[str, tuple[Event, ...]] = field(default_factory=dict)

    def ledger(self, state: str, site: str) -> Mapping[str, tuple[Event, ...]]:
        assert (state, site) == ("s" * 40, "blog")
        return self.events

    def add(self, kind: EventType, **fields: Any) -> None:
        name = "blog/daily/2026/2026-12-01"
        event = Event(
            n=1, at="2026-11-30T10:00:00Z", type=kind, claim=None, actor="ci", prev="", commit="", fields=fields, line_digest=""
        )
        self.events[name] = (*self.events.get(name, ()), event)


@dataclass
class Case:
    repository: Repository
    ledger: Ledger = field(default_factory=Ledger)

    def forge(self, **options: Any) -> RecordedForge:
        return RecordedForge(
            Git(self.repository.path),
            self.ledger,
            parse_rules=rules_of,
            payload_of=payload_of,
            **options,  # type: ignore[arg-type]
        )

    @property
    def tips(self) -> Tips:
        return Tips(default=self.repository.git("rev-parse", "HEAD"), state="s" * 40, drafts="")

    def subject(self) -> Subject:
        payload, revision = payload_of(PLAN, (self.repository.path / PLAN).read_bytes())
        return Subject(path=PLAN, payload=payload, revision=revision)

    def approved(self, subject: Subject, **more: Any) -> None:
        fields = {
            "gate": "plan", "path": subject.path, "payload": subject.payload, "revision": subject.revision, "by": ["rae"],
            "merged_at": "2026-11-30T09:00:00Z", "merge": self.tips.default, "request": 12, "evidence": {"review": 1},
        }  # fmt: skip
        self.ledger.add(EventType.APPROVED, **{**fields, **more})


@pytest.fixture
def case(tmp_path: Path) -> Case:
    bare(tmp_path / "remote.git")
    repository = clone(Repository(tmp_path / "remote.git", "remote"), tmp_path / "editor", "editor")
    repository.commit({"approval.yaml": RULES}, "rules")
    repository.commit({PLAN: "kind: publication\nrevision: 2\n"}, "a plan")
    return Case(repository)


def test_a_recorded_approval_is_shown_with_its_evidence(case: Case) -> None:
    subject = case.subject()
    case.approved(subject)
    verdict = case.forge().verdict(case.tips, subject)
    assert isinstance(verdict, Approval)
    assert (verdict.by, verdict.request, verdict.merge) == (("rae",), 12, case.tips.default)
    assert verdict.merged_at == datetime(2026, 11, 30, 9, tzinfo=UTC)
    assert verdict.evidence == {"review": 1}


@pytest.mark.parametrize(
    "more", [{"payload": "sha256:" + "0" * 64}, {"revision": 1}, {"path": PLAN.replace("12-01", "12-02")}, {"merge": "1" * 40}],
    ids=["other-payload", "other-revision", "other-path", "other-merge"],
)  # fmt: skip
def test_a_record_of_something_else_is_no_answer(case: Case, more: dict[str, Any]) -> None:
    subject = case.subject()
    case.approved(subject, **more)
    verdict = case.forge().verdict(case.tips, subject)
    assert isinstance(verdict, NoApproval) and verdict.code == "not-recorded" and not verdict.absent


def test_a_later_edit_takes_the_recorded_approval_away(case: Case) -> None:
    subject = case.subject()
    case.approved(subject)
    case.repository.commit({PLAN: "kind: publication\nrevision: 3\n"}, "an edit")
    edited, put_back = case.forge().verdict(case.tips, subject), None
    assert isinstance(edited, NoApproval) and edited.code == "not-recorded"
    case.repository.commit({PLAN: "kind: publication\nrevision: 2\n"}, "put back")
    put_back = case.forge().verdict(case.tips, subject)
    assert isinstance(put_back, NoApproval) and put_back.code == "not-recorded"


def test_a_record_whose_merge_has_another_payload_is_not_shown(case: Case) -> None:
    subject = replace(case.subject(), payload="sha256:" + "a" * 64)
    case.approved(subject)
    verdict = case.forge().verdict(case.tips, subject)
    assert isinstance(verdict, NoApproval) and verdict.code == "not-recorded"


def test_a_recorded_rejection_is_final(case: Case) -> None:
    subject = case.subject()
    case.approved(subject)
    case.ledger.add(EventType.REJECTED, payload=subject.payload, by="rae", request=13, merge="")
    verdict = case.forge().verdict(case.tips, subject)
    assert isinstance(verdict, Rejection) and (verdict.by, verdict.request) == ("rae", 13)


def test_a_file_that_nobody_merged_is_absent(case: Case) -> None:
    verdict = case.forge().verdict(
        case.tips, Subject(path="plans/blog/daily/2026/2026-12-09.yaml", payload="sha256:" + "b" * 64)
    )
    assert isinstance(verdict, NoApproval) and verdict.absent


def test_rules_are_shown_as_they_stand_and_their_root_is_compared(case: Case) -> None:
    root = case.repository.git("rev-list", "--max-parents=0", "HEAD")
    rules = case.forge(pinned_root=root).rules(case.tips.default)
    assert [(person.login, person.id) for person in rules.approvers] == [("rae", 7)]
    assert rules.root == root
    with pytest.raises(StoppedForSafety, match="root-differs"):
        case.forge(pinned_root="f" * 40).rules(case.tips.default)


def test_without_rules_nothing_can_be_said(tmp_path: Path) -> None:
    bare(tmp_path / "remote.git")
    repository = clone(Repository(tmp_path / "remote.git", "remote"), tmp_path / "editor", "editor")
    repository.commit({"a": "b"}, "nothing")
    with pytest.raises(NeedsPerson, match="no-approval-rules"):
        Case(repository).forge().rules(Case(repository).tips.default)
