from __future__ import annotations

from pathlib import Path

import pytest

from publisher.forge.tree_changes import Trees
from publisher.gitstore.gateway import Git
from tests.support.signed_forge import START, World


class CountingGit(Git):
    reads = 0

    def tree(self, commit: str, folder: str, recursive: bool = True) -> tuple[object, ...]:  # type: ignore[override]
        self.reads += 1
        return super().tree(commit, folder, recursive)


def commit(git: Git, files: dict[str, bytes]) -> str:
    return git.compose(
        parents=[], base_tree=git.compose_tree(files), changes={}, message="x", author="a", email="a@b", at=START
    )


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"a/b": b"1", "c": b"2"}, {"a/b": b"1", "c": b"2"}, {}),
        ({"a/b": b"1"}, {"a/b": b"2"}, {"a/b": True}),
        ({"a/b": b"1", "x": b""}, {"x": b""}, {"a/b": False}),
        ({"x": b""}, {"a/b/c": b"1", "x": b""}, {"a/b/c": True}),
        ({"a": b"1"}, {"a/b": b"1"}, {"a": False, "a/b": True}),
        ({"a/b": b"1"}, {"a": b"1"}, {"a": True, "a/b": False}),
        ({"a/b": b"1", "a-b": b"1"}, {"a/b": b"1", "a-b": b"2"}, {"a-b": True}),
    ],
)
def test_changes(world: World, before: dict[str, bytes], after: dict[str, bytes], changed: dict[str, bool]) -> None:
    found = Trees(world.git).changes(commit(world.git, before), commit(world.git, after))
    assert {path: entry is not None for path, entry in found.items()} == changed


@pytest.mark.parametrize(
    ("path", "twin"),
    [
        ("plans/a/x.yaml", ""),
        ("plans/a/X.yaml", "plans/a/x.yaml"),
        ("Plans/a/x.yaml", "plans"),
        ("plans/\u00c5/y", "plans/A\u030a"),
    ],
)
def test_twins_are_found_at_every_level(world: World, path: str, twin: str) -> None:
    tip = commit(world.git, {"plans/a/x.yaml": b"", "plans/A\u030a/y": b""})
    assert Trees(world.git).twin(tip, path) == twin


def test_years_of_plans_do_not_make_a_change_dearer(tmp_path: Path, world: World) -> None:
    reads = []
    for years in (1, 10):
        files = {f"plans/s/daily/{2016 + year}/{day}.yaml": b"" for year in range(years) for day in range(30)}
        git = CountingGit(world.folder / "work")
        Trees(git).changes(commit(git, files), commit(git, {**files, "plans/s/daily/2016/1.yaml": b"x"}))
        reads.append(git.reads)
    assert reads[0] == reads[1]
