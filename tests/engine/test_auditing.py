"""The audit finds each kind of tampering by its own code and place, in a history that the real engine made."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from publisher.domain.approval import Approval, Subject
from publisher.domain.business_calendar import in_utc
from publisher.domain.fingerprint import digest, input_of, tree_digest
from publisher.engine.audit_approvals import Approvals
from publisher.engine.audit_findings import Findings
from publisher.engine.audit_ledger import read_site
from publisher.engine.auditing import SiteCheck
from publisher.errors import Refusal, StoppedForSafety
from publisher.wiring import render_yaml
from tests.support.audited import (
    CLAIMS,
    CONTROLS,
    CORRECTION,
    FIRST,
    LAUNCH,
    OTHER_DRAFTS,
    SECOND,
    STATE,
    WITHDRAWAL,
    WRONG_FINGERPRINT,
    Remembering,
    Step,
    Tampered,
    audit_of,
    chained,
    copy_clone,
    drop,
    find,
    finished_story,
    make_short_story,
    recorded_events,
)
from tests.support.gitrepos import Repository, clone

OTHER = "sha256:" + "f" * 64
ARTICLES = "site-src/blog/articles"


@pytest.fixture
def world(tmp_path):
    story = finished_story()
    return Tampered(copy_clone(tmp_path / "clone"), story.clock.now())


def codes(report):
    return {finding.code for finding in report.problems}


def places(report, code):
    return [finding.where for finding in report.problems if finding.code == code]


# --- nothing was tampered with ------------------------------------------------------------------------------------------------


def test_what_the_engine_made_is_proven_to_its_last_release():
    story = finished_story()
    report = audit_of(story.instance.clone("ci").path, story.clock.now(), rebuild=True)
    assert report.problems == [] and report.not_proven == [] and report.exit_code == 0
    assert [finding.code for finding in report.warnings] == ["root-not-pinned"]
    assert report.counts == {
        "ledger_files": 6, "events": recorded_events(), "claims": 6, "plans": 5, "approvals": 6, "deployments": 5,
        "texts_made_again": 6, "releases_built_again": 5,
    }  # fmt: skip


def test_each_public_article_has_its_plan_approval_and_deploy():
    story = finished_story()
    report = audit_of(story.instance.clone("ci").path, story.clock.now())
    rows = {row["id"]: row for row in report.sites[0].articles}
    assert {name: row["plan"] for name, row in rows.items()} == {
        "a-0008": LAUNCH, "a-0001": CORRECTION, "a-0003": FIRST, "a-0005": SECOND,
    }  # fmt: skip
    first = story.instance.ledger(FIRST, STATE)
    by_type = {event["type"]: event for event in first}
    assert rows["a-0003"] == {
        "id": "a-0003", "url": "/article-0003/", "plan": FIRST, "payload": by_type["approved"]["payload"],
        "approved_by": ["reviewer@example.org"], "request": by_type["approved"]["request"],
        "merge": by_type["approved"]["merge"], "merged_at": rows["a-0003"]["merged_at"],
        "deployed_at": by_type["deployed"]["at"], "claim": 3, "release": by_type["deployed"]["release"],
        "confirmed_at": by_type["confirmed"]["at"],
    }  # fmt: skip
    assert in_utc(rows["a-0003"]["merged_at"]) == by_type["approved"]["merged_at"]


def test_a_ledger_on_the_default_branch_is_proven_too(tmp_path):
    story = make_short_story(tmp_path)
    report = audit_of(story.instance.clone("ci").path, story.clock.now(), rebuild=True)
    assert report.problems == [] and report.not_proven == []
    assert report.counts["deployments"] == report.counts["releases_built_again"] == 1


def test_replaying_the_records_unchanged_is_no_tampering(world):
    before = world.tip()
    world.replay(world.steps())
    assert world.tip() != before
    assert world.audit().problems == []


def test_a_pinned_root_is_no_warning_and_another_one_stops():
    story = finished_story()
    path = story.instance.clone("ci").path
    root = audit_of(path, story.clock.now()).root
    assert audit_of(path, story.clock.now(), root=root).warnings == []
    with pytest.raises(StoppedForSafety) as stop:
        audit_of(path, story.clock.now(), root="0" * 40)
    assert stop.value.code == "root-differs"


# --- records that are well-made, chained and committed, and untrue -------------------------------------------------------------

Mutation = Callable[[list[Step]], None]


def set_fields(path, kind, **fields) -> Mutation:
    return lambda steps: find(steps, path, kind).update(fields)


def change_put(path, number=0, **fields) -> Mutation:
    return lambda steps: find(steps, path, "prepared")["puts"][number].update(fields)


def without(path, kind) -> Mutation:
    return lambda steps: drop(steps, path, kind)


def in_all(path, kinds, **fields) -> Mutation:
    def mutate(steps):
        for kind in kinds:
            find(steps, path, kind).update(fields)

    return mutate


DEPLOYING = ("built", "deploy-intent", "deployed")


def step_of(steps, path, kind):
    return next(step for step in steps if any(event["type"] == kind for event in step.events.get(path, [])))


def event(kind, claim=None, at="2026-01-06T00:20:00Z", **fields):
    return {"at": at, "type": kind, "claim": claim, "actor": "mallory", "commit": "0" * 40, **fields}


def added(path, *events) -> Mutation:
    return lambda steps: steps.append(Step({path: list(events)}, {}))


def shifted(path, kind, **units) -> Mutation:
    """The event, and what follows in its file, at another time."""

    def mutate(steps):
        wanted, found = find(steps, path, kind), False
        for step in steps:
            for item in step.events.get(path, []):
                found = found or item is wanted
                if found:
                    item["at"] = in_utc(finished_story().clock.now() + timedelta(**units))

    return mutate


def paused_before_the_second(steps):
    at = steps.index(step_of(steps, CLAIMS, "claimed"))
    steps.insert(at + 9, Step({CONTROLS: [event("paused", at="2026-01-05T12:00:00Z", reason="wait")]}, {}))


def doubled_fence(steps):
    claims = [item for step in steps for item in step.events.get(CLAIMS, []) if item["type"] == "claimed"]
    claims[3]["fence"] = claims[2]["fence"]


def skipped_fence(steps):
    claims = [item for step in steps for item in step.events.get(CLAIMS, []) if item["type"] == "claimed"]
    claims[3]["fence"] = claims[3]["claim"] = 9


def superseded_claim(steps):
    find(steps, SECOND, "built")["claim"] = 3


def swapped_puts(steps):
    find(steps, FIRST, "prepared")["puts"].reverse()


def again_in_the_second(steps):
    find(steps, SECOND, "prepared")["puts"].append(copy.deepcopy(find(steps, FIRST, "prepared")["puts"][1]))


def deployed_again(steps):
    step = step_of(steps, FIRST, "deployed")
    step.events[FIRST].append(copy.deepcopy(find(steps, FIRST, "deployed")))


def not_deployed_but_confirmed(steps):
    for kind in ("deploy-intent", "deployed"):
        drop(steps, WITHDRAWAL, kind)


def gate_renamed(steps):
    gate = [item for step in steps for item in step.events.get(LAUNCH, []) if item.get("gate") == "G3"]
    gate[-1]["gate"] = "G2"


def gate_dropped(steps):
    for step in steps:
        step.events[LAUNCH] = [i for i in step.events.get(LAUNCH, []) if (i["type"], i.get("gate")) != ("approved", "G3")]


def other_presentation_everywhere(steps):
    for path in (LAUNCH, FIRST, SECOND, CORRECTION, WITHDRAWAL):
        built = find(steps, path, "built")
        built["presentation"] = built["presentation"] | {"digest": OTHER}


def other_presentation_once(steps):
    built = find(steps, SECOND, "built")
    built["presentation"] = built["presentation"] | {"digest": OTHER}


def plan_commit_of_another_plan(steps):
    find(steps, SECOND, "approved")["plan_commit"] = find(steps, FIRST, "approved")["merge"]


def decided_before_its_approval(steps):
    find(steps, SECOND, "deploy-intent")["commit"] = find(steps, FIRST, "approved")["merge"]


def told_nobody_asked_for(steps):
    step_of(steps, FIRST, "confirmed").events[FIRST].append(
        event("announce-intent", 3, at="2026-01-05T00:08:00Z", channel="mail", to=["p1"])
    )


def released_claim(steps):
    steps.append(Step({SECOND: [event("repaired", 6, release=OTHER, found="", reason="x")]}, {}))


RECORDS: dict[str, tuple[str, str, Mutation]] = {
    # name: (code, where the problem must be, what is done to the records)
    "a fence is given twice": ("fence-doubled", f"ledger/{CLAIMS}.jsonl", doubled_fence),
    "a fence is skipped": ("claims-corrupt", f"ledger/{CLAIMS}.jsonl", skipped_fence),
    "a claim's field is gone": ("claims-corrupt", f"ledger/{CLAIMS}.jsonl", set_fields(CLAIMS, "claimed", nonce=["x"])),
    "a claim nobody made": ("claim-unknown", f"ledger/{SECOND}.jsonl", set_fields(SECOND, "deployed", claim=99)),
    "a claim that was superseded": ("claim-superseded", f"ledger/{SECOND}.jsonl", superseded_claim),
    "a claim that was released": ("claim-released", f"ledger/{SECOND}.jsonl", released_claim),
    "deployed while paused": ("deployed-while-paused", f"ledger/{SECOND}.jsonl", paused_before_the_second),
    "a record in another file": ("event-misplaced", f"ledger/{FIRST}.jsonl", added(FIRST, event("paused", reason="x"))),
    "time goes back": ("time-goes-back", f"ledger/{FIRST}.jsonl:3", set_fields(FIRST, "built", at="2026-01-04T00:00:00Z")),
    "a time that is none": ("record-unreadable", f"ledger/{FIRST}.jsonl:3", set_fields(FIRST, "built", at="yesterday")),
    "a retry of what succeeded": (
        "history-illegal", f"ledger/{FIRST}.jsonl", added(FIRST, event("retried", step="deploy", reason="x")),
    ),
    "a record without its field": ("record-unreadable", f"ledger/{FIRST}.jsonl:2", change_put(FIRST, files=None)),
    "no approval": ("not-approved", f"ledger/{FIRST}.jsonl", without(FIRST, "approved")),
    "no approval of the gate": ("gate-not-approved", f"ledger/{LAUNCH}.jsonl", gate_dropped),
    "a gate that says something else": ("gate-differs", f"ledger/{LAUNCH}.jsonl", gate_renamed),
    "the gate was for another release": (
        "gate-not-approved", f"ledger/{LAUNCH}.jsonl", in_all(LAUNCH, DEPLOYING, release=OTHER),
    ),
    "other approvers": ("approvers-differ", f"ledger/{FIRST}.jsonl:1", set_fields(FIRST, "approved", by=["mallory@example.org"])),
    "another request": ("approval-differs", f"ledger/{FIRST}.jsonl:1", set_fields(FIRST, "approved", request=99)),
    "another time of approval": (
        "approval-differs", f"ledger/{FIRST}.jsonl:1", set_fields(FIRST, "approved", merged_at="2026-01-05T00:00:00Z"),
    ),
    "other steps": ("approval-differs", f"ledger/{FIRST}.jsonl:1", set_fields(FIRST, "approved", steps=["prepare", "build"])),
    "the payload of another plan": ("approval-not-proven", f"ledger/{FIRST}.jsonl:1", set_fields(FIRST, "approved", payload=OTHER)),
    "a plan's commit without the plan": ("plan-differs", f"ledger/{SECOND}.jsonl:1", plan_commit_of_another_plan),
    "a merge that is none": ("approval-elsewhere", f"ledger/{FIRST}.jsonl:1", set_fields(FIRST, "approved", merge="1" * 40)),
    "deployed too late": ("outside-window", f"ledger/{FIRST}.jsonl:4", shifted(FIRST, "deploy-intent", days=1)),
    "deployed before the approval": ("outside-window", f"ledger/{SECOND}.jsonl:4", decided_before_its_approval),
    "decided on a commit of nobody's": (
        "object-missing", f"ledger/{SECOND}.jsonl:4", set_fields(SECOND, "deploy-intent", commit="1" * 40),
    ),
    "articles in another order": ("prepared-differs", f"ledger/{FIRST}.jsonl:2", swapped_puts),
    "another address": ("prepared-differs", f"ledger/{FIRST}.jsonl:2", change_put(FIRST, url="/elsewhere/")),
    "another guid": ("prepared-differs", f"ledger/{FIRST}.jsonl:2", change_put(FIRST, guid="tag:x,2026:y")),
    "something else withdrawn": (
        "prepared-differs", f"ledger/{WITHDRAWAL}.jsonl:2", set_fields(WITHDRAWAL, "prepared", withdraws=[]),
    ),
    "something hidden": ("prepared-differs", f"ledger/{CORRECTION}.jsonl:2", set_fields(CORRECTION, "prepared", hides=["a-0003"])),
    "another date": ("date-differs", f"ledger/{FIRST}.jsonl:2", change_put(FIRST, date="2026-01-05T09:00:00+08:00")),
    "a correction changes the date": (
        "date-differs", f"ledger/{CORRECTION}.jsonl:2", change_put(CORRECTION, date="2026-01-06T00:00:00+08:00"),
    ),
    "a correction changes the address": (
        "identity-changed", f"ledger/{CORRECTION}.jsonl:5", change_put(CORRECTION, url="/elsewhere/"),
    ),
    "published twice": ("published-twice", f"ledger/{SECOND}.jsonl:5", again_in_the_second),
    "a deployment twice": (
        "deployments-doubled", f"ledger/{SECOND}.jsonl:5", in_all(SECOND, ("deploy-intent", "deployed"), deployment=2),
    ),
    "a deployment is missing": (
        "deployment-missing", f"ledger/{WITHDRAWAL}.jsonl:5", in_all(WITHDRAWAL, ("deploy-intent", "deployed"), deployment=9),
    ),
    "another base": ("base-differs", f"ledger/{SECOND}.jsonl:5", in_all(SECOND, DEPLOYING, base=OTHER)),
    "not the built release": ("release-not-built", f"ledger/{FIRST}.jsonl:4", set_fields(FIRST, "built", release=OTHER)),
    "nothing was built": ("release-not-built", f"ledger/{FIRST}.jsonl:3", without(FIRST, "built")),
    "not the intended release": ("deployed-differs", f"ledger/{FIRST}.jsonl:5", set_fields(FIRST, "deployed", release=OTHER)),
    "deployed twice": ("deployed-twice", f"ledger/{FIRST}.jsonl:7", deployed_again),
    "another presentation": ("presentation-not-approved", f"ledger/{SECOND}.jsonl:5", other_presentation_once),
    "a presentation that no commit has": ("presentation-differs", f"ledger/{LAUNCH}.jsonl", other_presentation_everywhere),
    "confirmed what was never live": (
        "confirmed-other-release", f"ledger/{FIRST}.jsonl:6", set_fields(FIRST, "confirmed", release=OTHER),
    ),
    "confirmed without a deploy": ("confirmed-not-deployed", f"ledger/{WITHDRAWAL}.jsonl", not_deployed_but_confirmed),
    "announced beyond the payload": ("announced-beyond-approval", f"ledger/{FIRST}.jsonl:7", told_nobody_asked_for),
    "a stored text that is not there": (
        "text-missing", f"ledger/{FIRST}.jsonl:2",
        lambda steps: find(steps, FIRST, "prepared")["puts"][0]["files"]["index.md"].__setitem__(0, "1" * 40),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_untrue_records_are_found(world, name):
    code, where, mutate = RECORDS[name]
    steps = world.steps()
    mutate(steps)
    world.replay(steps)
    report = world.audit()
    assert code in codes(report), [str(finding) for finding in report.problems]
    assert any(place.startswith(where) for place in places(report, code)), places(report, code)
    assert report.exit_code == 7
    # The records were chained again, so nothing but what they say can have given them away.
    assert not codes(report) & {"ledger-broken", "ledger-rewritten", "ledger-deleted"}


KINDS = ("approved", "prepared", "built", "deploy-intent", "deployed", "confirmed")
NOT_JUDGED = {
    ("built", "files"), ("built", "input"), ("built", "rebased"), ("deployed", "how"), ("confirmed", "urls"),
    ("confirmed", "pages"), ("confirmed", "plain"),
}  # fmt: skip
"""Fields that say how, not what: nothing that was approved or made public depends on them."""


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """Judges the first publication's events, with everything else as it is; git is asked each thing once."""
    world = Tampered(copy_clone(tmp_path_factory.mktemp("shared") / "clone"), finished_story().clock.now())
    doors = world.doors()
    git = Remembering(doors.git, {})
    tips = doors.reads.tips()
    approvals = Approvals(reads=doors.reads, git=git, forge=doors.forge, tips=tips, found=Findings())
    ledger = read_site(git, git.tree(tips.state, "ledger/blog"), "blog", Findings())

    def judged(events=None):
        found = Findings()
        approvals._found = found
        changed = ledger if events is None else replace(ledger, events={**ledger.events, FIRST: tuple(events)})
        SiteCheck(replace(doors, git=git), tips, approvals, found).judge(changed)
        return found.problems

    judged.events = ledger.events[FIRST]
    assert judged() == []
    return judged


