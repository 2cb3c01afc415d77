"""GitHub's API as publisher uses it, against a server that says what a test wrote down, over real HTTP.

What each refusal must be stands in ``ports.py``; here are the statuses, the number of requests, and what nobody may read in them.
"""

from __future__ import annotations

import json
import logging
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from publisher.domain.instance import GithubHost
from publisher.errors import Bug, ComeBackLater, NeedsPerson, OutcomeUnknown, Refusal
from publisher.forge.github_api import TRIES, GithubApi

REPOSITORY = "ann/site"
TOKEN = "ghs_Sentinel0123456789"
REPO = f"/api/v3/repos/{REPOSITORY}"
MOVED = {"location": "/api/v3/repositories/1"}


@dataclass(frozen=True)
class Answer:
    """What the server says. A ``status`` of 0 closes the connection without a word, -1 never answers."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    @property
    def data(self) -> bytes:
        return self.text.encode() if self.text or self.body is None else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: str


SILENT, CLOSED = Answer(-1), Answer(0)
SELF = Answer(body={"full_name": "Ann/Site"})


@dataclass
class Server:
    """``script`` is said in order, and its last answer again and again."""

    script: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    def says(self, *answers: Answer) -> None:
        self.script = list(answers)
        self.asked.clear()

    def next(self) -> Answer:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    @property
    def methods(self) -> list[str]:
        return [one.method for one in self.asked]

    def api(self, **more: Any) -> GithubApi:
        return GithubApi(REPOSITORY, TOKEN, api=f"http://127.0.0.1:{self.port}/api/v3", **{"pause": 0, **more})


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.asked.append(Asked(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body))
            answer = server.next()
            if answer.status == -1:
                server.over.wait()
            if answer.status <= 0:
                self.close_connection = True
                return
            self.send_response_only(answer.status)
            for name, value in {"Content-Length": str(len(answer.data)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.data)

        do_GET = do_POST = do_PATCH = do_PUT = _handle

        def log_message(self, format: str, *args: Any) -> None:
            """Said by ``asked``."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads, http.block_on_close = True, False
    server.port = http.server_address[1]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


# --- what is asked -----------------------------------------------------------------------------------------------------------


def test_a_document_below_the_repository(server: Server) -> None:
    server.says(Answer(body={"number": 7}))
    assert server.api().get("pulls/7", state="all", page=2) == {"number": 7}
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.query) == ("GET", f"{REPO}/pulls/7", {"state": "all", "page": "2"})
    assert asked.headers["authorization"] == f"token {TOKEN}"
    assert asked.headers["x-github-api-version"] == "2022-11-28"


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("", REPO),
        ("/users/ann", "/api/v3/users/ann"),
        ("contents/plans/a b#c?d%.yaml", f"{REPO}/contents/plans/a%20b%23c%3Fd%25.yaml"),
    ],
)
def test_paths_are_plain_text(server: Server, path: str, sent: str) -> None:
    server.says(Answer(body={}))
    server.api().get(path)
    assert server.asked[0].path == sent


@pytest.mark.parametrize("path", ["contents/../../../user", "pulls//7", "a/./b", "/"])
def test_a_path_that_leads_elsewhere_is_never_asked(server: Server, path: str) -> None:
    server.says(Answer(body={}))
    with pytest.raises(Bug, match="bad-host-path"):
        server.api().get(path)
    assert server.asked == []


@pytest.mark.parametrize("status", [404, 409, 410, 422])
def test_where_there_is_nothing(server: Server, status: int) -> None:
    server.says(Answer(status, {"message": "No"}))
    api = server.api()
    assert api.get("commits/" + "0" * 40) is None
    assert list(api.pages("pulls")) == []
    assert len(server.asked) == 2


def test_a_change_is_sent_once_and_its_answer_returned(server: Server) -> None:
    server.says(SELF, Answer(201, {"number": 8}), Answer(204))
    api = server.api()
    assert api.send("POST", "pulls", {"title": "é"}) == {"number": 8}
    assert api.send("PATCH", "issues/comments/3", {"body": "x"}) is None
    assert server.methods == ["GET", "POST", "PATCH"]
    assert json.loads(server.asked[1].body) == {"title": "é"}


# --- lists -------------------------------------------------------------------------------------------------------------------


def page(items: list[Any], following: str = "") -> Answer:
    # GitHub names the other pages by another path, under the repository's number.
    link = {"Link": f'<http://127.0.0.1/api/v3/repositories/1/pulls?{following}>; rel="next", <http://x/?page=9>; rel="last"'}
    return Answer(body=items, headers=link if following else {})


