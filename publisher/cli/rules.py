"""``publisher rules``: proposes a change of ``approval.yaml``. It counts when the rules in force have approved it, like any change."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, opened
from publisher.cli.proposing import page_of
from publisher.cli.verb import Verb, VerbGroup
from publisher.domain.approval import Signer
from publisher.domain.fingerprint import digest, short
from publisher.errors import ComeBackLater, NeedsPerson

if TYPE_CHECKING:
    from publisher.domain.approval import ApprovalRules

PATH = "approval.yaml"


@click.group(
    cls=VerbGroup,
    examples=(
        'publisher rules remove ann@example.org --reason "her key was stolen"',
        'publisher rules key ann@example.org=ann-new.pub --reason "a new laptop"',
        'publisher rules add --reviewer ben@example.org=ben.pub --reason "a second reviewer"',
        'publisher rules require 2 --reason "four eyes"',
    ),
)
def command() -> None:
    """Propose who may approve: a request like any other, judged by the rules before it."""


def _reason(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--reason", required=True, help="Why; it stands in the request's title.")(function)


@command.command(cls=Verb, examples=('publisher rules remove ann@example.org --reason "her key was stolen"',))
@click.argument("who")
@_reason
@click.pass_context
def remove(context: click.Context, who: str, reason: str) -> int:
    """Take WHO out, a principal with every key or a login. What they approved before stays approved."""
    return _propose(context, f"remove {who}", reason, lambda data: _file().without(data, who))


@command.command(cls=Verb, examples=('publisher rules key ann@example.org=ann-new.pub --reason "a new laptop"',))
@click.argument("person", metavar="NAME=KEY.pub")
@_reason
@click.pass_context
def key(context: click.Context, person: str, reason: str) -> int:
    """Give a signer another key. The old one counts no more; what it may do stays."""
    from publisher.cli.init_answers import read_people

    (who,) = read_people((person,), ())
    return _propose(
        context, f"another key for {who.principal}", reason,
        lambda data: _file().with_key(data, who.principal, who.key),
    )  # fmt: skip


@command.command(cls=Verb, examples=('publisher rules add --reviewer ben@example.org=ben.pub --reason "a second reviewer"',))
@click.option(
    "--reviewer", "reviewers", multiple=True, metavar="NAME=KEY.pub", help="May propose and approve; may be repeated."
)
@click.option("--planner", "planners", multiple=True, metavar="NAME=KEY.pub", help="May propose; may be repeated.")
@_reason
@click.pass_context
def add(context: click.Context, reviewers: tuple[str, ...], planners: tuple[str, ...], reason: str) -> int:
    """Add signers with their public keys."""
    from publisher.cli.init_answers import read_people

    people = read_people(reviewers, planners)

    def edited(data: bytes) -> bytes:
        for who in people:
            signer = Signer(principal=who.principal, key=who.key, may_commit=True, may_approve=who.may_approve)
            data = _file().with_signer(data, signer)
        return data

    return _propose(context, f"add {', '.join(who.principal for who in people) or 'nobody'}", reason, edited)


@command.command(cls=Verb, examples=('publisher rules require 2 --reason "four eyes"',))
@click.argument("count", type=click.IntRange(1, 10))
@_reason
@click.pass_context
def require(context: click.Context, count: int, reason: str) -> int:
    """So many people must approve."""
    return _propose(context, f"{count} must approve", reason, lambda data: _file().with_count(data, count))


def _propose(context: click.Context, what: str, reason: str, edit: Callable[[bytes], bytes]) -> int:
    """Edits the version in force: a change that was pushed past the rules is not taken along."""
    with opened(context, online=True) as wired:
        wired.git.require_trustworthy()
        tips = wired.store.refresh()
        rules = wired.forge.rules(tips.default)
        before = wired.git.blob_at(rules.commit, PATH) or b""
        after = edit(before)
        _require_able(_file().rules_of(after), wired.instance.forge)
        if after == before and not rules.ignored:
            raise ComeBackLater("nothing-to-propose", "the rules in force say that already", next="publisher status")
        number = wired.requests.open(
            tips, {PATH: after}, f"Approval rules: {what} ({reason})", marker=f"rules {short(digest(after))}"
        )
        page = page_of(wired, number)
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.rules/1", "request": number, "change": what, "page": page})
        return 0
    output.say(f"{PATH}: {what}")
    for commit in rules.ignored:
        output.note(f"the change in {commit[:12]} was never approved; this request takes it back")
    output.say(f"request {number} is open")
    output.note(f"next: {page or f'publisher approve {number}   (somebody else, in their own clone)'}")
    return 0


def _file() -> ModuleType:
    """The module that edits the file; imported late, like all that knows YAML."""
    from publisher.gitstore import rules_file

    return rules_file


def _require_able(rules: ApprovalRules, forge: str) -> None:
    """After the change somebody must still be able to approve what somebody else proposes."""
    approvers = (
        {str(item.id) for item in rules.approvers}
        if forge == "github"
        else {s.principal for s in rules.signers if s.may_approve}
    )
    planners = {signer.principal for signer in rules.signers if signer.may_commit} if forge == "git" else {""}
    if not any(len(approvers - {who}) >= rules.count for who in planners):
        raise NeedsPerson(
            "nobody-left", f"{rules.count} must approve what another proposes, and after this too few could",
            next='publisher rules add --reviewer NAME=KEY.pub --reason "…"',
        )  # fmt: skip
