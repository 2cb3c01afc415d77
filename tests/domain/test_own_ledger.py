"""This repository's own ledger, replayed: every record that was ever written must read the same under each new version."""

from __future__ import annotations

from pathlib import Path

import pytest

from publisher.domain.claim import fold_claims
from publisher.domain.controls import fold_controls
from publisher.domain.ledger_events import NewEvent as New
from publisher.domain.ledger_events import decode, encode
from publisher.domain.lines import steps_of
from publisher.engine.site_view import kind_of
from tests.support.values import fold

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "ledger").rglob("*.jsonl"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "ledger").with_suffix("").as_posix()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_recorded_file_still_reads_and_would_be_written_the_same(path: Path) -> None:
    text, after = b"", None
    for event in decode(path.read_bytes()):
        new = New(type=event.type, fields=event.fields, claim=event.claim)
        line, after = encode(new, after=after, at=event.at, actor=event.actor, commit=event.commit)
        text += line
    assert text == path.read_bytes()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_recorded_file_still_folds(path: Path) -> None:
    name, events = name_of(path), decode(path.read_bytes())
    kind = kind_of(name)
    if kind:
        history = fold(str(kind), steps_of(str(kind)), events)
        assert history.events == len(events)
        assert history.stage or not history.prepared
    elif "/claims/" in name:
        assert fold_claims(events).epoch >= 1
    else:
        assert fold_controls(events) is not None
