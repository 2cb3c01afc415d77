"""What ``doctor`` says of GitHub's branches: their rules, which way runs push past them, and whether a push becomes a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from publisher.cli.doctor_seen import AS_ADMIN, HIDDEN, Seen
from publisher.engine.examining import Finding, good, problem, warning

if TYPE_CHECKING:
    from publisher.domain.instance import Instance, Site, TargetSpec

CHECK = "publisher/payload"
KEEPS_OUT = (
    "update", "pull_request", "merge_queue", "required_status_checks", "required_deployments", "required_signatures",
)  # fmt: skip
"""Rules that a plain push of a run's own token does not pass."""
WAYS = {"Integration": "a GitHub App", "DeployKey": "a deploy key"}
WHO = {
    **WAYS, "OrganizationAdmin": "the organisation's administrators", "RepositoryRole": "a role", "Team": "a team", "User": "a person",
    "EnterpriseOwner": "the enterprise's owners",
}  # fmt: skip
RULES = "Settings, Rules"
MOST_BRANCHES = 20
"""Branches of sites that one examination asks about."""


@dataclass(kw_only=True)
class Branch:
    """The rules that GitHub applies to a branch: type → parameters, those of several rulesets together."""

    name: str
    rules: Mapping[str, Mapping[str, Any]]
    classic: bool = False
    """Protected by the older kind, whose rules only an administrator sees."""
    passers: frozenset[str] | None = field(default_factory=frozenset)
    """The kinds of actors that may pass every ruleset that keeps pushes out; None where that is not seen."""

    @property
    def barred(self) -> list[str]:
        return [name for name in KEEPS_OUT if name in self.rules]


def look(seen: Seen, instance: Instance, sites: Sequence[Site]) -> Iterator[Finding]:
    default = _branch(seen, instance.default_branch)
    state = default if instance.state_branch == instance.default_branch else _branch(seen, instance.state_branch)
    if default:
        yield from _default(default)
    if state:
        yield from _ledger(state, apart=state is not default)
    names = own_branches(sites)
    looked = [branch for branch in (state, *(_branch(seen, name) for name in names[:MOST_BRANCHES])) if branch]
    yield from _free(seen, [branch for branch in looked if not branch.barred and not branch.classic])
    for branch in looked:
        if branch.barred or branch.classic:
            yield from _pushes(seen, instance, branch)
    if names[MOST_BRANCHES:]:
        more = f"{len(names) - MOST_BRANCHES} more branches of sites were not looked at"
        yield warning("pushes", more, next="publisher doctor --site NAME", code="branches-not-seen")
    yield from _pages(seen, instance, sites)


def own_branches(sites: Sequence[Site]) -> list[str]:
    """The branches of this repository that are sites, or show what a gate is about."""
    specs = [spec for site in sites for spec in (site.target, site.staging) if spec]
    return sorted({str(spec.options["branch"]) for spec in specs if is_own_branch(spec)})


def is_own_branch(spec: TargetSpec) -> bool:
    return spec.kind == "git-branch" and not spec.options.get("repository")


def _branch(seen: Seen, name: str) -> Branch | None:
    rows = seen.list_of(f"rules/branches/{name}", f"the rules of {name}")
    if rows is HIDDEN:
        return None
    rules: dict[str, dict[str, Any]] = {}
    for row in rows:
        rules[row["type"]] = {**rules.get(row["type"], {}), **(row.get("parameters") or {})}
    document = None if rules else seen.ask(f"branches/{name}", f"whether {name} is protected")
    return Branch(
        name=name, rules=rules, classic=isinstance(document, dict) and bool(document.get("protected")),
        passers=_passers(seen, {row["ruleset_id"] for row in rows if row["type"] in KEEPS_OUT}),
    )  # fmt: skip


