"""What a review is asked for: by options, or by the event that started a GitHub Actions job.

Rules:
* of an event only numbers, commit ids, one branch's name and two facts (a fork, a private repository) are used, each checked;
* ``pull_request_target`` is refused: it runs with secrets for a request that a stranger wrote;
* what is not known to be private is taken for public.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from publisher.errors import ComeBackLater, StoppedForSafety, UsageProblem

OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
LARGEST_EVENT = 32 * 1024 * 1024
REVIEWED = ("pull_request", "merge_group")


@dataclass(frozen=True, kw_only=True)
class Event:
    """The request that an event is about. ``private`` is None where the event does not say."""

    head: str
    number: int
    branch: str
    fork: bool
    private: bool | None


def event_of(environment: Mapping[str, str]) -> Event:
    """The request of the event that started this job. ``UsageProblem`` where there is none."""
    name = environment.get("GITHUB_EVENT_NAME", "")
    if name == "pull_request_target":
        raise StoppedForSafety(
            "unsafe-event", "a review never runs for pull_request_target, which has secrets while it looks at a stranger's request",
            next="on: pull_request",
        )  # fmt: skip
    if name not in REVIEWED:
        raise UsageProblem(
            "what-to-review", "this job was started by no pull request; say what to review", next="publisher review --requests"
        )
    data = payload_of(environment)
    event = _pull_request(data) if name == "pull_request" else _merge_group(data)
    if not OID.fullmatch(event.head):
        raise ComeBackLater("event-unreadable", "the event that started this job cannot be read", next="run the job again")
    return event


def payload_of(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """The event's payload; empty where there is none."""
    path = environment.get("GITHUB_EVENT_PATH", "")
    try:
        file = Path(path)
        if not path or file.stat().st_size > LARGEST_EVENT:
            return {}
        data = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def is_private(data: Mapping[str, Any]) -> bool | None:
    """Whether the repository of an event is private, None where it does not say."""
    private = _below(data, "repository").get("private")
    return private if isinstance(private, bool) else None


def _pull_request(data: Mapping[str, Any]) -> Event:
    pull = _below(data, "pull_request")
    head, base = _below(pull, "head"), _below(pull, "base")
    number = data.get("number")
    ours, theirs = _below(base, "repo").get("id"), _below(head, "repo").get("id")
    return Event(
        head=str(head.get("sha", "")), number=number if type(number) is int else 0, branch=str(base.get("ref", "")),
        fork=ours is None or ours != theirs, private=is_private(data),
    )  # fmt: skip


def _merge_group(data: Mapping[str, Any]) -> Event:
    group = _below(data, "merge_group")
    branch = str(group.get("base_ref", "")).removeprefix("refs/heads/")
    return Event(head=str(group.get("head_sha", "")), number=0, branch=branch, fork=False, private=is_private(data))


def _below(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}
