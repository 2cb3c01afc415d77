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
from dataclasses import dataclass, field, replace
from typing import Any

from publisher.domain.history import History, Prepared, PublicText
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
    ordered = sorted(deployments, key=lambda item: item.number)
    result = Production(deployments=tuple(ordered))
    content = Content()
    releases = set()
    last = 0
    baseline = max((item.number for item in ordered if item.whole), default=0)
    for item in ordered:
        if item.number <= last:
            raise StoppedForSafety("deployments-doubled", f"two records claim deployment {item.number}", next="publisher audit")
        if item.number > baseline and item.number != last + 1:
            raise StoppedForSafety("deployment-missing", f"no record has deployment {last + 1}", next="publisher audit")
        last = item.number
        content = following(content, item)
        releases.add(item.release)
        result = replace(
            result, release=item.release, deployment=item.number, presentation=item.presentation or result.presentation
        )
    return replace(result, content=content, releases=frozenset(releases))


def following(content: Content, item: Deployment) -> Content:
    """The content once a deployment is observed, when ``content`` was public before it."""
    changed = after(content, item.prepared)
    return _only(changed, item.prepared) if item.whole else changed


def _only(content: Content, prepared: Prepared) -> Content:
    """The content reduced to what ``prepared`` puts, in its order; the rest is known and hidden."""
    listed = {text.id: text for text in prepared.puts}
    rest = {name: text for name, text in content.texts.items() if name not in listed}
    return replace(content, texts={**listed, **rest}, hidden=frozenset(rest))


def after(content: Content, prepared: Prepared) -> Content:
    """The content once ``prepared`` is public. Refuses what would change an article's identity, or show an unknown text."""
    texts, known = dict(content.texts), dict(content.known)
    hidden, withdrawn = set(content.hidden), dict(content.withdrawn)
    for text in prepared.puts:
        _check_identity(texts.get(text.id), text)
        texts[text.id] = text
        known[text.id, text.digest] = text
        hidden.discard(text.id)
    for item in prepared.reverts:
        if (item["id"], item["digest"]) not in known:
            raise StoppedForSafety("text-unknown", f"no record has that text of {item['id']}", next="publisher audit")
        texts[item["id"]] = known[item["id"], item["digest"]]
    for item in prepared.withdraws:
        withdrawn[item["id"]] = item
    hidden |= set(prepared.hides)
    return Content(texts=texts, withdrawn=withdrawn, hidden=frozenset(hidden), known=known)


def _check_identity(old: PublicText | None, new: PublicText) -> None:
    if old and (old.url, old.guid, old.date) != (new.url, new.guid, new.date):
        raise StoppedForSafety(
            "identity-changed", f"{new.id} is public with another URL, GUID or date; these never change", next="publisher audit"
        )
