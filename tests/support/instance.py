"""A whole instance for tests: a bare remote, a planner, a reviewer, a CI, throw-away keys, drafts, a target and its web server.

``Instance.publisher`` runs the real command line in a process of its own; nothing is shared between actors but the remote and the
target.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from publisher.domain.ledger_events import EventType, NewEvent, encode
from publisher.sitebuilder.theme import default_theme
from tests.support.gitrepos import Repository, bare, clone
from tests.support.warm import Stopped, Warm, needs_an_interpreter, shared

REPOSITORY = Path(__file__).resolve().parents[2]
INSTANCE_ID = "i-5f0c2b6c9d1e4a7b8c3d2e1f0a9b8c7d"
EPOCH_ID = "e" * 32
START = "2026-01-01"

INSTANCE = """\
instance: {{id: {instance}}}
forge: git
branches: {{default: main, state: {state}}}
on_call: [ops@example.org]
alerts: {{kind: file, path: {alerts}}}
lease: {lease}
sites:
  blog:
    url: {url}/
    zone: Asia/Hong_Kong
    title: "A test blog"
    description: "Texts for tests"
    language: en
    author: "Test"
    tag_authority: "blog.example,2026"
    target: {target}
    staging: {{kind: directory, path: {staging}}}
    confirm_within: {confirm}
{more}"""

POLICY = """\
version: 1
quantity: 2
start: "{start}"
zone: Asia/Hong_Kong
{time}shares: {{guide: 1, note: 1}}
horizon_days: 60
"""


def draft(number: int, category: str, body: str = "") -> str:
    text = body or f"The body of article number {number}, with a sentence that belongs to it alone: marker-{number:04d}.\n"
    return (
        f'---\nid: a-{number:04d}\ntitle: "Article number {number} of the test"\n'
        f'summary: "What article number {number} says in short."\ncategory: {category}\ntags: [test, t{number % 3}]\n---\n{text}'
    )


def source(number: int) -> str:
    return f"drafts/blog/article-{number:04d}"


@dataclass
class Instance:
    """``folder`` holds remote.git, the clones, keys, public (the target) and alerts.jsonl."""

    folder: Path
    url: str
    environment: dict[str, str] = field(default_factory=dict)
    warm: Warm | None = None
    """Where set, ``driven`` commands are forks of this warm process instead of fresh interpreters."""

    @property
    def remote(self) -> Repository:
        return Repository(self.folder / "remote.git", "remote")

    def clone(self, who: str) -> Repository:
        path = self.folder / who
        return Repository(path, who) if path.exists() else self.fresh_clone(who)

    def fresh_clone(self, who: str, key_of: str = "") -> Repository:
        """A new clone of the remote; with ``key_of`` it signs as that person."""
        made = clone(self.remote, self.folder / who, who)
        key = self.folder / "keys" / (key_of or who)
        if key.exists():
            made.setting("publisher.signingkey", str(key))
        return made

    @property
    def public(self) -> Path:
        return self.folder / "public"

    @property
    def alerts(self) -> list[dict[str, Any]]:
        path = self.folder / "alerts.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def env(self, who: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PUBLISHER_"))}
        return {
            **kept, "PYTHONPATH": str(REPOSITORY), "PUBLISHER_ACTOR": who, "HOME": str(self.folder), "NO_COLOR": "1",
            **self.environment,
        }  # fmt: skip

    def command(self, *argv: str) -> list[str]:
        return [sys.executable, "-m", "publisher", *argv]

    def publisher(self, who: str, *argv: str, check: int | None = None) -> subprocess.CompletedProcess[str]:
        """Runs ``publisher ARGV`` in the clone of ``who``; ``check`` is the exit code that it must have."""
        folder, env = self.clone(who).path, self.env(who)
        if needs_an_interpreter(env):
            done = subprocess.run(self.command(*argv), cwd=folder, env=env, capture_output=True, text=True, timeout=120)
        else:
            done = (self.warm or shared()).run(argv, folder, env, driven=False)
        if check is not None:
            assert done.returncode == check, f"{argv}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def driven(self, who: str, *argv: str, check: int | None = None, **driver: str) -> subprocess.CompletedProcess[str]:
        """The same command line through ``tests.support.driver``; ``driver`` are its variables without the prefix, lower case."""
        folder, environment = self.clone(who).path, self.driver_env(who, driver)
        if self.warm:
            done = self.warm.run(argv, folder, environment)
        else:
            command = [sys.executable, "-m", "tests.support.driver", *argv]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
        if check is not None:
            assert done.returncode == check, f"{argv}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def driven_until_stopped(self, who: str, *argv: str, **driver: str) -> subprocess.CompletedProcess[str] | Stopped:
        """The same, for a command that may stop itself on the way. Needs the warm process."""
        assert self.warm
        return self.warm.run_until_stopped(argv, self.clone(who).path, self.driver_env(who, driver))

    def driver_env(self, who: str, driver: dict[str, str]) -> dict[str, str]:
        return {**self.env(who), **{f"DRIVER_{name.upper()}": value for name, value in driver.items()}}

    def start_driven(self, who: str, *argv: str, **driver: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.support.driver", *argv]
        return subprocess.Popen(
            command,
            cwd=self.clone(who).path,
            env=self.driver_env(who, driver),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start(self, who: str, *argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*argv),
            cwd=self.clone(who).path,
            env=self.env(who),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def data(self, who: str, *argv: str, check: int | None = 0) -> Any:
        return json.loads(self.publisher(who, *argv, "--json", check=check).stdout)

    def plan_and_approve(self, *argv: str) -> int:
        """The planner proposes, the reviewer approves; returns the request's number."""
        made = self.data("planner", "plan", *argv)
        number = made["proposed"][0]["request"]
        self.publisher("reviewer", "approve", str(number), "--yes", check=0)
        return int(number)

    def ledger(self, path: str, branch: str = "main") -> list[dict[str, Any]]:
        text = self.remote.git("show", f"{branch}:ledger/{path}.jsonl", check=False)
        return [json.loads(line) for line in text.splitlines()]

    def commits(self, branch: str = "main") -> int:
        return int(self.remote.git("rev-list", "--count", branch))

    def live(self) -> dict[str, bytes]:
        """Every file of the live release, less the claim file."""
        root = (self.public / "current").resolve()
        files = {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
        files.pop(".well-known/publisher-claim.json", None)
        return files


def make_keys(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True)
    keys = {}
    for who in ("planner", "reviewer", "second"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", str(folder / who)], check=True, capture_output=True
        )
        kind, key, _ = (folder / f"{who}.pub").read_text().split(" ", 2)
        keys[who] = f"{kind} {key}"
    return keys


def approval_yaml(keys: dict[str, str]) -> str:
    return (
        "approvals: 1\nexpires_after: 24h\nmax_lead: 14d\ncontent: plan\nsigners:\n"
        f'  - {{principal: planner@example.org, key: "{keys["planner"]}", may: [commit]}}\n'
        f'  - {{principal: reviewer@example.org, key: "{keys["reviewer"]}", may: [commit, approve]}}\n'
    )


def make_instance(
    folder: Path,
    *,
    url: str = "http://127.0.0.1:9",
    articles: int = 8,
    publish_time: str = "",
    state: str = "main",
    lease: str = "10m",
    confirm: str = "10s",
    target: str = "",
    more: str = "",
) -> Instance:
    """A new instance with ``articles`` queued drafts, guides and notes by turns."""
    folder.mkdir(parents=True, exist_ok=True)
    instance = Instance(folder, url)
    keys = make_keys(folder / "keys")
    bare(folder / "remote.git")
    editor = clone(instance.remote, folder / "editor")
    theme = {f"site-src/blog/theme/{path}": data for path, data in default_theme().items()}
    drafts = {f"{source(n)}/index.md": draft(n, "guide" if n % 2 else "note") for n in range(1, articles + 1)}
    queue = "articles:\n" + "".join(f"  - {{id: a-{n:04d}, source: {source(n)}}}\n" for n in range(1, articles + 1))
    ledger = {} if state != "main" else {"ledger/blog/claims/2026.jsonl": first_epoch()}
    editor.commit(
        {
            "publisher.yaml": INSTANCE.format(
                instance=INSTANCE_ID, state=state, alerts=folder / "alerts.jsonl", lease=lease, url=url, confirm=confirm, more=more,
                target=target or f"{{kind: directory, path: {folder / 'public'}}}", staging=folder / "staging",
            ),
            "approval.yaml": approval_yaml(keys),
            "plans/blog/policy.yaml": POLICY.format(start=START, time=f'publish_time: "{publish_time}"\n' if publish_time else ""),
            "plans/blog/queue.yaml": queue,
            **theme, **drafts, **ledger,
        },
        "A new instance",
    )  # fmt: skip
    editor.push()
    if state != "main":
        editor.git("checkout", "--quiet", "--orphan", state)
        editor.git("rm", "-rfq", "--cached", ".")
        for path in ("publisher.yaml", "approval.yaml", "plans", "site-src", "drafts"):
            target_path = editor.path / path
            shutil.rmtree(target_path) if target_path.is_dir() else target_path.unlink()
        editor.commit({"ledger/blog/claims/2026.jsonl": first_epoch()}, "The ledger")
        editor.push(state)
        editor.git("checkout", "--quiet", "main")
    for who in ("planner", "reviewer", "ci"):
        instance.fresh_clone(who)
    return instance


def first_epoch() -> bytes:
    new = NewEvent(type=EventType.EPOCH, fields={"epoch": 1, "epoch_id": EPOCH_ID, "reason": "init"})
    line, _ = encode(new, after=None, at="2026-01-01T00:00:00Z", actor="test", commit="0" * 40)
    return line
