"""What the process that reads drafts hands to the one that deploys: digests, and no word of a text.

Rules:
* an entry stands for one release of one payload on one base, made again from the approved sources and scanned for private text by
  the process that wrote it;
* whoever deploys without the drafts deploys a release for which there is such an entry, and no other: what the ledger says alone is
  not enough, because whoever can write the ledger could have written it;
* a file of another instance, another form or another size is refused as a whole; an old one names a base that is not live any more,
  and so stands for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from publisher.domain.fingerprint import canonical_json, is_digest

SCHEMA = "publisher.handover/1"
LARGEST = 1024 * 1024
"""Bytes of a file: thousands of plans."""
FIELDS = ("plan", "payload", "base", "release", "texts")


@dataclass(frozen=True, kw_only=True)
class Handed:
    """``texts`` are the digests of the prepared texts in the plan's order; ``base`` is "" before a site's first release."""

    plan: str
    payload: str
    base: str
    release: str
    texts: tuple[str, ...]


def written(instance: str, entries: Iterable[Handed]) -> bytes:
    """The file's bytes."""
    listed = [asdict(entry) for entry in sorted(entries, key=lambda entry: entry.plan)]
    return canonical_json({"schema": SCHEMA, "instance": instance, "releases": listed}) + b"\n"


def read(data: bytes, instance: str) -> dict[str, Handed]:
    """The entries by plan. ``ValueError`` for anything that ``written`` would not have written for this instance."""
    try:
        value: dict[str, Any] = json.loads(data.decode("utf-8") if len(data) <= LARGEST else "")
        entries = [_entry(item) for item in value["releases"]]
        written_for = value["instance"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ValueError("it is not a hand-over file") from None
    if written_for != instance:
        raise ValueError("it was written for another instance")
    if written(instance, entries) != data or len({entry.plan for entry in entries}) != len(entries):
        raise ValueError("it is not as publisher wrote it")
    return {entry.plan: entry for entry in entries}


def _entry(item: dict[str, Any]) -> Handed:
    plan, payload, base, release, texts = (item[name] for name in FIELDS)
    fine = isinstance(plan, str) and is_digest(payload) and is_digest(release) and (base == "" or is_digest(base))
    if not fine or not isinstance(texts, list) or not all(map(is_digest, texts)) or set(item) != set(FIELDS):
        raise ValueError("an entry that publisher does not write")
    return Handed(plan=plan, payload=payload, base=base, release=release, texts=tuple(texts))
