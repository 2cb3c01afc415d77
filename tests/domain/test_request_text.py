"""The text on a request: harmless whatever people wrote, complete for whoever decides, and never too long."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from publisher.domain.approval import ApprovalRules
from publisher.domain.gates import RELEASE_GATE, gate_file
from publisher.domain.plan import Plan
from publisher.domain.request_text import (
    LONGEST,
    LONGEST_LINE,
    ArticleText,
    PlanText,
    Since,
    cell,
    code,
    gate_text,
    in_words,
    plans_text,
)
from publisher.domain.wording import one_line
from tests.support.values import DAY, RELEASE, RULES, article, change, launch, publication, revised

HOSTILE = (
    "`", "``", "``` x", "a ` b `` c", "@ann", "#12", "GH-12", "ann/site#1", "![x](https://e.example/p.png)",
    "<img src=x onerror=y>",
    "[text](javascript:x)", "https://e.example", "www.e.example", "a|b", "a\\|b", "\\", "\\`", "| --- |", "::error::x", "fixes #1",
    "<!--", "-->", "</code>", "&lt;b&gt;", "$`x`$", "line\nbreak\n\n# heading", "\u202etxt.exe", "a\u200bb", "\U000e0041", "", "  ",
    "x" * 500,
)  # fmt: skip


def rendered(text: str) -> str:
    """As a host would: raw HTML is let through, so that it would be seen here."""
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


def tags(html: str) -> set[str]:
    return {name.lower() for name in re.findall(r"<([A-Za-z!/][^\s>]*)", html)}


def text_of(plan: Plan, *articles: ArticleText) -> PlanText:
    return PlanText(plan=plan, articles=articles)


def told(number: int = 1, **changes: object) -> ArticleText:
    made = ArticleText(
        id=f"a-{number:04}", url=f"/text-{number}/", category="guide", source=f"drafts/handbook/text-{number}", words=1234, images=2,
        since=Since(state="new"), title=f"Title {number}",
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def with_examples(test: object) -> object:
    for text in HOSTILE:
        test = example(text=text)(test)  # type: ignore[arg-type]
    return test


@with_examples
@given(text=st.text())
def test_what_people_wrote_is_nothing_but_letters(text: str) -> None:
    html = rendered(f"- {code('a-0001')} {code(text)}, in {code('drafts')}")
    assert tags(html) == {"ul", "li", "code", "/code", "/li", "/ul"}
    shown = re.findall(r"<code>(.*?)</code>", html, re.DOTALL)
    assert (len(shown), shown[0], shown[2]) == (3, "a-0001", "drafts")
    inside = unescape(shown[1])
    assert len(inside) <= LONGEST_LINE
    assert inside in ("(empty)", code_free(text)) or inside.endswith("…")


def code_free(text: str) -> str:
    return one_line(
        re.sub(
            "[\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]", "", text
        )
    )


@with_examples
@given(text=st.text())
def test_in_a_table_it_stays_in_its_cell(text: str) -> None:
    html = rendered(f"| | |\n|---|---|\n| Reason | {cell(text)} |\n| Next | row |")
    assert tags(html) <= {"table", "thead", "tbody", "tr", "th", "td", "code"} | {
        "/" + name for name in ("table", "thead", "tbody", "tr", "th", "td", "code")
    }
    assert [len(re.findall("<td>", row)) for row in html.split("</tr>")[1:3]] == [2, 2]
    assert html.count("<code>") == 1


def test_the_joiners_of_scripts_stay() -> None:
    assert code("नि\u200dक\u200cष") == "`नि\u200dक\u200cष`"


def test_a_plan_shows_everything_that_is_decided() -> None:
    plan = publication()
    text = plans_text([text_of(plan, told(1), told(2, since=Since(state="same", old="a" * 40)))], RULES, linked=True)
    for part in (
        f"`{plan.payload}`", "| Revision | 1 |", "2026-12-01, Asia/Hong_Kong", "2026-12-01 09:00 HKT (01:00Z)", "version 3",
        "`mail` to the list `readers`, at most 500 recipients", "| `a-0001` | `/text-1/` | `guide` | 1,234 | 2 | new |",
        "unchanged since `aaaaaaaaaaaa`", "- `a-0001` `Title 1`, in `drafts/handbook/text-1`",
        "`publisher revise handbook/daily/2026/2026-12-01",
        "close it without merging. That is final",
    ):  # fmt: skip
        assert part in text


def test_the_window_stands_in_words_and_in_both_instants() -> None:
    rules = ApprovalRules(expires_after=timedelta(hours=36), max_lead=timedelta(days=3), count=2)
    text = plans_text([text_of(publication(), told())], rules, linked=True)
    assert (
        "from 2026-12-01 09:00 HKT (01:00Z) until 2026-12-02 21:00 HKT (13:00Z); merged later, for 36 hours from the merge"
        in text
    )
    assert "2026-11-28 09:00 HKT (01:00Z): given more than 3 days ahead, it does not count" in text
    assert "2 approving reviews" in text


def test_a_lead_beyond_the_calendar_is_no_trouble() -> None:
    text = plans_text([text_of(publication(), told())], ApprovalRules(max_lead=timedelta(days=999_999)), linked=True)
    assert "| Earliest useful merge | 1000-01-0" in text


def test_a_changed_article_names_the_range_of_commits() -> None:
    changed = told(since=Since(state="changed", old="a" * 40, new="b" * 40))
    linked = plans_text([text_of(publication(), changed)], RULES, linked=True)
    assert f"[aaaaaaaaaaaa...bbbbbbbbbbbb](../compare/{'a' * 40}...{'b' * 40}), `drafts/handbook/text-1`" in linked
    elsewhere = plans_text([text_of(publication(), changed)], RULES, linked=False)
    assert "**changed**: `aaaaaaaaaaaa...bbbbbbbbbbbb`" in elsewhere
    assert "](" not in elsewhere


def test_a_text_that_is_not_the_plans_is_said_to_be_another() -> None:
    text = plans_text(
        [text_of(publication(), told(words=None, images=None, since=Since(state="unknown"), title=""))], RULES, linked=True
    )
    assert "| – | – | its text cannot be read, or is not the one that this plan names |" in text


def test_a_revision_names_what_it_supersedes_and_why() -> None:
    plan = revised(publication(), reason="a | better `text` @ann")
    text = plans_text([text_of(plan, told())], RULES, linked=True)
    assert f"| Supersedes | `{publication().payload}` |" in text
    assert "| Reason | ``a ¦ better `text` @ann`` |" in text


GONE = {"id": "a-0001", "url": "/text-1/", "answer": "redirect", "to": "/b/"}
BACK = {"action": "rollback", "withdrawals": None, "to_release": RELEASE}
LOOK = {"commit": "c" * 40, "output": 3, "digest": RELEASE}


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, "| Withdraws | `a-0001` at `/text-1/` |"),
        ({"withdrawals": [GONE]}, "| Withdraws | `a-0001` at `/text-1/` → `/b/` |"),
        ({**BACK, "hides": ["a-0002"]}, f"| Back to release | `{RELEASE}` |"),
        ({**BACK, "hides": ["a-0002"]}, "| Hides | `a-0002` |"),
        ({**BACK, "hides": [f"a-{n}" for n in range(52)]}, "`a-49` and 2 more |"),
        ({**BACK, "reverts": [{"id": "a-1", "digest": RELEASE}]}, "| Earlier text of | `a-1` |"),
        (
            {"action": "presentation", "withdrawals": None, "presentation": LOOK},
            f"| Look | `{RELEASE}` at `{'c' * 40}`, output version 3 |",
        ),
    ],
)
def test_a_change_says_what_it_changes(fields: dict[str, object], shown: str) -> None:
    plan = change(**fields)
    text = plans_text([text_of(plan)], RULES, linked=True)
    assert shown in text
    assert f"### 2026-12-01: {plan.action}" in text
    assert "Announced" not in text


def test_a_week_is_one_text_with_a_section_for_each_day() -> None:
    days = [DAY + timedelta(days=n) for n in range(7)]
    text = plans_text([text_of(publication(day=day), told()) for day in days], RULES, linked=True)
    assert re.findall(r"^### (\d.*)$", text, re.MULTILINE) == [f"{day}" for day in days]
    assert text.startswith(
        "7 plans (7 articles) for the site `handbook`. A reviewed merge approves exactly the 7 payloads below"
    )


def test_a_long_text_loses_details_and_keeps_every_payload() -> None:
    plans = [
        text_of(publication(day=date(2026, 12, 1) + timedelta(days=n)), *(told(i) for i in range(1, 21))) for n in range(40)
    ]
    text = plans_text(plans, RULES, linked=True)
    assert len(text) <= LONGEST
    assert all(item.plan.payload in text for item in plans)
    assert "Title 1" not in text
    assert "20 articles: read the plan's file." in text


def test_a_text_that_is_still_too_long_says_what_it_leaves_out() -> None:
    plans = [text_of(publication(day=date(2026, 12, 1) + timedelta(days=n)), told()) for n in range(300)]
    text = plans_text(plans, RULES, linked=True)
    left = int(re.findall(r"And (\d+) plans more", text)[0])
    assert LONGEST - 1000 < len(text) <= LONGEST
    assert sum(item.plan.payload in text for item in plans) == 300 - left
    assert text.rstrip().endswith("That is final for these payloads.")


def test_a_gate_says_what_it_asks() -> None:
    plan = launch()
    gate = gate_file(plan, RELEASE_GATE, RELEASE, 2)
    text = gate_text(gate, text_of(plan, told()), RULES, staging="https://staging.example/", linked=True)
    for part in (
        "Shall the release below become public?", f"| Release | `{RELEASE}` |", f"| Payload of the plan | `{plan.payload}` |",
        f"| Payload of this request | `{gate.payload}` |", "number 2 |", "| To be seen at | https://staging.example/ |",
        "Approval usable",
        "That is final, and cancels the plan.", "### 2026-12-01: launch",
    ):  # fmt: skip
        assert part in text
    assert "revise" not in text


def test_another_gate_asks_for_itself() -> None:
    plan = publication(articles=[article(1)])
    again = gate_text(gate_file(plan, "plan", plan.payload, 1), text_of(plan, told()), RULES, staging="", linked=True)
    assert "is asked for once more" in again
    assert "To be seen at" not in again
    assert "Shall the gate `G1` of" in gate_text(
        gate_file(plan, "G1", plan.payload, 1), text_of(plan), RULES, staging="", linked=True
    )


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (timedelta(hours=24), "24 hours"), (timedelta(days=14), "14 days"), (timedelta(minutes=90), "90 minutes"),
        (timedelta(hours=1), "1 hour"), (timedelta(seconds=1), "1 second"), (timedelta(days=2, seconds=1), "172,801 seconds"),
    ],
)  # fmt: skip
def test_durations_in_words(duration: timedelta, words: str) -> None:
    assert in_words(duration) == words


def test_a_gates_text_that_is_too_long_loses_the_plans_details() -> None:
    plan = launch(articles=[article(number) for number in range(1, 900)])
    gate = gate_file(plan, RELEASE_GATE, RELEASE, 1)
    text = gate_text(gate, text_of(plan, *(told(number) for number in range(1, 900))), RULES, staging="", linked=True)
    assert len(text) <= LONGEST
    assert gate.payload in text and plan.payload in text
    assert "899 articles: read the plan's file." in text


def test_a_plan_that_announces_nothing_says_so() -> None:
    assert "| Announced | no |" in plans_text([text_of(publication(announce=None), told())], RULES, linked=True)
    assert "| Announced | `mail` to the list `readers`, at most 500 recipients |" in plans_text(
        [text_of(publication(), told())], RULES, linked=True
    )
