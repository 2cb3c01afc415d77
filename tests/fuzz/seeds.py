"""What mutation starts from: the repository's own files where it has some, and small whole examples of the rest."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from publisher.domain.approval import Statement
from publisher.forge import github_facts
from publisher.forge.statements import Signed, block_of
from publisher.sitebuilder.theme import default_theme
from tests.support.instance_folder import POLICY, PUBLISHER_YAML, QUEUE, draft
from tests.support.sitebuilding import exif, jpeg, jpeg_segment, png, png_chunk, svg

ROOT = Path(__file__).resolve().parents[2]


def _files(pattern: str, most: int = 8) -> list[bytes]:
    return [path.read_bytes()[: 16 * 1024] for path in sorted(ROOT.glob(pattern))[:most]]


APPROVAL = (
    b"approvals: 1\nexpires_after: 24h\nmax_lead: 14d\ncontent: plan\nsigners:\n  - {principal: a@example.org, key: "
    b'"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBtJPBbPvOTLNXBZ5lY3kzQ1VjKkQk2kq0vXkGxm0mXs", may: [commit, approve]}\n'
    b"approvers:\n  - {login: ann, id: 7}\n"
)
PLAN = (
    b'kind: publication\nsite: blog\nkey: daily-publication:2026-03-02\ndate: "2026-03-02"\nzone: Asia/Hong_Kong\n'
    b'publish_at: "2026-03-02T09:00:00+08:00"\n'
    b'policy: {version: 1, digest: "sha256:'
    + b"a"
    * 64
    + b'"}\nrevision: 1\narticles:\n  - {id: a-0003, source: drafts/blog/x, category: guide, url: /x/, '
    b'guid: "tag:blog.example,2026:blog/a-0003", fingerprint: "sha256:'
    + b"b" * 64
    + b'"}\nannounce: {channels: [mail], list: readers, at_most: 5}\n'
)
GATE = (
    b'kind: gate\nsite: blog\ngate: plan\nnumber: 1\nplan: blog/daily/2026/2026-03-02\nplan_payload: "sha256:'
    + b"a" * 64
    + b'"\nsubject: "sha256:0123456789ab'
    + b"c" * 52
    + b'"\n'
)
MARKDOWN = b"""# A heading

