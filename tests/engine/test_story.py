"""The story: words for every event, the newest last, approvals beside changes of production, and nothing private."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

import pytest

from publisher.domain.ledger_events import Event, EventType
from publisher.engine.story import WORDS, story
from publisher.errors import StoppedForSafety

ZONE = ZoneInfo("Asia/Hong_Kong")
PLAN = "blog/daily/2026/2026-12-01"
CLAIMS = "blog/claims/2026"
DIGEST = "sha256:" + "9f" * 32
BASE = "sha256:" + "3c" * 32


def events(*items):
    """(type, fields) pairs as events of one file, a second apart from 01:00Z on unless ``at`` says otherwise."""
    made = []
    for n, (kind, fields) in enumerate(items, start=1):
        fields = dict(fields)
        at = fields.pop("at", f"2026-12-01T01:00:{n:02d}Z")
        made.append(
            Event(
                n=n, at=at, type=EventType(kind), claim=fields.pop("claim", None), actor=fields.pop("actor", "ci"), prev="", commit="",
                fields=fields, line_digest="",
            )
        )  # fmt: skip
    return tuple(made)


def whats(lines):
    return [line.what for line in lines]


def test_every_type_of_event_has_words():
    assert set(WORDS) == set(EventType)


@pytest.mark.parametrize("kind", EventType)
@pytest.mark.parametrize(
    "fields", [{}, {"puts": 7, "by": None, "results": [1], "urls": {"a": 1}, "reason": 3}], ids=["bare", "odd"]
)
def test_words_never_stop_at_a_record_of_another_shape(kind, fields):
    (line,) = story({PLAN: events((kind, fields))}, ZONE, everything=True)
    assert line.what and "\n" not in line.what


def test_a_publication_is_told_in_order_with_whose_approval_it_was():
    at = {"at": "2026-12-01T01:00:00Z"}
    lines = story(
        {
            PLAN: events(
                (
                    "approved",
                    {"gate": "plan", "request": 3, "payload": "sha256:1a2b" + "0" * 60, "by": ["ann@example.org"], **at},
                ),
                ("prepared", {"puts": [{"id": "a-0007"}, {"id": "a-0011"}], **at}),
                ("built", {"release": DIGEST, "base": BASE, "rebased": False, **at}),
                ("deploy-intent", {"release": DIGEST, "base": BASE, **at}),
                ("deployed", {"deployment": 1, "release": DIGEST, "base": BASE, "how": "switched", "claim": 4, **at}),
                ("confirmed", {"urls": ["https://blog.example/fences/"], "release": DIGEST, **at}),
            ),
            CLAIMS: events(
                ("claimed", {"fence": 4, "plan": PLAN, "claim": 4, **at}),
                ("renewed", {"fence": 4, "claim": 4, **at}),
                ("released", {"fence": 4, "claim": 4, **at}),
            ),
        },
        ZONE,
    )
    assert whats(lines) == [
        f"claimed (fence 4) for {PLAN}",
        "approved request 3 (payload 1a2b00000000) by ann@example.org",
        "prepared a-0007, a-0011",
        "built release 9f9f9f9f9f9f on base 3c3c3c3c3c3c",
        "about to deploy release 9f9f9f9f9f9f on base 3c3c3c3c3c3c, approved by ann@example.org",
        "deployed release 9f9f9f9f9f9f on base 3c3c3c3c3c3c (deployment 1), approved by ann@example.org",
        "confirmed in public: https://blog.example/fences/",
        "released the claim (fence 4)",
    ]
    assert {line.when for line in lines} == {"2026-12-01 09:00 HKT (01:00Z)"}
    assert [line.approved_by for line in lines if line.approved_by] == [("ann@example.org",)] * 2


def test_a_launch_goes_by_the_approval_of_its_gate():
    lines = story(
        {
            "blog/launch": events(
                ("approved", {"gate": "plan", "request": 1, "payload": DIGEST, "by": ["ann"]}),
                ("approved", {"gate": "G3", "request": 2, "payload": BASE, "by": ["bob"]}),
                ("deployed", {"deployment": 1, "release": DIGEST, "base": "", "how": "switched"}),
            )
        },
        ZONE,
    )
    assert lines[-1].what == "deployed release 9f9f9f9f9f9f on base nothing (deployment 1), approved by bob"


def test_a_revision_ends_the_approval_before_it():
    lines = story(
        {
            PLAN: events(
                ("approved", {"gate": "plan", "request": 1, "payload": DIGEST, "by": ["ann"]}),
                ("revised", {"from": DIGEST, "to": BASE, "revision": 2}),
                ("deployed", {"deployment": 1, "release": DIGEST, "base": "", "how": "seen"}),
            )
        },
        ZONE,
    )
    assert lines[-1].approved_by == () and lines[-1].what.endswith("(found live)")


def test_renewals_are_told_only_when_everything_is():
    files = {CLAIMS: events(("claimed", {"fence": 1, "plan": PLAN}), ("renewed", {"fence": 1}))}
    assert [line.type for line in story(files, ZONE)] == ["claimed"]
    assert [line.type for line in story(files, ZONE, everything=True)] == ["claimed", "renewed"]


def test_one_plan_has_its_own_events_and_the_claims_made_for_it():
    other = "blog/daily/2026/2026-12-02"
    files = {
        PLAN: events(("canceled", {"reason": "not this week"})),
        other: events(("canceled", {"reason": "no"})),
        CLAIMS: events(("claimed", {"fence": 1, "plan": PLAN}), ("claimed", {"fence": 2, "plan": other})),
        "blog/controls": events(("paused", {"reason": "holiday"})),
    }
    lines = story(files, ZONE, plan=PLAN)
    assert whats(lines) == [f"claimed (fence 1) for {PLAN}", "canceled: not this week"]


def test_since_begins_at_midnight_of_the_sites_zone():
    files = {
        "blog/controls": events(
            ("paused", {"reason": "a", "at": "2026-11-30T15:59:59Z"}),
            ("resumed", {"reason": "b", "at": "2026-11-30T16:00:00Z"}),
        )
    }
    assert whats(story(files, ZONE, since=date(2026, 12, 1))) == ["resumed the site: b"]


def test_a_file_keeps_its_order_when_a_clock_went_back():
    files = {
        PLAN: events(
            ("failed", {"step": "build", "code": "leak", "at": "2026-12-01T01:00:09Z"}), ("retried", {"step": "build"})
        )
    }
    assert [line.n for line in story(files, ZONE)] == [1, 2]


def test_a_time_that_is_none_names_its_line():
    with pytest.raises(StoppedForSafety) as stop:
        story({PLAN: events(("canceled", {"reason": "x", "at": "soon"}))}, ZONE)
    assert stop.value.where == f"ledger/{PLAN}.jsonl:1:1"


def test_outcomes_of_announcements_are_counted_and_recipients_are_not_named():
    (line,) = story(
        {PLAN: events(("announce-result", {"channel": "mail", "results": {"p1": "sent", "p2": "sent", "p3": "unknown"}}))}, ZONE
    )
    assert line.what == "announced on mail: 2 sent, 1 unknown"


def test_a_line_as_data():
    (line,) = story({PLAN: events(("approved", {"gate": "plan", "request": 3, "payload": DIGEST, "by": ["ann"]}))}, ZONE)
    data = line.as_data()
    assert (data["n"], data["type"], data["plan"], data["actor"], data["claim"]) == (1, "approved", PLAN, "ci", None)
    assert (data["at"], data["site"], data["what"]) == ("2026-12-01T01:00:01Z", "blog", line.what)
