"""An instance with a history worth auditing, made by the real engine, and a way to tamper with it as somebody with push rights
could: ledger lines, commits and refs are made by plumbing, and chained again where the tampering is meant to look well-made.
"""

from __future__ import annotations

import atexit
import copy
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

from publisher.domain.article import page_path
from publisher.domain.evidence import Seen
from publisher.domain.fingerprint import digest
from publisher.domain.ledger_events import FIRST_PREV
from publisher.domain.plan import Plan
from publisher.engine.auditing import AuditDoors, AuditReport, audit
from publisher.engine.changes import change_plan, correction, launch_plan, next_change, today, withdrawal
from publisher.engine.planning import Planner
from publisher.engine.running import run_site
from publisher.engine.site_view import SiteView, load
from publisher.errors import EXIT_LATER, EXIT_OK, EXIT_PERSON
from publisher.gitstore.gateway import Git
from publisher.ports import Tips
from publisher.wiring import Wired, open_instance, quiet, render_yaml
from tests.support.gitrepos import Repository
from tests.support.instance import Instance, draft, make_instance, source

SITE = "blog"
STATE = "publisher-state"
START = datetime(2026, 1, 5, 0, 0, tzinfo=UTC)
LAUNCH = "blog/launch"
FIRST = "blog/daily/2026/2026-01-05"
SECOND = "blog/daily/2026/2026-01-06"
CORRECTION = "blog/changes/2026/2026-01-06-1"
WITHDRAWAL = "blog/changes/2026/2026-01-06-2"
WRONG_FINGERPRINT = "blog/changes/2026/2026-01-06-3"
OTHER_DRAFTS = "blog/changes/2026/2026-01-06-4"
CLAIMS = "blog/claims/2026"
CONTROLS = "blog/controls"


@dataclass
class StandingClock:
    """A clock that moves by itself only while somebody sleeps."""

    at: datetime = START

    def now(self) -> datetime:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def forward(self, **units: float) -> None:
        self.at += timedelta(**units)


@dataclass
class DirectoryProbes:
    """Sees what a web server in front of the ``directory`` target would show."""

    root: Path
    url: str

    def look(self, urls: Sequence[str], *, seconds: float, bust: str) -> dict[str, Seen]:
        return {url: self._seen(url) for url in urls}

    def _seen(self, url: str) -> Seen:
        path = url.removeprefix(self.url)
        file = self.root / "current" / (page_path(path) if path.endswith("/") else path.lstrip("/"))
        if not file.is_file():
            return Seen(url=url, status=404)
        data = file.read_bytes()
        return Seen(url=url, status=200, digest=digest(data), size=len(data), body=data)


@dataclass
class Story:
    """What people and CI do, in this process."""

    instance: Instance
    clock: StandingClock = field(default_factory=StandingClock)

    def wired(self, who: str) -> Wired:
        environment = {"PUBLISHER_ACTOR": who, "HOME": str(self.instance.folder)}
        if who == "ci":  # a run opens the requests of gates, with the planner's key
            environment["PUBLISHER_SIGNING_KEY"] = str(self.instance.folder / "keys" / "planner")
        return open_instance(self.instance.clone(who).path, clock=self.clock, environment=environment)

    def view(self, wired: Wired) -> SiteView:
        return load(wired.store, wired.forge, wired.store.refresh(), SITE)

    def propose(self, make: Callable[[Wired, SiteView], Plan]) -> tuple[Plan, int]:
        self.clock.forward(minutes=1)
        wired = self.wired("planner")
        view = self.view(wired)
        plan = make(wired, view)
        files = {f"plans/{plan.path}.yaml": render_yaml(plan.data)}
        return plan, wired.requests.open(view.tips, files, f"Propose {plan.path}", marker=plan.path + plan.payload)

    def approve(self, number: int) -> None:
        self.clock.forward(minutes=1)
        wired = self.wired("reviewer")
        wired.requests.decide(wired.store.refresh(), number, True, self.clock.now())

    def publish(self, make: Callable[[Wired, SiteView], Plan]) -> Plan:
        plan, number = self.propose(make)
        self.approve(number)
        self.run()
        return plan

    def run(self) -> None:
        self.clock.forward(minutes=1)
        probes = DirectoryProbes(self.instance.public, self.instance.url)
        doors = replace(self.wired("ci").doors(), probes=lambda site: probes)
        outcome = run_site(doors, SITE)
        problems = [outcome.problem, *(plan.problem for plan in outcome.plans.values())]
        assert not any(problems), [str(problem) for problem in problems]
        assert outcome.exit_code in (EXIT_OK, EXIT_LATER, EXIT_PERSON)

    def edit(self, files: dict[str, str | None]) -> None:
        editor = self.instance.clone("editor")
        editor.git("pull", "--quiet", "--ff-only", "origin", "main")
        editor.commit(files, "edit")
        editor.push()


def daily(wired: Wired, view: SiteView) -> Plan:
    planner = Planner(reads=wired.store, forge=wired.forge, view=view, now=wired.clock.now())
    proposals = planner.propose(planner.dates(1))
    assert proposals, planner.problems
    return proposals[0].plan