def _passers(seen: Seen, rulesets: set[int]) -> frozenset[str] | None:
    """Who may pass all of these rulesets. A ruleset shows that to those who may write it, and to nobody else."""
    kinds: list[frozenset[str]] = []
    for number in sorted(rulesets):
        what = "who may pass the branch rules"
        document = seen.ask(f"rulesets/{number}", what)
        actors = document.get("bypass_actors") if isinstance(document, dict) else None
        if actors is None:
            seen.unseen(what)
            return None
        # An actor that may only merge requests past the rules pushes no more than others.
        kinds.append(frozenset(actor["actor_type"] for actor in actors if actor.get("bypass_mode") != "pull_request"))
    return frozenset.intersection(*kinds) if kinds else frozenset()


# --- rules ------------------------------------------------------------------------------------------------------------------------


def _default(branch: Branch) -> Iterator[Finding]:
    """What keeps plans from being changed without a request. Approvals do not rest on it: a direct push approves nothing."""
    if branch.classic:
        yield warning(
            "rules", f"{branch.name} is protected by the older kind of rule, which is not looked at here",
            next=f"{RULES}: make a ruleset instead", code="rules-classic",
        )  # fmt: skip
        return
    request = branch.rules.get("pull_request")
    if request is None:
        yield warning(
            "rules", f"{branch.name} takes pushes without a request: they approve nothing, and can spend an approval",
            next=f"{RULES}: require a pull request for {branch.name}", code="no-request-rule",
        )  # fmt: skip
        return
    count = request.get("required_approving_review_count", 0)
    who = f"; {_listed(branch.passers)} may pass" if branch.passers else ""
    yield good("rules", f"{branch.name} requires a request with {count} approving review{'' if count == 1 else 's'}{who}")
    checks = branch.rules.get("required_status_checks", {}).get("required_status_checks", ())
    if CHECK not in {check["context"] for check in checks}:
        yield warning(
            "rules", f"{branch.name} does not require the check {CHECK}: a request can be merged before it was looked at",
            next=f"{RULES}: require the status check {CHECK}", code="check-not-required",
        )  # fmt: skip
    if not request.get("dismiss_stale_reviews_on_push"):
        yield warning(
            "rules", "a review stays after a later push to its request; publisher does not count it, and GitHub still shows it",
            next=f"{RULES}: dismiss stale approvals when new commits are pushed", code="stale-reviews",
        )  # fmt: skip


def _listed(kinds: frozenset[str] | None) -> str:
    return ", ".join(sorted(WHO.get(kind, kind) for kind in kinds or ()))


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _ledger(branch: Branch, *, apart: bool) -> Iterator[Finding]:
    """The ledger can neither be deleted nor rewritten, and, on a branch of its own, nobody else writes there."""
    wanted = {"deletion": "deleted", "non_fast_forward": "rewritten", **({"update": "written to"} if apart else {})}
    missing = [word for rule, word in wanted.items() if rule not in branch.rules]
    if branch.classic:
        yield warning(
            "ledger", f"{branch.name} is protected by the older kind of rule, which is not looked at here",
            next=f"{RULES}: make a ruleset instead", code="ledger-classic",
        )  # fmt: skip
    elif missing:
        yield warning(
            "ledger", f"{branch.name}, which holds the ledger, can be {_and(missing)} by whoever may push",
            next=f"{RULES}: for {branch.name}, restrict deletions, block force pushes"
            + (", and restrict updates to the App or deploy key" if apart else ""),
            code="ledger-unprotected",
        )  # fmt: skip
    else:
        yield good(
            "ledger", f"{branch.name} can be neither deleted nor rewritten" + (", nor written to by others" if apart else "")
        )


# --- pushes -----------------------------------------------------------------------------------------------------------------------


def _free(seen: Seen, branches: Sequence[Branch]) -> Iterator[Finding]:
    if branches:
        own = "a GitHub App's token" if seen.app else "the run's own token" if seen.app is False else "the run's token"
        yield good("pushes", f"{own} may push to {', '.join(branch.name for branch in branches)}: no rule keeps it out")


