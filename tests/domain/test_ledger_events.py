"""The ledger's line format: what is written reads back, and every kind of tampering is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.domain.fingerprint import digest
from publisher.domain.ledger_events import (
    FIRST_PREV,
    WITHOUT_CLAIM,
    BrokenLedger,
    Event,
    EventType,
    NewEvent,
    chain_of,
    decode,
    encode,
)

AT = "2026-12-01T01:00:00Z"
COMMIT = "c" * 40


def written(*events: NewEvent) -> tuple[bytes, tuple[Event, ...]]:
    text, made = b"", []
    for new in events:
        line, event = encode(new, after=made[-1] if made else None, at=AT, actor="ci", commit=COMMIT)
        text += line
        made.append(event)
    return text, tuple(made)


def one(kind: EventType = EventType.BUILT, claim: int | None = 7, **fields: Any) -> NewEvent:
    return NewEvent(type=kind, fields=fields, claim=claim)


# --- what is written ----------------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.dictionaries(
    st.text(alphabet="abcdefgh_", min_size=5, max_size=9).filter(lambda name: name not in ("actor",)), VALUES, max_size=3
)


@given(st.lists(st.tuples(st.sampled_from(EventType), FIELDS), max_size=6))
def test_what_is_written_reads_back(records: list[tuple[EventType, dict[str, Any]]]) -> None:
    text, made = written(*(one(kind, None if kind in WITHOUT_CLAIM else 7, **fields) for kind, fields in records))
    assert decode(text) == made
    assert text.count(b"\n") == len(records)
    assert text.isascii()


def test_a_line_is_numbered_chained_and_says_when_who_and_where() -> None:
    text, (first, second) = written(one(output="x"), one(EventType.APPROVED, None))
    data = json.loads(text.splitlines()[0])
    assert data == {
        "n": 1, "at": AT, "type": "built", "claim": 7, "actor": "ci", "prev": FIRST_PREV, "commit": COMMIT, "output": "x",
    }  # fmt: skip
    assert list(data)[:7] == ["n", "at", "type", "claim", "actor", "prev", "commit"]
    assert (second.n, second.prev) == (2, digest(text.splitlines(keepends=True)[0]))
    assert second.prev == first.line_digest
    assert digest(b"") == FIRST_PREV


def test_the_order_of_fields_does_not_matter() -> None:
    assert written(one(b_=1, a_=2))[0] == written(one(a_=2, b_=1))[0]


def test_an_empty_file_has_no_events_and_a_known_end() -> None:
    assert decode(b"") == ()
    assert chain_of(()) == FIRST_PREV


def test_two_readers_with_the_same_end_saw_the_same_file() -> None:
    _, made = written(one(), one(), one())
    assert chain_of(made) == made[-1].line_digest
    assert len({chain_of(made[:n]) for n in range(4)}) == 4


PEOPLE = {
    "epoch", "paused", "resumed", "skipped", "alarm-raised", "alarm-cleared", "baseline", "restored",
    "approved", "rejected", "canceled", "retried", "settled", "requested", "noticed",
    "takedown", "followed-up",
}  # fmt: skip


@pytest.mark.parametrize("kind", EventType)
def test_only_peoples_decisions_and_approvals_may_lack_a_claim(kind: EventType) -> None:
    assert (kind in WITHOUT_CLAIM) == (str(kind) in PEOPLE)
    if kind in WITHOUT_CLAIM:
        assert written(one(kind, None))[1][0].claim is None
    else:
        with pytest.raises(ValueError, match="under a claim"):
            written(one(kind, None))


@pytest.mark.parametrize("name", ["n", "at", "type", "claim", "actor", "prev", "commit"])
def test_a_field_cannot_take_the_place_of_a_common_one(name: str) -> None:
    with pytest.raises(ValueError, match="every event"):
        encode(NewEvent(type=EventType.BUILT, fields={name: 1}, claim=1), after=None, at=AT, actor="ci", commit=COMMIT)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", dict], ids=repr)
def test_what_json_cannot_say_is_not_written(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        written(one(output=value))


# --- what is tampered with ---------------------------------------------------------------------------------------------------------

TEXT, _ = written(
    one(output="1"), one(EventType.APPROVED, None, by="alice"), one(EventType.DEPLOYED, 7, release="r"), one(output="4")
)
LINES = TEXT.splitlines(keepends=True)
OTHER_LINE = written(one(output="x"), one(output="y"))[0].splitlines(keepends=True)[1]


def lines(*numbers: int) -> bytes:
    return b"".join(LINES[number - 1] for number in numbers)


def edited(number: int, edit: Callable[[dict[str, Any]], object], *, chained: bool = False) -> bytes:
    """The file with one line's data edited; ``chained`` mends the chain after it, as a careful forger would."""
    made, prev = [], FIRST_PREV
    for place, line in enumerate(LINES, start=1):
        data = json.loads(line)
        if place == number:
            edit(data)
        if chained and place > number:
            data["prev"] = prev
        made.append(json.dumps(data, separators=(",", ":")).encode() + b"\n")
        prev = digest(made[-1])
    return b"".join(made)


def swap(old: bytes, new: bytes, number: int) -> bytes:
    assert old in LINES[number - 1]
    return b"".join(line.replace(old, new) if place == number else line for place, line in enumerate(LINES, start=1))


