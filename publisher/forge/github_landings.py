"""How a commit came onto the default branch: by which pull request, and by which movement in the host's own record.

Rules:
* exactly one merged pull request of this repository, into the default branch, must have made the commit: as its merge commit,
  or, rebased, as one of its commits that end there;
* "merged" proves nothing by itself: GitHub says it of any request whose head somebody pushed. The record of pushes must show a
  merge (``pr_merge``, ``merge_queue_merge``) that brought this commit;
* once it is there, no forced push may have taken it away: what comes back by force was spent;
* both records are written a little after the branch moves, so a fresh commit is asked about again before anything is concluded,
  and then "come back later" is said, not "refused".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile

from publisher.errors import ComeBackLater
from publisher.forge.github_facts import Listed, Movement, Pull
from publisher.forge.github_reads import GithubReads
from publisher.forge.merges import CLOCKS_APART
from publisher.forge.reasons import Unproven
from publisher.forge.tree_changes import Trees
from publisher.ports import CommitFacts, GitReads

MERGES = ("pr_merge", "merge_queue_merge")
LAG = timedelta(minutes=10)
"""How long GitHub's indexes may lag behind a push."""
TRIES, PAUSE = 4, 2.0
MOST_PUSHES = 500
MOST_COMMITS = 250
"""GitHub lists no more commits of a request."""


class _Lagging(Exception):
    """Something that may only not be written yet: since when, and what it means when it stays so."""

    def __init__(self, since: datetime, code: str) -> None:
        super().__init__(code)
        self.since = since
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Landing:
    """A pull request that reached the default branch. ``shape`` is ``merge``, ``squash`` or ``rebase``; ``commits`` are the
    commits that it has on the first-parent chain, newest first, as far as they are known."""

    pull: Pull
    movement: Movement
    merged_at: datetime
    shape: str
    commits: tuple[CommitFacts, ...]


