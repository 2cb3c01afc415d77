"""The lies that a git host over smart HTTP can tell, by what is true behind them.

Truth of a lie about a push:
* ``done``: the refs moved, and the answer hides it;
* ``undone once``: nothing moved, and the next try is honest;
* ``undone``: nothing moves, as often as it is tried;
* ``late``: the refs move after the client has looked.

A lie about a read hides what is there: ``once``, or from here on (``blind``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.git_http import Answer, Asked, Exchange, GitHost, Lie

PACKET = {"Content-Type": "application/x-git-receive-pack-result", "Cache-Control": "no-cache"}
REFS = {"Content-Type": "application/x-git-upload-pack-result"}
WEB_PAGE = (b"<html><body>It works!</body></html>", {"Content-Type": "text/html"})


@dataclass(frozen=True, kw_only=True)
class About:
    """A lie: which requests it is told about, what is true, how often it is told in a row (0: from its place on, for ever)."""

    verb: str
    truth: str
    tell: Callable[[], Lie]
    times: int = 1
    half: bool = False
    seconds: bool = False
    """Whether it takes git's own limits of time, which nothing shortens."""

    def tell_at(self, host: GitHost, repository: str, number: int) -> None:
        """From now on, at the ``number``-th request of the kind."""

        def here(asked: Asked) -> bool:
            last = number + self.times - 1 if self.times else asked.number
            return asked.repository == repository and asked.verb == self.verb and number <= asked.number <= last

        if self.half:
            host.read_half = here
            return
        lie = self.tell()
        host.lie = lambda asked: lie if here(asked) else getattr(lie, "afterwards", lambda asked: None)(asked)


def status(code: int, body: bytes = b"", headers: Mapping[str, str] | None = None, *, after: bool = False) -> Callable[[], Lie]:
    """An answer with a status, instead of what happened (``after``) or of what should have."""

    def lie(exchange: Exchange) -> None:
        if after:
            exchange.carry_out()
        exchange.answer(code, body, headers or {"Content-Type": "text/plain"})

    return lambda: lie


def dropped(*, after: bool = False, reset: bool = False) -> Callable[[], Lie]:
    def lie(exchange: Exchange) -> None:
        if after:
            exchange.carry_out()
        exchange.hang_up(reset=reset)

    return lambda: lie


def silent(*, after: bool) -> Callable[[], Lie]:
    def lie(exchange: Exchange) -> None:
        if after:
            exchange.carry_out()
        exchange.say_nothing()

    return lambda: lie


def cut(share: float, *, honest_length: bool) -> Callable[[], Lie]:
    """The true answer, cut off; ``honest_length`` says whether the head tells of it."""

    def lie(exchange: Exchange) -> None:
        answer = exchange.carry_out()
        body = answer.body[: int(len(answer.body) * share)]
        exchange.answer(answer.status, body, answer.headers, length=len(body) if honest_length else len(answer.body))
        exchange.handler.close_connection = True

    return lambda: lie


def dripping(*, pause: float) -> Callable[[], Lie]:
    """The true answer, a few bytes at a time."""

    def lie(exchange: Exchange) -> None:
        answer = exchange.carry_out()
        exchange.handler.send_response_only(answer.status)
        for name, value in answer.headers.items():
            exchange.handler.send_header(name, value)
        exchange.handler.send_header("Content-Length", str(len(answer.body)))
        exchange.handler.end_headers()
        for at in range(0, len(answer.body), 7):
            exchange.handler.wfile.write(answer.body[at : at + 7])
            exchange.handler.wfile.flush()
            exchange.host.over.wait(pause)
        exchange.host.log.append(f"{exchange.asked.verb} dripped")

    return lambda: lie


def packet(text: bytes) -> bytes:
    return b"%04x" % (len(text) + 4) + text


