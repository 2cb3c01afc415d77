import base64
import gzip
import html
import io
import json
import quopri
import unicodedata
import zipfile
import zlib
from urllib.parse import quote

import pytest

from publisher.errors import StoppedForSafety
from publisher.sitebuilder import readings
from publisher.sitebuilder.builder import Builder
from tests.support.sitebuilding import article, build, draft, exif, jpeg, jpeg_segment, png, png_chunk, svg

BUILDER = Builder()
LINE = "The old pear tree by the gate will be felled in the second week of March"
TOLD = "We have told **neither** the [neighbours](https://example.org/) nor the council about it."
BODY = f"Nobody knows this yet.\n\n{LINE}.\n{TOLD}\n"
SECRET = draft(
    77,
    title="Farewell to a pear tree",
    summary="Why the tree at the gate has to go, and what will stand there instead.",
    body=BODY,
    slug="pear-tree-farewell",
    files={"stump-and-roots.png": png(width=3, after=b"camera"), "a.svg": svg()},
)
PAGE = "<!doctype html><title>x</title><p>{}</p>"


def found(*texts: str | bytes, private=(SECRET,), approved=()) -> bool:
    items = {f"f{number}": text if isinstance(text, bytes) else text.encode() for number, text in enumerate(texts)}
    findings = BUILDER.leaks_in(items, private, approved)
    assert set(findings) <= {f"{name}: {one.id}" for name in items for one in private}
    return bool(findings)


def entities(text: str, form: str) -> str:
    return "".join(form.format(ord(character)) for character in text)


