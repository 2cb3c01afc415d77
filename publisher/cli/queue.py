"""``publisher queue``: the articles that may be scheduled, in order. Edits lines of the checkout's file; you commit them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

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
            "not-queued",
            f"{article!a} is not in the queue of {self.site.id}{hint}",
            next=f"publisher queue list --site {self.site.id}",
        )


def _opened(asked: Asked, site: str | None, verb: str) -> Opened:
    from publisher.gitstore import working_tree

    root = working_tree.find_root(asked.start)
    instance = working_tree.read_instance(root)
    chosen = site_of(instance, site, f"queue {verb}")
    return Opened(asked=asked, root=root, instance=instance, site=chosen, queue=_file().read(root, chosen.id))


# --- list -------------------------------------------------------------------------------------------------------------------


@command.command("list", examples=("publisher queue list", "publisher queue list --site handbook --json"))
@SITE
@click.pass_obj
def list_(asked: Asked, site: str | None) -> None:
    """Show the queue in order, and whether each draft is ready.

    Position, id, source, category, whether it is held, and what would keep its draft from being planned.
    """
    opened = _opened(asked, site, "list")
    rows = [_row(opened, number, entry) for number, entry in enumerate(opened.queue, start=1)]
    if asked.as_json:
        output.say_json({"schema": "publisher.queue/1", "site": opened.site.id, "articles": rows})
        return
    shown = [
        [row["position"], row["id"], row["source"], row["category"], "held" if row["held"] else "", row["draft"]]
        for row in rows
    ]
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
    opened = _opened(asked, site or _site_in(asked.start, drafts[0]), "add")
    position = len(opened.queue) if before is None else opened.position(before)
    entries = list(dict.fromkeys(_entry(opened, draft) for draft in drafts))
    fresh = [entry for entry in entries if not _is_queued(opened, entry)]
    queue = _file().insert(opened.root, opened.site.id, position, fresh) if fresh else opened.queue
    _tell(replace(opened, queue=queue), [entry.id for entry in entries], changed=bool(fresh))


def _site_in(start: Path, named: str) -> str | None:
    """The site that a draft's path names, when it is a path."""
    from publisher.gitstore import working_tree

    parts = _inside(working_tree.find_root(start), named).split("/") if "/" in named else []
    return parts[1] if len(parts) == 3 and parts[0] == "drafts" else None


def _inside(root: Path, named: str) -> str:
    """A draft's folder relative to the root, from a path to it or to its text; "" for a path that leads elsewhere."""
    path = Path(os.path.normpath(Path.cwd() / named))
    folder = path.parent if path.name == "index.md" else path
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else ""


def _entry(opened: Opened, named: str) -> Queued:
    """The queue entry for a draft that is named by its folder, its file or its id. The draft must be readable."""
    from publisher.gitstore import working_tree

    source = _source_of(opened, named)
    draft = working_tree.read_draft(opened.root, source)
    twins = working_tree.find_draft(opened.root, opened.instance.sites, draft.id)
    if len(twins) > 1:
        raise InputProblem(
            "id-twice", f"id {draft.id} stands in {' and in '.join(twins)}", where=f"{source}/index.md:2:1",
            next="give the newer one another id",
        )  # fmt: skip
    if draft.draft_mark:
        output.note(f"{draft.id} says draft: true, and will not be planned before that is taken out")
    return Queued(id=draft.id, source=source)


def _source_of(opened: Opened, named: str) -> str:
    from publisher.gitstore import working_tree

    if "/" in named:
        inside = _inside(opened.root, named)
        found = [inside] if inside.count("/") == 2 else []
    else:
        found = list(working_tree.find_draft(opened.root, [opened.site.id], named))
    if not found or not (opened.root / found[0] / "index.md").is_file():
        raise UsageProblem("no-such-draft", f"there is no draft {named!a} of {opened.site.id}", next="ls drafts/*/")
    if found[0].split("/")[:2] != ["drafts", opened.site.id]:
        raise UsageProblem(
            "other-site", f"{found[0]} is no draft of {opened.site.id}", next="publisher queue add --site SITE …"
        )
    return found[0]