def report(verdict: bytes) -> Callable[[Exchange], bytes]:
    """The host's report about each ref of a push: ``ok`` or ``ng``, in the side band that git asks for."""

    def made(exchange: Exchange) -> bytes:
        lines, at, body = b"", 0, exchange.body
        while body[at : at + 4] != b"0000":
            size = int(body[at : at + 4], 16)
            ref = body[at + 4 : at + size].split(b"\0")[0].strip().split(b" ")[2]
            lines += packet(b"ok " + ref + b"\n" if verdict == b"ok" else b"ng " + ref + b" " + verdict + b"\n")
            at += size
        inner = packet(b"unpack ok\n") + lines + b"0000"
        return packet(b"\x01" + inner) + b"0000"

    return made


def reported(verdict: bytes, *, after: bool) -> Callable[[], Lie]:
    """A report that is not true: ``ok`` of what did not happen, or a refusal of what did."""

    def lie(exchange: Exchange) -> None:
        if after:
            exchange.carry_out()
        exchange.answer(200, report(verdict)(exchange), PACKET)

    return lambda: lie


def late(until: str) -> Callable[[], Lie]:
    """A gateway's 504; what was asked is done when the client's next request of the kind ``until`` comes."""

    def make() -> Lie:
        waiting: list[Exchange] = []
        lock = threading.Lock()

        def lie(exchange: Exchange) -> None:
            with lock:
                waiting.append(exchange)
            exchange.answer(504, b"", {"Content-Type": "text/plain"})

        def first_the_other(exchange: Exchange) -> None:
            with lock:
                if waiting:
                    waiting.pop().carry_out()
            exchange.pass_on(exchange.carry_out())

        def afterwards(asked: Asked) -> Lie | None:
            return first_the_other if asked.verb == until and waiting else None

        lie.afterwards = afterwards  # type: ignore[attr-defined]
        return lie

    return make


def remembered(verb_body: bytes = b"") -> Callable[[], Lie]:
    """The answer that the same question was given before; the first time, an honest one."""

    def make() -> Lie:
        known: dict[tuple[str, str, bytes], Answer] = {}

        def key(exchange: Exchange) -> tuple[str, str, bytes]:
            return (exchange.asked.verb, exchange.asked.repository, exchange.body)

        def lie(exchange: Exchange) -> None:
            before = known.get(key(exchange))
            exchange.pass_on(before or exchange.carry_out())

        def watch(exchange: Exchange) -> None:
            answer = known[key(exchange)] = exchange.carry_out()
            exchange.pass_on(answer)

        lie.afterwards = lambda asked: watch  # type: ignore[attr-defined]
        return lie

    return make


def sent_on(to: str) -> Callable[[], Lie]:
    """To another place: the same repository below ``to``, as after a renaming, or at another host."""

    def lie(exchange: Exchange) -> None:
        place = f"{to}/{exchange.asked.repository}/info/refs?{exchange.request['QUERY_STRING']}"
        exchange.answer(301, b"", {"Location": place, "Content-Type": "text/plain"})

    return lambda: lie


CHALLENGE: dict[str, Any] = {"WWW-Authenticate": 'Basic realm="git"', "Content-Type": "text/plain"}

