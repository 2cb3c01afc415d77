"""What ``init`` writes: the first files of an instance and of a site, from a person's answers. Pure: nothing is read or written.

The texts here are meant to be edited by whoever gets them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from publisher.domain.business_calendar import business_date, parse_zone

HEAD_INSTANCE = "# This repository is an instance of publisher. `publisher schema instance` explains every key.\n"
HEAD_APPROVAL = """\
# Who may approve what becomes public. A change to this file counts only once it was itself approved by the rules before it.
# may: commit   signs the commits of plans        may: approve   is a person who may approve plans that others made
"""
HEAD_APPROVERS = """\
# Who may approve what becomes public, by the account's number. A change to this file counts only once it was itself approved by the
# rules before it.
"""
HEAD_POLICY = "# How much becomes public, and when. Raise the version with every change; plans that exist keep theirs.\n"
HEAD_QUEUE = "# The articles that may be scheduled, in order. `publisher queue` edits this file and keeps its comments.\n"
WELCOME = """\
This is the first article of this site. It stands in the queue, so the next plan will name it, and it becomes public when
somebody approves that plan. Until then nobody outside sees a word of it.

Change it, or begin another one:

```console
$ publisher new "What we found in the attic"
$ publisher serve --drafts
```
"""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What a person said about a site. ``target`` and ``staging`` are mappings of ``publisher.yaml``; ``staging`` may be empty."""

    site: str
    url: str
    zone: str
    target: Mapping[str, str]
    staging: Mapping[str, str]
    title: str
    description: str
    language: str
    author: str
    tag_authority: str
    quantity: int = 1
    publish_time: str = ""


@dataclass(frozen=True, kw_only=True)
class Who:
    """A signer of forge ``git``."""

    principal: str
    key: str
    may_approve: bool


def site_values(answers: Answers) -> dict[str, Any]:
    """The site's mapping in ``publisher.yaml``."""
    return {
        "url": answers.url, "zone": answers.zone, "title": answers.title, "description": answers.description,
        "language": answers.language, "author": answers.author, "tag_authority": answers.tag_authority,
        "target": dict(answers.target),
    } | ({"staging": dict(answers.staging)} if answers.staging else {})  # fmt: skip


def instance_values(
    answers: Answers, *, instance_id: str, forge: str, default_branch: str, state_branch: str, on_call: tuple[str, ...],
    github: Mapping[str, str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """``publisher.yaml`` as values. At GitHub alerts are issues of the repository, which needs no further secret."""
    return {
        "instance": {"id": instance_id},
        "forge": forge,
        **({"github": dict(github)} if github else {}),
        "branches": {"default": default_branch, "state": state_branch},
        "on_call": list(on_call),
        **({"alerts": {"kind": "github-issue"}} if github else {}),
        "sites": {answers.site: site_values(answers)},
    }


def approval_values(signers: tuple[Who, ...], approvers: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """``approval.yaml`` as values: one approval, usable for a day."""
    listed = [
        {"principal": who.principal, "key": who.key, "may": ["commit", "approve"] if who.may_approve else ["commit"]}
        for who in signers
    ]
    return {"approvals": 1, "expires_after": "24h", "max_lead": "14d", "content": "plan"} | (
        ({"signers": listed} if listed else {}) | ({"approvers": list(approvers)} if approvers else {})
    )


def policy_values(answers: Answers, now: datetime) -> dict[str, Any]:
    """A site's policy, starting today in its zone."""
    start = business_date(now, parse_zone(answers.zone)).isoformat()
    values: dict[str, Any] = {"version": 1, "quantity": answers.quantity, "start": start, "zone": answers.zone}
    return values | ({"publish_time": answers.publish_time} if answers.publish_time else {}) | {"horizon_days": 7}


def tag_authority(url: str, now: datetime) -> str:
    """``domain,year`` for the site's GUIDs (RFC 4151): whoever owned the domain that year may make such ids."""
    host = urlsplit(url).hostname or ""
    return f"{host if re.fullmatch(r'[a-z0-9.-]*[a-z][a-z0-9.-]*', host) else 'localhost'},{now.year:04d}"


def ignored(path: str) -> str:
    """The ``.gitignore`` line for a folder of the repository that holds releases."""
    return f"/{path.strip('/')}/"
