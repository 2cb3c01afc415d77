"""What ``doctor`` says of the workflows of this checkout: which there are, what they may, and what they hand on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from publisher.engine.examining import Finding, good, problem, warning
from publisher.errors import EXIT_INPUT, EXIT_SAFETY

if TYPE_CHECKING:
    from publisher.cli.doctor_seen import Seen
    from publisher.domain.instance import Instance, Site
    from publisher.gitstore.workflow_files import Workflows
    from publisher.gitstore.workflow_reading import Job, Workflow

WANTED = {"github": ("publish", "plan", "review", "approve", "watch"), "git": ("publish", "watch")}
"""What runs by itself, by forge. With signed requests people plan and approve in their own clones."""
STARTS = {"plan": "schedule", "review": "pull_request", "approve": "push", "watch": "schedule"}
"""What must start it. That publish has a schedule is looked at with the schedules."""
LEVELS = ("none", "read", "write")
NEEDS: Mapping[str, Mapping[str, str]] = {
    "publish": {"contents": "write", "pull-requests": "write", "statuses": "read"},
    "plan": {"contents": "write", "pull-requests": "write", "statuses": "write"},
    "review": {"contents": "read", "pull-requests": "write", "statuses": "write"},
    "approve": {"contents": "write", "pull-requests": "read", "statuses": "read"},
    "watch": {"actions": "read", "contents": "write", "pull-requests": "read", "statuses": "read"},
    "decisions": {"contents": "write", "pull-requests": "write", "statuses": "read"},
    "due": {"contents": "read", "pull-requests": "read", "statuses": "read"},
}
"""What the shipped workflows give the run's own token, by what the job does."""
SOMETIMES: Mapping[str, Mapping[str, str]] = {
    "publish": {"actions": "read", "id-token": "write", "issues": "write", "pages": "write"},
    "watch": {"issues": "write"},
}
"""What some targets and channels need beside it."""
WRITERS = ("publish", "approve", "plan", "decisions", "watch")
PING = "PUBLISHER_PING_URL"
DEPLOYS = "actions/deploy-pages"
ISSUES = "github-issue"
"""The kind of alerts that are issues of the repository (``notify/github_issue.py``)."""


def look(instance: Instance, sites: Sequence[Site], flows: Workflows, seen: Seen | None) -> Iterator[Finding]:
    for unread in flows.unread:
        yield warning("workflows", unread.says, next="correct it", code=unread.code, where=unread.where)
    yield from _there(instance, flows)
    for flow in flows.found:
        if "pull_request_target" in flow.triggers:
            yield problem(
                "workflows", "pull-request-target", f"{flow.name} starts on pull_request_target: a stranger's request gets its token",
                next="pull_request instead", exit_code=EXIT_SAFETY,
            )  # fmt: skip
        yield from _groups(flow)
        yield from _permissions(instance, flow)
        yield from _pins(flow)
    yield from _root(flows)
    yield from _secrets(instance, sites, flows, seen)
    yield from _targets(instance, sites, flows)
    yield from _switch(flows, seen)


def _there(instance: Instance, flows: Workflows) -> Iterator[Finding]:
    """Which of the workflows that a line needs are there."""
    names = {role: [flow.name for flow in flows.of(role)] for role in NEEDS}
    if not names["publish"]:
        yield problem(
            "workflows", "no-publish-workflow", "no workflow runs publisher run: nothing is published by itself",
            next="publisher init --github writes the workflows", exit_code=EXIT_INPUT,
        )  # fmt: skip
    missing = [role for role in WANTED.get(instance.forge, ()) if role in STARTS and not _starts(flows, role)]
    if missing:
        yield warning(
            "workflows",
            f"none starts {', '.join(missing)} by itself",
            next="publisher init --github writes the workflows",
            code="workflow-missing",
        )
    there = dict.fromkeys(name for found in names.values() for name in found)
    if there and not missing:
        yield good("workflows", f"here: {', '.join(there)}")


def _starts(flows: Workflows, role: str) -> bool:
    return any(STARTS[role] in flow.triggers for flow in flows.of(role))


# --- each file --------------------------------------------------------------------------------------------------------------------


def _groups(flow: Workflow) -> Iterator[Finding]:
    """Waiting runs are kept: by default a third one drives the second away."""
    for job in flow.jobs:
        group = job.group or flow.group
        if job.calls or not job.roles.intersection(WRITERS):
            continue  # a called workflow brings its own
        if group and group.cancels:
            yield warning(
                "workflows", f"{flow.name}: {job.id} is cancelled by the next run, in the middle of its work",
                next="cancel-in-progress: false", code="group-cancels", where=group.where,
            )  # fmt: skip
        elif not group or group.queue != "max":
            yield warning(
                "workflows", f"{flow.name}: of several runs of {job.id} that wait, GitHub keeps one and cancels the others",
                next="concurrency: with a group and queue: max", code="group-drops", where=group.where if group else job.where,
            )  # fmt: skip


