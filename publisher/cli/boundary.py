"""The one error boundary: whatever a verb raises becomes a few lines and an exit code here, and nowhere else.

Rules:
* a refusal is told as ``where: what [code]`` and the next command, on stderr, or as JSON on stdout when that was asked for;
* exit codes are those of ``publisher.errors``; 2 for the command line itself, 130 for Ctrl-C;
* anything else is a bug of ours. Its text is never shown, for it may quote a draft or a token: its type and place are.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import click

from publisher.cli import output
from publisher.errors import EXIT_OK, Bug, Refusal, UsageProblem

EXIT_INTERRUPTED = 130
PACKAGE = Path(__file__).resolve().parent.parent


@dataclass
class Asked:
    """What the command line asks of every verb alike. It fills up while the line is read, hence not frozen."""

    as_json: bool = False
    quiet: bool = False
    debug: bool = False
    color: bool | None = None
    """True or False where somebody said so; None lets each stream decide by whether it is a terminal."""

    @property
    def start(self) -> Path:
        """The directory to look for the instance from; ``-C`` has already moved there."""
        return Path.cwd()


class Interrupted(Refusal):
    """Ctrl-C. Every step is safe to be stopped anywhere, so there is nothing to clean up."""

    exit_code = EXIT_INTERRUPTED


def guarded(work: Callable[[], object], asked: Asked) -> int:
    """The exit code of ``work``: what it returned (None is 0), or what became of its exception, told to the caller."""
    try:
        code = _code_of(work())
        output.write("")  # whatever still waits in the buffer fails here, where it can be told
    except click.exceptions.Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, click.Abort) as stop:
        return _tell(_interrupted(), stop, asked)
    except click.ClickException as problem:
        return _tell(_usage(problem), problem, asked)
    except Refusal as refusal:
        return _tell(refusal, refusal, asked)
    except BrokenPipeError as gone:
        return _after_broken_pipe(gone, asked)
    except Exception as error:  # the boundary
        return _tell(_trouble(error), error, asked)
    return code


def _code_of(result: object) -> int:
    if result is None:
        return EXIT_OK
    assert type(result) is int, "a verb returns its exit code or nothing"
    return result


def _interrupted() -> Interrupted:
    return Interrupted("interrupted", "interrupted. Nothing is lost; `publisher status` tells where things stand")


def _usage(problem: click.ClickException) -> UsageProblem:
    context = problem.ctx if isinstance(problem, click.UsageError) else None
    command = context.command_path if context else "publisher"
    return UsageProblem("usage", problem.format_message().rstrip("."), next=f"{command} --help")


def _after_broken_pipe(gone: BrokenPipeError, asked: Asked) -> int:
    """A reader of ours that went away is quiet; any other broken pipe is a bug like the rest."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            output.silence(stream)
            return EXIT_OK
        except (OSError, ValueError):
            continue  # another trouble than a reader that went away
    return _tell(_bug(gone), gone, asked)


def _trouble(error: Exception) -> Refusal:
    """The machine's own trouble (no space, a failing disk), else a bug."""
    from publisher.engine.disk import disk_trouble

    return disk_trouble(error) or _bug(error)


def _bug(error: Exception) -> Bug:
    place = innermost(error.__traceback__)
    return Bug(
        "bug", f"an unexpected {type(error).__name__}; this is a bug in publisher, and its text is kept back",
        next="the same command with --debug, and report what it prints", where=place,
    )  # fmt: skip


def innermost(trace: TracebackType | None) -> str:
    """``publisher/<room>/<file>.py:<line>`` of the deepest frame that is ours; "" when there is none."""
    place = ""
    for frame, line in traceback.walk_tb(trace):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            place = f"publisher/{path.relative_to(PACKAGE).as_posix()}:{line}"
    return place


def _tell(refusal: Refusal, cause: BaseException, asked: Asked) -> int:
    if asked.as_json:
        output.say_json({"schema": "publisher.error/1", "error": refusal.as_data(), "exit": refusal.exit_code})
    else:
        head = f"{output.clean(refusal.where)}: " if refusal.where else ""
        code = "" if isinstance(refusal, Interrupted) else f" [{refusal.code}]"
        lines = [f"{click.style('publisher:', fg='red')} {head}{output.clean(refusal.says)}{code}"]
        lines += [f"  next: {output.clean(refusal.next)}"] if refusal.next else []
        output.write("\n".join(lines) + "\n", err=True, color=asked.color)
    if output.in_actions():
        from publisher.cli import ci_report  # only where it is wanted: --help loads nothing that it does not need

        ci_report.refusals([refusal])
    if asked.debug:
        # Frames show source lines, never values; the exception's own text stays out.
        frames = "".join(traceback.format_tb(cause.__traceback__))
        output.write(f"{frames}{type(cause).__module__}.{type(cause).__qualname__}\n", err=True)
    return refusal.exit_code
