"""JPEG: the segments that show the picture, and no others (ITU-T T.81; JFIF 1.02; Exif 2.32 for the orientation)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from publisher.sitebuilder import icc
from publisher.sitebuilder.picture import BadPicture

SOI, EOI, SOS, DHT, DAC, DQT, DRI, DNL = 0xD8, 0xD9, 0xDA, 0xC4, 0xCC, 0xDB, 0xDD, 0xDC
FRAMES = frozenset(range(0xC0, 0xD0)) - {DHT, 0xC8, DAC}
TABLES = frozenset({DHT, DAC, DQT, DRI, DNL, 0xDE, 0xDF})
JFIF, EXIF, ICC, ADOBE = 0xE0, 0xE1, 0xE2, 0xEE
PROFILE = b"ICC_PROFILE\0"
LARGEST_PART = 65_519
ORIENTATION = 0x0112
MOST_SEGMENTS = 10_000
FILL = re.compile(rb"\xff*(?=\xff)")
MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]", re.DOTALL)
"""What ends coded data: neither a stuffed zero nor a restart."""


def _segments(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """(marker, content, the whole segment) up to the end of the image; a scan has its coded data after it."""
    if data[:3] != b"\xff\xd8\xff":
        raise BadPicture("image-broken", "this file is named .jpg and is not one")
    at = 2
    for _ in range(MOST_SEGMENTS):
        fill = FILL.match(data, at)
        at = fill.end() if fill else at
        if at + 2 > len(data) or data[at] != 0xFF:
            raise BadPicture("image-broken", "this JPEG file is cut or damaged")
        marker = data[at + 1]
        if marker == EOI:
            return
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if end < at + 4 or end > len(data):
            raise BadPicture("image-broken", "this JPEG file is cut or damaged")
        if marker == SOS:
            end = _end_of_scan(data, end)
        yield marker, data[at + 4 : end], data[at:end]
        at = end
    raise BadPicture("image-too-large", f"a JPEG file has at most {MOST_SEGMENTS} parts")


def _end_of_scan(data: bytes, at: int) -> int:
    """Where the coded data ends: at the next marker."""
    found = MARKER.search(data, at)
    if not found:
        raise BadPicture("image-broken", "this JPEG file ends too early")
    return found.start()


def clean(data: bytes) -> bytes:
    """The file without EXIF, XMP, IPTC, comments, thumbnails and what stands after its end; of a colour profile only the colours.

    How the camera was held is kept, in an EXIF block that holds nothing else: without it the picture would lie on its side.
    """
    head, body, turned = b"", [], 1
    profile: dict[int, bytes] = {}
    for marker, content, whole in _segments(data):
        if marker == JFIF and content.startswith(b"JFIF\0"):
            head = _segment(JFIF, content[:12] + b"\0\0")  # the last two bytes give the size of a thumbnail
        elif marker == EXIF and content.startswith(b"Exif\0\0"):
            turned = _orientation(content[6:])
        elif marker == ICC and content.startswith(PROFILE):
            profile.setdefault(content[len(PROFILE)] if len(content) > len(PROFILE) else 0, content[len(PROFILE) + 2 :])
        elif marker == SOS or marker in FRAMES or marker in TABLES or (marker == ADOBE and content.startswith(b"Adobe")):
            body.append(whole)
    if not any(segment[1] == SOS for segment in body):
        raise BadPicture("image-broken", "this JPEG file has no picture in it")
    exif = _segment(EXIF, _exif_with(turned)) if turned != 1 else b""
    return b"\xff\xd8" + head + exif + _profile(profile) + b"".join(body) + b"\xff\xd9"


def _profile(parts: dict[int, bytes]) -> bytes:
    """The segments of a colour profile, which says its parts' numbers and how many there are."""
    data = icc.neutral(b"".join(parts[number] for number in sorted(parts))) if parts else b""
    cut = [data[at : at + LARGEST_PART] for at in range(0, len(data), LARGEST_PART)]
    if len(cut) > 255:
        return b""
    return b"".join(_segment(ICC, PROFILE + bytes((number, len(cut))) + part) for number, part in enumerate(cut, start=1))


def size(data: bytes) -> tuple[int, int]:
    """Width and height in pixels as shown, after turning."""
    turned = 1
    for marker, content, _ in _segments(data):
        if marker == EXIF and content.startswith(b"Exif\0\0"):
            turned = _orientation(content[6:])
        if marker in FRAMES and len(content) >= 5:
            height, width = int.from_bytes(content[1:3], "big"), int.from_bytes(content[3:5], "big")
            return (height, width) if turned >= 5 else (width, height)
    raise BadPicture("image-broken", "this JPEG file has no picture in it")


def _segment(marker: int, content: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(content) + 2).to_bytes(2, "big") + content


def _orientation(tiff: bytes) -> int:
    """The orientation (1 to 8) in an EXIF block; 1 when it says none."""
    order = {b"II": "little", b"MM": "big"}.get(tiff[:2])
    if order is None:
        return 1
    big = order == "big"
    start = _number(tiff, 4, 4, big)
    for entry in range(start + 2, start + 2 + 12 * min(_number(tiff, start, 2, big), 512), 12):
        if _number(tiff, entry, 2, big) == ORIENTATION:
            found = _number(tiff, entry + 8, 2, big)
            return found if 1 <= found <= 8 else 1
    return 1


def _number(data: bytes, at: int, width: int, big: bool) -> int:
    return int.from_bytes(data[at : at + width], "big" if big else "little")


def _exif_with(turned: int) -> bytes:
    """An EXIF block with the one entry, big-endian: header, count 1, (tag, SHORT, 1 value, value), no further block."""
    entry = ORIENTATION.to_bytes(2, "big") + b"\0\3\0\0\0\1" + turned.to_bytes(2, "big") + b"\0\0"
    return b"Exif\0\0MM\0*\0\0\0\x08\0\1" + entry + b"\0\0\0\0"