TAMPERED: dict[str, tuple[bytes, int]] = {
    "a value edited": (swap(b'"alice"', b'"mallory"', 2), 3),
    "a value edited in the first line": (swap(b'"output":"1"', b'"output":"2"', 1), 2),
    "a digit of the chain edited": (swap(b'"prev":"sha256:', b'"prev":"sha256:0', 3), 3),
    "the first chain edited": (edited(1, lambda data: data.update(prev=digest(b"x"))), 1),
    "white space added": (swap(b'"n":2', b'"n": 2', 2), 3),
    "names reordered": (swap(b'"by":"alice"', b'"by":"alice" ', 2), 3),
    "line endings changed": (TEXT.replace(b"\n", b"\r\n"), 2),
    "a carriage return inside": (swap(b',"by"', b',\r"by"', 2), 2),
    "a line dropped": (lines(1, 3, 4), 2),
    "the first line dropped": (lines(2, 3, 4), 1),
    "two lines reordered": (lines(1, 3, 2, 4), 2),
    "a line doubled": (lines(1, 2, 2, 3, 4), 3),
    "the last line doubled": (lines(1, 2, 3, 4, 4), 5),
    "the whole file doubled": (TEXT + TEXT, 5),
    "a line of another file put in": (lines(1) + OTHER_LINE + lines(3), 2),
    "an empty line": (lines(1) + b"\n" + lines(2), 2),
    "a line of spaces": (lines(1) + b"   \n", 2),
    "the last line break missing": (TEXT[:-1], 4),
    "torn in the middle of the last line": (TEXT[:-9], 4),
    "torn in the middle of the first line": (TEXT[:20], 1),
    "a byte-order mark before the second line": (lines(1) + b"\xef\xbb\xbf" + lines(2), 2),
    "a NUL byte": (lines(1) + b"\x00" + lines(2), 2),
    "not UTF-8": (swap(b"alice", b"al\xffce", 2), 2),
    "another encoding": (lines(1).decode().encode("utf-16-le")[:-2] + b"\n", 1),
    "no JSON": (lines(1) + b"{n:2}\n", 2),
    "two objects in a line": (lines(1)[:-1] + lines(1), 1),
    "a list": (b"[1]\n", 1),
    "a number": (b"1\n", 1),
    "null": (b"null\n", 1),
    "nested without end": (b"[" * 200_000 + b"]" * 200_000 + b"\n", 1),
    "a number without end": (b'{"n":' + b"9" * 5000 + b"}\n", 1),
    "a name twice": (swap(b'"n":1', b'"n":1,"n":1', 1), 1),
    "a name twice deep inside": (swap(b'"output":"1"', b'"output":{"a":1,"a":2}', 1), 1),
    "numbered from 0": (edited(1, lambda data: data.update(n=0)), 1),
    "numbered 2**63": (edited(1, lambda data: data.update(n=2**63)), 1),
    "numbered true": (edited(1, lambda data: data.update(n=True)), 1),
    "numbered 1.0": (edited(1, lambda data: data.update(n=1.0)), 1),
    "numbered in text": (edited(1, lambda data: data.update(n="1")), 1),
    "a gap in the numbers": (edited(2, lambda data: data.update(n=3), chained=True), 2),
    "an unknown type": (edited(2, lambda data: data.update(type="blessed"), chained=True), 2),
    "a type in capitals": (edited(2, lambda data: data.update(type="APPROVED"), chained=True), 2),
    "a type that is a list": (edited(2, lambda data: data.update(type=["approved"]), chained=True), 2),
    "a type that is a mapping": (edited(2, lambda data: data.update(type={}), chained=True), 2),
    "a deploy without a claim": (edited(3, lambda data: data.update(claim=None), chained=True), 3),
    "a claim that is true": (edited(3, lambda data: data.update(claim=True), chained=True), 3),
    "a claim in text": (edited(3, lambda data: data.update(claim="7"), chained=True), 3),
    "a claim that is a float": (edited(3, lambda data: data.update(claim=7.0), chained=True), 3),
    "a time that is a number": (edited(2, lambda data: data.update(at=1), chained=True), 2),
    "an actor that is nobody": (edited(2, lambda data: data.update(actor=None), chained=True), 2),
    "a commit that is a list": (edited(2, lambda data: data.update(commit=[]), chained=True), 2),
    **{
        f"no {name}": (edited(2, lambda data, name=name: data.pop(name), chained=True), 2)  # type: ignore[misc]
        for name in ("n", "at", "type", "claim", "actor", "prev", "commit")
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", TAMPERED)
def test_tampering_is_found_where_it_is(kind: str) -> None:
    text, line = TAMPERED[kind]
    with pytest.raises(BrokenLedger) as broken:
        decode(text)
    assert broken.value.line == line
    assert "alice" not in broken.value.rule, "a rule quotes nothing"


def test_there_are_many_kinds_of_tampering() -> None:
    assert len(TAMPERED) >= 20


@given(st.integers(0, len(TEXT) - len(LINES[-1]) - 1), st.integers(1, 255))
def test_any_byte_changed_before_the_last_line_is_found(place: int, change: int) -> None:
    changed = TEXT[:place] + bytes([TEXT[place] ^ change]) + TEXT[place + 1 :]
    with pytest.raises(BrokenLedger):
        decode(changed)


@given(st.binary(max_size=60))
def test_no_bytes_make_it_fail_in_another_way(text: bytes) -> None:
    try:
        decode(text)
    except BrokenLedger:
        return
    assert text == b""


def test_a_last_line_that_was_replaced_shows_by_the_files_end() -> None:
    """The chain cannot protect its own end: readers compare ``chain_of`` with what they saw, and git keeps the ancestors."""
    other = swap(b'"output":"4"', b'"output":"5"', 4)
    assert chain_of(decode(other)) != chain_of(decode(TEXT))
