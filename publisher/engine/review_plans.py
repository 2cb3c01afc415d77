"""The review of plans and gate files: whether each could be carried out as it is, if somebody approved it now.

Rules:
* a plan is judged against the tree that merging would make, because that tree's bytes are what is approved;
* a key that is bound already takes nothing but its next numbered revision;
* an article is public once, planned once, and proposed once; its address and GUID are those it will have for ever;
* what was rejected is not proposed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from publisher.domain.approval import Rejection, Subject
from publisher.domain.article import RESERVED_PAGES
from publisher.domain.business_calendar import business_date, for_people
from publisher.domain.fingerprint import short
from publisher.domain.gates import GateFile, subject_of
from publisher.domain.plan import ChangeAction, Conflict, Kind, Plan, PlannedArticle
from publisher.domain.policy import Policy
from publisher.engine.deciding import standing_plan
from publisher.engine.review_changes import Area, Changed
from publisher.engine.review_desk import Desk, ProposedPlan
from publisher.engine.site_view import PlanView, SiteView
from publisher.engine.succession import check_successor
from publisher.errors import NeedsPerson

REVISE = 'publisher revise {plan} --reason "…"'


def read_plans(desk: Desk) -> None:
    """The plans that the request brings, onto the desk; and findings about those that are none."""
    for change in desk.of(Area.PLAN):
        if change.new is None:
            _removed(desk, change)
            continue
        data = desk.text(change, change.path)
        if data is None:
            continue
        with desk.found.reading(change.path):
            plan = desk.doors.files.plan(data, change.path)
            desk.proposed.append(ProposedPlan(path=change.path, data=data, plan=plan))
    desk.proposed.sort(key=lambda item: (item.plan.site, item.plan.publish_at, item.plan.path))


def _removed(desk: Desk, change: Changed) -> None:
    name = change.path.removeprefix("plans/").removesuffix(".yaml")
    says = "taking a plan's file away does not cancel it; what it was approved for stays to be decided"
    desk.found.warn("plan-removed", change.path, says, next=f'publisher cancel {name} --reason "…"')


def review_plans(desk: Desk) -> None:
    """Every finding about the plans on the desk that needs no draft."""
    for item in desk.proposed:
        if item.plan.site not in desk.instance.sites:
            says = f"the default branch has no site {item.plan.site}"
            fix = "merge the site's configuration first"
            desk.found.problem("unknown-site", item.path, says, where=_at(desk, item, "site"), next=fix)
            continue
        desk.doors.progress(f"judging {item.plan.path}")
        view = desk.view(item.plan.site)
        _key(desk, item, view)
        _when(desk, item, view)
        _presentation(desk, item)
        if item.plan.kind is Kind.PUBLICATION:
            _policy(desk, item)
        if item.plan.kind is Kind.CHANGE:
            _change(desk, item, view)
        else:
            _articles(desk, item, view)
        _rejected(desk, item.path, Subject(path=item.path, payload=item.plan.payload, revision=item.plan.revision))
        if item.path in desk.merged.clashes:
            says = "the default branch changed this plan too, so it is not known which payload a merge makes of it"
            desk.found.warn("base-moved", item.path, says, where=f"{item.path}:1:1", next="update the branch, then look again")


def _at(desk: Desk, item: ProposedPlan, *place: str | int) -> str:
    return desk.doors.files.where(item.data, item.path, place)


# --- the key ------------------------------------------------------------------------------------------------------------------


def _key(desk: Desk, item: ProposedPlan, site: SiteView) -> None:
    view, plan = site.plans.get(item.plan.path), item.plan
    if view is None:
        if plan.revision != 1:
            says = f"there is no plan that revision {plan.revision} could follow; a new plan is revision 1"
            desk.found.problem("revision-of-nothing", item.path, says, where=_at(desk, item, "revision"), next="publisher plan")
        return
    closed = _closed(view, plan)
    if closed:
        desk.found.problem(closed[0], item.path, closed[1], where=_at(desk, item, "key"), next=f"publisher status {plan.path}")
        return
    # What stands on the default branch was merged first, and binds the key, whether anybody approved it or not.
    bound = view if view.history.payload or view.found is None else replace(view, before=view.found)
    try:
        check_successor(bound, plan)
    except Conflict as conflict:
        says = f"the key is bound to payload {short(conflict.bound)}, and this file ({short(conflict.found)}) is not its next revision"
        desk.found.problem("conflict", item.path, says, where=_at(desk, item, "revision"), next=REVISE.format(plan=plan.path))


def _closed(view: PlanView, plan: Plan) -> tuple[str, str] | None:
    """Why nothing follows a plan any more."""
    history = view.history
    if history.canceled:
        return "plan-canceled", "this plan is canceled; nothing further of it runs"
    if history.is_public or history.over:
        return "plan-public", "this plan is public; what is public changes by a change plan"
    if plan.payload in history.refused_revisions:
        return "revision-refused", "this revision came too late once, and was refused"
    if history.intent or history.unknown:
        return "deploy-open", "a deploy of this plan has no known outcome yet; a revision would come too late"
    return None


# --- dates --------------------------------------------------------------------------------------------------------------------


def _when(desk: Desk, item: ProposedPlan, site: SiteView) -> None:
    plan = item.plan
    if plan.kind is Kind.PUBLICATION and plan.day.isoformat() in site.controls.skipped:
        says = f"{plan.day} was skipped by a person"
        desk.found.problem("skipped", item.path, says, where=_at(desk, item, "date"), next=f"publisher log --site {plan.site}")
    if plan.kind is Kind.PUBLICATION and business_date(desk.now, plan.zone) > plan.day:
        says = f"{plan.day} has passed in {plan.zone_name}"
        desk.found.warn("date-passed", item.path, says, where=_at(desk, item, "date"))
    opens = plan.publish_at - min(site.rules.max_lead, timedelta(days=366))
    if desk.now < opens:
        says = f"an approval given before {for_people(opens, plan.zone)} would be too early to count"
        desk.found.warn("too-early", item.path, says, where=_at(desk, item, "date"), next="approve it later")


def _policy(desk: Desk, item: ProposedPlan) -> None:
    plan, policy = item.plan, desk.policy(item.plan.site)
    assert plan.policy is not None  # a publication's schema requires it
    version, named = plan.policy
    if policy is None:
        desk.found.problem(
            "no-policy",
            item.path,
            "the site has no policy that can be read",
            where=_at(desk, item, "policy"),
            next="publisher init",
        )
    elif version < policy.version:
        says = f"it was made under policy version {version}; the policy is version {policy.version} now"
        desk.found.warn("policy-older", item.path, says, where=_at(desk, item, "policy", "version"))
    elif named != policy.digest or version > policy.version:
        says = f"the policy is version {policy.version} ({short(policy.digest)}); the plan names {version} ({short(named)})"
        desk.found.problem(
            "policy-differs",
            item.path,
            says,
            where=_at(desk, item, "policy", "digest"),
            next="publisher plan, which writes both",
        )
    else:
        _follows(desk, item, policy)


def _follows(desk: Desk, item: ProposedPlan, policy: Policy) -> None:
    """Quantity, date and time as the policy of the same version says."""
    plan = item.plan
    if len(plan.articles) != policy.quantity:
        says = f"the policy says {policy.quantity} a day, and this plan has {len(plan.articles)}"
        desk.found.problem("quantity-differs", item.path, says, where=_at(desk, item, "articles"), next="publisher plan")
    if plan.day < policy.start:
        says = f"the policy starts on {policy.start}"
        desk.found.problem("before-start", item.path, says, where=_at(desk, item, "date"), next="publisher plan")
    try:
        due = policy.instant(plan.day)
    except ValueError:
        due = None  # the zone has no such moment; the plan's own was checked when it was read
    if due != plan.publish_at or plan.zone_name != policy.zone_name:
        says = "it becomes public at another time than the policy says"
        desk.found.warn("time-differs", item.path, says, where=_at(desk, item, "date"))
    counts = {article.category for article in plan.articles if policy.shares and article.category not in policy.shares}
    if counts:
        says = f"the policy has no share for category {', '.join(sorted(counts))}"
        desk.found.problem("category-without-share", item.path, says, where=_at(desk, item, "articles"), next="publisher plan")


# --- articles -----------------------------------------------------------------------------------------------------------------


def _articles(desk: Desk, item: ProposedPlan, site: SiteView) -> None:
    content = site.production.content
    owners = {text.url: text.id for text in content.texts.values()}
    for number, article in enumerate(item.plan.articles):
        text = content.texts.get(article.id)
        if text is not None and text.plan != item.plan.path:
            says = f"{article.id} is public already; a publication never names it again"
            _article(desk, item, number, "id", "already-public", says, f"publisher queue remove {article.id}")
        for elsewhere in _elsewhere(desk, item, site, article):
            _article(desk, item, number, "id", "planned-elsewhere", elsewhere, "publisher status")
        taken = owners.get(article.url, article.id) != article.id
        if taken or article.url.strip("/") in RESERVED_PAGES:
            says = f"the address {article.url} belongs to another page of the site"
            _article(desk, item, number, "url", "url-taken", says, "rename the draft's folder")
        if article.guid != site.site.guid_of(article.id):
            says = f"the GUID of {article.id} is not the one that this site makes"
            _article(desk, item, number, "guid", "guid-differs", says, "publisher plan, which writes it")


def _article(desk: Desk, item: ProposedPlan, number: int, field: str, code: str, says: str, next: str) -> None:
    desk.found.problem(code, item.path, says, where=_at(desk, item, "articles", number, field), next=next)


def _elsewhere(desk: Desk, item: ProposedPlan, site: SiteView, article: PlannedArticle) -> Iterator[str]:
    """Where else an article is spoken for: a live plan, another open request, another plan of this one."""
    here = {other.plan.path for other in desk.proposed}
    for view in site.plans.values():
        live = view.plan if view.history.payload else view.found
        if view.history.canceled or view.history.over or live is None or live.kind is Kind.CHANGE or view.path in here:
            continue
        if article.id in live.article_ids:
            yield f"{article.id} stands in the plan {view.path} already"
    for number, plan in desk.others:
        if plan.site == item.plan.site and plan.kind is not Kind.CHANGE and article.id in plan.article_ids:
            yield f"{article.id} stands in request {number} already ({plan.path})"
    beside = [other.plan for other in desk.proposed if other.path != item.path and other.plan.site == item.plan.site]
    for plan in beside:
        if plan.kind is not Kind.CHANGE and article.id in plan.article_ids:
            yield f"{article.id} stands in {plan.path} of this request too"


# --- changes of what is public ------------------------------------------------------------------------------------------------


def _change(desk: Desk, item: ProposedPlan, site: SiteView) -> None:
    content, plan = site.production.content, item.plan
    for number, article in enumerate(plan.articles):
        text = content.texts.get(article.id)
        if text is None or article.id in content.withdrawn:
            _article(
                desk,
                item,
                number,
                "id",
                "not-public",
                f"{article.id} is not public, so it cannot be corrected",
                "publisher log",
            )
        elif (text.url, text.guid) != (article.url, article.guid):
            _article(
                desk,
                item,
                number,
                "url",
                "identity-changed",
                f"{article.id} is public with another URL or GUID",
                "publisher log",
            )
        elif plan.action is ChangeAction.CORRECT and article.was != text.digest:
            says = f"{article.id} is public as {short(text.digest)}, the correction was made for {short(article.was)}"
            _article(desk, item, number, "was", "text-moved", says, REVISE.format(plan=plan.path))
    for number, withdrawal in enumerate(plan.withdrawals):
        text = content.texts.get(withdrawal.id)
        if text is None or text.url != withdrawal.url:
            says = f"{withdrawal.id} is not public at {withdrawal.url}"
            desk.found.problem(
                "not-public", item.path, says, where=_at(desk, item, "withdrawals", number, "id"), next="publisher log"
            )
    for number, revert in enumerate(plan.reverts):
        if (revert.id, revert.digest) not in content.known or revert.id in content.withdrawn:
            says = f"{revert.id} was never public as {short(revert.digest)}"
            desk.found.problem(
                "no-such-text", item.path, says, where=_at(desk, item, "reverts", number, "id"), next="publisher log"
            )
    for number, name in enumerate(plan.hides):
        if name not in content.texts:
            says = f"{name} is not public, so it cannot be hidden"
            desk.found.problem("not-public", item.path, says, where=_at(desk, item, "hides", number), next="publisher log")


def _presentation(desk: Desk, item: ProposedPlan) -> None:
    """A theme is taken from the default branch's history only: templates of a request are never rendered."""
    wanted = item.plan.presentation
    if wanted and not desk.is_merged(wanted.commit):
        desk.found.problem(
            "presentation-unmerged", item.path, "the commit that it names for its presentation is not on the default branch",
            where=_at(desk, item, "presentation", "commit"), next="publisher change presentation",
        )  # fmt: skip