def zipped(text: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", text)
    return out.getvalue()


def raw_zlib(text: str, bits: int) -> bytes:
    packer = zlib.compressobj(wbits=bits)
    return b"\xee\xff\0" + packer.compress(text.encode()) + packer.flush()


ENCODINGS = {
    "raw": lambda s: s.encode(),
    "upper": lambda s: s.upper().encode(),
    "html page": lambda s: PAGE.format(s).encode(),
    "attribute": lambda s: f'<img alt="{s}" src="x">'.encode(),
    "comment": lambda s: f"<!-- {s} -->".encode(),
    "wrapped": lambda s: s.replace(" ", "\n   ").encode(),
    "split by tags": lambda s: ("<b>" + "</b><b>".join(s) + "</b>").encode(),
    "utf-16": lambda s: s.encode("utf-16"),
    "utf-16-le": lambda s: s.encode("utf-16-le"),
    "utf-16-be": lambda s: b"\x01" + s.encode("utf-16-be"),
    "utf-8 bom": lambda s: s.encode("utf-8-sig"),
    "full width": lambda s: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in s).encode(),
    "decimal entities": lambda s: entities(s, "&#{};").encode(),
    "hex entities": lambda s: entities(s, "&#x{:X};").encode(),
    "double entities": lambda s: html.escape(entities(s, "&#{};")).encode(),
    "percent": lambda s: "".join(f"%{byte:02x}" for byte in s.encode()).encode(),
    "percent spaces": lambda s: quote(s).encode(),
    "plus": lambda s: s.replace(" ", "+").encode(),
    "json": lambda s: json.dumps({"a": entities(s, "{}")} | {"b": s}).encode(),
    "json escapes": lambda s: ('{"a": "' + entities(s, "\\u{:04x}") + '"}').encode(),
    "js escapes": lambda s: entities(s, "\\x{:02x}").encode(),
    "css escapes braces": lambda s: entities(s, "\\u{{{:04x}}}").encode(),
    "base64": lambda s: base64.b64encode(s.encode()),
    "base64 +1": lambda s: b"data:text/plain;base64," + base64.b64encode(b"." + s.encode()),
    "base64 +2": lambda s: base64.b64encode(b".." + s.encode()),
    "base64 url": lambda s: base64.urlsafe_b64encode(b"\xff\xfe\xfb" + s.encode()),
    "base64 lines": lambda s: base64.encodebytes(b"x" * 20 + s.encode()),
    "base64 of utf-16": lambda s: base64.b64encode(s.encode("utf-16-le")),
    "quoted-printable": lambda s: quopri.encodestring((s + "é=").encode()),
    "all quoted-printable": lambda s: entities(s, "={:02X}").encode(),
    "gzip": lambda s: gzip.compress(s.encode()),
    "gzip member inside": lambda s: b"\x00\xffjunk" + gzip.compress(s.encode()) + b"tail",
    "cut gzip": lambda s: gzip.compress((s + " " + LINE[::-1] * 50).encode())[:-30],
    "zlib": lambda s: zlib.compress(s.encode()),
    "zlib stored": lambda s: zlib.compress(s.encode(), 0),
    "zlib small window": lambda s: raw_zlib(s, 9),
    "base64 of gzip": lambda s: base64.b64encode(gzip.compress(s.encode())),
    "gzip of base64": lambda s: gzip.compress(base64.b64encode(s.encode())),
    "zip": zipped,
    "png text": lambda s: png(png_chunk(b"tEXt", b"k\0" + s.encode())),
    "png zTXt": lambda s: png(png_chunk(b"zTXt", b"k\0\0" + zlib.compress(s.encode()))),
    "png iTXt": lambda s: png(png_chunk(b"iTXt", b"k\0\1\0\0\0" + zlib.compress(s.encode()))),
    "png end": lambda s: png(after=s.encode()),
    "jpeg comment": lambda s: jpeg(jpeg_segment(0xFE, s.encode())),
    "jpeg exif": lambda s: jpeg(exif(1, s.encode())),
    "git blob": lambda s: zlib.compress(b"blob 5\0" + s.encode()),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("what", ["line", "title", "summary"])
def test_private_text_is_found_in_every_encoding(encoding, what):
    text = {"line": LINE, "title": SECRET.title.reveal(), "summary": SECRET.summary.reveal()}[what]
    assert found(ENCODINGS[encoding](text))
    assert not found(ENCODINGS[encoding]("The hedge along the road was trimmed in October, as it is every single year here"))


@pytest.mark.parametrize(
    "text",
    [
        "We have told <strong>neither</strong> the <a href='https://example.org/'>neighbours</a> nor the council about it.",
        "We have told *neither* the neighbours nor the council about it",
        "…neither the\nneighbours nor the council about it. Then",
        "by the gate will be felled in the second week of March. We have told neither the neig",
    ],
)
def test_parts_of_the_text_are_found_however_they_are_set(text):
    assert found(PAGE.format(text))


@pytest.mark.parametrize(
    "text",
    ["id g-0077.", "/drafts/g-0077.png", "<a href='/pear-tree-farewell/'>", "see pear-tree-farewell", "a/stump-and-roots.png",
     "%2Fpear-tree-farewell%2F", "PEAR-TREE-FAREWELL", "&#112;ear-tree-farewell"],
)  # fmt: skip
def test_names_are_found(text):
    assert found(text)


def test_short_slugs_count_in_addresses_only():
    private = [draft(77, slug="roots", title="Roots", body="x\n", summary="y")]
    for text in ("/roots/", '<a href="/roots">', "https://e.org/roots/", "(roots/)", "/x/roots#y"):
        assert found(text, private=private), text
    for text in ("the roots of it", "<b>x</roots>", "tree-roots", "xmlns:a='http://e.org/roots/'", "/roots.css"):
        assert not found(text, private=private), text
    assert not found("/page/1/", private=[draft(77, slug="1", title="One", body="x\n", summary="y")])


def test_the_path_of_a_file_counts_too():
    assert BUILDER.leaks_in({"pear-tree-farewell/index.html": b""}, [SECRET], []) == ("pear-tree-farewell/index.html: g-0077",)


def test_images_are_found_by_their_bytes_as_they_are_and_cleaned():
    raw = SECRET.files["stump-and-roots.png"]
    for data in (raw, png(width=3), b"blob 9\0" + raw):
        assert found(data)
    assert not found(png(width=3), approved=[article(files={"b.png": png(width=3)})])


def test_unicode_is_compared_in_one_form():
    private = [
        draft(
            77,
            title="Überwinterung der Öpfel — leise",
            body="冬天的梨树将在三月的第二个星期被砍掉，没有人知道这件事。\n",
            slug="x1",
            summary="y",
        )
    ]
    for text in ("Überwinterung der Öpfel – leise", "冬天的梨树将在三月的第二个星期被砍掉"):
        for form in ("NFC", "NFD", "NFKC"):
            spelled = unicodedata.normalize(form, text)
            for data in (
                spelled.encode(),
                spelled.encode("utf-16"),
                quote(spelled).encode(),
                base64.b64encode(spelled.encode()),
            ):
                assert found(data, private=private), (text, form)
    assert found(json.dumps("冬天的梨树将在三月的第二个星期被砍掉"), private=private)
    assert not found("冬天的苹果树在十月修剪过了，年年都是这样做的。", private=private)


def test_what_an_approved_article_says_is_public():
    approved = [article(body=f"{LINE}.\n\nSee [it](/pear-tree-farewell/), and g-0077.\n")]
    for text in (LINE, "/pear-tree-farewell/", "g-0077"):
        assert not found(text, approved=approved) and found(text, approved=[article()])
    assert found(f"{LINE} {SECRET.title.reveal()}", approved=approved), "other text of the same draft still counts"


def test_links_in_approved_markdown_do_not_hide_that_it_is_public():
    approved = [article(body=BODY)]
    assert not found(
        PAGE.format("We have told <b>neither</b> the <a href='x'>neighbours</a> nor the council about it."), approved=approved
    )


def test_a_slug_that_is_a_tag_of_public_articles_is_public():
    private = [draft(77, slug="winter", title="Winter", body="x\n", summary="y")]
    assert not found('<a href="/tags/winter/">', private=private, approved=[article()])


def test_a_draft_that_speaks_about_escapes():
    body = "Write the sign as %E2%82%AC or &euro; in the address of the shop, and never otherwise.\n"
    private = [draft(77, body=body, title="x", slug="x1", summary="y")]
    assert found(body, private=private) and found(PAGE.format(html.escape(body)), private=private)


def test_a_clean_release_has_no_findings(tmp_path):
    articles = [article(number, body="Text.\n\n![w](w.png)\n", files={"w.png": png()}) for number in range(1, 13)]
    release, _ = build(tmp_path, *articles)
    assert BUILDER.leaks(release, [SECRET, draft(78, body="Another quiet text about moles and their ways.\n")], articles) == ()
    assert BUILDER.leaks(release, [], articles) == ()


def test_a_leak_in_a_release_names_path_and_draft_only(tmp_path):
    articles = [article(1), article(2, body=f"{LINE}.\n")]
    release, _ = build(tmp_path, *articles, static={"old.txt": SECRET.title.reveal().encode()})
    assert BUILDER.leaks(release, [SECRET], articles[:1]) == (
        "atom.xml: g-0077", "bed-2/index.html: g-0077", "feed.xml: g-0077", "old.txt: g-0077",
    )  # fmt: skip


def test_findings_are_sorted_and_name_every_draft():
    other = draft(8, title="A quite different secret", body="x\n", summary="y", slug="x8")
    items = {"b": f"{LINE} a quite different secret".encode(), "a": LINE.encode()}
    assert BUILDER.leaks_in(items, [SECRET, other], []) == ("a: g-0077", "b: g-0008", "b: g-0077")


def test_a_bomb_stops_instead_of_passing(monkeypatch):
    monkeypatch.setattr(readings, "LARGEST_UNPACKED", 100_000)
    with pytest.raises(StoppedForSafety) as caught:
        found(gzip.compress(bytes(1_000_000)))
    assert caught.value.code == "too-large-to-scan"
