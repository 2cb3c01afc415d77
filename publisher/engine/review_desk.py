"""The desk at which a request is reviewed: what it brings, and everything on the default branch that it is judged by.

Rules:
* the rules that judge (configuration, approvals, ledger, theme) come from the default branch; the request is data;
* where private drafts must not be opened, none is read, so that nothing of them can be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from publisher.domain.approval import Subject, Verdict
from publisher.domain.article import Draft
from publisher.domain.instance import Instance
from publisher.domain.plan import Plan
from publisher.domain.policy import Policy
from publisher.engine.review_changes import PLAIN_FILE, Area, Changed, Merged, Trees, fork_point
from publisher.engine.review_findings import Findings
from publisher.engine.site_view import SiteView, load
from publisher.errors import InputProblem, Refusal
from publisher.ports import Clock, GitWrites, Progress, ProposedFiles, ReadsForge, ReadsRepository, SiteBuilder, Tips

MOST_YAML = 2 * 1024 * 1024
"""Bytes of the largest file that publisher itself would read (a queue)."""
MOST_OTHERS = 100


@dataclass(frozen=True, kw_only=True)
class ReviewDoors:
    """What a review may use. ``git`` writes objects only: the tree that a merge would make, and moves no ref."""

    reads: ReadsRepository
    git: GitWrites
    forge: ReadsForge
    verdict: Callable[[Tips, Subject], Verdict]
    files: ProposedFiles
    builder: SiteBuilder
    clock: Clock
    progress: Progress
    others: dict[tuple[str, str], tuple[Plan, ...]] = field(default_factory=dict)
    """The plans of open requests by base and head, for reviews of several requests at once."""


@dataclass(frozen=True, kw_only=True)
class Requested:
    """What is reviewed. ``tips.default`` is the base; ``tips.drafts`` is "" where drafts cannot be read.

    ``closed`` says why private drafts are not opened, or ""; ``aside`` is another branch than the default one that the request
    is for, or "".
    """

    tips: Tips
    head: str
    number: int = 0
    closed: str = ""
    aside: str = ""


@dataclass(frozen=True, kw_only=True)
class ProposedPlan:
    """A plan that the request brings, with its file's bytes."""

    path: str
    data: bytes = field(repr=False)
    plan: Plan


@dataclass(kw_only=True)
class Desk:
    """One request on its way through the review."""

    doors: ReviewDoors
    requested: Requested
    fork: str
    changes: tuple[Changed, ...]
    merged: Merged
    trees: Trees
    found: Findings
    now: datetime
    proposed: list[ProposedPlan] = field(default_factory=list)
    policies: dict[str, Policy | None] = field(default_factory=dict)
    """Policies that the request brings, by site; None for one that cannot be read."""
    _views: dict[str, SiteView] = field(default_factory=dict)

    @property
    def base(self) -> str:
        return self.requested.tips.default

    @property
    def head(self) -> str:
        return self.requested.head

    @property
    def moved(self) -> bool:
        return self.merged.moved(self.head)

    @cached_property
    def instance(self) -> Instance:
        return self.doors.reads.instance(self.base)

    def of(self, *areas: Area) -> tuple[Changed, ...]:
        """The changes in some areas, by path, without those that were refused by their name or kind."""
        return tuple(change for change in self.changes if change.area in areas and not change.is_odd)

    def view(self, site: str) -> SiteView:
        """A site as the default branch and the ledger have it."""
        if site not in self._views:
            self.doors.progress(f"reading {site}")
            self._views[site] = load(self.doors.reads, self.doors.forge, self.requested.tips, site)
        return self._views[site]

    def policy(self, site: str) -> Policy | None:
        """The policy as it will be once this is merged; None where there is none that can be read."""
        if site in self.policies:
            return self.policies[site]
        try:
            return self.doors.reads.policy(self.base, site)
        except InputProblem:
            return None

    def is_merged(self, commit: str) -> bool:
        """Whether a commit is part of the default branch's history."""
        return self.is_within(commit, self.base)

    def is_within(self, commit: str, tip: str) -> bool:
        """Whether a commit that somebody named is there, and part of a tip's history."""
        return bool(tip and self.doors.git.resolve(commit)) and self.doors.git.is_ancestor(commit, tip)

    # --- files ------------------------------------------------------------------------------------------------------------

    def text(self, change: Changed, about: str) -> bytes | None:
        """The new bytes of a file that is read as YAML; None, with a finding, where it is none."""
        if change.new is None:
            return None
        if change.new.mode != PLAIN_FILE:
            self.found.problem(
                "not-a-plain-file", about, "this must be a plain, non-executable file", where=f"{change.shown}:1:1",
                next="replace it by the file itself",
            )  # fmt: skip
            return None
        if self.doors.git.sizes([change.new.oid]).get(change.new.oid, 0) > MOST_YAML:
            self.found.problem(
                "yaml-too-big", about, f"this file is larger than {MOST_YAML // 1024} KiB", where=f"{change.shown}:1:1"
            )
            return None
        return self.doors.git.blobs([change.new.oid])[change.new.oid]

    # --- drafts -----------------------------------------------------------------------------------------------------------

    @property
    def drafts_elsewhere(self) -> bool:
        return bool(self.instance.drafts.remote)

    @property
    def drafts_missing(self) -> bool:
        """Whether drafts of another repository may be opened, and could not be fetched."""
        return self.drafts_elsewhere and not self.requested.closed and not self.requested.tips.drafts

    def drafts_commit(self, commit: str) -> str:
        """Where drafts are read for a tree of this repository; "" where they must not or cannot be."""
        if self.requested.closed:
            return ""
        return self.requested.tips.drafts if self.drafts_elsewhere else commit

    def drafts(self, commit: str, site: str, sources: Iterable[str]) -> tuple[Mapping[str, Draft], Mapping[str, InputProblem]]:
        """Drafts at a commit of their repository, and why others cannot be read."""
        return self.doors.reads.drafts(commit, site, sources)

    # --- other requests -----------------------------------------------------------------------------------------------------

    @cached_property
    def others(self) -> tuple[tuple[int, Plan], ...]:
        """The plans of the other open requests, each with its request's number."""
        found: list[tuple[int, Plan]] = []
        tips = self.requested.tips
        for number, head in sorted(tips.requests.items())[:MOST_OTHERS]:
            if number != self.requested.number and head != self.head and not self.doors.git.is_ancestor(head, self.base):
                if (self.base, head) not in self.doors.others:
                    self.doors.others[self.base, head] = tuple(self._plans_of(head))
                found += [(number, plan) for plan in self.doors.others[self.base, head]]
        return tuple(found)

    def _plans_of(self, head: str) -> list[Plan]:
        plans: list[Plan] = []
        try:
            changes = Trees(self.doors.git).changes(fork_point(self.doors.git, self.base, head), head)
        except InputProblem:
            return []  # its own review says what is wrong with it
        for change in changes:
            if change.area is Area.PLAN and not change.is_odd and change.new and change.new.mode == PLAIN_FILE:
                plan = self._plan_or_none(change.path, change.new.oid)
                plans += [plan] if plan else []
        return plans

    def _plan_or_none(self, path: str, oid: str) -> Plan | None:
        if self.doors.git.sizes([oid]).get(oid, 0) > MOST_YAML:
            return None
        try:
            return self.doors.files.plan(self.doors.git.blobs([oid])[oid], path)
        except Refusal:
            return None
