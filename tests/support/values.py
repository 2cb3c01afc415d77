"""Plans, ledgers and views as values, built the way the product builds them: nothing here reads a clock or a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import Any

from publisher.domain.approval import Approval, ApprovalRules, NoApproval, Rejection, Subject, window
from publisher.domain.business_calendar import in_utc
from publisher.domain.fingerprint import digest
from publisher.domain.gates import PLAN_GATE
from publisher.domain.history import History, apply, unwritten
from publisher.domain.instance import Instance, Site, TargetSpec
from publisher.domain.ledger_events import WITHOUT_CLAIM, Event, EventType, NewEvent, encode
from publisher.domain.lines import LAUNCH, Step
from publisher.domain.plan import Plan, plan_of
from publisher.engine.site_view import Asked, PlanView, SiteView
from publisher.ports import Tips

SITE_ID = "handbook"
ZONE = "Asia/Hong_Kong"
DAY = date(2026, 12, 1)
NOW = datetime(2026, 12, 1, 1, 30, tzinfo=UTC)
"""09:30 on ``DAY`` in Hong Kong; plans are due at 09:00."""
COMMIT = "c" * 40
RELEASE, BASE = digest(b"release"), digest(b"base")

SITE = Site(
    id=SITE_ID,
    url="https://handbook.example",
    zone_name=ZONE,
    title="Handbook",
    description="How it is done.",
    language="en",
    author="The editors",
    tag_authority="handbook.example,2026-01-01",
    target=TargetSpec(kind="directory", options={}),
    staging=TargetSpec(kind="directory", options={}),
)
INSTANCE = Instance(
    id="i" * 32,
    forge="git",
    default_branch="main",
    state_branch="main",
    on_call=("ops@handbook.example",),
    sites={SITE_ID: SITE},
)
RULES = ApprovalRules()


# --- plans ------------------------------------------------------------------------------------------------------------------


def article(number: int, **changes: Any) -> dict[str, Any]:
    made = {
        "id": f"a-{number:04}", "source": f"drafts/handbook/text-{number}", "category": "guide", "url": f"/text-{number}/",
        "guid": f"tag:handbook.example,2026-01-01:handbook/a-{number:04}", "fingerprint": digest(f"text {number}".encode()),
    }  # fmt: skip
    return {**made, **changes}


def publication_data(day: date = DAY, numbers: tuple[int, ...] = (1, 2), **changes: Any) -> dict[str, Any]:
    made = {
        "kind": "publication", "site": SITE_ID, "key": f"daily-publication:{day}", "date": f"{day}", "zone": ZONE,
        "publish_at": f"{day}T09:00:00+08:00", "policy": {"version": 3, "digest": digest(b"policy")}, "revision": 1,
        "articles": [article(number) for number in numbers],
        "announce": {"channels": ["mail"], "list": "readers", "at_most": 500},
    }  # fmt: skip
    return {name: value for name, value in {**made, **changes}.items() if value is not None}


def publication(day: date = DAY, numbers: tuple[int, ...] = (1, 2), **changes: Any) -> Plan:
    return plan_of(f"{SITE_ID}/daily/{day.year:04}/{day}", publication_data(day, numbers, **changes))


def change_data(name: str = "2026-12-01-1", **changes: Any) -> dict[str, Any]:
    made = {
        "kind": "change", "site": SITE_ID, "key": f"change:{name}", "date": name[:10], "zone": ZONE, "revision": 1,
        "action": "withdraw", "withdrawals": [{"id": "a-0001", "url": "/text-1/", "answer": "gone"}],
    }  # fmt: skip
    return {field: value for field, value in {**made, **changes}.items() if value is not None}


def change(name: str = "2026-12-01-1", **changes: Any) -> Plan:
    return plan_of(f"{SITE_ID}/changes/{name[:4]}/{name}", change_data(name, **changes))


def launch(**changes: Any) -> Plan:
    made = {
        "kind": "launch", "site": SITE_ID, "key": "launch", "date": f"{DAY}", "zone": ZONE, "revision": 1,
        "steps": ["build", "release"], "articles": [article(1)],
    }  # fmt: skip
    data = {field: value for field, value in {**made, **changes}.items() if value is not None}
    return plan_of(f"{SITE_ID}/launch", data)


def whole_launch() -> Plan:
    """A launch through all thirteen steps."""
    return launch(steps=[step.name for step in LAUNCH])


def revised(plan: Plan, **changes: Any) -> Plan:
    """The proper next revision of a plan."""
    data = {**plan.data, "revision": plan.revision + 1, "supersedes": plan.payload, "reason": "a better text", **changes}
    return plan_of(plan.path, data)


# --- ledgers ----------------------------------------------------------------------------------------------------------------

Record = tuple[EventType, Mapping[str, Any]]


def event(kind: EventType, *, after: Event | None = None, at: datetime = NOW, claim: int = 7, **fields: Any) -> Event:
    new = NewEvent(type=kind, fields=fields, claim=None if kind in WITHOUT_CLAIM else claim)
    return encode(new, after=after, at=in_utc(at), actor="ci", commit=COMMIT)[1]


def log(*records: Record, at: datetime = NOW) -> tuple[Event, ...]:
    events: list[Event] = []
    for kind, fields in records:
        events.append(event(kind, after=events[-1] if events else None, at=at, **fields))
    return tuple(events)


def approved(plan: Plan, gate: str = PLAN_GATE) -> Record:
    return EventType.APPROVED, {
        "gate": gate, "plan_payload": plan.payload, "plan_commit": COMMIT, "payload": plan.payload, "merge": "m" * 40,
        "steps": [step.name for step in plan.steps], "by": ["alice"], "request": 1,
    }  # fmt: skip


def put(number: int, text: str = "", **changes: Any) -> dict[str, Any]:
    """One article's public form as ``prepare`` records it."""
    planned, body = article(number), digest(f"public {number}{text}".encode())
    made = {
        "id": planned["id"], "url": planned["url"], "guid": planned["guid"], "date": "2026-12-01T09:00:00+08:00", "updated": "",
        "digest": body, "category": planned["category"], "files": {"index.md": ["b" * 40, body]},
    }  # fmt: skip
    return {**made, **changes}


