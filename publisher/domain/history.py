"""What has happened to one plan: the fold of its ledger events.

Facts are kept apart (prepared, built, intended, deployed, confirmed, told), so that "half done" can be said. The states of the
tasks follow from the same events through the one transition table. Each approval names the steps that it is for, so that an
earlier revision's records keep the meaning they had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from publisher.domain.facts import Built, Deployed, Intent, Prepared, Request, Trouble, public_text_of
from publisher.domain.ledger_events import FIRST_PREV, Event, EventType
from publisher.domain.lines import Step, steps_of
from publisher.domain.tasks import CREATED, CREATED_NEEDS_GATE, IllegalTransition, Signal, State, move


@dataclass(frozen=True, kw_only=True)
class History:
    """The facts of one plan. ``payload`` is what the first record bound the key to ("" before any)."""

    kind: str
    steps: tuple[Step, ...]
    states: Mapping[str, State]
    events: int = 0
    chain: str = FIRST_PREV
    last_at: str = ""
    payload: str = ""
    commit: str = ""
    approvals: tuple[Mapping[str, Any], ...] = ()
    requests: tuple[Request, ...] = ()
    rejected: tuple[str, ...] = ()
    prepared: Prepared | None = None
    built: Built | None = None
    intent: Intent | None = None
    deployed: Deployed | None = None
    confirmed: str = ""
    urls: tuple[str, ...] = ()
    told: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    telling: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed: Trouble | None = None
    unknown: Trouble | None = None
    canceled: bool = False
    notices: tuple[str, ...] = ()
    attempt: int = 1
    takedown: Mapping[str, str] | None = None
    """Each step of an opened takedown with its outcome, "" while it has none."""
    revisions: tuple[tuple[str, str], ...] = ()
    refused_revisions: tuple[str, ...] = ()

    @property
    def is_public(self) -> bool:
        """Deployed by a run, or found public by a restore, which records no deploy."""
        return self.deployed is not None or bool(self.confirmed)

    @property
    def over(self) -> bool:
        """Nothing remains to be done: every step succeeded, or the plan is canceled."""
        return self.canceled or all(state is State.SUCCEEDED for state in self.states.values())

    @property
    def next_step(self) -> Step | None:
        """The first step that has not succeeded; None when all have."""
        return next((step for step in self.steps if self.states[step.name] is not State.SUCCEEDED), None)

    @property
    def stage(self) -> str:
        """The word of the last succeeded step, or "" before the first; ``canceled`` for good."""
        if self.canceled:
            return "canceled"
        done = [step.word for step in self.steps if self.states[step.name] is State.SUCCEEDED]
        return done[-1] if done else ""


RECORD_LOST = "record-lost"
"""Why a step is unknown after a restore."""
FIELDS = frozenset(item.name for item in fields(History))

# Which step of a line an event completes or begins. On the launch line one step covers deploying and confirming.
COMPLETES: dict[EventType, dict[str, str]] = {
    EventType.PREPARED: {"publication": "prepare", "change": "prepare"},
    EventType.BUILT: {"publication": "build", "change": "build", "launch": "build"},
    EventType.DEPLOYED: {"publication": "deploy", "change": "deploy"},
    EventType.CONFIRMED: {"publication": "confirm", "change": "confirm", "launch": "release"},
    EventType.ANNOUNCED: {"publication": "announce"},
}
BEGINS: dict[EventType, dict[str, str]] = {
    EventType.DEPLOY_INTENT: {"publication": "deploy", "change": "deploy", "launch": "release"},
    EventType.ANNOUNCE_INTENT: {"publication": "announce"},
}


def deploy_step(kind: str) -> str:
    """The step of a line that makes a release public."""
    return BEGINS[EventType.DEPLOY_INTENT][kind]


def unwritten(kind: str, steps: tuple[Step, ...]) -> History:
    """The history of a plan without records."""
    states = {step.name: CREATED_NEEDS_GATE if step.gate else CREATED for step in steps}
    return History(kind=kind, steps=steps, states=states)


def with_steps(history: History, steps: tuple[Step, ...]) -> History:
    """The history of a plan that goes through these steps: those it had keep their states."""
    fresh = unwritten(history.kind, steps).states
    return _with(history, steps=steps, states={name: history.states.get(name, state) for name, state in fresh.items()})


def apply(history: History, event: Event) -> History:
    """One event further. ``IllegalTransition`` when it does not follow from those before."""
    history = _with(history, events=event.n, chain=event.line_digest, last_at=event.at)
    rule = FACTS.get(event.type)
    if rule:
        history = rule(history, event)
    return _signal_steps(history, event)


def _with(history: History, **facts: Any) -> History:
    """A copy with some facts changed.

    ``dataclasses.replace`` would call the constructor of all fields for each of the tens of thousands of records of ten years.
    """
    assert facts.keys() <= FIELDS, "a fact that a history does not have"
    copy = object.__new__(History)
    copy.__dict__.update(history.__dict__, **facts)
    return copy


def _signal_steps(history: History, event: Event) -> History:
    begun = BEGINS.get(event.type, {}).get(history.kind, "")
    if begun in history.states:
        _require_turn(history, begun)
        history = _running(history, begun)
    done = COMPLETES.get(event.type, {}).get(history.kind, "")
    if done in history.states and history.states[done] is not State.SUCCEEDED:
        _require_turn(history, done)
        history = _signal(_running(history, done), done, Signal.EVIDENCE_COMPLETE)
    return history


def _require_turn(history: History, step: str) -> None:
    """Nothing begins or succeeds before every step above it has succeeded."""
    names = list(history.states)
    for name in names[: names.index(step)]:
        if history.states[name] is not State.SUCCEEDED:
            raise IllegalTransition(f"{step} has a record while {name} is {history.states[name]}")


def _state(history: History, step: str) -> State:
    if step not in history.states:
        raise IllegalTransition(f"this line has no step {step}")
    return history.states[step]


def _signal(history: History, step: str, signal: Signal) -> History:
    return _with(history, states={**history.states, step: move(_state(history, step), signal)})


def _running(history: History, step: str) -> History:
    """Picked up, if it was not already: a short step's pick-up and result are one record."""
    if _state(history, step) is State.BLOCKED:
        history = _signal(history, step, Signal.APPROVED)
    return history if _state(history, step) is State.RUNNING else _signal(history, step, Signal.PICKED_UP)


