"""``publisher serve``: a target as it is, and a site as it will be, from a real process; nothing is written in the repository."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from publisher.cli.drafts_site import DraftsSite
from publisher.errors import InputProblem, UsageProblem
from publisher.sitebuilder.theme import default_theme
from publisher.wiring import open_instance
from tests.support.command_line import publisher
from tests.support.gitrepos import Repository
from tests.support.instance_folder import PUBLISHER_YAML, draft, handbook, snapshot, write


@pytest.fixture
def root(tmp_path):
    root = handbook(tmp_path / "instance")
    for name, data in default_theme().items():
        path = root / "site-src/handbook/theme" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    Repository(root).git("init", "--quiet", "--initial-branch=main")
    return root


@contextmanager
def serving(root: Path, *argv: str, scratch: Path | None = None):
    env = os.environ | ({"TMPDIR": str(scratch)} if scratch else {})
    process = subprocess.Popen(
        [sys.executable, "-m", "publisher", "-C", str(root), "serve", "--json", "--port", "0", *argv],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip
    try:
        lines = []
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if line == "}\n":
                break
        assert lines, process.communicate()
        yield json.loads("".join(lines)), process
    finally:
        process.kill()
        process.communicate()


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_directory_target_is_served_as_it_is_and_the_switch_shows(root):
    public = root / "public/handbook"
    write(root, {"public/handbook/releases/1/index.html": "one", "public/handbook/releases/2/index.html": "two"})
    with serving(root) as (said, _):
        assert (said["site"], said["shows"]) == ("handbook", "public")
        assert get(said["url"])[0] == 404, "nothing is public yet"
        (public / "current").symlink_to("releases/1")
        assert get(said["url"]) == (200, "one")
        (public / "next").symlink_to("releases/2")
        (public / "next").rename(public / "current")
        assert get(said["url"]) == (200, "two")


def test_drafts_are_rendered_outside_the_repository_and_gone_afterwards(root, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = snapshot(root)
    with serving(root, "--drafts", scratch=scratch) as (said, process):
        assert said["shows"] == "drafts"
        status, page = get(said["url"] + "first/")
        assert status == 200 and "A title" in page
        (made,) = scratch.glob("publisher-drafts-*")
        assert made.stat().st_mode & 0o077 == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert list(scratch.iterdir()) == []
    assert snapshot(root) == before


def test_ctrl_c_is_how_it_is_meant_to_stop(root):
    with serving(root) as (_, process):
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert "nothing is lost" not in process.stderr.read().lower()


# --- the site as it will be ---------------------------------------------------------------------------------------------------


class FixedClock:
    def now(self):
        return datetime(2026, 12, 5, 4, tzinfo=UTC)

    def sleep(self, seconds):
        raise AssertionError("nothing waits here")


@contextmanager
def rendered(root, *, unqueued=False):
    told: list[str] = []
    site = DraftsSite(open_instance(root, clock=FixedClock(), environment={}), "handbook", unqueued=unqueued, tell=told.append)
    try:
        yield site, told
    finally:
        site.close()


def pages(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("*/index.html")} - {"archive", "tags", "categories"}


def manifest(folder: Path):
    return json.loads((folder / ".well-known/publisher.json").read_text())["articles"]


def test_queued_drafts_in_order_on_the_days_they_would_get(root):
    write(root, {"drafts/handbook/loose/index.md": draft("a-0009")})
    with rendered(root) as (site, told):
        folder = site.folder()
        assert pages(folder) == {"first", "second", "third", "fourth"}
        assert [(entry["id"], entry["date"]) for entry in manifest(folder)] == [
            ("a-0001", "2026-12-05T00:00:00+08:00"),
            ("a-0002", "2026-12-06T00:00:00+08:00"),
            ("a-0003", "2026-12-07T00:00:00+08:00"),
            ("a-0004", "2026-12-08T00:00:00+08:00"),
        ]
        assert told == []


def test_all_shows_the_unqueued_too(root):
    write(root, {"drafts/handbook/loose/index.md": draft("a-0009")})
    with rendered(root, unqueued=True) as (site, _):
        assert "loose" in pages(site.folder())


def test_a_change_is_seen_and_no_change_renders_nothing(root):
    with rendered(root) as (site, _):
        first = site.folder()
        assert site.folder() == first
        write(root, {"drafts/handbook/first/index.md": draft("a-0001", title="Another title altogether")})
        second = site.folder()
        assert second != first
        assert "Another title altogether" in (second / "first/index.html").read_text()
        assert first.exists(), "a request may still be reading it"
        write(root, {"drafts/handbook/first/index.md": draft("a-0001", title="And a third one, longer still")})
        site.folder()
        assert not first.exists()


def test_a_broken_draft_is_left_out_and_named_without_its_text(root):
    write(root, {"drafts/handbook/second/index.md": draft("a-0002", title="SECRET").replace("summary", "sumary")})
    with rendered(root) as (site, told):
        assert pages(site.folder()) == {"first", "third", "fourth"}
        (line,) = told
        assert line.startswith("left out: drafts/handbook/second/index.md:") and "SECRET" not in line


def test_a_broken_site_is_told_until_it_is_mended(root):
    write(root, {"drafts/handbook/first/index.md": draft("a-0001", body="[lost](/nowhere/)\n")})
    with rendered(root) as (site, told):
        for _ in range(2):
            with pytest.raises(InputProblem):
                site.folder()
        assert len(told) == 1
        write(root, {"drafts/handbook/first/index.md": draft("a-0001")})
        assert "first" in pages(site.folder())


def test_images_beside_a_draft_are_shown(root):
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10" viewBox="0 0 10 10"><path d="M0 0h10"/></svg>\n'
    write(
        root,
        {
            "drafts/handbook/first/index.md": draft("a-0001", body="![A line](line.svg)\n"),
            "drafts/handbook/first/line.svg": svg,
        },
    )
    with rendered(root) as (site, told):
        assert (site.folder() / "first/line.svg").exists(), told


def test_the_temporary_directory_may_not_lie_in_the_repository(root, monkeypatch):
    (root / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(root / "tmp"))
    with pytest.raises(UsageProblem) as refused, rendered(root):
        pass
    assert refused.value.code == "temporary-inside" and list((root / "tmp").iterdir()) == []


@pytest.mark.parametrize("committed", [False, True])
def test_before_anything_is_public(root, committed):
    if committed:
        Repository(root).commit({})
    with rendered(root) as (site, _):
        assert len(manifest(site.folder())) == 4


# --- what does not go -----------------------------------------------------------------------------------------------------------


def test_a_target_that_is_no_folder_is_refused(root):
    write(
        root,
        {
            "publisher.yaml": PUBLISHER_YAML.replace(
                "{kind: directory, path: public/handbook}", "{kind: git-branch, branch: pages}"
            )
        },
    )
    said = publisher("serve", at=root)
    assert said.code == 2 and "[no-directory]" in said.err and "--drafts" in said.err


def test_all_goes_with_drafts(root):
    assert "[does-not-go]" in publisher("serve", "--all", at=root).err


def test_an_unknown_site(root):
    assert publisher("serve", "--site", "hanbook", at=root).code == 2


def test_a_port_in_use(root):
    with serving(root) as (said, _):
        port = said["url"].rstrip("/").rpartition(":")[2]
        refused = publisher("serve", "--port", port, at=root)
    assert refused.code == 2 and "[port-taken]" in refused.err and "--port 0" in refused.err


def test_no_theme_is_named(root):
    for path in (root / "site-src/handbook/theme").iterdir():
        path.unlink()
    with rendered(root) as (site, _), pytest.raises(InputProblem) as refused:
        site.folder()
    assert refused.value.code == "no-theme"
