"""Files of a checkout: replaced as a whole or not at all, never through a link, never over something that is there."""

from __future__ import annotations

import os

import pytest

from publisher.errors import ComeBackLater, InputProblem
from publisher.gitstore import drafts, working_tree
from publisher.gitstore.gateway import Git
from tests.support.gitrepos import Repository
from tests.support.instance_folder import draft, handbook, write


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_write_that_fails_leaves_the_old_file_and_no_scratch(tmp_path, monkeypatch):
    file = tmp_path / "a.yaml"
    file.write_bytes(b"old")

    def full(_):
        raise OSError(28, "No space left on device: /secret/path")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ComeBackLater) as refused:
        working_tree.write_file(file, b"new")
    assert "ENOSPC" in refused.value.says and "secret" not in str(refused.value)
    assert file.read_bytes() == b"old" and names(tmp_path) == ["a.yaml"]


def test_a_kill_before_the_rename_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "a.yaml"
    file.write_bytes(b"old")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(file), "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        working_tree.write_file(file, b"new")
    assert file.read_bytes() == b"old" and names(tmp_path) == ["a.yaml"]


def test_a_new_file_never_replaces_one(tmp_path):
    file = tmp_path / "a.yaml"
    assert working_tree.create_file(file, b"one") is True
    assert working_tree.create_file(file, b"two") is False
    (tmp_path / "link").symlink_to("nowhere")
    assert working_tree.create_file(tmp_path / "link", b"x") is False
    assert file.read_bytes() == b"one" and names(tmp_path) == ["a.yaml", "link"]


def test_a_link_is_not_read(tmp_path):
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(InputProblem):
        working_tree.read_file(tmp_path, "link")
    assert working_tree.read_file(tmp_path, "none") is None


def test_the_root_is_found_upwards(tmp_path):
    root = handbook(tmp_path / "instance")
    assert working_tree.find_root(root / "drafts/handbook/first") == root
    with pytest.raises(InputProblem):
        working_tree.find_root(tmp_path)


@pytest.mark.parametrize(
    ("files", "spoil"),
    [
        ({}, None),
        (
            {"drafts/handbook/first/index.md": draft("a-0001", body="![x](x.svg)\n"), "drafts/handbook/first/x.svg": "<svg/>"},
            None,
        ),
        ({"drafts/handbook/first/index.md": draft("a-0001", body="![x](none.svg)\n")}, None),
        ({"drafts/handbook/first/index.md": "no front matter"}, None),
        ({"drafts/handbook/first/index.md": "---\nid: con\n---\n"}, None),
        ({"drafts/handbook/first/index.md": draft("a-0001").replace("\n", "\r\n")}, None),
        ({}, lambda file: file.chmod(0o755)),
        ({}, lambda file: (file.unlink(), file.symlink_to("/etc/passwd"))),
        ({}, lambda file: (file.unlink(), file.mkdir())),
        ({}, lambda file: file.unlink()),
    ],
)
def test_a_draft_in_the_checkout_is_judged_like_a_committed_one(tmp_path, files, spoil):
    root = write(handbook(tmp_path / "instance"), files)
    file = root / "drafts/handbook/first/index.md"
    if spoil:
        spoil(file)
    repository = Repository(root)
    repository.git("init", "--quiet", "--initial-branch=main")
    commit = repository.commit({})

    def references(text: str) -> tuple[str, ...]:
        return tuple(name for name in ("x.svg", "none.svg") if name in text)

    def outcome(read):
        try:
            return read()
        except InputProblem as problem:
            return problem.as_data()

    source = "drafts/handbook/first"
    here = outcome(lambda: working_tree.read_draft(root, source, references))
    there = outcome(lambda: drafts.read_draft(Git(root), commit, source, references))
    if isinstance(here, dict) and isinstance(there, dict):
        assert here.get("where") == there.get("where")
    if file.is_dir():  # git keeps no empty folder
        assert isinstance(here, dict) and isinstance(there, dict)
    else:
        assert here == there
