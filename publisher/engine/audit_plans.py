"""The audit of one plan's records, in order: what was approved, prepared, built, deployed and confirmed, and when.

Rules:
* texts are prepared, and a release is built, only for a payload whose approval was recorded before;
* a deploy begins inside the window of the approval it needs (a launch: of gate G3 for exactly this release), under the rules in
  force where it was decided, on a commit that already holds that approval;
* intent, build and observation name the same release, base and number;
* public is confirmed only after a deploy, and announced only after that, to no more recipients than the payload names, and to
  none again to whom it was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from publisher.domain.approval import Approval, Standing, Subject, window
from publisher.domain.business_calendar import for_people, parse_instant, parse_zone
from publisher.domain.facts import Prepared
from publisher.domain.fingerprint import short
from publisher.domain.gates import PLAN_GATE
from publisher.domain.history import History, apply, deploy_step, unwritten
from publisher.domain.ledger_events import Event, EventType
from publisher.domain.lines import find, steps_of
from publisher.domain.plan import Plan
from publisher.engine.audit_approvals import Approvals, Proof
from publisher.engine.audit_findings import Findings, line
from publisher.engine.audit_ledger import CLOCKS_APART, recorded_text
from publisher.engine.site_view import kind_of
from publisher.ports import ReadsRepository


@dataclass(frozen=True, kw_only=True)
class Texts:
    """A ``prepared`` record, with the plan and commit that it was made from (None where these are not proven)."""

    path: str
    event: Event
    prepared: Prepared
    plan: Plan | None
    commit: str


@dataclass(frozen=True, kw_only=True)
class Deploy:
    """A ``deployed`` record with everything it rests on. ``proofs`` are the approvals in whose window it began."""

    event: Event
    texts: Texts | None
    built: Event | None
    proofs: tuple[Proof, ...]


@dataclass(frozen=True, kw_only=True)
class Restored:
    """A plan that a restore found public, with the approval that its own merge still proves."""

    event: Event
    plan: Plan
    approval: Approval


@dataclass(kw_only=True)
class PlanRecord:
    """What the audit learnt of one plan. ``intent`` is a deploy that has no recorded outcome yet."""

    path: str
    kind: str
    texts: list[Texts] = field(default_factory=list)
    deploy: Deploy | None = None
    confirmed: Event | None = None
    restored: Restored | None = None
    intent: Event | None = None


def check_plan(path: str, events: Sequence[Event], approvals: Approvals, reads: ReadsRepository, found: Findings) -> PlanRecord:
    """Goes through a plan's records; problems are found, and the reading goes on."""
    reading = _Reading(path, approvals, reads, found)
    for event in events:
        with found.reading(line(path, event.n)):
            reading.take(event)
    _check_states(path, events, reading.plan, found)
    return reading.record


def _check_states(path: str, events: Sequence[Event], plan: Plan | None, found: Findings) -> None:
    """That the events follow the table of states."""
    kind = str(kind_of(path))
    named = [event.fields.get("steps", ()) for event in events if event.type is EventType.APPROVED]
    steps = steps_of(kind)
    with found.reading(f"ledger/{path}.jsonl"):
        steps = plan.steps if plan else steps_of(kind, tuple(named[-1]) if named else ())
    history: History | None = unwritten(kind, steps)
    for event in events:
        before, history = history, None
        with found.reading(line(path, event.n)):
            history = apply(before, event) if before else None
        if history is None:
            return


