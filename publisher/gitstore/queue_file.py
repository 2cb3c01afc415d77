"""A site's ``queue.yaml`` in the checkout: read, and edited as lines, so that its comments and order stay.

Each edit reads the file, changes the lines of the entries concerned, and is written only if the strict reader then finds
exactly the queue that was meant. Positions count from 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from publisher.domain.queue import Queued
from publisher.gitstore import instance_files, strict_yaml, working_tree
from publisher.gitstore.validation import check
from publisher.gitstore.yaml_lines import Entries, entries_of, with_flag, without_flag
from publisher.gitstore.yaml_writing import render_yaml

KEY = "articles"


def path_of(site: str) -> str:
    return f"plans/{site}/queue.yaml"


def read(root: Path, site: str) -> tuple[Queued, ...]:
    """The queue in order; empty where there is no file yet."""
    data = working_tree.read_file(root, path_of(site))
    return () if data is None else instance_files.queue_of(data, path_of(site))


def insert(root: Path, site: str, position: int, new: Sequence[Queued]) -> tuple[Queued, ...]:
    """Puts entries in before ``position``; at the end when it is the queue's length. Makes the file where there is none."""
    queue, entries = _open(root, site)
    for offset, entry in enumerate(new):
        entries.insert(position + offset, [_line(entry, entries.indent)])
    return _write(root, site, entries, [*queue[:position], *new, *queue[position:]])


def move(root: Path, site: str, old: int, new: int) -> tuple[Queued, ...]:
    """Moves an entry with its comments. ``new`` is its position afterwards."""
    queue, entries = _open(root, site)
    entries.insert(new, entries.take(old))
    queue.insert(new, queue.pop(old))
    return _write(root, site, entries, queue)


def remove(root: Path, site: str, position: int) -> tuple[Queued, ...]:
    """Takes an entry out, with the comments that stand directly above it."""
    queue, entries = _open(root, site)
    entries.take(position)
    queue.pop(position)
    return _write(root, site, entries, queue)


def hold(root: Path, site: str, position: int, held: bool) -> tuple[Queued, ...]:
    """Holds an entry, or releases it; its place stays."""
    queue, entries = _open(root, site)
    chunk = entries.chunks[position]
    entries.chunks[position] = with_flag(chunk, "held") if held else without_flag(chunk, "held")
    queue[position] = replace(queue[position], held=held)
    return _write(root, site, entries, queue)


def _open(root: Path, site: str) -> tuple[list[Queued], Entries]:
    path = path_of(site)
    data = working_tree.read_file(root, path) or render_yaml({KEY: []})
    document = strict_yaml.load(data, path, most=instance_files.MOST_QUEUE)
    check(document, "queue")
    return list(instance_files.queue_of(data, path)), entries_of(data, document, KEY)


def _write(root: Path, site: str, entries: Entries, expected: Sequence[Queued]) -> tuple[Queued, ...]:
    text = entries.text()
    if not expected:
        text = re.sub(rf"(?m)^{KEY}:(?= *(?:#.*)?$)", f"{KEY}: []", text, count=1)
    data = text.encode("utf-8")
    working_tree.require_same(instance_files.queue_of(data, path_of(site)), tuple(expected))
    working_tree.write_file(root / path_of(site), data)
    return tuple(expected)


def _line(entry: Queued, indent: str) -> str:
    values = {"id": entry.id, "source": entry.source} | ({"held": True} if entry.held else {})
    line = render_yaml({KEY: [values]}).decode("utf-8").splitlines()[1].strip()
    return f"{indent}{line}\n"
