"""What a review finds: problems that must be fixed, warnings to decide about, and notes; each with its place and a next step.

Rules:
* a finding names paths, ids and hashes, never a title or a text;
* the same thing found very often in one file is told some times and then counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from publisher.engine.examining import Finding, Level, exit_code
from publisher.errors import EXIT_INPUT, EXIT_OK, EXIT_SAFETY, InputProblem, NeedsPerson, Refusal

MOST_OF_A_KIND = 20


@dataclass(kw_only=True)
class Findings:
    """Findings in the order in which they were made."""

    items: list[Finding] = field(default_factory=list)
    _counts: dict[tuple[str, str], int] = field(default_factory=dict)

    def problem(self, code: str, about: str, says: str, *, where: str = "", next: str = "") -> None:
        """Something that must be fixed before anybody approves."""
        self._add(Level.PROBLEM, code, about, says, where, next, EXIT_INPUT)

    def leak(self, code: str, about: str, says: str, *, next: str) -> None:
        """Private text where it must not be."""
        self._add(Level.PROBLEM, code, about, says, "", next, EXIT_SAFETY)

    def warn(self, code: str, about: str, says: str, *, where: str = "", next: str = "") -> None:
        """Something that whoever approves ought to know."""
        self._add(Level.WARNING, code, about, says, where, next, EXIT_OK)

    def note(self, code: str, about: str, says: str, *, where: str = "", next: str = "") -> None:
        """A fact beside the findings."""
        self._add(Level.OK, code, about, says, where, next, EXIT_OK)

    def refusal(self, about: str, refusal: Refusal) -> None:
        """A refusal that a run would meet, under its own code."""
        self._add(Level.PROBLEM, refusal.code, about, refusal.says, refusal.where, refusal.next, EXIT_INPUT)

    @contextmanager
    def reading(self, about: str) -> Iterator[None]:
        """What the request's own files are refused for is a finding; anything else stops the review."""
        try:
            yield
        except (InputProblem, NeedsPerson) as refusal:
            self.refusal(about, refusal)

    def _add(self, level: Level, code: str, about: str, says: str, where: str, next: str, exit_code: int) -> None:
        key = (code, about)
        self._counts[key] = self._counts.get(key, 0) + 1
        if self._counts[key] <= MOST_OF_A_KIND:
            found = Finding(about=about, level=level, says=says, where=where, next=next, code=code, exit_code=exit_code)
            if found not in self.items:
                self.items.append(found)

    def all(self) -> tuple[Finding, ...]:
        """The findings, with one more for each kind that was only counted from some point on."""
        more = [(key, count - MOST_OF_A_KIND) for key, count in self._counts.items() if count > MOST_OF_A_KIND]
        first = {(item.code, item.about): item for item in reversed(self.items)}
        return (*self.items, *(_counted(first[key], count) for key, count in more))

    @property
    def exit_code(self) -> int:
        return exit_code(self.items)

    def has(self, code: str, about: str) -> bool:
        return (code, about) in self._counts


def _counted(like: Finding, count: int) -> Finding:
    says = f"{count} more like it: {like.code}"
    return Finding(about=like.about, level=like.level, says=says, code="and-more", exit_code=like.exit_code)
