"""Values that a schema lets pass where it is careless: types that YAML libraries guess, names that file systems and git read
otherwise, addresses that lead elsewhere."""

from __future__ import annotations

import re

from tests.hostile.case import PLAN, QUEUE, REVIEW, SITES, Case, S

DATED = "plans/blog/daily/2026/2026-03-02.yaml"
LATER = "plans/blog/daily/2026/2026-03-04.yaml"
RECONCILE = ("reconcile", "blog")
PATTERN, FORMAT, TYPE, ENUM = "schema-pattern", "schema-format", "schema-type", "schema-enum"

# file, key at the beginning of a line (or in a flow mapping), hostile value, code
Row = tuple[str, str, bytes, str]

POLICY: list[tuple[str, bytes, str]] = [
    ("version", b"1.0", TYPE),
    ("version", b"true", TYPE),
    ("version", b"0x10", TYPE),
    ("version", b"017", TYPE),
    ("version", b"1_000", TYPE),
    ("version", b".nan", TYPE),
    ("version", b"-1", "schema-minimum"),
    ("version", b"1e3", TYPE),
    ("quantity", b"9007199254740992", "yaml-integer"),
    ("quantity", b"1000000", "schema-maximum"),
    ("quantity", b"0", "schema-minimum"),
    ("start", b'"2026-13-01"', FORMAT),
    ("start", b"20260101", TYPE),
    ("start", b'"2026-W01-1"', FORMAT),
    ("start", b'"0000-01-01"', FORMAT),
    ("start", '"２０２６-01-01"'.encode(), FORMAT),
    ("start", b'"2026-01-01\\n"', "schema-format"),
    ("start", b'"2026-02-30"', FORMAT),
    ("zone", b'"../../../etc/passwd"', FORMAT),
    ("zone", b'"/etc/localtime"', FORMAT),
    ("zone", b'"Asia/Hong_Kong\\n"', FORMAT),
    ("zone", b'"asia/hong_kong"', FORMAT),
    ("zone", b'"UTC0"', FORMAT),
    ("zone", b'"-x"', FORMAT),
    ("zone", b'""', FORMAT),
    ("horizon_days", b"99999999", "schema-maximum"),
    ("shares", b'{"../x": 1}', "schema-pattern"),
    ("shares", b"{guide: -1}", "schema-minimum"),
    ("shares", b"[guide]", TYPE),
]
INSTANCE: list[tuple[str, bytes, str]] = [
    ("forge", b"no", ENUM),
    ("lease", b"9:00", FORMAT),
    ("lease", b"99999999d", FORMAT),
    ("lease", b"-5m", FORMAT),
    ("branches", b'{default: "--upload-pack=touch", state: main}', PATTERN),
    ("branches", b'{default: "main:x", state: main}', PATTERN),
    ("branches", b'{default: "refs/../x", state: main}', PATTERN),
    ("branches", b'{default: "a\\nb", state: main}', PATTERN),
    ("branches", b'{default: "x.lock", state: main}', PATTERN),
    ("branches", b'{default: "@{-1}", state: main}', PATTERN),
    ("    url", b"file:///etc/passwd", FORMAT),
    ("    url", b"javascript:alert(1)", FORMAT),
    ("    url", b"http://169.254.169.254/", FORMAT),
    ("    url", b"https://user:pass@blog.example/", FORMAT),
    ("    url", b"https://blog.example/?q", FORMAT),
    ("    url", b"https://blog.example/#a", FORMAT),
    ("    url", b"https://blog.example/../", FORMAT),
    ("    url", b"https://blog.example/%2e%2e/", FORMAT),
    ("    url", b"https://blog.example\\@evil/", FORMAT),
    ("    url", b"http://blog.example/", FORMAT),
    ("    url", "https://blög.example/".encode(), FORMAT),
    ("    url", b"https://blog.example:99999/", FORMAT),
    ("    url", b"https://-x/", FORMAT),
    ("    url", b"https://[::1", FORMAT),
    ("    zone", b"posixrules", FORMAT),
    ("    title", b'"a\\nb"', PATTERN),
    ("    title", b'""', "schema-min-length"),
    ("    title", b'"' + b"a" * 5000 + b'"', "schema-max-length"),
    ("    language", b'"en\\" onload=\\"x"', PATTERN),
    ("    tag_authority", b'"blog.example,2026]]>"', PATTERN),
    ("    target", b"{kind: shell, path: x}", "target-kind"),
    ("    target", b'{kind: directory, path: "../../../../../etc"}', "target-options"),
    ("    target", b"{kind: directory, path: plans}", "target-options"),
    ("    target", b"{kind: directory, path: .git/hooks}", "target-options"),
    ("    target", b"{kind: git-branch, branch: main}", "target-own-branch"),
    ("    target", b'{kind: git-branch, branch: "--force"}', "target-options"),
    ("    target", b'{kind: git-branch, branch: pages, repository: "ext::sh -c x"}', "target-options"),
    ("    target", b'{kind: git-branch, branch: pages, repository: "-oProxyCommand=x"}', "target-options"),
    (
        "    target",
        b'{kind: git-branch, branch: pages, repository: git@h:x, key: "-----BEGIN OPENSSH PRIVATE KEY-----"}',
        "key-name",
    ),
    ("    confirm_within", b"1e9s", FORMAT),
    ("on_call", b'["a@b\\n@c"]', PATTERN),
]
IN_PLAN: list[tuple[str, bytes, str]] = [
    ("key", b'"daily-publication:2026-03-03"', "plan-rule"),
    ("key", b'"../x"', PATTERN),
    ("date", b'"2026-03-32"', FORMAT),
    ("zone", b'"Mars/Olympus"', FORMAT),
    ("publish_at", b'"2026-03-02 00:00:00"', FORMAT),
    ("publish_at", b'"9999-12-31T23:59:59+00:00"', FORMAT),
    ("publish_at", b'"2026-03-02T00:00:00+99:99"', FORMAT),
    ("kind", b"shell", ENUM),
    ("revision", b"0", "schema-minimum"),
    ("site", b'"../blog"', PATTERN),
]
IN_ARTICLE: list[tuple[str, bytes, str]] = [
    (key, b'"' + value + b'"', PATTERN)
    for key, values in {
        "id": [
            b"../../x",
            b"-rf",
            b"a-0003\\n",
            b"A-0003",
            b"a b",
            b"a:b",
            b"a\\\\b",
            b"..",
            b"",
            b"a" * 65,
            "ａ-0003".encode(),
            b"::error::x",
        ],
        "url": [
            b"/../",
            b"//evil.example/",
            b"/%2e%2e/",
            b"/a",
            b"https://evil.example/",
            b"/a\\\\b/",
            b"/A/",
            b"/.git/",
            b"/a?b/",
        ],
        "source": [
            b"drafts/../../etc",
            b"/etc/passwd",
            b"drafts/blog/x/../y",
            b"drafts\\\\blog\\\\x",
            b"drafts/blog/.git",
            b"file:///x",
        ],
        "fingerprint": [b"sha256:12", b"md5:" + b"a" * 64, b"sha256:" + b"A" * 64, b"sha256:" + b"a" * 64 + b"\\n"],
        "guid": [b"tag:x y"],
    }.items()
    for value in values
]


