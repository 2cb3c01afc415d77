"""The facts that a plan's records hold, each kept apart: texts prepared, a release built, a deploy intended or observed, trouble."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class PublicText:
    """One article's public form as recorded at ``prepare``: what a build reads, by git blob and by digest.

    ``digest`` covers all files; ``files`` maps each name to (git blob id, digest). ``plan`` is where it was recorded.
    """

    id: str
    url: str
    guid: str
    date: str
    updated: str
    digest: str
    files: Mapping[str, tuple[str, str]]
    category: str = ""
    plan: str = ""

    def as_data(self) -> dict[str, Any]:
        return {
            "id": self.id, "url": self.url, "guid": self.guid, "date": self.date, "updated": self.updated,
            "digest": self.digest, "category": self.category, "files": {name: list(pair) for name, pair in sorted(self.files.items())},
        }  # fmt: skip


def public_text_of(data: Mapping[str, Any], plan: str) -> PublicText:
    return PublicText(
        id=data["id"], url=data["url"], guid=data["guid"], date=data["date"], updated=data.get("updated", ""),
        digest=data["digest"], category=data.get("category", ""), plan=plan,
        files={name: (pair[0], pair[1]) for name, pair in data["files"].items()},
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What the plan changes in the site's content: texts put, addresses withdrawn, articles hidden."""

    payload: str
    puts: tuple[PublicText, ...] = ()
    withdraws: tuple[Mapping[str, str], ...] = ()
    hides: tuple[str, ...] = ()
    reverts: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Built:
    release: str
    base: str
    presentation: Mapping[str, Any]
    files: int


@dataclass(frozen=True, kw_only=True)
class Intent:
    """A deploy that was announced to the ledger and whose outcome is not recorded yet."""

    deployment: int
    release: str
    base: str
    fence: int
    at: str


@dataclass(frozen=True, kw_only=True)
class Deployed:
    deployment: int
    release: str
    base: str
    how: str
    at: str


@dataclass(frozen=True, kw_only=True)
class Request:
    """A gate file that was proposed: the ``number``-th for this gate and payload."""

    gate: str
    number: int
    request: int
    path: str
    payload: str


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """A step that failed with a known result, or whose outcome is unknown. ``pages`` says what was seen of each address."""

    step: str
    code: str
    at: str
    pages: Mapping[str, str] = field(default_factory=dict)
