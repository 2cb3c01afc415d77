"""Recorded ledgers against the code as it is now: after every record of every story, the same is decided as when it was recorded.

A change here means that instances which are in use would be continued otherwise than before. Where that is wanted, the changelog
says so, and ``python -m tests.replay.recording --decide`` writes the decisions anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from publisher.domain.event_fields import FIELDS
from publisher.domain.ledger_events import EventType
from publisher.engine.auditing import AuditDoors, audit
from tests.replay import corpus

STORIES = {item.name: item for item in corpus.every_story()}
NEVER_RECORDED = {EventType.RENEWED, EventType.ALARM_RAISED, EventType.ALARM_CLEARED, EventType.REPAIRED}
"""Types that no story needs: they decide nothing about a plan."""


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    folder = tmp_path_factory.mktemp("objects")
    return {version: corpus.unpacked(version, folder) for version in corpus.RECORDINGS}


@pytest.fixture
def replay(request, objects, tmp_path):
    item = STORIES[request.param]
    return corpus.Replay(item, corpus.clone_of(item, objects[item.version], tmp_path / "clone"))


@pytest.mark.parametrize("replay", STORIES, indirect=True)
def test_every_prefix_is_decided_as_it_was(replay):
    recorded = replay.recorded.decided.read_text("utf-8").splitlines()
    found = list(replay.lines())
    assert found == recorded
    # The whole instance reads, is in order, and holds no field that is not known.
    wired = replay.wired
    doors = AuditDoors(
        reads=wired.store, git=wired.git, forge=wired.forge, builder=wired.builder, progress=lambda text: None, pinned_root="",
        host_not_asked=wired.instance.forge == "github",
    )  # fmt: skip
    report = audit(doors, [replay.recorded.site])
    assert [str(finding) for finding in report.problems] == []
    assert {finding.code for finding in report.not_proven} <= ALLOWED.get(replay.recorded.name, set())


ALLOWED = {"github": {"host-not-asked"}, "restored": {"records-lost"}}
"""What cannot be proven in a story, and why is said by its code."""


def test_the_stories_hold_every_type_of_record(objects, tmp_path):
    seen = set()
    for item in STORIES.values():
        replay = corpus.Replay(item, corpus.clone_of(item, objects[item.version], tmp_path / item.name))
        states = {snapshot["state"] for snapshot in item.snapshots if snapshot["state"]}
        for state in states:
            for events in replay.wired.store.ledger(state, item.site).values():
                for event in events:
                    seen.add(event.type)
                    assert event.fields.keys() <= FIELDS[event.type]
    assert set(EventType) - seen == NEVER_RECORDED


def test_every_story_is_told_and_decided():
    assert len(STORIES) >= 16
    decided = {path.stem for path in (corpus.FOLDER / "decisions").glob("*.txt")}
    assert decided == set(STORIES)
    assert all(item.says for item in STORIES.values())


def test_a_recording_is_small_and_names_no_machine():
    for version in corpus.RECORDINGS:
        assert (corpus.FOLDER / f"{version}.bundle").stat().st_size < 1_500_000
        assert "/tmp/" not in (corpus.FOLDER / f"{version}.json").read_text("utf-8")
    assert isinstance(corpus.FOLDER, Path)
