"""The HTTP server: authentication, what a token may, pages of lists, faults, and the log of requests.

Rules:
* a repository that a token may not see is not there (404); a wrong token is 401; an area that it may not touch is 403;
* lists have 30 items a page, 100 at most, and the ``Link`` header names the other pages on this same host;
* every answer has the server's ``Date`` and the token's quota;
* a request body that GitHub's schema refuses is 422.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.support.github import (
    actions_api,
    activity,
    checks,
    git_http,
    issues,
    pages_api,
    protection,
    pulls_api,
    repository_api,
    reviews,
    settings_api,
)
from tests.support.github.accounts import Account
from tests.support.github.answers import ROUTES, Answer, ApiError, Call, Page, Route, not_found
from tests.support.github.faults import Fault, refused
from tests.support.github.openapi import judge

if TYPE_CHECKING:
    from tests.support.github.simulator import Simulator

API = "/api/v3"
TYPES = {
    "html": "text/html; charset=utf-8",
    "xml": "application/xml",
    "json": "application/json",
    "css": "text/css",
    "txt": "text/plain",
}
# Their endpoints register themselves.
LOADED = (actions_api, activity, checks, issues, pages_api, protection, pulls_api, repository_api, reviews, settings_api)


class Lost(Exception):
    """There is no answer. ``reset``: the connection breaks off; else it closes as if nothing had been."""

    def __init__(self, *, reset: bool) -> None:
        self.reset = reset


def found_route(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    for one in ROUTES:
        match = one.pattern.fullmatch(path) if one.method == method else None
        if match:
            return one, {name: unquote(value) for name, value in match.groupdict().items()}
    return None


class Api:
    """One request to the API, from its token to its answer."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim

    def answer(self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes) -> Answer:
        sim = self.sim
        sim.activity.catch_up()
        with sim.lock:
            account = None
            try:
                sim.seen(method, path, sim.accounts.holding(git_http.token_in(headers.get("authorization", ""))))
                account = self._account(headers)
                if path != "/rate_limit":
                    sim.quota.spend(account)
                made = self._done(method, path, query, headers, body, account)
            except ApiError as error:
                made = refused(error)
            return Answer(made.status, made.body, {**sim.quota.headers(account), **made.headers})

    def _account(self, headers: Mapping[str, str]) -> Account | None:
        given = headers.get("authorization", "")
        account = self.sim.accounts.holding(git_http.token_in(given)) if given else None
        if account is not None and account.kind == "deploy-key" and self.sim.models("keys-have-no-api"):
            raise ApiError(401, "Bad credentials")
        if given and account is None and self.sim.models("wrong-tokens-are-refused"):
            raise ApiError(401, "Bad credentials")
        return account

    def _done(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes, account: Account | None
    ) -> Answer:  # fmt: skip
        found = found_route(method, path)
        if found is None:
            self.sim.unsimulated.append(f"{method} {path}")
            return Answer(501, {"message": "This endpoint is not simulated"})
        route, at = found
        self._allowed(route, at, account)
        document = self._document(route, body)
        call = Call(sim=self.sim, account=account, path=path, at=at, query=query, body=document or {}, headers=headers)
        made = route.handler(call)
        answer = made if isinstance(made, Answer) else self._page(call, made) if isinstance(made, Page) else Answer(200, made)
        if self.sim.checked:
            unknown = judge.unknown_query(route.operation, set(query))
            self.sim.problems += judge.faults_of_answer(route.operation, answer.status, json.loads(json.dumps(answer.body)))
            self.sim.problems += [f"{route.operation}: no such parameter: {name}" for name in sorted(unknown)]
        return answer

    def _allowed(self, route: Route, at: Mapping[str, str], account: Account | None) -> None:
        sim = self.sim
        if "owner" not in at:
            return
        public = not sim.private
        there = (at["owner"].lower(), at["repo"].lower()) == (sim.owner.lower(), sim.name.lower())
        sees = public or (account is not None and (account.is_bot or account.role != "none"))
        if not there or not sees:
            if there and not sim.models("what-is-invisible-is-not-there"):
                raise ApiError(403, "Forbidden")
            raise not_found()
        area, level = route.needs
        if account is None:
            if level == "write":
                raise ApiError(401, "Requires authentication")
        elif not account.may(area, level, public=public) and sim.models("tokens-have-permissions"):
            what = "integration" if account.is_bot else "personal access token"
            raise ApiError(403, f"Resource not accessible by {what}")

    def _document(self, route: Route, body: bytes) -> Any:
        if not body:
            document: Any = {}
        else:
            try:
                document = json.loads(body)
            except ValueError:
                raise ApiError(400, "Problems parsing JSON") from None
        if route.method in ("POST", "PUT", "PATCH"):
            wrong = judge.faults_of_request(route.operation, document)
            if wrong and self.sim.models("bodies-are-judged"):
                raise ApiError(422, f"Invalid request.\n\n{wrong[0]}")
        return document

    # --- pages --------------------------------------------------------------------------------------------------------------

    def _page(self, call: Call, page: Page) -> Answer:
        size = self._size(call.query.get("per_page", ""))
        items, links = (self._by_cursor if page.cursor else self._by_number)(call, page, size)
        shown = [page.shape(one) for one in items]
        header = ", ".join(f'<{self.sim.api_url}{call.path}?{urlencode(query)}>; rel="{rel}"' for rel, query in links.items())
        body = {**page.beside, page.under: shown} if page.under else shown
        return Answer(200, body, {"Link": header} if header else {})

    def _size(self, given: str) -> int:
        if not self.sim.models("lists-have-pages"):
            return 10**6
        size = int(given) if given.isdigit() and int(given) else 30
        return min(size, 100) if self.sim.models("a-page-has-at-most-100") else size

    def _by_number(self, call: Call, page: Page, size: int) -> tuple[list[Any], dict[str, dict[str, str]]]:
        given = call.query.get("page", "1")
        number = int(given) if given.isdigit() and int(given) else 1
        last = max(1, -(-len(page.items) // size))
        wanted = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
        links = {
            rel: {**call.query, "page": str(to)}
            for rel, to in wanted.items()
            if (rel in ("prev", "first") and number > 1) or (rel in ("next", "last") and number < last)
        }
        return list(page.items[(number - 1) * size : number * size]), links

    def _by_cursor(self, call: Call, page: Page, size: int) -> tuple[list[Any], dict[str, dict[str, str]]]:
        """The cursor names the last item that was seen; what came meanwhile shifts nothing."""
        plain = {name: value for name, value in call.query.items() if name not in ("after", "before", "page")}
        start, after, before = 0, call.query.get("after", ""), call.query.get("before", "")
        places = {str(one.id): place for place, one in enumerate(page.items)}
        if after:
            start = places.get(after, len(places)) + 1
        elif before:
            start = max(0, places.get(before, 0) - size)
        items = list(page.items[start : start + size])
        links = {}
        if start + size < len(page.items):
            links["next"] = {**plain, "after": str(items[-1].id)}
        if start and items:
            links["prev"] = {**plain, "before": str(items[0].id)}
        return items, links


def handler_of(sim: Simulator) -> type[BaseHTTPRequestHandler]:
    api = Api(sim)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _handle(self) -> None:
            try:
                body = self._body()
                parts = urlsplit(self.path)
                headers = {name.lower(): value for name, value in self.headers.items()}
                if parts.path.startswith(f"{API}/"):
                    self._api(parts.path.removeprefix(API), parts.query, headers, body)
                elif git_http.PATH.fullmatch(parts.path):
                    self._git(parts.path, parts.query, headers, body)
                else:
                    self._site(parts.path)
            except Lost as lost:
                self._vanish(reset=lost.reset)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _handle

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def _api(self, path: str, query: str, headers: Mapping[str, str], body: bytes) -> None:
            fault = sim.faults.take(self.command, path)
            if fault and not fault.after:
                sim.seen(self.command, path, sim.accounts.holding(git_http.token_in(headers.get("authorization", ""))))
                self._json(self._spoiled(fault))
                return
            answer = api.answer(self.command, path, dict(parse_qsl(query, keep_blank_values=True)), headers, body)
            self._json(self._spoiled(fault, answer.body) if fault else answer)

        def _spoiled(self, fault: Fault, normal: Any = None) -> Answer:
            made = sim.faults.answer(fault, normal)
            if made is None:
                if fault.kind == "hang":
                    sim.faults.over.wait()
                raise Lost(reset=fault.kind == "reset")
            return made

        def _json(self, answer: Answer) -> None:
            body = b"" if answer.body is None else json.dumps(answer.body).encode()
            self._send(answer.status, {"Content-Type": "application/json; charset=utf-8", **answer.headers}, body)

        def _git(self, path: str, query: str, headers: Mapping[str, str], body: bytes) -> None:
            self.close_connection = not sim.faults.keep_git_connections
            name = path.rsplit("/", 1)[1] if self.command == "POST" else f"{query.partition('service=')[2]}/refs"
            fault = sim.faults.take(self.command, name) if body != b"0000" else None
            if fault and not fault.after:
                self._spoiled_git(fault)
                return
            try:
                status, answer, sent = git_http.serve(sim, self.command, path, query, headers, body)
            except ApiError as error:
                status, answer, sent = error.status, error.headers, f"{error.message}\n".encode()
            if fault:
                self._spoiled_git(fault)
            else:
                self._send(status, answer, sent)

        def _spoiled_git(self, fault: Fault) -> None:
            made = sim.faults.answer(fault) if fault.kind != "empty" else None
            if made is None:
                if fault.kind == "hang":
                    sim.faults.over.wait()
                raise Lost(reset=fault.kind == "reset")
            self._send(made.status, {"Content-Type": "text/plain", **made.headers}, b"")

        def _site(self, path: str) -> None:
            below = f"/pages/{sim.name}/"
            with sim.lock:
                status, data, name = (
                    sim.pages.served(unquote(path.removeprefix(below))) if path.startswith(below) else (404, b"", "")
                )
            kind = TYPES.get(name.rsplit(".", 1)[-1], "application/octet-stream")
            self._send(status, {"Content-Type": kind, "Cache-Control": "max-age=600"}, data)

        def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response_only(status)
            now = sim.now if sim.models("answers-have-the-servers-date") else datetime.now(UTC)
            self.send_header("Date", format_datetime(now, usegmt=True))
            for name, value in headers.items():
                self.send_header(name, value)
            if self.close_connection:
                self.send_header("Connection", "close")
            if status not in (204, 304):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD" and status not in (204, 304):
                self.wfile.write(body)

        def _vanish(self, *, reset: bool) -> None:
            if reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """The log is ``Simulator.requests``."""

    return Handler


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is the client's business; a mistake of the simulator is told by its own tests."""


class Server:
    def __init__(self, sim: Simulator) -> None:
        self._http = _Http(("127.0.0.1", 0), handler_of(sim))
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def start(sim: Simulator) -> Server:
    return Server(sim)
