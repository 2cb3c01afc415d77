"""The review of everything beside plans: configuration, approval rules, policy, queue, and what people must leave alone.

Rules:
* who may approve, and where a site becomes public, are told loudly even where they are well-formed;
* a policy's version rises with every change; a queue names drafts that are there, each once, and none that is public;
* ``ledger/`` and the public texts are written by publisher alone; workflows are no company for plans.
"""

from __future__ import annotations

from collections.abc import Iterable

from publisher.domain.approval import ApprovalRules
from publisher.domain.configuration_changes import Difference, instance_differences, rules_differences
from publisher.domain.instance import Instance
from publisher.domain.policy import Policy
from publisher.domain.queue import Queued
from publisher.engine.review_changes import Area, Changed, shown, twin_of_ours, twins
from publisher.engine.review_desk import Desk
from publisher.errors import InputProblem

OURS = frozenset(Area) - {Area.OTHER, Area.WORKFLOW}
BY_PUBLISHER = {
    Area.LEDGER: ("ledger-touched", "the ledger is written by publisher alone", "take this file out of the request"),
    Area.PUBLIC_TEXT: (
        "public-text-touched", "public texts are written by publisher alone",
        "edit the draft, then publisher change correct ARTICLE",
    ),
}  # fmt: skip
NEXT_QUEUE = "publisher queue list"


def review_files(desk: Desk) -> None:
    """Every finding about the request's files that are no plans."""
    _names(desk)
    for change in desk.of(*BY_PUBLISHER):
        code, says, fix = BY_PUBLISHER[change.area]
        desk.found.problem(code, change.shown, says, where=f"{change.shown}:1:1", next=fix)
    for change in desk.of(Area.INSTANCE):
        _configuration(desk, change)
    for change in desk.of(Area.RULES):
        _rules(desk, change)
    for change in desk.of(Area.POLICY):
        _policy(desk, change)
    for change in desk.of(Area.QUEUE):
        _queue(desk, change)
    _beside(desk)


def _names(desk: Desk) -> None:
    """Names that hide something: odd characters, spellings that some systems take for another."""
    for change in desk.changes:
        if change.area in OURS and change.is_odd:
            desk.found.problem(
                "odd-name", change.shown, "a name below publisher's own folders is made of plain characters",
                where=f"{change.shown}:1:1", next="git mv it to a plain name",
            )  # fmt: skip
        twin = twin_of_ours(change.path)
        if twin:
            says = f"some systems take this for {twin}, which publisher reads"
            desk.found.problem("case-twin", change.shown, says, where=f"{change.shown}:1:1", next="git mv it to another name")
    _twins(desk)


def _twins(desk: Desk) -> None:
    """Plans beside which the merged tree has another spelling of the same name."""
    folders = {above for change in desk.of(Area.PLAN, Area.GATE) if change.new for above in _above(change.path)}
    for folder in sorted(folders):
        for one, other in twins(desk.trees.folder(desk.merged.commit, folder)):
            about = shown(f"{folder}/{other}")
            says = f"some systems take this for {shown(one)} beside it"
            desk.found.problem("case-twin", about, says, where=f"{about}:1:1", next="git mv it to another name")


def _above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _beside(desk: Desk) -> None:
    """What lies beside the files that are judged."""
    workflows, plans = desk.of(Area.WORKFLOW), desk.of(Area.PLAN, Area.GATE)
    if workflows and plans:
        says = f"this request changes workflows together with plans ({len(workflows)} and {len(plans)} files)"
        desk.found.warn(
            "workflows-with-plans", workflows[0].shown, says, where=f"{workflows[0].shown}:1:1",
            next="propose the workflows in a request of their own",
        )  # fmt: skip
    for change in desk.of(Area.STRAY):
        if change.new:
            desk.found.warn("never-read", change.shown, "nothing reads this file", where=f"{change.shown}:1:1")
    for site in sorted({change.site for change in desk.of(Area.LOOK)}):
        says = f"theme or static files of {site} change; they go live by a presentation change only"
        desk.found.note("look-changed", f"site-src/{site}", says, next="publisher change presentation")


# --- publisher.yaml and approval.yaml ---------------------------------------------------------------------------------------


def _configuration(desk: Desk, change: Changed) -> None:
    if change.new is None:
        desk.found.problem("file-removed", change.path, "without it this is no instance any more", next="put it back")
        return
    data = desk.text(change, change.path)
    if data is None:
        return
    with desk.found.reading(change.path):
        new = desk.doors.files.instance(data, change.path)
        _tell(desk, change.path, data, instance_differences(desk.instance, new))


def _rules(desk: Desk, change: Changed) -> None:
    if change.new is None:
        desk.found.problem("file-removed", change.path, "without it nobody may approve anything", next="put it back")
        return
    data = desk.text(change, change.path)
    if data is None:
        return
    with desk.found.reading(change.path):
        new = desk.doors.files.rules(data, change.path)
        in_force = desk.doors.forge.rules(desk.base)
        _tell(desk, change.path, data, rules_differences(in_force, new))
        _enough(desk, change.path, desk.instance, new)


