"""Ledger files and trees: what nobody but publisher writes, and what git can hold that no file system should."""

from __future__ import annotations

import json
import unicodedata

from publisher.domain.fingerprint import digest
from tests.hostile.case import INPUT, PLAN, REVIEW, SAFETY, STATUS, Case, Puts, S
from tests.hostile.ground import Entry

CLAIMS = "ledger/blog/claims/2026.jsonl"
PLAN_FILE = "plans/blog/daily/2026/2026-03-02.yaml"
COMMIT = b"1234567890123456789012345678901234567890"
LINK = Entry("120000", b"/etc/passwd")
MIB = 1024 * 1024
ALLOWED = 0
CORRECT = ("change", "correct", "a-0001", "--reason", "x", "--local")


def cases(texts: dict[str, bytes]) -> list[Case]:
    return _ledger(texts[CLAIMS]) + _trees(texts)


def _line(of: bytes, **changes: object) -> bytes:
    """A line that follows ``of``, with its chain in order."""
    last = of.splitlines(keepends=True)[-1]
    data = {**json.loads(last), "n": of.count(b"\n") + 1, "prev": digest(last), **changes}
    return json.dumps(data, separators=(",", ":")).encode() + b"\n"


def _ledger(text: bytes) -> list[Case]:
    last = text.count(b"\n")
    new = last + 1
    claimed = {
        "type": "claimed",
        "claim": 9,
        "epoch": 1,
        "epoch_id": "e" * 32,
        "fence": 9,
        "nonce": "n",
        "holder": "x",
        "plan": "x",
        "until": "2026-03-02T02:00:00Z",
    }
    rows: dict[str, tuple[bytes, int]] = {
        "no end": (text[:-1], last),
        "cut": (text[:-9] + b"\n", last),
        "blank line": (text + b"\n", new),
        "crlf": (text.replace(b"\n", b"\r\n"), 1),
        "utf-16": (text.decode().encode("utf-16-le") + b"\n", 1),
        "byte-order mark": (b"\xef\xbb\xbf" + text, 1),
        "not utf-8": (text + b"\xff" + S + b"\n", new),
        "nul": (text + b"\0\n", new),
        "list": (text + b"[]\n", new),
        "text": (text + b'"' + S + b'"\n', new),
        "number": (text + b"1\n", new),
        "null": (text + b"null\n", new),
        "nan": (text + _line(text).replace(b'"n":%d' % new, b'"n":NaN'), new),
        "infinity": (text + _line(text).replace(b'"n":%d' % new, b'"n":1e999'), new),
        "float": (text + _line(text).replace(b'"n":%d' % new, b'"n":%d.0' % new), new),
        "boolean": (text + _line(text, n=True), new),
        "negative": (text + _line(text, n=-1), new),
        "2^63": (text + _line(text, n=2**63), new),
        "5000 digits": (text + _line(text).replace(b'"n":%d' % new, b'"n":' + b"9" * 5000), new),
        "number as text": (text + _line(text, n=str(new)), new),
        "gap": (text + _line(text, n=new + 1), new),
        "twice": (text + _line(text, n=last), new),
        "repeated name": (text + _line(text)[:-2] + b',"n":%d}\n' % new, new),
        "other chain": (text + _line(text, prev="sha256:" + "0" * 64), new),
        "first line gone": (b"".join(text.splitlines(keepends=True)[1:]), 1),
        "two lines turned": (
            b"".join(
                text.splitlines(keepends=True)[:-2]
                + text.splitlines(keepends=True)[-1:]
                + text.splitlines(keepends=True)[-2:-1]
            ),
            last - 1,
        ),
        "unknown type": (text + _line(text, type=S.decode()), new),
        "no type": (text + _line(text, type=None), new),
        "claim of true": (text + _line(text, claim=True), new),
        "claim of text": (text + _line(text, claim="1"), new),
        "claim of 1.0": (text + _line(text, claim=1.0), new),
        "no claim": (text + _line(text, **{**claimed, "claim": None}), new),
        "time as a number": (text + _line(text, at=1), new),
        "actor as a list": (text + _line(text, actor=[S.decode()]), new),
        "deep": (text + b"[" * 100_000 + b"]" * 100_000 + b"\n", new),
        "deep in a field": (text + _line(text, zz=0).replace(b'"zz":0', b'"zz":' + b"[" * 100_000 + b"]" * 100_000), new),
        "10 MiB line": (text + b'{"n":' + b" " * (10 * MIB) + b"1}\n", new),
        "10 MiB of lines": (text + b"{}\n" * (3 * MIB), new),
        "escape in the type": (text + _line(text, type="\x1b[31m"), new),
        "surrogate": (text + b'"\\ud800' + S + b'"\n', new),
    }
    return [
        Case(
            kind="ledger",
            name=name,
            argv=STATUS,
            code="ledger-broken",
            exit=SAFETY,
            where=f"{CLAIMS}:{line}",
            commits={CLAIMS: data},
        )
        for name, (data, line) in rows.items()
    ]


