"""What is an alarm and what is not, as values: plans, claims, promises, a look at the public, the host's schedules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from publisher.domain.alarms import EXITS, REMINDERS, Alarm, Code, Told, fold_alarms
from publisher.domain.approval import Standing
from publisher.domain.fingerprint import digest
from publisher.domain.ledger_events import Event, EventType
from publisher.domain.policy import Policy
from publisher.engine.site_view import Asked, PlanView, SiteView
from publisher.engine.watching import PublicLook, Requested, SiteFacts, plan_alarm, site_alarms
from publisher.errors import EXIT_SAFETY, InputProblem, NeedsPerson
from tests.support.values import (
    DAY,
    NOW,
    SITE_ID,
    ZONE,
    Record,
    announced,
    approved,
    built,
    change,
    deployed,
    event,
    failed,
    fold,
    intended,
    launch,
    log,
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
    yes,
)

PLAN = publication()
TOMORROW = publication(day=date(2026, 12, 2), numbers=(3, 4))
DUE = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)
MINUTE, HOUR, DAYS = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
POLICY = Policy(
    version=3, quantity=2, start=date(2026, 11, 1), zone_name=ZONE, publish_time="09:00", shares={}, horizon_days=7,
    digest=digest(b"policy"),
)  # fmt: skip
EPOCH: Record = (EventType.EPOCH, {"epoch": 1, "epoch_id": "1" * 32, "reason": "init"})
PAUSED: Record = (EventType.PAUSED, {"reason": "holidays"})
RESUMED: Record = (EventType.RESUMED, {"reason": "back"})


def claims(*records: tuple[EventType, Mapping[str, Any]], at: datetime = DUE - 60 * DAYS) -> dict[str, tuple[Event, ...]]:
    events = [event(EPOCH[0], at=at, **EPOCH[1])]
    for kind, fields in records:
        given = dict(fields)
        moment = given.pop("moment", at)
        events.append(event(kind, after=events[-1], at=moment, **given))
    return {f"{SITE_ID}/claims/2026": tuple(events)}


def claimed(plan: str, moment: datetime, until: datetime) -> tuple[EventType, Mapping[str, Any]]:
    return EventType.CLAIMED, {
        "epoch": 1, "epoch_id": "1" * 32, "fence": 1, "nonce": "2" * 32, "holder": "ci", "plan": plan,
        "until": f"{until:%Y-%m-%dT%H:%M:%SZ}", "moment": moment,
    }  # fmt: skip


def released(moment: datetime) -> tuple[EventType, Mapping[str, Any]]:
    fields = {"epoch": 1, "epoch_id": "1" * 32, "fence": 1, "nonce": "2" * 32}
    return EventType.RELEASED, {**fields, "moment": moment}


def facts_of(
    *views: PlanView, events: Mapping[str, tuple[Event, ...]] | None = None, controls: tuple[Record, ...] = (), **more: Any
) -> SiteFacts:
    site = site_view(*views, controls=controls)
    view: SiteView = replace(site, events={**site.events, **(events or claims())})
    return SiteFacts(view=view, **more)


def codes(facts: SiteFacts, now: datetime) -> list[str]:
    return [alarm.id for alarm in site_alarms(facts, now)]


def of_plan(view: PlanView, now: datetime, **more: Any) -> str:
    """The code of the plan's own alarm."""
    found = plan_alarm(facts_of(view, **more), view, now)
    return str(found.code) if found else ""


# --- one plan -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "code"),
    [(-MINUTE, ""), (0 * MINUTE, ""), (29 * MINUTE, ""), (30 * MINUTE, "due-unclaimed"), (5 * HOUR, "due-unclaimed")],
)
def test_due_and_nobody_came(after: timedelta, code: str) -> None:
    assert of_plan(plan_view(PLAN), DUE + after) == code
    assert of_plan(plan_view(PLAN, approved(PLAN)), DUE + after) == code, "an approval on record is not a claim"


def test_an_approval_given_late_begins_the_patience_anew() -> None:
    view = plan_view(PLAN, asked=(yes(PLAN, merged_at=DUE + 3 * HOUR),))
    assert of_plan(view, DUE + 3 * HOUR + 29 * MINUTE) == ""
    assert of_plan(view, DUE + 3 * HOUR + 30 * MINUTE) == "due-unclaimed"


