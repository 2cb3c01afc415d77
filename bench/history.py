"""Does it stay fast as history grows? ``status``, ``preview`` and a run that finds nothing to do, with ten plans and with ten years.

    python bench/history.py [--plans 3650] [--rounds 5] [--keep DIR]

Makes two instances of the same kind, one with 10 publications and one with ``--plans``, two articles each: every plan with its
request, its merge, and the three commits and nine records of a run. What counts is the ratio between the two, taken by turns on the
same machine in one go; absolute times do not travel. This repository is measured beside them.

The instances are written by ``git fast-import``, so their merges carry no signatures: no command asks for the approval of a plan
that is over. They are good for timing, not for ``publisher audit``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import IO

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from publisher.domain.fingerprint import article_fingerprint, digest, payload_hash, tree_digest  # noqa: E402
from publisher.domain.ledger_events import Event, EventType, NewEvent, encode  # noqa: E402
from publisher.domain.lines import steps_of  # noqa: E402
from publisher.gitstore.git_objects import object_id  # noqa: E402
from publisher.gitstore.yaml_writing import render_yaml  # noqa: E402
from publisher.sitebuilder.theme import default_theme  # noqa: E402

SITE = "bench"
EPOCH_ID, NONCE = "e" * 32, "a" * 32
SOME_COMMIT = "0" * 40
"""Stands for the commits that records name: fast-import gives the ids only once everything is written."""
WAITING = 20
"""Drafts in the queue that no plan names yet."""
COMMANDS: Mapping[str, Sequence[str]] = {
    "status": ("status",),
    "preview": ("preview",),
    "run, nothing to do": ("run", "--scheduled"),
}
READS_ONLY = ("status", "preview")

INSTANCE = """\
instance: {{id: i-5f0c2b6c9d1e4a7b8c3d2e1f0a9b8c7d}}
forge: git
branches: {{default: main, state: main}}
on_call: [bench@example.org]
sites:
  bench:
    url: http://127.0.0.1:9/
    zone: Asia/Hong_Kong
    title: "A site with a history"
    description: "Made for timing."
    language: en
    author: "Bench"
    tag_authority: "bench.example,2026"
    target: {{kind: directory, path: {folder}/public}}
    staging: {{kind: directory, path: {folder}/staging}}
"""
APPROVAL = 'approvals: 1\nexpires_after: "24h"\nmax_lead: "14d"\ncontent: plan\n'
POLICY = 'version: 1\nquantity: 2\nstart: "{start}"\nzone: Asia/Hong_Kong\nhorizon_days: 7\n'


# --- texts ----------------------------------------------------------------------------------------------------------------------


def article_id(number: int) -> str:
    return f"a-{number:05d}"


def head(number: int) -> str:
    return f'title: "Article {number}"\nsummary: "What article {number} says."\ncategory: {"guide" if number % 2 else "note"}\n'


def body(number: int) -> str:
    line = f"Sentence {number} of the text that only article {number} has, long enough to be one. "
    return "\n\n".join([line * 4] * 5) + "\n"


def draft(number: int) -> bytes:
    return f"---\nid: {article_id(number)}\n{head(number)}tags: [made]\n---\n{body(number)}".encode()


def public_form(number: int, when: str) -> bytes:
    where = f'url: "/article-{number}/"\nguid: "tag:bench.example,2026:bench/{article_id(number)}"\n'
    rest = f'tags: ["made"]\ndate: "{when}"\nupdated: ""\n'
    return f'---\nid: "{article_id(number)}"\n{where}{head(number)}{rest}---\n{body(number)}'.encode()


# --- the ledger -------------------------------------------------------------------------------------------------------------------


class Ledger:
    """Ledger files on their way: appends through the product's own encoder, so that numbers and chain are right."""

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}
        self._last: dict[str, Event] = {}

    def add(self, path: str, at: str, kind: EventType, claim: int | None, fields: Mapping[str, object]) -> None:
        new = NewEvent(type=kind, fields=fields, claim=claim)
        line, event = encode(new, after=self._last.get(path), at=at, actor="ci", commit=SOME_COMMIT)
        self.texts[path] = self.texts.get(path, b"") + line
        self._last[path] = event


