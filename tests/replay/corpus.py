"""The corpus of recorded ledgers: reading it, and replaying every prefix of every ledger against the code as it is now.

A recording is a bundle of the remotes' objects and a file of snapshots. Beside it stands, for each story, what was decided about
every plan after every record: ``decisions/STORY.txt``. A decision that changes is shown as a changed line of that file.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from publisher.domain.business_calendar import in_utc, parse_instant
from publisher.domain.fingerprint import short
from publisher.domain.ledger_events import Event
from publisher.engine.deciding import decisions
from publisher.engine.site_view import load
from publisher.errors import Refusal
from publisher.ports import Tips
from publisher.wiring import Wired, open_instance
from tests.support.audited import StandingClock
from tests.support.gitrepos import environment

FOLDER = Path(__file__).parent / "ledgers"
RECORDINGS = sorted(path.stem for path in FOLDER.glob("*.bundle"))
LATER = timedelta(hours=36)
"""When everything that was approved and not carried out has expired."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One story of a recording."""

    name: str
    says: str
    version: str
    site: str
    snapshots: Sequence[Mapping[str, Any]]

    @property
    def decided(self) -> Path:
        return FOLDER / "decisions" / f"{self.name}.txt"

    def tips(self, snapshot: Mapping[str, Any]) -> Tips:
        requests = {int(number): oid for number, oid in snapshot["requests"].items()}
        return Tips(
            default=snapshot["default"], state=snapshot["state"], drafts=snapshot["default"], requests=requests, age=0.0
        )


def stories(version: str) -> tuple[Recorded, ...]:
    data = json.loads((FOLDER / f"{version}.json").read_text("utf-8"))
    return tuple(Recorded(version=version, **item) for item in data["stories"])


def every_story() -> tuple[Recorded, ...]:
    return tuple(item for version in RECORDINGS for item in stories(version))


def unpacked(version: str, folder: Path) -> Path:
    """The recording's objects, in a bare repository."""
    bundle = FOLDER / f"{version}.bundle"
    command = ["git", "clone", "--quiet", "--bare", "--template=", str(bundle), str(folder / version)]
    subprocess.run(command, check=True, capture_output=True, env=environment())
    return folder / version


def clone_of(recorded: Recorded, objects: Path, folder: Path, snapshot: Mapping[str, Any] | None = None) -> Path:
    """A clone as the story's CI had it at a snapshot (the last when none is given), with the recording's objects."""
    last = recorded.snapshots[-1] if snapshot is None else snapshot
    git = folder / ".git"
    git.mkdir(parents=True)
    (git / "objects").symlink_to(objects / "objects")
    (git / "refs").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(
        '[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote "origin"]\n\turl = ../nowhere.git\n'
    )
    branch = state_branch(objects, last["default"])
    refs = {"main": last["default"], **({branch: last["state"]} if last["state"] else {})}
    refs |= {f"publisher/requests/{number}": oid for number, oid in last["requests"].items()}
    lines = [f"{oid} refs/remotes/origin/{name}" for name, oid in sorted(refs.items())]
    lines.append(f"{last['default']} refs/heads/main")
    (git / "packed-refs").write_text("# pack-refs with: sorted\n" + "\n".join(sorted(lines, key=lambda line: line[41:])) + "\n")
    return folder


def state_branch(objects: Path, commit: str) -> str:
    shown = subprocess.run(
        ["git", "show", f"{commit}:publisher.yaml"], cwd=objects, check=True, capture_output=True, text=True
    ).stdout
    return "publisher-state" if "state: publisher-state" in shown else "main"


class Replay:
    """One story, replayed from a clone: a view for every prefix of its ledger."""

    def __init__(self, recorded: Recorded, clone: Path) -> None:
        self.recorded = recorded
        self._clone = clone

    @cached_property
    def wired(self) -> Wired:
        last = parse_instant(self.recorded.snapshots[-1]["now"])
        clock = StandingClock(last + timedelta(days=30))
        return open_instance(self._clone, clock=clock, environment={"PUBLISHER_ACTOR": "replay"})

    def lines(self) -> Iterator[str]:
        """What is decided after each record, at its own time, and after each command, then and much later; only what changed
        is said again."""
        said: dict[str, str] = {}
        seen: set[str] = set()
        for snapshot in self.recorded.snapshots:
            tips = self.recorded.tips(snapshot)
            for commit, path, event, events in self._records(tips.state, seen):
                at = parse_instant(event.at)
                found = self._decided(self._there(tips, event, commit, events), at)
                yield from _changes(said, f"{in_utc(at)} {path}:{event.n} {event.type}", found[0])
            now = parse_instant(snapshot["now"])
            found = self._decided(tips, now, now + LATER)
            yield from _changes(said, f"{in_utc(now)} after {snapshot['did']}", found[0])
            yield from _changes({**said}, f"{in_utc(now + LATER)}   if nothing happens until then", found[1])

    def _records(self, state: str, seen: set[str]) -> Iterator[tuple[str, str, Event, Mapping[str, Sequence[Event]]]]:
        """Each record that the state branch got, oldest first, with the ledger up to it."""
        site, store = self.recorded.site, self.wired.store
        line = [commit for commit in reversed(self.wired.git.own_line(state)) if commit not in seen] if state else []
        for commit in line:
            seen.add(commit)
            parents = self.wired.git.commit(commit).parents
            before = dict(store.ledger(parents[0], site)) if parents else {}
            after = store.ledger(commit, site)
            for path in sorted(after, key=lambda name: ("/claims/" not in name, name)):
                known = len(before.get(path, ()))
                for event in after[path][known:]:
                    before = {**before, path: after[path][: event.n]}
                    yield commit, path, event, before

    def _there(self, tips: Tips, event: Event, commit: str, events: Mapping[str, Sequence[Event]]) -> Tips:
        """The tips that stood when a record was written, with the ledger up to it."""
        default = event.commit if set(event.commit) != {"0"} else tips.default
        # The store keeps the ledger that it read last; here it has read the part of it that stood there after this record.
        self.wired.store._ledger = ((commit, self.recorded.site), events)
        return Tips(default=default, state=commit, drafts=default, requests=tips.requests, age=0.0)

    def _decided(self, tips: Tips, *instants: datetime) -> list[dict[str, str]]:
        try:
            view = load(self.wired.store, self.wired.forge, tips, self.recorded.site)
            live = {"(live)": short(view.production.release) or "-"}
            return [{item.plan: _words(item) for item in decisions(view, now)} | live for now in instants]
        except Refusal as refusal:
            return [{"(site)": f"{refusal.code} {refusal.exit_code}"} for _ in instants]
        finally:
            self.wired.store._ledger = (("", ""), {})


def _changes(said: dict[str, str], head: str, found: dict[str, str]) -> list[str]:
    """What is decided otherwise than before, below a head; ``said`` is brought up to date."""
    changed = [f"    {name}: {text}" for name, text in sorted(found.items()) if said.get(name) != text]
    changed += [f"    {name}: gone" for name in sorted(said) if name not in found]
    said.clear()
    said.update(found)
    return [head, *changed] if changed else []


def _words(item: Any) -> str:
    """A decision as one line: whatever a run or a person would act on."""
    more = [
        *([f"gate {item.gate} {short(item.subject)}"] if item.gate else []),
        *([f"until {in_utc(item.until)}"] if item.until else []),
        *([f"$ {item.command}"] if item.command else []),
    ]
    return " | ".join([f"{item.act} {item.step or '-'} {item.who} {item.code} {item.exit_code}", *more])
