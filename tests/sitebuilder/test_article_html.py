"""What output version 2's renderer does beyond the first one, and that it cannot be talked into anything."""

from __future__ import annotations

import html.parser
import random
import re

import pytest

from publisher.errors import InputProblem
from publisher.sitebuilder import markdown
from publisher.sitebuilder.article_html import render
from publisher.sitebuilder.inline_text import address as address_of
from publisher.sitebuilder.inline_text import linked, plain
from publisher.sitebuilder.markdown_events import events_of, parser, references
from publisher.sitebuilder.maths import BadFormula, mathml
from publisher.sitebuilder.references import Source
from publisher.sitebuilder.rendered import Address
from tests.support.sitebuilding import png

SOURCE = Source(path="a.md", lines_before=10)
ADDRESS = Address(root="/base", page="/base/bed/")
FILES = {"b.png": png(width=20, height=10)}


def made(text: str) -> str:
    return render(text, FILES, source=SOURCE, address=ADDRESS).html


def refusal(text: str) -> tuple[str, str]:
    with pytest.raises(InputProblem) as caught:
        made(text)
    return caught.value.code, caught.value.where


def test_what_both_renderers_know_they_write_alike() -> None:
    text = (
        "# Head *x*\n\nA [link](/x/) and `code` &amp; \\* **b**  \nbreak.\n\n- a\n- b\n    - c\n\n7. z\n\n> q\n> > r\n\n"
        '![a "b"](b.png)\n\nx[^1] y[^2] z[^1]\n\n[^1]: one\n[^2]: two\n\n    para\n\n```python\nx = 1\n```\n\n***\n\n'
        "(http://e.org/x(y)) www.e.org/a_b. me@e.org <https://e.org/?a=b&c>\n"
    )
    assert made(text) == markdown.render(text, FILES, source=SOURCE, address=ADDRESS).html


def test_figures_definitions_and_abbreviations() -> None:
    assert made('![x](b.png "A <b> caption")') == (
        '<figure>\n<img src="/base/bed/b.png" alt="x" width="20" height="10" loading="lazy" decoding="async">\n'
        "<figcaption>A &lt;b&gt; caption</figcaption>\n</figure>\n"
    )
    assert 'title="t"' in made('![x](b.png "t") and more') and "<figure" not in made('![x](b.png "t") and more')
    assert made("Term\n: what *it* is\n") == "<dl>\n<dt>Term</dt>\n<dd>what <em>it</em> is</dd>\n</dl>\n"
    text = made("*[GFM]: GitHub & Flavored Markdown\n*[HTML]: x\n\nGFM, GFMX, GFM `GFM` and HTML\n")
    assert text == (
        '<p><abbr title="GitHub &amp; Flavored Markdown">GFM</abbr>, GFMX, GFM <code>GFM</code> and '
        '<abbr title="x">HTML</abbr></p>\n'
    )
    assert "*[x]: y" in made("Not alone:\n*[x]: y\n")


def test_formulas_are_mathml() -> None:
    text = made("Costs $5 and $10; $x < 1$ and\n\n$$\\frac{a}{b}$$\n")
    assert "Costs $5 and $10; " in text and "<mo>&lt;</mo>" in text
    assert '<math display="block"><mrow><mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac></mrow></math>' in text
    assert refusal("one\n\ntwo $\\nosuch x$") == ("bad-formula", "a.md:13:5")


@pytest.mark.parametrize(
    "formula",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\class{a}{b}",
        r"\style{color:red}{b}",
        r"\frac{a",
        "x^{",
        r"\left( x",
        "",
        " ",
        "x" * 2001,
    ],
)
def test_formulas_that_are_refused(formula: str) -> None:
    with pytest.raises(BadFormula):
        mathml(formula, display=False)


def test_a_formulas_text_is_text() -> None:
    assert "<script" not in mathml(r"\text{<script>alert(1)</script>}", display=True)


def test_own_html_is_written_anew_by_the_list() -> None:
    assert made("H<SUB>2</SUB>O <!-- gone --><kbd>x</kbd>") == ("<p>H<sub>2</sub>O <kbd>x</kbd></p>\n")
    text = "<details open>\n<summary>a & b</summary>\n\n*x*\n\n</details>\n"
    assert made(text) == '<details open="">\n<summary>a &amp; b</summary>\n<p><em>x</em></p>\n</details>\n'
    assert made('<a href="/x/" title="\'">y</a>') == '<p><a href="/base/x/" title="&#x27;">y</a></p>\n'
    assert render('<a href="/x/#y">z</a>', {}, source=SOURCE, address=ADDRESS).links[0].anchor == "y"


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("<script>alert(1)</script>", "html-refused", "a.md:11:1"),
        ("x\n\n> a\n> <div>\n> <iframe src=x>\n", "html-refused", "a.md:15:3"),
        ("one <b onclick=x>y</b>", "html-refused", "a.md:11:5"),
        ("<p style='x'>y</p>", "html-refused", "a.md:11:1"),
        ("<img src=x>", "html-refused", "a.md:11:1"),
        ("in <div>text</div>", "html-refused", "a.md:11:4"),
        ("<!DOCTYPE html>\n", "html-refused", "a.md:11:1"),
        ("<?php x ?>\n", "html-refused", "a.md:11:1"),
        ("<div/>\n", "html-refused", "a.md:11:1"),
        ("<a href='javascript:x'>y</a>", "scheme-refused", "a.md:11:1"),
        ("<a href='nothing.txt'>y</a>", "reference-refused", "a.md:11:1"),
        ("<a href='c.png'>y</a>", "missing-file", "a.md:11:1"),
        ("a <b>x\n\ny</b>", "html-unbalanced", "a.md:12:1"),
        ("<div>\n\ntext\n", "html-unbalanced", "a.md:13:1"),
        ("- <i>a\n- b</i>", "html-unbalanced", "a.md:12:1"),
        ("*a <b>x* y</b>", "html-unbalanced", "a.md:11:1"),
        ("</div>\n", "html-unbalanced", "a.md:11:1"),
        ("<b><i>x</b></i>", "html-unbalanced", "a.md:11:8"),
    ],
)
def test_other_html_is_refused_with_its_place(text: str, code: str, where: str) -> None:
    found, at = refusal(text)
    assert found == code
    # What is left open is known at the end of its block; the line is that block's.
    assert at == where or (code == "html-unbalanced" and at.split(":")[0] == "a.md")


