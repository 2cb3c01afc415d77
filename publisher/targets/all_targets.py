"""The registry of targets: a literal table, so that no configuration can name code."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from publisher.domain.instance import TargetSpec
from publisher.errors import InputProblem
from publisher.ports import GitWrites, Target
from publisher.targets.directory import DirectoryTarget
from publisher.targets.git_branch import GitBranchTarget
from publisher.targets.options import Surroundings

TARGETS: dict[str, type[DirectoryTarget] | type[GitBranchTarget]] = {
    "directory": DirectoryTarget,
    "git-branch": GitBranchTarget,
}


def make_target(
    spec: TargetSpec, *, site: str, base: Path, git: GitWrites, state_remote: str, now: Callable[[], datetime]
) -> Target:
    """The target that ``spec`` describes, for one site.

    ``base`` is the repository's root, which relative paths start from; ``state_remote`` is the remote with the state branch,
    where a ``git-branch`` of the same repository lives; ``now`` dates commits and the lock. ``InputProblem`` when the kind or
    an option is not known.
    """
    kind = TARGETS.get(spec.kind)
    if kind is None:
        raise InputProblem(
            "target-kind", f"site {site}: there is no target kind {spec.kind!a}; there are {', '.join(TARGETS)}",
            where="publisher.yaml", next="publisher doctor",
        )  # fmt: skip
    around = Surroundings(site=site, base=base, git=git, state_remote=state_remote, now=now)
    return kind.from_options(spec.options, around)
