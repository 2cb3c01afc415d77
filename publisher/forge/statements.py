"""Signed statements: what an approver signs, how a merge carries it, and whether a signature proves who approved.

Rules:
* a merge's message carries at most one machine block, ``Publisher-Approval:`` and base64 of canonical JSON; two blocks, or one
  that is not exactly what ``block_of`` writes, are broken;
* the rest of a message is free text and never read as evidence;
* whether a signature is good is decided by verifying it against the signers' lines for approvals; the key and namespace
  written inside a signature only choose the words in which a bad one is reported.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from publisher.domain.approval import NAMESPACE, ApprovalRules, Statement
from publisher.domain.fingerprint import canonical_json
from publisher.forge.reasons import Unproven
from publisher.ports import GitReads

BLOCK = "Publisher-Approval: "
APPROVE, REJECT = "approve", "reject"

_TEXTS = ("instance", "branch", "path", "payload", "time", "decision")
_NUMBERS = ("revision", "request")


@dataclass(frozen=True, kw_only=True)
class Signed:
    """A statement with the armored SSH signature over its ``signed_bytes``."""

    statement: Statement
    signature: str

    def as_data(self) -> dict[str, Any]:
        return {"statement": self.statement.as_data(), "signature": self.signature}

    @property
    def signature_digest(self) -> str:
        return "sha256:" + hashlib.sha256(self.signature.encode()).hexdigest()


def block_of(signed: Sequence[Signed]) -> str:
    """The machine block for a commit message: one line."""
    return BLOCK + base64.b64encode(canonical_json([item.as_data() for item in signed])).decode("ascii")


def statements_in(message: str) -> tuple[Signed, ...]:
    """The statements that a message carries, () when it has no block. Raises ``Unproven`` for a broken block."""
    # "\n" only: splitlines() would also break at characters that a commit's subject may hold.
    blocks = [line.removeprefix(BLOCK) for line in message.split("\n") if line.startswith(BLOCK)]
    if not blocks:
        return ()
    if len(blocks) > 1:
        raise Unproven("broken-statement", "two blocks")
    try:
        data = base64.b64decode(blocks[0].encode("ascii"), validate=True)
        found = tuple(_signed_of(item) for item in json.loads(data))
        canonical = bool(found) and block_of(found) == BLOCK + blocks[0]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Unproven("broken-statement") from None
    if not canonical:
        raise Unproven("broken-statement", "not in canonical form")
    return found


def _signed_of(item: Any) -> Signed:
    fields = item["statement"]
    if set(item) != {"statement", "signature"} or set(fields) != {*_TEXTS, *_NUMBERS}:
        raise ValueError("fields")
    # bool is an int to isinstance; type() is meant.
    if any(type(fields[name]) is not str for name in _TEXTS) or any(type(fields[name]) is not int for name in _NUMBERS):
        raise ValueError("types")
    if type(item["signature"]) is not str:
        raise ValueError("types")
    return Signed(statement=Statement(**fields), signature=item["signature"])


def approver_of(git: GitReads, signed: Signed, rules: ApprovalRules) -> str:
    """The principal who signed a statement and whose line permits approving. Raises ``Unproven`` saying what is wrong."""
    data = signed.statement.signed_bytes()
    principal = git.verify(rules.allowed(NAMESPACE), NAMESPACE, data, signed.signature)
    if principal:
        return principal
    raise Unproven(_why_not(signed.signature, rules))


def _why_not(signature: str, rules: ApprovalRules) -> str:
    try:
        key, namespace = inside(signature)
    except ValueError:
        return "bad-signature"
    signers = [signer for signer in rules.signers if key_of(signer.key) == key]
    if not signers:
        return "unknown-key"
    if len({signer.principal for signer in signers}) > 1:
        return "shared-key"
    if not any(signer.may_approve for signer in signers):
        return "bot-cannot-approve"
    return "bad-signature" if namespace == NAMESPACE else "other-namespace"


def key_of(text: str) -> str:
    """A public key as ``type base64``, without its comment: what makes two spellings the same key."""
    return " ".join(text.split()[:2])


def inside(signature: str) -> tuple[str, str]:
    """(public key as ``type base64``, namespace) written in an armored SSH signature. ``ValueError`` when it is none.

    The layout is that of OpenSSH's PROTOCOL.sshsig: magic, version, public key, namespace, each string with its length.
    """
    lines = signature.strip().split("\n")
    if len(lines) < 3 or lines[0] != "-----BEGIN SSH SIGNATURE-----" or lines[-1] != "-----END SSH SIGNATURE-----":
        raise ValueError("not armored")
    blob = base64.b64decode("".join(lines[1:-1]).encode("ascii"), validate=True)
    if blob[:6] != b"SSHSIG":
        raise ValueError("no signature")
    key, at = _string(blob, 10)
    namespace, _ = _string(blob, at)
    kind, _ = _string(key, 0)
    return f"{kind.decode('ascii')} {base64.b64encode(key).decode('ascii')}", namespace.decode("ascii")


def _string(blob: bytes, at: int) -> tuple[bytes, int]:
    if len(blob) < at + 4:
        raise ValueError("cut off")
    (length,) = struct.unpack_from(">I", blob, at)
    end = at + 4 + length
    if len(blob) < end:
        raise ValueError("cut off")
    return blob[at + 4 : end], end
