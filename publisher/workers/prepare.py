"""prepare: the public form of the approved articles, into the build source.

The texts are read from git objects at the commit that was approved, their fingerprints compared with the plan's, and their public
form checked against what stands in the build source: this plan's bytes go on, the article's last recorded bytes are replaced (a
correction), anything else stops and is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from publisher.domain.article import Draft, PublicArticle
from publisher.domain.business_calendar import with_offset
from publisher.domain.facts import PublicText
from publisher.domain.fingerprint import article_fingerprint, digest, input_of, short, tree_digest
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import ChangeAction, Kind, PlannedArticle
from publisher.errors import NeedsPerson, StoppedForSafety
from publisher.ports import Bench


def work(bench: Bench) -> None:
    bench.note(EventType.PREPARED, **_described(bench))


def require_same(bench: Bench) -> None:
    """Makes the public forms again from the approved sources and compares them with the record.

    What an earlier run prepared, or somebody wrote into the ledger by hand, is never built unless approval and sources give it.
    """
    prepared = bench.history.prepared
    fields = _described(bench)
    again = [text["digest"] for text in fields["puts"]]
    found = [text.digest for text in prepared.puts] if prepared else []
    same = prepared and (again, fields["withdraws"], fields["hides"], fields["reverts"]) == (
        found, [dict(item) for item in prepared.withdraws], list(prepared.hides), [dict(item) for item in prepared.reverts],
    )  # fmt: skip
    if not same:
        raise StoppedForSafety(
            "prepared-differs",
            f"recorded as prepared: {short(input_of(found))}; the approved sources give {short(input_of(again))}; nothing was built",
            next="publisher audit", plan=bench.plan.path,
        )  # fmt: skip


def _described(bench: Bench) -> dict[str, Any]:
    """The record of this plan's change, from the approved sources; its files go to the journal."""
    plan = bench.plan
    puts = []
    for planned in plan.articles:
        bench.progress(f"preparing {planned.id}")
        puts.append(_put(bench, planned))
    _check_rollback(bench)
    return {
        "payload": plan.payload,
        "plan": plan.path,
        "puts": [text.as_data() for text in puts],
        "withdraws": [_withdrawal(bench, item.id, item.url, item.answer, item.to) for item in plan.withdrawals],
        "hides": list(plan.hides),
        "reverts": [{"id": item.id, "digest": item.digest} for item in plan.reverts],
        "input": input_of([article.fingerprint for article in plan.articles]),
        "output": input_of([text.digest for text in puts]),
    }


def source_commit(bench: Bench) -> str:
    """The commit whose tree holds the approved bytes: where the ledger already bound the plan, else the approval's merge."""
    if bench.history.commit:
        return bench.history.commit
    if bench.approval is None:
        raise NeedsPerson(
            "no-approval", "there is no approval to prepare under", next="publisher approve", plan=bench.plan.path
        )
    return bench.approval.merge


def _put(bench: Bench, planned: PlannedArticle) -> PublicText:
    draft = _approved_draft(bench, planned)
    article = _public_article(bench, planned, draft)
    files = bench.builder.public_form(draft, article)
    digests = {name: digest(data) for name, data in files.items()}
    text = PublicText(
        id=planned.id, url=planned.url, guid=planned.guid, date=article.date, updated=article.updated,
        digest=tree_digest(digests), files={name: (bench.keep(data), digests[name]) for name, data in files.items()},
        category=planned.category, plan=bench.plan.path,
    )  # fmt: skip
    _check_build_source(bench, text, digests)
    folder = folder_of(bench.site.id, planned.id)
    bench.put({f"{folder}/{name}": data for name, data in files.items()})
    return text


def folder_of(site: str, article: str) -> str:
    return f"site-src/{site}/articles/{article}"


