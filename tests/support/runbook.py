"""The runbook's drills, typed as they stand there: the document is read for who types what, how it ends and what is said.

A *section* (``##``, or ``###`` below it) is walked step by step. A step is a fenced ``sh`` block. The last line before it says who
types it and how it ends (``**On call**, exit 7:``, 0 where nothing is said); a ``text`` block after it holds lines that are said, in
their order, with ``…`` for what differs. Words in capitals are replaced; nothing else is.

``publisher`` is a small program on the PATH that hands the command to one warm process; everything else is the real thing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from tests.support.instance import Instance
from tests.support.scene import Scene, at, warm_process

PAGE = Path(__file__).resolve().parents[2] / "docs/runbook.md"
ROLES = {"On call": "oncall", "Planner": "planner", "Reviewer": "reviewer", "Second reviewer": "second", "Runner": "ci"}
"""Who types, and whose clone that is."""
WHO = re.compile(r"^\*\*(?P<role>[A-Z][a-z ]+)\*\*(?:, exit (?P<exit>\d))?:$")
NAME = re.compile(r"\b[A-Z][A-Z_]{2,}\b")
HEADING = re.compile(r"^(##|###) (.+)$")
REQUEST = re.compile(r"\brequest (\d+) (?:was opened|is open)")
PACE = timedelta(seconds=20)
"""So much time passes with every command."""
KNOWN = frozenset(
    {"SITE", "PLAN", "STEP", "STATE", "MAIN", "REQUEST", "DATE", "ARTICLE", "FOLDER", "COMMIT", "OLD", "NEW", "WHO"}
)
"""The words that the document writes for what differs between instances."""

SHIM = """\
#!{python} -ISE
import json, os, socket, sys
talk = socket.socket(socket.AF_UNIX)
talk.connect({place!r})
asked = {{"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}}
talk.sendall(json.dumps(asked).encode() + b"\\n")
with talk.makefile() as answers:
    answer = json.loads(answers.readline())
sys.stdout.write(answer["out"])
sys.stdout.flush()
sys.stderr.write(answer["err"])
sys.exit(answer["status"])
"""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One block: who types ``command``, the exit code that the document promises, and the lines that it shows."""

    line: int
    role: str
    exit: int
    command: str
    says: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Section:
    """``title`` is the heading, of a ``###`` behind the number of its chapter: ``1. The ledger is gone: Nobody has it``."""

    title: str
    chapter: str
    text: str
    steps: tuple[Step, ...]


@cache
def sections() -> dict[str, Section]:
    """Every section of the runbook by title."""
    found: list[tuple[str, str, int, list[str]]] = []
    chapter, fenced = "", False
    for number, line in enumerate(PAGE.read_text("utf-8").splitlines(), 1):
        fenced ^= line.startswith("```")
        heading = None if fenced else HEADING.match(line)
        if heading:
            chapter = heading[2] if heading[1] == "##" else chapter
            found.append((chapter if heading[1] == "##" else f"{chapter}: {heading[2]}", chapter, number, []))
        elif found:
            found[-1][3].append(line)
    made = [
        Section(title=title, chapter=chapter, text="\n".join(lines), steps=_steps(lines, number))
        for title, chapter, number, lines in found
    ]
    assert len({section.title for section in made}) == len(made), "two sections have one title"
    return {section.title: section for section in made}


def _steps(lines: list[str], before: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        if not line.startswith("```"):
            place += 1
            continue
        end = lines.index("```", place + 1)
        kind, block = line.removeprefix("```"), lines[place + 1 : end]
        where = f"docs/runbook.md:{before + place + 1}"
        if kind == "sh":
            said = next((text for text in reversed(lines[:place]) if text.strip()), "")
            who = WHO.match(said)
            assert who and who["role"] in ROLES, f"{where}: the line before does not say who types it"
            code = int(who["exit"] or 0)
            assert not code or len(block) == 1, f"{where}: what ends with {code} stands alone"
            steps.append(Step(line=before + place + 1, role=who["role"], exit=code, command="\n".join(block), says=()))
        elif kind == "text":
            assert steps and not steps[-1].says, f"{where}: nothing was typed that says this"
            steps[-1] = Step(**{**vars(steps[-1]), "says": tuple(block)})
        else:
            raise AssertionError(f"{where}: a block is sh or text")
        place = end + 1
    return tuple(steps)


def is_said(line: str, shown: str) -> bool:
    """Whether ``line`` is what the document shows, with ``…`` for anything."""
    return re.search(".*".join(re.escape(part.strip()) for part in shown.strip().split("…")), line) is not None


@dataclass
class Walk:
    """One section's steps, in a scene. ``names`` are what the words in capitals stand for."""

    scene: Scene
    section: Section
    now: datetime
    names: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict)
    place: int = 0
    said: list[str] = field(default_factory=list)
    """What each step said, stdout and stderr."""

    def step(self, count: int = 1) -> str:
        """Types the next steps, and returns what the last one said."""
        for _ in range(count):
            step = self.section.steps[self.place]
            self.place += 1
            self.said.append(self._typed(step))
        return self.said[-1]

    def rest(self) -> str:
        return self.step(len(self.section.steps) - self.place)

    def later(self, moment: str) -> None:
        """It is so late; only ever later, unless the story is about clocks."""
        self.now = datetime.fromisoformat(at(moment))

    def _typed(self, step: Step) -> str:
        command = self.put(step.command)
        folder = self.scene.instance.clone(ROLES[step.role]).path
        with _program(self) as path:
            environment = {**self.scene.instance.env(ROLES[step.role]), **self.environment}
            environment |= {"PATH": f"{path}:{Path(sys.executable).parent}:{os.environ['PATH']}", **GIT}
            done = subprocess.run(
                ["bash", "-c", f"set -eo pipefail\n{command}"], cwd=folder, env=environment, capture_output=True, text=True,
                timeout=300,
            )  # fmt: skip
        said = done.stdout + done.stderr
        story = f"docs/runbook.md:{step.line}: {step.role} in {folder}, {self.now}\n$ {command}\n{said}"
        assert done.returncode == step.exit, f"it ended with {done.returncode} instead of {step.exit}: {story}"
        lines = iter(said.splitlines())
        for shown in map(self.put, step.says):
            assert any(is_said(line, shown) for line in lines), f"it does not say {shown!r} (there): {story}"
        for request in REQUEST.findall(said):
            self.names["REQUEST"] = request
        return said

    def put(self, text: str) -> str:
        """The document's words replaced by what they stand for here."""
        names = {**self.names, **({"STEP": "deploy"} if "STEP" not in self.names else {})}
        missing = {word for word in NAME.findall(text) if word in KNOWN and word not in names}
        assert not missing, f"nobody said what {missing} stands for"
        return NAME.sub(lambda found: names.get(found[0], found[0]) if found[0] in KNOWN else found[0], text)

    def carried_out(self, argv: list[str], cwd: str, env: dict[str, str]) -> dict[str, object]:
        """One ``publisher`` of a step."""
        self.now += PACE
        done = warm_process().run(argv, Path(cwd), {**env, "DRIVER_NOW": self.now.isoformat()})
        return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "somebody", "GIT_COMMITTER_NAME": "somebody"} | {
    "GIT_AUTHOR_EMAIL": "somebody@example.org", "GIT_COMMITTER_EMAIL": "somebody@example.org",
}  # fmt: skip


@contextmanager
def _program(walk: Walk) -> Iterator[Path]:
    """A folder for the PATH in which ``publisher`` lies, as long as the step lasts."""
    folder = Path(tempfile.mkdtemp(prefix="rb-"))

    class Asked(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked = json.loads(self.rfile.readline())
            self.wfile.write(json.dumps(walk.carried_out(**asked)).encode() + b"\n")

    try:
        with socketserver.UnixStreamServer(str(folder / "talk"), Asked) as server:
            program = folder / "publisher"
            program.write_text(SHIM.format(python=sys.executable, place=str(folder / "talk")))
            program.chmod(0o755)
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
            thread.start()
            try:
                yield folder
            finally:
                server.shutdown()
                thread.join()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def walk(scene: Scene, title: str, *, now: str, **names: str) -> Iterator[Walk]:
    """A walk through a section, which must come to its end. ``names`` are written small: ``plan="blog/…"``."""
    known = {
        "SITE": "blog",
        "STATE": scene.state,
        "MAIN": "main",
        "FOLDER": str(scene.instance.public),
    }
    made = Walk(
        scene=scene, section=sections()[title], now=datetime.fromisoformat(at(now)),
        names={**known, **{name.upper(): text for name, text in names.items()}},
    )  # fmt: skip
    yield made
    left = made.section.steps[made.place :]
    assert not left, f"not typed: {[step.command for step in left]}"


def commands_of(section: Section) -> list[str]:
    """Every line that is typed."""
    return [line for step in section.steps for line in step.command.splitlines()]


def clean_audit(instance: Instance, who: str = "auditor") -> dict[str, object]:
    """Nothing is wrong in a fresh clone; what cannot be proven is returned."""
    instance.fresh_clone(who)
    said: dict[str, object] = json.loads(instance.publisher(who, "audit", "--json", check=0).stdout)
    return said
