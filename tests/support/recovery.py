"""After a cell of the exercise matrix: carrying out what the tool itself says is next, until it says that nothing is.

``PUBLISHER_RECOVERY_REPORT`` names a file that gets one JSON line per cell; ``python -m tests.support.recovery FILE`` makes the table.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from publisher.errors import EXIT_SAFETY
from tests.support.exercise import MODES, Cell, meaningless
from tests.support.instance import Instance

CODE = re.compile(r"\[([a-z][a-z0-9-]*)\]\n")
STAGES = {"planned", "approved", "claimed", "prepared", "built", "deployed", "confirmed", "announced", "canceled"}
"""Words in brackets that are no code."""
MOST_COMMANDS = 8
ENDS = {
    "remote-unreachable", "push-refused", "record-unknown", "object-missing", "object-unreadable", "clone-not-written", "disk-trouble",
    "git-slow", "target-full", "remote-lags",
    "claim-lost", "claimed-meanwhile", "ledger-moved", "decision-changed", "request-raced", "nothing-to-propose",
    "switch-unknown", "target-failed", "fence-not-taken", "fence-not-kept", "delivery-unknown", "channel-silent",
    "public-partial", "public-absent", "public-unknown", "approval-absent", "no-such-plan", "foreign-live", "alert-undelivered",
}  # fmt: skip
"""With what a disturbed run may say that it ended."""
STOPS: Mapping[tuple[str, str], set[str]] = {
    ("channel.send", "crash-after"): {"announce-unknown"},
    ("channel.send", "lost-request"): {"announce-unknown", "settled-did-not-happen"},
    ("channel.send", "lost-response"): {"announce-unknown"},
    ("channel.send", "hang"): {"channel-silent"},
    ("channel.send", "full"): {"channel-silent"},
    ("target.look", "error"): {"target-failed"},
    ("target.store", "error"): {"target-failed"},
    ("target.store", "full"): {"target-failed"},
    ("staging.look", "error"): {"target-failed"},
    ("staging.store", "error"): {"target-failed"},
    ("staging.store", "full"): {"target-failed"},
    ("staging.switch", "full"): {"target-failed"},
}
"""By boundary and mode: the codes at which a recovery may stop for a person. All others recover by the next run alone."""
AFTER_RESTORE = {"foreign-live", "fence-refused", "older-live", "nothing-live", "announce-unknown", "settled-did-not-happen"}
"""The same where the ledger was taken back, at any boundary."""


@dataclass
class Way:
    """How a cell ended: the disturbed run's status and codes, then each command that was carried out with the codes before it."""

    status: int
    codes: tuple[str, ...] = ()
    stops: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """``went on`` (nothing had to be recovered), ``recovered`` (by the next run alone), or the named stops."""
        if self.stops:
            return f"stop {', '.join(self.stops)}"
        return "went on" if self.status == 0 else "recovered"


def codes_in(done: subprocess.CompletedProcess[str]) -> tuple[str, ...]:
    found = CODE.findall(done.stdout + done.stderr)
    return tuple(dict.fromkeys(code for code in found if code not in STAGES))


def require_well_ended(done: subprocess.CompletedProcess[str]) -> None:
    """A disturbed run ends by itself, with a code and a next command, and never as a bug."""
    said = done.stdout + done.stderr
    assert done.returncode in (0, 3, 4, 5, 6, 7), f"{done.returncode}\n{said}"
    assert not done.returncode or "next: " in said, said
    assert set(codes_in(done)) <= ENDS, f"it ended with {codes_in(done)}; a new way to end belongs into ENDS\n{said}"
    assert "Traceback" not in said, said


def finish(instance: Instance, way: Way, *, after: float, at: Callable[[float], str], happened: bool) -> float:
    """Does what is next, a minute apart, until a run ends with 0; returns the last moment. ``at`` makes an instant of seconds.

    ``happened`` is what a person would see who is asked whether the disturbed thing happened.
    """
    moment, command = after, "publisher run"
    for number in range(MOST_COMMANDS):
        words = _words(command, happened)
        words += ["--json"] if words[0] == "run" else []
        instance.fresh_clone(f"next{number}", key_of="planner" if words[0] == "run" else "reviewer")
        moment += 60
        done = instance.driven(f"next{number}", *words, now=at(moment))
        if words[0] != "run":
            command = _after(command, done)
            continue
        if done.returncode == 0:
            return moment
        assert done.returncode in (3, 4, 5, 6, 7), f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        code, command = _stop(json.loads(done.stdout))
        if not command.startswith("publisher approve"):  # a gate is no stop: the story has it when nothing goes wrong, too
            way.stops.append(code)
            way.commands.append(command)
    raise AssertionError(f"it never ended: {way.stops} {way.commands}\n{done.stdout}\n{done.stderr}")