def test_the_patience_is_configured() -> None:
    view, facts = plan_view(PLAN), facts_of(plan_view(PLAN))
    limits = replace(facts.view.instance.watch, unclaimed_after=3 * HOUR)
    slow = replace(facts, view=replace(facts.view, instance=replace(facts.view.instance, watch=limits)))
    assert plan_alarm(slow, view, DUE + HOUR) is None
    assert plan_alarm(slow, view, DUE + 3 * HOUR) is not None


def test_a_claim_means_that_somebody_came() -> None:
    """One that holds now, whatever it is for; and one for this plan since it was due, even if its run died."""
    view, now = plan_view(PLAN), DUE + 40 * MINUTE
    held = claims(claimed("handbook/changes/2026/2026-12-01-1", now - MINUTE, now + MINUTE))
    assert of_plan(view, now, events=held) == ""
    died = claims(claimed(PLAN.path, now - 20 * MINUTE, now - 10 * MINUTE))
    assert of_plan(view, now, events=died) == ""
    other = claims(claimed("handbook/changes/2026/2026-12-01-1", now - 20 * MINUTE, now - 10 * MINUTE))
    assert of_plan(view, now, events=other) == "due-unclaimed"
    before = claims(claimed(PLAN.path, DUE - 20 * MINUTE, DUE - 10 * MINUTE))
    assert of_plan(view, now, events=before) == "due-unclaimed"
    left = claims(claimed("handbook/launch", now - MINUTE, now + HOUR), released(now))
    assert of_plan(view, now, events=left) == "due-unclaimed", "whoever released it is gone"


@pytest.mark.parametrize("stage", ["prepared", "built", "deployed"])
def test_begun_and_not_confirmed_is_late(stage: str) -> None:
    view = plan_view(PLAN, *up_to(stage, PLAN))
    assert of_plan(view, DUE + 2 * HOUR - MINUTE) == ""
    found = plan_alarm(facts_of(view), view, DUE + 2 * HOUR)
    assert found is not None
    assert (found.code, found.since, found.site, found.plan) == (Code.LATE, DUE, SITE_ID, PLAN.path)
    assert stage in found.says


def test_late_is_what_anybody_once_approved() -> None:
    """By the host's answer alone, or by the record alone; what nobody approved is not late, and neither is what was rejected."""
    died = claims(claimed(PLAN.path, DUE, DUE + 10 * MINUTE))
    assert of_plan(plan_view(PLAN), DUE + 65 * MINUTE, events=died) == ""
    assert of_plan(plan_view(PLAN, approved(PLAN), failed("prepare")), DUE + 2 * HOUR) == "late"
    assert of_plan(plan_view(PLAN, *up_to("deployed", PLAN), asked=()), DUE + 2 * HOUR) == "late"
    conflict = plan_view(PLAN, asked=(no(PLAN),), before=publication(numbers=(8, 9)))
    assert of_plan(conflict, DUE + 2 * HOUR) == ""
    assert of_plan(replace(conflict, asked={"plan": (yes(PLAN),)}), DUE + 2 * HOUR) == "late"
    assert of_plan(plan_view(PLAN, approved(PLAN), asked=(yes(PLAN), never(PLAN, number=1))), DUE + 2 * HOUR) == ""


def test_a_plan_whose_file_or_bound_form_is_gone_is_late_with_that_reason() -> None:
    gone = NeedsPerson("plan-not-found", "it is not at the commit that its ledger names", next="publisher log")
    for changes in ({"found": None}, {"plan": None, "problem": gone}):
        view = plan_view(PLAN, approved(PLAN), prepared(PLAN), **changes)
        assert of_plan(view, DUE + 2 * HOUR - MINUTE) == ""
        assert of_plan(view, DUE + 2 * HOUR) == "late"
    for problem in (None, gone):
        neither = plan_view(PLAN, approved(PLAN), plan=None, found=None, problem=problem)
        assert of_plan(neither, DUE + 5 * HOUR) == "", "no date is known of it; a run tells of it"


def test_confirmed_and_still_announcing_is_not_late() -> None:
    assert of_plan(plan_view(PLAN, *up_to("confirmed", PLAN)), DUE + 5 * HOUR) == ""
    assert of_plan(plan_view(PLAN, *up_to("announced", PLAN)), DUE + 50 * HOUR) == ""


