"""Drafts, their Markdown, the files beside them: as they are committed, and as a request that plans them is reviewed."""

from __future__ import annotations

import base64
import zlib

from publisher.domain.fingerprint import article_fingerprint, digest
from tests.hostile.case import PLAN, REVIEW, Case, Puts, S
from tests.hostile.ground import Entry
from tests.support.sitebuilding import exif, jpeg, jpeg_segment, png, png_chunk, svg

FOLDER = "drafts/blog/article-0005"
TEXT = f"{FOLDER}/index.md"
NEW = "plans/blog/daily/2026/2026-03-03.yaml"
HEAD = b'---\nid: a-0005\ntitle: "' + S + b'"\nsummary: "' + S + b'"\ncategory: guide\ntags: [test]\n---\n'
LINES = HEAD.count(b"\n")
MIB = 1024 * 1024 - 1024

# name → (body, code, line of the body)
LINKS: dict[str, tuple[bytes, str, int]] = {
    "javascript": (b"[a](javascript:alert(1))", "scheme-refused", 1),
    "javascript in capitals": (b"[a](JaVaScRiPt:x)", "scheme-refused", 1),
    "javascript by entity": (b"[a](&#106;avascript:x)", "scheme-refused", 1),
    "data": (b"[a](data:text/html;base64,eA==)", "scheme-refused", 1),
    "vbscript": (b"[a](vbscript:x)", "scheme-refused", 1),
    "file": (b"[a](file:///etc/passwd)", "scheme-refused", 1),
    "autolinked scheme": (b"<javascript:x>", "scheme-refused", 1),
    "protocol-relative": (b"[a](//evil.example/)", "reference-refused", 1),
    "dots": (b"[a](/../x/)", "reference-refused", 1),
    "backslash": (b"[a](\\\\evil.example)", "reference-refused", 1),
    "percent backslash": (b"[a](/x%5c..)", "reference-refused", 1),
    "query": (b"[a](/x/?y)", "reference-refused", 1),
    "upper file": (b"![a](X.PNG)", "reference-refused", 1),
    "folder": (b"![a](img/x.png)", "reference-refused", 1),
    "up": (b"![a](../x.png)", "reference-refused", 1),
    "remote image": (b"![a](https://evil.example/x.png)", "remote-image", 1),
    "tracking pixel": (b"\n\n![](//evil.example/x.png)", "remote-image", 3),
    "data image": (b"![a](data:image/png;base64,eA==)", "remote-image", 1),
    "page as image": (b"![a](index.md)", "reference-refused", 1),
    "git folder": (b"[a](.git/config)", "reference-refused", 1),
    "missing file": (b"\n![a](nope.png)", "draft-file-missing", 2),
    "many files": (b"".join(b"![a](x%d.png)\n" % n for n in range(201)), "draft-too-many-files", 0),
    "reference link": (b"[a][b]\n\n[b]: javascript:x", "scheme-refused", 1),
    "in a footnote": (b"x[^1]\n\n[^1]: [a](javascript:x)", "scheme-refused", 0),
    "in a table": (b"|a|\n|-|\n|[a](data:x)|", "scheme-refused", 0),
    "bidi in a link": ("[a](\u202ejs)".encode(), "reference-refused", 1),
}
# A megabyte, or as much of it as is needed.
TANGLED: dict[str, tuple[bytes, str]] = {
    "paragraphs": (b"[[[[[[[[[[\n\n" * 80_000, "text-too-tangled"),
    "table of cells": (b"|a" * 2000 + b"|\n" + b"|-" * 2000 + b"|\n" + b"|b\n" * 9000, "text-too-tangled"),
    "too large": (b"a\n\n" * 400_000, "draft-too-big"),
    "nul": (b"a\0b " + S, "draft-characters"),
    "escape": (b"\x1b]0;" + S, "draft-characters"),
    "noncharacter": ("a\ufffe".encode(), "draft-characters"),
    "c1": ("a\u009b31m".encode(), "draft-characters"),
    "not utf-8": (b"caf\xe9 " + S, "draft-not-utf8"),
    "crlf": (b"a\r\nb", "draft-line-ends"),
    "bell": (b"a\x07", "draft-characters"),
    "zero-width no-break": ("a\ufeff".encode(), "draft-characters"),
}


