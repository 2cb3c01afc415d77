"""``publisher approve``: signs and merges a request (forge ``git``), or rejects it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import ci_report, output
from publisher.cli.opening import asked_of, chosen_sites, opened
from publisher.cli.verb import Verb
from publisher.domain.fingerprint import short
from publisher.errors import Refusal, UsageProblem, worst

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
@click.option("--record", is_flag=True, help="Record the approvals of merged requests in the ledger (CI, after each merge).")
@click.option("--reject", is_flag=True, help="Close it instead. A rejection is final for these payloads.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def command(context: click.Context, request: int | None, record: bool, reject: bool, yes: bool) -> int:
    """Decide a request: what it brings is shown, and your signature names exactly those payloads.

    With forge github people decide on the pull request's own page; --record then takes down what they decided.

    The key is PUBLISHER_SIGNING_KEY, or this clone's git setting publisher.signingkey or user.signingkey.
    """
    if record and not ci_report.is_set_up():
        return _tell_recorded(context, [], [])
    with opened(context, online=True) as wired:
        wired.git.require_trustworthy()
        tips = wired.store.refresh()
        if record:
            return _record(context, wired, tips)
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


def _record(context: click.Context, wired: Wired, tips: Tips) -> int:
    """The approvals that the ledger lacks, site by site; what was merged and approves nothing is told at once."""
    from publisher.engine.recording import record_approvals

    done = [record_approvals(wired.doors(), site) for site in chosen_sites(wired, tips, None)]
    rows = [{"site": item.site, **approval} for item in done for approval in item.approvals]
    return _tell_recorded(context, rows, [problem for item in done for problem in item.problems])


def _tell_recorded(context: click.Context, rows: Sequence[Mapping[str, str]], problems: Sequence[Refusal]) -> int:
    if asked_of(context).as_json:
        output.say_json({
            "schema": "publisher.recorded/1", "approvals": rows, "problems": [problem.as_data() for problem in problems],
        })  # fmt: skip
    else:
        for row in rows:
            output.say(
                f"recorded {row['plan']} {row['gate']}: payload {short(row['payload'])} by {row['by']} (request {row['request']})"
            )
        for problem in problems:
            output.refused(problem)
        if not rows and not problems:
            output.say("every approval is recorded")
    ci_report.summary(
        "Approvals", ("Plan", "Gate", "Payload", "Approved by", "Request"),
        [[ci_report.code(row["plan"]), row["gate"], ci_report.code(row["payload"]), ci_report.text(row["by"]), f"#{row['request']}"]
         for row in rows],
        [ci_report.text(str(problem).split("\n")[0]) for problem in problems] or ([] if rows else ["Nothing new to record."]),
    )  # fmt: skip
    ci_report.refusals(problems)
    return worst([problem.exit_code for problem in problems])


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
