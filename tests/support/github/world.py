"""A simulator with the usual people in it, and a plain HTTP client for them: what contract tests begin with."""

from __future__ import annotations

import base64
import http.client
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.support.github.accounts import Account
from tests.support.github.simulator import Simulator
from tests.support.gitrepos import Repository, environment

START = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
BOT = {
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "write",
    "actions": "write",
}


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def links(self) -> dict[str, str]:
        """The ``Link`` header: relation → address."""
        found = {}
        for part in filter(None, self.headers.get("link", "").split(", ")):
            address, _, rel = part.partition(">; rel=")
            found[rel.strip('"')] = address.removeprefix("<")
        return found


@dataclass
class World:
    """ann owns the repository, rae writes, eve reads; ``bot`` is an App, ``job`` a GITHUB_TOKEN."""

    sim: Simulator
    ann: Account
    rae: Account
    eve: Account
    bot: Account
    job: Account
    folder: Path

    def call(self, who: Account | None, method: str, path: str, body: Any = None, **query: Any) -> Reply:
        """``path`` below the repository, or absolute below the API's address."""
        given = f"?{urlencode(query)}" if query else ""
        below = f"/repos/{self.sim.repository}/{path}".rstrip("/") if not path.startswith("/") else path
        return self.fetch(f"{self.sim.api_url}{below}{given}", who, method, body)

    def fetch(self, url: str, who: Account | None = None, method: str = "GET", body: Any = None) -> Reply:
        host, _, path = url.removeprefix("http://").partition("/")
        line = http.client.HTTPConnection(host, timeout=20)
        try:
            headers = {"Authorization": f"Bearer {who.token}"} if who else {}
            line.request(method, f"/{path}", None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            data = answer.read()
            is_json = "json" in answer.headers.get("Content-Type", "") and data
            found = {name.lower(): value for name, value in answer.headers.items()}
            return Reply(answer.status, json.loads(data) if is_json else data, found)
        finally:
            line.close()

    def get(self, path: str, who: Account | None = None, **query: Any) -> Any:
        """What the App (or ``who``) reads: the document of a good answer."""
        reply = self.call(who or self.bot, "GET", path, **query)
        assert reply.status == 200, reply
        return reply.body

    def does(self, who: Account | None, method: str, path: str, body: Any = None) -> int:
        """The status alone."""
        return self.call(who, method, path, body).status

    def opened(self, head: str = "plan", by: Account | None = None, files: Mapping[str, str] | None = None, **more: Any) -> int:
        """A request by the App (or ``by``) from a fresh branch with one commit."""
        who = by or self.bot
        self.sim.commit(who, head, files or {f"{head}.txt": f"{head}\n"}, f"add {head}", start=self.sim.default)
        return self.sim.pulls.open(who, head, **more)

    def tip(self, branch: str = "main") -> str:
        return self.sim.git.branch(branch)

    def later(self, seconds: int = 60) -> None:
        self.sim.advance(timedelta(seconds=seconds))

    def kinds(self, number: int) -> list[str]:
        return [one["event"] for one in self.get(f"issues/{number}/timeline")]

    # --- git over HTTP ------------------------------------------------------------------------------------------------------

    def clone(self, who: Account, name: str = "") -> Repository:
        """A clone over HTTP whose origin sends ``who``'s token."""
        path = self.folder / (name or who.key)
        made = subprocess.run(
            ["git", "clone", "--quiet", "--template=", *self.credentials(who), self.sim.clone_url, str(path)],
            env=environment(who.login), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode:
            raise RuntimeError(made.stderr)
        return Repository(path, who.login)

    def credentials(self, who: Account) -> tuple[str, str]:
        basic = base64.b64encode(f"x-access-token:{who.token}".encode()).decode()
        return "-c", f"http.{self.sim.server_url}/.extraheader=Authorization: Basic {basic}"

    def git(self, clone: Repository, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Any git command in a clone; never raises."""
        return subprocess.run(
            ["git", *arguments], cwd=clone.path, env=environment(clone.who), capture_output=True, text=True, check=False
        )  # fmt: skip


@contextmanager
def world(folder: Path, *, start: bool = True, **options: Any) -> Iterator[World]:
    """A fixed clock, every answer judged, and one commit on main."""
    with Simulator(folder / "github", checked=True, **options) as sim:
        sim.set_now(START)
        made = World(
            sim, sim.user("ann", "admin"), sim.user("rae", "write"), sim.user("eve", "read"), sim.app("publisher[bot]", BOT),
            sim.actions_token({"contents": "write", "pull_requests": "write", "actions": "write"}), folder,
        )  # fmt: skip
        if start:
            sim.commit(made.ann, "main", {"README.md": "hello\n"}, "start")
        yield made
