"""A review as people read it: lines on a terminal, one comment on the request, annotations and the summary of a CI job.

Rules:
* ids, paths, hashes, addresses and counts; never a draft's title or text, whoever may read this;
* a comment names the reviewed head and says nothing that changes by itself, so that it is edited only when there is news;
* what a stranger may have written is plain text wherever it appears: no link, mention, reference, image or command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from publisher.cli import ci_report, output
from publisher.cli.ci_annotations import annotation_lines, plain_line
from publisher.domain.business_calendar import for_people
from publisher.domain.request_text import code
from publisher.engine.examining import Finding, Level

if TYPE_CHECKING:
    from publisher.engine.review_rendering import Article, Image
    from publisher.engine.reviewing import Review, ReviewedPlan

MOST_PLANS = 40
MOST_FINDINGS = 30
MOST_NOTES = 200
LONGEST_STATUS = 140
HEADS = {Level.PROBLEM: ("PROBLEM", "red"), Level.WARNING: ("WARNING", "yellow"), Level.OK: ("NOTE", "")}

_LIVELY = re.compile(r"(?<=[@#])(?=\S)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=GH)(?=-)", re.IGNORECASE)
"""Where a plain word would become a mention, a reference or a link: an invisible space stands there instead."""


# --- in one line --------------------------------------------------------------------------------------------------------------


def headline(review: Review) -> str:
    """The verdict in a few words."""
    problems, warnings = len(review.told(Level.PROBLEM)), len(review.told(Level.WARNING))
    if review.scan == "leak":
        return f"private text would become public; {_counted(problems, 'problem')}"
    if problems:
        return f"{_counted(problems, 'problem')} to solve before anybody approves"
    if not review.concerns:
        return "nothing here is publisher's business"
    return f"no problem found; {_counted(warnings, 'warning')} to decide about" if warnings else "no problem found"


def status_line(review: Review) -> str:
    """The description of the commit status."""
    problems = len(review.told(Level.PROBLEM))
    text = review.says if review.good else f"{_counted(problems, 'problem')}; {review.says}"
    return text if len(text) <= LONGEST_STATUS else _counted(problems, "problem")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


# --- on a terminal, and in a log ----------------------------------------------------------------------------------------------


def tell(review: Review, folder: str) -> None:
    """The whole review on stdout. In a CI job no line of it can be a command."""
    who = f"request {review.number}" if review.number else "the request"
    _say(f"{who}: {headline(review)}", bold=True)
    _say(f"  head {review.head[:12]}, judged by {review.base[:12]}{', which moved on since it began' if review.moved else ''}")
    for plan in review.plans:
        _tell_plan(plan)
    for gate in review.gates:
        _say(f"  {gate.path}  gate {gate.gate} of {gate.plan}  payload {gate.payload}")
    for level in (Level.PROBLEM, Level.WARNING, Level.OK):
        for finding in review.told(level):
            _tell_finding(finding)
    for site in review.sites:
        _say(f"  leak scan of {site.site}: {site.scan}; {site.says}")
    if review.closed:
        _say(f"  drafts: {review.closed}")
    elif folder and any(article.page for plan in review.plans for article in plan.articles):
        output.note(f"(rendered below {folder})")


def _tell_plan(plan: ReviewedPlan) -> None:
    due = for_people(plan.plan.publish_at, plan.plan.zone)
    _say(f"  {plan.plan.path}  revision {plan.plan.revision}, public from {due}")
    _say(f"    payload   {plan.plan.payload}")
    for article in plan.articles:
        images = "".join(f", {_image(image)}" for image in article.images)
        _say(f"    article   {article.id}  {article.url}  {_words(article)}{images}")


def _words(article: Article) -> str:
    return "text not looked at" if article.words is None else _counted(article.words, "word")


def _image(image: Image) -> str:
    left = f", {image.left_out} bytes of metadata left out" if image.left_out else ", no metadata"
    return f"{image.name} ({image.size} bytes{left})"


def _tell_finding(finding: Finding) -> None:
    head, colour = HEADS[finding.level]
    place = finding.where or finding.about
    mark = click.style(head.ljust(8), fg=colour) if colour else head.ljust(8)
    output.write(f"  {mark} {_plain(f'{place}: {finding.says} [{finding.code}]')}\n")
    if finding.next:
        _say(f"           next: {finding.next}")


def _say(text: str, *, bold: bool = False) -> None:
    output.say(_plain(text), bold=bold)


def _plain(text: str) -> str:
    line = output.clean(text)
    return plain_line(line) if ci_report.in_actions() else line


# --- in a CI job --------------------------------------------------------------------------------------------------------------


def annotate(review: Review) -> None:
    """Annotations at the lines concerned, and a notice with the whole payload hash for each plan."""
    if not ci_report.in_actions():
        return
    for level, name in ((Level.PROBLEM, "error"), (Level.WARNING, "warning")):
        found = [(_sentence(finding), finding.code, finding.where) for finding in review.told(level)]
        _commands(annotation_lines(name, found))
    payloads = [(payload, "payload", f"{path}:1:1") for path, payload in review.payloads.items()]
    _commands(annotation_lines("notice", payloads))


def _commands(lines: Iterable[str]) -> None:
    for line in lines:
        output.write(line + "\n", err=True)  # the runner reads both streams, and stdout may be one JSON document


def _sentence(finding: Finding) -> str:
    text = f"{finding.says}. Next: {finding.next}" if finding.next else finding.says
    return output.clean(text)


def summarise(review: Review) -> None:
    """The job's summary, and its outputs."""
    rows = [
        [ci_report.code(plan.plan.path), _due(plan), str(plan.plan.revision), ci_report.code(plan.plan.payload)]
        for plan in review.plans
    ]
    rows += [
        [ci_report.code(gate.path), f"gate {gate.gate}", str(gate.number), ci_report.code(gate.payload)]
        for gate in review.gates
    ]
    title = f"Review of request {review.number}" if review.number else "Review"
    notes = [f"**{ci_report.text(headline(review))}**", *(_note(finding) for finding in review.findings[:MOST_NOTES])]
    left = len(review.findings) - MOST_NOTES
    notes += [f"and {left} more: the log lists them"] if left > 0 else []
    notes += [f"leak scan of {ci_report.code(site.site)}: {ci_report.text(site.says)}" for site in review.sites]
    notes += [f"drafts: {ci_report.text(review.closed)}"] if review.closed else []
    ci_report.summary(title, ("Plan", "Public from", "Revision", "Payload"), rows, notes)
    ci_report.result("payload", review.says)
    ci_report.result("verdict", "leak" if review.scan == "leak" else "good" if review.good else "problems")


