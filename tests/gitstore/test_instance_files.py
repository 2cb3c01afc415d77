"""The instance's files, from bytes to domain values and back."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publisher.domain.fingerprint import payload_hash
from publisher.domain.plan import ChangeAction, Kind
from publisher.errors import InputProblem
from publisher.gitstore import instance_files
from publisher.gitstore.instance_files import render_yaml
from publisher.gitstore.strict_yaml import load

DIGEST, OTHER, OID = "sha256:" + "a" * 64, "sha256:" + "b" * 64, "c" * 40
INSTANCE = """\
instance: {id: i-4f6a9c1e2b7d}
forge: git
branches: {default: main, state: publisher-state}
drafts: {repository: "git@github.com:someone/drafts.git", branch: trunk}
on_call: [ann@example.org, Ben]
alerts: {kind: file, path: alerts.txt}
lease: 10m
sites:
  handbook:
    url: https://example.org/handbook/
    zone: Asia/Hong_Kong
    title: The handbook
    description: How to run it.
    language: en
    author: The makers
    tag_authority: example.org,2026
    target: {kind: directory, path: public/handbook}
    staging: {kind: directory, path: public/staging}
    channels:
      mail: {kind: smtp, host: 127.0.0.1, port: 2525, list_secrets: {readers: READERS}}
    confirm_within: 90s
