"""A git host over smart HTTP that tells lies when asked to: git's own ``http-backend`` behind a server that may do anything.

``serving_git(folder)`` serves the bare repositories in a folder. ``host.lie`` decides about every request; a lie is a function that
is given the ``Exchange`` and does with it what it likes: carry it out, or not, and answer, or not. What was asked and answered stands
in ``host.log``. Requests are named by what git wants of them:

    hello   the first word of a read          offer   the first word of a push, with the refs that the host has
    list    the refs (protocol 2)             push    the push itself
    fetch   the objects
"""

from __future__ import annotations

import gzip
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.support.gitrepos import environment

SERVICES = ("info/refs", "git-upload-pack", "git-receive-pack")
CHUNK = 16_384


class Answer(NamedTuple):
    """What the backend says."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Asked(NamedTuple):
    """One request: what of it, of which repository, the how manieth of its kind there."""

    verb: str
    repository: str
    number: int


@dataclass
class Exchange:
    """One request and the way back. A lie that answers nothing closes the connection without a word."""

    host: GitHost
    asked: Asked
    request: Mapping[str, str]
    body: bytes
    handler: Any

    def carry_out(self) -> Answer:
        """What an honest host does with it."""
        return self.host.carry_out(self.request, self.body)

    def answer(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None, *, length: int = -1) -> None:
        """``length`` is what the head claims, if not the truth."""
        self.host.log.append(f"{self.asked.verb} {status}")
        handler = self.handler
        handler.send_response_only(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body) if length < 0 else length))
        handler.end_headers()
        handler.wfile.write(body)

    def pass_on(self, answer: Answer) -> None:
        self.answer(answer.status, answer.body, answer.headers)

    def hang_up(self, *, reset: bool = False) -> None:
        """The connection ends here; ``reset``: it breaks off."""
        self.host.log.append(f"{self.asked.verb} {'reset' if reset else 'dropped'}")
        sock = self.handler.connection
        if reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self.handler.close_connection = True
        sock.close()

    def say_nothing(self, seconds: float = 600.0) -> None:
        """Silence, until the client has gone or the test is over."""
        self.host.log.append(f"{self.asked.verb} silent")
        sock, waited = self.handler.connection, 0.0
        sock.settimeout(0.2)
        while waited < seconds and not self.host.over.is_set():
            waited += 0.2
            try:
                if not sock.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.hang_up()


Lie = Callable[[Exchange], None]


def honest(exchange: Exchange) -> None:
    exchange.pass_on(exchange.carry_out())


@dataclass
class GitHost:
    """The running host. ``lie`` chooses what happens to a request; None is the honest answer."""

    folder: Path
    port: int = 0
    lie: Callable[[Asked], Lie | None] = lambda asked: None
    read_half: Callable[[Asked], bool] = lambda asked: False
    """Whether the connection is reset in the middle of a request's body."""
    log: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    """The credentials that came with requests."""
    over: threading.Event = field(default_factory=threading.Event)
    _counts: dict[tuple[str, str], int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def url(self, repository: str = "remote.git") -> str:
        return f"http://127.0.0.1:{self.port}/{repository}"

    def honest_again(self) -> None:
        """No more lies, and the counting starts anew."""
        with self._lock:
            self.lie, self.read_half = (lambda asked: None), (lambda asked: False)
            self._counts.clear()
            self.log.clear()

    def count(self, verb: str, repository: str) -> int:
        with self._lock:
            self._counts[verb, repository] = self._counts.get((verb, repository), 0) + 1
            return self._counts[verb, repository]

    def asked_for(self, verb: str, repository: str = "remote.git") -> int:
        """How many requests of a kind came since the counting started."""
        return self._counts.get((verb, repository), 0)

    def carry_out(self, request: Mapping[str, str], body: bytes) -> Answer:
        env = environment("host") | {"GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "ci"}
        env |= {"REMOTE_ADDR": "127.0.0.1", "CONTENT_LENGTH": str(len(body)), **request}
        done = subprocess.run(["git", "http-backend"], env=env, input=body, capture_output=True, check=False)
        head, _, sent = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode("latin-1").splitlines() if ": " in line)
        return Answer(int(headers.pop("Status", "200").split(" ")[0]), headers, sent)


def verb_of(method: str, rest: str, query: str, body: bytes) -> str:
    """ "" for what is neither a question nor a deed, such as the four bytes with which git tries a connection."""
    if method == "GET":
        return "offer" if "receive-pack" in query else "hello"
    if rest == "git-receive-pack":
        return "" if body == b"0000" else "push"
    return "list" if b"command=ls-refs" in body[:40] else "fetch"


def _handler(host: GitHost) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def do_GET(self) -> None:
            self._serve(b"")

        def do_POST(self) -> None:
            half = host.read_half(Asked("push", self._repository()[0], host.asked_for("push", self._repository()[0]) + 1))
            if half and "receive-pack" in self.path:
                # The body of a small push comes in one piece: the answer is a reset all the same, before all of it was read.
                self.rfile.read(1)
                host.count("push", self._repository()[0])
                Exchange(host, Asked("push", "", 0), {}, b"", self).hang_up(reset=True)
                return
            body = self._chunks() if self.headers.get("Transfer-Encoding", "").lower() == "chunked" else self._whole()
            self._serve(body)

        def _whole(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))

        def _chunks(self) -> bytes:
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _repository(self) -> tuple[str, str]:
            path = urlsplit(self.path).path
            rest = next(name for name in SERVICES if path.endswith(name))
            return path.removesuffix(rest).strip("/").rsplit("/", 1)[-1], rest

        def _serve(self, body: bytes) -> None:
            repository, rest = self._repository()
            query = urlsplit(self.path).query
            plain = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            request = {
                "PATH_INFO": f"/{repository}/{rest}", "QUERY_STRING": query, "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }  # fmt: skip
            verb = verb_of(self.command, rest, query, plain)
            host.shown += filter(None, [self.headers.get("Authorization")])
            asked = Asked(verb, repository, host.count(verb, repository))
            exchange = Exchange(host, asked, request, plain, self)
            (host.lie(asked) or honest)(exchange)

        def log_message(self, format: str, *args: Any) -> None:
            """The log is ``host.log``."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is the client's business."""

    def shutdown_request(self, request: Any) -> None:
        with suppress(OSError):
            super().shutdown_request(request)


@contextmanager
def serving_git(folder: Path) -> Iterator[GitHost]:
    """The bare repositories below ``folder``, on a free port of 127.0.0.1."""
    host = GitHost(folder)
    server = _Server(("127.0.0.1", 0), _handler(host))
    host.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield host
    finally:
        host.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
