"""A plan's site as it would be, rendered for a person's own eyes. Nothing is recorded, kept or pushed."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from publisher.domain.article import Draft, PublicArticle
from publisher.domain.business_calendar import with_offset
from publisher.domain.facts import Prepared
from publisher.domain.plan import Kind, Plan, PlannedArticle, Presentation
from publisher.domain.site_content import after
from publisher.engine.assembling import ReleaseAssembler
from publisher.engine.site_view import PlanView, SiteView
from publisher.errors import UsageProblem
from publisher.ports import Progress, ReadsRepository, SiteBuilder


class ReadingDoors(Protocol):
    """What rendering may use: reading doors only."""

    @property
    def store(self) -> ReadsRepository: ...

    @property
    def builder(self) -> SiteBuilder: ...

    @property
    def progress(self) -> Progress: ...


def render_plan(doors: ReadingDoors, view: SiteView, plan_view: PlanView, folder: Path) -> None:
    """Writes the release that the plan would make today below ``folder``, which must be empty or missing."""
    plan = plan_view.plan or plan_view.found
    if plan is None:
        raise UsageProblem("no-such-plan", f"{plan_view.path} cannot be read", next=f"publisher status {plan_view.path}")
    approval = plan_view.approval()
    commit = plan.sources or plan_view.history.commit or (approval.merge if approval else view.tips.drafts)
    with tempfile.TemporaryDirectory(prefix="publisher-") as scratch:
        assembler = ReleaseAssembler(
            reads=doors.store, builder=doors.builder, site=view.site.id, scratch=Path(scratch), progress=doors.progress
        )
        presentation = _presentation(view, plan, assembler, commit)
        request = assembler.request(after(view.production.content, without_texts(plan)), presentation)
        articles = {article.id: article for article in request.articles}
        for planned in plan.articles:
            draft = doors.store.draft(commit, planned.source)
            articles[planned.id] = public_article(doors.builder, plan, planned, draft, articles.get(planned.id))
        made = tempfile.mkdtemp(dir=scratch)
        doors.builder.build(replace(request, articles=tuple(articles.values())), made)
        shutil.copytree(made, folder, dirs_exist_ok=True)


def _presentation(view: SiteView, plan: Plan, assembler: ReleaseAssembler, commit: str) -> Presentation:
    if plan.presentation:
        return plan.presentation
    live = view.production.presentation
    return Presentation(**live) if live else assembler.presentation_at(commit)


def without_texts(plan: Plan) -> Prepared:
    """What the plan changes beside its texts, whose public form is made here and not read from a record."""
    return Prepared(
        payload=plan.payload, hides=plan.hides,
        withdraws=tuple({"id": i.id, "url": i.url, "answer": i.answer, "to": i.to} for i in plan.withdrawals),
        reverts=tuple({"id": item.id, "digest": item.digest} for item in plan.reverts),
    )  # fmt: skip


def public_article(
    builder: SiteBuilder, plan: Plan, planned: PlannedArticle, draft: Draft, known: PublicArticle | None
) -> PublicArticle:
    """The public form as it would be written, read back: what a reader would get."""
    moment = with_offset(plan.publish_at)
    correction = plan.kind is Kind.CHANGE
    article = PublicArticle(
        id=planned.id, url=planned.url, guid=planned.guid, title=draft.title.reveal(), summary=draft.summary.reveal(),
        category=draft.category, tags=draft.tags, date=known.date if correction and known else moment,
        updated=moment if correction else "", body=draft.body.reveal(),
        files={name: data for name, data in draft.files.items() if name != "index.md"},
    )  # fmt: skip
    return builder.read_public_form(builder.public_form(draft, article))
