"""The audit of texts: that what was prepared is what the plan names, made from the sources that were approved.

Rules:
* the record's articles are the plan's, in order, with its ids, URLs, GUIDs and date; a correction keeps the date;
* each source, at the commit that was approved, has the plan's fingerprint, and its public form is the recorded one;
* every recorded file is in the object store with the recorded digest;
* the build source holds recorded texts, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from publisher.domain.article import Draft, PublicArticle
from publisher.domain.business_calendar import with_offset
from publisher.domain.facts import PublicText
from publisher.domain.fingerprint import article_fingerprint, digest, input_of, short, tree_digest
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import ChangeAction, Plan, PlannedArticle
from publisher.engine.audit_findings import Findings, line
from publisher.engine.audit_ledger import PLAIN_FILE, SiteLedger, recorded_text
from publisher.engine.audit_plans import Texts
from publisher.errors import ComeBackLater, Refusal, StoppedForSafety
from publisher.ports import GitReads, ReadsRepository, SiteBuilder

AT_ONCE = 50
"""Recorded texts whose files are read with one git process."""


class TextCheck:
    """Checks ``prepared`` records against plans and sources. ``count`` is how many texts were made again."""

    def __init__(self, *, reads: ReadsRepository, builder: SiteBuilder, found: Findings) -> None:
        self._reads = reads
        self._builder = builder
        self._found = found
        self.count = 0

    def check(self, texts: Texts, public: Mapping[str, PublicText]) -> None:
        """``public`` are the texts by id that were public before this plan's deploy."""
        where = line(texts.path, texts.event.n)
        with self._found.reading(where):
            self._check_digests(texts, where)
            if texts.plan is None:
                return  # that no plan is proven stands among the problems already
            self._check_plan(texts, texts.plan, where)
            for planned, text in zip(texts.plan.articles, texts.prepared.puts, strict=False):
                self._check_date(texts.plan, text, public.get(text.id), where)
                self._check_source(texts, planned, text, where)

    def _check_digests(self, texts: Texts, where: str) -> None:
        for text in texts.prepared.puts:
            if tree_digest(_recorded(text)) != text.digest:
                self._found.problem("prepared-differs", where, f"the digest of {text.id} is not that of its recorded files")

    def _check_plan(self, texts: Texts, plan: Plan, where: str) -> None:
        prepared = texts.prepared
        puts = [(text.id, text.url, text.guid, text.category) for text in prepared.puts]
        withdraws = [{"id": w.id, "url": w.url, "answer": w.answer, "to": w.to} for w in plan.withdrawals]
        named = [
            (puts, [(article.id, article.url, article.guid, article.category) for article in plan.articles], "articles"),
            ([dict(item) for item in prepared.withdraws], withdraws, "withdrawals"),
            (list(prepared.hides), list(plan.hides), "hidden articles"),
            ([dict(item) for item in prepared.reverts], [{"id": r.id, "digest": r.digest} for r in plan.reverts], "reverts"),
            (texts.event.fields["input"], input_of([article.fingerprint for article in plan.articles]), "inputs"),
            (texts.event.fields["output"], input_of([text.digest for text in prepared.puts]), "outputs"),
        ]
        for recorded, planned, what in named:
            if recorded != planned:
                self._found.problem("prepared-differs", where, f"the {what} of this record are not the plan's")

    def _check_date(self, plan: Plan, text: PublicText, before: PublicText | None, where: str) -> None:
        due = with_offset(plan.publish_at)
        if plan.action is ChangeAction.CORRECT:
            wanted = (before.date if before else "", due)
            if before is None:
                self._found.problem("not-public", where, f"{text.id} was corrected before it was public")
                return
        else:
            wanted = (due, "")
        if (text.date, text.updated) != wanted:
            self._found.problem("date-differs", where, f"{text.id} is dated otherwise than its plan says")

    # --- sources ----------------------------------------------------------------------------------------------------------

    def _check_source(self, texts: Texts, planned: PlannedArticle, text: PublicText, where: str) -> None:
        assert texts.plan is not None
        draft = self._draft(texts.plan, texts.commit, planned, where)
        if draft is None:
            return
        found = _fingerprint(draft)
        if (found, draft.id) != (planned.fingerprint, planned.id):
            says = f"{planned.id} was approved as {short(planned.fingerprint)}, its source there is {short(found)}"
            self._found.problem("fingerprint-differs", where, says)
            return
        self.count += 1
        if self._digests(draft, text) != _recorded(text):
            self._found.problem("text-differs", where, f"{text.id} was prepared as another text than its approved source makes")

    def makes(self, plan: Plan, commit: str, text: PublicText, where: str) -> bool | None:
        """Whether an approved plan's source makes exactly this text; None, with a finding, where it cannot be read."""
        planned = next(article for article in plan.articles if article.id == text.id)
        draft = self._draft(plan, commit, planned, where)
        if draft is None:
            return None
        due = with_offset(plan.publish_at)
        dated = text.updated == due if plan.action is ChangeAction.CORRECT else (text.date, text.updated) == (due, "")
        same = _fingerprint(draft) == planned.fingerprint and self._digests(draft, text) == _recorded(text)
        self.count += same
        return dated and same and (text.url, text.guid) == (planned.url, planned.guid)

    def _draft(self, plan: Plan, commit: str, planned: PlannedArticle, where: str) -> Draft | None:
        try:
            return self._reads.draft(plan.sources or commit, planned.source)
        except ComeBackLater:
            raise
        except StoppedForSafety as refusal:
            if plan.sources and refusal.code == "object-missing":
                says = f"{planned.id}: the drafts at {short(plan.sources)} are not in this clone"
                self._found.unproven("sources-unavailable", where, says)
                return None
            raise
        except Refusal:
            self._found.problem("source-missing", where, f"{planned.id}: the approved source cannot be read at its commit")
            return None

    def _digests(self, draft: Draft, text: PublicText) -> dict[str, str]:
        """The digests of the public form that a source makes, under the record's id, address and dates."""
        article = PublicArticle(
            id=text.id, url=text.url, guid=text.guid, title=draft.title.reveal(), summary=draft.summary.reveal(),
            category=draft.category, tags=draft.tags, date=text.date, updated=text.updated, body=draft.body.reveal(),
            files={name: data for name, data in draft.files.items() if name != "index.md"},
        )  # fmt: skip
        return {name: digest(data) for name, data in self._builder.public_form(draft, article).items()}


