"""``publisher schema``: the shipped schemas, printed and written."""

from __future__ import annotations

import json

from tests.support.command_line import publisher

NAMES = ["approval", "draft", "event", "gate", "instance", "plan", "policy", "queue"]


def test_names():
    said = publisher("schema")
    assert (said.code, said.out.split()) == (0, NAMES)


def test_one_is_printed_as_shipped():
    said = publisher("schema", "queue")
    assert said.code == 0 and said.data["$id"] == "queue.schema.json"
    assert publisher("schema", "queue", "--json").data == said.data


def test_an_unknown_one_names_the_nearest():
    said = publisher("schema", "polisy")
    assert said.code == 2 and "did you mean policy?" in said.err


def test_all_are_written_for_an_editor(tmp_path):
    said = publisher("schema", "--write", "schemas/publisher", at=tmp_path)
    assert said.code == 0
    assert said.out.split() == [f"schemas/publisher/{name}.schema.json" for name in NAMES]
    for name in NAMES:
        text = (tmp_path / f"schemas/publisher/{name}.schema.json").read_text()
        assert json.loads(text)["$id"] == f"{name}.schema.json"


def test_all_as_one_document():
    assert sorted(publisher("schema", "--json").data["schemas"]) == NAMES


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    said = publisher("schema", "--write", "file/below", at=tmp_path)
    assert said.code in (2, 5) and "Traceback" not in said.err
