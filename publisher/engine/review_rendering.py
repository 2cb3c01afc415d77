"""The site as it would be after a request, built and scanned: what a reviewer looks at, and the leak scan's verdict.

Rules:
* all plans of the request that have no problem are put on top of what is public, in the order in which they are due; a site is
  built once for all of them;
* the whole site is scanned for what stays private, as a run would; what an approved text says itself is no leak, so a text that
  quotes a draft which is still private then is told apart, for whoever approves it;
* theme and configuration are the released ones, else the default branch's; templates of a request are never rendered.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from publisher.domain.article import Draft, PublicArticle, Release, page_path
from publisher.domain.fingerprint import short
from publisher.domain.plan import Presentation
from publisher.domain.site_content import after
from publisher.domain.word_count import count_words
from publisher.engine.assembling import ReleaseAssembler
from publisher.engine.examining import Level
from publisher.engine.rendering import public_article, without_texts
from publisher.engine.review_desk import Desk, ProposedPlan
from publisher.engine.review_texts import Texts
from publisher.errors import InputProblem, StoppedForSafety

MOST_LEAKS_TOLD = 5
OF_THE_PLAN = frozenset({"unknown-output-version", "identity-changed", "text-unknown"})
"""Safety stops that a plan's own values cause: here they are findings about that plan."""


class Scan(StrEnum):
    CLEAN = "clean"
    LEAK = "leak"
    NOT_LOOKED = "not-looked"


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image beside an article: its bytes as they become public, and how many bytes of its source are left out."""

    name: str
    size: int
    left_out: int


@dataclass(frozen=True, kw_only=True)
class Article:
    """What can be said of an article without quoting it. ``words`` is None where its text was not looked at; ``page`` is its page
    in the rendered site, "" where there is none."""

    id: str
    url: str
    source: str
    category: str
    words: int | None = None
    images: tuple[Image, ...] = ()
    page: str = ""


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """One site: the scan's verdict with its reason, the release, and each plan's articles by its path."""

    site: str
    scan: Scan
    says: str
    leaks: tuple[str, ...] = ()
    release: str = ""
    files: int = 0
    articles: Mapping[str, tuple[Article, ...]] = field(default_factory=dict)


def render_site(desk: Desk, site: str, texts: Sequence[Texts], folder: Path | None) -> Rendered:
    """Builds and scans a site with the plans that may be carried out; writes it below ``folder`` when there is one."""
    ready = [item for item in texts if item.fits and not _has_problem(desk, item.item)]
    if not ready:
        missing = "the drafts' repository could not be read here" if desk.drafts_missing else ""
        says = desk.requested.closed or missing or "there is nothing to build before the problems are solved"
        return Rendered(site=site, scan=Scan.NOT_LOOKED, says=says)
    with tempfile.TemporaryDirectory(prefix="publisher-") as scratch:
        building = _Building(desk, site, ready, Path(scratch))
        with _of_the_plan(desk, ready[-1].item):
            release = building.build()
            leaks = building.leaks(release)
            if folder:
                shutil.copytree(release.root, folder / site)
            return _told(desk, site, texts, ready, building, release, leaks, bool(folder))
    return Rendered(site=site, scan=Scan.NOT_LOOKED, says="the site could not be built")


def _told(
    desk: Desk, site: str, texts: Sequence[Texts], ready: Sequence[Texts], building: _Building, release: Release,
    leaks: Sequence[str], written: bool,
) -> Rendered:  # fmt: skip
    left = len(texts) - len(ready)
    more = f"; {left} plan{'s' if left > 1 else ''} with problems left out" if left else ""
    if leaks:
        told = "; ".join(leaks[:MOST_LEAKS_TOLD])
        says = f"private text was found in {len(leaks)} places: {told}"
        desk.found.leak("leak", f"site-src/{site}", says, next="take it out of the text, or publish that article first")
    scan = Scan.LEAK if leaks else Scan.CLEAN
    says = f"private text was found in {len(leaks)} places" if leaks else f"nothing private in {len(release.files)} files"
    return Rendered(
        site=site, scan=scan, says=says + more, leaks=tuple(leaks), release=release.id, files=len(release.files),
        articles={item.item.path: tuple(building.told(item, written)) for item in ready},
    )  # fmt: skip


def _has_problem(desk: Desk, item: ProposedPlan) -> bool:
    about = {item.path, *(article.source for article in item.plan.articles)}
    return any(finding.level is Level.PROBLEM and finding.about in about for finding in desk.found.items)


@contextmanager
def _of_the_plan(desk: Desk, item: ProposedPlan) -> Iterator[None]:
    """What the plan's own texts or values are refused for is a finding; broken records of the site still stop the review."""
    try:
        with desk.found.reading(item.path):
            yield
    except StoppedForSafety as stop:
        if stop.code not in OF_THE_PLAN:
            raise
        desk.found.refusal(item.path, stop)


