"""GitHub's workflow files as the harness reads them: what starts a file, what it may do, and the few changes that ``act`` needs.

Every value is text here, as it stands in the file: ``on`` is a word and ``no`` is not a boolean.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

LEVELS = ("none", "read", "write")
OWN = "$/"
"""A reference to the repository and commit of the file that holds it."""


def read(text: str) -> dict[str, Any]:
    values = yaml.load(text, Loader=yaml.BaseLoader)
    assert isinstance(values, dict) and "on" in values and "jobs" in values, "not a workflow"
    return values


def runnable(text: str, repository: str, commit: str) -> str:
    """The same file for ``act``, which ignores concurrency groups but refuses their ``queue``, and does not know ``$/``.

    A reference to the own repository becomes what GitHub's runner makes of it: ``owner/name/path@commit``.
    """
    text = re.sub(r"^ +queue: (?:max|single)\n", "", text, flags=re.MULTILINE)
    return re.sub(r"(uses: )\$/(\S+)", rf"\g<1>{repository}/\g<2>@{commit}", text)


def triggers(flow: Mapping[str, Any]) -> Mapping[str, Any]:
    on = flow["on"]
    if isinstance(on, dict):
        return {name: given or {} for name, given in on.items()}
    return {name: {} for name in ([on] if isinstance(on, str) else on)}


def crons(flow: Mapping[str, Any]) -> list[str]:
    return [line["cron"] for line in triggers(flow).get("schedule", [])]


def form(flow: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """A dispatch's inputs as the event has them: defaults filled in, and refused as GitHub's form refuses."""
    asked = triggers(flow)["workflow_dispatch"].get("inputs") or {}
    assert given.keys() <= asked.keys(), f"unexpected inputs: {sorted(given.keys() - asked.keys())}"
    filled = {name: given.get(name, one.get("default", "")) for name, one in asked.items()}
    for name, one in asked.items():
        assert filled[name] or one.get("required") != "true", f"{name} is required"
        assert one.get("type") != "choice" or filled[name] in one["options"], f"{name} is one of {one['options']}"
    return filled


def starts_on_push(flow: Mapping[str, Any], branch: str, changed: Iterable[str]) -> bool:
    """Whether a push that changes these files starts the workflow."""
    push = triggers(flow).get("push")
    return push is not None and branch in push.get("branches", [branch]) and _touches(push, changed)


def starts_on_pull_request(flow: Mapping[str, Any], changed: Iterable[str]) -> bool:
    asked = triggers(flow).get("pull_request")
    return asked is not None and _touches(asked, changed)


def _touches(trigger: Mapping[str, Any], changed: Iterable[str]) -> bool:
    patterns = [re.compile(fnmatch.translate(path.replace("**", "*"))) for path in trigger.get("paths", ["**"])]
    return any(pattern.match(path) for path in changed for pattern in patterns)


def permissions(flow: Mapping[str, Any]) -> dict[str, str]:
    """What the jobs ask for, taken together: one run has one token here, where GitHub makes one for each job."""
    together: dict[str, str] = {}
    for job in flow["jobs"].values():
        asked = job.get("permissions", flow.get("permissions"))
        assert isinstance(asked, dict), "a job without permissions of its own"
        for scope, level in asked.items():
            together[scope] = max(together.get(scope, "none"), level, key=LEVELS.index)
    return together


def require_callable(caller: Mapping[str, Any], called: Mapping[str, Any]) -> None:
    """What GitHub refuses before a run begins: a call that hands on what is not asked for, or that grants less than is needed."""
    interface = triggers(called)["workflow_call"]
    assert caller.get("with", {}).keys() <= (interface.get("inputs") or {}).keys(), "an input that the called workflow has not"
    assert caller.get("secrets", {}).keys() <= (interface.get("secrets") or {}).keys(), "a secret that it does not ask for"
    granted = caller.get("permissions", {})
    for scope, level in permissions(called).items():
        assert LEVELS.index(granted.get(scope, "none")) >= LEVELS.index(level), f"the called workflow asks for {scope}: {level}"