class Plan:
    """The ``number``-th publication of the made history: its file and what its run writes."""

    def __init__(self, number: int, day: date) -> None:
        self.number = number
        self.day = day
        self.path = f"{SITE}/daily/{day.year:04d}/{day.isoformat()}"
        self.at = f"{day.isoformat()}T01:00:00Z"
        self.when = f"{day.isoformat()}T00:00:00+08:00"
        self.articles = (2 * number - 1, 2 * number)
        self.data = {
            "kind": "publication", "site": SITE, "key": f"daily-publication:{day.isoformat()}", "date": day.isoformat(),
            "zone": "Asia/Hong_Kong", "policy": {"version": 1, "digest": digest(b"policy")}, "revision": 1,
            "articles": [self._planned(article) for article in self.articles],
        }  # fmt: skip
        self.payload = payload_hash(self.data)
        self.release = digest(f"release {number}".encode())
        self.base = digest(f"release {number - 1}".encode()) if number > 1 else ""

    def _planned(self, article: int) -> dict[str, str]:
        return {
            "id": article_id(article), "source": f"drafts/{SITE}/article-{article}", "category": "guide" if article % 2 else "note",
            "url": f"/article-{article}/", "guid": f"tag:bench.example,2026:bench/{article_id(article)}",
            "fingerprint": article_fingerprint({"index.md": digest(draft(article))}),
        }  # fmt: skip

    @property
    def claims(self) -> str:
        return f"{SITE}/claims/{self.day.year:04d}"

    def claimed(self, ledger: Ledger) -> None:
        fence = {"epoch": 1, "epoch_id": EPOCH_ID, "fence": self.number, "nonce": NONCE}
        until = f"{self.day.isoformat()}T01:10:00Z"
        ledger.add(
            self.claims, self.at, EventType.CLAIMED, self.number, {**fence, "holder": "ci", "plan": self.path, "until": until}
        )
        approved = {
            "gate": "plan", "plan_payload": self.payload, "plan_commit": SOME_COMMIT, "payload": self.payload,
            "path": f"plans/{self.path}.yaml", "revision": 1, "steps": [step.name for step in steps_of("publication")[:4]],
            "by": ["reviewer@example.org"], "merged_at": self.at, "merge": SOME_COMMIT, "request": self.number,
            "evidence": {"merge": SOME_COMMIT, "signatures": [digest(b"signature")], "signers": ["planner@example.org"]},
        }  # fmt: skip
        ledger.add(self.path, self.at, EventType.APPROVED, None, approved)

    def intended(self, ledger: Ledger) -> None:
        puts = [self._put(article) for article in self.articles]
        prepared = {"payload": self.payload, "plan": self.path, "puts": puts, "withdraws": [], "hides": [], "reverts": []}
        ledger.add(
            self.path, self.at, EventType.PREPARED, self.number, {**prepared, "input": digest(b"in"), "output": digest(b"out")}
        )
        built = {
            "release": self.release, "base": self.base, "files": 20, "input": digest(b"in"), "rebased": False,
            "presentation": {"commit": SOME_COMMIT, "output": 1, "digest": digest(b"presentation")},
        }  # fmt: skip
        ledger.add(self.path, self.at, EventType.BUILT, self.number, built)
        ledger.add(self.path, self.at, EventType.DEPLOY_INTENT, self.number, self._deployment())

    def confirmed(self, ledger: Ledger) -> None:
        ledger.add(self.path, self.at, EventType.DEPLOYED, self.number, {**self._deployment(), "how": "switched"})
        urls = [f"http://127.0.0.1:9/article-{article}/" for article in self.articles]
        pages = {url: digest(url.encode()) for url in (*urls, "http://127.0.0.1:9/", "http://127.0.0.1:9/feed.xml")}
        ledger.add(
            self.path, self.at, EventType.CONFIRMED, self.number, {"release": self.release, "urls": urls, "pages": pages}
        )
        fence = {"epoch": 1, "epoch_id": EPOCH_ID, "fence": self.number, "nonce": NONCE}
        ledger.add(self.claims, self.at, EventType.RELEASED, self.number, fence)

    def _deployment(self) -> dict[str, object]:
        return {"deployment": self.number, "release": self.release, "base": self.base}

    def _put(self, article: int) -> dict[str, object]:
        data = public_form(article, self.when)
        return {
            "id": article_id(article), "url": f"/article-{article}/", "guid": f"tag:bench.example,2026:bench/{article_id(article)}",
            "date": self.when, "updated": "", "digest": tree_digest({"index.md": digest(data)}),
            "category": "guide" if article % 2 else "note", "files": {"index.md": [object_id("blob", data, "sha1"), digest(data)]},
        }  # fmt: skip


