"""Judging one merge on the default branch: does it prove that a file's payload was approved?

Rules (each failure has a code of its own, see ``reasons.py``):
* the merge has two parents, and changes exactly what the request changes, nothing more and nothing less;
* the payload is computed again from the merged blob;
* ``rules`` are those in force at the merge's first parent, so that a request cannot bring its own approver;
* every commit it brings is signed by its author; the merge is signed by an approver;
* the approver's statement names this instance, branch, path, revision, payload and request, at a time that fits;
* whoever wrote or signed a commit of the request cannot approve it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from publisher.domain.approval import Approval, ApprovalRules, Subject
from publisher.domain.business_calendar import in_utc, parse_instant
from publisher.domain.fingerprint import short
from publisher.errors import Refusal
from publisher.forge.incoming import RULES_PATH, Incoming, incoming, names_in, signer_of, signers_of
from publisher.forge.reasons import Unproven
from publisher.forge.statements import APPROVE, Signed, approver_of, statements_in
from publisher.forge.tree_changes import Entry, Trees
from publisher.ports import CommitFacts, GitReads

PayloadOf = Callable[[str, bytes], tuple[str, int]]
"""(repository path, bytes) → (payload hash, revision); raises a ``Refusal`` for a file that cannot be read."""

CLOCKS_APART = timedelta(minutes=2)
"""How far two honest machines' clocks may differ (DESIGN.md, 5)."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where statements must be made for: this instance's id and its default branch's name."""

    instance: str
    branch: str


@dataclass(frozen=True, kw_only=True)
class Merged:
    """A merge whose shape and signatures hold: the request it merged, who signed what, and its statements."""

    commit: CommitFacts
    request: Incoming
    signers: tuple[str, ...]
    statements: tuple[Signed, ...]


