"""What a site consists of, as the ledger records it: the content that a release is built from.

Rules:
* the articles are those of plans whose deploy is observed, in order of deployment, each at its last deployed text, less
  withdrawn and hidden ones; never a directory listing;
* a correction keeps id, URL, GUID and date; anything else is refused;
* hidden stays hidden until a text of that article is put again, withdrawn never returns;
* a baseline says all that was public: an article that it lacks is hidden;
* the deployments of a site are numbered 1, 2, 3 without gaps since the last baseline (a gap is a lost ledger file, and building
  on it would take its articles away); the last one observed is what the ledger says is live.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from publisher.domain.facts import Prepared, PublicText
from publisher.domain.history import History
from publisher.errors import StoppedForSafety


@dataclass(frozen=True, kw_only=True)
class Content:
    """``texts`` in order of first publication. ``known`` holds every text ever deployed, by (id, digest), for reverts."""

    texts: Mapping[str, PublicText] = field(default_factory=dict)
    withdrawn: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    known: Mapping[tuple[str, str], PublicText] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[PublicText, ...]:
        return tuple(text for name, text in self.texts.items() if name not in self.hidden and name not in self.withdrawn)


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """One observed deploy, with what it changed; or a baseline, whose ``prepared`` is ``whole``: all that was public."""

    number: int
    release: str
    base: str
    plan: str
    prepared: Prepared
    presentation: Mapping[str, Any]
    confirmed: bool
    whole: bool = False


@dataclass(frozen=True, kw_only=True)
class Production:
    """A site's production as the ledger has it. ``release`` "" before the first deploy."""

    content: Content = Content()
    release: str = ""
    deployment: int = 0
    presentation: Mapping[str, Any] | None = None
    releases: frozenset[str] = frozenset()
    deployments: tuple[Deployment, ...] = ()


def deployment_of(plan: str, history: History) -> Deployment | None:
    """The observed deploy of a plan, or None."""
    if not history.deployed or not history.prepared or not history.built:
        return None
    return Deployment(
        number=history.deployed.deployment, release=history.deployed.release, base=history.deployed.base, plan=plan,
        prepared=history.prepared, presentation=history.built.presentation, confirmed=bool(history.confirmed),
    )  # fmt: skip


def production(deployments: Iterable[Deployment]) -> Production:
    """Production after all observed deploys. ``StoppedForSafety`` when two share a number, or one is missing."""
    ordered = tuple(sorted(deployments, key=lambda item: item.number))
    gathered = _Gathering(Content())
    presentation = None
    last = 0
    baseline = max((item.number for item in ordered if item.whole), default=0)
    for item in ordered:
        if item.number <= last:
            raise StoppedForSafety("deployments-doubled", f"two records claim deployment {item.number}", next="publisher audit")
        if item.number > baseline and item.number != last + 1:
            raise StoppedForSafety("deployment-missing", f"no record has deployment {last + 1}", next="publisher audit")
        last = item.number
        gathered.take(item)
        presentation = item.presentation or presentation
    return Production(
        content=gathered.content(), release=ordered[-1].release if ordered else "", deployment=last, presentation=presentation,
        releases=frozenset(item.release for item in ordered), deployments=ordered,
    )  # fmt: skip


def following(content: Content, item: Deployment) -> Content:
    """The content once a deployment is observed, when ``content`` was public before it."""
    gathered = _Gathering(content)
    gathered.take(item)
    return gathered.content()


def after(content: Content, prepared: Prepared) -> Content:
    """The content once ``prepared`` is public. Refuses what would change an article's identity, or show an unknown text."""
    gathered = _Gathering(content)
    gathered.change(prepared)
    return gathered.content()


class _Gathering:
    """Content while deployments are added to it, in place: ten years of them are added up for each decision."""

    def __init__(self, content: Content) -> None:
        self._texts, self._known = dict(content.texts), dict(content.known)
        self._hidden, self._withdrawn = set(content.hidden), dict(content.withdrawn)

    def take(self, item: Deployment) -> None:
        self.change(item.prepared)
        if item.whole:
            self._only(item.prepared)

    def change(self, prepared: Prepared) -> None:
        for text in prepared.puts:
            _check_identity(self._texts.get(text.id), text)
            self._texts[text.id] = text
            self._known[text.id, text.digest] = text
            self._hidden.discard(text.id)
        for item in prepared.reverts:
            if (item["id"], item["digest"]) not in self._known:
                raise StoppedForSafety("text-unknown", f"no record has that text of {item['id']}", next="publisher audit")
            self._texts[item["id"]] = self._known[item["id"], item["digest"]]
        for item in prepared.withdraws:
            self._withdrawn[item["id"]] = item
        self._hidden |= set(prepared.hides)

    def _only(self, prepared: Prepared) -> None:
        """Reduced to what ``prepared`` puts, in its order; the rest is known and hidden."""
        listed = {text.id: text for text in prepared.puts}
        rest = {name: text for name, text in self._texts.items() if name not in listed}
        self._texts, self._hidden = {**listed, **rest}, set(rest)

    def content(self) -> Content:
        return Content(
            texts=self._texts, withdrawn=self._withdrawn, hidden=frozenset(self._hidden), known=self._known,
        )  # fmt: skip


def _check_identity(old: PublicText | None, new: PublicText) -> None:
    if old and (old.url, old.guid, old.date) != (new.url, new.guid, new.date):
        raise StoppedForSafety(
            "identity-changed", f"{new.id} is public with another URL, GUID or date; these never change", next="publisher audit"
        )
