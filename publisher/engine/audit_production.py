"""The audit of a site's production: its deployments in order, what each changed, and what is public now.

Rules:
* deployments are numbered 1, 2, 3 without doubles, and each was made on the release before it;
* no article is published twice, and id, URL, GUID and date of a public article never change;
* the presentation changes by an approved plan alone; the first one is that of its plan's commit;
* what was confirmed is a release that was deployed, at this plan's deploy or later.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from publisher.domain.fingerprint import short
from publisher.domain.history import Prepared, public_text_of
from publisher.domain.ledger_events import Event
from publisher.domain.plan import Kind, Presentation
from publisher.domain.site_content import Content, after
from publisher.engine.assembling import ReleaseAssembler
from publisher.engine.audit_findings import Findings, line
from publisher.engine.audit_ledger import SiteLedger
from publisher.engine.audit_plans import PlanRecord
from publisher.engine.audit_texts import TextCheck
from publisher.ports import Progress, ReadsRepository, SiteBuilder


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """One deployment, or a baseline (``record`` None), with the content after it."""

    number: int
    release: str
    base: str
    where: str
    prepared: Prepared
    presentation: Mapping[str, Any]
    record: PlanRecord | None
    content: Content = field(default_factory=Content)


class ProductionCheck:
    """Goes through a site's deployments in order."""

    def __init__(
        self, *, reads: ReadsRepository, builder: SiteBuilder, progress: Progress, site: str, texts: TextCheck, found: Findings
    ) -> None:
        self._reads = reads
        self._builder = builder
        self._progress = progress
        self._site = site
        self._texts = texts
        self._found = found
        self.content = Content()
        self.deployed: list[Deployed] = []

    def check(self, ledger: SiteLedger, records: Sequence[PlanRecord]) -> None:
        last = Deployed(
            number=0, release="", base="", where="", prepared=Prepared(payload=""), presentation={}, record=None
        )  # fmt: skip
        for item in sorted(self._items(ledger, records), key=lambda item: item.number):
            with self._found.reading(item.where):
                self._check_order(last, item)
                self._check_twice(item)
                self._check_presentation(last, item)
            for texts in item.record.texts if item.record else ():
                self._texts.check(texts, self.content.texts)
            with self._found.reading(item.where):
                self.content = after(self.content, item.prepared)
            last = item
            self.deployed.append(_with_content(item, self.content))
        for record in records:
            if record.deploy is None:
                for texts in record.texts:
                    self._texts.check(texts, self.content.texts)
            self._check_confirmed(record)

    def _items(self, ledger: SiteLedger, records: Sequence[PlanRecord]) -> list[Deployed]:
        items: list[Deployed] = []
        for name, event in ledger.baselines:
            with self._found.reading(line(name, event.n)):
                items.append(_baseline(name, event))
        for record in records:
            if record.deploy:
                with self._found.reading(line(record.path, record.deploy.event.n)):
                    items.append(_deployed(record))
        return items

    def _check_order(self, last: Deployed, item: Deployed) -> None:
        if item.number == last.number:
            self._found.problem("deployments-doubled", item.where, f"two records claim deployment {item.number}")
        elif item.number != last.number + 1:
            self._found.problem("deployment-missing", item.where, f"deployment {item.number} follows {last.number}")
        if item.record and item.base != last.release:
            says = f"made on {short(item.base) or 'nothing'}, when {short(last.release) or 'nothing'} was live"
            self._found.problem("base-differs", item.where, says)

    def _check_twice(self, item: Deployed) -> None:
        if item.record is None or item.record.kind == Kind.CHANGE:
            return
        for text in item.prepared.puts:
            if text.id in self.content.texts:
                self._found.problem("published-twice", item.where, f"{text.id} was public before")
            if any(text.url == other.url and text.id != other.id for other in self.content.texts.values()):
                self._found.problem("url-doubled", item.where, f"{text.id} took the address of another article")

    # --- presentation -------------------------------------------------------------------------------------------------------

    def _check_presentation(self, last: Deployed, item: Deployed) -> None:
        texts = item.record.deploy.texts if item.record and item.record.deploy else None
        plan = texts.plan if texts else None
        if plan and plan.presentation:
            approved = _data(plan.presentation)
        elif last.presentation:
            approved = dict(last.presentation)
        else:
            approved = {**item.presentation, "commit": texts.commit} if texts and texts.commit else dict(item.presentation)
        if item.record and dict(item.presentation) != approved:
            says = "theme and configuration are neither the last released ones nor those that an approved plan names"
            self._found.problem("presentation-not-approved", item.where, says)
        if plan and plan.to_release and plan.to_release != item.release:
            says = f"the plan names release {short(plan.to_release)}, {short(item.release)} was deployed"
            self._found.problem("rollback-differs", item.where, says)

    def check_presentations(self, assembler: ReleaseAssembler) -> None:
        """That each recorded presentation is what its commit holds."""
        seen: set[tuple[object, ...]] = set()
        for item in self.deployed:
            with self._found.reading(item.where):
                value = Presentation(**item.presentation)
                key = (value.commit, value.output, value.digest)
                if key not in seen and assembler.presentation_at(value.commit, value.output) != value:
                    says = f"the recorded presentation {short(value.digest)} is not what its commit holds"
                    self._found.problem("presentation-differs", item.where, says)
                seen.add(key)

    def rebuild(self, assembler: ReleaseAssembler) -> int:
        """Builds every recorded release again. Returns how many came out as recorded."""
        same = 0
        for item in self.deployed:
            with self._found.reading(item.where):
                made = assembler.build(item.content, Presentation(**item.presentation))
                if made.id != item.release:
                    says = f"release {short(item.release)} is recorded, its content builds {short(made.id)}"
                    self._found.problem("release-not-reproduced", item.where, says)
                same += made.id == item.release
        return same

    def with_assembler(self, *, rebuild: bool) -> int:
        """Presentations, and with ``rebuild`` every release, in a directory that is removed afterwards."""
        with tempfile.TemporaryDirectory(prefix="publisher-audit-") as scratch:
            assembler = ReleaseAssembler(
                reads=self._reads, builder=self._builder, site=self._site, scratch=Path(scratch), progress=self._progress
            )
            self.check_presentations(assembler)
            return self.rebuild(assembler) if rebuild else 0

    # --- confirmations --------------------------------------------------------------------------------------------------------

    def _check_confirmed(self, record: PlanRecord) -> None:
        if record.confirmed is None or record.deploy is None:
            return
        where = line(record.path, record.confirmed.n)
        with self._found.reading(where):
            own = record.deploy.event.fields["deployment"]
            live = {item.release for item in self.deployed if item.number >= own}
            if record.confirmed.fields["release"] not in live:
                self._found.problem("confirmed-other-release", where, "what was confirmed is no release of this site since")


