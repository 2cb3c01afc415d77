"""``publisher decide``: one of people's decisions, from a form that somebody filled in (a workflow started by hand).

Rules:
* the form is data: its fields become single arguments of the verb that it names, and nothing in them can become an option;
* at a pull-request host only an approver may decide, known by the account's number, which the host's CI vouches for;
* a decision is made once: repeating the run that carried it is refused, because the repetition acts in another person's name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from publisher.cli import ci_report
from publisher.cli.opening import opened
from publisher.cli.verb import Verb
from publisher.errors import NeedsPerson, UsageProblem

VARIABLE = "PUBLISHER_DECISION"
FORMS: Mapping[str, tuple[str, ...]] = {
    "pause": ("site",),
    "resume": ("site",),
    "skip": ("date",),
    "retry": ("plan", "step"),
    "settle": ("plan", "step"),
    "cancel": ("plan",),
    "revise": ("plan",),
    "correct": ("article",),
    "withdraw": ("article",),
}
"""Decision → the fields that become its arguments, in order. Every one has a reason."""
PROPOSALS = {"revise": ("revise", ()), "correct": ("change", ("correct",)), "withdraw": ("change", ("withdraw",))}
"""Decisions that are requests for review: the verb, and its own verb. They are opened in the name of the run's token, so that the
person who asked for them can be the one who reviews and merges them."""
FIELDS = frozenset({"decision", "article", "site", "plan", "date", "step", "happened", "reason"})
LONGEST = 500


@click.command(
    cls=Verb,
    examples=('publisher decide --form \'{"decision": "pause", "site": "handbook", "reason": "legal asks"}\'',),
)
@click.option("--form", envvar=VARIABLE, default="", help=f"The form; {VARIABLE} when absent.")
@click.pass_context
def command(context: click.Context, form: str) -> int:
    """Carry out a decision that comes as a JSON object.

    Fields: decision (pause, resume, skip, retry, settle, cancel, or revise, correct, withdraw), site, plan, article, date, step,
    happened (yes or no), reason.
    """
    fields = read_form(form)
    _require_entitled(context)
    name = fields["decision"]
    verb, before = PROPOSALS.get(name, (name, ()))
    command = import_module(f"publisher.cli.{verb}").command
    line = [*before, *arguments_of(fields)]
    code: int = command.main(args=line, prog_name=f"publisher {verb}", standalone_mode=False, obj=context.find_root().obj)
    about = fields["plan"] or fields["article"] or fields["site"] or fields["date"]
    ci_report.summary(
        "Decision", ("Decision", "About", "By"),
        [[ci_report.code(name), ci_report.code(about), ci_report.text(os.environ.get("GITHUB_ACTOR", ""))]],
    )  # fmt: skip
    return code or 0


def read_form(text: str) -> dict[str, str]:
    """The form's fields, each one line of text, "" where absent. ``UsageProblem`` names what is wrong, not what was written."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageProblem("no-decision", "the form is no JSON object", next="publisher decide --help") from None
    if not isinstance(data, dict) or not data.keys() <= FIELDS:
        raise UsageProblem("bad-form", f"the fields are {', '.join(sorted(FIELDS))}", next="publisher decide --help")
    form = {name: _line(name, data.get(name)) for name in FIELDS}
    if form["decision"] not in FORMS:
        raise UsageProblem("bad-form", f"decision is one of {', '.join(FORMS)}", next="publisher decide --help")
    for name in (*FORMS[form["decision"]], "reason"):
        if not form[name]:
            raise UsageProblem("bad-form", f"{form['decision']} needs {name}", next="fill in the form again")
    if form["decision"] == "settle" and form["happened"] not in ("yes", "no"):
        raise UsageProblem("bad-form", "settle needs happened: yes or no", next="fill in the form again")
    return form


def _line(name: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST or any(ord(letter) < 32 for letter in value):
        raise UsageProblem("bad-form", f"{name} is one line of at most {LONGEST} letters", next="fill in the form again")
    return value.strip()


def arguments_of(form: Mapping[str, str]) -> list[str]:
    """The command line of the named verb. After ``--`` nothing is an option, whatever it begins with."""
    name = form["decision"]
    options = [f"--reason={form['reason']}"]
    if name in ("skip", "correct", "withdraw") and form["site"]:
        options.append(f"--site={form['site']}")
    if name == "settle":
        options.append("--happened" if form["happened"] == "yes" else "--did-not")
    return [*options, "--", *(form[field] for field in FORMS[name])]


def _require_entitled(context: click.Context) -> None:
    if not ci_report.in_actions():
        return
    if not ci_report.is_set_up():
        raise NeedsPerson("not-entitled", "nothing pins who may decide here", next="set the variable PUBLISHER_ROOT")
    if os.environ.get("GITHUB_RUN_ATTEMPT", "1") != "1":
        raise NeedsPerson(
            "repeated-decision", "a decision is not made again by repeating its run", next="start the workflow anew"
        )
    with opened(context, online=True) as wired:
        if wired.instance.forge != "github":
            # Whoever may push publisher.yaml could say so: then nothing would vouch for anybody.
            raise NeedsPerson(
                "not-entitled", "in Actions only forge github knows who started this run", next="decide in a clone of your own"
            )
        rules = wired.forge.rules(wired.store.refresh().default)
    account = os.environ.get("GITHUB_ACTOR_ID", "")
    if account not in {str(person.id) for person in rules.approvers}:
        raise NeedsPerson(
            "not-entitled", "approval.yaml lists no approver with the account that started this run", next="ask an approver"
        )