# --- gates and rejections -----------------------------------------------------------------------------------------------------


def review_gates(desk: Desk) -> tuple[GateFile, ...]:
    """The gate files that the request brings, and every finding about them."""
    gates = []
    for change in desk.of(Area.GATE):
        if change.new is None:
            desk.found.warn(
                "gate-removed", change.path, "a request file that is gone asks for nothing any more", next="put it back"
            )
            continue
        data = desk.text(change, change.path)
        if data is None:
            continue
        with desk.found.reading(change.path):
            gate = desk.doors.files.gate(data, change.path)
            gates.append(gate)
            if gate.site in desk.instance.sites:
                _gate(desk, change.path, data, gate)
            else:
                says = f"the default branch has no site {gate.site}"
                desk.found.problem("unknown-site", change.path, says, where=f"{change.path}:1:1")
    return tuple(gates)


def _gate(desk: Desk, path: str, data: bytes, gate: GateFile) -> None:
    view = desk.view(gate.site).plans.get(gate.plan)
    where = desk.doors.files.where(data, path, ("plan_payload",))
    if view is None or (view.plan or view.found) is None:
        desk.found.problem("no-such-plan", path, f"there is no open plan {gate.plan}", where=where, next="publisher status")
        return
    plan = standing_plan(view)
    built = view.history.built
    if gate.plan_payload != plan.payload or gate.subject_hash != subject_of(gate.gate, plan, built.release if built else ""):
        says = f"it asks for something else than {gate.plan} stands for now ({short(plan.payload)})"
        desk.found.problem("gate-differs", path, says, where=where, next=f"publisher plan --again {gate.plan}")
    _rejected(desk, path, Subject(path=path, payload=gate.payload))


def _rejected(desk: Desk, path: str, subject: Subject) -> None:
    try:
        verdict = desk.doors.verdict(desk.requested.tips, subject)
    except NeedsPerson as refusal:
        says = f"it could not be looked up whether this payload was rejected before ({refusal.code})"
        desk.found.warn("rejection-unknown", path, says, next="publisher doctor")
        return
    if isinstance(verdict, Rejection):
        says = f"this payload ({short(subject.payload)}) was rejected in request {verdict.request}"
        name = path.removeprefix("plans/").removesuffix(".yaml")
        desk.found.problem("rejected", path, says, where=f"{path}:1:1", next=REVISE.format(plan=name))