def _after(command: str, done: subprocess.CompletedProcess[str]) -> str:
    """What is next after a person's command: a run, or what a reconcile found to be necessary."""
    said = done.stdout + done.stderr
    if command == "publisher reconcile blog" and done.returncode == EXIT_SAFETY and "that the ledger does not record" in said:
        assert "or --restore" in said
        return f"{command} --restore"
    assert done.returncode == 0, f"{command}: {done.returncode}\n{said}"
    return "publisher run"


def _stop(report: Mapping[str, Any]) -> tuple[str, str]:
    """The code and the next command of a run's first stop."""
    (site,) = report["sites"]
    for problem in [site["problem"], *(plan["problem"] for plan in site["plans"])]:
        if problem:
            return problem["code"], problem["next"]
    (waiting,) = [plan["next"] for plan in site["plans"] if plan.get("next", {}).get("who") == "person"]
    verb, *words = waiting["command"].removeprefix("publisher ").split()
    return f"{words[1]}-unknown" if verb == "settle" else waiting["what"].rpartition(": ")[2], waiting["command"]


def _words(command: str, happened: bool) -> list[str]:
    """The command as a person types it: the first of two ways, a reason, and the word that is true."""
    text = re.split(r", or | \(|, then ", command.removeprefix("publisher "))[0]
    text = text.replace("--happened|--did-not", "--happened" if happened else "--did-not").replace('"…"', "REASON")
    if not happened:
        text = text.replace("--happened", "--did-not")
    words = [word.replace("REASON", "somebody looked") for word in text.split()]
    return [*words, "--yes"] if words[0] in ("run", "approve") and len(words) > 1 else words


def require_expected(boundary: str, mode: str, way: Way) -> None:
    """Every stop on the way is one that this cell may have."""
    allowed = AFTER_RESTORE if mode == "restore" else STOPS.get((boundary, mode), set())
    assert set(way.stops) <= allowed, f"stopped at {way.stops}, and may stop at {sorted(allowed)}"


# --- the report ---------------------------------------------------------------------------------------------------------------------


def note(cell: Cell, way: Way) -> None:
    path = os.environ.get("PUBLISHER_RECOVERY_REPORT")
    if path:
        data = {
            "boundary": cell.boundary, "number": cell.number, "mode": cell.mode, "story": cell.story, "kind": cell.kind,
            "status": way.status, "codes": list(way.codes), "outcome": way.outcome, "commands": way.commands,
        }  # fmt: skip
        with Path(path).open("a", encoding="utf-8") as report:
            report.write(json.dumps(data, ensure_ascii=False) + "\n")


def table(rows: Sequence[Mapping[str, object]]) -> Iterable[str]:
    """The report as Markdown: boundary × mode, then stops by code, then what is no cell and why."""
    cells: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        cells[str(row["boundary"]), str(row["mode"])][str(row["outcome"]).split(" ")[0]] += 1
    yield f"{len(rows)} cells, each finished; boundaries: {len({boundary for boundary, _ in cells})}"
    yield ""
    yield f"| boundary | {' | '.join(MODES)} |"
    yield f"|---|{'---|' * len(MODES)}"
    for boundary in sorted({boundary for boundary, _ in cells}):
        found = [cells.get((boundary, mode), Counter()) for mode in MODES]
        yield f"| `{boundary}` | {' | '.join(' '.join(f'{n} {word}' for word, n in sorted(each.items())) for each in found)} |"
    yield ""
    for title, key in (("ended the disturbed run with", "codes"), ("stopped the recovery with", "outcome")):
        counts = Counter(_codes(row, key) for row in rows)
        yield from (f"* {n} {title} {word}" for word, n in counts.most_common())
        yield ""
    yield from (f"* `{boundary}` {mode}: {why}" for boundary, mode, why in meaningless())


def _codes(row: Mapping[str, object], key: str) -> str:
    value = row[key]
    return ", ".join(value) or f"status {row['status']}" if isinstance(value, list) else str(value)


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    sys.stdout.write("\n".join(table([json.loads(line) for line in lines])) + "\n")
