"""How a proposal leaves: as a request of the forge, or as files in the working tree (``--local``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from publisher.cli import output
from publisher.domain.fingerprint import short
from publisher.errors import UsageProblem

if TYPE_CHECKING:
    from publisher.domain.plan import Plan
    from publisher.ports import Tips
    from publisher.wiring import Wired


def propose(wired: Wired, tips: Tips, plans: Sequence[Plan], title: str, *, local: bool) -> dict[str, Any]:
    """Opens one request for ``plans`` (or finds it open already), or writes their files here."""
    from publisher.engine.planning import marker_of
    from publisher.wiring import render_yaml

    files = {f"plans/{plan.path}.yaml": render_yaml(plan.data) for plan in plans}
    if local:
        write_here(wired, files)
        return {"request": 0, "plans": [plan_data(plan) for plan in plans], "files": sorted(files)}
    known = set(tips.requests)
    number = wired.requests.open(tips, files, title, marker=marker_of(files))
    return {"request": number, "known": number in known, "plans": [plan_data(plan) for plan in plans], "files": sorted(files)}


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
        output.say(f"request {made['request']} {state}")
        output.note(f"next: publisher approve {made['request']}   (somebody else, in their own clone)")
    else:
        output.note("written here; next: git add plans && git commit -S && git push to a request branch")