@pytest.mark.parametrize("value", [None, 7, "x", [], [[1]], {"a": []}], ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_stands_in_a_field_is_a_finding_and_no_crash(kind, value, judge):
    place = next(n for n, item in enumerate(judge.events) if item.type == kind)
    original = judge.events[place]
    for name in original.fields:
        changed = replace(original, fields={**original.fields, name: value})
        problems = judge([*judge.events[:place], changed, *judge.events[place + 1 :]])
        if original.fields[name] != value and (kind, name) not in NOT_JUDGED:
            assert problems, name


@pytest.mark.parametrize("value", [None, 7, "x", [], [[1]], {"a": []}], ids=repr)
def test_whatever_stands_in_a_prepared_text_is_a_finding_and_no_crash(value, judge):
    place = next(n for n, item in enumerate(judge.events) if item.type == "prepared")
    original = judge.events[place]
    for name in original.fields["puts"][0]:
        puts = copy.deepcopy(original.fields["puts"])
        puts[0][name] = value
        changed = replace(original, fields={**original.fields, "puts": puts})
        assert judge([*judge.events[:place], changed, *judge.events[place + 1 :]]), name


# --- texts and sources ----------------------------------------------------------------------------------------------------------


def replace_text(world, steps, path, *, digests):
    """Another text in a prepared record: the blob, and with ``digests`` every digest of it, and the build source."""
    prepared = find(steps, path, "prepared")
    put = prepared["puts"][0]
    data = world.git.blobs([put["files"]["index.md"][0]])[put["files"]["index.md"][0]].replace(b"marker", b"another")
    put["files"]["index.md"][0] = world.git.write_blob(data)
    if digests:
        put["files"]["index.md"][1] = digest(data)
        put["digest"] = tree_digest({name: pair[1] for name, pair in put["files"].items()})
        prepared["output"] = input_of([item["digest"] for item in prepared["puts"]])
    step_of(steps, path, "prepared").files[f"{ARTICLES}/{put['id']}/index.md"] = data


def test_a_text_that_its_approved_source_does_not_make(world):
    steps = world.steps()
    replace_text(world, steps, SECOND, digests=True)
    world.replay(steps)
    report = world.audit()
    assert codes(report) == {"text-differs"}
    assert places(report, "text-differs") == [f"ledger/{SECOND}.jsonl:2:1"]


def test_stored_bytes_that_are_not_the_recorded_ones(world):
    steps = world.steps()
    replace_text(world, steps, SECOND, digests=False)
    world.replay(steps)
    assert codes(world.audit()) == {"text-blob-differs"}


def approved_by_hand(world, path):
    """Steps that claim, approve and prepare a plan as a run would, with the approval that history really proves."""
    wired = finished_story().wired("ci")
    tips = wired.store.tips()
    plan = wired.store.plan(tips.default, path)
    subject = Subject(path=f"plans/{path}.yaml", payload=plan.payload, revision=plan.revision)
    approval = wired.forge.verdict(tips, subject)
    assert isinstance(approval, Approval)
    steps = world.steps()
    claimed = next(item for step in steps for item in step.events.get(CLAIMS, []) if item["type"] == "claimed")
    fence = {name: claimed[name] for name in ("epoch", "epoch_id", "holder", "until")} | {"fence": 7, "nonce": "7" * 32}
    put = copy.deepcopy(find(steps, FIRST, "prepared")["puts"][1]) | {"updated": plan.publish_at.isoformat()}
    record = event(
        "approved", gate="plan", plan_payload=plan.payload, plan_commit=approval.merge, payload=plan.payload, path=subject.path,
        revision=1, steps=[step.name for step in plan.steps], by=list(approval.by), merged_at=in_utc(approval.merged_at),
        merge=approval.merge, request=approval.request, evidence=dict(approval.evidence),
    )  # fmt: skip
    prepared = event(
        "prepared", 7, payload=plan.payload, plan=path, puts=[put], withdraws=[], hides=[], reverts=[],
        input=input_of([plan.articles[0].fingerprint]), output=input_of([put["digest"]]),
    )  # fmt: skip
    steps.append(Step({CLAIMS: [event("claimed", 7, plan=path, **fence)], path: [record, prepared]}, {}))
    return steps


def test_a_source_with_another_fingerprint_than_was_approved(world):
    world.replay(approved_by_hand(world, WRONG_FINGERPRINT))
    report = world.audit()
    assert codes(report) == {"fingerprint-differs"}
    assert places(report, "fingerprint-differs") == [f"ledger/{WRONG_FINGERPRINT}.jsonl:2:1"]


def test_sources_that_this_clone_lacks_are_not_proven_and_no_problem(world):
    world.replay(approved_by_hand(world, OTHER_DRAFTS))
    report = world.audit()
    assert report.problems == [] and report.exit_code == 0
    assert [(f.code, f.where) for f in report.not_proven] == [("sources-unavailable", f"ledger/{OTHER_DRAFTS}.jsonl:2:1")]


# --- the build source ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "where", "changes"),
    [
        ("build-source-differs", f"{ARTICLES}/a-0001", {f"{ARTICLES}/a-0001/index.md": b"other text\n"}),
        ("build-source-differs", f"{ARTICLES}/a-0001", {f"{ARTICLES}/a-0001/more.png": b"\x89PNG"}),
        ("build-source-differs", f"{ARTICLES}/a-9999", {f"{ARTICLES}/a-9999/index.md": b"never approved\n"}),
        ("build-source-differs", f"{ARTICLES}/loose.md", {f"{ARTICLES}/loose.md": b"never approved\n"}),
        ("build-source-missing", f"{ARTICLES}/a-0003", {f"{ARTICLES}/a-0003/index.md": None}),
    ],
)
def test_a_build_source_that_no_record_names(world, code, where, changes):
    world.commit(changes)
    report = world.audit()
    assert codes(report) == {code}
    assert places(report, code) == [where]


