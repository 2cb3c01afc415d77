"""The whole refusal vocabulary, grouped by who must act next.

Every way in which publisher declines to go on is one of these classes. A refusal says three things: what is wrong (naming
the thing by path, id or short hash, never by a draft's title or text), why that stops, and the next command. The text of a
library's exception is never passed on, because it may quote a draft, a token or a URL with a password.

Exit codes, and the order in which the worst one wins, are part of the command-line contract:

    7 stopped for safety · 6 outcome unknown · 1 a bug · 4 a person must decide · 3 fix an input · 5 come back later · 2 usage
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_BUG = 1
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_PERSON = 4
EXIT_LATER = 5
EXIT_UNKNOWN = 6
EXIT_SAFETY = 7

WORST_FIRST = (EXIT_SAFETY, EXIT_UNKNOWN, EXIT_BUG, EXIT_PERSON, EXIT_INPUT, EXIT_LATER, EXIT_USAGE, EXIT_OK)


def worst(codes: list[int]) -> int:
    """The exit code that stands for all of ``codes``; 0 for none."""
    return min(codes, key=WORST_FIRST.index, default=EXIT_OK)


class Refusal(Exception):
    """A stop with a reason and a next step.

    ``code`` is a stable kebab-case word that tests and scripts may rely on; ``says`` is one sentence for a person; ``next``
    is the command or act that is legal now ("" when nothing needs doing); ``where`` is ``path:line:col`` for inputs.
    """

    exit_code = EXIT_BUG

    def __init__(self, code: str, says: str, *, next: str = "", where: str = "", plan: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.says = says
        self.next = next
        self.where = where
        self.plan = plan

    def __str__(self) -> str:
        head = f"{self.where}: " if self.where else ""
        tail = f"\n  next: {self.next}" if self.next else ""
        return f"{head}{self.says} [{self.code}]{tail}"

    def as_data(self) -> dict[str, str]:
        """The refusal for ``--json`` and for ledger events: codes and ids only."""
        data = {"code": self.code, "says": self.says, "next": self.next, "where": self.where, "plan": self.plan}
        return {name: value for name, value in data.items() if value}


class UsageProblem(Refusal):
    """The command line asks for something that does not exist or does not go together."""

    exit_code = EXIT_USAGE


class InputProblem(Refusal):
    """A file must be fixed by its author. ``where`` is ``path:line:col``."""

    exit_code = EXIT_INPUT


class NeedsPerson(Refusal):
    """Somebody entitled must decide: approve, retry, settle, cancel, revise."""

    exit_code = EXIT_PERSON


class ComeBackLater(Refusal):
    """Nothing is wrong; the clock, another holder or an unreachable service decides when to try again."""

    exit_code = EXIT_LATER


class OutcomeUnknown(Refusal):
    """Something was set going outside and its result is not known: reconcile before anything else."""

    exit_code = EXIT_UNKNOWN


class StoppedForSafety(Refusal):
    """Going on could publish something wrong: leak, tampering, lost claim, foreign release, clock apart."""

    exit_code = EXIT_SAFETY


class Bug(Refusal):
    """An invariant of publisher's own does not hold. Nothing was deployed because of it."""

    exit_code = EXIT_BUG