class Landings:
    """Answers for one default branch. ``sleep`` waits that many seconds."""

    def __init__(
        self,
        git: GitReads,
        trees: Trees,
        reads: GithubReads,
        branch: str,
        *,
        clock: Callable[[], datetime],
        sleep: Callable[[float], None],
    ) -> None:
        self._git = git
        self._trees = trees
        self._reads = reads
        self._branch = branch
        self._ref = f"refs/heads/{branch}"
        self._clock = clock
        self._sleep = sleep

    def of(self, commit: CommitFacts, path: str) -> Landing:
        """By what ``commit``, which changed ``path``, came onto the branch. Raises ``Unproven``."""
        for tries_left in reversed(range(TRIES)):
            try:
                return self._look(commit, path)
            except _Lagging as lag:
                # A commit's own date may be anything: one from the future would have us come back later for ever.
                if not -CLOCKS_APART <= self._clock() - lag.since <= LAG:
                    raise Unproven(lag.code, commit.oid[:12]) from None
            if tries_left:
                self._sleep(PAUSE)
                self._reads.forget("commits", commit.oid)
                for kind in ("", *MERGES):
                    self._reads.forget("movements", self._ref, kind)
        raise ComeBackLater(
            "host-lags", f"GitHub does not tell yet how {commit.oid[:12]} was merged", next="publisher status --fresh"
        )

    def _look(self, commit: CommitFacts, path: str) -> Landing:
        merged = [one for one in self._reads.pulls_of(commit.oid) if one.merged_at]
        ours = [one for one in merged if (one.base, one.base_repository) == (self._branch, self._reads.repository())]
        fitting = [one for one in ours if self._brings(one, commit.oid)]
        if len(fitting) > 1:
            raise Unproven("ambiguous-request", " and ".join(str(one.number) for one in fitting))
        if not fitting:
            raise self._without_request(commit, path, other_base=len(merged) > len(ours))
        pull = self._reads.pull(fitting[0].number)
        if pull is None or not pull.merged or pull.merged_at is None or pull.draft or pull.base != self._branch:
            raise Unproven("request-not-merged", str(fitting[0].number))
        movement = self._movement(pull, pull.merged_at, commit.oid)
        self._require_never_removed(movement, commit.oid, path)
        shape, commits = self._shape(pull, movement, commit)
        return Landing(pull=pull, movement=movement, merged_at=pull.merged_at, shape=shape, commits=commits)

    # --- the request -----------------------------------------------------------------------------------------------------

    def _brings(self, one: Listed, oid: str) -> bool:
        """Whether a merged request ends at a commit, or, rebased, has it among its commits on the branch."""
        if one.merge_commit == oid:
            return True
        pull = self._reads.pull(one.number)
        return pull is not None and any(commit.oid == oid for commit in self._chain(pull))

    def _chain(self, pull: Pull) -> Iterator[CommitFacts]:
        """As many commits of the first-parent chain as the request has, ending where it was merged."""
        oid = pull.merge_commit
        for _ in range(min(pull.commits, MOST_COMMITS)):
            if not oid or not self._knows(oid):
                return
            commit = self._git.commit(oid)
            yield commit
            oid = next(iter(commit.parents), "")

    def _without_request(self, commit: CommitFacts, path: str, *, other_base: bool) -> Exception:
        found = self._newest(commit.oid)
        if other_base:
            return Unproven("other-base", commit.oid[:12])
        if found is None:
            return _Lagging(commit.committer_at, "movement-unknown")
        if found.kind in MERGES:
            return _Lagging(found.at, "request-not-found")
        return Unproven(self._direct_push(commit, path), commit.oid[:12])

    def _direct_push(self, commit: CommitFacts, path: str) -> str:
        if not commit.parents:
            return "no-request"
        if self._trees.entry(commit.parents[0], path) is not None:
            return "edited-without-request"
        return "restored-without-request" if self._git.first_parent_changes(commit.parents[0], path) else "no-request"

    def _shape(self, pull: Pull, movement: Movement, commit: CommitFacts) -> tuple[str, tuple[CommitFacts, ...]]:
        if not commit.parents:
            raise Unproven("no-request", commit.oid[:12])
        if len(commit.parents) > 2:
            raise Unproven("octopus-merge", commit.oid[:12])
        if len(commit.parents) == 2:
            # In a queue the head may have been merged into a group first; its bytes are compared all the same.
            if movement.kind == "pr_merge" and commit.parents[1] != pull.head:
                raise Unproven("head-not-merged", commit.oid[:12])
            return "merge", (commit,)
        if pull.merge_commit == commit.oid and (movement.kind in MERGES[1:] or movement.before == commit.parents[0]):
            return "squash", (commit,)
        # Commits that had nothing new on this base are left out by a rebase, so there may be fewer than the request has.
        return "rebase", tuple(takewhile(lambda one: one.oid != movement.before, self._chain(pull)))

    # --- the movement ----------------------------------------------------------------------------------------------------

    def _movement(self, pull: Pull, merged_at: datetime, oid: str) -> Movement:
        """The merge in the host's record that brought a commit."""
        for kind in MERGES:
            for movement in self._reads.movements(self._ref, kind):
                if movement.at < merged_at - timedelta(days=1):
                    break
                ends_there = kind != "pr_merge" or movement.after == pull.merge_commit
                if ends_there and self._knows(movement.before) and self._contains(movement, oid):
                    return movement
        pushed = self._newest(oid)
        if pushed:
            raise Unproven("branch-rewritten" if pushed.kind == "force_push" else "indirect-merge", str(pull.number))
        raise _Lagging(merged_at, "movement-unknown")

    def _newest(self, oid: str) -> Movement | None:
        """The newest movement of any kind that brought a commit."""
        movements = islice(self._reads.movements(self._ref), MOST_PUSHES)
        return next((movement for movement in movements if self._contains(movement, oid)), None)

    def _contains(self, movement: Movement, oid: str) -> bool:
        if not self._knows(movement.after) or not self._git.is_ancestor(oid, movement.after):
            return False
        # What a forced push threw away is not in this clone; then it is not known to have been there before.
        return not self._knows(movement.before) or not self._git.is_ancestor(oid, movement.before)

    def _require_never_removed(self, landed: Movement, oid: str, path: str) -> None:
        """That no forced push took the commit away since, nor a later change of the file, which would have withdrawn it."""
        for movement in self._reads.movements(self._ref, "force_push"):
            if movement.at < landed.at:
                return
            kept = self._knows(movement.after) and self._git.is_ancestor(oid, movement.after)
            if not kept or not self._held(movement.before, oid, path) or not self._held(movement.after, oid, path):
                raise Unproven("branch-rewritten", oid[:12])

    def _held(self, tip: str, oid: str, path: str) -> bool:
        """Whether a commit still was the newest change of the file at a tip, which this clone may not have any more."""
        if self._knows(tip):
            return self._git.first_parent_changes(tip, path) == (oid,)
        entry = self._trees.entry(oid, path)
        return entry is not None and self._reads.blob_at(tip, path) == entry.oid

    def _knows(self, oid: str) -> bool:
        return self._git.resolve(oid) == oid
