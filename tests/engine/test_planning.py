"""Planning: which articles a date gets, what is never taken, and requests that are found again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from publisher.domain.approval import Rejection, Subject
from publisher.domain.fingerprint import article_fingerprint, digest
from publisher.domain.instance import Drafts
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import Plan, plan_of
from publisher.domain.policy import Policy
from publisher.domain.queue import Queued
from publisher.engine.planning import Planner, Proposal, article_data, by_request, marker_of, planned_article
from publisher.engine.site_view import PlanView, SiteView
from publisher.errors import InputProblem, NeedsPerson, Refusal
from publisher.ports import OpenRequest
from tests.support.fakes import FakeForge, FakeRepository, FakeRequests, draft_of, repository
from tests.support.values import (
    DAY,
    INSTANCE,
    NOW,
    SITE,
    Record,
    change,
    history_of,
    launch,
    plan_view,
    publication,
    revised,
    site_view,
    up_to,
)

NEXT, THIRD = DAY + timedelta(days=1), DAY + timedelta(days=2)
CANCELED: Record = (EventType.CANCELED, {"reason": "no"})


def policy(**changes: Any) -> Policy:
    made: dict[str, Any] = {
        "version": 3, "quantity": 2, "start": DAY, "zone_name": "Asia/Hong_Kong", "publish_time": "09:00", "shares": {},
        "horizon_days": 7, "digest": digest(b"policy"),
    }  # fmt: skip
    return Policy(**{**made, **changes})


def queued(*numbers: int) -> tuple[Queued, ...]:
    return tuple(Queued(id=f"a-{number:04}", source=f"drafts/handbook/text-{number}") for number in numbers)


def reads(*numbers: int, **fields: Any) -> FakeRepository:
    drafts = {f"drafts/handbook/text-{number}": draft_of(number) for number in numbers}
    return repository(policy_of=policy(), **{"queued": queued(*numbers), "drafts_at": drafts, **fields})


def replace_policy(source: FakeRepository, **changes: Any) -> FakeRepository:
    source.policy_of = policy(**changes)
    return source


def planner(
    source: FakeRepository, *views: PlanView, forge: FakeForge | None = None, now: datetime = NOW, view: SiteView | None = None
) -> Planner:
    return Planner(reads=source, forge=forge or FakeForge(), view=view or site_view(*views), now=now)


def ids(proposal: Proposal) -> list[str]:
    return [article.id for article in proposal.plan.articles]


def request(number: int, source: FakeRepository, *plans: Plan) -> OpenRequest:
    head = f"{number}" * 40
    source.plans_at[head] = {plan.path: plan for plan in plans}
    return OpenRequest(number=number, head=head, paths=tuple(f"plans/{plan.path}.yaml" for plan in plans))


# --- a proposal ---------------------------------------------------------------------------------------------------------------


def test_a_date_gets_the_next_articles_of_the_queue_written_down_in_full() -> None:
    made = planner(reads(1, 2, 3)).propose([DAY])
    assert [ids(proposal) for proposal in made] == [["a-0001", "a-0002"]]
    plan = made[0].plan
    assert made[0].request == 0
    assert plan.path == "handbook/daily/2026/2026-12-01"
    draft = draft_of(1)
    assert plan.data == {
        "kind": "publication", "site": "handbook", "key": "daily-publication:2026-12-01", "date": "2026-12-01",
        "zone": "Asia/Hong_Kong", "publish_at": "2026-12-01T09:00:00+08:00", "revision": 1,
        "policy": {"version": 3, "digest": digest(b"policy")},
        "articles": [article_data(article) for article in plan.articles],
    }  # fmt: skip
    first = plan.articles[0]
    assert (first.url, first.guid, first.category) == ("/text-1/", SITE.guid_of("a-0001"), "guide")
    assert first.fingerprint == article_fingerprint({"index.md": digest(draft.files["index.md"])})


def test_the_same_inputs_give_the_same_payload() -> None:
    assert planner(reads(1, 2)).propose([DAY]) == planner(reads(1, 2)).propose([DAY])


def test_dates_are_filled_in_order_and_no_article_twice() -> None:
    made = planner(reads(1, 2, 3, 4, 5)).propose([DAY, NEXT])
    assert [ids(proposal) for proposal in made] == [["a-0001", "a-0002"], ["a-0003", "a-0004"]]


def test_without_a_time_of_day_the_plan_names_none() -> None:
    made = planner(replace_policy(reads(1, 2), publish_time="")).propose([DAY])
    assert "publish_at" not in made[0].plan.data


def test_drafts_elsewhere_are_named_by_their_commit_and_readers_by_the_sites_own_list() -> None:
    elsewhere = replace(INSTANCE, drafts=Drafts(remote="git@example.org:drafts.git"))
    announce = {"channels": ["mail"], "list": "readers", "at_most": 500}
    source = reads(1, 2)
    view = site_view(instance=elsewhere, site=replace(SITE, announce=announce))
    plan = planner(source, view=replace(view, tips=source.known)).propose([DAY])[0].plan
    assert plan.sources == "d" * 40
    assert plan.data["announce"] == announce


def test_a_salted_draft_has_a_salted_fingerprint() -> None:
    source = reads(1, 2)
    source.drafts_at["drafts/handbook/text-1"] = draft_of(1, salt="s" * 32)
    plain = planner(reads(1, 2)).propose([DAY])[0].plan.articles[0].fingerprint
    assert planner(source).propose([DAY])[0].plan.articles[0].fingerprint != plain


# --- which articles -----------------------------------------------------------------------------------------------------------


def test_shares_count_what_is_public_planned_and_proposed() -> None:
    source = reads(1, 2, 3, 4)
    source.policy_of = policy(quantity=1, shares={"guide": 1, "note": 1})
    for number in (3, 4):
        source.drafts_at[f"drafts/handbook/text-{number}"] = draft_of(number, category="note")
    made = planner(source).propose([DAY, NEXT, THIRD])
    assert [ids(proposal) for proposal in made] == [["a-0001"], ["a-0003"], ["a-0002"]]
    done = publication(day=date(2026, 11, 30), numbers=(9,))
    made = planner(source, plan_view(done, *up_to("announced", done))).propose([DAY])
    assert ids(made[0]) == ["a-0003"], "a guide is public already, so a note is owed"
    live = planner(source, plan_view(publication(day=NEXT, numbers=(9,)))).propose([DAY])
    assert ids(live[0]) == ["a-0003"], "a guide is planned already"


def test_one_article_counts_once_however_often_it_is_named() -> None:
    plan = publication(numbers=(9,))
    source = reads(1, 2)
    forge = FakeForge(requests=(request(4, source, revised(plan)),))
    made = planner(replace_policy(source, shares={"guide": 1}), plan_view(plan), forge=forge)
    assert made.counts == {"guide": 1}
    public = planner(source, plan_view(plan, *up_to("deployed", plan)), forge=forge)
    assert public.counts == {"guide": 1}


def test_categories_without_a_share_are_not_counted() -> None:
    source = replace_policy(reads(1), shares={"note": 1})
    assert planner(source, plan_view(publication(day=NEXT, numbers=(9,)))).counts == {}


@pytest.mark.parametrize("stage", ["deployed", "announced"])
def test_what_is_public_is_never_taken_again(stage: str) -> None:
    done = publication(day=date(2026, 11, 30), numbers=(1,))
    made = planner(reads(1, 2, 3), plan_view(done, *up_to(stage, done))).propose([DAY])
    assert ids(made[0]) == ["a-0002", "a-0003"]


def test_what_a_live_plan_names_is_not_taken() -> None:
    live = plan_view(publication(day=NEXT, numbers=(1, 2)))
    started = plan_view(launch(articles=[{**launch().data["articles"][0], "id": "a-0003"}]))
    assert ids(planner(reads(1, 2, 3, 4, 5), live, started).propose([DAY])[0]) == ["a-0004", "a-0005"]


def test_a_plan_whose_file_was_deleted_keeps_its_articles_until_it_is_canceled() -> None:
    plan = publication(day=NEXT, numbers=(1, 2))
    deleted = plan_view(plan, *up_to("approved", plan), found=None)
    assert ids(planner(reads(1, 2, 3, 4), deleted).propose([DAY])[0]) == ["a-0003", "a-0004"]
    canceled = plan_view(plan, *up_to("approved", plan), CANCELED)
    assert ids(planner(reads(1, 2, 3, 4), canceled).propose([DAY])[0]) == ["a-0001", "a-0002"]


def test_a_revision_that_drops_an_article_frees_it() -> None:
    plan = publication(day=NEXT, numbers=(1, 2))
    view = plan_view(plan, *up_to("approved", plan), found=revised(plan, articles=[plan.data["articles"][0]]))
    assert ids(planner(reads(1, 2, 3), view).propose([DAY])[0]) == ["a-0002", "a-0003"]


def test_a_plan_that_cannot_be_read_holds_nobody_up() -> None:
    broken = plan_view(publication(day=NEXT), plan=None, found=None)
    assert ids(planner(reads(1, 2), broken).propose([DAY])[0]) == ["a-0001", "a-0002"]


def test_a_correction_takes_nothing() -> None:
    named = [{**launch().data["articles"][0], "id": "a-0002", "was": digest(b"")}]
    correction = plan_view(change(action="correct", withdrawals=None, articles=named))
    assert ids(planner(reads(1, 2), correction).propose([DAY])[0]) == ["a-0001", "a-0002"]


def test_what_an_open_request_names_is_not_taken() -> None:
    source = reads(1, 2, 3, 4, 5, 6)
    twice = publication(day=NEXT, numbers=(3,))
    forge = FakeForge(requests=(request(3, source, twice), request(4, source, publication(day=NEXT, numbers=(1, 2)))))
    assert ids(planner(source, forge=forge).propose([DAY])[0]) == ["a-0004", "a-0005"]


def test_held_and_draft_marked_articles_are_passed_over() -> None:
    source = reads(1, 2, 3, 4)
    source.queued = (replace(source.queued[0], held=True), *source.queued[1:])
    source.drafts_at["drafts/handbook/text-2"] = draft_of(2, mark=True)
    assert ids(planner(source).propose([DAY])[0]) == ["a-0003", "a-0004"]


def test_what_is_not_queued_is_never_chosen() -> None:
    source = reads(1, 2, 3)
    source.queued = queued(3, 1)
    assert ids(planner(source).propose([DAY])[0]) == ["a-0003", "a-0001"]


def test_a_long_queue_is_opened_no_further_than_needed() -> None:
    source = reads(*range(1, 101))
    planner(source).propose([DAY])
    assert [len(asked) - 2 for asked in source.asked if asked[0] == "drafts"] == [40]


def test_a_rare_category_far_back_in_the_queue_is_found() -> None:
    source = reads(*range(1, 201))
    source.drafts_at["drafts/handbook/text-200"] = draft_of(200, category="note")
    source.policy_of = policy(quantity=1, shares={"note": 1, "guide": 5})
    assert ids(planner(source).propose([DAY])[0]) == ["a-0200"]


# --- what stops ---------------------------------------------------------------------------------------------------------------


def stopped(made: Planner, days: list[date]) -> Refusal:
    assert made.propose(days) == ()
    assert len(made.problems) == 1
    return made.problems[0]


def test_a_short_queue_stops_and_later_dates_are_not_filled_instead() -> None:
    made = planner(reads(1, 2, 3))
    proposals = made.propose([DAY, NEXT, THIRD])
    assert [ids(proposal) for proposal in proposals] == [["a-0001", "a-0002"]]
    assert [problem.code for problem in made.problems] == ["queue-short"]
    assert "1 found" in made.problems[0].says
    assert isinstance(made.problems[0], NeedsPerson)


def test_a_category_that_is_owed_and_has_nothing_stops() -> None:
    source = reads(1, 2)
    source.policy_of = policy(shares={"guide": 1, "note": 1})
    problem = stopped(planner(source), [DAY])
    assert (problem.code, "of category note" in problem.says) == ("queue-short", True)


def test_a_queue_entry_without_its_draft_stops() -> None:
    source = reads(1, 2)
    del source.drafts_at["drafts/handbook/text-1"]
    problem = stopped(planner(source), [DAY])
    assert (problem.code, problem.where) == ("draft-missing", "drafts/handbook/text-1/index.md:1:1")


def test_a_draft_that_cannot_be_read_stops_with_its_own_reason() -> None:
    source = reads(1, 2)
    source.broken["drafts/handbook/text-2"] = InputProblem("schema-type", "title must be text", where="drafts/x/index.md:2:1")
    assert stopped(planner(source), [DAY]) is source.broken["drafts/handbook/text-2"]


def test_a_draft_with_another_id_than_the_queue_says_stops() -> None:
    source = reads(1, 2)
    source.drafts_at["drafts/handbook/text-1"] = replace(draft_of(1), id="a-0099")
    problem = stopped(planner(source), [DAY])
    assert problem.code == "queue-id-differs"
    assert "a-0099" in problem.says


def test_a_payload_that_was_rejected_is_not_proposed_again() -> None:
    source = reads(1, 2, 3)
    plan = planner(source).propose([DAY])[0].plan
    subject = Subject(path=f"plans/{plan.path}.yaml", payload=plan.payload)
    forge = FakeForge(answers={(subject.path, plan.payload): Rejection(subject=subject, by="alice", merge="m" * 40, request=7)})
    problem = stopped(planner(source, forge=forge), [DAY])
    assert problem.code == "proposal-rejected"
    assert "request 7" in problem.says
    source.queued = queued(2, 3)
    assert ids(planner(source, forge=forge).propose([DAY])[0]) == ["a-0002", "a-0003"]


@pytest.mark.parametrize("slug", ["tags", "feed", "about"])
def test_an_address_of_the_sites_own_cannot_be_taken(slug: str) -> None:
    source = reads(1, 2)
    source.queued = (Queued(id="a-0001", source=f"drafts/handbook/{slug}"), *queued(2))
    source.drafts_at[f"drafts/handbook/{slug}"] = draft_of(1, slug=slug)
    assert stopped(planner(source), [DAY]).code == "url-taken"


def test_an_address_of_another_article_cannot_be_taken() -> None:
    done = publication(day=date(2026, 11, 30), numbers=(9,))
    source = reads(1, 2)
    source.drafts_at["drafts/handbook/text-1"] = draft_of(1, slug="text-9")
    assert stopped(planner(source, plan_view(done, *up_to("announced", done))), [DAY]).code == "url-taken"
    live = planner(source, plan_view(publication(day=NEXT, numbers=(9,))))
    assert stopped(live, [DAY]).code == "url-taken"


def test_an_article_keeps_its_own_address() -> None:
    assert planned_article(site_view(), draft_of(1), {"/text-1/": "a-0001"}).url == "/text-1/"


def test_an_articles_values_are_those_of_its_file() -> None:
    planned = planned_article(site_view(), draft_of(1), {})
    assert "was" not in article_data(planned)
    assert article_data(replace(planned, was=digest(b"old")))["was"] == digest(b"old")


# --- which dates --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "days", "expected"),
    [
        (NOW, 1, [DAY]),
        (NOW, 3, [DAY, NEXT, THIRD]),
        (datetime(2026, 12, 1, 15, 59, 59, tzinfo=UTC), 1, [DAY]),
        (datetime(2026, 12, 1, 16, tzinfo=UTC), 1, [NEXT]),
        (datetime(2026, 11, 1, tzinfo=UTC), 2, [DAY, NEXT]),
        (NOW, 30, [DAY + timedelta(days=n) for n in range(7)]),
        (NOW, 0, []),
    ],
)
def test_dates_are_the_editors_from_today_or_the_policys_start(now: datetime, days: int, expected: list[date]) -> None:
    assert list(planner(reads(1), now=now).dates(days)) == expected


def test_why_a_date_gets_no_new_plan() -> None:
    made = planner(reads(1), plan_view(publication(day=NEXT)))
    skipped = planner(reads(1), view=site_view(controls=((EventType.SKIPPED, {"date": f"{DAY}", "reason": "r"}),)))
    assert made.why_not(DAY) == ""
    assert made.why_not(NEXT) == "it has a plan"
    assert made.why_not(DAY - timedelta(days=1)) == "the policy starts on 2026-12-01"
    assert skipped.why_not(DAY) == "it was skipped by a person"
    assert skipped.propose([DAY]) == ()
    assert skipped.problems == []


def test_a_canceled_date_is_not_planned_again() -> None:
    plan = publication()
    assert planner(reads(1, 2), plan_view(plan, CANCELED)).propose([DAY]) == ()


def test_a_date_that_the_zone_leaves_out_gets_none() -> None:
    source = replace_policy(reads(1, 2), zone_name="Pacific/Apia", start=date(2011, 12, 29))
    made = planner(source, now=datetime(2011, 12, 29, 12, tzinfo=UTC))
    assert made.why_not(date(2011, 12, 30)) == "Pacific/Apia has no such date"
    assert made.why_not(date(2011, 12, 31)) == ""


def test_a_site_without_a_policy_is_not_planned() -> None:
    with pytest.raises(InputProblem):
        planner(repository())


# --- open requests ------------------------------------------------------------------------------------------------------------


def test_an_open_request_is_brought_up_to_date_with_the_same_articles() -> None:
    source = reads(1, 2, 3, 4)
    forge = FakeForge(requests=(request(4, source, publication(numbers=(3, 1))),))
    source.queued = queued(2, 4)
    source.drafts_at["drafts/handbook/text-3"] = draft_of(3, text=" edited")
    made = planner(source, forge=forge).propose([DAY])
    assert [(proposal.request, ids(proposal)) for proposal in made] == [(4, ["a-0003", "a-0001"])]
    assert made[0].plan.articles[0].fingerprint != made[0].plan.articles[1].fingerprint
    assert made[0].plan.payload != publication(numbers=(3, 1)).payload


def test_a_text_marked_as_draft_again_stops_its_request() -> None:
    source = reads(1, 2)
    forge = FakeForge(requests=(request(4, source, publication()),))
    source.drafts_at["drafts/handbook/text-2"] = draft_of(2, mark=True)
    problem = stopped(planner(source, forge=forge), [DAY])
    assert problem.code == "marked-draft"
    assert "a-0002" in problem.says
    assert "request 4" in problem.says


def test_another_article_under_the_same_source_stops_its_request() -> None:
    source = reads(1, 2)
    forge = FakeForge(requests=(request(4, source, publication()),))
    source.drafts_at["drafts/handbook/text-2"] = replace(draft_of(2), id="a-0099")
    assert stopped(planner(source, forge=forge), [DAY]).code == "queue-id-differs"


def test_a_request_that_cannot_be_read_is_told_and_holds_nobody_up() -> None:
    source = reads(1, 2)
    opened = request(4, source, publication())
    source.plans_at[opened.head] = {publication().path: InputProblem("schema-type", "no", where="plans/x.yaml:1:1")}
    made = planner(source, forge=FakeForge(requests=(opened,)))
    assert [problem.code for problem in made.problems] == ["schema-type"]
    assert [proposal.request for proposal in made.propose([DAY])] == [0]


def test_files_of_a_request_that_are_no_plans_of_the_site_say_nothing() -> None:
    source = reads(1, 2)
    others = (
        "plans/shop/daily/2026/2026-12-01.yaml",
        "plans/handbook/gates/plan-x-1.yaml",
        "plans/handbook/readme.md",
        "approval.yaml",
    )
    made = planner(source, forge=FakeForge(requests=(OpenRequest(number=4, head="4" * 40, paths=others),)))
    assert made.requested == {}
    assert [asked for asked in source.asked if asked[0] == "plan"] == []


def test_a_request_that_deletes_a_plan_says_nothing() -> None:
    source = reads(1, 2)
    opened = OpenRequest(number=4, head="4" * 40, paths=(f"plans/{publication().path}.yaml",))
    assert planner(source, forge=FakeForge(requests=(opened,))).requested == {}


def test_a_request_for_a_date_that_has_a_plan_is_left_alone() -> None:
    source = reads(1, 2, 3)
    plan = publication()
    forge = FakeForge(requests=(request(4, source, revised(plan)),))
    assert planner(source, plan_view(plan), forge=forge).propose([DAY]) == ()


def test_requests_keep_their_set_of_plans_as_the_days_pass() -> None:
    """Otherwise each morning's planning would open one more request for the same dates."""
    source, requests = reads(*range(1, 20)), FakeRequests()
    stored: dict[int, dict[str, Plan]] = {}
    for morning in range(4):
        opened = tuple(requests.as_open())
        source.plans_at |= {item.head: dict(stored[item.number]) for item in opened}
        made = planner(source, forge=FakeForge(requests=opened), now=NOW + timedelta(days=morning))
        for number, plans in by_request(made.propose(made.dates(3))).items():
            files = {f"plans/{plan.path}.yaml": plan.payload.encode() for plan in plans}
            found = requests.open(source.known, files, "title", marker_of(files))
            assert number in (0, found), "a request that is open is found again"
            stored.setdefault(found, {}).update({plan.path: plan for plan in plans})
        assert not made.problems
    dates = [sorted(path[-15:-5] for path in files) for _, files in requests.opened.values()]
    assert dates == [["2026-12-01", "2026-12-02", "2026-12-03"], ["2026-12-04"], ["2026-12-05"], ["2026-12-06"]]