def _permissions(instance: Instance, flow: Workflow) -> Iterator[Finding]:
    for job in flow.jobs:
        if not job.roles:
            continue
        given = job.permissions if job.permissions is not None else flow.permissions
        if given is None:
            yield warning(
                "workflows", f"{flow.name}: {job.id} gets whatever token this repository gives by default",
                next="permissions: {} for the file, and what it needs for the job", code="permissions-unset", where=job.where,
            )  # fmt: skip
            continue
        needed = _needed(instance, job)
        wide = [name for name, level in given.items() if _more(level, _highest(name, job))]
        narrow = [f"{name}: {level}" for name, level in needed.items() if _more(level, given.get(name, given.get("*", "none")))]
        if wide:
            yield warning(
                "workflows", f"{flow.name}: {job.id} may more than it needs ({', '.join('all' if n == '*' else n for n in wide)})",
                next="take it away", code="permissions-wide", where=job.where,
            )  # fmt: skip
        if narrow:
            yield warning(
                "workflows", f"{flow.name}: {job.id} lacks {', '.join(narrow)}", next="add it under permissions:",
                code="permissions-narrow", where=job.where,
            )  # fmt: skip


def _needed(instance: Instance, job: Job) -> Mapping[str, str]:
    needed: dict[str, str] = {}
    for role in job.roles:
        for name, level in NEEDS[role].items():
            # Signed requests are branches: nothing but the files is touched.
            if (instance.forge == "github" or name == "contents") and _more(level, needed.get(name, "none")):
                needed[name] = level
    if instance.alerts and instance.alerts.kind == ISSUES and job.roles & {"publish", "watch"}:
        needed["issues"] = "write"
    return needed


def _highest(name: str, job: Job) -> str:
    levels = [table.get(role, {}).get(name, "none") for table in (NEEDS, SOMETIMES) for role in job.roles]
    return max(levels, key=LEVELS.index, default="none")


def _more(level: str, than: str) -> bool:
    return _rank(level) > _rank(than)


