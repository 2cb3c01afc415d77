"""Restoring a ledger that is lost or older than the public site, from public facts; and repairing a target from the ledger.

Rules:
* public facts come first: the manifest on the configured domain and the bytes at the target; unreachable is not absent;
* nothing is selected: every article in the manifest is recorded as public with the id, URL, GUID and date found there;
* its text is rebuilt from approved sources, and believed only when the whole release builds to the id that is live;
* a restore starts a higher epoch with a new random id, so that a fencing number of the lost ledger is worth nothing;
* plans whose articles are all public are recorded as restored: nothing of them runs again; whether anybody was told is unknown then,
  and a person's to settle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from publisher.domain.article import MANIFEST_PATH, ManifestEntry, PublicArticle, Withdrawn
from publisher.domain.business_calendar import in_utc, with_offset
from publisher.domain.claim import Fence
from publisher.domain.facts import PublicText
from publisher.domain.fingerprint import article_fingerprint, digest, short, tree_digest
from publisher.domain.history import History
from publisher.domain.ledger_events import EventType, NewEvent
from publisher.domain.plan import ChangeAction, Kind, Plan, PlannedArticle, Presentation
from publisher.domain.public_pages import absolute
from publisher.domain.public_site import PublicManifest, read_manifest
from publisher.domain.site_content import Content
from publisher.engine.bench import Doors
from publisher.engine.site_view import SiteView, load
from publisher.errors import ComeBackLater, NeedsPerson, Refusal, StoppedForSafety
from publisher.ports import Assembler, Batch, Live, Tips

ANNOUNCE = "announce"
MOST_PRESENTATIONS = 60
MOST_ROUNDS = 6


@dataclass(kw_only=True)
class Restored:
    """What a restore found and wrote."""

    site: str
    epoch: int
    release: str
    articles: int
    plans: list[str] = field(default_factory=list)


def read_public(doors: Doors, view: SiteView) -> PublicManifest | None:
    """The public manifest. ``ComeBackLater`` when the site cannot be read; None only for a definite 404."""
    url = absolute(view.site.url, MANIFEST_PATH)
    seen = doors.probes(view.site).look([url], seconds=20.0, bust=doors.new_nonce()[:12])[url]
    manifest = read_manifest(seen)
    if manifest and manifest.site != view.site.id:
        raise StoppedForSafety(
            "foreign-site",
            f"the domain shows another site than {view.site.id}; nothing is taken from it",
            next="publisher doctor",
        )
    return manifest


def restore(doors: Doors, assembler: Assembler, site_id: str) -> Restored:
    """Rebuilds the ledger of a site from public facts and approved sources. Repeatable: a second one changes the epoch only."""
    tips = doors.records.refresh()
    view = load(doors.reads, doors.forge, tips, site_id)
    manifest = read_public(doors, view)
    live = doors.target(view.site).look()
    if manifest is None and live.release:
        raise StoppedForSafety(
            "target-not-public", "the target holds a release, but its domain shows no manifest", next="publisher doctor"
        )
    public = manifest or PublicManifest(site=view.site.id, articles=(), withdrawn=())
    source = Sources(doors=doors, view=view, plans=_all_plans(doors, view))
    # A release may show no article (all withdrawn, or none yet): it is live all the same, and the next one is built on it.
    found = _reproduce(source, assembler, public, live.release) if public.articles or live.release else None
    events = _events(view, source, public, found, live, doors)
    tips = _write(doors, view, tips, events, _text_files(doors, site_id, found))
    epoch = events.epoch
    fence = Fence(epoch=epoch.fields["epoch"], epoch_id=epoch.fields["epoch_id"], number=0, nonce=doors.new_nonce())
    target = doors.target(view.site)
    if target.can_fence:
        doors.progress("raising the fence at the target to the new epoch")
        target.raise_fence(fence)
    return Restored(
        site=site_id, epoch=fence.epoch, release=live.release, articles=len(public.articles), plans=sorted(events.plans)
    )  # fmt: skip


# --- texts --------------------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Sources:
    """Where the text of a public article can come from: records that survived, approved plans, the draft with its id."""

    doors: Doors
    view: SiteView
    plans: tuple[Plan, ...]

    def candidates(self, entry: ManifestEntry) -> tuple[PublicText, ...]:
        """Possible public texts of an article, the most likely first, without repeats."""
        texts = [text for (name, _), text in self.view.production.content.known.items() if name == entry.id]
        current = self.view.production.content.texts.get(entry.id)
        found = [*([current] if current else []), *reversed(texts)]
        naming = [(plan, article) for plan in self.plans for article in plan.articles if article.id == entry.id]
        for plan, article in sorted(naming, key=lambda pair: pair[0].publish_at, reverse=True):
            text = self._from_plan(entry, plan, article)
            if text:
                found.insert(0, text)
        if not found:
            found = [text for text in [self._from_draft(entry)] if text]
        unique = {
            text.digest: text for text in found if (text.url, text.guid, text.date) == (entry.url, entry.guid, entry.date)
        }
        return tuple(unique.values())

    def _from_plan(self, entry: ManifestEntry, plan: Plan, article: PlannedArticle) -> PublicText | None:
        commit = plan.sources or self.doors.reads.last_change(self.view.tips.default, f"plans/{plan.path}.yaml")
        correction = plan.kind is Kind.CHANGE
        updated = with_offset(plan.publish_at) if correction else ""
        return self._text(entry, commit, article.source, plan.path, updated, article.fingerprint)

    def _from_draft(self, entry: ManifestEntry) -> PublicText | None:
        reads, view = self.doors.reads, self.view
        for source in reads.draft_sources(view.tips.drafts, view.site.id):
            try:
                if reads.draft(view.tips.drafts, source).id == entry.id:
                    return self._text(entry, view.tips.drafts, source, "", "", "")
            except Refusal:
                continue  # a draft in progress cannot be this public article's source
        return None

    def _text(
        self, entry: ManifestEntry, commit: str, source: str, plan: str, updated: str, fingerprint: str
    ) -> PublicText | None:
        try:
            draft = self.doors.reads.draft(commit, source)
        except Refusal:
            return None
        files = {name: digest(data) for name, data in draft.files.items()}
        if fingerprint and article_fingerprint(files, draft.salt) != fingerprint:
            return None
        article = PublicArticle(
            id=entry.id, url=entry.url, guid=entry.guid, title=draft.title.reveal(), summary=draft.summary.reveal(),
            category=draft.category, tags=draft.tags, date=entry.date, updated=updated, body=draft.body.reveal(),
            files={name: data for name, data in draft.files.items() if name != "index.md"},
        )  # fmt: skip
        form = self.doors.builder.public_form(draft, article)
        digests = {name: digest(data) for name, data in form.items()}
        return PublicText(
            id=entry.id, url=entry.url, guid=entry.guid, date=entry.date, updated=updated, digest=tree_digest(digests),
            files={name: (self.doors.records.keep(data), digests[name]) for name, data in form.items()},
            category=draft.category, plan=plan,
        )  # fmt: skip

    def presentations(self, assembler: Assembler) -> Iterator[Presentation]:
        """Possible presentations: recorded ones, approved presentation changes, then the commits of approved plans, newest first."""
        if self.view.production.presentation:
            yield Presentation(**self.view.production.presentation)
        for plan in sorted(self.plans, key=lambda item: item.publish_at, reverse=True):
            if plan.presentation:
                yield plan.presentation
        seen = set()
        for plan in sorted(self.plans, key=lambda item: item.publish_at):
            commit = self.doors.reads.last_change(self.view.tips.default, f"plans/{plan.path}.yaml")
            found = assembler.presentation_at(commit) if commit else None
            if found and found.digest not in seen:
                seen.add(found.digest)
                yield found
        yield assembler.presentation_at(self.view.tips.default)


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    content: Content
    presentation: Presentation


def _all_plans(doors: Doors, view: SiteView) -> tuple[Plan, ...]:
    files = doors.reads.plans(view.tips.default, view.site.id)
    return tuple(file.plan for file in files if file.plan)


def _reproduce(source: Sources, assembler: Assembler, public: PublicManifest, release: str) -> Reproduced:
    """Texts and presentation whose release has the id that is live; ``StoppedForSafety`` when none has."""
    choices = {entry.id: source.candidates(entry) for entry in public.articles}
    missing = [name for name, texts in choices.items() if not texts]
    if missing:
        raise NeedsPerson(
            "no-source",
            f"no approved source gives the public text of {', '.join(missing)}",
            next="bring the sources back, then again",
        )
    pages = {entry.id: entry.digest for entry in public.articles}
    for presentation in islice(source.presentations(assembler), MOST_PRESENTATIONS):
        found = _try(source, assembler, presentation, choices, pages, public, release)
        if found:
            return found
    raise StoppedForSafety(
        "not-reproducible",
        f"no approved sources and presentation build the live release {short(release)}; nothing was recorded",
        next="publisher doctor",
    )


def _try(
    source: Sources,
    assembler: Assembler,
    presentation: Presentation,
    choices: Mapping[str, Sequence[PublicText]],
    pages: Mapping[str, str],
    public: PublicManifest,
    release: str,
) -> Reproduced | None:
    picks = dict.fromkeys(choices, 0)
    for _ in range(MOST_ROUNDS):
        texts = {name: choices[name][index] for name, index in picks.items()}
        content = Content(texts=texts, withdrawn={item.id: _withdrawn_data(item) for item in public.withdrawn})
        built = assembler.build(content, presentation)
        if built.id == release:
            return Reproduced(content=content, presentation=presentation)
        wrong = [name for name, text in texts.items() if _page(built.files, text.url) != pages[name]]
        turned = [name for name in wrong if picks[name] + 1 < len(choices[name])]
        if not turned:
            return None
        for name in turned:
            picks[name] += 1
    return None


def _withdrawn_data(item: Withdrawn) -> dict[str, str]:
    return {"id": item.id, "url": item.url, "answer": item.answer, "to": item.to}


def _page(files: Mapping[str, str], url: str) -> str:
    return files.get(url.strip("/") + "/index.html", "")


# --- records -------------------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class RestoreEvents:
    epoch: NewEvent
    by_path: dict[str, list[NewEvent]]
    plans: list[str]


def _events(
    view: SiteView, source: Sources, public: PublicManifest, found: Reproduced | None, live: Live, doors: Doors
) -> RestoreEvents:
    now, release = in_utc(doors.clock.now()), live.release
    # The target may have accepted a later epoch than the ledger that is left knows of.
    number = max(view.standing.epoch, live.fence.epoch if live.fence else 0) + 1
    epoch = NewEvent(type=EventType.EPOCH, fields={"epoch": number, "epoch_id": doors.new_nonce(), "reason": "restored"})
    by_path: dict[str, list[NewEvent]] = {f"{view.site.id}/claims/{now[:4]}": [epoch]}
    if found:
        fields = {
            "deployment": view.production.deployment + 1, "release": release, "why": "restored",
            "puts": [{**text.as_data()} for text in found.content.texts.values()],
            "withdraws": [_withdrawn_data(item) for item in public.withdrawn],
            "presentation": {
                "commit": found.presentation.commit, "output": found.presentation.output, "digest": found.presentation.digest,
            },
        }  # fmt: skip
        by_path[f"{view.site.id}/baseline/{number:04d}"] = [NewEvent(type=EventType.BASELINE, fields=fields)]
    plans = []
    for plan in source.plans:
        history = view.plans[plan.path].history if plan.path in view.plans else None
        if not _is_known(history) and _is_public(plan, public, found):
            urls = [absolute(view.site.url, article.url) for article in plan.articles]
            tells = plan.announce is not None
            by_path[plan.path] = [_restored(plan.payload, release, urls, tells=tells)]
            plans.append(plan.path)
    for path, plan_view in view.plans.items():
        intent, prepared = plan_view.history.intent, plan_view.history.prepared
        if path not in by_path and intent and prepared and intent.release == release:
            # Its file is gone from the default branch, and its release is what is live: the baseline says so, and nothing is open.
            urls = [absolute(view.site.url, text.url) for text in prepared.puts]
            tells = ANNOUNCE in plan_view.history.states
            by_path[path] = [_restored(plan_view.history.payload, release, urls, tells=tells)]
            plans.append(path)
    return RestoreEvents(epoch=epoch, by_path=by_path, plans=plans)


def _is_known(history: History | None) -> bool:
    """Whether the records that are left say all that a restore could: the plan is over, or its announcement is a person's to settle."""
    if history is None:
        return False
    return history.over or bool(history.is_public and history.unknown and history.unknown.step == ANNOUNCE)


