"""The public form of an article: what ``prepare`` writes into the build source, and the only thing that the build reads.

Rules:
* ``index.md`` begins with a block of ten lines between ``---``: fixed keys in a fixed order, each value in JSON (so each line
  is valid YAML too), then the Markdown;
* there is exactly one spelling: a file that would not be written back byte for byte is refused;
* beside it lie the images that the text uses, cleaned, and nothing else: nothing of a draft comes along by accident;
* what breaks a rule is refused here, before anything is committed, with the draft's own line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from publisher.domain.article import RESERVED_PAGES, URL_PATH, Draft, PublicArticle, is_safe_name
from publisher.domain.business_calendar import parse_instant
from publisher.errors import Bug, InputProblem
from publisher.sitebuilder import images
from publisher.sitebuilder.article_html import render
from publisher.sitebuilder.characters import illegal_line, is_one_line
from publisher.sitebuilder.markdown_events import references
from publisher.sitebuilder.references import Source
from publisher.sitebuilder.rendered import Address

KEYS = ("id", "url", "guid", "title", "summary", "category", "tags", "date", "updated")
HEAD_LINES = len(KEYS) + 2
IMAGE_ENDING = re.compile(r"png|jpe?g|svg", re.IGNORECASE)
LARGEST_TEXT = 1024 * 1024
# Legal in JSON and in our texts, but line breaks or unprintable to YAML readers: written as escapes.
ESCAPED = re.compile("[\u007f-\u00a0\u2028\u2029\ufeff]")


def source_path(site: str, article: str) -> str:
    """Where an article's public form lies in the repository."""
    return f"site-src/{site}/articles/{article}/index.md"


def write(draft: Draft, article: PublicArticle) -> Mapping[str, bytes]:
    """The files of an article's public form, by name. ``InputProblem`` carries the draft's own path and line.

    The fields come from ``article``, whose body is the draft's; images come from the draft.
    """
    if article.id != draft.id or article.body.strip() != draft.body.reveal().strip():
        raise Bug("public-form-of-another", f"the public form of {draft.id} was asked for with another article's text")
    article = replace(article, body=article.body.strip("\n") + "\n")
    source = Source(path=f"{draft.source}/index.md", lines_before=_lines_before_body(draft, article.body))
    check_fields(article, source.path)
    used = [name for name in _references(article.body, source) if name in draft.files]
    files = {name: images.clean(name, draft.files[name], f"{draft.source}/{name}:1:1") for name in used}
    render(article.body, files, source=source, address=Address(root="", page=article.url))
    return {"index.md": encode(article), **files}


def _references(body: str, source: Source) -> tuple[str, ...]:
    """``references`` with the line in the file that the text stands in."""
    try:
        return references(body)
    except InputProblem as problem:
        line = int(problem.where.split(":")[1])
        raise InputProblem(problem.code, problem.says, where=source.at(line)) from None


def _lines_before_body(draft: Draft, body: str) -> int:
    """How many lines of the draft's file stand before its text: its front matter."""
    whole = draft.files["index.md"].decode("utf-8", "replace")
    at = whole.rfind(body.strip("\n"))
    return whole.count("\n", 0, at) if at >= 0 else 0


def encode(article: PublicArticle) -> bytes:
    """The bytes of ``index.md``."""
    lines = [f"{key}: {_json(getattr(article, key))}" for key in KEYS]
    return ("---\n" + "\n".join(lines) + "\n---\n" + article.body).encode("utf-8")