def _rank(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else 0


def _pins(flow: Workflow) -> Iterator[Finding]:
    loose = [use for job in flow.jobs for use in job.uses if not use.pinned]
    for use in {use.name: use for use in loose}.values():
        yield warning(
            "workflows", f"{flow.name}: {use.name} is not pinned: whoever moves its tag decides what runs here, with these secrets",
            next="its full commit id after the @, the version in a comment", code="not-pinned", where=use.where,
        )  # fmt: skip


# --- what is handed on --------------------------------------------------------------------------------------------------------------


def _root(flows: Workflows) -> Iterator[Finding]:
    """Called workflows see the repository's variables by themselves."""
    for flow in flows.found:
        without = [job for job in flow.jobs if job.roles and not job.calls and "PUBLISHER_ROOT" not in job.variables]
        if without:
            yield warning(
                "workflows", f"{flow.name}: {without[0].id} does not know where the approval rules begin",
                next="PUBLISHER_ROOT: ${{ vars.PUBLISHER_ROOT }} in env:", code="root-not-passed", where=without[0].where,
            )  # fmt: skip


def _secrets(instance: Instance, sites: Sequence[Site], flows: Workflows, seen: Seen | None) -> Iterator[Finding]:
    """The secrets that the configuration names: which workflow hands them on, and, where it is seen, whether they are set."""
    for name, (needs, roles) in sorted(_named(instance, sites).items()):
        using = {flow.name: flow for role in roles for flow in flows.of(role)}
        without = [flow.name for flow in using.values() if not flow.passed(name)]
        if without:
            yield warning(
                "secrets", f"{name}, for {needs}, is not handed on by {', '.join(without)}",
                next=f"{name}: ${{{{ secrets.{name} }}}} there, in env: (or in secrets: of a call)", code="secret-not-passed",
            )  # fmt: skip
        elif seen and seen.has_secret(name) is False:
            yield warning("secrets", f"{name}, for {needs}, is not set", next=f"gh secret set {name}", code="secret-not-set")
        elif using:
            known = "set" if seen and seen.has_secret(name) else "whether it is set is not seen"
            yield good("secrets", f"{name}, for {needs}: handed on by {', '.join(using)}; {known}")
    if seen and seen.app and seen.has_secret("PUBLISHER_APP_PRIVATE_KEY") is False:
        yield problem(
            "secrets", "app-key-missing", "PUBLISHER_APP_CLIENT_ID is set and PUBLISHER_APP_PRIVATE_KEY is not: runs fail at once",
            next="gh secret set PUBLISHER_APP_PRIVATE_KEY < the App's key file",
        )  # fmt: skip


def _named(instance: Instance, sites: Sequence[Site]) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Secret → (what needs it, the kinds of workflow that must hand it on)."""
    from publisher.cli.doctor_places import secret_names

    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    if instance.drafts.key:
        found[instance.drafts.key] = ("the drafts' repository", ("publish", "plan"))
    if instance.github and instance.github.state_key:
        found[instance.github.state_key] = (f"pushes to {instance.state_branch}", ("publish", "approve", "decisions", "watch"))
    if instance.alerts:
        found |= dict.fromkeys(secret_names(instance.alerts.options), ("alerts", ("watch",)))
    for site in sites:
        for spec in (site.target, *((site.staging,) if site.staging else ())):
            names = [*secret_names(spec.options), *filter(None, [str(spec.options.get("key", ""))])]
            found |= dict.fromkeys(names, (f"the target of {site.id}", ("publish",)))
        for channel in site.channels:
            found |= dict.fromkeys(secret_names(channel.options), (f"channel {channel.name} of {site.id}", ("publish",)))
    return found


# --- targets ----------------------------------------------------------------------------------------------------------------------


def _targets(instance: Instance, sites: Sequence[Site], flows: Workflows) -> Iterator[Finding]:
    """What a runner of GitHub's can reach of each target."""
    if not flows.of("publish"):
        return
    yield from _other_deployers(sites, flows)
    for site in sites:
        repository = str(site.target.options.get("repository", ""))
        if site.target.kind == "github-pages" and not _uploads(flows):
            yield problem(
                "targets", "no-upload", f"{site.id} is deployed by Actions, and no scheduled workflow uploads its releases",
                next="call or copy pages.yml instead of publish.yml", exit_code=EXIT_INPUT,
            )  # fmt: skip
        elif site.target.kind == "directory" and instance.forge == "github":
            yield warning(
                "targets", f"{site.id} goes to a directory of the machine that runs, and GitHub's own runners are gone afterwards",
                next="another target, or a runner of your own", code="target-on-runner",
            )  # fmt: skip
        elif _by_ssh(repository) and not site.target.options.get("key"):
            yield warning(
                "targets", f"{site.id} goes to a repository that is reached by ssh, and names no key for it",
                next=f"key: PUBLISHER_DEPLOY_KEY in the target of {site.id}", code="target-without-key",
            )  # fmt: skip
        elif repository.startswith("https://"):
            yield warning(
                "targets", f"{site.id} goes to another repository by https: a run's own token may not write there, an App's may",
                next="its ssh address, and key: PUBLISHER_DEPLOY_KEY", code="target-by-https",
            )  # fmt: skip


def _other_deployers(sites: Sequence[Site], flows: Workflows) -> Iterator[Finding]:
    """GitHub Pages shows what was deployed last, whoever it was: a job of something else's replaces the site."""
    names = [site.id for site in sites if site.target.kind == "github-pages"]
    for flow in (*flows.found, *flows.others) if names else ():
        for job in flow.jobs:
            given = job.permissions if job.permissions is not None else flow.permissions or {}
            may = _more(given.get("pages", given.get("*", "none")), "read")
            uses = any(use.name.lower() == DEPLOYS for use in job.uses)
            if (may or uses) and "publish" not in job.roles:
                yield problem(
                    "targets", "other-deployer", f"{flow.name}: {job.id} may deploy to Pages too, in place of {', '.join(names)}",
                    next="take its deployment, and pages: write, away", exit_code=EXIT_INPUT, where=job.where,
                )  # fmt: skip


def _uploads(flows: Workflows) -> bool:
    for flow in flows.of("publish"):
        used = {use.name.rpartition("/")[2] for job in flow.jobs for use in job.uses}
        if flow.crons and used & {"upload-pages-artifact", "pages.yml"}:
            return True
    return False


def _by_ssh(repository: str) -> bool:
    """A repository elsewhere that is written to by a key."""
    return repository.startswith("ssh://") or ("@" in repository and "://" not in repository)


def _switch(flows: Workflows, seen: Seen | None) -> Iterator[Finding]:
    """Where every workflow is dead, only a service that misses watch's ping can tell."""
    watching = flows.of("watch")
    if not watching:
        return
    there = seen.has_secret(PING) if seen else None
    if there is False or not any(flow.passed(PING) for flow in watching):
        yield warning(
            "alarm", "when all workflows are dead, nothing tells: watch pings no dead man's switch",
            next=f"gh secret set {PING}, with the address of a check at healthchecks.io or a like service", code="no-dead-mans-switch",
        )  # fmt: skip
    else:
        known = "set" if there else "whether it is set is not seen"
        yield good("alarm", f"watch pings a dead man's switch ({PING}; {known})")
