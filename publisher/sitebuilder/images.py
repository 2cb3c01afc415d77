"""Images beside an article: only types whose every byte can be accounted for, without what cameras and editors add.

Rules:
* PNG, JPEG and SVG, nothing else; the name's ending and the bytes must agree;
* pixels are never touched: cleaning keeps the parts that show the picture and drops the rest (place, time, comments, text,
  thumbnails, what stands after the end);
* cleaning twice gives the same as once; the public form is always clean;
* sizes are bounded before anything is decoded.
"""

from __future__ import annotations

from functools import lru_cache

from publisher.errors import InputProblem
from publisher.sitebuilder import jpeg, png, svg
from publisher.sitebuilder.picture import BadPicture
from publisher.sitebuilder.references import suffix

LARGEST_FILE = 10 * 1024 * 1024
LARGEST_AREA = 40_000_000

_CLEANERS = {".png": png.clean, ".jpg": jpeg.clean, ".jpeg": jpeg.clean, ".svg": svg.clean}
_SIZES = {".png": png.size, ".jpg": jpeg.size, ".jpeg": jpeg.size, ".svg": svg.size}


def clean(name: str, data: bytes, where: str) -> bytes:
    """The public bytes of an image. ``InputProblem`` for other types, broken files and whatever must not be public."""
    cleaner = _CLEANERS.get(suffix(name))
    if cleaner is None:
        raise InputProblem("image-type-refused", "an image is a png, jpg, jpeg or svg", where=where)
    if len(data) > LARGEST_FILE:
        raise InputProblem("image-too-large", "an image is at most 10 MB", where=where)
    try:
        cleaned = cleaner(data)
        size = size_of(name, cleaned)
    except BadPicture as problem:
        raise InputProblem(problem.code, problem.says, where=where) from None
    if size and size[0] * size[1] > LARGEST_AREA:
        raise InputProblem("image-too-large", "an image has at most 40 million pixels", where=where)
    return cleaned


@lru_cache(maxsize=4096)
def size_of(name: str, data: bytes) -> tuple[int, int] | None:
    """Width and height in CSS pixels as shown (after rotation), or None where a drawing has no size of its own."""
    return _SIZES[suffix(name)](data)
