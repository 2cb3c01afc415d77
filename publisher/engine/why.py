"""Why something is as it is: a plan, a date, an address or an article, answered from the ledger and from what people decided.

Rules:
* a plan's path or key, a date, an address and an article's id are told apart by their form alone;
* an article or an address is answered by every plan that ever named it, in order of the dates, and by the queue;
* a date is answered even where nothing has it: whether it was skipped, whether the site was paused, and what must happen next;
* reads only, and only what is known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from publisher.domain.business_calendar import business_date, in_utc, parse_date
from publisher.domain.ledger_events import Event, EventType
from publisher.domain.plan import Plan
from publisher.domain.public_pages import absolute
from publisher.engine.site_view import SiteView
from publisher.engine.why_story import Teller
from publisher.errors import Refusal, UsageProblem

SCHEMA = "publisher.why/1"
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
CHANGE_KEY = re.compile(r"change:([0-9]{4})-[0-9]{2}-[0-9]{2}-[1-9][0-9]*", re.ASCII)
DAILY_KEY = re.compile(r"daily-publication:([0-9]{4})-[0-9]{2}-[0-9]{2}", re.ASCII)
ARTICLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What somebody asks about. ``what`` is a plan's path, a date, an address (a URL or its path) or an article's id."""

    kind: str
    what: str


def question(text: str, sites: Sequence[str]) -> Question:
    """A question as people type it; ``sites`` are those that a key may belong to."""
    if DATE.fullmatch(text):
        return Question(kind="date", what=_day(text).isoformat())
    if text.startswith(("http://", "https://", "/")):
        return Question(kind="url", what=text)
    key = DAILY_KEY.fullmatch(text) or CHANGE_KEY.fullmatch(text)
    if key or text == "launch":
        if len(sites) != 1:
            raise UsageProblem("which-site", f"there are several sites: {', '.join(sites)}", next="add --site NAME")
        name = text.partition(":")[2]
        area = f"{'daily' if text.startswith('daily') else 'changes'}/{key[1]}/{name}" if key else "launch"
        return Question(kind="plan", what=f"{sites[0]}/{area}")
    if "/" in text:
        name = text.removeprefix("./").removeprefix("plans/").removesuffix(".yaml").strip("/")
        return Question(kind="plan", what=name)
    if ARTICLE.fullmatch(text):
        return Question(kind="article", what=text)
    raise UsageProblem(
        "bad-question", "ask about a plan, a date, an address or an article's id", next="publisher why 2026-12-01"
    )


def _day(text: str) -> date:
    try:
        return parse_date(text)
    except ValueError as rule:
        raise UsageProblem("bad-date", f"{rule}", next="publisher why 2026-12-01") from None