def _enough(desk: Desk, path: str, instance: Instance, rules: ApprovalRules) -> None:
    """Rules under which nobody could approve the next change of them."""
    able = len(rules.approvers) if instance.forge == "github" else len({s.principal for s in rules.signers if s.may_approve})
    if able < rules.count:
        says = f"{rules.count} must approve, and only {able} may: nothing could be approved any more"
        desk.found.problem("nobody-approves", path, says, where=f"{path}:1:1", next="add approvers to approval.yaml")


def _tell(desk: Desk, path: str, data: bytes, differences: Iterable[Difference]) -> None:
    for item in differences:
        where = desk.doors.files.where(data, path, item.place)
        tell = desk.found.problem if item.forbidden else desk.found.note if item.quiet else desk.found.warn
        tell(item.code, path, item.says, where=where)


# --- policy -----------------------------------------------------------------------------------------------------------------


def _policy(desk: Desk, change: Changed) -> None:
    if change.new is None:
        desk.found.warn("policy-removed", change.path, "without a policy nothing is planned for this site", next="put it back")
        return
    desk.policies[change.site] = None
    data = desk.text(change, change.path)
    if data is None:
        return
    with desk.found.reading(change.path):
        new = desk.doors.files.policy(data, change.path)
        desk.policies[change.site] = new
        _policy_against(desk, change, data, new, _policy_at(desk, desk.base, change.site))


def _policy_at(desk: Desk, commit: str, site: str) -> Policy | None:
    try:
        return desk.doors.reads.policy(commit, site)
    except InputProblem:
        return None


def _policy_against(desk: Desk, change: Changed, data: bytes, new: Policy, old: Policy | None) -> None:
    def where(*place: str) -> str:
        return desk.doors.files.where(data, change.path, place)

    if old and new.digest != old.digest and new.version <= old.version:
        desk.found.problem(
            "policy-version", change.path, f"a changed policy has a higher version than {old.version}", where=where("version"),
            next=f"write version: {old.version + 1}",
        )  # fmt: skip
    lead = desk.doors.forge.rules(desk.base).max_lead
    if new.horizon_days > max(lead.days, 1):
        says = f"plans are made {new.horizon_days} days ahead, and an approval may be given only {lead.days} days ahead"
        fix = "lower horizon_days, or raise max_lead"
        desk.found.warn("horizon-beyond-lead", change.path, says, where=where("horizon_days"), next=fix)
    total = sum(new.shares.values())
    shares = "".join(f"; {name} {share} of {total}" for name, share in new.shares.items())
    says = f"{new.quantity} a day from {new.start}, {new.horizon_days} days ahead{shares}"
    desk.found.note("policy-says", change.path, says, where=where("version"))


# --- the queue --------------------------------------------------------------------------------------------------------------


def _queue(desk: Desk, change: Changed) -> None:
    if change.new is None:
        desk.found.warn("queue-removed", change.path, "without a queue nothing is planned for this site", next="put it back")
        return
    data = desk.text(change, change.path)
    if data is None:
        return
    with desk.found.reading(change.path):
        queue = desk.doors.files.queue(data, change.path)
        old = set(_queue_at(desk, change.site))
        new = [(number, entry) for number, entry in enumerate(queue) if entry not in old]
        if change.site not in desk.instance.sites:
            says = f"the default branch has no site {change.site} yet"
            desk.found.warn("unknown-site", change.path, says, where=f"{change.path}:1:1")
            return
        _queued(desk, change, data, new)


def _queue_at(desk: Desk, site: str) -> tuple[Queued, ...]:
    try:
        return desk.doors.reads.queue(desk.base, site)
    except InputProblem:
        return ()


def _queued(desk: Desk, change: Changed, data: bytes, new: list[tuple[int, Queued]]) -> None:
    """The entries that are new or changed, against the drafts and what is public."""
    public = desk.view(change.site).production.content.texts
    commit = desk.drafts_commit(desk.merged.commit)
    drafts, unread = desk.drafts(commit, change.site, [entry.source for _, entry in new]) if commit else ({}, {})
    for number, entry in new:

        def where(name: str, at: int = number) -> str:
            return desk.doors.files.where(data, change.path, ("articles", at, name))

        if entry.id in public:
            says = f"{entry.id} is public already; a publication never names it again"
            desk.found.problem(
                "already-public", change.path, says, where=where("id"), next=f"publisher queue remove {entry.id}"
            )
        if not commit:
            continue
        draft = drafts.get(entry.source)
        if entry.source in unread:
            desk.found.refusal(entry.source, unread[entry.source])
        elif draft is None:
            says = "the queue names a draft that does not exist"
            desk.found.problem(
                "draft-missing", change.path, says, where=where("source"), next=f"publisher queue remove {entry.id}"
            )
        elif draft.id != entry.id:
            says = f"the queue names {entry.id} for {entry.source}, which says {draft.id}"
            desk.found.problem("queue-id-differs", change.path, says, where=where("id"), next=NEXT_QUEUE)
        elif draft.draft_mark:
            says = f"{entry.id} says of itself that it is a draft, and is passed over until it does not"
            desk.found.note("draft-mark", change.path, says, where=where("id"))
