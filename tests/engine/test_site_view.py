"""What a run sees of a site: bound plans at their commits, files at the tip, requests, claims, production."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from publisher.domain.approval import Approval, NoApproval, Rejection, Standing, Subject
from publisher.domain.fingerprint import digest
from publisher.domain.gates import PLAN_GATE, GateFile, gate_file
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import Kind, Plan
from publisher.engine.deciding import Act, decide
from publisher.engine.site_view import SiteView, kind_of, load, refusal_of, rejected, site_of
from publisher.errors import InputProblem, Refusal, StoppedForSafety
from tests.support.fakes import FakeForge, FakeRepository, repository
from tests.support.values import (
    BASE,
    COMMIT,
    NOW,
    RELEASE,
    SITE,
    SITE_ID,
    Record,
    announced,
    approved,
    built,
    deployed,
    event,
    failed,
    intended,
    launch,
    log,
    plan_view,
    prepared,
    publication,
    put,
    requested,
    revised,
    site_view,
    up_to,
    whole_launch,
)

PLAN = publication()
CLAIM = {"epoch": 1, "epoch_id": "1" * 32}


def world(*plans: Plan | Refusal, **fields: Any) -> FakeRepository:
    files: dict[str, Plan | Refusal] = {getattr(plan, "path", PLAN.path): plan for plan in plans}
    return repository(plans_at={COMMIT: files}, **fields)


def seen(source: FakeRepository, forge: FakeForge | None = None, **flags: Any) -> SiteView:
    return load(source, forge or FakeForge(), source.known, SITE_ID, **flags)


def yes(plan: Plan, path: str = "", payload: str = "") -> dict[tuple[str, str], Approval]:
    subject = Subject(path=path or f"plans/{plan.path}.yaml", payload=payload or plan.payload)
    approval = Approval(subject=subject, by=("alice",), merged_at=NOW, merge="m" * 40, request=1, evidence={})
    return {(subject.path, subject.payload): approval}


def no(path: str, payload: str) -> dict[tuple[str, str], Rejection]:
    subject = Subject(path=path, payload=payload)
    return {(path, payload): Rejection(subject=subject, by="alice", merge="m" * 40, request=2)}


# --- plans --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("handbook/daily/2026/2026-12-01", Kind.PUBLICATION),
        ("handbook/changes/2026/2026-12-01-1", Kind.CHANGE),
        ("handbook/launch", Kind.LAUNCH),
        ("handbook/claims/2026", None),
        ("handbook/controls", None),
        ("handbook/baseline/0001", None),
        ("handbook", None),
    ],
)
def test_a_path_tells_the_kind_of_plan(path: str, kind: Kind | None) -> None:
    assert kind_of(path) is kind


def test_a_plan_without_records_is_its_file() -> None:
    view = seen(world(PLAN), FakeForge(answers={**yes(PLAN)})).plans[PLAN.path]
    assert (view.plan, view.found, view.problem) == (PLAN, PLAN, None)
    assert view.approval() is not None
    latest = view.latest(PLAN_GATE)
    assert latest is not None
    assert latest.window is not None
    assert latest.window.standing(NOW) is Standing.VALID
    assert view.latest("G3") is None
    assert view.approval("G3") is None


def test_while_nothing_is_bound_the_file_before_its_newest_change_counts() -> None:
    first = publication(numbers=(5, 6))
    source = world(PLAN, before={PLAN.path: first})
    assert seen(source).plans[PLAN.path].before == first
    assert seen(source, judge=False).plans[PLAN.path].before is None
    source.records = {PLAN.path: log(approved(PLAN))}
    assert seen(source).plans[PLAN.path].before is None


def test_a_bound_plan_is_read_at_its_commit_beside_the_file_at_the_tip() -> None:
    edited = publication(numbers=(3, 4))
    source = world(edited, records={PLAN.path: log(*up_to("built", PLAN))})
    source.known = replace(source.known, default="t" * 40)
    source.plans_at = {"t" * 40: {PLAN.path: edited}, COMMIT: {PLAN.path: PLAN}}
    view = seen(source).plans[PLAN.path]
    assert (view.plan, view.found) == (PLAN, edited)
    assert ("plan", COMMIT, PLAN.path) in source.asked


def test_a_bound_plan_that_is_not_at_its_commit_is_a_problem() -> None:
    records = {PLAN.path: log(*up_to("built", PLAN))}
    for there in ({}, {PLAN.path: publication(numbers=(5, 6))}):
        source = world(PLAN, records=records)
        source.known = replace(source.known, default="t" * 40)
        source.plans_at = {"t" * 40: {PLAN.path: PLAN}, COMMIT: there}
        view = seen(source).plans[PLAN.path]
        assert view.plan is None
        assert getattr(view.problem, "code", "") == "plan-not-found"


def test_a_file_that_cannot_be_read_is_a_problem_of_that_plan_alone() -> None:
    broken = InputProblem("schema-type", "no", where="plans/x.yaml:1:1")
    other = publication(day=PLAN.day + timedelta(days=1))
    source = world(other)
    source.plans_at[COMMIT][PLAN.path] = broken
    plans = seen(source).plans
    assert (plans[PLAN.path].plan, plans[PLAN.path].problem) == (None, broken)
    assert plans[PLAN.path].history.kind == "publication"
    assert plans[other.path].plan == other


def test_a_bound_plan_broken_at_the_tip_keeps_both_the_plan_and_the_problem() -> None:
    broken = InputProblem("schema-type", "no", where="plans/x.yaml:1:1")
    source = world(records={PLAN.path: log(*up_to("built", PLAN))})
    source.known = replace(source.known, default="t" * 40)
    source.plans_at = {"t" * 40: {PLAN.path: broken}, COMMIT: {PLAN.path: PLAN}}
    view = seen(source)
    assert (view.plans[PLAN.path].plan, view.plans[PLAN.path].found, view.plans[PLAN.path].problem) == (PLAN, None, broken)
    assert decide(view.plans[PLAN.path], view, NOW).code == "schema-type"


def test_what_is_over_is_not_opened() -> None:
    done, open_plan = PLAN, publication(day=PLAN.day + timedelta(days=1))
    source = world(done, open_plan, records={done.path: log(*up_to("announced", done))})
    view = seen(source)
    assert ("plans", open_plan.path) in source.asked
    assert not [asked for asked in source.asked if asked[0] == "plan"]
    assert (view.plans[done.path].plan, view.plans[done.path].found) == (None, None)
    assert decide(view.plans[done.path], view, NOW).code == "over"
    assert view.production.release == RELEASE


def test_a_closed_plan_without_announcement_is_over_by_its_records_alone() -> None:
    quiet = publication(announce=None)
    source = world(quiet, records={quiet.path: log(*up_to("confirmed", quiet))})
    assert seen(source).plans[quiet.path].history.over
    assert ("plans",) in source.asked


def test_a_plan_that_only_has_records_is_shown_too() -> None:
    source = world(records={PLAN.path: log(*up_to("built", PLAN))})
    view = seen(source)
    assert view.plans[PLAN.path].found is None
    assert decide(view.plans[PLAN.path], view, NOW).code == "plan-not-found"


def test_records_from_before_approvals_named_steps_follow_the_plans() -> None:
    quiet = publication(announce=None)
    kind, fields = approved(quiet)
    old: Record = (kind, {name: value for name, value in fields.items() if name != "steps"})
    source = world(quiet, records={quiet.path: log(old, prepared(quiet))})
    history = seen(source).plans[quiet.path].history
    assert [step.name for step in history.steps] == ["prepare", "build", "deploy", "confirm"]
    assert history.stage == "prepared"


def test_a_recorded_revision_goes_through_its_own_steps() -> None:
    whole = whole_launch()
    second = revised(whole, steps=["build", "release"])
    record: Record = (EventType.REVISED, {"from": whole.payload, "to": second.payload, "revision": 2})
    source = world(second, records={whole.path: log(approved(whole), failed("domain-check"), record)})
    view = seen(source, FakeForge(answers={**yes(second)}))
    assert [step.name for step in view.plans[second.path].history.steps] == ["build", "release"]
    assert decide(view.plans[second.path], view, NOW).step == "build"


# --- broken records -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "records",
    [
        log(approved(PLAN), built()),
        log(failed("release")),
        log((EventType.APPROVED, {"gate": "plan"})),
        log((EventType.APPROVED, {"gate": "plan", "plan_payload": "p", "plan_commit": "c", "steps": ["fly"]})),
        log((EventType.PREPARED, {"payload": "p", "puts": [{"id": "a"}]})),
        log((EventType.PREPARED, {"payload": "p", "puts": 7})),
        log((EventType.DEPLOYED, {})),
    ],
)
def test_a_record_that_cannot_follow_stops_the_site_and_names_the_line(records: tuple[Any, ...]) -> None:
    with pytest.raises(StoppedForSafety) as stop:
        seen(world(PLAN, records={PLAN.path: records}))
    assert stop.value.code == "ledger-broken"
    assert stop.value.where == f"ledger/{PLAN.path}.jsonl:{len(records)}:1"


@pytest.mark.parametrize(
    ("path", "records"),
    [
        ("handbook/controls", log((EventType.SKIPPED, {}))),
        ("handbook/baseline/0001", log((EventType.BASELINE, {"deployment": 1}))),
    ],
)
def test_broken_controls_and_baselines_stop_the_site(path: str, records: tuple[Any, ...]) -> None:
    view = seen(world(records={path: records}))
    with pytest.raises(StoppedForSafety) as stop:
        _ = (view.controls, view.production)
    assert stop.value.where == f"ledger/{path}.jsonl:1:1"


# --- what people decided ----------------------------------------------------------------------------------------------------------


def gate(plan: Plan, number: int = 1, name: str = PLAN_GATE, subject: str = "") -> GateFile:
    return gate_file(plan, name, subject or plan.payload, number)


def test_renewals_stand_behind_the_plans_own_approval_in_the_order_of_their_numbers() -> None:
    first, second = gate(PLAN, 1), gate(PLAN, 2)
    answers = {**yes(PLAN), **yes(PLAN, f"plans/{second.path}.yaml", second.payload)}
    view = seen(world(PLAN, gate_files=(second, first)), FakeForge(answers=answers)).plans[PLAN.path]
    assert [asked.number for asked in view.asked[PLAN_GATE]] == [0, 1, 2]
    approval = view.approval()
    assert approval is not None
    assert approval.subject.path == f"plans/{second.path}.yaml"
    assert refusal_of(view, PLAN_GATE) is None
    assert isinstance(view.asked[PLAN_GATE][1].verdict, NoApproval)


@pytest.mark.parametrize(
    "other",
    [
        gate(publication(numbers=(3, 4))),
        gate(publication(day=PLAN.day + timedelta(days=1))),
        gate(PLAN, subject=digest(b"something else")),
        replace(gate(PLAN), plan="handbook/launch"),
    ],
)
def test_a_request_for_something_else_does_not_count(other: GateFile) -> None:
    view = seen(world(PLAN, gate_files=(other,))).plans[PLAN.path]
    assert [asked.number for asked in view.asked[PLAN_GATE]] == [0]


def test_a_release_gate_counts_for_the_release_that_was_built() -> None:
    plan = launch()
    records = {plan.path: log(*up_to("built", plan))}
    right, wrong = gate(plan, 1, "G3", RELEASE), gate(plan, 2, "G3", BASE)
    view = seen(world(plan, records=records, gate_files=(right, wrong))).plans[plan.path]
    assert [asked.number for asked in view.asked["G3"]] == [1]
    before = seen(world(plan, gate_files=(right,))).plans[plan.path]
    assert "G3" not in before.asked, "nothing is built yet"


def test_a_rejected_request_is_known_from_the_ledger_alone() -> None:
    """Its file never reached the tree."""
    kind, fields = requested(PLAN)
    records = {PLAN.path: log(approved(PLAN), (kind, fields))}
    pending = seen(world(PLAN, records=records)).plans[PLAN.path]
    assert [asked.number for asked in pending.asked[PLAN_GATE]] == [0]
    forge = FakeForge(answers=dict(no(f"plans/{fields['path']}.yaml", fields["payload"])))
    view = seen(world(PLAN, records=records), forge)
    found = rejected(view.plans[PLAN.path], PLAN_GATE)
    assert found is not None
    assert found.request == 2
    assert decide(view.plans[PLAN.path], view, NOW).act is Act.RECORD_REJECTED


def test_a_merged_request_that_the_ledger_names_too_counts_once() -> None:
    made = gate(PLAN)
    asked: Record = (
        EventType.REQUESTED, {"gate": PLAN_GATE, "number": 1, "request": 9, "path": made.path, "payload": made.payload}
    )  # fmt: skip
    source = world(PLAN, records={PLAN.path: log(approved(PLAN), asked)}, gate_files=(made,))
    assert [item.number for item in seen(source).plans[PLAN.path].asked[PLAN_GATE]] == [0, 1]


@pytest.mark.parametrize(
    ("stands_there", "displaced"),
    [("the file", False), ("another file", True), ("nothing", True), ("something broken", True), ("no branch", False)],
)
def test_a_number_that_another_request_took_over_is_known(stands_there: str, displaced: bool) -> None:
    """A branch that was deleted undecided frees its number."""
    made = gate(PLAN)
    fields = {"gate": PLAN_GATE, "number": 1, "request": 9, "path": made.path, "payload": made.payload}
    source = world(PLAN, records={PLAN.path: log(approved(PLAN), (EventType.REQUESTED, fields))})
    if stands_there != "no branch":
        source.known = replace(source.known, requests={9: "9" * 40})
    files: dict[str, tuple[GateFile, ...] | Refusal] = {
        "the file": (made,), "another file": (gate(PLAN, 2),), "something broken": InputProblem("schema-type", "no"),
    }  # fmt: skip
    source.gates_at["9" * 40] = files.get(stands_there, ())
    assert seen(source).plans[PLAN.path].displaced == (frozenset({made.path}) if displaced else frozenset())


def test_requests_of_what_is_over_are_not_looked_at() -> None:
    source = world(PLAN, records={PLAN.path: log(*up_to("confirmed", PLAN), requested(PLAN), announced())})
    source.known = replace(source.known, requests={9: "9" * 40})
    assert seen(source).plans[PLAN.path].displaced == frozenset()
    assert ("gates", "9" * 40) not in source.asked


def test_where_nobody_asked_for_approvals_none_are_judged() -> None:
    source, forge = world(PLAN), FakeForge()
    view = seen(source, forge, judge=False)
    assert view.plans[PLAN.path].asked == {}
    assert forge.asked == []
    assert ("gates", COMMIT) not in source.asked


def test_a_deleted_plan_is_not_judged() -> None:
    source, forge = world(records={PLAN.path: log(approved(PLAN))}), FakeForge()
    assert seen(source, forge).plans[PLAN.path].asked == {}
    assert forge.asked == []


def test_no_answer_is_not_a_refusal_of_another_gate() -> None:
    view = plan_view(PLAN)
    assert refusal_of(view, "G3") is None
    assert rejected(view, "G3") is None


# --- the site -----------------------------------------------------------------------------------------------------------------


def test_claims_are_folded_across_the_years() -> None:
    claimed: Record = (
        EventType.CLAIMED,
        {**CLAIM, "fence": 1, "nonce": "a" * 32, "holder": "ci", "plan": "p", "until": "2026-12-31T23:59:59Z"},
    )
    again: Record = (EventType.CLAIMED, {**claimed[1], "fence": 2, "nonce": "b" * 32})
    records = {
        "handbook/claims/2027": log(again),
        "handbook/claims/2026": log((EventType.EPOCH, CLAIM), claimed),
        "handbook/controls": (),
    }
    view = seen(world(records=records))
    assert view.standing.last is not None
    assert view.standing.last.fence.number == 2
    assert view.has_ledger


def test_a_site_without_claims_has_no_ledger() -> None:
    assert not seen(world(records={"handbook/controls": log((EventType.PAUSED, {"reason": "r"}))})).has_ledger
    source = world(records={"handbook/claims/2026": log((EventType.EPOCH, CLAIM))})
    source.known = replace(source.known, state="")
    assert not seen(source).has_ledger, "without a state branch nothing is read"


def test_the_newest_time_is_a_floor() -> None:
    late = event(EventType.PAUSED, at=NOW + timedelta(hours=1), reason="r")
    records = {"handbook/controls": (late,), "handbook/claims/2026": log((EventType.EPOCH, CLAIM)), PLAN.path: ()}
    assert seen(world(records=records)).last_at == "2026-12-01T02:30:00Z"
    assert seen(world()).last_at == ""


def baseline(number: int = 1, **fields: Any) -> Record:
    made = {
        "deployment": number,
        "release": BASE,
        "why": "adopted",
        "puts": [put(7)],
        "presentation": built()[1]["presentation"],
    }
    return EventType.BASELINE, {**made, **fields}


def test_production_is_the_baseline_and_every_observed_deploy() -> None:
    gone = {"id": "a-0008", "url": "/text-8/", "answer": "gone"}
    repaired: Record = (EventType.REPAIRED, {"release": BASE, "found": ""})
    records = {
        "handbook/baseline/0001": log(baseline(withdraws=[gone]), repaired),
        PLAN.path: log(*up_to("built", PLAN), intended(deployment=2), deployed(RELEASE, 2, BASE)),
    }  # fmt: skip
    result = seen(world(PLAN, records=records)).production
    assert (result.release, result.deployment) == (RELEASE, 2)
    assert [text.id for text in result.content.shown] == ["a-0007", "a-0001", "a-0002"]
    assert result.content.texts["a-0007"].plan == "handbook/baseline/0001"
    assert result.content.withdrawn == {"a-0008": gone}


def test_one_more_event_is_seen_at_once_and_only_in_the_new_view() -> None:
    before = site_view(plan_view(PLAN))
    kind, fields = approved(PLAN)
    after = before.with_event(PLAN.path, event(kind, **fields))
    assert (before.plans[PLAN.path].history.events, after.plans[PLAN.path].history.events) == (0, 1)
    paused = after.with_event("handbook/controls", event(EventType.PAUSED, reason="r"))
    assert paused.controls.paused
    assert not after.controls.paused


def test_a_site_that_is_not_configured_is_named_with_those_that_are() -> None:
    source = world()
    with pytest.raises(InputProblem) as problem:
        load(source, FakeForge(), source.known, "shop")
    assert problem.value.code == "unknown-site"
    assert "it has: handbook" in problem.value.says
    with pytest.raises(InputProblem, match="unknown-site"):
        site_of(replace(source.instance_at, sites={}), "shop")
    assert site_of(source.instance_at, SITE_ID) == SITE
