"""A stranger who types what the README's quick starts say, at a machine that has publisher, git, ssh-keygen and ``gh``.

GitHub is the simulated one. Replaced in what is typed are only the names that everybody replaces: the site's address, which publisher
the workflows call, and the App's. After ``init`` the public sites' repositories, which would be reached by ssh at github.com, become
folders of this machine; that ssh itself works is shown elsewhere (``scenarios/test_deploy_keys.py``).
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.actions import Actions, actions_at
from tests.support.github.accounts import Account
from tests.support.github.simulator import Simulator
from tests.support.gitrepos import bare
from tests.support.shipped import ROOT, Shipped
from tests.support.web import StaticSite, serving

STUB = Path(__file__).parent / "stub_gh"
BRANCH = "gh-pages"
SETTING = "actions/permissions/workflow"
_BLOCK = re.compile(r"^\*\*(?P<title>[^*]+?)\.?\*\*.*?^```(?P<kind>\w+)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)


def blocks() -> dict[str, str]:
    """The README's quick starts by title, and the lines that another repository needs."""
    text = (ROOT / "README.md").read_text("utf-8")
    section = text.split("\n## On GitHub\n")[1].split("\n## ")[0]
    return {found["title"]: found["text"] for found in _BLOCK.finditer(section)}


def commands(title: str) -> list[str]:
    """What is typed, command by command."""
    return [part.rstrip("\n") for part in re.split(r"^\$ ", blocks()[title], flags=re.MULTILINE)[1:]]


@dataclass
class Sites(StaticSite):
    """Each public repository below ``root`` is shown at its own name, and the instance's own branch at ``own``'s."""

    own: tuple[str, Path] | None = None

    def page(self, name: str) -> bytes:
        """What the public sees, b"" for nothing."""
        return self._read(name, None) or b""

    def _read(self, name: str, request: object) -> bytes | None:
        site, _, path = name.partition("/")
        repository = self.own[1] if self.own and site == self.own[0] else self.root / f"{site}.git"
        if not repository.exists():
            return None
        command = ["git", "cat-file", "blob", f"{BRANCH}:{path or 'index.html'}"]
        done = subprocess.run(command, cwd=repository, capture_output=True)
        return done.stdout if done.returncode == 0 else None


@dataclass
class Stranger:
    """``at`` is where the next command is typed."""

    sim: Simulator
    ann: Account
    actions: Actions
    sites: Sites
    folder: Path
    at: Path
    replaced: dict[str, str] = field(default_factory=dict)

    def types(self, command: str) -> str:
        """One command, in the directory that an earlier ``cd`` led to; what it printed."""
        for old, new in self.replaced.items():
            command = command.replace(old, new)
        script = f'set -eo pipefail\n{command}\npwd >"$HOME/here"'
        done = subprocess.run(["bash", "-c", script], cwd=self.at, env=self._environment(), capture_output=True, text=True)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        self.at = Path((self._home / "here").read_text().strip())
        self._gh_did()
        if "publisher init" in command:
            self._settle_sites()
        return done.stdout

    @property
    def _home(self) -> Path:
        home = self.folder / "home"
        if not home.exists():
            home.mkdir()
            header = base64.b64encode(f"ann:{self.ann.token}".encode()).decode()
            (home / ".gitconfig").write_text(
                f'[user]\n name = Ann\n email = {self.ann.email}\n[init]\n defaultBranch = main\n'
                f'[http "{self.sim.server_url}/"]\n extraheader = Authorization: Basic {header}\n'
            )  # fmt: skip
        return home

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self._home), "PATH": f"{STUB}:{Path(sys.executable).parent}:{os.environ['PATH']}", "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1", "STUB_GH_CALLS": str(self.folder / "calls"), "STUB_GH_CLONE": self.sim.clone_url,
            "STUB_GH_ID": str(self.ann.id),
            # Over https publisher would ask the user's own credential helper, as git does.
            "GITHUB_SERVER_URL": self.sim.server_url, "GITHUB_API_URL": self.sim.api_url, "GITHUB_TOKEN": self.ann.token,
        }  # fmt: skip

    def _gh_did(self) -> None:
        """What the real ``gh`` would have done at GitHub."""
        calls = self.folder / "calls"
        for words, handed in map(json.loads, calls.read_text().splitlines() if calls.exists() else ()):
            name = words[2] if len(words) > 2 else ""
            if words[:2] == ["repo", "create"] and name != self.sim.name:
                bare(self.sites.root / f"{name}.git")
            elif words[:2] == ["variable", "set"]:
                self.sim.settings.variables[name] = words[words.index("--body") + 1]
            elif words[:2] == ["secret", "set"]:
                assert handed.startswith("-----BEGIN"), name
                self.sim.settings.secrets.add(name)
                self.actions.secrets[name] = handed
            elif words[0] == "api" and any(word.endswith(SETTING) for word in words):
                self.sim.actions_may_create_pull_requests = "can_approve_pull_request_reviews=true" in words
            elif words[:3] == ["repo", "deploy-key", "add"]:
                assert "--allow-write" in words and (self.at / words[3]).read_text().startswith("ssh-ed25519 ")
            else:
                assert words[:2] in (["api", "user"], ["repo", "create"]), words
        calls.unlink(missing_ok=True)

    def _settle_sites(self) -> None:
        path = self.at / "publisher.yaml"
        text = re.sub(
            rf'repository: "?(?:git@|https://)[^"\s]*{self.sim.owner}/([a-z-]+)\.git"?',
            lambda found: f"repository: {self.sites.root}/{found[1]}.git",
            path.read_text(),
        )
        path.write_text(re.sub(r"\n *key: PUBLISHER_DEPLOY_KEY", "", text))


@contextmanager
def stranger(folder: Path, name: str, shipped: Shipped) -> Iterator[Stranger]:
    """``name`` is that of the instance's repository at GitHub, which is made there already."""
    work = folder / "work"
    work.mkdir(parents=True)
    with Simulator(folder / "host", owner="ann", name=name) as sim, serving(Sites(root=folder / "sites")) as web:
        assert isinstance(web, Sites)
        web.date, web.own = None, (name, sim.bare)
        web.root.mkdir()
        with actions_at(sim, shipped, folder / "actions") as actions:
            ann = sim.user("ann", permission="admin")
            replaced = {"https://ann.github.io/": web.url, "OWNER/publisher@COMMIT": shipped.uses, "Iv23…": "press-bot[bot]"}
            yield Stranger(sim, ann, actions, web, folder, work, replaced)
