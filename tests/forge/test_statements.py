"""Blocks and signatures as bytes: what is read back, and what is broken."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.domain.approval import Statement
from publisher.forge.reasons import Unproven
from publisher.forge.statements import BLOCK, Signed, block_of, inside, key_of, statements_in

SAID = Statement(
    instance="i", branch="main", path="plans/a/launch.yaml", payload="sha256:" + "0" * 64, revision=1, request=3,
    time="2026-12-01T00:00:00Z", decision="approve",
)  # fmt: skip
SIGNED = Signed(statement=SAID, signature="-----BEGIN SSH SIGNATURE-----\nAA\n-----END SSH SIGNATURE-----\n")


def encoded(value: object) -> str:
    return BLOCK + base64.b64encode(json.dumps(value, separators=(",", ":"), sort_keys=True).encode()).decode()


def broken(message: str) -> bool:
    try:
        statements_in(message)
    except Unproven as problem:
        return problem.code == "broken-statement"
    return False


def test_a_block_is_read_back() -> None:
    assert statements_in(f"Approve request 3\n\nRequest: 3\n{block_of([SIGNED, SIGNED])}\n") == (SIGNED, SIGNED)


def test_a_block_is_one_line() -> None:
    assert "\n" not in block_of([SIGNED])


def test_a_message_without_a_block_has_no_statements() -> None:
    assert statements_in("Approved-by: alice\n\n Publisher-Approval: W10=\nx Publisher-Approval: W10=\n") == ()


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        "text",
        [[]],
        [{"statement": SAID.as_data()}],
        [{"statement": SAID.as_data(), "signature": 1}],
        [{"statement": SAID.as_data(), "signature": "", "more": 1}],
        [{"statement": {**SAID.as_data(), "revision": True}, "signature": ""}],
        [{"statement": {**SAID.as_data(), "revision": 1.0}, "signature": ""}],
        [{"statement": {**SAID.as_data(), "revision": "1"}, "signature": ""}],
        [{"statement": {**SAID.as_data(), "request": 2**60}, "signature": ""}],
        [{"statement": {**SAID.as_data(), "path": "\ud800"}, "signature": ""}],
        [{"statement": {**SAID.as_data(), "more": "x"}, "signature": ""}],
        [{"statement": {"path": "x"}, "signature": ""}],
    ],
)
def test_blocks_of_another_shape_are_broken(value: object) -> None:
    assert broken(encoded(value))


def test_a_block_in_another_spelling_is_broken() -> None:
    spaced = BLOCK + base64.b64encode(json.dumps([SIGNED.as_data()]).encode()).decode()
    assert broken(spaced)
    assert broken(block_of([SIGNED]) + "=")
    assert broken(block_of([SIGNED]) + "\n" + block_of([SIGNED]))
    assert broken(BLOCK + "[" * 100_000)
    assert broken(BLOCK + base64.b64encode(b"[" * 100_000).decode())


@given(st.text(max_size=60).filter(lambda text: "\n" not in text))
def test_no_text_in_a_block_raises_anything_else(text: str) -> None:
    assert broken(f"x\n{BLOCK}{text}\n")


def test_a_signature_tells_its_key_and_namespace(keys: Path) -> None:
    done = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-f", str(keys / "alice"), "-n", "file"], input=b"x", capture_output=True, check=True
    )
    assert inside(done.stdout.decode()) == (key_of((keys / "alice.pub").read_text()), "file")


@given(st.binary(max_size=80))
def test_what_is_no_signature_is_refused_as_such(data: bytes) -> None:
    body = base64.b64encode(b"SSHSIG\0\0\0\1" + data).decode()
    with pytest.raises(ValueError):
        inside(f"-----BEGIN SSH SIGNATURE-----\n{body}\n-----END SSH SIGNATURE-----\n" if data else body)
