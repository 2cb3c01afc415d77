"""The first record of a site: its ``epoch`` event, in the checkout or on a state branch of its own.

Rules:
* a site's ledger begins once: where any branch that this clone or its remote knows holds claims of the site, nothing is begun;
* the state branch is made from objects alone, as a branch without a parent; the checkout is not touched;
* a state branch that the remote has and this clone has not is fetched by a person first, and never begun anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from publisher.domain.business_calendar import in_utc
from publisher.domain.ledger_events import EventType, NewEvent, encode
from publisher.errors import ComeBackLater, NeedsPerson
from publisher.gitstore import working_tree
from publisher.gitstore.clone_files import git_dir_of
from publisher.gitstore.gateway import Git

REMOTE = "origin"


@dataclass(frozen=True, kw_only=True)
class Begun:
    """What was begun: a file of the checkout, or a commit on the state branch."""

    path: str
    commit: str = ""
    branch: str = ""


def checked_out_branch(root: Path) -> str:
    """The branch that HEAD names, born or not; "" when HEAD is a commit."""
    head = (git_dir_of(root) / "HEAD").read_text(encoding="utf-8").strip()
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def has_ledger(root: Path, git: Git, site: str, state_branch: str) -> bool:
    """Whether claims of the site stand anywhere that this clone knows."""
    if any((root / "ledger" / site / "claims").glob("*.jsonl")):
        return True
    tips = {git.resolve("HEAD"), *_tips(git, state_branch).values()} - {""}
    return any(git.tree(commit, f"ledger/{site}/claims") for commit in tips)


def require_known_state(git: Git, state_branch: str) -> None:
    """Refuses while the remote has a state branch that this clone has never fetched."""
    if _tips(git, state_branch) or not git.local_setting(f"remote.{REMOTE}.url"):
        return
    ref = f"refs/heads/{state_branch}"
    if ref in git.remote_refs(REMOTE, [ref]):
        raise NeedsPerson(
            "state-branch-elsewhere", f"the remote has a branch {state_branch} that this clone has not fetched",
            next=f"git fetch {REMOTE} {state_branch}, then publisher init again",
        )  # fmt: skip


def begin(root: Path, git: Git, site: str, *, state_branch: str, own_branch: bool, now: datetime, epoch_id: str) -> Begun:
    """Writes the first record. ``own_branch`` puts it on a state branch that is not the checked-out one."""
    path = f"ledger/{site}/claims/{now.year:04d}.jsonl"
    event = NewEvent(type=EventType.EPOCH, fields={"epoch": 1, "epoch_id": epoch_id, "reason": "init"})
    line, _ = encode(event, after=None, at=in_utc(now), actor="init", commit=git.resolve("HEAD"))
    if not own_branch:
        if not working_tree.create_file(root / path, line):
            raise ComeBackLater("ledger-raced", f"{path} was written by somebody else meanwhile", next="publisher status")
        return Begun(path=path)
    return Begun(path=path, commit=_commit(git, state_branch, path, line, site, now), branch=state_branch)


def _commit(git: Git, branch: str, path: str, line: bytes, site: str, now: datetime) -> str:
    tips = _tips(git, branch)
    local, tracked = tips.get(f"refs/heads/{branch}", ""), tips.get(f"refs/remotes/{REMOTE}/{branch}", "")
    base = tracked if tracked and (not local or git.is_ancestor(local, tracked)) else local
    commit = git.compose(
        parents=[base] if base else [], base_tree=base, changes={path: line}, message=f"{site}: the ledger begins\n",
        author="publisher", email="publisher@localhost", at=now,
    )  # fmt: skip
    git.push(".", [(commit, f"refs/heads/{branch}", local)])
    if git.resolve(f"refs/heads/{branch}") != commit:
        raise ComeBackLater(
            "state-branch-raced", f"branch {branch} was changed by somebody else meanwhile", next="publisher status"
        )
    return commit


def _tips(git: Git, branch: str) -> dict[str, str]:
    return git.tracking([f"refs/heads/{branch}", f"refs/remotes/{REMOTE}/{branch}"])
