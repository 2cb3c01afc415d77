"""Rulesets: enforced for pushes by the pre-receive hook, for merges here, and shown by the API.

Rules:
* a ruleset binds everybody, administrators too, but for its bypass actors; ``exempt`` ones leave no entry in the rule suites;
* GITHUB_TOKEN cannot be a bypass actor in a person's repository (422);
* only reviewers with write access count towards the required reviews; the latest decision of each of them counts;
* a merge needs what the rules of its base branch ask for (405), whoever merges, unless the rules may be bypassed.

Branches are matched as the shell does, where ``*`` stands for a slash too (at GitHub it does not).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from tests.support.github import hooks, shapes
from tests.support.github.accounts import ROLES, Account
from tests.support.github.answers import ApiError, Call, Page, not_found, route

if TYPE_CHECKING:
    from tests.support.github.pulls import Pull
    from tests.support.github.simulator import Simulator


@dataclass(kw_only=True)
class Ruleset:
    """``rules``: type → parameters, as GitHub names both."""

    id: int
    pattern: str
    rules: Mapping[str, dict[str, Any]]
    bypass: tuple[Account, ...] = ()
    mode: str = "always"

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.pattern}"

    def matches(self, branch: str) -> bool:
        return fnmatchcase(branch, self.pattern)


@dataclass(kw_only=True)
class Suite:
    """One evaluation of the rules for one ref of a push or a merge."""

    id: int
    actor: Account
    before: str
    after: str
    ref: str
    at: str
    result: str
    hidden: bool = field(default=False)


class Protection:
    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.rulesets: list[Ruleset] = []
        self.suites: list[Suite] = []
        self._ids = itertools.count(71)
        hooks.install(sim.bare)

    def protect(
        self, branch: str, *, required_reviews: int = 0, pull_request: bool = False, no_force: bool = False, no_delete: bool = False,
        only: Iterable[Account] = (), bypass: Iterable[Account] = (), mode: str = "always", required_checks: Iterable[str] = (),
        dismiss_stale: bool = False, last_push_approval: bool = False, linear: bool = False,
    ) -> Ruleset:  # fmt: skip
        """``branch`` may be a pattern. ``only``: nobody else may create, update or delete it."""
        rules: dict[str, dict[str, Any]] = {}
        if pull_request or required_reviews or dismiss_stale or last_push_approval:
            rules["pull_request"] = {
                "required_approving_review_count": required_reviews, "dismiss_stale_reviews_on_push": dismiss_stale,
                "require_code_owner_review": False, "require_last_push_approval": last_push_approval,
                "required_review_thread_resolution": False,
            }  # fmt: skip
        checks = [{"context": name} for name in required_checks]
        if checks:
            rules["required_status_checks"] = {"required_status_checks": checks, "strict_required_status_checks_policy": False}
        if only:
            rules |= {"creation": {}, "update": {}, "deletion": {}}
        rules |= {
            name: {}
            for name, on in (("non_fast_forward", no_force), ("deletion", no_delete), ("required_linear_history", linear)) if on
        }  # fmt: skip
        free = (*bypass, *only)
        if self.sim.models("actions-cannot-bypass") and any(one.kind == "actions" for one in free):
            says = "Actor GitHub Actions integration must be part of the ruleset source or owner organization"
            raise ApiError(422, "Validation Failed", errors=[says])
        made = Ruleset(id=next(self._ids), pattern=branch, rules=rules, bypass=free, mode=mode)
        self.rulesets.append(made)
        self.written()
        return made

    def unprotect(self, branch: str) -> None:
        self.rulesets = [one for one in self.rulesets if one.pattern != branch]
        self.written()

    def written(self) -> None:
        """Hands the rules to the hook."""
        admins = (
            [one for one in self.sim.accounts.all if one.role == "admin"] if not self.sim.models("rules-bind-admins") else []
        )
        rows = []
        for ruleset in self.rulesets if self.sim.models("rulesets-bind-pushes") else ():
            free = ",".join(one.key for one in (*ruleset.bypass, *admins) if self.sim.models("bypass-actors-pass"))
            mode = ruleset.mode if self.sim.models("exempt-leaves-no-trace") else "always"
            rows += [f"{ruleset.ref} {rule} ,{free}, {mode}" for rule in ruleset.rules]
        (self.sim.bare / "protection").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")

    def of(self, branch: str) -> list[Ruleset]:
        return [one for one in self.rulesets if one.matches(branch)]

    def note(self, actor: Account, before: str, after: str, ref: str, result: str) -> None:
        self.suites.append(
            Suite(
                id=self.sim.new_id(),
                actor=actor,
                before=before,
                after=after,
                ref=ref,
                at=shapes.moment(self.sim.now),
                result=result,
            )
        )

    def allows_merge(self, pull: Pull, actor: Account, *, queued: bool = False) -> str:
        """The rule suite's result for merging now: pass or bypass, empty when there are no rules. 405 when it may not be."""
        result = ""
        for ruleset in self.of(pull.base) if self.sim.models("rulesets-bind-merges") else ():
            unmet = self._unmet(ruleset, pull, actor, queued=queued)
            result = result or "pass"
            if unmet and actor not in ruleset.bypass:
                raise ApiError(405, unmet)
            if unmet and ruleset.mode != "exempt":
                result = "bypass"
        return result

    def mergeable_state(self, pull: Pull) -> str:
        """As ``GET pulls/{n}`` words it for a request that merges cleanly."""
        if pull.draft:
            return "draft"
        return "blocked" if any(self._unmet(one, pull, pull.user, queued=True) for one in self.of(pull.base)) else "clean"

    def _unmet(self, ruleset: Ruleset, pull: Pull, actor: Account, *, queued: bool) -> str:
        """Why the pull request may not be merged by these rules; empty when it may."""
        if "update" in ruleset.rules and actor not in ruleset.bypass and not queued:
            return "You're not authorized to push to this branch. Visit the repository's rules for more information."
        reviews = ruleset.rules.get("pull_request", {})
        needed = reviews.get("required_approving_review_count", 0)
        decisive = self._decisive(pull)
        approved = [who for who, state in decisive.items() if state == "APPROVED"]
        if reviews.get("require_last_push_approval") and self.sim.models("last-pusher-does-not-count"):
            approved = [who for who in approved if who != pull.last_pusher.who.id]
            needed = max(needed, 1)
        if needed and "CHANGES_REQUESTED" in decisive.values():
            return "Changes have been requested."
        if len(approved) < needed:
            return f"At least {needed} approving review is required by reviewers with write access."
        for check in ruleset.rules.get("required_status_checks", {}).get("required_status_checks", ()):
            if not self.sim.checks.succeeded(pull.head_sha, check["context"]):
                return f'Required status check "{check["context"]}" is expected.'
        return ""

    def _decisive(self, pull: Pull) -> dict[int, str]:
        """The latest decision of each reviewer whose review counts."""
        decided: dict[int, str] = {}
        for review in pull.reviews:
            who = review.user
            if who.deleted or review.state in ("COMMENTED", "PENDING"):
                continue
            if self.sim.models("readers-do-not-count") and not counts(who):
                continue
            decided[who.id] = review.state
        return decided