# --- the repository ---------------------------------------------------------------------------------------------------------------


class Import:
    """A history on its way into ``git fast-import``: one commit after another on main."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._marks = 0
        self._tip = 0

    def commit(self, message: str, at: datetime, files: Mapping[str, bytes], *, side: bool = False, merge: int = 0) -> int:
        """One commit; ``side`` leaves main where it was, ``merge`` names the second parent. Returns its mark."""
        self._marks += 1
        write, who = self._stream.write, f"bench <bench@example.org> {int(at.timestamp())} +0000"
        write(f"commit refs/heads/{'side' if side else 'main'}\nmark :{self._marks}\nauthor {who}\ncommitter {who}\n".encode())
        self._data(message.encode())
        if self._tip:
            write(f"from :{self._tip}\n".encode())
        if merge:
            write(f"merge :{merge}\n".encode())
        for path, data in files.items():
            write(f"M 100644 inline {path}\n".encode())
            self._data(data)
        write(b"\n")
        if not side:
            self._tip = self._marks
        return self._marks

    def _data(self, data: bytes) -> None:
        self._stream.write(b"data %d\n%s\n" % (len(data), data))


def make(folder: Path, plans: int) -> Path:
    """An instance with ``plans`` publications that are over, the last one yesterday. Returns the clone of its CI."""
    folder.mkdir()
    remote, clone = folder / "remote.git", folder / "ci"
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    importer = subprocess.Popen(
        ["git", "fast-import", "--quiet", "--depth=50"], cwd=remote, env=environment(), stdin=subprocess.PIPE
    )
    assert importer.stdin is not None
    write_history(Import(importer.stdin), folder, plans)
    importer.stdin.close()
    if importer.wait() != 0:
        raise SystemExit("git fast-import failed")
    git(remote, "update-ref", "-d", "refs/heads/side")
    git(folder, "clone", "--quiet", "--no-checkout", str(remote), str(clone))
    return clone


def write_history(into: Import, folder: Path, plans: int) -> None:
    start = datetime.now(UTC).date() - timedelta(days=plans)
    ledger = Ledger()
    began = f"{start.isoformat()}T00:00:00Z"
    ledger.add(
        f"{SITE}/claims/{start.year:04d}", began, EventType.EPOCH, None, {"epoch": 1, "epoch_id": EPOCH_ID, "reason": "init"}
    )
    into.commit("A new instance", noon(start), dict(first_files(folder, start, plans, ledger)))
    for number in range(1, plans + 1):
        plan = Plan(number, start + timedelta(days=number - 1))
        write_plan(into, plan, ledger)


def first_files(folder: Path, start: date, plans: int, ledger: Ledger) -> Iterator[tuple[str, bytes]]:
    queue = [
        {"id": article_id(n), "source": f"drafts/{SITE}/article-{n}"} for n in range(2 * plans + 1, 2 * plans + WAITING + 1)
    ]
    yield "publisher.yaml", INSTANCE.format(folder=folder).encode()
    yield "approval.yaml", APPROVAL.encode()
    yield f"plans/{SITE}/policy.yaml", POLICY.format(start=start.isoformat()).encode()
    yield f"plans/{SITE}/queue.yaml", render_yaml({"articles": queue})
    for name, data in default_theme().items():
        yield f"site-src/{SITE}/theme/{name}", data
    for number in range(1, 2 * plans + WAITING + 1):
        yield f"drafts/{SITE}/article-{number}/index.md", draft(number)
    yield from files_of(ledger, ledger.texts).items()


def write_plan(into: Import, plan: Plan, ledger: Ledger) -> None:
    """A plan's five commits: proposed, merged, claimed, about to deploy, confirmed."""
    at, name = noon(plan.day), plan.day.isoformat()
    file = {f"plans/{plan.path}.yaml": render_yaml(plan.data)}
    proposed = into.commit(f"{SITE}: publish {name}", at, file, side=True)
    into.commit(f"Approve request {plan.number}", at, file, merge=proposed)
    plan.claimed(ledger)
    into.commit(f"Claim {SITE} for {plan.path}", at, files_of(ledger, [plan.claims, plan.path]))
    plan.intended(ledger)
    texts = {f"site-src/{SITE}/articles/{article_id(n)}/index.md": public_form(n, plan.when) for n in plan.articles}
    into.commit(f"{SITE} {name}: about to deploy", at, {**files_of(ledger, [plan.path]), **texts})
    plan.confirmed(ledger)
    into.commit(f"{SITE} {name}: deployed, confirmed", at, files_of(ledger, [plan.claims, plan.path]))