def test_addresses_are_ascii() -> None:
    assert address_of("https://bücher.example/ä b?q=ü#ö") == "https://xn--bcher-kva.example/%C3%A4%20b?q=%C3%BC#%C3%B6"
    assert address_of("/already/%20fine?a=b&c") == "/already/%20fine?a=b&c"
    assert 'href="https://e.org/%C3%A4"' in made("[x](https://e.org/ä)")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("see https://e.org/a.", "https://e.org/a"),
        ("(https://e.org/a_(b))", "https://e.org/a_(b)"),
        ("https://e.org/a?b=c&amp;", "https://e.org/a?b=c"),
        ("www.e.org!", "http://www.e.org"),
        ("mail me@e.org.", "mailto:me@e.org"),
        ("http://localhost:8000/x", "http://localhost:8000/x"),
    ],
)
def test_bare_addresses(text: str, target: str) -> None:
    assert f'<a href="{target.replace("&", "&amp;")}">' in linked(text, plain)


@pytest.mark.parametrize("text", ["README.md", "a@b", "x.www.e.org", "javascript://e.org", "https://", "/https://e.org"])
def test_what_is_no_bare_address(text: str) -> None:
    assert linked(text, plain) == text


def test_headings_are_listed() -> None:
    found = render("# One `a`\n\n## Two\n\n### Two\n", {}, source=SOURCE, address=ADDRESS).headings
    assert [(h.level, h.anchor, h.text) for h in found] == [(2, "one-a", "One a"), (2, "two", "Two"), (3, "two-1", "Two")]


def test_places_are_those_of_the_events() -> None:
    """The events with and without their places are the same ones."""
    text = "# ä\n\n> [x](/y/) www.e.org *a*\\*&amp;b\n\n1. <b>é</b>\n\n[^1]\n\n[^1]: note\n"
    plain_events = list(parser().events(text))
    assert [event for event, _ in parser().events_with_range(text, merge_text=True)] == plain_events
    assert refusal("é ä\n\nö ü [x](nothing)") == ("reference-refused", "a.md:13:5")


PIECES = (
    "<b>", "</b>", "<div>", "</div>\n", "<script>", "<a href=/x/>", "</a>", "<!--", "-->", '<i title="', '">', "[a](/x/)",
    "![a](b.png)",
    "*", "_", "`", "```\n", "\n", "\n\n", "> ", "- ", "1. ", "|a|b|\n|-|-|\n", "[^1]", "\n[^1]: n\n", "$", "$$", "~~", "&lt;", "<", ">",
    "&", '"', "'", "# ", "word ", "https://e.org/", "*[W]: x\n", "W ", "\\", "    ", ": d\n", "- [x] ", "> [!NOTE]\n", "é", "\t",
)  # fmt: skip
ALLOWED = re.compile(
    r"a|abbr|b|bdi|bdo|blockquote|br|cite|code|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|h[2-6]|hr|i|img|input|ins|kbd|li|mark|"
    r"math|m[a-z]+|ol|p|pre|q|rp|rt|ruby|s|samp|section|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|time|tr|u|ul|var|wbr"
)


class Balance(html.parser.HTMLParser):
    """Every element is one of the list, and is closed in the right order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert ALLOWED.fullmatch(tag), tag
        assert not any(name.startswith("on") or name == "style" for name, _ in attrs)
        if tag not in ("br", "hr", "img", "input", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag


def test_whatever_is_written_is_whole_and_harmless() -> None:
    chance, fine = random.Random(11), 0
    refused: list[str] = []
    for _ in range(3000):
        text = "".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 16)))
        try:
            names = references(text)
            found = made(text)
        except InputProblem as problem:
            refused.append(problem.where)
            continue
        assert set(names) <= set(FILES)
        fine += 1
        balance = Balance()
        balance.feed(found)
        balance.close()
        assert not balance.open, (text, found)
    assert fine > 500
    assert refused and all(re.fullmatch(r"(?:a|index)\.md:\d+:\d+", where) for where in refused)


def test_a_text_has_a_bounded_number_of_parts() -> None:
    with pytest.raises(InputProblem) as caught:
        references("*a*\n" * 60_000)
    assert caught.value.code == "text-too-tangled"
    assert events_of("a", None) == [("Start", "Paragraph"), ("Text", "a"), ("End", "Paragraph")]  # type: ignore[arg-type]
