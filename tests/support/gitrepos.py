"""Real repositories for tests: a bare remote, one clone per actor, fixed identities, no configuration from outside."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MOMENT = 1_796_000_000
"""Commits are dated from here, one second apart, so that their ids are the same in every run."""


def environment(who: str = "editor", at: int = MOMENT) -> dict[str, str]:
    """What git sees in a test: an identity, a time, and nothing of the machine's configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    when = f"@{at} +0000"
    return kept | {
        "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": who, "GIT_AUTHOR_EMAIL": f"{who}@example.org", "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_NAME": who, "GIT_COMMITTER_EMAIL": f"{who}@example.org", "GIT_COMMITTER_DATE": when,
    }  # fmt: skip


@dataclass
class Repository:
    """A bare repository or a clone at ``path``, used by ``who``."""

    path: Path
    who: str = "editor"
    commits: int = 0

    def git(self, *arguments: str, stdin: bytes | None = None, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=environment(self.who, MOMENT + self.commits),
            input=stdin,
            capture_output=True,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode('utf-8', 'replace')}")
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, files: Mapping[str, bytes | str | None]) -> None:
        for name, data in files.items():
            path = self.path / name
            if data is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)

    def commit(self, files: Mapping[str, bytes | str | None], message: str = "change", *, key: Path | None = None) -> str:
        """Commits ``files`` (None removes) with a time of its own, SSH-signed with ``key``, and returns the id."""
        self.write(files)
        self.git("add", "--all")
        self.commits += 1
        signed = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={key}", "commit", "-S") if key else ("commit",)
        self.git(*signed, "--quiet", "--allow-empty", "-m", message)
        return self.head()

    def head(self, name: str = "HEAD") -> str:
        return self.git("rev-parse", "--verify", name)

    def push(self, branch: str = "main") -> None:
        self.git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")

    def refs(self) -> dict[str, str]:
        rows = [line.split(" ") for line in self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()]
        return {row[0]: row[1] for row in rows}

    def setting(self, key: str, value: str) -> None:
        self.git("config", "--local", "--add", key, value)

    def hook(self, name: str, script: str) -> Path:
        """Installs a shell script as a hook of this repository."""
        folder = self.path / "hooks" if (self.path / "HEAD").exists() else self.path / ".git" / "hooks"
        folder.mkdir(exist_ok=True)
        return script_at(folder / name, script)


def script_at(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def bare(path: Path) -> Repository:
    """A fresh bare repository whose default branch is main."""
    subprocess.run(
        ["git", "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(path)],
        env=environment(),
        check=True,
        capture_output=True,
    )
    return Repository(path, "remote")


def clone(remote: Repository, path: Path, who: str = "editor", options: Sequence[str] = ()) -> Repository:
    """A clone of ``remote``. Without ``options`` it talks to the remote by its plain path."""
    subprocess.run(
        ["git", "clone", "--quiet", "--template=", *options, str(remote.path), str(path)],
        env=environment(),
        check=True,
        capture_output=True,
    )
    made = Repository(path, who)
    if not made.git("rev-parse", "--verify", "--quiet", "HEAD", check=False):
        made.git("symbolic-ref", "HEAD", "refs/heads/main")
    return made


def started(folder: Path, files: Mapping[str, bytes | str | None] | None = None) -> tuple[Repository, Repository]:
    """A bare remote with one commit on main, and a clone that pushed it."""
    remote = bare(folder / "remote.git")
    editor = clone(remote, folder / "editor")
    editor.commit(files or {"README.md": "hello\n"}, "start")
    editor.push()
    return remote, editor


def signing_key(folder: Path, name: str) -> Path:
    """A throw-away ed25519 key without a passphrase; its public half lies beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True, capture_output=True
    )
    return path


def public_half(key: Path) -> str:
    """``type base64`` of a key made by ``signing_key``."""
    return " ".join(key.with_name(key.name + ".pub").read_text(encoding="utf-8").split()[:2])


def allowed(signers: Mapping[str, Path], namespace: str) -> str:
    """An allowed-signers text that lets each principal's key sign in one namespace."""
    return "".join(f'{who} namespaces="{namespace}" {public_half(key)}\n' for who, key in signers.items())


def snapshot(folder: Path) -> dict[str, str]:
    """Every file below ``folder`` with a digest of its bytes and mode: equal snapshots mean that nothing changed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = f"{state.st_mode:o} {state.st_mtime_ns} {hashlib.sha256(data).hexdigest()}"
    return found
