"""A small repository at the simulated GitHub, for the forge's own tests: people, requests, reviews, merges, and the reading door.

Every act takes a minute of the server's time, so that what came before what is never in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from publisher.domain.approval import Subject, Verdict
from publisher.forge.github_api import GithubApi
from publisher.forge.github_forge import GithubForge
from publisher.gitstore.gateway import Git
from publisher.gitstore.instance_files import rules_of
from publisher.ports import HostReads, Tips
from publisher.wiring import payload_of
from tests.support.github.accounts import Account
from tests.support.github.merging import person
from tests.support.github.simulator import Simulator
from tests.support.gitrepos import Repository

START = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
PLAN = "plans/handbook/daily/2026/2026-12-01.yaml"
OTHER_PLAN = "plans/handbook/daily/2026/2026-12-02.yaml"
RULES = "approval.yaml"
REQUEST = "publisher/requests/week-49"
BOT_MAY = {"contents": "write", "pull_requests": "write", "issues": "write", "statuses": "write", "administration": "read"}
Files = Mapping[str, bytes | str | None]


def plan_text(title: str = "a-0001", revision: int = 1, date: str = "2026-12-01") -> bytes:
    return f"kind: publication\nrevision: {revision}\ndate: '{date}'\narticles: [{title}]\n".encode()


def rules_text(*people: Account, count: int = 1, **ids: int) -> bytes:
    """``approval.yaml`` that lists people; ``ids`` lists further logins under other numbers."""
    listed = {account.login: account.id for account in people} | ids
    lines = [f"  - {{login: {login}, id: {number}}}" for login, number in listed.items()]
    return "\n".join([f"approvals: {count}", "approvers:", *lines, ""]).encode()


@dataclass
class Altered:
    """A host that answers as the real one does, but for some paths: for what no honest server would say."""

    host: HostReads
    answers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def repository(self) -> str:
        return self.host.repository

    def get(self, path: str, **query: str | int) -> Any:
        found = self.host.get(path, **query)
        return self.answers[path](found) if path in self.answers else found

    def pages(self, path: str, **query: str | int) -> Iterable[Any]:
        found = self.host.pages(path, **query)
        return self.answers[path](list(found)) if path in self.answers else found


class World:
    """``ann`` owns the repository, ``bot`` proposes, ``rae`` and ``sam`` may approve, ``wes`` may write, ``eve`` may read."""

    def __init__(self, folder: Path, sim: Simulator, *, count: int = 1, alone: bool = False) -> None:
        self.sim = sim
        sim.set_now(START)
        self.ann, self.rae, self.sam = sim.user("ann", "admin"), sim.user("rae", "write"), sim.user("sam", "write")
        self.wes, self.eve = sim.user("wes", "write"), sim.user("eve", "read")
        self.bot = sim.app("site-publisher[bot]", permissions=BOT_MAY)
        self.slept: list[float] = []
        approvers = (self.ann,) if alone else (self.rae, self.sam)
        first = {RULES: rules_text(*approvers, count=count), "publisher.yaml": "id: x\n"}
        self.root = self.commit("main", first, self.ann)
        self.work = folder / "work"
        Repository(folder).git("clone", "--quiet", str(sim.bare), str(self.work))
        self.git = Git(self.work)

    def tick(self, **units: float) -> datetime:
        self.sim.advance(timedelta(**(units or {"minutes": 1})))
        return self.sim.now

    # --- what people do ----------------------------------------------------------------------------------------------------

    def commit(self, branch: str, files: Files, who: Account | None = None, message: str = "change", start: str = "") -> str:
        """A commit on a branch, by the bot unless said otherwise."""
        self.tick()
        return self.sim.commit(who or self.bot, branch, files, message, start=start)

    def open(self, branch: str = REQUEST, who: Account | None = None, base: str = "main") -> int:
        self.tick()
        return self.sim.pulls.open(who or self.bot, head=branch, base=base, title="Week 49")

    def propose(self, files: Files | None = None, branch: str = REQUEST, who: Account | None = None, base: str = "main") -> int:
        """A request that brings ``files``, one plan unless said otherwise; its number."""
        self.commit(branch, files or {PLAN: plan_text()}, who, start=base)
        return self.open(branch, who, base)

    def review(self, number: int, who: Account | None = None, state: str = "APPROVED", body: str = "") -> int:
        self.tick()
        return self.sim.reviews.submit(who or self.rae, number, state, body or ("words" if state != "APPROVED" else ""))

    def merge(self, number: int | Iterable[int], method: str = "merge", who: Account | None = None, **more: Any) -> str:
        self.tick()
        numbers = number if isinstance(number, int) else tuple(number)
        return self.sim.pulls.merge(who or self.rae, numbers, method=method, **more)

    def approved(self, files: Files | None = None, method: str = "merge", branch: str = REQUEST) -> int:
        """A request that was reviewed and merged as it should be."""
        number = self.propose(files, branch)
        self.review(number)
        self.merge(number, method)
        return number

    def push(self, source: str, ref: str = "main", who: Account | None = None, *, force: bool = False) -> str:
        self.tick()
        return self.sim.push_as(who or self.ann, source, ref, force=force)

    def tip(self, branch: str = "main") -> str:
        return self.sim.git.branch(branch)

    def made(self, files: Files, *parents: str, message: str = "by hand", who: Account | None = None) -> str:
        """A commit that no branch has yet; its tree is the first parent's with ``files`` changed."""
        self.tick()
        by = person(who or self.ann, self.sim.seconds)
        return self.sim.git.committed(self.sim.git.tree_with(parents[0], files), parents, message, by, by)

    # --- publisher's doors -------------------------------------------------------------------------------------------------

    def api(self, who: Account | None = None) -> GithubApi:
        return GithubApi(self.sim.repository, (who or self.bot).token, api=self.sim.api_url, pause=0)

    def forge(self, host: HostReads | None = None, git: Git | None = None, **more: Any) -> GithubForge:
        def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            self.sim.advance(timedelta(seconds=seconds))

        usual = {"parse_rules": rules_of, "payload_of": payload_of, "clock": lambda: self.sim.now, "sleep": sleep}
        return GithubForge(git or self.git, host or self.api(), branch="main", **(usual | more))

    def altered(self, **answers: Any) -> GithubForge:
        """The reading door on a host whose answers to some paths are changed; ``__`` stands for a slash."""
        return self.forge(Altered(self.api(), {path.replace("__", "/"): answer for path, answer in answers.items()}))

    def tips(self) -> Tips:
        self.git.fetch("origin", ["+refs/heads/*:refs/remotes/origin/*"])
        tip = self.tip()
        open_pulls = [pull for pull in self.sim.pulls.all if pull.state == "open" and pull.fork is None]
        return Tips(default=tip, state=tip, drafts=tip, requests={pull.number: pull.head_sha for pull in open_pulls})

    def subject(self, path: str = PLAN, data: bytes | None = None) -> Subject:
        payload, revision = payload_of(path, data or plan_text())
        return Subject(path=path, payload=payload, revision=revision)

    def verdict(self, path: str = PLAN, data: bytes | None = None, forge: GithubForge | None = None) -> Verdict:
        return (forge or self.forge()).verdict(self.tips(), self.subject(path, data))

    def code(self, path: str = PLAN, data: bytes | None = None, forge: GithubForge | None = None) -> str:
        """The verdict's code; the name of its class where it has none."""
        verdict = self.verdict(path, data, forge)
        return getattr(verdict, "code", type(verdict).__name__)

    def asked(self) -> list[str]:
        """The paths of the requests since the last time, below the repository."""
        found = [one.path.removeprefix(f"/repos/{self.sim.repository}") for one in self.sim.requests]
        self.sim.requests.clear()
        return found


@contextmanager
def github_world(folder: Path, *, count: int = 1, alone: bool = False, **options: Any) -> Iterator[World]:
    """``count`` people must approve; ``alone``: the owner is the only person."""
    with Simulator(folder / "host", **options) as sim:
        yield World(folder, sim, count=count, alone=alone)
