"""GitHub as ``doctor`` sees it: what was answered, and what this token may not see.

What is hidden is no answer: it is remembered, told once, and never taken for good or for missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from publisher.errors import NeedsPerson

if TYPE_CHECKING:
    from publisher.ports import HostReads

AS_ADMIN = "the same with an administrator's token in GH_TOKEN"
HIDDEN = object()
"""Instead of an answer: this token may not see it."""


@dataclass(kw_only=True)
class Seen:
    """GitHub's answers, and what they say about how runs work there. None: not known."""

    host: HostReads
    private: bool | None = None
    organization: bool = False
    person: str = ""
    """The login, where the token is a person's."""
    role: str = ""
    variables: dict[str, str] | None = None
    secrets: frozenset[str] | None = None
    hidden: list[str] = field(default_factory=list)

    def ask(self, path: str, what: str) -> Any:
        """A document; ``HIDDEN``, and ``what`` remembered, where the token may not read it."""
        return self._try(lambda: self.host.get(path), what)

    def list_of(self, path: str, what: str) -> Any:
        return self._try(lambda: list(self.host.pages(path)), what)

    def setting(self, path: str, what: str) -> Any:
        """A document that always exists: where there is none, GitHub hides it."""
        found = self.ask(path, what)
        return self.unseen(what) if found is None else found

    def settings(self, path: str, under: str, what: str) -> Any:
        """A list of settings. An empty one is an answer, a missing one is not."""
        first = self.setting(path, what)
        if first is HIDDEN or first["total_count"] <= len(first[under]):
            return first if first is HIDDEN else first[under]
        return self.list_of(path, what)

    def _try(self, look: Callable[[], Any], what: str) -> Any:
        try:
            return look()
        except NeedsPerson as refusal:
            if refusal.code != "host-forbidden":
                raise
            return self.unseen(what)

    def unseen(self, what: str) -> object:
        if what not in self.hidden:
            self.hidden.append(what)
        return HIDDEN

    @property
    def app(self) -> bool | None:
        """Whether runs act as a GitHub App: the shipped workflows do when this variable is set."""
        if self.variables is None:
            return None
        # An organisation may set it for all of its repositories; that is not seen here.
        return "PUBLISHER_APP_CLIENT_ID" in self.variables or (None if self.organization else False)

    def has_secret(self, name: str) -> bool | None:
        if self.secrets is None:
            return None
        return name in self.secrets or (None if self.organization else False)
