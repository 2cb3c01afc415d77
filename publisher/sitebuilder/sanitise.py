"""The allow-list that every article's HTML passes through, although raw HTML is already off in the Markdown: two fences."""

from __future__ import annotations

from functools import cache
from typing import Any

_PLAIN = (
    "blockquote br code dd div dl dt em h2 h3 h4 h5 h6 hr img input li ol p pre s section span strong sup table tbody td th "
    "thead tr ul a"
)
_ATTRIBUTES: dict[str, set[str]] = {
    "a": {"href", "id", "title", "class", "aria-label", "role"},
    "code": {"class"},
    "div": {"class"},
    "img": {"src", "alt", "title", "width", "height"},
    "input": {"aria-label"},
    "li": {"id", "class"},
    "ol": {"start"},
    "p": {"class"},
    "section": {"class", "aria-label"},
    "span": {"class"},
    "ul": {"class"},
    **{f"h{level}": {"id"} for level in range(2, 7)},
}
_VALUES: dict[str, dict[str, set[str]]] = {
    "div": {"tabindex": {"0"}, "role": {"note"}},
    "img": {"loading": {"lazy"}, "decoding": {"async"}},
    "input": {"type": {"checkbox"}, "disabled": {""}, "checked": {""}},
    "pre": {"tabindex": {"0"}},
    "section": {"role": {"doc-endnotes"}},
    # No style attributes at all: the site's content security policy refuses them, so alignment is a class of three values.
    "td": {"class": {"left", "right", "center"}},
    "th": {"class": {"left", "right", "center"}},
}


@cache
def _cleaner() -> Any:
    import nh3

    return nh3.Cleaner(
        tags=set(_PLAIN.split()),
        attributes=_ATTRIBUTES,
        tag_attribute_values=_VALUES,
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
        strip_comments=True,
    )


def sanitise(html: str) -> str:
    """``html`` with nothing in it but what the lists above allow."""
    clean: str = _cleaner().clean(html)
    return clean