def test_every_page_is_read(server: Server) -> None:
    server.says(page([1, 2], "page=2&per_page=100"), page([3], "after=xyz"), page([4]))
    assert list(server.api().pages("activity", ref="refs/heads/main")) == [1, 2, 3, 4]
    assert [one.path for one in server.asked] == [f"{REPO}/activity"] * 3
    assert server.asked[0].query == {"ref": "refs/heads/main", "per_page": "100"}
    assert server.asked[1].query["page"] == "2"
    assert server.asked[2].query["after"] == "xyz"
    assert all(one.query["ref"] == "refs/heads/main" for one in server.asked)


def test_pages_are_read_as_far_as_somebody_looks(server: Server) -> None:
    server.says(page([1, 2], "page=2"), page([3]))
    assert next(iter(server.api().pages("activity"))) == 1
    assert len(server.asked) == 1


def test_a_list_inside_a_document(server: Server) -> None:
    server.says(Answer(body={"total_count": 1, "check_runs": [{"id": 1}]}))
    assert list(server.api().pages("commits/x/check-runs")) == [{"id": 1}]


@pytest.mark.parametrize(
    "second",
    [
        Answer(404, {}), Answer(500), Answer(200), Answer(body={"message": "no list"}), Answer(text="<html>"),
        page([1, 2], "page=2"), Answer(body={"total_count": 1, "a": [], "b": []}),
    ],
    ids=["gone", "broken", "empty", "no-list", "no-json", "the-same-again", "two-lists"],
)  # fmt: skip
def test_half_a_list_is_no_list(server: Server, second: Answer) -> None:
    server.says(page([1, 2], "page=2"), second)
    with pytest.raises(ComeBackLater, match="host-unreachable"):
        list(server.api().pages("pulls"))


# --- how often ---------------------------------------------------------------------------------------------------------------


def test_a_read_is_repeated_until_it_is_answered(server: Server) -> None:
    server.says(Answer(502), CLOSED, Answer(503, headers={"Retry-After": "3600"}), Answer(202), Answer(body=[]))
    assert server.api().get("pulls") == []
    assert server.methods == ["GET"] * 5


def test_a_read_is_repeated_so_many_times(server: Server) -> None:
    server.says(Answer(500))
    with pytest.raises(ComeBackLater, match="host-unreachable"):
        server.api().get("pulls")
    assert server.methods == ["GET"] * (TRIES + 1)


def test_a_read_without_any_answer_ends(server: Server) -> None:
    server.says(SILENT)
    with pytest.raises(ComeBackLater, match="host-unreachable"):
        server.api(timeout=0.2, patience=0.3).get("pulls")
    assert 1 <= len(server.asked) <= 3


def test_nobody_listens() -> None:
    with serving() as server:
        api = server.api()
    with pytest.raises(ComeBackLater, match="host-unreachable"):
        api.get("pulls")
    with pytest.raises(ComeBackLater, match="host-unreachable"):
        api.send("POST", "pulls", {})


@pytest.mark.parametrize(
    "answer",
    [
        Answer(500),
        Answer(502),
        Answer(504),
        SILENT,
        CLOSED,
        Answer(201, text="{"),
        Answer(200, headers={"Content-Length": "9"}),
    ],
    ids=["500", "502", "504", "hang", "closed", "half", "cut"],
)
def test_a_change_is_attempted_once(server: Server, answer: Answer) -> None:
    server.says(SELF, answer)
    api = server.api(timeout=0.3)
    with pytest.raises(OutcomeUnknown, match="host-answer-lost"):
        api.send("POST", "pulls", {"title": "x"})
    assert server.methods == ["GET", "POST"]


# --- refusals ----------------------------------------------------------------------------------------------------------------

