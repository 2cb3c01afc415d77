"""GitHub's REST API as JSON: the only user of PyGithub, of which the requester alone is used.

Rules:
* two clients: reads are repeated a bounded number of times within one deadline, writes are attempted once and never repeated;
* nothing is waited for: a rate limit is ``host-busy``, with the time that the host names;
* a redirect is never followed: it means that the repository was renamed, and its old name is free for anybody;
* a list is whole or it is no answer: a page that is missing, or that comes again, is ``host-unreachable``;
* neither the token nor the text of an answer or of a library's error appears in anything that is said.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

from github.Auth import Token
from github.GithubRetry import GithubRetry
from github.Requester import Requester

from publisher.domain.business_calendar import in_utc
from publisher.domain.instance import GithubHost
from publisher.errors import Bug, ComeBackLater, NeedsPerson, OutcomeUnknown
from publisher.forge.github_answers import Answer, date_of, is_rate_limit, next_page, reset_of, words_of
from publisher.forge.github_areas import area_of

PUBLIC = "https://api.github.com"
VERSION = "2022-11-28"
TOKENS = ("PUBLISHER_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")
TRIES = 5
MOST_PAGES = 300
AGAIN = "publisher status --fresh"
REDIRECTS = (301, 302, 303, 307, 308)
NOTHING_THERE = (404, 409, 410, 422)
"""What a read is answered where there is nothing: 409 for an empty repository, 422 for a commit that it does not have."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class _Stop(Exception):
    """Ends the repetitions from inside the library."""


class _Moved(_Stop):
    """The host redirected."""


@dataclass
class _Budget:
    """How long one call may take with all its repetitions."""

    seconds: float
    until: float = 0.0

    def begin(self) -> None:
        self.until = time.monotonic() + self.seconds

    @property
    def spent(self) -> bool:
        return time.monotonic() > self.until


class _ReadRetry(GithubRetry):
    """Repeats reads that got no answer or a 5xx. A 403 is left to us: PyGithub would tell rate limits by their prose, and wait."""

    def __init__(self, *, budget: _Budget, **more: Any) -> None:
        super().__init__(**more)
        self.budget = budget

    def new(self, **more: Any) -> _ReadRetry:
        return super().new(budget=self.budget, **more)

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        return status_code >= 500 or status_code in (*REDIRECTS, 202)

    def increment(self, *given: Any, **named: Any) -> Any:
        response = named.get("response")
        if response is not None and response.status in REDIRECTS:
            raise _Moved
        if self.budget.spent:
            raise _Stop
        return super().increment(*given, **named)


