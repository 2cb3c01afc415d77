"""The queue: order kept, held passed over, taken never offered again."""

from __future__ import annotations

import pytest

from publisher.domain.queue import Queued, available, repeated


def queue(*names: str) -> tuple[Queued, ...]:
    """``!`` after a name holds it."""
    return tuple(Queued(id=name.rstrip("!"), source=f"drafts/{name.rstrip('!')}", held=name.endswith("!")) for name in names)


@pytest.mark.parametrize(
    ("names", "taken", "left"),
    [
        ((), (), []),
        (("a", "b", "c"), (), ["a", "b", "c"]),
        (("c", "a", "b"), (), ["c", "a", "b"]),
        (("a", "b!", "c"), (), ["a", "c"]),
        (("a", "b", "c"), ("b",), ["a", "c"]),
        (("a!", "b"), ("b",), []),
        (("a",), ("A", "a2"), ["a"]),
    ],
)
def test_available_entries_keep_their_order(names: tuple[str, ...], taken: tuple[str, ...], left: list[str]) -> None:
    assert [entry.id for entry in available(queue(*names), taken)] == left


def test_nothing_stands_twice() -> None:
    assert repeated(queue("a", "b", "c!")) == ""
    assert repeated(queue("a", "b", "a")) == "a"
    assert repeated((*queue("a"), Queued(id="b", source="drafts/a"))) == "drafts/a"
    assert repeated(()) == ""
