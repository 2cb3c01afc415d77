"""``publisher change``: plans that change what is public. Each is approved like a publication."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, only_site, opened, view_of
from publisher.cli.proposing import propose, summarise, tell
from publisher.cli.verb import Verb, VerbGroup

if TYPE_CHECKING:
    from publisher.engine.assembling import ReleaseAssembler
    from publisher.engine.site_view import SiteView
    from publisher.wiring import Wired

Fields = Callable[["Wired", "SiteView"], dict[str, Any]]


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    function = click.option("--site", metavar="NAME", help="The site, where there are several.")(function)
    function = click.option("--local", is_flag=True, help="Write the plan file here instead of opening a request.")(function)
    return click.option("--reason", required=True, help="Why; it stands in the plan and in the ledger.")(function)


@click.group(
    cls=VerbGroup,
    examples=(
        'publisher change correct a-0007 --reason "a wrong figure"',
        'publisher change withdraw a-0007 --redirect-to /leases/ --reason "merged"',
        'publisher change presentation --reason "new theme"',
        'publisher change rollback 12 --reason "the last two were wrong"',
    ),
)
def command() -> None:
    """Plan a change of what is public: correct, withdraw, presentation, rollback."""


@command.command(cls=Verb, examples=('publisher change correct a-0007 --reason "a wrong figure"',))
@click.argument("articles", nargs=-1, required=True)
@_options
@click.pass_context
def correct(context: click.Context, articles: tuple[str, ...], reason: str, local: bool, site: str | None) -> int:
    """Show the text as its source is now. Id, URL, GUID and date stay; a correction is never announced."""

    def fields(wired: Wired, view: SiteView) -> dict[str, Any]:
        from publisher.engine.changes import correction

        return correction(wired.store, view, articles)

    return _propose(context, "correct", site, reason, local, fields)


@command.command(cls=Verb, examples=('publisher change withdraw a-0007 --reason "no longer true"',))
@click.argument("article")
@click.option("--redirect-to", metavar="PATH", default="", help="Answer with a redirect to this path instead of 404.")
@_options
@click.pass_context
def withdraw(context: click.Context, article: str, redirect_to: str, reason: str, local: bool, site: str | None) -> int:
    """Take an article out. It was public: copies, feeds and archives keep it, and it never goes back to being a draft."""

    def fields(wired: Wired, view: SiteView) -> dict[str, Any]:
        from publisher.engine.changes import withdrawal

        return withdrawal(view, article, redirect_to)

    return _propose(context, "withdraw", site, reason, local, fields)


@command.command(cls=Verb, examples=('publisher change presentation --reason "new theme"',))
@_options
@click.pass_context
def presentation(context: click.Context, reason: str, local: bool, site: str | None) -> int:
    """Show the site in the theme and configuration that the default branch has now."""

    def fields(wired: Wired, view: SiteView) -> dict[str, Any]:
        from publisher.engine import changes

        with _assembler(wired, view) as assembler:
            return changes.presentation(view, assembler)

    return _propose(context, "presentation", site, reason, local, fields)


@command.command(cls=Verb, examples=('publisher change rollback 12 --reason "the last two were wrong"',))
@click.argument("deployment", type=click.IntRange(1))
@_options
@click.pass_context
def rollback(context: click.Context, deployment: int, reason: str, local: bool, site: str | None) -> int:
    """Back to what was public after DEPLOYMENT (its number is in `publisher log`). The payload names the release."""

    def fields(wired: Wired, view: SiteView) -> dict[str, Any]:
        from publisher.engine import changes

        with _assembler(wired, view) as assembler:
            return changes.rollback(view, assembler, deployment)

    return _propose(context, "rollback", site, reason, local, fields)


@contextmanager
def _assembler(wired: Wired, view: SiteView) -> Iterator[ReleaseAssembler]:
    import tempfile

    from publisher.engine.assembling import ReleaseAssembler

    with tempfile.TemporaryDirectory(prefix="publisher-") as scratch:
        yield ReleaseAssembler(
            reads=wired.store, builder=wired.builder, site=view.site.id, scratch=Path(scratch), progress=wired.progress
        )


def _propose(context: click.Context, action: str, site: str | None, reason: str, local: bool, fields: Fields) -> int:
    from publisher.engine.changes import change_plan, next_change, today

    with opened(context, online=True) as wired:
        wired.git.require_trustworthy()
        tips = wired.store.refresh()
        view = view_of(wired, tips, only_site(wired, tips, site))
        day = today(view, wired.clock.now())
        values = fields(wired, view)
        name = next_change(wired.store, wired.forge, view, day)
        plan = change_plan(view, name, day, action, reason, values)
        made = propose(wired, view, [plan], f"{view.site.id}: {action} {name}", local=local)
    summarise([made])
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.plan/1", "proposed": [made], "problems": []})
    else:
        tell(made)
    return 0