def test_an_executable_in_the_build_source(world):
    hand = Repository(world.path)
    hand.git("checkout", "--quiet", "--detach", f"refs/remotes/origin/{STATE}")
    (world.path / ARTICLES / "a-0003" / "index.md").chmod(0o755)
    world.move(STATE, hand.commit({}, "mode"))
    assert "build-source-differs" in codes(world.audit())


# --- releases --------------------------------------------------------------------------------------------------------------------


def test_a_release_that_its_content_does_not_build_is_found_by_rebuilding(world):
    steps = world.steps()
    in_all(WITHDRAWAL, (*DEPLOYING, "confirmed"), release=OTHER)(steps)
    world.replay(steps)
    assert world.audit().problems == []
    report = world.audit(rebuild=True)
    assert codes(report) == {"release-not-reproduced"}
    assert places(report, "release-not-reproduced") == [f"ledger/{WITHDRAWAL}.jsonl:5:1"]
    assert report.counts["releases_built_again"] == 4


def test_an_open_intent_is_not_proven(world):
    steps = world.steps()
    for kind in ("deployed", "confirmed"):
        drop(steps, WITHDRAWAL, kind)
    world.replay(steps)
    report = world.audit()
    assert report.problems == []
    assert [(f.code, f.where) for f in report.not_proven] == [("deploy-open", f"ledger/{WITHDRAWAL}.jsonl:4:1")]


