"""One hostile thing: what is put where, which command meets it, and how that command must end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.hostile.ground import Entry, Ground

SENTINEL = "zq7731 private words"
"""Stands in whatever is hostile; no output may quote it."""
S = SENTINEL.encode()

Puts = Mapping[str | bytes, bytes | Entry | None]
REVIEW = ("review", "--head", "HEAD-COMMIT", "--base", "BASE-COMMIT")
STATUS = ("status",)
SITES = ("sites",)
PLAN = ("plan", "--date", "2026-03-03", "--local")
QUEUE = ("queue", "list")
AUDIT = ("audit",)
RUN = ("run",)

INPUT, PERSON, LATER, UNKNOWN, SAFETY, USAGE = 3, 4, 5, 6, 7, 2


@dataclass(frozen=True, kw_only=True)
class Case:
    """``commits`` is pushed to main, ``writes`` stands in the working tree, ``act`` does anything else, and may say
    another command line. ``where`` is how the place
    begins that must be named (``path:line``); "" where a message has none. Without a ``code`` the thing is legal on purpose, and
    ``holds`` says what is true of what came of it."""

    kind: str
    name: str
    argv: tuple[str, ...]
    code: str = ""
    exit: int = INPUT
    where: str = ""
    commits: Puts = field(default_factory=dict, repr=False)
    writes: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    act: Callable[[Ground], tuple[str, ...] | None] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    records: bool = False
    """Whether the stop itself is recorded in the ledger and told to those on call; nothing else may change then."""
    seconds: float = 1.0
    holds: Callable[[Ground, str], bool] | None = None

    def __str__(self) -> str:
        return f"{self.kind}-{self.name}".replace(" ", "-")
