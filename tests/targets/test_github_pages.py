"""What a Pages target reads, writes and says: the parts of it that the contract and the scenarios do not come by."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.article import CLAIM_PATH, MANIFEST_PATH, Release
from publisher.domain.fingerprint import digest
from publisher.errors import Bug, ComeBackLater, NeedsPerson, Refusal, StoppedForSafety
from publisher.ports import Live
from publisher.targets import github_pages
from publisher.targets.actions_job import ActionsJob
from publisher.targets.claim_file import ClaimFile
from publisher.targets.pages_export import FILES_PATH, artifact_name, export, exported, files_list, read_files_list
from publisher.targets.pages_reading import PublicSite
from tests.support.github.pages_site import PagesSite, pages_site
from tests.support.pages_job import Job, outputs_of
from tests.support.target_actors import SITE, fence, make_release


@pytest.fixture
def pages() -> Iterator[PagesSite]:
    with pages_site(slow=0) as site:
        yield site


@pytest.fixture
def job(pages: PagesSite, tmp_path: Path) -> Job:
    return Job(pages, tmp_path / "job", run=1)


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return make_release(tmp_path / "built", "first")


def live_files(release: Release, *, base: str = "", number: int = 1, site: str = SITE) -> dict[str, bytes]:
    """What an export of a release serves."""
    claim = ClaimFile(fence=fence(number), base=base, release=release.id, site=site)
    own = {path: (Path(release.root) / path).read_bytes() for path in release.files}
    return {**own, CLAIM_PATH: claim.as_bytes(), FILES_PATH: files_list(release, site=site)}


def code(act: Callable[[], Any]) -> str:
    with pytest.raises(Refusal) as stopped:
        act()
    return stopped.value.code


# --- looking --------------------------------------------------------------------------------------------------------------------


def test_every_file_is_read_and_its_own_bytes_decide(pages: PagesSite, job: Job, release: Release) -> None:
    pages.by_hand(live_files(release))
    assert job.look() == Live(release=release.id, fence=fence(1))
    for path in release.files:
        changed = {**live_files(release), path: b"other"}
        pages.by_hand(changed)
        assert job.look().release not in ("", release.id), path
        pages.by_hand({name: data for name, data in changed.items() if name != path})
        assert job.look().release not in ("", release.id), path


def test_an_empty_file_that_is_missing_is_missing(pages: PagesSite, job: Job, tmp_path: Path) -> None:
    release = make_release(tmp_path / "with-empty", {"index.html": b"x", "empty.txt": b""})
    files = live_files(release)
    pages.by_hand(files)
    assert job.look().release == release.id
    pages.by_hand({path: data for path, data in files.items() if path != "empty.txt"})
    assert job.look().release != release.id


@pytest.mark.parametrize("missing", [CLAIM_PATH, FILES_PATH])
def test_half_of_what_is_ours_is_not_ours(pages: PagesSite, job: Job, release: Release, missing: str) -> None:
    files = live_files(release)
    del files[missing]
    pages.by_hand(files)
    assert job.look().release not in ("", release.id)


def test_a_page_that_was_not_there_a_moment_ago(pages: PagesSite, job: Job, release: Release) -> None:
    """The absence that a cache keeps is no absence: it was asked for under another query."""
    target = job.target()
    assert target.look() == Live(release="", fence=None)
    pages.by_hand(live_files(release))
    assert target.look().release == release.id


def test_a_look_is_not_of_two_deployments(pages: PagesSite, job: Job, release: Release, tmp_path: Path) -> None:
    """The site changes each time that the claim has been read."""
    second = make_release(tmp_path / "second", "second")
    both = [live_files(release), live_files(second, base=release.id, number=2)]
    page = pages.page

    def turning(target: str) -> tuple[int, bytes]:
        if CLAIM_PATH in target:
            both.reverse()
            pages.by_hand(both[0])
        return page(target)

    pages.by_hand(both[0])
    pages.page = turning  # type: ignore[method-assign]
    assert code(job.look) == "target-busy"
    pages.page = page  # type: ignore[method-assign]
    assert job.look().release in (release.id, second.id)


def test_of_a_large_site_the_first_pages_and_some_by_chance_are_read(
    pages: PagesSite, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github_pages, "ALL_UP_TO", 10)
    release = make_release(
        tmp_path / "large", {"index.html": b"x", MANIFEST_PATH: b"m", **{f"a{n}.html": b"%d" % n for n in range(40)}}
    )
    pages.by_hand(live_files(release))
    assert job.look().release == release.id
    read = {target.split("?")[0].lstrip("/") for target in pages.asked} - {CLAIM_PATH, FILES_PATH}
    assert {"index.html", MANIFEST_PATH} <= read and 10 <= len(read) <= 12
    pages.by_hand({path: data if not path.startswith("a") else b"wrong" for path, data in live_files(release).items()})
    assert job.look().release != release.id


def test_what_one_look_has_verified_the_next_does_not_read_again(pages: PagesSite, job: Job, release: Release) -> None:
    pages.by_hand(live_files(release))
    target = job.target()
    target.look()
    before = len(pages.asked)
    target.look()
    assert len(pages.asked) - before == 6  # claim and list twice, the home page, the manifest
    pages.by_hand(live_files(release, number=2))  # deployed once more
    before = len(pages.asked)
    assert target.look().fence == fence(2)
    assert len(pages.asked) - before == 4 + len(release.files)


def test_a_site_below_a_path(pages: PagesSite, release: Release) -> None:
    pages.by_hand({f"project/{path}": data for path, data in live_files(release).items()})
    for url in (f"{pages.url}project", f"{pages.url}project/"):
        site = PublicSite(url, site=SITE, sleep=lambda seconds: None)
        assert site.digests(release.files) == release.files


def test_paths_are_asked_for_as_they_are(pages: PagesSite) -> None:
    files = {"a b/ä.html": b"1", "c%20d.txt": b"2", "e+f&g=h.txt": b"3", "404.html": b"lost"}
    pages.by_hand(files)
    site = PublicSite(pages.url, site=SITE, sleep=lambda seconds: None)
    assert site.digests(files) == {path: digest(data) for path, data in files.items()}
    assert site.digests(["nothing.html"]) == {}


class OneAnswer(BaseHTTPRequestHandler):
    """Answers everything with what the server holds."""

    def do_GET(self) -> None:
        server: Any = self.server
        server.count += 1
        status, headers, body = server.answers[min(server.count, len(server.answers)) - 1]
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def answering() -> Iterator[Callable[..., tuple[PublicSite, Any]]]:
    servers = []

    def start(*answers: tuple[int, Mapping[str, str], bytes]) -> tuple[PublicSite, Any]:
        server: Any = HTTPServer(("127.0.0.1", 0), OneAnswer)
        server.answers, server.count = answers, 0
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        servers.append(server)
        return PublicSite(f"http://127.0.0.1:{server.server_address[1]}/", site=SITE, sleep=lambda seconds: None), server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (302, {"Location": "/elsewhere"}), (301, {"Location": "https://github.com/login"}), (403, {}), (429, {}), (500, {}), (503, {}),
        (200, {"Content-Encoding": "gzip"}), (200, {"Content-Length": "99"}),
    ],
)  # fmt: skip
def test_what_is_neither_the_file_nor_its_absence_is_no_answer(answering: Any, status: int, headers: Mapping[str, str]) -> None:
    site, server = answering((status, headers, b"x"))
    assert code(lambda: site.digests(["index.html"])) == "target-unreachable"
    assert server.count == 3, "asked again, and then given up"


def test_one_stumble_is_forgiven(answering: Any) -> None:
    site, _ = answering((503, {}, b""), (200, {}, b"x"))
    assert site.digests(["index.html"]) == {"index.html": digest(b"x")}


def test_a_look_ends(answering: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    site, server = answering((200, {}, b"x"))
    monkeypatch.setattr("publisher.targets.pages_reading.DEADLINE", -1.0)
    assert code(lambda: site.digests(["index.html", "a.html"])) == "target-unreachable"
    assert server.count == 0


def test_where_nobody_listens() -> None:
    site = PublicSite("http://127.0.0.1:9/", site=SITE, sleep=lambda seconds: None)
    assert code(lambda: site.digests(["index.html"])) == "target-unreachable"


# --- the list of files ------------------------------------------------------------------------------------------------------------


def test_a_list_reads_back(release: Release) -> None:
    assert read_files_list(files_list(release, site=SITE), site=SITE) == release.files


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", b"\xff", b"[" * 100_000, json.dumps({"files": {}, "site": SITE}).encode(),
        json.dumps({"files": {"a": "sha256:0"}, "site": SITE}).encode(),
        json.dumps({"files": {"../a": "sha256:" + "0" * 64}, "site": SITE}).encode(),
        json.dumps({"files": {"a": "sha256:" + "0" * 64}, "site": "other"}).encode(),
        json.dumps({"files": {"a": "sha256:" + "0" * 64}}).encode(),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_list_that_is_none_stops(pages: PagesSite, job: Job, release: Release, data: bytes) -> None:
    with pytest.raises(StoppedForSafety) as stopped:
        read_files_list(data, site=SITE)
    assert stopped.value.code == "target-foreign"
    pages.by_hand({**live_files(release), FILES_PATH: data})
    assert code(job.look) == "target-foreign"


def test_a_claim_that_does_not_read_stops(pages: PagesSite, job: Job, release: Release) -> None:
    pages.by_hand({**live_files(release), CLAIM_PATH: b"{}"})
    assert code(job.look) == "claim-corrupt"


def test_a_release_with_a_list_of_its_own_is_refused(job: Job, tmp_path: Path) -> None:
    release = make_release(tmp_path / "odd", {"index.html": b"x", FILES_PATH: b"y"})
    assert code(lambda: job.target().store(release, base="", fence=fence(1))) == "release-path"


# --- the export ---------------------------------------------------------------------------------------------------------------------


def test_an_export_is_the_release_with_its_claim_and_list(release: Release, tmp_path: Path) -> None:
    claim = ClaimFile(fence=fence(7), base="sha256:" + "1" * 64, release=release.id, site=SITE)
    folder = tmp_path / "out"
    old = os.umask(0o077)
    try:
        export(release, claim, folder)
        export(release, claim, folder)
    finally:
        os.umask(old)
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == {**live_files(release), CLAIM_PATH: claim.as_bytes()}
    assert exported(folder, site=SITE) == claim
    assert exported(folder, site="other") is None
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    assert modes == {0o755, 0o644}, "Pages wants files that everybody may read"
    assert artifact_name(claim, run="12", attempt="3") == f"github-pages-{release.id[7:19]}-1.7-12-3"


def test_what_is_not_an_export_is_not_removed(release: Release, tmp_path: Path) -> None:
    claim = ClaimFile(fence=fence(1), base="", release=release.id, site=SITE)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    (tmp_path / "link").symlink_to("photos")
    (tmp_path / "file").write_bytes(b"f")
    for name in ("photos", "link", "file"):
        with pytest.raises(NeedsPerson) as stopped:
            export(release, claim, tmp_path / name)
        assert stopped.value.code == "export-folder"
    assert (tmp_path / "photos" / "cat.jpg").read_bytes() == b"cat"
    (tmp_path / "empty").mkdir()
    export(release, claim, tmp_path / "empty")


@pytest.mark.parametrize("path", [".", "plans", "publisher/x", ".git"])
def test_an_export_never_goes_where_the_repository_needs_it(job: Job, release: Release, path: str) -> None:
    chosen = {**job.environment, "PUBLISHER_PAGES_DIR": str(job.folder / "repository" / path)}
    target = job.target()
    target._job = ActionsJob(environment=chosen)
    target._folder = lambda: github_pages.target_folder(target._job.folder, _around(job))
    assert code(lambda: target.store(release, base="", fence=fence(1))) == "target-options"


def _around(job: Job) -> Any:
    from publisher.targets.options import Surroundings

    return Surroundings(site=SITE, base=job.folder / "repository", git=None, state_remote="", now=lambda: None)  # type: ignore[arg-type, return-value]


# --- the job ------------------------------------------------------------------------------------------------------------------------


def test_outputs_are_lines(tmp_path: Path) -> None:
    job = ActionsJob(environment={"GITHUB_OUTPUT": str(tmp_path / "out")})
    job.say(pages_path="/a b", pages_artifact="c")
    with pytest.raises(Bug):
        job.say(pages_path="a\nother=evil")
    assert outputs_of(tmp_path / "out") == {"pages_path": "/a b", "pages_artifact": "c"}
    ActionsJob(environment={}).say(pages_path="nobody listens")


def test_elsewhere_than_in_actions_one_can_only_look(pages: PagesSite, release: Release, tmp_path: Path) -> None:
    assert code(lambda: ActionsJob(environment={}).folder) == "not-in-actions"
    assert code(lambda: ActionsJob(environment={"GITHUB_RUN_ID": "x"}).run) == "not-in-actions"
    assert isinstance(_refusal(lambda: ActionsJob(environment={}).run), ComeBackLater)


def _refusal(act: Callable[[], Any]) -> Refusal:
    with pytest.raises(Refusal) as stopped:
        act()
    return stopped.value


@pytest.mark.parametrize(
    "url", ["", "http://evil.example/", "ftp://x/", "http://127.0.0.1.evil.example/", "file:///etc/passwd"]
)
def test_the_identity_is_asked_for_over_https_only(url: str) -> None:
    job = ActionsJob(environment={"ACTIONS_ID_TOKEN_REQUEST_URL": url, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "bearer-secret"})
    problem = _refusal(job.identity_token)
    assert problem.code == "no-identity-token" and "bearer-secret" not in str(problem)


@pytest.mark.parametrize(
    "answer",
    [
        (500, {}, b""), (200, {}, b"not json"), (200, {}, b"[]"), (200, {}, b'{"value": 3}'), (401, {}, b"bearer-secret"),
        (302, {"Location": "http://127.0.0.1:9/"}, b""),
    ],
)  # fmt: skip
def test_an_identity_that_does_not_come(answering: Any, answer: Any) -> None:
    _, server = answering(answer)
    url = f"http://127.0.0.1:{server.server_address[1]}/token?x=1"
    job = ActionsJob(environment={"ACTIONS_ID_TOKEN_REQUEST_URL": url, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "bearer-secret"})
    problem = _refusal(job.identity_token)
    assert problem.code == "identity-unreachable" and "bearer-secret" not in str(problem)
    assert server.count == 1


def test_a_job_s_environment_is_not_printed() -> None:
    assert "secret" not in repr(ActionsJob(environment={"GITHUB_TOKEN": "secret"}))


def test_a_version_that_the_repository_does_not_have_is_refused_by_github(job: Job, pages: PagesSite, release: Release) -> None:
    """It is documented as any unique string, and answered 404 where it is no pushed commit: hence the ledger's own record."""
    pages.has_commit = lambda version: False
    problem = _refusal(lambda: job.switch(release, base="", fence=fence(1)))
    assert problem.code == "host-forbidden" and "the source is GitHub Actions" in problem.next
    assert not pages.deployments


def test_an_export_from_before_what_is_live_is_not_deployed(pages: PagesSite, job: Job, tmp_path: Path) -> None:
    """The claim file in it is older than the one that the public sees, so later looks would take it for a stale deployment."""
    first, second = make_release(tmp_path / "first", "first"), make_release(tmp_path / "second", "second")
    pages.by_hand(live_files(first, number=5))
    job.store(second, base=first.id, fence=fence(4))
    late = job.target(job.uploaded())
    late.store(second, base=first.id, fence=fence(6))
    assert code(lambda: late.switch(second, base=first.id, fence=fence(6), record="0" * 40)) == "artifact-wanted"
    assert not pages.deployments
