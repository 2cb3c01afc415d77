"""How single Markdown tokens become HTML where the default is not enough: footnotes, code, tables, tasks, heading links.

Each function is a render rule of markdown-it-py (``self, tokens, index, options, env``). ``env`` carries ``page``, the address
put before ``#`` ("" on the page itself, the page's full URL in a feed), and ``words``.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from publisher.sitebuilder.highlight import highlight
from publisher.sitebuilder.words import Words

Tokens = Sequence[Any]
Env = dict[str, Any]


def install(parser: Any) -> None:
    """Adds every rule of this file to a parser."""
    rules = {
        "fence": _fence,
        "code_block": _code_block,
        "table_open": lambda *_: '<div class="table" tabindex="0"><table>\n',
        "table_close": lambda *_: "</table></div>\n",
        "alert_open": _alert_open,
        "list_item_open": _list_item_open,
        "heading_close": _heading_close,
        "footnote_ref": _footnote_ref,
        "footnote_block_open": _footnotes_open,
        "footnote_block_close": lambda *_: "</ol>\n</section>\n",
        "footnote_open": _footnote_open,
        "footnote_anchor": _footnote_anchor,
    }
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)


def _words(env: Env) -> Words:
    words: Words = env["words"]
    return words


def _fence(self: Any, tokens: Tokens, index: int, options: Any, env: Env) -> str:
    language = tokens[index].info.strip().split(" ", 1)[0]
    name = f' class="language-{escape(language)}"' if language else ""
    return f'<pre tabindex="0"><code{name}>{highlight(tokens[index].content, language)}</code></pre>\n'


def _code_block(self: Any, tokens: Tokens, index: int, options: Any, env: Env) -> str:
    return f'<pre tabindex="0"><code>{escape(tokens[index].content, quote=False)}</code></pre>\n'


def _alert_open(self: Any, tokens: Tokens, index: int, options: Any, env: Env) -> str:
    return f'<div class="alert alert-{tokens[index].meta["kind"].lower()}" role="note">\n'


def _list_item_open(self: Any, tokens: Tokens, index: int, options: Any, env: Env) -> str:
    meta = tokens[index].meta
    if not meta or "checked" not in meta:
        return str(self.renderToken(tokens, index, options, env))
    word, checked = (_words(env).task_done, ' checked=""') if meta["checked"] else (_words(env).task_open, "")
    return f'<li class="task"><input type="checkbox" disabled=""{checked} aria-label="{escape(word)}"> '


def _heading_close(self: Any, tokens: Tokens, index: int, options: Any, env: Env) -> str:
    anchor, tag = tokens[index].meta["anchor"], tokens[index].tag
    if env["page"]:
        return f"</{tag}>\n"  # feed readers would show the sign after every heading
    label = escape(_words(env).link_to_section)
    return f' <a class="anchor" href="#{escape(anchor)}" aria-label="{label}">#</a></{tag}>\n'


def _footnote_ref(self: Any, tokens: Tokens, index: int, options: Any, env: Env) -> str:
    meta = tokens[index].meta
    number, again = meta["id"] + 1, f"-{meta['subId']}" if meta.get("subId", 0) > 0 else ""
    link = f'href="{env["page"]}#fn{number}" id="fnref{number}{again}"'
    return f'<sup><a class="footnote-ref" role="doc-noteref" {link}>{number}</a></sup>'


def _footnotes_open(self: Any, tokens: Tokens, index: int, options: Any, env: Env) -> str:
    return f'<section class="footnotes" role="doc-endnotes" aria-label="{escape(_words(env).footnotes)}">\n<ol>\n'


def _footnote_open(self: Any, tokens: Tokens, index: int, options: Any, env: Env) -> str:
    return f'<li id="fn{tokens[index].meta["id"] + 1}">'


def _footnote_anchor(self: Any, tokens: Tokens, index: int, options: Any, env: Env) -> str:
    meta = tokens[index].meta
    again = f"-{meta['subId']}" if meta.get("subId", 0) > 0 else ""
    label = escape(_words(env).back_to_text)
    link = f'href="{env["page"]}#fnref{meta["id"] + 1}{again}"'
    # U+FE0E after the arrow keeps phones from showing it as a picture.
    return f' <a class="footnote-back" role="doc-backlink" {link} aria-label="{label}">↩\ufe0e</a>'
