"""The review of a request before anybody approves it: what is wrong and where, what would become public, what it would approve.

Rules:
* git objects are read, and nothing of the request is executed; the rules that judge come from the default branch;
* everything that somebody would have to fix is said at once, each at its place; the worst of it decides the exit code;
* payloads are those of the files as they are proposed, and beside them those that a merge would make, where that differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from publisher.domain.business_calendar import in_utc
from publisher.domain.gates import GateFile
from publisher.domain.plan import Plan
from publisher.domain.shown_payloads import shown_payloads
from publisher.engine.examining import Finding, Level, summary
from publisher.engine.review_changes import Area, Changed, Trees, fork_point, merged, require_bounded, shown
from publisher.engine.review_desk import Desk, Requested, ReviewDoors
from publisher.engine.review_files import review_files
from publisher.engine.review_findings import Findings
from publisher.engine.review_plans import read_plans, review_gates, review_plans
from publisher.engine.review_rendering import Article, Rendered, Scan, render_site
from publisher.engine.review_texts import review_drafts, review_texts
from publisher.errors import EXIT_OK

SCHEMA = "publisher.review/1"


@dataclass(frozen=True, kw_only=True)
class ReviewedPlan:
    """A plan of the request. ``merged`` is the payload that a merge would make: "" where that is not known."""

    path: str
    plan: Plan
    merged: str
    articles: tuple[Article, ...] = ()

    def as_data(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "plan": plan.path, "file": self.path, "kind": str(plan.kind), "site": plan.site, "key": plan.key, "date": plan.day,
            "zone": plan.zone_name, "publish_at": in_utc(plan.publish_at), "revision": plan.revision,
            "supersedes": plan.supersedes or None, "payload": plan.payload, "merged_payload": self.merged or None,
            "articles": [_article_data(article) for article in self.articles],
        }  # fmt: skip


def _article_data(article: Article) -> dict[str, Any]:
    images = [{"name": image.name, "bytes": image.size, "left_out": image.left_out} for image in article.images]
    return {
        "id": article.id, "url": article.url, "source": article.source, "category": article.category, "words": article.words,
        "images": images, "page": article.page or None,
    }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Review:
    """What a review found. ``closed`` says why drafts were not opened and nothing was rendered, or ""."""

    number: int
    base: str
    head: str
    moved: bool
    changes: tuple[Changed, ...]
    plans: tuple[ReviewedPlan, ...]
    gates: tuple[GateFile, ...]
    sites: tuple[Rendered, ...]
    findings: tuple[Finding, ...]
    exit_code: int
    closed: str

    @property
    def good(self) -> bool:
        return self.exit_code == EXIT_OK

    @property
    def concerns(self) -> bool:
        """Whether anything of the request is publisher's business."""
        return bool(self.findings or self.plans or any(change.area is not Area.OTHER for change in self.changes))

    @property
    def payloads(self) -> Mapping[str, str]:
        """What a reviewed merge would approve, by file."""
        plans = {plan.path: plan.plan.payload for plan in self.plans}
        return {**plans, **{f"plans/{gate.path}.yaml": gate.payload for gate in self.gates}}

    @property
    def says(self) -> str:
        """The line for the commit status."""
        return shown_payloads(self.payloads)

    @property
    def scan(self) -> Scan:
        found = {site.scan for site in self.sites}
        return next((scan for scan in (Scan.LEAK, Scan.NOT_LOOKED) if scan in found), Scan.CLEAN if found else Scan.NOT_LOOKED)

    def told(self, level: Level) -> list[Finding]:
        return [finding for finding in self.findings if finding.level is level]

    def as_data(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA, "request": self.number or None, "base": self.base, "head": self.head, "base_moved": self.moved,
            "changed": [{"file": change.shown, "area": str(change.area), "gone": change.new is None} for change in self.changes],
            "plans": [plan.as_data() for plan in self.plans],
            "gates": [_gate_data(gate) for gate in self.gates],
            "payload": self.says, "scan": str(self.scan),
            "sites": [_site_data(site) for site in self.sites],
            "drafts": {"opened": not self.closed, "says": self.closed},
            "findings": [finding.as_data() for finding in self.findings], "counts": summary(list(self.findings)),
            "exit": self.exit_code, "good": self.good,
        }  # fmt: skip


