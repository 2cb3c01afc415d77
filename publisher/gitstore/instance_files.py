"""The instance's own files, from bytes to domain values and back: pure functions.

Rules:
* every reading is strict YAML, then schema, then the domain's own rule; each refuses at ``path:line:col``;
* a digest is taken over the values of the whole file, never over its spelling;
* writing gives the same bytes for the same values, and quotes whatever a careless reader could take for something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from publisher.domain import gates, plan
from publisher.domain.alarms import Limits
from publisher.domain.approval import ApprovalRules, Approver, Signer
from publisher.domain.business_calendar import parse_date, parse_duration
from publisher.domain.fingerprint import payload_hash
from publisher.domain.gates import GateFile
from publisher.domain.instance import ChannelSpec, Drafts, GithubHost, Instance, Site, TargetSpec
from publisher.domain.plan import Plan
from publisher.domain.policy import Policy
from publisher.domain.queue import Queued
from publisher.errors import InputProblem
from publisher.gitstore.strict_yaml import MOST, Document, load
from publisher.gitstore.validation import check
from publisher.gitstore.yaml_writing import render_yaml as render_yaml  # reading and writing of these files, in one place

MOST_QUEUE = 2 * 1024 * 1024
PLANS = "plans/"
ENDING = ".yaml"

_Value = TypeVar("_Value")


def instance_of(data: bytes, path: str) -> Instance:
    """``publisher.yaml``."""
    document = _read(data, path, "instance")
    values = document.data
    drafts = values.get("drafts", {})
    _refuse_unknown_channels(document)
    _refuse_own_branches(document)
    sites = {name: _site(name, site) for name, site in values["sites"].items()}
    return Instance(
        id=values["instance"]["id"],
        forge=values["forge"],
        default_branch=values["branches"]["default"],
        state_branch=values["branches"]["state"],
        github=GithubHost(**values["github"]) if "github" in values else None,
        drafts=Drafts(remote=drafts.get("repository", ""), branch=drafts.get("branch", ""), key=drafts.get("key", "")),
        on_call=tuple(values.get("on_call", ())),
        alerts=_channel("alerts", values["alerts"]) if "alerts" in values else None,
        watch=Limits(**{name: parse_duration(value) for name, value in values.get("watch", {}).items()}),
        sites=sites,
        **({"lease": parse_duration(values["lease"])} if "lease" in values else {}),
    )


def _site(name: str, values: Mapping[str, Any]) -> Site:
    more: dict[str, Any] = {}
    if "announce" in values:
        more["announce"] = values["announce"]
    if "confirm_within" in values:
        more["confirm_within"] = parse_duration(values["confirm_within"])
    return Site(
        id=name,
        url=values["url"],
        zone_name=values["zone"],
        title=values["title"],
        description=values["description"],
        language=values["language"],
        author=values["author"],
        tag_authority=values["tag_authority"],
        target=_target(values["target"]),
        staging=_target(values["staging"]) if "staging" in values else None,
        channels=tuple(_channel(channel, spec) for channel, spec in values.get("channels", {}).items()),
        **more,
    )


def _refuse_own_branches(document: Document) -> None:
    """A site is never published onto a branch that publisher reads plans from or writes the ledger to."""
    own = set(document.data["branches"].values())
    for name, site in document.data["sites"].items():
        for role in ("target", "staging"):
            spec = site.get(role, {})
            if spec.get("kind") == "git-branch" and not spec.get("repository") and spec.get("branch") in own:
                raise InputProblem(
                    "target-own-branch", "this branch holds plans or the ledger; a site has a branch of its own",
                    where=document.where(["sites", name, role, "branch"]), next="edit publisher.yaml",
                )  # fmt: skip


def _refuse_unknown_channels(document: Document) -> None:
    """An announcement on a channel that the site does not have would only be met once it is public."""
    for name, site in document.data["sites"].items():
        for number, channel in enumerate(site.get("announce", {}).get("channels", ())):
            if channel not in site.get("channels", {}):
                raise InputProblem(
                    "unknown-channel", "this is none of the site's channels",
                    where=document.where(["sites", name, "announce", "channels", number]), next="edit publisher.yaml",
                )  # fmt: skip


def _target(values: Mapping[str, Any]) -> TargetSpec:
    return TargetSpec(kind=values["kind"], options={key: value for key, value in values.items() if key != "kind"})


def _channel(name: str, values: Mapping[str, Any]) -> ChannelSpec:
    return ChannelSpec(name=name, kind=values["kind"], options={key: value for key, value in values.items() if key != "kind"})


def rules_of(data: bytes, path: str) -> ApprovalRules:
    """``approval.yaml`` as written; which version is in force is for the forge to say."""
    document = _read(data, path, "approval")
    values = document.data
    more: dict[str, Any] = {name: parse_duration(values[name]) for name in ("expires_after", "max_lead") if name in values}
    signers = tuple(
        Signer(
            principal=entry["principal"],
            key=entry["key"],
            may_commit="commit" in entry["may"],
            may_approve="approve" in entry["may"],
        )
        for entry in values.get("signers", ())
    )
    _refuse_shared_keys(document, signers)
    approvers = tuple(Approver(login=entry["login"], id=entry["id"]) for entry in values.get("approvers", ()))
    _refuse_twice(document, [approver.id for approver in approvers])
    return ApprovalRules(
        count=values["approvals"], content=values.get("content", "plan"), signers=signers, approvers=approvers, **more
    )


def _refuse_twice(document: Document, accounts: list[int]) -> None:
    """One account under two names would let one person count as two."""
    for number, account in enumerate(accounts):
        if account in accounts[:number]:
            raise InputProblem(
                "account-twice", "one account stands here under two names", where=document.where(["approvers", number, "id"])
            )


def _refuse_shared_keys(document: Document, signers: tuple[Signer, ...]) -> None:
    """One key under two names would let one person count as two."""
    owners: dict[str, str] = {}
    for number, signer in enumerate(signers):
        if owners.setdefault(signer.key.rstrip("="), signer.principal) != signer.principal:
            raise InputProblem(
                "key-shared", "one key stands under two principals", where=document.where(["signers", number, "key"])
            )


def policy_of(data: bytes, path: str) -> Policy:
    """A site's ``policy.yaml``; its digest is over the whole file's values."""
    values = _read(data, path, "policy").data
    return Policy(
        version=values["version"],
        quantity=values["quantity"],
        start=parse_date(values["start"]),
        zone_name=values["zone"],
        publish_time=values.get("publish_time", ""),
        shares=values.get("shares", {}),
        horizon_days=values["horizon_days"],
        digest=payload_hash(values),
    )


def queue_of(data: bytes, path: str) -> tuple[Queued, ...]:
    """A site's ``queue.yaml`` in order. Refuses an id or a source that stands there twice."""
    document = _read(data, path, "queue", MOST_QUEUE)
    first: dict[tuple[str, str], int] = {}
    queue = []
    for number, entry in enumerate(document.data["articles"]):
        for name in ("id", "source"):
            earlier = first.setdefault((name, entry[name]), number)
            if earlier != number:
                line = document.place(["articles", earlier])[0]
                raise InputProblem(
                    "queue-repeats", f"this {name} stands on line {line} already",
                    where=document.where(["articles", number, name]), next="publisher queue list",
                )  # fmt: skip
        queue.append(Queued(id=entry["id"], source=entry["source"], held=entry.get("held", False)))
    return tuple(queue)


