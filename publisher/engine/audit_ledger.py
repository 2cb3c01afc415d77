"""The audit of a site's ledger as files and as history: what stands there, that it only grew, and under which claims.

Rules:
* every file is one that publisher writes, and reads: numbering, chain and types hold;
* on the state branch's first-parent chain a file only ever grows at its end, and is never removed; where a restore followed in a
  new epoch, what was removed before is lost and not proven;
* an event with a claim was recorded while that claim was the site's last and not released before; only a person's settling
  names an older one (the claim that had intended the outcome);
* within an epoch no fence is given twice, no nonce ever, and no claim is made while the lease of the one before stood;
* no other line of history that was merged in recorded anything that the branch's own line does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby, islice
from typing import Any

from publisher.domain.business_calendar import parse_instant
from publisher.domain.claim import NOTHING, fold_claims, follow
from publisher.domain.event_fields import unknown_fields
from publisher.domain.facts import PublicText, public_text_of
from publisher.domain.ledger_events import BrokenLedger, Event, EventType, decode
from publisher.engine.audit_findings import MALFORMED, Findings, line
from publisher.engine.site_view import kind_of
from publisher.errors import StoppedForSafety
from publisher.ports import FileChange, GitReads, TreeFile

PLAIN_FILE = "100644"
ENDING = ".jsonl"
AT_ONCE = 64
"""Versions of ledger files that are read with one git process."""
CLOCKS_APART = timedelta(minutes=2)
"""How far two honest machines' clocks may differ (DESIGN.md, 5)."""

_CLAIMS = frozenset({EventType.EPOCH, EventType.CLAIMED, EventType.RENEWED, EventType.RELEASED})
_CONTROLS = frozenset({EventType.PAUSED, EventType.RESUMED, EventType.SKIPPED})
_WATCH = frozenset({EventType.ALARM_RAISED, EventType.ALARM_CLEARED})
_BASELINE = frozenset({EventType.BASELINE, EventType.REPAIRED})
_PLAN = frozenset(EventType) - _CLAIMS - _CONTROLS - _WATCH - {EventType.BASELINE}
_SITE_FILES = (
    (re.compile(r"[^/]+/claims/[0-9]{4}", re.ASCII), _CLAIMS),
    (re.compile(r"[^/]+/controls", re.ASCII), _CONTROLS),
    (re.compile(r"[^/]+/watch", re.ASCII), _WATCH),
    (re.compile(r"[^/]+/baseline/[0-9]{4,}", re.ASCII), _BASELINE),
)


@dataclass(frozen=True, kw_only=True)
class SiteLedger:
    """A site's ledger at the state tip: what could be read, by path under ``ledger/`` without ending."""

    site: str
    events: Mapping[str, tuple[Event, ...]]
    texts: Mapping[str, bytes] = field(repr=False)

    @property
    def claims(self) -> tuple[tuple[str, Event], ...]:
        """Every claim event with its file, across all years."""
        names = sorted(name for name in self.events if name.startswith(f"{self.site}/claims/"))
        return tuple((name, event) for name in names for event in self.events[name])

    @property
    def baselines(self) -> tuple[tuple[str, Event], ...]:
        names = sorted(name for name in self.events if name.startswith(f"{self.site}/baseline/"))
        return tuple((name, e) for name in names for e in self.events[name] if e.type is EventType.BASELINE)

    @property
    def plans(self) -> Mapping[str, tuple[Event, ...]]:
        return {name: events for name, events in self.events.items() if kind_of(name)}


def read_site(git: GitReads, entries: Iterable[TreeFile], site: str, found: Findings) -> SiteLedger:
    """Decodes every ledger file of a site; what cannot be one is a problem and is left out."""
    files = {}
    for entry in entries:
        name = entry.path.removeprefix("ledger/").removesuffix(ENDING)
        if entry.mode != PLAIN_FILE:
            found.problem("ledger-not-a-plain-file", entry.path, "a ledger file is a plain file")
        elif not entry.path.endswith(ENDING) or _types_in(name) is None:
            found.problem("ledger-foreign-file", entry.path, "publisher writes no file of this name")
        else:
            files[name] = entry.oid
    texts = git.blobs(files.values())
    events: dict[str, tuple[Event, ...]] = {}
    for name, oid in files.items():
        try:
            events[name] = decode(texts[oid])
        except BrokenLedger as broken:
            found.problem("ledger-broken", line(name, broken.line), f"a ledger line breaks the rule: {broken.rule}")
    for name, items in events.items():
        _check_events(name, items, found)
    return SiteLedger(site=site, events=events, texts={name: texts[files[name]] for name in events})


