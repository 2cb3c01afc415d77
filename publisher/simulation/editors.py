"""What people do to the default branch, as edits that make new commits; and the requests that wait for them.

An edit is a tuple. The same edit of the same commit is the same commit in every history. Reviews are part of the content, so that a
verdict follows from the tip alone.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from publisher.domain.approval import Approval, NoApproval, Rejection, Subject, Verdict
from publisher.domain.fingerprint import canonical_json, digest
from publisher.domain.gates import gate_of
from publisher.domain.plan import Plan, plan_of
from publisher.simulation import stage
from publisher.simulation.content import Contents, DefaultCommit, oid_of
from publisher.simulation.stage import Edit

REVIEWER = "rita"


def root(contents: Contents) -> str:
    """The first commit: drafts and theme, no plan."""
    first = DefaultCommit(
        oid=oid_of("root"), parent="", plans={}, gates={}, drafts=dict.fromkeys(stage.DRAFTS, 0), theme=0, verdicts={}, changed={},
        before={},
    )  # fmt: skip
    contents.defaults.setdefault(first.oid, first)
    return first.oid


def edited(contents: Contents, tip: str, edit: Edit, at: int) -> str:
    """The commit that ``edit`` makes of ``tip`` at a second; ``tip`` itself where it changes nothing."""
    at = at if edit[0] in DATED else 0
    oid = oid_of("edit", tip, edit, at)
    if oid not in contents.defaults:
        made = EDITS[edit[0]](contents.defaults[tip], oid, at, *edit[1:])
        if made is None:
            return tip
        contents.defaults[oid] = replace(made, oid=oid, parent=tip)
    return oid


DATED = frozenset({"merge", "change", "grant", "revise"})
"""Edits whose moment counts: they carry a review."""


def _merge(before: DefaultCommit, oid: str, at: int, day: str, variant: str, due: str, announce: bool) -> DefaultCommit | None:
    return _with_plan(before, oid, at, stage.daily(day, variant, at=due, announce=announce), reviewed=True)


def _push(before: DefaultCommit, oid: str, at: int, day: str, variant: str, due: str, announce: bool) -> DefaultCommit | None:
    return _with_plan(before, oid, at, stage.daily(day, variant, at=due, announce=announce), reviewed=False)


def _revise(before: DefaultCommit, oid: str, at: int, path: str, data: str) -> DefaultCommit | None:
    """A revision that ``publisher revise`` made is reviewed and merged."""
    return _with_plan(before, oid, at, plan_of(path, json.loads(data)), reviewed=True)


def _change(before: DefaultCommit, oid: str, at: int, day: str, action: str) -> DefaultCommit | None:
    fields: dict[str, Any] = {}
    if action == "presentation":
        shown = dict(stage.SITE.presentation_data())
        files = [["theme/base", digest(theme_of(before.theme))]]
        value = digest(canonical_json({"output": 1, "site": shown, "files": files}))
        fields = {"look": (before.oid, 1, value)}
    return _with_plan(before, oid, at, stage.change(day, action, **fields), reviewed=True)


def theme_of(version: int) -> bytes:
    return b"theme %d " % version


def _with_plan(before: DefaultCommit, oid: str, at: int, plan: Plan, *, reviewed: bool) -> DefaultCommit | None:
    old = before.plans.get(plan.path)
    if old is not None and old.payload == plan.payload:
        return None
    subject = Subject(path=f"plans/{plan.path}.yaml", payload=plan.payload, revision=plan.revision)
    verdict: Verdict = NoApproval(subject=subject, code="not-reviewed", says="nobody reviewed this change")
    if reviewed:
        verdict = _yes(subject, oid, at)
    kept = {key: found for key, found in before.verdicts.items() if key[0] != subject.path}
    return replace(
        before, plans={**before.plans, plan.path: plan}, verdicts={**kept, (subject.path, plan.payload): verdict},
        changed={**before.changed, subject.path: oid}, before={**before.before, plan.path: old},
    )  # fmt: skip


def _yes(subject: Subject, oid: str, at: int) -> Approval:
    return Approval(subject=subject, by=(REVIEWER,), merged_at=stage.instant(at), merge=oid, request=1, evidence={})


def _delete(before: DefaultCommit, oid: str, at: int, path: str) -> DefaultCommit | None:
    """The plan's file is removed: a revert."""
    if path not in before.plans:
        return None
    file = f"plans/{path}.yaml"
    return replace(
        before, plans={name: plan for name, plan in before.plans.items() if name != path},
        verdicts={key: found for key, found in before.verdicts.items() if key[0] != file},
        changed={**before.changed, file: oid}, before={**before.before, path: before.plans[path]},
    )  # fmt: skip


def _dismiss(before: DefaultCommit, oid: str, at: int, path: str) -> DefaultCommit | None:
    """A review that turns out to be none: its approval cannot be derived any more."""
    file = f"plans/{path}.yaml"
    found = {key: verdict for key, verdict in before.verdicts.items() if key[0] == file and isinstance(verdict, Approval)}
    if not found:
        return None
    gone = {
        key: NoApproval(subject=item.subject, code="review-dismissed", says="the review was dismissed")
        for key, item in found.items()
    }
    return replace(before, verdicts={**before.verdicts, **gone})


def _draft(before: DefaultCommit, oid: str, at: int, number: int) -> DefaultCommit | None:
    if before.drafts[number] >= 3:
        return None
    return replace(before, drafts={**before.drafts, number: before.drafts[number] + 1})


def _theme(before: DefaultCommit, oid: str, at: int) -> DefaultCommit | None:
    return replace(before, theme=before.theme + 1) if before.theme < 3 else None


def _ask(before: DefaultCommit, oid: str, at: int, path: str, data: Any) -> DefaultCommit:
    """The head of a request's branch: the gate's file on top of the default branch."""
    return replace(before, gates={**before.gates, path: gate_of(path, dict(data))})


def _grant(before: DefaultCommit, oid: str, at: int, path: str, data: Any) -> DefaultCommit:
    """A gate's request is approved and merged."""
    made = _ask(before, oid, at, path, data)
    subject = Subject(path=f"plans/{path}.yaml", payload=made.gates[path].payload)
    return replace(made, verdicts={**made.verdicts, (subject.path, subject.payload): _yes(subject, oid, at)})


def _reject(before: DefaultCommit, oid: str, at: int, path: str, data: Any) -> DefaultCommit:
    """A gate's request is closed by somebody entitled: its file never reaches the tree."""
    gate = gate_of(path, dict(data))
    subject = Subject(path=f"plans/{path}.yaml", payload=gate.payload)
    verdict = Rejection(subject=subject, by=REVIEWER, merge=oid, request=1)
    return replace(before, verdicts={**before.verdicts, (subject.path, subject.payload): verdict})


EDITS: dict[str, Any] = {
    "merge": _merge, "push": _push, "revise": _revise, "change": _change, "delete": _delete, "dismiss": _dismiss, "draft": _draft,
    "theme": _theme, "ask": _ask, "grant": _grant, "reject": _reject,
}  # fmt: skip
