"""The gateway's writing half: objects, pushes that lie, leases, time limits."""

from __future__ import annotations

import os
import random
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from publisher.errors import Bug, ComeBackLater, InputProblem, NeedsPerson, StoppedForSafety
from publisher.gitstore import gateway
from publisher.gitstore.gateway import Git
from tests.support import gitrepos
from tests.support.boundaries import full_disk
from tests.support.gitrepos import Repository

AT = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)
MAIN = "refs/heads/main"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Repository, Repository]:
    return gitrepos.started(tmp_path, {"a.txt": "one\n", "d/b.txt": "two\n", "d/e/c.txt": "three\n"})


def compose(git: Git, parent: str, changes: dict[str, bytes | None], message: str = "record\n", **more: object) -> str:
    parents = [parent] if parent else []
    return git.compose(
        parents=parents,
        base_tree=parent,
        changes=changes,
        message=message,
        author="robot",
        email="robot@example.org",
        at=AT,
        **more,
    )  # type: ignore[arg-type]


# --- objects ----------------------------------------------------------------------------------------------------------------


def test_a_commit_is_made_of_objects_only(pair: tuple[Repository, Repository]) -> None:
    editor = pair[1]
    editor.write({"a.txt": "work in progress\n"})
    (editor.path / ".git" / "index.lock").write_text("left by a kill")
    before = {name: state for name, state in gitrepos.snapshot(editor.path).items() if "objects" not in name}
    made = compose(
        Git(editor.path), editor.head(), {"d/b.txt": b"2\n", "x/y/z.txt": b"new\n", "a.txt": None}, "subject\n\nPlan: p\n"
    )
    after = {name: state for name, state in gitrepos.snapshot(editor.path).items() if "objects" not in name}
    assert after == before
    assert editor.git("ls-tree", "-r", "--name-only", made).split() == ["d/b.txt", "d/e/c.txt", "x/y/z.txt"]
    assert editor.git("cat-file", "blob", f"{made}:d/b.txt") == "2"
    assert editor.git("log", "-1", "--format=%P %an %ae %aI %cn %cI|%B", made) == (
        f"{editor.head()} robot robot@example.org 2026-12-01T01:00:00+00:00 robot 2026-12-01T01:00:00+00:00|subject\n\nPlan: p"
    )
    editor.git("fsck", "--strict", "--no-dangling")


def test_the_same_commit_twice_has_one_id(pair: tuple[Repository, Repository]) -> None:
    git, head = Git(pair[1].path), pair[1].head()
    assert compose(git, head, {"n": b"1"}) == compose(git, head, {"n": b"1"})
    assert compose(git, head, {"n": b"1"}) != compose(git, head, {"n": b"2"})


def test_trees_are_those_that_git_makes(pair: tuple[Repository, Repository], tmp_path: Path) -> None:
    """Random changes, compared with what git's own index makes of them. Names are chosen to try git's sorting."""
    editor, rng = pair[1], random.Random(7)
    git = Git(editor.path)
    names = ["a", "a.b", "a-b", "a0", "ab", "a/x", "a.b/x", "z/a", "z/a-b/c", "z/a.b", "ü/é", "z/a/c/d"]
    for _ in range(25):
        chosen = {name: rng.randbytes(3) for name in rng.sample(names, 6)}
        tree = {name: data for name, data in chosen.items() if not any(other.startswith(name + "/") for other in chosen)}
        gone = rng.sample(sorted(tree), min(2, len(tree)))
        base = git.compose_tree(tree)
        changes: dict[str, bytes | None] = dict.fromkeys(gone)
        top = git.compose(
            parents=[], base_tree=base, changes=changes | {"k/l": b"1"}, message="m", author="r", email="e@x", at=AT
        )
        index = {**os.environ, "GIT_INDEX_FILE": str(tmp_path / "index"), "GIT_DIR": str(editor.path / ".git")}
        (tmp_path / "index").unlink(missing_ok=True)
        for name, data in {**{n: d for n, d in tree.items() if n not in gone}, "k/l": b"1"}.items():
            oid = git.write_blob(data)
            subprocess.run(["git", "update-index", "--add", "--cacheinfo", f"100644,{oid},{name}"], env=index, check=True)
        expected = subprocess.run(["git", "write-tree"], env=index, check=True, capture_output=True, text=True).stdout.strip()
        assert editor.head(f"{top}^{{tree}}") == expected


