"""``publisher new``: fresh ids, safe slugs, nothing overwritten, nothing private printed."""

from __future__ import annotations

import os
import stat

import pytest

from publisher.cli.new import slug_of
from publisher.errors import UsageProblem
from publisher.gitstore import working_tree
from tests.support.command_line import publisher
from tests.support.instance_folder import PUBLISHER_YAML, draft, handbook, snapshot, write


@pytest.fixture
def root(tmp_path):
    return handbook(tmp_path / "instance")


def test_a_draft_with_the_next_id_and_only_its_path_printed(root):
    said = publisher("new", "A secret matter", "--summary", "What it is.", at=root)
    assert (said.code, said.out) == (0, "drafts/handbook/a-secret-matter/index.md\n")
    assert "A secret matter" not in said.err
    text = (root / "drafts/handbook/a-secret-matter/index.md").read_text()
    assert text == '---\nid: a-0005\ntitle: "A secret matter"\nsummary: "What it is."\ncategory: guide\ntags: []\n---\n'
    found = working_tree.read_draft(root, "drafts/handbook/a-secret-matter")
    assert (found.id, found.title.reveal(), found.tags) == ("a-0005", "A secret matter", ())


def test_words_need_no_quotes_and_the_path_is_relative_to_where_one_is(root):
    said = publisher("new", "Another", "secret", "matter", at=root / "drafts")
    assert said.out == "handbook/another-secret-matter/index.md\n"


def test_quotes_backslashes_and_other_letters_survive(root):
    title = 'Say "no" \\ # Grüße: – 中'
    said = publisher("new", title, "--slug", "say-no", "--summary", "x", at=root)
    assert said.code == 0
    assert working_tree.read_draft(root, "drafts/handbook/say-no").title.reveal() == title


def test_without_a_summary_the_draft_cannot_be_queued_yet(root):
    publisher("new", "Unfinished", at=root)
    said = publisher("queue", "add", "drafts/handbook/unfinished", at=root)
    assert (said.code, said.out) == (3, "")
    assert "drafts/handbook/unfinished/index.md:4:" in said.err


@pytest.mark.parametrize(
    "files",
    [
        {"drafts/other/x/index.md": draft("a-0041")},
        {"drafts/handbook/x/index.md": "---\nid: A-0041\nnot yaml: [\n---\n"},
        {"plans/other/daily/2026/2026-12-01.yaml": "articles:\n  - {id: a-0041, source: drafts/other/x}\n"},
        {"ledger/handbook/daily/2026/2026-12-01.jsonl": '{"n":1,"puts":[{"id":"a-0041"}]}\n'},
        {"ledger/handbook/baseline/1.jsonl": '{"n":1,"hides":["a-0041"]}\n'},
        {"site-src/handbook/articles/a-0041/index.md": '---\nid: "a-0041"\n---\n'},
        {"plans/handbook/queue.yaml": "articles:\n  - {id: a-0041, source: drafts/handbook/gone}\n"},
    ],
)
def test_an_id_that_is_known_anywhere_is_never_given_again(root, files):
    write(root, files)
    assert publisher("new", "Next", "--json", at=root).data["id"] == "a-0042"


def test_what_only_looks_like_an_id_does_not_count(root):
    write(root, {
        "drafts/handbook/a-2026/index.md": draft("a-0005", body="See a-9999 and a-8888.\n"),
        "plans/handbook/daily/x.yaml": "source: drafts/handbook/a-2026\nurl: /a-2026/\nkey: aa-7777\n",
    })  # fmt: skip
    assert publisher("new", "Next", "--json", at=root).data["id"] == "a-0006"


def test_a_slug_that_exists_is_refused_and_untouched(root):
    before = snapshot(root)
    said = publisher("new", "First", at=root)
    assert (said.code, said.out) == (2, "")
    assert "drafts/handbook/first exists already" in said.err and "[slug-taken]" in said.err
    assert snapshot(root) == before


def test_an_empty_folder_of_that_name_is_taken_too(root):
    (root / "drafts/handbook/empty").mkdir()
    assert publisher("new", "Empty", at=root).code == 2


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Größe & Maß: two!", "grosse-mass-two"),
        ("Ørsted’s café", "orsteds-cafe"),
        ("  C3PO -- 2026  ", "c3po-2026"),
        ("word " * 30, "word-word-word-word-word-word-word-word-word-word-word-word"),
        ("x" * 100, "x" * 60),
    ],
)
def test_slugs(title, slug):
    assert slug_of(title) == slug


