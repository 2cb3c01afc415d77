"""What most verbs begin with: the instance, its sites, a plan's name, and the view of a site."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from publisher.cli import output
from publisher.cli.boundary import Asked
from publisher.errors import UsageProblem

if TYPE_CHECKING:
    from publisher.engine.site_view import SiteView
    from publisher.ports import Tips
    from publisher.wiring import Wired


def asked_of(context: click.Context) -> Asked:
    asked = context.find_object(Asked)
    return asked if asked is not None else Asked()


@contextmanager
def opened(
    context: click.Context, *, fresh: bool = False, online: bool = False, requests: bool = True, drafts: bool = True
) -> Iterator[Wired]:
    """The instance around the current directory.

    ``fresh`` looks at the remote into a temporary object store. ``online`` is for verbs that write, and so ask a pull-request host
    too. Without ``requests`` the host is not even asked which are open: a pause must not wait for it. Without ``drafts`` none is
    read, and those of another repository are left alone.
    """
    from publisher.wiring import open_instance

    with output.progress() as progress:
        if not fresh:
            yield open_instance(asked_of(context).start, progress=progress, online=online, requests=requests, drafts=drafts)
            return
        with tempfile.TemporaryDirectory(prefix="publisher-look-") as objects:
            yield open_instance(asked_of(context).start, progress=progress, objects=Path(objects), online=True)


def plan_name(text: str) -> str:
    """A plan as people type it: its path with or without ``plans/`` and ``.yaml``."""
    name = text.removeprefix("./").removeprefix("plans/").removesuffix(".yaml").strip("/")
    if "/" not in name or ".." in name.split("/"):
        raise UsageProblem(
            "bad-plan-name", "a plan is named by its path, such as handbook/daily/2026/2026-12-01", next="publisher status"
        )
    return name


def site_of_plan(plan: str) -> str:
    return plan.split("/", 1)[0]


def chosen_sites(wired: Wired, tips: Tips, named: str | None) -> tuple[str, ...]:
    """The site that was named, or every site of the instance."""
    from publisher.engine.site_view import site_of

    instance = wired.store.instance(tips.default)
    if named:
        return (site_of(instance, named).id,)
    return tuple(sorted(instance.sites))


def only_site(wired: Wired, tips: Tips, named: str | None) -> str:
    """The site that a verb is about: named, or the only one there is."""
    sites = chosen_sites(wired, tips, named)
    if len(sites) != 1:
        raise UsageProblem("which-site", f"there are several sites: {', '.join(sites)}", next="add --site NAME")
    return sites[0]


def view_of(wired: Wired, tips: Tips, site: str) -> SiteView:
    from publisher.engine.site_view import load

    return load(wired.store, wired.forge, tips, site)


def table_of(rows: Sequence[Sequence[object]], headers: Sequence[str]) -> None:
    output.table(headers, rows)
