"""PNG: the chunks that show the picture, and no others (https://www.w3.org/TR/png-3/)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from publisher.sitebuilder.picture import BadPicture

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CRITICAL = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
# Colour, transparency, pixel density and animation: without them the picture looks different.
MOST_CHUNKS = 20_000
SHOWN = CRITICAL | {b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP", b"sBIT", b"bKGD", b"pHYs", b"acTL", b"fcTL", b"fdAT"}


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """(type, content, the whole chunk) up to IEND. ``BadPicture`` for a file that is cut or damaged."""
    at, count = len(SIGNATURE), 0
    if data[:at] != SIGNATURE:
        raise BadPicture("image-broken", "this file is named .png and is not one")
    while True:
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        end = at + 12 + length
        if len(kind) < 4 or end > len(data):
            raise BadPicture("image-broken", "this PNG file ends too early")
        content = data[at + 8 : end - 4]
        if zlib.crc32(kind + content) != int.from_bytes(data[end - 4 : end], "big"):
            raise BadPicture("image-broken", "this PNG file has a wrong checksum")
        yield kind, content, data[at:end]
        if kind == b"IEND":
            return
        count += 1
        if count > MOST_CHUNKS:
            raise BadPicture("image-too-large", f"a PNG file has at most {MOST_CHUNKS} parts")
        at = end


def clean(data: bytes) -> bytes:
    """The file with text, times, EXIF and everything unknown left out, and nothing after its end."""
    kept, kinds = [], []
    for kind, _, chunk in chunks(data):
        if kind in SHOWN:
            kept.append(chunk)
            kinds.append(kind)
        elif not kind[0] & 0x20:
            raise BadPicture("image-broken", "this PNG file has a critical part that no viewer knows")
    if kinds[0] != b"IHDR" or b"IDAT" not in kinds:
        raise BadPicture("image-broken", "this PNG file has no picture in it")
    return SIGNATURE + b"".join(kept)


def size(data: bytes) -> tuple[int, int]:
    """Width and height in pixels."""
    kind, header, _ = next(chunks(data))
    if kind != b"IHDR" or len(header) != 13:
        raise BadPicture("image-broken", "this PNG file has no header")
    return int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
