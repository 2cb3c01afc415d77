"""What ``doctor`` reads of the checkout: the files that people edit, by the rules that a run reads them by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from publisher.domain.instance import Instance, Site
from publisher.engine.examining import Finding, found, good, problem, refused, warning
from publisher.errors import EXIT_INPUT, InputProblem, Refusal

if TYPE_CHECKING:
    from publisher.domain.queue import Queued
    from publisher.engine.site_view import SiteView
    from publisher.wiring import Wired

AREAS = ("daily", "changes", "episodes", "gates")
MOST_TOLD = 5
"""Drafts or plans with a problem that are told one by one; the rest is counted."""


@dataclass(kw_only=True)
class Files:
    """The checkout at ``root``. ``committed`` are the blob ids that the remote's default branch has, by path."""

    root: Path
    committed: Mapping[str, str]

    def instance(self) -> Iterator[Finding]:
        """``publisher.yaml`` and ``approval.yaml``."""
        from publisher.gitstore import working_tree

        instance = working_tree.read_instance(self.root)
        names = ", ".join(sorted(instance.sites))
        yield good("publisher.yaml", f"instance {instance.id}, forge {instance.forge}, sites: {names}")
        yield from found("approval.yaml", self._rules)

    def _rules(self) -> Iterator[Finding]:
        from publisher.gitstore import instance_files, working_tree

        data = working_tree.read_file(self.root, "approval.yaml")
        if data is None:
            raise InputProblem(
                "no-approval-rules", "there is no approval.yaml", where="approval.yaml:1:1", next="publisher init"
            )
        rules = instance_files.rules_of(data, "approval.yaml")
        hours = int(rules.expires_after.total_seconds() // 3600)
        yield good("approval.yaml", f"{rules.count} needed, usable for {hours} hours")

    def site(self, site: Site) -> Iterator[Finding]:
        yield from found("policy", lambda: self._policy(site))

    def _policy(self, site: Site) -> Iterator[Finding]:
        from publisher.gitstore import working_tree

        policy = working_tree.read_policy(self.root, site.id)
        if policy is None:
            yield warning(
                "policy",
                f"plans/{site.id}/policy.yaml is not there: nothing is planned",
                next=f"publisher init --site {site.id}",
            )
            return
        shares = ", ".join(f"{name} {share}" for name, share in policy.shares.items())
        at = f" at {policy.publish_time}" if policy.publish_time else ""
        yield good(
            "policy",
            f"version {policy.version}: {policy.quantity} a day{at} {policy.zone_name}" + (f" ({shares})" if shares else ""),
        )

    # --- the queue and its drafts ---------------------------------------------------------------------------------------------

    def queue(self, wired: Wired, instance: Instance, site: Site, view: SiteView | None) -> Iterator[Finding]:
        """Every queued source that is not public yet exists, can be read, and has the id that the queue says."""
        from publisher.gitstore import queue_file

        queue = queue_file.read(self.root, site.id)
        public = view.production.content.texts if view else {}
        waiting = [entry for entry in queue if entry.id not in public]
        wrong = list(self._unreadable(wired, instance, site, waiting, view))
        yield from _few(wrong, "queue", "queued drafts")
        if not wrong:
            held = sum(entry.held for entry in waiting)
            yield good("queue", f"{len(waiting)} waiting" + (f", {held} of them held" if held else "") + "; each can be read")

    def _unreadable(
        self, wired: Wired, instance: Instance, site: Site, waiting: list[Queued], view: SiteView | None
    ) -> Iterator[Finding]:
        if instance.drafts.remote:
            yield from self._elsewhere(wired, site, waiting, view)
            return
        from publisher.gitstore import working_tree

        for entry in waiting:
            try:
                if not (self.root / entry.source / "index.md").is_file():
                    raise InputProblem(
                        "draft-missing", "the queue names a draft that does not exist", where=f"{entry.source}/index.md:1:1",
                        next=f"publisher queue remove {entry.id}",
                    )  # fmt: skip
                draft = working_tree.read_draft(self.root, entry.source, wired.builder.references)
            except Refusal as refusal:
                yield refused("queue", refusal)
                continue
            if draft.id != entry.id:
                yield _other_id(site, entry, draft.id)

    def _elsewhere(self, wired: Wired, site: Site, waiting: list[Queued], view: SiteView | None) -> Iterator[Finding]:
        commit = view.tips.drafts if view else ""
        if not commit:
            yield warning("queue", "the drafts' repository was never fetched here, so its drafts were not looked at")
            return
        sources = [entry.source for entry in waiting]
        drafts, problems = wired.store.drafts(commit, site.id, sources)
        for entry in waiting:
            if entry.source in problems:
                yield refused("queue", problems[entry.source])
            elif entry.source in drafts and drafts[entry.source].id != entry.id:
                yield _other_id(site, entry, drafts[entry.source].id)

    # --- plans ------------------------------------------------------------------------------------------------------------------

    def plans(self, site: Site, view: SiteView | None) -> Iterator[Finding]:
        """Plans and gate files that are not over, or that differ from what the remote has."""
        over = {path for path, item in view.plans.items() if item.history.over} if view else set()
        wrong, read = [], set()
        for path in self._plan_paths(site):
            name = path.removeprefix("plans/").removesuffix(".yaml")
            data = (self.root / path).read_bytes()
            if name in over and self.committed.get(path) == self._blob_id(data):
                continue
            read.add(name)
            try:
                self._reader(path)(data, path)
            except Refusal as refusal:
                wrong.append(refused("plans", refusal))
        # Open plans that the remote has and this checkout has not were read at the remote's tip.
        elsewhere = [item for path, item in view.plans.items() if path not in read | over] if view else []
        wrong += [refused("plans", item.problem) for item in elsewhere if isinstance(item.problem, Refusal)]
        yield from _few(wrong, "plans", "plans")
        if not wrong:
            count = len(read) + len(elsewhere)
            yield good("plans", (f"{count} open, each can be read" if count else "none open") + f"; {len(over)} are over")

    def _plan_paths(self, site: Site) -> list[str]:
        folder = self.root / "plans" / site.id
        files = [path for area in AREAS for path in folder.glob(f"{area}/**/*.yaml")]
        return sorted(path.relative_to(self.root).as_posix() for path in (*files, *folder.glob("launch.yaml")))

    def _reader(self, path: str) -> Callable[[bytes, str], object]:
        from publisher.gitstore import instance_files

        return instance_files.gate_of_file if "/gates/" in path else instance_files.plan_of_file

    def _blob_id(self, data: bytes) -> str:
        from publisher.gitstore.git_objects import algorithm_of, object_id

        known = next(iter(self.committed.values()), "0" * 40)
        return object_id("blob", data, algorithm_of(known))

    def not_committed(self, site_ids: list[str]) -> Iterator[Finding]:
        """Edited configuration that no run sees yet, because it is not on the remote's default branch."""
        paths = ["publisher.yaml", "approval.yaml"]
        paths += [f"plans/{site}/{name}.yaml" for site in site_ids for name in ("policy", "queue")]
        edited = [
            path
            for path in paths
            if (self.root / path).is_file() and self._blob_id((self.root / path).read_bytes()) != self.committed.get(path)
        ]
        if edited:
            yield warning(
                "checkout",
                f"{', '.join(edited)} here is not what runs read",
                next="commit and push it, or git pull",
                code="not-pushed",
            )


def _few(wrong: list[Finding], about: str, what: str) -> Iterator[Finding]:
    yield from wrong[:MOST_TOLD]
    if len(wrong) > MOST_TOLD:
        more = len(wrong) - MOST_TOLD
        yield problem(
            about,
            "and-more",
            f"{more} more {what} have a problem",
            next="correct these, then publisher doctor",
            exit_code=EXIT_INPUT,
        )


def _other_id(site: Site, entry: Queued, says: str) -> Finding:
    refusal = InputProblem(
        "queue-id-differs", f"the queue names {entry.id} for {entry.source}, which says {says}",
        where=f"plans/{site.id}/queue.yaml:1:1", next="publisher queue list",
    )  # fmt: skip
    return refused("queue", refusal)
