"""A target's options from ``publisher.yaml``, and what surrounds every target.

Rules:
* unknown options are refused, so that a misspelt one is never passed over;
* a target never lies inside what the repository itself keeps (plans, ledger, drafts, sources, code, git's own folder), nor
  around the repository;
* a repository is named by a plain path, https or ssh; never with a password in it, and never so that git could take it for an
  option or for a program to run;
* a secret is named by the environment variable that holds it, and no message quotes what stands in its place.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from publisher.errors import InputProblem
from publisher.ports import GitWrites, HostWrites

KEPT = (".git", ".github", "plans", "ledger", "drafts", "site-src", "publisher")
"""Folders of the repository that no target may touch."""

BRANCH = re.compile(r"(?!refs/|HEAD$)[A-Za-z0-9_][A-Za-z0-9_-]*(?:[./][A-Za-z0-9_][A-Za-z0-9_-]*)*", re.ASCII)
WEB = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/[A-Za-z0-9._~/-]+", re.ASCII)
LOCAL_WEB = re.compile(r"http://(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?/[A-Za-z0-9._~/-]+", re.ASCII)
SSH = re.compile(
    r"ssh://(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?/[A-Za-z0-9._~/-]+", re.ASCII
)
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}", re.ASCII)
SCP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9._~][A-Za-z0-9._~/-]*", re.ASCII)


def no_host() -> NoReturn:
    """The pull-request host of an instance that has none."""
    raise InputProblem(
        "no-host", "this target asks GitHub, and publisher.yaml has no github: section", where="publisher.yaml",
        next="edit publisher.yaml",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """``base`` is the repository's root; ``state_remote`` the remote that holds the state branch; ``now`` is aware.

    ``url`` is where the site is public, ``host`` the API of the instance's repository, ``environment`` that of the process.
    """

    site: str
    base: Path
    git: GitWrites = field(repr=False)
    state_remote: str
    now: Callable[[], datetime]
    sleep: Callable[[float], None] = time.sleep
    url: str = ""
    host: Callable[[], HostWrites] = no_host
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_options(options: object, *, site: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Mapping[str, str]:
    """The options as text by name; an absent optional one is "". ``InputProblem`` names the option, never its value."""
    if not isinstance(options, Mapping):
        raise wrong_option(site, "the target's options are a mapping")
    for name in options:
        if name not in (*required, *optional):
            raise wrong_option(site, f"there is no target option {name!a}; this kind has {', '.join((*required, *optional))}")
    for name in (*required, *optional):
        value = options.get(name, "")
        if not isinstance(value, str) or any(ord(letter) < 32 for letter in value) or (name in required and not value):
            raise wrong_option(site, f"the target option {name} is a line of text")
    return {name: options.get(name, "") for name in (*required, *optional)}


def target_folder(path: str, around: Surroundings) -> Path:
    """The absolute folder of a configured path, links resolved; refuses one that the repository itself needs."""
    root = around.base.resolve()
    wanted = root / Path(path).expanduser()
    for folder in (Path(os.path.normpath(wanted)), wanted.resolve()):
        if root.is_relative_to(folder):
            raise wrong_option(around.site, f"the target path {path} holds the repository itself")
        # Letter case is ignored by the usual macOS file systems: Plans/ is plans/ there.
        inside = folder.relative_to(root).parts[0].casefold() if folder.is_relative_to(root) else ""
        if inside in KEPT:
            raise wrong_option(
                around.site, f"the target path {path} lies inside {inside}/, which the repository needs for itself"
            )
    return wanted.resolve()


def branch_ref(branch: str, around: Surroundings) -> str:
    """The full ref of a configured branch name."""
    if not BRANCH.fullmatch(branch) or branch.endswith(".lock"):
        raise wrong_option(around.site, "the target option branch is a plain branch name such as gh-pages")
    return f"refs/heads/{branch}"


def repository_of(text: str, around: Surroundings) -> str:
    """What git is given for a configured repository: a URL as it stands, or an absolute path."""
    if any(shape.fullmatch(text) for shape in (WEB, LOCAL_WEB, SSH, SCP)):
        return text
    if ":" in text or "@" in text or text.startswith("-"):
        raise wrong_option(
            around.site, "the target option repository is a path, https://…, ssh://… or user@host:path, without a password"
        )
    return str((around.base / text).resolve())


def key_name(name: str, remote: str, around: Surroundings) -> str:
    """The variable with the SSH key for a repository; refused, unquoted, where it is something else than a name."""
    if not VARIABLE.fullmatch(name):
        raise wrong_option(
            around.site, "the target option key is the name of an environment variable, such as PUBLISHER_DEPLOY_KEY"
        )
    if not SSH.fullmatch(remote) and not SCP.fullmatch(remote):
        raise wrong_option(
            around.site, "the target option key goes with a repository that is reached by ssh: git@host:path or ssh://…"
        )
    return name


def wrong_option(site: str, reason: str) -> InputProblem:
    """The refusal of an option, by its rule."""
    return InputProblem("target-options", f"site {site}: {reason}", where="publisher.yaml", next="publisher doctor")
