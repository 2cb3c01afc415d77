"""A call to the monitor arrives, is tried a few times, and never shows the address that it goes to."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from publisher.errors import ComeBackLater, InputProblem, Refusal
from publisher.notify.ping import TRIES, VARIABLE, Ping, is_ping_url
from tests.support.deadman import SECRET, Monitor, monitoring

NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def monitor() -> Iterator[Monitor]:
    with monitoring(NOW) as made:
        yield made


def ping(url: str, waits: list[float] | None = None, seconds: float = 5.0) -> None:
    Ping(url, sleep=(waits if waits is not None else []).append, seconds=seconds)()


def refused(url: str, waits: list[float] | None = None, seconds: float = 5.0) -> Refusal:
    with pytest.raises(Refusal) as caught:
        ping(url, waits, seconds)
    shown = "".join(traceback.format_exception(caught.value)) + str(caught.value.as_data())
    assert SECRET not in shown
    assert VARIABLE in shown
    return caught.value


def test_a_call_arrives_once(monitor: Monitor) -> None:
    waits: list[float] = []
    ping(monitor.url, waits)
    assert (monitor.calls, waits) == ([NOW], [])


def test_a_monitor_in_trouble_is_tried_again_and_waited_for_longer(monitor: Monitor) -> None:
    monitor.statuses = [503, 500]
    waits: list[float] = []
    ping(monitor.url, waits)
    assert len(monitor.calls) == 1
    assert waits == [2.0, 4.0]


def test_a_few_tries_and_no_more(monitor: Monitor) -> None:
    monitor.statuses = [503] * TRIES
    problem = refused(monitor.url)
    assert isinstance(problem, ComeBackLater)
    assert (problem.code, monitor.calls, monitor.statuses) == ("ping-failed", [], [])
    assert "status 503" in problem.says


def test_an_address_that_the_monitor_does_not_know(monitor: Monitor) -> None:
    problem = refused(monitor.url.replace(SECRET, "other"))
    assert problem.code == "ping-failed"
    assert "status 404" in problem.says
    assert monitor.foreign == ["/other"] * TRIES


def test_a_redirect_is_no_call_and_is_not_followed(monitor: Monitor) -> None:
    with monitoring(NOW) as elsewhere:
        monitor.statuses, monitor.location = [302] * TRIES, elsewhere.url
        problem = refused(monitor.url)
        assert "status 302" in problem.says
        assert (elsewhere.calls, elsewhere.foreign) == ([], [])


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    problem = refused(f"http://127.0.0.1:{port}/{SECRET}")
    assert (problem.code, "(unreachable)" in problem.says) == ("ping-failed", True)


def test_a_monitor_that_never_answers_holds_nobody_up(monitor: Monitor) -> None:
    monitor.silent = True
    problem = refused(monitor.url, seconds=0.2)
    assert (problem.code, "(timeout)" in problem.says) == ("ping-failed", True)


def test_an_answer_that_is_none() -> None:
    import threading

    with socket.create_server(("127.0.0.1", 0)) as server:

        def garble() -> None:
            for _ in range(TRIES):
                connection, _ = server.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(b"hello there\r\n")

        thread = threading.Thread(target=garble)
        thread.start()
        problem = refused(f"http://127.0.0.1:{server.getsockname()[1]}/{SECRET}")
        thread.join()
    assert (problem.code, "(unreachable)" in problem.says) == ("ping-failed", True)


@pytest.mark.parametrize(
    "url",
    [
        f"http://hc.example/{SECRET}", f"ftp://localhost/{SECRET}", f"file:///{SECRET}", f"https:///{SECRET}", SECRET,
        f"https://u:p@hc.example/{SECRET}", f"https://hc.example:x/{SECRET}", f"https://hc.example/{SECRET}\n",
        f"https://hc.example/ {SECRET}", f"https://hc.example\\@evil.example/{SECRET}", f"https://[::1/{SECRET}",
        f"https://hc.example/{SECRET}{'a' * 500}",
    ],
)  # fmt: skip
def test_what_is_no_address_is_not_called_and_not_shown(url: str) -> None:
    problem = refused(url)
    assert isinstance(problem, InputProblem)
    assert problem.code == "ping-url"


@pytest.mark.parametrize("url", ["https://hc-ping.com/x", "https://hc.example:8443/ping/x?create=1", "http://localhost:9/x"])
def test_what_is_an_address(url: str) -> None:
    assert is_ping_url(url)
