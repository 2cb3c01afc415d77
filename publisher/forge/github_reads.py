"""Facts asked of GitHub, each kept for a short time, so that a week's request of seven plans costs little more than one plan.

Rules:
* what was asked is kept for ``KEPT``, and only a whole answer is kept; "not there" is never kept;
* lists that grow without end are read newest first, and no further than somebody looks;
* an answer that a token may lack the permission for, and that only ever refuses, is left out where it is forbidden.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, TypeVar

from publisher.errors import NeedsPerson
from publisher.forge.github_facts import (
    Changed,
    Fields,
    Happening,
    Listed,
    Movement,
    Pull,
    Review,
    Written,
    changed_of,
    happening_of,
    listed_of,
    movement_of,
    pull_of,
    review_of,
    written_of,
)
from publisher.ports import HostReads

KEPT = timedelta(minutes=1)
LONG_AGO = timedelta(days=90)
"""How far back closed requests are looked at; the ledger records what was found in time."""
SUITES_REACH = timedelta(days=30)
HAPPENINGS = frozenset({"closed", "reopened", "head_ref_force_pushed", "base_ref_changed", "automatic_base_change_succeeded"})

T = TypeVar("T")


class Remembered(Iterable[T]):
    """A list read as far as somebody looked. One that broke off is read anew: half a list would pass for a whole one."""

    def __init__(self, begin: Callable[[], Iterator[T]]) -> None:
        self._begin = begin
        self._seen: list[T] = []
        self._rest: Iterator[T] | None = None

    def __iter__(self) -> Iterator[T]:
        place = 0
        while True:
            while place < len(self._seen):
                yield self._seen[place]
                place += 1
            if not self._more():
                return

    def _more(self) -> bool:
        if self._rest is None:
            self._rest = self._begin()
        try:
            self._seen.append(next(self._rest))
        except StopIteration:
            return False
        except BaseException:
            self._rest, self._seen = None, []
            raise
        return True


class GithubReads:
    """Typed facts of one repository. ``clock`` tells how old a kept answer is."""

    def __init__(self, host: HostReads, clock: Callable[[], datetime]) -> None:
        self._host = host
        self._clock = clock
        self._kept: dict[tuple[str, ...], tuple[datetime, Any]] = {}

    def repository(self) -> int:
        """The repository's number, which a renamed or re-created one does not have."""
        data = self._once(("repository",), lambda: self._host.get(""))
        if data is None:
            raise NeedsPerson("host-forbidden", f"the token does not see {self._host.repository}", next="publisher doctor")
        return Fields(data, "the repository").number("id")

    def pulls_of(self, commit: str) -> tuple[Listed, ...]:
        """The pull requests that GitHub connects with a commit."""
        return self._all(("commits", commit), f"commits/{commit}/pulls", listed_of)

    def pull(self, number: int) -> Pull | None:
        data = self._once(("pull", str(number)), lambda: self._host.get(f"pulls/{number}"))
        return None if data is None else pull_of(data)

    def reviews(self, number: int) -> tuple[Review, ...]:
        return self._all(("reviews", str(number)), f"pulls/{number}/reviews", review_of)

    def files(self, number: int) -> tuple[Changed, ...]:
        return self._all(("files", str(number)), f"pulls/{number}/files", changed_of)

    def commits(self, number: int) -> tuple[Written, ...]:
        return self._all(("written", str(number)), f"pulls/{number}/commits", written_of)

    def timeline(self, number: int) -> tuple[Happening, ...]:
        found = self._all(
            ("timeline", str(number)), f"issues/{number}/timeline", lambda data: happening_of(data, HAPPENINGS)
        )  # fmt: skip
        return tuple(item for item in found if item)

    def movements(self, ref: str, kind: str = "") -> Iterable[Movement]:
        """How a ref moved, newest first, read lazily; with ``kind``, the movements of that kind only."""
        query = {"ref": ref, **({"activity_type": kind} if kind else {})}

        def begin() -> Iterator[Movement]:
            found = (movement_of(item) for item in self._host.pages("activity", **query))
            return (item for item in found if item.ref == ref and kind in ("", item.kind))

        return self._keep(("movements", ref, kind), lambda: Remembered(begin))

    def closed(self, base: str) -> tuple[Listed, ...]:
        """Requests into ``base`` that were closed or merged lately."""

        def begin() -> tuple[Listed, ...]:
            found = []
            query = {"state": "closed", "base": base, "sort": "updated", "direction": "desc"}
            for item in self._host.pages("pulls", **query):
                pull = listed_of(item)
                if pull.updated_at < self._clock() - LONG_AGO:
                    break
                found.append(pull)
            return tuple(found)

        return self._keep(("closed", base), begin)

    def permission(self, login: str) -> tuple[int, str]:
        """The account's number that the host gives with its answer, and what the account may do in the repository."""
        data = self._once(("permission", login), lambda: self._host.get(f"collaborators/{login}/permission"))
        if data is None:
            return 0, "none"
        found = Fields(data, "a permission")
        user = found.maybe("user")
        return user.number("id") if user else 0, found.text("permission")

    def bypasses(self, ref: str) -> frozenset[str]:
        """Commits to which a push moved ``ref`` past the branch rules, lately; none where the token may not see that."""
        query = {"ref": ref, "time_period": "month", "rule_suite_result": "bypass"}

        def begin() -> frozenset[str]:
            found = [Fields(item, "a rule suite") for item in self._seen("rulesets/rule-suites", **query)]
            return frozenset(item.text("after_sha") for item in found if item.text("result") == "bypass")

        return self._keep(("bypasses", ref), begin)

    def refusals(self, commit: str, context: str) -> tuple[datetime, ...]:
        """When a commit status of this name became a failing one, if it still is; none where the token may not see that."""

        def begin() -> tuple[datetime, ...]:
            try:
                data = self._host.get(f"commits/{commit}/status")
            except NeedsPerson:
                return ()
            found = Fields(data, "a commit status").parts("statuses") if data else ()
            named = [item for item in found if item.text("context") == context]
            return tuple(item.time("created_at") for item in named if item.text("state") in ("failure", "error"))

        return self._keep(("status", commit, context), begin)

    def blob_at(self, commit: str, path: str) -> str:
        """The id of a file's blob at a commit that this clone need not have; "" where the host has no such file."""
        found = self._once(("blob-at", commit, path), lambda: self._host.get(f"contents/{path}", ref=commit))
        return Fields(found, "a file").text("sha") if isinstance(found, dict) else ""

    def blob(self, oid: str) -> bytes | None:
        """A blob's bytes, verified against its id."""
        found = self._once(("blob", oid), lambda: self._host.get(f"git/blobs/{oid}"))
        if found is None:
            return None
        try:
            data = base64.b64decode(Fields(found, "a file").text("content"), validate=False)
        except (binascii.Error, ValueError):
            return None
        hasher = hashlib.sha1 if len(oid) == 40 else hashlib.sha256
        same = hasher(b"blob %d\0" % len(data) + data).hexdigest() == oid
        return data if same else None

    def _seen(self, path: str, **query: str) -> Iterator[Any]:
        try:
            yield from self._host.pages(path, **query)
        except NeedsPerson as problem:
            if problem.code != "host-forbidden":
                raise

    # --- keeping ---------------------------------------------------------------------------------------------------------

    def _all(self, key: tuple[str, ...], path: str, parse: Callable[[Any], T]) -> tuple[T, ...]:
        return self._keep(key, lambda: tuple(parse(item) for item in self._host.pages(path)))

    def _once(self, key: tuple[str, ...], ask: Callable[[], Any]) -> Any:
        found = self._keep(key, ask)
        if found is None:
            self.forget(*key)
        return found

    def _keep(self, key: tuple[str, ...], ask: Callable[[], T]) -> T:
        now = self._clock()
        kept = self._kept.get(key)
        if kept is None or not timedelta(0) <= now - kept[0] < KEPT:
            kept = self._kept[key] = (now, ask())
        value: T = kept[1]
        return value

    def forget(self, *key: str) -> None:
        """The next question is asked anew."""
        self._kept.pop(key, None)
