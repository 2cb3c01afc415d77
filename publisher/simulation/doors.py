"""The doors of a simulated actor: each call that reaches the world becomes an effect, everything else is computed here.

What the real adapters do on their own side of the wire (read the remote after a push, judge a branch before it is moved, look
before a deployment) is done here as well, as separate effects, so that anything can happen in between.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from publisher.domain.approval import Approval
from publisher.domain.article import Release
from publisher.domain.business_calendar import in_utc
from publisher.domain.claim import Fence
from publisher.domain.evidence import Seen
from publisher.domain.fingerprint import canonical_json, digest
from publisher.domain.instance import Site
from publisher.engine.bench import Doors
from publisher.errors import Bug, ComeBackLater, StoppedForSafety
from publisher.ports import Batch, BranchUpdate, Landing, Live, Message, Tips
from publisher.simulation import stage
from publisher.simulation.builder import ModelBuilder
from publisher.simulation.content import Contents, StateCommit, oid_of
from publisher.simulation.reads import ModelForge, ModelReads
from publisher.simulation.talk import Talk
from publisher.workers.all_workers import WORKERS

ABSENT = 404
SITE_REF = "refs/heads/site"
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


class TalkingClock:
    """Implements ``Clock``."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.now = talk.now

    def sleep(self, seconds: float) -> None:
        self._talk.ask("sleep", int(seconds))


class ModelRecords:
    """Implements ``Records``. A push's own answer is never believed: the remote is read afterwards."""

    def __init__(self, talk: Talk, contents: Contents, actor: str) -> None:
        self._talk = talk
        self._contents = contents
        self._actor = actor

    def keep(self, data: bytes) -> str:
        return self._contents.keep(data)

    def refresh(self) -> Tips:
        _, default, state, requests = self._talk.ask("refresh")
        return Tips(default=default, state=state, drafts=default, requests=dict(requests))

    def compose(self, tips: Tips, batch: Batch, at: datetime) -> str:
        parent = self._contents.states.get(tips.state)
        events = dict(parent.events) if parent else {}
        appended, lines = [], []
        for path, news in sorted(batch.events.items()):
            known = events.get(path, ())
            for new in news:
                line, event = encode_event(new, known, at=in_utc(at), actor=self._actor, commit=tips.default)
                known = (*known, event)
                appended.append((path, event))
                lines.append(line)
            events[path] = known
        files = {**(parent.files if parent else {}), **{path: self.keep(data) for path, data in batch.files.items()}}
        oid = oid_of("state", tips.state, tuple(lines), tuple(sorted(files.items())), batch.message, at)
        self._contents.states.setdefault(
            oid,
            StateCommit(
                oid=oid, parent=tips.state, depth=parent.depth + 1 if parent else 0, events=events, files=files,
                appended=tuple(appended),
            ),
        )  # fmt: skip
        return oid

    def publish(self, tips: Tips, commit: str, joined: Sequence[BranchUpdate] = ()) -> Landing:
        updates = tuple((item.ref, item.commit, item.expected) for item in joined)
        self._talk.ask("push", commit, tips.state, updates)
        seen = self.refresh()
        return Landing(landed=self._contents.is_ancestor(commit, seen.state), tips=seen)

    def start(self, tips: Tips, branch: str, batch: Batch, at: datetime) -> Tips:
        commit = self.compose(Tips(default=tips.default, state="", drafts=tips.drafts), batch, at)
        self._talk.ask("push", commit, "", ())
        seen = self.refresh()
        if seen.state != commit:
            raise ComeBackLater("state-branch-raced", "the state branch was created by somebody else", next="publisher status")
        return seen


def encode_event(new: Any, known: Sequence[Any], *, at: str, actor: str, commit: str) -> tuple[bytes, Any]:
    from publisher.domain.ledger_events import encode

    return encode(new, after=known[-1] if known else None, at=at, actor=actor, commit=commit)


# --- targets -------------------------------------------------------------------------------------------------------------------


def fence_values(fence: Fence) -> tuple[int, str, int, str]:
    return (fence.epoch, fence.epoch_id, fence.number, fence.nonce)


def fence_from(values: tuple[int, str, int, str] | None) -> Fence | None:
    return Fence(epoch=values[0], epoch_id=values[1], number=values[2], nonce=values[3]) if values else None


def refusal_of(held: Any, offered: Any, live: str, release: str, base: str) -> str:
    """The code with which a target refuses: an older or another's fence, or a base that is not live; "" when it takes it."""
    if held and held != offered and (held[0], held[2]) >= (offered[0], offered[2]):
        return "fence-refused"
    if held and held[0] == offered[0] and held[1] != offered[1]:
        return "fence-refused"
    return "" if live in (base, release) else "base-moved"


