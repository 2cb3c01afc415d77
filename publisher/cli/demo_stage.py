"""The demo's stage: carries out the commands that it prints, shows what they said, and checks what is expected.

Rules:
* a command is printed before it runs, as one would type it; nothing else is executed;
* whatever is expected is checked, and the first thing that does not hold ends the demo;
* commands see no git configuration of the machine, no variable of git's or publisher's, and no terminal.
"""

from __future__ import annotations

import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from publisher.cli import output
from publisher.errors import EXIT_OK, Bug

LIMIT = 120.0
"""Seconds that any one command may take."""
GRACE = 5.0
WIDEST = 110
COMMANDS = ("git", "ssh-keygen", "publisher")
LOOK = 0.05


class Unexpected(Exception):
    """Something that the demo expects does not hold; it was told already."""


@dataclass(kw_only=True)
class Ran:
    """One command that was carried out. ``exit_code`` is negative for a signal."""

    line: str
    exit_code: int = EXIT_OK
    seconds: float = 0.0
    said: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Chapter:
    """One part of the story, with what was run in it and what was checked."""

    title: str
    began: float
    seconds: float = 0.0
    ran: list[Ran] = field(default_factory=list)
    checked: list[tuple[str, bool]] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return all(ok for _, ok in self.checked)

    def as_data(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "seconds": round(self.seconds, 2),
            "holds": self.holds,
            "commands": [
                {"command": ran.line, "exit": ran.exit_code, "seconds": round(ran.seconds, 2), "said": ran.said}
                for ran in self.ran
            ],
            "checks": [{"says": says, "holds": ok} for says, ok in self.checked],
        }


