"""What only a directory target does: its lock, what it refuses to touch, damage, pruning, full and read-only disks."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from publisher.domain.article import CLAIM_PATH, Release
from publisher.domain.fingerprint import release_id
from publisher.errors import ComeBackLater, NeedsPerson, Refusal, StoppedForSafety
from publisher.ports import Live
from publisher.targets.directory import DirectoryTarget
from tests.support.target_actors import (
    SITE,
    Actor,
    at,
    die_here,
    fence,
    files_below,
    in_process,
    make_release,
    on_change,
    stop_here,
)

Releases = Callable[[str], Release]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "public"


@pytest.fixture
def releases(tmp_path: Path) -> Releases:
    return lambda word: make_release(tmp_path / "built" / word, word)


def target(root: Path, *, keep: int = 5, lock_wait: float = 10.0) -> DirectoryTarget:
    return DirectoryTarget(root, shown="public", site=SITE, now=at, keep=keep, lock_wait=lock_wait)


def publish(root: Path, release: Release, base: str, number: int, keep: int = 5) -> None:
    actor = target(root, keep=keep)
    actor.store(release)
    actor.switch(release, base=base, fence=fence(number))


def refused(act: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as found:
        act()
    return found.value


def test_the_layout_on_disk(root: Path, releases: Releases) -> None:
    first = releases("first")
    publish(root, first, "", 1)
    name = first.id.removeprefix("sha256:")
    assert (root / "current").readlink() == Path(f"releases/{name}")
    assert sorted(path.name for path in root.iterdir()) == ["current", "fence.json", "incoming", "lock", "releases"]
    assert list((root / "incoming").iterdir()) == []
    claim = {
        "epoch": 1, "epoch_id": "e" * 32, "fence": 1, "nonce": "a" * 32, "base": "", "release": first.id, "site": SITE,
    }  # fmt: skip
    assert json.loads((root / "current" / CLAIM_PATH).read_bytes()) == claim
    assert {path for path, _ in files_below(root / "releases" / name)} == {*first.files, CLAIM_PATH}


def test_a_web_server_of_another_user_may_read_whatever_the_umask(root: Path, releases: Releases) -> None:
    before = os.umask(0o077)
    try:
        publish(root, releases("first"), "", 1)
    finally:
        os.umask(before)
    for path in (root / "releases").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644), path


def test_looking_writes_nothing_and_needs_no_folder(root: Path, releases: Releases) -> None:
    assert target(root).look() == Live(release="", fence=None)
    assert not root.exists()
    publish(root, releases("first"), "", 1)
    before = list(files_below(root)), root.stat().st_mtime_ns
    target(root).look()
    assert (list(files_below(root)), root.stat().st_mtime_ns) == before


# --- the lock -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["os.symlink", "os.rename"])
def test_an_actor_stopped_inside_the_lock_is_named_and_finishes_when_it_wakes(
    root: Path, releases: Releases, moment: str
) -> None:
    first, second, third = releases("first"), releases("second"), releases("third")
    publish(root, first, "", 1)
    target(root).store(second)
    stops: list[str] = []

    def once(event: str, path: str, nth: int) -> None:
        if event == moment and not stops:
            stops.append(path)
            stop_here()

    def switch_and_stop() -> None:
        on_change(root, once)
        target(root).switch(second, base=first.id, fence=fence(2))

    stopped = Actor.start(switch_and_stop)
    stopped.wait_stopped()
    for act in (
        lambda: target(root, lock_wait=0.1).raise_fence(fence(3)),
        lambda: target(root, lock_wait=0.1).switch(first, base=first.id, fence=fence(3)),
    ):
        refusal = refused(act)
        assert isinstance(refusal, ComeBackLater)
        assert refusal.code == "target-locked"
        assert f"process {stopped.pid} on {socket.gethostname()} since 2026-12-01T01:00:00Z" in refusal.says
    assert target(root).look().release == first.id  # looking waits for nobody
    target(root).store(third)  # nor does storing
    stopped.resume()
    assert stopped.outcome() == "ok"
    assert target(root).look() == Live(release=second.id, fence=fence(2), base=first.id)
    publish(root, third, second.id, 3)
    assert target(root).look().release == third.id


def test_an_actor_that_dies_inside_the_lock_blocks_nobody(root: Path, releases: Releases) -> None:
    first, second = releases("first"), releases("second")
    publish(root, first, "", 1)

    def switch_and_die() -> None:
        on_change(root, lambda event, path, nth: die_here() if event == "os.symlink" else None)
        publish(root, second, first.id, 2)

    assert in_process(switch_and_die) == "killed"
    assert b'"pid"' in (root / "lock").read_bytes()
    target(root, lock_wait=0).raise_fence(fence(3))
    assert target(root).look() == Live(release=first.id, fence=fence(3))


def test_a_lock_file_that_somebody_removes_guards_again(
    root: Path, releases: Releases, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(root, releases("first"), "", 1)
    (root / "lock").unlink()
    target(root).raise_fence(fence(2))
    assert (root / "lock").read_bytes() == b""
    real, removed = fcntl.flock, []

    def flock(handle: int, how: int) -> None:
        if not removed:
            removed.append(handle)
            (root / "lock").unlink()  # between its opening and its locking
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    target(root).raise_fence(fence(3))
    assert (root / "lock").exists() and removed
    assert target(root).look().fence == fence(3)


# --- strange things -----------------------------------------------------------------------------------------------------------


def replace_link(root: Path, to: str) -> None:
    (root / "current").unlink()
    (root / "current").symlink_to(to)


def folder_for_link(root: Path) -> None:
    (root / "current").unlink()
    (root / "current").mkdir()
    (root / "current" / "index.html").write_bytes(b"by hand")


def releases_elsewhere(root: Path) -> None:
    (root / "releases").rename(root / "elsewhere")
    (root / "releases").symlink_to("elsewhere")


def file_for_root(root: Path) -> None:
    shutil.rmtree(root)
    root.write_bytes(b"a file")


def folder_for_fence(root: Path) -> None:
    (root / "fence.json").unlink()
    (root / "fence.json").mkdir()


STRANGE: dict[str, Callable[[Path], object]] = {
    "a folder in place of the link": folder_for_link,
    "a link out of the target": lambda root: replace_link(root, "/etc"),
    "a link out by dots": lambda root: replace_link(root, "releases/../../x"),
    "a link to a copy elsewhere": lambda root: replace_link(root, f"../public/{(root / 'current').readlink()}"),
    "a link to a release that is not there": lambda root: replace_link(root, "releases/" + "0" * 64),
    "a link inside": lambda root: (root / "current" / "more").symlink_to("/etc/hosts"),
    "a link to a folder inside": lambda root: (root / "current" / "more").symlink_to("/etc"),
    "a fifo inside": lambda root: os.mkfifo(root / "current" / "pipe"),
    "a name that is no text": lambda root: (root / "current" / os.fsdecode(b"caf\xe9.html")).write_bytes(b"x"),
    "the releases kept elsewhere": releases_elsewhere,
    "a file in place of the folder": file_for_root,
    "a folder in place of the fence": folder_for_fence,
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_publisher_does_not_make_stops_and_stays(root: Path, releases: Releases, what: str) -> None:
    if what == "a name that is no text" and sys.platform == "darwin":
        pytest.skip("macOS has no such names")
    first = releases("first")
    publish(root, first, "", 1)
    STRANGE[what](root)
    before = list(files_below(root))
    for act in (
        lambda: target(root).look(),
        lambda: publish(root, releases("first"), first.id, 2),
    ):
        refusal = refused(act)
        assert isinstance(refusal, StoppedForSafety)
        assert refusal.code in ("target-foreign", "release-differs")
        assert refusal.says.isprintable()
    assert refused(lambda: target(root).look()).code == "target-foreign"
    assert list(files_below(root)) == before


@pytest.mark.parametrize(
    "record", [b"", b"{}", b"[]", b"not json", b"\xff", b"[" * 4000, b'{"site": "handbook", "epoch": true}', b" " * 5000]
)
def test_a_fence_that_cannot_be_read_is_never_taken_for_none(root: Path, releases: Releases, record: bytes) -> None:
    first = releases("first")
    publish(root, first, "", 1)
    (root / "fence.json").write_bytes(record)
    for act in (
        lambda: target(root).look(),
        lambda: target(root).raise_fence(fence(9)),
        lambda: publish(root, releases("second"), first.id, 9),
    ):
        assert refused(act).code in ("claim-corrupt", "target-foreign")
    assert (root / "fence.json").read_bytes() == record


@pytest.mark.parametrize("damage", ["changed", "extra", "missing", "link", "file", "link inside"])
def test_a_stored_release_that_differs_stops_and_is_kept(root: Path, releases: Releases, damage: str) -> None:
    first, second = releases("first"), releases("second")
    publish(root, first, "", 1)
    target(root).store(second)
    folder = root / "releases" / second.id.removeprefix("sha256:")
    page = folder / "index.html"
    if damage == "changed":
        page.write_bytes(b"other")
    elif damage == "extra":
        (folder / "more.html").write_bytes(b"more")
    elif damage == "missing":
        page.unlink()
    elif damage == "link inside":
        page.unlink()
        page.symlink_to("/etc/hosts")
    else:
        shutil.rmtree(folder)
        folder.symlink_to("/etc") if damage == "link" else folder.write_bytes(b"")
    before = list(files_below(root / "releases"))
    for act in (
        lambda: target(root).store(second),
        lambda: target(root).switch(second, base=first.id, fence=fence(2)),
    ):
        refusal = refused(act)
        assert isinstance(refusal, StoppedForSafety) and refusal.code == "release-differs"
    if damage == "changed":
        assert "'index.html'" in refusal.says and refusal.says.count("sha256:") == 2
    assert list(files_below(root / "releases")) == before
    assert target(root).look() == Live(release=first.id, fence=fence(1))


def test_switching_to_what_was_never_stored_waits(root: Path, releases: Releases) -> None:
    refusal = refused(lambda: target(root).switch(releases("first"), base="", fence=fence(1)))
    assert isinstance(refusal, ComeBackLater) and refusal.code == "release-missing"
    assert target(root).look().release == ""


@pytest.mark.parametrize("path", ["../out.html", "/etc/out", "a//b", "a/./b", ".git/config", "a\\b", CLAIM_PATH])
def test_a_path_that_leads_out_is_never_written(root: Path, tmp_path: Path, path: str) -> None:
    good = make_release(tmp_path / "built", "good")
    bad = Release(id=good.id, files={**good.files, path: good.files["index.html"]}, root=good.root)
    assert refused(lambda: target(root).store(bad)).code == "release-inconsistent"
    bad = Release(id=release_id(bad.files), files=bad.files, root=bad.root)
    assert refused(lambda: target(root).store(bad)).code in ("release-path", "release-inconsistent")
    assert not root.exists()


# --- pruning and leftovers ----------------------------------------------------------------------------------------------------


def stored(root: Path) -> set[str]:
    return {f"sha256:{path.name}" for path in (root / "releases").iterdir()}


def test_the_newest_releases_are_kept(root: Path, releases: Releases) -> None:
    base, ids = "", []
    for number in range(1, 9):
        release = releases(f"day-{number}")
        publish(root, release, base, number)
        base = release.id
        ids.append(base)
    assert stored(root) == set(ids[-5:])


def test_the_live_release_and_its_base_are_always_kept(root: Path, releases: Releases) -> None:
    first, second, third = releases("first"), releases("second"), releases("third")
    publish(root, first, "", 1, keep=0)
    publish(root, second, first.id, 2, keep=0)
    assert stored(root) == {first.id, second.id}
    publish(root, third, second.id, 3, keep=0)
    assert stored(root) == {second.id, third.id}


def test_what_dead_processes_left_goes_and_what_a_living_one_brings_stays(root: Path, releases: Releases) -> None:
    first, second = releases("first"), releases("second")
    publish(root, first, "", 1)
    (root / "incoming" / "0123-1-dead").mkdir()
    (root / "incoming" / "0123-1-dead" / "half.html").write_bytes(b"ha")
    (root / "incoming" / "held-1-dead").write_bytes(b"{}")

    def store_and_stop() -> None:
        on_change(
            root, lambda event, path, nth: stop_here() if event == "open" and path.endswith("second/index.html") else None
        )
        target(root).store(second)

    living = Actor.start(store_and_stop)
    living.wait_stopped()
    publish(root, releases("third"), first.id, 2)
    names = [path.name for path in (root / "incoming").iterdir()]
    assert len(names) == 1 and f"-{living.pid}-" in names[0]
    living.resume()
    assert living.outcome() == "ok"
    assert second.id in stored(root)


def test_a_kill_while_pruning_leaves_no_damaged_release(
    root: Path, releases: Releases, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = releases("first"), releases("second"), releases("third")
    publish(root, first, "", 1)
    publish(root, second, first.id, 2)

    def remove_a_little_and_die(folder: Path, **_: object) -> None:
        if (folder / "index.html").exists():
            (folder / "index.html").unlink()
            die_here()

    def publish_and_die() -> None:
        monkeypatch.setattr(shutil, "rmtree", remove_a_little_and_die)
        publish(root, third, second.id, 3, keep=0)

    assert in_process(publish_and_die) == "killed"
    assert target(root).look() == Live(release=third.id, fence=fence(3), base=second.id)
    publish(root, first, third.id, 4)
    assert target(root).look().release == first.id
    assert list((root / "incoming").iterdir()) == []


def test_bytes_that_the_disk_did_not_keep_are_found_before_they_count(
    root: Path, releases: Releases, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, b"X" + bytes(data)[1:]))
    assert refused(lambda: target(root).store(releases("first"))).code == "release-differs"
    assert stored(root) == set()


def test_a_folder_that_a_cleaner_took_before_it_was_locked_is_made_again(
    root: Path, releases: Releases, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, taken = fcntl.flock, []

    def flock(handle: int, how: int) -> None:
        for folder in () if taken else (root / "incoming").iterdir():
            taken.append(folder)
            folder.rmdir()
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    target(root).store(releases("first"))
    assert stored(root) == {releases("first").id} and taken


def test_many_may_store_the_same_release_at_once(root: Path, releases: Releases) -> None:
    release = releases("first")
    actors = [Actor.start(lambda: target(root).store(release)) for _ in range(6)]
    assert [actor.outcome() for actor in actors] == ["ok"] * 6
    assert stored(root) == {release.id}
    assert list((root / "incoming").iterdir()) == []


# --- the machine --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter (pytest's own may not be)."""
    folder = Path(tempfile.mkdtemp(prefix="publisher-target-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_folder_that_may_not_be_written_is_a_person_s_matter(open_folder: Path, releases: Releases) -> None:
    root = open_folder / "public"
    first, second = releases("first"), releases("second")
    publish(root, first, "", 1)
    before = list(files_below(root))

    def tried(act: Callable[[], None]) -> tuple[str, str]:
        def as_nobody() -> None:
            if os.geteuid() == 0:
                os.seteuid(65534)
            try:
                act()
            except NeedsPerson as refusal:
                # The path as configured, and nothing of where that is on this machine.
                told = "public" in refusal.says and str(open_folder) not in str(refusal)
                raise refusal if told else RuntimeError(str(refusal))

        return in_process(as_nobody)

    for folder in (root, root / "releases", root / "incoming"):
        folder.chmod(0o555)
    built = open_folder / "built"
    shutil.copytree(second.root, built)
    readable = Release(id=second.id, files=second.files, root=str(built))
    assert tried(lambda: target(root).store(readable)) == "target-not-writable"
    assert tried(lambda: target(root).raise_fence(fence(2))) == "target-not-writable"
    assert tried(lambda: target(root).switch(first, base="", fence=fence(2))) == "target-not-writable"
    assert tried(lambda: target(root).look()) == "ok"  # type: ignore[arg-type, return-value]
    for folder in (root, root / "releases", root / "incoming"):
        folder.chmod(0o755)
    assert list(files_below(root)) == before


def test_a_folder_that_may_not_be_read_is_not_taken_for_empty(open_folder: Path, releases: Releases) -> None:
    root = open_folder / "public"
    publish(root, releases("first"), "", 1)
    root.chmod(0)

    def as_nobody() -> None:
        if os.geteuid() == 0:
            os.seteuid(65534)
        target(root).look()

    assert in_process(as_nobody) == "target-not-writable"
    root.chmod(0o755)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "publisher-test", str(disk)]
    if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small file system can only be mounted by root on Linux")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_leaves_the_old_release_and_a_rerun_completes(small_disk: Path, tmp_path: Path) -> None:
    root = small_disk / "public"
    first = make_release(tmp_path / "first", "first")
    large = make_release(tmp_path / "large", {"index.html": b"large", "a.bin": b"a" * 100_000, "z.bin": b"z" * 100_000})
    publish(root, first, "", 1)
    filler = small_disk / "filler"
    filler.write_bytes(b"." * 80_000)
    refusal = refused(lambda: publish(root, large, first.id, 2))
    assert isinstance(refusal, NeedsPerson) and refusal.code == "target-full"
    assert target(root).look() == Live(release=first.id, fence=fence(1))
    assert stored(root) == {first.id} and list((root / "incoming").iterdir()) == []
    filler.unlink()
    publish(root, large, first.id, 2)
    assert target(root).look() == Live(release=large.id, fence=fence(2), base=first.id)


def test_a_disk_that_fills_before_the_switch_leaves_the_old_release(small_disk: Path, tmp_path: Path) -> None:
    root = small_disk / "public"
    first, second = make_release(tmp_path / "first", "first"), make_release(tmp_path / "second", "second")
    publish(root, first, "", 1)
    target(root).store(second)
    filler = small_disk / "filler"
    with pytest.raises(OSError), filler.open("wb", buffering=0) as file:  # noqa: PT012
        while True:
            file.write(b"." * 4096)
    refusal = refused(lambda: target(root).switch(second, base=first.id, fence=fence(2)))
    assert isinstance(refusal, NeedsPerson) and refusal.code == "target-full"
    assert target(root).look().release == first.id
    filler.unlink()
    target(root).switch(second, base=first.id, fence=fence(2))
    assert target(root).look() == Live(release=second.id, fence=fence(2), base=first.id)
