"""The fakes have every method of their Protocol, with the same parameters and types: a drifting fake fails here."""

from __future__ import annotations

import inspect

import pytest

from publisher import ports
from tests.support import fakes

PAIRS = [
    (fakes.FakeRepository, ports.ReadsRepository),
    (fakes.FakeForge, ports.ReadsForge),
    (fakes.FakeRequests, ports.Requests),
    (fakes.FakeClock, ports.Clock),
]


@pytest.mark.parametrize(("fake", "protocol"), PAIRS, ids=lambda kind: kind.__name__)
def test_a_fake_has_the_methods_of_its_protocol(fake: type, protocol: type) -> None:
    methods = {
        name: method for name, method in vars(protocol).items() if inspect.isfunction(method) and not name.startswith("_")
    }
    assert methods
    for name, method in methods.items():
        assert inspect.signature(getattr(fake, name)) == inspect.signature(method), name