def _due(plan: ReviewedPlan) -> str:
    return ci_report.text(for_people(plan.plan.publish_at, plan.plan.zone))


def _note(finding: Finding) -> str:
    place = ci_report.code(finding.where or finding.about)
    fix = f" Next: {ci_report.code(finding.next)}" if finding.next else ""
    return f"{HEADS[finding.level][0].lower()}: {place} {words(finding.says)} {ci_report.code(finding.code)}{fix}"


# --- on the request -----------------------------------------------------------------------------------------------------------


def comment(review: Review, page: str = "") -> str:
    """The comment's Markdown. ``page`` is the address of the run that keeps the rendered pages, or ""."""
    lines = [f"### Review: {words(headline(review))}", ""]
    lines += _plans(review.plans)
    lines += [
        f"* gate {code(gate.gate)} of {code(gate.plan)}, payload {code(gate.payload)}" for gate in review.gates[:MOST_PLANS]
    ]
    if review.payloads:
        lines += ["", f"A reviewed merge approves exactly: {code(review.says)}", ""]
    for level, title in ((Level.PROBLEM, "Problems"), (Level.WARNING, "Warnings"), (Level.OK, "To know")):
        lines += _found(title, review.told(level))
    lines += _pages(review, page)
    lines += [f"Looked at {code(review.head)}. Another head gets another review, and this text is edited then."]
    return "\n".join(lines) + "\n"


def words(text: str) -> str:
    """One line of Markdown that shows ``text`` and does nothing else."""
    return _LIVELY.sub("\u200b", ci_report.text(text)) if text else ""


def _plans(plans: Sequence[ReviewedPlan]) -> Iterator[str]:
    if not plans:
        return
    yield from ("| Plan | Public from | Revision | Payload |", "|---|---|---:|---|")
    for plan in plans[:MOST_PLANS]:
        due = for_people(plan.plan.publish_at, plan.plan.zone)
        yield f"| {code(plan.plan.path)} | {due} | {plan.plan.revision} | {code(plan.plan.payload)} |"
    if len(plans) > MOST_PLANS:
        yield from ("", f"and {len(plans) - MOST_PLANS} more plans")
    yield ""
    rows = [(plan, article) for plan in plans for article in plan.articles]
    if rows:
        yield from ("| Article | Address | Words | Images |", "|---|---|---:|---|")
        yield from (_article(article) for _, article in rows[:MOST_PLANS])
        if len(rows) > MOST_PLANS:
            yield from ("", f"and {len(rows) - MOST_PLANS} more articles")
        yield ""


def _article(article: Article) -> str:
    images = ", ".join(f"{code(image.name)} {words(_left_out(image))}" for image in article.images) or "none"
    shown = images if article.words is not None else "not looked at"
    return f"| {code(article.id)} | {code(article.url)} | {'' if article.words is None else article.words} | {shown} |"


def _left_out(image: Image) -> str:
    return f"{image.left_out} bytes of metadata left out" if image.left_out else "no metadata"


def _found(title: str, findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        return
    yield from (f"**{title}**", "")
    for finding in findings[:MOST_FINDINGS]:
        fix = f" Next: {code(finding.next)}" if finding.next else ""
        yield f"* {code(finding.where or finding.about)} {words(finding.says)} ({code(finding.code)}).{fix}"
    if len(findings) > MOST_FINDINGS:
        yield f"* and {len(findings) - MOST_FINDINGS} more: the run's summary lists them"
    yield ""


def _pages(review: Review, page: str) -> Iterator[str]:
    for site in review.sites:
        yield f"* leak scan of {code(site.site)}: {words(site.says)}"
    rendered = any(article.page for plan in review.plans for article in plan.articles)
    if review.closed:
        yield f"* drafts: {words(review.closed)}"
    elif rendered and page:
        yield f"* the pages as they would be are an [artifact of this run]({page})"
    yield ""