def prepared(plan: Plan, puts: list[dict[str, Any]] | None = None, **fields: Any) -> Record:
    numbers = [int(item.id[-4:]) for item in plan.articles]
    given = [put(number) for number in numbers] if puts is None else puts
    return EventType.PREPARED, {"payload": plan.payload, "plan": plan.path, "puts": given, **fields}


def built(release: str = RELEASE, base: str = "") -> Record:
    presentation = {"commit": COMMIT, "output": 1, "digest": digest(b"presentation")}
    return EventType.BUILT, {"release": release, "base": base, "presentation": presentation, "files": 9}


def intended(release: str = RELEASE, deployment: int = 1, base: str = "") -> Record:
    return EventType.DEPLOY_INTENT, {"deployment": deployment, "release": release, "base": base}


def deployed(release: str = RELEASE, deployment: int = 1, base: str = "") -> Record:
    return EventType.DEPLOYED, {"deployment": deployment, "release": release, "base": base, "how": "switched"}


def confirmed(release: str = RELEASE) -> Record:
    return EventType.CONFIRMED, {"release": release, "urls": ["https://handbook.example/text-1/"], "pages": {}}


def announced() -> Record:
    return EventType.ANNOUNCED, {"channels": ["mail"], "recipients": {"mail": 1}}


def failed(step: str, code: str = "boom") -> Record:
    return EventType.FAILED, {"step": step, "code": code}


def unknown(step: str, code: str = "not-seen") -> Record:
    return EventType.UNKNOWN, {"step": step, "code": code}


def requested(plan: Plan, number: int = 1, request: int = 9, gate: str = PLAN_GATE) -> Record:
    path = f"{plan.site}/gates/{gate.lower()}-x-{number}"
    fields = {"gate": gate, "number": number, "request": request, "path": path, "payload": digest(path.encode())}
    return EventType.REQUESTED, fields


def up_to(stage: str, plan: Plan) -> tuple[Record, ...]:
    """The records of a plan that went well up to and including one stage."""
    if plan.key == "launch":
        records = [approved(plan), prepared(plan), built(), approved(plan, "G3"), intended(), deployed(), confirmed()]
        names = ["approved", "prepared", "built", "gate", "intended", "deployed", "confirmed"]
    else:
        records = [approved(plan), prepared(plan), built(), intended(), deployed(), confirmed(), announced()]
        names = ["approved", "prepared", "built", "intended", "deployed", "confirmed", "announced"]
    return tuple(records[: names.index(stage) + 1]) if stage else ()


def fold(kind: str, steps: tuple[Step, ...], events: Iterable[Event]) -> History:
    return reduce(apply, events, unwritten(kind, steps))


def history_of(plan: Plan, *records: Record) -> History:
    return fold(str(plan.kind), plan.steps, log(*records))


# --- approvals --------------------------------------------------------------------------------------------------------------


def subject(plan: Plan) -> Subject:
    return Subject(path=f"plans/{plan.path}.yaml", payload=plan.payload, revision=plan.revision)


def yes(plan: Plan, merged_at: datetime = NOW - timedelta(hours=1), number: int = 0, rules: ApprovalRules = RULES) -> Asked:
    approval = Approval(subject=subject(plan), by=("alice",), merged_at=merged_at, merge="m" * 40, request=1, evidence={})
    return Asked(number=number, verdict=approval, window=window(merged_at, plan.publish_at, rules))


def no(plan: Plan, code: str = "absent", says: str = "", number: int = 0) -> Asked:
    return Asked(number=number, verdict=NoApproval(subject=subject(plan), code=code, says=says), window=None)


def never(plan: Plan, number: int = 0) -> Asked:
    return Asked(number=number, verdict=Rejection(subject=subject(plan), by="alice", merge="m" * 40, request=2), window=None)


# --- views ------------------------------------------------------------------------------------------------------------------


def plan_view(
    of: Plan,
    /,
    *records: Record,
    asked: tuple[Asked, ...] | None = None,
    gates: Mapping[str, tuple[Asked, ...]] | None = None,
    **changes: Any,
) -> PlanView:
    """A plan as a run sees it: readable and unchanged, with a valid approval unless something else is asked for."""
    own = {PLAN_GATE: (yes(of),) if asked is None else asked}
    view = PlanView(
        path=of.path, plan=of, found=of, problem=None, history=history_of(of, *records), asked={**own, **(gates or {})}
    )
    return replace(view, **changes)


def site_view(
    *views: PlanView, controls: tuple[Record, ...] = (), requests: Mapping[int, str] | None = None, **changes: Any
) -> SiteView:
    tips = Tips(default=COMMIT, state=COMMIT, drafts=COMMIT, requests=requests or {})
    made = SiteView(
        tips=tips, instance=INSTANCE, site=SITE, rules=RULES, events={f"{SITE_ID}/controls": log(*controls)},
        plans={view.path: view for view in views}, has_ledger=True,
    )  # fmt: skip
    return replace(made, **changes)
