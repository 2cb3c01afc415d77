"""Planning: which articles a date gets, written down once.

Rules:
* the date comes from the clock once, in the policy's zone; later everything reads the plan;
* articles come from the queue, in order, meeting the policy's shares, exactly as many as the policy says;
* an article that is public, in a live plan or in an open request is never taken again;
* a date that has a plan, an open request or a person's skip is not planned again;
* a proposal whose payload was rejected is not made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from publisher.domain.approval import Rejection, Subject
from publisher.domain.article import RESERVED_PAGES, Draft
from publisher.domain.business_calendar import business_date, with_offset
from publisher.domain.fingerprint import article_fingerprint, digest, input_of, short
from publisher.domain.plan import Conflict, Kind, Plan, PlannedArticle, plan_of
from publisher.domain.policy import Candidate, Policy, ShortQueue, take
from publisher.domain.queue import Queued, available
from publisher.engine.site_view import PlanView, SiteView
from publisher.engine.succession import check_successor
from publisher.errors import InputProblem, NeedsPerson, Refusal
from publisher.ports import OpenRequest, ReadsForge, ReadsRepository

FIRST_LOOK = 40
"""Queue entries whose drafts are opened at first; more only when the shares need them."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A plan to be reviewed, and the request that already proposes it (0 = none) with the other plans that stand there."""

    plan: Plan
    request: int = 0
    beside: tuple[Plan, ...] = ()


