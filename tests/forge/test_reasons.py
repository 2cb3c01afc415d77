"""Every reason is a code with a sentence, and every one of them is reached by some test of this room."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from publisher.forge.reasons import REASONS, Unproven, sentence

SOURCES = Path(__file__).parent


def test_every_reason_is_reached_by_a_test() -> None:
    text = "".join(path.read_text() for path in SOURCES.glob("test_*.py") if path.name != Path(__file__).name)
    assert [code for code in REASONS if f'"{code}"' not in text] == []


def test_no_two_attacks_share_a_code() -> None:
    text = (SOURCES / "test_approval_attacks.py").read_text()
    codes = re.findall(r'code\([^)]*(?:\([^)]*\))?[^)]*\) == "([a-z-]+)"', text)
    assert len(codes) > 40
    assert sorted(codes) == sorted(set(codes))


def test_sentences_are_short_and_plain() -> None:
    for code, says in REASONS.items():
        assert re.fullmatch(r"[a-z-]+", code)
        assert len(says) < 100 and not says.endswith(".") and says[0].islower()
    assert len(set(REASONS.values())) == len(REASONS)


def test_a_detail_follows_in_brackets() -> None:
    assert sentence("deleted", "x") == REASONS["deleted"] + " (x)"
    assert Unproven("deleted").says == REASONS["deleted"]
    with pytest.raises(KeyError):
        Unproven("no-such-code")
