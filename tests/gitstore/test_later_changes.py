"""Which commits changed a file after a commit, on any line that a tip has: what a turned-around history would hide."""

from __future__ import annotations

from pathlib import Path

import pytest

from publisher.forge.tree_changes import Trees, changed_beside
from publisher.gitstore.gateway import Git
from tests.support.gitrepos import Repository, bare, clone


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    bare(tmp_path / "remote.git")
    made = clone(Repository(tmp_path / "remote.git", "remote"), tmp_path / "work", "editor")
    made.commit({"plans/a": "0", "other": "0"}, "begin")
    return made


def beside(repository: Repository, change: str) -> str:
    git = Git(repository.path)
    return changed_beside(git, Trees(git), change, repository.git("rev-parse", "HEAD"), "plans/a")


def test_nothing_later_and_what_others_do_is_nothing(repository: Repository) -> None:
    change = repository.commit({"plans/a": "1"}, "the change")
    assert beside(repository, change) == ""
    repository.commit({"other": "1"}, "another file")
    repository.git("checkout", "--quiet", "-b", "old", f"{change}~1")
    repository.commit({"more": "1"}, "a branch from before the change")
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "-m", "merged", "old")
    assert beside(repository, change) == ""


def test_a_change_that_became_the_second_parents_is_found(repository: Repository) -> None:
    change = repository.commit({"plans/a": "1"}, "the change")
    withdrawn = repository.commit({"plans/a": None}, "withdrawn")
    tree = repository.git("rev-parse", f"{change}^{{tree}}")
    turned = repository.git("commit-tree", tree, "-p", change, "-p", withdrawn, "-m", "turned around")
    repository.git("reset", "--quiet", "--hard", turned)
    assert Git(repository.path).first_parent_changes(turned, "plans/a") == (change,)
    assert beside(repository, change) == withdrawn