def test_what_failed_is_late_and_names_the_reason() -> None:
    view = plan_view(PLAN, approved(PLAN), failed("prepare", "fingerprint-differs"))
    found = plan_alarm(facts_of(view), view, DUE + 2 * HOUR)
    assert found is not None
    assert found.code is Code.LATE
    assert "[fingerprint-differs]" in found.says
    assert "publisher retry" in found.next


def test_what_a_run_has_said_is_not_said_again_unless_a_retry_failed_since() -> None:
    trouble = (approved(PLAN), failed("prepare", "fingerprint-differs"))
    said: Record = (EventType.NOTICED, {"notice": "fingerprint-differs:prepare:1"})
    again: tuple[Record, ...] = (
        (EventType.RETRIED, {"step": "prepare", "reason": "x"}), failed("prepare", "fingerprint-differs"),
    )  # fmt: skip
    for records, noticed in ((trouble, False), ((*trouble, said), True), ((*trouble, said, *again), False)):
        view = plan_view(PLAN, *records)
        found = plan_alarm(facts_of(view), view, DUE + 2 * HOUR)
        assert found is not None
        assert found.noticed is noticed


@pytest.mark.parametrize(
    ("records", "asked", "notice", "now", "code"),
    [
        ((), no(PLAN), "approval-absent:prepare:1", DUE - HOUR, Code.UNAPPROVED_TOMORROW),
        ((), no(PLAN, "no-request"), "approval-no-request:prepare:1", DUE, Code.APPROVAL_NOT_PROVEN),
        ((approved(PLAN),), yes(PLAN), "missed:prepare:1", DUE + 2 * DAYS, Code.MISSED),
        (up_to("intended", PLAN), yes(PLAN), "deploy-open:deploy:1", NOW + HOUR, Code.UNKNOWN_OPEN),
    ],
)
def test_each_alarm_knows_what_a_run_has_said(
    records: tuple[Record, ...], asked: Asked, notice: str, now: datetime, code: Code
) -> None:
    for said, noticed in ((notice, True), ("queue-short:prepare:1", False), (f"{notice[:-1]}2", False)):
        view = plan_view(PLAN, *records, (EventType.NOTICED, {"notice": said}), asked=(asked,))
        found = plan_alarm(facts_of(view), view, now)
        assert found is not None
        assert (found.code, found.noticed) == (code, noticed)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        ((approved(PLAN), prepared(PLAN), built(), intended()), "deploy-open"),
        ((approved(PLAN), prepared(PLAN), built(), intended(), unknown("deploy", "foreign-live")), "foreign-live"),
        (
            (approved(PLAN), prepared(PLAN), built(), intended(), deployed(), unknown("confirm", "public-partial")),
            "public-partial",
        ),
        ((*up_to("confirmed", PLAN), (EventType.ANNOUNCE_INTENT, {"channel": "mail", "to": ["r1"]})), "announcement-open"),
    ],
)
def test_an_outcome_that_stays_unknown_is_told_after_an_hour(records: tuple[Record, ...], code: str) -> None:
    """The records are made at ``NOW``; a run that is at work leaves the same ones for a moment."""
    view = plan_view(PLAN, *records)
    assert of_plan(view, NOW + HOUR - MINUTE) == ""
    found = plan_alarm(facts_of(view), view, NOW + HOUR)
    assert found is not None
    assert (found.code, found.since) == (Code.UNKNOWN_OPEN, NOW)
    assert f"[{code}]" in found.says


def test_an_expired_claim_with_open_work_is_stuck() -> None:
    ended = DUE + 10 * MINUTE
    view = plan_view(PLAN, *up_to("prepared", PLAN))
    events = claims(claimed(PLAN.path, DUE, ended))
    assert of_plan(view, ended + HOUR - MINUTE, events=events) == ""
    found = plan_alarm(facts_of(view, events=events), view, ended + HOUR)
    assert found is not None
    assert (found.code, found.since, found.ends_with) == (Code.CLAIM_STUCK, ended, 6)
    assert "fence 1" in found.says
    done = plan_view(PLAN, *up_to("announced", PLAN))
    assert of_plan(done, ended + 5 * HOUR, events=events) == "", "a run that died after its work left nothing open"
    assert of_plan(view, ended + HOUR, events=events, controls=(PAUSED,)) == "", "what a pause holds back is not open"
    assert of_plan(view, ended + HOUR, events=claims(claimed("handbook/launch", DUE, ended))) != "claim-stuck"
    assert of_plan(view, ended + HOUR, events=claims(claimed(PLAN.path, DUE, ended), released(DUE + MINUTE))) != "claim-stuck"