def _approved_draft(bench: Bench, planned: PlannedArticle) -> Draft:
    commit = bench.plan.sources or source_commit(bench)
    draft = bench.reads.draft(commit, planned.source)
    if draft.draft_mark:
        raise NeedsPerson(
            "draft-mark", f"{planned.id} says of itself that it is a draft; such a text is never published",
            next=f'publisher revise {bench.plan.path} --reason "…"', plan=bench.plan.path,
        )  # fmt: skip
    found = article_fingerprint({name: digest(data) for name, data in draft.files.items()}, draft.salt)
    if found != planned.fingerprint or draft.id != planned.id:
        raise NeedsPerson(
            "fingerprint-differs",
            f"{planned.id} was approved as {short(planned.fingerprint)}, its source there is {short(found)}",
            next=f'publisher revise {bench.plan.path} --reason "…"', plan=bench.plan.path,
        )  # fmt: skip
    return draft


def _public_article(bench: Bench, planned: PlannedArticle, draft: Draft) -> PublicArticle:
    known = bench.production.content.texts.get(planned.id)
    publish_at = with_offset(bench.plan.publish_at)
    correction = bench.plan.kind is Kind.CHANGE and bench.plan.action is ChangeAction.CORRECT
    if correction and known is None:
        raise NeedsPerson(
            "not-public", f"{planned.id} is not public, so it cannot be corrected", next=_cancel(bench), plan=bench.plan.path
        )
    if correction and known and planned.was and known.digest != planned.was:
        raise NeedsPerson(
            "text-moved", f"{planned.id} is public as {short(known.digest)}, the correction was made for {short(planned.was)}",
            next=f'publisher revise {bench.plan.path} --reason "…"', plan=bench.plan.path,
        )  # fmt: skip
    return PublicArticle(
        id=planned.id, url=planned.url, guid=planned.guid, title=draft.title.reveal(), summary=draft.summary.reveal(),
        category=draft.category, tags=draft.tags, date=known.date if correction and known else publish_at,
        updated=publish_at if correction else "", body=draft.body.reveal(),
        files={name: data for name, data in draft.files.items() if name != "index.md"},
    )  # fmt: skip


def _cancel(bench: Bench) -> str:
    """What is next where a plan asks for what can never be."""
    return f'publisher cancel {bench.plan.path} --reason "…"'


def _check_build_source(bench: Bench, text: PublicText, digests: Mapping[str, str]) -> None:
    folder = folder_of(bench.site.id, text.id)
    there = bench.reads.files(bench.tips.state, folder)
    found = {name: digest(data) for name, data in there.items()}
    if not found or found == digests:
        return
    recorded = {item.digest for key, item in bench.production.content.known.items() if key[0] == text.id}
    prepared = bench.history.prepared
    recorded |= {item.digest for item in prepared.puts if item.id == text.id} if prepared else set()
    recorded |= _prepared_elsewhere(bench, text.id)
    if tree_digest(found) not in recorded:
        raise StoppedForSafety(
            "build-source-differs",
            f"{folder} holds {short(tree_digest(found))}, which no record names; expected {short(text.digest)}; it was kept as it is",
            next=f"publisher log {bench.plan.path}", plan=bench.plan.path,
        )  # fmt: skip


def _prepared_elsewhere(bench: Bench, article: str) -> set[str]:
    """Texts of this article that some plan's records prepared, deployed or not: publisher's own bytes."""
    found = set()
    for events in bench.reads.ledger(bench.tips.state, bench.site.id).values():
        for event in events:
            if event.type is EventType.PREPARED:
                found |= {item["digest"] for item in event.fields["puts"] if item["id"] == article}
    return found


def _withdrawal(bench: Bench, article: str, url: str, answer: str, to: str) -> dict[str, str]:
    known = bench.production.content.texts.get(article)
    if known is None or known.url != url:
        raise NeedsPerson(
            "not-public",
            f"{article} is not public at {url}, so it cannot be withdrawn",
            next=_cancel(bench),
            plan=bench.plan.path,
        )
    return {"id": article, "url": url, "answer": answer, "to": to}


def _check_rollback(bench: Bench) -> None:
    content = bench.production.content
    for item in bench.plan.reverts:
        if (item.id, item.digest) not in content.known or item.id in content.withdrawn:
            raise NeedsPerson(
                "no-such-text", f"{item.id} was never public as {short(item.digest)}", next=_cancel(bench), plan=bench.plan.path
            )
