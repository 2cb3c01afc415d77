"""Planning at a simulated GitHub by the real command line: one pull request for a week, kept up to date until somebody reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from publisher.sitebuilder.theme import default_theme
from tests.support.github_instance import STATE, GithubInstance, github_instance
from tests.support.gitrepos import Repository, bare, clone
from tests.support.instance import START, draft, first_epoch, source

FIRST = "2026-12-01"
PLAN = f"blog/daily/2026/{FIRST}"
SHOP = """\
  shop:
    url: http://127.0.0.1:9/
    zone: Europe/Berlin
    title: "Shop"
    description: "A second site"
    language: en
    author: "Test"
    tag_authority: "shop.example,2026"
    target: {kind: directory, path: public/shop}
    staging: {kind: directory, path: public/shop-staging}
"""


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[GithubInstance]:
    with github_instance(tmp_path, publish_time="09:00", articles=20) as made:
        yield made


def edit(instance: GithubInstance, files: dict[str, Any], branch: str = "main") -> str:
    """A plain commit of the owner."""
    editor = Repository(instance.folder / "editor", "editor", commits=len(instance.sim.pushes) + 100)
    editor.git("fetch", "--quiet", "origin")
    editor.git("checkout", "--quiet", "--detach", f"origin/{branch}")
    made = editor.commit(files, "by hand")
    instance.sim.push_as(instance.people["owner"], made, branch, folder=editor.path)
    return made


def proposed(instance: GithubInstance, now: str, *argv: str, check: int = 0) -> Any:
    return json.loads(instance.do("planner", "plan", "--json", *argv, now=now, check=check).stdout)


def opened(instance: GithubInstance) -> list[int]:
    return [pull.number for pull in instance.sim.pulls.all if pull.state == "open"]


def payloads(made: Any) -> list[str]:
    return [plan["payload"] for plan in made["plans"]]


def test_a_week_is_one_request_that_says_what_it_asks(instance: GithubInstance) -> None:
    (made,) = proposed(instance, "12-01 07:00", "--days", "7")["proposed"]
    pull = instance.sim.pulls.numbered(made["request"])
    assert pull.title == "blog: publish 2026-12-01 to 2026-12-07"
    assert made["page"] == f"{instance.sim.html_url}/pull/{pull.number}"
    assert re.findall(r"^### (2026.*)$", pull.body, re.MULTILINE) == [f"2026-12-0{day}" for day in range(1, 8)]
    assert all(f"`{payload}`" in pull.body for payload in payloads(made))
    assert "2026-12-07 09:00 HKT (01:00Z)" in pull.body
    assert "- `a-0001` `Article number 1 of the test`, in `drafts/blog/article-0001`" in pull.body
    assert "| `a-0001` | `/article-0001/` | `guide` | 15 | 0 | new |" in pull.body
    assert "marker-0001" not in pull.body, "no text of a draft"


def test_reruns_and_later_days_leave_it_as_it_is(instance: GithubInstance) -> None:
    proposed(instance, "12-01 07:00", "--days", "7")
    edit(instance, {"ledger/blog/controls.jsonl": b""}, STATE)
    edit(instance, {"README.md": "more\n"})
    instance.sim.requests.clear()
    pushes = len(instance.sim.pushes)
    (again,) = proposed(instance, "12-01 12:00", "--days", "7")["proposed"]
    assert (again["request"], again["known"], opened(instance), len(instance.sim.pushes)) == (1, True, [1], pushes)
    assert not [seen for seen in instance.sim.requests if seen.method in ("POST", "PATCH") and "git" not in seen.path]
    following = proposed(instance, "12-02 07:00", "--days", "7")["proposed"]
    assert [len(made["plans"]) for made in following] == [1, 7], (
        "the eighth date has a request of its own; the week is as it was"
    )
    assert opened(instance) == [1, 2]


def test_an_edited_draft_is_followed_until_somebody_reviewed(instance: GithubInstance) -> None:
    (first,) = proposed(instance, "12-01 07:00")["proposed"]
    edit(instance, {f"{source(1)}/index.md": draft(1, "guide", "Two words.\n")})
    (second,) = proposed(instance, "12-01 07:10")["proposed"]
    pull = instance.sim.pulls.numbered(1)
    assert (second["request"], payloads(second) == payloads(first)) == (1, False)
    assert f"`{payloads(second)[0]}`" in pull.body and payloads(first)[0] not in pull.body
    assert "| `a-0001` | `/article-0001/` | `guide` | 2 | 0 | new |" in pull.body

    instance.sim.reviews.submit(instance.people["reader"], 1, "COMMENTED", "Why so short?")
    before = (pull.head_sha, pull.title, pull.body)
    edit(instance, {f"{source(1)}/index.md": draft(1, "guide", "Three more words.\n")})
    done = instance.do("planner", "plan", now="12-01 07:20")
    assert "stays as it is: it does not hold these payloads" in done.stdout
    assert (pull.head_sha, pull.title, pull.body, opened(instance)) == (*before, [1])


def test_a_rejected_payload_is_not_proposed_again(instance: GithubInstance) -> None:
    proposed(instance, "12-01 07:00")
    instance.go_to("12-01 07:05")
    instance.sim.pulls.close(instance.people["reviewer"], 1)
    told = proposed(instance, "12-01 07:10", check=4)
    assert ([problem["code"] for problem in told["problems"]], opened(instance)) == (["proposal-rejected"], [])
    edit(instance, {"plans/blog/queue.yaml": queue(instance).replace("a-0001,", "a-0001, held: true,")})
    (made,) = proposed(instance, "12-01 07:20")["proposed"]
    assert (made["request"], [article["id"] for article in made["plans"][0]["articles"]]) == (2, ["a-0003", "a-0002"])
    assert opened(instance) == [2]


def queue(instance: GithubInstance) -> str:
    return instance.remote.git("show", "main:plans/blog/queue.yaml") + "\n"


def test_a_revision_says_what_changed_since_it_was_approved(instance: GithubInstance) -> None:
    (made,) = proposed(instance, "11-30 18:00", "--date", FIRST)["proposed"]
    merge = instance.merge(made["request"], "11-30 20:00")
    last = edit(instance, {f"{source(2)}/index.md": draft(2, "note", "Better.\n")})
    done = instance.do("planner", "revise", PLAN, "--reason", "@rae: a | better #1 text", "--json", now="11-30 21:00")
    (revised,) = json.loads(done.stdout)["proposed"]
    pull = instance.sim.pulls.numbered(revised["request"])
    assert pull.title == f"blog: revision 2 of {PLAN}"
    assert f"[{merge[:12]}...{last[:12]}](../compare/{merge}...{last}), `drafts/blog/article-0002`" in pull.body
    assert f"unchanged since `{merge[:12]}`" in pull.body
    assert "| Reason | `@rae: a ¦ better #1 text` |" in pull.body
    assert f"| Supersedes | `{payloads(made)[0]}` |" in pull.body


def test_private_titles_stay_out_of_a_public_request(instance: GithubInstance, tmp_path: Path) -> None:
    private = clone(bare(tmp_path / "drafts.git"), tmp_path / "drafts-editor")
    editor = instance.folder / "editor"
    drafts = {f"{source(n)}/index.md": (editor / source(n) / "index.md").read_bytes() for n in range(1, 21)}
    private.commit(dict(drafts))
    private.push()
    configuration = (editor / "publisher.yaml").read_text()
    elsewhere = f"drafts: {{repository: {tmp_path / 'drafts.git'}, branch: main}}\non_call:"
    edit(instance, {"publisher.yaml": configuration.replace("on_call:", elsewhere), **dict.fromkeys(drafts, None)})
    (made,) = proposed(instance, "12-01 07:00")["proposed"]
    pull = instance.sim.pulls.numbered(made["request"])
    shown = pull.body + pull.title + instance.remote.git("log", "--format=%B", "-1", pull.head_sha)
    assert "| `a-0001` | `/article-0001/` | `guide` | 15 | 0 | new |" in pull.body
    assert not [word for word in ("Article number", "in short", "marker-") if word in shown]


def test_ten_sites_are_planned_in_one_go(tmp_path: Path) -> None:
    """What one site's planning opened is no race for the next; a site that cannot be planned does not hold back the others."""
    names = [f"site-{n}" for n in range(1, 5)]
    with github_instance(tmp_path, articles=4, more="".join(SHOP.replace("shop", name) for name in names)) as instance:
        policy = instance.remote.git("show", "main:plans/blog/policy.yaml") + "\n"
        files: dict[str, Any] = {f"plans/{name}/policy.yaml": policy for name in names}
        for number, name in enumerate(names, start=10):
            drafts = [f"drafts/{name}/one", f"drafts/{name}/two"]
            rows = "".join(f"  - {{id: a-{number}{n}00, source: {path}}}\n" for n, path in enumerate(drafts))
            files |= {f"plans/{name}/queue.yaml": f"articles:\n{rows}"}
            files |= {f"{path}/index.md": draft(number * 1000 + n * 100, ("guide", "note")[n]) for n, path in enumerate(drafts)}
        files["plans/site-2/queue.yaml"] = "articles: []\n"
        edit(instance, files)
        told = proposed(instance, "12-01 07:00", check=4)
        assert [problem["code"] for problem in told["problems"]] == ["queue-short"]
        assert [made["plans"][0]["plan"].split("/")[0] for made in told["proposed"]] == ["blog", "site-1", "site-3", "site-4"]
        assert opened(instance) == [1, 2, 3, 4]
        again = proposed(instance, "12-01 07:10", check=4)
        assert [made["known"] for made in again["proposed"]] == [True] * 4
        assert opened(instance) == [1, 2, 3, 4]


