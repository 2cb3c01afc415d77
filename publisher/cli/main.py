"""The command line: ``publisher VERB``. Verbs are found by a literal table and imported when they are used, and not before."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, TextIO

import click

from publisher.cli import output
from publisher.cli.boundary import Asked, guarded
from publisher.cli.verb import common_flags, require_known, write_examples
from publisher.errors import EXIT_USAGE, UsageProblem

PROGRAM = "publisher"
COMPLETE = "_PUBLISHER_COMPLETE"

WRITE = "Write"
PLAN = "Plan and review"
RUN = "Run"
PEOPLE = "People's decisions"
LOOK = "Look"
SET_UP = "Set up"
GROUPS = (WRITE, PLAN, RUN, PEOPLE, LOOK, SET_UP)

VERBS: dict[str, tuple[str, str, str]] = {
    "new": ("publisher.cli.new", "Begin a draft with a fresh id.", WRITE),
    "queue": ("publisher.cli.queue", "The articles that may be scheduled, in order.", WRITE),
    "plan": ("publisher.cli.plan", "Propose plans for the next dates, from the queue.", PLAN),
    "change": ("publisher.cli.change", "Plan a change of what is public.", PLAN),
    "revise": ("publisher.cli.revise", "Propose the next revision of a plan.", PLAN),
    "preview": ("publisher.cli.preview", "What a run would do; changes nothing, provably.", PLAN),
    "review": ("publisher.cli.review", "Judge a pull request before anybody approves it.", PLAN),
    "approve": ("publisher.cli.approve", "Decide a request: sign and merge it, or reject it.", PLAN),
    "rules": ("publisher.cli.rules", "Propose who may approve, and how many must.", PLAN),
    "run": ("publisher.cli.run", "Finish what is open, then do what is due.", RUN),
    "reconcile": ("publisher.cli.reconcile", "Compare the public world with the ledger.", RUN),
    "retry": ("publisher.cli.retry", "A failed step may run again.", PEOPLE),
    "settle": ("publisher.cli.settle", "Say what became of an unknown step.", PEOPLE),
    "cancel": ("publisher.cli.cancel", "Nothing further of a plan runs.", PEOPLE),
    "skip": ("publisher.cli.skip", "Close a date without publishing.", PEOPLE),
    "pause": ("publisher.cli.pause", "Nothing new begins on a site.", PEOPLE),
    "resume": ("publisher.cli.resume", "A paused site goes on; it publishes nothing by itself.", PEOPLE),
    "takedown": ("publisher.cli.takedown", "Go through what a withdrawal leaves behind.", PEOPLE),
    "decide": ("publisher.cli.decide", "One of these, from a form (a workflow started by hand).", PEOPLE),
    "status": ("publisher.cli.status", "Where everything stands, and who must act next.", LOOK),
    "watch": ("publisher.cli.watch", "Tell the people on call what is wrong, once.", LOOK),
    "why": ("publisher.cli.why", "Why a plan, a date, an address or an article is as it is.", LOOK),
    "log": ("publisher.cli.log", "The story: who changed what, when, on whose approval.", LOOK),
    "audit": ("publisher.cli.audit", "Prove that everything public was approved, in order.", LOOK),
    "sites": ("publisher.cli.sites", "The sites, or those that are due.", LOOK),
    "serve": ("publisher.cli.serve", "A local web server: a site as it is, or as it will be.", LOOK),
    "simulate": ("publisher.cli.simulate", "The engine in a world where everything goes wrong.", LOOK),
    "doctor": ("publisher.cli.doctor", "Whether everything that a run will need is there.", LOOK),
    "demo": ("publisher.cli.demo", "See the whole story, in a throw-away instance.", SET_UP),
    "init": ("publisher.cli.init", "Make a new instance, or add a site to one.", SET_UP),
    "schema": ("publisher.cli.schema", "The JSON Schemas of publisher's files, for editors.", SET_UP),
    "completion": ("publisher.cli.completion", "Completion of verbs and options in your shell.", SET_UP),
}
"""Verb → (module, one-line help, group). The module's ``command`` is the verb."""

EXAMPLES = {
    "new": 'publisher new "A first article"',
    "status": "publisher status",
    "preview": "publisher -C ~/sites/handbook preview",
    "run": "publisher run --help",
}


class Verbs(click.Group):
    """The table above as a click group: its help and completion import no verb."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command = import_module(VERBS[cmd_name][0]).command
        assert isinstance(command, click.Command), cmd_name
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        require_known(args[0], self.list_commands(ctx), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(name) for name in VERBS)
        for group in GROUPS:
            rows = [(name.ljust(width), help) for name, (_, help, its_group) in VERBS.items() if its_group == group]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples([example for verb, example in EXAMPLES.items() if verb in VERBS], formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        from click.shell_completion import CompletionItem

        verbs = [CompletionItem(name, help=help) for name, (_, help, _) in VERBS.items() if name.startswith(incomplete)]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)


def _version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("publisher")
    except PackageNotFoundError:
        number = "(from a checkout, not installed)"
    output.say(f"{PROGRAM} {number}")
    context.exit()


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    subcommand_metavar="VERB [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        click.Option(["-C", "folder"], metavar="DIR", type=click.Path(), help="Run as if started in DIR."),
        *common_flags(hidden=False),
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
        ),
    ],
)
@click.pass_context
def cli(context: click.Context, folder: str | None) -> None:
    """Unattended publishing from a Git repository that can always be trusted.

    A plan says what becomes public and when, a reviewed merge approves exactly that, a run carries it out, and every step is
    recorded. `publisher VERB --help` explains a verb with examples.
    """
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError:
            raise UsageProblem("no-such-directory", f"-C names no directory to go to: {folder}")
    if context.invoked_subcommand is None:
        output.write(context.get_help() + "\n", err=True)
        context.exit(EXIT_USAGE)


def answer(argv: Sequence[str]) -> int:
    """Carries out one command line and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        _print_anything(stream)
    asked = Asked(as_json=_asks_for_json(argv), color=output.color_wanted())

    def work() -> object:
        if COMPLETE in os.environ:
            from click.shell_completion import shell_complete

            return int(shell_complete(cli, {}, PROGRAM, COMPLETE, os.environ[COMPLETE]))
        with cli.make_context(PROGRAM, list(argv), obj=asked, color=asked.color) as context:
            return cli.invoke(context)

    return guarded(work, asked)


def _asks_for_json(argv: Sequence[str]) -> bool:
    """Whether errors are to be JSON too, known before the line is understood: a usage error is an error like the others."""
    return "--json" in argv[: argv.index("--") if "--" in argv else len(argv)]


def _print_anything(stream: TextIO) -> None:
    """Lets a stream print what its encoding lacks as an escape, instead of failing in the middle of a sentence."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def main() -> NoReturn:
    """The installed ``publisher`` and ``python -m publisher``."""
    sys.exit(answer(sys.argv[1:]))
