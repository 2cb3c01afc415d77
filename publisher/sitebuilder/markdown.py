"""Markdown to HTML for output version 1: GitHub's dialect, with nothing in it that a reviewer would not have seen.

Rules:
* tables, strikethrough, bare links, task lists, alerts and footnotes are on; raw HTML is off and shown as text;
* every link and image is checked by ``references.py``; nothing is dropped silently;
* an image has alternative text, and its file lies beside the article;
* headings get stable ids; the article's title is the page's only ``h1``, so a ``#`` heading becomes an ``h2``;
* the same text gives the same HTML on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import unquote

from publisher.errors import InputProblem
from publisher.sitebuilder import limits
from publisher.sitebuilder.characters import illegal_line
from publisher.sitebuilder.headings import Headings
from publisher.sitebuilder.images import size_of
from publisher.sitebuilder.markdown_rules import install
from publisher.sitebuilder.references import Kind, Source, check_image, file_name, kind_of_link
from publisher.sitebuilder.rendered import Address, Link, Rendered
from publisher.sitebuilder.sanitise import sanitise
from publisher.sitebuilder.words import ENGLISH, Words


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

    # The preset's own "linkify" makes a link of README.md (.md is a country); GitHub's rules, in the plug-in, do not.
    parser = MarkdownIt("gfm-like2", {"html": False, "linkify": False}).disable("linkify")
    parser.use(gfm_autolink_plugin).use(footnote_plugin)
    # By default a javascript: link silently becomes text; here every link reaches our own check, which names its line.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    install(parser)
    limits.install(parser)
    return parser


def _parse(text: str, env: dict[str, Any], source: Source) -> list[Any]:
    with _within_limits(source):
        tokens: list[Any] = _parser().parse(text, env)
    return tokens


@contextmanager
def _within_limits(source: Source) -> Iterator[None]:
    try:
        with limits.bounded():
            yield
    except limits.TooCostly as problem:
        raise InputProblem("text-too-tangled", problem.says, where=source.at(problem.line)) from None


def _walk(tokens: list[Any]) -> Iterator[tuple[Any, int]]:
    """Every token that is rendered, with its line (from 1)."""
    line = 1
    for token in tokens:
        if token.map:
            line = token.map[0] + 1
        yield token, line
        inner = line
        for child in token.children or ():
            if child.type in ("softbreak", "hardbreak"):
                inner += 1
            yield child, inner


def render(text: str, files: Mapping[str, bytes], *, source: Source, address: Address, words: Words = ENGLISH) -> Rendered:
    """The HTML of an article's body. ``InputProblem`` where the text breaks a rule; its message names the line only."""
    bad = illegal_line(text)
    if bad:
        raise InputProblem("illegal-character", "this line holds a character that feeds cannot carry", where=source.at(bad))
    env: dict[str, Any] = {"page": address.fragment, "words": words}
    tokens = _parse(text, env, source)
    anchors = _name_headings(tokens)
    _name_alerts(tokens, words)
    links: list[Link] = []
    for token, line in _walk(tokens):
        if token.type == "image":
            _place_image(token, files, source.at(line), address)
        elif token.type == "link_open":
            links.extend(_place_link(token, files, source, line, address))
        elif token.type in ("th_open", "td_open"):
            _align(token)
    with _within_limits(source):
        html = sanitise(_parser().renderer.render(tokens, _parser().options, env))
    notes = {token.meta["id"] + 1 for token in tokens if token.type == "footnote_open"}
    return Rendered(html=html, anchors=frozenset(anchors | {f"fn{number}" for number in notes}), links=tuple(links))


def _place_image(token: Any, files: Mapping[str, bytes], where: str, address: Address) -> None:
    check_image(token.attrs["src"], where)
    if not token.content.strip():
        raise InputProblem("missing-alt-text", "an image needs alternative text: ![what it shows](file.png)", where=where)
    name = file_name(token.attrs["src"])
    _require(name, files, where)
    token.attrs["src"] = f"{address.page}{name}"
    size = size_of(name, files[name])
    if size:
        token.attrs["width"], token.attrs["height"] = str(size[0]), str(size[1])
    token.attrs["loading"], token.attrs["decoding"] = "lazy", "async"


def _place_link(token: Any, files: Mapping[str, bytes], source: Source, line: int, address: Address) -> Iterator[Link]:
    target, where = token.attrs["href"], source.at(line)
    kind = kind_of_link(target, where)
    if kind is Kind.FILE:
        _require(file_name(target), files, where)
        token.attrs["href"] = f"{address.page}{file_name(target)}"
    elif kind is Kind.ANCHOR:
        token.attrs["href"] = f"{address.fragment}{target}"
        yield Link(path="", anchor=unquote(target[1:]), line=line)
    elif kind is Kind.SITE:
        token.attrs["href"] = f"{address.root}{target}"
        path, _, anchor = target.partition("#")
        yield Link(path=path, anchor=unquote(anchor), line=line)


def _require(name: str, files: Mapping[str, bytes], where: str) -> None:
    if name not in files:
        raise InputProblem("missing-file", f"the file {name} is not beside this article", where=where)


def _align(token: Any) -> None:
    style = token.attrs.pop("style", "")
    if style:
        token.attrs["class"] = style.removeprefix("text-align:")


def _name_headings(tokens: list[Any]) -> set[str]:
    """Gives each heading its id."""
    names = Headings()
    for index, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        anchor = names.anchor("".join(c.content for c in tokens[index + 1].children or () if c.type in ("text", "code_inline")))
        token.attrs["id"] = anchor
        token.tag = tokens[index + 2].tag = "h2" if token.tag == "h1" else token.tag
        tokens[index + 2].meta = {"anchor": anchor}
    return names.used


def _name_alerts(tokens: list[Any], words: Words) -> None:
    """Puts the theme's word where the parser wrote its English one."""
    for index, token in enumerate(tokens):
        if token.type == "alert_title_open":
            title = tokens[index + 1]
            title.children[0].content = getattr(words, title.content.lower())
