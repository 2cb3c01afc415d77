"""The gateway's reading half, over real repositories."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from publisher.errors import InputProblem, Refusal, StoppedForSafety
from publisher.gitstore.gateway import Git
from tests.support import gitrepos
from tests.support.gitrepos import Repository


@pytest.fixture
def editor(tmp_path: Path) -> Repository:
    return gitrepos.started(tmp_path, {"a.txt": "one\n", "d/b.txt": "two\n", "d/e/ç ü.txt": "three\n", "-x/f": "four\n"})[1]


def code_of(problem: pytest.ExceptionInfo[Refusal]) -> str:
    return problem.value.code


def test_finds_the_top_from_below_and_refuses_elsewhere(editor: Repository, tmp_path: Path) -> None:
    assert Git.find(editor.path / "d" / "e").root() == editor.path
    with pytest.raises(InputProblem) as problem:
        Git.find(Path("/"))
    assert code_of(problem) == "not-a-repository"
    with pytest.raises(InputProblem):
        Git(tmp_path)


def test_a_bare_repository_inside_the_content_is_not_found(editor: Repository) -> None:
    gitrepos.bare(editor.path / "d" / "trap")
    assert Git.find(editor.path / "d" / "trap").root() == editor.path


def test_resolve(editor: Repository) -> None:
    git = Git(editor.path)
    assert git.resolve("main") == git.resolve("refs/heads/main") == git.resolve(editor.head()) == editor.head()
    for name in ("nowhere", "", "-h", "--all", ":/start", "a b", "0" * 40, "main\n"):
        assert git.resolve(name) == ""


def test_trees_and_blobs(editor: Repository) -> None:
    git, head = Git(editor.path), editor.head()
    assert [entry.path for entry in git.tree(head, "")] == ["-x/f", "a.txt", "d/b.txt", "d/e/ç ü.txt"]
    assert [(entry.path, entry.kind) for entry in git.tree(head, "d", recursive=False)] == [
        ("d/b.txt", "blob"),
        ("d/e", "tree"),
    ]
    assert git.tree(head, "nowhere") == ()
    assert [entry.path for entry in git.tree(head, "-x")] == ["-x/f"]
    ids = git.blob_ids(head, ["a.txt", "d", "none", "d/e/ç ü.txt"])
    assert sorted(ids) == ["a.txt", "d/e/ç ü.txt"]
    assert git.blobs([ids["a.txt"], ids["d/e/ç ü.txt"], ids["a.txt"]]) == {
        ids["a.txt"]: b"one\n",
        ids["d/e/ç ü.txt"]: b"three\n",
    }
    assert git.sizes([*ids.values(), "0" * 40]) == {ids["a.txt"]: 4, ids["d/e/ç ü.txt"]: 6}
    assert git.blob_at(head, "d/b.txt") == b"two\n"
    assert git.blob_at(head, "d") is None
    assert git.blob_at(head, "none") is None


def test_bytes_come_as_they_are(editor: Repository) -> None:
    data = bytes(range(256)) * 3 + b"\n\nmissing\n"
    head = editor.commit({"bin": data, "empty": b""})
    git = Git(editor.path)
    assert git.blob_at(head, "bin") == data
    assert git.blob_at(head, "empty") == b""


def test_links_and_executables_are_no_plain_files(editor: Repository) -> None:
    (editor.path / "link").symlink_to("a.txt")
    (editor.path / "a.txt").chmod(0o755)
    head = editor.commit({})
    for path in ("link", "a.txt"):
        with pytest.raises(InputProblem) as problem:
            Git(editor.path).blob_at(head, path)
        assert code_of(problem) == "not-a-plain-file"
        assert problem.value.where == f"{path}:1:1"


def test_missing_and_wrong_objects_stop(editor: Repository) -> None:
    git, head = Git(editor.path), editor.head()
    blob = git.blob_ids(head, ["a.txt"])["a.txt"]
    for call in (
        lambda: git.blobs(["1" * 40]),
        lambda: git.tree("1" * 40, ""),
        lambda: git.commit("1" * 40),
        lambda: git.is_ancestor("1" * 40, head),
        lambda: git.blobs([head]),
        lambda: git.tree("nowhere", ""),
    ):
        with pytest.raises(StoppedForSafety) as problem:
            call()
        assert code_of(problem) == "object-missing"
    loose = editor.path / ".git" / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o644)
    loose.write_bytes(b"")
    with pytest.raises(StoppedForSafety):
        git.blobs([blob])


def test_a_packed_object_that_is_not_what_its_id_says(tmp_path: Path) -> None:
    """Git reads a pack by its index without hashing again; an index that maps an id to other bytes must be noticed."""
    _, editor = gitrepos.started(tmp_path, {"a": "AAAA\n", "b": "BBBB\n"})
    git, head = Git(editor.path), editor.head()
    ids = git.blob_ids(head, ["a", "b"])
    editor.git("repack", "-a", "-d", "-q")
    index = next((editor.path / ".git" / "objects" / "pack").glob("*.idx"))
    data = bytearray(index.read_bytes())
    one, two = bytes.fromhex(ids["a"]), bytes.fromhex(ids["b"])
    # the index lists ids sorted, then checksums, then offsets: swap the two objects' offsets
    count = int.from_bytes(data[8 + 255 * 4 : 8 + 256 * 4])
    names = [bytes(data[8 + 1024 + 20 * n : 8 + 1024 + 20 * (n + 1)]) for n in range(count)]
    offsets = 8 + 1024 + 24 * count
    first, second = offsets + 4 * names.index(one), offsets + 4 * names.index(two)
    data[first : first + 4], data[second : second + 4] = data[second : second + 4], data[first : first + 4]
    index.chmod(0o644)
    index.write_bytes(bytes(data))
    with pytest.raises(StoppedForSafety) as problem:
        Git(editor.path).blobs([ids["a"]])
    assert code_of(problem) == "object-corrupt"


def test_paths_that_are_no_text_are_refused(editor: Repository) -> None:
    blob = editor.git("hash-object", "-w", "--stdin", stdin=b"x")
    tree = editor.git("mktree", "-z", stdin=b"100644 blob " + blob.encode() + b"\tcaf\xe9\0")
    broken = editor.git("mktree", "-z", stdin=b"100644 blob " + blob.encode() + b"\ta\nb\0")
    git = Git(editor.path)
    with pytest.raises(InputProblem) as problem:
        git.tree(tree, "")
    assert code_of(problem) == "path-not-utf8"
    assert [entry.path for entry in git.tree(broken, "")] == ["a\nb"]
    commit = editor.git("commit-tree", "-m", "x", broken)
    assert git.new_objects(commit, []) == ((blob, "a"),)  # git cuts the name there; the id is what counts


def test_commits(editor: Repository) -> None:
    first = editor.head()
    second = editor.commit({"a.txt": "more\n"}, "subject\n\nbody ünï\n\nPlan: x")
    git = Git(editor.path)
    info = git.commit(second)
    assert (info.oid, info.parents, info.author_name, info.author_email) == (second, (first,), "editor", "editor@example.org")
    assert info.message == "subject\n\nbody ünï\n\nPlan: x\n"
    assert info.committer_at == datetime.fromtimestamp(gitrepos.MOMENT + 2, UTC)
    assert info.tree == editor.head("HEAD^{tree}")
    assert [one.oid for one in git.commits([second], [])] == [second, first]
    assert [one.oid for one in git.commits([second], [first])] == [second]
    assert git.commits([second], [second]) == ()
    assert git.commits([], []) == ()
    assert git.is_ancestor(first, second)
    assert git.is_ancestor(first, first)
    assert not git.is_ancestor(second, first)


def test_first_parent_changes_names_the_merge_that_brought_a_change(editor: Repository) -> None:
    start = editor.head()
    editor.git("switch", "--quiet", "-c", "side")
    side = editor.commit({"p.yaml": "1\n"}, "on the side")
    editor.git("switch", "--quiet", "main")
    editor.commit({"a.txt": "else\n"})
    editor.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    merge = editor.head()
    other = editor.commit({"a.txt": "again\n"})
    git = Git(editor.path)
    assert git.first_parent_changes(other, "p.yaml") == (merge,)
    assert side not in git.first_parent_changes(other, "p.yaml", limit=9)
    later = editor.commit({"p.yaml": "2\n"})
    removed = editor.commit({"p.yaml": None})
    assert git.first_parent_changes(removed, "p.yaml", limit=9) == (removed, later, merge)
    assert git.first_parent_changes(removed, "p.yaml", limit=2) == (removed, later)
    assert git.first_parent_changes(removed, "d/b.txt") == (start,)
    assert git.first_parent_changes(removed, "none") == ()
    # a merge that keeps our side changed nothing against its first parent
    editor.git("switch", "--quiet", "-c", "side2", start)
    editor.commit({"d/b.txt": "theirs\n"})
    editor.git("switch", "--quiet", "main")
    editor.git("merge", "--quiet", "-s", "ours", "-m", "ours", "side2")
    assert git.first_parent_changes(editor.head(), "d/b.txt") == (start,)


def test_new_objects_are_files_only(editor: Repository) -> None:
    start = editor.head()
    editor.commit({"d/new.txt": "new\n", "d/e/deep.txt": "deep\n"})
    head = editor.commit({"d/new.txt": "newer\n"})
    git = Git(editor.path)
    found = git.new_objects(head, [start])
    texts = git.blobs([oid for oid, _ in found])
    assert sorted((path, texts[oid]) for oid, path in found) == [
        ("d/e/deep.txt", b"deep\n"), ("d/new.txt", b"new\n"), ("d/new.txt", b"newer\n"),
    ]  # fmt: skip
    assert git.new_objects(head, [head]) == ()
    assert len(git.new_objects(head, [])) == 7


def test_tracking(editor: Repository) -> None:
    git, head = Git(editor.path), editor.head()
    editor.git("update-ref", "refs/remotes/origin/state", head)
    assert git.tracking(["refs/remotes/origin/"]) == {"refs/remotes/origin/main": head, "refs/remotes/origin/state": head}
    assert git.tracking(["refs/remotes/origin/main"]) == {"refs/remotes/origin/main": head}
    assert git.tracking(["refs/none/"]) == {}


def test_a_linked_working_tree(editor: Repository, tmp_path: Path) -> None:
    editor.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "other")
    git = Git.find(tmp_path / "linked")
    assert git.resolve("HEAD") == editor.head()
    git.require_trustworthy()
    (editor.path / ".git" / "shallow").write_text(editor.head() + "\n")
    with pytest.raises(StoppedForSafety):
        git.require_trustworthy()


def every_reading(git: Git, head: str, first: str) -> None:
    git.require_trustworthy()
    blob = git.blob_ids(head, ["a.txt"])["a.txt"]
    git.resolve("main")
    git.tracking(["refs/"])
    git.tree(head, "")
    git.blobs([blob])
    git.blob_at(head, "a.txt")
    git.sizes([blob])
    git.is_ancestor(first, head)
    git.commit(head)
    git.commits([head], [first])
    git.first_parent_changes(head, "a.txt")
    git.new_objects(head, [first])
    git.commit_signer(head, "")
    git.local_setting("core.bare")
    git.remote_refs("origin", ["refs/heads/*"])


def test_reading_changes_nothing_and_needs_no_right_to_write(editor: Repository) -> None:
    first = editor.head()
    head = editor.commit({"a.txt": "2\n"})
    editor.write({"a.txt": "3\n"})
    before = gitrepos.snapshot(editor.path)
    every_reading(Git(editor.path), head, first)
    assert gitrepos.snapshot(editor.path) == before
    folders = [editor.path, *(path for path in editor.path.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        every_reading(Git(editor.path), head, first)
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_a_private_object_directory_takes_what_is_fetched(tmp_path: Path) -> None:
    remote, editor = gitrepos.started(tmp_path)
    other = gitrepos.clone(remote, tmp_path / "other", "other")
    head = other.commit({"new.txt": "new\n"})
    other.push()
    private = tmp_path / "odd:name" / "objects"
    private.mkdir(parents=True)
    before = gitrepos.snapshot(editor.path)
    git = Git(editor.path, objects=private)
    git.fetch("origin", [head])
    assert git.blob_at(head, "new.txt") == b"new\n"
    assert git.blob_at(head, "README.md") == b"hello\n"  # from the clone itself
    assert gitrepos.snapshot(editor.path) == before
    assert Git(editor.path).resolve(head) == ""


@pytest.mark.parametrize("spoil", ["shallow", "graft", "replace", "alternate", "partial"])
def test_a_clone_that_lies_about_history_is_refused(tmp_path: Path, spoil: str) -> None:
    remote, editor = gitrepos.started(tmp_path)
    first, second = editor.head(), editor.commit({"a.txt": "2\n"})
    editor.push()
    expected = {
        "shallow": "shallow-history", "graft": "grafted-history", "replace": "replaced-objects",
        "alternate": "alternate-objects", "partial": "partial-clone",
    }[spoil]  # fmt: skip
    victim = editor
    if spoil == "shallow":
        victim = gitrepos.clone(remote, tmp_path / "v", options=["--depth=1", "--no-local"])
    elif spoil == "graft":
        (editor.path / ".git" / "info").mkdir(exist_ok=True)
        (editor.path / ".git" / "info" / "grafts").write_text(f"{second}\n")
    elif spoil == "replace":
        editor.git("replace", second, first)
        assert Git(editor.path).commit(second).parents == (first,)  # and it is not looked through
    elif spoil == "alternate":
        victim = gitrepos.clone(remote, tmp_path / "v", options=["--shared"])
    else:
        editor.setting("remote.origin.promisor", "true")
    with pytest.raises(StoppedForSafety) as problem:
        Git(victim.path).require_trustworthy()
    assert code_of(problem) == expected
    assert problem.value.next


def test_a_full_clone_is_trusted(editor: Repository) -> None:
    Git(editor.path).require_trustworthy()


def test_a_repository_of_another_user(editor: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 54321)
    config = tmp_path / "config"
    config.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    with pytest.raises(StoppedForSafety) as problem:
        Git(editor.path).require_trustworthy()
    assert code_of(problem) == "foreign-owner"
    config.write_text(f"[safe]\n\tdirectory = {editor.path}\n")
    Git(editor.path).require_trustworthy()
