"""announce: the channels and recipients that the payload names, accounted one by one.

An announcement is made from confirmed public facts only. The list is taken at this moment, within the approved size. Before a
batch of messages goes out its recipients are recorded as intended, and each outcome afterwards: ``sent``, ``refused`` (it did not
go out) or ``unknown``. Unknown is never sent again by itself, and nothing here can touch the publication's own state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from publisher.domain.ledger_events import EventType
from publisher.domain.public_pages import absolute
from publisher.domain.wording import announcement
from publisher.errors import NeedsPerson, OutcomeUnknown
from publisher.ports import Bench, Channel, Message

NOBODY_ANSWERS = frozenset(
    {"timeout", "unreachable", "connection-refused", "no-address", "tls", "unsupported", "file-unwritable"}
)
TO_NOBODY = "session-"
"""How a channel's code begins where it took nothing, whoever it was for."""
AT_ONCE = 25
"""Recipients per recorded intent: a crash leaves at most this many unknown."""


def work(bench: Bench) -> None:
    announcement = bench.plan.announce
    assert announcement is not None
    for name in announcement.channels:
        _tell_channel(bench, name)
    unknown = sum(outcome == "unknown" for told in bench.history.told.values() for outcome in told.values())
    if unknown:
        bench.note(EventType.UNKNOWN, step="announce", code="delivery-unknown", recipients=unknown)
        raise OutcomeUnknown(
            "delivery-unknown", f"{unknown} announcements were handed over and their outcome is not known; none is sent again",
            next=f'publisher settle {bench.plan.path} announce --happened --reason "…"', plan=bench.plan.path,
        )  # fmt: skip
    counts = {name: len(told) for name, told in sorted(bench.history.told.items())}
    bench.note(EventType.ANNOUNCED, channels=list(announcement.channels), recipients=counts)


def _tell_channel(bench: Bench, name: str) -> None:
    announcement = bench.plan.announce
    assert announcement is not None
    channel = bench.channel(name)
    recipients = channel.recipients(announcement.list)
    told = bench.history.told.get(name, {})
    left = [address for address in recipients if channel.pseudonym(address) not in told]
    if len(left) + len(told) > announcement.at_most:
        raise NeedsPerson(
            "list-too-large",
            f"channel {name} has {len(recipients)} recipients, the approval covers {announcement.at_most}",
            next=f'shorten the list, then publisher retry {bench.plan.path} announce --reason "…"', plan=bench.plan.path,
        )  # fmt: skip
    for group in _groups(left):
        _tell_group(bench, name, channel, group)


def _groups(addresses: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(addresses), AT_ONCE):
        yield addresses[start : start + AT_ONCE]


def _tell_group(bench: Bench, name: str, channel: Channel, group: Sequence[str]) -> None:
    bench.note(EventType.ANNOUNCE_INTENT, channel=name, to=[channel.pseudonym(address) for address in group])
    bench.commit(f"{bench.site.id} {bench.plan.day}: about to announce to {len(group)} on {name}")
    results: dict[str, str] = {}
    codes: dict[str, str] = {}
    nobody = ""
    for address in group:
        pseudonym = channel.pseudonym(address)
        sent = channel.send(_message(bench, name, address, pseudonym))
        if sent.outcome == "refused" and (sent.code in NOBODY_ANSWERS or sent.code.startswith(TO_NOBODY)):
            # Nothing was handed over, to this one or to the rest; twenty more time-outs would outlive the lease.
            nobody = sent.code
            break
        results[pseudonym] = sent.outcome
        if sent.outcome != "sent":
            codes[pseudonym] = sent.code
    bench.note(EventType.ANNOUNCE_RESULT, channel=name, results=results, codes=codes)
    bench.commit(f"{bench.site.id} {bench.plan.day}: announced to {len(results)} on {name}", fact=True)
    if nobody:
        raise NeedsPerson(
            "channel-silent", f"channel {name} takes nothing ({nobody}); {len(results)} of {len(group)} were handed over",
            next=f'publisher retry {bench.plan.path} announce --reason "…"', plan=bench.plan.path,
        )  # fmt: skip


def _message(bench: Bench, name: str, address: str, pseudonym: str) -> Message:
    public = {text.id: text for text in bench.production.content.shown}
    articles = [item for item in bench.assembler.articles(bench.production.content) if item.id in bench.plan.article_ids]
    pairs = [(item.title, absolute(bench.site.url, item.url)) for item in articles if item.id in public]
    subject, text = announcement(bench.site.title, pairs)
    return Message(id=f"{bench.plan.path}/{name}/{pseudonym}", recipient=address, subject=subject, text=text)
