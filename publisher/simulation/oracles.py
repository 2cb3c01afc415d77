"""The oracles: what must be true whatever happens, judged at the moment at which something becomes true.

They share no rule with the code that is judged: ledger lines are read as plain events and folded here once more, public texts are
recognised by the words in them, reviews come from the default branch's content. The first thing that is wrong ends the history.

    ledger-rewritten      the state branch moved to something that does not follow from its tip
    stale-holder-wrote    a record under a claim was written by somebody else than the last claim's holder
    claim-doubled         two claims of one epoch have the same number
    claim-shared          two actors pushed the same commit, and each takes it for its own
    not-approved          a deploy was intended, or switched, without a review that stands for exactly this payload
    approval-expired      ... or outside the window in which that review may be used
    too-early             ... or before its time
    while-paused          ... or on a ledger that says paused
    twice-intended        a deploy was intended while another of the site was open
    public-unintended     something became public that no record announced
    not-as-approved       what became public is not the base and the plan's approved texts, in order
    stale-switch          an older holder's switch changed a target that checks
    vanished              something public went away without an approved change, on a target that checks
    closed-and-public     a deploy was recorded as not happened, and its release became public all the same
    not-live              a deploy was recorded that never was live
    ledger-forgot         what is live was recorded as confirmed, and the ledger does not know it any more
    not-seen              a confirmation was recorded of something that its writer did not see complete
    told-otherwise        a record of an announcement differs from what the post office did
    told-twice            a reader got the same announcement twice
    said-twice            people on call were told again of what the ledger already said was told
    leaked                a draft's words stand where they must not
    crashed               production code ended with an error that is no refusal
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from publisher.domain.approval import Approval
from publisher.domain.ledger_events import Event
from publisher.domain.plan import Plan
from publisher.simulation import stage
from publisher.simulation.content import Contents
from publisher.simulation.world import Actor, Fence, World

WORDS = re.compile(rb"sentinel([0-9]+)v([0-9]+)")
TOLERANCE = timedelta(minutes=2, seconds=30)
PERSONS_WORD = "settled"
Articles = tuple[tuple[str, int], ...]


class Violation(AssertionError):
    """Something that must never be is so. ``oracle`` is one of the names above."""

    def __init__(self, oracle: str, says: str) -> None:
        super().__init__(f"{oracle}: {says}")
        self.oracle = oracle
        self.says = says


@dataclass(frozen=True, slots=True)
class Facts:
    """What the ledger says at one commit, as far as the oracles ask each time."""

    claim: tuple[int, str, int, str] = (0, "", 0, "")
    held: bool = False
    paused: bool = False
    open_intents: frozenset[str] = frozenset()
    last_release: str = ""
    notices: frozenset[str] = frozenset()
    leak: str = ""


@dataclass
class Oracles:
    """The oracles of one process; ``begin`` forgets what belongs to one history."""

    contents: Contents
    facts_at: dict[str, Facts] = field(default_factory=lambda: {"": Facts()})
    shown_at: dict[str, tuple[Articles, tuple[str, ...]]] = field(default_factory=dict)

    def begin(self) -> None:
        self.intents: dict[tuple[str, str], tuple[str, str]] = {}
        self.closed: set[str] = set()
        self.pushed: dict[str, Actor | None] = {}
        self.last_confirmed = ""
        self.claims: dict[tuple[int, str, int], tuple[str, int]] = {}
        self.intended_now: tuple[str, str] | None = None
        self.highest: Fence | None = None
        self.confirmed = self.takeovers = 0
        self.deployed = 0
        self.told_again: set[str] = set()

    # --- the ledger ---------------------------------------------------------------------------------------------------------------

    def facts(self, oid: str) -> Facts:
        """The fold at a commit, from its parent's."""
        found = self.facts_at.get(oid)
        if found is None:
            commit = self.contents.states[oid]
            found = self.facts(commit.parent)
            for path, event in commit.appended:
                found = _follow(found, path, event)
            self.facts_at[oid] = found
        return found

    def same_again(self, world: World, actor: Actor, commit: str) -> None:
        """The remote has this very commit already. Notices that two runs note in the same words are one record, and harmless."""
        known = self.contents.states.get(commit)
        under_claim = known is not None and any(event.claim is not None for _, event in known.appended)
        if under_claim and self.pushed.get(commit, actor) is not actor:
            raise Violation("claim-shared", f"{commit[:8]} was pushed by two")

    def state_moved(self, world: World, actor: Actor | None, old: str, new: str) -> None:
        self.pushed[new] = actor
        commit = self.contents.states[new]
        if commit.parent != old:
            raise Violation("ledger-rewritten", f"the tip went from {old[:8]} to a child of {commit.parent[:8]}")
        facts = self.facts(new)
        if facts.leak:
            raise Violation("leaked", facts.leak)
        by_person = any(event.type == PERSONS_WORD for _, event in commit.appended)
        for path, event in commit.appended:
            rule = RULES.get(event.type)
            if event.claim is not None and not by_person:
                self._require_holder(facts, actor, event)
            if rule:
                rule(self, world, actor, path, event, old)
        if len(facts.open_intents) > 1:
            raise Violation("twice-intended", f"{', '.join(sorted(facts.open_intents))} are open at once")

    def _require_holder(self, facts: Facts, actor: Actor | None, event: Event) -> None:
        if actor is None or facts.claim[3] not in actor.nonces or event.claim != facts.claim[2]:
            raise Violation("stale-holder-wrote", f"{event.type} under claim {event.claim}; the last is {facts.claim[2]}")

    def _claimed(self, world: World, actor: Actor, path: str, event: Event, old: str) -> None:
        fields = event.fields
        name = (fields["epoch"], fields["epoch_id"], fields["fence"])
        known = self.claims.get(name)
        if known and known[0] != fields["nonce"] and known[1] == world.rewinds:
            raise Violation("claim-doubled", f"claim {name[2]} of epoch {name[0]} was given to two")
        self.claims[name] = (fields["nonce"], world.rewinds)
        self.takeovers += self.facts(old).held
        world.claim_landed(fields["fence"])

    def _intended(self, world: World, actor: Actor, path: str, event: Event, old: str) -> None:
        facts = self.facts(old)
        if facts.paused:
            raise Violation("while-paused", f"a deploy of {path} was intended while the site was paused")
        self._require_approved(actor, path, datetime.fromisoformat(event.at))
        self.intents[event.fields["release"], event.fields["base"]] = (path, actor.seen_default)
        self.closed.discard(event.fields["release"])

    def _require_approved(self, actor: Actor, path: str, at: datetime | None) -> Plan:
        """A review of exactly the payload that stood on the default branch when the actor last looked; ``at`` its moment."""
        commit = self.contents.defaults[actor.seen_default]
        plan = commit.plans.get(path)
        if plan is None:
            raise Violation("not-approved", f"{path} is not on the default branch")
        found = [commit.verdicts.get((f"plans/{path}.yaml", plan.payload))]
        for name, gate in commit.gates.items():
            if gate.plan_payload == plan.payload:
                found.append(commit.verdicts.get((f"plans/{name}.yaml", gate.payload)))
        given = [item.merged_at for item in found if isinstance(item, Approval)]
        if not given:
            raise Violation("not-approved", f"nobody approved what {path} holds")
        if at is not None:
            if at < plan.publish_at:
                raise Violation("too-early", f"{path} is due at {plan.publish_at}, intended at {at}")
            if not any(
                max(merged, plan.publish_at) <= at < max(merged, plan.publish_at) + timedelta(hours=24) for merged in given
            ):
                raise Violation("approval-expired", f"{path} at {at}")
        return plan

    def _deployed(self, world: World, actor: Actor, path: str, event: Event, old: str) -> None:
        self.deployed += 1
        if event.fields["release"] not in world.ever_live:
            raise Violation("not-live", f"{path} is recorded as deployed ({event.fields['how']}) and never was")
        if event.fields["how"] == "switched" and world.kind == "joined" and self.facts(old).paused:
            raise Violation("while-paused", f"{path} was deployed while the site was paused")

    def _closed(self, world: World, actor: Actor, path: str, event: Event, old: str) -> None:
        plan = next((release for (release, _), (name, _) in reversed(self.intents.items()) if name == path), "")
        if plan and plan == world.files and plan != self.facts(old).last_release:
            raise Violation("closed-and-public", f"{path}'s release is live, its deploy is recorded as not happened")
        self.closed.add(plan)

    def _confirmed(self, world: World, actor: Actor, path: str, event: Event, old: str) -> None:
        self.confirmed += 1
        self.last_confirmed = event.fields["release"]
        if event.fields.get("how") == "settled":
            return
        if actor.probed != event.fields["release"]:
            raise Violation("not-seen", f"{path} is recorded as confirmed; its last look showed something else")

    def _told(self, world: World, actor: Actor, path: str, event: Event, old: str) -> None:
        for reader in stage.READERS:
            outcome = event.fields["results"].get(_pseudonym(reader))
            got = world.delivered[f"{path}/{event.fields['channel']}/{_pseudonym(reader)}", reader] > 0
            if (outcome == "sent" and not got) or (outcome == "refused" and got and path not in self.told_again):
                raise Violation("told-otherwise", f"{path} records {outcome}, the post office had {got}")

    # --- what is public -----------------------------------------------------------------------------------------------------------

    def switching(self, world: World, actor: Actor, release: str, base: str) -> None:
        """A switch is asked for: its intent is recorded, and what its actor saw last still allows it; or it is a repair."""
        self._require_intent(world, actor, release, base)
        known = self.intents.get((release, base))
        if known and actor.program[0] != "repair":
            self._require_approved(actor, known[0], None)
            if self.facts(actor.seen_state).paused:
                raise Violation("while-paused", f"{known[0]} was switched after its actor had seen the pause")

    def _require_intent(self, world: World, actor: Actor | None, release: str, base: str) -> None:
        if (release, base) not in self.intents and (actor is None or actor.program[0] != "repair"):
            raise Violation("public-unintended", f"a switch to {release[7:15]} from {base[7:15]} that no record announced")

    def public_changed(self, world: World, actor: Actor | None, old: str, intended: tuple[str, str, Fence]) -> None:
        release, base, fence = intended
        shown, _ = self.shown(release)
        if world.kind == "joined":
            # The record of this deploy is in the very push that moves the branch.
            commit = self.contents.states[world.state]
            found = next(((path, event) for path, event in commit.appended if event.type == "deployed"), None)
            if found and actor:
                self._require_approved(actor, found[0], datetime.fromisoformat(found[1].at))
                self.intents[release, base] = (found[0], actor.seen_default)
        self._require_intent(world, actor, release, base)
        if release in self.closed:
            raise Violation("closed-and-public", f"{release[7:15]} became public after its deploy was recorded as not happened")
        known = self.intents.get((release, base))
        if known and base in self.contents.public:
            plan = self.contents.defaults[known[1]].plans[known[0]]
            expected = after(self.shown(base)[0] if base else (), plan)
            if shown != expected:
                raise Violation("not-as-approved", f"{known[0]}: {shown} became public, {expected} was approved")
        if world.kind != "unconditional":
            self._require_order(world, old, release, base, fence)

    def _require_order(self, world: World, old: str, release: str, base: str, fence: Fence) -> None:
        if self.highest and (fence[0], fence[2]) < (self.highest[0], self.highest[2]):
            raise Violation("stale-switch", f"fence {fence[2]} switched after fence {self.highest[2]}")
        self.highest = fence
        if old not in (base, release):
            raise Violation("vanished", f"{old[7:15]} was live and was replaced by {release[7:15]}, built on {base[7:15]}")

    def shown(self, files: str) -> tuple[Articles, tuple[str, ...]]:
        """(articles with the version of their text, in the manifest's order; the withdrawn ones) of a set of public files."""
        found = self.shown_at.get(files)
        if found is None:
            found = self.shown_at[files] = _shown(self.contents, files)
        return found

    # --- people -------------------------------------------------------------------------------------------------------------------

    def message(self, world: World, actor: Actor, name: str, text: str) -> None:
        public = {(f"a-{number.decode():0>4}", int(version)) for number, version in WORDS.findall(text.encode())}
        # What a target lost since, or an older release hides, was public all the same.
        was_public = {item for files in world.ever_live if files for item in self.shown(files)[0]}
        if not public <= was_public and world.kind != "unconditional":
            raise Violation("leaked", f"{name} names what was never public")
        for (known, reader), count in world.delivered.items():
            if known == name and count > 1 and name.rsplit("/", 2)[0] not in self.told_again:
                raise Violation("told-twice", f"{reader} got {name} {count} times")

    def alert(self, world: World, actor: Actor, notice: str, text: str) -> None:
        if WORDS.search(f"{notice} {text}".encode()):
            raise Violation("leaked", f"the notice {notice} holds a draft's words")
        if notice in self.facts(actor.seen_state).notices:
            raise Violation("said-twice", f"{notice} was recorded as said when its actor looked")


