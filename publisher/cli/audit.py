"""``publisher audit``: proves from a full clone that everything public was approved, in order, by whom. Opens no connection."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, chosen_sites, opened
from publisher.cli.verb import Verb
from publisher.domain.business_calendar import parse_instant
from publisher.domain.fingerprint import short
from publisher.errors import UsageProblem

if TYPE_CHECKING:
    from publisher.engine.audit_findings import Finding
    from publisher.engine.auditing import AuditReport

COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)


@click.command(
    cls=Verb,
    examples=(
        "publisher audit",
        "publisher audit handbook --rebuild",
        "publisher audit --since-tip 3f0c2b6c9d1e4a7b8c3d2e1f0a9b8c7d5e6f7a8b",
        "PUBLISHER_ROOT=… publisher audit --json",
    ),
)
@click.argument("site", required=False)
@click.option("--fresh", is_flag=True, help="Ask the pull-request host again about every approval.")
@click.option("--rebuild", is_flag=True, help="Build every recorded release again and compare its id.")
@click.option(
    "--since-tip", "since", metavar="COMMIT", multiple=True, help="A tip that an earlier audit printed must still be there."
)
@click.pass_context
def command(context: click.Context, site: str | None, fresh: bool, rebuild: bool, since: tuple[str, ...]) -> int:
    """Prove that everything public was approved, in order, by whom, from this clone alone.

    Derives every approval again from signed merges, makes every text again from its approved source, and follows the ledger
    through its history. Exit 7 with each problem's own code and place; 0 when there is none.
    """
    from publisher.engine.auditing import AuditDoors, audit

    for tip in since:
        if not COMMIT.fullmatch(tip):
            raise UsageProblem("bad-commit", "--since-tip takes a commit's whole id", next="publisher audit --json")
    with opened(context, online=fresh) as wired:
        wired.git.require_trustworthy()
        sites = chosen_sites(wired, wired.store.tips(), site)
        doors = AuditDoors(
            reads=wired.store, git=wired.git, forge=wired.forge, builder=wired.builder, progress=wired.progress,
            pinned_root=wired.environment.get("PUBLISHER_ROOT", ""),
            host_not_asked=wired.instance.forge == "github" and not fresh,
        )  # fmt: skip
        report = audit(doors, sites, rebuild=rebuild, since=since)
    if asked_of(context).as_json:
        output.say_json(report.as_data())
    else:
        _tell(report)
    return report.exit_code


def _tell(report: AuditReport) -> None:
    for site in report.sites:
        counts = site.counts
        live = f"release {short(site.release)}" if site.release else "nothing public"
        output.say(f"{site.site}: {live}, {len(site.articles)} public articles", bold=True)
        output.say(
            f"  looked at {counts['events']} records in {counts['ledger_files']} files, {counts['claims']} claims, "
            f"{counts['plans']} plans, {counts['approvals']} approvals, {counts['deployments']} deployments"
        )
        again = f", {counts['releases_built_again']} releases built again" if report.rebuilt else ""
        output.say(f"  {counts['texts_made_again']} texts made again from their approved sources{again}")
        _tell_articles(site.articles, site.zone)
    _tell_findings("WARNING", report.warnings)
    _tell_findings("NOT PROVEN", report.not_proven)
    _tell_findings("PROBLEM", report.problems)
    if report.problems:
        output.say(f"{len(report.problems)} problem{'s' if len(report.problems) > 1 else ''}", bold=True)
    else:
        output.say("no problem found", bold=True)
    if not report.rebuilt:
        output.note("(releases were not built again; --rebuild does)")
    tips = " ".join(f"--since-tip {tip}" for tip in dict.fromkeys((report.default, report.state)))
    output.note(f"(a later audit shows that nothing of this was taken back: publisher audit {tips})")


def _tell_articles(articles: Sequence[Mapping[str, Any]], zone: ZoneInfo) -> None:
    for row in articles:
        approved = f"approved by {', '.join(row['approved_by'])} (request {row['request']})" if row["request"] else "not proven"
        deployed, seen = _when(row["deployed_at"], zone), _when(row["confirmed_at"], zone)
        when = f", deployed {deployed}, {'confirmed ' + seen if seen else 'not confirmed'}" if deployed else ""
        output.say(f"  {row['id']}  {row['url']}  {row['plan'] or '(baseline)'}: {approved}{when}")


def _when(at: str | None, zone: ZoneInfo) -> str:
    try:
        return output.when(parse_instant(at), zone) if at else ""
    except ValueError:
        return "at an unreadable time"  # a problem of that record says so with its place


def _tell_findings(head: str, findings: Sequence[Finding]) -> None:
    for finding in findings:
        output.say(f"{head}  {finding.where}: {finding.says} [{finding.code}]")
