"""Striking one system call of one process: the N-th ``rename``, ``fsync``, ``write`` … of a run, or of one git that it starts.

A command of the warm process traces itself (``trace_myself``, asked for by ``STRIKE_SELF``); a git is traced by a wrapper that stands
before the real one in ``PATH`` and counts the gits of the run. strace counts the calls of each process by themselves, so a strike is
at a place that has a number: (who, which call, how many).

Environment of a run:
* ``STRIKE_LOG``: a folder for strace's logs, and for ``gits``, the arguments of each git;
* ``STRIKE_SELF``, ``STRIKE_GIT``: what strace shall inject (``fsync:error=EIO:when=3``), "" to look only;
* ``STRIKE_WHICH``: the number of the git that is traced, ``all`` for each;
* ``STRIKE_DEATH``: set: where the git was struck, the run that started it dies too, as on a machine that dies.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

STRACE = shutil.which("strace")
CALLS = (
    "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat",
    "write", "pwrite64", "ftruncate", "fsync", "fdatasync", "fchmod", "chmod", "openat",
)  # fmt: skip
"""What changes a file system. Of ``openat`` only those that make a file count."""
FAULTS = {"kill": "signal=SIGKILL", "death": "signal=SIGKILL", "EIO": "error=EIO", "ENOSPC": "error=ENOSPC"}
LINE = re.compile(r"(?:(?P<pid>\d+) +)?(?P<call>\w+)\((?P<rest>.*)")
WRAPPER = """\
#!/bin/sh
# Each git of the run has a number, its line in the list.
echo "$*" >> "$STRIKE_LOG/gits"
number=$(($(wc -l < "$STRIKE_LOG/gits")))
if [ "$STRIKE_WHICH" = all ] || [ "$STRIKE_WHICH" = "$number" ]; then
  log=$STRIKE_LOG/git-$number
  if [ -z "$STRIKE_DEATH" ]; then
    exec {strace} -f -q -y -s 200 -o "$log" -e trace={calls} ${{STRIKE_GIT:+-e inject=$STRIKE_GIT}} {git} "$@"
  fi
  {strace} -f -q -y -s 200 -o "$log" -e trace={calls} -e inject="$STRIKE_GIT" {git} "$@"
  code=$?
  if grep -q 'killed by SIGKILL' "$log"; then kill -9 "$PPID"; fi
  exit $code
fi
exec {git} "$@"
"""


def works() -> bool:
    """Whether strace may trace here: it is installed, and the kernel lets it."""
    if STRACE is None:
        return False
    return subprocess.run([STRACE, "-f", "-q", "-o", os.devnull, "true"], capture_output=True).returncode == 0


@dataclass(frozen=True, order=True)
class Place:
    """The ``number``-th ``call`` of the run itself (``git`` 0), or of the ``git``-th git that it starts."""

    git: int
    verb: str
    call: str
    number: int
    about: str
    """What the call is about: a path below the instance with everything that changes taken out of it."""

    def __str__(self) -> str:
        who = f"git{self.git}-{self.verb}" if self.git else "run"
        return f"{who}-{self.call}:{self.number}"

    def environment(self, log: Path, fault: str) -> dict[str, str]:
        """For a run that is struck here."""
        rule = f"{self.call}:{FAULTS[fault]}:when={self.number}"
        if not self.git:
            return {"STRIKE_LOG": str(log), "STRIKE_SELF": rule}
        return {
            "STRIKE_LOG": str(log), "STRIKE_GIT": rule, "STRIKE_WHICH": str(self.git),
            "STRIKE_DEATH": "1" if fault == "death" else "", "PATH": f"{log}:{os.environ['PATH']}",
        }  # fmt: skip


def looking(log: Path) -> dict[str, str]:
    """For a run that is only looked at: itself, and each of its gits."""
    return {
        "STRIKE_LOG": str(log), "STRIKE_SELF": "", "STRIKE_GIT": "", "STRIKE_WHICH": "all", "STRIKE_DEATH": "",
        "PATH": f"{log}:{os.environ['PATH']}",
    }  # fmt: skip


def fresh_log(folder: Path) -> Path:
    """An empty folder for logs, with the wrapper in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    git = shutil.which("git")
    wrapper = folder / "git"
    wrapper.write_text(WRAPPER.format(strace=STRACE, git=git, calls=",".join(CALLS)))
    wrapper.chmod(0o755)
    return folder