def _trees(texts: dict[str, bytes]) -> list[Case]:
    queue, policy, plan = texts["plans/blog/queue.yaml"], texts["plans/blog/policy.yaml"], texts[PLAN_FILE]
    nfd = unicodedata.normalize("NFD", "é")
    rows: list[tuple[str, Puts, tuple[str, ...], str, int, str]] = []
    for path in ("publisher.yaml", "plans/blog/policy.yaml", "plans/blog/queue.yaml"):
        argv = STATUS if path == "publisher.yaml" else PLAN
        for name, entry in (
            ("link", LINK),
            ("submodule", Entry("160000", COMMIT)),
            ("executable", Entry("100755", texts[path])),
        ):
            rows.append((f"{path} is a {name}", {path: entry}, argv, "not-a-plain-file", INPUT, path))
    for path in (PLAN_FILE, "approval.yaml"):
        for name, entry in (
            ("link", LINK),
            ("submodule", Entry("160000", COMMIT)),
            ("executable", Entry("100755", texts[path])),
        ):
            rows.append((f"{path} is a {name}", {path: entry}, REVIEW, "not-a-plain-file", INPUT, path))
    rows += [
        ("ledger is a link", {CLAIMS: LINK}, STATUS, "ledger-broken", SAFETY, CLAIMS),
        ("case twins", {"drafts/blog/ARTICLE-0005/index.md": b"x"}, CORRECT, "names-collide", INPUT, "drafts/blog/"),
        (
            "case twins beside",
            {"drafts/blog/article-0005/A.png": b"x", "drafts/blog/article-0005/a.png": b"x"},
            CORRECT,
            "names-collide",
            INPUT,
            "drafts/blog/",
        ),
        (
            "spelling twins",
            {"drafts/blog/é/index.md": b"x", f"drafts/blog/{nfd}/index.md": b"x"},
            CORRECT,
            "names-collide",
            INPUT,
            "drafts/blog/",
        ),
        (
            "wide twins",
            {"drafts/blog/ａ/index.md": b"x", "drafts/blog/a/index.md": b"x"},
            CORRECT,
            "names-collide",
            INPUT,
            "drafts/blog/",
        ),
        ("path not utf-8", {b"drafts/blog/caf\xe9/index.md": b"x"}, PLAN, "path-not-utf8", INPUT, ""),
        ("plan not utf-8", {b"plans/blog/daily/2026/\xff.yaml": b"x"}, STATUS, "path-not-utf8", INPUT, ""),
        ("twin of a plan", {PLAN_FILE.replace("daily", "Daily"): plan}, REVIEW, "never-read", ALLOWED, "plans/blog/"),
        (
            "line break in a plan",
            {"plans/blog/daily/2026/2026-03-05\n::error::.yaml": plan},
            REVIEW,
            "odd-name",
            INPUT,
            "plans/blog/",
        ),
        ("escape in a plan", {"plans/blog/daily/2026/\x1b[31m.yaml": plan}, REVIEW, "odd-name", INPUT, "plans/blog/"),
        ("right to left plan", {"plans/blog/daily/2026/\u202e2026-03-05.yaml": plan}, REVIEW, "odd-name", INPUT, "plans/blog/"),
        (
            "plan of another place",
            {"plans/blog/daily/2025/2026-03-05.yaml": plan.replace(b"03-02", b"03-05")},
            REVIEW,
            "plan-rule",
            INPUT,
            "plans/blog/",
        ),
        ("plan of another site", {"plans/other/daily/2026/2026-03-02.yaml": plan}, REVIEW, "plan-rule", INPUT, "plans/other/"),
        ("many plans", {f"plans/blog/daily/2099/x-{n}.yaml": b"a" for n in range(3500)}, REVIEW, "request-too-big", INPUT, ""),
        ("huge plan", {PLAN_FILE: plan + b"# z\n" * 5_000_000}, REVIEW, "yaml-too-big", INPUT, PLAN_FILE),
        ("written ledger", {CLAIMS: texts[CLAIMS] + b"{}\n"}, REVIEW, "ledger-touched", INPUT, CLAIMS),
        (
            "written public text",
            {"site-src/blog/articles/a-0001/index.md": S},
            REVIEW,
            "public-text-touched",
            INPUT,
            "site-src/",
        ),
        (
            "public text is a link",
            {"site-src/blog/articles/a-0001/index.md": LINK},
            REVIEW,
            "public-text-touched",
            INPUT,
            "site-src/",
        ),
        ("approval is gone", {"approval.yaml": None}, REVIEW, "file-removed", INPUT, "approval.yaml"),
    ]
    assert policy and queue
    return [
        Case(kind="tree", name=name, argv=argv, code=code, exit=exit, where=where, commits=puts)
        for name, puts, argv, code, exit, where in rows
    ]
