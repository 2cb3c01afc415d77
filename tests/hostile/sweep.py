"""Every hostile thing against a real instance.

    python -m tests.hostile.sweep [--kind KIND] [--every N]

prints what goes wrong, and the figures: how many held, the most processor time and memory that a command needed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from publisher.sitebuilder.theme import default_theme
from tests.hostile import clone_cases, judged, record_cases, text_cases, theme_cases, value_cases, yaml_cases
from tests.hostile.case import Case
from tests.hostile.ground import Ground, made
from tests.hostile.measured import Done, Measured
from tests.support.instance import INSTANCE, POLICY, draft, first_epoch, source
from tests.support.web import serving

MODULES = (yaml_cases, value_cases, text_cases, record_cases, theme_cases, clone_cases)
USUAL = 0.35
"""Seconds of processor time that the dearest of these commands needs where nothing is hostile."""
ROW = (
    "  - {{id: a-000{n}, source: drafts/blog/article-000{n}, category: guide, url: /article-000{n}/, "
    'guid: "tag:x/a-000{n}", fingerprint: "sha256:{f}"}}\n'
)


def named() -> dict[str, Case]:
    """The cases by name, made from stand-ins for the instance's files: for choosing among them before there is an instance."""
    plan = 'kind: publication\nsite: blog\nkey: daily-publication:2026-03-02\ndate: "2026-03-02"\nzone: UTC\nrevision: 1\narticles:\n'
    epoch = first_epoch()
    filled = dict.fromkeys(("instance", "state", "alerts", "lease", "url", "target", "staging", "confirm", "more"), "x")
    rows = "".join(ROW.format(n=number, f="a" * 64) for number in (3, 4))
    texts = {
        "publisher.yaml": INSTANCE.format(**filled).encode(),
        "approval.yaml": b"approvals: 1\n",
        "plans/blog/policy.yaml": POLICY.format(start="2026-01-01", time="").encode(),
        "plans/blog/queue.yaml": b"articles:\n",
        "plans/blog/daily/2026/2026-03-02.yaml": (plan + rows).encode(),
        "ledger/blog/claims/2026.jsonl": epoch * 3,
        **{f"{source(n)}/index.md": draft(n, "guide").encode() for n in range(1, 9)},
        **{f"site-src/blog/theme/{name}": data for name, data in default_theme().items()},
    }
    return cases(texts)


def cases(texts: dict[str, bytes]) -> dict[str, Case]:
    found: dict[str, Case] = {}
    for case in (case for module in MODULES for case in module.cases(texts)):
        name = str(case)
        while name in found:
            name += "+"
        found[name] = case
    return found


@contextmanager
def standing(folder: Path) -> Iterator[tuple[Ground, dict[str, Case]]]:
    """A ground and its cases."""
    measured = Measured()
    with serving(folder / "i" / "public" / "current") as web:
        web.date = None
        ground = made(folder / "i", web.url.rstrip("/"), measured)
        try:
            yield ground, cases(ground.texts())
        finally:
            measured.close()


def meet(ground: Ground, case: Case, *, again: bool) -> tuple[list[str], Done]:
    """What is wrong, in words, and what the command said; everything is as before afterwards."""
    try:
        argv = judged.put(ground, case)
        before = ground.state()
        done = ground.run(*argv, env=case.env)
        found = judged.troubles(case, done, USUAL)
        after = ground.state()
        changed = sorted(path for path in after.keys() | before.keys() if after.get(path) != before.get(path))
        if changed:
            ground.spoilt = True
            found.append(f"changed {changed[:3]}")
        if case.holds and not case.holds(ground, done.out + done.err):
            found.append("what must hold of it does not")
        if again and ground.run(*argv, env=case.env).said != done.said:
            found.append("another answer to the same question")
        return found, done
    finally:
        ground.clear()


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--kind", default="")
    options.add_argument("--every", type=int, default=1)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="publisher-hostile-") as folder, standing(Path(folder)) as (ground, found):
        chosen = [case for case in found.values() if asked.kind in ("", case.kind)][:: asked.every]
        seen: list[tuple[float, float, str, bool]] = []
        for case in chosen:
            wrong, done = meet(ground, case, again=True)
            seen.append((done.cpu, done.rss, str(case), not wrong))
            if wrong:
                sys.stdout.write(
                    f"{case}: {'; '.join(wrong)}; wanted {case.code} at {case.where}\n{done.err}{done.out[:400]}\n"
                )
                sys.stdout.flush()
    held_all = sum(1 for item in seen if item[-1])
    sys.stdout.write(f"{held_all} of {len(chosen)} held ({len(found)} in all)\n")
    sys.stdout.write(
        f"most processor time {max(seen)[0]:.2f} s ({max(seen)[2]}), most memory {max(item[1] for item in seen):.0f} MB\n"
    )
    return 0 if held_all == len(chosen) else 1


if __name__ == "__main__":
    raise SystemExit(main())
