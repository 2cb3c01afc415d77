"""Fenced code with Pygments' class names; the colours are the theme's."""

from __future__ import annotations

from functools import cache, lru_cache
from html import escape
from typing import Any


@cache
def _classes() -> dict[str, str]:
    """Alias → lexer class name. Plug-ins are left out: what is installed on a machine must not change a release."""
    from pygments.lexers import get_all_lexers

    return {alias: name for name, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases}


@cache
def _lexer(alias: str) -> Any:
    """The lexer of a language's alias, made once; None for an unknown one."""
    from pygments.lexers import find_lexer_class

    name = _classes().get(alias)
    found = find_lexer_class(name) if name else None
    return found(ensurenl=False, stripnl=False) if found else None


@cache
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)


@lru_cache(maxsize=4096)
def highlight(code: str, language: str) -> str:
    """Escaped HTML for ``code``, with ``span`` elements where the language is known."""
    lexer = _lexer(language.lower()) if language else None
    if lexer is None:
        return escape(code, quote=False)
    from pygments import highlight as run

    html: str = run(code, lexer, _formatter())
    # Pygments ends its output with a newline of its own when the code has none.
    return html if code.endswith("\n") else html.removesuffix("\n")
