"""The fold of a plan's ledger: what each event makes true, the tasks' states, and sequences that cannot be."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publisher.domain.facts import Built, Deployed, Intent, Prepared, PublicText, Request, Trouble, public_text_of
from publisher.domain.fingerprint import digest
from publisher.domain.history import History, apply, deploy_step, unwritten, with_steps
from publisher.domain.ledger_events import FIRST_PREV, EventType
from publisher.domain.plan import Plan
from publisher.domain.tasks import IllegalTransition
from tests.support.values import (
    BASE,
    COMMIT,
    RELEASE,
    Record,
    announced,
    approved,
    built,
    change,
    confirmed,
    deployed,
    event,
    failed,
    fold,
    history_of,
    intended,
    launch,
    log,
    prepared,
    publication,
    put,
    requested,
    unknown,
    up_to,
    whole_launch,
)

PLAN = publication()
AT = "2026-12-01T01:30:00Z"


def states(plan: Plan, *records: Record) -> str:
    """The first letters of the tasks' states, in the line's order: b q r s f c."""
    return "".join(state[0] for state in history_of(plan, *records).states.values())


def retried(step: str) -> Record:
    return EventType.RETRIED, {"step": step, "reason": "again"}


def settled(step: str, happened: bool) -> Record:
    return EventType.SETTLED, {"step": step, "happened": happened, "reason": "looked"}


def rejected(plan: Plan = PLAN) -> Record:
    return EventType.REJECTED, {"payload": plan.payload, "by": "alice"}


CANCELED: Record = (EventType.CANCELED, {"reason": "no longer wanted"})
CLOSED: Record = (EventType.DEPLOY_CLOSED, {"deployment": 1, "why": "not-switched"})
RESTORED_UNTOLD: Record = (
    EventType.RESTORED,
    {"payload": PLAN.payload, "release": RELEASE, "urls": ["u"], "unknown": ["announce"]},
)
RESTORED_OF_A_STEP_THAT_IS_NOT_THERE: Record = (
    EventType.RESTORED,
    {"payload": PLAN.payload, "release": RELEASE, "urls": ["u"], "unknown": ["sing"]},
)
RESTORED: Record = (EventType.RESTORED, {"payload": PLAN.payload, "release": RELEASE, "urls": ["u"]})


def revised_to(payload: str, plan: Plan = PLAN) -> Record:
    return EventType.REVISED, {"from": plan.payload, "to": payload, "revision": 2}


def announcing(channel: str = "mail", *to: str) -> Record:
    return EventType.ANNOUNCE_INTENT, {"channel": channel, "to": list(to)}


def results(channel: str = "mail", **outcomes: str) -> Record:
    return EventType.ANNOUNCE_RESULT, {"channel": channel, "results": outcomes, "codes": {}}


# --- the states of the tasks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((), "bbbqb"),
        (up_to("approved", PLAN), "qqqqq"),
        (up_to("prepared", PLAN), "sqqqq"),
        (up_to("built", PLAN), "ssqqq"),
        (up_to("intended", PLAN), "ssrqq"),
        (up_to("deployed", PLAN), "sssqq"),
        (up_to("confirmed", PLAN), "ssssq"),
        (up_to("announced", PLAN), "sssss"),
        ((*up_to("built", PLAN), deployed()), "sssqq"),
        ((*up_to("confirmed", PLAN), announcing("mail", "r1")), "ssssr"),
        ((*up_to("built", PLAN), built(digest(b"again"))), "ssqqq"),
        ((*up_to("intended", PLAN), CLOSED), "ssqqq"),
        ((*up_to("built", PLAN), CLOSED), "ssqqq"),
        ((*up_to("intended", PLAN), unknown("deploy")), "ssrqq"),
        ((*up_to("intended", PLAN), unknown("deploy"), settled("deploy", False)), "ssfqq"),
        ((*up_to("intended", PLAN), unknown("deploy"), settled("deploy", True), deployed()), "sssqq"),
        ((*up_to("deployed", PLAN), unknown("confirm")), "sssrq"),
        ((*up_to("deployed", PLAN), unknown("confirm"), confirmed()), "ssssq"),
        ((*up_to("approved", PLAN), failed("prepare")), "fqqqq"),
        ((*up_to("approved", PLAN), failed("deploy")), "qqfqq"),
        ((failed("prepare"),), "fbbqb"),
        ((*up_to("approved", PLAN), failed("prepare"), retried("prepare")), "qqqqq"),
        ((*up_to("approved", PLAN), failed("prepare"), rejected()), "ccccc"),
        ((*up_to("approved", PLAN), failed("prepare"), CANCELED), "ccccc"),
        ((rejected(),), "ccccc"),
        ((*up_to("prepared", PLAN), CANCELED), "scccc"),
        ((*up_to("prepared", PLAN), revised_to(digest(b"x"))), "bbbqb"),
        ((*up_to("prepared", PLAN), RESTORED), "sssss"),
        ((RESTORED,), "sssss"),
        ((RESTORED_UNTOLD,), "ssssr"),
        ((*up_to("confirmed", PLAN), RESTORED_UNTOLD), "ssssr"),
        ((RESTORED_UNTOLD, settled("announce", True)), "sssss"),
        ((RESTORED_UNTOLD, settled("announce", False)), "ssssf"),
        ((RESTORED_UNTOLD, settled("announce", False), retried("announce")), "ssssq"),
        ((RESTORED_OF_A_STEP_THAT_IS_NOT_THERE,), "sssss"),
    ],
)
def test_the_states_of_a_publication(records: tuple[Record, ...], expected: str) -> None:
    assert states(PLAN, *records) == expected


@pytest.mark.parametrize(
    ("stage", "expected"),
    [("", "bb"), ("approved", "qb"), ("prepared", "qb"), ("built", "sb"), ("gate", "sq"), ("intended", "sr"), ("deployed", "sr"),
     ("confirmed", "ss")],
)  # fmt: skip
def test_the_states_of_a_launch_whose_release_has_a_gate_of_its_own(stage: str, expected: str) -> None:
    assert states(launch(), *up_to(stage, launch())) == expected


@pytest.mark.parametrize(("stage", "expected"), [("", "bbbq"), ("approved", "qqqq"), ("built", "ssqq"), ("confirmed", "ssss")])
def test_the_states_of_a_change(stage: str, expected: str) -> None:
    assert states(change(), *up_to(stage, change())) == expected


def test_a_plans_own_approval_opens_no_other_gate() -> None:
    whole = whole_launch()
    assert states(whole, approved(whole)) == "qbbqqbqqqbqqq"
    assert states(whole, approved(whole), approved(whole, "G1")) == "qqbqqbqqqbqqq"


def test_an_approval_names_the_steps_it_is_for_and_older_records_keep_theirs() -> None:
    whole, short = whole_launch(), launch()
    failed_first = (approved(whole), failed("domain-check"))
    again = revised_to(short.payload, whole)
    assert states(short, *failed_first) == "fbbqqbqqqbqqq"
    assert states(short, *failed_first, again) == "qbbqbbqqqbqqq"
    assert states(short, *failed_first, again, *up_to("built", short)) == "sb"


def test_an_approval_that_names_no_steps_leaves_the_line_as_it_is() -> None:
    kind, fields = approved(PLAN)
    bare = {name: value for name, value in fields.items() if name != "steps"}
    assert states(PLAN, (kind, bare)) == states(PLAN, (kind, {**bare, "steps": []})) == "qqqqq"


def test_a_gates_approval_changes_no_steps() -> None:
    kind, fields = approved(launch(), "G3")
    assert states(launch(), approved(launch()), (kind, {**fields, "steps": ["build"]})) == "qq"


def test_steps_that_stay_keep_their_states() -> None:
    history = with_steps(history_of(PLAN, *up_to("confirmed", PLAN)), publication(announce=None).steps)
    assert [state[0] for state in history.states.values()] == ["s"] * 4
    assert history.over
    back = with_steps(history, PLAN.steps)
    assert (back.next_step, back.over) == (PLAN.steps[-1], False)


# --- sequences that cannot be ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "records",
    [
        (built(),),
        (approved(PLAN), built()),
        (approved(PLAN), prepared(PLAN), intended()),
        (approved(PLAN), prepared(PLAN), deployed()),
        (*up_to("built", PLAN), confirmed()),
        (*up_to("intended", PLAN), confirmed()),
        (*up_to("deployed", PLAN), announced()),
        (*up_to("deployed", PLAN), announcing("mail", "r1")),
        (*up_to("built", PLAN), failed("prepare")),
        (*up_to("announced", PLAN), failed("announce")),
        (*up_to("approved", PLAN), failed("prepare"), failed("prepare")),
        (*up_to("approved", PLAN), failed("prepare"), prepared(PLAN)),
        (*up_to("approved", PLAN), retried("prepare")),
        (*up_to("built", PLAN), retried("build")),
        (*up_to("approved", PLAN), settled("deploy", False)),
        (*up_to("built", PLAN), settled("build", False)),
        (CANCELED, prepared(PLAN)),
        (*up_to("approved", PLAN), rejected(), prepared(PLAN)),
        (*up_to("prepared", PLAN), CANCELED, failed("build")),
        (*up_to("built", PLAN), CANCELED, intended()),
        (*up_to("deployed", PLAN), CANCELED, confirmed()),
        (CANCELED, retried("prepare")),
        (*up_to("prepared", PLAN), revised_to(digest(b"x")), built()),
        (failed("release"),),
        (unknown("launch"),),
        (retried("fly"),),
        (settled("fly", False),),
        (*up_to("intended", PLAN), intended(digest(b"other"))),
        (*up_to("deployed", PLAN), intended()),
        (*up_to("built", PLAN), failed("deploy"), intended()),
        (*up_to("confirmed", PLAN), failed("announce"), announcing("mail", "r1")),
        (*up_to("built", PLAN), unknown("prepare")),
        (*up_to("approved", PLAN), failed("prepare"), unknown("prepare")),
        (CANCELED, unknown("deploy")),
        (*up_to("intended", PLAN), settled("deploy", True)),
        (*up_to("intended", PLAN), unknown("deploy"), settled("confirm", True)),
    ],
)  # fmt: skip
def test_a_sequence_that_the_table_does_not_list_raises(records: tuple[Record, ...]) -> None:
    with pytest.raises(IllegalTransition):
        history_of(PLAN, *records)


@pytest.mark.parametrize(
    "record", [intended(), failed("deploy"), unknown("deploy"), announcing("mail", "r"), retried("deploy")]
)
def test_nothing_leaves_what_is_over(record: Record) -> None:
    done = history_of(PLAN, *up_to("announced", PLAN))
    with pytest.raises(IllegalTransition):
        apply(done, event(record[0], **record[1]))


# --- facts ------------------------------------------------------------------------------------------------------------------------


def test_an_unwritten_plan_has_no_facts() -> None:
    history = unwritten("publication", PLAN.steps)
    assert (history.events, history.chain, history.payload, history.stage, history.over) == (0, FIRST_PREV, "", "", False)
    assert history.next_step is PLAN.steps[0]


def test_every_event_moves_the_end_of_the_file() -> None:
    events = log(*up_to("announced", PLAN))
    history = fold("publication", PLAN.steps, events)
    assert (history.events, history.chain, history.last_at) == (len(events), events[-1].line_digest, AT)


def test_an_approval_binds_payload_and_commit_and_only_the_plans_own_does() -> None:
    history = history_of(PLAN, approved(PLAN))
    assert (history.payload, history.commit) == (PLAN.payload, COMMIT)
    assert history.approvals[0]["gate"] == "plan"
    gate = history_of(launch(), (EventType.APPROVED, {"gate": "G3", "plan_payload": "x", "plan_commit": "y"}))
    assert (gate.payload, gate.commit, len(gate.approvals)) == ("", "", 1)


def test_an_approval_without_a_gate_is_the_plans_own() -> None:
    history = history_of(PLAN, (EventType.APPROVED, {"plan_payload": "p", "plan_commit": "c"}))
    assert (history.payload, states(PLAN, (EventType.APPROVED, {"plan_payload": "p", "plan_commit": "c"}))) == ("p", "qqqqq")


def test_a_rejection_ends_the_plan_and_is_remembered() -> None:
    history = history_of(PLAN, rejected())
    assert (history.rejected, history.canceled, history.over, history.stage) == ((PLAN.payload,), True, True, "canceled")


def test_a_cancellation_ends_the_plan_and_clears_the_failure() -> None:
    history = history_of(PLAN, approved(PLAN), failed("prepare"), CANCELED)
    assert (history.canceled, history.failed, history.rejected) == (True, None, ())


def test_a_revision_has_tasks_of_its_own() -> None:
    old = history_of(
        PLAN, *up_to("built", PLAN), requested(PLAN), (EventType.NOTICED, {"notice": "n1"}), (EventType.REVISION_REFUSED, {"to": "r"}),
        revised_to("new"),
    )  # fmt: skip
    assert (old.payload, old.commit, old.prepared, old.built, old.approvals, old.requests) == ("new", "", None, None, (), ())
    assert (old.revisions, old.notices, old.refused_revisions, old.events) == (((PLAN.payload, "new"),), ("n1",), ("r",), 7)


def test_revisions_add_up() -> None:
    again: Record = (EventType.REVISED, {"from": "two", "to": "three", "revision": 3})
    history = history_of(PLAN, approved(PLAN), revised_to("two"), again)
    assert history.payload == "three"
    assert history.revisions[-1] == ("two", "three")


def test_a_refused_revision_changes_nothing_else() -> None:
    before = history_of(PLAN, *up_to("deployed", PLAN))
    after = history_of(PLAN, *up_to("deployed", PLAN), (EventType.REVISION_REFUSED, {"to": "late"}))
    assert after.refused_revisions == ("late",)
    assert (after.states, after.payload, after.deployed) == (before.states, before.payload, before.deployed)


def test_a_request_is_remembered() -> None:
    kind, fields = requested(PLAN, number=2, request=11)
    assert history_of(PLAN, (kind, fields)).requests == (Request(**fields),)


def test_what_was_prepared() -> None:
    withdraws, reverts = [{"id": "a-9", "url": "/9/", "answer": "gone"}], [{"id": "a-8", "digest": "d"}]
    history = history_of(
        change(), approved(change()), prepared(change(), [put(1)], withdraws=withdraws, hides=["a-7"], reverts=reverts)
    )
    text = PublicText(
        id="a-0001", url="/text-1/", guid=put(1)["guid"], date=put(1)["date"], updated="", digest=put(1)["digest"],
        files={"index.md": ("b" * 40, put(1)["digest"])}, category="guide", plan=change().path,
    )  # fmt: skip
    assert history.prepared == Prepared(
        payload=change().payload, puts=(text,), withdraws=tuple(withdraws), hides=("a-7",), reverts=tuple(reverts)
    )


def test_old_records_without_newer_fields_keep_their_meaning() -> None:
    old = {name: value for name, value in put(1).items() if name not in ("updated", "category")}
    history = history_of(PLAN, approved(PLAN), (EventType.PREPARED, {"payload": "p", "puts": [old]}))
    assert history.prepared is not None
    assert (history.prepared.puts[0].updated, history.prepared.puts[0].category, history.prepared.puts[0].plan) == ("", "", "")
    assert history_of(PLAN, approved(PLAN), (EventType.PREPARED, {"payload": "p"})).prepared == Prepared(payload="p")


def test_a_public_text_reads_back_from_its_record() -> None:
    data = put(1, files={"index.md": ["b" * 40, digest(b"1")], "a.png": ["c" * 40, digest(b"2")]})
    text = public_text_of(data, "plan")
    assert public_text_of(text.as_data(), "plan") == text
    assert list(text.as_data()["files"]) == ["a.png", "index.md"]


def test_what_was_built_intended_and_deployed() -> None:
    history = history_of(PLAN, *up_to("prepared", PLAN), built(RELEASE, BASE), intended(RELEASE, 4, BASE))
    assert history.built == Built(release=RELEASE, base=BASE, presentation=built()[1]["presentation"], files=9)
    assert history.intent == Intent(deployment=4, release=RELEASE, base=BASE, fence=7, at=AT)
    done = apply(history, event(deployed()[0], **deployed(RELEASE, 4, BASE)[1]))
    assert done.deployed == Deployed(deployment=4, release=RELEASE, base=BASE, how="switched", at=AT)
    assert done.intent is None


def test_a_closed_intent_is_no_deploy() -> None:
    history = history_of(PLAN, *up_to("intended", PLAN), CLOSED)
    assert (history.intent, history.deployed, history.stage) == (None, None, "built")


def test_a_confirmation_names_release_and_addresses_and_ends_the_doubt() -> None:
    history = history_of(PLAN, *up_to("deployed", PLAN), unknown("confirm"), confirmed())
    assert (history.confirmed, history.urls, history.unknown) == (RELEASE, ("https://handbook.example/text-1/",), None)


def test_announcements_are_accounted_one_by_one() -> None:
    before = up_to("confirmed", PLAN)
    assert history_of(PLAN, *before, announcing("mail", "r1", "r2")).telling == {"mail": ("r1", "r2")}
    one = history_of(PLAN, *before, announcing("mail", "r1", "r2"), results("mail", r1="sent", r2="refused"))
    assert (one.telling, one.told) == ({}, {"mail": {"r1": "sent", "r2": "refused"}})
    two = history_of(
        PLAN, *before, announcing("mail", "r1"), results("mail", r1="sent"), announcing("feed", "f"), announcing("mail", "r2"),
        results("mail", r2="unknown"),
    )  # fmt: skip
    assert (two.telling, two.told) == ({"feed": ("f",)}, {"mail": {"r1": "sent", "r2": "unknown"}})
    assert two.confirmed == RELEASE, "no announcement touches the publication"


def test_a_failure_says_where_and_why_until_it_is_retried() -> None:
    history = history_of(PLAN, approved(PLAN), failed("prepare", "leak"))
    assert history.failed == Trouble(step="prepare", code="leak", at=AT)
    again = history_of(PLAN, approved(PLAN), failed("prepare", "leak"), retried("prepare"))
    assert (again.failed, again.attempt, history.attempt) == (None, 2, 1)


def test_an_unknown_outcome_is_settled_by_a_person() -> None:
    open_end = history_of(PLAN, *up_to("intended", PLAN), unknown("deploy", "not-seen"))
    assert open_end.unknown == Trouble(step="deploy", code="not-seen", at=AT)
    assert open_end.intent is not None
    did_not = history_of(PLAN, *up_to("intended", PLAN), unknown("deploy"), settled("deploy", False))
    assert (did_not.unknown, did_not.intent, did_not.deployed) == (None, None, None)
    assert did_not.failed == Trouble(step="deploy", code="settled-did-not-happen", at=AT)
    happened = history_of(PLAN, *up_to("intended", PLAN), unknown("deploy"), settled("deploy", True))
    assert (happened.unknown, happened.intent) == (None, open_end.intent), "the fact is its own record"


def test_an_announcement_that_did_not_happen_is_no_longer_under_way() -> None:
    records = (*up_to("confirmed", PLAN), announcing("mail", "r1"), unknown("announce"))
    assert history_of(PLAN, *records, settled("announce", False)).telling == {}
    assert history_of(PLAN, *records, settled("announce", True)).telling == {"mail": ("r1",)}
    assert history_of(PLAN, *up_to("deployed", PLAN), unknown("confirm"), settled("confirm", False)).telling == {}


def test_whoever_was_unknown_may_be_told_again_once_a_person_says_that_it_did_not_happen() -> None:
    sent = (announcing("mail", "r1", "r2", "r3"), results("mail", r1="sent", r2="unknown", r3="refused"), unknown("announce"))
    records = (*up_to("confirmed", PLAN), *sent)
    assert history_of(PLAN, *records).told == {"mail": {"r1": "sent", "r2": "unknown", "r3": "refused"}}
    assert history_of(PLAN, *records, settled("announce", False)).told == {"mail": {"r1": "sent", "r3": "refused"}}
    assert history_of(PLAN, *records, settled("announce", True)).told["mail"]["r2"] == "unknown"


def test_a_restored_plan_is_done_and_its_deploy_stands_in_the_baseline() -> None:
    history = history_of(PLAN, *up_to("deployed", PLAN), unknown("confirm"), RESTORED)
    assert (history.over, history.payload, history.confirmed, history.urls) == (True, PLAN.payload, RELEASE, ("u",))
    assert (history.prepared, history.deployed, history.unknown, history.intent, history.failed) == (None,) * 5


def test_a_restored_plan_is_public_though_no_deploy_of_it_is_recorded() -> None:
    assert history_of(PLAN, RESTORED_UNTOLD).is_public
    assert not history_of(PLAN, *up_to("intended", PLAN)).is_public
    assert history_of(PLAN, *up_to("deployed", PLAN)).is_public
    unknown_step = history_of(PLAN, RESTORED_UNTOLD).unknown
    assert unknown_step is not None
    assert (unknown_step.step, unknown_step.code) == ("announce", "record-lost")


def test_notices_are_remembered_and_other_events_say_nothing() -> None:
    history = history_of(
        PLAN, (EventType.NOTICED, {"notice": "n1"}), (EventType.NOTICED, {"notice": "n2"}), (EventType.PAUSED, {})
    )
    assert (history.notices, history.events) == (("n1", "n2"), 3)


# --- stage ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "word", "next_step"),
    [
        ("", "", "prepare"), ("approved", "", "prepare"), ("prepared", "prepared", "build"), ("built", "built", "deploy"),
        ("intended", "built", "deploy"), ("deployed", "deployed", "confirm"), ("confirmed", "confirmed", "announce"),
    ],
)  # fmt: skip
def test_the_stage_is_the_word_of_the_last_succeeded_step(stage: str, word: str, next_step: str) -> None:
    history = history_of(PLAN, *up_to(stage, PLAN))
    assert (history.stage, history.over) == (word, False)
    assert history.next_step is not None
    assert history.next_step.name == next_step


def test_at_the_end_nothing_is_next() -> None:
    history = history_of(PLAN, *up_to("announced", PLAN))
    assert (history.stage, history.next_step, history.over) == ("announced", None, True)


@pytest.mark.parametrize(("kind", "step"), [("publication", "deploy"), ("change", "deploy"), ("launch", "release")])
def test_each_line_has_one_step_that_makes_public(kind: str, step: str) -> None:
    assert deploy_step(kind) == step


WORDS = ["", "prepared", "built", "deployed", "confirmed", "announced"]
ANY_RECORD: list[Record] = [
    *up_to("announced", PLAN), failed("prepare"), failed("deploy"), failed("confirm"), retried("prepare"), retried("deploy"),
    retried("confirm"), unknown("deploy"), unknown("confirm"), settled("deploy", False), settled("confirm", False), CLOSED,
    announcing("mail", "r1"), results("mail", r1="sent"), (EventType.NOTICED, {"notice": "n"}), requested(PLAN),
]  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.sampled_from(ANY_RECORD), max_size=14))
def test_a_later_failure_never_moves_the_last_completed_stage_backwards(records: list[Record]) -> None:
    history = unwritten("publication", PLAN.steps)
    stages = [history.stage]
    facts: list[Any] = [None]
    for kind, fields in records:
        try:
            history = apply(history, event(kind, **fields))
        except IllegalTransition:
            continue
        stages.append(history.stage)
        facts.append(history.deployed)
        check_order(history)
    assert all(WORDS.index(before) <= WORDS.index(after) for before, after in pairwise(stages))
    assert not any(before and not after for before, after in pairwise(facts)), "what was deployed stays deployed"


def check_order(history: History) -> None:
    """A step that succeeded has only succeeded steps above it."""
    done = [state == "succeeded" for state in history.states.values()]
    assert done == sorted(done, reverse=True)
