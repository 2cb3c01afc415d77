"""An instance whose forge is the simulated GitHub: the planner is a bot, a person reviews and merges, the ledger has a branch of
its own, and releases go to a directory.

Everything that ``Instance`` offers works here too; ``sim`` is the host, and its clock follows the commands' (``now``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from publisher.sitebuilder.theme import default_theme
from tests.support.github.accounts import Account
from tests.support.github.simulator import Simulator
from tests.support.gitrepos import Repository
from tests.support.instance import INSTANCE, INSTANCE_ID, POLICY, START, Instance, draft, first_epoch, source
from tests.support.scene import at, warm_process
from tests.support.web import StaticSite, serving

STATE = "publisher-state"


@dataclass
class GithubInstance(Instance):
    """``people`` maps a role to its account: planner and ci are bots, reviewer is a person who may approve."""

    sim: Simulator = None  # type: ignore[assignment]
    people: dict[str, Account] = None  # type: ignore[assignment]

    @property
    def remote(self) -> Repository:
        return Repository(self.sim.bare, "remote")

    def fresh_clone(self, who: str, key_of: str = "") -> Repository:
        """A clone over http, as a CI's checkout makes it: no credentials stay in its configuration."""
        path = self.folder / who
        bare = Repository(self.folder)
        bare.git("clone", "--quiet", str(self.sim.bare), str(path))
        made = Repository(path, who)
        made.git("remote", "set-url", "origin", self.sim.clone_url)
        return made

    def env(self, who: str) -> dict[str, str]:
        account = self.people.get(who, self.people["ci"])
        return {**super().env(who), **self.sim.environment(account), **self.environment}

    def go_to(self, moment: str) -> str:
        """Moves the host's clock; returns the instant for ``now=``."""
        self.sim.set_now(datetime.fromisoformat(at(moment)))
        return at(moment)

    def do(self, who: str, *argv: str, now: str, check: int | None = 0, **driver: str) -> Any:
        return self.driven(who, *argv, now=self.go_to(now), check=check, **driver)

    def propose(self, now: str, *argv: str) -> int:
        """The planner opens a pull request; its number."""
        import json

        made = json.loads(self.do("planner", "plan", "--json", *argv, now=now).stdout)
        return int(made["proposed"][0]["request"])

    def merge(self, number: int, now: str, method: str = "merge", *, review: bool = True) -> str:
        """The reviewer approves and merges; the merge's id."""
        self.go_to(now)
        if review:
            self.sim.reviews.submit(self.people["reviewer"], number, "APPROVED")
        return self.sim.pulls.merge(self.people["reviewer"], number, method=method)

    def ledger(self, path: str, branch: str = STATE) -> list[dict[str, Any]]:
        return super().ledger(path, branch)

    def commits(self, branch: str = STATE) -> int:
        return super().commits(branch)


@contextmanager
def github_instance(
    folder: Path, *, articles: int = 8, publish_time: str = "", more: str = "", **options: Any
) -> Iterator[GithubInstance]:
    """A new instance at a new simulated repository, and the web server at its site's address."""
    with Simulator(folder / "host", **options) as sim, serving(folder / "instance" / "public" / "current") as web:
        web.date = None
        yield made(folder / "instance", sim, web, articles, publish_time, more)


def made(folder: Path, sim: Simulator, web: StaticSite, articles: int, publish_time: str, more: str) -> GithubInstance:
    folder.mkdir(parents=True, exist_ok=True)
    bot = {"contents": "write", "pull_requests": "write", "issues": "write", "statuses": "write", "actions": "read"}
    people = {
        "planner": sim.app("site-publisher[bot]", permissions=bot),
        "ci": sim.app("site-publisher-run[bot]", permissions=bot),
        "reviewer": sim.user("rae", permission="write"),
        "owner": sim.user("ann", permission="admin"),
        "reader": sim.user("eve", permission="read"),
    }
    instance = GithubInstance(folder, web.url.rstrip("/"), sim=sim, people=people, warm=warm_process())
    first = Repository(folder / "editor", "editor")
    Repository(folder).git("clone", "--quiet", str(sim.bare), str(first.path))
    first.git("checkout", "--quiet", "-B", "main")
    first.commit(files(instance, articles, publish_time, more), "A new instance")
    sim.push_as(people["owner"], "HEAD", "main", folder=first.path)
    tree = first.git("mktree", stdin=b"")
    first.git("checkout", "--quiet", "--orphan", STATE)
    first.git("read-tree", "-u", "--reset", tree)
    first.commit({"ledger/blog/claims/2026.jsonl": first_epoch()}, "The ledger")
    sim.push_as(people["owner"], "HEAD", STATE, folder=first.path)
    first.git("checkout", "--quiet", "main")
    for who in ("planner", "ci"):
        instance.fresh_clone(who)
    return instance


def files(instance: GithubInstance, articles: int, publish_time: str, more: str) -> dict[str, bytes | str | None]:
    folder, rae = instance.folder, instance.people["reviewer"]
    configuration = INSTANCE.format(
        instance=INSTANCE_ID, state=STATE, alerts=folder / "alerts.jsonl", lease="10m", url=instance.url, confirm="10s", more=more,
        target=f"{{kind: directory, path: {folder / 'public'}}}", staging=folder / "staging",
    ).replace("forge: git\n", f"forge: github\ngithub: {{repository: {instance.sim.repository}}}\n")  # fmt: skip
    return {
        "publisher.yaml": configuration,
        "approval.yaml": "approvals: 1\nexpires_after: 24h\nmax_lead: 14d\ncontent: plan\n"
        f"approvers: [{{login: {rae.login}, id: {rae.id}}}]\n",
        "plans/blog/policy.yaml": POLICY.format(start=START, time=f'publish_time: "{publish_time}"\n' if publish_time else ""),
        "plans/blog/queue.yaml": "articles:\n"
        + "".join(f"  - {{id: a-{n:04d}, source: {source(n)}}}\n" for n in range(1, articles + 1)),
        **{f"site-src/blog/theme/{path}": data for path, data in default_theme().items()},
        **{f"{source(n)}/index.md": draft(n, "guide" if n % 2 else "note") for n in range(1, articles + 1)},
    }
