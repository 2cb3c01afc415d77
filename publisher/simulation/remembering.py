"""Pure functions of the engine whose results are remembered while a simulation runs, by ids that name their whole input.

``load`` is a function of the tips, the fold of a ledger file of its last line's digest, a view's next one of the view and the event,
its decisions of the view and the time; all return values that nobody changes.
The spot checks of ``memo`` run without this, so that a function that is not pure after all shows as a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from publisher.domain.ledger_events import chain_of
from publisher.engine import assembling, people, repairing, restoring, running, site_view

NOWHERE = Path("/nowhere")
MOST = 20_000
"""Views kept at most: then they are forgotten all at once."""
LOADERS = (running, people, repairing, restoring)
_ASIDE = [False]


class NoScratch:
    """What ``tempfile`` and ``shutil`` are to a run meanwhile. The model's builder writes no file, so nothing would ever be in such a
    folder; making and removing one took longer than the run."""

    @staticmethod
    def mkdtemp(prefix: str, dir: Path = NOWHERE) -> str:
        return f"{dir}/{prefix}none"

    @staticmethod
    def rmtree(path: Path, *, ignore_errors: bool) -> None:
        assert NOWHERE in path.parents


@contextmanager
def aside() -> Iterator[None]:
    """Nothing is remembered or taken from memory, until the block ends."""
    before, _ASIDE[0] = _ASIDE[0], True
    try:
        yield
    finally:
        _ASIDE[0] = before


def _keeping(known: dict[Any, Any], function: Callable[..., Any], key_of: Callable[..., Any]) -> Callable[..., Any]:
    def kept(*arguments: Any, **named: Any) -> Any:
        if _ASIDE[0]:
            return function(*arguments, **named)
        key = key_of(*arguments, **named)
        if key not in known:
            if len(known) > MOST:
                known.clear()
            # The first argument is kept beside the result: as long as it is here, no other object has its identity.
            known[key] = arguments[0], function(*arguments, **named)
        return known[key][1]

    return kept


def _load_key(_: Any, forge: Any, tips: Any, site_id: str, *, judge: bool = True) -> Any:
    return tips.default, tips.state, tuple(tips.requests.items()), judge


Place = tuple[Any, str]
REMEMBERED: tuple[tuple[tuple[Place, ...], Callable[..., Any]], ...] = (
    (tuple((module, "load") for module in LOADERS), _load_key),
    (((site_view, "_history"),), lambda path, events: (path, chain_of(events))),
    (((site_view.SiteView, "with_event"),), lambda view, path, event: (id(view), path, event.line_digest)),
    (((running, "decisions"),), lambda view, now: (id(view), now)),
)
"""Where a function is looked up, and what names its input. A view never changes, so while it is kept its identity names it."""
NO_SCRATCH: tuple[Place, ...] = ((running, "tempfile"), (running, "shutil"), (assembling, "tempfile"))


@contextmanager
def remembered() -> Iterator[Callable[[], None]]:
    """Remembers until the block ends; calling what it yields forgets everything."""
    memories: list[dict[Any, Any]] = []
    before: list[tuple[Place, Any]] = []

    def put(place: Place, value: Any) -> None:
        before.append((place, getattr(place[0], place[1])))
        setattr(place[0], place[1], value)

    def forget() -> None:
        for known in memories:
            known.clear()

    try:
        for place in NO_SCRATCH:
            put(place, NoScratch)
        for places, key_of in REMEMBERED:
            memories.append({})
            kept = _keeping(memories[-1], getattr(places[0][0], places[0][1]), key_of)
            for place in places:
                put(place, kept)
        yield forget
    finally:
        for place, own in reversed(before):
            setattr(place[0], place[1], own)
