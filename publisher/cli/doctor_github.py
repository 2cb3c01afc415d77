"""The GitHub half of ``doctor``: the repository there, its rules and people, and the workflows of this checkout.

What stands in files is looked at for every forge and offline too. GitHub itself is asked only with forge ``github`` and a token;
what that token may not see is said once, at the end, and never taken for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from publisher.cli.doctor_seen import AS_ADMIN, HIDDEN, Seen
from publisher.engine.examining import Finding, found, good, problem, refused, warning
from publisher.errors import EXIT_INPUT, EXIT_SAFETY, NeedsPerson, Refusal

if TYPE_CHECKING:
    from publisher.domain.approval import ApprovalRules
    from publisher.domain.instance import GithubHost, Instance, Site
    from publisher.gitstore.workflow_files import Workflows
    from publisher.wiring import Wired

SECTION = "GitHub"
TOKENS = ("PUBLISHER_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")
ROLES = {"admin": "administers it", "maintain": "maintains it", "push": "may write", "triage": "may read", "pull": "may read"}


def look(wired: Wired, instance: Instance, sites: Sequence[Site], *, root: str, offline: bool) -> Iterator[Finding]:
    """Everything about GitHub; nothing where neither the forge nor a workflow is concerned with it.

    ``root`` is the commit with which the approval rules begin, "" when it is not known.
    """
    from publisher.cli import doctor_approvers, doctor_schedules, doctor_workflows
    from publisher.gitstore import workflow_files

    flows = workflow_files.read(wired.root)
    if instance.forge != "github" and not flows.found and not flows.unread:
        return
    seen: Seen | None = None
    if instance.forge == "github" and instance.github:
        if offline:
            yield warning("repository", f"{instance.github.repository}; not asked (--offline)")
        else:
            wired.progress(f"asking {instance.github.repository}")
            findings, seen = _asked(wired, instance, sites, flows, root)
            yield from findings
    if instance.forge == "github":
        yield from found("CODEOWNERS", lambda: doctor_approvers.owners(wired.root))
    yield from found("workflows", lambda: doctor_workflows.look(instance, sites, flows, seen))
    yield from found("schedule", lambda: doctor_schedules.look(wired, instance, sites, flows, seen))
    if seen and seen.hidden:
        says = f"this token may not see {', '.join(seen.hidden)}"
        yield warning("not seen", says, next=AS_ADMIN, code="not-visible")


def _asked(
    wired: Wired, instance: Instance, sites: Sequence[Site], flows: Workflows, root: str
) -> tuple[list[Finding], Seen | None]:
    """What GitHub says; no ``Seen`` where it does not say anything."""
    from publisher.cli import doctor_approvers, doctor_branches

    assert instance.github is not None
    if not any(wired.environment.get(name, "").strip() for name in TOKENS):
        return [_no_token(wired, instance.github)], None
    findings: list[Finding] = []
    rules = _rules(wired)
    try:
        seen = Seen(host=wired.host_of(instance))
        findings += _repository(seen, wired, instance)
    except Refusal as refusal:
        return [refused("repository", refusal)], None
    if seen.private is None:
        return findings, None
    for about, part in (
        ("token", lambda: _token(seen, wired, rules)),
        ("Actions", lambda: _actions(seen)),
        ("variables", lambda: _settings(seen, wired, root)),
        ("branches", lambda: doctor_branches.look(seen, instance, sites)),
        ("approvers", lambda: doctor_approvers.look(seen, rules) if rules else ()),
        ("workflows", lambda: _states(seen, flows)),
    ):
        findings += found(about, part)
    return findings, seen


def _rules(wired: Wired) -> ApprovalRules | None:
    """``approval.yaml`` of the checkout; what is wrong with it is told where the instance's files are looked at."""
    from publisher.gitstore import instance_files, working_tree

    try:
        data = working_tree.read_file(wired.root, "approval.yaml")
        return None if data is None else instance_files.rules_of(data, "approval.yaml")
    except Refusal:
        return None


