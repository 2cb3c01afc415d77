"""The files of an instance in a folder, as ``publisher init`` and people write them."""

from __future__ import annotations

from pathlib import Path

PUBLISHER_YAML = """\
# who we are
instance: {id: 0123456789abcdef}
forge: git
branches: {default: main, state: main}
on_call: [ann@example.org]
sites:
  # our handbook
  handbook:
    url: http://127.0.0.1:8000/
    zone: Asia/Hong_Kong
    title: "The handbook"
    description: "How it works."
    language: en
    author: "Ann"
    tag_authority: example.org,2026
    target: {kind: directory, path: public/handbook}   # local
"""

POLICY = """\
version: 1
quantity: 1
start: "2026-12-01"
zone: Asia/Hong_Kong
shares: {guide: 2, note: 1}
horizon_days: 7
"""

QUEUE = """\
# The handbook's queue.

articles:
  # the beginning
  - {id: a-0001, source: drafts/handbook/first}
  - {id: a-0002, source: drafts/handbook/second}   # short

  # --- January ---

  # waits for legal
  - {id: a-0003, source: drafts/handbook/third, held: true}
  - id: a-0004
    source: drafts/handbook/fourth
# the end
"""


def draft(article: str, *, title: str = "A title", category: str = "note", more: str = "", body: str = "Text.\n") -> str:
    return f'---\nid: {article}\ntitle: "{title}"\nsummary: "A summary."\ncategory: {category}\n{more}---\n{body}'


DRAFTS = {
    f"drafts/handbook/{slug}/index.md": draft(f"a-000{n}", category="guide" if n % 2 else "note")
    for n, slug in enumerate(["first", "second", "third", "fourth"], start=1)
}


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def handbook(root: Path, **more: str) -> Path:
    """An instance with one site, a policy, a queue of four and their drafts."""
    files = {"publisher.yaml": PUBLISHER_YAML, "plans/handbook/policy.yaml": POLICY, "plans/handbook/queue.yaml": QUEUE}
    return write(root, files | DRAFTS | more)


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file below a folder but git's own."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }
