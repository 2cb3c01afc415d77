"""One repository at a simulated GitHub, served over real HTTP on 127.0.0.1: REST API, git smart HTTP, and the built site of Pages.

``Simulator`` holds the clock, the people and the parts; each part is a file of its own. One lock guards the state; git pushes run
outside it, so that their races are git's own.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.support.github import merging
from tests.support.github.accounts import Account, Accounts
from tests.support.github.answers import ApiError
from tests.support.github.git import BareGit
from tests.support.github.modelled_rules import RULES

if TYPE_CHECKING:
    from tests.support.github.actions_api import Run, Workflow
    from tests.support.github.activity import Push
    from tests.support.github.protection import Ruleset


class Seen(NamedTuple):
    """One request: ``path`` is below the API's address, without its query; ``account`` is a login, empty for nobody."""

    method: str
    path: str
    account: str


@dataclass
class Settings:
    """What an administrator sets."""

    merge_methods: set[str] = field(default_factory=lambda: {"merge", "squash", "rebase"})
    delete_branch_on_merge: bool = False
    default_workflow_permissions: str = "read"
    variables: dict[str, str] = field(default_factory=dict)
    secrets: set[str] = field(default_factory=set)
    environments: set[str] = field(default_factory=set)


class Simulator:
    """See the package's docstring. ``without`` names rules that are not modelled: for the contract tests only.

    ``checked``: every answer is judged by GitHub's schemas; leaving the context fails if one was wrong.
    """

    def __init__(
        self, folder: Path, owner: str = "ann", name: str = "site", private: bool = True, default: str = "main", *,
        without: Iterable[str] = (), checked: bool = False,
    ) -> None:  # fmt: skip
        from tests.support.github import (  # the parts know the simulator's type
            actions_api,
            activity,
            checks,
            faults,
            issues,
            pages_api,
            protection,
            pulls,
            quota,
            reviews,
        )

        self.owner, self.name, self.private, self.default = owner, name, private, default
        self.without = frozenset(without)
        assert self.without <= set(RULES), "no such rule"
        self.checked, self.problems, self.unsimulated = checked, list[str](), list[str]()
        self.lock = threading.RLock()
        self.bare = folder / f"{name}.git"
        folder.mkdir(parents=True, exist_ok=True)
        self.git = BareGit(self.bare)
        hidden = {"pull-refs-cannot-be-pushed": "refs/pull", "forks-are-elsewhere": "refs/forks"}
        self.git.create(default, shown=[ref for rule, ref in hidden.items() if not self.models(rule)])
        self._offset, self._fixed = timedelta(0), None  # type: tuple[timedelta, datetime | None]
        self._ids = itertools.count(5001)
        self.created_at = self.now
        self.settings = Settings()
        self.repoint_reviews = True
        self.actions_may_create_pull_requests = False
        self.requests: list[Seen] = []
        self.accounts = Accounts(owner)
        self.protection = protection.Protection(self)
        self.activity = activity.Activity(self)
        self.issues = issues.Issues(self)
        self.pulls = pulls.Pulls(self)
        self.reviews = reviews.Reviews(self)
        self.checks = checks.Checks(self)
        self.workflows = actions_api.Workflows(self)
        self.pages = pages_api.Pages(self)
        self.faults = faults.Faults(self)
        self.quota = quota.Quota(self)
        self.server_url = ""

    # --- the server ---------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Simulator:
        from tests.support.github.http_server import start

        self._server = start(self)
        self.server_url = f"http://127.0.0.1:{self._server.port}"
        return self

    def __exit__(self, *error: object) -> None:
        self.faults.over.set()
        self._server.stop()
        if self.problems and error[0] is None:
            raise AssertionError("answers that GitHub would not give:\n" + "\n".join(self.problems))

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def api_url(self) -> str:
        return f"{self.server_url}/api/v3"

    @property
    def repo_url(self) -> str:
        return f"{self.api_url}/repos/{self.repository}"

    @property
    def html_url(self) -> str:
        return f"{self.server_url}/{self.repository}"

    @property
    def clone_url(self) -> str:
        return f"{self.html_url}.git"

    # --- the clock ----------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The server's time; the real one unless it was set."""
        return (self._fixed or datetime.now(UTC)) + self._offset

    def set_now(self, when: datetime) -> None:
        """From now on it is ``when``, and stands still but for ``advance``."""
        self._fixed, self._offset = when.astimezone(UTC), timedelta(0)

    def advance(self, by: timedelta) -> None:
        self._offset += by

    @property
    def seconds(self) -> int:
        return int(self.now.timestamp())

    # --- who ----------------------------------------------------------------------------------------------------------------

    def user(self, login: str, permission: str = "write") -> Account:
        """A person, whose token may what the person may. The same person again, with this permission, if known."""
        return self.accounts.user(login, permission)

    def app(self, login: str, permissions: Mapping[str, str]) -> Account:
        return self.accounts.app(login, permissions)

    def actions_token(self, permissions: Mapping[str, str]) -> Account:
        """A job's GITHUB_TOKEN."""
        return self.accounts.actions(permissions)

    def deploy_key(self, owner: Account, *, write: bool = True) -> Account:
        """A deploy key, added by ``owner``. It has git alone; its token stands for the key over HTTP."""
        return self.accounts.deploy_key(owner, write=write)

    def rename(self, account: Account, login: str) -> None:
        """The numeric id stays; the old login is free for anybody."""
        if self.models("logins-can-move"):
            account.login = login
            self.protection.written()  # the hook knows people by their login

    def delete_account(self, account: Account) -> None:
        """Reviews of a deleted account have no user; its pull requests are the ghost's."""
        account.deleted = True

    def environment(self, account: Account) -> dict[str, str]:
        """What a process needs to act as ``account``."""
        return {
            "GITHUB_TOKEN": account.token, "GITHUB_API_URL": self.api_url, "GITHUB_SERVER_URL": self.server_url,
            "GITHUB_REPOSITORY": self.repository, "GITHUB_ACTOR": account.login, "GITHUB_ACTOR_ID": str(account.id),
        }  # fmt: skip

    # --- what they do -------------------------------------------------------------------------------------------------------

    @property
    def push_as(self) -> Callable[..., str]:
        """``push_as(account, commit_or_ref, ref, force=False, folder=None)``: see ``Activity.push_as``."""
        return self.activity.push_as

    @property
    def protect(self) -> Callable[..., Ruleset]:
        """``protect(branch, required_reviews=1, …)``: see ``Protection.protect``."""
        return self.protection.protect

    @property
    def pushes(self) -> list[Push]:
        """Every push that came to the hooks or failed before them, over HTTP or not."""
        return self.activity.pushes

    @property
    def runs(self) -> list[Run]:
        """Every run that an event has started, oldest first."""
        return self.workflows.runs

    @property
    def workflow_files(self) -> list[Workflow]:
        return self.workflows.all()

    def commit(
        self, account: Account, branch: str, files: Mapping[str, bytes | str | None], message: str = "change", *, start: str = "",
        blobs: bool = False,
    ) -> str:  # fmt: skip
        """A commit of ``files`` (None removes) on a branch, made on GitHub's own pages and pushed as ``account``.

        A branch that is not there yet begins at ``start`` (a commit or branch), the default branch otherwise. ``blobs``: the values
        are ids of blobs.
        """
        with self.lock:
            tip = self.git.resolved(self.ref_of(branch)) or self.git.resolved(start or self.default)
            tree = self.git.tree_with(tip, files, blobs=blobs)
            author, committer = merging.person(account.who, self.seconds), merging.web(self.seconds)
            made = self.git.committed(tree, (tip,) if tip else (), message.rstrip("\n") + "\n", author, committer)
            self.pulls.made_here.add(made)
            return self.push_as(account, made, branch)

    # --- for the parts ------------------------------------------------------------------------------------------------------

    def models(self, rule: str) -> bool:
        assert rule in RULES, rule
        return rule not in self.without

    def ref_of(self, branch: str) -> str:
        """The full name of a branch; ``login:branch`` is one of a fork."""
        whose, _, name = branch.rpartition(":")
        if whose and whose != self.owner:
            return f"refs/forks/{whose}/heads/{name}"
        return name if name.startswith("refs/") else f"refs/heads/{name}"

    def may_push(self, account: Account | None) -> None:
        if account is None or not account.may("contents", "write", public=not self.private):
            raise ApiError(403, f"Permission to {self.repository}.git denied to {account.login if account else 'nobody'}.")

    def seen(self, method: str, path: str, account: Account | None) -> None:
        self.requests.append(Seen(method, path, account.login if account else ""))

    def new_id(self) -> int:
        return next(self._ids)
