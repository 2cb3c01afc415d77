"""Change plans, revisions and launches: the values of their files, from what is public and what the repository holds.

What is public changes by these alone, and each is approved like a publication. Nothing here writes: a proposal is a plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from publisher.domain.article import SLUG, URL_PATH
from publisher.domain.business_calendar import business_date
from publisher.domain.facts import PublicText
from publisher.domain.fingerprint import article_fingerprint, digest
from publisher.domain.lines import steps_of
from publisher.domain.plan import Kind, Plan, Presentation, plan_of
from publisher.domain.site_content import Content, after
from publisher.engine.planning import article_data, planned_article
from publisher.engine.site_view import SiteView
from publisher.errors import InputProblem, NeedsPerson, UsageProblem
from publisher.ports import Assembler, ReadsForge, ReadsRepository


def next_change(reads: ReadsRepository, forge: ReadsForge, view: SiteView, day: date) -> str:
    """The name of the day's next change plan, counting open requests too: ``2026-12-03-1``."""
    folder = f"{view.site.id}/changes/{day.year:04d}/"
    names = {path for path in view.plans if path.startswith(folder)}
    names |= {path for path in reads.plan_paths(view.tips.default, view.site.id) if path.startswith(folder)}
    for request in forge.open_requests(view.tips):
        names |= {path.removeprefix("plans/").removesuffix(".yaml") for path in request.paths}
    number = 1
    while f"{folder}{day.isoformat()}-{number}" in names:
        number += 1
    return f"{day.isoformat()}-{number}"


def change_plan(view: SiteView, name: str, day: date, action: str, reason: str, fields: Mapping[str, Any]) -> Plan:
    """A change plan of a site for a day (``YYYY-MM-DD-n``)."""
    site = view.site
    data = {
        "kind": "change", "site": site.id, "key": f"change:{name}", "date": day.isoformat(), "zone": site.zone_name,
        "revision": 1, "action": action, "reason": reason, **fields,
    }  # fmt: skip
    return plan_of(f"{site.id}/changes/{day.year:04d}/{name}", data)


def today(view: SiteView, now: datetime) -> date:
    return business_date(now, view.site.zone)


def public_text(view: SiteView, article: str, *, hidden: bool = False) -> PublicText:
    """The public text of an article, named by id or by URL path; with ``hidden``, also one that a rollback hid."""
    content = view.production.content
    texts = [text for text in content.texts.values() if text.id not in content.withdrawn] if hidden else content.shown
    found = next((text for text in texts if article in (text.id, text.url)), None)
    if found is None:
        raise UsageProblem(
            "not-public", f"{article} is not public on {view.site.id}", next=f"publisher log --site {view.site.id}"
        )
    return found


def correction(reads: ReadsRepository, view: SiteView, articles: Sequence[str]) -> dict[str, Any]:
    """Articles whose source was changed: id, URL, GUID and date stay. It also shows again what a rollback hid."""
    planned = []
    for name in articles:
        text = public_text(view, name, hidden=True)
        source = source_of(reads, view, text.id)
        draft = reads.draft(view.tips.drafts, source)
        files = {file: digest(data) for file, data in draft.files.items()}
        planned.append(
            {
                "id": text.id,
                "source": source,
                "category": draft.category,
                "url": text.url,
                "guid": text.guid,
                "fingerprint": article_fingerprint(files, draft.salt),
                "was": text.digest,
            }
        )
    return {"articles": planned, **_sources(view)}


def _sources(view: SiteView) -> dict[str, str]:
    return {"sources": view.tips.drafts} if view.instance.drafts.remote else {}


def source_of(reads: ReadsRepository, view: SiteView, article: str) -> str:
    """Where an article's private source lies today, by its id."""
    for source in reads.draft_sources(view.tips.drafts, view.site.id):
        if reads.draft(view.tips.drafts, source).id == article:
            return source
    raise NeedsPerson("no-source", f"no draft has the id {article}", next=f"ls drafts/{view.site.id}")


def withdrawal(view: SiteView, article: str, redirect_to: str) -> dict[str, Any]:
    """Gone (the address answers 404), or a redirect to another address of the site."""
    text = public_text(view, article)
    if redirect_to and not URL_PATH.fullmatch(redirect_to):
        raise UsageProblem("bad-redirect", "a redirect leads to a path of the site such as /fences/")
    item = {"id": text.id, "url": text.url, "answer": "redirect" if redirect_to else "gone"}
    return {"withdrawals": [{**item, "to": redirect_to} if redirect_to else item]}


def presentation(view: SiteView, assembler: Assembler) -> dict[str, Any]:
    """The theme and configuration at the default branch's tip."""
    found = assembler.presentation_at(view.tips.default)
    live = view.production.presentation
    if live and live["digest"] == found.digest:
        raise UsageProblem("same-presentation", "theme and configuration are what the site is shown in already")
    return {"presentation": _presentation_data(found)}


