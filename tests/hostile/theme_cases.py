"""Themes and static files: merged, planned by a presentation change, and met by the review of that request."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hostile.case import Case, Puts, S
from tests.hostile.ground import WHO, Entry, Ground

THEME, STATIC = "site-src/blog/theme", "site-src/blog/static"
PAGE = f"{THEME}/article.html.j2"
LONG = 4.5
"""A page is stopped after three seconds of processor time."""

# name → (the article's template, seconds)
TEMPLATES: dict[str, tuple[str, float]] = {
    "classes": ("{{ ''.__class__.__mro__[1].__subclasses__() }}", 1.0),
    "globals": ("{{ cycler.__init__.__globals__.os.popen('id').read() }}", 1.0),
    "attr filter": ("{{ ''|attr('__class__')|attr('mro') }}", 1.0),
    "format": ("{{ '{0.__class__.__init__.__globals__}'.format(site) }}", 1.0),
    "format map": ("{{ '{a.__class__}'.format_map({'a': site}) }}", 1.0),
    "import": ("{% import '/etc/passwd' as x %}{{ x }}", 1.0),
    "include": ("{% include '../../../../etc/passwd' %}", 1.0),
    "extends": ("{% extends '/etc/passwd' %}", 1.0),
    "config": ("{{ config }}", 1.0),
    "self": ("{{ self.__dict__ }}", 1.0),
    "changes what it gets": ("{{ entry.__setattr__('title', 'x') }}", 1.0),
    "endless loop": ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", LONG),
    "endless output": ("{% for a in range(99999) %}{% for b in range(99999) %}" + "a" * 99 + "{% endfor %}{% endfor %}", LONG),
    "macros": ("{% macro m(n) %}{% if n < 60 %}{{ m(n+1) }}{{ m(n+1) }}{% endif %}{% endmacro %}{{ m(0) }}", LONG),
    "range": ("{{ range(10**9)|list }}", 1.0),
    "includes itself": ("{% include 'article.html.j2' %}", 1.5),
    "power": ("{{ 9 ** 9 ** 9 ** 9 }}", 1.0),
    "times": ("{{ 'a' * 10**11 }}", 1.0),
    "list times": ("{{ [1] * 10**12 }}", 1.0),
    "squares": ("{% set n = namespace(x=99999) %}{% for a in range(60) %}{% set n.x = n.x * n.x %}{% endfor %}{{ n.x }}", LONG),
    "percent": ("{{ '%9999999999d' % 1 }}", 1.0),
    "width": ("{{ '{:>9999999999}'.format(1) }}", 1.0),
    "center": ("{{ 'x'|center(10**10) }}", 1.0),
    "doubled": ("{% set x = 'a' * 10**6 %}" + "{% set x = x ~ x %}" * 30 + "{{ x }}", 1.0),
    "replaced": ("{% set x = 'a' * 10**5 %}{{ x|replace('a', x) }}", 1.0),
    "not closed": ("{% for a in b %}", 1.0),
    "no jinja": ("{{ a b }}", 1.0),
    "deep": ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", 1.0),
    "nothing": ("{{ nothing }}", 1.0),
    "division": ("{{ 1 / 0 }}", 1.0),
    "digits": ("{{ " + "9" * 5000 + " }}", 1.0),
    "sorts": ("{{ [1, 'a']|sort }}", 1.0),
    "no such filter": ("{{ 'a'|random }}", 1.0),
}
WORDS: dict[str, object] = {
    "list": [],
    "text": "x",
    "number": 1,
    "null": None,
    "eleven months": {"months": ["x"] * 11},
    "months of numbers": {"months": list(range(12))},
    "attributes": {"day": "{day.__class__}"},
    "width": {"day": "{day:>9999999999}"},
    "unknown place": {"page_number": "{nope}"},
    "open brace": {"page_number": "{"},
    "index": {"title_of_tags": "{name[0]}"},
    "number as a word": {"note": 1},
}
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 1\n"


def cases(texts: dict[str, bytes]) -> list[Case]:
    rows: list[tuple[str, Puts, str, str, float]] = []
    for name, (template, seconds) in TEMPLATES.items():
        rows.append((name, {PAGE: template.encode()}, "theme-broken", THEME, seconds))
    rows.append(("not utf-8", {PAGE: b"caf\xe9"}, "theme-broken", PAGE, 1.0))
    rows.append(("no template", {PAGE: None}, "theme-incomplete", "", 1.0))
    for name, words in WORDS.items():
        rows.append(
            (f"words {name}", {f"{THEME}/words.json": json.dumps(words).encode()}, "theme-broken", f"{THEME}/words.json", 1.0)
        )
    rows.append(("words deep", {f"{THEME}/words.json": b"[" * 100_000}, "theme-broken", f"{THEME}/words.json", 1.0))
    rows += [
        ("asset in capitals", {f"{THEME}/Style.css": b"x"}, "theme-broken", "", 1.0),
        ("asset pointer", {f"{THEME}/a.css": LFS}, "lfs-pointer", f"{THEME}/a.css", 1.0),
        ("asset link", {f"{THEME}/a.css": Entry("120000", b"/etc/passwd")}, "not-a-plain-file", f"{THEME}/a.css", 1.0),
        ("static pointer", {f"{STATIC}/a.bin": LFS}, "lfs-pointer", f"{STATIC}/a.bin", 1.0),
        ("static link", {f"{STATIC}/a": Entry("120000", b"/etc/passwd")}, "not-a-plain-file", f"{STATIC}/a", 1.0),
        ("static submodule", {f"{STATIC}/a": Entry("160000", b"1" * 40)}, "not-a-plain-file", f"{STATIC}/a", 1.0),
        ("static executable", {f"{STATIC}/a": Entry("100755", b"x")}, "not-a-plain-file", f"{STATIC}/a", 1.0),
        ("static device", {f"{STATIC}/con.txt": b"x"}, "bad-output-path", "", 1.0),
        ("static stream", {f"{STATIC}/a:b": b"x"}, "bad-output-path", "", 1.0),
        ("static dot", {f"{STATIC}/a.": b"x"}, "bad-output-path", "", 1.0),
        ("static space", {f"{STATIC}/a ": b"x"}, "bad-output-path", "", 1.0),
        ("static twins", {f"{STATIC}/a.txt": b"x", f"{STATIC}/A.txt": b"x"}, "two-outputs", "", 1.0),
        ("static over a page", {f"{STATIC}/article-0001/index.html": b"x"}, "two-outputs", "", 1.0),
        ("static over the feed", {f"{STATIC}/feed.xml": b"x"}, "two-outputs", "", 1.0),
        ("static manifest", {f"{STATIC}/.well-known/publisher.json": b"{}"}, "two-outputs", "", 1.0),
        ("static claim", {f"{STATIC}/.well-known/publisher-claim.json": b"{}"}, "bad-output-path", "", 1.0),
        ("static file and folder", {f"{STATIC}/article-0001": b"x"}, "two-outputs", "", 1.0),
    ]
    return [
        Case(kind="theme", name=name, argv=(), code=code, where=where, act=_planned(puts), seconds=seconds)
        for name, puts, code, where, seconds in rows
    ]


def _planned(puts: Puts):  # type: ignore[no-untyped-def]
    def act(ground: Ground) -> tuple[str, ...]:
        merged = ground.commit({**puts, "README.md": S})
        made = ground.run("change", "presentation", "--local", "--reason", "x")
        if made.code:
            return "change", "presentation", "--local", "--reason", "x"  # it is met there already
        (file,) = Path(ground.instance.clone(WHO).path).glob("plans/blog/changes/2026/*.yaml")
        head = ground.commit({str(file.relative_to(ground.clone.path)): file.read_bytes()}, parent=merged)
        file.unlink()
        file.parent.rmdir()
        file.parent.parent.rmdir()
        return "review", "--head", head, "--base", merged

    return act
