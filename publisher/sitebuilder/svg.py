"""SVG: a drawing, and nothing that runs, loads or remembers.

Rules:
* well-formed UTF-8 without DOCTYPE, entities or processing instructions;
* only drawing elements, from the list below; no script, event handler, animation or foreign content;
* every reference stays inside the file (``#name``);
* no editor's private namespaces; comments are taken out.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from publisher.sitebuilder.picture import BadPicture

LARGEST = 1024 * 1024
SVG = "{http://www.w3.org/2000/svg}"
XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
XML = "{http://www.w3.org/XML/1998/namespace}"
# fmt: off
ELEMENTS = frozenset({
    "svg", "g", "defs", "symbol", "use", "title", "desc", "style", "switch", "path", "rect", "circle", "ellipse", "line",
    "polyline", "polygon", "text", "tspan", "textPath", "marker", "linearGradient", "radialGradient", "stop", "pattern",
    "clipPath", "mask", "filter", "feBlend", "feColorMatrix", "feComponentTransfer", "feComposite", "feDropShadow", "feFlood",
    "feFuncA", "feFuncB", "feFuncG", "feFuncR", "feGaussianBlur", "feMerge", "feMergeNode", "feMorphology", "feOffset",
    "feTurbulence", "feDisplacementMap",
})
# fmt: on
DECLARATION = re.compile(
    r"""\A<\?xml\s+version=["']1\.[01]["'](?:\s+encoding=["']utf-8["'])?(?:\s+standalone=["']\w+["'])?\s*\?>""", re.I
)
REACHES_OUT = re.compile(r"@import|@font-face|image-set|\\|//|url\((?!\s*[\"']?#)", re.I)
LONGEST_SIDE = 1e7
LENGTH = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)(?:px)?\s*")


def clean(data: bytes) -> bytes:
    """The drawing without comments. ``BadPicture`` names the rule that it breaks."""
    text = _text(data)
    cleaned = _without_comments(text)
    _check(cleaned)
    return cleaned.encode("utf-8")


def size(data: bytes) -> tuple[int, int] | None:
    """Width and height by the attributes, else by the view box; None when neither says."""
    root = _check(_text(data))
    width, height = LENGTH.fullmatch(root.get("width", "")), LENGTH.fullmatch(root.get("height", ""))
    if width and height:
        return _pixels(width[1]), _pixels(height[1])
    box = [LENGTH.fullmatch(part) for part in re.split(r"[\s,]+", root.get("viewBox", "").strip())][2:]
    if len(box) == 2 and box[0] and box[1]:
        return _pixels(box[0][1]), _pixels(box[1][1])
    return None


def _pixels(text: str) -> int:
    length = float(text)  # as many digits as it likes: beyond all numbers it is "inf"
    if length > LONGEST_SIDE:
        raise BadPicture("image-too-large", "an image has at most 40 million pixels")
    return round(length)


def _without_comments(text: str) -> str:
    """One look at each character, also where comments are begun and never ended; those are not well-formed."""
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join([*kept, text[at:]])


def _text(data: bytes) -> str:
    if len(data) > LARGEST:
        raise BadPicture("image-too-large", "a drawing is at most 1 MB")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadPicture("svg-refused", "a drawing is written in UTF-8") from None
    # Looked for before any parser sees the file: entities are how XML parsers are made to read or to eat memory.
    if "<!doctype" in text.lower() or "<!entity" in text.lower():
        raise BadPicture("svg-refused", "a drawing has no DOCTYPE and no entities")
    if "<![CDATA[" in text:
        raise BadPicture("svg-refused", "a drawing has no CDATA section")
    if "<?" in DECLARATION.sub("", text):
        raise BadPicture("svg-refused", "a drawing has no processing instructions and is written in UTF-8")
    return text


def _check(text: str) -> ElementTree.Element:
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError):
        raise BadPicture("svg-refused", "this file is named .svg and is not well-formed XML") from None
    if root.tag != f"{SVG}svg":
        raise BadPicture("svg-refused", "this file is named .svg and is not a drawing")
    for element in root.iter():
        if not element.tag.startswith(SVG) or element.tag.removeprefix(SVG) not in ELEMENTS:
            raise BadPicture("svg-refused", "a drawing has drawing elements only: no script, link, animation or metadata")
        if element.tag == f"{SVG}style" and (len(element) or REACHES_OUT.search(element.text or "")):
            raise BadPicture("svg-refused", "a drawing's style is text, and refers to nothing outside the file")
        for name, value in element.attrib.items():
            _check_attribute(name, value)
    return root


def _check_attribute(name: str, value: str) -> None:
    if name in ("href", XLINK_HREF):
        if not value.startswith("#"):
            raise BadPicture("svg-refused", "a drawing refers to nothing outside the file")
    elif name.startswith("{") and name not in (f"{XML}space", f"{XML}lang"):
        raise BadPicture("svg-refused", "a drawing carries no editor's private attributes: export it as plain SVG")
    elif name.lower().startswith("on"):
        raise BadPicture("svg-refused", "a drawing has no event handlers")
    elif REACHES_OUT.search(value) and (name == "style" or "(" in value):
        raise BadPicture("svg-refused", "a drawing's style refers to nothing outside the file")
