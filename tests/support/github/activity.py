"""Moved refs: the one place that every change of a branch passes, and the log that the API shows of it.

Rules:
* whoever moves a ref, and however, the server notes before, after, actor and its own time: a push is ``push``, ``force_push``,
  ``branch_creation`` or ``branch_deletion``; GitHub's own merges are ``pr_merge`` and ``merge_queue_merge``;
* a deploy key's push is its owner's;
* newest first; pages are reached through the ``Link`` header's cursor only.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.github import shapes
from tests.support.github.accounts import Account
from tests.support.github.answers import ApiError, Call, Page, route
from tests.support.github.git import ZERO, environment
from tests.support.github.hooks import HookLog

if TYPE_CHECKING:
    from tests.support.github.simulator import Simulator


class Moved(NamedTuple):
    ref: str
    before: str
    after: str


@dataclass
class Push:
    """One push: what it asked for, and what of that happened."""

    account: Account
    asked: tuple[Moved, ...]
    moved: tuple[Moved, ...] = ()

    @property
    def refused(self) -> bool:
        return not self.moved


@dataclass(frozen=True, kw_only=True)
class Entry:
    id: int
    ref: str
    before: str
    after: str
    actor: Account
    at: datetime
    kind: str


class Activity:
    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.entries: list[Entry] = []
        self.pushes: list[Push] = []
        self._log = HookLog(sim.bare)

    # --- pushes -------------------------------------------------------------------------------------------------------------

    def begin(self, account: Account, asked: tuple[Moved, ...]) -> dict[str, str]:
        """Announces a push; the environment that its hooks need."""
        with self.sim.lock:
            self.pushes.append(Push(account, asked))
            env = {"REMOTE_USER": account.key, "SIM_PUSH": str(len(self.pushes) - 1)}
            may_edit_workflows = account.kind in ("user", "deploy-key") or account.may("workflows", "write", public=False)
            if not may_edit_workflows and self.sim.models("apps-need-workflows-permission"):
                env["SIM_NO_WORKFLOWS"] = "1"
            return env

    def catch_up(self) -> None:
        """Takes note of what the hooks have written since the last time."""
        with self.sim.lock:
            for kind, number, _, before, after, ref, result in self._log.new():
                push = self.pushes[int(number)]
                if kind == "suite":
                    self.sim.protection.note(push.account, before, after, ref, result)
                    continue
                push.moved = (*push.moved, Moved(ref, before, after))
                self.record(ref, before, after, push.account)

    def push_as(self, account: Account, source: str, ref: str, *, force: bool = False, folder: Path | None = None) -> str:
        """A push of ``source`` (a commit or a ref; empty deletes) that does not go over HTTP. Returns the commit.

        ``folder``: the clone that has the commit, when the server does not yet. 403 when the account may not, 422 when refused.
        """
        name = self.sim.ref_of(ref)
        if name.startswith("refs/forks/"):
            return self._pushed_to_fork(account, source, name, folder)
        self.sim.may_push(account)
        if folder:
            return self._pushed_from(folder, account, source, name, force=force)
        with self.sim.lock:
            self.catch_up()
            commit, before = self.sim.git.resolved(source), self.sim.git.resolved(name) or ZERO
            assert commit or not source, f"no commit {source}"
            if (commit or ZERO) != before:
                self._pushed_here(account, Moved(name, before, commit or ZERO), force=force)
            return commit

    def _pushed_here(self, account: Account, move: Moved, *, force: bool) -> None:
        """What a client and receive-pack do with a push whose objects are here already: the same checks, the same hook."""
        git = self.sim.git
        if move.ref.startswith("refs/pull/") and self.sim.models("pull-refs-cannot-be-pushed"):
            raise ApiError(422, "deny updating a hidden ref")
        if move.after == ZERO and move.ref == f"refs/heads/{self.sim.default}":
            raise ApiError(422, "refusing to delete the current branch")
        if ZERO not in (move.before, move.after) and not force and not git.is_ancestor(move.before, move.after):
            raise ApiError(422, "non-fast-forward")
        env = environment(self.begin(account, (move,)))
        if self.sim.protection.rulesets or "SIM_NO_WORKFLOWS" in env:
            line = f"{move.before} {move.after} {move.ref}\n"
            done = subprocess.run(
                ["hooks/pre-receive"], cwd=self.sim.bare, env=env, input=line, capture_output=True, text=True, check=False
            )  # fmt: skip
            self.catch_up()
            if done.returncode != 0:
                raise ApiError(422, done.stderr)
        if not git.update(move.ref, move.after, move.before):
            raise ApiError(422, "failed to update ref")
        self.pushes[-1].moved = (move,)
        self.record(move.ref, move.before, move.after, account)

    def _pushed_from(self, folder: Path, account: Account, source: str, name: str, *, force: bool) -> str:
        named = ["git", "rev-parse", "--verify", "--quiet", f"{source}^{{commit}}"]
        found = subprocess.run(named, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
        commit = found.stdout.strip()
        assert commit or not source, f"no commit {source}"
        env = environment(self.begin(account, (Moved(name, self.sim.git.resolved(name) or ZERO, commit or ZERO),)))
        given = ["git", "push", "--porcelain", *(["--force"] if force else []), str(self.sim.bare), f"{commit}:{name}"]
        done = subprocess.run(given, cwd=folder, env=env, capture_output=True, check=False)
        self.catch_up()
        if done.returncode != 0:
            raise ApiError(422, done.stderr.decode("utf-8", "replace"))
        return commit

    def _pushed_to_fork(self, account: Account, source: str, name: str, folder: Path | None) -> str:
        """A fork shares the objects, and has no rules of ours."""
        with self.sim.lock:
            if folder:
                self.sim.git.run("fetch", "--quiet", str(folder), source)
                source = "FETCH_HEAD"
            before, commit = self.sim.git.resolved(name) or ZERO, self.sim.git.resolved(source) or ZERO
            self.moved(name, before, commit, account)
            return commit

    # --- moved refs ---------------------------------------------------------------------------------------------------------

    def moved(self, ref: str, before: str, after: str, actor: Account, kind: str = "") -> None:
        """Moves a ref as GitHub itself does, past the hooks; 409 when somebody was faster."""
        if not self.sim.git.update(ref, after, before):
            raise ApiError(409, "Base branch was modified. Review and try the merge again.")
        self.record(ref, before, after, actor, kind)

    def record(self, ref: str, before: str, after: str, actor: Account, kind: str = "") -> None:
        kind = kind or self._kind(before, after)
        if ref.startswith(("refs/heads/", "refs/tags/")):
            who = actor.who if self.sim.models("keys-push-as-their-owner") else self.sim.accounts.ghost
            noted = kind if self.sim.models("activity-tells-merges-from-pushes") or not kind.endswith("_merge") else "push"
            self.entries.append(
                Entry(id=self.sim.new_id(), ref=ref, before=before, after=after, actor=who, at=self.sim.now, kind=noted)
            )  # fmt: skip
        self.sim.pulls.branch_moved(ref, before, after, actor, forced=kind == "force_push")
        self.sim.workflows.branch_moved(ref, before, after, actor)
        self.sim.pages.branch_moved(ref, after, actor)

    def _kind(self, before: str, after: str) -> str:
        if before == ZERO:
            return "branch_creation"
        if after == ZERO:
            return "branch_deletion"
        if self.sim.git.is_ancestor(before, after) or not self.sim.models("activity-tells-forced-pushes"):
            return "push"
        return "force_push"

    def of(self, ref: str = "", kind: str = "", actor: str = "") -> Iterator[Entry]:
        """Newest first."""
        full = ref if not ref or ref.startswith("refs/") else f"refs/heads/{ref}"
        for one in reversed(self.entries):
            if full in ("", one.ref) and kind in ("", one.kind) and actor in ("", one.actor.login):
                yield one


@route("GET", "activity", "contents")
def activity(call: Call) -> Any:
    found = list(
        call.sim.activity.of(call.query.get("ref", ""), call.query.get("activity_type", ""), call.query.get("actor", ""))
    )  # fmt: skip
    if call.query.get("direction") == "asc":
        found.reverse()
    return Page(found, lambda one: shapes.activity(call.sim, one), cursor=call.sim.models("activity-has-cursors"))
