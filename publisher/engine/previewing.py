"""What a run would do, judged without doing it: the status, the texts' fingerprints, and a digest that ``run --expect`` compares."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from publisher.domain.fingerprint import canonical_json, digest
from publisher.engine.site_view import SiteView
from publisher.engine.status import site_status

SCHEMA = "publisher.preview/1"


def site_preview(view: SiteView, now: datetime, only: str = "") -> dict[str, Any]:
    """The preview of a site: its status with each open plan's fingerprints and policy."""
    status = site_status(view, now, only)
    plans = []
    for plan in status["plans"]:
        found = view.plans[plan["plan"]]
        file = found.plan or found.found
        fingerprints = {article.id: article.fingerprint for article in file.articles} if file else {}
        policy = file.policy if file else None
        plans.append(
            {
                **plan,
                "articles": [{**item, "fingerprint": fingerprints.get(item["id"], "")} for item in plan["articles"]],
                "policy": {"version": policy[0], "digest": policy[1]} if policy else None,
            }
        )
    report = {**status, "schema": SCHEMA, "plans": plans}
    return {**report, "expect": expectation(report)}


def expectation(report: dict[str, Any]) -> str:
    """What must still be so when the run begins: payloads, stages, texts, approvals and the live release, but no times."""
    facts = [
        {
            "plan": plan["plan"], "payload": plan["payload"], "stage": plan["stage"], "policy": plan["policy"],
            "articles": [[item["id"], item["fingerprint"]] for item in plan["articles"]],
            "approved": plan["approval"]["merge"] if plan["approval"] else None,
        }
        for plan in report["plans"]
    ]  # fmt: skip
    return digest(canonical_json({"site": report["site"], "live": report["live"], "paused": report["paused"], "plans": facts}))