def plan_of_file(data: bytes, path: str) -> Plan:
    """A plan from its file at the repository path ``path``."""
    document = _read(data, path, "plan")
    return _domain(document, lambda: plan.plan_of(_name_of(path), document.data), _PLAN_PLACES)


def gate_of_file(data: bytes, path: str) -> GateFile:
    """A gate request from its file at the repository path ``path``."""
    document = _read(data, path, "gate")
    return _domain(document, lambda: gates.gate_of(_name_of(path), document.data), {})


def payload_of(path: str, data: bytes) -> tuple[str, int]:
    """(payload hash, revision) of a plan, a gate request or ``approval.yaml``: what an approval of that file names."""
    if "/" not in path:
        document = _read(data, path, "approval")
        return payload_hash(document.data), 1
    if "/gates/" in path:
        return gate_of_file(data, path).payload, 1
    found = plan_of_file(data, path)
    return found.payload, found.revision


def _read(data: bytes, path: str, schema: str, most: int = MOST) -> Document:
    document = load(data, path, most=most)
    check(document, schema)
    return document


def _name_of(path: str) -> str:
    """A file's path below ``plans/``, without its ending."""
    if not path.startswith(PLANS) or not path.endswith(ENDING):
        raise InputProblem("plan-place", "a plan is a file below plans/ that ends with .yaml", where=f"{path}:1:1")
    return path.removeprefix(PLANS).removesuffix(ENDING)


# What the domain's rules are about, by how their sentences begin: it only decides the line that is named.
_PLAN_PLACES = {
    "publish_at": "publish_at",
    "the key": "key",
    "this plan belongs": "key",
    "a change is named": "key",
    "a revision": "revision",
    "two articles": "articles",
    "a publication": "articles",
    "steps": "steps",
    "a step": "steps",
}


def _domain(document: Document, make: Callable[[], _Value], places: Mapping[str, str]) -> _Value:
    """What ``make`` returns; the ``ValueError`` of a domain rule (its text is ours) becomes a refusal with a place."""
    try:
        return make()
    except ValueError as problem:
        rule = str(problem)
    field = next((name for begin, name in places.items() if rule.startswith(begin)), "")
    where = document.where([field] if field else [], key=True)
    raise InputProblem("plan-rule", rule, where=where)
