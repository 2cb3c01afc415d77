"""What a private draft holds in these tests, and a finder for it that shares nothing with publisher's own leak scan.

Every field of a private draft begins with one phrase (``MARK``), or, where only small letters are allowed, with its short form
(``WORD``). The phrase has capitals, spaces, and letters with several spellings, so that every encoding of it is another one. It is
19 characters long: whoever lets the first twenty characters of a field out lets it out.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import quopri
import re
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from html.entities import codepoint2name
from urllib.parse import quote

from tests.support.sitebuilding import exif, jpeg, jpeg_segment, png, png_chunk, svg

MARK = "Größe Quizlampe Vox"
WORD = "quizlampe-vox"
TOKEN = "tkn-7Qz9vK2mXr4LpW8s"
"""What every secret of a machine holds: tokens, passwords, keys, and addresses that are secrets."""
PRIVATE_PIXELS = 77
"""The width of a private picture: its bytes are like no other's."""

# --- the drafts -------------------------------------------------------------------------------------------------------------------


def private_draft(name: str, *, slug: str = "", category: str = "note", head: str = "") -> dict[str, bytes]:
    """The files of a draft whose every field and file holds the mark, by repository path. ``name`` makes its id and titles unique.

    With a ``slug`` its address and the names of its pictures are plain: what a plan, and whoever reviews it, may name.
    """
    folder, pictures = f"drafts/blog/{slug or f'{WORD}-{name}'}", slug or WORD
    text = f"""---
# {MARK} in a comment
id: q-{name}
title: "{MARK} as the title of {name}"
summary: "{MARK} as the summary of {name}"
category: {category}
tags: [{WORD}-tag, {WORD}-{name}]
{head}---
{MARK} in the first line of {name}.

## {MARK} in a heading

![{MARK} as alternative text]({pictures}-picture.png "{MARK} as a picture's title")
![{MARK}]({pictures}-photo.jpg) ![{MARK}]({pictures}-drawing.svg)

A [link to {MARK}](https://example.org/{WORD}/{quote(MARK)} "{MARK} as a link's title") and a note[^1].

| {MARK} | in a table |
|---|---|
| 1 | {MARK} |

```python
code = "{MARK} in code"
```

[^1]: {MARK} in a footnote.
"""
    return {
        f"{folder}/index.md": text.encode(),
        **{f"{folder}/{file}": data for file, data in private_pictures(pictures).items()},
    }


def private_pictures(word: str = WORD) -> dict[str, bytes]:
    """Pictures with the mark wherever a camera or an editor may write it, and pixels of their own."""
    said = MARK.encode()
    texts = (png_chunk(b"tEXt", b"Title\0" + said), png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(said)))
    return {
        f"{word}-picture.png": png(*texts, width=PRIVATE_PIXELS, after=said),
        f"{word}-photo.jpg": jpeg(exif(1, said), jpeg_segment(0xFE, said), after=said),
        f"{word}-drawing.svg": svg(f"<!-- {MARK} --><title>{MARK}</title><rect width='77' height='7'/>"),
    }


# --- encodings --------------------------------------------------------------------------------------------------------------------


def _each(form: str, text: str) -> bytes:
    return "".join(form.format(ord(character)) for character in text).encode()


def _bytes_of(form: str, text: str) -> bytes:
    return "".join(form.format(byte) for byte in text.encode()).encode()


def _aligned(text: str, shift: int) -> bytes:
    """The part of base64 that depends on ``text`` alone, where it begins ``shift`` bytes into a group of three."""
    coded = base64.b64encode(b"\0" * shift + text.encode())
    head = (0, 2, 3)[shift]
    whole = (shift + len(text.encode())) // 3 * 4
    return coded[head:whole]


def _plain_letters(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).lower()


PATTERNS: Mapping[str, Callable[[str], bytes]] = {
    "raw": lambda text: text.encode(),
    "first 20": lambda text: text[:20].encode(),
    "nfd": lambda text: unicodedata.normalize("NFD", text).encode(),
    "upper": lambda text: text.upper().encode(),
    "lower": lambda text: text.lower().encode(),
    "casefold": lambda text: text.casefold().encode(),
    "latin-1": lambda text: text.encode("latin-1"),
    "utf-16-le": lambda text: text.encode("utf-16-le"),
    "utf-16-be": lambda text: text.encode("utf-16-be"),
    "decimal entities": lambda text: _each("&#{};", text),
    "hex entities": lambda text: _each("&#x{:x};", text),
    "HEX entities": lambda text: _each("&#x{:X};", text),
    "entities for some": lambda text: text.encode("ascii", "xmlcharrefreplace"),
    "named entities": lambda text: "".join(f"&{codepoint2name[ord(c)]};" if ord(c) > 127 else c for c in text).encode(),
    "percent": lambda text: quote(text).encode(),
    "percent lower": lambda text: quote(text).lower().encode(),
    "percent all": lambda text: _bytes_of("%{:02X}", text),
    "percent plus": lambda text: quote(text).replace("%20", "+").encode(),
    "json escapes": lambda text: _each("\\u{:04x}", text),
    "json escapes for some": lambda text: json.dumps(text)[1:-1].encode(),
    "js escapes": lambda text: _each("\\x{:02x}", text),
    "octal escapes": lambda text: "".join(f"\\{b:o}" if b > 127 else chr(b) for b in text.encode()).encode(),
    "base64 +0": lambda text: _aligned(text, 0),
    "base64 +1": lambda text: _aligned(text, 1),
    "base64 +2": lambda text: _aligned(text, 2),
    "base64 of utf-16": lambda text: base64.b64encode(text.encode("utf-16-le"))[:-4],
    "quoted-printable": lambda text: quopri.encodestring(text.encode()).rstrip(b"=\n"),
    "quoted-printable all": lambda text: _bytes_of("={:02X}", text),
    "hex": lambda text: text.encode().hex().encode(),
    "no spaces": lambda text: text.replace(" ", "").encode(),
    "slug": lambda text: "-".join(_plain_letters(text).split()).encode(),
    "slug of the end": lambda text: "-".join(_plain_letters(text).split()[1:]).encode(),
    "snake": lambda text: "_".join(_plain_letters(text).split()[1:]).encode(),
    "letters only": lambda text: "".join(_plain_letters(text).split()[1:]).encode(),
}
"""By name: what some text looks like in bytes. Each is a stretch that stands in the encoding of any longer text around it."""

