"""The review of texts: that a plan's fingerprints are those of its drafts, and what a changed draft means for the plans that name it.

Rules:
* drafts are read from the tree that merging would make; where the default branch moved on, what only fitted before is told apart;
* a refusal of a draft says where and by which rule, and nothing out of it;
* where private drafts must not be opened, nothing here opens one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from publisher.domain.article import Draft
from publisher.domain.fingerprint import article_fingerprint, digest, short
from publisher.domain.plan import Kind, Plan, PlannedArticle
from publisher.engine.review_changes import Area
from publisher.engine.review_desk import Desk, ProposedPlan
from publisher.errors import InputProblem

INDEX = "index.md"


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The drafts of one plan, by article id. ``fits`` says that each was read and has the plan's fingerprint."""

    item: ProposedPlan
    commit: str = ""
    drafts: Mapping[str, Draft] = field(default_factory=dict, repr=False)
    fits: bool = False


def review_texts(desk: Desk) -> tuple[Texts, ...]:
    """The texts of every plan on the desk whose site is known, and every finding about them."""
    return tuple(_texts(desk, item) for item in desk.proposed if item.plan.site in desk.instance.sites)


def _texts(desk: Desk, item: ProposedPlan) -> Texts:
    if not item.plan.articles:
        return Texts(item=item, fits=True)
    commit = _commit(desk, item)
    if not commit:
        return Texts(item=item)
    plan = item.plan
    desk.doors.progress(f"reading the texts of {plan.path}")
    drafts, unread = desk.drafts(commit, plan.site, [article.source for article in plan.articles])
    found = {}
    for number, article in enumerate(plan.articles):
        where = desk.doors.files.where(item.data, item.path, ("articles", number, "fingerprint"))
        draft = drafts.get(article.source)
        if draft is None:
            _not_read(desk, item, article, unread.get(article.source), where)
        elif _fits(desk, item, article, draft, where):
            found[article.id] = draft
    return Texts(item=item, commit=commit, drafts=found, fits=len(found) == len(plan.articles))


def _commit(desk: Desk, item: ProposedPlan) -> str:
    """The commit that a plan's drafts are read at, which must be one that is known; "" where they are not read."""
    plan, sources = item.plan, item.plan.sources
    commit = desk.drafts_commit(desk.merged.commit)
    if not commit:
        return ""
    where = desk.doors.files.where(item.data, item.path, ("sources",))
    if not sources and desk.drafts_elsewhere:
        says = "the plan does not name the drafts' commit that its texts are read at"
        desk.found.problem("no-sources", item.path, says, where=where, next=f'publisher revise {plan.path} --reason "…"')
        return ""
    if sources and not desk.is_within(sources, commit if desk.drafts_elsewhere else desk.head):
        says = "the drafts' commit that it names is not part of the drafts' history"
        desk.found.problem("sources-unknown", item.path, says, where=where, next=f'publisher revise {plan.path} --reason "…"')
        return ""
    return sources or commit


def _not_read(desk: Desk, item: ProposedPlan, article: PlannedArticle, problem: InputProblem | None, where: str) -> None:
    if problem:
        desk.found.refusal(article.source, problem)
        return
    says = f"there is no draft at {article.source}"
    desk.found.problem("draft-missing", item.path, says, where=where, next=f'publisher revise {item.plan.path} --reason "…"')


def _fits(desk: Desk, item: ProposedPlan, article: PlannedArticle, draft: Draft, where: str) -> bool:
    revise = f'publisher revise {item.plan.path} --reason "…"'
    if draft.id != article.id:
        says = f"the plan names {article.id} for {article.source}, which says {draft.id}"
        desk.found.problem("id-differs", item.path, says, where=where, next=revise)
        return False
    if draft.draft_mark:
        says = f"{article.id} says of itself that it is a draft; such a text is never published"
        desk.found.problem("draft-mark", item.path, says, where=where, next="take the mark away, then publisher plan")
    found = fingerprint(draft)
    if found != article.fingerprint:
        says = f"{article.id} is planned as {short(article.fingerprint)}, its source is {short(found)}"
        if desk.moved and _at_head(desk, item.plan, article) == article.fingerprint:
            says = f"{says} since the default branch moved on; what is merged would not fit"
            desk.found.warn("base-moved", item.path, says, where=where, next=revise)
        else:
            desk.found.problem("fingerprint-differs", item.path, says, where=where, next=revise)
        return False
    if draft.category != article.category:
        says = f"the plan counts {article.id} under {article.category}, its source says {draft.category}"
        desk.found.problem("category-differs", item.path, says, where=where, next=revise)
    return not draft.draft_mark