# --- token and repository ---------------------------------------------------------------------------------------------------------


def _no_token(wired: Wired, host: GithubHost) -> Finding:
    says, then = f"none here, so {host.repository} was not asked", "set GH_TOKEN, as by: export GH_TOKEN=$(gh auth token)"
    if wired.environment.get("CI"):
        return problem("token", "no-token", says, next="hand GITHUB_TOKEN to the step, in its env:")
    return warning("token", says, next=then, code="no-token")


def _repository(seen: Seen, wired: Wired, instance: Instance) -> Iterator[Finding]:
    """The repository is there, is the one that is meant, and what its being private or public means."""
    assert instance.github is not None
    name = instance.github.repository
    data = seen.host.get("")
    if data is None:
        yield problem(
            "repository", "repository-not-seen", f"{name} does not exist, or this token may not see it",
            next="look at github.repository in publisher.yaml, and give the token this repository",
        )  # fmt: skip
        return
    seen.private = bool(data["private"])
    seen.organization = data["owner"]["type"] == "Organization"
    seen.role = next((words for right, words in ROLES.items() if (data.get("permissions") or {}).get(right)), "may read")
    if data.get("archived") or data.get("disabled"):
        yield problem("repository", "repository-closed", f"{name} is archived: nothing can be written", next="unarchive it")
    if data["default_branch"] != instance.default_branch:
        yield problem(
            "repository", "default-branch-differs",
            f"the default branch of {name} is {data['default_branch']}, publisher.yaml says {instance.default_branch}; "
            "schedules run from GitHub's",
            next="edit branches in publisher.yaml, or the repository's default branch", exit_code=EXIT_INPUT,
        )  # fmt: skip
    yield from _private(name, seen.private, wired, instance)


def _private(name: str, private: bool, wired: Wired, instance: Instance) -> Iterator[Finding]:
    drafts = not instance.drafts.remote and any(wired.root.glob("drafts/*/*"))
    if private:
        yield good("repository", f"{name}, private: plans, drafts and ledger are seen by its members only")
    elif drafts:
        yield warning(
            "repository", f"{name} is public, and drafts/ is in it: everybody can read what is not out yet",
            next="make it private, or keep drafts in a private repository (drafts: in publisher.yaml)", code="drafts-public",
        )  # fmt: skip
    else:
        yield good("repository", f"{name}, public: plans and ledger are seen by everybody, drafts are not here")
    if not private:
        yield good(
            "idle", "in a public repository GitHub switches schedules off after 60 days without activity, and watch tells of it"
        )


def _token(seen: Seen, wired: Wired, rules: ApprovalRules | None) -> Iterator[Finding]:
    """Whose the token is, as far as it shows."""
    name = next(name for name in TOKENS if wired.environment.get(name, "").strip())
    # GitHub does not tell an App's token who it is; the question is not one of permissions that could be given.
    user = _quietly(seen, "/user")
    seen.person = user["login"] if isinstance(user, dict) and user.get("type") == "User" else ""
    own = name == "GITHUB_TOKEN" and bool(wired.environment.get("GITHUB_ACTIONS"))
    whose = f"of {seen.person}, who {seen.role}" if seen.person else "of this run" if own else "of a GitHub App"
    yield good("token", f"{name}, {whose}")
    if name == "PUBLISHER_TOKEN" and seen.person and rules and seen.person in {who.login for who in rules.approvers}:
        yield warning(
            "token", f"requests would be opened as {seen.person}, who could then not approve them",
            next="let runs act as a GitHub App, or by their own token", code="token-of-approver",
        )  # fmt: skip


def _quietly(seen: Seen, path: str) -> Any:
    try:
        return seen.host.get(path)
    except NeedsPerson:
        return None


# --- settings ---------------------------------------------------------------------------------------------------------------------


