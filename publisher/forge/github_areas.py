"""What the paths of GitHub's API are about, in people's words, and the permission that a token needs for them.

Only these words stand in messages: a path may hold the name of a draft's branch.
"""

from __future__ import annotations

from dataclasses import dataclass

PULL_REQUESTS = "Settings, Actions: allow GitHub Actions to create pull requests"


@dataclass(frozen=True)
class Area:
    """``words`` for people; ``permission`` as GitHub names it in its settings ("" where no permission helps)."""

    words: str
    permission: str = ""
    hint: str = ""


# By the first part of a path below the repository, or by more where that says more.
AREAS = {
    "": Area("the repository", "Metadata"),
    "actions": Area("the workflows", "Actions"),
    "activity": Area("the record of pushes", "Contents"),
    "check-runs": Area("the checks", "Checks"),
    "collaborators": Area("people's permissions", "Metadata"),
    "commits": Area("the commits", "Contents and Pull requests"),
    "commits/check-runs": Area("the checks", "Checks"),
    "commits/status": Area("the commit statuses", "Commit statuses"),
    "contents": Area("the files", "Contents"),
    "environments": Area("the environments", "Environments"),
    "git": Area("the files", "Contents"),
    "issues": Area("the issues and their comments", "Issues and Pull requests"),
    "labels": Area("the labels", "Issues"),
    "pages": Area("Pages", "Pages"),
    "pulls": Area("the pull requests", "Pull requests", PULL_REQUESTS),
    "rules": Area("the branch rules", "Metadata"),
    "rulesets": Area("the branch rules", "Administration"),
    "statuses": Area("the commit statuses", "Commit statuses"),
}
ELSEWHERE = Area("accounts")
OTHER = Area("the settings")


def area_of(path: str) -> Area:
    """The area of a path as ``HostReads`` takes it."""
    if path.startswith("/"):
        return ELSEWHERE
    parts = path.split("/")
    return AREAS.get(f"{parts[0]}/{parts[-1]}") or AREAS.get(parts[0], OTHER)
