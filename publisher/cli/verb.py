"""What every verb has: ``--json``, examples in its help, and the group's options wherever on the line they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from publisher.cli.boundary import Asked
from publisher.errors import UsageProblem


def _set(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    def remember(context: click.Context, _: click.Parameter, value: bool) -> None:
        asked = context.find_root().obj
        if value and isinstance(asked, Asked):
            setattr(asked, name, True)

    return remember


def _no_color(context: click.Context, _: click.Parameter, value: bool) -> None:
    asked = context.find_root().obj
    if value and isinstance(asked, Asked):
        asked.color = context.color = False


def flag(name: str, help: str, *, hidden: bool = False) -> click.Option:
    """One of the options that are remembered in ``Asked`` and never reach the verb's own function."""
    callback = _no_color if name == "no-color" else _set({"json": "as_json"}.get(name, name))
    return click.Option(
        [f"--{name}"], is_flag=True, is_eager=True, expose_value=False, callback=callback, help=help, hidden=hidden
    )


def common_flags(*, hidden: bool) -> list[click.Parameter]:
    """``--quiet``, ``--no-color`` and ``--debug``: shown in the group's help, understood everywhere."""
    return [
        flag("quiet", "Print data only: no hints, no progress.", hidden=hidden),
        flag("no-color", "No colours (NO_COLOR=1 does the same, FORCE_COLOR=1 the opposite).", hidden=hidden),
        flag("debug", "After an error, show the call stack without any values.", hidden=hidden),
    ]


class Verb(click.Command):
    """A click command with ``--json``, the common flags and an ``examples`` section."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.params += [flag("json", "Print one JSON document on stdout."), *common_flags(hidden=True)]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UsageProblem as problem:
            problem.next = problem.next or f"{ctx.command_path} --help"
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)


class VerbGroup(click.Group):
    """A verb that has verbs of its own, such as ``queue``."""

    command_class = Verb

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **{"subcommand_metavar": "VERB [ARGS]...", **kwargs})
        self.examples = tuple(examples)
        self.params += common_flags(hidden=True)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-"):
            require_known(args[0], self.list_commands(ctx), ctx)
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)


def require_known(name: str, known: Sequence[str], context: click.Context, *, what: str = "verb") -> None:
    """A usage error that names the nearest ones when ``name`` is none of ``known``."""
    if name in known or context.resilient_parsing:
        return
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=2)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise click.UsageError(f"there is no {what} {name!r}{hint}", ctx=context)


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"  $ {example}\n")
