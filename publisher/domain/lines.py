"""The lines as tables: which steps a kind of plan goes through, in order.

A step may run unattended only if its result is reversible, a second run has no second side effect, and one command can prove
success: the columns ``reversible``, ``repeatable`` and ``proof``. Five actions always need a person (``PERSONS_ACTIONS``).
Risk stands here, in code; a plan cannot lower it, and a step that this table does not know is high risk.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Risk(StrEnum):
    LOW = "low"
    HIGH = "high"


class Grain(StrEnum):
    """What makes two runs of a step the same task: the identity that its idempotency key is built from."""

    SITE_DOMAIN = "site+domain"
    SITE_DAY = "site+day"
    SITE_CONTENT = "site+content"
    SITE_RELEASE = "site+release"
    SITE_WEEK = "site+iso-week"
    SITE_CHANNEL_WEEK = "site+channel+iso-week"
    SITE_TICKET = "site+ticket"
    PLAN = "plan"
    PLAN_CHANNEL = "plan+channel"


class Action(StrEnum):
    """The five actions that always need a person."""

    RELEASE = "release to production"
    PURCHASE = "buy a domain"
    BUDGET = "exceed a budget"
    BULK_DELETION = "bulk deletion"
    SEND = "send something outside"


PERSONS_ACTIONS = frozenset(Action)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One row of a line.

    ``word`` is the stage a plan has reached once the step succeeded. ``action`` names which of the five it performs, if any.
    ``gate`` is the request a person decides before it; on the publication and change lines the plan's own approval, whose
    payload names exactly this outcome, is that decision (gate "plan").
    """

    name: str
    word: str
    risk: Risk
    gate: str = ""
    action: Action | None = None
    grain: Grain
    reversible: bool
    repeatable: bool
    proof: str


def unattended(step: Step) -> bool:
    """Whether the step may run without a person having decided its gate."""
    return step.risk is Risk.LOW and step.reversible and step.repeatable and bool(step.proof)


_PREPARE = Step(
    name="prepare", word="prepared", risk=Risk.LOW, gate="plan", grain=Grain.PLAN, reversible=True, repeatable=True,
    proof="publisher audit",
)  # fmt: skip
_BUILD = Step(
    name="build", word="built", risk=Risk.LOW, gate="plan", grain=Grain.SITE_CONTENT, reversible=True, repeatable=True,
    proof="publisher audit",
)  # fmt: skip
_DEPLOY = Step(
    name="deploy", word="deployed", risk=Risk.HIGH, gate="plan", action=Action.RELEASE, grain=Grain.SITE_RELEASE,
    reversible=True, repeatable=True, proof="publisher reconcile",
)  # fmt: skip
_CONFIRM = Step(
    name="confirm", word="confirmed", risk=Risk.LOW, grain=Grain.SITE_RELEASE, reversible=True, repeatable=True,
    proof="publisher reconcile",
)  # fmt: skip
_ANNOUNCE = Step(
    name="announce", word="announced", risk=Risk.HIGH, gate="plan", action=Action.SEND, grain=Grain.PLAN_CHANNEL,
    reversible=False, repeatable=False, proof="publisher log",
)  # fmt: skip

PUBLICATION = (_PREPARE, _BUILD, _DEPLOY, _CONFIRM, _ANNOUNCE)

# A correction is never announced again, and a withdrawal never is.
CHANGE = (_PREPARE, _BUILD, _DEPLOY, _CONFIRM)

LAUNCH = (
    Step(name="domain-check", word="domain-checked", risk=Risk.LOW, grain=Grain.SITE_DOMAIN,
         reversible=True, repeatable=True, proof="publisher log"),
    Step(name="register", word="registered", risk=Risk.HIGH, gate="G1", action=Action.PURCHASE, grain=Grain.SITE_DOMAIN,
         reversible=False, repeatable=False, proof="publisher log"),
    Step(name="allocate", word="allocated", risk=Risk.LOW, gate="G2", action=Action.BUDGET, grain=Grain.SITE_DAY,
         reversible=True, repeatable=True, proof="publisher log"),
    Step(name="initialise", word="initialised", risk=Risk.LOW, grain=Grain.SITE_DAY,
         reversible=True, repeatable=True, proof="publisher log"),
    Step(name="build", word="built", risk=Risk.LOW, gate="plan", grain=Grain.SITE_CONTENT,
         reversible=True, repeatable=True, proof="publisher audit"),
    Step(name="release", word="released", risk=Risk.HIGH, gate="G3", action=Action.RELEASE, grain=Grain.SITE_RELEASE,
         reversible=True, repeatable=True, proof="publisher reconcile"),
    Step(name="submit", word="submitted", risk=Risk.LOW, grain=Grain.SITE_DAY,
         reversible=True, repeatable=True, proof="publisher log"),
    Step(name="daily", word="scheduled", risk=Risk.LOW, grain=Grain.SITE_DAY,
         reversible=True, repeatable=True, proof="publisher log"),
    Step(name="tune", word="tuned", risk=Risk.LOW, grain=Grain.SITE_WEEK,
         reversible=True, repeatable=True, proof="publisher log"),
    Step(name="outreach", word="sent", risk=Risk.HIGH, gate="G4", action=Action.SEND, grain=Grain.SITE_CHANNEL_WEEK,
         reversible=False, repeatable=False, proof="publisher log"),
    Step(name="health", word="checked", risk=Risk.LOW, grain=Grain.SITE_DAY,
         reversible=True, repeatable=True, proof="publisher log"),
    Step(name="replies", word="replied", risk=Risk.LOW, grain=Grain.SITE_TICKET,
         reversible=True, repeatable=True, proof="publisher log"),
    Step(name="competitors", word="reviewed", risk=Risk.LOW, grain=Grain.SITE_WEEK,
         reversible=True, repeatable=True, proof="publisher log"),
)  # fmt: skip

LINES: dict[str, tuple[Step, ...]] = {"publication": PUBLICATION, "change": CHANGE, "launch": LAUNCH}

# A kind of step that no table lists: whatever it claims to be, a person decides.
UNKNOWN_STEP = Step(
    name="unknown",
    word="unknown",
    risk=Risk.HIGH,
    gate="plan",
    grain=Grain.PLAN,
    reversible=False,
    repeatable=False,
    proof="",
)


def steps_of(kind: str, chosen: tuple[str, ...] = ()) -> tuple[Step, ...]:
    """The rows a plan goes through, in the line's order. ``chosen`` limits a launch to the named steps.

    Raises ``ValueError`` for a kind without a line, an unknown step, steps out of the line's order, or a release of nothing built.
    """
    if kind not in LINES:
        raise ValueError("no line for this kind of plan")
    line = LINES[kind]
    if not chosen:
        return line
    order = [step.name for step in line]
    if any(name not in order for name in chosen):
        raise ValueError("a step that this line does not have")
    if list(chosen) != sorted(set(chosen), key=order.index):
        raise ValueError("steps stand once each, in the line's order")
    if "release" in chosen and "build" not in chosen:
        raise ValueError("a release has a build before it")
    return tuple(step for step in line if step.name in chosen)


def find(kind: str, name: str) -> Step:
    """The row of a step; ``UNKNOWN_STEP`` (high risk) when the line has none of that name."""
    return next((step for step in LINES.get(kind, ()) if step.name == name), UNKNOWN_STEP)
