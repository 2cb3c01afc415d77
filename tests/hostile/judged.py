"""Whether a command met something hostile as it must."""

from __future__ import annotations

import re

from tests.hostile.case import REVIEW, SENTINEL, Case
from tests.hostile.ground import Ground
from tests.hostile.measured import Done

MEMORY = 200.0
"""Megabytes."""


def put(ground: Ground, case: Case) -> tuple[str, ...]:
    """Puts it there, and returns the command line."""
    argv = case.argv
    if case.commits:
        head = ground.commit(case.commits)
        argv = tuple(head if word == REVIEW[2] else ground.base if word == REVIEW[4] else word for word in argv)
    if case.writes:
        ground.write(case.writes)
    if case.act:
        ground.spoilt = True
        argv = case.act(ground) or argv
    return argv


def troubles(case: Case, done: Done, usual: float) -> list[str]:
    """What is wrong with the answer, in words. ``usual`` is the same command's processor time where nothing is hostile."""
    said = done.out + done.err
    found = []
    if done.code != (case.exit if case.code else 0):
        found.append(f"exit {done.code}")
    lines = [line for line in said.splitlines() if f"[{case.code}]" in line] if case.code else []
    if case.code and len(lines) != 1:
        found.append(f"{len(lines)} lines have the code")
    for line in lines if case.where else []:
        rest = r":[0-9]+: " if re.search(r":[0-9]+$", case.where) else r"[^ ]*:[0-9]+:[0-9]+: "
        if not re.search(r"(?:^|\s)" + re.escape(case.where) + rest, line):
            found.append(f"another place than {case.where}")
    if SENTINEL in said or SENTINEL.encode().hex() in said:
        found.append("content is quoted")
    if re.search(r"[^\x20-\x7e\n\u00a0-\uffff]", said) or "\x1b" in said:
        found.append("control characters")
    if "Traceback" in said or "[bug]" in said:
        found.append("a bug")
    if done.cpu - usual > case.seconds:
        found.append(f"{done.cpu - usual:.2f} s")
    if done.rss > MEMORY:
        found.append(f"{done.rss:.0f} MB")
    return found
