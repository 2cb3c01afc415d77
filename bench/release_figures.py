"""The heavy figures of docs/reliability.md: measured by a command each, kept with commit and date, stale when the code has changed.

    scripts/release-figures run [LAYER ...]    measures, and writes docs/figures.json
    scripts/release-figures check              fails where a layer was never measured on today's publisher/, or did not pass
    scripts/release-figures table              the table of docs/reliability.md

A figure belongs to the tree of ``publisher/`` that it was measured on. A release is refused while ``check`` fails.
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

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "figures.json"
PASSED = r"=+ (.*(?:passed|failed|error).*) in "
LAYERS: dict[str, tuple[str, str]] = {
    # layer: (command, what of its output is the figure)
    "simulation": (
        "python -m publisher simulate --histories 700000 --seed full --jobs 2",
        r"(\w+: \d+ histories, \d+ broken rules)",
    ),
    "known-bad": (
        "python -m publisher simulate --broken all --histories 2000 --seed release --jobs 2",
        r"(\d+ broken rules, .* each)",
    ),
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


def known() -> dict[str, dict[str, object]]:
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
        found = re.findall(pattern, done.stdout)
        print("\n".join(done.stdout.splitlines()[-15:]), flush=True)
        failed += done.returncode != 0
        FILE.write_text(json.dumps({**known(), name: {
            "figure": "; ".join(found[-3:]), "passed": done.returncode == 0, "command": command, "commit": git("rev-parse", "HEAD"),
            "tree": git("rev-parse", "HEAD:publisher"), "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "minutes": round((time.monotonic() - began) / 60, 1),
        }}, indent=1, sort_keys=True) + "\n")  # fmt: skip
    return 1 if failed else 0


def check() -> int:
    tree, found = git("rev-parse", "HEAD:publisher"), known()
    stale = [name for name in LAYERS if name not in found or found[name]["tree"] != tree]
    bad = [name for name in LAYERS if name in found and not found[name]["passed"]]
    for name in stale:
        print(f"{name}: not measured on this code; scripts/release-figures run '{name}'")
    for name in bad:
        print(f"{name}: did not pass")
    return 1 if stale or bad else 0


def table() -> int:
    print("| layer | figure | commit | date | command |\n|---|---|---|---|---|")
    for name, item in known().items():
        print(f"| {name} | {item['figure']} | {str(item['commit'])[:12]} | {item['date']} | `{item['command']}` |")
    return 0


if __name__ == "__main__":
    verb, *names = sys.argv[1:] or ["table"]
    sys.exit(run(names) if verb == "run" else table() if verb == "table" else check())
