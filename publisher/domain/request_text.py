"""Every sentence of the text that people see on a request: Markdown that a pull-request host renders.

Rules:
* a reviewer sees each whole payload hash, every date with its zone, what changed, how long an approval may be used, and what
  to do; nothing here depends on the clock, so that making the text again gives the same one;
* what people or files wrote (titles, reasons) appears in fixed-width letters and on lines of its own: there it can be no link,
  image, mention, reference or table cell;
* a text that is too long for a host loses details, and then plans from its end, and says so; never the middle of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from publisher.domain.approval import ApprovalRules, window
from publisher.domain.business_calendar import FIRST_INSTANT, for_people
from publisher.domain.gates import PLAN_GATE, RELEASE_GATE, GateFile
from publisher.domain.plan import Kind, Plan
from publisher.domain.wording import one_line

LONGEST = 60_000
"""Letters of a whole text; GitHub refuses more than 65,536."""
LONGEST_LINE = 200
MOST_LISTED = 50
UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))

# Marks that draw nothing and turn, hide or reorder what is drawn; the two joiners stay, which some scripts are written with.
_UNSEEN = re.compile("[\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")


@dataclass(frozen=True, kw_only=True)
class Since:
    """An article against its last approved text: ``new``, ``same``, ``changed`` or ``unknown``.

    ``old`` is the commit at which that text was approved, ``new`` the one that changed the source last.
    """

    state: str
    old: str = ""
    new: str = ""


@dataclass(frozen=True, kw_only=True)
class ArticleText:
    """What is told about one article. ``title`` is "" where it must not be shown; counts are None for an unreadable text."""

    id: str
    url: str
    category: str
    source: str
    words: int | None
    images: int | None
    since: Since
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class PlanText:
    """One proposed plan and its articles."""

    plan: Plan
    articles: tuple[ArticleText, ...]


# --- the whole text -----------------------------------------------------------------------------------------------------------


def plans_text(plans: Sequence[PlanText], rules: ApprovalRules, *, linked: bool) -> str:
    """The text of a request for plans. ``linked`` says that the drafts' commits can be looked up beside the request."""
    head = [_asked(plans), ""]
    change = (
        "- **Change something**: leave this branch alone. Until somebody reviews it, it follows the drafts by itself. A reviewed "
        f"one stays as it is: merge it, then `publisher revise {plans[0].plan.path} --reason …` before it is due."
    )
    foot = _decide(rules, "That is final for these payloads.", change)
    whole = [_plan_section(item, rules, linked=linked, brief=False) for item in plans]
    text = _joined(head, whole, foot)
    if len(text) <= LONGEST:
        return text
    brief = [_plan_section(item, rules, linked=linked, brief=True) for item in plans]
    count = len(brief)
    while len(text := _joined(head, [*brief[:count], _left_out(plans[count:])], foot)) > LONGEST and count:
        count -= 1
    return text


def gate_text(gate: GateFile, plan: PlanText, rules: ApprovalRules, *, staging: str, linked: bool) -> str:
    """The text of a request for a gate. ``staging`` is where the release can be seen, "" where nowhere."""
    head = [_gate_question(gate), "", *_table(_gate_rows(gate, staging)), ""]
    foot = _decide(rules, "That is final, and cancels the plan.")
    for brief in (False, True):
        text = _joined(head, [_plan_section(plan, rules, linked=linked, brief=brief)], foot)
        if len(text) <= LONGEST:
            break
    return text


def _joined(head: Sequence[str], sections: Iterable[Sequence[str]], foot: Sequence[str]) -> str:
    return "\n".join([*head, *(line for section in sections for line in section), *foot]).rstrip() + "\n"


def _asked(plans: Sequence[PlanText]) -> str:
    count = sum(len(item.articles) for item in plans)
    payloads = "exactly the payload below" if len(plans) == 1 else f"exactly the {len(plans)} payloads below, each on its own"
    about = f" ({_counted(count, 'article')})" if count else ""
    return (
        f"{_counted(len(plans), 'plan')}{about} for the site {code(plans[0].plan.site)}. A reviewed merge approves {payloads}."
    )