def _actions(seen: Seen) -> Iterator[Finding]:
    """Whether Actions runs at all."""
    allowed = seen.setting("actions/permissions", "whether Actions is on")
    if isinstance(allowed, dict):
        if allowed.get("enabled"):
            yield good("Actions", "on")
        else:
            yield problem(
                "Actions", "actions-off", "Actions is off for this repository: nothing runs",
                next="Settings, Actions, General: allow actions",
            )  # fmt: skip


def _settings(seen: Seen, wired: Wired, root: str) -> Iterator[Finding]:
    """Variables, the names of secrets, and who may open requests."""
    variables = seen.settings("actions/variables", "variables", "the repository's variables")
    if variables is not HIDDEN:
        seen.variables = {item["name"]: item["value"] for item in variables}
        yield from _pinned(seen.variables.get("PUBLISHER_ROOT", ""), root)
    secrets = seen.settings("actions/secrets", "secrets", "which secrets there are")
    if secrets is not HIDDEN:
        seen.secrets = frozenset(item["name"] for item in secrets)
    yield from _requests(seen)


def _pinned(value: str, root: str) -> Iterator[Finding]:
    if not value:
        yield warning(
            "PUBLISHER_ROOT", "the variable is not set: whoever rewrites the history of approval.yaml could write other rules",
            next=f"gh variable set PUBLISHER_ROOT --body {root or 'COMMIT, as publisher audit says it'}", code="variable-missing",
        )  # fmt: skip
    elif root and value != root:
        yield problem(
            "PUBLISHER_ROOT", "variable-differs", "the variable names another commit than approval.yaml begins with: every run stops",
            next="find out who changed which of them", exit_code=EXIT_SAFETY,
        )  # fmt: skip
    else:
        yield good("PUBLISHER_ROOT", "the variable is set" + (", and right" if root else ""))


def _requests(seen: Seen) -> Iterator[Finding]:
    """Whether runs may open pull requests: an App may by its permissions, a run's own token by a setting."""
    if seen.app:
        yield good("requests", "opened by the GitHub App that PUBLISHER_APP_CLIENT_ID names")
        return
    setting = seen.setting("actions/permissions/workflow", "whether Actions may create pull requests")
    if not isinstance(setting, dict):
        return
    if setting.get("can_approve_pull_request_reviews"):
        yield good("requests", "opened by the run's own token: Actions may create pull requests")
    elif seen.app is None:
        yield warning(
            "requests", "Actions may not create pull requests; unless runs act as a GitHub App, plan opens none",
            next="Settings, Actions, General: allow GitHub Actions to create pull requests", code="requests-unclear",
        )  # fmt: skip
    else:
        yield problem(
            "requests", "actions-no-requests", "Actions may not create pull requests: plan and gates would open none",
            next="Settings, Actions, General: allow GitHub Actions to create pull requests; or use a GitHub App",
        )  # fmt: skip


def _states(seen: Seen, flows: Workflows) -> Iterator[Finding]:
    """Whether GitHub knows the workflows, and has them switched on."""
    listed = seen.settings("actions/workflows", "workflows", "whether workflows are switched on")
    if listed is HIDDEN:
        return
    states = {item["path"]: item["state"] for item in listed}
    own = [flow for flow in flows.found if flow.triggers - {"workflow_call"}]
    for flow in own:
        state = states.get(flow.path, "")
        if not state:
            yield warning(
                "workflows", f"GitHub does not know {flow.name}: it is not on the default branch yet", next="merge and push it",
                code="workflow-not-there", where=flow.where,
            )  # fmt: skip
        elif state != "active":
            yield problem(
                "workflows", "workflow-off", f"{flow.name} is switched off ({state.replace('_', ' ')})",
                next=f"gh workflow enable {flow.name}",
            )  # fmt: skip
    if own and all(states.get(flow.path) == "active" for flow in own):
        yield good("workflows", "switched on: " + ", ".join(flow.name for flow in own))
