"""``publisher new``: a draft with a fresh id."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from pathlib import Path

import click

from publisher.cli import output
from publisher.cli.boundary import Asked
from publisher.cli.verb import Verb
from publisher.cli.which_site import site_of
from publisher.domain.article import RESERVED_PAGES, is_safe_name
from publisher.domain.instance import Instance, Site
from publisher.errors import InputProblem, UsageProblem

LONGEST_SLUG = 60
# Latin letters that have no decomposition into an ASCII letter and an accent.
SPELLED = str.maketrans({
    "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ł": "l",
    "Ł": "L", "þ": "th", "Þ": "Th", "ð": "d", "Ð": "D", "ı": "i", "ħ": "h", "Ħ": "H", "’": "", "'": "",
})  # fmt: skip
ANOTHER_SLUG = "publisher new --slug WORDS-OF-THE-ADDRESS TITLE"


@click.command(
    cls=Verb,
    examples=(
        'publisher new "Why we check twice"',
        "publisher new --site handbook --category guide Reading the log",
        'publisher new --slug first-steps "第一步"',
        '$EDITOR "$(publisher new A quick note)"',
    ),
)
@click.argument("title", nargs=-1, required=True)
@click.option("--site", metavar="SITE", help="Which site; not needed where there is one.")
@click.option("--category", metavar="NAME", help="Its category; otherwise the first of the policy's shares, or note.")
@click.option("--slug", metavar="WORDS", help="The words of its address; otherwise made from the title.")
@click.option("--summary", metavar="TEXT", default="", help="One or two sentences for lists and feeds; can be written later.")
@click.pass_obj
def command(
    asked: Asked, title: tuple[str, ...], site: str | None, category: str | None, slug: str | None, summary: str
) -> None:
    """Begin a draft: drafts/SITE/SLUG/index.md with a fresh id.

    Prints the file's path and nothing else. The draft is private until a plan that names it is approved and carried out, and
    nobody plans it before it stands in the queue. A file that exists is never touched.
    """
    from publisher.gitstore import working_tree

    root = working_tree.find_root(asked.start)
    instance = working_tree.read_instance(root)
    chosen = site_of(instance, site, "new")
    _require_drafts_here(instance)
    text = _one_line(" ".join(title), "the title")
    words = _checked_slug(slug) if slug is not None else slug_of(text)
    chosen_category = _category(root, chosen, category)
    article = working_tree.next_article_id(root, working_tree.ledger_elsewhere(root, instance))
    front = front_matter(article, text, _one_line(summary, "the summary"), chosen_category)
    path = working_tree.new_draft(root, chosen.id, words, front)
    _tell(asked, root, path, article)


def _tell(asked: Asked, root: Path, path: str, article: str) -> None:
    shown = Path(os.path.relpath(root / path, Path.cwd()))
    if asked.as_json:
        output.say_json({"schema": "publisher.new/1", "path": path, "id": article, "source": path.rpartition("/")[0]})
        return
    output.say(shown)
    output.note(f"  next: write it, then publisher queue add {path.rpartition('/')[0]}")


def front_matter(article: str, title: str, summary: str, category: str) -> bytes:
    """The beginning of a draft's ``index.md``. JSON strings are YAML's double-quoted ones."""
    hint = "" if summary else "   # one or two sentences for lists and feeds; needed before it can be planned"
    lines = [
        "---",
        f"id: {article}",
        f"title: {json.dumps(title, ensure_ascii=False)}",
        f"summary: {json.dumps(summary, ensure_ascii=False)}{hint}",
        f"category: {category}",
        "tags: []",
        "---",
        "",
    ]
    return "\n".join(lines).encode("utf-8")


def _require_drafts_here(instance: Instance) -> None:
    if instance.drafts.remote:
        raise UsageProblem(
            "drafts-elsewhere", "this instance keeps its drafts in another repository; drafts begin there",
            next="git clone the drafts' repository named in publisher.yaml",
        )  # fmt: skip


def _one_line(text: str, what: str) -> str:
    """The text without spaces around it, or a refusal that does not repeat it."""
    text = unicodedata.normalize("NFC", text.strip())
    if any(unicodedata.category(char) in output.UNSEEN for char in text):
        raise UsageProblem("not-one-line", f"{what} holds a control or invisible character", next="publisher new TITLE")
    if what == "the title" and not text:
        raise UsageProblem("no-title", "the title is empty", next="publisher new TITLE")
    if len(text) > (200 if what == "the title" else 500):
        raise UsageProblem("too-long", f"{what} is too long", next="publisher new TITLE")
    return text


def slug_of(title: str) -> str:
    """``Größe & Maß: two!`` → ``grosse-mass-two``. Refuses a title with letters that have no plain Latin form."""
    plain = unicodedata.normalize("NFKD", title.translate(SPELLED))
    if any(char.isalnum() and not char.isascii() for char in plain):
        raise UsageProblem(
            "slug-needed", "the title has letters that an address cannot be made from; choose the address yourself",
            next=ANOTHER_SLUG,
        )  # fmt: skip
    words = re.findall(r"[a-z0-9]+", "".join(char for char in plain if not unicodedata.combining(char)).lower())
    slug = "-".join(words)
    if len(slug) > LONGEST_SLUG:
        slug = slug[: LONGEST_SLUG + 1].rpartition("-")[0] or slug[:LONGEST_SLUG]
    return _checked_slug(slug)


def _checked_slug(slug: str) -> str:
    if not is_safe_name(slug):
        raise UsageProblem(
            "bad-slug", "a slug is small letters, digits and hyphens, at most 64, and no reserved name", next=ANOTHER_SLUG
        )
    if slug in RESERVED_PAGES:
        raise UsageProblem("bad-slug", f"every site makes its own page at /{slug}/", next=ANOTHER_SLUG)
    return slug


def _category(root: Path, site: Site, named: str | None) -> str:
    from publisher.gitstore import working_tree

    try:
        policy = working_tree.read_policy(root, site.id)
    except InputProblem:
        policy = None  # a broken policy keeps nobody from writing
    shares = list(policy.shares) if policy else []
    if named is None:
        return shares[0] if shares else "note"
    if not is_safe_name(named):
        raise UsageProblem(
            "bad-category", "a category is small letters, digits and hyphens", next="publisher new --category NAME"
        )
    if shares and named not in shares:
        output.note(f"publisher: category {named} has no share in plans/{site.id}/policy.yaml; it will not be planned yet")
    return named
