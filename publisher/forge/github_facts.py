"""GitHub's answers as typed facts. What is missing or of another kind is no fact: nothing can be told from such an answer.

Rules:
* an account is its number; its login is for people;
* only what the server itself wrote counts as a time: never a commit's own dates;
* the text of a request, a commit or a branch is not read at all; of a review, the lines that ``payloads_in`` looks for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from publisher.domain.business_calendar import parse_instant
from publisher.errors import ComeBackLater


class Fields:
    """One JSON object, read strictly. ``about`` names it in the refusal."""

    def __init__(self, data: Any, about: str) -> None:
        self._about = about
        if not isinstance(data, dict):
            self._refuse()
        self._data: dict[str, Any] = data

    def _refuse(self) -> NoReturn:
        raise ComeBackLater(
            "host-unreadable", f"GitHub's answer about {self._about} cannot be read", next="publisher status --fresh"
        )

    def text(self, name: str) -> str:
        value = self._data.get(name)
        if not isinstance(value, str):
            self._refuse()
        return value

    def maybe_text(self, name: str) -> str:
        """ "" for null."""
        return "" if self._data.get(name) is None else self.text(name)

    def number(self, name: str) -> int:
        value = self._data.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            self._refuse()
        return value

    def flag(self, name: str) -> bool:
        value = self._data.get(name)
        if not isinstance(value, bool):
            self._refuse()
        return value

    def commit(self, name: str) -> str:
        value = self.text(name)
        if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", value):
            self._refuse()
        return value

    def time(self, name: str) -> datetime:
        try:
            return parse_instant(re.sub(r"\.[0-9]+(?=Z$|[+-])", "", self.text(name)))
        except ValueError:
            self._refuse()

    def maybe_time(self, name: str) -> datetime | None:
        return None if self._data.get(name) is None else self.time(name)

    def part(self, name: str) -> Fields:
        return Fields(self._data.get(name), self._about)

    def maybe(self, name: str) -> Fields | None:
        """None for null, and for the empty object that a commit without an account has."""
        return self.part(name) if self._data.get(name) else None

    def parts(self, name: str) -> tuple[Fields, ...]:
        value = self._data.get(name)
        if not isinstance(value, list):
            self._refuse()
        return tuple(Fields(item, self._about) for item in value)


@dataclass(frozen=True, kw_only=True)
class Account:
    """Somebody at GitHub. ``is_person`` is false for bots, Apps and organisations."""

    id: int
    login: str
    is_person: bool


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A pull request as lists show it. ``head_repository`` is 0 where the fork is gone."""

    number: int
    state: str
    author: Account | None
    base: str
    base_repository: int
    branch: str
    head: str
    head_repository: int
    head_owner: int
    merge_commit: str
    merged_at: datetime | None
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class Pull(Listed):
    """A pull request by itself: with how many commits and files it has."""

    merged: bool
    draft: bool
    commits: int
    changed_files: int


@dataclass(frozen=True, kw_only=True)
class Review:
    """``submitted_at`` is None for one that its author has not submitted yet.

    ``commit`` is the head that it names now, "" where that is gone. It may have followed a later push, so that naming the right one
    proves nothing; naming another one tells that the review saw something else.
    """

    id: int
    by: Account | None
    state: str
    body: str
    submitted_at: datetime | None
    commit: str = ""


@dataclass(frozen=True, kw_only=True)
class Movement:
    """One entry of the server's own record of a ref: ``kind`` is ``push``, ``force_push``, ``pr_merge`` and so on."""

    id: int
    ref: str
    kind: str
    before: str
    after: str
    by: Account | None
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Written:
    """A commit of a pull request: the accounts to which GitHub assigns its author and committer, and its parents."""

    oid: str
    people: frozenset[int]
    parents: int


@dataclass(frozen=True, kw_only=True)
class Changed:
    """A file of a pull request: its blob at the head, and how it came to be (``added``, ``modified``, ``renamed`` …)."""

    path: str
    before: str
    blob: str
    status: str


@dataclass(frozen=True, kw_only=True)
class Happening:
    """An entry of a request's timeline that carries the server's own time."""

    kind: str
    by: Account | None
    at: datetime


def account_of(found: Fields | None) -> Account | None:
    if found is None:
        return None
    return Account(id=found.number("id"), login=found.text("login"), is_person=found.text("type") == "User")


def listed_of(data: Any) -> Listed:
    return Listed(**_listed(Fields(data, "a pull request")))


def pull_of(data: Any) -> Pull:
    found = Fields(data, "a pull request")
    return Pull(
        **_listed(found), merged=found.flag("merged"), draft=found.flag("draft"), commits=found.number("commits"),
        changed_files=found.number("changed_files"),
    )  # fmt: skip


def _listed(found: Fields) -> dict[str, Any]:
    base, head = found.part("base"), found.part("head")
    home = head.maybe("repo")
    owner = account_of(head.maybe("user"))
    return {
        "number": found.number("number"), "state": found.text("state"), "author": account_of(found.maybe("user")),
        "base": base.text("ref"), "base_repository": base.part("repo").number("id"), "branch": head.text("ref"),
        "head": head.commit("sha"), "head_repository": home.number("id") if home else 0, "head_owner": owner.id if owner else 0,
        "merge_commit": found.maybe_text("merge_commit_sha"), "merged_at": found.maybe_time("merged_at"),
        "updated_at": found.time("updated_at"),
    }  # fmt: skip


def review_of(data: Any) -> Review:
    found = Fields(data, "a review")
    return Review(
        id=found.number("id"), by=account_of(found.maybe("user")), state=found.text("state"), body=found.maybe_text("body"),
        submitted_at=found.maybe_time("submitted_at"), commit=found.maybe_text("commit_id"),
    )  # fmt: skip


def movement_of(data: Any) -> Movement:
    found = Fields(data, "a push")
    return Movement(
        id=found.number("id"), ref=found.text("ref"), kind=found.text("activity_type"), before=found.commit("before"),
        after=found.commit("after"), by=account_of(found.maybe("actor")), at=found.time("timestamp"),
    )  # fmt: skip


def written_of(data: Any) -> Written:
    found = Fields(data, "a commit")
    accounts = (account_of(found.maybe("author")), account_of(found.maybe("committer")))
    return Written(
        oid=found.commit("sha"), people=frozenset(account.id for account in accounts if account),
        parents=len(found.parts("parents")),
    )  # fmt: skip


def changed_of(data: Any) -> Changed:
    found = Fields(data, "a file of a pull request")
    path = found.text("filename")
    return Changed(
        path=path,
        before=found.maybe_text("previous_filename") or path,
        blob=found.maybe_text("sha"),
        status=found.text("status"),
    )


def happening_of(data: Any, kinds: frozenset[str]) -> Happening | None:
    """An entry of one of the ``kinds``; the others come in many shapes and say nothing here."""
    if not isinstance(data, dict) or data.get("event") not in kinds:
        return None
    found = Fields(data, "a pull request's timeline")
    return Happening(kind=found.text("event"), by=account_of(found.maybe("actor")), at=found.time("created_at"))


APPROVES = re.compile(r"^[ \t]*approve (sha256:[0-9a-f]{64})[ \t]*\r?$", re.MULTILINE)


def payloads_in(body: str) -> tuple[str, ...]:
    """The payloads that a review names, each on a line of its own: ``approve sha256:…``."""
    return tuple(APPROVES.findall(body))
