"""Alerts as issues of the repository: one issue for each matter, which is found again, commented, reopened and closed.

Rules:
* an issue is known by a label and by a hidden mark in its text: titles change, and a search index lags behind;
* only what this token's own account wrote counts, or, where a token cannot ask who it is (an App's, a run's), what bots wrote:
  the marks are no secret, and somebody else's issue must not stand for an alarm;
* whoever repeats a notice finds it there by a mark of its own, and writes nothing: a round that died may be repeated;
* an issue holds ids, codes and addresses only, in a block that renders nothing and mentions nobody;
* a matter that comes to an end closes its issue with a comment; one that comes back reopens it;
* nothing is ever deleted, and no issue without label and mark is touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

from publisher.domain.fingerprint import digest
from publisher.domain.instance import ChannelSpec
from publisher.domain.wording import one_line
from publisher.errors import NeedsPerson, OutcomeUnknown
from publisher.notify.options import Options
from publisher.ports import HostWrites

KIND = "github-issue"
LABEL = "publisher-alarm"
MOST_CLOSED = 300
"""Closed issues that are looked through, the ones that changed last first; an older matter gets a new issue."""
MOST_ASSIGNEES = 10
LOGIN = re.compile(r"@?([A-Za-z0-9](?:[A-Za-z0-9-]{0,38}))", re.ASCII)


class GithubIssues:
    """``Alerts`` through issues. Option ``assign`` (true): issues are assigned to those in ``on_call`` whose name is a login."""

    def __init__(self, spec: ChannelSpec, base: Path, on_call: Sequence[str], host: Callable[[], HostWrites]) -> None:
        options = Options(spec=spec, base=base, secrets={})
        options.only({"assign"})
        assign = spec.options.get("assign", True)
        if type(assign) is not bool:
            raise options.problem("assign", "is true or false")
        self._assignees = [found[1] for name in on_call if (found := LOGIN.fullmatch(name))][:MOST_ASSIGNEES] if assign else []
        self._host = host
        self._account: int | None = None
        self._asked = False

    def say(self, notice_id: str, text: str, *, thread: str = "", over: bool = False) -> None:
        """Returns once the notice stands in its issue, and the issue is open, or with ``over`` closed."""
        matter, host = thread or notice_id, self._host()
        issue = self._find(host, matter)
        if issue is None:
            if not over:  # what nobody was told of here needs no end here
                self._open(host, matter, notice_id, text)
            return
        if text and not self._stands_in(host, issue, notice_id):
            self._comment(host, issue, notice_id, text)
        state = "closed" if over else "open"
        if issue.get("state") != state:
            body = {"state": state, **({"state_reason": "completed"} if over else {})}
            host.send("PATCH", f"issues/{issue['number']}", body)

    def _find(self, host: HostWrites, matter: str) -> Mapping[str, Any] | None:
        mark = _mark("matter", matter)
        still_open = host.pages("issues", labels=LABEL, state="open")
        closed = host.pages("issues", labels=LABEL, state="closed", sort="updated", direction="desc")
        for issue in chain(_issues(still_open), islice(_issues(closed), MOST_CLOSED)):
            if mark in str(issue.get("body") or "") and self._is_own(host, issue):
                return issue
        return None

    def _is_own(self, host: HostWrites, item: Mapping[str, Any]) -> bool:
        """Whether an issue or comment is by the account that speaks here."""
        if not self._asked:
            with suppress(NeedsPerson):
                me = host.get("/user")
                self._account = me.get("id") if isinstance(me, dict) else None
            self._asked = True
        user = item.get("user")
        if not isinstance(user, dict):
            return False
        return user.get("id") == self._account if self._account is not None else user.get("type") == "Bot"

    def _open(self, host: HostWrites, matter: str, notice_id: str, text: str) -> None:
        body = {
            "title": one_line(text.strip().split("\n", 1)[0])[:200],
            "body": f"{_block(text)}\n\n{_mark('matter', matter)}\n{_mark('notice', notice_id)}\n",
            "labels": [LABEL],
        }
        try:
            made = self._create(host, body)
        except OutcomeUnknown:
            found = self._find(host, matter)
            if found is None:
                raise
            made = found
        if LABEL not in {label.get("name") for label in made.get("labels", ()) if isinstance(label, dict)}:
            raise NeedsPerson(
                "alert-undelivered", f"issue {made.get('number')} was made without the label {LABEL}, and would not be found again",
                next="let the token write issues (permissions: issues: write), and close that issue",
            )  # fmt: skip

    def _create(self, host: HostWrites, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._assignees:
            try:
                return dict(host.send("POST", "issues", {**body, "assignees": self._assignees}))
            except NeedsPerson as refused:
                # An account that cannot be assigned must not keep the others from being told.
                if refused.code != "host-refused":
                    raise
        return dict(host.send("POST", "issues", body))

    def _comment(self, host: HostWrites, issue: Mapping[str, Any], notice_id: str, text: str) -> None:
        body = {"body": f"{_block(text)}\n\n{_mark('notice', notice_id)}\n"}
        try:
            host.send("POST", f"issues/{issue['number']}/comments", body)
        except OutcomeUnknown:
            if not self._stands_in(host, issue, notice_id):
                raise

    def _stands_in(self, host: HostWrites, issue: Mapping[str, Any], notice_id: str) -> bool:
        mark = _mark("notice", notice_id)
        if mark in str(issue.get("body") or ""):
            return True
        comments = host.pages(f"issues/{issue['number']}/comments")
        marked = [item for item in comments if isinstance(item, dict) and mark in str(item.get("body") or "")]
        return any(self._is_own(host, item) for item in marked)


def _issues(items: Any) -> Iterator[Mapping[str, Any]]:
    """The list of issues also has the pull requests."""
    return (item for item in items if isinstance(item, dict) and "pull_request" not in item)


def _mark(kind: str, name: str) -> str:
    """A comment that is not shown. The name's digest stands in it: a name may hold what would end a comment."""
    return f"<!-- publisher-{kind}: {digest(name.encode())} -->"


def _block(text: str) -> str:
    """The text as it stands, indented: code in Markdown, in which nothing is rendered, linked or mentioned."""
    return "\n".join(f"    {one_line(line)}" for line in text.strip().splitlines())
