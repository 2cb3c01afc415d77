import json
import re

import pytest

from publisher.errors import InputProblem
from publisher.sitebuilder.theme import PAGES, default_theme
from tests.support.sitebuilding import article, build


def refusal(tmp_path, **templates) -> InputProblem:
    theme = default_theme() | {name: text.encode() for name, text in templates.pop("files", {}).items()}
    theme |= {f"{name.replace('_', '-')}.html.j2": text.encode() for name, text in templates.items()}
    with pytest.raises(InputProblem) as caught:
        build(tmp_path, article(title="Nobody may see this"), theme=theme)
    assert "Nobody" not in str(caught.value)
    return caught.value


def test_the_default_theme_is_whole():
    theme = default_theme()
    assert {f"{page}.html.j2" for page in PAGES} <= theme.keys() and {"style.css", "words.json", "icon.svg"} <= theme.keys()


@pytest.mark.parametrize("page", PAGES)
def test_a_missing_template_is_refused(tmp_path, page):
    theme = default_theme()
    del theme[f"{page}.html.j2"]
    with pytest.raises(InputProblem) as caught:
        build(tmp_path, article(), theme=theme)
    assert caught.value.code == "theme-incomplete"


@pytest.mark.parametrize(
    "template",
    [
        "x\n{% if %}",
        "x\n{{ nothing }}",
        "x\n{{ entry.nothing }}",
        "x\n{{ ''.__class__.__mro__ }}",
        "x\n{{ entry.__init__.__globals__ }}",
        "x\n{% include 'missing.html.j2' %}",
        "x\n{{ lipsum() }}",
        "x\n{{ [1, 2] | random }}",
        "x\n{{ 1 // 0 }}",
        "x\n{{ entry.title + 1 }}",
        "x\n{{ asset('missing.css') }}",
        "x\n{% set _ = words.update(x=1) %}",
    ],
)
def test_templates_that_fail_or_reach_out_name_their_line(tmp_path, template):
    problem = refusal(tmp_path, article=template)
    assert (problem.code, problem.where) == ("theme-broken", "site-src/garden/theme/article.html.j2:2:1")


def test_a_failing_part_is_named_itself(tmp_path):
    problem = refusal(tmp_path, files={"parts.html.j2": "{% macro date(day) %}\n\n{{ day.nothing }}{% endmacro %}"})
    assert problem.where == "site-src/garden/theme/parts.html.j2:3:1"


@pytest.mark.parametrize("words", ["[]", "{", '{"months": ["x"]}', '{"archive": 1}', "\ud800".encode("utf-8", "surrogatepass")])
def test_broken_words_are_refused(tmp_path, words):
    theme = default_theme() | {"words.json": words if isinstance(words, bytes) else words.encode()}
    with pytest.raises(InputProblem) as caught:
        build(tmp_path, article(), theme=theme)
    assert caught.value.code == "theme-broken"


def test_bad_files_are_refused(tmp_path):
    assert refusal(tmp_path, files={"../x.css": ""}).code == "theme-broken"
    theme = default_theme() | {"article.html.j2": b"\xff"}
    with pytest.raises(InputProblem):
        build(tmp_path, article(), theme=theme)


def test_words_can_be_translated(tmp_path):
    months = ["Januar", *map(str, range(2, 13))]
    words = json.dumps({"day": "{day}. {month} {year}", "archive": "Archiv", "months": months}).encode()
    _, files = build(tmp_path, article(), theme=default_theme() | {"words.json": words})
    assert ">2. Januar 2026</time>" in files["bed-1/index.html"] and ">Archiv</a>" in files["index.html"]


def test_an_assets_address_changes_with_its_bytes(tmp_path):
    found = set()
    for css in (b"a{}", b"b{}"):
        _, files = build(tmp_path, article(), theme=default_theme() | {"style.css": css})
        found.add(re.search(r'stylesheet" href="(.*?)"', files["index.html"])[1])
    assert len(found) == 2


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_meet_aa_on_both_backgrounds_in_both_schemes():
    css = default_theme()["style.css"].decode()
    light, dark = css.split("prefers-color-scheme: dark", 1)
    for scheme in (light, dark.split("}\n}", 1)[0]):
        colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", scheme))
        assert len(colours) >= 16
        for ground in ("paper", "raised"):
            for name, colour in colours.items():
                if name not in ("paper", "raised", "line", "mark"):
                    lighter, darker = sorted((_luminance(colour), _luminance(colours[ground])), reverse=True)
                    assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (name, ground)
