"""The answers of ``publisher why`` about recorded stories, word for word: one query tells a plan's story (I83)."""

from __future__ import annotations

import pytest

from tests.golden import why_texts


@pytest.mark.parametrize("story", why_texts.QUESTIONS)
def test_the_answers_are_as_they_were_read_and_agreed(story, tmp_path):
    assert why_texts.answers(story, tmp_path) == (why_texts.FOLDER / f"{story}.txt").read_text("utf-8")


def test_there_is_no_answer_without_a_question():
    assert {path.stem for path in why_texts.FOLDER.glob("*.txt")} == set(why_texts.QUESTIONS)