def trace_myself() -> None:
    """This process, from here on, by a strace of its own."""
    rule = os.environ["STRIKE_SELF"]
    command = [
        STRACE or "strace", "-q", "-y", "-s", "200", "-o", f"{os.environ['STRIKE_LOG']}/run", "-p", str(os.getpid()),
        "-e", f"trace={','.join(CALLS)}", *(("-e", f"inject={rule}") if rule else ()),
    ]  # fmt: skip
    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    status = os.open("/proc/self/status", os.O_RDONLY)
    for _ in range(2000):
        # Nothing that is counted happens here, however long it takes.
        if b"TracerPid:\t0\n" not in os.pread(status, 4000, 0):
            return
        time.sleep(0.005)
    raise AssertionError("strace did not come")


def struck(log: Path, place: Place) -> bool:
    """Whether the fault happened."""
    text = _read(log / (f"git-{place.git}" if place.git else "run"))
    return "(INJECTED)" in text or "killed by SIGKILL" in text


def _read(path: Path) -> str:
    """A log, once strace has ended."""
    for _ in range(2000):
        text = path.read_text(errors="replace") if path.exists() else ""
        if re.search(r"^(?:\d+ +)?\+\+\+ (?:exited|killed)[^\n]*\n\Z", text, re.MULTILINE):
            return text
        time.sleep(0.005)
    return path.read_text(errors="replace") if path.exists() else ""


def places(log: Path, instance: Path) -> Iterator[Place]:
    """Every place of a run that was looked at."""
    yield from _in(_read(log / "run"), 0, "", instance)
    gits = (log / "gits").read_text().splitlines()
    for number, arguments in enumerate(gits, start=1):
        yield from _in(_read(log / f"git-{number}"), number, _verb(arguments), instance)


def _verb(arguments: str) -> str:
    return next((word for word in arguments.split() if not word.startswith("-")), "?")


def _in(text: str, git: int, verb: str, instance: Path) -> Iterator[Place]:
    counts: dict[str, Counter[str]] = {}
    seen = set()
    for line in text.splitlines():
        found = LINE.match(line)
        if not found or found["call"] not in CALLS:
            continue
        call, mine = found["call"], counts.setdefault(found["pid"] or "", Counter())
        mine[call] += 1
        path = path_of(call, found["rest"])
        if not path.startswith("/") or (call == "openat" and "O_CREAT" not in found["rest"]) or " = -1 " in found["rest"]:
            continue
        if (call, mine[call]) not in seen:  # in one git's processes the same number strikes each
            seen.add((call, mine[call]))
            yield Place(git, verb, call, mine[call], about(path, instance))


def path_of(call: str, rest: str) -> str:
    """The file that a call is about; "" or no path for a pipe, a socket and the like, which are no part of a file system."""
    handle = re.match(r"(?:\d+|AT_FDCWD)<([^>]*)>", rest)
    names = re.findall(r'"([^"\n]*)"', rest)
    if call in ("write", "pwrite64", "ftruncate", "fsync", "fdatasync", "fchmod"):
        return handle[1] if handle and not handle[1].startswith("/dev/") else ""
    name = names[-1] if names else ""
    return name if name.startswith("/") or not handle else f"{handle[1]}/{name}"


def about(path: str, instance: Path) -> str:
    """``public/releases/#/index.html`` and the like."""
    short = path.removeprefix(f"{instance}/")
    short = re.sub(r"^ci/\.\./", "", short)
    if short.startswith("/"):  # scratch space, or what the test keeps outside
        short = "scratch/" + short.rsplit("/", 1)[-1]
    return re.sub(r"[0-9a-f]{6,}|[0-9a-f]{2}/#|tmp\w+|publisher-\w+|release-\w+|objects/\w\w\b|\d+", "#", short)


def by_call(found: Iterable[Place]) -> dict[str, int]:
    return dict(sorted(Counter(place.call for place in found).items()))