def test_a_date_that_passed_is_missed() -> None:
    view = plan_view(PLAN, asked=(yes(PLAN, merged_at=DUE - HOUR),))
    midnight = datetime(2026, 12, 1, 16, 0, tzinfo=UTC)
    assert of_plan(view, midnight) == "due-unclaimed", "its approval is good until nine"
    found = plan_alarm(facts_of(view), view, DUE + DAYS)
    assert found is not None
    assert (found.code, found.since) == (Code.MISSED, DUE)
    assert f"publisher plan --again {PLAN.path}" in found.next
    assert "publisher skip 2026-12-01 --site handbook" in found.next
    assert of_plan(plan_view(PLAN, asked=(no(PLAN),)), midnight) == "missed", "nobody approved it in time"
    assert of_plan(plan_view(change(), asked=(no(change()),)), midnight + 5 * DAYS) != "missed", "only a date is missed"


@pytest.mark.parametrize(
    "records", [up_to("intended", PLAN), up_to("deployed", PLAN), up_to("announced", PLAN), (approved(PLAN), failed("prepare"))]
)
def test_what_began_before_midnight_is_not_missed(records: tuple[Record, ...]) -> None:
    """A run at ten to twelve; what became of it is told under other names."""
    late = datetime(2026, 12, 1, 15, 50, tzinfo=UTC)
    view = replace(plan_view(PLAN), history=fold("publication", PLAN.steps, log(*records, at=late)))
    assert of_plan(view, late + 20 * MINUTE) in ("", "late")
    assert of_plan(view, late + 5 * DAYS) != "missed"


def test_a_revision_that_came_too_late_is_no_missed_date() -> None:
    view = plan_view(PLAN, *up_to("deployed", PLAN), found=revised(PLAN))
    assert of_plan(view, DUE + 2 * DAYS) != "missed"


def test_what_was_merged_and_approves_nothing_is_told_at_once() -> None:
    view = plan_view(TOMORROW, asked=(no(TOMORROW, "no-request", "it was pushed without a reviewed request"),))
    found = plan_alarm(facts_of(view), view, NOW - 3 * DAYS)
    assert found is not None
    assert found.code is Code.APPROVAL_NOT_PROVEN
    assert "[approval-no-request]" in found.says
    assert f"publisher plan --again {TOMORROW.path}" in found.next


def test_an_approval_given_too_early_is_not_proven_either() -> None:
    view = plan_view(TOMORROW, asked=(yes(TOMORROW, merged_at=NOW - 30 * DAYS),))
    assert view.asked["plan"][0].window is not None
    assert view.asked["plan"][0].window.standing(NOW) is Standing.TOO_FAR_AHEAD
    assert of_plan(view, NOW) == "approval-not-proven"


def test_nobody_decided_is_told_the_evening_before() -> None:
    view = plan_view(PLAN, asked=(no(PLAN),))
    assert of_plan(view, DUE - 18 * HOUR - MINUTE) == ""
    found = plan_alarm(facts_of(view), view, DUE - 18 * HOUR)
    assert found is not None
    assert found.code in REMINDERS
    assert "2026-12-01 09:00 HKT" in found.says


def test_a_gate_that_waits_is_told_after_as_long_a_wait() -> None:
    """A launch's gate is asked for when it is due; the request is named."""
    plan = launch()
    before = log(approved(plan), prepared(plan), built(), at=DUE - HOUR)
    kind, fields = requested(plan, request=9, gate="G3")
    said = event(EventType.NOTICED, at=DUE + 9 * HOUR, notice="approval-absent:release:1")
    asked = (*before, event(kind, after=before[-1], at=DUE, **fields), said)
    view = plan_view(plan, approved(plan), prepared(plan), built(), requested(plan, request=9, gate="G3"))
    site = site_view(view, requests={9: "h" * 40})
    facts = SiteFacts(view=replace(site, events={**site.events, **claims(), plan.path: asked}))
    assert plan_alarm(facts, view, DUE + 18 * HOUR - MINUTE) is None
    found = plan_alarm(facts, view, DUE + 18 * HOUR)
    assert found is not None
    assert (found.code, found.next) == (Code.UNAPPROVED_TOMORROW, "publisher approve 9")
    assert "request 9" in found.says