def test_a_release_gate_is_a_request_that_shows_release_plan_and_window(tmp_path: Path) -> None:
    with github_instance(tmp_path, articles=2, more=SHOP) as instance:
        theme = {f"site-src/shop/theme/{path}": data for path, data in default_theme().items()}
        edit(instance, {**theme, "drafts/shop/hello/index.md": draft(100, "guide")})
        edit(instance, {"ledger/shop/claims/2026.jsonl": first_epoch()}, STATE)
        (made,) = proposed(instance, "12-01 08:00", "--launch", "--site", "shop", "--source", "drafts/shop/hello")["proposed"]
        instance.merge(made["request"], "12-01 08:05")
        done = instance.do("ci", "run", "--json", "--site", "shop", now="12-01 08:10", check=None)
        assert "requested G3 (request 2)" in done.stdout, done.stdout + done.stderr
        built = next(event["release"] for event in instance.ledger("shop/launch") if event["type"] == "built")
        pull = instance.sim.pulls.numbered(2)
        for part in (
            "Shall the release below become public?", f"| Release | `{built}` |", f"| Payload of the plan | `{payloads(made)[0]}` |",
            "| To be seen at | the staging target (`directory`) |", "| Approval usable | from 2026-12-01 00:00 CET (2026-11-30 23:00Z)",
            "- `a-0100` `Article number 100 of the test`",
        ):  # fmt: skip
            assert part in pull.body, part
        again = instance.do("ci", "run", "--json", "--site", "shop", now="12-01 08:20", check=None)
        assert (opened(instance), "requested" in again.stdout) == ([2], False)


def test_the_jobs_summary_lists_what_was_proposed(instance: GithubInstance, tmp_path: Path) -> None:
    summary, root = tmp_path / "summary.md", instance.remote.git("rev-list", "--max-parents=0", "main")
    instance.environment = {"GITHUB_ACTIONS": "true", "PUBLISHER_ROOT": root, "GITHUB_STEP_SUMMARY": str(summary)}
    (made,) = proposed(instance, "12-01 07:00")["proposed"]
    proposed(instance, "12-01 07:10")
    text = summary.read_text()
    assert f"| `{PLAN}` | 1 | `{payloads(made)[0]}` | #1 |" in text
    assert "#1, open already |" in text
    assert "Article number" not in text


def test_the_policy_of_the_instance_starts_before_these_dates() -> None:
    assert START < FIRST