"""
ARTICLE: dict[str, Any] = {
    "id": "a-0007", "source": "drafts/handbook/fences", "category": "guide", "url": "/fences/",
    "guid": "tag:example.org,2026:handbook/a-0007", "fingerprint": DIGEST,
}  # fmt: skip
PUBLICATION: dict[str, Any] = {
    "kind": "publication", "site": "handbook", "key": "daily-publication:2026-12-01", "date": "2026-12-01",
    "zone": "Asia/Hong_Kong",
    "publish_at": "2026-12-01T09:00:00+08:00", "policy": {"version": 3, "digest": DIGEST}, "revision": 1,
    "articles": [ARTICLE, {**ARTICLE, "id": "a-0011", "source": "drafts/handbook/leases", "url": "/leases/", "guid": "tag:x"}],
    "announce": {"channels": ["mail", "indexnow"], "list": "readers", "at_most": 500},
}  # fmt: skip
PATH = "plans/handbook/daily/2026/2026-12-01.yaml"


def change(action: str, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "change", "action": action, "site": "handbook", "key": "change:2026-12-03-1", "date": "2026-12-03",
        "zone": "UTC", "revision": 1, **fields,
    }  # fmt: skip


def problem_of(call: Any) -> InputProblem:
    with pytest.raises(InputProblem) as problem:
        call()
    return problem.value


def test_instance() -> None:
    found = instance_files.instance_of(INSTANCE.encode(), "publisher.yaml")
    assert (found.id, found.forge, found.default_branch, found.state_branch) == (
        "i-4f6a9c1e2b7d",
        "git",
        "main",
        "publisher-state",
    )
    assert (found.drafts.remote, found.drafts.branch) == ("git@github.com:someone/drafts.git", "trunk")
    assert found.on_call == ("ann@example.org", "Ben")
    assert found.alerts and (found.alerts.kind, found.alerts.options) == ("file", {"path": "alerts.txt"})
    site = found.sites["handbook"]
    assert (site.id, site.url, site.zone_name, site.tag_authority) == (
        "handbook", "https://example.org/handbook/", "Asia/Hong_Kong", "example.org,2026",
    )  # fmt: skip
    assert (site.target.kind, site.target.options) == ("directory", {"path": "public/handbook"})
    assert site.staging and site.staging.options == {"path": "public/staging"}
    assert [(channel.name, channel.kind) for channel in site.channels] == [("mail", "smtp")]
    assert site.channels[0].options["list_secrets"] == {"readers": "READERS"}
    assert (site.confirm_within, found.lease) == (timedelta(seconds=90), timedelta(minutes=10))


def test_a_small_instance_has_the_domains_defaults() -> None:
    lines = [line for line in INSTANCE.splitlines() if not line.startswith(("drafts", "on_call", "alerts", "lease"))]
    small = "\n".join(lines[:-4]) + "\n"
    found = instance_files.instance_of(small.encode(), "publisher.yaml")
    assert (found.drafts.remote, found.on_call, found.alerts, found.lease) == ("", (), None, timedelta(minutes=10))
    assert found.sites["handbook"].staging is None
    assert found.sites["handbook"].confirm_within == timedelta(minutes=5)


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("https://example.org/handbook/", "http://example.org/", "10:10"),
        ("Asia/Hong_Kong", "Asia/Nowhere", "11:11"),
        ("handbook:", "Handbook:", "9:3"),
        ("main", "-x", "3:21"),
        ("main", "a..b", None),
        ("lease: 10m", "lease: 10 minutes", "7:8"),
        ("kind: directory, ", "", "17:13"),
        ("confirm_within", "confirm_witin", "21:5"),
        ("forge: git", "forge: gitlab", "2:8"),
    ],
)
def test_instance_refusals(old: str, new: str, where: str | None) -> None:
    problem = problem_of(lambda: instance_files.instance_of(INSTANCE.replace(old, new, 1).encode(), "publisher.yaml"))
    assert problem.where.startswith("publisher.yaml:")
    if where:
        assert problem.where == f"publisher.yaml:{where}"


ANNOUNCE = "    announce: {channels: [mail], list: readers, at_most: 500}\n"


def test_what_the_planner_has_announced() -> None:
    site = instance_files.instance_of((INSTANCE + ANNOUNCE).encode(), "publisher.yaml").sites["handbook"]
    assert site.announce == {"channels": ["mail"], "list": "readers", "at_most": 500}
    assert instance_files.instance_of(INSTANCE.encode(), "publisher.yaml").sites["handbook"].announce is None


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [("[mail]", "[mail, post]", "22:33"), (", at_most: 500", "", "22:15"), ("500", "0", "22:58"), ("[mail]", "[]", "22:26")],
)
def test_announce_refusals(old: str, new: str, where: str) -> None:
    text = INSTANCE + ANNOUNCE.replace(old, new)
    assert problem_of(lambda: instance_files.instance_of(text.encode(), "publisher.yaml")).where == f"publisher.yaml:{where}"


def test_policy_and_its_digest() -> None:
    text = (
        "version: 3\nquantity: 2\nstart: 2026-12-01\nzone: Asia/Hong_Kong\npublish_time: '09:00'\n"
        "shares: {note: 1, guide: 2}\nhorizon_days: 14\n"
    )
    found = instance_files.policy_of(text.encode(), "p")
    assert (found.version, found.quantity, found.start, found.publish_time, found.horizon_days) == (
        3,
        2,
        date(2026, 12, 1),
        "09:00",
        14,
    )
    assert list(found.shares) == ["note", "guide"]  # the order decides ties
    again = instance_files.policy_of(("# a comment\n" + text.replace("'09:00'", '"09:00"')).encode(), "p")
    assert again.digest == found.digest
    assert instance_files.policy_of(text.replace("2}", "3}").encode(), "p").digest != found.digest


def test_queue() -> None:
    text = "articles:\n  - {id: a-1, source: drafts/h/one}\n  - {id: a-2, source: drafts/h/two, held: true}\n"
    found = instance_files.queue_of(text.encode(), "q")
    assert [(entry.id, entry.source, entry.held) for entry in found] == [
        ("a-1", "drafts/h/one", False),
        ("a-2", "drafts/h/two", True),
    ]
    assert instance_files.queue_of(b"articles: []\n", "q") == ()
    for more, where in (("{id: a-1, source: drafts/h/new}", "q:4:10"), ("{id: a-3, source: drafts/h/two}", "q:4:23")):
        problem = problem_of(lambda: instance_files.queue_of(f"{text}  - {more}\n".encode(), "q"))  # noqa: B023
        assert (problem.code, problem.where) == ("queue-repeats", where)
    long = "articles:\n" + "".join(f"  - {{id: a-{n}, source: drafts/h/s{n}}}\n" for n in range(10_000))
    assert len(instance_files.queue_of(long.encode(), "q")) == 10_000


def test_rules() -> None:
    key, other = "ssh-ed25519 " + "A" * 68, "ssh-ed25519 " + "B" * 68
    text = (
        "approvals: 2\nexpires_after: 12h\nmax_lead: 7d\ncontent: plan\nsigners:\n"
        f"  - {{principal: ann, key: {key}, may: [commit, approve]}}\n  - {{principal: bot, key: {other}, may: [commit]}}\n"
    )
    found = instance_files.rules_of(text.encode(), "approval.yaml")
    assert (found.count, found.expires_after, found.max_lead, found.content) == (
        2,
        timedelta(hours=12),
        timedelta(days=7),
        "plan",
    )
    assert [(one.principal, one.may_commit, one.may_approve) for one in found.signers] == [
        ("ann", True, True),
        ("bot", True, False),
    ]
    assert instance_files.rules_of(b"approvals: 1\n", "a").expires_after == timedelta(hours=24)
    problem = problem_of(lambda: instance_files.rules_of(text.replace(other, key).encode(), "approval.yaml"))
    assert (problem.code, problem.where) == ("key-shared", "approval.yaml:7:27")
    assert instance_files.payload_of("approval.yaml", text.encode())[1] == 1


def test_a_publication_is_written_as_the_design_shows_and_read_back() -> None:
    data = render_yaml(PUBLICATION, "../../../publisher/gitstore/schemas/plan.schema.json")
    assert data.decode() == (
        "# yaml-language-server: $schema=../../../publisher/gitstore/schemas/plan.schema.json\n"
        "kind: publication\nsite: handbook\nkey: daily-publication:2026-12-01\n"
        'date: "2026-12-01"\nzone: Asia/Hong_Kong\npublish_at: "2026-12-01T09:00:00+08:00"\n'
        f'policy: {{version: 3, digest: "{DIGEST}"}}\nrevision: 1\narticles:\n'
        "  - {id: a-0007, source: drafts/handbook/fences, category: guide, url: /fences/, "
        f'guid: "tag:example.org,2026:handbook/a-0007", fingerprint: "{DIGEST}"}}\n'
        "  - {id: a-0011, source: drafts/handbook/leases, category: guide, url: /leases/, "
        f'guid: "tag:x", fingerprint: "{DIGEST}"}}\n'
        "announce: {channels: [mail, indexnow], list: readers, at_most: 500}\n"
    )
    found = instance_files.plan_of_file(data, PATH)
    assert found.kind is Kind.PUBLICATION
    assert found.path == "handbook/daily/2026/2026-12-01"
    assert found.article_ids == ("a-0007", "a-0011")
    assert found.payload == payload_hash(PUBLICATION)
    assert instance_files.payload_of(PATH, data) == (found.payload, 1)


@pytest.mark.parametrize(
    "data",
    [
        change("correct", articles=[{**ARTICLE, "was": OTHER}], sources=OID),
        change("withdraw", withdrawals=[{"id": "a-1", "url": "/a/", "answer": "redirect", "to": "/b/"}]),
        change("presentation", presentation={"commit": OID, "output": 1, "digest": DIGEST}),
        change(
            "rollback",
            to_release=DIGEST,
            hides=["a-1"],
            reverts=[{"id": "a-2", "digest": OTHER}],
            presentation={"commit": OID, "output": 1, "digest": DIGEST},
        ),
        change("correct", articles=[{**ARTICLE, "was": OTHER}], revision=2, supersedes=DIGEST, reason="a wrong figure"),
    ],
)
def test_changes(data: dict[str, Any]) -> None:
    found = instance_files.plan_of_file(render_yaml(data), "plans/handbook/changes/2026/2026-12-03-1.yaml")
    assert found.action is ChangeAction(data["action"])
    assert found.data == data


def test_a_launch() -> None:
    data = {
        "kind": "launch",
        "site": "s",
        "key": "launch",
        "date": "2026-12-01",
        "zone": "UTC",
        "revision": 1,
        "steps": ["build", "release"],
    }
    assert [step.name for step in instance_files.plan_of_file(render_yaml(data), "plans/s/launch.yaml").steps] == [
        "build",
        "release",
    ]
    problem = problem_of(
        lambda: instance_files.plan_of_file(render_yaml({**data, "steps": ["release", "build"]}), "plans/s/launch.yaml")
    )
    assert (problem.code, problem.where) == ("plan-rule", "plans/s/launch.yaml:7:1")


@pytest.mark.parametrize(
    ("fields", "path", "code", "line"),
    [
        ({"publish_at": "2026-12-02T09:00:00+08:00"}, PATH, "plan-rule", 6),
        ({"key": "daily-publication:2026-12-02"}, PATH, "plan-rule", 3),
        ({}, "plans/handbook/daily/2026/2026-12-02.yaml", "plan-rule", 3),
        ({"revision": 2}, PATH, "plan-rule", 8),
        ({"articles": [ARTICLE, {**ARTICLE, "id": "a-2"}]}, PATH, "plan-rule", 9),
        ({"articles": []}, PATH, "schema-min-items", 9),
        ({"articles": [ARTICLE, ARTICLE]}, PATH, "schema-unique-items", 10),
        ({"articles": [{**ARTICLE, "fingerprint": "a" * 12}]}, PATH, "schema-pattern", 10),
        ({"publish_at": "2026-12-01T09:00:00"}, PATH, "schema-format", 6),
        ({"policy": {"version": 3}}, PATH, "schema-required", 7),
        ({"surprise": 1}, PATH, "schema-additional-properties", 13),
        ({}, "elsewhere/x.yaml", "plan-place", 1),
        ({}, "plans/handbook/x.yml", "plan-place", 1),
    ],
)
def test_plans_that_break_a_rule(fields: dict[str, Any], path: str, code: str, line: int) -> None:
    problem = problem_of(lambda: instance_files.plan_of_file(render_yaml({**PUBLICATION, **fields}), path))
    assert (problem.code, problem.where.split(":")[1]) == (code, str(line))
    assert problem.where.startswith(path)


def test_gates() -> None:
    data = {
        "kind": "gate", "gate": "G3", "site": "s", "plan": "s/launch", "plan_payload": DIGEST, "subject": OTHER, "number": 2,
    }  # fmt: skip
    path = f"plans/s/gates/g3-{'b' * 12}-2.yaml"
    found = instance_files.gate_of_file(render_yaml(data), path)
    assert (found.gate, found.number, found.subject_hash) == ("G3", 2, OTHER)
    assert instance_files.payload_of(path, render_yaml(data)) == (payload_hash(data), 1)
    assert problem_of(lambda: instance_files.gate_of_file(render_yaml(data), "plans/s/gates/g3-x-2.yaml")).code == "plan-rule"


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cn"]), max_size=40) | st.sampled_from(
    ["", "true", "No", "null", "~", "1", "-1", "0x1", "1e5", "12e34", "2026-12-01", "9:00", "a: b", "a #b", "- a", "{", "[a]",
     "'", '"', "\\", "|", "*x", "&x", "!t", "%y", "@", "`", " a", "a ", "a\nb", "=", "<<", "---", "...", "a,b", "a}",
     "sha256:" + "0" * 64, "é"]
)  # fmt: skip
VISIBLE = TEXTS.filter(
    lambda text: (
        not any(c in text for c in "\u200b\u2060\ufeff\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    )
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | VISIBLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(VISIBLE, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(VISIBLE, VALUES, max_size=5))
def test_whatever_is_written_is_read_back(data: dict[str, Any]) -> None:
    written = render_yaml(data)
    assert load(written, "f").data == data
    assert render_yaml(load(written, "f").data) == written


@pytest.mark.parametrize("role", ["target", "staging"])
def test_a_site_is_not_published_onto_the_instances_own_branches(role: str) -> None:
    plain = {"target": "public/handbook", "staging": "public/staging"}[role]
    text = INSTANCE.replace(f"{role}: {{kind: directory, path: {plain}}}", f"{role}: {{kind: git-branch, branch: main}}")
    assert text != INSTANCE
    problem = problem_of(lambda: instance_files.instance_of(text.encode(), "publisher.yaml"))
    assert problem.code == "target-own-branch"
