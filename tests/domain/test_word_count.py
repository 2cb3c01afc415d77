from __future__ import annotations

import pytest

from publisher.domain.word_count import count_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("One two  three\nfour", 4),
        ("It's a well-known fact — really.", 5),
        ("... *** --- | | 1", 1),
        ("## A heading\n\n- a point\n- another\n", 5),
        ("1. first\n22) second\n", 2),
        ("> 3. quoted\n", 1),
        ("[two words](https://example.org/a-long/path) end", 3),
        ("![what it shows](fence.png)", 3),
        ("![](fence.png)", 0),
        ("see [it][ref]\n\n[ref]: https://example.org/nowhere\n", 2),
        ("```python\nx = 1\n```\n", 2),
        ("one <br> two <!-- not\nthis > either --> three", 3),
        ("one <!-- two", 2),
        ("漢字かな混じりの文。", 9),
        ("カタカナー", 5),
        ("ｶﾅ", 2),
        ("香港 is a city", 5),
        ("한국어 문장은 띄어 쓴다", 4),
        ("हिन्दी में चार शब्द", 4),
        ("𠮷野家", 3),
    ],
)
def test_words(text: str, words: int) -> None:
    assert count_words(text) == words


@pytest.mark.parametrize("piece", ["<!--", "](", "<a", "`" * 3, "[x", "> ", "1", "漢"])
def test_no_text_takes_for_ever(piece: str) -> None:
    """A quadratic pattern needs hours for a text of a mebibyte; the time-out of the tests would end it."""
    count_words(piece * (1024 * 1024 // len(piece)))