def _restored(payload: str, release: str, urls: Sequence[str], *, tells: bool) -> NewEvent:
    """The public shows whether a page is there, and not whether anybody was told of it."""
    fields: dict[str, Any] = {"payload": payload, "release": release, "urls": list(urls)}
    return NewEvent(type=EventType.RESTORED, fields={**fields, "unknown": [ANNOUNCE]} if tells else fields)


def _is_public(plan: Plan, public: PublicManifest, found: Reproduced | None) -> bool:
    """Whether everything that a plan would make public is public already."""
    if plan.action is ChangeAction.WITHDRAW:
        return {item.id for item in plan.withdrawals} <= {item.id for item in public.withdrawn}
    if plan.action is ChangeAction.PRESENTATION:
        return bool(found and plan.presentation and plan.presentation.digest == found.presentation.digest)
    if plan.action is ChangeAction.CORRECT:
        texts = found.content.texts if found else {}
        return bool(texts) and all(texts[name].plan == plan.path for name in plan.article_ids if name in texts)
    ids = {entry.id for entry in public.articles} | {item.id for item in public.withdrawn}
    return bool(plan.articles) and set(plan.article_ids) <= ids


def _text_files(doors: Doors, site: str, found: Reproduced | None) -> dict[str, bytes]:
    """The public forms as files of the build source: the blobs that the baseline names are pushed with it."""
    texts = found.content.texts.values() if found else ()
    blobs = doors.reads.blobs([oid for text in texts for oid, _ in text.files.values()])
    return {f"site-src/{site}/articles/{text.id}/{name}": blobs[oid] for text in texts for name, (oid, _) in text.files.items()}


def _write(doors: Doors, view: SiteView, tips: Tips, events: RestoreEvents, files: Mapping[str, bytes]) -> Tips:
    batch = Batch(
        events=events.by_path,
        files=files,
        message=f"{view.site.id}: restored from the public site, epoch {events.epoch.fields['epoch']}\n\nBy: {doors.actor}",
    )
    if not tips.state:
        return doors.records.start(tips, view.instance.state_branch, batch, doors.clock.now())
    commit = doors.records.compose(tips, batch, doors.clock.now())
    landing = doors.records.publish(tips, commit)
    if not landing.landed:
        raise ComeBackLater(
            "state-branch-moved", "the ledger was written meanwhile; nothing was restored", next="publisher reconcile --restore"
        )
    return replace(landing.tips)


# --- repair --------------------------------------------------------------------------------------------------------------------


def live_presentation(view: SiteView) -> Presentation:
    value: Mapping[str, Any] | None = view.production.presentation
    if value is None:
        raise NeedsPerson("nothing-published", "the ledger records no deploy", next="publisher status")
    return Presentation(**value)
