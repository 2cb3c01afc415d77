"""Approvals: who approved which payload hash, by which merged request, until when.

Rules:
* an approval names exactly one payload of one file in one instance; anything else is another approval;
* the approver is not the author, not the last pusher, not a bot; identity comes from verified evidence, never from text that
  an author controls;
* it is usable from the later of the merge and ``publish_at``, for ``expires_after`` (24 hours), and may have been given at most
  ``max_lead`` (14 days) before ``publish_at``;
* absent, unreadable and refused are three answers, and none of them is an approval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from publisher.domain.fingerprint import canonical_json

CALENDAR_END = datetime(9999, 12, 31, tzinfo=UTC)
NAMESPACE = "publisher-approval"
"""The SSH signature namespace of approvals; a signer line must permit it, and a commit's namespace is another."""


@dataclass(frozen=True, kw_only=True)
class Signer:
    """A person or a bot of forge ``git``. Only those that may ``approve`` count as reviewers."""

    principal: str
    key: str
    may_commit: bool
    may_approve: bool


@dataclass(frozen=True, kw_only=True)
class Approver:
    """A person of forge ``github`` who may approve. ``id`` is the account's number, which a renamed or re-registered login
    does not have; ``login`` is what people read."""

    login: str
    id: int


@dataclass(frozen=True, kw_only=True)
class ApprovalRules:
    """``approval.yaml`` in force. ``commit`` is where this version was read; ``ignored`` names later unapproved changes."""

    count: int = 1
    expires_after: timedelta = timedelta(hours=24)
    max_lead: timedelta = timedelta(days=14)
    content: str = "plan"
    signers: tuple[Signer, ...] = ()
    approvers: tuple[Approver, ...] = ()
    commit: str = ""
    root: str = ""
    ignored: tuple[str, ...] = ()

    def allowed(self, namespace: str) -> str:
        """The allowed-signers file (ssh-keygen(1)) for one namespace: commits ("git") or approvals."""
        chosen = [s for s in self.signers if (s.may_approve if namespace == NAMESPACE else s.may_commit)]
        return "".join(f'{s.principal} namespaces="{namespace}" {s.key}\n' for s in chosen)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What an approval is asked for: one file of the repository at one payload. ``path`` includes the ending."""

    path: str
    payload: str
    revision: int = 1


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What an approver of forge ``git`` signs, over canonical JSON."""

    instance: str
    branch: str
    path: str
    payload: str
    revision: int
    request: int
    time: str
    decision: str

    def signed_bytes(self) -> bytes:
        return canonical_json({"schema": "publisher.approval/1", **self.as_data()})

    def as_data(self) -> dict[str, Any]:
        return {
            "instance": self.instance, "branch": self.branch, "path": self.path, "payload": self.payload,
            "revision": self.revision, "request": self.request, "time": self.time, "decision": self.decision,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Approval:
    """An approval whose evidence was verified. ``merge`` is the default-branch commit whose tree holds the approved bytes."""

    subject: Subject
    by: tuple[str, ...]
    merged_at: datetime
    merge: str
    request: int
    evidence: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """A close by someone entitled: final for this payload."""

    subject: Subject
    by: str
    merge: str
    request: int


@dataclass(frozen=True, kw_only=True)
class NoApproval:
    """No approval, with a stable reason code (``absent`` while nobody has decided) and a sentence."""

    subject: Subject
    code: str
    says: str = ""

    @property
    def absent(self) -> bool:
        return self.code == "absent"


Verdict = Approval | Rejection | NoApproval


class Standing(StrEnum):
    """How an approval stands at a moment."""

    EARLY = "early"
    """Given, but ``publish_at`` lies ahead."""
    VALID = "valid"
    EXPIRED = "expired"
    TOO_FAR_AHEAD = "too-far-ahead"
    """Given more than ``max_lead`` before ``publish_at``."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """When an approval may be used: from ``opens`` up to, and not including, ``closes``."""

    opens: datetime
    closes: datetime
    too_far_ahead: bool = False

    def standing(self, now: datetime) -> Standing:
        if self.too_far_ahead:
            return Standing.TOO_FAR_AHEAD
        if now < self.opens:
            return Standing.EARLY
        return Standing.VALID if now < self.closes else Standing.EXPIRED


def window(merged_at: datetime, publish_at: datetime, rules: ApprovalRules) -> Window:
    """The validity of an approval given at ``merged_at`` for something due at ``publish_at``."""
    opens = max(merged_at, publish_at)
    # A date at the calendar's end must not stop a run: there, the window closes where the calendar does.
    closes = opens + min(rules.expires_after, CALENDAR_END - opens)
    return Window(opens=opens, closes=closes, too_far_ahead=publish_at - merged_at > rules.max_lead)
