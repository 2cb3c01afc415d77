"""The audit: from a full clone and without a connection, that everything public was approved, in order, by whom.

What it reads are git objects at the tips known here, each compared with its id first. The ledger is believed nowhere: approvals
are derived again from the default branch, texts are made again from their sources, and with ``rebuild`` every release is built
again to its id. What this clone cannot show is listed as not proven, and is neither a problem nor a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from publisher.domain.fingerprint import short
from publisher.engine.audit_approvals import Approvals
from publisher.engine.audit_findings import Finding, Findings, line
from publisher.engine.audit_ledger import HistoryCheck, SiteLedger, check_claims, read_site
from publisher.engine.audit_lines import SUBMODULE, check_other_lines, check_tips
from publisher.engine.audit_plans import PlanRecord, check_plan
from publisher.engine.audit_production import ProductionCheck
from publisher.engine.audit_texts import TextCheck, check_build_source, check_recorded_files, recorded_texts
from publisher.errors import EXIT_OK, EXIT_SAFETY, StoppedForSafety
from publisher.ports import FileChange, GitReads, Progress, ReadsForge, ReadsRepository, SiteBuilder, Tips, TreeFile

SCHEMA = "publisher.audit/1"
COUNTED = ("ledger_files", "events", "claims", "plans", "approvals", "deployments", "texts_made_again", "releases_built_again")


@dataclass(frozen=True, kw_only=True)
class AuditDoors:
    """What an audit reads through; nothing here writes. ``pinned_root`` is ``PUBLISHER_ROOT``, "" when it is not set.

    ``host_not_asked`` says that ``forge`` shows what the ledger recorded of a pull-request host's answers.
    """

    reads: ReadsRepository
    git: GitReads
    forge: ReadsForge
    builder: SiteBuilder
    progress: Progress
    pinned_root: str
    host_not_asked: bool = False


@dataclass(frozen=True, kw_only=True)
class SiteAudit:
    """A site's public articles, each with its plan, approval and deploy, and how much was looked at."""

    site: str
    url: str
    zone: ZoneInfo
    articles: Sequence[Mapping[str, Any]]
    release: str
    counts: Mapping[str, int]

    def as_data(self) -> dict[str, Any]:
        counts = dict(self.counts)
        return {"site": self.site, "url": self.url, "release": self.release, "articles": list(self.articles), "counts": counts}


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    """What an audit found. It is clean when there are no problems; warnings and what is not proven do not change that."""

    default: str
    state: str
    root: str
    rebuilt: bool
    sites: Sequence[SiteAudit]
    problems: Sequence[Finding]
    warnings: Sequence[Finding]
    not_proven: Sequence[Finding]
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        return EXIT_SAFETY if self.problems else EXIT_OK

    def as_data(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA, "default": self.default, "state": self.state, "root": self.root, "rebuilt": self.rebuilt,
            "sites": [site.as_data() for site in self.sites], "counts": dict(self.counts),
            "problems": [finding.as_data() for finding in self.problems],
            "warnings": [finding.as_data() for finding in self.warnings],
            "not_proven": [finding.as_data() for finding in self.not_proven],
        }  # fmt: skip


def audit(doors: AuditDoors, sites: Sequence[str] = (), *, rebuild: bool = False, since: Sequence[str] = ()) -> AuditReport:
    """Audits ``sites`` (all when empty). Refuses a clone whose history is cut short or changed, and a missing ledger.

    ``since`` are tips that earlier audits printed: the branches must descend from them.
    """
    doors.git.require_trustworthy()
    doors.progress("comparing every object of this clone with its id")
    doors.git.require_sound()
    tips = doors.reads.tips()
    if not tips.state:
        branch = doors.reads.instance(tips.default).state_branch
        raise StoppedForSafety(
            "no-state-branch",
            f"no branch {branch} is known here, so there is nothing that could be proven",
            next="git fetch origin",
        )
    found = Findings()
    check_tips(doors.git, tips, since, found)
    root = _check_rules(doors, tips, found)
    known = doors.reads.instance(tips.default).sites
    entries, changes = _ledger_files(doors, tips, known, found)
    approvals = Approvals(reads=doors.reads, git=doors.git, forge=doors.forge, tips=tips, found=found)
    audits = []
    for site in sites or sorted(known):
        doors.progress(f"auditing {site}")
        ledger = read_site(doors.git, entries.get(site, []), site, found)
        HistoryCheck(doors.git, ledger, found).follow(changes.get(site, []))
        audits.append(SiteCheck(doors, tips, approvals, found).judge(ledger, rebuild=rebuild))
    return AuditReport(
        default=tips.default, state=tips.state, root=root, rebuilt=rebuild, sites=audits, problems=found.problems,
        warnings=found.warnings, not_proven=found.not_proven,
        counts={name: sum(item.counts[name] for item in audits) for name in COUNTED},
    )  # fmt: skip