# --- the ledger as files and as history --------------------------------------------------------------------------------------------


def test_an_edited_line_breaks_the_chain(world):
    path = f"ledger/{FIRST}.jsonl"
    world.commit({path: world.text(path).replace(b"a-0001", b"a-0009", 1)})
    report = world.audit()
    assert {"ledger-broken", "ledger-rewritten"} <= codes(report)
    assert places(report, "ledger-broken") == [f"{path}:3:1"]


def test_a_shortened_file_is_seen_even_when_it_was_put_back(world):
    path = f"ledger/{FIRST}.jsonl"
    whole = world.text(path)
    world.commit({path: b"".join(whole.splitlines(keepends=True)[:-1])})
    world.commit({path: whole})
    report = world.audit()
    assert codes(report) == {"ledger-rewritten"}
    assert places(report, "ledger-rewritten") == [path]


def test_a_file_that_was_removed_and_put_back(world):
    path = f"ledger/{SECOND}.jsonl"
    whole = world.text(path)
    world.commit({path: None})
    world.commit({path: whole})
    assert codes(world.audit()) == {"ledger-deleted"}


def test_what_was_removed_before_a_restore_is_lost_and_not_proven(world):
    path = f"ledger/{WITHDRAWAL}.jsonl"
    world.commit({path: None})
    epoch = event("epoch", epoch=2, epoch_id="a" * 32, reason="restored")
    world.commit({f"ledger/{CLAIMS}.jsonl": chained(world.text(f"ledger/{CLAIMS}.jsonl"), [epoch])})
    late = event("repaired", 9, release=OTHER, found="", reason="x")
    world.commit({path: chained(b"", [late])})
    report = world.audit()
    assert ("records-lost", path) in [(f.code, f.where) for f in report.not_proven]
    assert "ledger-deleted" not in codes(report)
    # The file that stands there now begins anew, and is judged from its first line on.
    assert places(report, "claim-unknown") == [f"{path}:1:1"]