def test_a_request_made_in_good_time_is_reminded_of_by_the_date() -> None:
    again = requested(TOMORROW, request=9)
    asked = log(approved(TOMORROW), again, at=DUE - 5 * DAYS)
    view = plan_view(TOMORROW, approved(TOMORROW), again, asked=(no(TOMORROW),))
    site = site_view(view, requests={9: "h" * 40})
    facts = SiteFacts(view=replace(site, events={**site.events, **claims(), TOMORROW.path: asked}))
    assert plan_alarm(facts, view, DUE - 4 * DAYS) is None
    assert plan_alarm(facts, view, DUE + DAYS - 18 * HOUR) is not None


@pytest.mark.parametrize(
    "view",
    [
        plan_view(PLAN),
        plan_view(PLAN, *up_to("prepared", PLAN)),
        plan_view(PLAN, asked=(no(PLAN),)),
        plan_view(PLAN, asked=(no(PLAN, "no-request"),)),
    ],
)
def test_a_paused_site_has_no_alarms_of_dates(view: PlanView) -> None:
    for now in (DUE - HOUR, DUE + 5 * HOUR, DUE + 3 * DAYS):
        assert codes(facts_of(view, controls=(PAUSED,), policy=POLICY), now) == []
    assert codes(facts_of(view, policy=POLICY), DUE + 5 * HOUR) != []


def test_a_pause_hides_no_unknown_outcome() -> None:
    view = plan_view(PLAN, *up_to("intended", PLAN))
    assert of_plan(view, NOW + HOUR, controls=(PAUSED,)) == "unknown-open"


def test_a_skipped_date_is_no_trouble() -> None:
    skipped: Record = (EventType.SKIPPED, {"date": f"{DAY}", "reason": "nobody home"})
    for now in (DUE - HOUR, DUE + HOUR, DUE + 2 * DAYS):
        assert of_plan(plan_view(PLAN), now, controls=(skipped,)) == ""


def test_a_canceled_plan_is_no_trouble() -> None:
    view = plan_view(PLAN, approved(PLAN), (EventType.CANCELED, {"reason": "no"}))
    assert codes(facts_of(view), DUE + 5 * DAYS) == []


def test_a_plan_file_that_cannot_be_read() -> None:
    broken = InputProblem("schema-type", "no", where="plans/x.yaml:1:1", next="edit it")
    view = plan_view(PLAN, plan=None, found=None, problem=broken)
    found = plan_alarm(facts_of(view), view, DUE - 5 * DAYS)
    assert found is not None
    assert (found.code, found.ends_with, found.next) == (Code.INSTANCE_UNREADABLE, 3, "edit it")
    assert "plans/x.yaml:1:1" in found.says


# --- what the policy promises -------------------------------------------------------------------------------------------------


def promised(now: datetime, *views: PlanView, **more: Any) -> list[str]:
    return codes(facts_of(*views, policy=more.pop("policy", POLICY), **more), now)


def closed(day: date) -> PlanView:
    """A date whose plan is over."""
    return plan_view(publication(day=day), (EventType.CANCELED, {"reason": "no"}))


def quiet_day(at: datetime = DUE) -> dict[str, Any]:
    """Something was confirmed on ``at``, so that silence is no matter."""
    done = publication(day=date(2026, 11, 30), numbers=(9,))
    return {"events": {**claims(), done.path: log(*up_to("announced", done), at=at)}}


