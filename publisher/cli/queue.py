"""``publisher queue``: the articles that may be scheduled, in order. Edits lines of the checkout's file; you commit them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import click

from publisher.cli import output
from publisher.cli.boundary import Asked
from publisher.cli.verb import VerbGroup
from publisher.cli.which_site import site_of
from publisher.domain.instance import Instance, Site
from publisher.domain.queue import Queued
from publisher.errors import InputProblem, Refusal, UsageProblem

SITE = click.option("--site", metavar="SITE", help="Which site; not needed where there is one.")


@click.group(
    cls=VerbGroup,
    examples=(
        "publisher queue list",
        "publisher queue add drafts/handbook/fences",
        "publisher queue move a-0007 --first",
    ),
)
def command() -> None:
    """The articles that may be scheduled, in order.

    What is not queued is never chosen; a held article keeps its place and is passed over. These verbs edit
    plans/SITE/queue.yaml in your checkout, and keep its comments; commit it yourself.
    """


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A site's queue as it is in the checkout."""

    asked: Asked
    root: Path
    instance: Instance
    site: Site
    queue: tuple[Queued, ...]

    def position(self, article: str) -> int:
        ids = [entry.id for entry in self.queue]
        if article in ids:
            return ids.index(article)
        near = get_close_matches(article, ids, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageProblem(
            "not-queued", f"{article!a} is not in the queue of {self.site.id}{hint}", next=f"publisher queue list --site {self.site.id}"
        )


def _opened(asked: Asked, site: str | None, verb: str) -> Opened:
    from publisher.gitstore import working_tree

    root = working_tree.find_root(asked.start)
    instance = working_tree.read_instance(root)
    chosen = site_of(instance, site, f"queue {verb}")
    return Opened(asked=asked, root=root, instance=instance, site=chosen, queue=working_tree.read_queue(root, chosen.id))


# --- list -------------------------------------------------------------------------------------------------------------------


@command.command("list", examples=("publisher queue list", "publisher queue list --site handbook --json"))
@SITE
@click.pass_obj
def list_(asked: Asked, site: str | None) -> None:
    """Show the queue: position, id, source, category, and whether each draft is ready to be planned."""
    opened = _opened(asked, site, "list")
    rows = [_row(opened, number, entry) for number, entry in enumerate(opened.queue, start=1)]
    if asked.as_json:
        output.say_json({"schema": "publisher.queue/1", "site": opened.site.id, "articles": rows})
        return
    shown = [[row["position"], row["id"], row["source"], row["category"], "held" if row["held"] else "", row["draft"]] for row in rows]
    output.table(["#", "ID", "SOURCE", "CATEGORY", "HELD", "DRAFT"], shown)
    if not rows:
        output.note("the queue is empty; next: publisher queue add drafts/SITE/SLUG")


def _row(opened: Opened, number: int, entry: Queued) -> dict[str, object]:
    category, state = _draft_state(opened, entry)
    return {
        "position": number, "id": entry.id, "source": entry.source, "category": category, "held": entry.held, "draft": state,
    }  # fmt: skip


def _draft_state(opened: Opened, entry: Queued) -> tuple[str, str]:
    """(category, state): ready, missing, unreadable (with its place), another id, marked draft, or kept elsewhere."""
    from publisher.gitstore import working_tree

    if opened.instance.drafts.remote:
        return "", "elsewhere"
    if not (opened.root / entry.source / "index.md").is_file():
        return "", "missing"
    try:
        draft = working_tree.read_draft(opened.root, entry.source)
    except Refusal as refusal:
        return "", f"unreadable at {refusal.where}" if refusal.where else "unreadable"
    if draft.id != entry.id:
        return draft.category, f"has id {draft.id}"
    return draft.category, "marked draft" if draft.draft_mark else "ready"


# --- add --------------------------------------------------------------------------------------------------------------------


@command.command(
    examples=(
        "publisher queue add drafts/handbook/fences",
        "publisher queue add a-0021 --before a-0007",
        "publisher queue add drafts/handbook/*",
    )
)
@click.argument("drafts", metavar="DRAFT...", nargs=-1, required=True)
@click.option("--before", metavar="ID", help="Put them before this one instead of at the end.")
@SITE
@click.pass_obj
def add(asked: Asked, drafts: tuple[str, ...], before: str | None, site: str | None) -> None:
    """Add drafts to the queue, each named by its folder or its id.

    Adding what is queued already changes nothing.
    """
    opened = _opened_for(asked, site, drafts)
    position = len(opened.queue) if before is None else opened.position(before)
    entries = [_entry(opened, draft) for draft in drafts]
    fresh = list(dict.fromkeys(entry for entry in entries if entry not in [replace(old, held=False) for old in opened.queue]))
    _require_new(opened, fresh)
    for entry in entries:
        if entry not in fresh:
            output.note(f"{entry.id} is in the queue already, at {opened.position(entry.id) + 1} of {len(opened.queue)}")
    if fresh:
        after = [*opened.queue[:position], *fresh, *opened.queue[position:]]
        _write(opened, after, lambda lines, line: [lines.insert(position + n, line(e)) for n, e in enumerate(fresh)])
    _tell(opened, after if fresh else opened.queue, [entry.id for entry in entries])