def counts(who: Account) -> bool:
    return ROLES.index(who.role) >= ROLES.index("write") or who.permissions.get("contents") == "write"


@route("GET", "rules/branches/{branch}")
def rules_of_branch(call: Call) -> Any:
    rows = []
    for ruleset in call.sim.protection.of(call.at["branch"]) if call.sim.models("rules-are-readable") else ():
        for rule, parameters in ruleset.rules.items():
            source = {"ruleset_source_type": "Repository", "ruleset_source": call.sim.repository, "ruleset_id": ruleset.id}
            rows.append({"type": rule, **source, **shapes.parameters_of(rule, parameters)})
    return Page(rows)


@route("GET", "rulesets")
def rulesets(call: Call) -> Any:
    return Page(call.sim.protection.rulesets, lambda one: shapes.ruleset(call.sim, one))


@route("GET", "rulesets/{ruleset_id}")
def ruleset(call: Call) -> Any:
    found = [one for one in call.sim.protection.rulesets if one.id == call.number("ruleset_id")]
    if not found:
        raise not_found()
    return shapes.ruleset(call.sim, found[0], detailed=True, seen_by=call.account)


@route("GET", "rulesets/rule-suites", "administration")
def rule_suites(call: Call) -> Any:
    wanted = call.query.get("ref", "")
    found = [
        one for one in reversed(call.sim.protection.suites) if not wanted or one.ref in (wanted, f"refs/heads/{wanted}")
    ]  # fmt: skip
    return Page(found, lambda one: shapes.suite(call.sim, one))
