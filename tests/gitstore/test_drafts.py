"""Drafts out of git objects: strict front matter, plain files only, nothing quoted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from publisher.domain.article import Draft
from publisher.errors import InputProblem
from publisher.gitstore import drafts
from publisher.gitstore.drafts import collisions, draft_sources, read_draft
from publisher.gitstore.gateway import Git
from tests.support import gitrepos
from tests.support.gitrepos import Repository

SOURCE = "drafts/handbook/fences"
WHERE = f"{SOURCE}/index.md"
HEAD = 'id: a-0007\ntitle: "SENTINEL title"\nsummary: SENTINEL summary.\ncategory: guide\ntags: [fence, lease]\n'
BODY = "\nSENTINEL text\n\n![x](fence.png)\n\n---\n\nmore\n"


@pytest.fixture
def editor(tmp_path: Path) -> Repository:
    return gitrepos.started(tmp_path)[1]


def references(body: str) -> tuple[str, ...]:
    """Like the builder's: the names in ``![](…)``; a line ``REFUSE`` is refused at its line."""
    for number, line in enumerate(body.split("\n"), start=1):
        if line == "REFUSE":
            raise InputProblem("scheme-refused", "a link uses http, https or mailto", where=f"index.md:{number}:1")
    return tuple(sorted(set(re.findall(r"!\[[^\]]*\]\(([^)]*)\)", body))))


def source(head: str = HEAD, body: str = BODY) -> str:
    return f"---\n{head}---\n{body}"


def read(editor: Repository, text: str | bytes = "", files: dict[str, bytes | str | None] | None = None) -> Draft:
    beside: dict[str, bytes | str | None] = {"fence.png": b"PNG"} if files is None else files
    commit = editor.commit({WHERE: text or source(), **{f"{SOURCE}/{name}": data for name, data in beside.items()}})
    return read_draft(Git(editor.path), commit, SOURCE, references)


def refusal(editor: Repository, text: str | bytes = "", files: dict[str, bytes | str | None] | None = None) -> tuple[str, str]:
    with pytest.raises(InputProblem) as problem:
        read(editor, text, files)
    assert "SENTINEL" not in str(problem.value) + repr(problem.value.as_data())
    return problem.value.code, problem.value.where.removeprefix(SOURCE + "/")


def test_a_draft(editor: Repository) -> None:
    found = read(editor, files={"fence.png": b"PNG", "unused.png": b"x", "notes.txt": "SENTINEL"})
    assert (found.id, found.slug, found.source, found.category, found.tags) == (
        "a-0007",
        "fences",
        SOURCE,
        "guide",
        ("fence", "lease"),
    )
    assert (found.title.reveal(), found.summary.reveal(), found.body.reveal()) == ("SENTINEL title", "SENTINEL summary.", BODY)
    assert dict(found.files) == {"index.md": source().encode(), "fence.png": b"PNG"}
    assert not found.draft_mark
    assert "SENTINEL" not in repr(found)


def test_the_commit_decides_and_not_the_working_tree(editor: Repository) -> None:
    read(editor)
    commit = editor.head()
    editor.write({WHERE: source(HEAD.replace("a-0007", "a-0008"))})
    assert read_draft(Git(editor.path), commit, SOURCE, references).id == "a-0007"


def test_marks(editor: Repository) -> None:
    assert read(editor, source(HEAD + "draft: true\n")).draft_mark
    assert read(editor, source(HEAD + f"salt: {'0f' * 16}\n")).salt == "0f" * 16


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("SENTINEL\n" + source(), "front-matter-missing", "index.md:1:1"),
        (" ---\n" + HEAD + "---\n", "front-matter-missing", "index.md:1:1"),
        ("--- \n" + HEAD + "---\n", "front-matter-missing", "index.md:1:1"),
        ("---\n" + HEAD + "----\n", "front-matter-open", "index.md:1:1"),
        ("---\n---\nx\n", "yaml-empty", "index.md:2:1"),
        (source().replace("\n", "\r\n"), "draft-line-ends", "index.md:1:1"),
        (source(body="SENTINEL\x1b[0m\n"), "draft-characters", "index.md:8:1"),
        (source(body="SENTINEL\ufeff\n"), "draft-characters", "index.md:8:1"),
        (b"\xef\xbb\xbf" + source().encode(), "draft-characters", "index.md:1:1"),
        (source().encode() + b"\xff SENTINEL", "draft-not-utf8", "index.md:16:1"),
        (source().encode("utf-16"), "draft-not-utf8", "index.md:1:1"),
        (source(HEAD + "SENTINEL: x\n"), "schema-additional-properties", "index.md:7:1"),
        (source(HEAD + "title: SENTINEL\n"), "yaml-repeated-key", "index.md:7:1"),
        (source(HEAD + "x: [SENTINEL\n"), "yaml-syntax", None),
        (source(HEAD + "published: false\n"), "schema-additional-properties", "index.md:7:1"),
        (source(HEAD + "draft: 'no'\n"), "schema-type", "index.md:7:8"),
        (source(HEAD.replace('"SENTINEL title"', '"SENTINEL\\ntitle"')), "schema-pattern", "index.md:3:8"),
        (source(HEAD.replace('"SENTINEL title"', '"SENTINEL\\u202e"')), "yaml-hidden-character", "index.md:3:8"),
        (source(HEAD.replace('"SENTINEL title"', "2026")), "schema-type", "index.md:3:8"),
        (source(HEAD.replace("a-0007", "../x")), "schema-pattern", "index.md:2:5"),
        (source(HEAD.replace("a-0007", "con")), "draft-name", "index.md:2:5"),
        (source(HEAD.replace("category: guide\n", "")), "schema-required", "index.md:2:1"),
        (source(body="a\nREFUSE\n"), "scheme-refused", "index.md:9:1"),
        (source(body="a\n\n![](none.png)\n"), "draft-file-missing", "index.md:10:1"),
        (source(body="a\n![](../other/x.png)\n"), "draft-reference", "index.md:9:1"),
        (source(body="![](index.md)\n"), "draft-reference", "index.md:8:1"),
        (source(body="![](X.PNG)\n"), "draft-reference", "index.md:8:1"),
        (source(HEAD + "#" * 70_000 + "\n"), "yaml-too-big", "index.md:2:1"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "draft-lfs-pointer", "index.md:1:1"),
    ],
)
def test_refusals(editor: Repository, text: str | bytes, code: str, where: str | None) -> None:
    found = refusal(editor, text)
    assert found[0] == code
    if where:
        assert found[1] == where


