"""Content: parsing, names, and the shapes that repositories take."""

from __future__ import annotations

from pathlib import Path

import pytest

from publisher.errors import InputProblem
from publisher.gitstore.drafts import draft_sources, read_draft
from publisher.gitstore.gateway import Git
from publisher.gitstore.instance_files import policy_of
from publisher.gitstore.strict_yaml import load
from publisher.sitebuilder.markdown_events import references
from tests.field import stories
from tests.field.stories import FIRST
from tests.support.gitrepos import Repository, clone, started
from tests.support.instance import source
from tests.support.scene import Scene
from tests.support.sitebuilding import article, build

SOURCE = "drafts/blog/one"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 4096\n"
POLICY = """\
version: 1
quantity: 2
start: "2026-01-01"
zone: Asia/Hong_Kong
publish_time: {}
shares: {{guide: 1}}
horizon_days: 14
"""


@pytest.fixture
def editor(tmp_path: Path) -> Repository:
    return started(tmp_path)[1]


def text(head: str, body: str = "Some text.\n") -> str:
    return f"---\n{head}---\n{body}"


def head_of(**changes: str) -> str:
    fields = {"id": "a-1", "title": '"A title"', "summary": '"In short"', "category": "guide", **changes}
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def refusal(editor: Repository, files: dict[str, bytes | str | None], place: str = SOURCE) -> tuple[str, str]:
    commit = editor.commit(files)
    with pytest.raises(InputProblem) as problem:
        read_draft(Git(editor.path), commit, place, references)
    return problem.value.code, problem.value.where


def test_X_01_repeated_key_and_empty_metadata(editor: Repository) -> None:
    """A mark that is set and taken back, a fence without anything in it: refused with the line."""
    twice = text(head_of(draft="true") + "draft: false\n")
    assert refusal(editor, {f"{SOURCE}/index.md": twice}) == ("yaml-repeated-key", f"{SOURCE}/index.md:7:1")
    code, where = refusal(editor, {f"{SOURCE}/index.md": text("")})
    assert (code, where.split(":")[0]) == ("yaml-empty", f"{SOURCE}/index.md")


@pytest.mark.parametrize("name", ["0123", "0089", "123456789012", "0o17", "0x1f"])
def test_X_04_number_in_place_of_an_id(editor: Repository, name: str) -> None:
    """Never another number than the one written: its own letters are the id, or, where YAML has a number, it is refused."""
    if name == "123456789012":
        assert refusal(editor, {f"{SOURCE}/index.md": text(head_of(id=name))}) == ("schema-type", f"{SOURCE}/index.md:2:5")
        name = f'"{name}"'
    commit = editor.commit({f"{SOURCE}/index.md": text(head_of(id=name))})
    assert read_draft(Git(editor.path), commit, SOURCE, references).id == name.strip('"')


@pytest.mark.parametrize("time", ["19:30", "9:00", "09:00", "7:5"])
def test_X_05_time_of_day_in_base_sixty(time: str) -> None:
    """Never a number: a time is written HH:MM, and a spelling that YAML 1.1 takes for a number is refused or read as text."""
    spelt = len(time) == 5
    for written in (time, f'"{time}"'):
        if spelt:
            assert policy_of(POLICY.format(written).encode(), "plans/blog/policy.yaml").publish_time == time
        else:
            with pytest.raises(InputProblem) as problem:
                policy_of(POLICY.format(written).encode(), "plans/blog/policy.yaml")
            assert problem.value.where == "plans/blog/policy.yaml:5:15"


def test_X_07_byte_order_mark(editor: Repository) -> None:
    """Before the fence, in the text, or as UTF-16: each refused at its line, and never read as "no metadata"."""
    plain = text(head_of())
    for data, code, line in (
        ("\ufeff" + plain, "draft-characters", 1),
        (text(head_of(), "One\nt\ufeffwo\n"), "draft-characters", 8),
        (plain.encode("utf-16"), "draft-not-utf8", 1),
    ):
        assert refusal(editor, {f"{SOURCE}/index.md": data}) == (code, f"{SOURCE}/index.md:{line}:1")
    with pytest.raises(InputProblem) as problem:
        load(b"\xef\xbb\xbf" + POLICY.format('"09:00"').encode(), "plans/blog/policy.yaml")
    assert problem.value.code == "yaml-byte-order-mark"


def test_X_08_name_in_two_spellings(editor: Repository, new: Scene) -> None:
    """Names are plain letters, so there is one spelling; what a queue names and nobody wrote stops before any claim."""
    for name in ("cr\u00e8me-br\u00fbl\u00e9e", "cre\u0300me-bru\u0302le\u0301e"):
        place = f"drafts/blog/{name}"
        assert refusal(editor, {f"{place}/index.md": text(head_of())}, place)[0] == "draft-name"
    queue = new.text("plans/blog/queue.yaml").replace("drafts/blog/article-0001}", "drafts/blog/creme}")
    new.edit({"plans/blog/queue.yaml": queue})
    assert "[draft-missing]" in new.do("planner", "plan", now="12-01 08:00", check=3).err
    assert not [name for name in new.refs() if "requests" in name]


