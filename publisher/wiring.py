"""The only file that knows which adapter stands behind which door."""

from __future__ import annotations

import getpass
import os
import re
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    ProposedFiles,
    ReadsForge,
    Requests,
    ReviewBoard,
    SiteBuilder,
    Target,
    Tips,
)
from publisher.workers.all_workers import WORKERS

if TYPE_CHECKING:
    from publisher.engine.watch_host import Scheduled


MOST_LOOKS = 20
"""How many versions of ``publisher.yaml`` are tried where the newest cannot be read."""


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
    lists_requests: bool = True
    """Whether a look at the remote also asks the host which requests are open."""

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
        return self.host_of(self.instance)

    @cached_property
    def pages_host(self) -> HostWrites:
        """The same, asked with the job's own token where there is one: an App's lacks what the job was given for GitHub Pages."""
        if not self.environment.get("GITHUB_TOKEN"):
            return self.host
        own = {name: value for name, value in self.environment.items() if name != "PUBLISHER_TOKEN"}
        return self.host_of(self.instance, own)

    def state_push(self, instance: Instance) -> tuple[str, str]:
        """The ssh URL that records are pushed to, and the variable with the key for it; ("", "") where no key is set."""
        github = instance.github
        if github is None or not github.state_key or not self.environment.get(github.state_key, "").strip():
            return "", ""
        return github.ssh_url(self.environment.get("GITHUB_SERVER_URL", "")), github.state_key

    def host_of(self, instance: Instance, environment: Mapping[str, str] | None = None) -> HostWrites:
        """The host that a ``publisher.yaml`` names, wherever that was read."""
        if instance.github is None:
            raise InputProblem(
                "no-host", "forge git has no pull-request host; this needs forge: github", where="publisher.yaml:1:1",
                next="edit publisher.yaml",
            )  # fmt: skip
        from publisher.forge.github_api import GithubApi

        return GithubApi.from_environment(instance.github, self.environment if environment is None else environment)

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
        if not self.lists_requests:
            return {}
        self.__dict__.setdefault("instance", instance)  # a clone without remote-tracking refs learns its instance here
        branches: Mapping[int, str] = self.host_requests.branches()
        return branches

    @cached_property
    def review_board(self) -> ReviewBoard:
        from publisher.forge.github_reviews import GithubReviews

        return GithubReviews(self.host)

    @cached_property
    def proposed_files(self) -> ProposedFiles:
        from publisher.gitstore.proposed_files import CheckedFiles

        return CheckedFiles()

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
        return make_target(
            spec, site=site.id, base=self.root, git=self.git, state_remote="origin", now=self.clock.now, sleep=self.clock.sleep,
            url=site.url, host=lambda: self.pages_host, environment=self.environment,
        )  # fmt: skip

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
        return self._alerts_of(self.instance)

    def alerts_before(self) -> Alerts:
        """The alerts of the newest ``publisher.yaml`` that can be read: to tell that a newer one cannot."""
        refs = self.git.tracking(["refs/remotes/origin/"])
        names = [refs.get(f"refs/remotes/origin/{name}") for name in ("HEAD", "main", "master")]
        start = next(filter(None, names), "") or self.git.resolve("HEAD")
        for commit in self.git.first_parent_changes(start, "publisher.yaml", limit=MOST_LOOKS) if start else ():
            try:
                return self._alerts_of(self.store.instance(commit))
            except InputProblem:
                continue
        from publisher.notify.alerts import StderrAlerts

        return StderrAlerts()

    def _alerts_of(self, instance: Instance) -> Alerts:
        from publisher.notify.alerts import make_alerts

        return make_alerts(instance.alerts, self.root, self.environment, instance.on_call, lambda: self.host_of(instance))

    @property
    def heartbeat(self) -> Callable[[], None] | None:
        """Tells the monitor that a round of ``watch`` looked at everything; None where no monitor is named."""
        from publisher.notify.ping import VARIABLE, Ping

        url = self.environment.get(VARIABLE, "")
        return Ping(url, sleep=self.clock.sleep) if url else None

    def scheduled(self, tips: Tips) -> tuple[Scheduled, ...]:
        """The workflows at the default branch's tip that start publisher by a schedule."""
        from publisher.engine.schedules import Cron
        from publisher.engine.watch_host import Scheduled
        from publisher.gitstore.scheduled_workflows import scheduled_files
        from publisher.gitstore.workflow_files import FOLDER

        oids = self.store.blob_ids(tips.default, FOLDER)
        names = {path.removeprefix(f"{FOLDER}/"): oid for path, oid in oids.items() if path.endswith((".yml", ".yaml"))}
        blobs = self.store.blobs(names.values())
        files = scheduled_files({name: blobs[oid] for name, oid in names.items() if "/" not in name})
        return tuple(
            Scheduled(name=file.name, crons=tuple(Cron(expression=e, zone_name=z, where=w) for e, z, w in file.crons))
            for file in files
        )

    @property
    def actor(self) -> str:
        """Who acts, for records and for the message that names a claim's holder."""
        named = (
            self.environment.get("PUBLISHER_ACTOR")
            or self.environment.get("GITHUB_ACTOR")
            or f"{getpass.getuser()}@{socket.gethostname()}"
        )
        return re.sub(r"[^A-Za-z0-9_.@:/-]", "-", named)[:80]

    def _host_time(self) -> datetime | None:
        return getattr(self.host, "server_time", None) if self.instance.forge == "github" and self.online else None

    def doors(self) -> Doors:
        """Everything that a run may use."""
        return Doors(
            reads=self.store, records=self.store, forge=self.forge, requests=self.requests, builder=self.builder,
            clock=self.clock, progress=self.progress, alerts=self.alerts, workers=WORKERS, target=self.target,
            staging=self.staging, probes=self.probes, channel=self.channel, render=render_yaml, actor=self.actor,
            new_nonce=new_nonce, host_time=self._host_time,
        )  # fmt: skip


def open_instance(
    start: Path,
    *,
    progress: Progress = quiet,
    clock: Clock | None = None,
    environment: Mapping[str, str] | None = None,
    objects: Path | None = None,
    online: bool = False,
    requests: bool = True,
    drafts: bool = True,
) -> Wired:
    """The instance whose repository contains ``start``.

    ``online`` says that a pull-request host may be asked: for commands that write, or look afresh. ``objects`` is a temporary
    object directory for commands that look at the remote and must leave the clone as it is. Without ``drafts`` no draft is read.
    """
    from publisher.gitstore.gateway import Git
    from publisher.gitstore.store import GitStore

    env = dict(os.environ) if environment is None else dict(environment)
    found = Git.find(start)
    git = Git(found.root(), objects=objects) if objects else found
    wired = Wired(
        root=found.root(), git=git, store=None, clock=clock or SystemClock(), environment=env, progress=progress, online=online,
        lists_requests=requests,
    )  # fmt: skip
    wired.store = GitStore(
        git, references=lambda text: wired.builder.references(text), actor=wired.actor, run=run_name(env),
        fetch_into_refs=not objects, host_requests=wired.listed, state_push=wired.state_push, drafts=drafts,
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