def test_a_whole_site_is_one_pack_and_the_next_one_is_small(pair: tuple[Repository, Repository]) -> None:
    editor = pair[1]
    git = Git(editor.path)
    site = {f"p{n}/index.html": b"page %d\n" % n for n in range(300)}
    tree = git.compose_tree(site)
    packs = sorted((editor.path / ".git" / "objects" / "pack").glob("*.pack"))
    assert len(packs) == 1
    assert git.compose_tree(site | {"p1/index.html": b"other\n"}) != tree
    assert sorted((editor.path / ".git" / "objects" / "pack").glob("*.pack")) == packs
    assert len(editor.git("ls-tree", "-r", tree).splitlines()) == 300
    editor.git("fsck", "--strict", "--no-dangling")


def test_from_nothing(pair: tuple[Repository, Repository]) -> None:
    editor = pair[1]
    made = compose(Git(editor.path), "", {"ledger/a.jsonl": b"{}\n"})
    assert editor.git("rev-list", "--count", made) == "1"
    assert editor.git("ls-tree", "-r", "--name-only", made) == "ledger/a.jsonl"
    assert Git(editor.path).compose_tree({}) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", "a/.git/config", ".GIT/hooks/x", "a/./b", "", "a\nb", "a\\b"])
def test_paths_that_lead_elsewhere_are_never_written(pair: tuple[Repository, Repository], path: str) -> None:
    with pytest.raises(Bug):
        compose(Git(pair[1].path), pair[1].head(), {path: b"x"})
    with pytest.raises(Bug):
        Git(pair[1].path).compose_tree({path: b"x"})


@pytest.mark.parametrize("changes", [{"d": b"x"}, {"a.txt/x": b"x"}, {"n": b"1", "n/m": b"2"}])
def test_files_and_folders_do_not_replace_each_other(
    pair: tuple[Repository, Repository], changes: dict[str, bytes | None]
) -> None:
    with pytest.raises(Bug):
        compose(Git(pair[1].path), pair[1].head(), changes)


def test_a_signed_commit(pair: tuple[Repository, Repository], tmp_path: Path) -> None:
    editor, key = pair[1], gitrepos.signing_key(tmp_path / "keys", "robot")
    git, signers = Git(editor.path), gitrepos.allowed({"robot": key}, "git")
    signed = compose(git, editor.head(), {"n": b"1"}, signing_key=key)
    assert git.commit_signer(signed, signers) == "robot"
    assert git.commit_signer(editor.head(), signers) == ""
    with pytest.raises(NeedsPerson) as problem:
        compose(git, editor.head(), {"n": b"1"}, signing_key=tmp_path / "none")
    assert problem.value.code == "signing-key-missing"


# --- pushes ------------------------------------------------------------------------------------------------------------------


def test_a_push_moves_exactly_what_it_names(pair: tuple[Repository, Repository]) -> None:
    remote, editor = pair
    git, head = Git(editor.path), editor.head()
    made = compose(git, head, {"n": b"1"})
    editor.git("tag", "-a", "-m", "x", "v1", made)
    editor.setting("push.followTags", "true")
    assert git.push("origin", [(made, MAIN, head)])
    assert remote.refs() == {MAIN: made}
    assert git.push("origin", [(made, "refs/heads/publisher/requests/1", "")])
    assert git.remote_refs("origin", ["refs/heads/*", "HEAD"]) == {
        "HEAD": made, MAIN: made, "refs/heads/publisher/requests/1": made,
    }  # fmt: skip
    assert git.remote_refs("origin", ["refs/heads/mai"]) == {}
    assert git.push("origin", [("", "refs/heads/publisher/requests/1", made)])
    assert remote.refs() == {MAIN: made}


def test_remote_refs_match_whole_names(pair: tuple[Repository, Repository]) -> None:
    remote, editor = pair
    remote.git("update-ref", "refs/x/refs/heads/main", editor.head())
    remote.git("tag", "-a", "-m", "x", "v1", "main")
    git = Git(editor.path)
    assert git.remote_refs("origin", [MAIN]) == {MAIN: editor.head()}
    assert list(git.remote_refs("origin", ["refs/tags/*"])) == ["refs/tags/v1"]


def test_a_lock_that_a_killed_git_left_is_in_nobodys_way(pair: tuple[Repository, Repository], tmp_path: Path) -> None:
    """The objects come; the ref on this side stays where it was, and so does the lock, for a person to judge."""
    remote, editor = pair
    other = gitrepos.clone(remote, tmp_path / "other", "other")
    head = other.commit({"a.txt": "two\n"})
    other.push()
    lock = editor.path / ".git" / "refs" / "remotes" / "origin" / "main.lock"
    lock.touch()
    before = editor.head("refs/remotes/origin/main")
    git = Git(editor.path)
    git.fetch("origin", [f"+{MAIN}:refs/remotes/origin/main"])
    assert git.blob_at(head, "a.txt") == b"two\n"
    assert editor.head("refs/remotes/origin/main") == before and lock.exists()
    with pytest.raises(ComeBackLater) as refused:  # the lock explains nothing about a remote that is not there
        git.fetch("ssh://example.invalid/x", [f"+{MAIN}:refs/remotes/origin/main"])
    assert refused.value.code == "remote-unreachable"
    lock.unlink()
    git.fetch("origin", [f"+{MAIN}:refs/remotes/origin/main"])
    assert editor.head("refs/remotes/origin/main") == head


