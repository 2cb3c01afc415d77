"""Opening a request: one signed commit on top of the default branch, on a branch of its own.

Rules:
* the number is one higher than any seen; its branch must not exist, so of two openers one looks again, and so does one who
  chose what to propose before another request was opened or a plan was merged;
* a repetition finds its own open request by marker and signature: the same files need no push, other files or a default branch
  that changed them meanwhile replace the commit, under an exact lease;
* commits that somebody else put on the branch are never overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from publisher.domain.approval import ApprovalRules, Signer
from publisher.errors import ComeBackLater, NeedsPerson
from publisher.forge.closings import LARGEST_NUMBER
from publisher.forge.proposals import is_marked, line_of, message_of, require_proposable, still_fits
from publisher.forge.request_branches import REQUESTS, RequestBranches, numbers_in, own_signer
from publisher.forge.signed_git import SignedGit
from publisher.ports import GitWrites, Tips


class Opener:
    """Opens and updates the requests of whoever holds ``key``."""

    def __init__(
        self, git: GitWrites, forge: SignedGit, branches: RequestBranches, key: Path | None, clock: Callable[[], datetime]
    ) -> None:
        self._git = git
        self._forge = forge
        self._branches = branches
        self._key = key
        self._clock = clock
        self.left_alone: set[int] = set()

    def open(self, tips: Tips, files: Mapping[str, bytes], title: str, marker: str) -> int:
        """The number of the request that proposes exactly ``files``."""
        rules = self._forge.rules(tips.default)
        key, me = own_signer(self._git, self._key, rules)
        if not me.may_commit:
            raise NeedsPerson("not-entitled", "approval.yaml does not permit this key to sign commits", next="publisher doctor")
        require_proposable(self._git, tips.default, files)
        number, head = self._own(tips, marker, me, rules)
        fits = bool(head) and still_fits(self._git, self._forge.trees, tips.default, head, files)
        if fits or (head and self._is_touched_by_others(tips, head, me, rules)):
            self.left_alone |= set() if fits else {number}
            return number
        number = number or self._next_number(tips)
        commit = self._git.compose(
            parents=[tips.default], base_tree=tips.default, changes=dict(files), message=message_of(title, marker),
            author=me.principal, email=me.principal, at=self._clock(), signing_key=key,
        )  # fmt: skip
        if self._branches.put(commit, f"{REQUESTS}{number}", head) != commit:
            raise ComeBackLater("request-raced", f"request {number} was taken meanwhile", next="publisher plan")
        return number

    def _next_number(self, tips: Tips) -> int:
        """One higher than any seen, where nothing was proposed or merged since ``tips`` was read.

        What these files name was chosen from ``tips``: a request or plan that came since may name the same.
        """
        refs = self._branches.look(self._branches.default, f"{REQUESTS}*")
        if not set(numbers_in(refs)) <= tips.requests.keys() or self._plans_moved(tips, refs.get(self._branches.default, "")):
            raise ComeBackLater("request-raced", "other plans were proposed or merged meanwhile", next="publisher plan")
        fetched = [number for number in tips.requests if number <= LARGEST_NUMBER]
        return 1 + max([*fetched, self._forge.closings.highest_number(tips.default)])

    def _plans_moved(self, tips: Tips, live: str) -> bool:
        if live in ("", tips.default):
            return False
        self._branches.fetch(self._branches.default)
        return self._forge.trees.entry(live, "plans") != self._forge.trees.entry(tips.default, "plans")

    def _own(self, tips: Tips, marker: str, me: Signer, rules: ApprovalRules) -> tuple[int, str]:
        """(number, head) of my open request with this marker, or (0, "")."""
        for request in reversed(self._forge.open_requests(tips)):
            for commit in line_of(self._git, tips.default, request.head):
                if is_marked(commit, marker) and self._git.commit_signer(commit.oid, rules.allowed("git")) == me.principal:
                    return request.number, request.head
        return 0, ""

    def _is_touched_by_others(self, tips: Tips, head: str, me: Signer, rules: ApprovalRules) -> bool:
        allowed = rules.allowed("git")
        return any(
            self._git.commit_signer(commit.oid, allowed) != me.principal for commit in line_of(self._git, tips.default, head)
        )