class _Reading:
    """The state of reading one plan's file."""

    def __init__(self, path: str, approvals: Approvals, reads: ReadsRepository, found: Findings) -> None:
        self._path = path
        self._approvals = approvals
        self._reads = reads
        self._found = found
        self._proofs: list[Proof] = []
        self._built: Event | None = None
        self._intent: Event | None = None
        self._under: tuple[Proof, ...] = ()
        self._told: dict[str, set[str]] = {}
        self._sent: dict[str, set[str]] = {}
        self.plan: Plan | None = None
        self.record = PlanRecord(path=path, kind=str(kind_of(path)))
        self._rules: dict[EventType, Callable[[Event], None]] = {
            EventType.APPROVED: self._approved,
            EventType.REVISED: self._revised,
            EventType.PREPARED: self._prepared,
            EventType.BUILT: self._build,
            EventType.DEPLOY_INTENT: self._begun,
            EventType.DEPLOY_CLOSED: self._closed,
            EventType.SETTLED: self._settled,
            EventType.DEPLOYED: self._deployed,
            EventType.CONFIRMED: self._confirmed,
            EventType.ANNOUNCE_INTENT: self._announcing,
            EventType.ANNOUNCE_RESULT: self._announced,
            EventType.RESTORED: self._restored,
        }

    def take(self, event: Event) -> None:
        rule = self._rules.get(event.type)
        if rule:
            rule(event)

    def _problem(self, code: str, event: Event, says: str) -> None:
        self._found.problem(code, line(self._path, event.n), says)

    def _approved(self, event: Event) -> None:
        proof = self._approvals.prove(self._path, event)
        self._proofs.append(proof)
        self.plan = proof.plan or self.plan

    def _revised(self, event: Event) -> None:
        self._proofs, self._built, self._intent = [], None, None
        self.plan = None

    # --- prepared and built -------------------------------------------------------------------------------------------------

    def _prepared(self, event: Event) -> None:
        fields = event.fields
        if fields["plan"] != self._path:
            self._problem("prepared-differs", event, "the record names another plan than its file")
        prepared = Prepared(
            payload=fields["payload"], puts=tuple(recorded_text(item, self._path) for item in fields["puts"]),
            withdraws=tuple(fields["withdraws"]), hides=tuple(fields["hides"]), reverts=tuple(fields["reverts"]),
        )  # fmt: skip
        proofs = self._for_payload(prepared.payload)
        if not proofs:
            self._problem("not-approved", event, f"no approval of payload {short(prepared.payload)} is recorded before this")
        last = next((proof for proof in reversed(proofs) if proof.plan), None)
        texts = Texts(
            path=self._path,
            event=event,
            prepared=prepared,
            plan=last.plan if last else None,
            commit=last.commit if last else "",
        )
        self.record.texts.append(texts)

    def _for_payload(self, payload: str) -> list[Proof]:
        return [proof for proof in self._proofs if proof.gate == PLAN_GATE and proof.plan_payload == payload]

    def _build(self, event: Event) -> None:
        if not self.record.texts:
            self._problem("not-prepared", event, "a release was built before anything was prepared")
        self._built = event

    # --- deploying ------------------------------------------------------------------------------------------------------------

    def _begun(self, event: Event) -> None:
        self._require_built(event)
        self._under = self._authorise(event)
        self._intent = self.record.intent = event

    def _closed(self, event: Event) -> None:
        self._intent = self.record.intent = None

    def _settled(self, event: Event) -> None:
        if event.fields["step"] == deploy_step(self.record.kind) and not event.fields["happened"]:
            self._intent = self.record.intent = None

    def _deployed(self, event: Event) -> None:
        if self.record.deploy:
            self._problem("deployed-twice", event, "this plan was deployed before")
            return
        if self._intent is None:
            self._require_built(event)
            self._under = self._authorise(event)
        elif not _as_intended(event.fields, self._intent.fields):
            self._problem("deployed-differs", event, "number, release or base are not those that were intended")
        self.record.deploy = Deploy(
            event=event, texts=self.record.texts[-1] if self.record.texts else None, built=self._built, proofs=self._under
        )
        self._intent = self.record.intent = None

    def _require_built(self, event: Event) -> None:
        built = self._built
        wanted = (event.fields["release"], event.fields["base"])
        if built is None or (built.fields["release"], built.fields["base"]) != wanted:
            says = f"release {short(wanted[0])} was not recorded as built on {short(wanted[1]) or 'nothing'} before this"
            self._problem("release-not-built", event, says)

    def _authorise(self, event: Event) -> tuple[Proof, ...]:
        """The approvals that a deploy rests on; problems when there are none, or none was valid then."""
        payload = self.record.texts[-1].prepared.payload if self.record.texts else ""
        plan_proofs = self._for_payload(payload)
        gate = find(self.record.kind, deploy_step(self.record.kind)).gate
        deciding = plan_proofs if gate == PLAN_GATE else self._for_release(gate, payload, event.fields["release"])
        if not plan_proofs:
            self._problem("not-approved", event, "no approval of what was prepared is recorded before this deploy")
        elif not deciding:
            self._problem("gate-not-approved", event, f"gate {gate} was not approved for this release before it was deployed")
        if not self._approvals.on_default(event.commit):
            self._problem(
                "decided-elsewhere", event, "this deploy was decided on a commit that the default branch does not have"
            )
            return ()
        proven = [proof for proof in deciding if proof.approval and proof.plan]
        valid = next((proof for proof in reversed(proven) if self._is_valid(proof, event)), None)
        if proven and valid is None:
            at = for_people(parse_instant(event.at), parse_zone("UTC"))
            self._problem("outside-window", event, f"no approval could be used at {at}, when this deploy began")
        if valid is None:
            return ()
        return (valid,) if gate == PLAN_GATE else (*plan_proofs[-1:], valid)

    def _for_release(self, gate: str, payload: str, release: str) -> list[Proof]:
        same = [proof for proof in self._proofs if proof.gate == gate and proof.plan_payload == payload]
        return [proof for proof in same if proof.subject == release]

    def _is_valid(self, proof: Proof, event: Event) -> bool:
        assert proof.approval is not None
        assert proof.plan is not None
        if not self._approvals.contains(proof.approval.merge, event.commit):
            return False
        allowed = window(proof.approval.merged_at, proof.plan.publish_at, self._approvals.rules(event.commit))
        at = parse_instant(event.at)
        # The decision comes a moment before its record, never after it.
        return at >= allowed.opens and Standing.VALID in (allowed.standing(at), allowed.standing(at - CLOCKS_APART))

    # --- afterwards -----------------------------------------------------------------------------------------------------------

    def _confirmed(self, event: Event) -> None:
        if self.record.deploy is None:
            self._problem("confirmed-not-deployed", event, "public is confirmed of a plan whose deploy is not recorded")
        self.record.confirmed = event

    def _announcing(self, event: Event) -> None:
        channel, to = event.fields["channel"], {str(name) for name in event.fields["to"]}
        told = self._told.setdefault(channel, set())
        told |= to
        if self.record.confirmed is None:
            self._problem("announced-not-confirmed", event, "this was announced before it was confirmed in public")
        if to & self._sent.get(channel, set()):
            self._problem("announced-twice", event, "recipients whom a record says it was sent to were to be told once more")
        if self.plan:
            allowed = self.plan.announce
            if allowed is None or channel not in allowed.channels or len(told) > allowed.at_most:
                self._problem("announced-beyond-approval", event, "the payload does not name this channel, or fewer recipients")

    def _announced(self, event: Event) -> None:
        sent = {str(name) for name, outcome in event.fields["results"].items() if outcome == "sent"}
        self._sent.setdefault(event.fields["channel"], set()).update(sent)

    def _restored(self, event: Event) -> None:
        """Found public by a restore: the plan's own merge must still approve it."""
        merge = self._reads.last_change(event.commit, f"plans/{self._path}.yaml")
        plan = self._reads.plan(merge, self._path) if merge else None
        if plan is None or plan.payload != event.fields["payload"]:
            self._problem("plan-differs", event, f"payload {short(event.fields['payload'])} is not the plan's")
            return
        subject = Subject(path=f"plans/{self._path}.yaml", payload=plan.payload, revision=plan.revision)
        approval = self._approvals.derive(merge, subject, line(self._path, event.n))
        if approval:
            self.record.restored = Restored(event=event, plan=plan, approval=approval)
        self._intent = self.record.intent = None
        self.plan = plan


def _as_intended(done: Mapping[str, Any], intent: Mapping[str, Any]) -> bool:
    """The same release on the same base. Its number may be higher: a restore in between takes the next one for its baseline."""
    same = (done["release"], done["base"]) == (intent["release"], intent["base"])
    return bool(same and done["deployment"] >= intent["deployment"])
