"""How a proposal leaves: as a request of the forge, or as files in the working tree (``--local``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from publisher.cli import ci_report, output
from publisher.domain.fingerprint import short
from publisher.errors import UsageProblem

if TYPE_CHECKING:
    from publisher.domain.plan import Plan
    from publisher.engine.site_view import SiteView
    from publisher.wiring import Wired


def propose(wired: Wired, view: SiteView, plans: Sequence[Plan], title: str, *, local: bool) -> dict[str, Any]:
    """Opens one request for ``plans`` of a site (or finds it open already), or writes their files here."""
    from publisher.engine.describing import describe_plans
    from publisher.engine.planning import marker_of
    from publisher.wiring import render_yaml

    files = {f"plans/{plan.path}.yaml": render_yaml(plan.data) for plan in plans}
    made = {"plans": [plan_data(plan) for plan in plans], "files": sorted(files)}
    if local:
        write_here(wired, files)
        return {"request": 0, **made}
    body = describe_plans(wired.store, view, plans)
    number = wired.requests.open(view.tips, files, title, marker=marker_of(files), body=body)
    state = {"known": number in view.tips.requests, "left_alone": number in wired.requests.left_alone}
    return {"request": number, **state, "page": page_of(wired, number), **made}


def page_of(wired: Wired, number: int) -> str:
    """Where a request is decided in a browser; "" where it is decided by a command."""
    return str(wired.host_requests.page_of(number)) if wired.instance.forge == "github" else ""


def write_here(wired: Wired, files: Mapping[str, bytes]) -> None:
    from publisher.wiring import write_file

    for path, data in files.items():
        if (wired.root / path).exists() and (wired.root / path).read_bytes() != data:
            raise UsageProblem("file-exists", f"{path} exists here with other content; it was kept", next=f"git diff {path}")
    for path, data in files.items():
        write_file(wired.root / path, data)


def plan_data(plan: Plan) -> dict[str, Any]:
    return {
        "plan": plan.path, "date": plan.day.isoformat(), "payload": plan.payload, "revision": plan.revision,
        "articles": [{"id": article.id, "url": article.url} for article in plan.articles],
    }  # fmt: skip


def tell(made: Mapping[str, Any]) -> None:
    for plan in made["plans"]:
        output.say(f"{plan['plan']}  revision {plan['revision']}, payload {short(plan['payload'])}")
        for article in plan["articles"]:
            output.say(f"  {article['id']}  {article['url']}")
    if made["request"]:
        state = "is open already" if made.get("known") else "was opened"
        if made.get("left_alone"):
            state = "was reviewed or changed by somebody, and stays as it is: it does not hold these payloads"
        output.say(f"request {made['request']} {state}")
        by_command = f"publisher approve {made['request']}   (somebody else, in their own clone)"
        output.note(f"next: {made['page'] or by_command}")
    else:
        output.note("written here; next: git add plans && git commit -S && git push to a request branch")


def summarise(made: Sequence[Mapping[str, Any]]) -> None:
    """The proposals in a CI job's summary."""
    rows = [
        [ci_report.code(plan["plan"]), f"{plan['revision']}", ci_report.code(plan["payload"]), _request(item)]
        for item in made
        for plan in item["plans"]
    ]
    notes = [] if rows else ["Every date has its plan or was skipped."]
    ci_report.summary("Proposed", ("Plan", "Revision", "Payload", "Request"), rows, notes)


def _request(item: Mapping[str, Any]) -> str:
    if not item["request"]:
        return ""
    state = (
        ", left as somebody reviewed or changed it" if item.get("left_alone") else ", open already" if item.get("known") else ""
    )
    return f"#{item['request']}{state}"
