"""The simulator's faults: what was done and what the caller learns of it, for the API and for git over HTTP."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.github.world import World, world
from tests.support.gitrepos import Repository

PULLS = "POST /repos/ann/site/pulls"


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


@pytest.fixture
def asked(w: World) -> dict[str, str]:
    w.sim.commit(w.bot, "plan", {"plan.txt": "x\n"})
    return {"head": "plan", "base": "main", "title": "x"}


@pytest.mark.parametrize(("after", "there"), [(False, 0), (True, 1)])
def test_an_error_before_or_after_the_deed(w: World, asked: dict[str, str], after: bool, there: int) -> None:
    w.sim.faults.next(PULLS, status=502, after=after)
    assert w.does(w.bot, "POST", "pulls", asked) == 502
    assert len(w.get("pulls")) == there
    assert w.does(w.bot, "POST", "pulls", asked) == (422 if there else 201), "the fault is over"


@pytest.mark.parametrize("kind", ["reset", "close"])
@pytest.mark.parametrize(("after", "there"), [(False, 0), (True, 1)])
def test_a_lost_answer(w: World, asked: dict[str, str], kind: str, after: bool, there: int) -> None:
    w.sim.faults.next(PULLS, kind=kind, after=after)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        w.call(w.bot, "POST", "pulls", asked)
    assert len(w.get("pulls")) == there


def test_a_server_that_hangs_lets_go_when_the_test_is_over(tmp_path: Path) -> None:
    ended: list[str] = []
    with world(tmp_path) as w:
        w.sim.faults.next("GET /repos/ann/site", kind="hang")

        def ask() -> None:
            try:
                w.call(w.bot, "GET", "")
            except (ConnectionError, http.client.HTTPException) as lost:
                ended.append(type(lost).__name__)

        waiting = threading.Thread(target=ask)
        waiting.start()
        assert w.does(w.bot, "GET", "pulls") == 200, "others are served meanwhile"
    waiting.join(timeout=20)
    assert ended == ["RemoteDisconnected"]


@pytest.mark.parametrize("status", [0, 429])
def test_limits_say_when_to_come_back(w: World, status: int) -> None:
    w.sim.faults.next("GET *", kind="secondary", status=status)
    slow = w.call(w.bot, "GET", "pulls")
    assert (slow.status, slow.headers["retry-after"]) == (status or 403, "60") and "secondary rate limit" in slow.body[
        "message"
    ]
    w.sim.faults.next("GET *", kind="primary", status=status)
    used_up = w.call(w.bot, "GET", "pulls")
    assert (used_up.status, used_up.headers["x-ratelimit-remaining"]) == (status or 403, "0")
    assert int(used_up.headers["x-ratelimit-reset"]) > w.sim.seconds and "retry-after" not in used_up.headers


def test_an_empty_answer_is_an_empty_list_or_nothing(w: World) -> None:
    w.opened()
    w.sim.faults.next("GET */pulls", kind="empty", after=True)
    w.sim.faults.next("GET */pulls/1", kind="empty", after=True)
    assert (w.get("pulls"), w.get("pulls/1")) == ([], b"")
    assert w.get("pulls/1")["number"] == 1


def test_a_fault_for_several_requests_counts_them(w: World) -> None:
    fault = w.sim.faults.next("GET */pulls", status=500, times=2)
    assert [w.does(w.bot, "GET", "pulls") for _ in range(3)] == [500, 500, 200]
    assert fault.seen == 2 and [one.path for one in w.sim.requests[-3:]] == ["/repos/ann/site/pulls"] * 3


def test_a_fault_fits_its_path_only(w: World) -> None:
    w.sim.faults.next("GET /repos/ann/site/pulls/1", status=500)
    w.opened()
    assert [w.does(w.bot, "GET", path) for path in ("pulls", "pulls/1/reviews", "pulls/1")] == [200, 200, 500]


# --- git --------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clone(w: World) -> Repository:
    made = w.clone(w.bot)
    made.commit({"mine.txt": "x\n"})
    return made


def push(w: World, clone: Repository, *more: str) -> int:
    return w.git(clone, *w.credentials(w.bot), "push", "--porcelain", *more, "origin", "HEAD:refs/heads/main").returncode


@pytest.mark.parametrize("kind", ["empty", "reset"])
def test_a_push_may_succeed_and_report_failure(w: World, clone: Repository, kind: str) -> None:
    w.sim.faults.next("git-receive-pack", kind=kind, after=True)
    assert push(w, clone) != 0
    assert w.tip() == clone.head() and w.sim.pushes[-1].moved
    assert push(w, clone) == 0, "up to date"


def test_a_client_may_push_again_by_itself(w: World, clone: Repository) -> None:
    """On a connection that was used before, a lost answer makes git's client send its request once more."""
    w.sim.faults.keep_git_connections = True
    w.sim.faults.next("git-receive-pack", kind="close", after=True)
    push(w, clone)
    assert w.tip() == clone.head()
    assert [(one.account.login, bool(one.moved)) for one in w.sim.pushes[-2:]] == [
        ("publisher[bot]", True),
        ("publisher[bot]", False),
    ]


