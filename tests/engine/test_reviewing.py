"""Reviews of plans, texts and what lies beside them, on real git objects: what is found, where, and what is rendered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.fingerprint import payload_hash
from publisher.engine.assembling import ReleaseAssembler
from publisher.engine.review_rendering import Scan
from publisher.gitstore.yaml_writing import render_yaml
from tests.support.gitrepos import snapshot
from tests.support.instance import draft, source
from tests.support.reviewing import (
    APPROVED,
    NEXT,
    PUBLIC,
    REQUEST,
    REQUESTED,
    Proposals,
    codes,
    file_of,
    place,
    reviewing_stage,
)
from tests.support.scene import Scene
from tests.support.sitebuilding import png, png_chunk

REQUEST_HEAD = f"origin/publisher/requests/{REQUEST}"
DIGEST = "sha256:" + "0" * 64


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with reviewing_stage(tmp_path_factory.mktemp("reviewing")) as scene:
        yield scene


@pytest.fixture(scope="module")
def desk(stage: Scene) -> Proposals:
    return Proposals.of(stage)


def the(found: Any, code: str) -> Any:
    (only,) = [item for item in found.findings if item.code == code]
    return only


def contents(folder: Path) -> dict[str, tuple[str, str]]:
    """Every file with its mode and digest. Git touches an object that it is asked to write again."""
    return {path: (state.split(" ")[0], state.split(" ")[2]) for path, state in snapshot(folder).items()}


# --- what is well ---------------------------------------------------------------------------------------------------------------


def test_the_planners_own_request_has_nothing_wrong(desk: Proposals, tmp_path: Path) -> None:
    found = desk.review(desk.repository.head(REQUEST_HEAD), number=REQUEST, folder=tmp_path / "out")
    assert (codes(found), found.exit_code, found.good) == ([], 0, True)
    (plan,) = found.plans
    assert plan.plan.path == REQUESTED
    assert plan.plan.payload == plan.merged == payload_hash(desk.plan()) == found.says
    assert [(article.id, article.words) for article in plan.articles] == [("a-0005", 15), ("a-0006", 15)]
    assert found.scan is Scan.CLEAN
    pages = [(tmp_path / "out" / article.page).read_text() for article in plan.articles]
    assert "marker-0005" in pages[0] and "marker-0006" in pages[1]
    # The site as it will be: what is public already is there too, and what is only approved is not.
    index = (tmp_path / "out" / "blog" / "index.html").read_text()
    assert "/article-0001/" in index and "/article-0003/" not in index


def test_several_plans_are_named_together_and_each_is_shown(desk: Proposals, tmp_path: Path) -> None:
    desk.head({})
    days = {day: desk.next_plan(*numbers, day=day) for day, numbers in {"2026-12-04": (7, 8), "2026-12-05": (9, 10)}.items()}
    head = desk.head({file_of(f"blog/daily/2026/{day}"): render_yaml(plan) for day, plan in days.items()})
    found = desk.review(head, folder=tmp_path / "out")
    assert codes(found) == []
    assert list(found.payloads.values()) == [payload_hash(plan) for plan in days.values()]
    assert found.says.startswith("2 payloads, together sha256:") and len(found.says) <= 140
    assert (tmp_path / "out" / "blog" / "article-0010" / "index.html").exists()


def test_a_request_that_brings_nothing_of_publishers_is_none_of_its_business(desk: Proposals) -> None:
    found = desk.review(desk.head({"NOTES.txt": "hello\n"}))
    assert (found.findings, found.plans, found.concerns) == ((), (), False)
    assert found.says == "no plan in this request"


def test_a_review_changes_nothing_in_the_clone(desk: Proposals, tmp_path: Path) -> None:
    base = desk.head({"drafts/blog/article-0012/index.md": draft(12, "note", "Moved on meanwhile, for good.\n")})
    head = desk.head({file_of(NEXT): render_yaml(desk.next_plan(7, 8))})
    before = contents(desk.repository.path)
    found = desk.review(head, base=base, folder=tmp_path / "out")
    assert found.moved and found.scan is Scan.CLEAN  # a merged tree was composed
    assert contents(desk.repository.path) == before


# --- files that cannot be read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "at"),
    [
        ("revision: one", "schema-type", "7:11"),
        ("revision: &a 1", "yaml-anchor", "7:11"),
        ("revision: *a", "yaml-alias", "7:11"),
        ("revisoin: 1", "schema-additional-properties", "7:1"),
        ("revision: 1\nrevision: 1", "yaml-repeated-key", "8:1"),
        ("revision: [1", "yaml-syntax", "8:9"),
        ("revision:\t1", "yaml-tab", "7:10"),
    ],
)
def test_a_file_that_breaks_a_rule_is_found_at_its_place(desk: Proposals, line: str, code: str, at: str) -> None:
    text = desk.text(file_of(REQUESTED), REQUEST_HEAD).splitlines()
    number = next(number for number, one in enumerate(text) if one.startswith("revision:"))
    text[number] = line
    found = desk.review(desk.head({file_of(REQUESTED): "\n".join(text) + "\n"}))
    assert (codes(found), found.exit_code) == ([code], 3)
    assert place(found, code) == f"{file_of(REQUESTED)}:{int(at.split(':')[0]) - 7 + number + 1}:{at.split(':')[1]}"
    assert found.scan is Scan.NOT_LOOKED and found.payloads == {}


def test_a_key_of_another_day_and_a_file_at_another_place(desk: Proposals) -> None:
    plan = desk.plan(key="daily-publication:2026-12-09")
    assert codes(desk.proposed(plan)) == ["plan-rule"]
    found = desk.review(desk.head({file_of("blog/daily/2026/2026-12-09"): render_yaml(desk.plan())}))
    assert codes(found) == ["plan-rule"] and the(found, "plan-rule").says == f"this plan belongs at {file_of(REQUESTED)}"


def test_a_very_large_file_is_not_even_read(desk: Proposals) -> None:
    found = desk.review(desk.head({file_of(NEXT): b"a: " + b"x" * 10 * 1024 * 1024}))
    assert (codes(found), found.exit_code) == (["yaml-too-big"], 3)


def test_an_alias_bomb_is_refused_at_its_first_anchor(desk: Proposals) -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20))
    found = desk.review(desk.head({file_of(NEXT): bomb, "plans/blog/queue.yaml": bomb, "approval.yaml": bomb}))
    assert codes(found) == ["yaml-anchor"] * 3
    assert {item.where.split(":", 1)[1] for item in found.findings} == {"1:4"}


# --- plans ------------------------------------------------------------------------------------------------------------------------


def article_field(desk: Proposals, **fields: str) -> dict[str, Any]:
    desk.head({})
    plan = desk.next_plan(7, 8)
    plan["articles"][1] |= fields
    return plan


@pytest.mark.parametrize(
    ("fields", "code", "column"),
    [
        ({"fingerprint": DIGEST}, "fingerprint-differs", "fingerprint"),
        ({"id": "a-0777"}, "id-differs", "fingerprint"),
        ({"source": "drafts/blog/nowhere"}, "draft-missing", "fingerprint"),
        ({"guid": "tag:blog.example,2026:blog/other"}, "guid-differs", "guid"),
        ({"url": "/article-0001/"}, "url-taken", "url"),
        ({"url": "/tags/"}, "url-taken", "url"),
        ({"category": "guide"}, "category-differs", "fingerprint"),
    ],
)
def test_an_article_that_is_not_what_its_draft_says(desk: Proposals, fields: dict[str, str], code: str, column: str) -> None:
    plan = article_field(desk, **fields)
    if "id" in fields:
        plan["articles"][1]["guid"] = "tag:blog.example,2026:blog/a-0777"
    found = desk.proposed(plan)
    assert (codes(found), found.exit_code) == ([code], 3)
    text = render_yaml(plan).decode().splitlines()
    line, at = (int(part) for part in place(found, code).split(":")[1:])
    assert f"{column}: " in text[line - 1][: at - 1] and found.scan is Scan.NOT_LOOKED


def test_an_unlisted_category_and_the_wrong_number(desk: Proposals) -> None:
    desk.head({})
    plan = desk.next_plan(7, 8, 9)
    plan["articles"][2]["category"] = "essay"
    assert codes(desk.proposed(plan)) == ["quantity-differs", "category-without-share", "category-differs"]


def test_a_draft_that_says_it_is_one(desk: Proposals) -> None:
    text = draft(8, "note").replace("tags: [", "draft: true\ntags: [")
    desk.head({f"{source(8)}/index.md": text})
    plan = desk.next_plan(7, 8)
    found = desk.review(desk.head({file_of(NEXT): render_yaml(plan), f"{source(8)}/index.md": text}))
    assert codes(found) == ["draft-mark"]


@pytest.mark.parametrize(
    ("policy", "code", "exit_code"),
    [
        ({"version": 1, "digest": DIGEST}, "policy-differs", 3),
        ({"version": 2, "digest": DIGEST}, "policy-differs", 3),
    ],
)
def test_a_policy_that_is_not_the_sites(desk: Proposals, policy: dict[str, Any], code: str, exit_code: int) -> None:
    found = desk.proposed(desk.plan(policy=policy), number=REQUEST)
    assert (codes(found), found.exit_code) == ([code], exit_code)


def test_a_plan_of_an_older_policy_stays_what_it_is(desk: Proposals) -> None:
    newer = desk.text("plans/blog/policy.yaml").replace("version: 1", "version: 2").replace("quantity: 2", "quantity: 1")
    base = desk.head({"plans/blog/policy.yaml": newer})
    found = desk.review(desk.repository.head(REQUEST_HEAD), base=base, number=REQUEST)
    assert (codes(found), found.exit_code) == (["policy-older"], 0)


@pytest.mark.parametrize(
    ("numbers", "code", "says"),
    [
        ((1, 8), "already-public", "a-0001 is public already; a publication never names it again"),
        ((3, 8), "planned-elsewhere", f"a-0003 stands in the plan {APPROVED} already"),
        ((5, 8), "planned-elsewhere", f"a-0005 stands in request {REQUEST} already ({REQUESTED})"),
    ],
)
def test_an_article_is_public_planned_and_proposed_once(
    desk: Proposals, numbers: tuple[int, ...], code: str, says: str
) -> None:
    desk.head({})
    found = desk.proposed(desk.next_plan(*numbers))
    assert codes(found) == [code] and the(found, code).says == says
    path, line, column = place(found, code).split(":")
    text = desk.text(path, "HEAD").splitlines()[int(line) - 1]
    assert path == file_of(NEXT) and text[int(column) - 1 :].startswith(f"a-{numbers[0]:04d}")


def test_the_same_article_in_two_plans_of_one_request(desk: Proposals) -> None:
    desk.head({})
    plans = [desk.next_plan(7, 8), desk.next_plan(8, 9, day="2026-12-05")]
    found = desk.review(desk.head({file_of(f"blog/daily/2026/{plan['date']}"): render_yaml(plan) for plan in plans}))
    assert codes(found) == ["planned-elsewhere"] * 2


def test_a_bound_key_takes_its_next_revision_only(desk: Proposals) -> None:
    bound = desk.plan(APPROVED, "origin/main")
    edited = desk.proposed({**bound, "announce": {"channels": ["mail"], "at_most": 3}})
    assert codes(edited) == ["conflict"]
    assert payload_hash(bound)[7:19] in the(edited, "conflict").says
    later = {**bound, "revision": 3, "supersedes": payload_hash(bound), "reason": "why not"}
    assert codes(desk.proposed(later)) == ["conflict"]
    revision = {**bound, "revision": 2, "supersedes": payload_hash(bound), "reason": "a better order"}
    revision["articles"] = list(reversed(bound["articles"]))
    assert codes(desk.proposed(revision)) == []


def test_nothing_follows_a_public_plan_or_none(desk: Proposals) -> None:
    public = desk.plan(PUBLIC, "origin/main")
    again = {**public, "revision": 2, "supersedes": payload_hash(public), "reason": "too late"}
    assert "plan-public" in codes(desk.proposed(again))
    desk.head({})
    first = desk.next_plan(7, 8, revision=2, supersedes=DIGEST, reason="out of nowhere")
    assert codes(desk.proposed(first)) == ["revision-of-nothing"]


def test_dates_that_passed_or_lie_too_far_ahead(desk: Proposals) -> None:
    desk.head({})
    assert codes(desk.proposed(desk.next_plan(7, 8), now="12-05 09:00")) == ["date-passed"]
    assert codes(desk.proposed(desk.next_plan(7, 8, day="2026-12-31"))) == ["too-early"]
    early = desk.proposed(desk.next_plan(7, 8, day="2025-12-31"))
    assert codes(early) == ["date-passed", "before-start"]


def test_a_site_that_the_default_branch_does_not_have(desk: Proposals) -> None:
    desk.head({})
    plan = desk.next_plan(7, 8, site="other")
    found = desk.proposed(plan)
    assert codes(found) == ["unknown-site"] and place(found, "unknown-site").startswith(file_of("other/daily/2026/2026-12-04"))


def test_deleting_a_plan_does_not_cancel_it(desk: Proposals) -> None:
    found = desk.review(desk.head({file_of(APPROVED): None}))
    assert codes(found) == ["plan-removed"] and the(found, "plan-removed").next.startswith(f"publisher cancel {APPROVED}")


def test_a_commit_for_sources_that_nobody_merged(desk: Proposals) -> None:
    desk.head({})
    aside = desk.head({"drafts/blog/article-0007/index.md": draft(7, "guide", "Never merged, never seen.\n")})
    desk.head({})
    found = desk.proposed(desk.next_plan(7, 8, sources=aside))
    assert codes(found) == ["sources-unknown"] and found.scan is Scan.NOT_LOOKED
    desk.head({})
    assert codes(desk.proposed(desk.next_plan(7, 8, sources="f" * 40))) == ["sources-unknown"]


# --- the default branch moves on --------------------------------------------------------------------------------------------------


def test_a_draft_that_changed_on_the_default_branch_since(desk: Proposals) -> None:
    base = desk.head({f"{source(5)}/index.md": draft(5, "guide", "Another text by now, quite another one.\n")})
    found = desk.review(desk.repository.head(REQUEST_HEAD), base=base, number=REQUEST)
    assert (codes(found), found.moved, found.exit_code) == (["base-moved"], True, 0)
    assert the(found, "base-moved").next == f'publisher revise {REQUESTED} --reason "…"'
    assert found.plans[0].merged == found.plans[0].plan.payload  # the file is the same; what it names is not


def test_a_plan_that_both_sides_changed(desk: Proposals) -> None:
    bound = desk.plan(APPROVED, "origin/main")
    revised = [{**bound, "revision": 2, "supersedes": payload_hash(bound), "reason": why} for why in ("one", "another")]
    base, head = (desk.head({file_of(APPROVED): render_yaml(plan)}) for plan in revised)
    found = desk.review(head, base=base)
    assert "base-moved" in codes(found) and found.plans[0].merged == ""


def test_what_the_default_branch_did_meanwhile_is_not_the_requests_doing(desk: Proposals) -> None:
    base = desk.head({"ledger/blog/notes.jsonl": "", "approval.yaml": desk.text("approval.yaml") + "# a note\n"})
    found = desk.review(desk.repository.head(REQUEST_HEAD), base=base, number=REQUEST)
    assert codes(found) == [] and [change.path for change in found.changes] == [file_of(REQUESTED)]
    desk.repository.git("checkout", "--quiet", "--detach", "--force", REQUEST_HEAD)
    desk.repository.git("merge", "--quiet", "--no-ff", "-m", "Update branch", base)
    updated = desk.review(desk.repository.head(), base=base, number=REQUEST)
    assert codes(updated) == [] and [change.path for change in updated.changes] == [file_of(REQUESTED)]


def test_histories_that_share_nothing(desk: Proposals) -> None:
    tree = desk.repository.git("rev-parse", "origin/main^{tree}")
    alone = desk.repository.git("commit-tree", "-m", "alone", tree)
    found = desk.review(alone)
    assert (codes(found), found.exit_code) == (["unrelated-history"], 3)


# --- changes of what is public ----------------------------------------------------------------------------------------------------


def change(desk: Proposals, action: str, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "change", "site": "blog", "key": "change:2026-12-01-9", "date": "2026-12-01", "zone": "Asia/Hong_Kong",
        "revision": 1, "action": action, "reason": "a test", **fields,
    }  # fmt: skip


def test_a_correction_is_of_the_text_that_is_public(desk: Proposals, stage: Scene, tmp_path: Path) -> None:
    text = draft(1, "guide", "The first text, and it is corrected now.\n")
    base = desk.head({f"{source(1)}/index.md": text})
    digest = next(e for e in stage.instance.ledger(PUBLIC) if e["type"] == "prepared")["puts"][0]["digest"]
    plan = change(desk, "correct", articles=[{**desk.article(1), "was": digest}])
    head = desk.repository.commit({file_of("blog/changes/2026/2026-12-01-9"): render_yaml(plan)})
    found = desk.review(head, base=base, folder=tmp_path / "out")
    assert codes(found) == []
    assert "corrected now" in (tmp_path / "out/blog/article-0001/index.html").read_text()
    wrong = change(desk, "correct", articles=[{**desk.article(1, base), "was": DIGEST}, {**desk.article(7), "was": DIGEST}])
    desk.head({}, base)
    head = desk.repository.commit({file_of("blog/changes/2026/2026-12-01-9"): render_yaml(wrong)})
    assert codes(desk.review(head, base=base)) == ["text-moved", "not-public"]


def test_a_withdrawal_and_a_rollback_name_what_is_public(desk: Proposals) -> None:
    good = change(desk, "withdraw", withdrawals=[{"id": "a-0001", "url": "/article-0001/", "answer": "gone"}])
    found = desk.proposed(good)
    assert codes(found) == [] and found.sites[0].scan is Scan.CLEAN
    bad = change(desk, "withdraw", withdrawals=[{"id": "a-0007", "url": "/article-0007/", "answer": "gone"}])
    assert codes(desk.proposed(bad)) == ["not-public"]
    back = change(desk, "rollback", to_release=DIGEST, hides=["a-0007"], reverts=[{"id": "a-0001", "digest": DIGEST}])
    assert codes(desk.proposed(back)) == ["no-such-text", "not-public"]
    elsewhere = desk.proposed(change(desk, "rollback", to_release=DIGEST, hides=["a-0002"]))
    assert codes(elsewhere) == ["rollback-differs"]


def test_a_theme_of_the_request_is_never_rendered(desk: Proposals, tmp_path: Path) -> None:
    theme = "site-src/blog/theme/base.html.j2"
    files = {theme: desk.text(theme).replace("<body", "<!-- of the request --><body"), file_of(NEXT): b""}
    desk.head({})
    head = desk.head({**files, file_of(NEXT): render_yaml(desk.next_plan(7, 8))})
    found = desk.review(head, folder=tmp_path / "out")
    assert codes(found) == [] and the(found, "look-changed").next == "publisher change presentation"
    assert "of the request" not in (tmp_path / "out/blog/index.html").read_text()
    presentation = {"commit": head, "output": "1", "digest": DIGEST}
    plan = change(desk, "presentation", presentation={**presentation, "output": 1}, reason="a new look")
    found = desk.proposed(plan, folder=tmp_path / "look")
    assert codes(found) == ["presentation-unmerged"] and not (tmp_path / "look").exists()
    merged = {**presentation, "commit": desk.repository.head("origin/main"), "output": 1}
    assert codes(desk.proposed(change(desk, "presentation", presentation=merged))) == ["presentation-not-that"]


# --- gates and rejections ---------------------------------------------------------------------------------------------------------


def test_a_gate_asks_for_what_stands(desk: Proposals) -> None:
    payload = payload_hash(desk.plan(APPROVED, "origin/main"))

    def gate(subject: str) -> dict[str, Any]:
        return {
            "kind": "gate",
            "gate": "plan",
            "site": "blog",
            "plan": APPROVED,
            "plan_payload": subject,
            "subject": subject,
            "number": 1,
        }

    def review(subject: str) -> Any:
        return desk.review(desk.head({f"plans/blog/gates/plan-{subject[7:19]}-1.yaml": render_yaml(gate(subject))}))

    found = review(payload)
    assert codes(found) == [] and found.says == payload_hash(gate(payload))
    assert codes(review(DIGEST)) == ["gate-differs"]


def test_what_was_rejected_and_what_was_skipped(stage: Scene) -> None:
    number = stage.plan("12-01 12:00", "--date", "2026-12-06")
    stage.do("reviewer", "approve", str(number), "--reject", "--yes", now="12-01 12:05")
    stage.do("ci", "skip", "2026-12-07", "--site", "blog", "--reason", "a holiday", now="12-01 12:06")
    desk = Proposals.of(stage, "later")
    head = desk.head({})
    rejected = desk.next_plan(7, 8, day="2026-12-06")
    later = "12-01 12:10"
    assert codes(desk.proposed(rejected, now=later)) == ["rejected"]
    assert codes(desk.proposed({**rejected, "articles": list(reversed(rejected["articles"]))}, now=later)) == []
    desk.head({}, head)
    assert codes(desk.proposed(desk.next_plan(9, 10, day="2026-12-07"), now=later)) == ["skipped"]


# --- leaks and images -------------------------------------------------------------------------------------------------------------


QUOTING = "As it says: the body of article number 9, with a sentence that belongs to it alone: marker-0009.\n"


def test_private_text_in_what_the_site_shows_is_a_leak(desk: Proposals, tmp_path: Path) -> None:
    base = desk.head({"site-src/blog/static/notes.txt": QUOTING})
    with desk.opened() as wired:
        made = ReleaseAssembler(
            reads=wired.store, builder=wired.builder, site="blog", scratch=tmp_path, progress=wired.progress
        ).presentation_at(base)  # fmt: skip
    presentation = {"commit": base, "output": made.output, "digest": made.digest}
    plan = change(desk, "presentation", presentation=presentation)
    head = desk.repository.commit({file_of("blog/changes/2026/2026-12-01-9"): render_yaml(plan)})
    found = desk.review(head, base=base, folder=tmp_path / "out")
    assert (codes(found), found.exit_code, found.scan) == (["leak"], 7, Scan.LEAK)
    assert found.sites[0].leaks == ("notes.txt: a-0009",)
    assert "notes.txt: a-0009" in the(found, "leak").says and "sentence" not in the(found, "leak").says


def test_a_text_that_quotes_what_is_still_private_is_told(desk: Proposals) -> None:
    base = desk.head({f"{source(7)}/index.md": draft(7, "guide", QUOTING)})
    early = [desk.next_plan(7, 8), desk.next_plan(9, 10, day="2026-12-05")]
    late = [desk.next_plan(9, 10), desk.next_plan(7, 8, day="2026-12-05")]
    seen = []
    for plans in (early, late):
        desk.head({}, base)
        head = desk.repository.commit({file_of(f"blog/daily/2026/{plan['date']}"): render_yaml(plan) for plan in plans})
        found = desk.review(head, base=base)
        assert (codes(found), found.exit_code) == (["quotes-a-draft"], 0)
        seen.append(the(found, "quotes-a-draft").says)
    # Whichever is out first carries the other's sentence along.
    assert seen[0] == "a-0007 says what also stands in a-0009, which is still private then"
    assert seen[1] == "a-0009 says what also stands in a-0007, which is still private then"


def test_what_cameras_add_to_an_image_is_counted(desk: Proposals) -> None:
    files: dict[str, bytes | str | None] = {
        f"{source(7)}/index.md": draft(7, "guide", "![a](plain.png) and ![b](home.png)\n"),
        f"{source(7)}/plain.png": png(),
        f"{source(7)}/home.png": png(png_chunk(b"tEXt", b"Comment\0taken at home by Ada")),
    }
    desk.head(files)
    plan = desk.next_plan(7, 8)
    found = desk.review(desk.head({**files, file_of(NEXT): render_yaml(plan)}))
    assert codes(found) == []
    images = {image.name: image for image in found.plans[0].articles[0].images}
    assert (images["plain.png"].left_out, images["home.png"].left_out) == (0, 12 + len(b"Comment\0taken at home by Ada"))
    assert images["home.png"].size == len(png())


def test_a_draft_that_cannot_become_public_is_found_at_its_line(desk: Proposals) -> None:
    text = draft(7, "guide", "A first line.\n\n[a link](javascript:alert)\n")
    desk.head({})
    plan = desk.next_plan(7, 8)
    found = desk.review(desk.head({f"{source(7)}/index.md": text, file_of(NEXT): render_yaml(plan)}))
    assert codes(found) == ["scheme-refused"] and place(found, "scheme-refused") == f"{source(7)}/index.md:10:1"
