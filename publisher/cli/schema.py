"""``publisher schema``: the JSON Schemas of publisher's files, for editors that complete and check as one types."""

from __future__ import annotations

import json
from pathlib import Path

import click

from publisher.cli import output
from publisher.cli.boundary import Asked
from publisher.cli.verb import Verb, require_known

ENDING = ".schema.json"


@click.command(
    cls=Verb,
    examples=(
        "publisher schema                       # which there are",
        "publisher schema queue",
        "publisher schema --write .vscode/publisher",
    ),
)
@click.argument("name", required=False)
@click.option("--write", "folder", metavar="DIR", type=click.Path(file_okay=False), help="Write all of them into DIR.")
@click.pass_context
def command(context: click.Context, name: str | None, folder: str | None) -> None:
    """List the schemas, print one, or write all of them into a directory.

    An editor finds a file's schema by a first line such as `# yaml-language-server: $schema=DIR/queue.schema.json`.
    """
    asked = context.find_object(Asked)
    schemas = _schemas()
    if name is not None:
        require_known(name, sorted(schemas), context, what="schema")
        output.write(schemas[name])
    elif folder is not None:
        _write(schemas, Path(folder), as_json=bool(asked and asked.as_json))
    elif asked and asked.as_json:
        output.say_json({"schema": "publisher.schemas/1", "schemas": {one: json.loads(text) for one, text in schemas.items()}})
    else:
        for one in sorted(schemas):
            output.say(one)


def _schemas() -> dict[str, str]:
    """Schema name → its text, as shipped."""
    from publisher.gitstore.working_tree import schema_texts

    return schema_texts()


def _write(schemas: dict[str, str], folder: Path, *, as_json: bool) -> None:
    from publisher.gitstore.working_tree import write_file

    paths = []
    for name, text in sorted(schemas.items()):
        path = folder / f"{name}{ENDING}"
        write_file(path, text.encode("utf-8"))
        paths.append(path)
    if as_json:
        output.say_json({"schema": "publisher.schemas/1", "written": paths})
        return
    for path in paths:
        output.say(path)