def _follow(facts: Facts, path: str, event: Event) -> Facts:
    """One event further, as plain values."""
    from dataclasses import replace

    fields: Mapping[str, Any] = event.fields
    kind = str(event.type)
    if WORDS.search(json.dumps(dict(fields), default=str).encode()):
        facts = replace(facts, leak=f"the record {kind} of {path} holds a draft's words")
    if kind == "epoch":
        return replace(facts, claim=(fields["epoch"], fields["epoch_id"], 0, ""), held=False)
    if kind == "claimed":
        return replace(facts, claim=(fields["epoch"], fields["epoch_id"], fields["fence"], fields["nonce"]), held=True)
    if kind == "released":
        return replace(facts, held=False)
    if kind in ("paused", "resumed"):
        return replace(facts, paused=kind == "paused")
    if kind == "deploy-intent":
        return replace(facts, open_intents=facts.open_intents | {path})
    if kind == "deployed":
        return replace(facts, open_intents=facts.open_intents - {path}, last_release=fields["release"])
    if kind == "baseline":
        return replace(facts, last_release=fields["release"])
    if kind in ("deploy-closed", "restored") or (kind == "settled" and not fields["happened"]):
        return replace(facts, open_intents=facts.open_intents - {path})
    if kind == "noticed":
        return replace(facts, notices=facts.notices | {f"{path}/{fields['notice']}"})
    return facts