def cases(texts: dict[str, bytes]) -> list[Case]:
    made = []
    for path, argv, rows in (
        ("plans/blog/policy.yaml", PLAN, POLICY),
        ("publisher.yaml", SITES, INSTANCE),
        (DATED, REVIEW, IN_PLAN),
    ):
        for key, value, code in rows:
            text, line = _with(texts[path], key, value)
            use = RECONCILE if code in ("target-kind", "target-options", "key-name") else argv
            made.append(
                _case(path, f"{key.strip()} {_shown(value)}", use, code, "" if use is RECONCILE else f"{path}:{line}", text)
            )
    for key, value, code in IN_ARTICLE:
        text, line = _in_flow(texts[DATED], key, value)
        made.append(_case(DATED, f"article {key} {_shown(value)}", REVIEW, code, f"{DATED}:{line}", text))
    return made + _queue(texts["plans/blog/queue.yaml"]) + _reserved(texts)


def _case(path: str, name: str, argv: tuple[str, ...], code: str, where: str, text: bytes) -> Case:
    return Case(kind="value", name=name, argv=argv, code=code, where=where, commits={path: text})


def _shown(value: bytes) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", ascii(value.decode()))[:40].strip("-") or "empty"


def _with(text: bytes, key: str, value: bytes) -> tuple[bytes, int]:
    """The first line of ``key`` with another value, and which line it is."""
    lines = text.split(b"\n")
    at = next((n for n, line in enumerate(lines) if line.startswith(key.encode() + b":")), len(lines) - 1)
    return b"\n".join([*lines[:at], key.encode() + b": " + value, *lines[at + 1 :]]), at + 1