def _pushes(seen: Seen, instance: Instance, branch: Branch) -> Iterator[Finding]:
    """Which way a run's push to this branch goes."""
    about, name = "pushes", branch.name
    if branch.classic:
        yield warning(about, f"whether runs may push to {name} is not seen", next="try: publisher run", code="pushes-unclear")
        return
    rules = f"the rule {branch.barred[0].replace('_', ' ')} of {name} keeps the run's own token out"
    if branch.passers is None:
        yield warning(
            about,
            f"{rules}; who may pass it is not seen",
            next="the same with an administrator's token in GH_TOKEN",
            code="pushes-unclear",
        )
        return
    ways = {"Integration": seen.app, "DeployKey": _has_key(seen, instance)}
    open_ways = [kind for kind, there in ways.items() if kind in branch.passers and there is not False]
    sure = [kind for kind in open_ways if ways[kind]]
    if sure:
        yield good(about, f"{rules}, and {WAYS[sure[0]]} goes past it")
    elif open_ways:
        yield warning(
            about, f"{rules}; {WAYS[open_ways[0]]} may pass it, and whether runs have one is not seen",
            next=AS_ADMIN, code="pushes-unclear",
        )  # fmt: skip
    else:
        yield problem(about, "cannot-push", f"{rules}; {_lacking(branch, ways)}", next=_way_in(branch))


def _has_key(seen: Seen, instance: Instance) -> bool | None:
    """Whether runs push with a key of their own."""
    name = instance.github.state_key if instance.github else ""
    return seen.has_secret(name) if name else False


def _lacking(branch: Branch, ways: Mapping[str, bool | None]) -> str:
    let = [kind for kind in WAYS if kind in (branch.passers or ())]
    if let:
        return f"{WAYS[let[0]]} may pass it, and runs have none"
    have = [kind for kind, there in ways.items() if there]
    return f"runs have {WAYS[have[0]]}, and it may not pass" if have else "no GitHub App and no deploy key may pass it"


def _way_in(branch: Branch) -> str:
    if "Integration" in (branch.passers or ()):
        return "set the variable PUBLISHER_APP_CLIENT_ID and the secret PUBLISHER_APP_PRIVATE_KEY"
    if "DeployKey" in (branch.passers or ()):
        return "gh secret set PUBLISHER_STATE_KEY < the deploy key, and state_key: PUBLISHER_STATE_KEY under github: in publisher.yaml"
    return f"{RULES}: let a GitHub App or a deploy key pass the rules of {branch.name}"


# --- Pages ------------------------------------------------------------------------------------------------------------------------


def _pages(seen: Seen, instance: Instance, sites: Sequence[Site]) -> Iterator[Finding]:
    """A branch that Pages shows is built after a push of an App or a key, not after one of a run's own token."""
    branches = {site.target.options["branch"]: site for site in sites if is_own_branch(site.target)}
    uploads = [site for site in sites if site.target.kind == "github-pages"]
    if not branches and not uploads:
        return
    pages = seen.ask("pages", "how Pages is set up")
    if pages is HIDDEN:
        return
    by_actions = isinstance(pages, dict) and pages.get("build_type") == "workflow"
    for site in uploads:
        if by_actions:
            yield good("Pages", f"built by Actions, as {site.id} needs")
        else:
            yield problem(
                "Pages", "pages-source", f"{site.id} is deployed by Actions, and Pages is not set to that",
                next="Settings, Pages, Source: GitHub Actions",
            )  # fmt: skip
    shown = "" if pages is None or by_actions else (pages.get("source") or {}).get("branch", "")
    for branch, site in branches.items():
        yield _built(seen, instance, branch, site, shown)


def _built(seen: Seen, instance: Instance, branch: str, site: Site, shown: str) -> Finding:
    if branch != shown:
        what = f"shows the branch {shown}" if shown else "shows no branch"
        return good("Pages", f"{what} of this repository; what serves {branch} is not known here")
    started = seen.app or _has_key(seen, instance)
    if site.target.options.get("pages") == "build":
        return good("Pages", f"shows {branch}; {site.id} asks for each build")
    if started:
        return good("Pages", f"shows {branch}, and builds it after each push of the App or key")
    says = f"shows {branch}, and does not build it after a push of a run's own token"
    then = f"add pages: build to the target of {site.id}, or let runs push as a GitHub App or by a deploy key"
    if seen.app is None:
        return warning("Pages", f"{says}; whether runs act as an App is not seen", next=then, code="pages-unclear")
    return problem("Pages", "pages-no-build", says, next=then)