def _at_head(desk: Desk, plan: Plan, article: PlannedArticle) -> str:
    """The fingerprint in the request's own tree, or ""."""
    if desk.drafts_elsewhere or plan.sources:
        return ""
    drafts, _ = desk.drafts(desk.head, plan.site, [article.source])
    draft = drafts.get(article.source)
    return fingerprint(draft) if draft else ""


def fingerprint(draft: Draft) -> str:
    return article_fingerprint({name: digest(data) for name, data in draft.files.items()}, draft.salt)


# --- drafts that the request changes ------------------------------------------------------------------------------------------


def review_drafts(desk: Desk) -> None:
    """Every finding about drafts that the request itself changes."""
    changed = desk.of(Area.DRAFT)
    if changed and desk.drafts_elsewhere:
        says = "drafts lie in another repository; nothing reads those here, and whoever may read this may read them"
        desk.found.warn(
            "drafts-elsewhere", "drafts", says, where=f"{changed[0].shown}:1:1", next="take them out of the request"
        )
        return
    sources: dict[str, set[str]] = {}
    for change in changed:
        if change.site in desk.instance.sites:
            sources.setdefault(change.site, set()).add("/".join(change.path.split("/")[:3]))
        if change.path in desk.merged.clashes:
            says = "the default branch changed this file too; what a merge makes of it is not known"
            desk.found.warn(
                "base-moved", change.path, says, where=f"{change.path}:1:1", next="update the branch, then look again"
            )
    for site, touched in sorted(sources.items()):
        _touched(desk, site, sorted(touched))


def _touched(desk: Desk, site: str, sources: list[str]) -> None:
    commit = desk.drafts_commit(desk.merged.commit)
    if not commit:
        return
    drafts, unread = desk.drafts(commit, site, sources)
    for source, problem in unread.items():
        # What is planned or queued was a problem above; this is somebody's work in progress.
        if not desk.found.has(problem.code, source):
            desk.found.warn(problem.code, source, problem.says, where=problem.where, next=problem.next)
    named = _named(desk, site)
    public = desk.view(site).production.content.texts
    for source in sources:
        draft = drafts.get(source)
        now = fingerprint(draft) if draft else ""
        for plan, request in named.get(source, ()):
            _outdated(desk, source, plan, request, now)
        if draft and draft.id in public:
            says = f"{draft.id} is public; what is public does not change by this alone"
            desk.found.note("public-draft", source, says, next=f'publisher change correct {draft.id} --reason "…"')


def _named(desk: Desk, site: str) -> dict[str, list[tuple[Plan, int]]]:
    """The plans that are still to be carried out, and those of other requests, by the sources that they name."""
    here = {item.plan.path for item in desk.proposed}
    plans: list[tuple[Plan, int]] = []
    for view in desk.view(site).plans.values():
        live = view.plan if view.history.payload else view.found
        if live and not (view.history.over or view.history.is_public) and view.path not in here:
            plans.append((live, 0))
    plans += [(plan, number) for number, plan in desk.others if plan.site == site]
    found: dict[str, list[tuple[Plan, int]]] = {}
    for plan, number in plans:
        for article in plan.articles:
            found.setdefault(article.source, []).append((plan, number))
    return found


def _outdated(desk: Desk, source: str, plan: Plan, request: int, now: str) -> None:
    article = next(article for article in plan.articles if article.source == source)
    if article.fingerprint == now:
        return
    where = f"{source}/{INDEX}:1:1"
    if request:
        says = f"request {request} proposes {article.id} at another text ({plan.path}), which fits no more once this is merged"
        desk.found.warn(
            "plan-outdated", source, says, where=where, next="publisher plan" if plan.kind is Kind.PUBLICATION else ""
        )
        return
    says = f"{plan.path} names {article.id} at another text; it keeps the one that was approved, or needs a revision to take this one"
    desk.found.warn("plan-outdated", source, says, where=where, next=f'publisher revise {plan.path} --reason "…"')