def _left_out(plans: Sequence[PlanText]) -> list[str]:
    return [f"And {_counted(len(plans), 'plan')} more: read the changed files.", ""] if plans else []


def _decide(rules: ApprovalRules, closing: str, *more: str) -> list[str]:
    people = "an approving review" if rules.count == 1 else f"{rules.count} approving reviews"
    return [
        "### What to do",
        "",
        f"- **Approve**: read the texts and the changed files, then {people} and the merge. Whoever wrote this request, or pushed "
        "to it last, does not count as a reviewer.",
        *more,
        f"- **Reject**: close it without merging. {closing}",
    ]


# --- one plan -----------------------------------------------------------------------------------------------------------------


def _plan_section(item: PlanText, rules: ApprovalRules, *, linked: bool, brief: bool) -> list[str]:
    lines = [f"### {_heading(item.plan)}", "", *_table(_plan_rows(item.plan, rules)), ""]
    if brief:
        return [*lines, f"{_counted(len(item.articles), 'article')}: read the plan's file.", ""]
    if item.articles:
        lines += [
            "| Article | Address | Category | Words | Images | Since the last approval |",
            "|---|---|---|---:|---:|---|",
            *(_row(_article_cells(article, linked)) for article in item.articles),
            "",
        ]
    titled = [f"- {code(a.id)} {code(a.title)}, in {code(a.source)}" for a in item.articles if a.title]
    return [*lines, *titled, ""] if titled else lines


def _heading(plan: Plan) -> str:
    if plan.kind is Kind.CHANGE:
        return f"{plan.day}: {plan.action}"
    return f"{plan.day}" if plan.kind is Kind.PUBLICATION else f"{plan.day}: launch"


def _plan_rows(plan: Plan, rules: ApprovalRules) -> list[tuple[str, str]]:
    rows = [
        ("Plan", code(plan.path)),
        ("Payload", code(plan.payload)),
        ("Revision", f"{plan.revision}"),
        ("Date", f"{plan.day}, {plan.zone_name}"),
        ("Public from", for_people(plan.publish_at, plan.zone)),
    ]
    if plan.policy:
        rows.append(("Policy", f"version {plan.policy[0]}"))
    if plan.supersedes:
        rows.append(("Supersedes", code(plan.supersedes)))
    if plan.data.get("reason"):
        rows.append(("Reason", cell(str(plan.data["reason"]))))
    rows += _change_rows(plan)
    if plan.kind is Kind.PUBLICATION:
        rows.append(("Announced", _announced(plan)))
    return [*rows, *window_rows(plan, rules)]


def _announced(plan: Plan) -> str:
    if not plan.announce:
        return "no"
    to = f" to the list {code(plan.announce.list)}," if plan.announce.list else ","
    channels = ", ".join(code(name) for name in plan.announce.channels)
    return f"{channels}{to} at most {plan.announce.at_most:,} recipients"


def _change_rows(plan: Plan) -> list[tuple[str, str]]:
    gone = [f"{code(i.id)} at {code(i.url)}{' → ' + code(i.to) if i.to else ''}" for i in plan.withdrawals]
    rows = [("Withdraws", _listed(gone))] if gone else []
    if plan.to_release:
        rows.append(("Back to release", code(plan.to_release)))
    if plan.hides:
        rows.append(("Hides", _listed([code(name) for name in plan.hides])))
    if plan.reverts:
        rows.append(("Earlier text of", _listed([code(item.id) for item in plan.reverts])))
    if plan.presentation:
        look = plan.presentation
        rows.append(("Look", f"{code(look.digest)} at {code(look.commit)}, output version {look.output}"))
    return rows


