"""The two sides of a run that is divided: one reads drafts and never deploys, the other deploys and never reads a draft.

``build``: everything up to the release that would be deployed, requests and records of decisions; what it makes of each plan that
is ready is handed over. ``deploy``: from the deploy on, and whatever was begun outside and has no known end.
"""

from __future__ import annotations

from enum import StrEnum

from publisher.domain.history import History, deploy_step
from publisher.engine.deciding import Act, Decision


class Side(StrEnum):
    """``WHOLE`` is a run that is not divided."""

    WHOLE = ""
    BUILD = "build"
    DEPLOY = "deploy"


OUTSIDE = frozenset({Act.RECONCILE, Act.LOOK_AGAIN, Act.CLOSE_TELLING})
"""Acts about what was begun at the target or a channel."""


def is_of(side: Side, decision: Decision, history: History) -> bool:
    """Whether a decision's act is this side's. The deploy's own is both: one side makes the release, the other deploys it."""
    if side is Side.WHOLE:
        return True
    if decision.act in OUTSIDE:
        return side is Side.DEPLOY
    if decision.act is not Act.WORK:
        return side is Side.BUILD
    names = [step.name for step in history.steps]
    place, deploy = names.index(decision.step), names.index(deploy_step(history.kind))
    return place <= deploy if side is Side.BUILD else place >= deploy


def hands_over(side: Side, decision: Decision, history: History) -> bool:
    """Whether a decision's work ends, on this side, with a release to hand over."""
    return side is Side.BUILD and decision.act is Act.WORK and decision.step == deploy_step(history.kind)
