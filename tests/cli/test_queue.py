"""``publisher queue``: the order is edited, the file's comments and spelling stay."""

from __future__ import annotations

import random

import pytest

from publisher.gitstore import queue_file
from tests.support.command_line import publisher
from tests.support.instance_folder import DRAFTS, PUBLISHER_YAML, QUEUE, draft, handbook, snapshot, write

PATH = "plans/handbook/queue.yaml"


@pytest.fixture
def root(tmp_path):
    return handbook(tmp_path / "instance")


def queue_text(root):
    return (root / PATH).read_text(encoding="utf-8")


def ids(root):
    return [entry.id for entry in queue_file.read(root, "handbook")]


# --- list -------------------------------------------------------------------------------------------------------------------


def test_list_shows_order_category_hold_and_draft(root):
    write(root, {"drafts/handbook/second/index.md": draft("a-0002", more="draft: true\n"),
                 "drafts/handbook/third/index.md": draft("a-0099"),
                 "drafts/handbook/fourth/index.md": "---\nid: a-0004\ntitle: [secret\n---\n"})  # fmt: skip
    said = publisher("queue", "list", at=root)
    assert (said.code, said.err) == (0, "")
    assert said.out == (
        "#  ID      SOURCE                  CATEGORY  HELD  DRAFT\n"
        "1  a-0001  drafts/handbook/first   guide           ready\n"
        "2  a-0002  drafts/handbook/second  note            marked draft\n"
        "3  a-0003  drafts/handbook/third   note      held  has id a-0099\n"
        "4  a-0004  drafts/handbook/fourth                  unreadable at drafts/handbook/fourth/index.md:4:1\n"
    )


def test_list_as_json(root):
    (root / "drafts/handbook/first/index.md").unlink()
    data = publisher("queue", "list", "--json", at=root).data
    assert (data["schema"], data["site"], len(data["articles"])) == ("publisher.queue/1", "handbook", 4)
    assert data["articles"][0] == {
        "position": 1, "id": "a-0001", "source": "drafts/handbook/first", "category": "", "held": False, "draft": "missing",
    }  # fmt: skip


def test_list_of_a_site_without_a_queue(root):
    (root / PATH).unlink()
    said = publisher("queue", "list", at=root)
    assert said.code == 0 and len(said.out.splitlines()) == 1 and "empty" in said.err


def test_list_where_drafts_live_elsewhere(root):
    write(root, {"publisher.yaml": PUBLISHER_YAML.replace("sites:", "drafts: {repository: ../private}\nsites:")})
    assert {row["draft"] for row in publisher("queue", "list", "--json", at=root).data["articles"]} == {"elsewhere"}


def test_list_writes_nothing(root):
    before = snapshot(root)
    publisher("queue", "list", at=root)
    assert snapshot(root) == before


# --- add --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "named",
    [
        "drafts/handbook/fifth",
        "drafts/handbook/fifth/",
        "drafts/handbook/fifth/index.md",
        "a-0005",
        "./drafts/x/../handbook/fifth",
    ],
)
def test_add_at_the_end_by_folder_file_or_id(root, named):
    write(root, {"drafts/handbook/fifth/index.md": draft("a-0005")})
    said = publisher("queue", "add", named, at=root)
    assert (said.code, said.out) == (0, "a-0005  5 of 5\n")
    line = "  - {id: a-0005, source: drafts/handbook/fifth}\n"
    assert queue_text(root) == QUEUE.replace("# the end\n", line + "# the end\n")


def test_add_from_another_directory(root):
    write(root, {"drafts/handbook/fifth/index.md": draft("a-0005")})
    assert publisher("queue", "add", "../fifth", at=root / "drafts/handbook/first").code == 0
    write(root, {"drafts/handbook/sixth/index.md": draft("a-0006")})
    assert publisher("queue", "add", "./sixth/index.md", at=root / "drafts/handbook").code == 0


def test_add_before_another(root):
    write(root, {"drafts/handbook/fifth/index.md": draft("a-0005"), "drafts/handbook/sixth/index.md": draft("a-0006")})
    said = publisher("queue", "add", "a-0006", "a-0005", "--before", "a-0002", at=root)
    assert said.out == "a-0006  2 of 6\na-0005  3 of 6\n"
    assert ids(root) == ["a-0001", "a-0006", "a-0005", "a-0002", "a-0003", "a-0004"]
    assert [line for line in queue_text(root).splitlines() if line in QUEUE.splitlines()] == QUEUE.splitlines()


def test_adding_twice_adds_nothing(root):
    before = snapshot(root)
    said = publisher("queue", "add", "a-0002", "--json", at=root)
    assert said.code == 0 and said.data["changed"] is False
    assert said.data["articles"] == [{"id": "a-0002", "position": 2}]
    assert snapshot(root) == before