def launch(wired: Wired, view: SiteView) -> Plan:
    return launch_plan(wired.store, view, [source(8)], ["build", "release"], wired.clock.now())


def change(action: str, fields: Callable[[Wired, SiteView], dict[str, Any]]) -> Callable[[Wired, SiteView], Plan]:
    def make(wired: Wired, view: SiteView) -> Plan:
        day = today(view, wired.clock.now())
        return change_plan(view, next_change(wired.store, wired.forge, view, day), day, action, "test", fields(wired, view))

    return make


def make_story(folder: Path) -> Story:
    """A launch behind gate G3, two daily publications, a correction and a withdrawal; then the CI's clone is up to date.

    Two more corrections are approved and never run: one names another fingerprint than its source has, one a commit of drafts
    that no clone has.
    """
    story = Story(make_instance(folder, state=STATE))
    _, number = story.propose(launch)
    story.approve(number)
    story.run()
    gate = story.instance.remote.git("for-each-ref", "--format=%(refname)", "refs/heads/publisher/requests/*")
    story.approve(int(gate.rsplit("/", 1)[-1]))
    story.run()
    story.publish(daily)
    story.clock.forward(days=1)
    story.publish(daily)
    story.edit({f"{source(1)}/index.md": draft(1, "guide", body="A corrected body of article number one.\n")})
    story.publish(change("correct", lambda wired, view: correction(wired.store, view, ["a-0001"])))
    story.publish(change("withdraw", lambda wired, view: withdrawal(view, "a-0002", "")))
    for wrong in ({"fingerprint": "sha256:" + "1" * 64}, {"sources": "1" * 40}):
        _, number = story.propose(change("correct", lambda wired, view, wrong=wrong: _wrong_correction(wired, view, wrong)))
        story.approve(number)
    story.wired("ci").store.refresh()
    return story


def _wrong_correction(wired: Wired, view: SiteView, wrong: dict[str, str]) -> dict[str, Any]:
    fields = correction(wired.store, view, ["a-0003"])
    if "fingerprint" in wrong:
        fields["articles"][0] |= wrong
        return fields
    return fields | wrong


def make_short_story(folder: Path) -> Story:
    """One daily publication of an instance whose ledger lies on the default branch."""
    story = Story(make_instance(folder, state="main"))
    story.publish(daily)
    story.wired("ci").store.refresh()
    return story


@cache
def finished_story() -> Story:
    """The story, told once for all tests of this process; they copy its clone and leave it as it is."""
    folder = tempfile.mkdtemp(prefix="publisher-audited-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    story = make_story(Path(folder))
    story.instance.clone("ci").git("repack", "-adq")
    return story


@dataclass
class Remembering:
    """A door whose answers about commits are kept for all clones: a commit's id says what is in it, whoever reads it.

    Refusals are not kept, and neither is anything that depends on refs or on what a clone lacks.
    """

    door: Any
    answers: dict[Any, Any]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.door, name)
        return partial(self._once, name, found) if name in OF_COMMITS else found

    def _once(self, name: str, ask: Callable[..., Any], *args: Any, **more: Any) -> Any:
        plain = [arg.default if isinstance(arg, Tips) else arg for arg in args]
        key = (name, repr(plain), repr(more))
        if key not in self.answers:
            self.answers[key] = ask(*args, **more)
        return self.answers[key]


OF_COMMITS = frozenset({"draft", "plan", "gates", "instance", "files", "rules", "verdict", "is_ancestor", "public_form"})
ANSWERS: dict[Any, Any] = {}


@cache
def _steps(path: Path) -> list[Step]:
    git = Git(path)
    tip = git.resolve(f"refs/remotes/origin/{STATE}")
    steps: dict[str, Step] = {}
    for folder in ("ledger", "site-src"):
        for item in git.folder_history(tip, folder):
            step = steps.setdefault(item.commit, Step({}, {}))
            data = git.blobs([item.new])[item.new]
            if folder == "site-src":
                step.files[item.path] = data
                continue
            known = len(git.blobs([item.old])[item.old]) if item.old else 0
            name = item.path.removeprefix("ledger/").removesuffix(".jsonl")
            step.events[name] = [json.loads(line) for line in data[known:].splitlines()]
    return [steps[item.oid] for item in reversed(git.commits([tip], []))]


def recorded_events() -> int:
    """How many lines the story's ledger has; none of its runs was long enough to renew a claim."""
    return sum(len(events) for step in _steps(finished_story().instance.clone("ci").path) for events in step.events.values())


# --- tampering --------------------------------------------------------------------------------------------------------------


@dataclass
class Step:
    """One commit on the state branch: the events it appended by ledger path, and the other files it wrote."""

    events: dict[str, list[dict[str, Any]]]
    files: dict[str, bytes | None]


