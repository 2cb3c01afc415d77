"""A channel that appends to a file: for local instances, and for whatever else reads JSON lines.

One line per message, by one appending write under the file's lock, then flushed to disk. A message whose id already stands
in the file is not written again. A line that a crash cut short has no newline; it counts as not written.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path

from publisher.domain.instance import ChannelSpec
from publisher.notify.options import Options
from publisher.notify.outcomes import Outcome, refused, sent, unknown
from publisher.notify.recipients import LIST_OPTIONS, Lists, pseudonym_of
from publisher.ports import Message

EVERYONE = "everyone"


class FileChannel:
    """Options: ``path``, and those of a list; without a list the one recipient is named ``everyone``."""

    idempotent = True

    def __init__(self, spec: ChannelSpec, base: Path, secrets: Mapping[str, str]) -> None:
        self._options = Options(spec=spec, base=base, secrets=secrets)
        self._options.only(LIST_OPTIONS | {"path"})
        path = self._options.path("path")
        if path is None:
            raise self._options.problem("path", "is missing")
        self._path = path
        self._lists = Lists.of(self._options)

    def recipients(self, list_name: str) -> tuple[str, ...]:
        return self._lists.addresses(list_name) if self._lists.configured else (EVERYONE,)

    def pseudonym(self, recipient: str) -> str:
        # "everyone" is nobody's address, and hiding it would only make the ledger harder to read.
        return EVERYONE if recipient == EVERYONE else pseudonym_of(recipient, self._options)

    def send(self, message: Message) -> Outcome:
        """Codes: ``written``, ``already-there``, ``file-unwritable`` (not written), ``not-flushed`` (not known to last)."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return refused("file-unwritable")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            return _append_once(file, message)
        except OSError:
            return refused("file-unwritable")
        finally:
            os.close(file)


def _append_once(file: int, message: Message) -> Outcome:
    torn, there = _look_for(file, message.id)
    if there:
        return sent("already-there")
    data = {"id": message.id, "to": message.recipient, "subject": message.subject, "text": message.text}
    line = (b"\n" if torn else b"") + json.dumps(data, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    if os.write(file, line) != len(line):
        return refused("file-unwritable")
    try:
        os.fsync(file)
    except OSError:
        return unknown("not-flushed")
    return sent("written")


def _look_for(file: int, message_id: str) -> tuple[bool, bool]:
    """Whether the file ends in a torn line, and whether the message stands in a whole one."""
    torn = False
    with os.fdopen(os.dup(file), "rb") as reader:
        reader.seek(0)
        for line in reader:
            torn = not line.endswith(b"\n")
            if not torn and _id_of(line) == message_id:
                return False, True
    return torn, False


def _id_of(line: bytes) -> object:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data.get("id") if isinstance(data, dict) else None
