"""``publisher reconcile``: compares the public world with the ledger, settles what can be seen, rebuilds a lost ledger."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, chosen_sites, only_site, opened, view_of
from publisher.cli.verb import Verb
from publisher.domain.fingerprint import short
from publisher.errors import EXIT_OK, EXIT_SAFETY, EXIT_UNKNOWN, Refusal, StoppedForSafety, UsageProblem, worst

if TYPE_CHECKING:
    from publisher.engine.bench import Doors
    from publisher.engine.site_view import SiteView
    from publisher.wiring import Wired


@click.command(
    cls=Verb,
    examples=(
        "publisher reconcile",
        "publisher reconcile handbook --json",
        'publisher reconcile handbook --repair --reason "the disk was replaced"',
        "publisher reconcile handbook --restore",
    ),
)
@click.argument("site", required=False)
@click.option("--repair", is_flag=True, help="Put the recorded live release back on a target that lost it.")
@click.option("--restore", is_flag=True, help="Rebuild a lost or outdated ledger from public facts.")
@click.option("--reason", help="Why; needed with --repair, and recorded.")
@click.pass_context
def command(context: click.Context, site: str | None, repair: bool, restore: bool, reason: str | None) -> int:
    """Look at the target and at the public site, and record what became of open deploys.

    Public facts come first. Nothing is ever selected, and nothing foreign is built upon or removed.
    """
    if repair and restore:
        raise UsageProblem("which", "--repair and --restore do not go together", next="publisher reconcile --help")
    if repair and not reason:
        raise UsageProblem("no-reason", "--repair needs --reason", next="publisher reconcile --help")
    with opened(context, online=True) as wired:
        wired.git.require_trustworthy()
        tips = wired.store.refresh()
        if restore:
            return _restore(context, wired, only_site(wired, tips, site))
        if repair:
            return _repair(context, wired, only_site(wired, tips, site), reason or "")
        rows = [_reconcile(wired, name) for name in chosen_sites(wired, tips, site)]
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.reconcile/1", "sites": rows})
    else:
        for row in rows:
            _tell(row)
    return worst([row["exit"] for row in rows])


def _reconcile(wired: Wired, site: str) -> dict[str, Any]:
    from publisher.engine.deciding import Act
    from publisher.engine.running import run_site

    looks = frozenset({Act.RECONCILE, Act.LOOK_AGAIN, Act.CLOSE_TELLING})
    outcome = run_site(wired.doors(), site, acts=looks)
    row: dict[str, Any] = {"site": site, "exit": EXIT_OK, "did": {i.plan: i.did for i in outcome.plans.values() if i.did}}
    if outcome.problem:
        row |= {"problem": outcome.problem.as_data(), "exit": outcome.problem.exit_code}
    if outcome.view is None:
        return row
    return {**row, **_compare(wired, site, row["exit"])}


def _compare(wired: Wired, site: str, code: int) -> dict[str, Any]:
    """What the target holds and what the public shows, beside what the ledger says."""
    from publisher.engine.assembling import ReleaseAssembler
    from publisher.engine.reconciling import look

    doors = wired.doors()
    view = view_of(wired, wired.store.refresh(), site)
    expected = view.production.release
    try:
        live = doors.target(view.site).look().release
    except Refusal as problem:
        return {"ledger": expected, "target": None, "problem": problem.as_data(), "exit": worst([code, problem.exit_code])}
    row: dict[str, Any] = {"ledger": expected, "target": live, "public": {}}
    if live != expected:
        older = [item.number for item in view.production.deployments if item.release == live]
        return {**row, "older": older[-1] if older else None, "exit": worst([code, EXIT_SAFETY])}
    last = view.production.deployments[-1] if view.production.deployments else None
    if last and last.plan in view.plans and view.plans[last.plan].history.prepared:
        with tempfile.TemporaryDirectory(prefix="publisher-") as scratch:
            assembler = ReleaseAssembler(
                reads=wired.store, builder=wired.builder, site=site, scratch=Path(scratch), progress=wired.progress
            )
            report = look(doors, assembler, view, view.plans[last.plan])
        row["public"] = {url: str(state) for url, state in report.pages.items()}
        if report.missing:
            return {**row, "exit": worst([code, EXIT_UNKNOWN])} | _other_site(doors, view)
    return {**row, "exit": code}


def _other_site(doors: Doors, view: SiteView) -> dict[str, Any]:
    """Whether the domain shows another site altogether: then it leads elsewhere, and no page of this one can be there."""
    from publisher.engine.restoring import read_public

    try:
        read_public(doors, view)
    except StoppedForSafety as problem:
        return {"problem": problem.as_data(), "exit": problem.exit_code}
    except Refusal:
        pass  # the missing pages are told, and say more than a manifest that cannot be read
    return {}


def _tell(row: dict[str, Any]) -> None:
    output.say(f"{row['site']}", bold=True)
    for plan, did in row["did"].items():
        output.say(f"  {plan}: {', '.join(did)}")
    if "ledger" in row:
        for name in ("ledger", "target"):
            output.say(f"  {name:<7} {short(row[name]) if row[name] else 'nothing' if row[name] == '' else 'not reached'}")
    for url, state in row.get("public", {}).items():
        output.say(f"  {state:<10} {url}")
    problem = row.get("problem")
    if problem:
        output.note(f"  {problem['says']} [{problem['code']}]")
    if row["exit"] == EXIT_SAFETY and not problem:
        output.note(f"  the target does not hold the recorded release{_what_else(row)}")
        output.note(f'  next: publisher reconcile {row["site"]} --repair --reason "…", or --restore')


def _what_else(row: dict[str, Any]) -> str:
    if row.get("older"):
        return f", it holds the older one of deployment {row['older']}"
    return ", it holds one that the ledger does not record" if row.get("target") else ", it holds nothing"


def _repair(context: click.Context, wired: Wired, site: str, reason: str) -> int:
    from publisher.engine.repairing import repair

    release = repair(wired.doors(), site, reason)
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.repair/1", "site": site, "release": release})
    else:
        output.say(f"{site}: release {short(release)} is on the target")
    return EXIT_OK


def _restore(context: click.Context, wired: Wired, site: str) -> int:
    from publisher.engine.assembling import ReleaseAssembler
    from publisher.engine.restoring import restore

    with tempfile.TemporaryDirectory(prefix="publisher-") as scratch:
        assembler = ReleaseAssembler(
            reads=wired.store, builder=wired.builder, site=site, scratch=Path(scratch), progress=wired.progress
        )
        made = restore(wired.doors(), assembler, site)
    if asked_of(context).as_json:
        output.say_json(
            {"schema": "publisher.restore/1", "site": site, "epoch": made.epoch, "release": made.release, "articles": made.articles,
             "plans": made.plans}
        )  # fmt: skip
    else:
        output.say(
            f"{site}: epoch {made.epoch}; {made.articles} articles are recorded as public, {len(made.plans)} plans as done"
        )
    return EXIT_OK
