"""The writing door of forge ``git``: opening requests (the planner) and deciding them (a reviewer in their own clone)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from pathlib import Path

from publisher.domain.approval import Approval
from publisher.forge.deciding import Decider
from publisher.forge.opening import Opener
from publisher.forge.request_branches import RequestBranches
from publisher.forge.signed_git import SignedGit
from publisher.ports import GitWrites, Tips


class SignedGitRequests:
    """Implements ``Requests``. ``signing_key`` is the SSH key of whoever acts in this clone; None where nobody can."""

    def __init__(
        self,
        git: GitWrites,
        forge: SignedGit,
        *,
        clock: Callable[[], datetime],
        signing_key: Path | None,
        remote: str = "origin",
    ) -> None:
        branches = RequestBranches(git, remote, forge.place.branch)
        self._opener = Opener(git, forge, branches, signing_key, clock)
        self._decider = Decider(git, forge, branches, signing_key)

    @property
    def left_alone(self) -> Collection[int]:
        return self._opener.left_alone

    def open(self, tips: Tips, files: Mapping[str, bytes], title: str, marker: str, body: str = "") -> int:
        """Proposes files for review and returns the request's number. Nobody shows a ``body`` here."""
        return self._opener.open(tips, files, title, marker)

    def decide(self, tips: Tips, number: int, approve: bool, now: datetime) -> tuple[Approval, ...]:
        """Merges a request with signed statements, or closes it with a signed rejection."""
        return self._decider.decide(tips, number, approve, now)
