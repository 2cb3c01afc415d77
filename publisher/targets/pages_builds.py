"""Has GitHub Pages build the branch that a release was pushed to, where a push alone does not start it.

A push with a job's own token starts no build (docs.github.com, "Troubleshooting GitHub Pages builds"); one with a deploy key, an
App's or a person's token does. Rules:
* a build is asked for when the newest one is of another commit, or failed; one that is under way is not asked for again;
* it is watched for a bounded time, so that the probes need not start too early; whether it worked is for the probes to say;
* nothing here stops a run: the branch holds the release, and every later build shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from publisher.errors import Refusal
from publisher.ports import HostWrites

BUILDS = "pages/builds"
WATCHED = 90.0
"""Seconds that a build is watched for: most take a minute. It is less than a claim's lease."""
PAUSE = 5.0
UNDER_WAY = ("queued", "building")


class PagesBuilds:
    """Branch-based Pages of the repository behind ``host``."""

    def __init__(self, host: Callable[[], HostWrites], *, sleep: Callable[[float], None]) -> None:
        self._host = host
        self._sleep = sleep

    def show(self, commit: str) -> None:
        """Sees to it that a build of ``commit`` is made. Returns when it is over, or after a while."""
        with suppress(Refusal):
            host = self._host()
            if _state(host, commit) in (*UNDER_WAY, "built"):
                return self._watch(host, commit)
            with suppress(Refusal):  # whether it was taken is seen below
                host.send("POST", BUILDS, {})
            self._watch(host, commit)
        return None

    def _watch(self, host: HostWrites, commit: str) -> None:
        for _ in range(int(WATCHED / PAUSE)):
            if _state(host, commit) in ("built", "errored"):
                return
            self._sleep(PAUSE)


def _state(host: HostWrites, commit: str) -> str:
    """The status of the newest build, "" when it is of another commit."""
    latest: Any = host.get(f"{BUILDS}/latest")
    if not isinstance(latest, dict) or latest.get("commit") != commit:
        return ""
    return str(latest.get("status"))
