"""The reader that keeps one git open: what it sees, what it keeps, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from publisher.errors import ComeBackLater, StoppedForSafety
from publisher.gitstore import object_reader
from publisher.gitstore.gateway import Git, _end_group
from publisher.gitstore.object_reader import Entry, Memory, ObjectReader, Started
from tests.support import gitrepos
from tests.support.gitrepos import Repository


@pytest.fixture
def editor(tmp_path: Path) -> Repository:
    return gitrepos.started(tmp_path, {"a": "one\n", "d/b": "two\n"})[1]


def reader_of(editor: Repository, *command: str, limit: float = 60.0) -> tuple[ObjectReader, list[subprocess.Popen[bytes]]]:
    """A reader on a command of its own; the processes it has begun."""
    begun: list[subprocess.Popen[bytes]] = []

    def start() -> Started:
        process = subprocess.Popen(
            command or ["git", "cat-file", "--batch"], cwd=editor.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        begun.append(process)
        return Started(process, None)

    return ObjectReader(start, _end_group, limit), begun


def test_many_objects_of_any_size_in_the_order_asked_for(editor: Repository) -> None:
    texts = [b"", b"\n", b"x" * (3 << 20), *(f"text {n}\n".encode() for n in range(3 * object_reader.AT_ONCE))]
    git = Git(editor.path)
    oids = [git.write_blob(text) for text in texts[:8]]
    oids += list(editor.git("hash-object", "-w", "--stdin-paths", stdin=_written(editor, texts[8:])).split("\n"))
    reader, begun = reader_of(editor)
    assert [found[1] for found in reader.read(oids) if found] == texts
    assert reader.read(["0" * 40, oids[3]]) == [None, ("blob", texts[3])]
    assert len(begun) == 1


def _written(editor: Repository, texts: list[bytes]) -> bytes:
    for number, text in enumerate(texts):
        (editor.path / f"text-{number}").write_bytes(text)
    return "".join(f"text-{number}\n" for number in range(len(texts))).encode()


def test_what_comes_later_is_seen(editor: Repository) -> None:
    """Loose, packed and moved into a pack after the process began."""
    reader, begun = reader_of(editor)
    first = editor.head("HEAD:a")
    assert reader.read([first]) == [("blob", b"one\n")]
    loose = editor.git("hash-object", "-w", "--stdin", stdin=b"loose\n")
    assert reader.read([loose]) == [("blob", b"loose\n")]
    packed = editor.commit({"c": "packed\n"})
    editor.git("repack", "-a", "-d", "-q")
    assert reader.read([editor.head("HEAD:c"), first]) == [("blob", b"packed\n"), ("blob", b"one\n")]
    assert reader.find(packed, "d/b") == Entry("100644", "blob", editor.head("HEAD:d/b"))
    assert len(begun) == 1


def test_a_process_that_was_ended_is_begun_again(editor: Repository) -> None:
    reader, begun = reader_of(editor)
    blob = editor.head("HEAD:a")
    reader.read([blob])
    os.killpg(begun[0].pid, signal.SIGKILL)
    begun[0].wait()
    assert reader.read([blob]) == [("blob", b"one\n")]
    assert len(begun) == 2


@pytest.mark.parametrize("answers", ["", "nonsense\n", "{oid} blob 4\n", "{oid} blob 4\nTWO\n\n", "{oid} blob x\nabc\n"])
def test_an_answer_that_is_none(editor: Repository, answers: str) -> None:
    blob = editor.head("HEAD:a")
    script = f"read line; printf '{answers.format(oid=blob)}'"
    reader, begun = reader_of(editor, "sh", "-c", script)
    with pytest.raises(StoppedForSafety) as problem:
        reader.read([blob])
    assert problem.value.code == ("object-corrupt" if "TWO" in answers else "object-unreadable")
    assert begun[0].poll() is not None


def test_a_git_that_hangs_is_ended_after_the_limit(editor: Repository) -> None:
    reader, begun = reader_of(editor, "sh", "-c", "sleep 600 & wait", limit=0.3)
    with pytest.raises(ComeBackLater) as problem:
        reader.read([editor.head("HEAD:a")])
    assert problem.value.code == "git-slow"
    assert begun[0].poll() is not None


def test_an_interruption_ends_the_process_because_its_answers_are_out_of_step(editor: Repository) -> None:
    reader, begun = reader_of(editor)
    one, two = editor.head("HEAD:a"), editor.head("HEAD:d/b")
    plain = object_reader.object_id

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    object_reader.object_id = interrupted  # type: ignore[assignment]
    try:
        with pytest.raises(KeyboardInterrupt):
            reader.read([one, two])
    finally:
        object_reader.object_id = plain
    assert begun[0].poll() is not None
    assert reader.read([two]) == [("blob", b"two\n")]


def test_no_process_outlives_its_reader(editor: Repository) -> None:
    reader, begun = reader_of(editor)
    reader.read([editor.head("HEAD:a")])
    assert begun[0].poll() is None
    del reader
    assert begun[0].poll() == 0


def test_trees_are_listed_as_git_lists_them(editor: Repository) -> None:
    """Modes that git canonicalises, names that are no text, folders and files whose names sort differently."""
    blob = editor.head("HEAD:a")
    rows = [
        ("100664", b"group", blob),
        ("100755", b"run", blob),
        ("120000", b"link", blob),
        ("160000", b"module", editor.head()),
    ]
    data = b"".join(
        mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in sorted(rows, key=lambda r: r[1])
    )
    odd = editor.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=data)
    listing = (
        f"040000 tree {odd}\ta\n100644 blob {blob}\ta-b\n100644 blob {blob}\ta.txt\n100644 blob {blob}\tcaf".encode()
        + b"\xe9\n"
    )
    top = editor.git("mktree", stdin=listing)
    commit = editor.git("commit-tree", "-m", "odd", top)
    shown = editor.git("ls-tree", commit, "a/").split("\n")
    git = Git(editor.path)
    assert [f"{e.mode} {e.kind} {e.oid}\t{e.path}" for e in git.tree(commit, "a", recursive=False)] == shown
    assert [f"{e.mode} {e.kind} {e.oid}\t{e.path}" for e in git.tree(commit, "a")] == shown
    assert git.tree(commit, "a.txt") == git.tree(commit, "a/group/more") == ()
    assert git.blob_ids(commit, ["a/group", "a", "a.txt", "a/module", "a/none"]) == {"a/group": blob, "a.txt": blob}


def test_a_tree_that_is_none_stops(editor: Repository) -> None:
    broken = editor.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=b"100644 a\0short")
    reader, _ = reader_of(editor)
    for wrong in (
        lambda: reader.folder(broken),
        lambda: reader.folder(editor.head()),
        lambda: reader.top(editor.head("HEAD:a")),
    ):
        with pytest.raises(StoppedForSafety) as problem:
            wrong()
        assert problem.value.code == "object-unreadable"
    with pytest.raises(StoppedForSafety) as problem:
        reader.find("0" * 40, "a")
    assert problem.value.code == "object-missing"


def test_what_is_kept_is_bounded_and_the_oldest_goes_first() -> None:
    memory: Memory[int] = Memory(most=10)
    for number in range(4):
        memory.keep(number, number, 3)
        memory.get(0)
    assert [memory.get(number) for number in range(4)] == [0, None, 2, 3]
    memory.keep("large", 9, 100)
    assert (memory.get("large"), memory.get(0)) == (9, None)
