"""Every stop names what is next, and whatever it tells to type exists: verbs, their verbs, options and arguments parse.

The sentences are read from the source, from ``deciding`` and from the pages. What differs is put in as it would stand there.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from publisher.cli.main import VERBS, Verbs
from tests.support import codes
from tests.support.command_line import publisher

DOCS = Path(__file__).parents[2] / "docs"
TYPED = re.compile(r"publisher(?: [^\s,;()`]+| \"[^\"]*\")+")
"""A command inside a sentence: up to a comma, a bracket or the end."""
PROSE_AFTER = {
    ">",
    "the",
    "again",
    "finds",
    "or",
    "then",
    "where",
    "on",
    "and",
    "has",
    "lists",
    "looks",
    "for",
    "says",
    "first",
    "with",
    "to",
    "itself",
}
"""Words at which a sentence goes on behind a command."""
STANDS_FOR = {
    "N": "1", "X": "1", "…": "x", "DATE": "2026-12-01", "REQUEST": "1", "DEPLOYMENT": "1", "SHELL": "bash", "SEED:N": "s:1",
    "NAME=KEY.pub": "ann@example.org=ann.pub", "OLD=NEW": "a=b",
    "--happened|--did-not": "--happened", "--done|--nothing-there|--not-possible": "--done",
}  # fmt: skip


def said(node: ast.expr) -> str:
    """The text of a literal or f-string, ``X`` for what is computed; of a choice, both with a comma between."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(said(part) if isinstance(part, ast.Constant) else "X" for part in node.values)
    if isinstance(node, ast.IfExp):
        return f"{said(node.body)}, {said(node.orelse)}"
    if isinstance(node, ast.BinOp):
        return said(node.left) + said(node.right)
    if isinstance(node, ast.BoolOp):
        return ", ".join(map(said, node.values))
    return ""


def typed_in(text: str) -> Iterator[list[str]]:
    """The words of every command that a sentence tells to type."""
    for found in TYPED.findall(text):
        try:
            words = shlex.split(found)
        except ValueError:  # a quotation that goes on behind a bracket or comma
            continue
        end = next((place for place, word in enumerate(words) if word in PROSE_AFTER), len(words))
        words = words[:end]
        if len(words) < 2 or words[1] == "X":  # the verb is computed from the one that was typed
            continue
        yield [STANDS_FOR.get(word.rstrip("."), word.rstrip(".")) for word in words[1:]]


def problem_of(words: list[str]) -> str:
    """Why a command cannot be typed, or "". Something that must be said and is not there is no problem: it is a pointer then."""
    group: click.Command = Verbs(name="publisher")
    context = click.Context(group, info_name="publisher")
    while isinstance(group, click.Group):
        if not words or words[0].startswith("-"):
            return ""
        name, words = words[0], words[1:]
        command = group.get_command(context, name)
        if command is None:
            return f"there is no {name}"
        group = command
    try:
        group.make_context("publisher", list(words), parent=context)
    except click.exceptions.Exit:
        return ""
    except click.MissingParameter:
        return _unknown_option(group, words)
    except click.UsageError as problem:
        return problem.format_message()
    return ""


def _unknown_option(command: click.Command, words: list[str]) -> str:
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {
        "--help",
        "-h",
    }
    return next((f"no option {word}" for word in words if word.startswith("--") and word.split("=")[0] not in known), "")


def refusals() -> Iterator[tuple[str, str, ast.expr | None]]:
    """(place, code, what is next) of every refusal in the source."""
    for file in codes.files():
        for call in codes.calls(file, *codes.EXITS):
            if not call.args:
                continue
            named = {word.arg: word.value for word in call.keywords}
            yield f"publisher/{file}:{call.lineno}", said(call.args[0]), named.get("next")


REFUSALS = tuple(refusals())


def test_the_source_is_read() -> None:
    assert len(REFUSALS) > 300
    assert sum(bool(list(typed_in(said(node)))) for _, _, node in REFUSALS if node) > 150


def test_what_cannot_be_typed_is_found() -> None:
    for wrong in (
        "publisher rub",
        "publisher run --soon",
        "publisher change undo a-1",
        "publisher skip",
        "publisher status a b",
    ):
        (words,) = typed_in(wrong)
        assert bool(problem_of(words)) == (wrong != "publisher skip"), wrong
    assert problem_of(next(typed_in('look, then publisher settle PLAN STEP --happened --reason "…"'))) == ""


@pytest.mark.parametrize(("place", "code", "following"), REFUSALS, ids=[f"{place}-{code}" for place, code, _ in REFUSALS])
def test_what_a_refusal_tells_to_type_exists(place: str, code: str, following: ast.expr | None) -> None:
    for words in typed_in(said(following)) if following else ():
        assert not problem_of(words), f"{place}: publisher {' '.join(words)}: {problem_of(words)}"


def test_what_decisions_tell_to_type_exists() -> None:
    nodes = list(ast.walk(codes.tree_of(codes.DECIDING)))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    texts = [said(node) for node in nodes if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in parts]
    commands = [words for text in texts for words in typed_in(text)]
    assert len(commands) > 15
    for words in commands:
        assert not problem_of(words), f"publisher {' '.join(words)}: {problem_of(words)}"


@pytest.mark.parametrize("page", ["when-something-stops.md", "runbook.md", "commands.md", "github.md", "guarantees.md"])
def test_what_the_pages_tell_to_type_exists(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    quoted = re.findall(r"`(publisher [^`\n]+)`", text) + re.findall(r"(?m)^(?:\$ )?(publisher .+)$", text)
    for words in (words for line in quoted for words in typed_in(line.replace("...", ""))):
        if words and words[0] in VERBS:
            assert not problem_of(words), f"{page}: publisher {' '.join(words)}: {problem_of(words)}"


def test_every_stop_names_what_is_next() -> None:
    """A person, the clock or somebody who looks: each is told how to go on. An input may name its place instead."""
    silent = []
    for file in (file for file in codes.files() if not file.startswith("simulation/")):
        for call in codes.calls(file, *codes.EXITS):
            name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            named = {word.arg for word in call.keywords}
            wanted = {"InputProblem": {"next", "where"}, "UsageProblem": named, "Bug": named}.get(name, {"next"})
            if call.args and not wanted & named and None not in named and named != wanted:
                silent.append(f"publisher/{file}:{call.lineno}")
    assert not silent


@pytest.mark.parametrize("argv", [["plan", "--date", "soon"], ["run", "--wait", "long"], ["preview", "--now", "noon"]])
def test_a_wrong_command_line_is_told_where_its_help_is(argv: list[str]) -> None:
    done = publisher(*argv, at=DOCS.parent)
    assert done.code == 2
    assert f"next: publisher {argv[0]} --help" in done.err
