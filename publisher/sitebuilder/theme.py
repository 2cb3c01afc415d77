"""The theme of a site: templates that may look at what they are given, and do nothing else.

A theme is a folder of files: ``*.html.j2`` are templates (``PAGES`` must be there, others may be included), ``words.json`` has
its words, and everything else is an asset, published under ``assets/``.

Rules:
* templates run in jinja2's sandbox, with autoescape; an undefined name stops the build;
* content is always a variable and never a template;
* nothing random, no clock, no file, no network: a page is a function of the build request;
* a page's processor time and memory are bounded (``limits.py``);
* an error names the template and its line; the library's own message may quote content and is not passed on.

What templates are given: ``site`` (``views.SiteView``), ``page`` (``views.Page``), ``words``, ``output`` (the version), the functions
``href(path)`` and ``asset(name)``, the filter ``day``, and for each kind of page what ``site_files.py`` and the output version's own
file say.
"""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import resources
from string import Formatter
from typing import Any

from publisher.domain.fingerprint import digest, short
from publisher.errors import InputProblem
from publisher.sitebuilder import limits
from publisher.sitebuilder.views import Day, SiteView
from publisher.sitebuilder.words import Words

PAGES = ("article", "articles", "entries", "terms", "not-found", "moved")
WORDS = "words.json"
TEMPLATE = ".html.j2"
ASSET_PATH = re.compile(r"[a-z0-9][a-z0-9_-]*(?:[./-][a-z0-9_-]+)*", re.ASCII)
# jinja2 brings a generator of random text and a random choice; both would make two builds of one request differ.
NOT_REPEATABLE_GLOBALS = ("lipsum",)
NOT_REPEATABLE_FILTERS = ("random",)


def default_theme() -> dict[str, bytes]:
    """The theme that ``init`` copies into a new site, by relative path."""
    folder = resources.files("publisher.sitebuilder") / "theme"
    return {
        entry.name: entry.read_bytes() for entry in sorted(folder.iterdir(), key=lambda entry: entry.name) if entry.is_file()
    }