def test_proposals_are_grouped_by_request_in_the_order_of_their_paths() -> None:
    one, two, three = publication(), publication(day=NEXT), publication(day=THIRD)
    fresh = publication(day=NEXT, numbers=(5, 6))
    grouped = by_request(
        [
            Proposal(plan=three),
            Proposal(plan=one),
            Proposal(plan=fresh, request=4, beside=(one,)),
            Proposal(plan=one, request=4, beside=(two,)),
        ]
    )
    assert grouped == {0: (one, three), 4: (one, fresh)}
    assert by_request([]) == {}


def test_the_same_set_of_files_has_the_same_marker() -> None:
    assert marker_of(["b", "a"]) == marker_of(["a", "b"])
    assert marker_of(["a"]) != marker_of(["a", "b"])
    assert marker_of(["a"]).startswith("plans ")


def test_a_proposal_is_a_plan_that_reads_back() -> None:
    plan = planner(reads(1, 2)).propose([DAY])[0].plan
    assert plan_of(plan.path, dict(plan.data)) == plan
    assert history_of(plan).next_step is plan.steps[0]


def test_a_file_that_is_no_revision_of_what_its_key_is_bound_to_holds_both_its_articles_and_the_bound_ones() -> None:
    plan = publication(day=NEXT, numbers=(1, 2))
    swapped = publication(day=NEXT, numbers=(3, 4))
    view = plan_view(plan, *up_to("approved", plan), found=swapped)
    assert ids(planner(reads(1, 2, 3, 4, 5, 6), view).propose([DAY])[0]) == ["a-0005", "a-0006"]