def _listed(items: Sequence[str]) -> str:
    more = f" and {len(items) - MOST_LISTED} more" if len(items) > MOST_LISTED else ""
    return ", ".join(items[:MOST_LISTED]) + more


def window_rows(plan: Plan, rules: ApprovalRules) -> list[tuple[str, str]]:
    """When an approval may be used, and from when on giving it is of use."""
    before = window(plan.publish_at, plan.publish_at, rules)
    earliest = plan.publish_at - min(rules.max_lead, plan.publish_at - FIRST_INSTANT)
    usable = f"from {_time(before.opens, plan)} until {_time(before.closes, plan)}"
    return [
        ("Approval usable", f"{usable}; merged later, for {in_words(rules.expires_after)} from the merge"),
        (
            "Earliest useful merge",
            f"{_time(earliest, plan)}: given more than {in_words(rules.max_lead)} ahead, it does not count",
        ),
    ]


def _time(instant: datetime, plan: Plan) -> str:
    return for_people(instant, plan.zone)


def _article_cells(article: ArticleText, linked: bool) -> list[str]:
    words = "–" if article.words is None else f"{article.words:,}"
    images = "–" if article.images is None else f"{article.images}"
    return [code(article.id), code(article.url), code(article.category), words, images, _since(article, linked)]


def _since(article: ArticleText, linked: bool) -> str:
    since = article.since
    if since.state == "new":
        return "new"
    if since.state == "same":
        return f"unchanged since {code(since.old[:12])}"
    if since.state == "changed":
        between = f"{since.old[:12]}...{since.new[:12]}"
        shown = f"[{between}](../compare/{since.old}...{since.new})" if linked else code(between)
        return f"**changed**: {shown}, {code(article.source)}"
    if article.words is None:
        return "its text cannot be read, or is not the one that this plan names"
    return "public, and no approved text is recorded"


# --- a gate -------------------------------------------------------------------------------------------------------------------


def _gate_question(gate: GateFile) -> str:
    if gate.gate == PLAN_GATE:
        return f"The approval of {code(gate.plan)} is asked for once more: an earlier one was not given in time, or is spent."
    if gate.gate == RELEASE_GATE:
        return f"Shall the release below become public? It was built for {code(gate.plan)}."
    return f"Shall the gate {code(gate.gate)} of {code(gate.plan)} open?"


def _gate_rows(gate: GateFile, staging: str) -> list[tuple[str, str]]:
    asks = "Release" if gate.gate == RELEASE_GATE else "Asks for"
    rows = [
        ("Request", f"{code(gate.path)}, number {gate.number}"),
        ("Payload of this request", code(gate.payload)),
        (asks, code(gate.subject_hash)),
        ("Payload of the plan", code(gate.plan_payload)),
    ]
    return [*rows, ("To be seen at", staging)] if staging else rows


# --- pieces -------------------------------------------------------------------------------------------------------------------


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    return ["| | |", "|---|---|", *(_row(row) for row in rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def code(text: str) -> str:
    """Text as fixed-width letters in which nothing is Markdown, HTML, a mention or a reference. Not for a table, unless the
    text is known to hold no vertical bar."""
    plain = _harmless(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    space = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{space}{plain}{space}{fence}"


def cell(text: str) -> str:
    """``code`` inside a table, where a vertical bar ends a cell even there: it is shown as a broken one."""
    return code(text.replace("|", "¦"))


def _harmless(text: str) -> str:
    line = one_line(_UNSEEN.sub("", text))
    return (line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1].rstrip() + "…") or "(empty)"


def in_words(duration: timedelta) -> str:
    """``24 hours``, ``14 days``, ``90 minutes``: in the largest unit that divides it. One day is 24 hours."""
    seconds = int(duration.total_seconds())
    fitting = (pair for pair in UNITS if seconds % pair[0] == 0 and seconds >= pair[0] * (2 if pair[1] == "day" else 1))
    size, name = next(fitting, UNITS[-1])
    return _counted(seconds // size, name)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
