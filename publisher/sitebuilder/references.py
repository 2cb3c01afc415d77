"""What a link or image in an article may point at.

Rules:
* outside: ``http``, ``https`` and ``mailto``; every other scheme is refused, and so is a link without one (``//host``);
* a page of this site: its path, such as ``/fences/``, with or without ``#anchor``;
* a place on the same page: ``#anchor``;
* a file beside the article: its plain name; no folder, no ``..``, no backslash, no percent sign;
* an image is always a file beside its article: a page makes no third-party request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from publisher.domain.article import FILE_NAME
from publisher.errors import InputProblem

SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.ASCII | re.IGNORECASE)
OUTSIDE_SCHEMES = frozenset({"http:", "https:", "mailto:"})
IMAGE_TYPES = frozenset({".png", ".jpg", ".jpeg", ".svg"})


class Kind(StrEnum):
    OUTSIDE = "outside"
    SITE = "site"
    ANCHOR = "anchor"
    FILE = "file"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a text stands, for messages: its path, and how many lines of that file come before the text."""

    path: str
    lines_before: int = 0

    def at(self, line: int, column: int = 1) -> str:
        return f"{self.path}:{self.lines_before + line}:{column}"


def suffix(name: str) -> str:
    """The lower-case ending of a file name, with its dot; "" when it has none."""
    return "." + name.rsplit(".", 1)[1].lower() if "." in name else ""


def is_file_name(name: str) -> bool:
    """Whether a file of this name may lie beside an article."""
    return FILE_NAME.fullmatch(name) is not None and suffix(name) in IMAGE_TYPES and ".." not in name


def file_name(target: str) -> str:
    """The name that a relative reference means: ``./fence.svg`` is ``fence.svg``."""
    return target.removeprefix("./")


def kind_of_link(target: str, where: str) -> Kind:
    """What a link points at. ``InputProblem`` for everything that the rules above do not list."""
    scheme = SCHEME.match(target)
    if scheme:
        if scheme[0].lower() in OUTSIDE_SCHEMES:
            return Kind.OUTSIDE
        raise _refused("scheme-refused", "a link uses http, https or mailto, and no other scheme", where)
    if target.startswith("#") and len(target) > 1:
        return Kind.ANCHOR
    path = target.partition("#")[0]
    if target.startswith("//") or "\\" in path or "%5c" in path.lower() or ".." in path or "?" in path:
        raise _refused("reference-refused", "a link holds no .., backslash or query, and names its scheme", where)
    if target.startswith("/"):
        return Kind.SITE
    if is_file_name(file_name(target)):
        return Kind.FILE
    says = "a page is linked by its path (/fences/), and a png, jpg, jpeg or svg beside the article by its plain name"
    raise _refused("reference-refused", says, where)


def check_image(target: str, where: str) -> None:
    """``InputProblem`` unless an image's source is a plain name of a file beside the article."""
    if SCHEME.match(target) or target.startswith("//"):
        raise _refused("remote-image", "an image is a file beside its article: pages make no third-party requests", where)
    if not is_file_name(file_name(target)):
        says = "an image is a png, jpg, jpeg or svg beside its article, named by its plain name in small letters"
        raise _refused("reference-refused", says, where)


def _refused(code: str, says: str, where: str) -> InputProblem:
    return InputProblem(code, says, where=where)
