"""What happens next: one table per rule, the order of the rules, and properties over random plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publisher.domain.approval import ApprovalRules
from publisher.domain.approval import Standing as Window
from publisher.domain.facts import Trouble
from publisher.domain.fingerprint import digest, short
from publisher.domain.history import History, apply, deploy_step
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import Plan
from publisher.domain.tasks import IllegalTransition, State
from publisher.engine.deciding import Act, Decision, Who, decide, decisions, standing_plan
from publisher.engine.site_view import Asked, PlanView, SiteView
from publisher.errors import (
    EXIT_INPUT,
    EXIT_LATER,
    EXIT_OK,
    EXIT_PERSON,
    EXIT_SAFETY,
    EXIT_UNKNOWN,
    InputProblem,
    NeedsPerson,
    StoppedForSafety,
)
from tests.support.values import (
    DAY,
    INSTANCE,
    NOW,
    RELEASE,
    SITE,
    Record,
    announced,
    approved,
    article,
    change,
    confirmed,
    deployed,
    event,
    failed,
    history_of,
    intended,
    launch,
    never,
    no,
    plan_view,
    prepared,
    publication,
    requested,
    revised,
    site_view,
    unknown,
    up_to,
    whole_launch,
    yes,
)

PLAN = publication()
QUIET = publication(announce=None)
CHANGE = change()
LAUNCH = launch()
TOMORROW = publication(day=date(2026, 12, 2), numbers=(3, 4))
HOUR, DAYS = timedelta(hours=1), timedelta(days=1)
PAUSED: Record = (EventType.PAUSED, {"reason": "holidays"})
CANCELED: Record = (EventType.CANCELED, {"reason": "no"})
TELLING: Record = (EventType.ANNOUNCE_INTENT, {"channel": "mail", "to": ["r1"]})


def skipped(day: date = DAY) -> Record:
    return EventType.SKIPPED, {"date": f"{day}", "reason": "nobody home"}


def asks(view: PlanView, site: SiteView | None = None, now: datetime = NOW) -> Decision:
    return decide(view, site or site_view(view), now)


def said(decision: Decision) -> tuple[str, str, str, str, int]:
    return decision.act, decision.step, decision.who, decision.code, decision.exit_code


# --- nothing in the way ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "stage", "act", "step", "code"),
    [
        (PLAN, "", "work", "prepare", "prepare"),
        (PLAN, "approved", "work", "prepare", "prepare"),
        (PLAN, "prepared", "work", "build", "build"),
        (PLAN, "built", "work", "deploy", "deploy"),
        (PLAN, "intended", "reconcile", "deploy", "deploy-open"),
        (PLAN, "deployed", "work", "confirm", "confirm"),
        (PLAN, "confirmed", "work", "announce", "announce"),
        (PLAN, "announced", "none", "", "over"),
        (QUIET, "deployed", "work", "confirm", "confirm"),
        (QUIET, "confirmed", "none", "", "over"),
        (CHANGE, "", "work", "prepare", "prepare"),
        (CHANGE, "built", "work", "deploy", "deploy"),
        (CHANGE, "deployed", "work", "confirm", "confirm"),
        (CHANGE, "confirmed", "none", "", "over"),
        (LAUNCH, "", "work", "build", "build"),
        (LAUNCH, "prepared", "work", "build", "build"),
        (LAUNCH, "built", "request", "release", "approval-needed"),
        (LAUNCH, "intended", "reconcile", "release", "deploy-open"),
        (LAUNCH, "deployed", "work", "release", "confirm"),
        (LAUNCH, "confirmed", "none", "", "over"),
    ],
    ids=lambda value: value.key if isinstance(value, Plan) else str(value),
)
def test_an_approved_plan_goes_step_by_step(plan: Plan, stage: str, act: str, step: str, code: str) -> None:
    decision = asks(plan_view(plan, *up_to(stage, plan)))
    assert (decision.act, decision.step, decision.code, decision.plan) == (act, step, code, plan.path)
    assert decision.is_effect == (act != "none")
    assert bool(decision.command) == (act != "none")


def test_only_looking_and_doing_nothing_need_no_claim() -> None:
    made = {act: Decision(plan="p", act=act, who=Who.RUN, code="c", what="w").is_effect for act in Act}
    assert {act for act, effect in made.items() if not effect} == {Act.NONE, Act.LOOK_AGAIN}


# --- 1. what is over stays over -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["", "approved", "prepared", "built"])
def test_a_canceled_plan_does_nothing_further(stage: str) -> None:
    decision = asks(plan_view(PLAN, *up_to(stage, PLAN), CANCELED))
    assert said(decision) == ("none", "", "nobody", "over", EXIT_OK)
    assert "canceled" in decision.what


def test_an_opened_takedown_is_a_persons_and_no_run_waits_for_it() -> None:
    opened = (EventType.TAKEDOWN, {"articles": ["a-1"], "risks": ["caches", "archives"], "reason": "r"})
    closed = [(EventType.FOLLOWED_UP, {"risk": risk, "outcome": "done", "reason": "r"}) for risk in ("caches", "archives")]
    public = up_to("confirmed", CHANGE)
    decision = asks(plan_view(CHANGE, *public, opened, closed[0]))
    assert said(decision) == ("none", "", "person", "takedown-open", EXIT_OK)
    assert decision.what.endswith("archives")
    assert decision.command == f"publisher takedown {CHANGE.path}"
    assert asks(plan_view(CHANGE, *public, opened, *closed)).code == "over"


@pytest.mark.parametrize("controls", [(), (PAUSED,), (skipped(),)])
@pytest.mark.parametrize("asked", [(), (no(PLAN, "dismissed"),), (never(PLAN),), (yes(PLAN, NOW - 9 * DAYS),)])
@pytest.mark.parametrize("found", [PLAN, None, publication(numbers=(8, 9)), revised(PLAN)])
def test_a_finished_plan_stays_finished_whatever_becomes_of_its_file_or_approval(
    controls: tuple[Record, ...], asked: tuple[Asked, ...], found: Plan | None
) -> None:
    view = plan_view(PLAN, *up_to("announced", PLAN), asked=asked, found=found)
    assert asks(view, site_view(view, controls=controls)).code == "over"


# --- the plan's file ------------------------------------------------------------------------------------------------------------


def test_a_plan_that_cannot_be_read_is_its_authors() -> None:
    problem = InputProblem("schema-type", "revision must be a whole number", where="plans/x.yaml:7:1")
    decision = asks(plan_view(PLAN, plan=None, found=None, problem=problem))
    assert said(decision) == ("none", "prepare", "person", "schema-type", EXIT_INPUT)
    assert decision.what == "plans/x.yaml:7:1: revision must be a whole number"
    assert decision.command == f"publisher preview {PLAN.path}"


def test_a_problem_keeps_its_own_next_command_and_exit_code() -> None:
    problem = StoppedForSafety("odd", "says so", next="publisher audit")
    decision = asks(plan_view(PLAN, plan=None, found=None, problem=problem))
    assert (decision.what, decision.command, decision.exit_code) == ("says so", "publisher audit", EXIT_SAFETY)


@pytest.mark.parametrize("problem", [None, ValueError("text of a library")])
def test_a_plan_that_is_gone_is_said_to_be_gone(problem: Exception | None) -> None:
    decision = asks(plan_view(PLAN, plan=None, found=None, problem=problem))
    assert said(decision) == ("none", "prepare", "person", "plan-deleted", EXIT_PERSON)
    assert "cancel" in decision.command
    assert "text of a library" not in decision.what


def test_a_bound_plan_whose_file_was_deleted_or_broken_stops_before_its_deploy_and_not_after() -> None:
    broken = InputProblem("schema-type", "no", where="plans/x.yaml:1:1")
    for problem, code in ((None, "plan-deleted"), (broken, "schema-type")):
        view = plan_view(PLAN, *up_to("built", PLAN), found=None, problem=problem)
        assert (asks(view).code, asks(view).act) == (code, Act.NONE)
        for stage, expected in (("intended", "deploy-open"), ("deployed", "confirm"), ("confirmed", "announce")):
            public = plan_view(PLAN, *up_to(stage, PLAN), found=None, problem=problem)
            assert asks(public).code == expected


def test_a_plan_not_at_its_bound_commit_is_a_persons() -> None:
    problem = NeedsPerson("plan-not-found", "it is not there", next="publisher log p")
    view = plan_view(PLAN, *up_to("built", PLAN), plan=None, problem=problem)
    assert said(asks(view)) == ("none", "deploy", "person", "plan-not-found", EXIT_PERSON)


# --- 2. what was set going is reconciled first ----------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [PLAN, CHANGE, LAUNCH], ids=lambda plan: plan.key)
def test_an_open_intent_is_reconciled_before_anything_else(plan: Plan) -> None:
    view = plan_view(plan, *up_to("intended", plan), asked=(no(plan, "spent"),), found=revised(plan))
    decision = asks(view, site_view(view, controls=(PAUSED, skipped())))
    assert said(decision) == ("reconcile", deploy_step(plan.kind), "run", "deploy-open", EXIT_UNKNOWN)
    assert short(RELEASE) in decision.what


@pytest.mark.parametrize("plan", [PLAN, CHANGE, LAUNCH], ids=lambda plan: plan.key)
def test_an_unknown_deploy_is_a_persons(plan: Plan) -> None:
    step = deploy_step(plan.kind)
    decision = asks(plan_view(plan, *up_to("intended", plan), unknown(step)))
    assert said(decision) == ("none", step, "person", f"{step}-unknown", EXIT_UNKNOWN)
    assert decision.command.startswith(f"publisher settle {plan.path} {step} --happened|--did-not")


def test_announcements_without_a_result_are_closed_first() -> None:
    decision = asks(plan_view(PLAN, *up_to("confirmed", PLAN), TELLING))
    assert said(decision) == ("close-telling", "announce", "run", "announcement-open", EXIT_UNKNOWN)


def test_announcements_that_are_unknown_are_a_persons() -> None:
    decision = asks(plan_view(PLAN, *up_to("confirmed", PLAN), TELLING, unknown("announce")))
    assert said(decision) == ("none", "announce", "person", "announce-unknown", EXIT_UNKNOWN)
    assert "settle" in decision.command


# --- 3. what failed waits for a person ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "step"),
    [("approved", "prepare"), ("prepared", "build"), ("built", "deploy"), ("deployed", "confirm"), ("confirmed", "announce")],
)
def test_a_failed_step_waits_for_a_person_whatever_else_holds(stage: str, step: str) -> None:
    view = plan_view(PLAN, *up_to(stage, PLAN), failed(step, "leak"))
    for now in (NOW, NOW + 100 * DAYS):
        decision = asks(view, site_view(view, controls=(PAUSED,)), now)
        assert said(decision) == ("none", step, "person", "leak", EXIT_PERSON)
        assert decision.command.startswith(f"publisher retry {PLAN.path} {step} --reason")


def test_a_failure_before_the_deploy_can_also_be_answered_by_a_revision() -> None:
    assert "publisher revise" in asks(plan_view(PLAN, *up_to("built", PLAN), failed("deploy"))).command
    assert "publisher revise" not in asks(plan_view(PLAN, *up_to("deployed", PLAN), failed("confirm"))).command
    decision = asks(plan_view(PLAN, *up_to("prepared", PLAN), failed("build"), found=revised(PLAN)))
    assert said(decision) == ("record-revised", "build", "run", "revised", EXIT_OK)


def test_a_failure_can_also_be_answered_by_a_rejection() -> None:
    asked = (yes(PLAN, NOW - 3 * DAYS), never(PLAN, 1))
    decision = asks(plan_view(PLAN, *up_to("prepared", PLAN), failed("build"), asked=asked))
    assert said(decision) == ("record-rejected", "build", "run", "rejected", EXIT_OK)
    public = asks(plan_view(PLAN, *up_to("deployed", PLAN), failed("confirm"), asked=asked))
    assert public.code == "boom", "what is public cannot be rejected any more"


@pytest.mark.parametrize("found", [None, publication(numbers=(8, 9)), PLAN])
def test_no_other_edit_moves_a_failure(found: Plan | None) -> None:
    assert asks(plan_view(PLAN, *up_to("prepared", PLAN), failed("build", "leak"), found=found)).code == "leak"


# --- 4. what is public goes on --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [(), (no(PLAN, "dismissed"),), (never(PLAN),), (yes(PLAN, NOW - 9 * DAYS),)])
@pytest.mark.parametrize("controls", [(), (PAUSED,), (skipped(),)])
def test_what_is_public_is_confirmed_whatever_became_of_its_approval(
    asked: tuple[Asked, ...], controls: tuple[Record, ...]
) -> None:
    view = plan_view(PLAN, *up_to("deployed", PLAN), asked=asked, found=publication(numbers=(8, 9)))
    site = site_view(view, controls=controls, site=replace(SITE, staging=None), instance=replace(INSTANCE, on_call=()))
    assert said(asks(view, site, NOW + 9 * DAYS)) == ("work", "confirm", "run", "confirm", EXIT_OK)


def test_what_was_not_seen_in_public_is_looked_at_again_without_a_claim() -> None:
    decision = asks(plan_view(PLAN, *up_to("deployed", PLAN), unknown("confirm")))
    assert said(decision) == ("look-again", "confirm", "person", "not-confirmed", EXIT_UNKNOWN)
    assert not decision.is_effect
    assert f"publisher run {PLAN.path}" in decision.command
    launched = asks(plan_view(LAUNCH, *up_to("deployed", LAUNCH), unknown("release")))
    assert said(launched) == ("look-again", "release", "person", "not-confirmed", EXIT_UNKNOWN)


def test_a_pause_holds_announcements_back_and_a_lapsed_approval_does_not() -> None:
    view = plan_view(PLAN, *up_to("confirmed", PLAN), asked=(no(PLAN, "dismissed"),))
    assert said(asks(view, now=NOW + 9 * DAYS)) == ("work", "announce", "run", "announce", EXIT_OK)
    assert asks(view, site_view(view, controls=(PAUSED,))).code == "paused"


def test_a_revision_that_comes_too_late_is_refused_once() -> None:
    late = revised(PLAN)
    for stage in ("deployed", "confirmed"):
        view = plan_view(PLAN, *up_to(stage, PLAN), found=late)
        assert said(asks(view))[:4] == ("record-revision-refused", asks(view).step, "run", "revised-late")
        told = plan_view(PLAN, *up_to(stage, PLAN), (EventType.REVISION_REFUSED, {"to": late.payload}), found=late)
        assert asks(told).act is Act.WORK


def test_an_edit_that_is_no_revision_is_nothing_to_a_public_plan() -> None:
    assert asks(plan_view(PLAN, *up_to("deployed", PLAN), found=publication(numbers=(8, 9)))).code == "confirm"


# --- the same key with another payload ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["approved", "prepared", "built"])
@pytest.mark.parametrize(
    "found",
    [
        publication(numbers=(1, 3)),
        publication(numbers=(2, 1)),
        revised(PLAN, revision=3),
        revised(PLAN, supersedes=digest(b"x")),
    ],
)
def test_another_payload_under_the_same_key_is_a_conflict_with_both_hashes(stage: str, found: Plan) -> None:
    decision = asks(plan_view(PLAN, *up_to(stage, PLAN), found=found, asked=(yes(found),)))
    assert (decision.act, decision.who, decision.code, decision.exit_code) == (Act.NONE, Who.PERSON, "conflict", EXIT_PERSON)
    assert short(PLAN.payload) in decision.what
    assert short(found.payload) in decision.what
    assert "publisher revise" in decision.command


@pytest.mark.parametrize("stage", ["approved", "prepared", "built"])
def test_a_proper_revision_is_recorded(stage: str) -> None:
    decision = asks(plan_view(PLAN, *up_to(stage, PLAN), found=revised(PLAN)))
    assert (decision.act, decision.who, decision.code) == (Act.RECORD_REVISED, Who.RUN, "revised")
    assert "revision 2" in decision.what
    assert short(PLAN.payload) in decision.what


def test_before_any_record_the_file_at_the_tip_is_the_plan() -> None:
    second = revised(PLAN)
    assert asks(plan_view(second)).act is Act.WORK


def test_before_any_record_the_key_is_bound_by_what_was_merged_first() -> None:
    assert asks(plan_view(revised(PLAN), before=PLAN)).act is Act.WORK
    assert asks(plan_view(PLAN, before=PLAN)).act is Act.WORK, "the newest change touched something else"
    decision = asks(plan_view(publication(numbers=(8, 9)), before=PLAN))
    assert (decision.code, decision.act) == ("conflict", Act.NONE)
    assert short(PLAN.payload) in decision.what


def after_revision(found: Plan | None, to: Plan) -> PlanView:
    record: Record = (EventType.REVISED, {"from": PLAN.payload, "to": to.payload, "revision": to.revision})
    return plan_view(found or PLAN, approved(PLAN), record, found=found)


def test_after_a_recorded_revision_its_own_approval_is_asked_for() -> None:
    second = revised(PLAN)
    assert asks(after_revision(second, second)).act is Act.WORK
    waiting = replace(after_revision(second, second), asked={"plan": (no(second),)})
    assert asks(waiting).code == "approval-absent"


def test_a_recorded_revision_edited_before_its_approval_is_a_conflict_too() -> None:
    second = revised(PLAN)
    edited = revised(PLAN, articles=[article(7)])
    decision = asks(after_revision(edited, second))
    assert decision.code == "conflict"
    assert short(second.payload) in decision.what
    assert short(edited.payload) in decision.what


def test_a_recorded_revision_may_be_revised_again_before_its_approval() -> None:
    second = revised(PLAN)
    third = revised(second)
    decision = asks(after_revision(third, second))
    assert decision.act is Act.RECORD_REVISED
    assert short(second.payload) in decision.what


def test_a_revision_that_was_refused_stays_refused() -> None:
    late = revised(PLAN)
    refused: Record = (EventType.REVISION_REFUSED, {"to": late.payload})
    decision = asks(plan_view(PLAN, *up_to("built", PLAN), refused, found=late))
    assert (decision.code, decision.act) == ("revision-refused", Act.NONE)


# --- held back ------------------------------------------------------------------------------------------------------------------


def test_a_skipped_date_is_never_published() -> None:
    view = plan_view(PLAN)
    decision = asks(view, site_view(view, controls=(skipped(),)))
    assert said(decision) == ("none", "prepare", "person", "skipped", EXIT_PERSON)
    assert "cancel" in decision.command


def test_skipping_a_date_says_nothing_about_changes_and_other_dates() -> None:
    for plan, now in ((CHANGE, NOW), (TOMORROW, NOW + DAYS)):
        view = plan_view(plan)
        assert asks(view, site_view(view, controls=(skipped(),)), now).code == "prepare"


@pytest.mark.parametrize("stage", ["", "approved", "built"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_rejection_is_recorded_even_while_the_site_is_paused(stage: str, number: int) -> None:
    asked = (yes(PLAN),) * number + (never(PLAN, number),)
    view = plan_view(PLAN, *up_to(stage, PLAN), asked=asked)
    assert asks(view, site_view(view, controls=(PAUSED,))).act is Act.RECORD_REJECTED


def test_a_pause_begins_nothing_new() -> None:
    for stage in ("", "approved", "prepared", "built"):
        view = plan_view(PLAN, *up_to(stage, PLAN))
        decision = asks(view, site_view(view, controls=(PAUSED,)))
        assert (decision.act, decision.code, decision.exit_code) == (Act.NONE, "paused", EXIT_PERSON)
        assert decision.command == 'publisher resume handbook --reason "…"'
        assert "2026-12-01T01:30:00Z" in decision.what


def test_resuming_publishes_nothing_that_was_missed() -> None:
    view = plan_view(PLAN)
    resumed = site_view(view, controls=(PAUSED, (EventType.RESUMED, {"reason": "back"})))
    assert asks(view, resumed, NOW + 30 * DAYS).code == "missed"


def test_a_publication_never_names_what_is_public() -> None:
    other = plan_view(
        publication(day=date(2026, 11, 30), numbers=(2,)),
        *up_to("announced", publication(day=date(2026, 11, 30), numbers=(2,))),
    )
    view = plan_view(PLAN)
    decision = asks(view, site_view(other, view))
    assert (decision.code, decision.act) == ("already-public", Act.NONE)
    assert "a-0002" in decision.what
    first = plan_view(launch(articles=[article(2)]))
    assert asks(first, site_view(other, first)).code == "already-public"


def test_a_change_names_what_is_public_and_a_plan_its_own_articles() -> None:
    done = plan_view(PLAN, *up_to("announced", PLAN))
    correction = plan_view(change(action="correct", withdrawals=None, articles=[article(1, was=digest(b"old"))]))
    assert asks(correction, site_view(done, correction)).code == "prepare"
    again = plan_view(PLAN, *up_to("deployed", PLAN))
    assert asks(again).code == "confirm"


# --- 5. the approval ------------------------------------------------------------------------------------------------------------


def test_an_absent_approval_is_a_persons() -> None:
    decision = asks(plan_view(PLAN, asked=(no(PLAN),)))
    assert said(decision) == ("none", "prepare", "person", "approval-absent", EXIT_PERSON)
    assert decision.command == "publisher approve"


@pytest.mark.parametrize(
    ("says", "shown"), [("", "what was merged is not an approval"), ("the author approved it", "the author approved it")]
)
def test_a_refused_approval_says_why(says: str, shown: str) -> None:
    decision = asks(plan_view(PLAN, asked=(no(PLAN, "author-approved", says),)))
    assert (decision.code, decision.what, decision.act) == ("approval-author-approved", shown, Act.NONE)
    assert decision.command == f"publisher plan --again {PLAN.path}"


@pytest.mark.parametrize(
    ("merged", "now", "code"),
    [
        (NOW - 2 * DAYS, PLAN.publish_at - timedelta(seconds=1), "not-due"),
        (NOW - 2 * DAYS, PLAN.publish_at, "prepare"),
        (NOW - 2 * DAYS, PLAN.publish_at + 24 * HOUR - timedelta(seconds=1), "prepare"),
        (NOW - 2 * DAYS, PLAN.publish_at + 24 * HOUR, "missed"),
        (NOW, NOW, "prepare"),
        (NOW, NOW - timedelta(seconds=1), "not-due"),
        (NOW, NOW + 24 * HOUR - timedelta(seconds=1), "prepare"),
        (NOW, NOW + 24 * HOUR, "missed"),
        (PLAN.publish_at - 14 * DAYS, NOW, "prepare"),
        (PLAN.publish_at - 14 * DAYS - timedelta(seconds=1), NOW, "approved-too-early"),
        (PLAN.publish_at + 5 * DAYS, NOW + 5 * DAYS, "prepare"),
    ],
)
def test_an_approval_counts_inside_its_window(merged: datetime, now: datetime, code: str) -> None:
    decision = asks(plan_view(PLAN, asked=(yes(PLAN, merged),)), now=now)
    assert decision.code == code
    assert (decision.act is Act.WORK) == (code == "prepare")


def test_waiting_for_the_clock_is_no_fault() -> None:
    decision = asks(plan_view(PLAN), now=NOW - HOUR)
    assert said(decision) == ("none", "prepare", "clock", "not-due", EXIT_LATER)
    assert decision.until == PLAN.publish_at
    assert "2026-12-01 09:00 HKT (01:00Z)" in decision.what


SHORT = ApprovalRules(expires_after=HOUR)


def test_an_approval_that_expired_the_same_day_is_asked_for_again() -> None:
    decision = asks(plan_view(PLAN, asked=(yes(PLAN, rules=SHORT),)), now=NOW + HOUR)
    assert said(decision) == ("request", "prepare", "run", "approval-needed", EXIT_PERSON)
    assert (decision.gate, decision.subject) == ("plan", PLAN.payload)


def test_an_expired_change_is_asked_for_again_on_any_day() -> None:
    assert asks(plan_view(CHANGE), now=NOW + 9 * DAYS).act is Act.REQUEST


def test_a_missed_date_is_a_persons() -> None:
    decision = asks(plan_view(PLAN), now=NOW + 2 * DAYS)
    assert said(decision) == ("none", "prepare", "person", "missed", EXIT_PERSON)
    assert "publisher skip 2026-12-01 --site handbook" in decision.command
    assert f"publisher plan --again {PLAN.path}" in decision.command


def test_the_date_is_the_editors_not_utcs() -> None:
    """At 16:00 UTC the day is over in Hong Kong."""
    view = plan_view(PLAN, asked=(yes(PLAN, rules=SHORT),))
    assert asks(view, now=datetime(2026, 12, 1, 15, 59, 59, tzinfo=NOW.tzinfo)).act is Act.REQUEST
    assert asks(view, now=datetime(2026, 12, 1, 16, tzinfo=NOW.tzinfo)).code == "missed"


def test_a_request_that_is_open_is_a_persons_and_not_made_twice() -> None:
    view = plan_view(PLAN, approved(PLAN), requested(PLAN, 1, 9), asked=(yes(PLAN, rules=SHORT),))
    decision = asks(view, site_view(view, requests={9: "h" * 40}), NOW + HOUR)
    assert said(decision) == ("none", "prepare", "person", "approval-absent", EXIT_PERSON)
    assert decision.command == "publisher approve 9"
    closed = asks(view, site_view(view, requests={8: "h" * 40}), NOW + HOUR)
    assert (closed.code, closed.act, closed.command) == ("request-closed", Act.NONE, f"publisher plan --again {PLAN.path}")


def test_a_number_that_another_request_took_over_is_not_waited_for() -> None:
    kind, fields = requested(PLAN, 1, 9)
    view = plan_view(
        PLAN, approved(PLAN), (kind, fields), asked=(yes(PLAN, rules=SHORT),), displaced=frozenset({fields["path"]})
    )
    assert asks(view, site_view(view, requests={9: "h" * 40}), NOW + HOUR).code == "request-closed"


def test_a_missed_date_that_was_asked_for_again_waits_for_that_answer() -> None:
    view = plan_view(PLAN, approved(PLAN), requested(PLAN, 1, 9))
    assert asks(view, site_view(view, requests={9: "h" * 40}), NOW + 2 * DAYS).command == "publisher approve 9"
    assert asks(view, now=NOW + 2 * DAYS).code == "missed"


def test_a_refused_approval_that_was_asked_for_again_waits_for_that_answer() -> None:
    view = plan_view(PLAN, requested(PLAN, 1, 9), asked=(no(PLAN, "author-approved"),))
    assert asks(view, site_view(view, requests={9: "h" * 40})).command == "publisher approve 9"
    assert asks(view).code == "approval-author-approved"


def test_a_further_request_follows_only_one_that_was_merged_and_expired() -> None:
    asked = (yes(PLAN, rules=SHORT), yes(PLAN, NOW + HOUR, 1, SHORT))
    view = plan_view(PLAN, approved(PLAN), requested(PLAN, 1, 9), asked=asked)
    assert asks(view, now=NOW + HOUR).act is Act.WORK
    assert asks(view, now=NOW + 2 * HOUR).act is Act.REQUEST
    branch_left = site_view(view, requests={9: "h" * 40})
    assert asks(view, branch_left, NOW + 2 * HOUR).act is Act.REQUEST, "the first was decided, though its branch is still there"
    second = plan_view(PLAN, approved(PLAN), requested(PLAN, 1, 9), requested(PLAN, 2, 10), asked=asked)
    assert asks(second, site_view(second, requests={10: "h"}), NOW + 2 * HOUR).command == "publisher approve 10"


def test_a_renewal_that_was_merged_without_approval_is_no_approval() -> None:
    decision = asks(plan_view(PLAN, asked=(yes(PLAN, rules=SHORT), no(PLAN, "unsigned", number=1))), now=NOW + HOUR)
    assert decision.code == "approval-unsigned"


def test_where_nobody_was_asked_a_request_is_made() -> None:
    decision = asks(plan_view(PLAN, asked=(), gates={}))
    assert (decision.act, decision.gate) == (Act.REQUEST, "plan")


# --- the launch's own gate ------------------------------------------------------------------------------------------------------

BUILT = up_to("built", LAUNCH)


def launching(*asked: Asked, records: tuple[Record, ...] = (), plan_asked: tuple[Asked, ...] = ()) -> PlanView:
    own = plan_asked or (yes(LAUNCH, NOW - 3 * DAYS),)
    return plan_view(LAUNCH, *BUILT, *records, asked=own, gates={"G3": asked} if asked else {})


def test_the_release_is_asked_for_with_its_id() -> None:
    decision = asks(launching())
    assert said(decision) == ("request", "release", "run", "approval-needed", EXIT_PERSON)
    assert (decision.gate, decision.subject) == ("G3", RELEASE)


def test_a_pending_release_gate_is_a_persons() -> None:
    view = launching(records=(requested(LAUNCH, 1, 5, "G3"),))
    assert asks(view, site_view(view, requests={5: "h"})).command == "publisher approve 5"
    assert asks(view).code == "request-closed"


def test_an_approved_release_goes_public_though_the_plans_own_approval_has_lapsed() -> None:
    decision = asks(launching(yes(LAUNCH, NOW - HOUR, 1)), now=NOW)
    assert said(decision) == ("work", "release", "run", "release", EXIT_OK)


def test_an_expired_release_gate_is_asked_for_again() -> None:
    view = launching(yes(LAUNCH, NOW, 1), records=(requested(LAUNCH, 1, 5, "G3"),))
    decision = asks(view, now=NOW + 24 * HOUR)
    assert (decision.act, decision.gate) == (Act.REQUEST, "G3")
    again = launching(yes(LAUNCH, NOW, 1), records=(requested(LAUNCH, 1, 5, "G3"), requested(LAUNCH, 2, 6, "G3")))
    assert asks(again, site_view(again, requests={6: "h"}), NOW + 24 * HOUR).command == "publisher approve 6"


def test_a_rejected_release_ends_the_launch() -> None:
    assert asks(launching(never(LAUNCH, 1))).act is Act.RECORD_REJECTED
    assert asks(launching(yes(LAUNCH, NOW, 1), never(LAUNCH, 2))).act is Act.RECORD_REJECTED


def test_a_gate_merged_without_approval_opens_nothing() -> None:
    assert asks(launching(no(LAUNCH, "unsigned", number=1))).code == "approval-unsigned"


def test_before_the_build_a_launch_needs_its_plans_approval() -> None:
    assert asks(plan_view(LAUNCH, asked=(no(LAUNCH),))).code == "approval-absent"
    assert asks(plan_view(LAUNCH, asked=(yes(LAUNCH, NOW - 3 * DAYS),)), now=NOW + DAYS).act is Act.REQUEST


WHOLE = whole_launch()


def at_step(name: str, gates: dict[str, tuple[Asked, ...]], *records: Record) -> Decision:
    """A whole launch whose steps above ``name`` have succeeded."""
    names = [step.name for step in WHOLE.steps]
    done = dict.fromkeys(names[: names.index(name)], State.SUCCEEDED)
    history = history_of(WHOLE)
    built_history = history_of(LAUNCH, *up_to("confirmed", LAUNCH)) if names.index(name) > names.index("build") else history
    facts = {"built": built_history.built, "deployed": built_history.deployed, "prepared": built_history.prepared}
    if names.index(name) <= names.index("release"):
        facts["deployed"] = None
    history = replace(history, states={**history.states, **done}, **facts)
    return asks(plan_view(WHOLE, gates=gates, history=history))


@pytest.mark.parametrize(("step", "gate"), [("register", "G1"), ("allocate", "G2"), ("outreach", "G4")])
def test_each_high_risk_step_of_a_launch_waits_for_its_own_gate(step: str, gate: str) -> None:
    decision = at_step(step, {})
    assert (decision.act, decision.step, decision.gate, decision.subject) == (Act.REQUEST, step, gate, WHOLE.payload)
    assert at_step(step, {gate: (yes(WHOLE, NOW - HOUR, 1),)}).act is Act.WORK


@pytest.mark.parametrize("step", ["submit", "daily", "tune", "health", "replies", "competitors"])
def test_after_the_release_low_risk_steps_run_unattended(step: str) -> None:
    decision = at_step(step, {"plan": (yes(WHOLE, NOW - 9 * DAYS),)})
    assert (decision.act, decision.step) == (Act.WORK, step)


# --- preconditions --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("records", [(intended(),), (intended(), unknown("deploy"))], ids=["open", "unknown"])
def test_an_open_deploy_of_another_plan_blocks_every_later_one(records: tuple[Record, ...]) -> None:
    other = plan_view(TOMORROW, *up_to("built", TOMORROW), *records)
    for stage in ("", "prepared", "built"):
        view = plan_view(PLAN, *up_to(stage, PLAN))
        decision = asks(view, site_view(other, view))
        assert (decision.code, decision.who, decision.exit_code) == ("deploy-blocked", Who.RUN, EXIT_UNKNOWN)
        assert TOMORROW.path in decision.what


@pytest.mark.parametrize(
    "records",
    [
        (*up_to("built", TOMORROW), failed("deploy")),
        (CANCELED,),
        (*up_to("deployed", TOMORROW), unknown("confirm")),
        (*up_to("intended", TOMORROW), (EventType.DEPLOY_CLOSED, {"deployment": 1, "why": "not-switched"})),
        (),
    ],
)
def test_failed_canceled_closed_and_blocked_plans_block_nobody(records: tuple[Record, ...]) -> None:
    other, view = plan_view(TOMORROW, *records), plan_view(PLAN)
    assert asks(view, site_view(other, view)).code == "prepare"


def test_without_a_staging_preview_nothing_is_released_unattended() -> None:
    view = plan_view(PLAN)
    decision = asks(view, site_view(view, site=replace(SITE, staging=None)))
    assert said(decision) == ("none", "prepare", "person", "no-staging", EXIT_INPUT)
    assert decision.command == "edit publisher.yaml"


def test_without_anybody_on_call_nothing_is_released_unattended() -> None:
    view = plan_view(PLAN)
    assert said(asks(view, site_view(view, instance=replace(INSTANCE, on_call=())))) == (
        "none", "prepare", "person", "no-on-call", EXIT_INPUT,
    )  # fmt: skip


# --- the order of the rules -----------------------------------------------------------------------------------------------------

CONFLICTING = publication(numbers=(8, 9))
OPEN_ELSEWHERE = plan_view(TOMORROW, *up_to("intended", TOMORROW))
PUBLIC_ELSEWHERE = plan_view(
    publication(day=date(2026, 11, 30), numbers=(1,)), *up_to("announced", publication(day=date(2026, 11, 30), numbers=(1,)))
)


def everything_wrong(*, until: str) -> tuple[PlanView, SiteView]:
    """A plan at which every rule from one on objects, and none before it."""
    rules = [
        "over",
        "unreadable",
        "open",
        "failed",
        "public",
        "conflict",
        "skipped",
        "rejected",
        "paused",
        "taken",
        "approval",
        "other",
        "staging",
        "on-call",
    ]
    on = set(rules[rules.index(until) :])
    plan, site, instance = PLAN, SITE, INSTANCE
    stage = "deployed" if "public" in on else "approved"
    view = plan_view(plan, *up_to(stage, plan))
    history: History = view.history
    if "open" in on:
        history = replace(history, deployed=None, unknown=Trouble(step="deploy", code="x", at=""))
    if "failed" in on:
        history = replace(history, failed=Trouble(step="deploy", code="boom", at=""))
    if "over" in on:
        history = replace(history, canceled=True)
    asked = {"plan": ((never(plan),) if "rejected" in on else (no(plan),) if "approval" in on else (yes(plan),))}
    view = replace(
        view,
        history=history,
        asked=asked,
        found=CONFLICTING if "conflict" in on else plan,
        plan=None if "unreadable" in on else plan,
    )
    controls = (*([skipped()] if "skipped" in on else []), *([PAUSED] if "paused" in on else []))
    views = [
        view,
        *([OPEN_ELSEWHERE] if "other" in on else []),
        *([PUBLIC_ELSEWHERE] if "taken" in on and "public" not in on else []),
    ]
    if "staging" in on:
        site = replace(site, staging=None)
    if "on-call" in on:
        instance = replace(instance, on_call=())
    return view, site_view(*views, controls=controls, site=site, instance=instance)


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("over", "over"), ("unreadable", "plan-deleted"), ("open", "deploy-unknown"), ("failed", "boom"), ("public", "confirm"),
        ("conflict", "conflict"), ("skipped", "skipped"), ("rejected", "rejected"), ("paused", "paused"), ("taken", "already-public"),
        ("approval", "approval-absent"), ("other", "deploy-blocked"), ("staging", "no-staging"), ("on-call", "no-on-call"),
    ],
)  # fmt: skip
def test_the_first_rule_that_objects_decides(rule: str, code: str) -> None:
    assert asks(*everything_wrong(until=rule)).code == code


# --- several plans --------------------------------------------------------------------------------------------------------------


def test_what_is_under_way_comes_first_then_dates_then_paths() -> None:
    later, sooner = plan_view(TOMORROW), plan_view(PLAN)
    begun = plan_view(
        publication(day=date(2026, 12, 5), numbers=(5,)), *up_to("prepared", publication(day=date(2026, 12, 5), numbers=(5,)))
    )
    corrected = plan_view(change("2026-12-01-1"))
    order = [item.plan for item in decisions(site_view(later, sooner, begun, corrected), NOW)]
    assert order == [begun.path, corrected.path, sooner.path, later.path]


def test_a_plan_that_cannot_be_read_does_not_hide_the_others() -> None:
    broken, fine = plan_view(TOMORROW, plan=None, found=None), plan_view(PLAN)
    assert {item.plan: item.code for item in decisions(site_view(broken, fine), NOW)} == {
        TOMORROW.path: "plan-deleted", PLAN.path: "prepare",
    }  # fmt: skip


def test_the_standing_plan_is_the_bound_one_or_the_file() -> None:
    bound = plan_view(PLAN, found=revised(PLAN))
    assert standing_plan(bound) is bound.plan
    assert standing_plan(replace(bound, plan=None)) is bound.found


# --- properties -----------------------------------------------------------------------------------------------------------------

PLANS = st.sampled_from([PLAN, QUIET, CHANGE, LAUNCH, WHOLE])
STAGES = st.sampled_from(["", "approved", "prepared", "built", "intended", "deployed", "confirmed"])


def records_for(plan: Plan) -> st.SearchStrategy[list[Record]]:
    """Records that may follow, legal or not; the illegal ones are left out when folding."""
    step = deploy_step(plan.kind)
    return st.lists(
        st.sampled_from(
            [
                approved(plan), approved(plan, "G3"), prepared(plan), *up_to("built", plan)[2:], intended(), deployed(), confirmed(),
                announced(), failed("build"), failed(step), failed("confirm"), unknown(step), unknown("confirm"), unknown("announce"),
                TELLING, CANCELED, requested(plan), requested(plan, 1, 5, "G3"),
                (EventType.DEPLOY_CLOSED, {"deployment": 1, "why": "x"}),
                (EventType.RETRIED, {"step": step}), (EventType.SETTLED, {"step": step, "happened": False}),
                (EventType.REVISION_REFUSED, {"to": revised(plan).payload}), (EventType.REVISED, {"from": "x", "to": plan.payload}),
                (EventType.RESTORED, {"payload": plan.payload, "release": RELEASE, "urls": []}),
                (EventType.NOTICED, {"notice": "n"}),
            ]
        ),
        max_size=5,
    )  # fmt: skip


def answers(plan: Plan) -> st.SearchStrategy[tuple[Asked, ...]]:
    given_at = st.integers(-20 * 24, 48).map(lambda hours: yes(plan, NOW + hours * HOUR))
    return st.lists(given_at | st.sampled_from([no(plan), no(plan, "unsigned"), never(plan)]), max_size=3).map(tuple)


@st.composite
def situations(draw: Callable[..., Any]) -> tuple[PlanView, SiteView, datetime]:
    plan = draw(PLANS)
    history = history_of(plan)
    for kind, fields in (*up_to(draw(STAGES), plan), *draw(records_for(plan))):
        try:
            history = apply(history, event(kind, **fields))
        except IllegalTransition:
            continue
    found = draw(st.sampled_from([plan, plan, plan, None, revised(plan)]))
    gates = {"plan": draw(answers(plan)), "G3": draw(answers(plan)), "G1": draw(answers(plan)), "G4": draw(answers(plan))}
    view = plan_view(plan, history=history, found=found, gates={name: asked for name, asked in gates.items() if asked})
    if draw(st.integers(0, 9)) == 0:
        view = replace(view, plan=None)
    controls = tuple(draw(st.lists(st.sampled_from([PAUSED, skipped(), (EventType.RESUMED, {"reason": ""})]), max_size=2)))
    others = [OPEN_ELSEWHERE] if draw(st.booleans()) and plan is not QUIET else []
    return view, site_view(view, *others, controls=controls), NOW + draw(st.integers(-48, 96)) * HOUR


@settings(max_examples=600, deadline=None)
@given(situations())
def test_whatever_happened_the_decision_is_pure_and_safe(situation: tuple[PlanView, SiteView, datetime]) -> None:
    view, site, now = situation
    decision = decide(view, site, now)
    assert decide(view, replace(site), now) == decision, "the same inputs give the same decision"
    history = view.history
    if history.canceled or history.over:
        assert not decision.is_effect
    if decision.act is Act.WORK:
        check_work(view, site, now, decision)
    if history.intent and not history.over:
        assert decision.act is Act.RECONCILE or decision.who is Who.PERSON, "nothing else before the open intent"
    if decision.act is Act.REQUEST:
        assert decision.gate
        assert decision.subject
    if decision.act is Act.NONE:
        assert decision.who is not Who.RUN or decision.code == "deploy-blocked"
    assert decision.code
    assert decision.what
    assert decision.command or decision.code == "over", "every stop names a legal next command"
    assert not (decision.who is Who.PERSON and decision.exit_code == EXIT_OK)


def check_work(view: PlanView, site: SiteView, now: datetime, decision: Decision) -> None:
    step = view.history.next_step
    assert step is not None
    assert decision.step == step.name
    assert view.history.failed is None
    names = [item.name for item in view.history.steps]
    assert all(view.history.states[name] is State.SUCCEEDED for name in names[: names.index(step.name)]), "no step is skipped"
    if view.history.deployed:
        return
    assert not site.controls.paused
    if step.name == deploy_step(view.history.kind):
        latest = view.latest("plan" if step.gate == "plan" else step.gate)
        assert latest is not None
        assert latest.window is not None
        assert latest.window.standing(now) is Window.VALID, "nothing is deployed without a valid approval"


def test_what_the_ledger_does_not_know_of_a_host_is_asked_afresh() -> None:
    decision = asks(plan_view(PLAN, asked=(no(PLAN, "not-recorded", "the host was not asked"),)))
    assert (decision.code, decision.what, decision.command) == (
        "approval-absent",
        "the host was not asked",
        "publisher status --fresh",
    )