@pytest.mark.parametrize(("fault", "kind", "status"), [("git-receive-pack", "empty", 0), ("git-receive-pack/refs", "", 503)])
def test_a_push_that_never_arrived(w: World, clone: Repository, fault: str, kind: str, status: int) -> None:
    before = w.tip()
    w.sim.faults.next(fault, kind=kind, status=status)
    assert push(w, clone) != 0 and w.tip() == before
    assert push(w, clone) == 0 and w.tip() == clone.head()


def test_a_fetch_fails(w: World, clone: Repository) -> None:
    w.sim.commit(w.ann, "main", {"theirs.txt": "x\n"})
    w.sim.faults.next("git-upload-pack", kind="reset")
    token = w.credentials(w.bot)
    assert [w.git(clone, *token, "fetch", "origin").returncode == 0 for _ in range(2)] == [False, True]


def test_a_race_is_decided_by_git(w: World, clone: Repository) -> None:
    """The rival pushes after the loser has seen the refs: from the loser's own pre-push hook."""
    rival = w.clone(w.rae)
    theirs = rival.commit({"theirs.txt": "x\n"})
    option = " ".join(f"'{part}'" for part in w.credentials(w.rae))
    clone.hook("pre-push", f"cd '{rival.path}' && git {option} push --quiet origin HEAD:refs/heads/main")
    before = w.tip()
    done = w.git(
        clone, *w.credentials(w.bot), "push", "--porcelain", "--atomic", "origin", "HEAD:refs/heads/main", "HEAD:refs/heads/two"
    )
    assert done.returncode == 1 and (w.tip(), w.tip("two")) == (theirs, "")
    assert [(one.account.login, bool(one.moved)) for one in w.sim.pushes[-2:]] == [("rae", True), ("publisher[bot]", False)]
    assert [(one["before"], one["after"]) for one in w.get("activity", ref="main")[:1]] == [(before, theirs)]


def test_eight_push_at_once_and_one_wins(w: World) -> None:
    clones = [w.clone(w.bot, f"actor-{n}") for n in range(8)]
    heads = [one.commit({"claim.txt": f"{n}\n"}, f"claim {n}") for n, one in enumerate(clones)]
    results: dict[int, int] = {}
    threads = [threading.Thread(target=lambda n=n: results.update({n: push(w, clones[n])})) for n in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    winners = [n for n, code in results.items() if code == 0]
    assert len(winners) == 1 and w.tip() == heads[winners[0]]
    assert [one["after"] for one in w.get("activity", ref="main")][:-1] == [w.tip()]


def test_a_large_push_comes_in_chunks(w: World, clone: Repository) -> None:
    import os

    clone.write({"large.bin": os.urandom(3_000_000)})
    head = clone.commit({}, "large")
    assert push(w, clone) == 0 and w.tip() == head
