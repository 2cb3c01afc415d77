"""Plain values as YAML: the same bytes for the same values, easy to read in a review.

Rules:
* mappings of plain values stand on one line inside others; a list of mappings has one line for each, so that a diff shows one
  line for each article;
* a text stays bare only if no YAML reader could take it for anything else; dates, instants and digests are quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

WIDEST = 120

_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_./+-]*|/[A-Za-z0-9_./-]*|[a-z][a-z-]*:[0-9][0-9-]*", re.ASCII)
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# Legal in JSON, but line breaks or unprintable to a YAML reader.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\u200b\u2060\u202a-\u202e\u2066-\u2069\ufeff\ufdd0-\ufdef\ufffe\uffff]")


def render_yaml(data: Mapping[str, Any], schema: str = "") -> bytes:
    """The file that holds ``data``. ``schema`` is the schema's path relative to the file, for editors."""
    head = f"# yaml-language-server: $schema={schema}\n" if schema else ""
    return (head + (_block(data, "") or "{}\n")).encode("utf-8")


def _block(data: Mapping[str, Any], indent: str) -> str:
    return "".join(_entry(_scalar(key), value, indent) for key, value in data.items())


def _entry(key: str, value: Any, indent: str) -> str:
    if isinstance(value, Mapping):
        line = f"{indent}{key}: {_flow(value)}\n"
        if not value or (_is_flat(value) and len(line) <= WIDEST):
            return line
        return f"{indent}{key}:\n" + _block(value, indent + "  ")
    line = f"{indent}{key}: {_flow(value)}\n"
    if isinstance(value, (list, tuple)) and (len(line) > WIDEST or any(isinstance(item, Mapping) for item in value)):
        return f"{indent}{key}:\n" + "".join(f"{indent}  - {_flow(item)}\n" for item in value)
    return line


def _is_flat(value: Mapping[str, Any]) -> bool:
    """Whether a mapping holds nothing but plain values and lists of them."""
    parts = [part for item in value.values() for part in (item if isinstance(item, (list, tuple)) else [item])]
    return not any(isinstance(part, (Mapping, list, tuple)) for part in parts)


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        raise TypeError(f"no YAML form for {type(value).__name__}")
    if _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
