"""What commits on the first-parent chain did to a folder: order, merges, removals, kinds."""

from __future__ import annotations

import pytest

from publisher.gitstore.gateway import Git
from tests.support.gitrepos import started


@pytest.fixture
def editor(tmp_path):
    _, made = started(tmp_path, {"README.md": "hello\n", "ledger/a.jsonl": "1\n"})
    return made


def told(editor):
    git = Git(editor.path)
    changes = git.folder_history(editor.head(), "ledger")
    texts = git.blobs(oid for item in changes for oid in (item.old, item.new) if oid)
    return [(item.commit, item.path, texts.get(item.old), texts.get(item.new), item.mode) for item in changes]


def test_each_change_with_what_was_there_before(editor):
    root = editor.head()
    other = editor.commit({"README.md": "again\n"})
    grown = editor.commit({"ledger/a.jsonl": "1\n2\n", "ledger/b/c.jsonl": "x\n"})
    gone = editor.commit({"ledger/a.jsonl": None})
    assert other not in {row[0] for row in told(editor)}
    assert told(editor) == [
        (root, "ledger/a.jsonl", None, b"1\n", "100644"),
        (grown, "ledger/a.jsonl", b"1\n", b"1\n2\n", "100644"),
        (grown, "ledger/b/c.jsonl", None, b"x\n", "100644"),
        (gone, "ledger/a.jsonl", b"1\n2\n", None, ""),
    ]


def test_a_merge_counts_once_against_its_first_parent(editor):
    root = editor.head()
    editor.git("checkout", "--quiet", "-b", "side")
    editor.commit({"ledger/a.jsonl": "1\n2\n"})
    editor.commit({"ledger/a.jsonl": "1\n2\n3\n"})
    editor.git("checkout", "--quiet", "main")
    editor.commit({"README.md": "meanwhile\n"})
    editor.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    merge = editor.head()
    assert [(row[0], row[2], row[3]) for row in told(editor)] == [(root, None, b"1\n"), (merge, b"1\n", b"1\n2\n3\n")]


def test_a_merge_that_throws_away_the_other_side_changes_nothing(editor):
    editor.git("checkout", "--quiet", "-b", "side")
    editor.commit({"ledger/a.jsonl": "1\n2\n"})
    editor.git("checkout", "--quiet", "main")
    editor.git("merge", "--quiet", "--no-ff", "-s", "ours", "-m", "merge", "side")
    assert len(told(editor)) == 1


def test_the_order_is_that_of_the_chain_whatever_dates_commits_carry(editor):
    order = [editor.head()]
    for number, moved in enumerate((-5000, 9000, -700, 40), start=2):
        editor.commits += moved
        order.append(editor.commit({"ledger/a.jsonl": f"{number}\n"}))
    assert [row[0] for row in told(editor)] == order


def test_a_change_of_kind_alone_is_told(editor):
    (editor.path / "ledger" / "a.jsonl").chmod(0o755)
    editor.commit({})
    assert told(editor)[-1][4] == "100755"


def test_a_folder_that_never_was(editor):
    assert Git(editor.path).folder_history(editor.head(), "elsewhere") == ()
