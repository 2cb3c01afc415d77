"""What the ledger recorded of a pull-request host's answers, for commands that open no connection.

Nothing is approved by this: a run derives every approval again from the host before its first irreversible effect. It tells
``status``, ``preview`` and ``log`` where things stand, and ``audit`` what was recorded.

Rules:
* a recorded approval counts only while its merge still is the newest first-parent change of the file, and the file there has
  the recorded payload; so an edit that came later shows at once;
* what the ledger does not have is ``not-recorded``, which is no answer of the host;
* ``approval.yaml`` is shown as it stands; whether each change of it was approved, the host knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from publisher.domain.approval import Approval, ApprovalRules, NoApproval, Rejection, Subject, Verdict
from publisher.domain.business_calendar import parse_instant
from publisher.domain.ledger_events import Event, EventType
from publisher.errors import NeedsPerson, Refusal
from publisher.forge.incoming import RULES_PATH, incoming
from publisher.forge.merges import PayloadOf
from publisher.forge.reasons import Unproven, sentence
from publisher.forge.tree_changes import Trees
from publisher.forge.trusted_rules import ALL, require_pinned
from publisher.ports import GitReads, OpenRequest, ReadsRepository, Tips


class RecordedForge:
    """Implements ``ReadsForge`` from git objects and the ledger alone."""

    def __init__(
        self,
        git: GitReads,
        reads: ReadsRepository,
        *,
        parse_rules: Callable[[bytes, str], ApprovalRules],
        payload_of: PayloadOf,
        pinned_root: str = "",
    ) -> None:
        self._git = git
        self._reads = reads
        self._parse_rules = parse_rules
        self._payload_of = payload_of
        self._pinned_root = pinned_root
        self._trees = Trees(git)
        self._rules: dict[str, ApprovalRules] = {}

    def rules(self, commit: str) -> ApprovalRules:
        """``approval.yaml`` as it stands at a commit; its root is compared with the pinned one."""
        if commit not in self._rules:
            changes = self._git.first_parent_changes(commit, RULES_PATH, limit=ALL)
            if not changes:
                raise NeedsPerson("no-approval-rules", f"there is no {RULES_PATH}", next="publisher init")
            require_pinned(changes[-1], self._pinned_root)
            data = self._git.blob_at(changes[0], RULES_PATH) or b""
            self._rules[commit] = replace(self._parse_rules(data, RULES_PATH), commit=changes[0], root=changes[-1])
        return self._rules[commit]

    def verdict(self, tips: Tips, subject: Subject) -> Verdict:
        """The recorded answer about one file at one payload."""
        changes = self._git.first_parent_changes(tips.default, subject.path)
        approval: Approval | None = None
        for event in self._events(tips, subject):
            if event.type is EventType.REJECTED and event.fields["payload"] == subject.payload:
                fields = event.fields
                return Rejection(subject=subject, by=fields["by"], merge=fields["merge"], request=fields["request"])
            if event.type is EventType.APPROVED and _is_about(event, subject):
                approval = _approval(event, subject)
        if not changes:
            return NoApproval(subject=subject, code="absent", says=sentence("absent"))
        if approval is None or approval.merge != changes[0] or not self._holds(approval):
            return NoApproval(subject=subject, code="not-recorded", says=sentence("not-recorded"))
        return approval

    def _events(self, tips: Tips, subject: Subject) -> Iterator[Event]:
        parts = subject.path.split("/")
        if tips.state and len(parts) > 2:
            for events in self._reads.ledger(tips.state, parts[1]).values():
                yield from events

    def _holds(self, approval: Approval) -> bool:
        data = self._git.blob_at(approval.merge, approval.subject.path)
        try:
            return data is not None and self._payload_of(approval.subject.path, data)[0] == approval.subject.payload
        except Refusal:
            return False

    def open_requests(self, tips: Tips) -> tuple[OpenRequest, ...]:
        """The requests that the last look at the host showed open, and whose heads are not on the default branch."""
        waiting = [(n, head) for n, head in sorted(tips.requests.items()) if not self._git.is_ancestor(head, tips.default)]
        return tuple(OpenRequest(number=number, head=head, paths=self._paths(tips, head)) for number, head in waiting)

    def _paths(self, tips: Tips, head: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(incoming(self._git, self._trees, tips.default, head).files))
        except Unproven:
            return ()


def _is_about(event: Event, subject: Subject) -> bool:
    fields = event.fields
    gate = "/gates/" in subject.path
    return (fields["path"], fields["payload"]) == (subject.path, subject.payload) and (
        gate or fields["revision"] == subject.revision
    )


def _approval(event: Event, subject: Subject) -> Approval:
    fields = event.fields
    return Approval(
        subject=subject, by=tuple(fields["by"]), merged_at=parse_instant(fields["merged_at"]), merge=fields["merge"],
        request=fields["request"], evidence=fields["evidence"],
    )  # fmt: skip