def test_history_does_not_depend_on_the_dates_that_commits_carry(world):
    path = f"ledger/{FIRST}.jsonl"
    whole = world.text(path)
    world.now -= timedelta(days=3000)
    world.commit({path: None})
    world.now += timedelta(days=6000)
    world.commit({path: whole})
    world.now = finished_story().clock.now()
    assert codes(world.audit()) == {"ledger-deleted"}


@pytest.mark.parametrize("path", ["ledger/blog/notes.txt", "ledger/blog/secret.jsonl", "ledger/blog/claims/old.jsonl"])
def test_a_file_that_publisher_does_not_write(world, path):
    world.commit({path: b""})
    report = world.audit()
    assert codes(report) == {"ledger-foreign-file"} and places(report, "ledger-foreign-file") == [path]


def test_a_link_in_place_of_a_ledger_file(world):
    hand = Repository(world.path)
    hand.git("checkout", "--quiet", "--detach", f"refs/remotes/origin/{STATE}")
    file = world.path / "ledger" / f"{FIRST}.jsonl"
    file.unlink()
    file.symlink_to("elsewhere.jsonl")
    world.move(STATE, hand.commit({}, "link"))
    assert {"ledger-not-a-plain-file", "ledger-rewritten"} <= codes(world.audit())


def test_a_ledger_of_a_site_that_is_not_configured_is_a_warning(world):
    world.commit({"ledger/shop/claims/2026.jsonl": b""})
    report = world.audit()
    assert report.problems == []
    assert ("unknown-site", "ledger/shop") in [(f.code, f.where) for f in report.warnings]