def cases(texts: dict[str, bytes]) -> list[Case]:
    made = []
    for name, (body, code, line) in LINKS.items():
        where = f"{TEXT}:{LINES + line}" if line else TEXT
        made.append(Case(kind="link", name=name, argv=PLAN, code=code, where=where, commits={TEXT: HEAD + body + b"\n"}))
    for name, (body, code) in TANGLED.items():
        made.append(
            Case(kind="text", name=name, argv=PLAN, code=code, where=TEXT, commits={TEXT: HEAD + body + b"\n"}, seconds=1.5)
        )
    return made + _front() + _beside() + _pictures(texts) + _legal(texts)


def _front() -> list[Case]:
    body = HEAD + b"Text.\n"
    rows: dict[str, tuple[bytes, str]] = {
        "no fence": (b"# " + S, "front-matter-missing"),
        "blank line first": (b"\n" + body, "front-matter-missing"),
        "space after fence": (body.replace(b"---\n", b"--- \n", 1), "front-matter-missing"),
        "toml fence": (b"+++\nid = 1\n+++\n", "front-matter-missing"),
        "open": (b"---\nid: a-0005\n" + S, "front-matter-open"),
        "longer fence": (b"----\n" + body, "front-matter-missing"),
        "empty": (b"", "front-matter-missing"),
        "two fences": (b"---\n---\n" + S, "yaml-empty"),
        "dots end": (b"---\nid: a-0005\n...\n" + S, "front-matter-open"),
        "draft twice": (body.replace(b"tags:", b"draft: true\ndraft: false\ntags:"), "yaml-repeated-key"),
        "draft as text": (body.replace(b"tags:", b"draft: yes\ntags:"), "schema-type"),
        "draft in capitals": (body.replace(b"tags:", b"Draft: true\ntags:"), "schema-additional-properties"),
        "published": (body.replace(b"tags:", b"published: false\ntags:"), "schema-additional-properties"),
        "permalink": (body.replace(b"tags:", b"permalink: /../\ntags:"), "schema-additional-properties"),
        "front matter bomb": (body.replace(b"tags:", b"zz: " + b"[" * 200 + b"\ntags:"), "yaml-too-deep"),
        "front matter too big": (body.replace(b"tags:", b"# " + b"z" * 70_000 + b"\ntags:"), "yaml-too-big"),
        "tag": (body.replace(b"[test]", b"[con]"), "draft-name"),
    }
    return [
        Case(kind="front", name=name, argv=PLAN, code=code, where=TEXT, commits={TEXT: text})
        for name, (text, code) in rows.items()
    ]


def _beside() -> list[Case]:
    text = HEAD + b"![a](x.png)\n"
    at, lfs = f"{FOLDER}/x.png", b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 1\n"
    commit = b"1234567890123456789012345678901234567890"
    rows: dict[str, tuple[Puts, str, str]] = {
        "link to a secret": ({TEXT: text, at: Entry("120000", b"/etc/passwd")}, "draft-symlink", at),
        "link up": ({TEXT: text, at: Entry("120000", b"../../../publisher.yaml")}, "draft-symlink", at),
        "submodule": ({TEXT: text, at: Entry("160000", commit)}, "draft-submodule", at),
        "executable": ({TEXT: text, at: Entry("100755", b"x")}, "draft-executable", at),
        "lfs pointer": ({TEXT: text, at: lfs}, "draft-lfs-pointer", at),
        "folder": ({TEXT: text, f"{at}/y": b"x"}, "draft-file-missing", TEXT),
        "text is a link": ({TEXT: Entry("120000", b"/etc/passwd")}, "draft-symlink", TEXT),
        "text is a submodule": ({TEXT: Entry("160000", commit)}, "draft-submodule", TEXT),
        "text is executable": ({TEXT: Entry("100755", text)}, "draft-executable", TEXT),
        "text is a pointer": ({TEXT: lfs}, "draft-lfs-pointer", TEXT),
        "text is a folder": ({TEXT: None, f"{TEXT}/x": b"x"}, "draft-missing", TEXT),
        "text in capitals": ({TEXT: None, f"{FOLDER}/INDEX.md": text}, "draft-missing", TEXT),
        "11 MiB": ({TEXT: text, at: bytes(12 * MIB)}, "draft-too-big", at),
        "folder is a link": ({TEXT: None, FOLDER: Entry("120000", b"article-0006")}, "draft-missing", TEXT),
        "folder is a submodule": ({TEXT: None, FOLDER: Entry("160000", commit)}, "draft-missing", TEXT),
    }
    return [
        Case(kind="beside", name=name, argv=PLAN, code=code, where=where, commits=puts)
        for name, (puts, code, where) in rows.items()
    ]