@dataclass
class Tampered:
    """A copy of the CI's clone, whose remote-tracking refs and objects a test changes before it is audited."""

    path: Path
    now: datetime

    def __post_init__(self) -> None:
        self.git = Git(self.path)

    # --- refs and commits -----------------------------------------------------------------------------------------------

    def tip(self, branch: str = STATE) -> str:
        return self.git.resolve(f"refs/remotes/origin/{branch}")

    def move(self, branch: str, commit: str) -> None:
        Repository(self.path).git("update-ref", f"refs/remotes/origin/{branch}", commit)

    def commit(self, changes: dict[str, bytes | None], branch: str = STATE, parents: Sequence[str] | None = None) -> str:
        """A commit on a branch, as a push by hand would leave it."""
        tip = self.tip(branch)
        made = self.compose(changes, [tip] if parents is None else parents, tip)
        self.move(branch, made)
        return made

    def compose(self, changes: dict[str, bytes | None], parents: Sequence[str], base: str) -> str:
        return self.git.compose(
            parents=parents, base_tree=base, changes=changes, message="by hand", author="mallory", email="mallory@example.org",
            at=self.now,
        )  # fmt: skip

    def text(self, path: str, branch: str = STATE) -> bytes:
        found = self.git.blob_at(self.tip(branch), path)
        assert found is not None, path
        return found

    # --- the ledger, chained again --------------------------------------------------------------------------------------

    def steps(self) -> list[Step]:
        """The state branch as the records that its commits made, oldest first."""
        return copy.deepcopy(_steps(finished_story().instance.clone("ci").path))

    def replay(self, steps: Sequence[Step]) -> None:
        """A state branch of these records, numbered and chained as publisher does."""
        texts: dict[str, bytes] = {}
        stream: list[bytes] = []
        for number, step in enumerate(steps):
            changes = dict(step.files)
            for name, events in step.events.items():
                path = f"ledger/{name}.jsonl"
                texts[path] = chained(texts.get(path, b""), events)
                changes[path] = texts[path]
            stream.append(f"commit refs/replay\ncommitter p <p@localhost> {1_767_000_000 + number} +0000\ndata 2\nr\n".encode())
            stream += [
                b"M 100644 inline %s\ndata %d\n%s\n" % (p.encode(), len(d), d) for p, d in changes.items() if d is not None
            ]
        stream.append(f"reset refs/remotes/origin/{STATE}\nfrom refs/replay\n\nreset refs/replay\nfrom {'0' * 40}\n".encode())
        # One process, however many commits: publisher's own writing flushes each of them to the disk.
        importing = ("-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", "--force")
        Repository(self.path).git("update-ref", "-d", "refs/replay")
        Repository(self.path).git(*importing, stdin=b"".join(stream))

    # --- the audit --------------------------------------------------------------------------------------------------------

    def doors(self) -> AuditDoors:
        doors = doors_of(self.path, self.now)
        kept = {name: Remembering(getattr(doors, name), ANSWERS) for name in ("reads", "git", "forge", "builder")}
        return replace(doors, **kept)

    def audit(self, *, rebuild: bool = False, since: Sequence[str] = ()) -> AuditReport:
        return audit(self.doors(), rebuild=rebuild, since=since)


def doors_of(path: Path, now: datetime, root: str = "") -> AuditDoors:
    """What an audit of a clone reads through, with the clock at ``now``."""
    environment = {"PUBLISHER_ACTOR": "auditor", **({"PUBLISHER_ROOT": root} if root else {})}
    wired = open_instance(path, clock=StandingClock(now), environment=environment)
    return AuditDoors(
        reads=wired.store, git=wired.git, forge=wired.forge, builder=wired.builder, progress=quiet, pinned_root=root
    )  # fmt: skip


def audit_of(path: Path, now: datetime, *, rebuild: bool = False, root: str = "") -> AuditReport:
    """The audit of a clone, with nothing remembered."""
    return audit(doors_of(path, now, root), rebuild=rebuild)


def chained(text: bytes, events: Sequence[dict[str, Any]]) -> bytes:
    """``text`` with further ledger lines, each numbered and naming the digest of the one before."""
    for event in events:
        lines = text.splitlines(keepends=True)
        data = {**event, "n": len(lines) + 1, "prev": digest(lines[-1]) if lines else FIRST_PREV}
        text += json.dumps(data, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    return text


def find(steps: Sequence[Step], path: str, kind: str) -> dict[str, Any]:
    """The first event of a type in a ledger file, to be changed in place."""
    return next(event for step in steps for event in step.events.get(path, []) if event["type"] == kind)


def drop(steps: Sequence[Step], path: str, kind: str) -> None:
    for step in steps:
        if path in step.events:
            step.events[path] = [event for event in step.events[path] if event["type"] != kind]


def copy_clone(folder: Path) -> Path:
    """A copy of the CI's clone without its working tree; objects are shared, since nobody ever changes one."""
    git = finished_story().instance.clone("ci").path / ".git"
    shutil.copytree(git, folder / ".git", ignore=shutil.ignore_patterns("objects"))
    shutil.copytree(git / "objects", folder / ".git" / "objects", copy_function=os.link)
    return folder
