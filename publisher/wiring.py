"""The only file that knows which adapter stands behind which door."""

from __future__ import annotations

import getpass
import os
import re
import secrets
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from publisher.domain.approval import ApprovalRules
from publisher.domain.fingerprint import payload_hash
from publisher.domain.instance import Instance, Site
from publisher.engine.bench import Doors
from publisher.errors import InputProblem, NeedsPerson
from publisher.ports import (
    Alerts,
    Channel,
    Clock,
    GitWrites,
    HostWrites,
    Probes,
    Progress,
    ReadsForge,
    Requests,
    SiteBuilder,
    Target,
)
from publisher.workers.all_workers import WORKERS


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def quiet(text: str) -> None:
    """Progress for nobody."""


@dataclass(kw_only=True)
class Wired:
    """An opened instance: its repository and every door, made when first asked for."""

    root: Path
    git: Any
    store: Any
    clock: Clock
    environment: Mapping[str, str]
    progress: Progress = quiet
    online: bool = False
    """Whether the pull-request host is asked. Without it, what the ledger recorded of its answers is shown."""

    @cached_property
    def instance(self) -> Instance:
        instance: Instance = self.store.instance(self.store.tips().default)
        return instance

    @cached_property
    def builder(self) -> SiteBuilder:
        from publisher.sitebuilder.builder import Builder

        return Builder()

    @cached_property
    def forge(self) -> ReadsForge:
        if self.instance.forge == "github":
            return self.host_forge if self.online else self._recorded()
        from publisher.forge.signed_git import SignedGit

        return SignedGit(
            self.git, instance=self.instance.id, branch=self.instance.default_branch, parse_rules=_parse_rules,
            payload_of=payload_of, clock=self.clock.now, pinned_root=self.environment.get("PUBLISHER_ROOT", ""),
        )  # fmt: skip

    def _recorded(self) -> ReadsForge:
        from publisher.forge.recorded import RecordedForge

        return RecordedForge(
            self.git, self.store, parse_rules=_parse_rules, payload_of=payload_of,
            pinned_root=self.environment.get("PUBLISHER_ROOT", ""),
        )  # fmt: skip

    @cached_property
    def host(self) -> HostWrites:
        """The pull-request host of forge ``github``."""
        if self.instance.github is None:
            raise InputProblem(
                "no-host", "forge git has no pull-request host; this needs forge: github", where="publisher.yaml:1:1",
                next="edit publisher.yaml",
            )  # fmt: skip
        from publisher.forge.github_api import GithubApi

        return GithubApi.from_environment(self.instance.github, self.environment)

    @cached_property
    def host_forge(self) -> Any:
        from publisher.forge.github_forge import GithubForge

        return GithubForge(
            self.git, self.host, branch=self.instance.default_branch, parse_rules=_parse_rules, payload_of=payload_of,
            clock=self.clock.now, pinned_root=self.environment.get("PUBLISHER_ROOT", ""),
        )  # fmt: skip

    @cached_property
    def host_requests(self) -> Any:
        from publisher.forge.github_requests import GithubRequests

        return GithubRequests(self.git, self.host_forge, self.host, clock=self.clock.now)

    @cached_property
    def requests(self) -> Requests:
        if self.instance.forge == "github":
            requests: Requests = self.host_requests
            return requests
        from publisher.forge.requests import SignedGitRequests

        return SignedGitRequests(self.git, self.forge, clock=self.clock.now, signing_key=self.signing_key)  # type: ignore[arg-type]

    def listed(self, instance: Instance) -> Mapping[int, str] | None:
        """Number and branch of the host's open requests; None where branches carry their own numbers."""
        if instance.forge != "github":
            return None
        self.__dict__.setdefault("instance", instance)  # a clone without remote-tracking refs learns its instance here
        branches: Mapping[int, str] = self.host_requests.branches()
        return branches

    @property
    def signing_key(self) -> Path | None:
        """``PUBLISHER_SIGNING_KEY``, else the clone's own ``publisher.signingkey`` or ``user.signingkey``."""
        named = (
            self.environment.get("PUBLISHER_SIGNING_KEY")
            or self.git.local_setting("publisher.signingkey")
            or self.git.local_setting("user.signingkey")
        )
        return (self.root / Path(named).expanduser()) if named else None

    def target(self, site: Site) -> Target:
        return self._target(site, staging=False)

    def staging(self, site: Site) -> Target | None:
        return self._target(site, staging=True) if site.staging else None

    def _target(self, site: Site, *, staging: bool) -> Target:
        from publisher.targets.all_targets import make_target

        spec = site.staging if staging else site.target
        assert spec is not None
        return make_target(spec, site=site.id, base=self.root, git=self.git, state_remote="origin", now=self.clock.now)

    def probes(self, site: Site) -> Probes:
        from publisher.verify.probes import HttpProbes

        return HttpProbes(site_url=site.url)

    def channel(self, site: Site, name: str) -> Channel:
        from publisher.notify.channels import make_channel

        spec = next((spec for spec in site.channels if spec.name == name), None)
        if spec is None:
            raise NeedsPerson("unknown-channel", f"site {site.id} has no channel {name}", next="edit publisher.yaml")
        return make_channel(spec, self.root, self.environment)

    @cached_property
    def alerts(self) -> Alerts:
        from publisher.notify.alerts import make_alerts

        return make_alerts(self.instance.alerts, self.root, self.environment, self.instance.on_call)

    @property
    def actor(self) -> str:
        """Who acts, for records and for the message that names a claim's holder."""
        named = (
            self.environment.get("PUBLISHER_ACTOR")
            or self.environment.get("GITHUB_ACTOR")
            or f"{getpass.getuser()}@{socket.gethostname()}"
        )
        return re.sub(r"[^A-Za-z0-9_.@:/-]", "-", named)[:80]

    def doors(self) -> Doors:
        """Everything that a run may use."""
        return Doors(
            reads=self.store, records=self.store, forge=self.forge, requests=self.requests, builder=self.builder,
            clock=self.clock, progress=self.progress, alerts=self.alerts, workers=WORKERS, target=self.target,
            staging=self.staging, probes=self.probes, channel=self.channel, render=render_yaml, actor=self.actor,
            new_nonce=new_nonce,
        )  # fmt: skip


