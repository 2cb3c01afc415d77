"""The examination of an instance: one finding for each thing that a run will need, good or bad, and the next command where it is bad.

Rules:
* an examination reads and changes nothing; what it could not look at is a warning, never taken for good;
* a refusal that a run would meet is a problem here, with the same code, place and next command;
* nothing quotes a draft, a secret's value or a library's message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from publisher.domain.approval import ApprovalRules
from publisher.domain.article import MANIFEST_PATH
from publisher.domain.business_calendar import CLOCK_TOLERANCE
from publisher.domain.evidence import Seen
from publisher.domain.fingerprint import short
from publisher.domain.instance import Instance, Site
from publisher.domain.public_pages import absolute
from publisher.domain.public_site import clock_apart, read_manifest
from publisher.engine.running import require_clock, require_ledger
from publisher.engine.site_view import SiteView
from publisher.errors import EXIT_INPUT, EXIT_OK, EXIT_PERSON, EXIT_SAFETY, ComeBackLater, Refusal, UsageProblem, worst
from publisher.ports import Probes, Target


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found about one thing. ``exit_code`` is what a problem ends ``doctor`` with; ``where`` is ``path:line:col``."""

    about: str
    level: Level
    says: str
    where: str = ""
    next: str = ""
    code: str = ""
    exit_code: int = EXIT_OK

    def as_data(self) -> dict[str, str]:
        data = {
            "about": self.about,
            "level": str(self.level),
            "says": self.says,
            "where": self.where,
            "next": self.next,
            "code": self.code,
        }
        return {name: value for name, value in data.items() if value}


def good(about: str, says: str) -> Finding:
    return Finding(about=about, level=Level.OK, says=says)


def warning(about: str, says: str, *, next: str = "", code: str = "", where: str = "") -> Finding:
    return Finding(about=about, level=Level.WARNING, says=says, next=next, code=code, where=where)


def problem(about: str, code: str, says: str, *, next: str, exit_code: int = EXIT_PERSON, where: str = "") -> Finding:
    return Finding(about=about, level=Level.PROBLEM, says=says, next=next, code=code, exit_code=exit_code, where=where)


def refused(about: str, refusal: Refusal) -> Finding:
    """A refusal that a run would meet."""
    return Finding(
        about=about, level=Level.PROBLEM, says=refusal.says, where=refusal.where, next=refusal.next, code=refusal.code,
        exit_code=refusal.exit_code,
    )  # fmt: skip


