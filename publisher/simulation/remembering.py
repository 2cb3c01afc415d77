"""Pure functions of the engine whose results are remembered while a simulation runs, by ids that name their whole input.

``load`` is a function of the tips, and the fold of a ledger file of its last line's digest; both return values that nobody changes.
The spot checks of ``memo`` run without this, so that a function that is not pure after all shows as a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from publisher.domain.ledger_events import chain_of
from publisher.engine import people, repairing, restoring, running, site_view

MOST = 20_000
"""Views kept at most: then they are forgotten all at once."""
LOADERS = (running, people, repairing, restoring)
_ASIDE = [False]


@contextmanager
def aside() -> Iterator[None]:
    """Nothing is remembered or taken from memory, until the block ends."""
    before, _ASIDE[0] = _ASIDE[0], True
    try:
        yield
    finally:
        _ASIDE[0] = before


@contextmanager
def remembered() -> Iterator[Callable[[], None]]:
    """Remembers until the block ends; calling what it yields forgets everything."""
    views: dict[tuple[Any, ...], Any] = {}
    folds: dict[tuple[str, str], Any] = {}
    load, fold = site_view.load, site_view._history

    def loaded(reads: Any, forge: Any, tips: Any, site_id: str, *, judge: bool = True) -> Any:
        if _ASIDE[0]:
            return load(reads, forge, tips, site_id, judge=judge)
        key = (tips.default, tips.state, tuple(tips.requests.items()), judge)
        if key not in views:
            if len(views) > MOST:
                views.clear()
            views[key] = load(reads, forge, tips, site_id, judge=judge)
        return views[key]

    def folded(path: str, events: Any) -> Any:
        if _ASIDE[0]:
            return fold(path, events)
        key = (path, chain_of(events))
        if key not in folds:
            if len(folds) > MOST:
                folds.clear()
            folds[key] = fold(path, events)
        return folds[key]

    def forget() -> None:
        views.clear()
        folds.clear()

    before = [module.load for module in LOADERS]
    try:
        site_view._history = folded
        for module in LOADERS:
            module.load = loaded  # type: ignore[attr-defined]
        yield forget
    finally:
        site_view._history = fold
        for module, own in zip(LOADERS, before, strict=True):
            module.load = own  # type: ignore[attr-defined]
