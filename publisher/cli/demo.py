"""``publisher demo``: the whole story in a throw-away instance, on this machine alone."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import click

from publisher.cli import output
from publisher.cli.boundary import PACKAGE, Asked
from publisher.cli.demo_stage import Stage, Unexpected
from publisher.cli.demo_story import UNTIL, Story, table
from publisher.cli.tools import require_git, require_ssh_keygen
from publisher.cli.verb import Verb
from publisher.errors import EXIT_BUG, EXIT_OK, UsageProblem

PROGRAM = "publisher"
STAGES = {
    "planned": "a plan is proposed and waits for its review",
    "approved": "a plan is approved and nothing is public yet",
    "confirmed": "two articles are public",
    "over": "two articles became public, once: through a crash, on one approval, with every step recorded",
}


@click.command(
    cls=Verb,
    examples=(
        "publisher demo                                        # about 20 seconds, leaves nothing behind",
        "publisher demo --dir ~/garden-demo                    # keeps the instance to play with",
        "publisher demo --dir ~/garden-demo --until approved   # and leaves the publishing to you",
    ),
)
@click.option(
    "--dir", "folder", metavar="DIR", type=click.Path(file_okay=False), help="Keep the instance in DIR (new or empty)."
)
@click.option("--until", type=click.Choice(UNTIL), help="Stop there: request open, merged, or public.")
@click.pass_obj
def command(asked: Asked, folder: str | None, until: str | None) -> int:
    """Show the whole story: plan, review, a run that is killed, recovery, a second run that adds nothing.

    It needs no network and no account: git, ssh-keygen and publisher itself, run in a directory of their own. Every command is
    printed as it runs, and every claim is checked; it ends with 0 only if all of them held.
    """
    require_git()
    require_ssh_keygen()
    with _until_stopped(), _place(folder) as place:
        stage = Stage(place, silent=asked.as_json)
        began = time.monotonic()
        try:
            story = Story(stage)
            _open(stage, kept=folder is not None)
            holds = _played(story, until or "")
            stage.close_chapter()
        finally:
            stage.end()
            shutil.rmtree(place / "tmp", ignore_errors=True)
        if folder is not None and holds:
            (place / "NOTES.md").write_bytes(story.notes(_anywhere()))
        kept = place if folder is not None or not holds else None
        _close(asked, stage, story, kept, time.monotonic() - began)
        if kept is None:
            shutil.rmtree(place, ignore_errors=True)
    return EXIT_OK if holds else EXIT_BUG


def _played(story: Story, until: str) -> bool:
    try:
        story.go(until)
    except Unexpected:
        return False
    return True


# --- the place ----------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _place(named: str | None) -> Iterator[Path]:
    """The directory to play in: the named one, or a temporary one that the caller removes. An interruption empties either."""
    folder = _named(named) if named else Path(tempfile.mkdtemp(prefix="publisher-demo-")).resolve()
    (folder / "tmp").mkdir()
    try:
        yield folder
    except KeyboardInterrupt:
        for path in folder.iterdir():
            shutil.rmtree(path, ignore_errors=True)
        if named is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    except Exception:
        output.note(f"everything is kept for a look: {folder}")
        raise


def _named(named: str) -> Path:
    folder = Path(named).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageProblem(
                "not-empty",
                f"{named} is not empty; the demo needs a new or empty directory",
                next="publisher demo --dir ANOTHER",
            )
    except OSError:
        raise UsageProblem("no-such-directory", f"{named} cannot be made into a directory", next="publisher demo --dir ANOTHER")
    return folder.resolve()


@contextlib.contextmanager
def _until_stopped() -> Iterator[None]:
    """A request to end and a closed terminal clean up like Ctrl-C does."""
    ends = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, _end) for number in ends]
    try:
        yield
    finally:
        for number, handler in zip(ends, before, strict=True):
            signal.signal(number, handler)


def _end(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


# --- beginning and end --------------------------------------------------------------------------------------------------------


def _open(stage: Stage, *, kept: bool) -> None:
    stage.headline("publisher: the whole story in a throw-away instance")
    fate = "is kept" if kept else "is removed at the end"
    stage.tell(
        f"In {stage.folder}, which {fate}. A line with $ is what is run, and nothing else is run; below it stands what it said. "
        "Nothing leaves this machine."
    )


def _close(asked: Asked, stage: Stage, story: Story, kept: Path | None, seconds: float) -> None:
    holds = all(chapter.holds for chapter in stage.chapters)
    if asked.as_json:
        output.say_json(_data(stage, story, kept, seconds, holds=holds))
        return
    output.write("\n")
    for line in table(stage.chapters):
        output.say(f"   {line}")
    output.write("\n")
    last = stage.chapters[-1].title
    verdict = f"{STAGES[story.reached]}." if holds else f"something did not hold in “{last}”."
    output.write(
        click.style(f"   {verdict[0].upper()}{verdict[1:]} {seconds:.1f} seconds.", fg="green" if holds else "red", bold=True)
        + "\n"
    )
    if not holds:
        output.say(f"   Everything is kept for a look: {kept}")
    elif kept:
        output.say(f"   It is all in {kept}; begin with {kept / 'NOTES.md'}")
    else:
        output.say(f"   To keep an instance and play with it: {_called()} demo --dir ~/garden-demo")


def _anywhere() -> str:
    """How this publisher is called from any directory."""
    from importlib.metadata import PackageNotFoundError, version

    python = f"{shlex.quote(sys.executable)} -m {PROGRAM}"
    try:
        version(PROGRAM)
    except PackageNotFoundError:  # run from a checkout
        return f"env PYTHONPATH={shlex.quote(str(PACKAGE.parent))} {python}"
    return python


def _called() -> str:
    """How this publisher is called from here: by its name where the shell finds it, else by its interpreter."""
    if shutil.which(PROGRAM):
        return PROGRAM
    python = Path(sys.executable)
    shown = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    return f"{shlex.quote(str(shown))} -m publisher"


def _data(stage: Stage, story: Story, kept: Path | None, seconds: float, *, holds: bool) -> dict[str, Any]:
    return {
        "schema": "publisher.demo/1", "holds": holds, "reached": story.reached, "url": story.url, "plan": story.plan,
        "folder": kept, "seconds": round(seconds, 2), "chapters": [chapter.as_data() for chapter in stage.chapters],
    }  # fmt: skip
