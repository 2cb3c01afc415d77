"""An article's Markdown as HTML, since output version 2: a parser's events, each written out here.

Rules:
* GitHub's dialect: tables, strikethrough, bare addresses, task lists, alerts, footnotes, formulas; beside it definition lists,
  abbreviations and figures (a picture with a title, alone in its paragraph);
* HTML is written by an allow-list (``raw_html.py``); nothing is dropped silently;
* every link and image is checked by ``references.py``; an image has alternative text, and its file lies beside the article;
* headings get stable ids; the article's title is the page's only ``h1``, so a ``#`` heading becomes an ``h2``;
* the same text gives the same HTML on every machine; a refusal names line and column and quotes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import unquote

from publisher.errors import InputProblem
from publisher.sitebuilder import inline_text, limits, raw_html
from publisher.sitebuilder.characters import illegal_line
from publisher.sitebuilder.headings import Heading, Headings
from publisher.sitebuilder.highlight import highlight
from publisher.sitebuilder.images import size_of
from publisher.sitebuilder.markdown_events import Event, Places, end_of_image, events_of, named, parts_of
from publisher.sitebuilder.maths import BadFormula, mathml
from publisher.sitebuilder.references import Kind, Source, check_image, file_name, kind_of_link
from publisher.sitebuilder.rendered import Address, Link, Rendered
from publisher.sitebuilder.words import ENGLISH, Words

DEEPEST = 100
"""Blocks and marks inside one another: more than any text needs, and less than a browser's limit."""

BLOCKS = frozenset({"Paragraph", "List", "BlockQuote", "Heading", "Table", "DefinitionList", "CodeBlock"})
"""What begins on a line of its own."""
SIMPLE = {
    "Paragraph": ("<p>", "</p>\n"), "Emphasis": ("<em>", "</em>"), "Strong": ("<strong>", "</strong>"),
    "Strikethrough": ("<s>", "</s>"), "TableHead": ("<thead>\n<tr>", "</tr>\n</thead>\n<tbody>\n"), "TableRow": ("<tr>", "</tr>\n"),
    "DefinitionList": ("<dl>\n", "</dl>\n"), "DefinitionListTitle": ("<dt>", "</dt>\n"),
    "DefinitionListDefinition": ("<dd>", "</dd>\n"), "HtmlBlock": ("", ""),
}  # fmt: skip


def render(text: str, files: Mapping[str, bytes], *, source: Source, address: Address, words: Words = ENGLISH) -> Rendered:
    """The HTML of an article's body. ``InputProblem`` where the text breaks a rule; its message names the place only."""
    bad = illegal_line(text)
    if bad:
        raise InputProblem("illegal-character", "this line holds a character that feeds cannot carry", where=source.at(bad))
    places = Places(text, source)
    writer = _Writer(events_of(text, places), places, files, address, words)
    try:
        with limits.bounded():
            html = writer.whole()
    except limits.TooCostly as problem:
        raise InputProblem("text-too-tangled", problem.says, where=source.at(1)) from None
    lines = [Link(path=path, anchor=anchor, line=places.line(index)) for path, anchor, index in writer.links]
    notes = {f"fn{number}" for number in writer.numbers.values()}
    return Rendered(
        html=html,
        anchors=frozenset(writer.names.used | notes),
        links=tuple(lines),
        headings=tuple(writer.headings),
    )