def files_of(ledger: Ledger, paths: Sequence[str] | Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"ledger/{path}.jsonl": ledger.texts[path] for path in paths}


def noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PUBLISHER_"))}
    ours = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(REPOSITORY), "LC_ALL": "C"}
    return kept | ours


def git(folder: Path, *argv: str) -> str:
    done = subprocess.run(["git", *argv], cwd=folder, env=environment(), check=True, capture_output=True, text=True)
    return done.stdout


# --- measuring --------------------------------------------------------------------------------------------------------------------


def seconds(clone: Path, argv: Sequence[str]) -> float:
    """How long one command takes, as a process of its own. A command that fails measures nothing."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "publisher", *argv], cwd=clone, env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
        text=True,
    )  # fmt: skip
    took = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(f"publisher {' '.join(argv)} in {clone} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return took


def measure(places: Mapping[str, Path], rounds: int) -> dict[tuple[str, str], float]:
    """The median of each command at each place, taken by turns, so that a busy moment hits all alike."""
    taken: dict[tuple[str, str], list[float]] = {}
    for turn in range(rounds + 1):
        for command, argv in COMMANDS.items():
            for place, clone in places.items():
                if clone == REPOSITORY and command not in READS_ONLY:
                    continue
                took = seconds(clone, argv)
                if turn:  # the first round fills caches
                    taken.setdefault((command, place), []).append(took)
    return {key: statistics.median(values) for key, values in taken.items()}


def tell(results: Mapping[tuple[str, str], float], places: Sequence[str]) -> None:
    small, large = places[0], places[1]
    print(f"\n{'seconds, median':22}" + "".join(f"{place:>18}" for place in places) + f"{'ratio':>10}")
    for command in COMMANDS:
        cells = [f"{results[command, place]:18.2f}" if (command, place) in results else f"{'-':>18}" for place in places]
        print(f"{command:22}" + "".join(cells) + f"{results[command, large] / results[command, small]:10.2f}")
    print(f"\nratio: {large} against {small}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--plans", type=int, default=3650, help="publications in the large instance (3650: ten years)")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds")
    parser.add_argument("--keep", type=Path, help="make the instances there, and keep them")
    given = parser.parse_args()
    folder = given.keep.absolute() if given.keep else Path(tempfile.mkdtemp(prefix="publisher-bench-"))
    folder.mkdir(exist_ok=True)
    try:
        places: dict[str, Path] = {}
        for plans in (10, given.plans):
            began = time.perf_counter()
            places[f"{plans} plans"] = clone = make(folder / f"plans-{plans}", plans)
            commits = git(clone, "rev-list", "--count", "origin/main").strip()
            print(
                f"made {plans} plans, {2 * plans} articles, {commits} commits in {time.perf_counter() - began:.1f} s",
                flush=True,
            )
        places["this repository"] = REPOSITORY
        tell(measure(places, given.rounds), list(places))
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
