"""The heavy figures of docs/reliability.md: measured by a command each, kept with commit and date, stale when the code has changed.

    scripts/release-figures run [LAYER ...]    measures, and writes docs/figures.json
    scripts/release-figures check              fails where a layer was never measured on today's publisher/, or did not pass
    scripts/release-figures table              the table of docs/reliability.md
    scripts/release-figures page               writes docs/known-bad.md from docs/figures.json

A figure belongs to the tree of ``publisher/`` that it was measured on. A release is refused while ``check`` fails. Of the known-bad
variants a row each is kept: a variant that was missed keeps the commit at which it was caught last.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "figures.json"
PAGE = ROOT / "docs" / "known-bad.md"
KNOWN_BAD = "known-bad"
PASSED = r"=+ (.*(?:passed|failed|error).*) in "
LAYERS: dict[str, tuple[str, str]] = {
    # layer: (command, what of its output is the figure)
    "simulation": (
        "python -m publisher simulate --histories 700000 --seed full --jobs 2",
        r"(\w+: \d+ histories, \d+ broken rules)",
    ),
    KNOWN_BAD: ("python -m publisher simulate --broken all --histories 2000 --seed release --jobs 2 --json", ""),
    "real processes": ("python -m pytest tests/scenarios -n 2 --dist worksteal", PASSED),
    "system": ("python -m pytest tests/system", PASSED),
    "hostile input": ("python -m tests.hostile.sweep", r"(\d+ of \d+ held.*)"),
    "fuzzing": ("python -m pytest tests/fuzz", PASSED),
    "privacy": ("python -m pytest tests/privacy", PASSED),
    "audit and replay": ("python -m pytest tests/audit tests/replay tests/engine/test_auditing.py", PASSED),
    "drills": ("python -m pytest tests/drills", PASSED),
    "field reports": ("python -m pytest tests/field", PASSED),
}


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def known() -> dict[str, dict[str, Any]]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def run(names: list[str]) -> int:
    if git("status", "--porcelain", "publisher"):
        print("publisher/ has changes that are not committed: a figure belongs to a commit", file=sys.stderr)
        return 2
    failed = 0
    for name in names or list(LAYERS):
        command, pattern = LAYERS[name]
        print(f"{name}: {command}", flush=True)
        environment = {**os.environ, "PUBLISHER_TEST_VOLUME": "release"}
        words = command.split()
        words[0] = sys.executable
        began = time.monotonic()
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
        commit, date = git("rev-parse", "HEAD"), f"{datetime.now(UTC):%Y-%m-%d}"
        rows = rows_of(done.stdout, commit, date, known().get(name, {})) if name == KNOWN_BAD else []
        found = [summary(rows)] if rows else re.findall(pattern, done.stdout) if pattern else []
        print("\n".join(done.stdout.splitlines()[-15:]), flush=True)
        failed += done.returncode != 0
        FILE.write_text(json.dumps({**known(), name: {
            "figure": "; ".join(found[-3:]), "passed": done.returncode == 0, "command": command, "commit": commit,
            "tree": git("rev-parse", "HEAD:publisher"), "date": date, "minutes": round((time.monotonic() - began) / 60, 1),
            **({"rows": rows} if rows else {}),
        }}, indent=1, sort_keys=True) + "\n")  # fmt: skip
        if rows:
            PAGE.write_text(page(known()[name]))
    return 1 if failed else 0


def rows_of(said: str, commit: str, date: str, before: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each variant and kind of target, with the commit and date at which it was caught last ("" when never)."""
    last = {(row["variant"], row["target"]): (row["caught"], row["on"]) for row in before.get("rows", ())}
    try:
        variants = json.loads(said)["variants"]
    except (ValueError, KeyError):
        return []  # it broke down: no row says anything about it
    rows = []
    for row in variants:
        caught, on = (commit, date) if row["found"] else last.get((row["variant"], row["target"]), ("", ""))
        rows.append({**row, "caught": caught, "on": on})
    return rows


def summary(rows: list[dict[str, Any]]) -> str:
    found = sum(bool(row["found"]) for row in rows)
    names = {row["variant"] for row in rows}
    return f"{len(names)} broken rules, {found} of {len(rows)} found in {rows[0]['histories']} histories each"


def page(item: dict[str, Any]) -> str:
    """docs/known-bad.md: nobody edits it."""
    lines = [
        "# Known-bad variants: each broken rule, and how it was found",
        "",
        "Written by `scripts/release-figures run known-bad`, from what `docs/figures.json` keeps. What the variants are for is in",
        "[reliability.md](reliability.md#known-bad-variants).",
        "",
        f"{item['figure']}, at commit {item['commit'][:12]} on {item['date']}, by `{item['command']}`. *Rate*: the share of histories",
        "that found it. *First*: the number of the first one.",
        "",
        "| broken rule | target | rate | first | found by | last caught at | on |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in item["rows"]:
        cells = (
            f"`{row['variant']}`", row["target"], f"{row['rate']:.2%}", "-" if row["first"] is None else row["first"],
            ", ".join(row["oracles"]) or "-", row["caught"][:12] or "never", row["on"] or "-",
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def check() -> int:
    tree, found = git("rev-parse", "HEAD:publisher"), known()
    stale = [name for name in LAYERS if name not in found or found[name]["tree"] != tree]
    bad = [name for name in LAYERS if name in found and not found[name]["passed"]]
    for name in stale:
        print(f"{name}: not measured on this code; scripts/release-figures run '{name}'")
    for name in bad:
        print(f"{name}: did not pass")
    edited = bool(found.get(KNOWN_BAD, {}).get("rows")) and (not PAGE.exists() or PAGE.read_text() != page(found[KNOWN_BAD]))
    if edited:
        print("docs/known-bad.md is not what docs/figures.json says; scripts/release-figures page")
    return 1 if stale or bad or edited else 0


def write_page() -> int:
    item = known().get(KNOWN_BAD, {})
    if not item.get("rows"):
        print("nothing was measured; scripts/release-figures run known-bad", file=sys.stderr)
        return 1
    PAGE.write_text(page(item))
    return 0


def table() -> int:
    print("| layer | figure | commit | date | command |\n|---|---|---|---|---|")
    for name, item in known().items():
        print(f"| {name} | {item['figure']} | {str(item['commit'])[:12]} | {item['date']} | `{item['command']}` |")
    return 0


if __name__ == "__main__":
    verb, *names = sys.argv[1:] or ["table"]
    sys.exit(run(names) if verb == "run" else {"table": table, "page": write_page, "check": check}[verb]())