LIES: Mapping[str, About] = {
    # It is done, and the answer hides it.
    "dropped after": About(verb="push", truth="done", tell=dropped(after=True)),  # curl asks again by itself
    "dropped after, twice": About(verb="push", truth="done", tell=dropped(after=True), times=2),
    "reset after": About(verb="push", truth="done", tell=dropped(after=True, reset=True), times=2),
    "500 after": About(verb="push", truth="done", tell=status(500, after=True)),
    "502 after": About(verb="push", truth="done", tell=status(502, b"bad gateway", after=True)),
    "503 after": About(verb="push", truth="done", tell=status(503, after=True)),
    "429 after": About(verb="push", truth="done", tell=status(429, b"", {"Retry-After": "60"}, after=True)),
    "401 after": About(verb="push", truth="done", tell=status(401, b"", CHALLENGE, after=True)),
    "403 after": About(verb="push", truth="done", tell=status(403, after=True)),
    "garbage after": About(verb="push", truth="done", tell=status(200, b"\x00garbage\xff" * 9, PACKET, after=True)),
    "a web page after": About(verb="push", truth="done", tell=status(200, *WEB_PAGE, after=True)),
    "nothing after": About(verb="push", truth="done", tell=status(200, b"", PACKET, after=True)),
    "cut short after": About(verb="push", truth="done", tell=cut(0.5, honest_length=False)),
    "half a report after": About(verb="push", truth="done", tell=cut(0.5, honest_length=True), seconds=True),  # git waits for the rest
    "a false refusal": About(verb="push", truth="done", tell=reported(b"cannot lock ref", after=True)),
    "dripping after": About(verb="push", truth="done", tell=dripping(pause=0.02)),
    "silence after": About(verb="push", truth="done", tell=silent(after=True), seconds=True),
    # It is not done.
    "dropped before": About(verb="push", truth="done", tell=dropped()),  # and curl asks again by itself
    "dropped before, twice": About(verb="push", truth="undone once", tell=dropped(), times=2),
    "reset in the middle": About(verb="push", truth="undone once", tell=dropped(), times=2, half=True),
    "502 before": About(verb="push", truth="undone once", tell=status(502)),
    "503 before": About(verb="push", truth="undone once", tell=status(503)),
    "429 before": About(verb="push", truth="undone once", tell=status(429, b"", {"Retry-After": "60"})),
    "401 before": About(verb="push", truth="undone once", tell=status(401, b"", CHALLENGE)),
    "403 before": About(verb="push", truth="undone once", tell=status(403)),
    "a false success": About(verb="push", truth="undone once", tell=reported(b"ok", after=False)),
    "a web page before": About(verb="push", truth="undone once", tell=status(200, *WEB_PAGE)),
    "silence before": About(verb="push", truth="undone once", tell=silent(after=False), seconds=True),
    "503 always": About(verb="push", truth="undone", tell=status(503), times=0),
    "403 always": About(verb="push", truth="undone", tell=status(403), times=0),
    "a false success always": About(verb="push", truth="undone", tell=reported(b"ok", after=False), times=0),
    # It is done later.
    "late, before the next offer": About(verb="push", truth="late", tell=late("offer")),
    "late, before the next push": About(verb="push", truth="late", tell=late("push")),
    # Something about what the host has.
    "an older offer": About(verb="offer", truth="undone once", tell=remembered()),
    "401 to the offer": About(verb="offer", truth="undone once", tell=status(401, b"", CHALLENGE)),
    "403 to the offer always": About(verb="offer", truth="undone", tell=status(403), times=0),
    "a redirected offer": About(verb="offer", truth="done", tell=sent_on("/renamed")),
    "older refs": About(verb="list", truth="once", tell=remembered()),
    "502 for the refs": About(verb="list", truth="once", tell=status(502)),
    "refs cut short": About(verb="list", truth="once", tell=cut(0.5, honest_length=False)),
    "half of the refs": About(verb="list", truth="once", tell=cut(0.5, honest_length=True)),
    "no refs at all": About(verb="list", truth="once", tell=status(200, b"0000", REFS)),
    "a web page for a greeting": About(verb="hello", truth="once", tell=status(200, *WEB_PAGE)),
    "401 for a greeting": About(verb="hello", truth="once", tell=status(401, b"", CHALLENGE)),
    "a redirected greeting": About(verb="hello", truth="done", tell=sent_on("/renamed")),
    "redirected elsewhere": About(verb="hello", truth="once", tell=sent_on("http://127.0.0.1:9")),
    "silence for a greeting": About(verb="hello", truth="once", tell=silent(after=False), seconds=True),
    "no refs at all, always": About(verb="list", truth="blind", tell=status(200, b"0000", REFS), times=0),
    "a web page always": About(verb="hello", truth="blind", tell=status(200, *WEB_PAGE), times=0),
    "503 for the refs always": About(verb="list", truth="blind", tell=status(503), times=0),
    "objects cut short": About(verb="fetch", truth="once", tell=cut(0.5, honest_length=False)),
    "half of the objects": About(verb="fetch", truth="once", tell=cut(0.5, honest_length=True)),
}  # fmt: skip