@dataclass
class _Writer:
    """One text on its way to HTML. ``_at`` is the event that is being written."""

    events: Sequence[Event]
    places: Places
    files: Mapping[str, bytes]
    address: Address
    words: Words
    links: list[tuple[str, str, int]] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    names: Headings = field(default_factory=Headings)
    numbers: dict[str, int] = field(default_factory=dict)
    """Footnotes by name, in the order in which the text refers to them."""
    _out: list[str] = field(default_factory=list)
    _at: int = 0
    _levels: list[int] = field(default_factory=list)
    """For each block and mark that is open, how many of the author's own elements were open where it began."""
    _opened: list[str] = field(default_factory=list)
    _order: list[str] = field(default_factory=list)
    _references: dict[str, int] = field(default_factory=dict)
    _in_link: int = 0
    _heading: list[str] | None = None
    _heading_from: int = 0
    _columns: list[tuple[Sequence[str], int]] = field(default_factory=list)
    _cell: list[str] = field(default_factory=list)
    _plain: Callable[[str], str] = inline_text.plain
    _rest: Iterator[int] = field(default_factory=lambda: iter(()))

    # --- the whole ----------------------------------------------------------------------------------------------------------

    def whole(self) -> str:
        text, notes, short = parts_of(self.events)
        if short:
            self._plain = inline_text.explained(short)
        self._write(text)
        if self._opened:
            raise self._refused("html-unbalanced", f"the element {self._opened[-1]} is not closed")
        html = "".join(self._out)
        return html + self._footnotes(notes) if self.numbers else html

    def _footnotes(self, notes: Mapping[str, list[int]]) -> str:
        made: list[str] = []
        while len(made) < len(self._order):
            self._out = []
            self._write(notes[self._order[len(made)]])
            made.append("".join(self._out))
        page, label = self.address.fragment, escape(self.words.back_to_text)
        items = []
        for (name, number), html in zip(self.numbers.items(), made, strict=True):
            # U+FE0E after the arrow keeps phones from showing it as a picture.
            back = "".join(
                f' <a class="footnote-back" role="doc-backlink" href="{page}#fnref{number}{_again(again)}" aria-label="{label}">'
                "↩\ufe0e</a>"
                for again in range(self._references[name])
            )
            html = html.removesuffix("</p>\n") + back + "</p>\n" if html.endswith("</p>\n") else html + back
            items.append(f'<li id="fn{number}">{html}</li>\n')
        head = f'<section class="footnotes" role="doc-endnotes" aria-label="{escape(self.words.footnotes)}">\n<ol>\n'
        return head + "".join(items) + "</ol>\n</section>\n"

    def _write(self, indices: Sequence[int]) -> None:
        events, out = self.events, self._out
        self._rest = iter(indices)
        for index in self._rest:
            self._at = index
            kind, value = events[index]
            if kind == "Text":
                self._text(value)
            elif kind == "Start":
                self._start(value)
            elif kind == "End":
                self._end(value)
            elif kind == "SoftBreak":
                out.append("\n")
            else:
                self._leaf(kind, value)

    def _until(self, end: str) -> Iterator[Event]:
        """The events up to the end of the block or mark that has just begun, which is taken along. Nothing else is inside another
        of its own kind but pictures."""
        depth = 1
        for index in self._rest:
            self._at = index
            kind, value = self.events[index]
            name = (
                value if type(value) is str else next(iter(value)) if type(value) is dict and kind in ("Start", "End") else ""
            )
            depth += (kind == "Start" and name == end) - (kind == "End" and name == end)
            if not depth:
                return
            yield kind, value

    def _refused(self, code: str, says: str, more: int = 0) -> InputProblem:
        return InputProblem(code, says, where=self.places.at(self._at, more))

    # --- text and what is one event -------------------------------------------------------------------------------------------

    def _text(self, value: str) -> None:
        if self._heading is not None:
            self._heading.append(value)
        self._out.append(self._plain(value) if self._in_link else inline_text.linked(value, self._plain))

    def _leaf(self, kind: str, value: Any) -> None:
        out = self._out
        if kind == "Code":
            if self._heading is not None:
                self._heading.append(value)
            out.append(f"<code>{escape(value, quote=False)}</code>")
        elif kind == "HardBreak":
            out.append("<br>\n")
        elif kind == "Rule":
            out.append("<hr>\n")
        elif kind == "InlineHtml":
            self._own_html(value, [self._at], block=False)
        elif kind == "FootnoteReference":
            self._reference(value)
        elif kind == "TaskListMarker":
            word, checked = (self.words.task_done, ' checked=""') if value else (self.words.task_open, "")
            out.append(f'<input type="checkbox" disabled=""{checked} aria-label="{escape(word)}"> ')
        else:  # InlineMath, DisplayMath
            self._formula(value, display=kind == "DisplayMath")

    def _reference(self, name: str) -> None:
        if name not in self.numbers:
            self._order.append(name)
        number = self.numbers.setdefault(name, len(self._order))
        again = self._references.get(name, 0)
        self._references[name] = again + 1
        link = f'href="{self.address.fragment}#fn{number}" id="fnref{number}{_again(again)}"'
        self._out.append(f'<sup><a class="footnote-ref" role="doc-noteref" {link}>{number}</a></sup>')

    def _formula(self, value: str, *, display: bool) -> None:
        if self._heading is not None:
            self._heading.append(value)
        try:
            self._out.append(mathml(value, display=display))
        except BadFormula:
            says = "this formula cannot be read: a command that is not known, or a bracket without its partner"
            raise self._refused("bad-formula", says) from None

    def _own_html(self, value: str, indices: list[int], *, block: bool) -> None:
        level = self._levels[-1] if self._levels else 0
        opened = self._opened[level:]
        try:
            self._out.append(raw_html.written(value, opened, block, self._href))
        except raw_html.Refused as problem:
            at = problem.at
            for index in indices:  # the piece that holds the place
                self._at, size = index, len(self.events[index][1])
                if at < size:
                    break
                at -= size
            raise self._refused(problem.code, problem.says, at) from None
        self._opened[level:] = opened

    # --- blocks and marks -------------------------------------------------------------------------------------------------------

    def _start(self, value: Any) -> None:
        name, more = named(value)
        if name in BLOCKS and self._out and not self._out[-1].endswith("\n"):
            self._out.append("\n")
        if name == "CodeBlock":
            self._code("" if more == "Indented" else more["Fenced"])
        elif name == "Image":
            self._image(more)
        elif name == "HtmlBlock":
            self._html_block()
        elif name == "Paragraph" and self._figure():
            pass
        else:
            self._levels.append(len(self._opened))
            if len(self._levels) > DEEPEST:
                raise self._refused("text-too-tangled", f"blocks and marks stand in one another at most {DEEPEST} deep")
            if name in SIMPLE:
                self._out.append(SIMPLE[name][0])
                if name in ("TableHead", "TableRow"):
                    self._cell[-1] = "th" if name == "TableHead" else "td"
                    self._columns[-1] = (self._columns[-1][0], 0)
            else:
                self._begin(name, more)

    def _begin(self, name: str, more: Any) -> None:
        out = self._out
        if name == "Link":
            out.append(self._link(more))
            self._in_link += 1
        elif name == "TableCell":
            alignments, column = self._columns[-1]
            self._columns[-1] = (alignments, column + 1)
            alignment = alignments[column].lower() if column < len(alignments) else "none"
            out.append(f"<{self._cell[-1]}>" if alignment == "none" else f'<{self._cell[-1]} class="{alignment}">')
        elif name == "Item":
            out.append('<li class="task">' if self._is_task() else "<li>")
        elif name == "List":
            out.append("<ul>\n" if more is None else "<ol>\n" if more == 1 else f'<ol start="{more}">\n')
        elif name == "Heading":
            self._heading, self._heading_from = [], len(out)
        elif name == "BlockQuote":
            out.append("<blockquote>\n" if more is None else self._alert(more.lower()))
            self._cell.append("" if more is None else "alert")
        else:  # Table
            out.append('<div class="table" tabindex="0"><table>\n')
            self._columns.append((more, 0))
            self._cell.append("th")

    def _end(self, value: Any) -> None:
        name, more = named(value)
        if len(self._opened) > self._levels.pop():
            raise self._refused("html-unbalanced", f"the element {self._opened[-1]} is not closed in its own block")
        out = self._out
        if name in SIMPLE:
            out.append(SIMPLE[name][1])
        elif name == "Link":
            self._in_link -= 1
            out.append("</a>")
        elif name == "TableCell":
            out.append(f"</{self._cell[-1]}>")
        elif name == "Item":
            out.append("</li>\n")
        elif name == "List":
            out.append("</ol>\n" if more else "</ul>\n")
        elif name == "Heading":
            self._name_heading(max(int(more[1]), 2))
        elif name == "BlockQuote":
            out.append("</div>\n" if self._cell.pop() else "</blockquote>\n")
        else:  # Table
            self._columns.pop()
            self._cell.pop()
            out.append("</tbody>\n</table></div>\n")

    def _is_task(self) -> bool:
        """Whether the item that begins here has a box, at once or in its first paragraph."""
        after = self.events[self._at + 1 : self._at + 3]
        kinds = [kind for kind, _ in after]
        return kinds[:1] == ["TaskListMarker"] or (after[:1] == [("Start", "Paragraph")] and kinds[1:] == ["TaskListMarker"])

    def _alert(self, kind: str) -> str:
        title = escape(getattr(self.words, kind), quote=False)
        return f'<div class="alert alert-{kind}" role="note">\n<p class="markdown-alert-title">{title}</p>\n'

    def _name_heading(self, level: int) -> None:
        text = "".join(self._heading or ())
        anchor = self.names.anchor(text)
        self.headings.append(Heading(level=level, anchor=anchor, text=text.strip()))
        self._heading = None
        self._out.insert(self._heading_from, f'<h{level} id="{escape(anchor)}">')
        if not self.address.fragment:  # feed readers would show the sign after every heading
            label = escape(self.words.link_to_section)
            self._out.append(f' <a class="anchor" href="#{escape(anchor)}" aria-label="{label}">#</a>')
        self._out.append(f"</h{level}>\n")

    def _code(self, info: str) -> None:
        code = "".join(value for _, value in self._until("CodeBlock"))
        language = info.strip().split(" ", 1)[0]
        name = f' class="language-{escape(language)}"' if language else ""
        self._out.append(f'<pre tabindex="0"><code{name}>{highlight(code, language)}</code></pre>\n')

    def _html_block(self) -> None:
        pieces, indices = [], []
        for _, value in self._until("HtmlBlock"):
            pieces.append(value)
            indices.append(self._at)
        self._own_html("".join(pieces), indices, block=True)

    # --- links and images ---------------------------------------------------------------------------------------------------------

    def _link(self, link: Mapping[str, str]) -> str:
        target = f"mailto:{link['dest_url']}" if link["link_type"] == "Email" else link["dest_url"]
        title = f' title="{escape(link["title"])}"' if link["title"] else ""
        return f'<a href="{escape(self._href(target))}"{title}>'

    def _href(self, target: str) -> str:
        """The address of a link as it is written on the page."""
        at = self._at
        kind = self.places.checked(at, lambda where: kind_of_link(target, where))
        if kind is Kind.FILE:
            self._require(file_name(target))
            return f"{self.address.page}{file_name(target)}"
        if kind is Kind.ANCHOR:
            self.links.append(("", unquote(target[1:]), at))
            return f"{self.address.fragment}{inline_text.address(target)}"
        if kind is Kind.SITE:
            path, _, anchor = target.partition("#")
            self.links.append((path, unquote(anchor), at))
            return f"{self.address.root}{inline_text.address(target)}"
        return inline_text.address(target)

    def _require(self, name: str) -> None:
        if name not in self.files:
            raise self._refused("missing-file", f"the file {name} is not beside this article")

    def _image(self, image: Mapping[str, str]) -> None:
        index, target = self._at, image["dest_url"]
        self.places.checked(index, lambda where: check_image(target, where))
        alt = "".join(
            " " if kind in ("SoftBreak", "HardBreak") else str(value)
            for kind, value in self._until("Image")
            if kind in ("Text", "Code", "InlineMath", "SoftBreak", "HardBreak")
        )
        self._at = index
        if not alt.strip():
            raise self._refused("missing-alt-text", "an image needs alternative text: ![what it shows](file.png)")
        name = file_name(target)
        self._require(name)
        size = size_of(name, self.files[name])
        shape = f' width="{size[0]}" height="{size[1]}"' if size else ""
        title = f' title="{escape(image["title"])}"' if image["title"] else ""
        self._out.append(
            f'<img src="{escape(self.address.page + name)}" alt="{escape(alt)}"{title}{shape} loading="lazy" decoding="async">'
        )

    def _figure(self) -> bool:
        """Writes the paragraph that begins here as a figure, when it is one picture with a title."""
        kind, value = self.events[self._at + 1]
        if kind != "Start" or type(value) is not dict or not value.get("Image", {}).get("title"):
            return False
        end = end_of_image(self.events, self._at + 1)
        if self.events[end + 1] != ("End", "Paragraph"):
            return False
        image = value["Image"]
        self._at = next(self._rest)
        self._out.append("<figure>\n")
        self._image({**image, "title": ""})
        self._out.append(f"\n<figcaption>{self._plain(image['title'])}</figcaption>\n</figure>\n")
        next(self._rest)
        return True


def _again(number: int) -> str:
    """What tells the second and later references to one footnote apart."""
    return f"-{number}" if number else ""