DATE = {"Date": "Tue, 01 Dec 2026 01:00:00 GMT"}
RESET = str(int(datetime(2026, 12, 1, 1, 30, tzinfo=UTC).timestamp()))
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
BUSY = {
    "primary": (
        Answer(403, {"message": "x"}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": RESET}),
        "2026-12-01T01:30:00Z",
    ),
    "secondary": (Answer(403, {"message": SECONDARY}, {"Retry-After": "90", **DATE}), "2026-12-01T01:01:30Z"),
    "too-many": (Answer(429, {}, {"Retry-After": "60", **DATE}), "2026-12-01T01:01:00Z"),
    "no-header": (Answer(403, {"message": SECONDARY}), "some minutes"),
    "nonsense": (Answer(429, {}, {"Retry-After": "9" * 40, "X-RateLimit-Reset": "9" * 20}), "some minutes"),
}


@pytest.mark.parametrize("kind", BUSY)
def test_a_busy_host_is_left_alone_at_once(server: Server, kind: str) -> None:
    answer, until = BUSY[kind]
    server.says(answer)
    with pytest.raises(ComeBackLater, match="host-busy") as caught:
        server.api().get("pulls")
    assert until in caught.value.says
    assert server.methods == ["GET"]
    server.says(SELF, answer)
    with pytest.raises(ComeBackLater, match="host-busy"):
        server.api().send("POST", "pulls", {})
    assert server.methods == ["GET", "POST"]


@pytest.mark.parametrize(
    ("path", "words", "permission"),
    [
        ("pulls/7/reviews", "the pull requests", "Pull requests"),
        ("issues/7/timeline", "the issues and their comments", "Issues and Pull requests"),
        ("activity", "the record of pushes", "Contents"),
        ("commits/abc/status", "the commit statuses", "Commit statuses"),
        ("rulesets/rule-suites", "the branch rules", "Administration"),
        ("contents/drafts/secret-plan/index.md", "the files", "Contents"),
        ("something/else", "the settings", ""),
    ],
)
def test_a_token_that_may_not_is_told_what_it_lacks(server: Server, path: str, words: str, permission: str) -> None:
    server.says(Answer(403, {"message": "Resource not accessible by integration"}, {"X-RateLimit-Remaining": "12"}))
    with pytest.raises(NeedsPerson, match="host-forbidden") as caught:
        server.api().get(path)
    assert caught.value.says == f"the token may not read {words} of {REPOSITORY}"
    assert caught.value.next == (f"give it the permission {permission}: read" if permission else "publisher doctor")
    assert server.methods == ["GET"]


def test_jobs_that_may_not_open_requests_are_told_the_setting(server: Server) -> None:
    server.says(SELF, Answer(403, {"message": "GitHub Actions is not permitted to create or approve pull requests."}))
    with pytest.raises(NeedsPerson, match="host-forbidden") as caught:
        server.api().send("POST", "pulls", {})
    assert "Pull requests: write" in caught.value.next and "allow GitHub Actions to create pull requests" in caught.value.next


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_change_that_the_token_may_not_make(server: Server, status: int) -> None:
    server.says(SELF, Answer(status, {"message": "no"}))
    with pytest.raises(NeedsPerson, match="host-forbidden"):
        server.api().send("PATCH", "pulls/7", {})
    assert server.methods == ["GET", "PATCH"]


def test_a_token_that_is_not_accepted(server: Server) -> None:
    server.says(Answer(401, {"message": "Bad credentials"}))
    with pytest.raises(NeedsPerson, match="host-forbidden") as caught:
        server.api().get("pulls")
    assert "does not accept the token" in caught.value.says


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(422, {"message": "secret words", "errors": [{"code": "already_exists"}] * 2}), "422 already_exists"),
        (Answer(409, {"message": "secret words"}), "409"),
        (Answer(405, text="secret words"), "405"),
        (Answer(422, {"errors": ["secret words", {"code": "secret words"}, {"code": 7}]}), "422"),
        (Answer(400, []), "400"),
    ],
)  # fmt: skip
def test_what_github_refuses_is_said_in_its_own_codes_only(server: Server, answer: Answer, why: str) -> None:
    server.says(SELF, answer)
    with pytest.raises(NeedsPerson, match="host-refused") as caught:
        server.api().send("POST", "pulls", {})
    assert f"({why})" in caught.value.says and "secret" not in str(caught.value)


@pytest.mark.parametrize("status", [400, 406, 451])
def test_other_answers_to_a_read_are_none(server: Server, status: int) -> None:
    server.says(Answer(status, {}))
    with pytest.raises(ComeBackLater, match="host-unreachable"):
        server.api().get("pulls")


@pytest.mark.parametrize("text", ["", "<html>sorry</html>", "{", '{"a":'])
def test_what_is_no_json_is_no_answer(server: Server, text: str) -> None:
    server.says(Answer(text=text))
    with pytest.raises(ComeBackLater, match="host-unreachable"):
        server.api().get("pulls/7")


# --- another repository ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(server: Server, status: int) -> None:
    server.says(Answer(status, {}, MOVED), Answer(body={"full_name": REPOSITORY}))
    with pytest.raises(NeedsPerson, match="repository-moved"):
        server.api().get("pulls")
    assert [one.path for one in server.asked] == [f"{REPO}/pulls"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(301, {}, MOVED), "repository-moved"),
        (Answer(body={"full_name": "ann/other"}), "repository-moved"),
        (Answer(404, {}), "host-forbidden"),
        (Answer(body={"full_name": None}), "host-unreachable"),
    ],
)
def test_nothing_is_changed_in_another_repository(server: Server, answer: Answer, code: str) -> None:
    server.says(answer, Answer(201, {}))
    with pytest.raises(Refusal, match=code):
        server.api().send("POST", "pulls", {})
    assert server.methods == ["GET"]


def test_the_repository_is_looked_at_once(server: Server) -> None:
    server.says(SELF, Answer(201, {}))
    api = server.api()
    for _ in range(3):
        api.send("POST", "issues/1/comments", {})
    assert server.methods == ["GET", "POST", "POST", "POST"]


# --- the environment ---------------------------------------------------------------------------------------------------------


