"""Judging one commit of the default branch: does the pull request that made it prove that a file's payload was approved?

Rules (each failure has a code of its own, see ``reasons.py``):
* ``github_landings.py``: one merged request made the commit, and the host's record shows that merge;
* the payload is computed again from the file at the commit, and its bytes are those at the request's head;
* nothing came with the merge that the request does not show, in the end or in between;
* ``rules`` are those in force at the commit's first parent, so that a request cannot bring its own approver;
* ``github_people.py``: enough people approved what was merged, after it was pushed and before it was merged;
* a merge that passed the branch's rules by, or went in against publisher's own failing check, approves nothing;
* the evidence names what cannot change any more, so that deriving it again gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from publisher.domain.approval import Approval, ApprovalRules, Subject
from publisher.domain.business_calendar import in_utc
from publisher.domain.fingerprint import digest, short
from publisher.errors import Refusal
from publisher.forge.github_facts import Changed
from publisher.forge.github_landings import Landing, Landings
from publisher.forge.github_people import Given, People, Request
from publisher.forge.github_reads import SUITES_REACH, GithubReads
from publisher.forge.merges import CLOCKS_APART, PayloadOf
from publisher.forge.reasons import Unproven
from publisher.forge.tree_changes import Entry, Trees
from publisher.ports import CommitFacts, GitReads

CHECK = "publisher/payload"
"""The commit status that publisher's own workflow gives to a request's head."""
NEW_BYTES = ("added", "modified", "changed")
"""What a request may do to a file that it proposes. A renamed plan carries an approved payload to another date."""


class GithubJudge:
    """Judges commits against rules that the caller found in force before them."""

    def __init__(
        self,
        git: GitReads,
        trees: Trees,
        reads: GithubReads,
        landings: Landings,
        *,
        branch: str,
        payload_of: PayloadOf,
        clock: Callable[[], datetime],
    ) -> None:
        self._git = git
        self._trees = trees
        self._reads = reads
        self._landings = landings
        self._people = People(reads)
        self._ref = f"refs/heads/{branch}"
        self._payload_of = payload_of
        self._clock = clock

    def judge(self, oid: str, subject: Subject, rules: ApprovalRules) -> Approval:
        """The approval that a commit proves for ``subject``. Raises ``Unproven``."""
        commit = self._git.commit(oid)
        entry = self._trees.entry(oid, subject.path)
        if entry is None:
            raise Unproven("deleted")
        self._check_payload(entry, subject)
        landing = self._landings.of(commit, subject.path)
        self._check_time(landing)
        self._check_rules_and_checks(landing)
        files = self._files(landing)
        self._check_file(landing, subject.path, entry, files)
        self._check_nothing_else(landing, commit, files)
        request = self._people.request(landing, self._reads.commits(landing.pull.number))
        given = self._people.approvals(request, subject, rules)
        return Approval(
            subject=subject, by=tuple(sorted(one.by.login for one in given)), merged_at=landing.merged_at, merge=oid,
            request=landing.pull.number, evidence=_evidence(landing, commit, request, given, rules),
        )  # fmt: skip

    def _check_payload(self, entry: Entry, subject: Subject) -> None:
        if not entry.is_plain:
            raise Unproven("not-a-plain-file")
        try:
            payload, revision = self._payload_of(subject.path, self._git.blobs([entry.oid])[entry.oid])
        except Refusal:
            raise Unproven("payload-unreadable") from None
        if (payload, revision) != (subject.payload, subject.revision):
            raise Unproven("payload-differs", f"merged {short(payload)}, asked {short(subject.payload)}")

    def _check_time(self, landing: Landing) -> None:
        if landing.merged_at > self._clock() + CLOCKS_APART:
            raise Unproven("merged-in-the-future", in_utc(landing.merged_at))

    def _check_rules_and_checks(self, landing: Landing) -> None:
        recent = self._clock() - landing.merged_at <= SUITES_REACH
        if recent and landing.movement.after in self._reads.bypasses(self._ref):
            raise Unproven("rule-bypassed", str(landing.pull.number))
        if any(at <= landing.merged_at for at in self._reads.refusals(landing.pull.head, CHECK)):
            raise Unproven("check-failed", str(landing.pull.number))

    # --- what was merged ---------------------------------------------------------------------------------------------------

    def _files(self, landing: Landing) -> Mapping[str, Changed]:
        """The request's files by path, all of them, and nothing less than all of its commits."""
        pull = landing.pull
        files, commits = self._reads.files(pull.number), self._reads.commits(pull.number)
        if (len(files), len(commits)) != (pull.changed_files, pull.commits):
            raise Unproven("request-too-large", str(pull.number))
        return {item.path: item for item in files}

    def _check_file(self, landing: Landing, path: str, entry: Entry, files: Mapping[str, Changed]) -> None:
        own = files.get(path)
        if own is None:
            raise Unproven("evil-merge", path)
        if own.status not in NEW_BYTES:
            raise Unproven("renamed-in-request", path)
        head = landing.pull.head
        here = self._trees.entry(head, path) if self._git.resolve(head) == head else entry
        if own.blob != entry.oid or here != entry:
            raise Unproven("merge-differs", path)

    def _check_nothing_else(self, landing: Landing, commit: CommitFacts, files: Mapping[str, Changed]) -> None:
        shown = {name for item in files.values() for name in (item.path, item.before)}
        if landing.shape == "rebase":
            self._require_shown(landing.commits, shown, "hidden-change")
            return
        for path in self._trees.changes(commit.parents[0], commit.oid):
            if path not in shown:
                raise Unproven("evil-merge", path)
        if landing.shape == "merge":
            self._require_shown(self._git.commits([commit.parents[1]], [commit.parents[0]]), shown, "hidden-change")

    def _require_shown(self, commits: Sequence[CommitFacts], shown: set[str], code: str) -> None:
        """Refuses what one commit brings and a later one takes away: nobody was shown it, and it stays in the history."""
        for commit in commits:
            for path in self._own_changes(commit):
                if path not in shown:
                    raise Unproven(code, path)

    def _own_changes(self, commit: CommitFacts) -> set[str]:
        """The files that differ from every parent: what a merge inside a request ("Update branch") adds by itself."""
        sides = [set(self._trees.changes(parent, commit.oid)) for parent in commit.parents]
        return set.intersection(*sides) if sides else set()


def _evidence(
    landing: Landing, commit: CommitFacts, request: Request, given: Sequence[Given], rules: ApprovalRules
) -> dict[str, Any]:
    moved, landed = request.moved, landing.movement
    return {
        "merge": commit.oid,
        "head": landing.pull.head,
        "request": landing.pull.number,
        "rules": rules.commit,
        "method": landing.shape,
        "landed": {"entry": landed.id, "kind": landed.kind, "after": landed.after, "at": in_utc(landed.at)},
        "pushed": {"entry": moved.entry, "at": in_utc(moved.at)} if moved else {},
        "reviews": [_review(one) for one in sorted(given, key=lambda one: one.review.id)],
    }


def _review(given: Given) -> dict[str, Any]:
    """A review as it counted. Its text may be edited later, so only one that is evidence itself is named by its digest."""
    said = {"review": given.review.id, "by": given.by.id, "login": given.by.login, "at": in_utc(given.at), "bound": given.bound}
    return said | ({"text": digest(given.review.body.encode())} if given.bound == "content" else {})
