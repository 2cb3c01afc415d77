"""A monitor as healthchecks.io is one, small and real: it waits for calls over HTTP, and raises its own alarm when they stop.

One check: an address nobody can guess, the time between two calls, and a grace on top. Its clock is the test's: ``now`` moves only
when the test moves it, and the alarm is looked at then.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "5a0c9d1e-7b1f-4c53-9a52-2f6c1f0e77aa"


@dataclass
class Monitor:
    """``period`` and ``grace`` as a check has them. ``alarms`` are the moments at which it told its owner that calls stopped.

    ``statuses``: answers to give instead of 200, first come first served; ``location`` goes with a 3xx.
    """

    now: datetime
    period: timedelta = timedelta(hours=1)
    grace: timedelta = timedelta(hours=1)
    url: str = ""
    calls: list[datetime] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    alarms: list[datetime] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    location: str = ""
    silent: bool = False
    """Takes the connection and never answers."""

    @property
    def deadline(self) -> datetime | None:
        """When the next call must have come; None before the first one (a new check waits for it)."""
        return self.calls[-1] + self.period + self.grace if self.calls else None

    @property
    def is_down(self) -> bool:
        return bool(self.alarms) and (not self.calls or self.alarms[-1] >= self.calls[-1])

    def pass_to(self, now: datetime) -> None:
        """Lets time pass, and raises the alarm once when the deadline went by."""
        assert now >= self.now, "time does not go back"
        self.now = now
        deadline = self.deadline
        if deadline and deadline <= now and not self.is_down:
            self.alarms.append(deadline)

    def called(self, path: str) -> int:
        if path != f"/{SECRET}":
            self.foreign.append(path)
            return 404
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 200:
            self.calls.append(self.now)
        return status


def _handler(monitor: Monitor, over: threading.Event) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if monitor.silent:
                over.wait(30)
                return
            status = monitor.called(self.path)
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", monitor.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    return Handler


@contextmanager
def monitoring(now: datetime, **options: Any) -> Iterator[Monitor]:
    """A running monitor. ``url`` is what PUBLISHER_PING_URL would hold."""
    monitor, over = Monitor(now=now, **options), threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(monitor, over))
    monitor.url = f"http://127.0.0.1:{server.server_address[1]}/{SECRET}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield monitor
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()
