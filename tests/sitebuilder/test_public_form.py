import json
from dataclasses import replace

import pytest
import yaml

from publisher.domain.article import Private
from publisher.errors import Bug, InputProblem
from publisher.sitebuilder.builder import Builder
from tests.support.sitebuilding import article, draft, exif, jpeg, png, png_chunk

BUILDER = Builder()
BODY = "Text with ![a wall](wall.png).\n\nMore.\n"
WALL = png(png_chunk(b"tEXt", b"Author\0Ada"))


def made(**changes):
    return BUILDER.public_form(draft(body=BODY, files={"wall.png": WALL, "unused.png": png()}), article(body=BODY, **changes))


def refusal(files) -> InputProblem:
    with pytest.raises(InputProblem) as caught:
        BUILDER.read_public_form(files)
    return caught.value


def test_written_and_read_back():
    files = made(title='Quotes " and: # colons \U0001f331', updated="2026-02-01T00:00:00Z")
    found = BUILDER.read_public_form(files)
    assert found.title == 'Quotes " and: # colons \U0001f331'
    assert found.files == {"wall.png": png()} and set(files) == {"index.md", "wall.png"}
    assert found.body == BODY and found.updated == "2026-02-01T00:00:00Z"


def test_the_block_is_yaml_too_and_has_a_fixed_order():
    text = made(title="Straße \u00a0 \U0001f331: - yes", tags=("winter", "no"))["index.md"].decode()
    head = text.split("---\n")[1]
    assert [line.split(":")[0] for line in head.splitlines()] == [
        "id", "url", "guid", "title", "summary", "category", "tags", "date", "updated",
    ]  # fmt: skip
    assert yaml.safe_load(head)["title"] == "Straße \u00a0 \U0001f331: - yes"
    assert yaml.safe_load(head)["tags"] == ["winter", "no"]


def test_one_line_fields_stay_on_one_line():
    for title in ("two\nlines", "sep\u2028arated", "tab\tbed", "bell\x07", " ", ""):
        with pytest.raises(InputProblem) as caught:
            made(title=title)
        assert caught.value.code == "bad-field"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "../x"), ("url", "/tags/x/"), ("url", "/categories/"), ("url", "no-slash"), ("url", "/../x/"), ("guid", "a b"),
        ("category", "con"), ("tags", ("a", "a")), ("tags", ("A",)), ("date", "2026-01-01"), ("date", "2026-02-30T00:00:00Z"),
        ("updated", "yesterday"),
    ],
)  # fmt: skip
def test_fields_that_break_their_rule_are_refused(field, value):
    with pytest.raises(InputProblem) as caught:
        BUILDER.public_form(draft(id=value if field == "id" else "g-0001"), article(body="Some text.\n", **{field: value}))
    assert caught.value.code == "bad-field" and field in caught.value.says


def test_an_article_that_is_not_the_drafts_is_a_bug():
    for other in (article(2, body="Some text.\n"), article(1, body="Other text.\n")):
        with pytest.raises(Bug):
            BUILDER.public_form(draft(), other)


def test_problems_name_the_drafts_own_line():
    head = "---\nid: g-0001\ntitle: x\nsummary: y\n---\n\n"
    for body, code in (
        ("One.\n\n![](wall.png)\n", "missing-alt-text"),
        ("One.\n\n![x](no.png)\n", "missing-file"),
        ("One.\n\n[x](y:z)\n", "scheme-refused"),
    ):
        with pytest.raises(InputProblem) as caught:
            BUILDER.public_form(draft(body=body, head=head, files={"wall.png": png()}), article(body=body))
        assert (caught.value.code, caught.value.where) == (code, "drafts/garden/bed-1/index.md:9:1")


def test_private_text_becomes_plain_text_on_purpose():
    files = BUILDER.public_form(draft(), article(title=Private("A title"), body=Private("Some text.\n")))
    assert b"<private>" not in files["index.md"] and b'title: "A title"' in files["index.md"]


def test_a_camera_picture_is_cleaned_on_the_way():
    body = "![x](a.jpg)\n"
    files = BUILDER.public_form(draft(body=body, files={"a.jpg": jpeg(exif(3))}), article(body=body))
    assert b"GPS" in jpeg(exif(3)) and b"GPS" not in files["a.jpg"]


def test_a_changed_public_form_is_refused():
    files = dict(made())
    text = files["index.md"].decode()
    lines = text.split("\n")
    for broken in (
        "",
        text.replace("---\n", "", 1),
        text.replace('id: "g-0001"', "id: g-0001"),
        text.replace('id: "g-0001"', 'id:  "g-0001"'),
        text.replace('id: "g-0001"', 'id: "\\u0067-0001"'),
        text.replace("tags: [", "tag: ["),
        text.replace('"winter"]', '"winter", 1]'),
        text.replace('updated: ""', "updated: null"),
        "\n".join([lines[0], lines[2], lines[1], *lines[3:]]),
        text + "\n",
        text.replace("\n", "\r\n"),
        text.replace("More", "Mo\x00re"),
    ):
        assert refusal({**files, "index.md": broken.encode()}).code in ("public-form-broken", "bad-field")
    assert refusal({**files, "index.md": b"\xff" + files["index.md"]}).code == "public-form-broken"


def test_the_line_of_a_bad_field_is_named():
    text = made()["index.md"].decode()
    broken = text.replace('category: "beds"', 'category: "B"')
    assert refusal({"index.md": broken.encode(), "wall.png": png()}).where == "index.md:7:1"


def test_files_beside_are_exactly_those_used_and_clean():
    files = dict(made())
    assert refusal({**files, "more.png": png()}).code == "public-form-broken"
    assert refusal({"index.md": files["index.md"]}).code == "public-form-broken"
    assert refusal({**files, "wall.png": WALL}).code == "image-not-clean"


def test_a_missing_draft_file_is_refused_before_anything_is_written():
    with pytest.raises(InputProblem) as caught:
        BUILDER.public_form(draft(body=BODY), article(body=BODY))
    assert caught.value.code == "missing-file" and "wall.png" in caught.value.says


def test_body_ends_with_one_line_end():
    files = BUILDER.public_form(draft(body="\n\nText\n\n\n"), article(body="\n\nText\n\n\n"))
    assert files["index.md"].decode().split("---\n")[2] == "Text\n"
    assert replace(BUILDER.read_public_form(files), body="") == replace(article(), body="")
    assert json.loads(files["index.md"].decode().split("\n")[7].partition(": ")[2]) == ["winter"]