def _types_in(name: str) -> frozenset[EventType] | None:
    """The event types that a ledger file may hold; None when it is not one."""
    types = next((types for pattern, types in _SITE_FILES if pattern.fullmatch(name)), None)
    return types or (_PLAN if kind_of(name) else None)


def _check_events(name: str, events: Sequence[Event], found: Findings) -> None:
    types = _types_in(name) or frozenset()
    latest = None
    for event in events:
        foreign = unknown_fields(event)
        if foreign:
            says = f"a record of type {event.type} has no field {', '.join(ascii(name) for name in foreign)}"
            found.problem("field-unknown", line(name, event.n), says)
        if event.type not in types:
            found.problem("event-misplaced", line(name, event.n), f"a record of type {event.type} does not belong in this file")
        with found.reading(line(name, event.n)):
            at = parse_instant(event.at)
            if latest and at < latest - CLOCKS_APART:
                found.problem("time-goes-back", line(name, event.n), "this record is earlier than the one before it")
            latest = max(at, latest) if latest else at


def recorded_text(data: Mapping[str, Any], name: str) -> PublicText:
    """A text as a record names it. ``TypeError`` where a value is no text, so that nothing later has to ask."""
    text = public_text_of(data, name)
    words = (text.id, text.url, text.guid, text.date, text.updated, text.digest, text.category)
    if not all(isinstance(word, str) for word in (*words, *(part for pair in text.files.values() for part in pair))):
        raise TypeError("a recorded text consists of words")
    return text


# --- claims at the tip ------------------------------------------------------------------------------------------------------


def check_claims(ledger: SiteLedger, found: Findings) -> int:
    """That the claims follow from each other. Returns how many there are."""
    claims = ledger.claims
    if not claims:
        found.problem("no-ledger", f"ledger/{ledger.site}", "the site has no claims file, so nothing in it can be in order")
        return 0
    given: set[tuple[str, str]] = set()
    nonces: set[str] = set()
    doubled = False
    for name, event in claims:
        if event.type is not EventType.CLAIMED:
            continue
        key, nonce = (str(event.fields.get("epoch_id")), str(event.fields.get("fence"))), str(event.fields.get("nonce"))
        if key in given:
            doubled = True
            found.problem("fence-doubled", line(name, event.n), f"fence {key[1]} was given before in this epoch")
        if nonce in nonces:
            found.problem("nonce-doubled", line(name, event.n), "another claim has the same nonce")
        given.add(key)
        nonces.add(nonce)
    if not doubled:
        _check_fold(claims, found)
    return len(given)


def _check_fold(claims: Sequence[tuple[str, Event]], found: Findings) -> None:
    events = [event for _, event in claims]
    if _folds(events):
        _check_leases(claims, found)
        return
    good, bad = 0, len(events)
    while bad - good > 1:  # the first record that breaks the fold
        middle = (good + bad) // 2
        good, bad = (middle, bad) if _folds(events[:middle]) else (good, middle)
    name, event = claims[bad - 1]
    found.problem("claims-corrupt", line(name, event.n), "this claim record does not follow from the ones before it")


def _check_leases(claims: Sequence[tuple[str, Event]], found: Findings) -> None:
    """That each claim was made after the one before had ended, by the clock of whoever made it."""
    standing = NOTHING
    for name, event in claims:
        last = standing.last
        if event.type is EventType.CLAIMED and last and not last.released and parse_instant(event.at) < last.until:
            says = f"fence {event.fields['fence']} was claimed while the lease of fence {last.fence.number} stood"
            found.problem("claims-overlap", line(name, event.n), says)
        standing = follow(standing, event)


def _folds(events: Sequence[Event]) -> bool:
    try:
        fold_claims(events)
    except (StoppedForSafety, *MALFORMED):
        return False
    return True


# --- history ------------------------------------------------------------------------------------------------------------------


@dataclass
class _Claims:
    """The claims as they stood at one commit. ``ended`` is true when the last one was released by an earlier commit."""

    given: set[int] = field(default_factory=set)
    last: int | None = None
    released: bool = False
    ended: bool = False

    def apply(self, events: Iterable[Event]) -> None:
        self.ended = self.released
        for event in events:
            if event.type is EventType.EPOCH:
                self.given, self.last, self.released = set(), None, False
            elif event.type is EventType.CLAIMED:
                fence = event.fields.get("fence")
                self.last = fence if type(fence) is int else None
                self.given |= {self.last} if self.last is not None else set()
                self.released = self.ended = False
            elif event.type is EventType.RELEASED:
                self.released = True


