"""What a run did, plan by plan, and what it ends with."""

from __future__ import annotations

from dataclasses import dataclass, field

from publisher.domain.handover import Handed
from publisher.engine.deciding import Decision
from publisher.engine.site_view import SiteView
from publisher.errors import EXIT_OK, Refusal, worst


@dataclass(kw_only=True)
class PlanOutcome:
    """What a run did for one plan, and where it stands now."""

    plan: str
    did: list[str] = field(default_factory=list)
    decision: Decision | None = None
    problem: Refusal | None = None

    @property
    def exit_code(self) -> int:
        if self.problem:
            return self.problem.exit_code
        return self.decision.exit_code if self.decision else EXIT_OK


@dataclass(kw_only=True)
class SiteOutcome:
    """A run of one site. ``problem`` is set when the site as a whole could not be run (busy, unreachable, no ledger).

    ``handed`` is what its build side made, by plan.
    """

    site: str
    plans: dict[str, PlanOutcome] = field(default_factory=dict)
    pushes: int = 0
    problem: Refusal | None = None
    view: SiteView | None = None
    handed: dict[str, Handed] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        codes = [outcome.exit_code for outcome in self.plans.values()]
        return worst([*codes, self.problem.exit_code] if self.problem else codes)