class ModelTarget:
    """Implements ``Target`` for the three kinds (see ``stage.KINDS``)."""

    guarantee = "none: this is a model"

    def __init__(self, talk: Talk, kind: str) -> None:
        self._talk = talk
        self._kind = kind
        self.joins_ledger = kind == "joined"
        self.can_fence = kind != "unconditional"

    def look(self) -> Live:
        return self._read()[0]

    def _read(self) -> tuple[Live, str]:
        _, release, fence, base, tip = self._talk.ask("look")
        return Live(release=release, fence=fence_from(fence), base=base), tip

    def store(self, release: Release, *, base: str = "", fence: Fence | None = None) -> None:
        self._talk.ask("store", release.id)

    def raise_fence(self, fence: Fence) -> None:
        if not self.can_fence:
            raise Bug("cannot-fence", "nobody can be shut out of this target")
        if not self.joins_ledger:
            self._talk.ask("raise", fence_values(fence))

    def switch(self, release: Release, *, base: str, fence: Fence, record: str = "") -> None:
        if self.joins_ledger:
            raise Bug("joined-switch", "this target is switched by the push that records it")
        if not self.can_fence:
            live = self.look()
            self._judge(live, release, base, fence)
            if live == Live(release=release.id, fence=fence, base=base):
                return
        self._talk.ask("switch", release.id, base, fence_values(fence), record)

    def _judge(self, live: Live, release: Release, base: str, fence: Fence) -> None:
        held = fence_values(live.fence) if live.fence else None
        code = refusal_of(held, fence_values(fence), live.release, release.id, base)
        if code == "fence-refused":
            raise StoppedForSafety("fence-refused", "the target has accepted another fence", next="publisher status")
        if code:
            raise StoppedForSafety("base-moved", "another release is live than the base", next="publisher reconcile")

    def came_to_nothing(self, release: str, *, record: str) -> bool:
        if self.can_fence:
            raise Bug("fenced-target", "this target is fenced before anybody asks what became of a switch")
        return bool(self._talk.ask("became", record)[1])

    def show(self) -> None:
        self._talk.ask("show")

    def joined_update(self, release: Release, *, base: str, fence: Fence) -> BranchUpdate:
        if not self.joins_ledger:
            raise Bug("no-joined-update", "this target is not part of a push")
        live, tip = self._read()
        self._judge(live, release, base, fence)
        commit = site_commit(tip, release.id, fence_values(fence), base)
        return BranchUpdate(ref=SITE_REF, commit=commit, expected=tip)


SITE_COMMITS: dict[str, tuple[str, str, tuple[int, str, int, str], str]] = {}
"""The site branch's commits: parent, release, fence and base by id."""


def site_commit(parent: str, release: str, fence: tuple[int, str, int, str], base: str) -> str:
    oid = oid_of("site", parent, release, fence, base)
    SITE_COMMITS.setdefault(oid, (parent, release, fence, base))
    return oid


# --- the public and people -----------------------------------------------------------------------------------------------------


class ModelProbes:
    """Implements ``Probes``: every look is one effect, whose answer names the set of files that was served."""

    def __init__(self, talk: Talk, contents: Contents) -> None:
        self._talk = talk
        self._contents = contents

    def look(self, urls: Sequence[str], *, seconds: float, bust: str) -> Mapping[str, Seen]:
        answer = self._talk.ask("probe", bool(bust))
        if answer[0] == "silent":
            return {url: Seen(url=url, status=0, problem="timeout") for url in urls}
        _, served, apart = answer
        date = _http_date(self._talk.now() - timedelta(seconds=apart))
        return {url: self._seen(url, served, date) for url in urls}

    def _seen(self, url: str, served: str, date: str) -> Seen:
        path = url.removeprefix(stage.SITE.url).strip("/")
        files = self._contents.public[served]
        found = files.get(path) or files.get(f"{path}/index.html".lstrip("/"))
        if found is None:
            return Seen(url=url, status=ABSENT, date=date)
        return Seen(url=url, status=200, digest=found, date=date, body=self._contents.bodies[found])


def _http_date(moment: datetime) -> str:
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    return f"{WEEKDAYS[moment.weekday()]}, {moment.day:02} {months[moment.month - 1]} {moment.year} {moment:%H:%M:%S} GMT"


@dataclass(frozen=True, kw_only=True)
class ModelSent:
    outcome: str
    code: str


class ModelChannel:
    """Implements ``Channel``."""

    idempotent = False

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def recipients(self, list_name: str) -> tuple[str, ...]:
        return stage.READERS

    def pseudonym(self, recipient: str) -> str:
        return digest(recipient.encode())

    def send(self, message: Message) -> ModelSent:
        _, outcome, code = self._talk.ask("send", message.id, message.recipient, message.subject + message.text)
        return ModelSent(outcome=outcome, code=code)


class ModelAlerts:
    """Implements ``Alerts``."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def say(self, notice_id: str, text: str, *, thread: str = "", over: bool = False) -> None:
        self._talk.ask("alert", notice_id, text)


class ModelRequests:
    """Implements ``Requests``."""

    left_alone: Collection[int] = ()

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def open(self, tips: Tips, files: Mapping[str, bytes], title: str, marker: str, body: str = "") -> int:
        ((path, data),) = files.items()
        number: int = self._talk.ask("request", path.removeprefix("plans/").removesuffix(".yaml"), data)[1]
        return number

    def decide(self, tips: Tips, number: int, approve: bool, now: datetime) -> tuple[Approval, ...]:
        raise NotImplementedError("requests are decided by the model's people")


def quiet(text: str) -> None:
    """Progress for nobody."""


@dataclass
class Shared:
    """What all actors of one process share: content, and the doors that only compute."""

    contents: Contents
    reads: ModelReads
    forge: ModelForge
    builder: ModelBuilder

    @classmethod
    def fresh(cls) -> Shared:
        contents = Contents()
        return cls(contents, ModelReads(contents), ModelForge(contents), ModelBuilder(contents))


def doors_of(shared: Shared, talk: Talk, kind: str, actor: str) -> Doors:
    """Every door for one actor at a site with a target of ``kind``."""

    def target(_: Site) -> ModelTarget:
        return ModelTarget(talk, kind)

    return Doors(
        reads=shared.reads, records=ModelRecords(talk, shared.contents, actor), forge=shared.forge, requests=ModelRequests(talk),
        builder=shared.builder, clock=TalkingClock(talk), progress=quiet, alerts=ModelAlerts(talk), workers=WORKERS, target=target,
        staging=lambda _: None, probes=lambda _: ModelProbes(talk, shared.contents), channel=lambda _, name: ModelChannel(talk),
        render=canonical_json, actor=actor, new_nonce=lambda: str(talk.ask("nonce")[1]),
    )  # fmt: skip
