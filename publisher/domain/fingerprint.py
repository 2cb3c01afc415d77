"""Digests: what an approval names, what an article is made of, what a release is.

Rules:
* every digest is written ``sha256:`` and 64 lower-case hex digits, never shortened in a file (a bare 12-digit hash can load
  as a number); ``short`` is for people only;
* a payload hash is taken over canonical JSON (RFC 8785), so that key order and spacing never matter;
* an article's fingerprint covers its source and every file it uses, by name and bytes;
* a release's id covers the sorted list of (path, digest) and nothing else: no time, no run, no machine.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

# RFC 8785 serialises integers as ECMAScript numbers; beyond 2^53 they lose digits, so they are refused.
LARGEST_INTEGER = 2**53 - 1


def digest(data: bytes) -> str:
    """``sha256:<64 hex>`` of ``data``."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def is_digest(text: object) -> bool:
    return isinstance(text, str) and DIGEST.fullmatch(text) is not None


def short(hash_text: str) -> str:
    """The first 12 hex digits, for messages and branch names; never for comparison."""
    return hash_text.removeprefix("sha256:")[:12]


def canonical_json(value: Any) -> bytes:
    """RFC 8785 bytes of a value made of str, int, bool, None, lists and string-keyed mappings.

    Floats are refused: nothing that an approval names is one. Raises ``TypeError`` or ``ValueError`` on anything else.
    """
    return _ENCODER.encode(_sorted(value)).encode("utf-8")


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _sorted(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise ValueError("an integer beyond 2^53 has no canonical form")
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("canonical JSON needs string keys")
        # The RFC sorts by UTF-16 code units, which differs from code points beyond the basic plane.
        plain = all(map(str.isascii, value))
        return {key: _sorted(value[key]) for key in sorted(value, key=None if plain else lambda key: key.encode("utf-16-be"))}
    if isinstance(value, (list, tuple)):
        return [_sorted(item) for item in value]
    raise TypeError(f"no canonical form for {type(value).__name__}")


def payload_hash(data: Mapping[str, Any]) -> str:
    """What an approval names: the digest over a plan's canonical JSON."""
    return digest(canonical_json(data))


def tree_digest(files: Mapping[str, str]) -> str:
    """One digest for a set of files given as path → digest; the sorted list of pairs decides, nothing else."""
    return digest(canonical_json([[path, files[path]] for path in sorted(files)]))


def article_fingerprint(files: Mapping[str, str], salt: str = "") -> str:
    """The fingerprint of an article from its files (name → digest): ``index.md`` and whatever that uses.

    A salt hides equal texts from a reader of a public plan; it is kept with the private draft and revealed in the ledger.
    """
    if "index.md" not in files:
        raise ValueError("an article has an index.md")
    plain = tree_digest(files)
    return digest(f"{salt}\n{plain}".encode()) if salt else plain


def release_id(files: Mapping[str, str]) -> str:
    """The id of a release: the digest over its sorted (path, digest) list."""
    if not files:
        raise ValueError("a release has files")
    return tree_digest(files)


def input_of(values: list[str]) -> str:
    """One digest for an ordered list of digests: a step's input or output in the record."""
    return digest(canonical_json(values))
