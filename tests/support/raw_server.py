"""A TCP server whose every connection is handed to a function: for answers that no honest server gives."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class RawServer:
    """A running server. ``requests`` holds the heads that ``read_head`` has read; ``over`` is set when the test ends."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def read_head(self, sock: socket.socket) -> bytes:
        head = b""
        while b"\r\n\r\n" not in head:
            part = sock.recv(4096)
            if not part:
                break
            head += part
        self.requests.append(head)
        return head


Talk = Callable[[RawServer, socket.socket], None]


def answering(answer: bytes) -> Talk:
    """Reads the request, sends these bytes and closes."""

    def talk(server: RawServer, sock: socket.socket) -> None:
        server.read_head(sock)
        sock.sendall(answer)

    return talk


def dripping(start: bytes, drop: bytes, every: float) -> Talk:
    """Sends ``start``, then ``drop`` again and again, so that no single read ever waits long."""

    def talk(server: RawServer, sock: socket.socket) -> None:
        server.read_head(sock)
        sock.sendall(start)
        while not server.over.wait(every):
            sock.sendall(drop)

    return talk


def silent(server: RawServer, sock: socket.socket) -> None:
    """Accepts, and never says a word."""
    server.over.wait()


@contextmanager
def raw_server(talk: Talk, tls: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    server = RawServer()
    listener = socket.create_server(("127.0.0.1", 0))
    server.port = listener.getsockname()[1]
    threads: list[threading.Thread] = []

    def serve(sock: socket.socket) -> None:
        with suppress(OSError), sock:
            if tls is None:
                talk(server, sock)
            else:
                with tls.wrap_socket(sock, server_side=True) as secure:
                    talk(server, secure)

    def accept() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            if server.over.is_set():
                sock.close()
                return
            server.connections += 1
            sock.settimeout(20)
            threads.append(threading.Thread(target=serve, args=(sock,), daemon=True))
            threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield server
    finally:
        server.over.set()
        # A last connection wakes accept() on every system; closing the listener alone does not.
        with suppress(OSError), socket.create_connection(("127.0.0.1", server.port), timeout=5):
            pass
        accepting.join(5)
        listener.close()
        for thread in threads:
            thread.join(5)