@dataclass(kw_only=True)
class Planner:
    """Plans dates of one site from one view. ``problems`` collects dates that could not be planned, with the reason."""

    reads: ReadsRepository
    forge: ReadsForge
    view: SiteView
    now: datetime
    problems: list[Refusal] = field(default_factory=list)

    def __post_init__(self) -> None:
        tips, site = self.view.tips, self.view.site.id
        self.policy: Policy = self.reads.policy(tips.default, site)
        self.requests = {item.number: item for item in self.forge.open_requests(tips)}
        self.requested: dict[str, tuple[int, Plan]] = {}
        self.proposed: list[Plan] = []
        for request in self.requests.values():
            self._note_requested(request)
        self.taken: dict[str, str] = dict.fromkeys(self.view.production.content.texts, "public")
        self.urls: dict[str, str] = {text.url: text.id for text in self.view.production.content.texts.values()}
        self.counts: dict[str, int] = {}
        for text in self.view.production.content.texts.values():
            self._count(text.category)
        # Of two requests for one date only one is brought up to date, and the articles of both are spoken for.
        for plan in (*self._live_plans(), *self.proposed):
            self._take(plan)

    def _note_requested(self, request: OpenRequest) -> None:
        for path in request.paths:
            name = path.removeprefix("plans/").removesuffix(".yaml")
            if name.startswith(f"{self.view.site.id}/") and "/gates/" not in name and path.endswith(".yaml"):
                try:
                    plan = self.reads.plan(request.head, name)
                except Refusal as problem:
                    self.problems.append(problem)
                    continue
                if plan:
                    self.requested[name] = (request.number, plan)
                    self.proposed.append(plan)

    def _live_plans(self) -> Sequence[Plan]:
        """A plan whose file was deleted is live until a person cancels it; of one in conflict both payloads are."""
        open_plans = [view for view in self.view.plans.values() if not view.history.canceled]
        plans = [plan for view in open_plans for plan in _live(view)]
        return [plan for plan in plans if plan and plan.kind is not Kind.CHANGE]

    def _take(self, plan: Plan) -> None:
        for article in plan.articles:
            if article.id not in self.taken:
                self.taken[article.id] = plan.path
                self._count(article.category)
            self.urls.setdefault(article.url, article.id)

    def _count(self, category: str) -> None:
        if category in self.policy.shares:
            self.counts[category] = self.counts.get(category, 0) + 1

    # --- dates ------------------------------------------------------------------------------------------------------------

    def dates(self, days: int) -> tuple[date, ...]:
        """The next ``days`` dates from today (or the policy's start), within its horizon."""
        first = max(business_date(self.now, self.policy.zone), self.policy.start)
        return tuple(first + timedelta(days=n) for n in range(min(days, self.policy.horizon_days)))

    def why_not(self, day: date) -> str:
        """Why a date gets no new plan, or ""."""
        path = self.path_of(day)
        if day < self.policy.start:
            return f"the policy starts on {self.policy.start}"
        if day.isoformat() in self.view.controls.skipped:
            return "it was skipped by a person"
        if path in self.view.plans:
            return "it has a plan"
        try:
            self.policy.instant(day)
        except ValueError:
            return f"{self.policy.zone_name} has no such date"
        return ""

    def path_of(self, day: date) -> str:
        return f"{self.view.site.id}/daily/{day.year:04d}/{day.isoformat()}"

    # --- proposals ---------------------------------------------------------------------------------------------------------

    def propose(self, days: Sequence[date]) -> tuple[Proposal, ...]:
        """Plans for the dates that lack one, in order. A date that cannot be filled stops those after it."""
        proposals = []
        for day in days:
            if self.why_not(day):
                continue
            try:
                proposals.append(self._propose(day))
            except Refusal as problem:
                self.problems.append(problem)
                break
        return tuple(proposals)

    def _propose(self, day: date) -> Proposal:
        path = self.path_of(day)
        if path in self.requested:
            return self._brought_up_to_date(day, *self.requested[path])
        plan = self._plan(day, [self._planned(draft) for draft in self._choose()])
        verdict = self.forge.verdict(self.view.tips, Subject(path=f"plans/{path}.yaml", payload=plan.payload))
        if isinstance(verdict, Rejection):
            raise NeedsPerson(
                "proposal-rejected", f"{day}: this payload ({short(plan.payload)}) was rejected in request {verdict.request}",
                next=f'publisher queue hold {plan.articles[0].id}, or publisher skip {day} --reason "…"', plan=path,
            )  # fmt: skip
        self._take(plan)
        return Proposal(plan=plan)

    def _brought_up_to_date(self, day: date, number: int, plan: Plan) -> Proposal:
        """An open request's plan at today's texts: the same articles, whatever the queue says now."""
        drafts = self._drafts([Queued(id=item.id, source=item.source) for item in plan.articles])
        marked = [item.id for item in plan.articles if item.id not in drafts]
        if marked:
            raise NeedsPerson(
                "marked-draft", f"{day}: {marked[0]} stands in request {number} and is marked as a draft now",
                next=f"close request {number}, or take the mark away", plan=plan.path,
            )  # fmt: skip
        beside = tuple(other for at, other in self.requested.values() if at == number and other.path != plan.path)
        return Proposal(
            plan=self._plan(day, [self._planned(draft) for draft in drafts.values()]), request=number, beside=beside
        )

    def _choose(self) -> tuple[Draft, ...]:
        queue = available(self.reads.queue(self.view.tips.default, self.view.site.id), self.taken)
        look = FIRST_LOOK
        while True:
            drafts = self._drafts(queue[:look])
            try:
                candidates = [Candidate(id=draft.id, category=draft.category) for draft in drafts.values()]
                return tuple(drafts[item.id] for item in take(self.policy, candidates, self.counts))
            except ShortQueue as short_queue:
                if look >= len(queue):
                    raise self._short(short_queue) from None
                look *= 4

    def _drafts(self, queue: Sequence[Queued]) -> dict[str, Draft]:
        drafts = {}
        found, problems = self.reads.drafts(self.view.tips.drafts, self.view.site.id, [entry.source for entry in queue])
        for entry in queue:
            if entry.source not in found:
                raise problems.get(entry.source) or InputProblem(
                    "draft-missing", "the queue names a draft that does not exist", where=f"{entry.source}/index.md:1:1",
                    next=f"publisher queue remove {entry.id}",
                )  # fmt: skip
            draft = found[entry.source]
            if draft.id != entry.id:
                raise InputProblem(
                    "queue-id-differs", f"the queue names {entry.id} for {entry.source}, which says {draft.id}",
                    where=f"plans/{self.view.site.id}/queue.yaml:1:1", next="publisher queue list",
                )  # fmt: skip
            if not draft.draft_mark:
                drafts[draft.id] = draft
        return drafts

    def _short(self, short_queue: ShortQueue) -> Refusal:
        of = f" of category {short_queue.category}" if short_queue.category else ""
        return NeedsPerson(
            "queue-short",
            f"the policy wants {short_queue.wanted} articles a day, and the queue has no further one{of} ({short_queue.found} found)",
            next="publisher queue add SOURCE",
        )

    def _planned(self, draft: Draft) -> PlannedArticle:
        return planned_article(self.view, draft, self.urls)

    def _plan(self, day: date, articles: Sequence[PlannedArticle]) -> Plan:
        site = self.view.site
        data: dict[str, Any] = {
            "kind": "publication", "site": site.id, "key": f"daily-publication:{day.isoformat()}", "date": day.isoformat(),
            "zone": self.policy.zone_name,
        }  # fmt: skip
        if self.policy.publish_time:
            data["publish_at"] = with_offset(self.policy.instant(day))
        data |= {
            "policy": {"version": self.policy.version, "digest": self.policy.digest},
            "revision": 1,
            "articles": [article_data(article) for article in articles],
        }
        if self.view.instance.drafts.remote:
            data["sources"] = self.view.tips.drafts
        if site.announce:
            data["announce"] = dict(site.announce)
        return plan_of(self.path_of(day), data)


