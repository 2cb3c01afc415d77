"""One GitHub workflow, as far as it is about publisher: when it starts, what it calls, what it may do, what it hands on.

Rules:
* what a job does is told by the publisher verb that its steps run, by what they hand to publisher's action, or by the name of
  the reusable workflow that it calls (``…/publish.yml``);
* nothing is expanded: an expression is read for the names of secrets and variables that stand in it, and for nothing else;
* of secrets only the names are seen: nothing else of them stands in these files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from publisher.errors import InputProblem
from publisher.gitstore.strict_yaml import Document, load

MOST_WORKFLOW = 512 * 1024
ROLES: Mapping[str, str] = {
    "run": "publish", "plan": "plan", "review": "review", "approve": "approve", "watch": "watch", "decide": "decisions", "sites": "due",
}  # fmt: skip
"""What a job is for, by the publisher verb that it calls."""
FILES: Mapping[str, str] = {**{role: role for role in ROLES.values()}, "pages": "publish"}
"""What a reusable workflow is for, by its file's name."""
PUBLISHER = "publisher"
WHOLE = "*"
"""In permissions: every scope; in secrets: all of them."""

_VERB = re.compile(
    rf"(?:^|[\s;&|(\"'`])(?:[\w./~${{}}-]*/)?{PUBLISHER}[\"']?(?:[ \t]+--?[a-z-]+(?:=\S+)?)*[ \t]+({'|'.join(ROLES)})(?![\w-])",
    re.ASCII | re.MULTILINE,
)
_SECRET = re.compile(r"\bsecrets(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[\s*'([A-Za-z_][A-Za-z0-9_]*)'\s*\])", re.ASCII)
_ALL_SECRETS = re.compile(r"\btoJSON\(\s*secrets\s*\)", re.ASCII | re.IGNORECASE)
_VARIABLE = re.compile(r"\bvars\.([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_SHA = re.compile(r"[0-9a-f]{40}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class CronLine:
    """``zone`` "" where the file names none."""

    expression: str
    zone: str
    where: str


@dataclass(frozen=True, kw_only=True)
class Use:
    """An action or a reusable workflow: ``owner/name/path@ref``, ``./path`` or ``docker://…``."""

    what: str
    where: str

    @property
    def local(self) -> str:
        """The path in this repository; "" for one from elsewhere. ``.`` is the repository's own action."""
        return self.what[2:].rstrip("/") or "." if self.what.startswith(("./", "$/")) else ""

    @property
    def pinned(self) -> bool:
        """Whether what runs cannot be changed by somebody else later."""
        return bool(self.local) or self.what.startswith("docker://") or bool(_SHA.fullmatch(self.what.rpartition("@")[2]))

    @property
    def name(self) -> str:
        """Without its version."""
        return self.what.partition("@")[0]


@dataclass(frozen=True, kw_only=True)
class Group:
    """A concurrency group."""

    queue: str
    cancels: bool
    where: str


@dataclass(frozen=True, kw_only=True)
class Job:
    """``permissions`` None where the job leaves them to the workflow. ``passes`` maps what an environment variable (or an input,
    or a called workflow's secret) is named to the repository's secrets that it is made of."""

    id: str
    roles: frozenset[str]
    uses: tuple[Use, ...] = ()
    permissions: Mapping[str, str] | None = None
    waits: bool = False
    """Whether it comes after another job of the same run."""
    group: Group | None = None
    passes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    variables: frozenset[str] = frozenset()
    calls: Use | None = None
    """The reusable workflow that this job is."""
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """One file. ``crons`` are those of the file itself: a called workflow's own schedule is not started by its caller."""

    path: str
    triggers: frozenset[str]
    crons: tuple[CronLine, ...] = ()
    jobs: tuple[Job, ...] = ()
    permissions: Mapping[str, str] | None = None
    group: Group | None = None
    where: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def roles(self) -> frozenset[str]:
        return frozenset(role for job in self.jobs for role in job.roles)

    def passed(self, name: str) -> bool:
        """Whether some job is handed an environment variable, or a secret, of this name."""
        return any(name in job.passes or WHOLE in job.passes for job in self.jobs)


# --- one file -------------------------------------------------------------------------------------------------------------------


def workflow_of(data: bytes, path: str) -> Workflow:
    """A workflow from its file. ``InputProblem`` where it is not a readable one."""
    document = load(data, path, most=MOST_WORKFLOW)
    values = document.data
    if not isinstance(values, dict) or "on" not in values or not isinstance(values.get("jobs"), dict):
        raise InputProblem("not-a-workflow", "a workflow has on: and jobs:", where=document.where())
    shared = _passes(values.get("env"))
    return Workflow(
        path=path,
        triggers=_triggers(values["on"]),
        crons=tuple(_crons(document)),
        jobs=tuple(_job(document, name, job, shared) for name, job in values["jobs"].items() if isinstance(job, dict)),
        permissions=_permissions(values),
        group=_group(document, ("concurrency",), values.get("concurrency")),
        where=document.where(["on"], key=True),
    )


def _triggers(on: Any) -> frozenset[str]:
    named = [on] if isinstance(on, str) else on if isinstance(on, (list, dict)) else ()
    return frozenset(name for name in named if isinstance(name, str))


def _crons(document: Document) -> Iterator[CronLine]:
    on = document.data["on"]
    lines = on.get("schedule") if isinstance(on, dict) else None
    for number, line in enumerate(lines if isinstance(lines, list) else ()):
        if isinstance(line, dict) and isinstance(line.get("cron"), str):
            zone = line.get("timezone")
            yield CronLine(
                expression=line["cron"],
                zone=zone if isinstance(zone, str) else "",
                where=document.where(["on", "schedule", number, "cron"]),
            )


def _job(document: Document, name: str, job: Mapping[str, Any], shared: Mapping[str, frozenset[str]]) -> Job:
    place = ("jobs", name)
    steps = [step for step in job.get("steps") or () if isinstance(step, dict)] if isinstance(job.get("steps"), list) else []
    calls = _use(document, (*place, "uses"), job.get("uses"))
    uses = [_use(document, (*place, "steps", number, "uses"), step.get("uses")) for number, step in enumerate(steps)]
    return Job(
        id=name,
        roles=frozenset({*_roles_of(steps), *_role_of_file(calls)}),
        uses=tuple(use for use in (*uses, calls) if use),
        permissions=_permissions(job),
        waits="needs" in job,
        group=_group(document, (*place, "concurrency"), job.get("concurrency")),
        passes=_joined([shared, _passes(job.get("env")), _handed_on(job), *(_passes(_given_to(step)) for step in steps)]),
        variables=frozenset(_variables(job)),
        calls=calls,
        where=document.where(place, key=True),
    )


def _use(document: Document, place: tuple[str | int, ...], value: Any) -> Use | None:
    return Use(what=value.strip(), where=document.where(place)) if isinstance(value, str) else None


def _roles_of(steps: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for step in steps:
        script, use = step.get("run"), step.get("uses")
        if isinstance(script, str):
            yield from (ROLES[verb] for verb in _VERB.findall(script))
        if isinstance(use, str) and _is_our_action(use):
            yield from _roles_handed(step.get("with"))


def _is_our_action(use: str) -> bool:
    """Publisher's composite action: the root of this repository, or of one named publisher."""
    return use.rstrip("/") in (".", "$") or use.partition("@")[0].rpartition("/")[2] == PUBLISHER


def _roles_handed(inputs: Any) -> Iterator[str]:
    """The verb stands first in one of the action's inputs."""
    for value in inputs.values() if isinstance(inputs, dict) else ():
        first = value.split(None, 1)[0] if isinstance(value, str) and value.strip() else ""
        if first in ROLES:
            yield ROLES[first]


def _role_of_file(calls: Use | None) -> Iterator[str]:
    """A reusable workflow from elsewhere is known by its file's name alone."""
    if calls and not calls.local:
        name = calls.name.rpartition("/")[2].rpartition(".")[0]
        if name in FILES:
            yield FILES[name]


def _permissions(values: Mapping[str, Any]) -> Mapping[str, str] | None:
    found = values.get("permissions")
    if "permissions" not in values:
        return None
    if isinstance(found, str):  # read-all, write-all
        return {WHOLE: found.removesuffix("-all")}
    return {name: str(level) for name, level in found.items()} if isinstance(found, dict) else {}


def _group(document: Document, place: tuple[str | int, ...], value: Any) -> Group | None:
    if isinstance(value, str):
        return Group(queue="single", cancels=False, where=document.where(place, key=True))
    if not isinstance(value, dict) or not value.get("group"):
        return None
    return Group(
        queue=str(value.get("queue", "single")),
        cancels=value.get("cancel-in-progress", False) is not False,
        where=document.where(place, key=True),
    )


# --- what is handed on ------------------------------------------------------------------------------------------------------------


def _given_to(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """Inputs and environment of a step by name."""
    return {
        name: value for part in (step.get("with"), step.get("env")) if isinstance(part, dict) for name, value in part.items()
    }


def _handed_on(job: Mapping[str, Any]) -> Mapping[str, frozenset[str]]:
    """What a called workflow gets."""
    secrets = job.get("secrets")
    if secrets == "inherit":
        return {WHOLE: frozenset({WHOLE})}
    return _joined([_passes(secrets), _passes(job.get("with"))])


def _passes(values: Any) -> Mapping[str, frozenset[str]]:
    """The names whose values are made of secrets."""
    found = {}
    for name, value in values.items() if isinstance(values, dict) else ():
        text = " ".join(_EXPRESSION.findall(value)) if isinstance(value, str) else ""
        names = frozenset(first or second for first, second in _SECRET.findall(text))
        if _ALL_SECRETS.search(text):
            return {WHOLE: frozenset({WHOLE})}
        if names:
            found[name] = names
    return found


def _joined(parts: Iterable[Mapping[str, frozenset[str]]]) -> Mapping[str, frozenset[str]]:
    joined: dict[str, frozenset[str]] = {}
    for part in parts:
        for name, secrets in part.items():
            joined[name] = joined.get(name, frozenset()) | secrets
    return joined


def _variables(value: Any) -> Iterator[str]:
    """Every ``vars.NAME`` in any text below."""
    if isinstance(value, str):
        yield from (name for text in _EXPRESSION.findall(value) for name in _VARIABLE.findall(text))
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _variables(item)
