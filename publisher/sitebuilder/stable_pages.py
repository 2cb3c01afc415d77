"""Pages of a growing list whose numbers never change.

Rules:
* numbered pages hold exactly ``size`` items each; the oldest items are on page 1, so a new item never moves an old one;
* the list's own page shows what no numbered page holds: the newest ``size`` to ``2 * size - 1`` items (all, while there are
  fewer), so that it is never nearly empty;
* there is no "page k of n": it would change every page with every article.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from publisher.sitebuilder.views import Neighbours

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class ListPage(Generic[Item]):
    """One page: ``number`` 0 is the list's own page. ``items`` are newest first."""

    number: int
    path: str
    items: tuple[Item, ...]
    neighbours: Neighbours


def stable_pages(items: Sequence[Item], size: int, path: str) -> tuple[ListPage[Item], ...]:
    """The pages of ``items`` (oldest first) below ``path``, the list's own page first."""
    last = max(len(items) // size - 1, 0)
    numbered = [
        ListPage(
            number=number,
            path=f"{path}page/{number}/",
            items=tuple(reversed(items[(number - 1) * size : number * size])),
            neighbours=Neighbours(
                newer=f"{path}page/{number + 1}/" if number < last else path,
                older=f"{path}page/{number - 1}/" if number > 1 else "",
            ),
        )
        for number in range(1, last + 1)
    ]
    older = f"{path}page/{last}/" if last else ""
    own = ListPage(number=0, path=path, items=tuple(reversed(items[last * size :])), neighbours=Neighbours(older=older))
    return (own, *numbered)
