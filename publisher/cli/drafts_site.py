"""A site as it will be once its drafts are public: rendered from the checkout's files for the writer's own browser.

Rules:
* what is public comes from the ledger, as every build takes it; drafts, queue, theme and configuration from the checkout;
* a draft that breaks a rule is left out and named by its place, so that the others can still be looked at;
* the pages lie in a temporary directory outside the repository, readable by this account only, and go when the server ends.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from publisher.domain.article import Draft, PublicArticle, Withdrawn
from publisher.domain.business_calendar import business_date, parse_instant, with_offset
from publisher.domain.instance import Site
from publisher.domain.policy import Policy
from publisher.errors import InputProblem, Refusal, UsageProblem
from publisher.ports import BuildRequest

if TYPE_CHECKING:
    from publisher.wiring import Wired

KEPT = 2
"""How many rendered folders stay: the newest, and the one that a request may still be reading."""

NOTHING_PUBLIC = frozenset({"no-commits", "not-an-instance", "unknown-site", "no-approval-rules"})
"""Refusals of a repository that has no committed site yet, so that nothing of it can be public."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What is public by the ledger's account: its articles, the addresses withdrawn, and every id that ever was."""

    articles: tuple[PublicArticle, ...] = ()
    withdrawn: tuple[Withdrawn, ...] = ()
    ids: frozenset[str] = frozenset()


class DraftsSite:
    """``folder`` gives the newest rendering, made again when a file it depends on has changed.

    ``unqueued`` also shows drafts that are not queued; ``tell`` hears of drafts that are left out.
    """

    def __init__(self, wired: Wired, site: str, *, unqueued: bool, tell: Callable[[str], None]) -> None:
        self._wired = wired
        self._root = wired.root
        self._site = site
        self._unqueued = unqueued
        self._tell = tell
        self._lock = threading.Lock()
        self._seen: Sequence[tuple[str, int, int]] | None = None
        self._made: list[Path] = []
        self._problem: Refusal | None = None
        self._scratch = Path(tempfile.mkdtemp(prefix="publisher-drafts-")).resolve()
        if self._scratch.is_relative_to(self._root.resolve()):
            self.close()
            raise UsageProblem(
                "temporary-inside",
                "the directory for temporary files lies in the repository",
                next="TMPDIR=/tmp publisher serve",
            )

    def close(self) -> None:
        """Removes everything that was rendered."""
        shutil.rmtree(self._scratch, ignore_errors=True)

    def folder(self) -> Path:
        """The newest rendering. Raises the refusal that rendering gave, until a file changes."""
        with self._lock:
            seen = tuple(_signs(self._root, self._wired.git.git_dir(), self._site))
            if seen != self._seen:
                self._seen = seen
                self._render()
            if self._problem:
                raise self._problem
            return self._made[-1]

    def _render(self) -> None:
        self._problem = None
        try:
            into = Path(tempfile.mkdtemp(dir=self._scratch))
            self._wired.builder.build(self._request(), str(into))
            self._made.append(into)
        except Refusal as problem:
            self._problem = problem
            self._tell(f"not rendered: {problem}")
        while len(self._made) > KEPT:
            shutil.rmtree(self._made.pop(0), ignore_errors=True)

    def _request(self) -> BuildRequest:
        from publisher.gitstore import working_tree

        site = working_tree.read_instance(self._root).sites.get(self._site)
        if site is None:
            raise InputProblem("unknown-site", f"publisher.yaml has no site {self._site} any more", where="publisher.yaml:1:1")
        theme = _files(self._root / "site-src" / self._site / "theme")
        if not theme:
            raise InputProblem("no-theme", f"site-src/{self._site}/theme is empty", next=f"publisher init --site {self._site}")
        shown = self._shown()
        return BuildRequest(
            site=site,
            articles=(*shown.articles, *self._coming(site, shown)),
            withdrawn=shown.withdrawn,
            theme=theme,
            static=_files(self._root / "site-src" / self._site / "static"),
            output=_newest_output(),
        )

    def _shown(self) -> Shown:
        from publisher.engine.assembling import ReleaseAssembler
        from publisher.engine.site_view import load

        wired = self._wired
        try:
            view = load(wired.store, wired.forge, wired.store.tips(), self._site, judge=False)
        except Refusal as refusal:
            if refusal.code in NOTHING_PUBLIC:
                return Shown()
            raise
        content = view.production.content
        assembler = ReleaseAssembler(
            reads=wired.store, builder=wired.builder, site=self._site, scratch=self._scratch, progress=wired.progress
        )
        withdrawn = tuple(Withdrawn(**item) for item in content.withdrawn.values())
        return Shown(articles=assembler.articles(content), withdrawn=withdrawn, ids=frozenset(content.texts))

    def _coming(self, site: Site, shown: Shown) -> Iterator[PublicArticle]:
        """The drafts in the queue's order, on the days that the policy would give them, then the unqueued ones."""
        from publisher.gitstore import working_tree

        last = max((parse_instant(article.date) for article in shown.articles), default=None)
        days = _days(working_tree.read_policy(self._root, self._site), site, self._wired.clock.now(), last)
        taken = set(shown.ids)
        day = next(days)
        for source in self._sources():
            try:
                draft = working_tree.read_draft(self._root, source, self._wired.builder.references)
                if draft.id in taken:
                    continue
                article = self._public_form(site, draft, with_offset(day))
            except Refusal as problem:
                self._tell(f"left out: {problem}")
                continue
            taken.add(draft.id)
            day = next(days)
            yield article

    def _sources(self) -> tuple[str, ...]:
        from publisher.gitstore import queue_file, working_tree

        queued = [entry.source for entry in queue_file.read(self._root, self._site)]
        others = working_tree.draft_sources(self._root, self._site) if self._unqueued else ()
        return tuple(dict.fromkeys([*queued, *others]))

    def _public_form(self, site: Site, draft: Draft, date: str) -> PublicArticle:
        builder = self._wired.builder
        article = PublicArticle(
            id=draft.id, url=f"/{draft.slug}/", guid=site.guid_of(draft.id), title=draft.title.reveal(),
            summary=draft.summary.reveal(), category=draft.category, tags=draft.tags, date=date, body=draft.body.reveal(),
            files={name: data for name, data in draft.files.items() if name != "index.md"},
        )  # fmt: skip
        return builder.read_public_form(builder.public_form(draft, article))


