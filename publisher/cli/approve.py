"""``publisher approve``: signs and merges a request (forge ``git``), or rejects it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, opened
from publisher.cli.verb import Verb
from publisher.domain.fingerprint import short
from publisher.errors import UsageProblem

if TYPE_CHECKING:
    from publisher.ports import Tips
    from publisher.wiring import Wired


@click.command(
    cls=Verb,
    examples=(
        "publisher approve                 # which requests wait",
        "publisher approve 3               # shows it, asks, signs, merges",
        "publisher approve 3 --yes",
        "publisher approve 3 --reject --yes",
    ),
)
@click.argument("request", required=False, type=click.IntRange(1))
@click.option("--reject", is_flag=True, help="Close it instead. A rejection is final for these payloads.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def command(context: click.Context, request: int | None, reject: bool, yes: bool) -> int:
    """Decide a request: what it brings is shown, and your signature names exactly those payloads.

    The key is PUBLISHER_SIGNING_KEY, or this clone's git setting publisher.signingkey or user.signingkey.
    """
    with opened(context, online=True) as wired:
        wired.git.require_trustworthy()
        tips = wired.store.refresh()
        waiting = _waiting(wired, tips)
        if request is None:
            return _list(context, waiting)
        if request not in waiting:
            raise UsageProblem("no-such-request", f"there is no open request {request}", next="publisher approve")
        if not yes:
            _tell(request, waiting[request])
            if not output.is_interactive():
                raise UsageProblem("needs-yes", "nobody is there to be asked", next=f"publisher approve {request} --yes")
            click.confirm("Reject it?" if reject else "Sign and merge it?", abort=True, err=True)
        approvals = wired.requests.decide(tips, request, not reject, wired.clock.now())
    if asked_of(context).as_json:
        merges = sorted({approval.merge for approval in approvals})
        output.say_json(
            {
                "schema": "publisher.approve/1",
                "request": request,
                "decision": "reject" if reject else "approve",
                "merges": merges,
            }
        )
    elif reject:
        output.say(f"request {request} is rejected")
    else:
        for approval in approvals:
            subject = approval.subject
            output.say(f"approved {subject.path} (payload {short(subject.payload)}) as {', '.join(approval.by)}")
        output.note("next: publisher run")
    return 0


def _waiting(wired: Wired, tips: Tips) -> dict[int, list[dict[str, Any]]]:
    from publisher.wiring import payload_of

    found: dict[int, list[dict[str, Any]]] = {}
    for request in wired.forge.open_requests(tips):
        items = []
        for path in request.paths:
            data = wired.git.blob_at(request.head, path)
            payload = payload_of(path, data)[0] if data is not None else ""
            items.append({"path": path, "payload": payload})
        found[request.number] = items
    return found


def _list(context: click.Context, waiting: dict[int, list[dict[str, Any]]]) -> int:
    if asked_of(context).as_json:
        output.say_json({"schema": "publisher.requests/1", "requests": {str(n): items for n, items in waiting.items()}})
        return 0
    for number, items in sorted(waiting.items()):
        _tell(number, items)
    if not waiting:
        output.say("no request waits")
    return 0


def _tell(number: int, items: list[dict[str, Any]]) -> None:
    output.say(f"request {number}")
    for item in items:
        output.say(f"  {item['path']}  payload {short(item['payload']) or '(removed)'}")
    output.note(f"  read it: git diff origin/HEAD...origin/publisher/requests/{number}")