def test_X_10_fewer_files_than_articles(tmp_path: Path) -> None:
    """Two articles with one address are refused; otherwise each has its page, and the counts are equal."""
    release, _ = build(tmp_path, article(1), article(2), article(3))
    assert [f"bed-{number}/index.html" in release.files for number in (1, 2, 3)] == [True, True, True]
    with pytest.raises(InputProblem) as problem:
        build(tmp_path, article(1), article(2), article(3, slug="bed-2"))
    assert problem.value.code == "two-outputs"


def test_X_11_paths_that_differ_in_case(tmp_path: Path, editor: Repository) -> None:
    with pytest.raises(InputProblem) as problem:
        build(tmp_path, article(1), static={"img/Cover.png": b"one", "img/cover.png": b"two"})
    assert problem.value.code == "two-outputs"
    commit = editor.commit({f"{SOURCE}/index.md": text(head_of()), f"{SOURCE}/Cover.png": b"1", f"{SOURCE}/cover.png": b"2"})
    with pytest.raises(InputProblem) as twins:
        draft_sources(Git(editor.path), commit, "blog")
    assert twins.value.code == "names-collide"


def test_X_13_draft_mark_of_a_section(new: Scene) -> None:
    """Texts below a text that is marked as a draft: none is planned, so none is anywhere in the release, its feeds or maps."""
    above = "drafts/blog/section"
    new.edit(
        {
            f"{above}/index.md": text(head_of(id="s-0", draft="true"), "marker-section\n"),
            f"{above}/child/index.md": text(head_of(id="s-1"), "marker-child-one\n"),
            "drafts/blog/section-child/index.md": text(head_of(id="s-2"), "marker-child-two\n"),
        }
    )
    new.approve(new.plan("12-01 08:00"), "12-01 08:05")
    new.run("12-01 09:01")
    assert new.articles() == ["a-0001", "a-0002"]
    for word in (b"marker-section", b"marker-child", b"/section", b"s-1", b"s-2"):
        assert word not in new.everything_public


@pytest.mark.parametrize("verb", [("run",), ("status", "--fresh"), ("audit",), ("doctor",)], ids=lambda verb: verb[0])
def test_X_14_shallow_clone(approved: Scene, verb: tuple[str, ...]) -> None:
    """History is asked, and a part of it would give another answer: refused, with the command that brings the rest."""
    folder = approved.instance.folder / "shallow"
    if not folder.exists():
        remote = Repository(approved.instance.remote.path, "remote")
        clone(remote, folder, "ci", ["--depth", "1", "--no-local"])
    done = approved.do("shallow", *verb, now="12-01 09:01", check=None)
    assert done.code in (3, 7), done.text
    assert "[shallow-history]" in done.text
    assert "--unshallow" in done.text
    assert approved.live == {}


def test_X_16_pointer_in_place_of_the_file(editor: Repository, new: Scene) -> None:
    """A Git LFS pointer beside a draft, among the static files or in the theme is refused before anything is built of it."""
    files: dict[str, bytes | str | None] = {
        f"{SOURCE}/index.md": text(head_of(), "![x](cover.png)\n"),
        f"{SOURCE}/cover.png": POINTER,
    }
    assert refusal(editor, files) == ("draft-lfs-pointer", f"{SOURCE}/cover.png:1:1")
    new.edit({"site-src/blog/static/cover.png": POINTER})
    new.approve(new.plan("12-01 08:00"), "12-01 08:05")
    done = new.run("12-01 09:01", check=3)
    assert done.code_of(FIRST) == "lfs-pointer"
    assert done.plan(FIRST)["problem"]["where"] == "site-src/blog/static/cover.png:1:1"
    assert new.live == {}


def test_X_17_submodule_in_content_or_output(editor: Repository, tmp_path: Path) -> None:
    """An entry of another repository beside a draft, and a folder ``.git`` in what would be published."""
    commit = editor.commit({f"{SOURCE}/index.md": text(head_of(), "![x](cover.png)\n")})
    editor.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{SOURCE}/cover.png")
    editor.git("commit", "--quiet", "-m", "a submodule")
    with pytest.raises(InputProblem) as problem:
        read_draft(Git(editor.path), editor.head(), SOURCE, references)
    assert problem.value.code == "draft-submodule"
    for path in ("book/.git/config", ".git", "book/.GIT/HEAD"):
        with pytest.raises(InputProblem) as refused:
            build(tmp_path, article(1), static={path: b"x"})
        assert refused.value.code == "bad-output-path"


def test_X_19_digest_over_a_converted_checkout(approved: Scene, stage: Scene) -> None:
    """A clone that converts line ends publishes the same bytes, since no file of it is ever read."""
    made = approved.instance.fresh_clone("windows")
    made.setting("core.autocrlf", "true")
    made.git("rm", "--cached", "-rq", ".")
    made.git("reset", "--hard", "-q")
    assert b"\r\n" in (made.path / f"{source(2)}/index.md").read_bytes()
    approved.run("12-01 09:01", who="windows")
    converted = approved.live
    assert converted == stories.public(stage).live
