"""Reviews of configuration, approval rules, policies, queues and drafts, of what people must leave alone, and of hostile heads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from publisher.engine import review_changes
from publisher.engine.review_changes import Area, area_of, shown, twin_of_ours
from publisher.gitstore.yaml_writing import render_yaml
from tests.support.instance import draft, source
from tests.support.reviewing import APPROVED, NEXT, REQUEST, REQUESTED, Proposals, codes, file_of, place, reviewing_stage
from tests.support.scene import Scene

QUEUE, POLICY, RULES, CONFIGURATION = "plans/blog/queue.yaml", "plans/blog/policy.yaml", "approval.yaml", "publisher.yaml"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with reviewing_stage(tmp_path_factory.mktemp("review-files")) as scene:
        yield scene


@pytest.fixture(scope="module")
def desk(stage: Scene) -> Proposals:
    return Proposals.of(stage)


def the(found: Any, code: str) -> Any:
    (only,) = [item for item in found.findings if item.code == code]
    return only


# --- who may approve, and where it becomes public ---------------------------------------------------------------------------------


def test_a_change_of_who_may_approve_is_told_loudly(desk: Proposals) -> None:
    text = desk.text(RULES)
    key = text.split('key: "')[1].split('"')[0]
    eve = f'  - {{principal: eve@example.org, key: "ssh-ed25519 {"A" * 68}", may: [approve]}}\n'
    found = desk.review(desk.head({RULES: text.replace("may: [commit]}", "may: [commit, approve]}") + eve}))
    assert (codes(found), found.exit_code) == (["who-may-approve"], 0)
    says = the(found, "who-may-approve").says
    assert says.startswith("this changes who may approve: ")
    assert "adds eve@example.org" in says and f"adds planner@example.org with the key ending {key[-8:]} (may approve)" in says
    removed = desk.review(desk.head({RULES: text.replace("reviewer@example.org", "rae@example.org")}))
    assert "removes reviewer@example.org" in the(removed, "who-may-approve").says


def test_rules_by_which_nobody_could_approve_any_more(desk: Proposals) -> None:
    found = desk.review(desk.head({RULES: desk.text(RULES).replace("approvals: 1", "approvals: 2")}))
    assert (codes(found), found.exit_code) == (["approvals-needed", "nobody-approves"], 3)
    assert place(found, "approvals-needed") == f"{RULES}:1:12"
    assert codes(desk.review(desk.head({RULES: None}))) == ["file-removed"]
    assert codes(desk.review(desk.head({RULES: "approvals: none\n"}))) == ["schema-type"]


@pytest.mark.parametrize(
    ("old", "new", "code", "exit_code"),
    [
        ("kind: directory, path: {folder}/public", "kind: directory, path: {folder}/elsewhere", "target-changed", 0),
        ("path: {folder}/staging", "path: {folder}/other", "staging-changed", 0),
        ("id: i-5f0c2b6c", "id: i-00000000", "instance-id-changed", 3),
        ("blog.example,2026", "blog.example,2027", "guids-changed", 3),
        ("state: main", "state: publisher-state", "branches-changed", 0),
        ("forge: git", "forge: github\ngithub: {{repository: ann/site}}", "forge-changed", 0),
        ("  blog:", "  log:", "site-removed", 0),
    ],
)
def test_a_change_of_the_configuration(
    desk: Proposals, stage: Scene, old: str, new: str, code: str, exit_code: int
) -> None:  # fmt: skip
    text = desk.text(CONFIGURATION)
    old, new = (part.format(folder=stage.instance.folder) for part in (old, new))
    assert old in text
    found = desk.review(desk.head({CONFIGURATION: text.replace(old, new)}))
    assert code in codes(found) and found.exit_code == exit_code
    assert str(stage.instance.folder) not in the(found, code).says  # an option's value is not repeated
    assert place(found, code).startswith(f"{CONFIGURATION}:")


def test_configuration_of_the_request_judges_nothing(desk: Proposals) -> None:
    """A request that makes its own author an approver, and moves the drafts away, is judged by what is in force."""
    text = desk.text(CONFIGURATION) + "drafts: {repository: 'https://drafts.example/private'}\n"
    desk.head({})
    head = desk.head({CONFIGURATION: text, file_of(NEXT): render_yaml(desk.next_plan(7, 8))})
    found = desk.review(head)
    assert codes(found) == ["drafts-moved"]
    assert [article.words for article in found.plans[0].articles] == [15, 15]


# --- the policy and the queue -----------------------------------------------------------------------------------------------------


def test_a_policys_version_rises_with_every_change(desk: Proposals) -> None:
    text = desk.text(POLICY)
    lower = desk.review(desk.head({POLICY: text.replace("quantity: 2", "quantity: 1").replace("60", "14")}))
    assert (codes(lower), place(lower, "policy-version")) == (["policy-version"], f"{POLICY}:1:10")
    higher = text.replace("version: 1", "version: 2")
    found = desk.review(desk.head({POLICY: higher}))
    assert codes(found) == ["horizon-beyond-lead"] and place(found, "horizon-beyond-lead").startswith(f"{POLICY}:6:")
    assert the(found, "policy-says").says == "2 a day from 2026-01-01, 60 days ahead; guide 1 of 2; note 1 of 2"
    assert codes(desk.review(desk.head({POLICY: "# only a comment\n" + text.replace("60", "14")}))) == ["policy-version"]
    assert codes(desk.review(desk.head({POLICY: text + "colour: blue\n"}))) == ["schema-additional-properties"]


def test_a_plan_is_judged_by_the_policy_that_comes_with_it(desk: Proposals) -> None:
    desk.head({})
    policy = desk.text(POLICY).replace("version: 1", "version: 2").replace("quantity: 2", "quantity: 1").replace("60", "14")
    plan = desk.next_plan(7, 8)
    found = desk.review(desk.head({POLICY: policy, file_of(NEXT): render_yaml(plan)}))
    assert codes(found) == ["policy-older"]
    broken = desk.review(desk.head({POLICY: "version: 2\n", file_of(NEXT): render_yaml(plan)}))
    assert codes(broken) == ["schema-required", "no-policy"]


def test_what_may_be_queued(desk: Proposals) -> None:
    text = desk.text(QUEUE)

    def queued(*lines: str) -> Any:
        return desk.review(desk.head({QUEUE: text + "".join(f"  - {{{line}}}\n" for line in lines)}))

    end = text.count("\n")
    unknown = queued("id: a-0099, source: drafts/blog/nowhere")
    assert (codes(unknown), place(unknown, "draft-missing")) == (["draft-missing"], f"{QUEUE}:{end + 1}:26")
    repeated = queued("id: a-0099, source: drafts/blog/article-0001")
    assert codes(repeated) == ["queue-repeats"] and "already" in the(repeated, "queue-repeats").says
    public = desk.review(desk.head({QUEUE: text.replace("{id: a-0001,", "{id: a-0001, held: true,")}))
    assert (codes(public), place(public, "already-public")) == (["already-public"], f"{QUEUE}:2:10")
    other = desk.review(desk.head({QUEUE: text.replace("id: a-0012", "id: a-0098")}))
    assert codes(other) == ["queue-id-differs"]


def test_new_drafts_with_their_queue_entries(desk: Proposals) -> None:
    files = {
        f"{source(13)}/index.md": draft(13, "note"),
        QUEUE: desk.text(QUEUE) + f"  - {{id: a-0013, source: {source(13)}}}\n",
    }
    assert codes(desk.review(desk.head(files))) == []
    broken = {**files, f"{source(13)}/index.md": draft(13, "note").replace("category: note\n", "")}
    found = desk.review(desk.head(broken))
    assert (codes(found), found.exit_code) == (["schema-required"], 3)
    alone = desk.review(desk.head({f"{source(14)}/index.md": "no front matter\n"}))
    assert (codes(alone), alone.exit_code) == (["front-matter-missing"], 0)  # nothing names it: somebody's work in progress


def test_the_same_thing_very_often_is_counted(desk: Proposals) -> None:
    lines = "".join(f"  - {{id: b-{n:04d}, source: drafts/blog/none-{n:04d}}}\n" for n in range(30))
    found = desk.review(desk.head({QUEUE: desk.text(QUEUE) + lines}))
    assert codes(found) == ["draft-missing"] * 20 + ["and-more"]
    assert the(found, "and-more").says == "10 more like it: draft-missing" and found.exit_code == 3


# --- drafts -----------------------------------------------------------------------------------------------------------------------


def test_a_draft_that_plans_name(desk: Proposals) -> None:
    changed = {f"{source(n)}/index.md": draft(n, "guide" if n % 2 else "note", "A newer text.\n") for n in (1, 3, 5, 7)}
    found = desk.review(desk.head(changed))
    assert codes(found) == ["plan-outdated", "plan-outdated"]
    merged, requested = [item for item in found.findings if item.code == "plan-outdated"]
    assert merged.next == f'publisher revise {APPROVED} --reason "…"' and "a-0003" in merged.says
    assert requested.next == "publisher plan" and f"request {REQUEST}" in requested.says and REQUESTED in requested.says
    assert the(found, "public-draft").about == source(1)


def test_an_image_beside_a_draft_counts_too(desk: Proposals) -> None:
    text = draft(3, "guide", "![a picture](a.svg)\n")
    base = desk.head({f"{source(3)}/index.md": text, f"{source(3)}/a.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>"})
    desk.head({}, base)
    head = desk.repository.commit({f"{source(3)}/a.svg": "<svg xmlns='http://www.w3.org/2000/svg' width='9'/>"})
    assert codes(desk.review(head, base=base)) == ["plan-outdated"]


# --- what people leave alone ------------------------------------------------------------------------------------------------------


def test_the_ledger_and_the_public_texts_are_publishers_own(desk: Proposals) -> None:
    ledger, text = f"ledger/{APPROVED}.jsonl", "site-src/blog/articles/a-0001/index.md"
    found = desk.review(desk.head({ledger: "{}\n", text: "rewritten\n", "ledger/README.md": "x\n"}))
    assert sorted(codes(found)) == ["ledger-touched", "ledger-touched", "public-text-touched"] and found.exit_code == 3
    assert place(found, "public-text-touched") == f"{text}:1:1"
    assert codes(desk.review(desk.head({text: None}))) == ["public-text-touched"]


def test_workflows_are_no_company_for_plans(desk: Proposals) -> None:
    workflow = {".github/workflows/publish.yml": "on: push\n"}
    assert codes(desk.review(desk.head(workflow))) == []
    desk.head({})
    found = desk.review(desk.head({**workflow, file_of(NEXT): render_yaml(desk.next_plan(7, 8))}))
    assert (codes(found), place(found, "workflows-with-plans")) == (
        ["workflows-with-plans"],
        ".github/workflows/publish.yml:1:1",
    )


def test_files_among_the_plans_that_nothing_reads(desk: Proposals) -> None:
    found = desk.review(desk.head({"plans/blog/daily/2026/notes.txt": "x\n", "plans/blog/polcy.yaml": "x\n"}))
    assert codes(found) == ["never-read", "never-read"] and found.exit_code == 0


# --- hostile heads ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["120000", "100755", "160000"])
@pytest.mark.parametrize("path", [file_of(NEXT), QUEUE, RULES, CONFIGURATION, POLICY])
def test_links_executables_and_submodules_are_no_files(desk: Proposals, path: str, mode: str) -> None:
    oid = desk.repository.head() if mode == "160000" else desk.blob(b"/etc/passwd")
    found = desk.review(desk.tree({path: (mode, oid)}))
    assert "not-a-plain-file" in codes(found) and found.exit_code == 3
    assert place(found, "not-a-plain-file") == f"{path}:1:1"


def test_a_draft_that_is_a_link(desk: Proposals) -> None:
    desk.head({})
    plan = render_yaml(desk.next_plan(7, 8))
    link = {
        f"{source(7)}/index.md": ("120000", desk.blob(b"../../../approval.yaml")),
        file_of(NEXT): ("100644", desk.blob(plan)),
    }
    found = desk.review(desk.tree(link))
    assert "draft-symlink" in codes(found) and found.exit_code == 3


def test_names_that_hide_something(desk: Proposals) -> None:
    blob = desk.blob(b"x\n")
    hostile = {
        "plans/blog/daily/2026/2026-12-04.yaml\n::set-output name=x::y": ("100644", blob),
        "plans/blog/daily/2026/##[add-mask]x.yaml": ("100644", blob),
        "drafts/blog/art\u202eicle/index.md": ("100644", blob),
        "Approval.yaml": ("100644", blob),
        "PLANS/blog/queue.yaml": ("100644", blob),
        "plans/blog/Queue.yaml": ("100644", blob),
        "plans/blog/daily/2026/2026-12-02.YAML": ("100644", blob),
    }
    found = desk.review(desk.tree(hostile))
    assert set(codes(found)) == {"odd-name", "case-twin", "never-read"} and found.exit_code == 3
    assert codes(found).count("odd-name") == 3 and codes(found).count("case-twin") == 2
    for item in found.findings:
        for text in (item.about, item.says, item.where):
            assert text.isascii() and text.isprintable() and "##[" not in text and "::" not in text
    twin = desk.review(desk.tree({"plans/blog/daily/2026/2026-12-02.YAML": ("100644", blob), file_of(NEXT): ("100644", blob)}))
    assert "case-twin" in codes(twin)


def test_a_path_that_is_no_text(desk: Proposals) -> None:
    tree = desk.repository.git("mktree", "-z", stdin=b"100644 blob " + desk.blob(b"x").encode() + b"\t\xff.yaml\0")
    head = desk.repository.git("commit-tree", "-p", "origin/main", "-m", "x", tree)
    found = desk.review(head)
    assert (codes(found), found.exit_code) == (["path-not-utf8"], 3)


def test_a_tree_without_end(desk: Proposals) -> None:
    """Ten folders in ten folders, thirty deep, made of thirty small objects."""
    tree = desk.repository.git("mktree", stdin=f"100644 blob {desk.blob(b'x')}\tx\n".encode())
    for _ in range(30):
        tree = desk.repository.git("mktree", stdin="".join(f"040000 tree {tree}\tf{n}\n" for n in range(10)).encode())
    top = desk.repository.git("mktree", stdin=f"040000 tree {tree}\tplans\n".encode())
    found = desk.review(desk.repository.git("commit-tree", "-p", "origin/main", "-m", "x", top))
    assert (codes(found), found.exit_code) == (["request-too-big"], 3)
    empty = desk.repository.git("mktree", stdin=b"")
    for _ in range(30):
        empty = desk.repository.git("mktree", stdin="".join(f"040000 tree {empty}\tf{n}\n" for n in range(10)).encode())
    top = desk.repository.git("mktree", stdin=f"040000 tree {empty}\tplans\n".encode())
    assert codes(desk.review(desk.repository.git("commit-tree", "-p", "origin/main", "-m", "x", top))) == ["request-too-big"]
    deep = desk.blob(b"x")
    tree = desk.repository.git("mktree", stdin=f"100644 blob {deep}\tx\n".encode())
    for _ in range(80):
        tree = desk.repository.git("mktree", stdin=f"040000 tree {tree}\tf\n".encode())
    top = desk.repository.git("mktree", stdin=f"040000 tree {tree}\tdrafts\n".encode())
    assert codes(desk.review(desk.repository.git("commit-tree", "-p", "origin/main", "-m", "x", top))) == ["request-too-big"]


def test_too_many_files(desk: Proposals) -> None:
    blob = desk.blob(b"x")
    names = {f"plans/blog/daily/2026/n{n}.yaml": ("100644", blob) for n in range(review_changes.MOST_FILES + 1)}
    found = desk.review(desk.tree(names))
    assert (codes(found), found.exit_code) == (["request-too-big"], 3)


def test_more_bytes_than_a_review_may_hold(desk: Proposals) -> None:
    """They are small only on their way here: one blob of zeros under many names."""
    blob = desk.blob(bytes(10 * 1024 * 1024))
    found = desk.review(desk.tree({f"drafts/blog/new/{n}.png": ("100644", blob) for n in range(52)}))
    assert (codes(found), found.exit_code) == (["request-too-big"], 3)


def test_a_file_where_the_default_branch_has_a_folder(desk: Proposals) -> None:
    base = desk.head({"drafts/blog/new/index.md/deeper/x.md": "x\n"})
    head = desk.head({"drafts/blog/new/index.md": "x\n"})
    assert codes(desk.review(head, base=base)) == ["request-conflicts"]


# --- names ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("publisher.yaml", Area.INSTANCE), ("approval.yaml", Area.RULES), ("sub/approval.yaml", Area.OTHER),
        ("plans/blog/policy.yaml", Area.POLICY), ("plans/blog/queue.yaml", Area.QUEUE), ("plans/blog/launch.yaml", Area.PLAN),
        ("plans/blog/daily/2026/2026-12-01.yaml", Area.PLAN), ("plans/blog/gates/g3-x-1.yaml", Area.GATE),
        ("plans/blog/daily/2026/x.yml", Area.STRAY), ("plans/readme.md", Area.STRAY), ("ledger/x", Area.LEDGER),
        ("drafts/blog/x/index.md", Area.DRAFT), ("drafts/readme.md", Area.OTHER),
        ("site-src/blog/articles/a/index.md", Area.PUBLIC_TEXT),
        ("site-src/blog/theme/x", Area.LOOK), ("site-src/blog/static/x", Area.LOOK), ("site-src/blog/other/x", Area.OTHER),
        (".github/workflows/x.yml", Area.WORKFLOW), ("action.yml", Area.WORKFLOW), ("publisher/cli/main.py", Area.OTHER),
    ],
)  # fmt: skip
def test_what_a_path_is(path: str, area: Area) -> None:
    assert area_of(path) is area


def test_paths_are_shown_in_plain_characters() -> None:
    assert shown("plans/blog/daily/2026/2026-12-01.yaml") == "plans/blog/daily/2026/2026-12-01.yaml"
    assert shown("a\n::error::%0A<b>`#[") == r"a\x0a\x3a\x3aerror\x3a\x3a\x250A\x3cb\x3e\x60\x23\x5b"
    assert shown("\u202e") == r"\u202e"
    assert len(shown("x" * 5000)) == review_changes.LONGEST_PATH


@pytest.mark.parametrize(("path", "twin"), [("Plans/x", "plans"), ("ＰＬＡＮＳ/x", "plans"), ("plans/x", ""), ("planes/x", "")])
def test_twins_of_publishers_own_names(path: str, twin: str) -> None:
    assert twin_of_ours(path) == twin