def test_which_token_counts(server: Server) -> None:
    server.says(Answer(body={}))
    host = GithubHost(repository=REPOSITORY, api=f"http://127.0.0.1:{server.port}/api/v3/")
    for names in (["GH_TOKEN"], ["GITHUB_TOKEN", "GH_TOKEN"], ["PUBLISHER_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"]):
        here = {"PUBLISHER_TOKEN": " ", "GITHUB_API_URL": host.api}
        GithubApi.from_environment(host, {**here, **{name: f"of-{name} \n" for name in names}}).get("")
        assert server.asked[-1].headers["authorization"] == f"token of-{names[0]}"


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({}, "no-host-token"),
        ({"GITHUB_TOKEN": "", "PUBLISHER_TOKEN": "  "}, "no-host-token"),
        ({"GITHUB_TOKEN": "two\nlines"}, "bad-host-token"),
        ({"GITHUB_TOKEN": "naïve"}, "bad-host-token"),
        ({"GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": "eve/site"}, "other-repository"),
        ({"GITHUB_REPOSITORY": "eve/site"}, "other-repository"),
        ({"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": "http://example.org/api/v3"}, "host-not-https"),
        ({"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": "ftp://127.0.0.1"}, "host-not-https"),
    ],
)
def test_an_environment_that_is_not_ours(environ: Mapping[str, str], code: str) -> None:
    with pytest.raises(NeedsPerson, match=code) as caught:
        GithubApi.from_environment(GithubHost(repository=REPOSITORY), environ)
    assert caught.value.next and TOKEN not in str(caught.value)


def test_a_fork_does_not_act() -> None:
    """Its schedule runs with its own GITHUB_REPOSITORY and the upstream's publisher.yaml."""
    environ = {"GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": "Ann/Site"}
    assert GithubApi.from_environment(GithubHost(repository="ann/site"), environ).repository == "ann/site"
    with pytest.raises(NeedsPerson, match="other-repository"):
        GithubApi.from_environment(GithubHost(repository="ann/site2"), environ)


def test_a_token_goes_to_one_host_only() -> None:
    host = GithubHost(repository=REPOSITORY, api="https://github.example.org/api/v3")
    with pytest.raises(NeedsPerson, match="other-host"):
        GithubApi.from_environment(host, {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": "https://api.github.com"})
    GithubApi.from_environment(host, {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": "https://github.example.org/api/v3/"})
    with pytest.raises(NeedsPerson, match="other-host"):  # a clone does not say where a person's token goes
        GithubApi.from_environment(host, {"GITHUB_TOKEN": TOKEN})
    GithubApi.from_environment(GithubHost(repository=REPOSITORY, api="https://api.github.com"), {"GITHUB_TOKEN": TOKEN})


# --- time and secrets --------------------------------------------------------------------------------------------------------


def test_the_hosts_own_time(server: Server) -> None:
    api = server.api()
    assert api.server_time is None
    server.says(Answer(404, {}, DATE), Answer(body={}, headers={"Date": "nonsense"}))
    api.get("x")
    api.get("x")
    assert api.server_time is not None
    assert timedelta(0) <= api.server_time - datetime(2026, 12, 1, 1, 0, tzinfo=UTC) < timedelta(hours=1)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(403, {"message": TOKEN}, {"X-Echo": TOKEN}), Answer(401, {"message": TOKEN}), Answer(500, {"message": TOKEN}),
        Answer(422, {"message": TOKEN, "errors": [{"code": TOKEN, "message": TOKEN}]}), Answer(200, text=TOKEN),
        Answer(301, {}, {"Location": f"http://elsewhere/{TOKEN}"}), Answer(429, {"message": TOKEN}, {"Retry-After": TOKEN}),
        CLOSED, SILENT, Answer(404, {"message": TOKEN}),
    ],
    ids=["forbidden", "unauthorised", "broken", "refused", "no-json", "moved", "busy", "closed", "hang", "gone"],
)  # fmt: skip
def test_the_token_is_in_nothing_that_anybody_reads(
    server: Server, answer: Answer, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    api = server.api(timeout=0.2, patience=0.3)
    said = [repr(api), str(api)]
    for script, act in (
        ([answer], lambda: api.get("pulls")),
        ([SELF, answer], lambda: api.send("POST", "pulls", {"title": "x"})),
    ):
        server.says(*script)
        try:
            assert act() is None
        except Refusal as refusal:
            said += [str(refusal), json.dumps(refusal.as_data()), *traceback.format_exception(refusal)]
    assert len(said) > 4
    assert [text for text in [*said, *capsys.readouterr()] if TOKEN in text] == []
    # The library may log what a server said when somebody turns that on; never what authorised the request.
    assert caplog.records
    assert [record for record in caplog.records if f"token {TOKEN}" in record.getMessage()] == []
