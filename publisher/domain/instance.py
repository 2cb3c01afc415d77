"""The instance and its sites, as ``publisher.yaml`` describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from publisher.domain.alarms import Limits
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
    """Where private sources live: ``remote`` "" for this repository's default branch, else another repository's URL.

    ``key`` names the environment variable with the SSH key for it ("" = none).
    """

    remote: str = ""
    branch: str = ""
    key: str = ""


@dataclass(frozen=True, kw_only=True)
class GithubHost:
    """The instance's repository at GitHub: ``owner/name``, and the API's address ("" = wherever the environment says).

    ``state_key`` names an environment variable: where it holds an SSH key, records are pushed with it, because a rule keeps the
    run's own token out. ``state_remote`` is the repository's ssh URL, where it is not ``git@HOST:owner/name.git``.
    """

    repository: str
    api: str = ""
    state_key: str = ""
    state_remote: str = ""

    def ssh_url(self, server: str) -> str:
        """Where the repository is reached by ssh; ``server`` is GitHub's own address, "" when that is not known."""
        host = urlsplit(server).hostname or urlsplit(self.api).hostname or "github.com"
        return self.state_remote or f"git@{host}:{self.repository}.git"


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
    watch: Limits = field(default_factory=Limits)
    sites: Mapping[str, Site] = field(default_factory=dict)