class Theme:
    """One site's theme, ready to render. ``InputProblem`` when a file of it is missing or broken."""

    def __init__(self, files: Mapping[str, bytes], site: SiteView, output: int) -> None:
        self._folder = f"site-src/{site.id}/theme"
        self._sources = {name: self._text(name, data) for name, data in files.items() if name.endswith(TEMPLATE)}
        self.assets = {name: data for name, data in files.items() if not name.endswith(TEMPLATE) and name != WORDS}
        self.words = self._read_words(files.get(WORDS, b"{}"))
        for page in PAGES:
            if f"{page}{TEMPLATE}" not in files:
                raise self._problem("theme-incomplete", f"the theme has no template {page}{TEMPLATE}")
        for name in self.assets:
            if not ASSET_PATH.fullmatch(name):
                raise self._problem("theme-broken", "an asset's path has small letters, digits, - _ . and / only")
        self._environment = self._make_environment(site, output)

    def render(self, template: str, /, **context: Any) -> bytes:
        """One page as UTF-8. ``InputProblem`` names the template and line that failed."""
        name = f"{template}{TEMPLATE}"
        return str(self._guarded(name, lambda: self._environment.get_template(name).render(**context))).encode("utf-8")

    def _make_environment(self, site: SiteView, output: int) -> Any:
        from jinja2 import FunctionLoader, StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment: Any = ImmutableSandboxedEnvironment(
            loader=FunctionLoader(self._load),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            cache_size=-1,
        )
        for name in NOT_REPEATABLE_GLOBALS:
            environment.globals.pop(name, None)
        for name in NOT_REPEATABLE_FILTERS:
            environment.filters.pop(name, None)
        environment.intercepted_binops = frozenset({"*", "**"})
        environment.call_binop = _checked_binop(environment.binop_table)
        environment.globals.update(output=output, site=site, words=self.words, href=site.href, asset=self._asset_of(site))
        environment.filters["day"] = self._day
        return environment

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        source = self._sources.get(name)
        # The second value is what tracebacks show as the file; _guarded looks for it there.
        return None if source is None else (source, name, lambda: True)

    def _asset_of(self, site: SiteView) -> Callable[[str], str]:
        def asset(name: str) -> str:
            """An asset's address, with a piece of its digest, so that a changed one is never taken from an old cache."""
            return f"{site.href('/assets/' + name)}?v={short(digest(self.assets[name]))}"

        return asset

    def _day(self, day: Day) -> str:
        """A date in the theme's words: its ``day`` pattern with ``{day}``, ``{month}`` (the name) and ``{year}``."""
        months = self.words["months"]
        return str(self.words["day"]).format(day=day.day, month=months[day.month - 1], year=day.year)

    def text_words(self) -> Words:
        """The words that go into articles' own text."""
        return Words(**{field.name: self.words[field.name] for field in fields(Words)})

    def _read_words(self, data: bytes) -> dict[str, Any]:
        try:
            own = json.loads(data)
            standard = json.loads(default_theme()[WORDS])
            words = {**standard, **own}
            fine = all(type(words[name]) is type(value) for name, value in standard.items())
            fine = fine and all(_fills(words[name], value) for name, value in standard.items() if isinstance(value, str))
        except (ValueError, TypeError, RecursionError):
            fine, words = False, {}
        if not fine or len(words["months"]) != 12 or not all(isinstance(month, str) for month in words["months"]):
            raise self._problem("theme-broken", "words.json holds a word for each name, and twelve months", WORDS)
        return words

    def _text(self, name: str, data: bytes) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise self._problem("theme-broken", "a template is UTF-8", name) from None

    def _guarded(self, name: str, act: Callable[[], str]) -> str:
        from jinja2 import TemplateError, TemplateSyntaxError

        try:
            with limits.bounded(limits.SECONDS_A_PAGE), limits.in_memory():
                return act()
        except (limits.TooCostly, MemoryError) as error:
            raise self._at(error, name, "this line of a template needs too much time or memory") from None
        except TemplateSyntaxError as error:
            raise self._problem(
                "theme-broken", "this line of a template is not jinja2", error.name or name, error.lineno
            ) from None
        except TemplateError as error:
            raise self._at(error, name, "this line of a template uses something that is not there or not allowed") from None
        except (TypeError, ValueError, LookupError, ArithmeticError, RecursionError, AttributeError) as error:
            raise self._at(error, name, "this line of a template fails") from None

    def _at(self, error: BaseException, name: str, says: str) -> InputProblem:
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename in self._sources:
                return self._problem("theme-broken", says, frame.filename, frame.lineno or 1)
        return self._problem("theme-broken", says, name)

    def _problem(self, code: str, says: str, name: str = "", line: int = 1) -> InputProblem:
        where = f"{self._folder}/{name}:{line}:1" if name else self._folder
        return InputProblem(code, says, where=where)


def _fills(own: str, standard: str) -> bool:
    """Whether a word has plain places such as ``{name}``, and none but those of the standard one."""
    known = {name for _, name, _, _ in Formatter().parse(standard) if name is not None}
    if not known:
        return True  # it is never filled in
    places = [place for place in Formatter().parse(own) if place[1] is not None]
    return all(name in known and not spec and not conversion for _, name, spec, conversion in places)


def _checked_binop(table: Mapping[str, Callable[[Any, Any], Any]]) -> Callable[[Any, str, Any, Any], Any]:
    """The sandbox's way to carry out an operator, but for those that make something huge in one step."""

    def binop(_: Any, operator: str, left: Any, right: Any) -> Any:
        if limits.is_growth(operator, left, right):
            raise limits.TooCostly("too much in one step")
        return table[operator](left, right)

    return binop
