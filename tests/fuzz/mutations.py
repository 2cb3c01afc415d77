"""Seeded mutations of real inputs: the same seed and number always give the same bytes."""

from __future__ import annotations

import random
from collections.abc import Sequence

LONGEST = 16 * 1024
"""Bytes of a mutated input: a limit of size is the hostile files' matter, not this one's."""
PIECES = (
    b"",
    b"\0",
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b"---\n",
    b"...\n",
    b"- ",
    b": ",
    b", ",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[" * 40,
    b"{a: " * 20,
    b"&a ",
    b"*a",
    b"!!x ",
    b"<<: ",
    b"%YAML 1.1\n",
    b"~",
    b"null",
    b"true",
    b"no",
    b"0",
    b"-1",
    b"017",
    b"0x10",
    b"1e999",
    b"1.0",
    b"NaN",
    b"9" * 20,
    b"9" * 5000,
    b"9223372036854775808",
    b"9007199254740993",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\\ud800",
    b"\\u0000",
    b"\\x1b",
    b'"',
    b"'",
    b"`",
    b"``",
    b"<",
    b">",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"&amp;",
    b"&#0;",
    b"&#x110000;",
    b"javascript:",
    b"http://",
    b"www.",
    b"@",
    b"](",
    b"![",
    b"[^1]",
    b"[^1]: ",
    b"|",
    b"|-|",
    b"#",
    b"> ",
    b"1. ",
    b"{{",
    b"{%",
    b"..",
    b"/../",
    b"//",
    b"\\",
    b"%2e",
    b"%00",
    b"=",
    b"=\n",
    b"==",
    b"A" * 40,
    b"a" * 300,
    b"\xff\xd8",
    b"\xff\xda",
    b"\xff\xff",
    b"\x89PNG\r\n\x1a\n",
    b"IEND\xae\x42\x60\x82",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x1f\x8b\x08",
    b"\x78\x9c",
    b"PK\x03\x04",
    b"-----BEGIN",
    b"sha256:",
    b"2026-02-30",
    b"9999-12-31",
    b"+99:99",
    b"*/0",
    b"60 24 * * *",
)


def mutated(seeds: Sequence[bytes], seed: int, number: int) -> bytes:
    """The input of a number: a seed of the corpus, changed one to a dozen times."""
    chance = random.Random(f"{seed}:{number}")
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6, 12))):
        _change(data, seeds, chance)
        del data[LONGEST:]
    return bytes(data)


def _change(data: bytearray, seeds: Sequence[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    span = min(chance.choice((1, 1, 2, 4, 8, 16, 64, 256)), len(data) - at)
    kind = chance.randrange(9)
    if kind == 0 and data:
        data[at % len(data)] ^= 1 << chance.randrange(8)
    elif kind == 1 and data:
        data[at % len(data)] = chance.randrange(256)
    elif kind == 2:
        del data[at : at + span]
    elif kind == 3:
        data[at:at] = data[at : at + span] * chance.choice((1, 2, 30))
    elif kind == 4:
        data[at : at + span] = chance.choice(PIECES)
    elif kind == 5:
        other = chance.choice(seeds)
        begin = chance.randrange(len(other) + 1)
        data[at : at + span] = other[begin : begin + chance.choice((1, 8, 64, 512))]
    elif kind == 6:
        del data[at:]
    elif kind == 7 and b"\n" in data:
        lines = bytes(data).split(b"\n")
        here, there = chance.randrange(len(lines)), chance.randrange(len(lines))
        lines[here], lines[there] = lines[there], lines[here]
        data[:] = b"\n".join(lines)
    else:
        data[at:at] = chance.choice(PIECES)