def test_a_date_without_plan_or_request_is_told_the_evening_before() -> None:
    evening = DUE + DAYS - 18 * HOUR
    views = [closed(day) for day in (date(2026, 11, 29), date(2026, 11, 30), DAY)]
    assert promised(evening - MINUTE, *views, **quiet_day()) == []
    assert promised(evening, *views, **quiet_day()) == [f"no-plan:{TOMORROW.path}"]
    assert promised(evening, *views, plan_view(TOMORROW), **quiet_day()) == []
    waiting = {TOMORROW.path: Requested(number=4, plan=TOMORROW)}
    assert promised(evening, *views, requested=waiting, **quiet_day()) == [f"unapproved-tomorrow:{TOMORROW.path}"]
    short = replace(POLICY, horizon_days=1)
    assert promised(evening, *views, policy=short, **quiet_day()) == [], "tomorrow is planned tomorrow"
    for start, told in ((date(2026, 12, 2), [f"no-plan:{TOMORROW.path}"]), (date(2026, 12, 3), [])):
        assert promised(evening, *views, policy=replace(POLICY, start=start), **quiet_day()) == told


def test_a_date_that_passed_without_a_plan_stays_missed_until_it_is_closed() -> None:
    done = [closed(day) for day in (date(2026, 11, 30), date(2026, 12, 2), date(2026, 12, 3))]
    now = DUE + DAYS  # on the second
    assert promised(now, *done, **quiet_day()) == [f"missed:{PLAN.path}"]
    weeks = [closed(DAY + n * DAYS) for n in range(1, 20)]
    assert promised(now + 10 * DAYS, *weeks, **quiet_day(at=now + 10 * DAYS)) == [], "a long silence has an alarm of its own"
    told = {f"missed:{PLAN.path}": Told(id=f"missed:{PLAN.path}", code="missed", about=PLAN.path, times=1, stands=True)}
    assert promised(now + 10 * DAYS, *weeks, told=told, **quiet_day(at=now + 10 * DAYS)) == [f"missed:{PLAN.path}"]
    for other in (replace(told[f"missed:{PLAN.path}"], stands=False), replace(told[f"missed:{PLAN.path}"], code="late")):
        assert promised(now + 10 * DAYS, *weeks, told={other.id: other}, **quiet_day(at=now + 10 * DAYS)) == []
    skipped: Record = (EventType.SKIPPED, {"date": f"{DAY}", "reason": "closed"})
    assert promised(now + 10 * DAYS, *weeks, told=told, controls=(skipped,), **quiet_day(at=now + 10 * DAYS)) == []


def test_before_the_ledger_or_a_resume_nothing_was_promised() -> None:
    now = DUE + DAYS
    today = closed(TOMORROW.day)
    assert promised(now, today, events=claims(at=now - HOUR)) == []
    resumed = log(PAUSED, RESUMED, at=now - HOUR)
    events = {**claims(), f"{SITE_ID}/controls": resumed}
    assert promised(now, today, events=events) == []
    assert promised(now, today, events={**claims(), f"{SITE_ID}/controls": ()}) != []


def test_a_request_whose_date_passed_is_missed() -> None:
    waiting = {PLAN.path: Requested(number=4, plan=PLAN)}
    found = site_alarms(facts_of(requested=waiting), DUE + DAYS)
    assert [(alarm.id, alarm.next) for alarm in found] == [
        (f"missed:{PLAN.path}", 'close request 4, or publisher skip 2026-12-01 --site handbook --reason "…"')
    ]
    assert codes(facts_of(requested=waiting), DUE + HOUR) == [f"unapproved-tomorrow:{PLAN.path}"], "its day is not over"
    assert codes(facts_of(requested=waiting), DUE - 18 * HOUR - MINUTE) == []
    assert codes(facts_of(requested=waiting), DUE - 18 * HOUR) == [f"unapproved-tomorrow:{PLAN.path}"]
    skipped: Record = (EventType.SKIPPED, {"date": f"{DAY}", "reason": "closed"})
    for now in (DUE - HOUR, DUE + DAYS):
        assert codes(facts_of(requested=waiting, controls=(skipped,)), now) == []
    done = plan_view(PLAN, *up_to("announced", PLAN))
    assert codes(facts_of(done, requested=waiting), DUE + DAYS) == [], "a revision of what is merged already"


