"""What YAML can hide, in every file that people write."""

from __future__ import annotations

from collections.abc import Callable

from tests.hostile.case import PLAN, REVIEW, SITES, Case, S

Hazard = Callable[[bytes], bytes]


def more(line: bytes) -> Hazard:
    """The file with one more line."""
    return lambda text: text + line + b"\n"


def only(text: bytes) -> Hazard:
    return lambda _: text


def _bomb(text: bytes) -> bytes:
    lines = [b"z0: &a0 [" + S + b"]"] + [b"z%d: &a%d [%s]" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 30)]
    return text + b"\n".join(lines) + b"\n"


# name → (what becomes of the file, code, whether the place is its last line)
HAZARDS: dict[str, tuple[Hazard, str, bool]] = {
    "anchor": (more(b"zz: &x " + S), "yaml-anchor", True),
    "alias": (more(b"zz: *x"), "yaml-alias", True),
    "billion laughs": (_bomb, "yaml-anchor", False),
    "merge key": (more(b"<<: {zz: 1}"), "yaml-merge-key", True),
    "python object": (more(b"zz: !!python/object/apply:os.system ['" + S + b"']"), "yaml-tag", True),
    "binary tag": (more(b"zz: !!binary enE3NzMx"), "yaml-tag", True),
    "own tag": (more(b"zz: !secret " + S), "yaml-tag", True),
    "set": (more(b"zz: !!set {a, b}"), "yaml-tag", True),
    "tag on a key": (more(b"!!str zz: " + S), "yaml-tag", True),
    "directive": (lambda text: b"%YAML 1.1\n---\n" + text, "yaml-directive", False),
    "tag directive": (lambda text: b"%TAG ! tag:x,2000:\n---\n" + text, "yaml-directive", False),
    "second document": (more(b"---\nzz: " + S), "yaml-documents", False),
    "repeated key": (more(b"zz: 1\nzz: " + S), "yaml-repeated-key", True),
    "number as a key": (more(b"1: " + S), "yaml-key", True),
    "null as a key": (more(b"~: " + S), "yaml-key", True),
    "list as a key": (more(b"? [a, b]\n: " + S), "yaml-key", False),
    "nul": (more(b"zz: a\0" + S), "yaml-control-character", True),
    "escape sequence": (more(b"zz: \x1b[31m" + S), "yaml-control-character", True),
    "escaped control": (more(b'zz: "\\x1b[31m' + S + b'"'), "yaml-control-character", True),
    "escaped nul": (more(b'zz: "\\0' + S + b'"'), "yaml-control-character", True),
    "next line": (more(b"zz: a\xc2\x85" + S), "yaml-control-character", True),
    "line separator": (more(b"zz: a\xe2\x80\xa8" + S), "yaml-control-character", True),
    "right to left": (more(b"zz: \xe2\x80\xae" + S), "yaml-hidden-character", True),
    "zero width": (more(b"zz: a\xe2\x80\x8b" + S), "yaml-hidden-character", True),
    "escaped bidi": (more(b'zz: "\\u202e' + S + b'"'), "yaml-hidden-character", True),
    "surrogate": (more(b'zz: "\\ud800' + S + b'"'), "yaml-surrogate", True),
    "tab": (more(b"zz:\t" + S), "yaml-tab", True),
    "carriage return": (lambda text: text.replace(b"\n", b"\r\n"), "yaml-line-ends", False),
    "not utf-8": (more(b"zz: caf\xe9 " + S), "yaml-not-utf8", True),
    "overlong utf-8": (more(b"zz: \xc0\xaf " + S), "yaml-not-utf8", True),
    "utf-16": (lambda text: text.decode().encode("utf-16"), "yaml-byte-order-mark", False),
    "byte-order mark": (lambda text: b"\xef\xbb\xbf" + text, "yaml-byte-order-mark", False),
    "huge number": (more(b"zz: 9007199254740993"), "yaml-integer", True),
    "deep list": (more(b"zz: " + b"[" * 900 + b"]" * 900), "yaml-too-deep", True),
    "deep mapping": (more(b"zz: " + b"{a: " * 40 + S + b"}" * 40), "yaml-too-deep", True),
    "open bracket": (more(b"zz: [a, " + S), "yaml-syntax", False),
    "bad indent": (more(b"zz: a\n b: c: " + S), "yaml-syntax", False),
    "empty": (only(b""), "yaml-empty", False),
    "comment only": (only(b"# " + S + b"\n"), "yaml-empty", False),
    "list at the top": (only(b"- " + S + b"\n"), "schema-type", False),
    "text at the top": (only(S + b"\n"), "schema-type", False),
    "null at the top": (only(b"~\n"), "schema-type", False),
    "unknown key": (more(b"zz: " + S), "schema-additional-properties", True),
    "too big": (lambda text: text + b"# zzzzzzzz\n" * 220_000, "yaml-too-big", False),
}

# What people write → how the file lies there, and which command meets it.
FILES: dict[str, tuple[str, ...]] = {
    "publisher.yaml": SITES,
    "approval.yaml": REVIEW,
    "plans/blog/policy.yaml": PLAN,
    "plans/blog/queue.yaml": PLAN,
    "plans/blog/daily/2026/2026-03-02.yaml": REVIEW,
    "plans/blog/gates/plan-0123456789ab-1.yaml": REVIEW,
    "drafts/blog/article-0005/index.md": PLAN,
}
GATE = b"plan: blog/daily/2026/2026-03-02\n"
# A draft's front matter is cut out of lines first, and its bytes are read as text before.
IN_A_DRAFT = {
    "too big": "draft-too-big",
    "directive": "yaml-syntax",
    "tag directive": "yaml-syntax",
    "utf-16": "draft-not-utf8",
    "byte-order mark": "draft-characters",
    "carriage return": "draft-line-ends",
    "not utf-8": "draft-not-utf8",
    "overlong utf-8": "draft-not-utf8",
    "nul": "draft-characters",
    "escape sequence": "draft-characters",
    "next line": "draft-characters",
}


def cases(texts: dict[str, bytes]) -> list[Case]:
    """Every hazard in every file. ``texts`` has the harmless files."""
    made = []
    for path, argv in FILES.items():
        for name, (hazard, code, last) in HAZARDS.items():
            if path.endswith(".md"):
                if name == "second document":
                    continue  # there, it is the end of the front matter
                head, fence, body = texts[path].removeprefix(b"---\n").partition(b"---\n")
                changed = b"---\n" + hazard(head) + fence + body
                if name in ("utf-16", "byte-order mark", "carriage return"):
                    changed = hazard(texts[path])
                code = IN_A_DRAFT.get(name, code)
                line = 1 + hazard(head).count(b"\n")
            else:
                text = texts.get(path, GATE)
                changed = hazard(text)
                line = changed.count(b"\n")
            where = f"{path}:{line}" if last else path
            made.append(
                Case(
                    kind="yaml",
                    name=f"{name} in {path.rpartition('/')[2]}",
                    argv=argv,
                    code=code,
                    where=where,
                    commits={path: changed},
                )
            )
    return made
