"""Who acts at the simulated GitHub, with which token, and what that token may do.

Rules:
* a person has a role in the repository; an App's token has named permissions; a deploy key has git and nothing else;
* the numeric id is the identity: a login can be renamed, and taken by somebody else afterwards;
* a token that may not see the repository is told that there is none (404).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
LEVELS = ("none", "read", "write")
# What a role may write; everybody who can read may also take part in conversations ("participate").
WRITES_FROM = {
    "participate": "read", "labels": "triage", "contents": "write", "pull_requests": "write", "issues": "write", "statuses": "write",
    "actions": "write", "deployments": "write", "pages": "maintain", "workflows": "write", "checks": "write",
    "administration": "admin",
}  # fmt: skip
READS_FROM = {"administration": "admin", "secrets": "write", "variables": "write"}
ACTIONS_BOT = ("github-actions[bot]", 41_898_282)
QUEUE_BOT = ("github-merge-queue[bot]", 118_344_674)
WEB_FLOW = ("web-flow", 19_864_447)
GHOST = ("ghost", 10_137)


@dataclass(eq=False)
class Account:
    """Somebody with a token. ``role`` counts for people, ``permissions`` for Apps; ``owner`` is whose deploy key it is."""

    login: str
    id: int
    type: str = "User"
    token: str = ""
    role: str = "none"
    permissions: Mapping[str, str] = field(default_factory=dict)
    kind: str = "user"
    owner: Account | None = None
    deleted: bool = False

    @property
    def key(self) -> str:
        """The name under which the hooks know it: one word."""
        return f"key-{self.id}" if self.kind == "deploy-key" else self.login

    @property
    def email(self) -> str:
        return f"{self.id}+{self.login}@users.noreply.github.com"

    @property
    def who(self) -> Account:
        """Whom the activity log names: the person who added a deploy key stands for it."""
        return self.owner or self

    @property
    def is_bot(self) -> bool:
        return self.type == "Bot"

    def may(self, area: str, level: str, *, public: bool) -> bool:
        if self.kind == "deploy-key":
            return area == "contents" and LEVELS.index(self.permissions.get(area, "none")) >= LEVELS.index(level)
        if self.kind == "user":
            if level == "read":
                return (public and area not in READS_FROM) or _at_least(self.role, READS_FROM.get(area, "read"))
            return area in WRITES_FROM and _at_least(
                self.role, "read" if area == "participate" and public else WRITES_FROM[area]
            )
        if level == "read" and (area == "metadata" or (public and area not in READS_FROM)):
            return True
        if area in ("participate", "labels"):
            # Either will do (docs.github.com, REST, "List timeline events for an issue", and its like).
            return any(
                LEVELS.index(self.permissions.get(one, "none")) >= LEVELS.index(level) for one in ("issues", "pull_requests")
            )
        return LEVELS.index(self.permissions.get(area, "none")) >= LEVELS.index(level)


def _at_least(role: str, needed: str) -> bool:
    return ROLES.index(role) >= ROLES.index(needed)


class Accounts:
    """Everybody whom the server knows."""

    def __init__(self, owner: str) -> None:
        self._numbers: Iterator[int] = itertools.count(1001)
        self.all: list[Account] = []
        self.ghost = self._system(GHOST, "User")
        self.web_flow = self._system(WEB_FLOW, "User")
        self.merge_queue = self._system(QUEUE_BOT, "Bot")
        self.owner = self.user(owner, "admin")

    def _system(self, who: tuple[str, int], type: str) -> Account:
        made = Account(*who, type=type, kind="system")
        self.all.append(made)
        return made

    def _added(self, login: str, number: int, **fields: object) -> Account:
        made = Account(login, number, token=f"ghs-{len(self.all):04d}-{number}", **fields)  # type: ignore[arg-type]
        self.all.append(made)
        return made

    def user(self, login: str, role: str) -> Account:
        """A person; the same one again, with another role, when the login is known."""
        assert role in ROLES
        known = self.named(login)
        if known is not None and known.kind == "user":
            known.role = role
            return known
        return self._added(login, next(self._numbers), role=role)

    def app(self, login: str, permissions: Mapping[str, str]) -> Account:
        assert login.endswith("[bot]")
        return self._added(login, next(self._numbers), type="Bot", kind="app", permissions=dict(permissions))

    def actions(self, permissions: Mapping[str, str]) -> Account:
        return self._added(*ACTIONS_BOT, type="Bot", kind="actions", permissions=dict(permissions))

    def deploy_key(self, owner: Account, *, write: bool) -> Account:
        return self._added(
            owner.login,
            next(self._numbers),
            kind="deploy-key",
            permissions={"contents": "write" if write else "read"},
            owner=owner,
        )

    def named(self, login: str) -> Account | None:
        return next((one for one in self.all if one.login == login and one.kind != "deploy-key" and not one.deleted), None)

    def numbered(self, number: int) -> Account | None:
        return next((one for one in self.all if one.id == number and not one.deleted), None)

    def keyed(self, key: str) -> Account:
        return next(one for one in self.all if one.key == key and not one.deleted)

    def holding(self, token: str) -> Account | None:
        return next((one for one in self.all if one.token == token and token and not one.deleted), None)

    def writing_from(self, email: str) -> Account | None:
        """Whose address this is: the noreply one, or the one that the tests' clones use."""
        if email == "noreply@github.com":
            return self.web_flow
        people = [one for one in self.all if one.kind != "deploy-key" and not one.deleted]
        return next((one for one in people if email in (one.email, f"{one.login}@example.org")), None)
