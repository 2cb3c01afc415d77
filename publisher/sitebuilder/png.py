"""PNG: the chunks that show the picture, and no others (https://www.w3.org/TR/png-3/)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from publisher.sitebuilder import icc
from publisher.sitebuilder.picture import BadPicture

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CRITICAL = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
# Colour, transparency, pixel density and animation: without them the picture looks different.
MOST_CHUNKS = 20_000
LARGEST_PROFILE = 4 * 1024 * 1024
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
    """The file without text, times, EXIF, everything unknown and what stands after its end; of a colour profile only the colours."""
    kept, kinds = [], []
    for kind, content, chunk in chunks(data):
        if kind in SHOWN:
            kept.append(_profile(content) if kind == b"iCCP" else chunk)
            kinds.append(kind)
        elif not kind[0] & 0x20:
            raise BadPicture("image-broken", "this PNG file has a critical part that no viewer knows")
    if kinds[0] != b"IHDR" or b"IDAT" not in kinds:
        raise BadPicture("image-broken", "this PNG file has no picture in it")
    return SIGNATURE + b"".join(kept)


def _profile(content: bytes) -> bytes:
    """The chunk of a colour profile (name, 0, method 0, zlib data); b"" for one that cannot be read."""
    name, _, rest = content.partition(b"\0")
    opened = zlib.decompressobj()
    try:
        data = opened.decompress(rest[1:], LARGEST_PROFILE) if rest[:1] == b"\0" else b""
    except zlib.error:
        return b""
    data = icc.neutral(data) if opened.eof and len(name) < 80 else b""
    return _chunk(b"iCCP", b"icc\0\0" + _stored(data)) if data else b""


def _chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")


def _stored(data: bytes) -> bytes:
    """zlib data that is not compressed: the same bytes whatever library a machine has."""
    blocks = [data[at : at + 65535] for at in range(0, len(data), 65535)]
    made = b"".join(
        bytes((number == len(blocks),)) + len(block).to_bytes(2, "little") + (len(block) ^ 0xFFFF).to_bytes(2, "little") + block
        for number, block in enumerate(blocks, start=1)
    )
    return b"\x78\x01" + made + zlib.adler32(data).to_bytes(4, "big")


def size(data: bytes) -> tuple[int, int]:
    """Width and height in pixels."""
    kind, header, _ = next(chunks(data))
    if kind != b"IHDR" or len(header) != 13:
        raise BadPicture("image-broken", "this PNG file has no header")
    return int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