def test_files_that_are_no_plain_files(editor: Repository) -> None:
    assert refusal(editor, files={"fence.png": "version https://git-lfs.github.com/spec/v1\n"}) == (
        "draft-lfs-pointer",
        "fence.png:1:1",
    )
    picture = editor.path / SOURCE / "fence.png"
    picture.write_bytes(b"PNG")
    picture.chmod(0o755)
    assert refusal(editor, files={}) == ("draft-executable", "fence.png:1:1")
    picture.unlink()
    picture.symlink_to("/etc/passwd")
    assert refusal(editor, files={}) == ("draft-symlink", "fence.png:1:1")
    picture.unlink()
    assert refusal(editor, files={"fence.png/x": "x"}) == ("draft-folder", "fence.png:1:1")
    start = editor.head()
    editor.git("update-index", "--add", "--cacheinfo", f"160000,{start},{SOURCE}/sub.png")
    editor.git("commit", "--quiet", "-m", "submodule")
    with pytest.raises(InputProblem) as problem:
        read_draft(Git(editor.path), editor.head(), SOURCE, lambda _: ("sub.png",))
    assert problem.value.code == "draft-submodule"


def test_a_text_that_is_a_link(editor: Repository) -> None:
    (editor.path / SOURCE).mkdir(parents=True)
    (editor.path / WHERE).symlink_to("../../../README.md")
    commit = editor.commit({})
    with pytest.raises(InputProblem) as problem:
        read_draft(Git(editor.path), commit, SOURCE, references)
    assert problem.value.code == "draft-symlink"


def test_sizes_are_known_before_anything_is_read(editor: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "LARGEST_FILE", 1024 * 1024)
    read_blobs: list[str] = []
    kept = Git.blobs
    monkeypatch.setattr(Git, "blobs", lambda self, oids: kept(self, [oid for oid in oids if read_blobs.append(oid) is None]))
    assert refusal(editor, files={"fence.png": b"x" * (1024 * 1024 + 1)}) == ("draft-too-big", "fence.png:1:1")
    big = editor.git("rev-parse", f"HEAD:{SOURCE}/fence.png")
    assert read_blobs and big not in read_blobs
    assert refusal(editor, source(body="x" * (1024 * 1024)), files={"fence.png": b"x"}) == ("draft-too-big", "index.md:1:1")
    assert read(editor, files={"fence.png": b"x" * (1024 * 1024)}).files["fence.png"]


@pytest.mark.parametrize(
    "name",
    [
        "drafts/h",
        "drafts/h/x/y",
        "/drafts/h/x",
        "drafts/../x",
        "drafts/h/-x",
        "drafts/h/CON",
        "drafts/h/con",
        "drafts/h/x\n",
        "draft/h/x",
        "drafts/h/%2e",
    ],
)
def test_sources_elsewhere(editor: Repository, name: str) -> None:
    with pytest.raises(InputProblem) as problem:
        read_draft(Git(editor.path), editor.head(), name, references)
    assert problem.value.code in ("draft-place", "draft-name")
    assert "\n" not in problem.value.where


def test_a_draft_that_is_not_there(editor: Repository) -> None:
    with pytest.raises(InputProblem) as problem:
        read_draft(Git(editor.path), editor.head(), SOURCE, references)
    assert (problem.value.code, problem.value.where) == ("draft-missing", f"{WHERE}:1:1")


def test_sources(editor: Repository) -> None:
    commit = editor.commit(
        {
            "drafts/h/b/index.md": "x", "drafts/h/a/index.md": "x", "drafts/h/none/x.png": "x", "drafts/h/index.md": "x",
            "drafts/h/a/b/index.md": "x", "drafts/other/c/index.md": "x",
        }
    )  # fmt: skip
    assert draft_sources(Git(editor.path), commit, "h") == ("drafts/h/a", "drafts/h/b")
    assert draft_sources(Git(editor.path), commit, "nobody") == ()
    with pytest.raises(InputProblem):
        draft_sources(Git(editor.path), commit, "../h")


def test_names_that_some_systems_take_for_one(editor: Repository) -> None:
    assert collisions(["a/x", "a/y", "b/x"]) == ()
    assert collisions(["a/Post.md", "a/post.md"]) == (("a/Post.md", "a/post.md"),)
    assert collisions(["A/x", "a/y"]) == (("A", "a"),)
    assert collisions(["caf\u00e9", "cafe\u0301"]) == (("cafe\u0301", "caf\u00e9"),)
    assert collisions(["stra\u00dfe", "STRASSE"]) == (("STRASSE", "stra\u00dfe"),)
    assert collisions(["\ufb01x", "fix"]) == (("fix", "\ufb01x"),)
    commit = editor.commit({"drafts/h/a/index.md": "x", "drafts/h/A/index.md": "y"})
    with pytest.raises(InputProblem) as problem:
        draft_sources(Git(editor.path), commit, "h")
    assert problem.value.code == "names-collide"
