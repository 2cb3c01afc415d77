"""What a day costs at a pull-request host: API requests, pushes, and CI minutes, for one site and for several.

    python bench/github_day.py [--sites 10]

A day is what the shipped workflows do: a request for tomorrow's plan and its review's comment, the merge recorded, two looks
whether something is due with a run for each site that is, and two watches. The host is the tests' simulator of GitHub, spoken to
over http by the real command line; a merge is a person's and costs nothing here. Minutes are what GitHub bills: each job's
minutes, begun ones whole, with a site's job taken as three minutes. Counts, not times, so they travel.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from publisher.engine.schedules import DECIDING_MINUTES, SITE_MINUTES  # noqa: E402
from publisher.sitebuilder.theme import default_theme  # noqa: E402
from tests.support.github_instance import STATE, GithubInstance, github_instance  # noqa: E402
from tests.support.instance import POLICY, START, first_epoch  # noqa: E402
from tests.support.web import serving  # noqa: E402

SITE = """\
  {name}:
    url: {url}
    zone: Asia/Hong_Kong
    title: "Another blog"
    description: "Texts for a measurement"
    language: en
    author: "Bench"
    tag_authority: "{name}.example,2026"
    target: {{kind: directory, path: {public}}}
    staging: {{kind: directory, path: {public}-staging}}
    confirm_within: 10s
"""
DRAFT = '---\nid: {name}-{n:04d}\ntitle: "Number {n} of {name}"\nsummary: "In short."\ncategory: {category}\n---\nText {n} of {name}.\n'


def add_sites(instance: GithubInstance, names: list[str], stack: ExitStack) -> None:
    """Further sites, each with a policy, four drafts, a theme, a ledger, and a web server at its address."""
    editor = instance.clone("editor")
    files: dict[str, bytes | str | None] = {}
    configuration = (editor.path / "publisher.yaml").read_text()
    for name in names:
        public = instance.folder / f"public-{name}"
        web = stack.enter_context(serving(public / "current"))
        web.date = None
        configuration += SITE.format(name=name, url=web.url, public=public)
        files[f"plans/{name}/policy.yaml"] = POLICY.format(start=START, time='publish_time: "09:00"\n')
        queue = "".join(f"  - {{id: {name}-{n:04d}, source: drafts/{name}/t{n}}}\n" for n in range(1, 5))
        files[f"plans/{name}/queue.yaml"] = f"articles:\n{queue}"
        for n in range(1, 5):
            files[f"drafts/{name}/t{n}/index.md"] = DRAFT.format(name=name, n=n, category="guide" if n % 2 else "note")
        files |= {f"site-src/{name}/theme/{path}": data for path, data in default_theme().items()}
    editor.commit({"publisher.yaml": configuration, **files}, "More sites")
    owner = instance.people["owner"]
    instance.sim.push_as(owner, "HEAD", "main", folder=editor.path)
    editor.git("checkout", "--quiet", STATE)
    editor.commit({f"ledger/{name}/claims/2026.jsonl": first_epoch() for name in names}, "Their ledgers")
    instance.sim.push_as(owner, "HEAD", STATE, folder=editor.path)
    editor.git("checkout", "--quiet", "main")


class Day:
    """Counts what each step costs."""

    def __init__(self, instance: GithubInstance) -> None:
        self._instance = instance
        self.rows: list[tuple[str, int, int, int, int]] = []

    def step(self, name: str, minutes: int, work: Callable[[], object], jobs: int = 1) -> None:
        sim = self._instance.sim
        requests, pushes = len(sim.requests), len(sim.pushes)
        work()
        self.rows.append((name, jobs, len(sim.requests) - requests, len(sim.pushes) - pushes, minutes))


def measure(sites: int, folder: Path) -> list[tuple[str, int, int, int, int]]:
    with ExitStack() as stack:
        instance = stack.enter_context(github_instance(folder, publish_time="09:00", articles=4))
        names = [f"site-{n}" for n in range(2, sites + 1)]
        if names:
            add_sites(instance, names, stack)
        names.insert(0, "blog")
        day = Day(instance)

        def ci(now: str, *argv: str) -> object:
            return instance.do("ci", *argv, now=now, check=None)

        def planner(now: str, *argv: str) -> object:
            return instance.do("planner", *argv, now=now)

        day.step("plan", 2 * DECIDING_MINUTES, lambda: planner("11-30 18:00", "plan", "--date", "2026-12-01"))
        day.step("review", 0, lambda: planner("11-30 18:01", "review", "--requests", "--post"), jobs=0)
        numbers = sorted(one.number for one in instance.sim.pulls.all)
        for number in numbers:
            instance.merge(number, "11-30 20:00")
        day.step(
            "approve --record",
            DECIDING_MINUTES * len(numbers),
            lambda: ci("11-30 20:01", "approve", "--record"),
            jobs=len(numbers),
        )
        day.step("watch, evening", DECIDING_MINUTES, lambda: ci("11-30 20:52", "watch"))
        day.step("what is due", DECIDING_MINUTES, lambda: ci("12-01 09:13", "sites", "--due", "--fresh"))
        day.step(
            "run, each due site", SITE_MINUTES * sites,
            lambda: [ci("12-01 09:14", "run", "--scheduled", "--site", name) for name in names], jobs=sites,
        )  # fmt: skip
        day.step("what is due, later", DECIDING_MINUTES, lambda: ci("12-01 10:47", "sites", "--due", "--fresh"))
        day.step("watch, morning", DECIDING_MINUTES, lambda: ci("12-01 11:38", "watch"))
        done = [name for name in names if instance.ledger(f"{name}/daily/2026/2026-12-01")[-1]["type"] == "confirmed"]
        assert done == names, f"published: {done}"
        return day.rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, default=10)
    asked = parser.parse_args()
    for sites in (1, asked.sites):
        with tempfile.TemporaryDirectory(prefix="bench-day-") as folder:
            rows = measure(sites, Path(folder))
        print(f"\n{sites} site{'s' if sites > 1 else ''}, one day")
        print(f"{'step':22} {'jobs':>5} {'API requests':>13} {'pushes':>7} {'minutes':>8}")
        totals = Counter[str]()
        for name, jobs, requests, pushes, minutes in rows:
            print(f"{name:22} {jobs:5} {requests:13} {pushes:7} {minutes:8}")
            totals.update(jobs=jobs, requests=requests, pushes=pushes, minutes=minutes)
        print(f"{'a day':22} {totals['jobs']:5} {totals['requests']:13} {totals['pushes']:7} {totals['minutes']:8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
