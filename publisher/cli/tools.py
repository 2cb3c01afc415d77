"""The programs beside Python that publisher needs: git and OpenSSH's ssh-keygen."""

from __future__ import annotations

import re
import shutil
import subprocess

from publisher.errors import NeedsPerson

OLDEST_GIT = (2, 36)
SECONDS = 20


def require_git() -> str:
    """The version of git, as text; ``NeedsPerson`` when it is missing or too old."""
    if shutil.which("git") is None:
        raise NeedsPerson("git-missing", "git is not installed", next="install the package git, 2.36 or newer")
    try:
        said = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False, timeout=SECONDS).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    found = re.match(r"git version ([0-9]+)\.([0-9]+)[^\s]*", said, re.ASCII)
    if found is None:
        raise NeedsPerson("git-unusable", "git does not say its version", next="git --version")
    version = found[0].removeprefix("git version ")
    if (int(found[1]), int(found[2])) < OLDEST_GIT:
        raise NeedsPerson("git-too-old", f"git {version} is too old; publisher needs 2.36", next="install a newer git")
    return version


def require_ssh_keygen() -> None:
    """``NeedsPerson`` when ssh-keygen is missing: signatures cannot be made or checked without it."""
    if shutil.which("ssh-keygen") is None:
        raise NeedsPerson(
            "ssh-keygen-missing", "ssh-keygen is not installed, and approvals are SSH signatures",
            next="install the package openssh-client (Debian, Ubuntu), openssh-clients (Fedora) or openssh (Homebrew)",
        )  # fmt: skip
