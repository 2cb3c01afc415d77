"""Probes against a site that works, and against every answer that must not be mistaken for one."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from publisher.domain.evidence import ExpectedPage, Public, Seen, judge_page
from publisher.domain.fingerprint import digest
from publisher.errors import InputProblem
from publisher.verify.probes import HttpProbes
from tests.support.raw_server import RawServer, Talk, answering, dripping, raw_server, silent
from tests.support.web import serving

PAGE = b"<!doctype html><title>Fences</title>"
OK_HEAD = b"HTTP/1.1 200 OK\r\n"


def body_answer(body: bytes, *headers: bytes, length: int | None = None) -> bytes:
    lines = [OK_HEAD.strip(), *headers, b"Content-Length: %d" % (len(body) if length is None else length)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def look(url: str, path: str = "", *, seconds: float = 10, bust: str = "n1", largest_body: int = 1 << 20) -> Seen:
    probes = HttpProbes(site_url=url, largest_body=largest_body)
    return probes.look([url + path], seconds=seconds, bust=bust)[url + path]


def asked(talk: Talk, *, seconds: float = 10, largest_body: int = 1 << 20) -> Seen:
    with raw_server(talk) as server:
        return look(server.url, seconds=seconds, largest_body=largest_body)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    release = tmp_path / "releases" / "one"
    (release / "fences").mkdir(parents=True)
    (release / "fences" / "index.html").write_bytes(PAGE)
    (release / "index.html").write_bytes(b"home")
    (tmp_path / "current").symlink_to(release)
    return tmp_path / "current"


# --- what is there ------------------------------------------------------------------------------------------------------


def test_a_page_is_seen_with_its_digest_and_date(root: Path) -> None:
    with serving(root) as site:
        site.date = lambda: datetime(2026, 12, 1, 1, 0, 0, tzinfo=UTC)
        seen = look(site.url, "fences/")
    assert seen == Seen(
        url=seen.url, status=200, digest=digest(PAGE), size=len(PAGE), body=PAGE, date="Tue, 01 Dec 2026 01:00:00 GMT"
    )


def test_several_urls_are_seen_under_their_plain_names(root: Path) -> None:
    with serving(root) as site:
        urls = [site.url, site.url + "fences/", site.url + "nowhere/", site.url]
        seen = HttpProbes(site_url=site.url).look(urls, seconds=10, bust="n 1&x")
        assert list(seen) == urls[:3]
        assert [seen[url].status for url in urls[:3]] == [200, 200, 404]
        assert sorted(site.paths()) == ["/", "/fences/", "/nowhere/"]
        assert {request.query for request in site.log} == {"publisher-check=n%201%26x"}


def test_a_busted_request_asks_every_cache_to_pass_it_on(root: Path) -> None:
    with serving(root) as site:
        look(site.url, "fences/?page=2")
        look(site.url, "fences/?page=2", bust="")
        busted, plain = site.log
    assert busted.query == "page=2&publisher-check=n1"
    assert (busted.headers["cache-control"], busted.headers["pragma"]) == ("no-cache", "no-cache")
    assert plain.query == "page=2"
    assert "cache-control" not in plain.headers and "pragma" not in plain.headers


def test_requests_carry_nothing_but_what_a_probe_needs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")
    with serving(root) as site:
        assert look(site.url).status == 200
        (request,) = site.log
    names = {"host", "user-agent", "accept", "accept-encoding", "connection", "cache-control", "pragma"}
    assert set(request.headers) == names
    assert request.headers["accept-encoding"] == "identity"
    assert site.url.startswith(f"http://{request.headers['host']}/")


def test_more_urls_than_threads_are_all_seen(root: Path) -> None:
    with serving(root) as site:
        urls = [f"{site.url}fences/?n={n}" for n in range(30)]
        seen = HttpProbes(site_url=site.url).look(urls, seconds=20, bust="")
    assert [seen[url].digest for url in urls] == [digest(PAGE)] * 30


def test_a_cache_that_keeps_old_bytes_is_seen_through_by_the_busted_probe_only(root: Path) -> None:
    with serving(root) as site:
        site.cache()
        (root / "fences" / "index.html").write_bytes(b"new")
        assert look(site.url, "fences/", bust="").body == PAGE
        assert look(site.url, "fences/").body == b"new"
        site.cache(busted_too=True)
        (root / "fences" / "index.html").write_bytes(b"newer")
        assert look(site.url, "fences/").body == b"new"
        site.purge()
        assert look(site.url, "fences/", bust="").body == b"newer"


def test_the_link_is_followed_anew_for_each_request(root: Path, tmp_path: Path) -> None:
    with serving(root) as site:
        assert look(site.url).body == b"home"
        other = tmp_path / "releases" / "two"
        other.mkdir()
        (other / "index.html").write_bytes(b"second")
        (tmp_path / "next").symlink_to(other)
        (tmp_path / "next").replace(root)
        assert look(site.url).body == b"second"


def test_missing_foreign_and_dateless_sites(root: Path) -> None:
    with serving(root) as site:
        site.missing.add("/fences/")
        assert look(site.url, "fences/").status == 404
        site.foreign = b"another project"
        site.date = None
        seen = look(site.url, "fences/")
    assert (seen.status, seen.body, seen.date) == (200, b"another project", "")


def test_the_date_of_a_stored_answer_is_left_out() -> None:
    date = b"Date: Tue, 01 Dec 2026 01:00:00 GMT"
    assert asked(answering(body_answer(PAGE, date, b"Age: 0"))).date == "Tue, 01 Dec 2026 01:00:00 GMT"
    assert asked(answering(body_answer(PAGE, date, b"Age: 540"))).date == ""


def test_chunked_and_unframed_bodies_are_whole() -> None:
    chunked = OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
    assert asked(answering(chunked)).body == b"hello world"
    assert asked(answering(OK_HEAD + b"\r\nto the end")).body == b"to the end"
    empty = asked(answering(body_answer(b"")))
    assert (empty.status, empty.problem, empty.digest) == (200, "", digest(b""))


# --- answers that are none ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "status", "problem"),
    [
        (b"HTTP/1.1 301 Moved\r\nLocation: https://other.example/\r\nContent-Length: 0\r\n\r\n", 301, "redirect"),
        (b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 2\r\n\r\nhi", 302, "redirect"),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", 304, "redirect"),
        (body_answer(gzip.compress(PAGE), b"Content-Encoding: gzip"), 200, "encoded"),
        (OK_HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 200, "encoded"),
        (body_answer(PAGE, length=1000), 200, "short-body"),
        (OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\nhello", 200, "short-body"),
        (OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 200, "short-body"),
        (OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\nhello", 200, "short-body"),
        (body_answer(b"", length=5 << 30), 200, "too-large"),
        (OK_HEAD + b"Server: x\r\nContent-Le", 200, "dropped"),
        (OK_HEAD + b"Content-Length: -5\r\n\r\nhello", 200, "bad-answer"),
        (OK_HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 200, "bad-answer"),
        (OK_HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200, "bad-answer"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", 101, "bad-answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", 0, "bad-answer"),
        (b"HTTP/1.1 9999 What\r\n\r\n", 0, "bad-answer"),
        (OK_HEAD + b"X: " + b"x" * 70_000 + b"\r\n\r\n", 0, "bad-answer"),
        (OK_HEAD + b"X: y\r\n" * 200 + b"\r\n", 0, "bad-answer"),
        (b"", 0, "dropped"),
    ],
)  # fmt: skip
def test_a_doubtful_answer_is_a_problem_and_judged_unknown(answer: bytes, status: int, problem: str) -> None:
    seen = asked(answering(answer))
    assert (seen.status, seen.problem, seen.digest, seen.body) == (status, problem, "", b"")
    for gone in (False, True):
        assert judge_page(ExpectedPage(url=seen.url, digest=digest(PAGE), gone=gone), seen) is Public.UNKNOWN


def test_other_bytes_with_status_200_are_absent_not_confirmed() -> None:
    seen = asked(answering(body_answer(b"Sorry, this page does not exist")))
    assert seen.problem == ""
    assert judge_page(ExpectedPage(url=seen.url, digest=digest(PAGE)), seen) is Public.ABSENT


def test_a_compressed_body_is_never_unpacked() -> None:
    bomb = gzip.compress(b"\0" * (64 << 20))
    seen = asked(answering(body_answer(bomb, b"Content-Encoding: gzip")), largest_body=1 << 20)
    assert (seen.problem, seen.size) == ("encoded", 0)


@pytest.mark.parametrize("head", [OK_HEAD + b"\r\n", OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n"])
def test_a_body_without_end_is_left_at_the_cap(head: bytes) -> None:
    block = b"x" * 65536 if b"chunked" not in head else b"10000\r\n" + b"x" * 65536 + b"\r\n"

    def endless(server: RawServer, sock: socket.socket) -> None:
        server.read_head(sock)
        sock.sendall(head)
        while not server.over.is_set():
            sock.sendall(block)

    seen = asked(endless, seconds=30, largest_body=1 << 20)
    assert (seen.status, seen.problem) == (200, "too-large")
    assert 1 << 20 < seen.size < 2 << 20


def test_a_connection_reset_in_the_body_is_a_short_body() -> None:
    def reset(server: RawServer, sock: socket.socket) -> None:
        server.read_head(sock)
        sock.sendall(OK_HEAD + b"\r\nhalf a page")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    seen = asked(reset)
    assert (seen.status, seen.digest) == (200, "") or (seen.status, seen.problem) == (0, "dropped")
    assert seen.problem in ("short-body", "dropped")


def test_nobody_listening() -> None:
    with raw_server(silent) as server:
        url = server.url
    assert look(url).problem == "refused"


# --- the deadline ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "talk",
    [
        silent,
        dripping(b"", b"H", 0.02),
        dripping(OK_HEAD, b"X-Drip: 1\r\n", 0.1),
        dripping(OK_HEAD + b"X-Long: ", b"x", 0.02),
        dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.02),
        dripping(OK_HEAD + b"Content-Length: 100000\r\n\r\n", b"x", 0.02),
        dripping(OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 0.02),
        dripping(OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: 1\r\n", 0.02),
    ],
    ids=["silent", "status-line", "headers", "one-header", "continue", "body", "chunks", "trailers"],
)
def test_a_server_that_keeps_us_waiting_is_a_timeout(talk: Talk) -> None:
    start = time.monotonic()
    with raw_server(talk) as server:
        seen = look(server.url, seconds=0.4)
        assert (seen.problem, seen.digest, seen.body) == ("timeout", "", b"")
        assert time.monotonic() - start < 20
        # Whoever still read was woken while the server was still talking, and left nothing behind.
        for thread in [one for one in threading.enumerate() if one.name == "publisher-probe"]:
            thread.join(5)
            assert not thread.is_alive()


def test_one_deadline_holds_for_all_urls_and_what_was_seen_before_it_counts() -> None:
    def slow_but_home(server: RawServer, sock: socket.socket) -> None:
        if server.read_head(sock).startswith(b"GET / "):
            sock.sendall(body_answer(PAGE))
        else:
            server.over.wait()

    with raw_server(slow_but_home) as server:
        urls = [server.url, *(f"{server.url}{n}/" for n in range(20))]
        start = time.monotonic()
        seen = HttpProbes(site_url=server.url).look(urls, seconds=1, bust="")
        took = time.monotonic() - start
    assert took < 5
    assert seen[server.url].digest == digest(PAGE)
    assert {seen[url].problem for url in urls[1:]} == {"timeout"}
    assert server.connections <= 5


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_means_no_connection(seconds: float) -> None:
    with raw_server(silent) as server:
        assert look(server.url, seconds=seconds).problem == "timeout"
    assert server.connections == 0


def test_a_name_server_that_never_answers_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def stuck(*args: object, **kwargs: object) -> list[object]:
        over.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    start = time.monotonic()
    try:
        assert look("https://site.example/", seconds=0.3).problem == "timeout"
        assert time.monotonic() - start < 5
    finally:
        over.set()


# --- only the configured site -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{other}/",
        "https://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://127.0.0.1:{port}@other.example/",
        "http://user@127.0.0.1:{port}/",
        "http://127.0.0.1.nip.io:{port}/",
        "file:///etc/passwd",
        "ftp://127.0.0.1:{port}/",
        "//127.0.0.1:{port}/",
        "127.0.0.1",
        "http://127.0.0.1:99999/",
        "http://[::1/",
    ],
)
def test_another_origin_is_not_asked(url: str) -> None:
    with raw_server(answering(body_answer(PAGE))) as server:
        url = url.format(port=server.port, other=server.port + 1)
        seen = HttpProbes(site_url=server.url).look([url], seconds=5, bust="x")[url]
    assert (seen.status, seen.problem) == (0, "foreign-host")
    assert server.connections == 0


@pytest.mark.parametrize("path", ["a b", "a\r\nX-Evil: 1", "ü/", "\x00", "a\tb"])
def test_a_url_with_other_signs_is_not_asked(path: str) -> None:
    with raw_server(answering(body_answer(PAGE))) as server:
        assert look(server.url, path).problem == "bad-url"
    assert server.connections == 0


@pytest.mark.parametrize(
    "addresses",
    [["10.0.0.1"], ["127.0.0.1"], ["169.254.169.254"], ["::ffff:10.0.0.1"], ["fe80::1%1"], ["93.184.216.34", "192.168.1.1"]],
)
@pytest.mark.parametrize("site_url", ["https://site.example/", "https://2130706433/"])
def test_a_public_site_is_not_looked_for_inside(site_url: str, addresses: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(host: str, port: int, *args: object, **kwargs: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    def connect(*args: object, **kwargs: object) -> None:
        raise AssertionError("connected")

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    monkeypatch.setattr(socket, "create_connection", connect)
    assert look(site_url).problem == "private-address"


def test_a_local_site_is_not_looked_for_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    outside = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: outside)
    assert look("http://localhost/").problem == "private-address"


def test_a_name_without_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "name from a private plan")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    seen = look("https://site.example/")
    assert (seen.status, seen.problem) == (0, "no-address")


def test_the_next_address_is_tried_when_one_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_server(answering(body_answer(PAGE))) as server:
        real = socket.getaddrinfo

        def two(host: str, port: int, *args: object, **kwargs: object) -> list[object]:
            if host != "localhost":
                return list(real(host, port, *args, **kwargs))  # type: ignore[arg-type]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("::1", "127.0.0.1")]

        monkeypatch.setattr(socket, "getaddrinfo", two)
        assert look(f"http://localhost:{server.port}/").body == PAGE


@pytest.mark.parametrize(
    "site_url",
    [
        "http://site.example/",
        "http://192.168.1.10/",
        "ftp://site.example/",
        "https://user:secret@site.example/",
        "https://exa mple/",
        "https://bücher.example/",
        "https:///",
        "",
    ],
)
def test_a_site_that_cannot_be_verified_is_refused(site_url: str) -> None:
    with pytest.raises(InputProblem) as caught:
        HttpProbes(site_url=site_url)
    assert caught.value.code == "site-url"
    assert "secret" not in str(caught.value)