def _approved(history: History, event: Event) -> History:
    gate = event.fields.get("gate", "plan")
    if gate == "plan" and event.fields.get("steps"):
        history = with_steps(history, steps_of(history.kind, tuple(event.fields["steps"])))
    for step in history.steps:
        if step.gate == gate and history.states[step.name] is State.BLOCKED:
            history = _signal(history, step.name, Signal.APPROVED)
    if gate == "plan":
        history = _with(history, payload=event.fields["plan_payload"], commit=event.fields["plan_commit"])
    return _with(history, approvals=(*history.approvals, event.fields))


def _rejected(history: History, event: Event) -> History:
    return _end(_with(history, rejected=(*history.rejected, event.fields["payload"])), Signal.REJECTED)


def _end(history: History, signal: Signal) -> History:
    states = {
        name: move(state, signal) if state in (State.BLOCKED, State.QUEUED, State.FAILED) else state
        for name, state in history.states.items()
    }
    return _with(history, states=states, canceled=True, failed=None)


def _revised(history: History, event: Event) -> History:
    """A revision has tasks of its own: nothing prepared or approved for the old payload stands for the new one."""
    fresh = unwritten(history.kind, history.steps)
    return _with(
        fresh, events=history.events, chain=history.chain, last_at=history.last_at, payload=event.fields["to"],
        notices=history.notices, revisions=(*history.revisions, (event.fields["from"], event.fields["to"])),
        refused_revisions=history.refused_revisions, rejected=history.rejected,
    )  # fmt: skip


def _revision_refused(history: History, event: Event) -> History:
    return _with(history, refused_revisions=(*history.refused_revisions, event.fields["to"]))


def _requested(history: History, event: Event) -> History:
    names = ("gate", "number", "request", "path", "payload")
    request = Request(**{name: event.fields[name] for name in names})
    return _with(history, requests=(*history.requests, request))


def _prepared(history: History, event: Event) -> History:
    fields = event.fields
    puts = tuple(public_text_of(item, event.fields.get("plan", "")) for item in fields.get("puts", ()))
    prepared = Prepared(
        payload=fields["payload"], puts=puts, withdraws=tuple(fields.get("withdraws", ())),
        hides=tuple(fields.get("hides", ())), reverts=tuple(fields.get("reverts", ())),
    )  # fmt: skip
    return _with(history, prepared=prepared)


def _built(history: History, event: Event) -> History:
    return _with(history, built=Built(**{name: event.fields[name] for name in ("release", "base", "presentation", "files")}))


def _intent(history: History, event: Event) -> History:
    if history.intent:
        raise IllegalTransition("a deploy is intended while the outcome of another is open")
    names = ("deployment", "release", "base")
    intent = Intent(**{name: event.fields[name] for name in names}, fence=event.claim or 0, at=event.at)
    return _with(history, intent=intent)


def _deployed(history: History, event: Event) -> History:
    names = ("deployment", "release", "base", "how")
    return _with(history, deployed=Deployed(**{name: event.fields[name] for name in names}, at=event.at), intent=None)


def _deploy_closed(history: History, event: Event) -> History:
    step = deploy_step(history.kind)
    history = _with(history, intent=None)
    return _signal(history, step, Signal.HEARTBEAT_LOST) if history.states[step] is State.RUNNING else history


def _confirmed(history: History, event: Event) -> History:
    return _with(history, confirmed=event.fields["release"], urls=tuple(event.fields["urls"]), unknown=None)


