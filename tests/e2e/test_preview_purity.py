"""Commands that only read leave every byte and time stamp as it was, ``.git`` included, and open no connection."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.instance import REPOSITORY, Instance, make_instance

READING = (
    ("preview",),
    ("preview", "--json"),
    ("preview", "blog/daily/2026/2026-03-01", "--now", "2026-03-01T10:00:00+08:00"),
    ("status",),
    ("status", "--all", "--json"),
    ("sites", "--due", "--json"),
    ("log",),
    ("why", "2026-03-01"),
    ("audit",),
    ("doctor", "--offline"),
    ("schema",),
    ("queue", "list"),
)
LOCAL_SOCKETS = re.compile(r"connect\(\d+, \{sa_family=AF_(?:UNIX|NETLINK)")


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    made = make_instance(tmp_path_factory.mktemp("purity"))
    now = "2026-03-01T09:00:00+08:00"
    made.driven("planner", "plan", now=now, check=0)
    made.driven("reviewer", "approve", "1", "--yes", now=now, check=0)
    ci = made.clone("ci")
    ci.git("fetch", "--quiet")
    # A copy of the package without bytecode: reading commands must not leave any there either.
    package = made.folder / "code" / "publisher"
    shutil.copytree(REPOSITORY / "publisher", package, ignore=shutil.ignore_patterns("__pycache__"))
    made.environment["PYTHONPATH"] = str(package.parent)
    return made


def everything(*folders: Path) -> dict[str, tuple[int, int, int, int, bytes]]:
    """Mode, size, mtime, ctime and bytes of every file and folder below ``folders``."""
    found = {}
    for folder in folders:
        for path in [folder, *folder.rglob("*")]:
            about = path.lstat()
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (about.st_mode, about.st_size if data else 0, about.st_mtime_ns, about.st_ctime_ns, data)
    return found


@pytest.mark.parametrize("argv", READING, ids=" ".join)
def test_reading_changes_nothing(instance: Instance, argv: tuple[str, ...]) -> None:
    before = everything(instance.folder)
    done = instance.publisher("ci", *argv)
    assert done.returncode in (0, 3, 4, 5), done.stderr
    assert everything(instance.folder) == before


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("argv", READING[:6], ids=" ".join)
def test_reading_opens_no_connection_and_nothing_for_writing(instance: Instance, tmp_path: Path, argv: tuple[str, ...]) -> None:
    trace = tmp_path / "trace"
    calls = "trace=connect,bind,listen,sendto,openat,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,link,symlink"
    subprocess.run(
        ["strace", "-f", "-q", "-e", calls, "-o", str(trace), *instance.command(*argv)],
        cwd=instance.clone("ci").path, env=instance.env("ci"), capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    wrote, connected = [], []
    for line in trace.read_text(errors="replace").splitlines():
        if "connect(" in line and not LOCAL_SOCKETS.search(line):
            connected.append(line)
        if re.search(r"O_(?:WRONLY|RDWR|CREAT)", line) and "/dev/" not in line and " = -1 " not in line:
            wrote.append(line)
        if re.search(r"\b(?:rename|unlink|mkdir|link|symlink|creat)\w*\(", line) and " = -1 " not in line:
            wrote.append(line)
    assert connected == []
    inside = [line for line in wrote if f"{instance.folder}/" in line or f"{REPOSITORY}/" in line]
    assert inside == []


@pytest.mark.skipif(os.geteuid() != 0 or not sys.platform.startswith("linux"), reason="needs root on Linux, for a mount")
def test_preview_works_on_a_read_only_mount(instance: Instance, tmp_path: Path) -> None:
    mounted = tmp_path / "read-only"
    mounted.mkdir()
    clone = instance.clone("ci").path
    subprocess.run(["mount", "--bind", str(clone), str(mounted)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(mounted)], check=True)
        done = subprocess.run(
            instance.command("preview", "--json"),
            cwd=mounted,
            env=instance.env("ci"),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert "blog/daily/2026/2026-03-01" in done.stdout
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def test_a_fresh_preview_leaves_the_clone_as_it_was(instance: Instance) -> None:
    editor = instance.clone("editor")
    editor.git("pull", "--quiet", "--rebase")
    editor.commit({"drafts/blog/article-0001/index.md": (editor.path / "drafts/blog/article-0001/index.md").read_text() + "\n"})
    editor.push()
    clone = instance.clone("ci").path
    before = everything(clone)
    report = instance.data("ci", "preview", "--fresh")
    assert everything(clone) == before
    assert report["schema"] == "publisher.preview/1"


def test_a_preview_is_not_rendered_into_build_sources(instance: Instance) -> None:
    plan = "blog/daily/2026/2026-03-01"
    for folder in ("site-src/look", "drafts/look", "plans/look", ".git/look"):
        assert instance.publisher("ci", "preview", plan, "--output", folder).returncode == 2
        assert not (instance.clone("ci").path / folder).exists()


def test_a_rendered_preview_shows_the_planned_articles(instance: Instance, tmp_path: Path) -> None:
    out = tmp_path / "look"
    instance.publisher("ci", "preview", "blog/daily/2026/2026-03-01", "--output", str(out), check=0)
    assert "marker-0001" in (out / "article-0001" / "index.html").read_text()
    assert "marker-0003" not in "".join(path.read_text() for path in out.rglob("*.html"))


def test_the_report_is_compared_when_the_run_begins(instance: Instance, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(instance.publisher("ci", "preview", "--fresh", "--json", check=0).stdout)
    changed = report.read_text().replace('"expect": "sha256:', '"expect": "sha256:0')
    other = tmp_path / "other.json"
    other.write_text(re.sub(r'("expect": "sha256:)[0-9a-f]{64}', r"\g<1>" + "0" * 64, changed))
    done = instance.publisher("ci", "run", "--expect", str(other), "--json")
    assert done.returncode == 7
    assert "expectation-differs" in done.stdout
    commits = instance.commits()
    instance.publisher("ci", "run", "--expect", str(tmp_path / "missing.json"), check=2)
    assert instance.commits() == commits