def _gate_data(gate: GateFile) -> dict[str, Any]:
    return {"file": f"plans/{gate.path}.yaml", "gate": gate.gate, "plan": gate.plan, "payload": gate.payload}


def _site_data(site: Rendered) -> dict[str, Any]:
    return {
        "site": site.site, "scan": str(site.scan), "says": site.says, "leaks": list(site.leaks), "release": site.release or None,
        "files": site.files,
    }  # fmt: skip


def review(doors: ReviewDoors, requested: Requested, folder: Path | None = None) -> Review:
    """Reviews one request. Rendered pages go below ``folder``, which must be empty or missing."""
    doors.progress("looking at what changed")
    found = Findings()
    base, head = requested.tips.default, requested.head
    desk = None
    with found.reading("the request"):
        desk = _opened(doors, requested, found)
    if desk is None:
        return Review(
            number=requested.number, base=base, head=head, moved=False, changes=(), plans=(), gates=(), sites=(),
            findings=found.all(), exit_code=found.exit_code, closed=requested.closed,
        )  # fmt: skip
    _about(desk)
    review_files(desk)
    read_plans(desk)
    review_plans(desk)
    gates = review_gates(desk)
    texts = review_texts(desk)
    review_drafts(desk)
    names = sorted({text.item.plan.site for text in texts})
    sites = tuple(render_site(desk, name, [text for text in texts if text.item.plan.site == name], folder) for name in names)
    return Review(
        number=requested.number, base=base, head=head, moved=desk.moved, changes=desk.changes, plans=_reviewed(desk, sites),
        gates=gates, sites=sites, findings=found.all(), exit_code=found.exit_code, closed=requested.closed,
    )  # fmt: skip


def _opened(doors: ReviewDoors, requested: Requested, found: Findings) -> Desk:
    base, head = requested.tips.default, requested.head
    fork = fork_point(doors.git, base, head)
    changes = Trees(doors.git).changes(fork, head)
    require_bounded(doors.git, changes)
    now = doors.clock.now()
    tree = merged(doors.git, base=base, head=head, fork=fork, changes=changes, now=now)
    return Desk(
        doors=doors, requested=requested, fork=fork, changes=changes, merged=tree, trees=Trees(doors.git), found=found, now=now
    )


def _about(desk: Desk) -> None:
    """What bounds this review."""
    if desk.requested.aside:
        says = f"this request is for the branch {shown(desk.requested.aside)}; merging it there approves nothing"
        desk.found.warn("other-branch", "the request", says, next=f"make it a request for {desk.instance.default_branch}")
    if desk.drafts_missing:
        says = "the drafts' repository could not be read here, so no text was compared with its plan, or scanned"
        desk.found.warn("drafts-not-read", "drafts", says, next="publisher doctor")
    if not desk.changes:
        desk.found.note("nothing-new", "the request", "the default branch has everything that this request brings")


def _reviewed(desk: Desk, sites: Sequence[Rendered]) -> tuple[ReviewedPlan, ...]:
    articles = {path: found for site in sites for path, found in site.articles.items()}
    return tuple(
        ReviewedPlan(
            path=item.path, plan=item.plan, articles=articles.get(item.path) or _unread(item.plan),
            merged="" if item.path in desk.merged.clashes else item.plan.payload,
        )
        for item in desk.proposed
    )  # fmt: skip


def _unread(plan: Plan) -> tuple[Article, ...]:
    """Articles whose texts were not looked at: what the plan's own file says of them."""
    return tuple(Article(id=a.id, url=a.url, source=a.source, category=a.category) for a in plan.articles)
