"""What a plan's key is bound to, and whether the file at the default branch follows from that.

Rules:
* before any record, the key is bound by what was merged first: only a numbered revision of that follows it;
* from the first record on, it is bound to the payload that the ledger names;
* where a revision was recorded and its file changed again before any approval, only the hash of what is bound is known.
"""

from __future__ import annotations

from publisher.domain.plan import Conflict, Plan, check_succession
from publisher.engine.site_view import PlanView


def check_successor(view: PlanView, found: Plan) -> None:
    """Returns for the payload that the key is bound to and for its proper revision; ``Conflict`` for anything else."""
    bound = view.history.payload
    if not bound:
        if view.before:
            check_succession(view.before, found)
    elif view.plan and view.plan.payload == bound:
        check_succession(view.plan, found)
    elif bound not in (found.payload, found.supersedes):
        raise Conflict(bound, found.payload)


def is_late_revision(view: PlanView) -> bool:
    """Whether the file is a revision that no record has refused yet; asked about what is public already."""
    found = view.found
    if found is None or view.plan is None or found.payload in view.history.refused_revisions:
        return False
    return found.revision > view.plan.revision