def test_a_change_in_a_request_is_reminded_of_before_its_date_only() -> None:
    plan = change("2026-12-03-1")
    waiting = {plan.path: Requested(number=4, plan=plan)}
    day = plan.publish_at
    assert codes(facts_of(requested=waiting), day - 18 * HOUR) == [f"unapproved-tomorrow:{plan.path}"]
    assert codes(facts_of(requested=waiting), day + HOUR) == []
    name = f"unapproved-tomorrow:{plan.path}"
    told = {name: Told(id=name, code="unapproved-tomorrow", about=plan.path, times=1, stands=True)}
    assert codes(facts_of(requested=waiting, told=told), day + HOUR) == [name], "told before, it stands until it is decided"
    over = {name: replace(told[name], stands=False)}
    assert codes(facts_of(requested=waiting, told=over), day + HOUR) == []
    assert codes(facts_of(requested=waiting), day + 2 * DAYS) == [], "only a publication has a date to miss"


def silence(last: datetime, now: datetime, **more: Any) -> bool:
    done = publication(day=date(2026, 11, 30), numbers=(9,))
    events = {**claims(), done.path: log(*up_to("confirmed", done), announced(), at=last), **more.pop("events", {})}
    return f"nothing-confirmed:{SITE_ID}" in codes(facts_of(policy=POLICY, events=events, **more), now)


def test_days_of_silence_are_told() -> None:
    limit = 2 * DAYS + 2 * HOUR
    assert not silence(DUE, DUE + limit - MINUTE)
    assert silence(DUE, DUE + limit)
    skipped: Record = (EventType.SKIPPED, {"date": "2026-12-02", "reason": "closed"})
    long_ago: Record = (EventType.SKIPPED, {"date": "2026-10-02", "reason": "closed"})
    assert not silence(DUE, DUE + limit, controls=(skipped,))
    assert silence(DUE, DUE + limit + DAYS, controls=(skipped,))
    assert silence(DUE, DUE + limit, controls=(long_ago,))


def test_work_that_is_not_confirmed_breaks_no_silence() -> None:
    events = {PLAN.path: log(approved(PLAN), prepared(PLAN), at=DUE + 2 * DAYS)}
    assert silence(DUE, DUE + 2 * DAYS + 2 * HOUR, events=events)


def test_a_correction_is_no_publication() -> None:
    fixed = change("2026-12-03-1")
    events = {fixed.path: log(*up_to("confirmed", fixed), at=DUE + 2 * DAYS)}
    assert silence(DUE, DUE + 2 * DAYS + 2 * HOUR, events=events)


def test_silence_from_the_beginning_is_told_too() -> None:
    start = datetime(2026, 11, 1, 1, 0, tzinfo=UTC)
    assert f"nothing-confirmed:{SITE_ID}" not in codes(facts_of(policy=POLICY), start + 2 * DAYS)
    found = [a for a in site_alarms(facts_of(policy=POLICY), start + 3 * DAYS) if a.code is Code.NOTHING_CONFIRMED]
    assert "nothing was ever confirmed" in found[0].says
    assert codes(facts_of(policy=None), start + 30 * DAYS) == [], "without a policy nothing is promised"


def test_a_queue_that_runs_short() -> None:
    short = NeedsPerson("queue-short", "the policy wants 2 articles a day", next="publisher queue add SOURCE")
    found = [a for a in site_alarms(facts_of(policy=POLICY, short=short), DUE) if a.code is Code.QUEUE_LOW]
    assert (found[0].next, found[0].id, found[0].plan) == ("publisher queue add SOURCE", f"queue-low:{SITE_ID}", "")
    assert "[queue-short]" in found[0].says


# --- the public ---------------------------------------------------------------------------------------------------------------


def test_what_the_public_shows() -> None:
    assert codes(facts_of(public=PublicLook(plain="absent")), DUE) == [], "an ordinary look decides nothing"
    look = PublicLook(differ=("https://handbook.example/a/",), silent=("https://handbook.example/b/",))
    found = site_alarms(facts_of(public=look), DUE)
    assert [(alarm.id, alarm.urls, alarm.ends_with) for alarm in found] == [
        (f"drifted:{SITE_ID}", ("https://handbook.example/a/",), 6),
        (f"public-unreachable:{SITE_ID}", ("https://handbook.example/b/",), 5),
    ]
    assert codes(facts_of(public=look, controls=(PAUSED,)), DUE) == [alarm.id for alarm in found], "a pause hides no drift"


# --- alarms -------------------------------------------------------------------------------------------------------------------