def _baseline(name: str, event: Event) -> Deployed:
    fields = event.fields
    puts = tuple(public_text_of(item, name) for item in fields["puts"])
    return Deployed(
        number=int(fields["deployment"]), release=fields["release"], base="", where=line(name, event.n),
        prepared=Prepared(payload="", puts=puts, withdraws=tuple(fields.get("withdraws", ()))),
        presentation=fields["presentation"] or {}, record=None,
    )  # fmt: skip


def _deployed(record: PlanRecord) -> Deployed:
    deploy = record.deploy
    assert deploy is not None
    fields = deploy.event.fields
    return Deployed(
        number=int(fields["deployment"]), release=fields["release"], base=fields["base"],
        where=line(record.path, deploy.event.n), record=record,
        prepared=deploy.texts.prepared if deploy.texts else Prepared(payload=""),
        presentation=deploy.built.fields["presentation"] if deploy.built else {},
    )  # fmt: skip


def _with_content(item: Deployed, content: Content) -> Deployed:
    return Deployed(**{**vars(item), "content": content})


def _data(value: Presentation) -> dict[str, Any]:
    return {"commit": value.commit, "output": value.output, "digest": value.digest}


def public_rows(items: Iterable[Deployed], content: Content, records: Sequence[PlanRecord]) -> list[dict[str, Any]]:
    """One row for each public article: the plan that brought its present text, and who approved that."""
    by_text = {(text.id, text.digest): item.record for item in items if item.record for text in item.prepared.puts}
    restored = {article: record for record in records if record.restored for article in record.restored_ids}
    rows = []
    for text in content.shown:
        record = by_text.get((text.id, text.digest)) or restored.get(text.id)
        rows.append({"id": text.id, "url": text.url, **_origin(record)})
    return rows


def _origin(record: PlanRecord | None) -> dict[str, Any]:
    deploy = record.deploy if record else None
    proven = [proof.approval for proof in deploy.proofs if proof.approval] if deploy else []
    if record and record.restored:
        proven = [record.restored]
    own = proven[0] if proven else None
    event = deploy.event if deploy else None
    return {
        "plan": record.path if record else None,
        "payload": deploy.texts.prepared.payload if deploy and deploy.texts else own.subject.payload if own else None,
        "approved_by": sorted({name for approval in proven for name in approval.by}),
        "request": own.request if own else None,
        "merge": own.merge if own else None,
        "merged_at": own.merged_at if own else None,
        "deployed_at": event.at if event else None,
        "claim": event.claim if event else None,
        "release": event.fields["release"] if event else None,
        "confirmed_at": record.confirmed.at if record and record.confirmed else None,
    }