class MergeJudge:
    """Judges merges against rules that the caller found in force at the merge's first parent."""

    def __init__(self, git: GitReads, trees: Trees, place: Place, payload_of: PayloadOf, clock: Callable[[], datetime]) -> None:
        self._git = git
        self._trees = trees
        self._place = place
        self._payload_of = payload_of
        self._clock = clock
        self._merged: dict[str, Merged] = {}

    def judge(self, oid: str, subject: Subject, rules: ApprovalRules) -> Approval:
        """The approval that a merge proves for ``subject``. Raises ``Unproven``."""
        commit = self._git.commit(oid)
        entry = self._trees.entry(oid, subject.path)
        if entry is None:
            raise Unproven("deleted")
        self._require_merge(commit, subject.path)
        self._check_payload(entry, subject)
        merged = self._look(commit, subject.path, rules)
        given = self._approvers(merged, subject, rules)
        self._check_people(merged, tuple(given), rules)
        return _approval(merged, subject, given, rules)

    def _require_merge(self, commit: CommitFacts, path: str) -> None:
        if len(commit.parents) > 2:
            raise Unproven("octopus-merge", commit.oid[:12])
        if len(commit.parents) < 2:
            raise Unproven(self._direct_push(commit, path), commit.oid[:12])

    def _direct_push(self, commit: CommitFacts, path: str) -> str:
        if _carries_statements(commit):
            return "statement-without-merge"
        if not commit.parents:
            return "no-request"
        parent = commit.parents[0]
        if self._trees.entry(parent, path) is not None:
            return "edited-without-request"
        return "restored-without-request" if self._git.first_parent_changes(parent, path) else "no-request"

    def _check_payload(self, entry: Entry, subject: Subject) -> None:
        if not entry.is_plain:
            raise Unproven("not-a-plain-file")
        try:
            payload, revision = self._payload_of(subject.path, self._git.blobs([entry.oid])[entry.oid])
        except Refusal:
            raise Unproven("payload-unreadable") from None
        if (payload, revision) != (subject.payload, subject.revision):
            raise Unproven("payload-differs", f"merged {short(payload)}, asked {short(subject.payload)}")

    def _look(self, commit: CommitFacts, path: str, rules: ApprovalRules) -> Merged:
        """What holds for the merge as a whole; the same for every file of it, so it is looked at once."""
        if commit.oid not in self._merged:
            request = incoming(self._git, self._trees, commit.parents[0], commit.parents[1])
            self._check_tree(commit, request, path)
            signers = signers_of(self._git, request.commits, rules)
            self._merged[commit.oid] = Merged(
                commit=commit, request=request, signers=signers, statements=statements_in(commit.message)
            )
        return self._merged[commit.oid]

    def _check_tree(self, commit: CommitFacts, request: Incoming, path: str) -> None:
        first = commit.parents[0]
        changed = self._trees.changes(first, commit.oid)
        if path in request.files and changed.get(path) != request.files[path]:
            raise Unproven("merge-differs", path)
        for other, entry in changed.items():
            if request.files.get(other) != entry:
                raise Unproven("evil-merge", other)
        for other, wanted in request.files.items():
            if other not in changed and self._trees.entry(first, other) != wanted:
                raise Unproven("evil-merge", other)

    def _approvers(self, merged: Merged, subject: Subject, rules: ApprovalRules) -> dict[str, Signed]:
        """Principal → statement, for every statement about the subject's path. One bad statement spoils the merge."""
        if not merged.statements:
            raise Unproven("no-statement")
        own = [signed for signed in merged.statements if signed.statement.path == subject.path]
        if not own:
            raise Unproven("other-path")
        given: dict[str, Signed] = {}
        for signed in own:
            try:
                principal = self.approver(signed, subject, rules, merged.commit.parents[0])
            except Unproven as problem:
                brings_rules = problem.code == "unknown-key" and RULES_PATH in merged.request.files
                raise (Unproven("key-not-yet-trusted") if brings_rules else problem) from None
            given[principal] = signed
            if time_of(signed) > merged.commit.committer_at + CLOCKS_APART:
                raise Unproven("after-its-merge")
        if len({signed.statement.request for signed in merged.statements}) != 1:
            raise Unproven("other-request", "several numbers")
        return given

    def approver(self, signed: Signed, subject: Subject, rules: ApprovalRules, target: str) -> str:
        """Who approves ``subject`` by a statement, for merging onto ``target``. Raises ``Unproven``."""
        principal = approver_of(self._git, signed, rules)
        self.check_fields(signed, subject, APPROVE)
        earlier = self._git.first_parent_changes(target, subject.path)
        # What a later change spent does not come back to life by carrying the old signature into another merge.
        if earlier and time_of(signed) < self._git.commit(earlier[0]).committer_at - CLOCKS_APART:
            raise Unproven("spent-statement")
        return principal

    def check_fields(self, signed: Signed, subject: Subject, decision: str) -> None:
        """That a statement is about exactly ``subject``, here, and not from the future. Raises ``Unproven``."""
        said = signed.statement
        if said.decision != decision:
            raise Unproven("not-an-approval")
        if said.instance != self._place.instance:
            raise Unproven("other-instance")
        if said.branch != self._place.branch:
            raise Unproven("other-branch", said.branch)
        if said.path != subject.path:
            raise Unproven("other-path")
        if said.revision != subject.revision:
            raise Unproven("other-revision", f"{said.revision}, not {subject.revision}")
        if said.payload != subject.payload:
            raise Unproven("other-payload", f"{short(said.payload)}, not {short(subject.payload)}")
        if said.request < 1:
            raise Unproven("other-request")
        if time_of(signed) > self._clock() + CLOCKS_APART:
            raise Unproven("from-the-future")

    def _check_people(self, merged: Merged, approvers: Sequence[str], rules: ApprovalRules) -> None:
        writers = {*merged.signers, *names_in(merged.request.commits)}
        for approver in approvers:
            if approver in writers:
                before_last = {*merged.signers[:-1], *names_in(merged.request.commits[:-1])}
                pushed_only = len(merged.signers) > 1 and approver not in before_last
                raise Unproven("last-pusher" if pushed_only else "own-approval", approver)
        try:
            merger = signer_of(self._git, merged.commit, rules)
        except Unproven as problem:
            raise Unproven("author-not-signer" if problem.code == "author-not-signer" else "unsigned-merge") from None
        if merger not in approvers:
            raise Unproven("merge-not-by-approver", merger)
        if len(set(approvers)) < rules.count:
            raise Unproven("too-few", f"{len(set(approvers))} of {rules.count}")


def _carries_statements(commit: CommitFacts) -> bool:
    try:
        return bool(statements_in(commit.message))
    except Unproven:
        return True


def time_of(signed: Signed) -> datetime:
    """When a statement says it was signed. ``Unproven`` for anything but UTC as the ledger writes it."""
    try:
        at = parse_instant(signed.statement.time)
        if in_utc(at) != signed.statement.time:
            raise ValueError("not in UTC")
    except ValueError:
        raise Unproven("bad-time") from None
    return at


def _approval(merged: Merged, subject: Subject, given: dict[str, Signed], rules: ApprovalRules) -> Approval:
    by = tuple(sorted(given))
    first = given[by[0]].statement
    evidence: dict[str, Any] = {
        "merge": merged.commit.oid,
        "head": merged.request.head,
        "request": first.request,
        "rules": rules.commit,
        "signers": sorted(set(merged.signers)),
        "statements": [given[name].statement.as_data() for name in by],
        "signatures": [given[name].signature_digest for name in by],
    }
    return Approval(
        subject=subject, by=by, merged_at=max(time_of(given[name]) for name in by), merge=merged.commit.oid,
        request=first.request, evidence=evidence,
    )  # fmt: skip