def test_an_exact_lease_is_refused_after_the_ref_moved_even_if_we_fetched(
    pair: tuple[Repository, Repository], tmp_path: Path
) -> None:
    remote, editor = pair
    git, start = Git(editor.path), editor.head()
    mine = compose(git, start, {"n": b"mine"})
    other = gitrepos.clone(remote, tmp_path / "other", "other")
    theirs = other.commit({"n": "theirs"})
    other.push()
    git.fetch("origin", [f"+{MAIN}:refs/remotes/origin/main"])  # what makes a bare lease overwrite
    assert not git.push("origin", [(mine, MAIN, start)])
    assert remote.refs()[MAIN] == theirs
    assert not git.push("origin", [(mine, MAIN, "")])
    assert remote.refs()[MAIN] == theirs


def test_a_lease_holds_for_a_child_too(pair: tuple[Repository, Repository]) -> None:
    """A fast-forward alone is no compare-and-swap: after a restore to an older tip, a child of that tip must be refused."""
    remote, editor = pair
    git, start = Git(editor.path), editor.head()
    one = compose(git, start, {"n": b"1"})
    two = compose(git, one, {"n": b"2"})
    assert not git.push("origin", [(two, MAIN, one)])
    assert remote.refs()[MAIN] == start


def test_identical_pushes_both_say_yes(pair: tuple[Repository, Repository], tmp_path: Path) -> None:
    """Why every claim carries a nonce: git calls both pushers of one commit successful, even with a wrong lease."""
    remote, editor = pair
    start = editor.head()
    other = Git(gitrepos.clone(remote, tmp_path / "other", "other").path)
    one, two = compose(Git(editor.path), start, {"n": b"1"}), compose(other, start, {"n": b"1"})
    assert one == two
    assert Git(editor.path).push("origin", [(one, MAIN, start)])
    assert other.push("origin", [(two, MAIN, start)])


def test_both_refs_or_none(pair: tuple[Repository, Repository]) -> None:
    remote, editor = pair
    git, start = Git(editor.path), editor.head()
    made = compose(git, start, {"n": b"1"})
    remote.hook("update", 'case "$1" in *site*) exit 1;; esac')
    assert not git.push("origin", [(made, MAIN, start), (made, "refs/heads/site", "")])
    assert remote.refs() == {MAIN: start}
    remote.hook("update", "exit 0")
    assert git.push("origin", [(made, MAIN, start), (made, "refs/heads/site", "")])
    assert remote.refs() == {MAIN: made, "refs/heads/site": made}


def test_a_push_that_succeeds_and_is_killed_says_no(pair: tuple[Repository, Repository], tmp_path: Path) -> None:
    remote, editor = pair
    start, note = editor.head(), tmp_path / "pid"
    remote.hook("post-receive", f"echo $$ > {note}; sleep 600")
    git = Git(editor.path, limit=1.0)
    made = compose(git, start, {"n": b"1"})
    began = time.monotonic()
    assert git.push("origin", [(made, MAIN, start)]) is False
    assert time.monotonic() - began < 10
    assert remote.refs()[MAIN] == made  # only a read of the remote tells
    assert gone(int(note.read_text()))


