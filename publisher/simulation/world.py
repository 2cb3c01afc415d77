"""The world: one remote, one target with its public site, a post office, people on call, a clock; and what goes wrong with them.

``perform`` carries out one effect of one actor, with at most one trouble, and returns the answer. What arrives late waits in
``pending`` until ``arrive``. Everything that becomes true is reported to the oracles at that moment.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from publisher.domain.article import MANIFEST_PATH
from publisher.simulation import editors
from publisher.simulation.content import HOME, Contents, oid_of
from publisher.simulation.doors import SITE_COMMITS, SITE_REF, refusal_of
from publisher.simulation.memo import Player
from publisher.simulation.talk import OK, Answer, Effect, refuse

CRASHES = ("crash before", "crash after")
TROUBLES: dict[str, tuple[str, ...]] = {
    "refresh": ("unreachable", "stale read"),
    "push": ("lost request", "lost response", "re-post", "rejected by rule", "late"),
    "look": ("unreachable",),
    "store": ("unreachable",),
    "raise": ("lost request", "lost response"),
    "switch": ("lost request", "lost response", "late", "twice", "refused", "partial"),
    "became": ("unreachable",),
    "probe": ("silent", "stale cache", "stale feed"),
    "send": ("lost request", "lost response", "refused", "silent"),
    "alert": ("silent", "lost response"),
    "request": ("unreachable", "lost response"),
    "show": (),
    "nonce": (),
    "sleep": (),
}
"""What can go wrong with each effect, beside the two crashes, which every effect has."""
SHOWS_NOTHING = frozenset({"refresh", "nonce", "sleep", "look", "store", "became"})
ONLY_UNCONDITIONAL = frozenset({"partial"})
STALE = {"stale cache": HOME, "stale feed": "feed.xml"}
"""The one file that a cache serves as it was before."""
FOREIGN_MANIFEST = b'{"articles":[],"schema":"publisher.manifest/1","site":"another","withdrawn":[]}'
Fence = tuple[int, str, int, str]


class Actor:
    """One run or verb of one history. ``seen_*`` is what its last look at the remote showed."""

    __slots__ = ("nonces", "number", "player", "probed", "program", "seen_default", "seen_state", "skew", "unseen")

    def __init__(self, number: int, program: tuple[Any, ...], player: Player, skew: int = 0) -> None:
        self.number = number
        self.program = program
        self.player = player
        self.skew = skew
        self.nonces: set[str] = set()
        self.seen_default = ""
        self.seen_state = ""
        self.probed = ""
        self.unseen: tuple[int, int, int] | None = None


class Watcher(Protocol):
    """What the oracles are told."""

    def state_moved(self, world: World, actor: Actor | None, old: str, new: str) -> None: ...

    def same_again(self, world: World, actor: Actor, commit: str) -> None: ...

    def public_changed(self, world: World, actor: Actor | None, old: str, intended: tuple[str, str, Fence]) -> None: ...

    def switching(self, world: World, actor: Actor, release: str, base: str) -> None: ...

    def message(self, world: World, actor: Actor, name: str, text: str) -> None: ...

    def alert(self, world: World, actor: Actor, notice: str, text: str) -> None: ...


class World:
    """Everything outside the actors, for one history."""

    def __init__(self, contents: Contents, kind: str, watcher: Watcher) -> None:
        self.contents = contents
        self.kind = kind
        self.watcher = watcher
        self.now = 0
        self.default = editors.root(contents)
        self.state = ""
        self.tips: list[str] = []
        self.requests: dict[int, tuple[str, str, bytes]] = {}
        self.next_request = 1
        self.site_tip = ""
        self.files = self.last_files = ""
        self.claim: tuple[Fence | None, str] = (None, "")
        self.older_claim: Fence | None = None
        self.fence: Fence | None = None
        self.stored: set[str] = set()
        self.deployments: dict[str, str] = {}
        self.pending: list[tuple[Any, ...]] = []
        self.wrong_domain = False
        self.delivered: Counter[tuple[str, str]] = Counter()
        self.alerts: Counter[str] = Counter()
        self.nonce_base = (0, 0)
        self.nonce_count = 0
        self.rewinds = 0
        self.ever_live: set[str] = set()
        self.struck: Counter[str] = Counter()
        self.missed = False
        self.another_site = contents.publish_files({HOME: b"another site", MANIFEST_PATH: FOREIGN_MANIFEST})[0]

    # --- the clock and the remote ---------------------------------------------------------------------------------------------

    def edit(self, edit: tuple[Any, ...]) -> bool:
        """An editor's change of the default branch, now; False where it changes nothing."""
        tip = editors.edited(self.contents, self.default, edit, self.now)
        changed, self.default = tip != self.default, tip
        return changed

    def rewind(self, to: str) -> None:
        """An administrator puts the state branch back to an earlier tip, or deletes it."""
        self.rewinds += 1
        self.nonce_base, self.nonce_count = (self.rewinds, self.nonce_base[1]), 0
        self.state = to
        self.tips.append(to)

    def perform(self, actor: Actor, effect: Effect, trouble: str) -> Answer:
        """Carries out an effect. A trouble that cannot strike here is as if there were none."""
        if effect[0] not in SHOWS_NOTHING and trouble not in ("lost request", "rejected by rule"):
            actor.unseen = None
        self.missed = False
        answer = HANDLERS[effect[0]](self, actor, trouble, *effect[1:])
        if trouble and trouble not in CRASHES and not self.missed:
            self.struck[f"{effect[0]}: {trouble}"] += 1
        return answer

    def _refresh(self, actor: Actor, trouble: str) -> Answer:
        if trouble == "unreachable":
            return refuse("later", "remote-unreachable")
        state = self.tips[-2] if trouble == "stale read" and len(self.tips) > 1 else self.state
        self.missed = state == self.state
        actor.seen_default, actor.seen_state = self.default, state
        return ("tips", self.default, state, tuple((number, item[0]) for number, item in self.requests.items()))

    def _push(self, actor: Actor, trouble: str, commit: str, expected: str, updates: tuple[Any, ...]) -> Answer:
        if trouble in ("lost request", "rejected by rule"):
            return ("pushed", False)
        if trouble == "late":
            self.pending.append(("push", actor, commit, expected, updates))
            return ("pushed", False)
        taken = self._take(actor, commit, expected, updates)
        return ("pushed", taken and trouble not in ("re-post", "lost response"))

    def _take(self, actor: Actor, commit: str, expected: str, updates: tuple[Any, ...]) -> bool:
        """The remote's compare-and-swap: all refs, or none."""
        self.watcher.same_again(self, actor, commit)
        if self.state == commit:
            return True
        if self.state != expected or any(self.site_tip != old for _, _, old in updates):
            return False
        return self.take_anyway(actor, commit, updates)

    def take_anyway(self, actor: Actor, commit: str, updates: tuple[Any, ...]) -> bool:
        old, self.state = self.state, commit
        self.tips.append(commit)
        for ref, tip, _ in updates:
            assert ref == SITE_REF
            _, release, fence, base = SITE_COMMITS[tip]
            self.site_tip = tip
            self._now_live(actor, release, base, fence)
        self.watcher.state_moved(self, actor, old, commit)
        return True

    def _request(self, actor: Actor, trouble: str, path: str, data: bytes) -> Answer:
        if trouble == "unreachable":
            return refuse("later", "remote-unreachable")
        number = next((number for number, item in self.requests.items() if item[1:] == (path, data)), 0)
        if not number:
            number, self.next_request = self.next_request, self.next_request + 1
            self.requests[number] = (self.head_of(path, data), path, data)
        return refuse("later", "remote-unreachable") if trouble == "lost response" else ("number", number)

    def head_of(self, path: str, data: bytes) -> str:
        return editors.edited(self.contents, self.default, ("ask", path, tuple(json.loads(data).items())), self.now)

    def _nonce(self, actor: Actor, trouble: str) -> Answer:
        self.nonce_count += 1
        nonce = _nonce_of(*self.nonce_base, self.nonce_count)
        actor.nonces.add(nonce)
        actor.unseen = (*self.nonce_base, self.nonce_count)
        return ("nonce", nonce)

    def forget(self, actor: Actor) -> None:
        """An actor is gone. The nonce that it never showed to anybody may be given to the next."""
        if actor.unseen == (*self.nonce_base, self.nonce_count):
            self.nonce_count -= 1

    def claim_landed(self, number: int) -> None:
        """Nonces are numbered anew after each claim, so that equal histories have equal nonces; none is ever given twice."""
        if number > self.nonce_base[1]:
            self.nonce_base, self.nonce_count = (self.nonce_base[0], number), 0

    def _sleep(self, actor: Actor, trouble: str, seconds: int) -> Answer:
        self.now += seconds
        return OK

    # --- the target -------------------------------------------------------------------------------------------------------------

    def _look(self, actor: Actor, trouble: str) -> Answer:
        if trouble:
            return refuse("later", "target-unreachable")
        fence = self.fence if self.kind == "conditional" else self.claim[0]
        return ("live", self.files, fence, self.claim[1], self.site_tip)

    def _store(self, actor: Actor, trouble: str, release: str) -> Answer:
        if trouble:
            return refuse("later", "target-unreachable")
        self.stored.add(release)
        return OK

    def _raise(self, actor: Actor, trouble: str, fence: Fence) -> Answer:
        if trouble == "lost request":
            return refuse("later", "target-unreachable")
        if refusal_of(self.fence, fence, "", "", ""):
            return refuse("safety", "fence-refused")
        self.fence = fence
        return refuse("later", "target-unreachable") if trouble == "lost response" else OK

    def _switch(self, actor: Actor, trouble: str, release: str, base: str, fence: Fence, record: str) -> Answer:
        self.watcher.switching(self, actor, release, base)
        if any(item[0] == "switch" and item[-1] for item in self.pending) and self.kind == "unconditional":
            return refuse("later", "deployment-under-way")
        if trouble == "lost request":
            return refuse("unknown", "switch-unknown")
        if trouble == "refused":
            self.deployments[record] = "failed"
            return (
                refuse("person", "deployment-failed") if self.kind == "unconditional" else refuse("later", "switch-not-taken")
            )
        order = ("switch", actor, release, base, fence, record)
        if trouble == "late":
            self.deployments[record] = "under way"
            self.pending.append((*order, True))
            return refuse("unknown", "switch-unknown")
        if trouble == "twice":
            self.pending.append((*order, False))
        code = self._carry_out(actor, release, base, fence, record, partial=trouble == "partial")
        if code:
            return refuse("safety", code)
        return refuse("unknown", "switch-unknown") if trouble == "lost response" else OK

    def _carry_out(
        self, actor: Actor, release: str, base: str, fence: Fence, record: str, partial: bool = False
    ) -> str:  # fmt: skip
        """A switch arrives at the target: refused with a code, or done. The unconditional target does what it is told."""
        if self.kind == "conditional":
            code = refusal_of(self.fence, fence, self.files, release, base)
            if code:
                return code
            self.fence = fence
        self.deployments[record] = "succeeded"
        self._now_live(actor, release, base, fence, partial=partial)
        return ""

    def _now_live(self, actor: Actor | None, release: str, base: str, fence: Fence, *, partial: bool = False) -> None:
        old = self.files
        self.older_claim, self.claim = self.claim[0], (fence, base)
        self.set_files(self.contents.mixed(release, old) if partial else release)
        self.watcher.public_changed(self, actor, old, (release, base, fence))

    def set_files(self, files: str) -> None:
        if files != self.files:
            self.last_files, self.files = self.files, files
        self.ever_live.add(files)

    def _became(self, actor: Actor, trouble: str, record: str) -> Answer:
        found = self.deployments.get(record, "none")
        if trouble:
            return refuse("later", "host-unreachable")
        if found == "under way":
            return refuse("later", "deployment-under-way")
        return ("became", found == "failed")

    def _show(self, actor: Actor, trouble: str) -> Answer:
        return OK

    # --- the public and people --------------------------------------------------------------------------------------------------

    def _probe(self, actor: Actor, trouble: str, busted: bool) -> Answer:
        if trouble == "silent":
            return ("silent",)
        served = self.another_site if self.wrong_domain else self.files
        if trouble in STALE:
            mixed = self.contents.mixed(served, self.last_files, STALE[trouble])
            self.missed, served = mixed == served, mixed
        if busted:
            actor.probed = served
        return ("site", served, actor.skew)

    def _send(self, actor: Actor, trouble: str, name: str, recipient: str, text: str) -> Answer:
        if trouble == "lost request":
            return ("sent", "unknown", "timeout")
        if trouble == "refused":
            return ("sent", "refused", "smtp-550")
        if trouble == "silent":
            return ("sent", "refused", "timeout")
        self.delivered[name, recipient] += 1
        self.watcher.message(self, actor, name, text)
        return ("sent", "unknown", "no-answer") if trouble == "lost response" else ("sent", "sent", "smtp-250")

    def _alert(self, actor: Actor, trouble: str, notice: str, text: str) -> Answer:
        if trouble == "silent":
            return refuse("later", "alert-silent")
        self.watcher.alert(self, actor, notice, text)
        self.alerts[notice] += 1
        return refuse("later", "alert-silent") if trouble == "lost response" else OK

    # --- what comes late ----------------------------------------------------------------------------------------------------------

    def arrive(self, place: int = 0) -> None:
        """Something that was sent long ago arrives now, whatever became of its sender."""
        order = self.pending.pop(place)
        if order[0] == "push":
            self._take(*order[1:])
        else:
            code = self._carry_out(*order[1:6])
            if code:
                self.deployments[order[5]] = "failed"


@cache
def _nonce_of(rewinds: int, fence: int, count: int) -> str:
    return oid_of("nonce", rewinds, fence, count)[:32]


HANDLERS: dict[str, Callable[..., Answer]] = {
    "refresh": World._refresh, "push": World._push, "request": World._request, "nonce": World._nonce, "sleep": World._sleep,
    "look": World._look, "store": World._store, "raise": World._raise, "switch": World._switch, "became": World._became,
    "show": World._show, "probe": World._probe, "send": World._send, "alert": World._alert,
}  # fmt: skip