class GithubApi:
    """Implements ``HostWrites`` for one repository with one token."""

    def __init__(
        self,
        repository: str,
        token: str,
        *,
        api: str = PUBLIC,
        timeout: float = 15.0,
        patience: float = 60.0,
        pause: float = 0.25,
    ) -> None:
        """``timeout`` is for each wait for bytes, ``patience`` for a whole read with its repetitions, ``pause`` the unit of the
        waits between them, which double; all in seconds."""
        self._repository = repository
        self._budget = _Budget(patience)
        retry = _ReadRetry(
            budget=self._budget, total=TRIES, backoff_factor=pause, backoff_max=8, allowed_methods=frozenset({"GET", "HEAD"}),
            respect_retry_after_header=False, max_rate_limit_wait=0,
        )  # fmt: skip
        self._reader = _client(token, api, timeout, retry)
        self._writer = _client(token, api, timeout, None)
        self._seen: tuple[datetime, float] | None = None
        self._same_repository = False

    def __repr__(self) -> str:
        return f"GithubApi({self._repository!r})"

    @classmethod
    def from_environment(cls, host: GithubHost, environ: Mapping[str, str]) -> GithubApi:
        """The API as a job or a person's shell reaches it. ``NeedsPerson`` where the environment is another repository's."""
        here = environ.get("GITHUB_REPOSITORY", "")
        if here and here.casefold() != host.repository.casefold():
            raise NeedsPerson(
                "other-repository", f"this runs for {here}, but publisher.yaml is for {host.repository}",
                next="switch the workflows of this copy off, or edit publisher.yaml",
            )  # fmt: skip
        token = next((environ[name].strip() for name in TOKENS if environ.get(name, "").strip()), "")
        if not token:
            raise NeedsPerson(
                "no-host-token", f"no token for {host.repository} is set", next="set PUBLISHER_TOKEN, or GITHUB_TOKEN in a job"
            )
        if not re.fullmatch(r"[!-~]+", token):
            raise NeedsPerson("bad-host-token", "the token holds characters that no token has", next="set PUBLISHER_TOKEN anew")
        return cls(host.repository, token, api=_address(host, environ))

    @property
    def repository(self) -> str:
        return self._repository

    @property
    def server_time(self) -> datetime | None:
        """What the host's clock shows now, from the newest answer's ``Date``; None before the first answer."""
        if self._seen is None:
            return None
        date, at = self._seen
        return date + timedelta(seconds=int(time.monotonic() - at))

    # --- reading -------------------------------------------------------------------------------------------------------------

    def get(self, path: str, **query: str | int) -> Any:
        answer = self._read(path, query)
        return None if answer is None else self._data(answer, path)

    def pages(self, path: str, **query: str | int) -> Iterator[Any]:
        asked: dict[str, str | int] = {"per_page": 100, **query}
        for number in range(MOST_PAGES):
            answer = self._read(path, asked)
            if answer is None:
                if number:
                    break  # the list ended in the middle
                return
            yield from self._items(answer, path)
            following = next_page(answer)
            if not following:
                return
            if asked == (asked := {**asked, **following}):
                break  # the same page again
        raise self._no_answer(path)

    def _read(self, path: str, query: Mapping[str, str | int]) -> Answer | None:
        """None where there is nothing."""
        url = self._url(path)
        self._budget.begin()
        try:
            answer = self._ask(self._reader, "GET", url, query, None)
        except _Moved:
            raise self._moved() from None
        except Exception:  # of the library, of what it stands on, or of the network: their text may hold what must not be said
            raise self._no_answer(path) from None
        if answer.status in NOTHING_THERE:
            return None
        if not answer.ok:
            self._refuse(answer, "GET", path)
            raise self._no_answer(path)
        return answer

    def _data(self, answer: Answer, path: str) -> Any:
        try:
            return {} if answer.status == 204 else json.loads(answer.body)
        except (ValueError, RecursionError):
            raise self._no_answer(path) from None

    def _items(self, answer: Answer, path: str) -> list[Any]:
        """The list in an answer, which is the whole of it or stands in it beside ``total_count``."""
        data = self._data(answer, path)
        if isinstance(data, dict) and "total_count" in data:
            lists = [value for value in data.values() if isinstance(value, list)]
            data = lists[0] if len(lists) == 1 else None
        if not isinstance(data, list):
            raise self._no_answer(path)
        return data

    # --- writing -------------------------------------------------------------------------------------------------------------

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        url = self._url(path)
        self._require_same_repository()
        try:
            answer = self._ask(self._writer, method, url, {}, body)
            data = json.loads(answer.body) if answer.ok and answer.body else None
        except Exception:  # as in _read
            raise self._lost(path) from None
        if answer.ok:
            return data
        self._refuse(answer, method, path)
        if answer.status in (401, 403, 404):
            raise self._forbidden(answer, method, path)
        if answer.status < 500:
            raise NeedsPerson(
                "host-refused", f"GitHub refused to change {area_of(path).words} of {self._repository} ({words_of(answer)})",
                next="publisher doctor",
            )  # fmt: skip
        raise self._lost(path)

    def _require_same_repository(self) -> None:
        """Looked at once before the first write, because the library follows redirects of writes."""
        if self._same_repository:
            return
        data = self.get("")
        if data is None:
            raise self._forbidden(None, "GET", "")
        name = data.get("full_name") if isinstance(data, dict) else None
        if not isinstance(name, str):
            raise self._no_answer("")
        if name.casefold() != self._repository.casefold():
            raise self._moved()
        self._same_repository = True

    # --- one request -----------------------------------------------------------------------------------------------------------

    def _ask(
        self, client: Requester, method: str, url: str, query: Mapping[str, str | int], body: Mapping[str, Any] | None
    ) -> Answer:
        given = None if body is None else dict(body)
        status, headers, text = client.requestJson(method, url, dict(query), input=given)
        answer = Answer(status, {name.lower(): str(value) for name, value in headers.items()}, text)
        date = date_of(answer)
        if date:
            self._seen = (date, time.monotonic())
        return answer

    def _url(self, path: str) -> str:
        if any(part in ("", ".", "..") for part in path.removeprefix("/").split("/")) and path:
            raise Bug("bad-host-path", "a path of the host's API has an empty part")
        below = path if path.startswith("/") else f"/repos/{self._repository}" + (f"/{path}" if path else "")
        return quote(below, safe="/")

    # --- refusals ----------------------------------------------------------------------------------------------------------------

    def _refuse(self, answer: Answer, method: str, path: str) -> None:
        """What is said of reads and writes alike. Returns where that is nothing."""
        if answer.status in REDIRECTS:
            raise self._moved()
        if answer.status == 429 or (answer.status == 403 and is_rate_limit(answer)):
            reset = reset_of(answer)
            when = f"until {in_utc(reset)}" if reset else "for some minutes"
            raise ComeBackLater("host-busy", f"GitHub asks to wait {when}", next=AGAIN)
        if answer.status in (401, 403) and method == "GET":
            raise self._forbidden(answer, method, path)

    def _forbidden(self, answer: Answer | None, method: str, path: str) -> NeedsPerson:
        if answer is not None and answer.status == 401:
            return NeedsPerson(
                "host-forbidden", f"GitHub does not accept the token for {self._repository}", next="set PUBLISHER_TOKEN anew"
            )
        area = area_of(path)
        verb, level = ("read", "read") if method == "GET" else ("change", "write")
        wanted = f"give it the permission {area.permission}: {level}" if area.permission else "publisher doctor"
        return NeedsPerson(
            "host-forbidden", f"the token may not {verb} {area.words} of {self._repository}",
            next=wanted + (f"; {area.hint}" if area.hint and method == "POST" else ""),
        )  # fmt: skip

    def _moved(self) -> NeedsPerson:
        return NeedsPerson(
            "repository-moved",
            f"{self._repository} has another name at GitHub now",
            next="edit github.repository in publisher.yaml",
        )

    def _no_answer(self, path: str) -> ComeBackLater:
        return ComeBackLater(
            "host-unreachable", f"GitHub gave no usable answer about {area_of(path).words} of {self._repository}", next=AGAIN
        )

    def _lost(self, path: str) -> OutcomeUnknown:
        return OutcomeUnknown(
            "host-answer-lost", f"GitHub was asked to change {area_of(path).words} of {self._repository} and gave no usable answer",
            next=AGAIN,
        )  # fmt: skip


