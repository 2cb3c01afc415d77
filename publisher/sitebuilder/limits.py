"""What making a text into a page may cost: limits of counting first, and one of processor time behind them.

Rules:
* what costs more than its length is bounded by counting, so that everybody's machine refuses the same texts;
* whatever slips through (a grammar's or a template's endless loop) is stopped by processor time, far above what any honest
  text needs; the clock decides about stopping only, never about bytes;
* a refusal names the place, and quotes nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

LONGEST_BLOCK = 20_000
"""Characters of a paragraph, a heading or a table's cell: inside one, some rules look back over all of it."""
MOST_BRACKETS = 10_000
"""Opening brackets of a text: each may begin a link, and a parser tries."""
MOST_TOKENS = 100_000
"""Pieces of a text: a short table can be told to have as many cells as it likes."""
MOST_TARGETS = 1024 * 1024
"""Characters of all links' targets together: a reference that is used often multiplies its target."""
SECONDS_A_TEXT = 20.0
SECONDS_A_PAGE = 3.0
"""Processor time for one text, and for one page of a theme; a page needs some thousandths of a second."""
MEMORY_A_PAGE = 128 * 1024 * 1024
"""Bytes that one page of a theme may make the process grow by."""
MOST_DIGITS = 1000
LONGEST_RESULT = 1024 * 1024

Tokens = list[Any]


class TooCostly(Exception):
    """A text passes a limit at ``line`` (from 1)."""

    def __init__(self, says: str, line: int = 1) -> None:
        super().__init__(says)
        self.says = says
        self.line = line


def install(parser: Any) -> None:
    """Puts the limits of counting into a markdown-it parser, each before the work that it bounds."""
    table, *_ = [rule for rule in parser.block.ruler.__rules__ if rule.name == "table"]
    parser.block.ruler.at("table", _counted(table.fn), {"alt": table.alt})
    protocol, *_ = [rule for rule in parser.inline.ruler.__rules__ if rule.name == "gfm_autolink_protocol"]
    parser.inline.ruler.at("gfm_autolink_protocol", _near(protocol.fn))
    parser.core.ruler.after("block", "publisher_blocks", _check_blocks)
    parser.core.ruler.after("inline", "publisher_targets", _check_targets)


def _counted(rule: Any) -> Any:
    def table(state: Any, start: int, end: int, silent: bool) -> bool:
        found = bool(rule(state, start, end, silent))
        if len(state.tokens) > MOST_TOKENS:
            raise TooCostly("a text's tables have too many cells", start + 1)
        return found

    return table


PROTOCOLS = ("http", "https", "mailto", "xmpp")
BEFORE = frozenset(" \t\r\n*_~(")
"""What may stand before a bare link (GitHub Flavored Markdown, 6.9), so that nothing else is looked at twice."""


def _near(rule: Any) -> Any:
    """The rule for bare links, which searches all pending text at every colon, given only the end of that text."""

    def protocol(state: Any, silent: bool) -> bool:
        pending: str = state.pending
        name = next((name for name in PROTOCOLS if pending.endswith(name)), "")
        if silent or not name or state.src[state.pos : state.pos + 1] != ":":
            return False  # skipping over a link, the rule itself never finds one
        before = state.pos - len(name)
        if before > 0 and state.src[before - 1] not in BEFORE:
            return False
        if len(pending) > len(name):
            state.pending = pending[: -len(name)]
            state.pushPending()
            state.pending = name
        return bool(rule(state, silent))

    return protocol


def _check_blocks(state: Any) -> None:
    if len(state.tokens) > MOST_TOKENS:
        raise TooCostly("a text has too many parts", 1)
    brackets = 0
    for token in state.tokens:
        if token.type != "inline":
            continue
        line = token.map[0] + 1 if token.map else 1
        if len(token.content) > LONGEST_BLOCK:
            raise TooCostly(f"a paragraph, heading or cell has at most {LONGEST_BLOCK} characters", line)
        brackets += token.content.count("[")
        if brackets > MOST_BRACKETS:
            raise TooCostly(f"a text has at most {MOST_BRACKETS} opening brackets", line)


def _check_targets(state: Any) -> None:
    total = 0
    for token in state.tokens:
        for child in token.children or ():
            total += sum(len(value) for value in child.attrs.values() if isinstance(value, str)) if child.attrs else 0
            if total > MOST_TARGETS:
                raise TooCostly("the targets of a text's links are too long together", token.map[0] + 1 if token.map else 1)


@contextmanager
def bounded(seconds: float = SECONDS_A_TEXT) -> Iterator[None]:
    """``TooCostly`` when the block needs more processor time. Only where signals arrive: in a process's first thread."""
    if threading.current_thread() is not threading.main_thread() or signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        yield  # inside another such block, which ends first
        return
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def in_memory(most: int = MEMORY_A_PAGE) -> Iterator[None]:
    """``MemoryError`` when the process would grow by more; where the system says how large it is."""
    try:
        import resource  # not on every system

        now = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = now + most if soft == resource.RLIM_INFINITY else min(soft, now + most)
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def is_growth(operator: str, left: Any, right: Any) -> bool:
    """Whether an operation makes something huge out of something small, inside one step that no signal interrupts."""
    if operator == "**":
        return isinstance(left, int) and isinstance(right, int) and abs(right) * left.bit_length() > MOST_DIGITS
    if operator == "*":
        sized = [side for side in (left, right) if isinstance(side, (str, bytes, list, tuple))]
        times = [side for side in (left, right) if isinstance(side, int)]
        return bool(sized and times) and len(sized[0]) * times[0] > LONGEST_RESULT
    return False


def _stop(_: int, __: FrameType | None) -> None:
    raise TooCostly("this takes too long to be made into a page")
