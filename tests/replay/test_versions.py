"""Every earlier layout of every file and record still loads, and means what it meant.

``versions/before-0.1`` has files as the first working version of the schemas took them; ``versions/0.1`` those that use what was
added until the release. A version that changes a schema adds a folder, and takes none away. ``meanings.json`` has the payload hash
of each plan and gate, which approvals name, and the digest of what of a site's configuration shapes its bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.event_fields import FIELDS
from publisher.domain.fingerprint import canonical_json, digest
from publisher.domain.history import History
from publisher.domain.ledger_events import BrokenLedger, EventType, decode
from publisher.domain.lines import steps_of
from publisher.domain.tasks import State
from publisher.errors import InputProblem
from publisher.gitstore import instance_files as files
from publisher.gitstore.drafts import read_draft
from publisher.gitstore.gateway import Git
from publisher.sitebuilder.markdown_events import references
from tests.support.audited import chained
from tests.support.gitrepos import started
from tests.support.values import fold

FOLDER = Path(__file__).parent / "versions"
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.yaml"))
MEANINGS: Mapping[str, str] = json.loads((FOLDER / "meanings.json").read_text("utf-8"))
PLANS = {
    "publication": "handbook/daily/2026/2026-12-01", "revision": "handbook/daily/2026/2026-12-02",
    "correct": "handbook/changes/2026/2026-12-03-1", "withdraw": "handbook/changes/2026/2026-12-03-2",
    "presentation": "handbook/changes/2026/2026-12-03-3", "rollback": "handbook/changes/2026/2026-12-03-4",
    "launch": "handbook/launch", "gate": "handbook/gates/g3-bbbbbbbbbbbb-1",
}  # fmt: skip
"""Where a file stands under ``plans/``, by its name here."""


def meaning(name: str, data: bytes) -> str:
    """What of a file's meaning other records rest on; "" where nothing does."""
    kind = Path(name).stem
    if kind in PLANS:
        return files.payload_of(f"plans/{PLANS[kind]}.yaml", data)[0]
    if kind == "publisher":
        instance = files.instance_of(data, "publisher.yaml")
        return digest(canonical_json({site.id: dict(site.presentation_data()) for site in instance.sites.values()}))
    if kind == "policy":
        return files.policy_of(data, "plans/handbook/policy.yaml").digest
    readers: Mapping[str, Callable[[bytes, str], Any]] = {"approval": files.rules_of, "queue": files.queue_of}
    assert readers[kind](data, f"{kind}.yaml")
    return ""


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_an_earlier_version_still_means_what_it_meant(name):
    assert meaning(name, (FOLDER / name).read_bytes()) == MEANINGS[name]


def test_every_kind_of_file_is_there():
    kinds = {Path(name).stem for name in FILES}
    assert kinds == {*PLANS, "publisher", "approval", "policy", "queue"}
    assert set(MEANINGS) == set(FILES)


def test_a_draft_of_an_earlier_version_still_loads(tmp_path):
    text = (FOLDER / "before-0.1" / "draft.md").read_bytes()
    _, editor = started(tmp_path, {"drafts/handbook/fences/index.md": text})
    found = read_draft(Git(editor.path), editor.head(), "drafts/handbook/fences", references)
    assert (found.id, found.category, found.tags) == ("a-0007", "guide", ("fence", "lease"))


NEVER_RELEASED = {
    "approval.yaml": ("content: plan", "content: merge"),  # was described, and never worked
    "publisher.yaml": ("confirm_within: 90s", "confirm_within: 90s\n    largest_removal: 3"),  # bound nothing
    "launch.yaml": ("steps: [build, release]\n", ""),  # meant thirteen steps, of which three exist
}


@pytest.mark.parametrize("name", NEVER_RELEASED)
def test_what_was_taken_out_before_the_first_release_is_refused_by_name(name):
    before, after = NEVER_RELEASED[name]
    data = (FOLDER / "before-0.1" / name).read_text("utf-8")
    assert before in data
    with pytest.raises(InputProblem) as stop:
        meaning(name, data.replace(before, after).encode())
    assert stop.value.where


# --- records ------------------------------------------------------------------------------------------------------------------

OID, DIGEST, OTHER = "c" * 40, "sha256:" + "a" * 64, "sha256:" + "b" * 64
TEXT = {
    "id": "a-0001",
    "url": "/one/",
    "guid": "tag:x",
    "date": "2026-12-01",
    "digest": DIGEST,
    "files": {"index.md": [OID, OTHER]},
}


def record(kind, claim=1, **fields):
    return {"at": "2026-12-01T01:00:00Z", "type": kind, "claim": claim, "actor": "ci", "commit": OID, **fields}


EARLY: list[dict[str, Any]] = [
    # Before approvals named gate, steps and revision; before texts had a category; before a build said what it was made from.
    record("approved", None, plan_payload=DIGEST, plan_commit=OID, payload=DIGEST, by=["ann"], request=1, merge=OID),
    record("prepared", payload=DIGEST, puts=[TEXT]),
    record("built", release=OTHER, base="", presentation={}, files=9),
    record("deploy-intent", deployment=1, release=OTHER, base=""),
    record("deployed", deployment=1, release=OTHER, base="", how="switched"),
    record("unknown", step="confirm", code="public-partial"),
    record("settled", None, step="confirm", happened=True, reason="seen"),
    record("confirmed", release=OTHER, urls=["https://example.org/one/"]),
]


def folded(events: list[dict[str, Any]], kind: str = "publication") -> History:
    steps = ("prepare", "build", "deploy", "confirm") if kind == "publication" else ()
    return fold(kind, steps_of(kind, steps), decode(chained(b"", events)))


def test_the_earliest_layout_of_a_publication_still_means_the_same():
    history = folded(EARLY)
    assert history.over and history.stage == "confirmed"
    assert set(history.states.values()) == {State.SUCCEEDED}
    assert history.payload == DIGEST and history.commit == OID
    assert history.prepared is not None
    (text,) = history.prepared.puts
    assert (text.category, text.updated, history.prepared.withdraws, history.prepared.hides) == ("", "", (), ())
    assert history.deployed is not None and history.deployed.release == OTHER


@pytest.mark.parametrize("count", range(1, len(EARLY) + 1))
def test_every_prefix_of_the_earliest_layout_folds(count):
    assert folded(EARLY[:count]).events == count


def test_every_type_has_its_fields_and_no_record_of_the_earliest_layout_has_another():
    assert set(FIELDS) == set(EventType)
    for event in decode(chained(b"", EARLY)):
        assert event.fields.keys() <= FIELDS[event.type]


def test_a_later_versions_record_stops_by_its_line_and_is_not_passed_over():
    with pytest.raises(BrokenLedger) as stop:
        decode(chained(b"", [*EARLY[:2], record("rehearsed", release=OTHER)]))
    assert stop.value.line == 3
