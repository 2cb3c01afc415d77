"""GitHub Pages for one repository: the site that the public sees, and as much of the API as deploying to it needs, over real HTTP.

It stands alone: ``publisher.yaml`` needs its ``api_url`` and its ``url``, and the job its ``environment``. What it models, beside the
shapes of GitHub's documentation, are the traps:

* a deployment replaces the whole site; which one is live is decided by when it lands, never by when it was asked for;
* its version must be a commit that the repository has (404), and a version that was deployed before changes nothing;
* while one is under way, another is refused (400); an artifact belongs to the run that uploaded it, and so does the identity token;
* caches keep what they were asked for, 404 included, until ``ten_minutes_later``; another query is another question.
"""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

REPOSITORY = "ann/site"
TOKEN = "ghs_a-job-s-own-token"
API = "/api/v3"
BELOW = f"{API}/repos/{REPOSITORY}"
FATES = ("lands", "hangs", "lost", "lands-and-is-lost", "failed", "busy", "unanswered", "unanswered-and-never-begun")


class Answer(NamedTuple):
    status: int
    body: Any = None


@dataclass
class Artifact:
    """What an upload step made: ``files`` by path."""

    id: int
    name: str
    run: str
    files: Mapping[str, bytes] = field(repr=False)
    expired: bool = False


@dataclass
class Deployment:
    version: str
    artifact: Artifact
    status: str
    fate: str
    polls: int = 0


@dataclass
class Build:
    """A build of branch-based Pages."""

    commit: str
    status: str