class Answer:
    """What is known about a question in one site."""

    def __init__(self, teller: Teller) -> None:
        self._teller = teller
        self._view: SiteView = teller.view

    def to(self, asked: Question) -> dict[str, Any]:
        """The site's answer; its ``plans`` are empty where the site knows nothing of it."""
        view = self._view
        answer: dict[str, Any] = {"site": view.site.id, "zone": view.site.zone_name, "paused": view.controls.paused}
        if asked.kind == "plan":
            return {**answer, **self._stories([asked.what] if asked.what in view.plans else [], [asked.what])}
        if asked.kind == "date":
            paths = [path for path, plan in self._files() if plan.day.isoformat() == asked.what]
            daily = f"{view.site.id}/daily/{asked.what[:4]}/{asked.what}"
            return {**answer, **self._stories(paths, [daily]), "date": self._date(asked.what, paths)}
        article = self._article_at(asked.what) if asked.kind == "url" else asked.what
        paths = [path for path, plan in self._files() if article and article in _named(view, path, plan)]
        return {**answer, **self._stories(paths, []), "article": self._article(article, paths)}

    # --- plans --------------------------------------------------------------------------------------------------------------

    def _stories(self, paths: Sequence[str], asked: Sequence[str]) -> dict[str, Any]:
        waiting = [row for path in asked if path not in self._view.plans for row in self._proposed(path)]
        return {"plans": [self._teller.tell(path) for path in paths], "proposed": waiting}

    def _files(self) -> Iterator[tuple[str, Plan]]:
        """Every plan of the site with the file that stands for it, by date and path."""
        found = []
        for path, plan in self._view.plans.items():
            file = plan.plan or plan.found or self._teller.bound(plan)
            found += [(path, file)] if file else []
        return iter(sorted(found, key=lambda item: (item[1].day, item[0])))

    def _proposed(self, path: str) -> list[dict[str, Any]]:
        """The open requests that bring a plan which is not merged."""
        view = self._view
        asked = self._teller.forge.open_requests(view.tips)
        rows = [item for item in asked if f"plans/{path}.yaml" in item.paths]
        return [{"plan": path, "request": item.number, "command": f"publisher approve {item.number}"} for item in rows]

    # --- a date -------------------------------------------------------------------------------------------------------------

    def _date(self, day: str, paths: Sequence[str]) -> dict[str, Any]:
        """What became of a date, where no plan's own story says it."""
        view = self._view
        controls = view.events.get(f"{view.site.id}/controls", ())
        skipped = next((e for e in controls if e.type is EventType.SKIPPED and e.fields.get("date") == day), None)
        today = business_date(self._teller.now, view.site.zone).isoformat()
        planned = any(path.split("/")[1] == "daily" for path in paths)
        command = "" if planned or skipped or day < today else f"publisher plan --site {view.site.id} --date {day}"
        return {
            "date": day, "planned": planned, "past": day < today, "skipped": _decision(skipped) if skipped else None,
            "command": command,
        }  # fmt: skip

    # --- an article ---------------------------------------------------------------------------------------------------------

    def _article_at(self, address: str) -> str:
        """The id of the article at a URL or a URL path of the site; "" where no record and no plan has it."""
        view = self._view
        if not address.startswith("/"):
            base, wanted = urlsplit(view.site.url), urlsplit(address)
            if (base.scheme, base.netloc) != (wanted.scheme, wanted.netloc):
                return ""
        known = {text.id: text.url for text in view.production.content.texts.values()}
        planned = {article.id: article.url for _, plan in self._files() for article in plan.articles}
        for name, url in (planned | known).items():
            if address in (url, url.rstrip("/"), absolute(view.site.url, url), absolute(view.site.url, url).rstrip("/")):
                return name
        return ""

    def _article(self, name: str, paths: Sequence[str]) -> dict[str, Any] | None:
        view = self._view
        content = view.production.content
        text = content.texts.get(name)
        place = self._place(name)
        if not name or (not paths and text is None and not place):
            return None
        state = "never public"
        if text:
            state = "withdrawn" if name in content.withdrawn else "hidden" if name in content.hidden else "public"
        return {
            "id": name, "url": text.url if text else "", "state": state, "text_of": text.plan if text else "",
            "since": text.date if text else "", "updated": text.updated if text else "", "queue": place,
        }  # fmt: skip

    def _place(self, name: str) -> dict[str, Any] | None:
        """Where an article stands in the queue, from 1."""
        try:
            queue = self._teller.reads.queue(self._view.tips.default, self._view.site.id)
        except Refusal:
            return None
        found = next(((n, item) for n, item in enumerate(queue, start=1) if item.id == name), None)
        return {"place": found[0], "of": len(queue), "held": found[1].held} if found else None


def _named(view: SiteView, path: str, plan: Plan) -> frozenset[str]:
    """The ids of the articles that a plan is about."""
    prepared = view.plans[path].history.prepared
    ids = {*plan.article_ids, *plan.hides, *(item.id for item in plan.withdrawals), *(item.id for item in plan.reverts)}
    return frozenset(ids | {text.id for text in prepared.puts} if prepared else ids)


def _decision(event: Event) -> dict[str, Any]:
    return {"at": event.at, "by": event.actor, "reason": str(event.fields.get("reason", ""))}


def answers(asked: Question, tellers: Sequence[Teller]) -> dict[str, Any]:
    """The whole answer. ``UsageProblem`` where nothing knows of what was asked about; a date is always answered."""
    sites = [Answer(teller).to(asked) for teller in tellers]
    known = [site for site in sites if asked.kind == "date" or site["plans"] or site["proposed"] or site.get("article")]
    if not known and asked.kind == "plan":
        raise UsageProblem("no-such-plan", f"there is no plan {asked.what}", next="publisher status", plan=asked.what)
    if not known:
        what = "no plan, no record and no queue here names it"
        raise UsageProblem("not-known", f"{asked.what}: {what}", next="publisher status --all, or git fetch")
    tips = tellers[0].view.tips
    return {
        "schema": SCHEMA, "asked": {"kind": asked.kind, "what": asked.what}, "now": in_utc(tellers[0].now),
        "default": tips.default, "state": tips.state, "sites": known,
    }  # fmt: skip