def found(about: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """What a look finds; a refusal on the way is one more finding, unless it is about the command line."""
    try:
        yield from look()
    except UsageProblem:
        raise
    except Refusal as refusal:
        yield refused(about, refusal)


def exit_code(findings: Iterable[Finding]) -> int:
    return worst([item.exit_code for item in findings if item.level is Level.PROBLEM])


# --- people -------------------------------------------------------------------------------------------------------------------


def approval_root(rules: ApprovalRules, pinned: str) -> Iterator[Finding]:
    """Where the approval rules begin. Another root than the pinned one was refused before this is asked."""
    if pinned:
        yield good("approval root", f"{short(rules.root)}, as PUBLISHER_ROOT says")
    elif rules.root:
        yield warning(
            "approval root", "not pinned outside the repository; whoever rewrites its history could write other rules",
            next=f"set PUBLISHER_ROOT={rules.root} where runs happen", code="root-not-pinned",
        )  # fmt: skip
    for commit in rules.ignored:
        yield warning(
            "approval.yaml", f"the change in {commit[:12]} was not approved by the rules before it, and is not in force",
            next=f"git revert {commit[:12]}, or bring the change through a reviewed request", code="rules-ignored",
        )  # fmt: skip


def signers(rules: ApprovalRules) -> Finding:
    """Whether a plan of somebody can be approved by enough others (forge ``git``)."""
    planners = [signer.principal for signer in rules.signers if signer.may_commit]
    approvers = [signer.principal for signer in rules.signers if signer.may_approve]
    able = [who for who in planners if len({*approvers} - {who}) >= rules.count]
    if able:
        return good("approvals", f"{_listed(able)} may plan; {_listed(approvers)} may approve; {rules.count} needed")
    lacks = "nobody may plan" if not planners else "nobody else may approve" if approvers else "nobody may approve"
    return problem(
        "approvals", "nobody-approves", f"{lacks}: a plan needs {rules.count} from somebody else than its author",
        next="add signers to approval.yaml", exit_code=EXIT_INPUT,
    )  # fmt: skip


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def preconditions(instance: Instance) -> Iterator[Finding]:
    """What every unattended release needs: somebody on call, and a staging target for each site."""
    if instance.on_call:
        yield good("on call", _listed(list(instance.on_call)))
    else:
        yield problem(
            "on call", "no-on-call", "nobody is on call, so nothing is released unattended", next="add on_call to publisher.yaml",
            exit_code=EXIT_INPUT,
        )  # fmt: skip


def staging(site: Site) -> Finding:
    if site.staging:
        return good("staging", f"{site.staging.kind}")
    return problem(
        "staging", "no-staging", "there is no staging target, so nothing is released unattended",
        next=f"add staging to site {site.id} in publisher.yaml", exit_code=EXIT_INPUT,
    )  # fmt: skip


# --- the ledger and the world -------------------------------------------------------------------------------------------------


def ledger(view: SiteView, now: datetime) -> Finding:
    """The ledger is there, whole, and not ahead of this machine's clock."""
    require_ledger(view)
    require_clock(view, now)
    records = sum(len(events) for events in view.events.values())
    live = view.production
    public = (
        f"; {len(live.content.shown)} articles public in release {short(live.release)}"
        if live.release
        else "; nothing public yet"
    )
    return good("ledger", f"{_count(records, 'record')}, epoch {view.standing.epoch}{public}")


def target(view: SiteView, door: Target) -> Iterator[Finding]:
    """The target as it is against what the ledger records, and its own guarantee."""
    live, recorded, kind = door.look(), view.production.release, view.site.target.kind
    if live.release == recorded:
        yield good("target", f"{kind}, {'holds ' + short(recorded) + ' as recorded' if recorded else 'empty, as recorded'}")
    elif not live.release:
        yield warning(
            "target", f"{kind}, empty as this machine sees it; the ledger records release {short(recorded)} as live",
            next=f'on the machine that serves it: publisher reconcile {view.site.id}', code="nothing-live",
        )  # fmt: skip
    else:
        yield problem(
            "target", "foreign-live", f"{kind}, holds {short(live.release)}; the ledger records {short(recorded) or 'nothing'}",
            next=f"publisher reconcile {view.site.id}",
        )  # fmt: skip
    yield good("guarantee", door.guarantee)


def public(view: SiteView, probes: Probes, now: datetime, *, seconds: float, bust: str) -> Iterator[Finding]:
    """What the site's own address says: its clock, and the manifest against the ledger."""
    url = absolute(view.site.url, MANIFEST_PATH)
    seen = probes.look([url], seconds=seconds, bust=bust)[url]
    yield from _clock(seen, now)
    try:
        manifest = read_manifest(seen)
    except ComeBackLater as silent:
        if view.production.release:
            yield replace(refused("public site", silent), next=_who_answers(view.site, seen) or silent.next)
        else:
            reason = seen.problem or f"status {seen.status}"
            yield warning(
                "public site", f"{view.site.url} does not answer yet ({reason}); nothing is public there", code=silent.code
            )
        return
    recorded = {text.id for text in view.production.content.shown}
    listed = {entry.id for entry in manifest.articles} if manifest else set()
    if manifest and manifest.site != view.site.id:
        yield problem(
            "public site", "other-site", f"{view.site.url} shows site {manifest.site}", next="correct the site's url in publisher.yaml",
            exit_code=EXIT_SAFETY,
        )  # fmt: skip
    elif listed != recorded:
        yield problem(
            "public site", "public-differs",
            f"{view.site.url} lists {len(listed)} articles, the ledger {len(recorded)}; {_difference(listed, recorded)}",
            next=f"publisher reconcile {view.site.id}",
        )  # fmt: skip
    else:
        shows = (
            f"answers, and lists the {_count(len(recorded), 'article')} that the ledger records"
            if manifest
            else "answers; nothing is public yet"
        )
        yield good("public site", f"{view.site.url} {shows}")


def _who_answers(site: Site, seen: Seen) -> str:
    """Where a site of this machine has no web server yet, ours can stand in for it."""
    here = urlsplit(site.url).hostname in ("127.0.0.1", "localhost") and site.target.kind == "directory"
    return f"publisher serve --site {site.id}, which stands in for a web server" if here and seen.problem == "refused" else ""


def _difference(listed: set[str], recorded: set[str]) -> str:
    parts = [f"missing {_listed(sorted(recorded - listed))}" if recorded - listed else ""]
    parts += [f"unknown here {_listed(sorted(listed - recorded))}" if listed - recorded else ""]
    return "; ".join(filter(None, parts))


def _clock(seen: Seen, now: datetime) -> Iterator[Finding]:
    apart = clock_apart(seen, now)
    if apart is None:
        return
    if apart > CLOCK_TOLERANCE:
        yield problem(
            "clock",
            "clocks-apart",
            f"{int(apart.total_seconds())} seconds from that of the site",
            next="set this machine's clock",
        )
    else:
        yield good("clock", f"{int(apart.total_seconds())} seconds from that of the site")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def summary(findings: list[Finding]) -> dict[str, Any]:
    """How many of each level."""
    return {str(level): sum(item.level is level for item in findings) for level in Level}