def test_a_ledger_that_is_gone(world):
    world.move(STATE, world.compose({"README.md": b"\n"}, [], ""))
    assert codes(world.audit()) == {"no-ledger"}


def test_a_state_branch_that_is_gone(world):
    Repository(world.path).git("update-ref", "-d", f"refs/remotes/origin/{STATE}")
    with pytest.raises(StoppedForSafety) as stop:
        world.audit()
    assert stop.value.code == "no-state-branch"


# --- the default branch -------------------------------------------------------------------------------------------------------------


def test_a_plan_pushed_past_review_approves_nothing(world):
    path = SECOND.replace("06", "07")
    text = world.text(f"plans/{SECOND}.yaml", "main").replace(b"2026-01-06", b"2026-01-07")
    pushed = world.commit({f"plans/{path}.yaml": text}, "main")
    plan = finished_story().wired("ci").store.plan  # the reader of plans; the plan itself lies in the tampered clone
    assert plan(world.tip(STATE), path) is None
    steps = world.steps()
    record = copy.deepcopy(find(steps, SECOND, "approved"))
    from publisher.wiring import payload_of

    payload = payload_of(f"plans/{path}.yaml", text)[0]
    record |= {
        "path": f"plans/{path}.yaml", "payload": payload, "plan_payload": payload, "merge": pushed, "plan_commit": pushed,
    }  # fmt: skip
    steps.append(Step({path: [record]}, {}))
    world.replay(steps)
    report = world.audit()
    assert codes(report) == {"approval-not-proven"}
    assert places(report, "approval-not-proven") == [f"ledger/{path}.jsonl:1:1"]
    assert "no-request" in report.problems[0].says


