"""What a verb leaves for people who look at a CI run: the job's summary, annotations, and outputs for later jobs.

GitHub Actions names files for these in the environment, and reads commands from what a step prints. Without them everything
here does nothing, so that a verb says the same everywhere.

Rules:
* ids, codes and times only, each escaped: a summary is rendered Markdown, and a printed line can be a command to the runner;
* a summary stays far below the limit of 1 MiB a step; what does not fit is counted, never cut in the middle;
* trouble with these files never changes what a verb did: they are a courtesy.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from publisher.cli import output
from publisher.errors import EXIT_LATER, Refusal

MOST_ROWS = 500
MOST_ANNOTATIONS = 10
"""GitHub shows ten of a kind for each step."""

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&$-])")


def in_actions() -> bool:
    """Whether GitHub Actions runs us."""
    return output.in_actions()


def is_set_up() -> bool:
    """Whether this repository may act by itself in GitHub Actions; where it may not yet, says what is missing.

    ``PUBLISHER_ROOT`` pins the approval rules from outside the repository. Without it nobody could tell a repository whose rules
    were replaced, so a scheduled verb does nothing and ends well, with the act that is missing.
    """
    if not in_actions() or os.environ.get("PUBLISHER_ROOT"):
        return True
    says = "this repository is not set up: set the variable PUBLISHER_ROOT to the commit that `publisher doctor` prints"
    output.note(f"{says} [not-set-up]")
    summary("Not set up", notes=[text(says)])
    annotate("notice", says, title="not-set-up")
    return False


def text(value: object) -> str:
    """One harmless line of Markdown that shows exactly ``value``."""
    return _MARKDOWN.sub(r"\\\1", output.clean(value))


def code(value: object) -> str:
    """``value`` in fixed-width letters; a grave accent inside would end them, and so is shown as an apostrophe."""
    plain = output.clean(value).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`" if plain else ""


def summary(title: str, headers: Sequence[str] = (), rows: Iterable[Sequence[str]] = (), notes: Iterable[str] = ()) -> None:
    """Adds a section to the job's summary: a table, then a list. ``rows`` and ``notes`` are Markdown already (``text``, ``code``)."""
    listed = [list(row) for row in rows]
    lines = [f"### {text(title)}", ""]
    if listed:
        lines += [f"| {' | '.join(headers)} |", f"|{' --- |' * len(headers)}"]
        lines += [f"| {' | '.join(row)} |" for row in listed[:MOST_ROWS]]
        lines += ["", f"and {len(listed) - MOST_ROWS} more"] if len(listed) > MOST_ROWS else []
        lines.append("")
    lines += [f"* {note}" for note in notes]
    _append("GITHUB_STEP_SUMMARY", "\n".join(lines).rstrip() + "\n\n")


def result(name: str, value: str) -> None:
    """An output of this step. The delimiter is random, so that no value can end it and set another output."""
    end = f"end-{secrets.token_hex(16)}"
    _append("GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}\n")


def _append(variable: str, content: str) -> None:
    path = os.environ.get(variable, "")
    if not path or not in_actions():
        return
    with suppress(OSError), Path(path).open("a", encoding="utf-8") as file:
        file.write(content)


def refusals(problems: Iterable[Refusal]) -> None:
    """An annotation for each refusal, worded like the line on the terminal."""
    if not in_actions():
        return
    for problem in list(problems)[:MOST_ANNOTATIONS]:
        says = f"{problem.says}. Next: {problem.next}" if problem.next else problem.says
        about = f"{problem.plan}: " if problem.plan else ""
        # Nothing is wrong where only time, another run or a later step of this job is waited for.
        level = "notice" if problem.exit_code == EXIT_LATER else "error"
        annotate(level, f"{about}{says}", title=problem.code, where=problem.where)


def annotate(level: str, says: str, *, title: str, where: str = "") -> None:
    """One annotation: ``level`` is error, warning or notice; ``where`` is ``path:line:col`` or ""."""
    from publisher.cli.ci_annotations import annotation

    if in_actions():
        # On stderr, which the runner reads too: a verb's stdout may be one JSON document.
        output.write(annotation(level, output.clean(says), title=output.clean(title), where=where) + "\n", err=True)