@pytest.mark.parametrize(
    ("title", "code"),
    [("第一步", "slug-needed"), ("Первый", "slug-needed"), ("!!!", "bad-slug"), ("con", "bad-slug"), ("Archive", "bad-slug")],
)
def test_titles_that_make_no_slug(title, code):
    with pytest.raises(UsageProblem) as refused:
        slug_of(title)
    assert refused.value.code == code
    assert title not in str(refused.value)


@pytest.mark.parametrize("slug", ["../x", "A", "a/b", "", "-x", "x" * 65, "feed", "com1", "über"])
def test_slugs_that_are_refused(root, slug):
    before = snapshot(root)
    assert publisher("new", "Fine", "--slug", slug, at=root).code == 2
    assert snapshot(root) == before


@pytest.mark.parametrize("title", ["", "  ", "two\nlines", "bell\x07", "hid\u200bden", "\udc80", "x" * 201])
def test_titles_that_are_refused_without_being_repeated(root, title):
    before = snapshot(root)
    said = publisher("new", "--slug", "fine", title, at=root)
    assert (said.code, said.out) == (2, "")
    assert snapshot(root) == before
    assert not title.strip() or title not in said.err


def test_the_category_comes_from_the_policy_or_is_note(root):
    publisher("new", "One", at=root)
    assert "category: guide\n" in (root / "drafts/handbook/one/index.md").read_text()
    (root / "plans/handbook/policy.yaml").unlink()
    publisher("new", "Two", at=root)
    assert "category: note\n" in (root / "drafts/handbook/two/index.md").read_text()


def test_a_category_without_a_share_is_noted(root):
    said = publisher("new", "One", "--category", "essay", at=root)
    assert said.code == 0 and "essay has no share" in said.err
    assert publisher("--quiet", "new", "Two", "--category", "essay", at=root).err == ""
    assert publisher("new", "Three", "--category", "Es say", at=root).code == 2


def test_which_site(root):
    two = PUBLISHER_YAML + PUBLISHER_YAML[PUBLISHER_YAML.index("  handbook:") :].replace("handbook", "journal")
    write(root, {"publisher.yaml": two})
    said = publisher("new", "One", at=root)
    assert said.code == 2 and "handbook, journal" in said.err and "--site handbook" in said.err
    said = publisher("new", "One", "--site", "jurnal", at=root)
    assert said.code == 2 and "did you mean journal?" in said.err
    assert publisher("new", "One", "--site", "journal", at=root).out == "drafts/journal/one/index.md\n"


def test_drafts_in_another_repository_begin_there(root):
    write(root, {"publisher.yaml": PUBLISHER_YAML.replace("sites:", "drafts: {repository: ../private}\nsites:")})
    said = publisher("new", "One", at=root)
    assert said.code == 2 and "[drafts-elsewhere]" in said.err


def test_outside_an_instance(tmp_path):
    said = publisher("new", "One", at=tmp_path)
    assert said.code == 3 and "next: publisher init" in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_broken_publisher_yaml_is_named_with_its_line(root):
    write(root, {"publisher.yaml": PUBLISHER_YAML.replace("forge: git", "forge: svn")})
    said = publisher("new", "One", at=root)
    assert said.code == 3 and said.err.startswith("publisher: publisher.yaml:3:")


def test_the_file_has_the_usual_mode_and_nothing_is_left_beside_it(root):
    publisher("new", "One", at=root)
    folder = root / "drafts/handbook/one"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((folder / "index.md").stat().st_mode) == 0o666 & ~mask
    assert [path.name for path in folder.iterdir()] == ["index.md"]


def test_the_ledger_of_another_state_branch_counts(root):
    from tests.support.gitrepos import Repository

    repository = Repository(root)
    repository.git("init", "--quiet", "--initial-branch=main")
    repository.commit({})
    repository.git("checkout", "--quiet", "--orphan", "publisher-state")
    repository.git("rm", "-r", "--quiet", "--cached", ".")
    write(root, {"ledger/handbook/baseline/1.jsonl": '{"id":"a-0077"}\n'})
    repository.git("add", "ledger")
    repository.git("commit", "--quiet", "-m", "state")
    repository.git("checkout", "--quiet", "--force", "main")
    assert not (root / "ledger").exists()
    assert publisher("new", "One", "--json", at=root).data["id"] == "a-0005"
    write(root, {"publisher.yaml": PUBLISHER_YAML.replace("state: main", "state: publisher-state")})
    assert publisher("new", "Two", "--json", at=root).data["id"] == "a-0078"