class HistoryCheck:
    """Follows a site's ledger through the state branch's history, oldest commit first."""

    def __init__(self, git: GitReads, ledger: SiteLedger, found: Findings) -> None:
        self._git = git
        self._ledger = ledger
        self._found = found
        self._texts: dict[str, bytes] = {}
        self._known: dict[str, int] = {}
        self._deleted: list[FileChange] = []
        self._claims = _Claims()
        self._paused = False
        self._intents: set[str] = set()

    def follow(self, changes: Iterable[FileChange]) -> None:
        """``changes`` are the site's own, oldest first."""
        for commit, group in groupby(self._read(changes), key=lambda pair: pair[0].commit):
            appended: dict[str, tuple[Event, ...]] = {}
            for change, data in group:
                name = change.path.removeprefix("ledger/").removesuffix(ENDING)
                appended[name] = self._grown(change, data, name)
            self._judge(commit, appended)
        for change in self._deleted:
            self._found.problem("ledger-deleted", change.path, f"commit {change.commit[:12]} removed this file")

    def _read(self, changes: Iterable[FileChange]) -> Iterator[tuple[FileChange, bytes]]:
        left = iter(changes)
        while batch := list(islice(left, AT_ONCE)):
            texts = self._git.blobs(change.new for change in batch if change.mode == PLAIN_FILE)
            for change in batch:
                yield change, texts.get(change.new, b"")

    def _grown(self, change: FileChange, data: bytes, name: str) -> tuple[Event, ...]:
        """The events that a commit appended to a file; what had stood there before is not new when it comes back."""
        before = self._texts.get(change.path, b"")
        self._texts[change.path] = data
        if not change.new:
            self._deleted.append(change)
        elif not data.startswith(before):
            says = f"commit {change.commit[:12]} changed lines that stood there; a ledger file only grows"
            self._found.problem("ledger-rewritten", change.path, says)
        if not self._ledger.texts.get(name, b"").startswith(data):
            return ()  # not what stands there now: the removal or the change of lines is a problem of its own
        known, lines = self._known.get(name, 0), data.count(b"\n")
        self._known[name] = max(known, lines)
        return self._ledger.events.get(name, ())[known:lines]

    def _judge(self, commit: str, appended: Mapping[str, tuple[Event, ...]]) -> None:
        paused = self._paused
        self._claims.apply(e for name, events in sorted(appended.items()) if "/claims/" in name for e in events)
        if any(e.type is EventType.EPOCH for name, events in appended.items() if "/claims/" in name for e in events):
            self._restored(commit)
        for name, events in appended.items():
            settled = any(event.type is EventType.SETTLED for event in events)
            for event in events:
                self._check_claim(name, event, commit, settled)
                self._check_pause(name, event, paused)

    def _restored(self, commit: str) -> None:
        """A restore began a new epoch from public facts: what was removed before it is lost, and said to be."""
        for change in self._deleted:
            says = f"commit {change.commit[:12]} removed this file; commit {commit[:12]} restored the ledger in a new epoch"
            self._found.unproven("records-lost", change.path, says)
        self._deleted = []

    def _check_claim(self, name: str, event: Event, commit: str, settled: bool) -> None:
        claims, where = self._claims, line(name, event.n)
        if event.claim is None:
            return
        if event.claim not in claims.given:
            says = f"commit {commit[:12]} recorded this under fence {event.claim}, which nobody had claimed"
            self._found.problem("claim-unknown", where, says)
        elif settled:
            return  # a person vouches for what an earlier claim had intended
        elif event.claim != claims.last:
            says = f"commit {commit[:12]} recorded this under fence {event.claim}, when fence {claims.last} was the last"
            self._found.problem("claim-superseded", where, says)
        elif claims.ended:
            says = f"commit {commit[:12]} recorded this under fence {event.claim}, which had been released"
            self._found.problem("claim-released", where, says)

    def _check_pause(self, name: str, event: Event, paused: bool) -> None:
        if event.type in (EventType.PAUSED, EventType.RESUMED):
            self._paused = event.type is EventType.PAUSED
        elif event.type is EventType.DEPLOY_CLOSED:
            self._intents.discard(name)
        elif event.type in (EventType.DEPLOY_INTENT, EventType.DEPLOYED):
            if paused and name not in self._intents:
                self._found.problem("deployed-while-paused", line(name, event.n), "the site was paused when this deploy began")
            self._intents.add(name)
