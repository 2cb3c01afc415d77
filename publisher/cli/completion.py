"""``publisher completion``: the script that teaches a shell our verbs and options."""

from __future__ import annotations

import click

from publisher.cli import output
from publisher.cli.verb import Verb

PROGRAM = "publisher"
VARIABLE = "_PUBLISHER_COMPLETE"


@click.command(
    cls=Verb,
    examples=(
        'eval "$(publisher completion bash)"      # for this shell; in ~/.bashrc for every one',
        'eval "$(publisher completion zsh)"       # in ~/.zshrc, after compinit',
        "publisher completion fish > ~/.config/fish/completions/publisher.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_obj
def command(asked: object, shell: str) -> None:
    """Print the completion script for a shell.

    It completes verbs and options of the installed command. Nothing is written; put the output where your shell reads it.
    """
    from click.shell_completion import get_completion_class

    from publisher.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three shells"
    script = kind(cli, {}, PROGRAM, VARIABLE).source()
    if getattr(asked, "as_json", False):
        output.say_json({"schema": "publisher.completion/1", "shell": shell, "script": script})
    else:
        output.write(script + "\n")
