import struct
import zlib

import pytest

from publisher.errors import InputProblem
from publisher.sitebuilder import icc
from publisher.sitebuilder.images import clean, size_of
from publisher.sitebuilder.png import chunks
from tests.support.sitebuilding import colours, exif, jpeg, jpeg_segment, png, png_chunk, svg

SECRET = b"taken at home by Ada"


def refused(name: str, data: bytes) -> str:
    with pytest.raises(InputProblem) as caught:
        clean(name, data, "w:1:1")
    assert caught.value.where == "w:1:1" and "Ada" not in str(caught.value)
    return caught.value.code


def test_png_loses_what_is_not_the_picture():
    extra = [
        png_chunk(b"tEXt", b"Author\0" + SECRET),
        png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(SECRET)),
        png_chunk(b"iTXt", b"XML\0\0\0\0\0" + SECRET),
        png_chunk(b"eXIf", b"MM\0*" + SECRET),
        png_chunk(b"tIME", bytes(7)),
        png_chunk(b"prVt", SECRET),
    ]
    kept = png_chunk(b"pHYs", struct.pack(">IIB", 2835, 2835, 1))
    assert clean("a.png", png(kept, *extra, after=SECRET), "w:1:1") == png(kept)
    assert size_of("a.png", png(width=7, height=5)) == (7, 5)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GIF89a",
        png()[:-6],
        png()[:40] + b"\x01" + png()[41:],
        png(png_chunk(b"ABCD", b"")),
        b"\x89PNG\r\n\x1a\n" + png_chunk(b"IEND", b""),
        jpeg(),
    ],
)
def test_broken_png_is_refused(data):
    assert refused("a.png", data) == "image-broken"


def test_too_many_pixels_are_refused_without_decoding():
    data = png().replace(png()[8:33], png_chunk(b"IHDR", struct.pack(">IIBBBBB", 50_000, 50_000, 8, 0, 0, 0, 0)))
    assert refused("a.png", data) == "image-too-large"


def test_jpeg_loses_what_is_not_the_picture():
    extra = [
        jpeg_segment(0xFE, SECRET),
        jpeg_segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + SECRET),
        jpeg_segment(0xED, b"Photoshop 3.0\0" + SECRET),
        jpeg_segment(0xE0, b"JFXX\0\x10" + SECRET),
        jpeg_segment(0xE2, b"MPF\0" + SECRET),
    ]
    cleaned = clean("a.jpg", jpeg(*extra, exif(1), after=SECRET), "w:1:1")
    assert SECRET not in cleaned and b"GPS" not in cleaned and b"thu" not in cleaned
    # What shows the picture is there, byte for byte, in order.
    assert cleaned == jpeg().replace(b"\x01\x01thu", b"\0\0").replace(b"\0\x15JFIF", b"\0\x10JFIF") or cleaned.endswith(
        jpeg()[jpeg().index(b"\xff\xdb") :]
    )
    assert clean("a.jpg", cleaned, "w:1:1") == cleaned


def test_jpeg_keeps_how_it_was_held_and_its_colours():
    profile = colours(b"Screen of Ann, serial C02XK")
    halves = [
        jpeg_segment(0xE2, b"ICC_PROFILE\0" + bytes((number, 2)) + part)
        for number, part in ((2, profile[200:]), (1, profile[:200]))
    ]
    adobe = jpeg_segment(0xEE, b"Adobe\0\x64\0\0\0\0\x01")
    cleaned = clean("a.jpeg", jpeg(exif(6), *halves, adobe), "w:1:1")
    assert jpeg_segment(0xE2, b"ICC_PROFILE\0\x01\x01" + icc.neutral(profile)) in cleaned
    assert adobe in cleaned and b"GPS" not in cleaned and b"C02XK" not in cleaned
    assert clean("a.jpeg", cleaned, "w:1:1") == cleaned
    assert size_of("a.jpeg", cleaned) == (3, 4) and size_of("a.jpeg", jpeg()) == (4, 3)
    assert clean("a.jpeg", cleaned, "w:1:1") == cleaned


def test_progressive_jpeg_keeps_every_scan():
    more = jpeg_segment(0xC4, bytes(17)) + jpeg_segment(0xDA, b"\x01\x01\0\x01\x3f\0") + b"\x77\xff\xd1\x78"
    data = jpeg(scan=b"\x12" + more)
    assert clean("a.jpg", data, "w:1:1").endswith(data[data.index(b"\xff\xdb") :])


@pytest.mark.parametrize("data", [b"", b"\xff\xd8\xff", jpeg()[:-2], jpeg()[:60], png(), b"\xff\xd8\xff\xd9"])
def test_broken_jpeg_is_refused(data):
    assert refused("a.jpg", data) == "image-broken"


