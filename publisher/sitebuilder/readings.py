"""Every way to read some bytes in which private text could be hiding, on purpose or by an accident of encoding.

Rules:
* text in UTF-8 and UTF-16; entities, percent signs, ``\\u`` escapes and quoted-printable undone; tags taken out;
* base64 of sixteen characters and more, at every alignment; whatever is compressed (gzip, zlib, members of zip files), and the
  text chunks of PNG files: each again read in all these ways, three levels deep;
* pixels and sound are not text: of binary bytes, the stretches that are text are read;
* what unpacks to more than can be looked through is not passed as clean: it stops.
"""

from __future__ import annotations

import re
import string
import zlib
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import chain, pairwise

from publisher.errors import StoppedForSafety
from publisher.sitebuilder import png
from publisher.sitebuilder.picture import BadPicture

DEEPEST = 3
LARGEST_UNPACKED = 64 * 1024 * 1024
LARGEST_UTF16 = 1024 * 1024

TAG = re.compile(r"(<[^<>]*>)")
# Each begins with a plain character, so that the search for it is fast.
PERCENT = re.compile(r"%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*")
ESCAPE = re.compile(r"\\u\{?([0-9A-Fa-f]{4,6})\}?|\\x([0-9A-Fa-f]{2})")
JSON_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})")
SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
QUOTED_PRINTABLE = re.compile(r"=(?:\r?\n|([0-9A-F]{2}(?:=[0-9A-F]{2})*))")
BASE64_SIGNS = (string.ascii_letters + string.digits + "+/-_\r\n").encode()
# Both alphabets (RFC 4648) in one, line ends kept, everything else a space.
BASE64 = bytes(b"+/"[b"-_".index(code)] if code in b"-_" else code if code in BASE64_SIGNS else 32 for code in range(256))
SHORTEST_BASE64 = 16
CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r")
TEXT_IN_BINARY = re.compile(
    rb"(?:[\t\n\r -~]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}){6,}|(?:[\t\n\r -~]\0){6,}"
)
# A zlib stream begins with two bytes that are a multiple of 31 (RFC 1950); a preset dictionary (bit 5) cannot be unpacked.
_ZLIB = [bytes((a, b)) for a in range(0x08, 0x79, 0x10) for b in range(256) if (a * 256 + b) % 31 == 0 and not b & 0x20]
PACKED = re.compile(rb"\x1f\x8b\x08|PK\x03\x04|" + b"|".join(re.escape(head) for head in _ZLIB), re.DOTALL)
WORTH_READING = 4


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One way to read some bytes. ``whole`` is all of it; ``text`` is what stands outside tags, ``tags`` what stands in them."""

    whole: str
    text: str
    tags: str


def readings(data: bytes) -> Iterator[Reading]:
    """All texts that ``data`` may be read as. ``StoppedForSafety`` when it unpacks to more than can be looked through.

    Escapes are undone in all of them, so sentinels are looked for in that form too.
    """
    for layer in layers(data, [LARGEST_UNPACKED]):
        for text in _texts(layer):
            whole = undo_escapes(text)
            parts = TAG.split(whole) if "<" in whole else [whole]
            yield Reading(whole=whole, text="".join(parts[::2]), tags="\n".join(parts[1::2]))


def layers(data: bytes, budget: list[int], depth: int = 0) -> Iterator[bytes]:
    """``data`` and whatever is packed in it. ``budget`` counts down the bytes that may still be unpacked."""
    if data.startswith(png.SIGNATURE):
        data = _without_pixels(data)
    yield data
    if depth < DEEPEST:
        for part in ([] if data.isascii() else _unpacked(data, budget)) + _from_base64(data):
            yield from layers(part, budget, depth + 1)


def _without_pixels(data: bytes) -> bytes:
    """A PNG file's chunks without the picture itself, and what stands after its end; all bytes when it is broken."""
    try:
        shown = [content for kind, content, _ in png.chunks(data) if kind not in (b"IDAT", b"fdAT")]
    except BadPicture:
        return data
    return b"\n".join([*shown, data[data.rfind(b"IEND") + 8 :]])