def test_approvals_that_a_push_threw_off_the_default_branch(world):
    steps = world.steps()
    merge = find(steps, WITHDRAWAL, "approved")["merge"]
    world.move("main", world.git.commit(merge).parents[0])
    report = world.audit()
    assert {"approval-elsewhere", "decided-elsewhere"} <= codes(report)
    assert all(WITHDRAWAL in place for place in places(report, "approval-elsewhere"))


def test_a_later_edit_of_a_plan_does_not_shake_what_was_approved(world):
    world.commit({f"plans/{FIRST}.yaml": None}, "main")
    assert world.audit().problems == []


def test_unapproved_rules_are_a_warning_and_do_not_count(world):
    rules = world.text("approval.yaml", "main").replace(b"expires_after: 24h", b"expires_after: 9d")
    pushed = world.commit({"approval.yaml": rules}, "main")
    report = world.audit()
    assert report.problems == []
    assert ("rules-ignored", pushed) in [(f.code, f.where) for f in report.warnings]


# --- a restored ledger ---------------------------------------------------------------------------------------------------------------


def restored(world, *, plans, presentation=None, spoiled=False):
    """The ledger of a restore: a new epoch, a baseline of what is public, and the plans that were found public."""
    steps = world.steps()
    built = find(steps, FIRST, "built")
    puts = copy.deepcopy(find(steps, FIRST, "prepared")["puts"])
    if spoiled:
        data = b"never approved\n"
        puts[0]["files"] = {"index.md": [world.git.write_blob(data), digest(data)]}
        puts[0]["digest"] = tree_digest({"index.md": digest(data)})
    epoch = event("epoch", epoch=2, epoch_id="a" * 32, reason="restored", at="2026-01-06T01:00:00Z")
    baseline = event(
        "baseline", deployment=1, release=built["release"], why="restored", puts=puts, withdraws=[],
        presentation=built["presentation"] if presentation is None else presentation,
    )  # fmt: skip
    tip = world.tip("main")
    found = {
        path: [event("restored", payload=find(steps, path, "approved")["plan_payload"], release=built["release"], urls=[])]
        for path in plans
    }
    for events in found.values():
        events[0]["commit"] = tip
    world.replay([Step({CLAIMS: [epoch], "blog/baseline/0002": [baseline], **found}, {})])


