"""What a request tells its reviewers: about the very texts that its plans name, and no title where it could leak."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from publisher.domain.article import Draft, Private
from publisher.domain.fingerprint import article_fingerprint, digest
from publisher.domain.gates import PLAN_GATE, RELEASE_GATE, gate_file
from publisher.domain.instance import Drafts, GithubHost, TargetSpec
from publisher.domain.plan import Plan
from publisher.engine.describing import describe_gate, describe_plans
from publisher.engine.site_view import PlanView, SiteView
from publisher.errors import InputProblem
from tests.support.fakes import FakeRepository, draft_of, repository
from tests.support.values import (
    COMMIT,
    DAY,
    INSTANCE,
    NOW,
    RELEASE,
    SITE,
    article,
    change,
    launch,
    plan_view,
    publication,
    revised,
    site_view,
    up_to,
    yes,
)

AT_GITHUB = replace(INSTANCE, forge="github", github=GithubHost(repository="ann/site"))
ELSEWHERE = replace(AT_GITHUB, drafts=Drafts(remote="https://github.com/ann/drafts"))
SECRET = "A secret title"


def view_of(*views: PlanView, **changes: Any) -> SiteView:
    return site_view(*views, **{"instance": AT_GITHUB, **changes})


def drafts(*made: Draft, **fields: Any) -> FakeRepository:
    return repository(drafts_at={draft.source: draft for draft in made}, **fields)


def titled(number: int = 1, **changes: Any) -> Draft:
    return replace(draft_of(number), **{"title": Private(SECRET), "body": Private("Two words."), **changes})


def fingerprint(draft: Draft) -> str:
    return article_fingerprint({name: digest(data) for name, data in draft.files.items()}, draft.salt)


def named(*made: Draft, **changes: Any) -> Plan:
    """A publication of the drafts as they are now."""
    articles = [article(int(draft.id[-4:]), fingerprint=fingerprint(draft)) for draft in made]
    return publication(articles=articles, **changes)


def row_of(text: str, article_id: str = "a-0001") -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| `{article_id}` |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


# --- titles and texts -----------------------------------------------------------------------------------------------------------


def test_titles_are_shown_where_the_drafts_stand_beside_the_request() -> None:
    draft = titled()
    text = describe_plans(drafts(draft), view_of(), [named(draft)])
    assert f"- `a-0001` `{SECRET}`, in `drafts/handbook/text-1`" in text
    assert "Two words" not in text


def test_titles_never_leave_another_repository() -> None:
    draft = titled()
    text = describe_plans(drafts(draft), view_of(instance=ELSEWHERE), [named(draft, sources="d" * 40)])
    assert SECRET not in text
    assert row_of(text)[3:5] == ["2", "0"]


@pytest.mark.parametrize("instance", [AT_GITHUB, ELSEWHERE], ids=["beside", "elsewhere"])
def test_summary_salt_and_body_are_in_no_text(instance: Any) -> None:
    draft = titled(summary=Private("A secret summary"), salt="5a17" * 8, body=Private("secret body"))
    text = describe_plans(drafts(draft), view_of(instance=instance), [named(draft)])
    assert not [word for word in ("secret summary", "5a17", "secret body") if word in text]
    assert row_of(text)[3] == "2", "the salted fingerprint is this text's"


def test_a_forge_without_pages_is_told_nothing() -> None:
    source = drafts(titled())
    assert describe_plans(source, view_of(instance=INSTANCE), [named(titled())]) == ""
    view = view_of(plan_view(launch()), instance=INSTANCE)
    assert describe_gate(source, view, gate_file(launch(), RELEASE_GATE, RELEASE, 1)) == ""
    assert source.asked == []


# --- counts ---------------------------------------------------------------------------------------------------------------------


def test_words_and_images_of_the_text_that_the_plan_names() -> None:
    draft = titled(body=Private("漢字 and ![three](one.png) words"), files={"index.md": b"x", "one.png": b"1", "two.svg": b"2"})
    text = describe_plans(drafts(draft), view_of(), [named(draft)])
    assert row_of(text) == ["`a-0001`", "`/text-1/`", "`guide`", "5", "2", "new"]


def test_another_text_under_the_same_name_is_not_counted() -> None:
    plan = named(titled())
    edited = titled(files={"index.md": b"edited since"})
    text = describe_plans(drafts(edited), view_of(), [plan])
    assert row_of(text)[3:] == ["–", "–", "its text cannot be read, or is not the one that this plan names"]
    assert SECRET not in text


def test_a_text_that_cannot_be_read_does_not_stop_the_request() -> None:
    draft = titled()
    broken = {draft.source: InputProblem("draft-not-utf8", "this is not UTF-8 text")}
    text = describe_plans(drafts(draft, titled(2), broken=broken), view_of(), [named(draft, titled(2))])
    assert row_of(text)[3] == "–"
    assert row_of(text, "a-0002")[3] == "2"


def test_all_drafts_of_a_week_are_read_at_once() -> None:
    made = [titled(number) for number in range(1, 8)]
    source = drafts(*made)
    describe_plans(source, view_of(), [named(draft, day=DAY + timedelta(days=n)) for n, draft in enumerate(made)])
    assert [asked[0] for asked in source.asked if asked[0] == "drafts"] == ["drafts"]


def test_making_it_again_gives_the_same_text() -> None:
    draft = titled()
    assert describe_plans(drafts(draft), view_of(), [named(draft)]) == describe_plans(drafts(draft), view_of(), [named(draft)])


# --- since the last approval ------------------------------------------------------------------------------------------------------


def published(plan: Plan) -> PlanView:
    return plan_view(plan, *up_to("announced", plan))


class Repository(FakeRepository):
    """The drafts' newest commit changed each of them."""

    def last_change(self, commit: str, path: str) -> str:
        return "e" * 40 if path.startswith("drafts/") else ""