def test_a_plan_has_one_alarm_at_a_time() -> None:
    """All day and the days after: whatever the plan's state, there is never more than one about it."""
    for records in ((), up_to("prepared", PLAN), up_to("intended", PLAN), (approved(PLAN), failed("prepare"))):
        events = claims(claimed(PLAN.path, DUE, DUE + 10 * MINUTE))
        facts = facts_of(plan_view(PLAN, *records), events=events)
        for hours in range(-30, 60):
            now = max(DUE + hours * HOUR, NOW) if records else DUE + hours * HOUR
            about = [alarm for alarm in site_alarms(facts, now) if alarm.about == PLAN.path]
            assert len(about) <= 1


def test_every_code_has_its_exit() -> None:
    assert set(EXITS) == set(Code)
    assert all(EXITS[code] > 0 for code in Code)
    assert Alarm(code=Code.LATE, about="x", says="", next="").ends_with == 4
    assert Alarm(code=Code.LATE, about="x", says="", next="", exit_code=EXIT_SAFETY).ends_with == 7


RAISED: Record = (EventType.ALARM_RAISED, {"alarm": "late:a/daily/x", "code": "late"})
CLEARED: Record = (EventType.ALARM_CLEARED, {"alarm": "late:a/daily/x"})


@pytest.mark.parametrize(
    ("records", "times", "stands"),
    [((RAISED,), 1, True), ((RAISED, CLEARED), 1, False), ((RAISED, CLEARED, RAISED), 2, True), ((CLEARED,), 0, False)],
)
def test_the_record_tells_what_stands(records: tuple[Record, ...], times: int, stands: bool) -> None:
    (told,) = fold_alarms(log(*records)).values()
    assert (told.code, told.about, told.times, told.stands) == ("late", "a/daily/x", times, stands)


@pytest.mark.parametrize("fields", [{}, {"alarm": 7}, {"alarm": "late"}])
def test_a_record_that_names_no_alarm_is_refused(fields: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError):
        fold_alarms(log((EventType.ALARM_RAISED, fields)))


def test_other_records_in_the_same_file_say_nothing_of_an_alarm() -> None:
    other: Record = (EventType.PAUSED, {"alarm": "late:a/daily/x", "reason": "x"})
    (told,) = fold_alarms(log(RAISED, other)).values()
    assert (told.times, told.stands) == (1, True)
    assert fold_alarms(log(other)) == {}


def test_an_alarm_as_data_has_what_it_knows() -> None:
    alarm = Alarm(
        code=Code.LATE, about="x/daily/y", site="x", plan="x/daily/y", says="late", next="publisher run", since=DUE,
        urls=("https://handbook.example/a/",),
    )  # fmt: skip
    assert alarm.as_data() == {
        "id": "late:x/daily/y", "code": "late", "about": "x/daily/y", "site": "x", "plan": "x/daily/y", "says": "late",
        "next": "publisher run", "since": "2026-12-01T01:00:00Z", "urls": ["https://handbook.example/a/"],
    }  # fmt: skip
    assert Alarm(code=Code.LATE, about="x", says="", next="n").as_data() == {
        "id": "late:x",
        "code": "late",
        "about": "x",
        "next": "n",
    }


def test_a_date_that_the_zone_leaves_out_is_promised_by_nobody() -> None:
    """Samoa went from the 29th to the 31st of December 2011."""
    day = date(2011, 12, 30)
    samoa = replace(POLICY, zone_name="Pacific/Apia", start=date(2011, 12, 1))
    now = datetime(2011, 12, 31, 22, 0, tzinfo=UTC)
    others = [closed(date(2011, 12, number)) for number in (28, 29, 31)]
    about = [alarm.about for alarm in site_alarms(facts_of(*others, policy=samoa, events=claims(at=now - 20 * DAYS)), now)]
    assert f"{SITE_ID}/daily/2011/{day}" not in about
    # A policy whose own first day is no day promises nothing that could be silent.
    assert f"nothing-confirmed:{SITE_ID}" not in codes(facts_of(policy=replace(samoa, start=day)), now + 30 * DAYS)


def test_a_standing_alarm_about_something_else_than_a_date_is_no_date() -> None:
    odd = Told(id="missed:handbook/daily/odd", code="missed", about="handbook/daily/odd", times=1, stands=True)
    done = [closed(day) for day in (date(2026, 11, 29), date(2026, 11, 30), DAY)]
    assert promised(DUE, *done, told={odd.id: odd}, **quiet_day()) == []