def _check_rules(doors: AuditDoors, tips: Tips, found: Findings) -> str:
    """The root commit of the approval rules. A root that is not the pinned one stops: nothing could be proven from it."""
    rules = doors.forge.rules(tips.default)
    for commit in rules.ignored:
        found.warn("rules-ignored", commit, "this change of approval.yaml was not approved; it is not in force")
    if not doors.pinned_root and rules.root:
        says = f"the root of the approval rules is not pinned outside the repository: set PUBLISHER_ROOT={rules.root}"
        found.warn("root-not-pinned", rules.root, says)
    if doors.host_not_asked:
        says = "approvals are taken from the ledger's record of the host's answers; publisher audit --fresh asks the host again"
        found.unproven("host-not-asked", tips.default, says)
    if tips.unpushed:
        found.warn("unpushed", tips.default, "local commits are not part of what was audited")
    return rules.root


def _ledger_files(
    doors: AuditDoors, tips: Tips, known: Iterable[str], found: Findings
) -> tuple[dict[str, list[TreeFile]], dict[str, list[FileChange]]]:
    """The ledger's files at the tip, and the changes that made them, by site."""
    entries: dict[str, list[TreeFile]] = {}
    for entry in doors.git.tree(tips.state, "ledger"):
        entries.setdefault(_site_of(entry.path), []).append(entry)
    doors.progress("reading the ledger's history")
    changes: dict[str, list[FileChange]] = {}
    for change in doors.git.folder_history(tips.state, "ledger"):
        changes.setdefault(_site_of(change.path), []).append(change)
    check_other_lines(doors.git, tips.state, _texts(doors, entries), found)
    for site in sorted(set(entries) - set(known)):
        found.warn("unknown-site", f"ledger/{site}", "publisher.yaml has no such site; these records were not audited")
    return entries, changes


def _texts(doors: AuditDoors, entries: Mapping[str, Sequence[TreeFile]]) -> dict[str, bytes]:
    files = {entry.path: entry.oid for items in entries.values() for entry in items if entry.mode != SUBMODULE}
    texts = doors.git.blobs(files.values())
    return {path: texts[oid] for path, oid in files.items()}


def _site_of(path: str) -> str:
    return path.split("/")[1]


class SiteCheck:
    """The audit of one site."""

    def __init__(self, doors: AuditDoors, tips: Tips, approvals: Approvals, found: Findings) -> None:
        self._doors = doors
        self._tips = tips
        self._approvals = approvals
        self._found = found

    def judge(self, ledger: SiteLedger, *, rebuild: bool = False) -> SiteAudit:
        """What the site's records say, against claims, plans, approvals, sources and each other."""
        doors, found, before = self._doors, self._found, self._approvals.count
        claims = check_claims(ledger, found)
        records = self._plans(ledger)
        texts = TextCheck(reads=doors.reads, builder=doors.builder, found=found)
        production = ProductionCheck(
            reads=doors.reads, builder=doors.builder, progress=doors.progress, site=ledger.site, texts=texts, found=found
        )
        production.check(ledger, records)
        recorded = recorded_texts(ledger, found)
        check_recorded_files(doors.git, recorded, found)
        check_build_source(doors.git, self._tips.state, ledger.site, recorded, found)
        rebuilt = production.with_assembler(rebuild=rebuild)
        rows = production.rows(records)
        self._list_unproven(ledger.site, rows, records)
        counts = (
            len(ledger.events), sum(map(len, ledger.events.values())), claims, len(records), self._approvals.count - before,
            len(production.deployed), texts.count, rebuilt,
        )  # fmt: skip
        site = doors.reads.instance(self._tips.default).sites[ledger.site]
        return SiteAudit(
            site=site.id, url=site.url, zone=site.zone, articles=rows,
            release=production.deployed[-1].release if production.deployed else "",
            counts=dict(zip(COUNTED, counts, strict=True)),
        )  # fmt: skip

    def _plans(self, ledger: SiteLedger) -> list[PlanRecord]:
        records = []
        for path, events in sorted(ledger.plans.items()):
            self._doors.progress(f"auditing {path}")
            records.append(check_plan(path, events, self._approvals, self._doors.reads, self._found))
        return records

    def _list_unproven(self, site: str, rows: Iterable[Mapping[str, Any]], records: Iterable[PlanRecord]) -> None:
        for row in rows:
            if row["plan"] is None:
                says = f"{row['id']} was public before this ledger's records began; no approval of it is recorded"
                self._found.unproven("baseline", f"{site}{row['url']}", says)
        for record in records:
            if record.intent:
                says = (
                    f"the deploy of release {short(str(record.intent.fields.get('release', '')))} has no recorded outcome yet"
                )
                self._found.unproven("deploy-open", line(record.path, record.intent.n), says)