def at_commit(*made: Draft, plans: tuple[Plan, ...] = ()) -> Repository:
    known = repository().known
    return Repository(
        known=known, drafts_at={draft.source: draft for draft in made}, plans_at={COMMIT: {plan.path: plan for plan in plans}}
    )


def corrected(draft: Draft, **changes: Any) -> Plan:
    item = article(1, fingerprint=fingerprint(draft), was=digest(b"public 1"))
    return change("2026-12-02-1", action="correct", withdrawals=None, articles=[item], **changes)


def test_a_correction_is_compared_with_the_plan_that_made_it_public() -> None:
    old, new = titled(), titled(files={"index.md": b"better"})
    first = named(old)
    text = describe_plans(at_commit(new, plans=(first,)), view_of(published(first)), [corrected(new)])
    between = f"[{COMMIT[:12]}...{'e' * 12}](../compare/{COMMIT}...{'e' * 40})"
    assert row_of(text)[5] == f"**changed**: {between}, `drafts/handbook/text-1`"


def test_a_correction_without_a_change_says_so() -> None:
    draft = titled()
    first = named(draft)
    text = describe_plans(at_commit(draft, plans=(first,)), view_of(published(first)), [corrected(draft)])
    assert row_of(text)[5] == f"unchanged since `{COMMIT[:12]}`"


def test_commits_of_another_repository_are_named_and_not_linked() -> None:
    old, new = titled(), titled(files={"index.md": b"better"})
    first = named(old, sources="d" * 40)
    plan = corrected(new, sources="e" * 40)
    text = describe_plans(at_commit(new, plans=(first,)), view_of(published(first), instance=ELSEWHERE), [plan])
    assert row_of(text)[5] == f"**changed**: `{'d' * 12}...{'e' * 12}`, `drafts/handbook/text-1`"


def test_a_revision_is_compared_with_what_was_approved_before() -> None:
    old, same, new = titled(), titled(2), titled(files={"index.md": b"better"})
    first = named(old, same)
    plan = revised(first, articles=[article(1, fingerprint=fingerprint(new)), article(2, fingerprint=fingerprint(same))])
    text = describe_plans(at_commit(new, same), view_of(plan_view(first, asked=(yes(first, NOW),))), [plan])
    assert row_of(text)[5].startswith(f"**changed**: [{'m' * 12}...{'e' * 12}]")
    assert row_of(text, "a-0002")[5] == f"unchanged since `{'m' * 12}`"


def test_a_revision_of_what_nobody_approved_is_all_new() -> None:
    first = named(titled())
    view = view_of(plan_view(first, asked=()))
    text = describe_plans(at_commit(titled()), view, [revised(first)])
    assert row_of(text)[5] == "new"


def test_what_was_public_before_there_was_a_ledger_has_no_approved_text() -> None:
    draft = titled()
    first = named(draft)
    view = view_of(replace(published(first), path="handbook/daily/2026/2026-11-30"))
    source = at_commit(draft)
    text = describe_plans(source, view, [corrected(draft)])
    assert row_of(text)[5] == "public, and no approved text is recorded"


def test_an_old_plan_that_cannot_be_read_does_not_stop_the_request() -> None:
    draft = titled()
    first = named(draft)
    source = at_commit(draft)
    source.plans_at[COMMIT] = {first.path: InputProblem("schema", "an older version's file")}
    text = describe_plans(source, view_of(published(first)), [corrected(draft)])
    assert row_of(text)[5] == "public, and no approved text is recorded"


# --- gates ----------------------------------------------------------------------------------------------------------------------


def release_gate(plan: Plan) -> Any:
    return gate_file(plan, RELEASE_GATE, RELEASE, 1)


def test_a_release_gate_names_the_release_the_plan_and_where_it_can_be_seen() -> None:
    plan = launch()
    site = replace(SITE, staging=TargetSpec(kind="git-branch", options={"url": "https://staging.example/next/"}))
    text = describe_gate(drafts(titled()), view_of(plan_view(plan), site=site), release_gate(plan))
    assert f"| Release | `{RELEASE}` |" in text
    assert f"| Payload of the plan | `{plan.payload}` |" in text
    assert "| To be seen at | https://staging.example/next/ |" in text
    assert "| Approval usable | from 2026-12-01 00:00 HKT" in text


@pytest.mark.parametrize("url", ["", "https://x.example/ [a](b)", "javascript:x", "https://x.example/|", 7])
def test_only_a_plain_address_becomes_a_link(url: Any) -> None:
    site = replace(SITE, staging=TargetSpec(kind="directory", options={"url": url}))
    text = describe_gate(drafts(titled()), view_of(plan_view(launch()), site=site), release_gate(launch()))
    assert "| To be seen at | the staging target (`directory`) |" in text


def test_a_gate_for_a_plan_shows_the_plan_and_no_staging() -> None:
    draft = titled()
    plan = named(draft)
    text = describe_gate(at_commit(draft), view_of(plan_view(plan)), gate_file(plan, PLAN_GATE, plan.payload, 2))
    assert "asked for once more" in text
    assert f"| Payload | `{plan.payload}` |" in text
    assert row_of(text)[5] == f"unchanged since `{'m' * 12}`"
    assert "To be seen at" not in text
