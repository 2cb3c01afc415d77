"""Pull requests: opened, followed as their branches move, merged, and found again by commit.

Rules:
* ``refs/pull/N/head`` follows an open request's head and stays when its branch is gone; ``refs/pull/N/merge`` is a test merge,
  which ``merge_commit_sha`` names until the request is merged;
* merged requests say in ``merge_commit_sha`` what their base became: the merge commit, the squashed commit, the last rebased one;
* the merge queue lands several requests in one push by its own bot; that bot is then ``merged_by``;
* an indirect merge: whoever makes an open request's head reachable from its base by any push marks it merged, whatever the rules;
* ``commits/{sha}/pulls`` lists the merged requests that brought a commit, open ones only for commits that are not on the default
  branch; there can be several; the index may lag behind;
* deleting the head's branch closes the request; a force-push to a closed one forbids to reopen it (422).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.support.github import merging
from tests.support.github.accounts import Account
from tests.support.github.answers import ApiError, invalid, not_found
from tests.support.github.git import ZERO

if TYPE_CHECKING:
    from tests.support.github.reviews import Review
    from tests.support.github.simulator import Simulator


@dataclass(eq=False, kw_only=True)
class Pull:
    """``fork``: whose fork the head is in, None for this repository. ``introduced``: the commits that its merge brought."""

    number: int
    title: str
    body: str
    user: Account
    head: str
    base: str
    head_sha: str
    base_sha: str
    created_at: datetime
    updated_at: datetime
    last_pusher: Account
    fork: Account | None = None
    draft: bool = False
    state: str = "open"
    closed_at: datetime | None = None
    merged_at: datetime | None = None
    merged_by: Account | None = None
    merge_commit_sha: str = ""
    test_merge: str = ""
    tested: tuple[str, str] = ("", "")
    reviews: list[Review] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    introduced: set[str] = field(default_factory=set)
    old_heads: list[str] = field(default_factory=list)
    final: tuple[str, list[str]] | None = None
    broken: bool = False

    @property
    def ref(self) -> str:
        return f"refs/forks/{self.fork.login}/heads/{self.head}" if self.fork else f"refs/heads/{self.head}"


class Pulls:
    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.all: list[Pull] = []
        self.made_here: set[str] = set()
        self._counted: dict[tuple[str, str], dict[str, int]] = {}

    def numbered(self, number: int) -> Pull:
        found = [one for one in self.all if one.number == number]
        if not found:
            raise not_found()
        return found[0]

    # --- by people ----------------------------------------------------------------------------------------------------------

    def open(self, account: Account, head: str, base: str = "", title: str = "", body: str = "", draft: bool = False) -> int:
        """``head``: a branch, or ``login:branch`` of a fork. Returns the number."""
        sim = self.sim
        with sim.lock:
            sim.activity.catch_up()
            whose, _, branch = head.rpartition(":")
            fork = sim.accounts.named(whose) if whose not in ("", sim.owner) else None
            base = base or sim.default
            self._may_open(account, fork)
            pull = Pull(
                number=0, title=title or branch, body=body, user=account, head=branch, base=base, head_sha="", fork=fork,
                base_sha=sim.git.branch(base), created_at=sim.now, updated_at=sim.now, draft=draft, last_pusher=account,
            )  # fmt: skip
            pull.head_sha = sim.git.resolved(pull.ref)
            self._can_open(pull)
            pull.number = sim.issues.next_number()
            self.all.append(pull)
            self._committed(pull, ())
            self._followed(pull)
            sim.workflows.pull_request(pull, account, "opened")
            return pull.number

    def _may_open(self, account: Account, fork: Account | None) -> None:
        sim = self.sim
        if account.kind == "actions" and sim.models("actions-may-not-open") and not sim.actions_may_create_pull_requests:
            raise ApiError(403, "GitHub Actions is not permitted to create or approve pull requests.")
        area = "contents" if account.kind == "user" and fork is None else "participate" if fork else "pull_requests"
        if not account.may(area, "write", public=not sim.private):
            raise ApiError(403, "Resource not accessible by integration") if account.is_bot else not_found()

    def _can_open(self, pull: Pull) -> None:
        git = self.sim.git
        if not pull.head_sha:
            raise invalid("PullRequest", "head")
        if not pull.base_sha:
            raise invalid("PullRequest", "base")
        twin = [one for one in self.all if (one.ref, one.base, one.state) == (pull.ref, pull.base, "open")]
        whose = (pull.fork or self.sim.accounts.owner).login
        if twin and self.sim.models("one-open-request-for-a-branch"):
            raise invalid("PullRequest", "head", "custom", f"A pull request already exists for {whose}:{pull.head}.")
        if git.is_ancestor(pull.head_sha, pull.base_sha):
            raise invalid("PullRequest", "base", "custom", f"No commits between {pull.base} and {pull.head}")

    def edit(self, account: Account, number: int, *, title: str | None = None, body: str | None = None, base: str = "") -> None:
        with self.sim.lock:
            pull = self.numbered(number)
            if title is not None and title != pull.title:
                self.sim.issues.note(number, "renamed", account, rename={"from": pull.title, "to": title})
                pull.title = title
            pull.body = pull.body if body is None else body
            if base and base != pull.base:
                pull.base, pull.base_sha = base, self.sim.git.branch(base)
                if not pull.base_sha:
                    raise invalid("PullRequest", "base")
                self.sim.issues.note(number, "base_ref_changed", account)
                self.test(pull)
            pull.updated_at = self.sim.now

    def close(self, account: Account, number: int) -> None:
        with self.sim.lock:
            self._closed(self.numbered(number), account)

    def reopen(self, account: Account, number: int) -> None:
        with self.sim.lock:
            pull = self.numbered(number)
            tip = self.sim.git.resolved(pull.ref)
            if pull.state == "open":
                return
            broken = pull.broken and self.sim.models("forced-heads-cannot-reopen")
            if pull.merged_at or not tip or broken:
                raise invalid("PullRequest", "state", "custom", "state cannot be changed.")
            pull.state, pull.closed_at, pull.updated_at = "open", None, self.sim.now
            self.sim.issues.note(number, "reopened", account)
            if tip != pull.head_sha:
                self._head_moved(pull, tip, account, forced=False)

    def _closed(self, pull: Pull, account: Account, **more: Any) -> None:
        if pull.state == "open":
            pull.state, pull.closed_at, pull.updated_at = "closed", self.sim.now, self.sim.now
            self.sim.issues.note(pull.number, "closed", account, **more)

    # --- merging ------------------------------------------------------------------------------------------------------------

    def merge(
        self, account: Account, number: int | Sequence[int], method: str = "merge", sha: str | None = None, *, message: str = "",
        queue_method: str = "merge",
    ) -> str:  # fmt: skip
        """Returns the commit that the base branch became. ``method="queue"`` takes one number or several, landed in one push."""
        sim = self.sim
        numbers = (number,) if isinstance(number, int) else tuple(number)
        with sim.lock:
            sim.activity.catch_up()
            pulls = [self.numbered(one) for one in numbers]
            queued = method == "queue"
            for pull in pulls:
                self._can_merge(pull, account, queue_method if queued else method, sha)
            results = {sim.protection.allows_merge(pull, account, queued=queued) for pull in pulls}
            base, before = pulls[0].base, sim.git.branch(pulls[0].base)
            assert all(one.base == base for one in pulls) and (queued or len(pulls) == 1)
            tip, landed = before, []
            for pull in pulls:
                made = merging.made(sim, pull, tip, queue_method if queued else method, account, message)
                if not made:
                    raise ApiError(405, "Pull Request is not mergeable")
                landed.append((pull, tip, made))
                tip = made
            actor = sim.accounts.merge_queue if queued and sim.models("the-queue-merges-as-its-bot") else account
            self._land(landed, base, before, tip, actor, "merge_queue_merge" if queued else "pr_merge")
            if results - {""}:
                result = "bypass" if "bypass" in results else "pass"
                sim.protection.note(actor, before, tip, f"refs/heads/{base}", result)
            return tip

    def _can_merge(self, pull: Pull, account: Account, method: str, sha: str | None) -> None:
        sim = self.sim
        if not account.may("contents", "write", public=not sim.private):
            raise ApiError(403, "Resource not accessible by integration") if account.is_bot else not_found()
        if pull.state != "open":
            raise ApiError(405, "Pull Request is not mergeable")
        if pull.draft and sim.models("drafts-cannot-be-merged"):
            raise ApiError(405, "Pull Request is still a draft")
        if method not in sim.settings.merge_methods:
            raise ApiError(405, f"{method.capitalize()} merges are not allowed on this repository.")
        if sha and sha != pull.head_sha and sim.models("merge-compares-the-head"):
            raise ApiError(409, "Head branch was modified. Review and try the merge again.")

    def _land(
        self, landed: Sequence[tuple[Pull, str, str]], base: str, before: str, tip: str, actor: Account, kind: str
    ) -> None:  # fmt: skip
        sim, ref = self.sim, f"refs/heads/{base}"
        if not sim.git.update(ref, tip, before):
            raise ApiError(405, "Base branch was modified. Review and try the merge again.")
        for pull, since, made in landed:
            self._merged(pull, since, made, actor)
            if not sim.models("the-queue-lands-several-in-one-push") and made != tip:
                sim.activity.record(ref, before, made, actor, kind)
                before = made
        sim.activity.record(ref, before, tip, actor, kind)
        for pull, _, _ in landed:
            if sim.settings.delete_branch_on_merge and not pull.fork and sim.git.branch(pull.head):
                sim.activity.moved(pull.ref, pull.head_sha, ZERO, actor)

    def _merged(self, pull: Pull, since: str, made: str, actor: Account) -> None:
        sim = self.sim
        base_commit = sim.git.base_of(since, pull.head_sha)
        pull.final = (base_commit, sim.git.between(base_commit or ZERO, pull.head_sha))
        pull.introduced = set(sim.git.between(since, made))
        pull.merged_at, pull.merged_by = sim.now, actor
        pull.merge_commit_sha = made if sim.models("merge-commit-sha-is-what-the-base-became") else pull.head_sha
        sim.issues.note(pull.number, "merged", actor, commit_id=made, commit_url=f"{sim.repo_url}/commits/{made}")
        self._closed(pull, actor)
        if pull.test_merge:
            sim.git.point(f"refs/pull/{pull.number}/merge", ZERO)

    def update_branch(self, account: Account, number: int, expected: str = "") -> str:
        """ "Update branch": the base merged into the head, as a push by ``account``."""
        sim = self.sim
        with sim.lock:
            pull = self.numbered(number)
            if expected not in ("", pull.head_sha):
                raise ApiError(422, "expected head sha didn’t match current head ref.")
            base, head = sim.git.branch(pull.base), pull.head_sha
            if sim.git.is_ancestor(base, head):
                raise ApiError(422, "There are no new commits on the base branch.")
            tree = sim.git.merged_tree(head, base)
            if not tree:
                raise ApiError(422, "merge conflict between base and head")
            text = f"Merge branch '{pull.base}' into {pull.head}\n"
            made = sim.git.committed(
                tree, (head, base), text, merging.person(account, sim.seconds), merging.web(sim.seconds)
            )  # fmt: skip
            self.made_here.add(made)
            sim.activity.moved(pull.ref, head, made, account)
            return made

    # --- moved branches -----------------------------------------------------------------------------------------------------

    def branch_moved(self, ref: str, before: str, after: str, actor: Account, *, forced: bool) -> None:
        for pull in [one for one in self.all if one.ref == ref]:
            if after == ZERO and not self.sim.models("pull-refs-stay"):
                self.sim.git.point(f"refs/pull/{pull.number}/head", ZERO)
            if pull.state != "open":
                pull.broken = pull.broken or forced or (before == ZERO and after != pull.head_sha)
            elif after == ZERO:
                self.sim.issues.note(pull.number, "head_ref_deleted", actor)
                if self.sim.models("deleting-the-head-closes"):
                    self._closed(pull, actor)
            else:
                self._head_moved(pull, after, actor, forced=forced)
        if after != ZERO and self.sim.models("reachable-heads-are-merged"):
            for pull in [one for one in self.all if f"refs/heads/{one.base}" == ref and one.state == "open"]:
                if self.sim.git.is_ancestor(pull.head_sha, after):
                    self._merged(pull, before, self._reached(before, after, pull.head_sha), actor)

    def _reached(self, before: str, after: str, head: str) -> str:
        """The first commit of the branch's own line that has ``head`` in its history."""
        own_line = self.sim.git.between(before, after, "--first-parent")
        for sha in own_line if self.sim.models("indirect-merges-follow-the-own-line") else ():
            if self.sim.git.is_ancestor(head, sha):
                return sha
        return after

    def _head_moved(self, pull: Pull, after: str, actor: Account, *, forced: bool) -> None:
        sim, old = self.sim, pull.head_sha
        known = self.commits(pull)
        pull.old_heads.append(old)
        pull.head_sha, pull.last_pusher, pull.updated_at = after, actor, sim.now
        if forced and sim.models("timeline-tells-forced-pushes"):
            sim.issues.note(
                pull.number, "head_ref_force_pushed", actor, commit_id=after, commit_url=f"{sim.repo_url}/commits/{after}"
            )  # fmt: skip
        self._committed(pull, known)
        sim.reviews.head_moved(pull, old, actor, forced=forced)
        self._followed(pull)
        if not self.commits(pull):
            self._closed(pull, actor)
        else:
            sim.workflows.pull_request(pull, actor, "synchronize")

    def _committed(self, pull: Pull, known: Sequence[str]) -> None:
        commits = self.commits(pull)
        self.sim.issues.forget_commits(pull.number, set(commits))
        for sha in commits:
            if sha not in known:
                self.sim.issues.note(pull.number, "committed", pull.user, commit=sha)

    def _followed(self, pull: Pull) -> None:
        self.sim.git.point(f"refs/pull/{pull.number}/head", pull.head_sha)
        self.test(pull)

    def test(self, pull: Pull) -> None:
        """Makes the test merge anew, unless neither side has moved since."""
        tip = self.sim.git.branch(pull.base)
        if pull.state != "open" or not tip or pull.tested == (tip, pull.head_sha):
            return
        pull.tested = (tip, pull.head_sha)
        tree = self.sim.git.merged_tree(tip, pull.head_sha)
        who, at = self.sim.accounts.web_flow, merging.web(self.sim.seconds)
        text = f"Merge {pull.head_sha} into {tip}\n"
        pull.test_merge = (
            self.sim.git.committed(tree, (tip, pull.head_sha), text, merging.person(who, at.at), at) if tree else ""
        )
        pull.merge_commit_sha = pull.test_merge if self.sim.models("open-requests-have-a-test-merge") else ""
        self.sim.git.point(f"refs/pull/{pull.number}/merge", pull.test_merge or ZERO)

    # --- looking ------------------------------------------------------------------------------------------------------------

    def heads_of(self, pull: Pull) -> list[str]:
        return [*pull.old_heads, *self.commits(pull)]

    def span(self, pull: Pull) -> tuple[str, list[str]]:
        """(merge base, commits oldest first): what the request proposes, as it was when it was merged."""
        if pull.final:
            return pull.final
        tip = self.sim.git.branch(pull.base) or pull.base_sha
        return self.sim.git.base_of(tip, pull.head_sha), self.sim.git.between(tip, pull.head_sha)

    def commits(self, pull: Pull) -> list[str]:
        return self.span(pull)[1]

    def counts(self, pull: Pull) -> dict[str, int]:
        base, commits = self.span(pull)
        key = (base, pull.head_sha)
        if key not in self._counted:
            rows = [row.split("\t") for row in self.sim.git.lines("diff", "--numstat", base, pull.head_sha)] if base else []
            self._counted[key] = {
                "additions": sum(int(row[0]) for row in rows if row[0] != "-"),
                "deletions": sum(int(row[1]) for row in rows if row[1] != "-"),
                "changed_files": len(rows),
            }  # fmt: skip
        return {**self._counted[key], "commits": len(commits)}

    def of_commit(self, sha: str) -> list[Pull]:
        """The requests that ``commits/{sha}/pulls`` lists: see the module's rules."""
        lag = timedelta(seconds=self.sim.faults.index_delay if self.sim.models("the-index-may-lag") else 0)
        merged = [one for one in self.all if one.merged_at and one.merged_at + lag <= self.sim.now]
        found = [one for one in merged if sha in one.introduced]
        if not self.sim.models("a-commit-can-have-several-requests"):
            return found[:1]
        tip = self.sim.git.branch(self.sim.default)
        landed = tip and self.sim.git.is_ancestor(sha, tip)
        if landed and self.sim.models("open-requests-hide-on-the-default-branch"):
            return found
        listed = [
            one
            for one in self.all
            if one.state == "open" or one in merged or not self.sim.models("requests-without-merge-stay-unlisted")
        ]
        return [*found, *(one for one in listed if one not in found and sha in self.commits(one))]