def _live(view: PlanView) -> tuple[Plan | None, ...]:
    """The plan as its file has it now; beside it what its key is bound to, where the file is no revision of that."""
    if view.found is None:
        return (view.plan,)
    try:
        check_successor(view, view.found)
    except Conflict:
        return view.found, view.plan
    return (view.found,)


def planned_article(view: SiteView, draft: Draft, urls: Mapping[str, str]) -> PlannedArticle:
    """An article with the URL, GUID and fingerprint that it gets for ever."""
    url = f"/{draft.slug}/"
    if draft.slug in RESERVED_PAGES or urls.get(url, draft.id) != draft.id:
        raise InputProblem(
            "url-taken", f"the address {url} belongs to another page of the site", where=f"{draft.source}/index.md:1:1",
            next="rename the draft's folder",
        )  # fmt: skip
    files = {name: digest(data) for name, data in draft.files.items()}
    return PlannedArticle(
        id=draft.id, source=draft.source, category=draft.category, url=url, guid=view.site.guid_of(draft.id),
        fingerprint=article_fingerprint(files, draft.salt),
    )  # fmt: skip


def article_data(article: PlannedArticle) -> dict[str, Any]:
    data = {
        "id": article.id, "source": article.source, "category": article.category, "url": article.url, "guid": article.guid,
        "fingerprint": article.fingerprint,
    }  # fmt: skip
    return {**data, "was": article.was} if article.was else data


def by_request(proposals: Sequence[Proposal]) -> dict[int, tuple[Plan, ...]]:
    """What each request is to hold, by path: its proposals and, unchanged, whatever else it brings. 0 is a new request.

    A request keeps its set of plans for as long as it is open, because that set is what it is found again by (``marker_of``).
    """
    groups: dict[int, dict[str, Plan]] = {}
    for proposal in proposals:
        group = groups.setdefault(proposal.request, {})
        for other in proposal.beside:
            group.setdefault(other.path, other)
        group[proposal.plan.path] = proposal.plan
    return {number: tuple(group[path] for path in sorted(group)) for number, group in sorted(groups.items())}


def marker_of(files: Iterable[str]) -> str:
    """The same set of files proposes the same thing: a repetition finds its own request."""
    return "plans " + short(input_of(sorted(files)))