def open_instance(
    start: Path,
    *,
    progress: Progress = quiet,
    clock: Clock | None = None,
    environment: Mapping[str, str] | None = None,
    objects: Path | None = None,
    online: bool = False,
) -> Wired:
    """The instance whose repository contains ``start``.

    ``online`` says that a pull-request host may be asked: for commands that write, or look afresh. ``objects`` is a temporary
    object directory for commands that look at the remote and must leave the clone as it is.
    """
    from publisher.gitstore.gateway import Git
    from publisher.gitstore.store import GitStore

    env = dict(os.environ) if environment is None else dict(environment)
    found = Git.find(start)
    git = Git(found.root(), objects=objects) if objects else found
    wired = Wired(
        root=found.root(), git=git, store=None, clock=clock or SystemClock(), environment=env, progress=progress, online=online
    )  # fmt: skip
    wired.store = GitStore(
        git, references=lambda text: wired.builder.references(text), actor=wired.actor, run=run_name(env),
        fetch_into_refs=not objects, host_requests=wired.listed,
    )  # fmt: skip
    return wired


def run_name(environment: Mapping[str, str]) -> str:
    """What tells one run from another in commit messages: the CI's run and attempt, else random."""
    if environment.get("GITHUB_RUN_ID"):
        return f"{environment['GITHUB_RUN_ID']}.{environment.get('GITHUB_RUN_ATTEMPT', '1')}"
    return secrets.token_hex(6)


def new_nonce() -> str:
    return secrets.token_hex(16)


def render_yaml(data: Mapping[str, Any]) -> bytes:
    from publisher.gitstore.instance_files import render_yaml as render

    return render(data)


def payload_of(path: str, data: bytes) -> tuple[str, int]:
    """Payload hash and revision of any file that approvals name."""
    from publisher.gitstore.strict_yaml import load

    values = load(data, path).data
    revision = values.get("revision", 1) if isinstance(values, dict) else 1
    return payload_hash(values), revision


def _parse_rules(data: bytes, path: str) -> ApprovalRules:
    from publisher.gitstore.instance_files import rules_of

    return rules_of(data, path)


def git_at(path: Path) -> GitWrites:
    """The git gateway of one repository, for ``init`` and ``demo``."""
    from publisher.gitstore.gateway import Git

    return Git(path)


def write_file(path: Path, data: bytes) -> None:
    """Writes a file of the working tree whole or not at all."""
    from publisher.gitstore.working_tree import write_file as write

    write(path, data)
