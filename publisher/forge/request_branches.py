"""The remote's side of requests: names of their branches, and moving a branch so that only a read of the remote counts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from publisher.domain.approval import ApprovalRules, Signer
from publisher.errors import NeedsPerson, Refusal
from publisher.forge.closings import LARGEST_NUMBER
from publisher.forge.statements import key_of
from publisher.ports import GitWrites

REQUESTS = "refs/heads/publisher/requests/"
APPROVALS = "refs/heads/publisher/approvals/"


class RequestBranches:
    """Branches of one remote. ``branch`` is the default branch's name."""

    def __init__(self, git: GitWrites, remote: str, branch: str) -> None:
        self._git = git
        self._remote = remote
        self._branch = branch
        self.default = f"refs/heads/{branch}"

    def look(self, *patterns: str) -> Mapping[str, str]:
        """What the remote's refs are now. ``ComeBackLater`` when it gives no answer."""
        return self._git.remote_refs(self._remote, patterns)

    def put(self, commit: str, ref: str, expected: str) -> str:
        """Asks to move ``ref`` from exactly ``expected`` ("" = must not exist) and returns where the remote has it then.

        The push's own answer is not looked at: it may say no of what happened, and yes of what did not.
        """
        self._git.push(self._remote, [(commit, ref, expected)])
        return self.look(ref).get(ref, "")

    def fetch(self, ref: str) -> None:
        """Brings a branch's objects here, under its usual remote-tracking name."""
        self._git.fetch(self._remote, [f"+{ref}:refs/remotes/{self._remote}/{ref.removeprefix('refs/heads/')}"])

    def remove(self, ref: str, expected: str) -> None:
        """Deletes a decided request's branch, if it still is what was decided. Best effort."""
        # A branch left behind is an ancestor of the default branch, and so no open request.
        with contextlib.suppress(Refusal):
            self._git.push(self._remote, [("", ref, expected)])


def numbers_in(refs: Iterable[str]) -> tuple[int, ...]:
    """The numbers of the request branches among ``refs``."""
    names = [ref.removeprefix(REQUESTS) for ref in refs if ref.startswith(REQUESTS)]
    found = [int(name) for name in names if name.isascii() and name.isdigit() and len(name) < 10]
    return tuple(number for number in found if 0 < number <= LARGEST_NUMBER)


def own_signer(git: GitWrites, key: Path | None, rules: ApprovalRules) -> tuple[Path, Signer]:
    """The key of whoever acts here, and what ``approval.yaml`` permits it. ``NeedsPerson`` when it permits nothing."""
    if key is None:
        raise NeedsPerson(
            "no-signing-key", "no signing key is set for this clone", next="set PUBLISHER_SIGNING_KEY to your SSH key"
        )
    public = key_of(git.public_key_of(key))
    lines = [signer for signer in rules.signers if key_of(signer.key) == public]
    if len({signer.principal for signer in lines}) != 1:
        raise NeedsPerson(
            "key-not-listed", "approval.yaml does not list this signing key for exactly one person",
            next="propose a change of approval.yaml",
        )  # fmt: skip
    return key, Signer(
        principal=lines[0].principal, key=public, may_commit=any(line.may_commit for line in lines),
        may_approve=any(line.may_approve for line in lines),
    )  # fmt: skip
