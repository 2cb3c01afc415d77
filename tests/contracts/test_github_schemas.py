"""GitHub's own description keeps the simulator honest: the extract is whole, what it judges is judged, and PyGithub understands it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.github.http_server import ROUTES
from tests.support.github.openapi import extract, judge
from tests.support.github.world import World, world

FOLDER = Path(judge.__file__).parent
REPO = "/repos/{owner}/{repo}"


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def test_every_extracted_operation_is_simulated_and_the_other_way_round() -> None:
    extracted = {one for operations in extract.OPERATIONS.values() for one in operations}
    assert extracted == set(judge.operations())
    assert {one.operation for one in ROUTES} == extracted


def test_the_extract_is_small_and_names_nothing_that_it_lacks() -> None:
    files = sorted(FOLDER.glob("*.json"))
    assert sum(file.stat().st_size for file in files) < 300_000
    known = set(judge.schemas())
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    named = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert named <= known and "pull-request" in named


def answers(w: World) -> dict[str, Any]:
    """An operation with a document that GitHub could have sent."""
    n = w.opened()
    w.sim.reviews.submit(w.rae, n, "APPROVED")
    w.sim.pulls.merge(w.rae, n)
    return {
        f"GET {REPO}/pulls/{{pull_number}}": w.get(f"pulls/{n}"),
        f"GET {REPO}/pulls/{{pull_number}}/reviews": w.get(f"pulls/{n}/reviews"),
        f"GET {REPO}/activity": w.get("activity"),
        f"GET {REPO}/issues/{{issue_number}}/timeline": w.get(f"issues/{n}/timeline"),
        f"GET {REPO}/commits/{{commit_sha}}/pulls": w.get(f"commits/{w.tip()}/pulls"),
    }


def broken(document: Any) -> Iterator[tuple[str, Any]]:
    """Copies of a document with one fault each: a field gone, a field made up, a wrong type, a bad time."""
    for name in (document[0] if isinstance(document, list) else document) if document else ():
        for fault in ("gone", "type"):
            made = copy.deepcopy(document)
            inner = made[0] if isinstance(made, list) else made
            if fault == "gone":
                del inner[name]
            else:
                inner[name] = {"wrong": True} if not isinstance(inner[name], dict) else 7
            yield f"{name} {fault}", made
    made = copy.deepcopy(document)
    (made[0] if isinstance(made, list) else made)["made_up"] = 1
    yield "made up", made


def test_the_judge_finds_each_fault_in_an_answer(w: World) -> None:
    optional = {"body_html", "performed_via_github_app", "maintainer_can_modify", "rebaseable", "active_lock_reason"}
    for operation, document in answers(w).items():
        assert judge.faults_of_answer(operation, 200, document) == []
        if operation.endswith("/timeline"):
            continue  # its events are told apart below
        properties = judge.schemas()[schema_of(operation)]
        for fault, changed in broken(document):
            name, kind = fault.split(" ", 1)
            if kind == "gone" and name not in properties["required"]:
                assert name in set(properties["properties"]) | optional
                continue
            assert judge.faults_of_answer(operation, 200, changed), f"{operation}: {fault} passed"


def schema_of(operation: str) -> str:
    answer = judge.operations()[operation]["answers"]["200"]
    return (answer.get("items") or answer)["$ref"].rsplit("/", 1)[1]


@pytest.mark.parametrize(
    ("kind", "field"), [("reviewed", "commit_id"), ("merged", "actor"), ("committed", "committer"), ("closed", "created_at")]
)
def test_each_kind_of_event_has_its_own_schema(w: World, kind: str, field: str) -> None:
    operation = f"GET {REPO}/issues/{{issue_number}}/timeline"
    document = answers(w)[operation]
    (event,) = [one for one in document if one["event"] == kind]
    del event[field]
    assert judge.faults_of_answer(operation, 200, document)


def test_an_answer_that_github_would_not_give_fails_the_test_that_got_it(tmp_path: Path) -> None:
    def teleported(w: World) -> None:
        w.sim.activity.record("refs/heads/x", w.tip(), w.tip(), w.ann, "teleport")
        w.get("activity")

    def left(folder: str, act: Callable[[World], object]) -> None:
        with world(tmp_path / folder) as w:
            act(w)

    with pytest.raises(AssertionError, match="activity_type"):
        left("one", teleported)
    with pytest.raises(AssertionError, match="no such parameter: size"):
        left("two", lambda w: w.get("pulls", size=3))


def test_an_endpoint_that_is_not_simulated_is_no_404(w: World) -> None:
    assert w.does(w.bot, "GET", "releases") == 501
    assert w.sim.unsimulated == ["GET /repos/ann/site/releases"]


def test_statuses_that_are_not_described_are_found() -> None:
    assert judge.faults_of_answer(f"GET {REPO}/pulls", 206, [])
    assert judge.faults_of_answer("GET /nowhere", 200, {})
    assert judge.faults_of_answer(f"PUT {REPO}/actions/workflows/{{workflow_id}}/enable", 204, {"body": 1})


def test_pygithub_reads_and_writes_it(w: World) -> None:
    import github

    w.sim.commit(w.bot, "plan", {"plan.txt": "x\n"})
    hub = github.Github(
        base_url=w.sim.api_url, auth=github.Auth.Token(w.bot.token), retry=None, seconds_between_requests=None,
        seconds_between_writes=None, per_page=2,
    )  # fmt: skip
    repository = hub.get_repo(w.sim.repository)
    pull = repository.create_pull(base="main", head="plan", title="Plan", body="text")
    for n in range(5):
        w.sim.reviews.submit(w.rae, pull.number, "COMMENTED", f"{n}")
    w.sim.reviews.submit(w.rae, pull.number, "APPROVED")
    reviews = list(pull.get_reviews())
    assert [one.state for one in reviews] == ["COMMENTED"] * 5 + ["APPROVED"] and reviews[-1].commit_id == pull.head.sha
    with pytest.raises(github.GithubException) as stale:
        pull.merge(sha="0" * 40)
    assert stale.value.status == 409
    merged = pull.merge(sha=pull.head.sha, merge_method="squash")
    (found,) = repository.get_commit(merged.sha).get_pulls()
    assert (found.number, found.merged, found.merged_by.login, found.merge_commit_sha) == (
        1,
        True,
        "publisher[bot]",
        merged.sha,
    )
    assert [one.event for one in pull.as_issue().get_timeline()] == ["committed", *["reviewed"] * 6, "merged", "closed"]
    assert [one.filename for one in pull.get_files()] == ["plan.txt"]
    assert repository.get_collaborator_permission("rae") == "write"
    repository.get_commit(merged.sha).create_status("success", context="publisher/payload", description="sha256:…")
    assert repository.get_commit(merged.sha).get_combined_status().state == "success"
    run = repository.create_check_run("publisher/review", merged.sha, status="in_progress")
    run.edit(conclusion="neutral")
    assert [one.conclusion for one in repository.get_commit(merged.sha).get_check_runs()] == ["neutral"]
    comment = pull.create_issue_comment("first")
    comment.edit("second")
    assert [one.body for one in pull.get_issue_comments()] == ["second"]
    text = repository.get_contents("plan.txt", ref="main")
    assert not isinstance(text, list) and text.decoded_content == b"x\n"
    headers, entries = hub.requester.requestJsonAndCheck("GET", f"/repos/{w.sim.repository}/activity?ref=main")
    assert [one["activity_type"] for one in entries] == ["pr_merge", "branch_creation"] and "link" not in headers
    with pytest.raises(github.UnknownObjectException):
        repository.get_pull(99)
    assert json.loads(json.dumps(w.sim.unsimulated)) == []