def _fingerprint(draft: Draft) -> str:
    return article_fingerprint({name: digest(data) for name, data in draft.files.items()}, draft.salt)


def _recorded(text: PublicText) -> dict[str, str]:
    return {name: pair[1] for name, pair in text.files.items()}


# --- recorded files and the build source --------------------------------------------------------------------------------------


def recorded_texts(ledger: SiteLedger, found: Findings) -> tuple[tuple[str, PublicText], ...]:
    """Every text that a ``prepared`` or ``baseline`` record names, with the place of its record."""
    texts: list[tuple[str, PublicText]] = []
    for name, events in ledger.events.items():
        for event in events:
            if event.type in (EventType.PREPARED, EventType.BASELINE):
                with found.reading(line(name, event.n)):
                    texts += [(line(name, event.n), recorded_text(item, name)) for item in event.fields["puts"]]
    return tuple(texts)


def check_recorded_files(git: GitReads, texts: Iterable[tuple[str, PublicText]], found: Findings) -> None:
    """That each recorded blob is there and has its recorded digest."""
    for batch in _batches(texts):
        blobs = _blobs(git, [oid for _, text in batch for oid, _ in text.files.values()])
        for where, text in batch:
            for name, (oid, expected) in text.files.items():
                data = blobs.get(oid)
                if data is None:
                    found.problem("text-missing", where, f"{text.id}: {name!a} is recorded as {short(oid)}, which is not there")
                elif digest(data) != expected:
                    found.problem("text-blob-differs", where, f"{text.id}: {name!a} is stored as other bytes than recorded")


def _batches(texts: Iterable[tuple[str, PublicText]]) -> Iterator[list[tuple[str, PublicText]]]:
    left = iter(texts)
    while batch := list(islice(left, AT_ONCE)):
        yield batch


def _blobs(git: GitReads, oids: list[str]) -> dict[str, bytes]:
    """The blobs that can be read; one that is missing hides none of the others."""
    try:
        return dict(git.blobs(oids))
    except StoppedForSafety:
        if len(oids) < 2:
            return {}
    half = len(oids) // 2
    return _blobs(git, oids[:half]) | _blobs(git, oids[half:])


def check_build_source(git: GitReads, state: str, site: str, texts: Iterable[tuple[str, PublicText]], found: Findings) -> None:
    """That ``site-src/<site>/articles`` holds one recorded text for each article, and nothing else."""
    top = f"site-src/{site}/articles"
    folders: dict[str, dict[str, str]] = {}
    for entry in git.tree(state, top):
        folder, _, name = entry.path.removeprefix(f"{top}/").partition("/")
        if entry.mode != PLAIN_FILE or not name:
            found.problem("build-source-differs", entry.path, "no record names this file")
        else:
            folders.setdefault(folder, {})[name] = entry.oid
    recorded: dict[str, list[dict[str, str]]] = {}
    prepared = set()
    for where, text in texts:
        recorded.setdefault(text.id, []).append({name: oid for name, (oid, _) in text.files.items()})
        if "/baseline/" not in where:
            prepared.add(text.id)
    for folder, files in folders.items():
        if files not in recorded.get(folder, []):
            found.problem("build-source-differs", f"{top}/{folder}", "no record names a text with these files")
    for article in sorted(prepared - set(folders)):
        found.problem("build-source-missing", f"{top}/{article}", "a text is recorded as prepared here, and is gone")