def _in_flow(text: bytes, key: str, value: bytes) -> tuple[bytes, int]:
    found = re.search(rb"(?m)(?<=[\s{])" + key.encode() + rb": (\"[^\"]*\"|[^,}\n]+)", text[text.index(b"articles:") :])
    assert found, key
    start = text.index(b"articles:") + found.start(1)
    return text[:start] + value + text[start + len(found[1]) :], text.count(b"\n", 0, start) + 1


def _queue(text: bytes) -> list[Case]:
    path = "plans/blog/queue.yaml"
    line = text.count(b"\n") + 1
    rows = {
        "twice": (b"a-0001", b"drafts/blog/other", "queue-repeats"),
        "one source twice": (b"a-0099", b"drafts/blog/article-0001", "queue-repeats"),
        "traversal": (b"a-0099", b"drafts/blog/../../../etc", PATTERN),
        "absolute": (b"a-0099", b"/etc/passwd", PATTERN),
        "reserved": (b"a-0099", b"drafts/blog/aux", "draft-missing"),
        "option": (b"--help", b"drafts/blog/x", PATTERN),
        "stream": (b"a-0099", b"drafts/blog/x::$DATA", PATTERN),
        "tilde": (b"a-0099", b"drafts/blog/GIT~1", PATTERN),
        "number": (b"0123", b"drafts/blog/x", "draft-missing"),
        "integer": (b"123", b"drafts/blog/x", TYPE),
        "missing": (b"a-0099", b"drafts/blog/nowhere", "draft-missing"),
        "other site": (b"a-0099", b"drafts/other/x", "draft-missing"),
    }
    return [
        Case(
            kind="queue",
            name=name,
            argv=PLAN if code == "draft-missing" or code == "draft-name" else QUEUE,
            code=code,
            where="drafts/" if code.startswith("draft") else f"{path}:{line}",
            commits={path: text + b"  - {id: " + id + b', source: "' + source + b'"}\n'},
            writes={path: text + b"  - {id: " + id + b', source: "' + source + b'"}\n'},
        )
        for name, (id, source, code) in rows.items()
    ]


def _reserved(texts: dict[str, bytes]) -> list[Case]:
    draft = texts["drafts/blog/article-0005/index.md"]
    path = "drafts/blog/article-0005/index.md"
    made = []
    for key, value, code in (
        ("id", b"con", "draft-name"),
        ("id", b"nul", "draft-name"),
        ("category", b"git", "draft-name"),
        ("id", b'"a-5\\n"', PATTERN),
        ("category", b'"../x"', PATTERN),
        ("title", b"false", TYPE),
        ("title", b"12e34", ""),
        ("summary", b'"a\\nb ' + S + b'"', PATTERN),
        ("tags", b"[con]", ""),
        ("tags", b"[a, a]", "schema-unique-items"),
        ("tags", b"x", TYPE),
        ("title", b'"' + S * 300 + b'"', "schema-max-length"),
    ):
        if code:
            text, line = _with(draft, key, value)
            made.append(_case(path, f"draft {key} {_shown(value)}", PLAN, code, f"{path}:{line}", text))
    return made
