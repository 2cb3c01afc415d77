"""Formulas as MathML, which browsers draw by themselves: no script, no picture, and a reader hears them.

Rules:
* the library's tree is written out here, by an allow-list of MathML Core's elements and of attributes that say how a formula
  looks: commands that would make links, classes or styles are refused;
* a command that the library does not know is refused, and not shown as its name.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape, unescape
from typing import Any

LONGEST = 2000
DEEPEST = 60
ELEMENTS = frozenset(
    [
        "math",
        "maction",
        "menclose",
        "merror",
        "mfenced",
        "mfrac",
        "mi",
        "mmultiscripts",
        "mn",
        "mo",
        "mover",
        "mpadded",
        "mphantom",
        "mprescripts",
        "mroot",
        "mrow",
        "ms",
        "mspace",
        "msqrt",
        "mstyle",
        "msub",
        "msubsup",
        "msup",
        "mtable",
        "mtd",
        "mtext",
        "mtr",
        "munder",
        "munderover",
        "none",
    ]
) - {"maction", "merror"}
ATTRIBUTES = frozenset(
    [
        "accent",
        "accentunder",
        "columnalign",
        "columnlines",
        "columnspacing",
        "depth",
        "display",
        "displaystyle",
        "fence",
        "form",
        "height",
        "largeop",
        "linethickness",
        "lspace",
        "mathcolor",
        "mathsize",
        "mathvariant",
        "maxsize",
        "minsize",
        "movablelimits",
        "notation",
        "rowlines",
        "rowspacing",
        "rspace",
        "scriptlevel",
        "separator",
        "stretchy",
        "symmetric",
        "voffset",
        "width",
    ]
)


class BadFormula(Exception):
    """A formula that cannot be read; its text is the author's and is not repeated."""


@lru_cache(maxsize=4096)
def mathml(formula: str, *, display: bool) -> str:
    """The ``math`` element of a LaTeX formula. ``BadFormula`` where a command is unknown or a bracket has no partner."""
    from latex2mathml.converter import convert_to_element

    if len(formula) > LONGEST or not formula.strip() or formula.count("{") != formula.count("}"):
        raise BadFormula
    try:
        tree = convert_to_element(formula, display="block" if display else "inline")
    except Exception:  # the library has a class of its own for each mistake, and lets IndexError and others through
        raise BadFormula from None
    tree.attrib.pop("xmlns", None)  # HTML knows the element
    return "".join(_written(tree, 0))


def _written(element: Any, depth: int) -> list[str]:
    if element.tag not in ELEMENTS or not element.attrib.keys() <= ATTRIBUTES or depth > DEEPEST:
        raise BadFormula
    text = unescape(element.text or "")
    if "\\" in text and text != "\\" and element.tag != "mtext":
        raise BadFormula
    attributes = "".join(f' {name}="{escape(str(value))}"' for name, value in element.attrib.items())
    made = [f"<{element.tag}{attributes}>", escape(text, quote=False)]
    for child in element:
        made += _written(child, depth + 1)
    return [*made, f"</{element.tag}>"]