VIEWED: Mapping[str, Callable[[str], bytes]] = {
    "wrapped": lambda text: text.replace(" ", "\n\t ").encode(),
    "split by tags": lambda text: "".join(f"<i>{letter}</i>" for letter in text).encode(),
    "folded quoted-printable": lambda text: quopri.encodestring(text.encode()).rstrip(b"=\n").replace(b" ", b" =\n"),
    "mime word": lambda text: b"=?utf-8?q?" + _bytes_of("={:02X}", text) + b"?=",
}
"""Encodings that are found only after some reading: tags and line ends taken out."""


def _zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("member.txt", data)
    return out.getvalue()


PACKED: Mapping[str, Callable[[str], bytes]] = {
    "gzip": lambda text: gzip.compress(text.encode(), mtime=0),
    "zlib": lambda text: zlib.compress(text.encode()),
    "zip": lambda text: _zipped(text.encode()),
    "png zTXt": lambda text: png(png_chunk(b"zTXt", b"k\0\0" + zlib.compress(text.encode()))),
    "png iTXt": lambda text: png(png_chunk(b"iTXt", b"k\0\1\0\0\0" + zlib.compress(text.encode()))),
    "gzip of utf-16": lambda text: gzip.compress(text.encode("utf-16-le"), mtime=0),
}
DIGESTS: Mapping[str, Callable[[str], bytes]] = {
    "sha256 of the title": lambda text: sha256(text.encode()).hexdigest().encode(),
    "first 12 of sha256": lambda text: sha256(text.encode()).hexdigest()[:12].encode(),
}
PICTURES: Mapping[str, Callable[[], bytes]] = {
    "picture": lambda: png(width=PRIVATE_PIXELS),
    "picture as it was": lambda: private_pictures()[f"{WORD}-picture.png"],
}


def encodings(text: str = f"{MARK} as the title of queued") -> dict[str, bytes]:
    """``text`` in every encoding, by name: what is planted."""
    made = {**PATTERNS, **VIEWED, **PACKED, **DIGESTS}
    return {name: make(text) for name, make in made.items()} | {name: make() for name, make in PICTURES.items()}


# --- the finder -------------------------------------------------------------------------------------------------------------------

TAGS = re.compile(rb"<[^<>]*>")
SPACE = re.compile(rb"\s+")
SOFT_BREAK = re.compile(rb"=\r?\n")
DEFLATED = re.compile(rb"\x1f\x8b\x08|PK\x03\x04|\x78[\x01\x5e\x9c\xda]", re.DOTALL)
LARGEST = 4 * 1024 * 1024
SHORTEST = 10
TITLES = ("queued", "held", "later", "asked", "odd", "elsewhere", "edited", "marked")
"""The names of the private drafts; the digests of their titles are looked for."""


@cache
def _needles(mark: str) -> dict[str, bytes]:
    found = {name: make(mark) for name, make in PATTERNS.items()} | {name: make(mark) for name, make in DIGESTS.items()}
    for name in TITLES:
        for kind, make in DIGESTS.items():
            found[f"{kind}: {name}"] = make(f"{mark} as the title of {name}")
    pixels = zlib.compress(b"\0" + b"\x7f" * PRIVATE_PIXELS)
    # A mark of one word has no short form.
    return {name: needle for name, needle in {**found, "picture": pixels}.items() if len(needle) >= SHORTEST}


def find(data: bytes, mark: str = MARK) -> set[str]:
    """The encodings in which ``data`` holds the mark; empty where it holds no trace of it."""
    needles = _needles(mark)
    found: set[str] = set()
    for depth, layer in _layers(data):
        found |= {f"packed {name}" if depth else name for name, needle in needles.items() if needle in layer}
        for name, view in _views(layer):
            found |= {f"{name}: {kind}" for kind, needle in needles.items() if needle in view}
        bare = SPACE.sub(b"", TAGS.sub(b"", layer))
        if b"".join(mark.encode().split()) in bare:
            found.add("letters")
    return found


def _views(data: bytes) -> Iterator[tuple[str, bytes]]:
    if b"=\n" in data or b"=\r\n" in data:
        yield "unfolded", SOFT_BREAK.sub(b"", data)


def _layers(data: bytes, depth: int = 0) -> Iterator[tuple[int, bytes]]:
    """``data`` and, three levels deep, whatever in it can be unpacked."""
    yield depth, data
    for match in DEFLATED.finditer(data) if depth < 3 else ():
        head, at = match[0], match.start()
        window = -15 if head[:2] == b"PK" else 31 if head[0] == 0x1F else 15
        if head[:2] == b"PK":
            at += 30 + int.from_bytes(data[at + 26 : at + 28], "little") + int.from_bytes(data[at + 28 : at + 30], "little")
        try:
            unpacked = zlib.decompressobj(window).decompress(data[at:], LARGEST)
        except zlib.error:
            continue
        if unpacked:
            yield from _layers(unpacked, depth + 1)
