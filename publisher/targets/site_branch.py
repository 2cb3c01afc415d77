"""A branch that holds a site: read from a remote, judged by its blobs, extended by one commit at a time.

Rules:
* what is live is recomputed from the blobs of the remote's tip, the claim file aside; a commit message is never evidence;
* only plain files (mode 100644) may stand there; anything else was not put there by publisher and stops;
* the branch has a lineage of its own, starting without a parent, so that no private history hangs on it;
* before a push, what it would send is listed and compared: the release's files and the claim file, and nothing else;
* the answer of a push is never believed; the remote is read afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from publisher.domain.article import CLAIM_PATH
from publisher.domain.fingerprint import digest
from publisher.errors import ComeBackLater, InputProblem, Refusal, StoppedForSafety
from publisher.ports import GitWrites, Live
from publisher.targets.claim_file import ClaimFile, read_claim
from publisher.targets.release_bytes import live_release

PLAIN_FILE = "100644"
AUTHOR, EMAIL = "publisher", "publisher@localhost"
BATCH = 200
"""How many blobs are read at a time: a site's whole content need not be in memory."""


@dataclass(frozen=True, kw_only=True)
class BranchState:
    """The remote's branch when it was read. ``tip`` "" means that it does not exist."""

    tip: str
    live: Live


class SiteBranch:
    """``ref`` of the repository at ``remote``, through the local clone's object store."""

    def __init__(self, git: GitWrites, *, remote: str, ref: str, site: str) -> None:
        self._git = git
        self._remote = remote
        self._ref = ref
        self._site = site
        # Two branches of one site (staging, production) must not overwrite what the other has just fetched.
        place = hashlib.sha256(f"{remote}\n{ref}".encode()).hexdigest()[:12]
        self._seen = f"refs/publisher/targets/{site}/{place}"
        self._digests: dict[str, str] = {}

    # --- reading ------------------------------------------------------------------------------------------------------

    def tip(self) -> str:
        """The remote's commit now, "" without the branch."""
        return self._git.remote_refs(self._remote, [self._ref]).get(self._ref, "")

    def read(self) -> BranchState:
        """Fetches the branch and recomputes what is live on it."""
        tip = self.tip()
        if not tip:
            return BranchState(tip="", live=Live(release="", fence=None))
        self._git.fetch(self._remote, [f"+{self._ref}:{self._seen}"])
        if not self._git.resolve(tip):  # the ref here is no evidence: it may not have been moved
            raise ComeBackLater(
                "target-busy", f"the site branch of {self._site} moved away while it was read", next="publisher run"
            )
        return BranchState(tip=tip, live=self.live_at(tip))

    def live_at(self, commit: str) -> Live:
        """What a commit of the branch holds. ``StoppedForSafety`` for anything that publisher does not put there."""
        files = self._files(commit)
        digests = self.digests(files.values())
        claim_id = files.get(CLAIM_PATH)
        claim = read_claim(self._git.blobs([claim_id])[claim_id], site=self._site) if claim_id else None
        return Live(
            release=live_release({path: digests[oid] for path, oid in files.items()}),
            fence=claim.fence if claim else None,
            base=claim.base if claim else "",
        )

    def _files(self, commit: str) -> dict[str, str]:
        try:
            entries = self._git.tree(commit, "")
        except InputProblem:  # a path that is no text
            raise self._foreign("a path on it is not UTF-8 text") from None
        for entry in entries:
            if entry.mode != PLAIN_FILE:
                raise self._foreign(f"{entry.path!a} is not a plain file")
        return {entry.path: entry.oid for entry in entries}

    def digests(self, oids: Iterable[str]) -> dict[str, str]:
        """The digest of each blob's bytes, by id. Ids name their bytes for ever, so each blob is read once."""
        wanted = list(dict.fromkeys(oids))
        missing = [oid for oid in wanted if oid not in self._digests]
        for start in range(0, len(missing), BATCH):
            blobs = self._git.blobs(missing[start : start + BATCH])
            self._digests.update({oid: digest(data) for oid, data in blobs.items()})
        return {oid: self._digests[oid] for oid in wanted}

    def _foreign(self, reason: str) -> StoppedForSafety:
        return StoppedForSafety(
            "target-foreign",
            f"the site branch of {self._site} was not left like this by publisher, and stays as it is: {reason}",
            next="publisher reconcile",
        )  # fmt: skip

    # --- extending ----------------------------------------------------------------------------------------------------

    def tree_of(self, commit: str) -> str:
        """The tree of a commit; an empty tree for ""."""
        return self._git.commit(commit).tree if commit else self._git.compose_tree({})

    def extend(self, parent: str, *, tree: str, claim: ClaimFile, message: str, at: datetime, sends: Collection[str]) -> str:
        """A commit of ``tree`` and the claim file on top of ``parent`` ("" starts the lineage); objects only.

        ``sends`` are the digests of the files that may leave with it, the claim file aside; refusals: ``release-differs``
        when the commit does not hold what was meant, ``foreign-objects`` when more than that would be sent.
        """
        data = claim.as_bytes()
        commit = self._git.compose(
            parents=[parent] if parent else [], base_tree=tree, changes={CLAIM_PATH: data}, message=message,
            author=AUTHOR, email=EMAIL, at=at,
        )  # fmt: skip
        if self.live_at(commit) != Live(release=claim.release, fence=claim.fence, base=claim.base):
            raise StoppedForSafety(
                "release-differs", f"the commit made for {self._site} does not hold the release; nothing was pushed",
                next="git fsck, then: publisher run",
            )  # fmt: skip
        self._require_only(commit, parent, {*sends, digest(data)})
        return commit

    def _require_only(self, commit: str, parent: str, sends: Collection[str]) -> None:
        """Refuses a push that would send another commit, or a file that is not meant to leave."""
        known = [parent] if parent else []
        new_commits = self._git.commits([commit], known)
        one = len(new_commits) == 1 and new_commits[0].oid == commit and list(new_commits[0].parents) == known
        new_files = self.digests(oid for oid, _ in self._git.new_objects(commit, known)) if one else {}
        if not one or not set(new_files.values()) <= set(sends):
            raise StoppedForSafety(
                "foreign-objects",
                f"a push to the site branch of {self._site} would send more than the release and its claim file; "
                "it was not made, because private text could leave with it",
                next="publisher audit",
            )

    def push(self, commit: str, *, expected: str) -> Refusal | None:
        """Asks the remote to move from exactly ``expected``. What became of it only a read of the remote tells.

        The return is why the push could not be tried, for a read that shows that nothing moved.
        """
        try:
            self._git.push(self._remote, [(commit, self._ref, expected)])
        except Refusal as problem:
            return problem
        return None
