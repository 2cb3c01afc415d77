from __future__ import annotations

import json
import random
import resource
import signal
from collections.abc import Callable

import pytest

from publisher.errors import InputProblem
from publisher.sitebuilder import article_html, limits, markdown, svg
from publisher.sitebuilder.images import clean
from publisher.sitebuilder.picture import BadPicture
from publisher.sitebuilder.references import Source
from publisher.sitebuilder.rendered import Address
from publisher.sitebuilder.theme import Theme, default_theme
from publisher.sitebuilder.views import site_view
from tests.support.sitebuilding import SITE, jpeg, jpeg_segment, png, png_chunk
from tests.support.sitebuilding import svg as drawing

SOURCE = Source(path="x")
ADDRESS = Address(root="", page="/x/")


def page(text: str) -> str:
    return article_html.render(text, {}, source=SOURCE, address=ADDRESS).html


def page_of_version_1(text: str) -> str:
    return markdown.render(text, {}, source=SOURCE, address=ADDRESS).html


def refused(text: str, render: Callable[[str], str] = page) -> tuple[str, str]:
    with pytest.raises(InputProblem) as caught:
        render(text)
    return caught.value.code, caught.value.where


MANY = "[a]: " + "/x" * 600 + "/\n\n"
WIDE = "|a" * 2000 + "|\n" + "|-" * 2000 + "|\n" + "|b\n" * 90


def test_a_text_at_its_limits_is_taken_and_one_beyond_is_not() -> None:
    assert len(page(MANY + "[a]\n\n" * 9000)) < 500_000  # the parser itself bounds what references expand to
    assert refused(WIDE) == ("text-too-tangled", "x:1:1")
    page(">" * 98 + " deep")
    assert refused(">" * 120 + " deep")[0] == "text-too-tangled"
    page(("word " * 40_000 + "\n\n") + "[" * 30_000 + "\n\n" + "![" * 3_000 + "*_" * 30_000)


def test_limits_of_version_1() -> None:
    long = "word " * (limits.LONGEST_BLOCK // 5)
    page_of_version_1(f"a\n\n{long}\n")
    assert refused(f"a\n\n{long}and more\n", page_of_version_1) == ("text-too-tangled", "x:3:1")
    some = "[a](/x/)\n\n" * limits.MOST_BRACKETS
    page_of_version_1(some)
    assert refused(f"{some}[b](/y/)\n", page_of_version_1) == ("text-too-tangled", f"x:{2 * limits.MOST_BRACKETS + 1}:1")
    page_of_version_1(MANY + "[a]\n\n" * 800)
    assert refused(MANY + "[a]\n\n" * 900, page_of_version_1)[0] == "text-too-tangled"
    assert refused(WIDE, page_of_version_1)[0] == "text-too-tangled"
    page_of_version_1("```\n" + "[" * 3 * limits.MOST_BRACKETS + "\n```\n")  # in code they count for nothing


def test_bare_links_are_found_as_if_nothing_were_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule is given less of the text before it; what it makes of a text must not change by a byte."""
    pieces = (
        "http",
        "https",
        "mailto",
        "xmpp",
        ":",
        "//",
        "www.",
        "a.example",
        "@",
        "x@y.example",
        " ",
        "*",
        "_",
        "(",
        ")",
        "[a](",
        "/x/",
        "<",
        ">",
        "\n",
        "é",
        "`",
        "!",
        "~~",
    )
    chance = random.Random(7)
    texts = ["".join(chance.choice(pieces) for _ in range(chance.randrange(1, 14))) for _ in range(4000)]
    monkeypatch.setattr(markdown, "_place_link", lambda *_: ())
    monkeypatch.setattr(markdown, "_place_image", lambda *_: None)

    def all_pages() -> list[str]:
        markdown._parser.cache_clear()
        return [page_of_version_1(text) for text in texts]

    bounded = all_pages()
    assert sum("<a " in text for text in bounded) > 200
    monkeypatch.setattr(limits, "install", lambda parser: None)
    try:
        assert all_pages() == bounded
    finally:
        markdown._parser.cache_clear()


def test_repeated_headings_get_the_numbers_that_they_always_got() -> None:
    html = page("# a\n\n# a 1\n\n# a\n\n# a\n\n# a 2\n\n# a\n")
    assert [part.partition('"')[0] for part in html.split(' id="')[1:]] == ["a", "a-1", "a-2", "a-3", "a-2-1", "a-4"]


def test_an_endless_loop_is_stopped_by_processor_time() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(limits.TooCostly), limits.bounded(0.05):
        sum(number for number in iter(int, 1))  # zeros without end
    assert signal.getsignal(signal.SIGVTALRM) is before and signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    with limits.bounded(60):
        with limits.bounded(0.01):
            sum(range(2_000_000))  # the outer limit holds
        assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 1


def test_memory_is_bounded_and_the_bound_taken_away() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(MemoryError), limits.in_memory(64 * 1024 * 1024):
        bytearray(2**30)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert bytearray(2**27)


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 9 ** 9 ** 9 ** 9 }}",
        "{{ 'a' * 10**11 }}",
        "{{ [1] * 10**11 }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ '{:>9999999999}'.format(1) }}",
        "{% set x = 'a' * 10**6 %}" + "{% set x = x ~ x %}" * 20 + "{{ x }}",
    ],
)
def test_a_template_is_bounded(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS_A_PAGE", 0.2)
    with pytest.raises(InputProblem) as caught:
        Theme(default_theme() | {"article.html.j2": f"\n{template}".encode()}, site_view(SITE), 2).render("article")
    assert (caught.value.code, caught.value.where) == ("theme-broken", "site-src/garden/theme/article.html.j2:2:1")


def test_arithmetic_of_ordinary_themes_goes_on() -> None:
    text = b"{{ 2 ** 10 }} {{ '-' * 3 }} {{ 3 * 4 }} {{ 7 % 4 }} {{ '%s!' % 'a' }}"
    assert Theme(default_theme() | {"article.html.j2": text}, site_view(SITE), 2).render("article") == b"1024 --- 12 3 a!"


@pytest.mark.parametrize("word", ["{day.__class__}", "{day:>99}", "{day!r}", "{nope}", "{", "{0}", "{day[0]}"])
def test_words_have_plain_places_only(word: str) -> None:
    with pytest.raises(InputProblem) as caught:
        Theme(default_theme() | {"words.json": json.dumps({"day": word}).encode()}, site_view(SITE), 2)
    assert caught.value.code == "theme-broken"


def test_images_have_a_bounded_number_of_parts() -> None:
    for name, data in {
        "a.png": png(png_chunk(b"tEXt", b"") * 20_001),
        "a.jpg": jpeg(jpeg_segment(0xFE, b"") * 10_001),
        "a.svg": drawing("", 'width="' + "9" * 400 + '" height="1"'),
    }.items():
        with pytest.raises(InputProblem) as caught:
            clean(name, data, "x:1:1")
        assert caught.value.code == "image-too-large"


@pytest.mark.parametrize("inside", ["<!--", "<!-- a --><!--", "<style><style>a{}</style></style>", "<!-->"])
def test_comments_and_styles_that_are_none(inside: str) -> None:
    with pytest.raises(BadPicture):
        svg.clean(drawing(inside))


def test_comments_are_taken_out_one_by_one() -> None:
    assert svg.clean(drawing("a<!-- b -->c<!---->d")) == drawing("acd")
