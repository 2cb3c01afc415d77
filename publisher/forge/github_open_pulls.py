"""The open pull requests that publisher's branches stand behind, as GitHub lists them.

Rules:
* a request is open, asks for the default branch, and its branch lies in this repository below ``publisher/requests/``: a branch
  of a fork with that name is somebody else's;
* a review by anybody but the request's own author counts, whatever it says and whether or not it was dismissed since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from publisher.forge.github_facts import Fields, account_of, changed_of, review_of
from publisher.ports import HostWrites

PREFIX = "publisher/requests/"
REVIEWED = frozenset({"APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED"})


@dataclass(frozen=True, kw_only=True)
class OpenPull:
    """One open pull request. ``author`` is an account's number; ``armed`` says that somebody set it to merge by itself."""

    number: int
    branch: str
    head: str
    title: str
    body: str
    page: str
    author: int
    armed: bool


class OpenPulls:
    """Pull requests of the host's repository into ``base``."""

    def __init__(self, host: HostWrites, base: str) -> None:
        self._host = host
        self._base = base

    def listed(self) -> tuple[OpenPull, ...]:
        """Every open request, by number."""
        found = [self._own(item) for item in self._host.pages("pulls", state="open", base=self._base)]
        return tuple(sorted((pull for pull in found if pull), key=lambda pull: pull.number))

    def of_branch(self, branch: str) -> OpenPull | None:
        """The open request of a branch; the host allows one."""
        return next((pull for pull in self.listed() if pull.branch == branch), None)

    def _own(self, item: Any) -> OpenPull | None:
        """A request of ours, or None. An answer that is no pull request at all is refused."""
        found = Fields(item, "a pull request")
        head, base = found.part("head"), found.part("base")
        home = head.maybe("repo")
        here = home is not None and home.number("id") == base.part("repo").number("id")
        if not here or base.text("ref") != self._base or not head.text("ref").startswith(PREFIX):
            return None
        author = account_of(found.maybe("user"))
        return OpenPull(
            number=found.number("number"), branch=head.text("ref"), head=head.commit("sha"), title=found.text("title"),
            body=found.maybe_text("body"), page=found.text("html_url"), author=author.id if author else 0,
            armed=found.maybe("auto_merge") is not None,
        )  # fmt: skip

    def open(self, branch: str, title: str, body: str) -> OpenPull | None:
        """Asks once for a pull request; None where the answer is about another one."""
        fields = {"title": title, "head": branch, "base": self._base, "body": body}
        pull = self._own(self._host.send("POST", "pulls", fields))
        return pull if pull and pull.branch == branch else None

    def rewrite(self, number: int, title: str, body: str) -> None:
        self._host.send("PATCH", f"pulls/{number}", {"title": title, "body": body})

    def close(self, number: int) -> None:
        self._host.send("PATCH", f"pulls/{number}", {"state": "closed"})

    def is_reviewed(self, pull: OpenPull) -> bool:
        """Whether anybody but its author has looked at a request, or has it merge by itself."""
        if pull.armed:
            return True
        reviews = map(review_of, self._host.pages(f"pulls/{pull.number}/reviews"))
        return any(one.state in REVIEWED and (one.by is None or one.by.id != pull.author) for one in reviews)

    def paths(self, number: int) -> tuple[str, ...]:
        """The files that a request touches."""
        return tuple(changed_of(item).path for item in self._host.pages(f"pulls/{number}/files"))

    def page(self, number: int) -> str:
        """The web page of a pull request, "" where there is none."""
        found = self._host.get(f"pulls/{number}")
        return "" if found is None else Fields(found, "a pull request").text("html_url")
