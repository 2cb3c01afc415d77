"""A failed test leaves no stopped process behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.target_actors import Actor


@pytest.fixture(autouse=True)
def no_actor_is_left() -> Iterator[None]:
    yield
    Actor.end_all()
