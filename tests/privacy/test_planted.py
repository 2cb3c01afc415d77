"""The test of the tests: a leak planted in each outlet, in each encoding, is found by the watch that found none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.privacy.planting import WAYS, Ground, fits, ground
from tests.privacy.sentinels import MARK, TITLES, encodings, find, private_draft
from tests.support.volume import fair_slice

ALWAYS = {"raw"}
AT_LEAST = 12
"""Encodings that each outlet can carry, and in which a leak there is found."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground(tmp_path_factory.mktemp("planted")) as made:
        yield made


@pytest.mark.parametrize("outlet", WAYS)
def test_a_leak_in_this_outlet_is_found_in_every_encoding(place: Ground, outlet: str) -> None:
    all_of_them = encodings()
    names = [name for name, data in all_of_them.items() if fits(outlet, data)]
    assert len(names) >= AT_LEAST
    for name in fair_slice("encodings planted in an outlet", names, AT_LEAST, stratum=lambda name: name in ALWAYS):
        data, watch = all_of_them[name], place.fresh()
        place.given.write_bytes(data)
        WAYS[outlet](place, data)
        found = {piece.outlet for piece in watch.pieces if piece.traces()}
        assert outlet in found, f"{name} was not found in {outlet}: {watch.pieces}"
        watch.repositories = ()


@pytest.mark.parametrize("outlet", ["stdout", "release", "pushed files", "mail", "refs"])
def test_without_a_leak_nothing_is_found(place: Ground, outlet: str) -> None:
    """The same ways with harmless words: a watch that always cries would pass the test above too."""
    watch = place.fresh()
    place.given.write_bytes(b"vox-populi-0xf00d-" + b"A3f9" * 8)
    WAYS[outlet](place, place.given.read_bytes())
    assert [piece for piece in watch.pieces if piece.outlet == outlet]
    assert watch.traces() == {}
    watch.repositories = ()


@pytest.mark.parametrize("text", ["The big lamp of the quiz, Vox said", "größe", "quizlampe", "a" * 5000, "Grosse Lampe Vox"])
def test_other_texts_hold_no_mark(text: str) -> None:
    assert find(text.encode()) == set()


def test_every_field_and_file_of_a_private_draft_holds_the_mark() -> None:
    for name in TITLES:
        files = private_draft(name)
        for path, data in files.items():
            assert find(data) and find(path.encode()), path
        (text,) = [data.decode() for path, data in files.items() if path.endswith(".md")]
        assert text.count(MARK) == 15