def _newest_output() -> int:
    from publisher.engine.assembling import OUTPUT

    return OUTPUT


def _days(policy: Policy | None, site: Site, now: datetime, last: datetime | None) -> Iterator[datetime]:
    """One instant for each article to come: as many a day as the policy says, from today or its start, after the last one."""
    if policy is None:
        while True:
            yield now.astimezone(site.zone)
    first = max(business_date(now, policy.zone), policy.start)
    if last is not None:
        first = max(first, business_date(last, policy.zone) + timedelta(days=1))
    for number in count():
        yield policy.instant(first + timedelta(days=number // policy.quantity))


def _files(folder: Path) -> Mapping[str, bytes]:
    """The plain files below a folder by relative path."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _signs(root: Path, git_dir: Path, site: str) -> Iterator[tuple[str, int, int]]:
    """Path, time and size of everything that a rendering depends on: another sequence means that something changed."""
    files = [root / "publisher.yaml", root / f"plans/{site}/queue.yaml", root / f"plans/{site}/policy.yaml"]
    files += [git_dir / "HEAD", git_dir / "packed-refs"]
    folders = [
        root / "drafts" / site,
        root / "site-src" / site / "theme",
        root / "site-src" / site / "static",
        git_dir / "refs",
    ]
    for path in (*files, *(path for folder in folders for path in sorted(folder.rglob("*")))):
        with suppress(FileNotFoundError):
            facts = path.stat()
            yield str(path), facts.st_mtime_ns, facts.st_size
