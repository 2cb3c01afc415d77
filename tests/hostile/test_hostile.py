"""What is hostile ends in one line that names place and code, quotes nothing, costs little, and leaves everything as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from publisher.sitebuilder import images
from publisher.sitebuilder.article_html import render
from publisher.sitebuilder.references import Source
from publisher.sitebuilder.rendered import Address
from tests.hostile import text_cases
from tests.hostile.case import SENTINEL, Case
from tests.hostile.ground import Ground
from tests.hostile.sweep import meet, named, standing
from tests.support.volume import RELEASE, fair_slice

CASES = named()
MOST = 190
WANTED = 150


def _stratum(name: str) -> str:
    case = CASES[name]
    return case.name.partition(" in ")[0] if case.kind == "yaml" else case.kind


CHOSEN = fair_slice("hostile inputs", sorted(CASES), MOST, stratum=_stratum)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ground, dict[str, Case]]]:
    with standing(Path(tmp_path_factory.mktemp("hostile"))) as found:
        yield found


def test_there_are_enough_of_every_kind() -> None:
    assert len(CASES) >= WANTED and len(CHOSEN) >= WANTED
    assert {CASES[name].kind for name in CHOSEN} == {case.kind for case in CASES.values()}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_hostile(ground: tuple[Ground, dict[str, Case]], name: str) -> None:
    place, cases = ground
    again = RELEASE or sha256(name.encode()).digest()[0] % 6 == 0
    found, done = meet(place, cases[name], again=again)
    assert not found, f"{found}: wanted {cases[name].code} at {cases[name].where}\n{done.err}\n{done.out}"


@pytest.mark.parametrize("name", sorted(text_cases.SHOWN))
def test_what_is_legal_becomes_text(name: str) -> None:
    found = render(text_cases.SHOWN[name].decode(), {}, source=Source(path="x"), address=Address(root="", page="/x/"))
    assert not re.search(r"<(?:script|base|meta|form|iframe|style|svg|input name)\b", found.html, re.IGNORECASE)
    assert "onerror=" not in re.sub(r">[^<]*<", "><", f">{found.html}<")


@pytest.mark.parametrize("name", sorted(text_cases.CLEANED))
def test_what_images_carry_is_left_out(name: str) -> None:
    file, data = text_cases.CLEANED[name]
    cleaned = images.clean(file, data, "x:1:1")
    assert SENTINEL.encode() not in cleaned and len(cleaned) < len(data)
