"""What a request tells the people who review it: gathered from its plans, the drafts and what was approved before.

Rules:
* a title is shown only where the drafts stand in the repository of the request, so that whoever can read the one can read the
  other; text is never shown;
* counts and comparisons are about the very text that a plan names by its fingerprint; another one is said to be another;
* an article is compared with what was approved last: the plan's own earlier revision, else the plan that made it public.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from publisher.domain.article import Draft
from publisher.domain.fingerprint import article_fingerprint, digest
from publisher.domain.gates import RELEASE_GATE, GateFile
from publisher.domain.instance import Site
from publisher.domain.plan import Plan, PlannedArticle
from publisher.domain.request_text import ArticleText, PlanText, Since, code, gate_text, plans_text
from publisher.domain.word_count import count_words
from publisher.engine.deciding import standing_plan
from publisher.engine.site_view import SiteView
from publisher.errors import Refusal
from publisher.ports import ReadsRepository

TEXT = "index.md"
ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?", re.ASCII)


def describe_plans(reads: ReadsRepository, view: SiteView, plans: Sequence[Plan]) -> str:
    """The text of a request for plans of one site; "" with a forge that shows none."""
    if view.instance.forge == "git":
        return ""
    gathered = _Gathering(reads, view)
    return plans_text(gathered.plans(plans), view.rules, linked=gathered.beside)


def describe_gate(reads: ReadsRepository, view: SiteView, gate: GateFile) -> str:
    """The text of a gate's request; "" with a forge that shows none."""
    if view.instance.forge == "git":
        return ""
    gathered = _Gathering(reads, view)
    (plan,) = gathered.plans([standing_plan(view.plans[gate.plan])])
    staging = _staging(view.site) if gate.gate == RELEASE_GATE else ""
    return gate_text(gate, plan, view.rules, staging=staging, linked=gathered.beside)


def _staging(site: Site) -> str:
    """Where a release is put first. Only a plain address is shown as one: it becomes a link."""
    if site.staging is None:
        return ""
    address = site.staging.options.get("url", "")
    return (
        address
        if isinstance(address, str) and ADDRESS.fullmatch(address)
        else f"the staging target ({code(site.staging.kind)})"
    )


class _Gathering:
    """What is known about articles, from one view."""

    def __init__(self, reads: ReadsRepository, view: SiteView) -> None:
        self._reads = reads
        self._view = view
        self.beside = not view.instance.drafts.remote
        self._plan_at = cache(reads.plan)

    def plans(self, plans: Sequence[Plan]) -> tuple[PlanText, ...]:
        sources = {article.source for plan in plans for article in plan.articles}
        drafts, _ = self._reads.drafts(self._view.tips.drafts, self._view.site.id, sorted(sources)) if sources else ({}, {})
        return tuple(
            PlanText(plan=plan, articles=tuple(self._article(plan, article, drafts) for article in plan.articles))
            for plan in plans
        )

    def _article(self, plan: Plan, article: PlannedArticle, drafts: Mapping[str, Draft]) -> ArticleText:
        draft = drafts.get(article.source)
        named = draft is not None and _fingerprint(draft) == article.fingerprint
        return ArticleText(
            id=article.id, url=article.url, category=article.category, source=article.source,
            words=count_words(draft.body.reveal()) if draft and named else None,
            images=len(draft.files.keys() - {TEXT}) if draft and named else None,
            since=self._since(plan, article) if named else Since(state="unknown"),
            title=draft.title.reveal() if draft and named and self.beside else "",
        )  # fmt: skip

    def _since(self, plan: Plan, article: PlannedArticle) -> Since:
        last = self._approved_before(plan.path, article.id) or self._made_public(article.id)
        if last is None:
            return Since(state="unknown" if article.id in self._view.production.content.texts else "new")
        fingerprint, commit = last
        if fingerprint == article.fingerprint:
            return Since(state="same", old=commit)
        return Since(state="changed", old=commit, new=self._reads.last_change(self._view.tips.drafts, article.source))

    def _approved_before(self, path: str, article: str) -> tuple[str, str] | None:
        """An article as the plan's own approved revision names it."""
        known = self._view.plans.get(path)
        if known is None or known.plan is None:
            return None
        approval = known.approval()
        commit = known.history.commit or (approval.merge if approval else "")
        return _named_by(known.plan, commit, article) if commit else None

    def _made_public(self, article: str) -> tuple[str, str] | None:
        """An article as the plan names it that made its public text public."""
        text = self._view.production.content.texts.get(article)
        known = self._view.plans.get(text.plan) if text else None
        if known is None or not known.history.commit:
            return None
        try:
            plan = self._plan_at(known.history.commit, known.path)
        except Refusal:
            return None  # a plan that cannot be read any more: what it approved is then said to be unknown
        return _named_by(plan, known.history.commit, article) if plan else None


def _named_by(plan: Plan, commit: str, article: str) -> tuple[str, str] | None:
    """(fingerprint, commit of the drafts) of an article in an approved plan."""
    found = next((item for item in plan.articles if item.id == article), None)
    return (found.fingerprint, plan.sources or commit) if found else None


def _fingerprint(draft: Draft) -> str:
    return article_fingerprint({name: digest(data) for name, data in draft.files.items()}, draft.salt)