def _unpacked(data: bytes, budget: list[int]) -> list[bytes]:
    found = []
    for match in PACKED.finditer(data):
        at, head = match.start(), match[0]
        if head == b"PK\x03\x04":
            # https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT 4.3.7: two lengths, then name and extra field
            skip = int.from_bytes(data[at + 26 : at + 28], "little") + int.from_bytes(data[at + 28 : at + 30], "little")
            unpacked = _inflate(data, at + 30 + skip, -zlib.MAX_WBITS, budget)
        else:
            unpacked = _inflate(data, at, zlib.MAX_WBITS + 16 if head[0] == 0x1F else zlib.MAX_WBITS, budget)
        if len(unpacked) >= WORTH_READING:
            found.append(unpacked)
    return found


def _inflate(data: bytes, start: int, window: int, budget: list[int]) -> bytes:
    """What can be unpacked from a place on, also when its end is missing."""
    unpacker, out = zlib.decompressobj(window), bytearray()
    try:
        # A short first piece: most places that look like a beginning are none.
        for at, end in pairwise(chain((start,), range(start + 512, len(data), 65536), (len(data),))):
            out += unpacker.decompress(data[at:end], budget[0] + 1 - len(out))
            if len(out) > budget[0]:
                says = "a compressed part is too large to be looked through for leaks"
                raise StoppedForSafety("too-large-to-scan", says, next="replace the file by a smaller one")
            if unpacker.eof:
                break
    except zlib.error:
        pass  # not compressed after all, or damaged: what came out so far is still looked at
    budget[0] -= len(out)
    return bytes(out)


def _from_base64(data: bytes) -> list[bytes]:
    """Whatever in ``data`` is base64 of text or of something packed; one part for each alignment."""
    # A long word, a slug or a hex digest has no capitals; base64 of sixteen characters and more all but always has.
    found = [run for run in data.translate(BASE64).split(b" ") if len(run) >= SHORTEST_BASE64 and not run.islower()]
    runs = [
        line for run in found for line in dict.fromkeys((b"".join(run.split()), *run.split())) if len(line) >= SHORTEST_BASE64
    ]
    parts = [[text for run in runs if _is_meant(text := _decoded(run[shift:]))] for shift in range(4)]
    return [b"\n".join(part) for part in parts if part]


def _decoded(run: bytes) -> bytes:
    whole, rest = len(run) // 4 * 4, len(run) % 4
    return b64decode(run[:whole] + (run[whole:] + b"=" * (4 - rest) if rest > 1 else b""))


def _is_meant(decoded: bytes) -> bool:
    """Whether this was base64 of something, and not a long word or a digest that only looks like it."""
    if len(decoded) > 72 or PACKED.match(decoded) or decoded.startswith(png.SIGNATURE):
        return True
    legible = len(decoded.decode("utf-8", "ignore").encode("utf-8"))
    halves = decoded.replace(b"\0", b"") if b"\0" in decoded else decoded
    return legible >= 0.8 * len(decoded) and len(halves.translate(None, CONTROLS)) >= 0.9 * len(halves)


def _texts(data: bytes) -> Iterator[str]:
    """One layer in its possible character codings."""
    if b"\0" not in data:
        try:
            yield data.decode("utf-8")
            return
        except UnicodeDecodeError:
            pass
    found = b"\n".join(TEXT_IN_BINARY.findall(data))
    yield found.replace(b"\0", b"").decode("utf-8", "ignore")
    if len(data) <= LARGEST_UTF16:
        for shift in (0, 1):
            even = data[shift : shift + (len(data) - shift) // 2 * 2]
            yield even.decode("utf-16-le", "ignore")
            yield even.decode("utf-16-be", "ignore")


def undo_escapes(text: str) -> str:
    """Escapes undone, twice, for those inside others (``&amp;#116;``)."""
    for _ in range(2):
        before = text
        if "&" in text:
            text = unescape(text)
        if "%" in text:
            text = PERCENT.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "ignore"), text)
        if "\\" in text:
            text = ESCAPE.sub(_character, JSON_ESCAPE.sub(_character, text))
            text = SURROGATES.sub(lambda found: found[0].encode("utf-16-be", "surrogatepass").decode("utf-16-be"), text)
        if "=" in text:
            text = QUOTED_PRINTABLE.sub(_quoted, text)
        if text == before:
            break
    return text


def _character(found: re.Match[str]) -> str:
    code = int(next(group for group in found.groups() if group), 16)
    return chr(code) if code <= 0x10FFFF else ""


def _quoted(found: re.Match[str]) -> str:
    return bytes.fromhex(found[1].replace("=", "")).decode("utf-8", "ignore") if found[1] else ""