# --- pictures, met by the review of a request that plans them -----------------------------------------------------------------


def requested(texts: dict[str, bytes], text: bytes, files: dict[str, bytes]) -> Puts:
    """A draft, the files beside it, and a plan that names exactly them."""
    old = texts["plans/blog/daily/2026/2026-03-02.yaml"].replace(b"2026-03-02", b"2026-03-03")
    head, _, rows = old.partition(b"articles:\n")
    first, second = rows.splitlines()
    made = []
    for row, was, number, content in ((first, b"0003", b"0005", {"index.md": text, **files}), (second, b"0004", b"0006", None)):
        found = content or {"index.md": texts["drafts/blog/article-0006/index.md"]}
        fingerprint = article_fingerprint({name: digest(data) for name, data in found.items()})
        made.append(row.replace(was, number)[: row.index(b'fingerprint: "')] + f'fingerprint: "{fingerprint}"}}'.encode())
    return {
        TEXT: text,
        **{f"{FOLDER}/{name}": data for name, data in files.items()},
        NEW: head + b"articles:\n" + b"\n".join(made) + b"\n",
    }


BIG = 40_000
PICTURES: dict[str, tuple[str, bytes, str]] = {
    "png bomb": ("x.png", png(width=1).replace(b"\0\0\0\1\0\0\0\1", b"\xff\xff\xff\xff" * 2, 1), "image-broken"),
    "png pixels": (
        "x.png",
        b"\x89PNG\r\n\x1a\n"
        + png_chunk(b"IHDR", b"\x7f\xff\xff\xff" * 2 + b"\x08\0\0\0\0")
        + png_chunk(b"IDAT", b"x")
        + png_chunk(b"IEND", b""),
        "image-too-large",
    ),
    "png cut": ("x.png", png()[:-20], "image-broken"),
    "png without end": ("x.png", png()[:-12], "image-broken"),
    "png checksum": ("x.png", png().replace(b"IDAT", b"IDAU"), "image-broken"),
    "png length": ("x.png", png()[:8] + b"\xff\xff\xff\xff" + png()[12:], "image-broken"),
    "png critical": ("x.png", png(png_chunk(b"ZZZZ", b"x")), "image-broken"),
    "png of nothing": ("x.png", b"\x89PNG\r\n\x1a\n" + png_chunk(b"IEND", b""), "image-broken"),
    "png parts": ("x.png", png(png_chunk(b"tEXt", b"") * BIG), "image-too-large"),
    "png empty": ("x.png", b"", "image-broken"),
    "png is gif": ("x.png", b"GIF89a" + bytes(50), "image-broken"),
    "png is html": ("x.png", b"<script>" + S, "image-broken"),
    "png is zip": ("x.png", b"PK\x03\x04" + bytes(60), "image-broken"),
    "png is jpg": ("x.png", jpeg(), "image-broken"),
    "png is webp": ("x.png", b"RIFF\0\0\0\0WEBPVP8 ", "image-broken"),
    "jpg cut": ("x.jpg", jpeg()[:-2], "image-broken"),
    "jpg pixels": ("x.jpg", jpeg().replace(b"\x08\0\x03\0\x04", b"\x08\xff\xff\xff\xff"), "image-too-large"),
    "jpg length": ("x.jpg", b"\xff\xd8\xff\xe0\xff\xff", "image-broken"),
    "jpg length of one": ("x.jpg", b"\xff\xd8\xff\xe0\0\1" + bytes(9), "image-broken"),
    "jpg of fill": ("x.jpg", b"\xff\xd8" + b"\xff" * (9 * MIB), "image-broken"),
    "jpg parts": ("x.jpg", jpeg(jpeg_segment(0xFE, b"") * BIG), "image-too-large"),
    "jpg of nothing": ("x.jpg", b"\xff\xd8\xff\xd9", "image-broken"),
    "jpg is png": ("x.jpeg", png(), "image-broken"),
    "jpg exif": ("x.jpg", b"\xff\xd8" + jpeg_segment(0xE1, b"Exif\0\0II*\0\xff\xff\xff\xff") + b"\xff\xd9", "image-broken"),
    "svg script": ("x.svg", svg("<script>alert(1)</script>"), "svg-refused"),
    "svg handler": ("x.svg", svg('<g onclick="x()"/>'), "svg-refused"),
    "svg foreign": ("x.svg", svg("<foreignObject><b/></foreignObject>"), "svg-refused"),
    "svg animate": ("x.svg", svg('<animate attributeName="href"/>'), "svg-refused"),
    "svg link": ("x.svg", svg('<a href="#x"/>'), "svg-refused"),
    "svg use": ("x.svg", svg('<use href="https://evil.example/x.svg#a"/>'), "svg-refused"),
    "svg image": ("x.svg", svg('<image href="x.png"/>'), "svg-refused"),
    "svg style": ("x.svg", svg("<style>@import url(//evil)</style>"), "svg-refused"),
    "svg style escape": ("x.svg", svg("<style>a{b:\\75rl(x)}</style>"), "svg-refused"),
    "svg fill": ("x.svg", svg('<g fill="url(https://evil.example/#a)"/>'), "svg-refused"),
    "svg entity": ("x.svg", b'<!DOCTYPE svg [<!ENTITY a "' + S + b'">]>' + svg("&a;"), "svg-refused"),
    "svg external entity": ("x.svg", b'<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + svg("&a;"), "svg-refused"),
    "svg laughs": (
        "x.svg",
        b"<!DOCTYPE svg ["
        + b"".join(b'<!ENTITY a%d "%s">' % (n + 1, b"&a%d;" % n * 9) for n in range(30))
        + b"]>"
        + svg("&a30;"),
        "svg-refused",
    ),
    "svg doctype in small": ("x.svg", b"<!doctype svg>" + svg(), "svg-refused"),
    "svg cdata": ("x.svg", svg("<style><![CDATA[x]]></style>"), "svg-refused"),
    "svg instruction": ("x.svg", b'<?xml-stylesheet href="x"?>' + svg(), "svg-refused"),
    "svg utf-16": ("x.svg", svg().decode().encode("utf-16"), "svg-refused"),
    "svg utf-7": ("x.svg", b'<?xml version="1.0" encoding="utf-7"?>' + svg(), "svg-refused"),
    "svg not closed": ("x.svg", svg()[:-3], "svg-refused"),
    "svg is html": ("x.svg", b"<html/>", "svg-refused"),
    "svg metadata": ("x.svg", svg("<metadata>x</metadata>"), "svg-refused"),
    "svg editor": ("x.svg", svg('<g xmlns:i="x" i:a="b"/>'), "svg-refused"),
    "svg comments": ("x.svg", svg("<!--" * 200_000), "svg-refused"),
    "svg styles": ("x.svg", svg("<style>" * 60_000 + "</style>" * 60_000), "svg-refused"),
    "svg size": ("x.svg", svg("", 'width="1' + "0" * 400 + '" height="1"'), "image-too-large"),
    "svg view": ("x.svg", svg("", 'viewBox="0 0 1' + "0" * 400 + ' 1"'), "image-too-large"),
    "svg too big": ("x.svg", svg("<!--" + "a" * 2 * MIB + "-->"), "image-too-large"),
    "svg nul": ("x.svg", svg("<g/>\0"), "svg-refused"),
}
IN_REVIEW: dict[str, tuple[bytes, str]] = {
    "no alternative text": (b"\n![](x.png)\n", "missing-alt-text"),
    "alternative text of spaces": (b"![ ](x.png)\n", "missing-alt-text"),
    "broken link": (b"[a](/nowhere/)\n", "broken-link"),
    "no slash": (b"[a](/article-0001)\n", "link-without-slash"),
    "broken anchor": (b"[a](#nope)\n", "broken-anchor"),
    "deep lists": (b"- " * 6_000 + b"a\n", "text-too-tangled"),
    "deep quotes": (b">" * 15_000 + b"a\n", "text-too-tangled"),
    "svg inline": (b"<svg onload=alert(1)>\n", "html-refused"),
    "xml": (b"<?xml version='1.0'?><!DOCTYPE a>\n", "html-refused"),
    "style": (b"<style>*{}</style>\n", "html-refused"),
    "iframe": (b"<iframe src=//evil.example></iframe>\n", "html-refused"),
    "handler": (b"<img src=x onerror=alert(1)>\n", "html-refused"),
    "raw form": (b'<form action="https://evil.example/"><input name="a"></form>\n', "html-refused"),
    "raw meta": (b'<meta http-equiv="refresh" content="0;url=x">\n', "html-refused"),
    "raw base": (b'<base href="https://evil.example/">\n', "html-refused"),
    "raw script": (b"<script>alert(1)</script>\n", "html-refused"),
}


def _pictures(texts: dict[str, bytes]) -> list[Case]:
    made = []
    for name, (file, data, code) in PICTURES.items():
        text = HEAD + f"![a]({file})\n".encode()
        made.append(
            Case(
                kind="picture",
                name=name,
                argv=REVIEW,
                code=code,
                where=f"{FOLDER}/{file}",
                commits=requested(texts, text, {file: data}),
            )
        )
    for name, (body, code) in IN_REVIEW.items():
        files = {"x.png": png()} if b"x.png" in body else {}
        made.append(
            Case(kind="rendered", name=name, argv=REVIEW, code=code, where="", commits=requested(texts, HEAD + body, files))
        )
    return made


# --- what is legal on purpose: it becomes text, or loses what must not go out ---------------------------------------------------

SHOWN: dict[str, bytes] = {
    "comment": b"<!-- a -->\n",
    "jinja": b"{{ site.__class__ }} {% for a in b %} {# c #}\n",
    "cdata end": b"a ]]> b\n",
    "workflow command": b"::error file=x::y\n\n::add-mask::a\n",
    "fence tricks": b"```\n---\ndraft: true\n---\n```\n",
    "code info": b'```"><script>\nx\n```\n',
    "null link": b"[a\\](x)\n",
    "bidi in the text": "a \u202e b\n".encode(),
    "entities": b"&amp;&lt;script&gt;&#60;b&#62;\n",
    "headings": b"# a\n\n" * 2_000,
    "hyphens": b"a-" * 9_000 + b"\n",
    "brackets": b"[" * 200_000 + b"\n",
    "images": b"![" * 100_000 + b"\n",
    "inline footnotes": b"^[" * 100_000 + b"\n",
    "colons": b":" * 200_000 + b"\n",
    "bare links": b"http://" * 30_000 + b"\n",
    "ends of a bare link": b"http://a.example/" + b").;!" * 40_000 + b"x\n",
    "stars": b"*a " * 60_000 + b"\n",
    "one paragraph": b"word " * 40_000 + b"\n",
    "reference bomb": b"[a]: https://e.example/" + b"x" * 9000 + b"\n\n" + b"[a]\n\n" * 9000,
}
CLEANED: dict[str, tuple[str, bytes]] = {
    "png text": ("x.png", png(png_chunk(b"tEXt", b"Comment\0" + S))),
    "png packed text": ("x.png", png(png_chunk(b"zTXt", b"C\0\0" + zlib.compress(S * 100_000)))),
    "png after its end": ("x.png", png(after=b"PK\x03\x04" + S)),
    "jpg exif": ("x.jpg", jpeg(exif(6, S))),
    "jpg comment": ("x.jpg", jpeg(jpeg_segment(0xFE, S))),
    "jpg after its end": ("x.jpg", jpeg(after=b"<script>" + S)),
    "svg comment": ("x.svg", svg("<!--" + S.decode() + "-->")),
    "png base64": ("x.png", png(after=base64.b64encode(S * 9))),
}


def _legal(texts: dict[str, bytes]) -> list[Case]:
    made = [
        Case(kind="legal", name=name, argv=REVIEW, commits=requested(texts, HEAD + body, {})) for name, body in SHOWN.items()
    ]
    for name, (file, data) in CLEANED.items():
        made.append(
            Case(
                kind="legal", name=name, argv=REVIEW, commits=requested(texts, HEAD + f"![a]({file})\n".encode(), {file: data})
            )
        )
    return made