def test_svg_loses_its_comments_only():
    data = b'<?xml version="1.0" encoding="UTF-8"?>\n' + svg("<!-- by Ada --><g><path d='M0 0'/></g>")
    assert clean("a.svg", data, "w:1:1") == data.replace(b"<!-- by Ada -->", b"")
    assert size_of("a.svg", svg(attributes='width="12px" height="8"')) == (12, 8)
    assert size_of("a.svg", svg(attributes='width="100%"')) is None


@pytest.mark.parametrize(
    "data",
    [
        b"not xml",
        b"<svg/>",
        b'<!DOCTYPE svg [<!ENTITY a "b">]>' + svg(),
        b'<!doctype svg SYSTEM "x">' + svg(),
        svg("<script>alert(1)</script>"),
        svg('<a href="https://example.org"><text>x</text></a>'),
        svg('<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>'),
        svg('<image href="a.png"/>'),
        svg('<use href="https://example.org/a.svg#b"/>'),
        svg('<use xmlns:x="http://www.w3.org/1999/xlink" x:href="other.svg#b"/>'),
        svg('<rect onclick="x()"/>'),
        svg('<rect OnLoad="x()"/>'),
        svg('<rect><animate attributeName="href" to="javascript:x"/></rect>'),
        svg("<style>@import 'https://example.org/a.css';</style>"),
        svg("<style>rect{fill:url(https://example.org/a.svg#b)}</style>"),
        svg("<style>rect{fill:u\\72l(x)}</style>"),
        svg("<style><title/>@import 'x';</style>"),
        svg('<rect style="fill:url(a.svg#b)"/>'),
        svg('<rect fill="url(//example.org/a#b)"/>'),
        svg("<metadata>Ada</metadata>"),
        svg('<g xmlns:i="http://www.inkscape.org/namespaces/inkscape" i:export-filename="/home/ada/x"/>'),
        svg('<g xml:base="https://example.org/"/>'),
        b'<?xml-stylesheet href="a.css"?>' + svg(),
        svg("<![CDATA[x]]>"),
        svg().decode().encode("utf-16"),
        b"\xff\xfe" + svg(),
    ],
)
def test_svg_that_runs_loads_or_remembers_is_refused(data):
    assert refused("a.svg", data) == "svg-refused"


def test_svg_may_refer_to_itself():
    data = svg('<defs><linearGradient id="a"/></defs><style>rect{fill:url(#a)}</style><rect fill="url(#a)"/><use href="#a"/>')
    assert clean("a.svg", data, "w:1:1") == data


@pytest.mark.parametrize("name", ["a.gif", "a.webp", "a.avif", "a.html", "a"])
def test_other_types_are_refused(name):
    assert refused(name, b"x") == "image-type-refused"


@pytest.mark.parametrize("version", [2, 4])
def test_a_colour_profile_keeps_its_colours_and_nothing_else(version: int) -> None:
    profile = colours(b"Screen of Ann, serial C02XK", version)
    made = icc.neutral(profile)
    assert icc.neutral(made) == made and int.from_bytes(made[:4], "big") == len(made)
    for private in (b"Ann", "Ann".encode("utf-16-be"), b"APPL", b"MODL", b"vcgt", b"\x07\xea"):
        assert private in profile or private == "Ann".encode("utf-16-be")
        assert private not in made
    tags = {made[at : at + 4] for at in range(132, 132 + 12 * made[131], 12)}
    assert tags == {b"desc", b"cprt", b"rXYZ", b"rTRC"}
    assert b"XYZ \0\0\0\0red!" in made and made[12:24] == b"mntrRGB XYZ "


@pytest.mark.parametrize("broken", [b"", b"short", colours(b"x")[:150], colours(b"x").replace(b"acsp", b"xxxx"), bytes(200)])
def test_a_damaged_profile_is_left_out(broken: bytes) -> None:
    assert icc.neutral(broken) == b""
    kept = clean("a.png", png(png_chunk(b"iCCP", b"Ann\0\0" + zlib.compress(broken))), "w:1:1")
    assert b"iCCP" not in kept and b"Ann" not in kept


def test_png_keeps_its_colours_in_the_same_bytes_everywhere() -> None:
    profile = colours(b"Screen of Ann" + bytes(70_000))
    made = clean("a.png", png(png_chunk(b"iCCP", b"Screen of Ann\0\0" + zlib.compress(profile))), "w:1:1")
    assert b"Ann" not in made and clean("a.png", made, "w:1:1") == made
    kept = next(content for kind, content, _ in chunks(made) if kind == b"iCCP")
    assert zlib.decompress(kept[5:]) == icc.neutral(profile)