def test_add_to_an_empty_queue_and_to_none(root):
    for text in ("# mine\narticles: []   # none yet\n", None):
        if text is None:
            (root / PATH).unlink()
        else:
            write(root, {PATH: text})
        assert publisher("queue", "add", "a-0001", "a-0002", at=root).code == 0
        assert ids(root) == ["a-0001", "a-0002"]
    assert queue_text(root).startswith("articles:\n  - {id: a-0001, source: drafts/handbook/first}\n")


@pytest.mark.parametrize(
    ("files", "named", "code", "word"),
    [
        ({}, "drafts/handbook/none", 2, "no-such-draft"),
        ({}, "a-0909", 2, "no-such-draft"),
        ({}, "drafts/handbook", 2, "no-such-draft"),
        ({}, "/etc/drafts/passwd", 2, "no-such-draft"),
        ({"drafts/handbook/x/index.md": draft("a-0001")}, "drafts/handbook/x", 3, "id-twice"),
        ({"drafts/handbook/first/index.md": draft("a-0044")}, "a-0044", 3, "queued-otherwise"),
        ({"drafts/handbook/x/index.md": "---\nid: a-0044\n---\n"}, "a-0044", 3, "schema-required"),
        ({"drafts/handbook/Xx/index.md": draft("a-0044")}, "a-0044", 3, "draft-name"),
    ],
)
def test_what_cannot_be_added_changes_nothing(root, files, named, code, word):
    write(root, files)
    before = snapshot(root)
    said = publisher("queue", "add", named, at=root)
    assert (said.code, said.out) == (code, "")
    assert f"[{word}]" in said.err
    assert snapshot(root) == before


def test_adding_several_is_all_or_nothing(root):
    write(root, {"drafts/handbook/fifth/index.md": draft("a-0005")})
    before = snapshot(root)
    assert publisher("queue", "add", "a-0005", "a-0909", at=root).code == 2
    assert snapshot(root) == before


def test_a_marked_draft_is_added_with_a_note(root):
    write(root, {"drafts/handbook/fifth/index.md": draft("a-0005", more="draft: true\n")})
    said = publisher("queue", "add", "a-0005", at=root)
    assert said.code == 0 and "draft: true" in said.err


# --- move -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "order"),
    [
        (["a-0003", "--first"], [3, 1, 2, 4]),
        (["a-0001", "--last"], [2, 3, 4, 1]),
        (["a-0004", "--before", "a-0002"], [1, 4, 2, 3]),
        (["a-0001", "--after", "a-0003"], [2, 3, 1, 4]),
        (["a-0002", "--after", "a-0001"], [1, 2, 3, 4]),
        (["a-0002", "--before", "a-0003"], [1, 2, 3, 4]),
        (["a-0004", "--last"], [1, 2, 3, 4]),
    ],
)
def test_move(root, argv, order):
    before = snapshot(root)
    said = publisher("queue", "move", *argv, at=root)
    assert said.code == 0
    assert ids(root) == [f"a-000{n}" for n in order]
    assert (snapshot(root) == before) == (order == [1, 2, 3, 4])
    assert f"{order.index(int(argv[0][-1])) + 1} of 4" in said.out


def test_a_comment_moves_with_its_entry_and_the_rest_stays(root):
    publisher("queue", "move", "a-0003", "--first", at=root)
    assert (
        queue_text(root)
        == """\
# The handbook's queue.

articles:
  # waits for legal
  - {id: a-0003, source: drafts/handbook/third, held: true}
  # the beginning
  - {id: a-0001, source: drafts/handbook/first}
  - {id: a-0002, source: drafts/handbook/second}   # short

  # --- January ---

  - id: a-0004
    source: drafts/handbook/fourth
# the end
"""
    )


@pytest.mark.parametrize(
    "argv",
    [["a-0001"], ["a-0001", "--first", "--last"], ["a-0001", "--before", "a-0001"], ["a-0001", "--before", "a-0909"],
     ["a-0909", "--first"], ["a-0001", "--before", "a-0002", "--after", "a-0003"]],
)  # fmt: skip
def test_move_asks_for_exactly_one_place(root, argv):
    before = snapshot(root)
    assert publisher("queue", "move", *argv, at=root).code == 2
    assert snapshot(root) == before


def test_an_unknown_id_names_the_nearest(root):
    assert "did you mean a-0001?" in publisher("queue", "hold", "a-001", at=root).err


# --- hold, release, remove ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("article", "line"),
    [
        ("a-0001", "  - {id: a-0001, source: drafts/handbook/first, held: true}\n"),
        ("a-0002", "  - {id: a-0002, source: drafts/handbook/second, held: true}   # short\n"),
        ("a-0004", "  - id: a-0004\n    source: drafts/handbook/fourth\n    held: true\n"),
    ],
)
def test_hold_adds_one_word_and_release_takes_it_away(root, article, line):
    said = publisher("queue", "hold", article, at=root)
    assert said.code == 0 and said.out.endswith("held\n")
    assert line in queue_text(root)
    assert publisher("queue", "hold", article, "--json", at=root).data["changed"] is False
    assert publisher("queue", "release", article, at=root).code == 0
    assert queue_text(root) == QUEUE


