"""Digests and canonical JSON, with the reference implementation of RFC 8785 as oracle."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from publisher.domain.fingerprint import (
    LARGEST_INTEGER,
    article_fingerprint,
    canonical_json,
    digest,
    input_of,
    is_digest,
    payload_hash,
    release_id,
    short,
    tree_digest,
)

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER) | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)
FILES = st.dictionaries(TEXT.filter(bool), st.binary(max_size=12).map(digest), min_size=1, max_size=5)


@given(VALUES)
def test_canonical_json_is_rfc_8785(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@given(VALUES)
def test_canonical_json_loses_nothing(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(TEXT, SCALARS, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_keys_never_matters(data: dict[str, Any], random: Any) -> None:
    keys = list(data)
    random.shuffle(keys)
    assert payload_hash({key: data[key] for key in keys}) == payload_hash(data)


def test_keys_are_sorted_by_utf_16_units_not_code_points() -> None:
    # U+10000 is D800 DC00 in UTF-16, which sorts before U+FB33; by code point it would come after.
    assert canonical_json({"\ufb33": 1, "\U00010000": 2}) == '{"\U00010000":2,"\ufb33":1}'.encode()


def test_escapes_are_the_rfcs() -> None:
    text = '\x00\x08\t\n\x0b\x0c\r\x1f"\\/\x7f€\u2028'
    assert canonical_json(text) == rfc8785.dumps(text)


@pytest.mark.parametrize("number", [LARGEST_INTEGER, -LARGEST_INTEGER, 0, -1])
def test_integers_up_to_two_to_the_53_are_written_out(number: int) -> None:
    assert canonical_json([number]) == f"[{number}]".encode()


@pytest.mark.parametrize(
    "value",
    [
        LARGEST_INTEGER + 1, -LARGEST_INTEGER - 1, 2**63, 1.0, float("nan"), float("inf"), b"bytes", {1: "a"}, {None: 1}, {1, 2},
        dict, [1.5], {"a": {"b": 0.1}}, "\ud800", {"\ud800": 1},
    ],
    ids=repr,
)  # fmt: skip
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        canonical_json(value)


def test_a_boolean_is_not_a_number() -> None:
    assert canonical_json([True, 1, False, 0, None]) == b"[true,1,false,0,null]"
    assert payload_hash({"a": True}) != payload_hash({"a": 1})


def test_tuples_are_lists() -> None:
    assert canonical_json((1, ("a",))) == b'[1,["a"]]'


@given(st.dictionaries(TEXT, TEXT, min_size=1, max_size=4), st.data())
def test_one_changed_character_changes_the_payload(data: dict[str, str], draw: st.DataObject) -> None:
    key = draw.draw(st.sampled_from(sorted(data)))
    place = draw.draw(st.integers(0, len(data[key])))
    mark = draw.draw(st.sampled_from(["\u200b", " ", "\u00a0", "\r", "a", "а", "\u0301"]))
    changed = {**data, key: data[key][:place] + mark + data[key][place:]}
    assert payload_hash(changed) != payload_hash(data)


@pytest.mark.parametrize(("one", "other"), [("é", "e\u0301"), ("a", "а"), ("a b", "a\u00a0b"), ("ab", "a\u200bb")])
def test_what_only_looks_the_same_is_another_payload(one: str, other: str) -> None:
    assert payload_hash({"title": one}) != payload_hash({"title": other})


def test_moving_a_value_to_another_field_is_another_payload() -> None:
    assert payload_hash({"a": "x", "b": ""}) != payload_hash({"a": "", "b": "x"})


def test_a_digest_is_sha256_in_full() -> None:
    assert digest(b"abc") == "sha256:" + hashlib.sha256(b"abc").hexdigest()
    assert is_digest(digest(b""))
    assert short(digest(b"abc")) == "ba7816bf8f01"


@pytest.mark.parametrize(
    "text",
    [
        "", "sha256:", "sha256:" + "0" * 63, "sha256:" + "0" * 65, "sha256:" + "G" * 64, "SHA256:" + "0" * 64, "sha256:" + "A" * 64,
        "0" * 64, "sha256:" + "0" * 64 + "\n", "sha256:" + "\uff10" * 64, " sha256:" + "0" * 64, None, 0, b"sha256:" + b"0" * 64,
    ],
    ids=repr,
)  # fmt: skip
def test_nothing_else_is_a_digest(text: object) -> None:
    assert not is_digest(text)


# --- articles and releases ------------------------------------------------------------------------------------------------------


@given(st.dictionaries(TEXT, st.binary(max_size=8), max_size=4), st.binary(max_size=8), st.data())
def test_any_byte_name_or_file_changes_an_articles_fingerprint(
    beside: dict[str, bytes], text: bytes, draw: st.DataObject
) -> None:
    files = {**beside, "index.md": text}
    print_ = article_fingerprint({name: digest(data) for name, data in files.items()})
    name = draw.draw(st.sampled_from(sorted(files)))
    changed = {**files, name: files[name] + b"."}
    renamed = {(other + "x" if other == name else other): data for other, data in files.items()}
    more = {**files, "\U0010ffff" * 9: b""}
    for other in (changed, more, *([renamed] if name != "index.md" and len(renamed) == len(files) else [])):
        assert article_fingerprint({name: digest(data) for name, data in other.items()}) != print_


def test_two_files_that_swap_their_bytes_are_another_article() -> None:
    one = {"index.md": digest(b""), "a.png": digest(b"1"), "b.png": digest(b"2")}
    assert article_fingerprint(one) != article_fingerprint({**one, "a.png": digest(b"2"), "b.png": digest(b"1")})


def test_an_article_without_a_text_is_none() -> None:
    with pytest.raises(ValueError, match=r"index\.md"):
        article_fingerprint({"picture.png": digest(b"")})


def test_a_salt_hides_equal_texts() -> None:
    files = {"index.md": digest(b"same")}
    prints = {article_fingerprint(files, salt) for salt in ("", "one", "two")}
    assert len(prints) == 3
    assert all(is_digest(text) for text in prints)
    assert article_fingerprint(files, "one") == article_fingerprint(files, "one")


@given(FILES, st.randoms(use_true_random=False))
def test_a_release_is_its_set_of_paths_and_digests(files: dict[str, str], random: Any) -> None:
    names = list(files)
    random.shuffle(names)
    assert release_id({name: files[name] for name in names}) == release_id(files) == tree_digest(files)
    assert release_id({**files, names[0]: digest(b"something longer than twelve bytes")}) != release_id(files)


def test_an_empty_release_has_no_id() -> None:
    with pytest.raises(ValueError, match="files"):
        release_id({})


def test_a_path_and_a_digest_cannot_change_places_unseen() -> None:
    assert tree_digest({"a": "bc"}) != tree_digest({"ab": "c"})
    assert tree_digest({"a": "b", "c": "d"}) != tree_digest({"a": "b,c:d"})


def test_an_ordered_list_keeps_its_order() -> None:
    assert input_of(["a", "b"]) != input_of(["b", "a"])
    assert input_of(["ab"]) != input_of(["a", "b"])
    assert is_digest(input_of([]))
