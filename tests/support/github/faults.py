"""Faults: what the network, a busy server and a limited token do to one request, before or after it took effect.

``Faults.next("POST /repos/ann/site/pulls", status=502, after=True)``: the first word is the method, or ``*``; the rest is the path
below the API's address, where ``*`` stands for anything; ``git-receive-pack`` and ``git-upload-pack`` name git's own requests,
``git-receive-pack/refs`` the look at the refs before one.

Kinds: ``status`` answers it; ``hang`` never answers; ``reset`` breaks the connection off and ``close`` ends it without a word;
``secondary`` and ``primary`` are the rate limits; ``forbidden`` is 403; ``empty`` is a list without items, or a good answer without
a body (for git: no answer at all).

``keep_git_connections``: git's requests share a connection. A client then sends a request once more by itself when such a
connection ends without an answer: a push that was done and lost is pushed again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from tests.support.github.answers import Answer, ApiError

if TYPE_CHECKING:
    from tests.support.github.simulator import Simulator

KINDS = ("status", "hang", "reset", "close", "secondary", "primary", "forbidden", "empty")
WORDS = {500: "Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 404: "Not Found"}


@dataclass
class Fault:
    pattern: str
    kind: str
    status: int
    after: bool
    left: int
    seen: int = 0

    def fits(self, method: str, path: str) -> bool:
        words = self.pattern.split(" ")
        if len(words) == 1:
            return path == words[0]
        return words[0] in ("*", method) and fnmatchcase(path, words[1])


class Faults:
    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.planned: list[Fault] = []
        self.over = threading.Event()
        self.keep_git_connections = False
        self.index_delay = 0.0

    def next(self, pattern: str, *, status: int = 0, kind: str = "", after: bool = False, times: int = 1) -> Fault:
        """What happens to the next ``times`` requests that fit. ``after``: it is done first, and only the answer suffers."""
        made = Fault(pattern, kind or "status", status, after, times)
        assert made.kind in KINDS and (made.kind != "status" or status), "say a status or a kind"
        self.planned.append(made)
        return made

    def clear(self) -> None:
        self.planned.clear()

    def delay_index(self, seconds: float) -> None:
        """``commits/{sha}/pulls`` shows a merge only this long after it, by the server's clock."""
        self.index_delay = seconds

    def take(self, method: str, path: str) -> Fault | None:
        with self.sim.lock:
            for one in self.planned:
                if one.left and one.fits(method, path):
                    one.left, one.seen = one.left - 1, one.seen + 1
                    return one
        return None

    def answer(self, fault: Fault, normal: Any = None) -> Answer | None:
        """The spoiled answer; None when there is to be none at all."""
        if fault.kind == "status":
            return Answer(fault.status, {"message": WORDS.get(fault.status, "Unexpected")})
        if fault.kind == "empty":
            return Answer(200, [] if isinstance(normal, list) else None)
        if fault.kind == "forbidden":
            return refused(ApiError(403, "Resource not accessible by integration"))
        if fault.kind in ("secondary", "primary"):  # GitHub documents 403 and 429 for both
            made = refused(self.secondary() if fault.kind == "secondary" else self.sim.quota.exceeded(None))
            return Answer(fault.status or made.status, made.body, made.headers)
        return None

    def secondary(self) -> ApiError:
        says = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        return ApiError(403, says, headers={"Retry-After": "60"})


def refused(error: ApiError) -> Answer:
    return Answer(error.status, error.body(), error.headers)