def test_release_what_was_held_by_hand(root):
    block = "  - held: true\n    id: a-0001\n    source: drafts/handbook/first\n"
    flow = "  - {held: true, id: a-0002, source: drafts/handbook/second}\n"
    write(root, {PATH: f"articles:\n{block}{flow}"})
    before = queue_text(root)
    for article in ("a-0001", "a-0002"):
        assert publisher("queue", "release", article, at=root).code == 0
    assert queue_text(root) == before.replace("held: true", "held: false")
    for article in ("a-0001", "a-0002"):
        assert publisher("queue", "hold", article, at=root).code == 0
    assert queue_text(root) == before


def test_remove_takes_the_entry_and_its_comment(root):
    said = publisher("queue", "remove", "a-0003", at=root)
    assert said.out == "a-0003  not in the queue\n"
    assert queue_text(root) == QUEUE.replace(
        "  # waits for legal\n  - {id: a-0003, source: drafts/handbook/third, held: true}\n", ""
    )
    assert (root / "drafts/handbook/third/index.md").exists()


def test_the_last_one_leaves_an_empty_list(root):
    for n in (1, 2, 3, 4):
        assert publisher("queue", "remove", f"a-000{n}", at=root).code == 0
    assert ids(root) == []
    assert "articles: []\n" in queue_text(root) and "# --- January ---" in queue_text(root)
    assert publisher("queue", "add", "a-0001", at=root).code == 0
    assert ids(root) == ["a-0001"]


@pytest.mark.parametrize(
    "text",
    [
        "articles: [{id: a-0001, source: drafts/handbook/first}, {id: a-0002, source: drafts/handbook/second}]\n",
        "articles:\n  [\n    {id: a-0001, source: drafts/handbook/first},\n    {id: a-0002, source: drafts/handbook/second}\n  ]\n",
        "{articles: [{id: a-0001, source: drafts/handbook/first}, {id: a-0002, source: drafts/handbook/second}]}\n",
        "articles:\n  -\n    id: a-0001\n    source: drafts/handbook/first\n  - {id: a-0002, source: drafts/handbook/second}\n",
    ],
)
def test_another_spelling_is_refused_and_never_rewritten(root, text):
    write(root, {PATH: text})
    said = publisher("queue", "move", "a-0002", "--first", at=root)
    assert said.code == 3 and "[edit-by-hand]" in said.err and f"{PATH}:1:" in said.err
    assert queue_text(root) == text


def test_a_linked_queue_is_refused(root):
    (root / PATH).rename(root / "elsewhere.yaml")
    (root / PATH).symlink_to(root / "elsewhere.yaml")
    said = publisher("queue", "move", "a-0002", "--first", at=root)
    assert said.code == 3 and (root / PATH).is_symlink()


def test_a_broken_queue_is_named_with_its_line(root):
    write(root, {PATH: QUEUE + "  - {id: a-0001, source: drafts/handbook/x}\n"})
    said = publisher("queue", "list", at=root)
    assert said.code == 3 and f"{PATH}:" in said.err


def test_the_files_mode_is_kept(root):
    (root / PATH).chmod(0o640)
    publisher("queue", "hold", "a-0001", at=root)
    assert (root / PATH).stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("seed", range(25))
def test_any_sequence_of_edits_keeps_every_comment(root, seed):
    """Against a list that is edited alongside: the order is right, and no line of the file is ever lost but removed entries'."""
    chance = random.Random(seed)
    model = ids(root)
    write(root, {f"drafts/handbook/d{n}/index.md": draft(f"a-1{n:03d}") for n in range(12)})
    removed = set()
    for n in range(12):
        act = chance.choice(["add", "move", "move", "hold", "release", "remove"])
        some = chance.choice(model) if model else ""
        if act == "add" or not model:
            article = f"a-1{n:03d}"
            at = chance.randrange(len(model) + 1)
            where = ["--before", model[at]] if at < len(model) else []
            model.insert(at, article)
            argv = ["add", article, *where]
        elif act == "move":
            model.remove(some)
            at = chance.randrange(len(model) + 1)
            model.insert(at, some)
            argv = ["move", some, "--first"] if at == 0 else ["move", some, "--after", model[at - 1]]
        else:
            argv = [act, some]
            if act == "remove":
                model.remove(some)
                removed.add(some)
        assert publisher("queue", *argv, at=root).code == 0, argv
        assert ids(root) == model, argv
    comments = {"# --- January ---", "# the end", "# The handbook's queue."}
    comments |= {"# waits for legal"} - ({"# waits for legal"} if "a-0003" in removed else set())
    assert comments <= {line.strip() for line in queue_text(root).splitlines()}


def test_drafts_are_never_touched(root):
    publisher("queue", "move", "a-0003", "--first", at=root)
    publisher("queue", "remove", "a-0001", at=root)
    assert {path: text.encode() for path, text in DRAFTS.items()}.items() <= snapshot(root).items()
