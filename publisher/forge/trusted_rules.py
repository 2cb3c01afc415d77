"""``approval.yaml`` in force at a commit.

Rules:
* the version of the oldest first-parent commit that introduced the file is the root; where the root is pinned outside the
  repository, another one stops everything;
* a later version counts only when its own change is a merge that the rules in force before it approve;
* any other change is ignored and listed, and the last approved version stays in force; so does it when an approved version
  cannot be read, because otherwise nobody could approve its repair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from publisher.domain.approval import Approval, ApprovalRules, Subject
from publisher.errors import NeedsPerson, Refusal, StoppedForSafety
from publisher.forge.incoming import RULES_PATH
from publisher.forge.merges import PayloadOf
from publisher.forge.reasons import Unproven
from publisher.ports import GitReads

ParseRules = Callable[[bytes, str], ApprovalRules]
"""(bytes, name for messages) → rules as written; raises ``InputProblem``."""

ALL = 1_000_000


class Judge(Protocol):
    """What a forge makes of one commit of the default branch."""

    def judge(self, oid: str, subject: Subject, rules: ApprovalRules) -> Approval:
        """The approval that the commit proves for ``subject`` under ``rules``. Raises ``Unproven``."""


def require_pinned(root: str, pinned: str) -> None:
    """Stops where the rules begin elsewhere than the root that was pinned outside the repository ("" = none was)."""
    if pinned and root != pinned:
        raise StoppedForSafety(
            "root-differs", f"{RULES_PATH} starts at {root[:12]}, not at the pinned {pinned[:12]}",
            next="compare PUBLISHER_ROOT with a clone you trust",
        )  # fmt: skip


class TrustedRules:
    """The rules in force, found again from the first-parent chain and remembered per commit."""

    def __init__(
        self, git: GitReads, judge: Judge, *, parse_rules: ParseRules, payload_of: PayloadOf, pinned_root: str
    ) -> None:
        self._git = git
        self._judge = judge
        self._parse = parse_rules
        self._payload_of = payload_of
        self._pinned_root = pinned_root
        self._at: dict[str, ApprovalRules] = {}
        self._after: dict[str, ApprovalRules] = {}

    def at(self, commit: str) -> ApprovalRules:
        """The rules in force at ``commit``. ``NeedsPerson`` when there are none, ``StoppedForSafety`` for another root."""
        if commit not in self._at:
            changes = self._git.first_parent_changes(commit, RULES_PATH, limit=ALL)
            if not changes:
                raise NeedsPerson("no-approval-rules", f"there is no {RULES_PATH}", next="publisher init")
            self._at[commit] = self._leave_out_undone(commit, self._follow(tuple(reversed(changes))))
        return self._at[commit]

    def _follow(self, changes: tuple[str, ...]) -> ApprovalRules:
        root = changes[0]
        require_pinned(root, self._pinned_root)
        rules = replace(self._parse(self._git.blob_at(root, RULES_PATH) or b"", RULES_PATH), commit=root, root=root, ignored=())
        for change in changes[1:]:
            if change not in self._after:
                self._after[change] = self._next(change, rules)
            rules = self._after[change]
        return rules

    def _next(self, change: str, rules: ApprovalRules) -> ApprovalRules:
        """The rules after one more change of the file."""
        data = self._git.blob_at(change, RULES_PATH) or b""
        ignored = replace(rules, ignored=(*rules.ignored, change))
        try:
            payload, revision = self._payload_of(RULES_PATH, data)
            following = self._parse(data, RULES_PATH)
        except Refusal:
            return ignored
        try:
            self._judge.judge(change, Subject(path=RULES_PATH, payload=payload, revision=revision), rules)
        except Unproven:  # a refusal is another thing: git or a host could not answer, which says nothing of the change
            return ignored
        return replace(following, commit=change, root=rules.root, ignored=())

    def _leave_out_undone(self, commit: str, rules: ApprovalRules) -> ApprovalRules:
        """Unapproved changes that were taken back again are nothing to report."""
        if not rules.ignored:
            return rules
        here = self._git.blob_ids(commit, [RULES_PATH]).get(RULES_PATH)
        trusted = self._git.blob_ids(rules.commit, [RULES_PATH]).get(RULES_PATH)
        return replace(rules, ignored=()) if here == trusted else rules
