"""The dead man's switch: a call to a monitor that raises an alarm of its own when the calls stop.

With every workflow switched off nothing of ours runs any more, and nothing of ours can say so. A monitor elsewhere can
(healthchecks.io and its like: one address, and a time within which it must be called).

Rules:
* a call means that a round of ``watch`` ran and could look at everything. It does not mean that all is well: what is wrong goes
  out as alerts. So there is no call for "failed" (``…/fail``) either: whoever could not look stays silent, and silence
  is what is listened for; one round that failed in passing wakes nobody before the monitor's own grace is over;
* the address is a secret, since whoever has it can silence the monitor: it comes from the environment and is never printed;
* a few tries, each with a time-out; redirects are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from publisher.errors import ComeBackLater, InputProblem

VARIABLE = "PUBLISHER_PING_URL"
TRIES = 3
SECONDS = 10.0
"""How long one try may take."""
PAUSE = 2.0
"""Seconds before the next try; each wait is as much longer."""
LONGEST_URL = 500
HERE = ("127.0.0.1", "localhost", "::1")


class Ping:
    """Calls the monitor at ``url``."""

    def __init__(self, url: str, *, sleep: Callable[[float], None], seconds: float = SECONDS) -> None:
        self._url = url
        self._sleep = sleep
        self._seconds = seconds

    def __call__(self) -> None:
        """One call that arrived. ``ComeBackLater`` (``ping-failed``) when no try did; ``InputProblem`` (``ping-url``)."""
        if not is_ping_url(self._url):
            raise InputProblem(
                "ping-url", f"{VARIABLE} is not an https address (http on this machine only), and is not shown here",
                next=f"correct the secret {VARIABLE}",
            )  # fmt: skip
        why = ""
        for number in range(TRIES):
            if number:
                self._sleep(PAUSE * number)
            why = self._try()
            if not why:
                return
        raise ComeBackLater(
            "ping-failed",
            f"the monitor was not reached in {TRIES} tries ({why})",
            next=f"look at the monitor that {VARIABLE} names",
        )

    def _try(self) -> str:
        """Why the call did not arrive, as a word; "" when it did."""
        from urllib.error import HTTPError
        from urllib.request import Request, build_opener

        request = Request(self._url, headers={"User-Agent": "publisher"})
        try:
            with build_opener(_no_redirects()).open(request, timeout=self._seconds) as answer:
                return "" if 200 <= answer.status < 300 else f"status {answer.status}"
        except HTTPError as refused:
            refused.close()
            return f"status {refused.code}"
        except TimeoutError:
            return "timeout"
        except (OSError, HTTPException, ValueError):
            return "unreachable"  # the library's own words would quote the address


def is_ping_url(url: str) -> bool:
    if len(url) > LONGEST_URL or not re.fullmatch(r"[!-~]+", url) or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    return bool(host) and "@" not in parts.netloc and (parts.scheme == "https" or (parts.scheme == "http" and host in HERE))


def _no_redirects() -> Any:
    from urllib.request import HTTPRedirectHandler

    class NoRedirects(HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            """Refuses: a redirect would carry the secret address elsewhere, and proves no call."""

    return NoRedirects()