def _client(token: str, api: str, timeout: float, retry: GithubRetry | None) -> Requester:
    return Requester(
        auth=Token(token), base_url=api, timeout=timeout, user_agent="publisher", per_page=100,  # type: ignore[arg-type]
        verify=True, retry=retry, pool_size=None, api_version=VERSION,
    )  # fmt: skip


def _address(host: GithubHost, environ: Mapping[str, str]) -> str:
    """The API's address: configured, else as Actions says. The two must agree, since the token goes there.

    ``publisher.yaml`` is a file that anybody may have written who has a clone to offer. So another address than GitHub's own must
    also stand in the environment: a person's token goes nowhere by configuration alone.
    """
    configured, here = host.api.rstrip("/"), environ.get("GITHUB_API_URL", "").rstrip("/")
    if configured and configured != (here or PUBLIC):
        raise NeedsPerson(
            "other-host", "publisher.yaml names another GitHub than the environment does, and the token was not sent there",
            next="if that host is yours: GITHUB_API_URL with its address; else edit github.api in publisher.yaml",
        )  # fmt: skip
    chosen = configured or here or PUBLIC
    at = urlsplit(chosen)
    if at.scheme != "https" and not (at.scheme == "http" and at.hostname in LOOPBACK):
        raise NeedsPerson(
            "host-not-https", "the API's address must begin with https://", next="edit github.api in publisher.yaml"
        )
    return chosen
