"""The instance and its sites, as ``publisher.yaml`` describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from publisher.domain.business_calendar import parse_zone


@dataclass(frozen=True, kw_only=True)
class TargetSpec:
    """Where a release goes: the registry's kind and that kind's own options."""

    kind: str
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ChannelSpec:
    """An outlet for announcements: the registry's kind and its options."""

    name: str
    kind: str
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Site:
    """One public site. ``staging`` is a target whose role is staging, or None."""

    id: str
    url: str
    zone_name: str
    title: str
    description: str
    language: str
    author: str
    tag_authority: str
    """The ``authority,date`` part of the site's tag URIs (RFC 4151); fixed for ever, since GUIDs are made from it."""
    target: TargetSpec
    staging: TargetSpec | None = None
    channels: tuple[ChannelSpec, ...] = ()
    announce: Mapping[str, Any] | None = None
    """What the planner writes into a publication's ``announce``: channels, list, at_most."""
    confirm_within: timedelta = timedelta(minutes=5)

    @property
    def zone(self) -> ZoneInfo:
        return parse_zone(self.zone_name)

    def guid_of(self, article_id: str) -> str:
        return f"tag:{self.tag_authority}:{self.id}/{article_id}"

    def presentation_data(self) -> Mapping[str, str]:
        """What of the configuration shapes the site's bytes: part of the presentation's digest."""
        return {
            "id": self.id, "url": self.url, "zone": self.zone_name, "title": self.title, "description": self.description,
            "language": self.language, "author": self.author, "tag_authority": self.tag_authority,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Drafts:
    """Where private sources live: ``remote`` "" for this repository's default branch, else another repository's URL."""

    remote: str = ""
    branch: str = ""


@dataclass(frozen=True, kw_only=True)
class GithubHost:
    """The instance's repository at GitHub: ``owner/name``, and the API's address ("" = wherever the environment says)."""

    repository: str
    api: str = ""


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A repository that publishes. ``id`` is random and never changes; approvals name it."""

    id: str
    forge: str
    default_branch: str
    state_branch: str
    github: GithubHost | None = None
    drafts: Drafts = Drafts()
    on_call: tuple[str, ...] = ()
    alerts: ChannelSpec | None = None
    lease: timedelta = timedelta(minutes=10)
    sites: Mapping[str, Site] = field(default_factory=dict)