@cache
def _pseudonym(reader: str) -> str:
    import hashlib

    return "sha256:" + hashlib.sha256(reader.encode()).hexdigest()


def _shown(contents: Contents, files: str) -> tuple[Articles, tuple[str, ...]]:
    digests = contents.public[files]
    manifest = contents.bodies.get(digests.get(".well-known/publisher.json", ""), b'{"articles":[],"withdrawn":[]}')
    listed = json.loads(manifest)
    texts = []
    for item in listed["articles"]:
        page = contents.bodies.get(digests.get(f"{item['url'].strip('/')}/index.html", ""), b"")
        words = set(WORDS.findall(page))
        if len(words) == 1:
            number, version = words.pop()
            texts.append((f"a-{number.decode():0>4}", int(version)))
        else:
            texts.append((item["id"], -1))
    everywhere = {word for name in digests.values() for word in WORDS.findall(contents.bodies[name])}
    stray = {(f"a-{number.decode():0>4}", int(version)) for number, version in everywhere} - set(texts)
    return (*texts, *((name, -2) for name, _ in sorted(stray))), tuple(item["id"] for item in listed["withdrawn"])


def after(shown: Articles, plan: Plan) -> Articles:
    """What must be public once ``plan`` is, when ``shown`` was before."""
    texts = dict(shown)
    for item in plan.articles:
        name, version = stage.FINGERPRINTS[item.fingerprint]
        texts[name] = version
    for gone in plan.withdrawals:
        texts.pop(gone.id, None)
    return tuple(texts.items())


RULES: dict[str, Any] = {
    "claimed": Oracles._claimed, "deploy-intent": Oracles._intended, "deployed": Oracles._deployed,
    "deploy-closed": Oracles._closed, "confirmed": Oracles._confirmed, "announce-result": Oracles._told,
}  # fmt: skip
