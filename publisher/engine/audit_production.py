"""The audit of a site's production: its deployments in order, what each changed, and what is public now.

Rules:
* deployments are numbered 1, 2, 3 without doubles, and each was made on the release before it;
* no article is published twice, and id, URL, GUID and date of a public article never change;
* the presentation changes by an approved plan alone; the first one is that of its plan's commit;
* what was confirmed is a release that was deployed, at this plan's deploy or later.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from publisher.domain.facts import Prepared, PublicText
from publisher.domain.fingerprint import short
from publisher.domain.ledger_events import Event
from publisher.domain.plan import Kind, Presentation
from publisher.domain.site_content import Content, Deployment, following
from publisher.engine.assembling import ReleaseAssembler
from publisher.engine.audit_findings import Findings, line
from publisher.engine.audit_ledger import SiteLedger, recorded_text
from publisher.engine.audit_plans import PlanRecord
from publisher.engine.audit_texts import TextCheck
from publisher.ports import Progress, ReadsRepository, SiteBuilder

NOTHING = Deployment(
    number=0, release="", base="", plan="", prepared=Prepared(payload=""), presentation={}, confirmed=False
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """One deployment of a plan, or a baseline (``record`` None), with the place of its record and the content after it."""

    deployment: Deployment
    where: str
    record: PlanRecord | None
    content: Content = field(default_factory=Content)

    @property
    def number(self) -> int:
        return self.deployment.number

    @property
    def release(self) -> str:
        return self.deployment.release


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
        items = sorted(self._items(ledger, records), key=lambda item: item.number)
        last = NOTHING
        baseline = max((item.number for item in items if item.record is None), default=0)
        for item in items:
            with self._found.reading(item.where):
                self._check_order(last, item.deployment, item.where, lost=item.number <= baseline)
                self._check_twice(item)
                self._check_presentation(last, item)
            for texts in item.record.texts if item.record else ():
                self._texts.check(texts, self.content.texts)
            with self._found.reading(item.where):
                self.content = following(self.content, item.deployment)
            last = item.deployment
            self.deployed.append(replace(item, content=self.content))
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

    def _check_order(self, last: Deployment, item: Deployment, where: str, *, lost: bool) -> None:
        """``lost`` is true before a baseline, which a restore writes where records may be missing."""
        gap = f"deployment {item.number} follows {last.number}"
        if item.number == last.number:
            self._found.problem("deployments-doubled", where, f"two records claim deployment {item.number}")
        elif item.number != last.number + 1 and lost:
            self._found.unproven("records-lost", where, f"{gap}; what lay between was lost before a restore")
        elif item.number != last.number + 1:
            self._found.problem("deployment-missing", where, gap)
        elif not item.whole and item.base != last.release:
            says = f"made on {short(item.base) or 'nothing'}, when {short(last.release) or 'nothing'} was live"
            self._found.problem("base-differs", where, says)

    def _check_twice(self, item: Deployed) -> None:
        if item.record is None or item.record.kind == Kind.CHANGE:
            return
        for text in item.deployment.prepared.puts:
            if text.id in self.content.texts:
                self._found.problem("published-twice", item.where, f"{text.id} was public before")
            if any(text.url == other.url and text.id != other.id for other in self.content.texts.values()):
                self._found.problem("url-doubled", item.where, f"{text.id} took the address of another article")

    # --- presentation -------------------------------------------------------------------------------------------------------

    def _check_presentation(self, last: Deployment, item: Deployed) -> None:
        texts = item.record.deploy.texts if item.record and item.record.deploy else None
        plan = texts.plan if texts else None
        shown = dict(item.deployment.presentation)
        if plan and plan.presentation:
            approved = _data(plan.presentation)
        elif last.presentation:
            approved = dict(last.presentation)
        else:
            approved = {**shown, "commit": texts.commit} if texts and texts.commit else shown
        if item.record and shown != approved:
            says = "theme and configuration are neither the last released ones nor those that an approved plan names"
            self._found.problem("presentation-not-approved", item.where, says)
        if plan and plan.to_release and plan.to_release != item.release:
            says = f"the plan names release {short(plan.to_release)}, {short(item.release)} was deployed"
            self._found.problem("rollback-differs", item.where, says)

    def _built_here(self) -> list[Deployed]:
        """All but a baseline that adopted a site which something else had made."""
        return [item for item in self.deployed if item.record or item.deployment.presentation]

    def check_presentations(self, assembler: ReleaseAssembler) -> None:
        """That each recorded presentation is what its commit holds."""
        seen: set[tuple[object, ...]] = set()
        for item in self._built_here():
            with self._found.reading(item.where):
                value = Presentation(**item.deployment.presentation)
                key = (value.commit, value.output, value.digest)
                if key not in seen and assembler.presentation_at(value.commit, value.output) != value:
                    says = f"the recorded presentation {short(value.digest)} is not what its commit holds"
                    self._found.problem("presentation-differs", item.where, says)
                seen.add(key)

    def rebuild(self, assembler: ReleaseAssembler) -> int:
        """Builds every recorded release again. Returns how many came out as recorded."""
        same = 0
        for item in self.deployed:
            if item not in self._built_here():
                self._found.unproven("baseline", item.where, "this release was public before publisher built the site")
        for item in self._built_here():
            with self._found.reading(item.where):
                made = assembler.build(item.content, Presentation(**item.deployment.presentation))
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

    # --- where the public texts come from -----------------------------------------------------------------------------------

    def rows(self, records: Sequence[PlanRecord]) -> list[dict[str, Any]]:
        """One row for each public article."""
        deployed = [item for item in self.deployed if item.record]
        by_text = {(text.id, text.digest): item.record for item in deployed for text in item.deployment.prepared.puts}
        found = [(text, by_text.get((text.id, text.digest))) for text in self.content.shown]
        return [public_row(text, record or self._restored(text, records)) for text, record in found]

    def _restored(self, text: PublicText, records: Sequence[PlanRecord]) -> PlanRecord | None:
        """The restored plan whose approved source makes a text of the baseline. A problem when plans name it and none makes it."""
        where = next((item.where for item in reversed(self.deployed) if item.deployment.plan == text.plan), text.plan)
        answers: list[bool | None] = []
        for record in records:
            restored = record.restored
            if restored and text.id in restored.plan.article_ids:
                with self._found.reading(where):
                    answers.append(self._texts.makes(restored.plan, restored.approval.merge, text, where))
                if answers and answers[-1]:
                    return record
        if False in answers:
            self._found.problem("text-differs", where, f"{text.id} is recorded as another text than its approved source makes")
        return None

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
    puts = tuple(recorded_text(item, name) for item in fields["puts"])
    deployment = Deployment(
        number=int(fields["deployment"]), release=fields["release"], base="", plan=name,
        prepared=Prepared(payload="", puts=puts, withdraws=tuple(fields.get("withdraws", ()))),
        presentation=fields["presentation"] or {}, confirmed=True, whole=True,
    )  # fmt: skip
    return Deployed(deployment=deployment, where=line(name, event.n), record=None)


def _deployed(record: PlanRecord) -> Deployed:
    deploy = record.deploy
    assert deploy is not None
    fields = deploy.event.fields
    deployment = Deployment(
        number=int(fields["deployment"]), release=fields["release"], base=fields["base"], plan=record.path,
        prepared=deploy.texts.prepared if deploy.texts else Prepared(payload=""),
        presentation=deploy.built.fields["presentation"] if deploy.built else {}, confirmed=record.confirmed is not None,
    )  # fmt: skip
    return Deployed(deployment=deployment, where=line(record.path, deploy.event.n), record=record)


def _data(value: Presentation) -> dict[str, Any]:
    return {"commit": value.commit, "output": value.output, "digest": value.digest}


def public_row(text: PublicText, record: PlanRecord | None) -> dict[str, Any]:
    """What the report says of a public article: the plan that brought its present text, and who approved that."""
    return {"id": text.id, "url": text.url, **_origin(record)}


def _origin(record: PlanRecord | None) -> dict[str, Any]:
    deploy = record.deploy if record else None
    proven = [proof.approval for proof in deploy.proofs if proof.approval] if deploy else []
    if record and record.restored:
        proven = [record.restored.approval]
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