def _json(value: Any) -> str:
    text = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
    return ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def read(files: Mapping[str, bytes]) -> PublicArticle:
    """The article of a public form. ``InputProblem`` for anything that ``write`` would not have written."""
    article = _decode(files.get("index.md", b""))
    where = f"{article.id}/index.md"
    beside = {name: data for name, data in files.items() if name != "index.md"}
    # Parsing is the dear part of reading; a text without any image's ending uses no file (the build checks each link anyway).
    named = beside or IMAGE_ENDING.search(article.body)
    used = _references(article.body, Source(path="index.md", lines_before=HEAD_LINES)) if named else ()
    if sorted(beside) != list(used):
        raise InputProblem("public-form-broken", "the files beside this article are not the ones it uses", where=where)
    for name, data in beside.items():
        if images.clean(name, data, f"{article.id}/{name}") != data:
            raise InputProblem("image-not-clean", f"the image {name} is not in its public form", where=where)
    return replace(article, files=beside)


def _decode(data: bytes) -> PublicArticle:
    if len(data) > LARGEST_TEXT:
        raise _broken(1, "an article's text is at most 1 MB")
    try:
        lines = data.decode("utf-8").split("\n", HEAD_LINES)
    except UnicodeDecodeError:
        raise _broken(1, "an article's text is UTF-8") from None
    if len(lines) <= HEAD_LINES or lines[0] != "---" or lines[HEAD_LINES - 1] != "---":
        raise _broken(1, f"a public form begins with {HEAD_LINES} lines: the keys between two lines of ---")
    fields = {key: _value(key, line, number) for number, (key, line) in enumerate(zip(KEYS, lines[1:], strict=False), start=2)}
    article = PublicArticle(**fields, body=lines[HEAD_LINES])
    check_fields(article, "index.md", written=True)
    bad = illegal_line(article.body)
    if bad:
        raise _broken(HEAD_LINES + bad, "this line holds a character that feeds cannot carry")
    if encode(article) != data or article.body != article.body.strip("\n") + "\n":
        raise _broken(1, "this public form was not written by publisher, or was changed since")
    return article


def _value(key: str, line: str, number: int) -> Any:
    name, _, text = line.partition(": ")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise _broken(number, f"line {number} of a public form is the key {key} and a JSON value") from None
    wanted = list if key == "tags" else str
    if name != key or not isinstance(value, wanted):
        raise _broken(number, f"line {number} of a public form is the key {key} and a JSON value")
    return tuple(value) if key == "tags" else value


def _broken(line: int, says: str) -> InputProblem:
    return InputProblem("public-form-broken", says, where=f"index.md:{line}:1", next="publisher reconcile")


def check_fields(article: PublicArticle, path: str, *, written: bool = False) -> None:
    """``InputProblem`` for a field that could not become part of a page, an address or a feed.

    ``path`` is the file's; where it is a public form (``written``), the field's line is known.
    """
    checks = {
        "id": is_safe_name(article.id),
        "url": URL_PATH.fullmatch(article.url) is not None and is_free(article.url),
        "guid": is_one_line(article.guid) and bool(article.guid) and " " not in article.guid,
        "title": is_one_line(article.title) and bool(article.title.strip()),
        "summary": is_one_line(article.summary) and bool(article.summary.strip()),
        "category": is_term(article.category),
        "tags": all(isinstance(tag, str) and is_term(tag) for tag in article.tags)
        and len(set(article.tags)) == len(article.tags),
        "date": _is_instant(article.date),
        "updated": article.updated == "" or _is_instant(article.updated),
    }
    for key, fine in checks.items():
        if not fine:
            line = KEYS.index(key) + 2 if written else 1
            says = f"the field {key} of article {article.id!a} breaks its rule"
            raise InputProblem("bad-field", says, where=f"{path}:{line}:1")


def is_term(name: str) -> bool:
    """Whether a tag or category may name a folder. Only the ids of articles must keep clear of ``git`` as well."""
    return name == "git" or is_safe_name(name)


def is_free(url: str) -> bool:
    """Whether an article may stand at a URL path: none of the pages that every site makes for itself."""
    return url.strip("/").partition("/")[0] not in RESERVED_PAGES


def _is_instant(text: str) -> bool:
    try:
        parse_instant(text)
    except ValueError:
        return False
    return True
