"""What an audit finds: problems with a code and a place, warnings, and what could not be proven from this clone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from publisher.domain.tasks import IllegalTransition
from publisher.errors import ComeBackLater, Refusal

MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading a record raises when a field is missing or of another kind: whoever tampers may write anything."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """``where`` is ``path:line:1``, a path or a commit; ``says`` one sentence with ids and short digests only."""

    code: str
    where: str
    says: str

    def as_data(self) -> dict[str, str]:
        return {"code": self.code, "where": self.where, "says": self.says}


class Findings:
    """Collects findings; the same one is kept once."""

    def __init__(self) -> None:
        self.problems: list[Finding] = []
        self.warnings: list[Finding] = []
        self.not_proven: list[Finding] = []

    def problem(self, code: str, where: str, says: str) -> None:
        _add(self.problems, code, where, says)

    def warn(self, code: str, where: str, says: str) -> None:
        _add(self.warnings, code, where, says)

    def unproven(self, code: str, where: str, says: str) -> None:
        _add(self.not_proven, code, where, says)

    @contextmanager
    def reading(self, where: str) -> Iterator[None]:
        """What goes wrong while a record is read becomes a problem at its place; the audit goes on with the next one."""
        try:
            yield
        except ComeBackLater:
            raise  # git itself gave no answer in time: that says nothing about the record
        except Refusal as refusal:
            self.problem(refusal.code, where, refusal.says)
        except IllegalTransition:
            self.problem("history-illegal", where, "this record does not follow from the ones before it")
        except MALFORMED:
            self.problem("record-unreadable", where, "this record lacks a field, or has one of another kind")


def _add(findings: list[Finding], code: str, where: str, says: str) -> None:
    finding = Finding(code=code, where=where, says=says)
    if finding not in findings:
        findings.append(finding)


def line(name: str, number: int) -> str:
    """Where a ledger record stands."""
    return f"ledger/{name}.jsonl:{number}:1"
