"""Sites, articles, drafts and images for the builder's tests."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from publisher.domain.article import Draft, Private, PublicArticle, Release
from publisher.domain.instance import Site, TargetSpec
from publisher.ports import BuildRequest
from publisher.sitebuilder.builder import Builder
from publisher.sitebuilder.theme import default_theme

SITE = Site(
    id="garden",
    url="https://garden.example",
    zone_name="Europe/Paris",
    title="A garden diary",
    description="What grows, and what does not.",
    language="en",
    author="Ada Moss",
    tag_authority="garden.example,2026-01-01",
    target=TargetSpec(kind="directory", options={}),
)


def article(number: int = 1, **changes: Any) -> PublicArticle:
    """The article of a number; later numbers have later dates."""
    slug = changes.pop("slug", f"bed-{number}")
    made = PublicArticle(
        id=f"g-{number:04}",
        url=f"/{slug}/",
        guid=SITE.guid_of(f"g-{number:04}"),
        title=f"Bed number {number}",
        summary=f"How bed {number} came through the winter.",
        category="beds",
        tags=("winter",),
        date=f"2026-{1 + number // 28:02}-{1 + number % 28:02}T09:00:00+01:00",
        body=f"Bed {number} has a south wall.\n",
    )
    return replace(made, **changes)


def draft(number: int = 1, *, body: str = "Some text.\n", head: str = "---\ntitle: x\n---\n", **changes: Any) -> Draft:
    """A draft that belongs to ``article(number)``. ``files`` are those beside its index.md."""
    beside = changes.pop("files", {})
    made = Draft(
        id=f"g-{number:04}",
        slug=f"bed-{number}",
        source=f"drafts/garden/bed-{number}",
        title=Private(changes.pop("title", f"Bed number {number}")),
        summary=Private(changes.pop("summary", f"How bed {number} came through the winter.")),
        category="beds",
        body=Private(body),
        files={"index.md": (head + body).encode(), **beside},
    )
    return replace(made, **changes)


def request(*articles: PublicArticle, theme: Mapping[str, bytes] | None = None, **changes: Any) -> BuildRequest:
    made = BuildRequest(site=SITE, articles=articles, theme=default_theme() if theme is None else theme, output=1)
    return replace(made, **changes)


def build(into: Path, *articles: PublicArticle, **changes: Any) -> tuple[Release, dict[str, str]]:
    """The release and the text of every file in it."""
    folder = into / f"out-{len(list(into.iterdir()))}"
    folder.mkdir()
    release = Builder().build(request(*articles, **changes), str(folder))
    return release, {path: (folder / path).read_bytes().decode("utf-8", "replace") for path in release.files}


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*extra: bytes, width: int = 2, height: int = 1, after: bytes = b"") -> bytes:
    """A grey picture with further chunks before its end."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    pixels = png_chunk(b"IDAT", zlib.compress(b"".join(b"\0" + b"\x7f" * width for _ in range(height))))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(extra) + pixels + png_chunk(b"IEND", b"") + after


def jpeg(*extra: bytes, scan: bytes = b"\x12\xff\x00\x34\xff\xd0\x56", after: bytes = b"") -> bytes:
    """The shape of a JPEG file (its coded data is not a real picture): 4 wide, 3 high."""
    jfif = jpeg_segment(0xE0, b"JFIF\0\x01\x02\0\0\x48\0\x48\x01\x01thu")
    table = jpeg_segment(0xDB, b"\0" + bytes(64))
    frame = jpeg_segment(0xC0, b"\x08\0\x03\0\x04\x01\x01\x11\0")
    start = jpeg_segment(0xDA, b"\x01\x01\0\0\x3f\0")
    return b"\xff\xd8" + jfif + b"".join(extra) + table + frame + start + scan + b"\xff\xd9" + after


def jpeg_segment(marker: int, content: bytes) -> bytes:
    return bytes((0xFF, marker)) + struct.pack(">H", len(content) + 2) + content


def colours(secret: bytes, version: int = 2) -> bytes:
    """A colour profile with a secret name, a maker, a model, a date and a private tag."""
    tags = {
        b"desc": b"desc" + bytes(4) + struct.pack(">I", len(secret) + 1) + secret + bytes(79),
        b"cprt": b"text" + bytes(4) + secret + b"\0", b"rXYZ": b"XYZ \0\0\0\0red!", b"rTRC": b"curv" + bytes(8),
        b"vcgt": b"vcgt" + secret,
    }  # fmt: skip
    table, body, place = struct.pack(">I", len(tags)), b"", 132 + 12 * len(tags)
    for name, data in tags.items():
        padded = data + bytes(-len(data) % 4)
        table += name + struct.pack(">II", place, len(data))
        body, place = body + padded, place + len(padded)
    head = struct.pack(">I4sBBBB", place, b"appl", version, 0, 0, 0) + b"mntrRGB XYZ " + b"\x07\xea" + bytes(10)
    head += b"acsp" + b"APPL" + bytes(4) + b"APPL" + b"MODL" + bytes(24)
    return head.ljust(128, b"\1") + table + body


def exif(orientation: int, secret: bytes = b"GPS 48.85 2.35") -> bytes:
    """A little-endian EXIF segment with an orientation and something that must not become public."""
    entries = struct.pack("<H", 2)
    entries += struct.pack("<HHII", 0x010E, 2, len(secret), 60) + struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0)
    return jpeg_segment(0xE1, b"Exif\0\0II*\0\x08\0\0\0" + entries + bytes(4) + b" " * 18 + secret)


def svg(inside: str = '<rect width="4" height="4"/>', attributes: str = 'viewBox="0 0 40 30"') -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{inside}</svg>'.encode()