Text with *stress*, **more**, ~~less~~, `code`, [a page](/x/#y), [out](https://example.org/a_(b)), www.example.org, a@example.org.[^1]

> [!NOTE]
> An alert.

- [ ] a task
- [x] done
  1. deep

| a | b |
|:--|--:|
| c | `|` |

```python
def f(): return "<&>"
```

![a fence](fence.svg) [ref] &amp; &lt; \\* <b>raw</b>

[ref]: /x/ "title"
[^1]: A footnote.
"""
SIGNATURE = base64.b64encode(b"SSHSIG\0\0\0\1" + b"\0\0\0\x0f\0\0\0\x0bssh-ed25519" + b"\0\0\0\tpublisher" + b"\0" * 40)
ARMORED = b"-----BEGIN SSH SIGNATURE-----\n" + SIGNATURE + b"\n-----END SSH SIGNATURE-----\n"
STATEMENT = block_of(
    [
        Signed(
            statement=Statement(
                instance="i",
                branch="main",
                path="plans/x.yaml",
                payload="sha256:" + "a" * 64,
                time="2026-03-02T00:00:00Z",
                decision="approve",
                revision=1,
                request=1,
            ),
            signature=ARMORED.decode(),
        )
    ]
).encode()
OID = "1234567890123456789012345678901234567890"
ACCOUNT = {"id": 7, "login": "ann", "type": "User"}
PULL = {
    "number": 1,
    "state": "closed",
    "merged": True,
    "merged_at": "2026-03-02T00:00:00Z",
    "created_at": "2026-03-01T00:00:00Z",
    "closed_at": "2026-03-02T00:00:00Z",
    "updated_at": "2026-03-02T00:00:00Z",
    "user": ACCOUNT,
    "merged_by": ACCOUNT,
    "merge_commit_sha": OID,
    "title": "x",
    "body": "sha256:" + "a" * 64,
    "draft": False,
    "head": {"sha": OID, "ref": "x", "repo": {"id": 1}},
    "base": {"sha": OID, "ref": "main", "repo": {"id": 1}},
    "commits": 1,
    "changed_files": 1,
}
HAPPENINGS = frozenset({"closed", "head_ref_force_pushed"})
FACTS: Mapping[str, Callable[[Any], object]] = {
    "listed": github_facts.listed_of,
    "pull": github_facts.pull_of,
    "review": github_facts.review_of,
    "movement": github_facts.movement_of,
    "written": github_facts.written_of,
    "changed": github_facts.changed_of,
    "happening": lambda data: github_facts.happening_of(data, HAPPENINGS),
}
_ANSWERS: Mapping[str, Any] = {
    "listed": PULL,
    "pull": PULL,
    "review": {
        "id": 1,
        "user": ACCOUNT,
        "state": "APPROVED",
        "commit_id": OID,
        "submitted_at": "2026-03-02T00:00:00Z",
        "body": "x",
    },
    "movement": {
        "id": 1,
        "before": OID,
        "after": OID,
        "ref": "refs/heads/main",
        "timestamp": "2026-03-02T00:00:00Z",
        "activity_type": "push",
        "actor": ACCOUNT,
    },
    "written": {
        "sha": OID,
        "author": ACCOUNT,
        "committer": ACCOUNT,
        "commit": {"author": {"name": "x", "email": "y"}, "committer": {"name": "x", "email": "y"}},
    },
    "changed": {"filename": "plans/x.yaml", "status": "modified", "sha": OID, "previous_filename": "y"},
    "happening": {"id": 1, "event": "closed", "created_at": "2026-03-02T00:00:00.123Z", "actor": ACCOUNT, "commit_id": OID},
}
FENCE = {"epoch": 1, "epoch_id": "e" * 32, "fence": 2, "nonce": "a" * 32}
CLAIM = json.dumps({**FENCE, "site": "blog", "base": "", "release": "sha256:" + "a" * 64}).encode()
MANIFEST = json.dumps(
    {
        "schema": "publisher.manifest/1",
        "site": "blog",
        "withdrawn": [],
        "articles": [
            {"id": "a-1", "url": "/x/", "guid": "tag:x", "date": "2026-03-02T09:00:00+08:00", "digest": "sha256:" + "a" * 64}
        ],
    }
).encode()
TREE = b"100644 a.txt\0" + b"\x12" * 20 + b"40000 b\0" + b"\x13" * 20
COMMIT = b"tree " + b"1" * 40 + b"\nauthor x <x> 1 +0000\ngpgsig " + ARMORED.replace(b"\n", b"\n ").rstrip() + b"\n\nmessage\n"
WORKFLOW = b"""on:
  schedule:
    - cron: '17 22 * * *'
      timezone: Asia/Hong_Kong
permissions: {}
concurrency: {group: x, cancel-in-progress: true}
jobs:
  run:
    permissions: {contents: write}
    secrets: inherit
    steps:
      - uses: actions/checkout@1234567890123456789012345678901234567890
      - run: python -m publisher run --scheduled
        env: {A: "${{ secrets.A }}", B: "${{ vars.B }}"}
"""

SEEDS: dict[str, list[bytes]] = {
    "yaml": [PUBLISHER_YAML.encode(), QUEUE.encode(), PLAN, APPROVAL, WORKFLOW],
    "instance": [PUBLISHER_YAML.encode(), *_files("publisher.yaml")],
    "approval": [APPROVAL, *_files("approval.yaml")],
    "policy": [POLICY.encode(), *_files("plans/*/policy.yaml")],
    "queue": [QUEUE.encode(), *_files("plans/*/queue.yaml"), b"articles: []\n"],
    "plan": [
        PLAN,
        *_files("plans/*/daily/*/*.yaml", 2),
        *_files("plans/*/changes/*/*.yaml", 4),
        *_files("plans/*/launch.yaml"),
    ],
    "gate": [GATE, *_files("plans/*/gates/*.yaml", 3)],
    "ledger": _files("ledger/*/*.jsonl") + _files("ledger/*/daily/*/*.jsonl", 3) + _files("tests/replay/ledgers/**/*.jsonl", 3),
    "draft": [draft("a-0001").encode(), draft("a-0002", more="draft: true\ntags: [a, b]\n", body="![x](fence.svg)\n").encode()],
    "markdown": [MARKDOWN, *_files("drafts/*/*/index.md", 6)],
    "public-form": _files("site-src/*/articles/*/index.md"),
    "png": [png(), png(png_chunk(b"tEXt", b"a\0b"), png_chunk(b"pHYs", b"\0" * 9), after=b"x")],
    "jpg": [jpeg(), jpeg(exif(6), jpeg_segment(0xFE, b"x"), after=b"y")],
    "svg": [
        svg(),
        svg('<style>a{fill:url(#b)}</style><g id="b"><!-- c --><use href="#b"/></g>', 'width="10px" height="20"'),
        *_files("publisher/sitebuilder/theme/*.svg"),
    ],
    "statement": [STATEMENT, b"Merge\n\n" + STATEMENT + b"\n\nTrailer: x\n"],
    "armored": [ARMORED],
    "commit": [COMMIT, COMMIT.partition(b"gpgsig")[0] + b"\nx"],
    "folder": [TREE, TREE * 3],
    "facts": [name.encode() + b"\n" + json.dumps(value).encode() for name, value in _ANSWERS.items()],
    "headers": [
        b'<https://api.example/x?page=2&after=b>; rel="next"\nMon, 02 Mar 2026 00:00:00 GMT\n60\n1796000000\n0\n'
        b'{"message": "rate limit", "errors": [{"code": "missing_field"}]}'
    ],
    "workflow": [WORKFLOW, *_files(".github/workflows/*.yml"), *_files("publisher/cli/templates/*.yml")],
    "cron": [b"17 22 * * *\nAsia/Hong_Kong", b"*/15 0-6,9 1 JAN,FEB MON-FRI\n", b"0 0 29 2 *\nEurope/Paris"],
    "address": [
        b"https://blog.example/x/",
        b"http://127.0.0.1:8000/",
        b"git@host:path",
        b"ssh://git@host:22/path",
        b"../x",
        b"https://[2001:db8::1]:443/",
        b"ext::sh",
        b"-x",
        b"https://u:p@h/",
        b"https://xn--bcher-kva.example/",
    ],
    "scan": [
        b"plain text with words",
        base64.b64encode(b"some longer text of words " * 4),
        gzip.compress(b"text " * 40),
        b"x" + zlib.compress(b"text " * 40),
        b"a%41b&amp;c\\u0041=41=\n<b>d</b>",
        "text".encode("utf-16") * 9,
        png(png_chunk(b"zTXt", b"a\0\0" + zlib.compress(b"text" * 9))),
        b"PK\x03\x04" + b"\0" * 22 + b"\1\0\0\0a" + zlib.compress(b"x" * 99)[2:-4],
    ],
    "request-text": [b"a title with `code` and | and ``", b"@user #12 <b>", b"```"],
    "addresses": [b"# readers\nann@example.org\nBen <ben@example.org>\nc@d.e # x\n", b"a.b+c@x-y.example\n"],
    "manifest": [MANIFEST],
    "claim": [CLAIM],
    "settings": [
        b"local\0core.bare\nfalse\0local\0remote.origin.url\nhttps://x/\0worktree\0url.x.insteadof\ny\0",
        b"global\0a.b\nc\0local\0include.path\n/x\0",
        b"local\0core.bare\nfalse\0local\0remote.origin.url\nhttps://x/\0",
    ],
    "form": [
        json.dumps({"decision": "skip", "site": "blog", "date": "2026-03-02", "reason": "x"}).encode(),
        json.dumps({"decision": "settle", "plan": "blog/x", "step": "deploy", "happened": "yes", "reason": "x"}).encode(),
    ],
    "calendar": [
        b"2026-03-02",
        b"2026-03-02T09:00:00+08:00",
        b"2026-03-02T01:00:00Z",
        b"Asia/Hong_Kong",
        b"90s",
        b"14d",
        b"09:00",
    ],
    "template": [
        default_theme()["moved.html.j2"],
        b"{% for a in [1, 2] %}{{ loop.index * a }}{{ 'x'|upper }}{% endfor %}{{ site.title }}{{ href('/x/') }}",
        b"{% macro m(a) %}{{ a ** 2 }}{% endmacro %}{{ m(3) }}{% set x = namespace(y=1) %}{{ '%s' % x.y }}",
    ],
    "words": [default_theme()["words.json"], b'{"day": "{day}. {month} {year}", "note": "N"}'],
}
SEEDS["fold"] = SEEDS["ledger"]
