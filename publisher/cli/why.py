"""``publisher why``: one answer about a plan, a date, an address or an article. Opens no connection and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, chosen_sites, opened, plan_name, site_of_plan, view_of
from publisher.cli.reports import age
from publisher.cli.verb import Verb
from publisher.domain.business_calendar import parse_instant, parse_zone
from publisher.domain.fingerprint import short

PROOFS = {
    "derived": "derived again from git",
    "recorded": "as the ledger has it of the host's answer",
    "not-derived": "recorded; the host was not asked",
    "not-proven": "RECORDED, AND NOT PROVEN BY ITS MERGE: publisher audit",
}
EXISTS = {"merged": "merged on the default branch", "ledger": "no longer on the default branch; the ledger has it"}


@click.command(
    cls=Verb,
    examples=(
        "publisher why handbook/daily/2026/2026-12-01",
        "publisher why 2026-12-01",
        "publisher why https://handbook.example/fences/",
        "publisher why a-0007 --json",
    ),
)
@click.argument("what")
@click.option("--site", metavar="NAME", help="Only this site.")
@click.option("--fresh", is_flag=True, help="Look at the remote, and ask the pull-request host; into a temporary object store.")
@click.pass_context
def command(context: click.Context, what: str, site: str | None, fresh: bool) -> int:
    """Tell why something is as it is: WHAT is a plan, its key, a date, an address of the site, or an article's id.

    Whether it exists, who asked, who approved which payload when, under which claim it was carried out, what became public and
    was seen where, who decided what, where it stopped, and what must happen next.
    """
    from publisher.engine.why import answers, question
    from publisher.engine.why_story import Teller

    with opened(context, fresh=fresh) as wired:
        tips = wired.store.refresh() if fresh else wired.store.tips()
        asked = question(what, chosen_sites(wired, tips, site))
        named = site_of_plan(plan_name(asked.what)) if asked.kind == "plan" else site
        tellers = [
            Teller(
                reads=wired.store, forge=wired.forge, view=view_of(wired, tips, name), now=wired.clock.now(),
                recorded=wired.instance.forge == "github" and not fresh,
            )
            for name in chosen_sites(wired, tips, named)
        ]  # fmt: skip
        answer = answers(asked, tellers)
    if asked_of(context).as_json:
        output.say_json(answer)
        return 0
    for found in answer["sites"]:
        _tell_site(found, parse_zone(found["zone"]))
    output.note(f"(the remote was last looked at {age(tips.age)})")
    return 0


def _tell_site(answer: Mapping[str, Any], zone: ZoneInfo) -> None:
    if "date" in answer:
        _tell_date(answer["site"], answer["date"], zone)
    if answer.get("article"):
        _tell_article(answer["site"], answer["article"], zone)
    for waiting in answer["proposed"]:
        output.say(f"{waiting['plan']}  [proposed]", bold=True)
        _row("exists", f"in request {waiting['request']}, which nobody has decided yet")
        _row("next", f"person: request {waiting['request']} waits for a decision")
        _row("", waiting["command"])
    for story in answer["plans"]:
        _tell_plan(story, zone)


def _tell_date(site: str, found: Mapping[str, Any], zone: ZoneInfo) -> None:
    output.say(f"{site}: {found['date']}", bold=True)
    if found["skipped"]:
        skipped = found["skipped"]
        _row("skipped", f"{_when(skipped['at'], zone)}  by {skipped['by']}: {skipped['reason']}")
    elif not found["planned"]:
        _row("planned", "nothing was planned for it" if found["past"] else "nothing is planned for it yet")
    if found["command"]:
        _row("next", "person: plan it, if something should become public then")
        _row("", found["command"])


def _tell_article(site: str, found: Mapping[str, Any], zone: ZoneInfo) -> None:
    output.say(f"{site}: {found['id']}  {found['url']}".rstrip(), bold=True)
    dated = f", dated {_when(found['since'], zone)}" if found["since"] else ""
    updated = f", corrected {_when(found['updated'], zone)}" if found["updated"] else ""
    _row("public", f"{found['state']}{dated}{updated}" + (f", text of {found['text_of']}" if found["text_of"] else ""))
    if found["queue"]:
        held = ", held" if found["queue"]["held"] else ""
        _row("queue", f"number {found['queue']['place']} of {found['queue']['of']}{held}")


def _tell_plan(story: Mapping[str, Any], zone: ZoneInfo) -> None:
    output.say(f"{story['plan']}  [{story['stage']}]", bold=True)
    what = story["kind"] + (f" ({story['action']})" if story["action"] else "")
    reason = f", because: {story['reason']}" if story["reason"] else ""
    _row("exists", f"{EXISTS[story['exists']]}; {what}, key {story['key']}{reason}")
    due = f", due {story['publish_at']}" if story["publish_at"] else ""
    old = f", in place of {short(story['supersedes'])}" if story["supersedes"] else ""
    _row("payload", f"{short(story['payload']) or 'none'}, revision {story['revision']}{old}{due}")
    _rows("asked", [_request(item, zone) for item in story["asked"]], "no request of it is recorded")
    _rows("approved", [_approval(item, zone) for item in story["approvals"]], "nobody has approved it")
    _rows("claimed", [_claim(item, zone) for item in story["claims"]], "no run has worked on it")
    _rows("done", [f"{_when(item['at'], zone)}  {item['what']}" for item in story["carried_out"]], "nothing yet")
    _rows("public", [line for item in story["public"] for line in _public(item, zone)], "it names no article")
    _rows(
        "decided", [f"{_when(d['at'], zone)}  {d['by']} {d['what']}" for d in story["decided"]], "nobody had to decide anything"
    )
    stopped = story["stopped"]
    _row("stopped", f"at {stopped['step']} [{stopped['code']}]" if stopped else "it did not stop")
    _row("next", f"{story['next']['who']}: {story['next']['what']}")
    if story["next"]["command"]:
        _row("", story["next"]["command"])


def _request(item: Mapping[str, Any], zone: ZoneInfo) -> str:
    gate = "" if item["gate"] == "plan" else f" for gate {item['gate']}"
    by = f", {item['how']} by {', '.join(item['by'])}" if item["by"] else ""
    return f"request {item['request']}{gate}{by}" + (f", {_when(item['at'], zone)}" if item["at"] else "")


def _approval(item: Mapping[str, Any], zone: ZoneInfo) -> str:
    gate = "" if item["gate"] == "plan" else f"gate {item['gate']}, "
    if item["why_not"]:
        return f"no: {gate}payload {short(item['payload'])}: {item['why_not']}"
    who, of = ", ".join(item["by"]), f"{gate}payload {short(item['payload'])}"
    until = f", usable until {_when(item['until'], zone)}" if item["until"] else ""
    return f"{_when(item['at'], zone)}  by {who}: {of}, merge {item['merge'][:12]} ({PROOFS[item['proof']]}){until}"


def _claim(item: Mapping[str, Any], zone: ZoneInfo) -> str:
    ended = f", released {_when(item['released'], zone)}" if item["released"] else ", never released"
    return f"{_when(item['at'], zone)}  fence {item['fence']} of epoch {item['epoch']}, by {item['holder']}{ended}"


def _public(item: Mapping[str, Any], zone: ZoneInfo) -> list[str]:
    if item["by_word"]:
        when = f", settled {_when(item['seen_at'], zone)} on a person's word"
    else:
        place = f" at {item['seen']}" if item["seen"] else ""
        when = f", seen {'gone ' if item['gone'] else ''}{_when(item['seen_at'], zone)}{place}" if item["seen_at"] else ""
    changes = [f"{_when(c['at'], zone)}  {c['what']} by {c['plan']}" for c in item["since"]]
    return [f"{item['id']}  {item['url']}  now {item['public']}{when}", *changes]


def _rows(head: str, lines: Sequence[str], none: str) -> None:
    for number, text in enumerate(lines or [none]):
        _row(head if number == 0 else "", text)


def _row(head: str, text: str) -> None:
    output.say(f"  {head:<9} {text}")


def _when(at: str, zone: ZoneInfo) -> str:
    try:
        return output.when(parse_instant(at), zone) if at else ""
    except ValueError:
        return "at an unreadable time"