class _Building:
    """One site while it is built: the plans that are put on top of it, and the public form of each article."""

    def __init__(self, desk: Desk, site: str, ready: Sequence[Texts], scratch: Path) -> None:
        self._desk = desk
        self._site = site
        self._ready = ready
        self._scratch = scratch
        self._view = desk.view(site)
        doors = desk.doors
        self._assembler = ReleaseAssembler(
            reads=doors.reads, builder=doors.builder, site=site, scratch=scratch, progress=doors.progress
        )
        self._forms: dict[tuple[str, str], Mapping[str, bytes]] = {}
        self._steps: list[tuple[Texts, tuple[PublicArticle, ...]]] = []
        """Each plan with everything that is public before it is out."""
        self._after: tuple[PublicArticle, ...] = ()

    def build(self) -> Release:
        presentation = self._presentation()
        content = self._view.production.content
        for item in self._ready:
            content = after(content, without_texts(item.item.plan))
        request = self._assembler.request(content, presentation)
        articles = {article.id: article for article in request.articles}
        for item in self._ready:
            self._steps.append((item, tuple(articles.values())))
            for planned in item.item.plan.articles:
                known = articles.get(planned.id)
                draft = item.drafts[planned.id]
                articles[planned.id] = self._article(item, draft, public_article(
                    self._desk.doors.builder, item.item.plan, planned, draft, known
                ))  # fmt: skip
        self._after = tuple(articles.values())
        self._desk.doors.progress(f"building {self._site}: {len(articles)} articles")
        into = tempfile.mkdtemp(prefix="release-", dir=self._scratch)
        release = self._desk.doors.builder.build(replace(request, articles=self._after), into)
        self._compare(release)
        return release

    def _article(self, item: Texts, draft: Draft, article: PublicArticle) -> PublicArticle:
        self._forms[item.item.path, draft.id] = self._desk.doors.builder.public_form(draft, article)
        return article

    def _compare(self, release: Release) -> None:
        """A rollback names the release that it leads to."""
        plan = self._ready[-1].item.plan
        if plan.to_release and len(self._ready) == 1 and release.id != plan.to_release:
            says = f"the payload names release {short(plan.to_release)}, what it describes builds {short(release.id)}"
            revise = f'publisher revise {plan.path} --reason "…"'
            self._desk.found.problem("rollback-differs", self._ready[-1].item.path, says, next=revise)

    def _presentation(self) -> Presentation:
        """The newest that a plan brings (its commit is on the default branch: that was looked at), else the released one."""
        for item in reversed(self._ready):
            wanted = item.item.plan.presentation
            if wanted:
                return self._verified(item.item, wanted)
        live = self._view.production.presentation
        return Presentation(**live) if live else self._assembler.presentation_at(self._desk.base)

    def _verified(self, item: ProposedPlan, wanted: Presentation) -> Presentation:
        if self._site not in self._desk.doors.reads.instance(wanted.commit).sites:
            raise InputProblem(
                "presentation-without-site", f"the commit of its presentation has no site {self._site}", where=f"{item.path}:1:1",
                next="publisher change presentation",
            )  # fmt: skip
        found = self._assembler.presentation_at(wanted.commit, wanted.output)
        if found.digest != wanted.digest:
            raise InputProblem(
                "presentation-not-that", f"the plan names presentation {short(wanted.digest)}, its commit has {short(found.digest)}",
                where=f"{item.path}:1:1", next="publisher change presentation",
            )  # fmt: skip
        return found

    # --- the scan -----------------------------------------------------------------------------------------------------------

    def leaks(self, release: Release) -> tuple[str, ...]:
        """What of private drafts is in the whole site, as ``path: draft id``; and warnings about texts that quote one."""
        self._desk.doors.progress("scanning for private text")
        private = self._private()
        out: set[str] = set()
        for item, before in self._steps:
            out |= set(item.item.plan.article_ids)
            self._quotes(item, before, [draft for draft in private if draft.id not in out])
        still = [draft for draft in private if draft.id not in out]
        return self._desk.doors.builder.leaks(release, still, self._after)

    def _quotes(self, item: Texts, before: Sequence[PublicArticle], private: Sequence[Draft]) -> None:
        for planned in item.item.plan.articles:
            forms = self._forms[item.item.path, planned.id]
            own = {f"{planned.id}/{name}": data for name, data in forms.items()}
            others = [draft for draft in private if draft.id != planned.id]
            found = {line.rsplit(": ", 1)[1] for line in self._desk.doors.builder.leaks_in(own, others, before)}
            if found:
                says = f"{planned.id} says what also stands in {', '.join(sorted(found))}, which is still private then"
                self._desk.found.warn("quotes-a-draft", item.item.path, says, next="look whether that is meant")

    def _private(self) -> list[Draft]:
        """Every source of the site that is not public, as a run would look for it."""
        desk, texts = self._desk, self._view.production.content.texts
        public = {text.url.strip("/") for text in texts.values()}
        commit = desk.drafts_commit(desk.merged.commit)
        if not commit:
            return []
        sources = [s for s in desk.doors.reads.draft_sources(commit, self._site) if s.rsplit("/", 1)[-1] not in public]
        drafts, _ = desk.drafts(commit, self._site, sources)
        return [draft for draft in drafts.values() if draft.id not in texts]

    # --- what is told -------------------------------------------------------------------------------------------------------

    def told(self, item: Texts, written: bool) -> Iterator[Article]:
        for planned in item.item.plan.articles:
            draft, forms = item.drafts[planned.id], self._forms[item.item.path, planned.id]
            images = tuple(
                Image(name=name, size=len(data), left_out=max(0, len(draft.files[name]) - len(data)))
                for name, data in sorted(forms.items())
                if name in draft.files and name != "index.md"
            )
            yield Article(
                id=planned.id, url=planned.url, source=planned.source, category=planned.category,
                words=count_words(draft.body.reveal()), images=images,
                page=f"{self._site}/{page_path(planned.url)}" if written else "",
            )  # fmt: skip