def _announce_intent(history: History, event: Event) -> History:
    return _with(history, telling={**history.telling, event.fields["channel"]: tuple(event.fields["to"])})


def _announce_result(history: History, event: Event) -> History:
    channel = event.fields["channel"]
    results = {**history.told.get(channel, {}), **event.fields["results"]}
    telling = {name: to for name, to in history.telling.items() if name != channel}
    return _with(history, told={**history.told, channel: results}, telling=telling)


def _failed(history: History, event: Event) -> History:
    trouble = Trouble(step=event.fields["step"], code=event.fields["code"], at=event.at)
    history = _signal(_running(history, trouble.step), trouble.step, Signal.FAILED)
    return _with(history, failed=trouble)


def _unknown(history: History, event: Event) -> History:
    pages = event.fields.get("pages", {})
    trouble = Trouble(step=event.fields["step"], code=event.fields["code"], at=event.at, pages=pages)
    return _with(_running(history, trouble.step), unknown=trouble)


def _retried(history: History, event: Event) -> History:
    history = _signal(history, event.fields["step"], Signal.RETRIED)
    return _with(history, failed=None, attempt=history.attempt + 1)


def _settled(history: History, event: Event) -> History:
    step, happened = event.fields["step"], event.fields["happened"]
    if history.unknown is None or history.unknown.step != step:
        raise IllegalTransition(f"{step} is settled and was not unknown")
    lost = history.unknown.code == RECORD_LOST
    history = _with(history, unknown=None)
    if happened and lost:
        # Its fact stood in the ledger that was lost, under a claim that nobody knows: the person's word is all there is.
        return _signal(history, step, Signal.EVIDENCE_COMPLETE)
    if happened:
        # The fact that goes with it (deployed, confirmed, announced) is its own record beside this one.
        return history
    history = _signal(history, step, Signal.SETTLED_DID_NOT)
    telling, told = history.telling, history.told
    if step == "announce":
        # A person says that they did not arrive: whoever was unknown may be told once more, after a retry.
        telling = {}
        told = {name: {to: end for to, end in ends.items() if end != "unknown"} for name, ends in told.items()}
    failed = Trouble(step=step, code="settled-did-not-happen", at=event.at)
    return _with(history, intent=None, telling=telling, told=told, failed=failed)


def _restored(history: History, event: Event) -> History:
    """Found public by a restore: the facts stand in the site's baseline, and every step counts as done.

    The steps in ``unknown`` leave no public trace: whether they were done stood in the ledger alone, and a person settles it.
    """
    states = dict.fromkeys(history.states, State.SUCCEEDED)
    lost = next((step for step in event.fields.get("unknown", ()) if step in states), "")
    unknown = Trouble(step=lost, code=RECORD_LOST, at=event.at) if lost else None
    if lost:
        states[lost] = State.RUNNING
    return _with(
        history, states=states, payload=event.fields["payload"], confirmed=event.fields["release"],
        urls=tuple(event.fields["urls"]), intent=None, unknown=unknown, failed=None, telling={}, prepared=None, deployed=None,
    )  # fmt: skip


def _takedown(history: History, event: Event) -> History:
    if not history.confirmed:
        raise IllegalTransition("a takedown begins when the withdrawal is confirmed")
    known = history.takedown or {}
    return _with(history, takedown={risk: known.get(risk, "") for risk in event.fields["risks"]})


def _followed_up(history: History, event: Event) -> History:
    risk = event.fields["risk"]
    if risk not in (history.takedown or {}):
        raise IllegalTransition("a step is followed up that no takedown has")
    return _with(history, takedown={**(history.takedown or {}), risk: event.fields["outcome"]})


def _noticed(history: History, event: Event) -> History:
    return _with(history, notices=(*history.notices, event.fields["notice"]))


FACTS: dict[EventType, Callable[[History, Event], History]] = {
    EventType.APPROVED: _approved,
    EventType.REJECTED: _rejected,
    EventType.CANCELED: lambda history, _: _end(history, Signal.CANCELED),
    EventType.REVISED: _revised,
    EventType.REVISION_REFUSED: _revision_refused,
    EventType.REQUESTED: _requested,
    EventType.PREPARED: _prepared,
    EventType.BUILT: _built,
    EventType.DEPLOY_INTENT: _intent,
    EventType.DEPLOYED: _deployed,
    EventType.DEPLOY_CLOSED: _deploy_closed,
    EventType.CONFIRMED: _confirmed,
    EventType.ANNOUNCE_INTENT: _announce_intent,
    EventType.ANNOUNCE_RESULT: _announce_result,
    EventType.FAILED: _failed,
    EventType.UNKNOWN: _unknown,
    EventType.RETRIED: _retried,
    EventType.SETTLED: _settled,
    EventType.TAKEDOWN: _takedown,
    EventType.FOLLOWED_UP: _followed_up,
    EventType.NOTICED: _noticed,
    EventType.RESTORED: _restored,
}
