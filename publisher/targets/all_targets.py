"""The registry of targets: a literal table, so that no configuration can name code."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from publisher.domain.instance import TargetSpec
from publisher.errors import InputProblem
from publisher.ports import GitWrites, HostWrites, Target
from publisher.targets.directory import DirectoryTarget
from publisher.targets.git_branch import GitBranchTarget
from publisher.targets.github_pages import GithubPagesTarget
from publisher.targets.options import Surroundings, no_host

TARGETS: dict[str, type[DirectoryTarget] | type[GitBranchTarget] | type[GithubPagesTarget]] = {
    "directory": DirectoryTarget,
    "git-branch": GitBranchTarget,
    "github-pages": GithubPagesTarget,
}


def make_target(
    spec: TargetSpec, *, site: str, base: Path, git: GitWrites, state_remote: str, now: Callable[[], datetime],
    sleep: Callable[[float], None] = time.sleep, url: str = "", host: Callable[[], HostWrites] = no_host,
    environment: Mapping[str, str] | None = None,
) -> Target:  # fmt: skip
    """The target that ``spec`` describes, for one site.

    ``base`` is the repository's root, which relative paths start from; ``state_remote`` is the remote with the state branch,
    where a ``git-branch`` of the same repository lives; ``now`` dates commits and the lock; ``url`` is the site's address and ``host``
    its repository's API, for the kinds that ask there; ``environment`` is the process's. ``InputProblem`` when the kind or
    an option is not known.
    """
    kind = TARGETS.get(spec.kind)
    if kind is None:
        raise InputProblem(
            "target-kind", f"site {site}: there is no target kind {spec.kind!a}; there are {', '.join(TARGETS)}",
            where="publisher.yaml", next="publisher doctor",
        )  # fmt: skip
    around = Surroundings(
        site=site, base=base, git=git, state_remote=state_remote, now=now, sleep=sleep, url=url, host=host,
        environment=environment or {},
    )  # fmt: skip
    return kind.from_options(spec.options, around)
