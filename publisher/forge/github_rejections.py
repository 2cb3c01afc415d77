"""Rejections at GitHub: an open request that somebody entitled closed without merging it.

Rules:
* a close is a rejection when it is by a person whom ``approval.yaml`` lists, by number and login, who may write, and who did
  not open the request: whoever closes their own request withdraws it;
* it is final for every payload that the head carried, however often that is proposed again, until somebody who may decide reopens
  the request: an author who reopens and closes it again undoes nobody's decision;
* only requests from this repository's own branches count: anybody may open one from a fork with a copy of a plan, and closing
  that says nothing about the plan;
* any other close decides nothing.
"""

from __future__ import annotations

from publisher.domain.approval import ApprovalRules, Rejection, Subject
from publisher.errors import Refusal
from publisher.forge.github_facts import Account, Changed, Listed
from publisher.forge.github_people import MAY_WRITE
from publisher.forge.github_reads import GithubReads
from publisher.forge.merges import PayloadOf
from publisher.ports import GitReads


class Rejections:
    """Finds the rejection of one payload of one file."""

    def __init__(self, git: GitReads, reads: GithubReads, *, branch: str, payload_of: PayloadOf) -> None:
        self._git = git
        self._reads = reads
        self._branch = branch
        self._payload_of = payload_of
        self._payloads: dict[tuple[str, str], str] = {}

    def of(self, subject: Subject, rules: ApprovalRules) -> Rejection | None:
        """The newest rejection of exactly ``subject``, or None."""
        for pull in self._reads.closed(self._branch):
            if pull.merged_at is None and pull.head_repository == self._reads.repository() == pull.base_repository:
                file = next((item for item in self._reads.files(pull.number) if item.path == subject.path), None)
                if file and self._payload(file) == subject.payload:
                    by = self._closer(pull, rules)
                    if by:
                        return Rejection(subject=subject, by=by.login, merge=pull.head, request=pull.number)
        return None

    def _payload(self, file: Changed) -> str:
        """The payload of a file as a request's head has it; "" where it has none."""
        key = (file.path, file.blob)
        if file.status == "removed" or not file.blob:
            return ""
        if key not in self._payloads:
            data = self._reads.blob(file.blob)
            try:
                self._payloads[key] = self._payload_of(file.path, data)[0] if data is not None else ""
            except Refusal:
                self._payloads[key] = ""
        return self._payloads[key]

    def _closer(self, pull: Listed, rules: ApprovalRules) -> Account | None:
        """Whose close of a request stands, if somebody closed it who may decide it."""
        standing: Account | None = None
        for item in self._reads.timeline(pull.number):
            if item.kind in ("closed", "reopened") and item.by and self._may_decide(item.by, pull, rules):
                standing = item.by if item.kind == "closed" else None
        return standing

    def _may_decide(self, by: Account, pull: Listed, rules: ApprovalRules) -> bool:
        if not by.is_person or (pull.author and by.id == pull.author.id):
            return False
        if not any((one.id, one.login.casefold()) == (by.id, by.login.casefold()) for one in rules.approvers):
            return False
        account, may = self._reads.permission(by.login)
        return account == by.id and may in MAY_WRITE