def _presentation_data(value: Presentation) -> dict[str, Any]:
    return {"commit": value.commit, "output": value.output, "digest": value.digest}


def rollback(view: SiteView, assembler: Assembler, number: int) -> dict[str, Any]:
    """Back to the content and presentation after deployment ``number``, as one list of what that hides and reverts.

    Withdrawn articles do not return; what later deployments added is hidden until it is shown again by a correction.
    """
    deployments = [item for item in view.production.deployments if item.number <= number]
    if not deployments or deployments[-1].number != number or number == view.production.deployment:
        raise UsageProblem(
            "no-such-deployment", f"there is no earlier deployment {number}", next=f"publisher log --site {view.site.id}"
        )
    then = Content()
    shown_in = deployments[-1].presentation
    for item in deployments:
        then = after(then, item.prepared)
        shown_in = item.presentation or shown_in
    now = view.production.content
    hides = [text.id for text in now.shown if text.id not in {old.id for old in then.shown}]
    reverts = [
        {"id": text.id, "digest": text.digest}
        for text in then.shown
        if text.id in now.texts and now.texts[text.id].digest != text.digest and text.id not in now.withdrawn
    ]
    data = {"hides": hides, "reverts": reverts, "presentation": dict(shown_in)}
    release = assembler.build(_rolled_back(now, hides, reverts), Presentation(**shown_in))
    return {**data, "to_release": release.id}


def _rolled_back(now: Content, hides: Sequence[str], reverts: Sequence[Mapping[str, str]]) -> Content:
    texts = {**now.texts, **{item["id"]: now.known[item["id"], item["digest"]] for item in reverts}}
    return Content(texts=texts, withdrawn=now.withdrawn, hidden=now.hidden | set(hides), known=now.known)


def revision(reads: ReadsRepository, view: SiteView, path: str, reason: str, swap: Mapping[str, str]) -> Plan:
    """The next revision of a plan, at today's texts; ``swap`` maps article ids to the queued ids that take their places."""
    plan_view = view.plans.get(path)
    if plan_view and (plan_view.history.is_public or plan_view.history.over):
        public = not plan_view.history.canceled
        raise NeedsPerson(
            "already-public" if public else "canceled",
            f"{path} is {'public; correct or withdraw instead' if public else 'canceled, and nothing further of it runs'}",
            next="publisher change --help" if public else "publisher plan", plan=path,
        )  # fmt: skip
    # What the key is bound to, whatever stands in the file now: only its revision leads out of a conflict.
    old = plan_view.plan or plan_view.found if plan_view else None
    if plan_view is None or old is None:
        raise UsageProblem("no-such-plan", f"there is no open plan {path}", next="publisher status", plan=path)
    queue = {entry.id: entry for entry in reads.queue(view.tips.default, view.site.id)} if swap else {}
    urls = {text.url: text.id for text in view.production.content.texts.values()}
    articles = []
    for article in old.articles:
        other = swap.get(article.id)
        if other and other not in queue:
            raise InputProblem(
                "not-queued",
                f"{other} is not in the queue",
                where=f"plans/{view.site.id}/queue.yaml:1:1",
                next="publisher queue list",
            )
        draft = reads.draft(view.tips.drafts, queue[other].source if other else article.source)
        planned = planned_article(view, draft, urls)
        kept = {} if other else {"url": article.url, "guid": article.guid, "was": article.was}
        articles.append({**article_data(planned), **{name: value for name, value in kept.items() if value}})
    bound = plan_view.history.payload or old.payload
    data = {**old.data, "revision": old.revision + 1, "supersedes": bound, "reason": reason}
    if articles:
        data["articles"] = articles
    data |= _sources(view)
    return plan_of(path, data)


def launch_plan(reads: ReadsRepository, view: SiteView, sources: Sequence[str], steps: Sequence[str], now: datetime) -> Plan:
    """A launch of a site with its first articles. ``steps`` are rows of the launch line."""
    site = view.site
    if view.production.release:
        raise NeedsPerson("already-public", f"{site.id} is public already", next=f"publisher status --site {site.id}")
    try:
        steps_of(str(Kind.LAUNCH), tuple(steps))
    except ValueError as rule:
        raise UsageProblem("bad-steps", f"{rule}", next="publisher plan --launch --help") from None
    articles = []
    for source in sources:
        if not SLUG.fullmatch(source.rsplit("/", 1)[-1]):
            raise UsageProblem("bad-source", "a source is a folder such as drafts/<site>/<slug>")
        articles.append(article_data(planned_article(view, reads.draft(view.tips.drafts, source), {})))
    data: dict[str, Any] = {
        "kind": "launch", "site": site.id, "key": "launch", "date": today(view, now).isoformat(), "zone": site.zone_name,
        "revision": 1, "steps": list(steps), **({"articles": articles} if articles else {}), **_sources(view),
    }  # fmt: skip
    return plan_of(f"{site.id}/launch", data)
