"""Where a review is shown at GitHub: one comment on the pull request, edited in place, and a commit status with the payload.

Rules:
* a comment is edited only where this very account wrote it: what somebody else wrote, they can change again behind our back;
* who this account is, an answer to a write of its own says: the tokens of Apps may not ask;
* what stands there already is not written again; after a write whose answer is lost, it is looked at before anything is said;
* a token that may not write (a fork's may only read) is an answer, and no failure.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from publisher.errors import ComeBackLater, NeedsPerson, OutcomeUnknown
from publisher.ports import HostWrites

CONTEXT = "publisher/payload"
MARKER = "<!-- publisher:review -->"
LONGEST_STATUS = 140
LONGEST_COMMENT = 65_000
MAY_NOT = "this token may not write here (a fork's may only read)"
MOVED = "the request has another head by now, which gets a review of its own"
WHOSE = "this token may not say whose it is, so no comment can be told to be its own"


class GithubReviews:
    """Implements ``ReviewBoard``."""

    def __init__(self, host: HostWrites) -> None:
        self._host = host
        self._account: int | None = None
        self._stated: tuple[str, dict[str, str]] | None = None

    # --- the status -------------------------------------------------------------------------------------------------------

    def status(self, sha: str, ok: bool, says: str) -> str:
        """Sets the status of a commit. "" when it stands there, else why not."""
        state = "success" if ok else "failure"
        self._stated = (sha, {"state": state, "context": CONTEXT, "description": says[:LONGEST_STATUS]})
        try:
            return "" if self._stands() else self._state()
        except NeedsPerson:
            return MAY_NOT

    def _state(self) -> str:
        assert self._stated is not None
        sha, body = self._stated
        try:
            answer = self._host.send("POST", f"statuses/{sha}", body)
        except OutcomeUnknown:
            if self._stands():
                return ""
            raise ComeBackLater(
                "status-unknown", "GitHub gave no answer, and shows no status yet", next="publisher review"
            ) from None
        self._account = _id_of(answer, "creator") or self._account
        return ""

    def _stands(self) -> bool:
        """Whether the newest status of this kind says just that."""
        assert self._stated is not None
        sha, body = self._stated
        combined = self._host.get(f"commits/{sha}/status")
        statuses = combined.get("statuses") if isinstance(combined, dict) else None
        found = [item for item in statuses or () if isinstance(item, dict) and item.get("context") == CONTEXT]
        return any((item.get("state"), item.get("description")) == (body["state"], body["description"]) for item in found)

    # --- the comment ------------------------------------------------------------------------------------------------------

    def comment(self, number: int, head: str, text: str, *, only_edit: bool = False) -> str:
        """Puts the one comment where it belongs. "" when it stands there, or need not, else why not."""
        body = f"{MARKER}\n{text}"[:LONGEST_COMMENT]
        try:
            if self._head_of(number) != head:
                return MOVED
            return self._put(number, body, only_edit)
        except NeedsPerson:
            return MAY_NOT

    def _head_of(self, number: int) -> str:
        pull = self._host.get(f"pulls/{number}")
        at = pull.get("head") if isinstance(pull, dict) else None
        return str(at.get("sha", "")) if isinstance(at, dict) else ""

    def _put(self, number: int, body: str, only_edit: bool) -> str:
        marked = self._marked(number)
        if any(_is_bots(item) and _same(item, body) for item in marked):
            return ""
        if not marked:
            return "" if only_edit else self._write("POST", f"issues/{number}/comments", number, body)
        me = self._me()
        if me is None:
            return WHOSE
        mine = [item for item in marked if _id_of(item, "user") == me]
        if not mine:
            return "" if only_edit else self._write("POST", f"issues/{number}/comments", number, body)
        if _same(mine[0], body):
            return ""
        return self._write("PATCH", f"issues/comments/{mine[0]['id']}", number, body)

    def _marked(self, number: int) -> list[dict[str, Any]]:
        """Comments that look like this one, oldest first, whoever wrote them."""
        comments = [item for item in self._host.pages(f"issues/{number}/comments") if isinstance(item, dict)]
        marked = [item for item in comments if str(item.get("body", "")).startswith(MARKER) and type(item.get("id")) is int]
        return sorted(marked, key=lambda item: int(item["id"]))

    def _write(self, method: str, path: str, number: int, body: str) -> str:
        try:
            answer = self._host.send(method, path, {"body": body})
        except OutcomeUnknown:
            if any(_same(item, body) for item in self._marked(number)):
                return ""
            raise ComeBackLater(
                "comment-unknown", "GitHub gave no answer, and shows no comment yet", next="publisher review"
            ) from None
        self._account = _id_of(answer, "user") or self._account
        return ""

    def _me(self) -> int | None:
        """The account of this token, as the host names it; None where it cannot be found out."""
        if self._account is None and self._stated is not None:
            with suppress(NeedsPerson):  # a token that may not set statuses may still be allowed to ask
                self._state()
        if self._account is None:
            try:
                self._account = _id_of({"user": self._host.get("/user")}, "user")
            except NeedsPerson:
                return None
        return self._account


def _id_of(answer: Any, who: str) -> int | None:
    account = answer.get(who) if isinstance(answer, dict) else None
    number = account.get("id") if isinstance(account, dict) else None
    return number if type(number) is int else None


def _is_bots(item: dict[str, Any]) -> bool:
    user = item.get("user")
    return isinstance(user, dict) and user.get("type") == "Bot"


def _same(item: dict[str, Any], body: str) -> bool:
    return str(item.get("body", "")).replace("\r\n", "\n").strip() == body.strip()