def test_what_a_baseline_lists_without_a_plan_is_not_proven(world):
    restored(world, plans=[])
    report = world.audit()
    assert report.problems == []
    assert [(f.code, f.where) for f in report.not_proven] == [
        ("baseline", "blog/article-0001/"),
        ("baseline", "blog/article-0003/"),
    ]
    assert [row["plan"] for row in report.sites[0].articles] == [None, None]


def test_a_baseline_with_another_text_than_its_plan_approved(world):
    restored(world, plans=[FIRST], spoiled=True)
    report = world.audit()
    assert codes(report) == {"text-differs"}
    assert places(report, "text-differs") == ["ledger/blog/baseline/0002.jsonl:1:1"]
    assert [row["plan"] for row in report.sites[0].articles] == [None, FIRST]


def test_a_release_that_something_else_had_made_cannot_be_built_again(world):
    restored(world, plans=[FIRST], presentation={})
    report = world.audit(rebuild=True)
    assert report.problems == [] and report.counts["releases_built_again"] == 0
    assert [(f.code, f.where) for f in report.not_proven] == [("baseline", "ledger/blog/baseline/0002.jsonl:1:1")]


def test_a_restored_plan_is_proven_by_its_own_merge(world):
    restored(world, plans=[FIRST])
    report = world.audit()
    assert report.problems == [] and report.not_proven == []
    assert {row["plan"] for row in report.sites[0].articles} == {FIRST}
    assert {tuple(row["approved_by"]) for row in report.sites[0].articles} == {("reviewer@example.org",)}


# --- clones that lie -----------------------------------------------------------------------------------------------------------------


def refused(path):
    with pytest.raises(Refusal) as stop:
        audit_of(path, finished_story().clock.now())
    return stop.value.code


def test_a_shallow_clone_is_refused(tmp_path):
    remote = finished_story().instance.remote
    made = clone(Repository(remote.path), tmp_path / "shallow", options=["--depth=1", "--no-local", "--no-single-branch"])
    assert refused(made.path) == "shallow-history"


def test_grafted_history_is_refused(world):
    (world.path / ".git" / "info").mkdir(exist_ok=True)
    (world.path / ".git" / "info" / "grafts").write_text(f"{world.tip()}\n")
    assert refused(world.path) == "grafted-history"


def test_replaced_objects_are_refused(world):
    Repository(world.path).git("replace", world.tip(), world.tip("main"))
    assert refused(world.path) == "replaced-objects"


def test_a_report_holds_no_title_and_no_text(world):
    steps = world.steps()
    for mutate in (swapped_puts, again_in_the_second, gate_dropped, superseded_claim):
        mutate(steps)
    world.replay(steps)
    said = str(replace(world.audit(rebuild=True)).as_data())
    assert "Article number" not in said and "marker-" not in said and "corrected body" not in said


def test_rendering_of_plans_is_what_the_story_approved(world):
    """The helper that this file relies on: what was merged is what render_yaml wrote."""
    wired = finished_story().wired("ci")
    plan = wired.store.plan(wired.store.tips().default, FIRST)
    assert world.text(f"plans/{FIRST}.yaml", "main") == render_yaml(plan.data)
