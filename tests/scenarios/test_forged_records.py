"""Ledger lines written by hand, with a correct chain, authorise nothing: sources and live bytes are asked before a switch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.ledger_events import EventType, NewEvent, decode, encode
from tests.support.instance import Instance, make_instance
from tests.support.web import serving

PLAN = "blog/daily/2026/2026-03-01"
NOW = "2026-03-01T10:00:00+08:00"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    """Two approved days; nothing was run yet."""
    with serving(tmp_path / "i" / "public" / "current") as web:
        web.date = None
        made = make_instance(tmp_path / "i", url=web.url, lease="1s")
        for day in ("2026-03-01", "2026-03-02"):
            made.driven("planner", "plan", "--date", day, now=NOW, check=0)
        for request in ("1", "2"):
            made.driven("reviewer", "approve", request, "--yes", now=NOW, check=0)
        yield made


def forge(instance: Instance, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Rewrites what the first plan's ledger says was prepared, with a chain that is right again, and pushes it."""
    editor = instance.clone("editor")
    editor.git("pull", "--quiet", "--rebase")
    file = editor.path / "ledger" / f"{PLAN}.jsonl"
    after, text = None, b""
    for event in decode(file.read_bytes()):
        fields = dict(event.fields)
        if event.type is EventType.PREPARED:
            fields["puts"] = change(fields["puts"])
        new = NewEvent(type=event.type, fields=fields, claim=event.claim)
        line, after = encode(new, after=after, at=event.at, actor=event.actor, commit=event.commit)
        text += line
    editor.commit({f"ledger/{PLAN}.jsonl": text}, "forged")
    editor.push()


def test_a_forged_record_of_what_was_prepared_is_not_built(instance: Instance) -> None:
    instance.driven("ci", "run", now=NOW, at="kill:before:target.switch:1")
    forge(instance, lambda puts: [{**put, "digest": "sha256:" + "0" * 64} for put in puts])
    done = instance.driven("ci", "run", now="2026-03-01T10:00:30+08:00")
    assert done.returncode == 7
    assert "prepared-differs" in done.stdout + done.stderr
    assert instance.live() == {}


def test_a_ledger_that_does_not_build_to_the_live_release_is_not_built_upon(instance: Instance) -> None:
    instance.driven("ci", "run", now=NOW, check=0)
    live = instance.live()
    forge(instance, lambda puts: puts[:1])
    done = instance.driven("ci", "run", now="2026-03-02T10:00:00+08:00")
    assert done.returncode == 7
    assert "ledger-not-live" in done.stdout + done.stderr
    assert instance.live() == live
