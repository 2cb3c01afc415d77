"""The command line itself: lazy verbs, help, global options, completion, usage errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module

import click
import pytest

from publisher.cli.main import GROUPS, VERBS
from publisher.cli.verb import Verb, VerbGroup
from tests.support.command_line import publisher


def leaves(command, path=()):
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from leaves(child, (*path, name))
    else:
        yield path, command


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_of_the_table_exists_with_examples_and_json(verb):
    module, help, group = VERBS[verb]
    command = import_module(module).command
    assert group in GROUPS
    assert help.endswith(".") and len(help) < 60
    assert isinstance(command, Verb | VerbGroup)
    for path, leaf in leaves(command, (verb,)):
        shown = publisher(*path, "-h")
        assert shown.code == 0, path
        assert f"$ publisher {' '.join(path)}" in shown.out or f"(publisher {' '.join(path)}" in shown.out, path
        assert leaf.help, path
        assert "--json" in shown.out, path


def test_help_lists_the_verbs_in_their_groups():
    shown = publisher("--help")
    assert (shown.code, shown.err) == (0, "")
    titles = [line[:-1] for line in shown.out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert [title for title in titles if title in GROUPS] == [g for g in GROUPS if any(g == v[2] for v in VERBS.values())]
    assert all(f"\n  {verb} " in shown.out for verb in VERBS)


def test_help_imports_no_verb_and_no_heavy_library():
    program = (
        "import sys; from publisher.cli.main import answer; code = answer(['--help']); "
        "print(code, sorted(n for n in sys.modules if n.startswith(('publisher.', 'git', 'jinja2', 'ruamel', 'yaml', 'jsonschema')))"
        ", file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    code, _, modules = done.stderr.partition(" ")
    assert code == "0"
    allowed = {
        "publisher.cli", "publisher.cli.main", "publisher.cli.boundary", "publisher.cli.output", "publisher.cli.verb",
        "publisher.domain", "publisher.domain.article", "publisher.domain.business_calendar", "publisher.errors",
    }  # fmt: skip
    assert set(eval(modules)) <= allowed


def test_no_verb_is_a_usage_error_that_shows_the_help():
    said = publisher()
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("Usage: publisher")


def test_an_unknown_verb_names_the_nearest():
    said = publisher("queu")
    assert (said.code, said.out) == (2, "")
    assert "did you mean queue?" in said.err and "next: publisher --help" in said.err


def test_an_unknown_verb_of_a_group_names_the_nearest():
    said = publisher("queue", "lst")
    assert said.code == 2
    assert "did you mean list?" in said.err and "next: publisher queue --help" in said.err


def test_an_unknown_option_names_the_nearest():
    said = publisher("completion", "bash", "--jsn")
    assert said.code == 2
    assert "--json" in said.err and "next: publisher completion --help" in said.err


def test_a_usage_error_is_json_when_json_was_asked_for():
    said = publisher("completion", "--json", "tcsh")
    assert (said.code, said.err) == (2, "")
    assert said.data["error"]["code"] == "usage"


def test_json_after_two_dashes_is_not_the_option():
    said = publisher("completion", "--", "--json")
    assert said.code == 2 and said.out == "" and said.err


def test_a_verb_name_cannot_steer_the_terminal():
    said = publisher("\x1b]0;owned\x07")
    assert said.code == 2
    assert "\x1b" not in said.err


def test_version():
    said = publisher("--version")
    assert said.code == 0 and said.out.startswith("publisher ") and said.err == ""


def test_c_runs_as_if_started_there(tmp_path):
    said = publisher("-C", str(tmp_path), "schema", "--write", "here")
    assert said.code == 0
    assert (tmp_path / "here").is_dir()


def test_c_with_no_such_directory_is_usage(tmp_path):
    said = publisher("-C", str(tmp_path / "no"), "--json", "schema")
    assert said.code == 2
    said = publisher("-C", str(tmp_path / "no"), "schema")
    assert (said.code, said.out) == (2, "") and "[no-such-directory]" in said.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_installed_command(shell):
    said = publisher("completion", shell)
    assert said.code == 0 and "_PUBLISHER_COMPLETE" in said.out and "publisher" in said.out
    assert publisher("completion", shell, "--json").data["script"].strip() == said.out.strip()


def test_completion_completes_verbs_options_and_subverbs():
    def complete(line: str) -> list[str]:
        words = line.split(" ")
        env = os.environ | {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_PUBLISHER_COMPLETE": "bash_complete"}
        done = subprocess.run([sys.executable, "-m", "publisher"], env=env, capture_output=True, text=True, check=True)
        return [row.split(",", 1)[1] for row in done.stdout.splitlines()]

    assert complete("publisher qu") == ["queue"]
    assert set(complete("publisher queue ")) >= {"list", "add", "move", "hold", "release", "remove"}
    assert "--json" in complete("publisher queue list --")


def test_colours_only_where_wanted(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b" not in publisher("stauts").err  # not a terminal
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[31m" in publisher("stauts").err
    assert "\x1b" not in publisher("--no-color", "stauts").err
    assert "\x1b" not in publisher("completion", "--no-color", "bash", "more").err
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in publisher("stauts").err


def test_errors_are_json_with_sorted_keys():
    said = publisher("completion", "--json", "tcsh")
    assert said.out == json.dumps(said.data, sort_keys=True, indent=2) + "\n"