def _is_queued(opened: Opened, entry: Queued) -> bool:
    """Whether the same article is queued already; refuses when its id or its source is queued with another partner."""
    for old in opened.queue:
        if (old.id, old.source) == (entry.id, entry.source):
            return True
        if old.id == entry.id or old.source == entry.source:
            raise InputProblem(
                "queued-otherwise", f"the queue has {old.id} with {old.source}; the draft there says {entry.id}",
                where=f"{_file().path_of(opened.site.id)}:1:1", next=f"publisher queue remove {old.id}",
            )  # fmt: skip
    return False


# --- move, hold, release, remove ----------------------------------------------------------------------------------------------


@command.command(examples=("publisher queue move a-0007 --first", "publisher queue move a-0007 --after a-0011"))
@click.argument("article", metavar="ID")
@click.option("--before", metavar="ID", help="Put it before this one.")
@click.option("--after", metavar="ID", help="Put it after this one.")
@click.option("--first", is_flag=True, help="Put it first.")
@click.option("--last", is_flag=True, help="Put it last.")
@SITE
@click.pass_obj
def move(asked: Asked, article: str, before: str | None, after: str | None, first: bool, last: bool, site: str | None) -> None:
    """Give an article another place in the queue. Comments directly above it go with it."""
    if sum([before is not None, after is not None, first, last]) != 1:
        raise click.UsageError("say where to: exactly one of --before, --after, --first and --last")
    opened = _opened(asked, site, "move")
    old = opened.position(article)
    others = [entry.id for entry in opened.queue if entry.id != article]
    other = before or after
    if other is not None:
        if other == article:
            raise click.UsageError("an article cannot be placed beside itself")
        opened.position(other)
        new = others.index(other) + (1 if after else 0)
    else:
        new = 0 if first else len(others)
    queue = _file().move(opened.root, opened.site.id, old, new) if new != old else opened.queue
    _tell(replace(opened, queue=queue), [article], changed=new != old)


@command.command(examples=("publisher queue hold a-0007",))
@click.argument("article", metavar="ID")
@SITE
@click.pass_obj
def hold(asked: Asked, article: str, site: str | None) -> None:
    """Keep an article's place and pass it over, until it is released."""
    _hold(asked, article, site, held=True)


@command.command(examples=("publisher queue release a-0007",))
@click.argument("article", metavar="ID")
@SITE
@click.pass_obj
def release(asked: Asked, article: str, site: str | None) -> None:
    """Let a held article be planned again, from the place it kept."""
    _hold(asked, article, site, held=False)


def _hold(asked: Asked, article: str, site: str | None, *, held: bool) -> None:
    opened = _opened(asked, site, "hold" if held else "release")
    position = opened.position(article)
    changed = opened.queue[position].held != held
    queue = _file().hold(opened.root, opened.site.id, position, held) if changed else opened.queue
    _tell(replace(opened, queue=queue), [article], changed=changed)


@command.command(examples=("publisher queue remove a-0007",))
@click.argument("article", metavar="ID")
@SITE
@click.pass_obj
def remove(asked: Asked, article: str, site: str | None) -> None:
    """Take an article out of the queue. Its draft stays; what plans name already stays planned."""
    opened = _opened(asked, site, "remove")
    queue = _file().remove(opened.root, opened.site.id, opened.position(article))
    _tell(replace(opened, queue=queue), [article], changed=True)


def _tell(opened: Opened, articles: Sequence[str], *, changed: bool) -> None:
    """Where the articles stand now, and that the edit is to be committed."""
    ids = [entry.id for entry in opened.queue]
    path = _file().path_of(opened.site.id)
    places = [{"id": article, "position": ids.index(article) + 1 if article in ids else None} for article in articles]
    if opened.asked.as_json:
        output.say_json({
            "schema": "publisher.queue-edit/1", "site": opened.site.id, "path": path, "changed": changed, "articles": places,
            "length": len(ids),
        })  # fmt: skip
        return
    for place in places:
        entry = next((entry for entry in opened.queue if entry.id == place["id"]), None)
        if entry is None:
            output.say(f"{place['id']}  not in the queue")
        else:
            output.say(f"{place['id']}  {place['position']} of {len(ids)}{'  held' if entry.held else ''}")
    output.note(f"  next: git commit {path}" if changed else "nothing to change")


def _file() -> ModuleType:
    """The module that reads and edits the queue's file; imported late, like all that knows YAML."""
    from publisher.gitstore import queue_file

    return queue_file
