import pytest

from publisher.errors import InputProblem
from publisher.sitebuilder import article_html, markdown
from publisher.sitebuilder.markdown_events import references
from publisher.sitebuilder.references import Source
from publisher.sitebuilder.rendered import Address
from publisher.sitebuilder.words import Words
from tests.support.sitebuilding import png, svg

SOURCE = Source(path="a.md", lines_before=10)
ADDRESS = Address(root="/base", page="/base/bed/")


# What both renderers must do; what only the newer one does stands in test_article_html.py.
RENDERERS = {"version 1": markdown.render, "version 2": article_html.render}
render = article_html.render


@pytest.fixture(params=RENDERERS, autouse=True)
def each_renderer(request, monkeypatch):
    monkeypatch.setitem(globals(), "render", RENDERERS[request.param])


def html(text: str, files: dict[str, bytes] | None = None, address: Address = ADDRESS) -> str:
    return render(text, files or {}, source=SOURCE, address=address).html


def refusal(text: str, files: dict[str, bytes] | None = None) -> tuple[str, str]:
    with pytest.raises(InputProblem) as caught:
        html(text, files)
    return caught.value.code, caught.value.where.rpartition(":")[0]


def test_githubs_dialect():
    table = "| a | b |\n|:--|--:|\n| 1 | ~~2~~ |\n\n"
    rest = "- [x] sown\n- [ ] reaped\n\n> [!WARNING]\n> frost\n\nwww.example.org README.md[^n]\n\n[^n]: late\n"
    made = html(table + rest)
    assert '<th class="left">a</th>' in made and '<td class="right"><s>2</s></td>' in made
    assert made.count('<input type="checkbox" disabled=""') == 2 and made.count('checked=""') == 1
    assert 'class="alert alert-warning" role="note"' in made and ">Warning</p>" in made
    assert '<a href="http://www.example.org">www.example.org</a> README.md<sup>' in made
    assert 'href="#fn1" id="fnref1"' in made and '<li id="fn1"><p>late <a' in made


def test_raw_html_is_shown_and_not_run_in_version_1(each_renderer):
    text = "<script>alert(1)</script>\n\nx <img src=x onerror=alert(1)> y\n"
    made = markdown.render(text, {}, source=SOURCE, address=ADDRESS).html
    assert "<script" not in made and "<img" not in made
    assert "&lt;script&gt;" in made


@pytest.mark.parametrize(
    "target",
    ["javascript:alert(1)", "JaVaScRiPt:x", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "tel:+1", "C:/x.png"],
)
def test_other_schemes_are_refused_with_their_line(target):
    assert refusal(f"one\n\n[x]({target})") == ("scheme-refused", "a.md:13")
    with pytest.raises(InputProblem):
        references(f"[x]({target})")


@pytest.mark.parametrize(
    "target",
    ["../secret.png", "/../x/", "a/b.png", "//host/x.png", "a\\b.png", "%2e%2e/x.png", "x.html", "fences", "/x/?q=1", ".png"],
)
def test_links_that_are_neither_page_nor_file_are_refused(target):
    assert refusal(f"[x]({target})")[0] == "reference-refused"


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("https://example.org/a.png", "remote-image"),
        ("//example.org/a.png", "remote-image"),
        ("data:image/png;base64,AA==", "remote-image"),
        ("/a.png", "reference-refused"),
        ("../a.png", "reference-refused"),
        ("a.gif", "reference-refused"),
        ("a..png", "reference-refused"),
    ],
)
def test_images_lie_beside_the_article(target, code):
    assert refusal(f"![x]({target})", {"a.png": png()})[0] == code


def test_references_are_the_files_that_images_and_links_use():
    text = "![x](./b.svg) [y](a.png) `![no](c.png)`\n\n```\n![no](d.png)\n```\n\n![r][r]\n\n[r]: e.jpg\n[unused]: f.jpg\n"
    assert references(text) == ("a.png", "b.svg", "e.jpg")
    assert references("---\ntitle: x\n---\nno files, [a page](/x/#y), [out](https://example.org/a.png)\n") == ()


def test_image_gets_its_address_size_and_text():
    made = html('![a "b" & c](b.png)', {"b.png": png(width=20, height=10)})
    assert 'src="/base/bed/b.png"' in made and 'alt="a &quot;b&quot; &amp; c"' in made
    assert 'width="20" height="10"' in made and 'loading="lazy"' in made
    assert 'width="40" height="30"' in html("![x](d.svg)", {"d.svg": svg()})


def test_image_without_text_or_file_stops_with_its_line():
    assert refusal("one\ntwo\n![ ](b.png)", {"b.png": png()}) == ("missing-alt-text", "a.md:13")
    assert refusal("one\n\n- x\n- ![there](b.png)") == ("missing-file", "a.md:14")


def test_links_into_the_site_are_collected_with_their_lines():
    made = render("[a](/x/)\nand [b](/y/#z) [c](#own) [d](https://e.org/)", {}, source=SOURCE, address=ADDRESS)
    assert [(link.path, link.anchor, link.line) for link in made.links] == [("/x/", "", 1), ("/y/", "z", 2), ("", "own", 2)]
    assert 'href="/base/x/"' in made.html and 'href="#own"' in made.html and 'href="https://e.org/"' in made.html


def test_headings_have_stable_ids_and_leave_h1_to_the_title():
    made = render("# Über `x_y`!\n\n## Same\n\n## Same\n\n## fn1\n\n## ???\n", {}, source=SOURCE, address=ADDRESS)
    assert made.anchors == {"über-xy", "same", "same-1", "section-fn1", "section"}
    assert "<h1" not in made.html and '<h2 id="über-xy">' in made.html


def test_feed_addresses_are_absolute_and_without_heading_signs():
    url = "https://g.example/base/bed/"
    made = html(
        "## H\n\n[a](/x/) [b](#h) n[^1]\n\n![i](b.png)\n\n[^1]: t",
        {"b.png": png()},
        Address(root="https://g.example/base", page=url, fragment=url),
    )
    targets = [part.split('"')[0] for part in made.replace('src="', 'href="').split('href="')[1:]]
    assert targets and all(target.startswith("https://g.example/base/") for target in targets)
    assert 'class="anchor"' not in made


def test_code_is_highlighted_by_class_and_unknown_languages_are_plain():
    made = html('```python\nx = "<b>"\n```\n\n```nosuchlanguage\nx < y\n```\n\n    indented & co\n')
    assert '<code class="language-python"><span class="n">x</span>' in made and "&lt;b&gt;" in made
    assert '<code class="language-nosuchlanguage">x &lt; y\n</code>' in made
    assert "style=" not in made and "indented &amp; co" in made


def test_illegal_characters_are_refused_with_their_line():
    assert refusal("fine\nnot\x0bfine") == ("illegal-character", "a.md:12")
    assert refusal("a\ud800")[0] == "illegal-character"


def test_words_come_from_the_theme():
    words = Words(note="Hinweis", footnotes="Fußnoten", task_done="erledigt")
    made = render("> [!NOTE]\n> x\n\n- [x] y[^1]\n\n[^1]: z", {}, source=SOURCE, address=ADDRESS, words=words).html
    assert ">Hinweis</p>" in made and 'aria-label="Fußnoten"' in made and 'aria-label="erledigt"' in made


def test_refusals_never_quote_the_text():
    with pytest.raises(InputProblem) as caught:
        html("A very private sentence ![ ](b.png)", {"b.png": png()})
    assert "private" not in str(caught.value)