def test_a_remote_that_hangs_is_left_after_the_limit(
    pair: tuple[Repository, Repository], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, note = pair[1], tmp_path / "pid"
    # it ignores being asked to end, and leaves a grandchild that holds the pipes
    ssh = gitrepos.script_at(tmp_path / "ssh", f"trap '' TERM; echo $$ > {note}; sleep 600 & sleep 600; sleep 600")
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    monkeypatch.setattr(gateway, "GRACE", 0.3)
    git = Git(editor.path, limit=0.5)
    for call in (
        lambda: git.remote_refs("ssh://example.invalid/x", [MAIN]),
        lambda: git.fetch("ssh://example.invalid/x", [f"{MAIN}:refs/x/y"]),
    ):
        note.unlink(missing_ok=True)
        with pytest.raises(ComeBackLater) as problem:
            call()
        assert problem.value.code == "remote-unreachable"
        assert "example" not in str(problem.value)
        assert gone(int(note.read_text()))


def gone(pid: int) -> bool:
    """Whether a process has ended (it is not ours to wait for, so it may linger as a zombie)."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return not _alive(pid) if not Path("/proc/self").exists() else True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_unreachable_remote_is_come_back_later_and_its_url_is_not_told(pair: tuple[Repository, Repository]) -> None:
    editor = pair[1]
    editor.setting("remote.secret.url", "https://robot:hunter2@127.0.0.1:9/none.git")
    git = Git(editor.path)
    made = compose(git, editor.head(), {"n": b"1"})
    for call in (lambda: git.fetch("secret", [MAIN]), lambda: git.remote_refs("secret", [MAIN])):
        with pytest.raises(ComeBackLater) as problem:
            call()
        assert problem.value.code == "remote-unreachable"
        assert "hunter2" not in str(problem.value) + repr(problem.value.__context__) + str(problem.value.as_data())
    assert git.push("secret", [(made, MAIN, "")]) is False


@pytest.mark.parametrize(
    "remote",
    [
        "ext::sh -c 'touch pwned'",
        "git://example.org/x",
        "http://example.org/x",
        "ftp://example.org/x",
        "fd::7",
        "--upload-pack=x",
        "-x",
        "",
        "a\nb",
    ],
)
def test_remotes_of_other_kinds_are_refused(pair: tuple[Repository, Repository], remote: str) -> None:
    editor = pair[1]
    with pytest.raises(InputProblem):
        Git(editor.path).remote_refs(remote, [MAIN])
    if remote and "\n" not in remote:
        editor.git("config", "remote.odd.url", remote)
        with pytest.raises(InputProblem) as problem:
            Git(editor.path).push("odd", [(editor.head(), MAIN, "")])
        assert problem.value.code == "remote-protocol"


def test_values_that_publisher_never_makes_are_bugs(pair: tuple[Repository, Repository]) -> None:
    git, head = Git(pair[1].path), pair[1].head()
    for update in (
        (head[:12], MAIN, head), (head, "main", head), (head, MAIN, "main"), ("", MAIN, ""), (head, "refs/heads/a..b", ""),
        (head, "refs/heads/a:refs/heads/b", ""), (head, "refs/heads/x.lock", ""), (head, "refs/heads/-x", ""),
    ):  # fmt: skip
        with pytest.raises(Bug):
            git.push("origin", [update])
    with pytest.raises(Bug):
        git.push("origin", [])
    with pytest.raises(Bug):
        git.fetch("origin", ["--upload-pack=x"])


def test_a_fetch_brings_what_it_names_and_nothing_else(pair: tuple[Repository, Repository], tmp_path: Path) -> None:
    remote, editor = pair
    other = gitrepos.clone(remote, tmp_path / "other", "other")
    head = other.commit({"n": "1"})
    other.push()
    other.push("more")
    other.git("tag", "v1")
    other.git("push", "--quiet", "origin", "v1")
    before = editor.refs()
    Git(editor.path).fetch("origin", [f"+{MAIN}:refs/publisher/seen"])
    assert editor.refs() == before | {"refs/publisher/seen": head}
    assert not (editor.path / ".git" / "FETCH_HEAD").exists()
    with pytest.raises(ComeBackLater):
        Git(editor.path).fetch("origin", ["refs/heads/none"])


def test_a_slow_local_command_is_come_back_later(pair: tuple[Repository, Repository]) -> None:
    fifo = pair[1].path / ".git" / "config"
    fifo.unlink()
    os.mkfifo(fifo)
    with pytest.raises(ComeBackLater) as problem:
        Git(pair[1].path, limit=0.3).tree("0" * 40, "")
    assert problem.value.code == "git-slow"


def test_without_git(pair: tuple[Repository, Repository], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "git.cmd", None)
    with pytest.raises(NeedsPerson) as problem:
        Git(pair[1].path).resolve("main")
    assert problem.value.code == "git-missing"


def test_missing_base_stops(pair: tuple[Repository, Repository]) -> None:
    with pytest.raises(StoppedForSafety):
        compose(Git(pair[1].path), "1" * 40, {"n": b"1"})


def test_a_clone_without_space_is_said_to_be_one_and_nothing_is_damaged(pair: tuple[Repository, Repository]) -> None:
    git = Git(pair[1].path)
    tip = git.resolve("main")
    many = {f"many/{number}": f"number {number}".encode() for number in range(40)}
    for write in (lambda: git.write_blob(b"new"), lambda: compose(git, tip, {"n": b"1"}), lambda: git.compose_tree(many)):
        with full_disk(), pytest.raises(ComeBackLater) as problem:
            write()
        assert problem.value.code == "clone-not-written"
    # The tree is there already, so that nothing but the commit itself cannot be written.
    compose(git, tip, {"n": b"1"}, message="one\n")
    with full_disk(), pytest.raises(ComeBackLater) as problem:
        compose(git, tip, {"n": b"1"}, message="another\n")
    assert problem.value.code == "clone-not-written"
    git.require_sound()
    assert compose(git, tip, {"n": b"1"}, message="another\n")
