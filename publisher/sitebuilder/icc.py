"""Colour profiles (ICC.1:2022): how the colours are meant, and not on whose screen, with which program and when they were made.

Rules:
* kept are the tags by which colours are computed, and of the header what they need; names, copyright, dates, makers, models, serial
  numbers and private tags are left out;
* the two texts that every profile must have say nothing;
* a profile that cannot be read is left out as a whole: viewers pass over it, too.
"""

from __future__ import annotations

HEADER = 128
COLOUR = frozenset(
    b"A2B0 A2B1 A2B2 A2M0 B2A0 B2A1 B2A2 B2D0 B2D1 B2D2 B2D3 D2B0 D2B1 D2B2 D2B3 bTRC bXYZ bkpt chad chrm cicp gTRC gXYZ gamt kTRC "
    b"lumi rTRC rXYZ wtpt".split()
)
MOST_TAGS = 100
KEPT = ((8, 24), (36, 40), (44, 48), (56, 80))
"""Of the header: version, class, colour spaces; the signature; flags; attributes, intent and white point."""
SILENT = b"-"


def neutral(profile: bytes) -> bytes:
    """The profile with nothing but colours in it; b"" for one that is damaged. The same again for what was made here."""
    count = int.from_bytes(profile[HEADER : HEADER + 4], "big")
    if len(profile) < HEADER + 4 or profile[36:40] != b"acsp" or not 0 < count <= MOST_TAGS:
        return b""
    tags = {b"desc": _text(profile, b"desc"), b"cprt": _text(profile, b"text")}
    for number in range(count):
        at = HEADER + 4 + 12 * number
        name, start = profile[at : at + 4], int.from_bytes(profile[at + 4 : at + 8], "big")
        size = int.from_bytes(profile[at + 8 : at + 12], "big")
        if start < HEADER or start + size > len(profile) or len(name) < 4:
            return b""
        if name in COLOUR:
            tags[name] = profile[start : start + size]
    return _written(profile, tags)


def _written(profile: bytes, tags: dict[bytes, bytes]) -> bytes:
    place, rows, body = HEADER + 4 + 12 * len(tags), [], []
    known: dict[bytes, int] = {}  # tags of the same content share it, as the three curves of a grey axis do
    for name, data in tags.items():
        if data not in known:
            known[data] = place
            body.append(data + bytes(-len(data) % 4))
            place += len(body[-1])
        rows.append(name + known[data].to_bytes(4, "big") + len(data).to_bytes(4, "big"))
    head = bytearray(HEADER)
    for start, end in KEPT:
        head[start:end] = profile[start:end]
    head[:4] = place.to_bytes(4, "big")
    return bytes(head) + len(tags).to_bytes(4, "big") + b"".join(rows) + b"".join(body)


def _text(profile: bytes, kind: bytes) -> bytes:
    """A text that says nothing, in the form of the profile's version."""
    if profile[8] >= 4:
        words = SILENT.decode().encode("utf-16-be")
        return b"mluc" + bytes(4) + b"\0\0\0\1\0\0\0\x0cenUS" + len(words).to_bytes(4, "big") + b"\0\0\0\x1c" + words
    if kind == b"text":
        return b"text" + bytes(4) + SILENT + b"\0"
    return b"desc" + bytes(4) + (len(SILENT) + 1).to_bytes(4, "big") + SILENT + b"\0" + bytes(8 + 3 + 67)