@dataclass
class PagesSite:
    """``has_commit`` says which versions the repository knows. ``fate`` is what becomes of the deployments that are asked for.

    ``slow`` is how many times a deployment that lands is asked for before it has landed.
    """

    has_commit: Callable[[str], bool] = lambda version: True
    fate: str = "lands"
    slow: int = 1
    private: bool = False
    url: str = ""
    artifacts: dict[int, Artifact] = field(default_factory=dict)
    deployments: list[Deployment] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    tip: Callable[[], str] = lambda: ""
    build_fate: str = "built"
    cancels: int = 0
    posts: list[tuple[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    """Paths that the site cannot answer now (503)."""
    _cached: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    # --- for tests --------------------------------------------------------------------------------------------------------

    @property
    def api_url(self) -> str:
        return f"{self.url.rstrip('/')}{API}"

    def environment(self, run: int, attempt: int = 1) -> dict[str, str]:
        """What Actions sets for the steps of one job."""
        return {
            "GITHUB_ACTIONS": "true", "GITHUB_API_URL": self.api_url, "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_TOKEN": TOKEN,
            "GITHUB_RUN_ID": str(run), "GITHUB_RUN_ATTEMPT": str(attempt),
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.url}oidc/{run}", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": f"request-{run}",
        }  # fmt: skip

    def upload(self, name: str, folder: Path, run: int) -> int:
        """The step between: the artifact's number. Over HTTP, so that any process may be the step."""
        files = {
            path.relative_to(folder).as_posix(): b64encode(path.read_bytes()).decode()
            for path in folder.rglob("*")
            if path.is_file()
        }
        data = json.dumps({"name": name, "run": run, "files": files}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}upload", data=data), timeout=20) as answer:
            return int(answer.read())

    def receive(self, body: Any) -> int:
        name, run = body["name"], str(body["run"])
        with self._lock:
            assert not any((one.name, one.run) == (name, run) for one in self.artifacts.values()), "the name is taken"
            return self.keep(name, {path: b64decode(data) for path, data in body["files"].items()}, run)

    def keep(self, name: str, files: Mapping[str, bytes], run: int | str) -> int:
        number = len(self.artifacts) + 7001
        self.artifacts[number] = Artifact(id=number, name=name, run=str(run), files=files)
        return number

    def land(self, deployment: Deployment) -> None:
        """It becomes what the public sees, whatever was there."""
        with self._lock:
            self.files, deployment.status = deployment.artifact.files, "succeed"

    def by_hand(self, files: Mapping[str, bytes]) -> None:
        """Somebody else's deployment."""
        self.files = dict(files)

    def ten_minutes_later(self) -> None:
        self._cached.clear()

    def live(self, path: str) -> bytes | None:
        return self.files.get(path)

    # --- the API ----------------------------------------------------------------------------------------------------------

    def api(self, method: str, path: str, body: Any) -> Answer:
        if path == "":
            return Answer(200, {"full_name": REPOSITORY, "id": 1})
        if method == "POST":
            self.posts.append((path, body))
        for verb, shape, does in ROUTES:
            found = re.fullmatch(shape, path)
            if verb == method and found:
                return does(self, body, *found.groups())
        return Answer(404, {"message": "Not Found"})

    def artifact(self, body: Any, number: str) -> Answer:
        one = self.artifacts.get(int(number))
        if one is None:
            return Answer(404, {"message": "Not Found"})
        return Answer(200, {
            "id": one.id, "name": one.name, "expired": one.expired, "size_in_bytes": 1, "digest": "sha256:" + "0" * 64,
            "workflow_run": {"id": int(one.run), "repository_id": 1, "head_sha": "0" * 40},
        })  # fmt: skip

    def create(self, body: Any) -> Answer:
        version, artifact = str(body["pages_build_version"]), self.artifacts.get(body["artifact_id"])
        run = self.tokens.pop(body.get("oidc_token", ""), None)
        if not self.has_commit(version) or artifact is None:
            return Answer(404, {"message": "Not Found"})
        if run is None or artifact.run != run or artifact.expired:
            return Answer(400, {"message": "Invalid workflow run"})
        if self.fate == "busy" or any(one.status == "deployment_in_progress" for one in self.deployments):
            return Answer(
                400, {"message": "Please cancel the deployment that is in progress first or wait for it to complete."}
            )
        if self.fate == "unanswered-and-never-begun":
            return Answer(502)
        if not any(one.version == version for one in self.deployments):
            self.deployments.append(Deployment(version, artifact, "deployment_in_progress", self.fate))
            self._go_on(self.deployments[-1])
        if self.fate == "unanswered":
            return Answer(502)
        status_url = f"{self.api_url}/repos/{REPOSITORY}/pages/deployments/{version}/status"
        return Answer(200, {"id": version, "status_url": status_url, "page_url": self.url})

    def status(self, body: Any, version: str) -> Answer:
        one = next((one for one in self.deployments if one.version == version), None)
        if one is None:
            return Answer(404, {"message": "Not Found"})
        one.polls += 1
        self._go_on(one)
        return Answer(200, {"status": one.status})

    def _go_on(self, one: Deployment) -> None:
        if one.status != "deployment_in_progress" or one.fate == "hangs" or one.polls < self.slow:
            return
        if one.fate in ("lands", "unanswered", "lands-and-is-lost"):
            self.land(one)
        if one.fate in ("lost", "lands-and-is-lost"):
            one.status = "deployment_lost"
        elif one.fate == "failed":
            one.status = "deployment_failed"

    def cancel(self, body: Any, version: str) -> Answer:
        self.cancels += 1
        return Answer(204)

    def latest_build(self, body: Any) -> Answer:
        if not self.builds:
            return Answer(404, {"message": "Not Found"})
        last = self.builds[-1]
        if last.status in ("queued", "building"):
            last.status = {"queued": "building", "building": self.build_fate}[last.status]
        return Answer(200, {
            "url": f"{self.api_url}/repos/{REPOSITORY}/pages/builds/1", "status": last.status, "commit": last.commit,
            "error": {"message": None}, "pusher": None, "duration": 1, "created_at": "2026-03-01T00:00:00Z",
            "updated_at": "2026-03-01T00:00:00Z",
        })  # fmt: skip

    def request_build(self, body: Any) -> Answer:
        self.builds.append(Build(self.tip(), "queued"))
        return Answer(201, {"url": f"{self.api_url}/repos/{REPOSITORY}/pages/builds/latest", "status": "queued"})

    # --- the public site --------------------------------------------------------------------------------------------------

    def page(self, target: str) -> tuple[int, bytes]:
        with self._lock:
            self.asked.append(target)
            if self.private:
                return 302, b""
            path = unquote(urlsplit(target).path).lstrip("/")
            if path in self.missing:
                return 503, b""
            if target not in self._cached:
                name = f"{path}index.html" if path == "" or path.endswith("/") else path
                found = self.files.get(name)
                self._cached[target] = (200, found) if found is not None else (404, self.files.get("404.html", b"nothing here"))
            return self._cached[target]

    def identity(self, run: str, bearer: str) -> Answer:
        if bearer != f"Bearer request-{run}":
            return Answer(401, {"message": "no"})
        token = f"identity-{run}-{len(self.tokens)}-{len(self.posts)}"
        self.tokens[token] = run
        return Answer(200, {"count": 1, "value": token})


ROUTES: tuple[tuple[str, str, Callable[..., Answer]], ...] = (
    ("GET", r"actions/artifacts/(\d+)", PagesSite.artifact),
    ("POST", r"pages/deployments", PagesSite.create),
    ("GET", r"pages/deployments/([^/]+)", PagesSite.status),
    ("POST", r"pages/deployments/([^/]+)/cancel", PagesSite.cancel),
    ("GET", r"pages/builds/latest", PagesSite.latest_build),
    ("POST", r"pages/builds", PagesSite.request_build),
)


def _handler(site: PagesSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = json.loads(self.rfile.read(length)) if length else None
            path = urlsplit(self.path).path
            if path == BELOW or path.startswith(f"{BELOW}/"):
                if self.headers.get("Authorization") != f"token {TOKEN}":
                    return self.send(*Answer(401, {"message": "Bad credentials"}))
                with site._lock:
                    return self.send(*site.api(self.command, path.removeprefix(BELOW).lstrip("/"), body))
            if path == "/upload":
                return self.send(200, site.receive(body))
            if path.startswith("/oidc/"):
                return self.send(*site.identity(path.rsplit("/", 1)[1], self.headers.get("Authorization", "")))
            status, data = site.page(self.path)
            return self.answer(status, data, {"Cache-Control": "max-age=600"})

        do_POST = do_GET

        def send(self, status: int, body: Any) -> None:
            self.answer(status, b"" if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"})

        def answer(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
            self.send_response_only(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            if status == 302:
                self.send_header("Location", "https://github.com/login")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """What was asked is in the site."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is the client's business."""


@contextmanager
def pages_site(**settings: Any) -> Iterator[PagesSite]:
    """A running Pages; ``url`` ends with a slash."""
    site = PagesSite(**settings)
    server = _Server(("127.0.0.1", 0), _handler(site))
    site.url = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