class Running:
    """A command that goes on while the story does. Its lines are read by a thread, so that it never waits for us."""

    def __init__(self, ran: Ran, process: subprocess.Popen[bytes]) -> None:
        self.ran = ran
        self.process = process
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.decode("utf-8", "replace").rstrip("\n"))

    def new_lines(self) -> list[str]:
        """What it said since the last look."""
        lines = []
        while not self._lines.empty():
            lines.append(self._lines.get())
        self.ran.said += lines
        return lines

    def end(self, number: int = signal.SIGTERM) -> None:
        """Ends it: with a signal, and for certain after a while."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(GRACE)
        if self.process.stdout and not self._reader.is_alive():
            self.process.stdout.close()
        self.ran.exit_code = self.process.returncode


class Stage:
    """Where the demo plays: ``folder`` holds the remote, the clones, keys and target."""

    def __init__(self, folder: Path, *, silent: bool) -> None:
        self.folder = folder
        self.chapters: list[Chapter] = []
        self._silent = silent
        self._running: list[Running] = []
        self._width = min(shutil.get_terminal_size((100, 24)).columns, WIDEST)

    # --- telling ----------------------------------------------------------------------------------------------------------

    def chapter(self, title: str, text: str) -> None:
        """Begins a part of the story."""
        self.close_chapter()
        self.chapters.append(Chapter(title=title, began=time.monotonic()))
        self._write()
        self._write(click.style(f"{len(self.chapters)}  {title}", bold=True))
        self.tell(text)

    def headline(self, text: str) -> None:
        self._write()
        self._write("   " + click.style(text, bold=True))

    def close_chapter(self) -> None:
        if self.chapters and not self.chapters[-1].seconds:
            self.chapters[-1].seconds = time.monotonic() - self.chapters[-1].began

    def tell(self, text: str) -> None:
        """What happens, in a sentence."""
        for line in textwrap.wrap(text, self._width - 3, break_on_hyphens=False):
            self._write(f"   {line}")

    def check(self, holds: bool, says: str) -> None:
        """Something that must hold here; ends the demo when it does not."""
        self.chapters[-1].checked.append((says, holds))
        mark, colour = ("✓", "green") if holds else ("✗ expected:", "red")
        first, *rest = textwrap.wrap(f"{mark} {says}", self._width - 5, break_on_hyphens=False)
        for line in (f"   {first}", *(f"     {more}" for more in rest)):
            self._write(click.style(line, fg=colour))
        if not holds:
            raise Unexpected

    def _show(self, lines: Sequence[str], most: int = 0, *, cut: bool = False) -> None:
        """A command's output, indented. ``most`` leaves out the lines after so many, ``cut`` the end of long ones."""
        room = self._width - 6
        hidden = len(lines) - most if 0 < most < len(lines) else 0
        for line in lines[:-hidden] if hidden else lines:
            text = output.clean(line.expandtabs())
            indent = " " * (len(text) - len(text.lstrip()) + 2)
            parts = [text[: room - 1] + "…"] if cut and len(text) > room else []
            parts = parts or textwrap.wrap(
                text, room, subsequent_indent=indent, drop_whitespace=True, break_long_words=False, break_on_hyphens=False
            )
            for part in parts or [""]:
                self._write(click.style(f"     {part}".rstrip(), dim=True))
        if hidden:
            self._write(click.style(f"     … and {hidden} more lines", dim=True))

    def _write(self, text: str = "") -> None:
        if not self._silent:
            output.write(text + "\n")
            sys.stdout.flush()

    def _prompt(self, line: str) -> None:
        """A command as it is typed, broken between words where it is too long."""
        lines, current = [], ""
        for word in _words(line):
            if current and len(current) + len(word) + 1 > self._width - 9:
                lines.append(current)
                current = ""
            current = f"{current} {word}".strip()
        for number, part in enumerate([*lines, current]):
            tail = " \\" if number < len(lines) else ""
            head = "$ " if number == 0 else "    "
            self._write("   " + click.style(f"{head}{part}{tail}", fg="cyan"))

    # --- carrying out -------------------------------------------------------------------------------------------------------

    def run(
        self, who: str, *argv: str, ends: int = EXIT_OK, most: int = 0, cut: bool = False, shown: str = "", why: str = ""
    ) -> Ran:
        """Carries out a command in a clone (``who`` "": in the folder itself) and checks how it ended.

        ``shown`` is the line to print where a shell would have written the arguments shorter; ``why`` says what its ending means.
        """
        ran = self._announce(who, argv, shown)
        began = time.monotonic()
        process = self._start(who, argv)
        running = Running(ran, process)
        self._running.append(running)
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            running.end(signal.SIGKILL)
        running.end()
        self._running.remove(running)
        running.new_lines()
        ran.seconds = time.monotonic() - began
        wrong = ran.exit_code != ends
        self._show(ran.said, 0 if wrong else most, cut=cut and not wrong)
        if wrong or why:
            self.check(not wrong, why if why and not wrong else f"this ends with {ends}; it ended with {ran.exit_code}")
        return ran

    def begin(self, who: str, *argv: str) -> Running:
        """Starts a command that goes on."""
        running = Running(self._announce(who, argv, ""), self._start(who, argv))
        self._running.append(running)
        return running

    def watch(self, running: Running, until: Path, then: float) -> bool:
        """Shows what a command says until a path exists and ``then`` seconds have passed; False when it ended before."""
        deadline = time.monotonic() + LIMIT
        while not os.path.lexists(until) and running.process.poll() is None and time.monotonic() < deadline:
            time.sleep(LOOK)
            self._show(running.new_lines())
        seen = os.path.lexists(until)
        deadline = time.monotonic() + then
        while time.monotonic() < deadline:
            time.sleep(LOOK)
            self._show(running.new_lines())
        return seen and running.process.poll() is None

    def first_line(self, running: Running) -> str:
        """Shows a command's output until there is any, and returns its first line; "" when it ended without."""
        deadline = time.monotonic() + LIMIT
        while not running.ran.said and time.monotonic() < deadline:
            over = running.process.poll() is not None
            self._show(running.new_lines())
            if over:
                break
            time.sleep(LOOK)
        return running.ran.said[0] if running.ran.said else ""

    def kill(self, running: Running) -> None:
        """``kill -9``, as a machine that is switched off does it."""
        ran = Ran(line=f"kill -9 {running.process.pid}")
        self.chapters[-1].ran.append(ran)
        self._prompt(ran.line)
        running.end(signal.SIGKILL)
        self._running.remove(running)
        self._show(running.new_lines())

    def end(self) -> None:
        """Ends whatever is still running."""
        while self._running:
            self._running.pop().end()

    def _announce(self, who: str, argv: Sequence[str], shown: str) -> Ran:
        words = shown or shlex.join(argv)
        ran = Ran(line=f"cd {who} && {words}" if who else words)
        self.chapters[-1].ran.append(ran)
        self._prompt(ran.line)
        return ran

    def _start(self, who: str, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        if argv[0] not in COMMANDS:
            raise Bug("demo-command", f"the demo runs {', '.join(COMMANDS)} only")
        command = [sys.executable, "-m", "publisher", *argv[1:]] if argv[0] == "publisher" else list(argv)
        return subprocess.Popen(
            command, cwd=self.folder / who, env=environment(self.folder, who), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip


def _words(line: str) -> list[str]:
    """The words of a command line as typed, quotes kept; an option stays with its value."""
    words: list[str] = []
    for word in shlex.split(line):
        quoted = word if word == "&&" or word.endswith("/*") else shlex.quote(word)
        if words and words[-1].startswith("-") and " " not in words[-1] and not word.startswith("-"):
            words[-1] += f" {quoted}"
        else:
            words.append(quoted)
    return words


def environment(folder: Path, who: str, variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What the commands see: nothing of the machine's git configuration, and a place for temporary files that is cleared.

    A killed run cannot remove what it had there.
    """
    kept = {name: value for name, value in variables.items() if not name.startswith(("GIT_", "PUBLISHER_", "_PUBLISHER"))}
    package = str(Path(__file__).resolve().parents[2])
    paths = [package, *filter(None, [kept.get("PYTHONPATH", "")])]
    ours = {
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat",
        "LC_ALL": "C", "NO_COLOR": "1", "PYTHONUTF8": "1", "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(folder / "tmp"),
    }  # fmt: skip
    kept.pop("FORCE_COLOR", None)
    return kept | ours | ({"PUBLISHER_ACTOR": who} if who else {})
