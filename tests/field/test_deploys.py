"""Deploys, their order, and what confirms them."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from publisher.domain.evidence import ExpectedPage, Verdict, judge
from publisher.domain.facts import PublicText
from publisher.domain.fingerprint import digest
from publisher.domain.site_content import Content
from publisher.errors import StoppedForSafety
from publisher.verify.probes import HttpProbes
from publisher.workers import build
from tests.field.stories import FIRST, effects, told
from tests.field.test_triggers import coded, workflows
from tests.support.instance import source
from tests.support.oracle import live_files
from tests.support.scene import Scene
from tests.support.values import publication
from tests.support.volume import fair_slice
from tests.support.web import Request, StaticSite, serving


def text_of(name: str) -> PublicText:
    return PublicText(
        id=name, url=f"/{name}/", guid=name, date="2026-12-01T09:00:00+08:00", updated="", digest=digest(name.encode()), files={},
        category="guide", plan=FIRST,
    )  # fmt: skip


def test_D_02_every_retry_makes_it_worse(approved: Scene) -> None:
    """The release was stored and the run died: the next one finds it by its digest, and there is one."""
    approved.killed("12-01 09:01", "after:target.store:1")
    stored = sorted(path.name for path in (approved.instance.public / "releases").iterdir())
    approved.run("12-01 09:20")
    assert sorted(path.name for path in (approved.instance.public / "releases").iterdir()) == stored
    assert approved.events(FIRST).count("deployed") == 1


@pytest.mark.parametrize("when", fair_slice("field D-03", ("before", "after"), 1, stratum=bool))
def test_D_03_cancelled_in_the_middle_of_a_deploy(approved: Scene, tmp_path: Path, when: str) -> None:
    """A termination there leaves an open intent, never a failure; doctor warns of a group that cancels."""
    with approved.stopped("12-01 09:01", f"{when}:target.switch:1") as held:
        held.process.send_signal(signal.SIGTERM)
        done = held.go_on()
    assert done.code != 0
    assert not {"failed", "unknown", "deploy-closed"} & set(approved.events(FIRST))
    approved.run("12-01 09:20")
    assert (approved.events(FIRST).count("deployed"), approved.articles()) == (1, ["a-0001", "a-0002"])
    found = workflows(
        tmp_path,
        publish="on: {schedule: [{cron: '17 9 * * *'}]}\npermissions: {}\njobs:\n  a:\n    permissions: {contents: write}\n"
        "    concurrency: {group: site, cancel-in-progress: true}\n    steps: [{run: publisher run}]\n",
    )
    assert coded(found, "group-cancels").next == "cancel-in-progress: false"


def test_D_05_older_release_put_back_by_somebody(two: Scene) -> None:
    """It is said which, nothing is built upon it, and one command puts the recorded bytes back."""
    before, current = live_files(two.instance.folder), two.instance.public / "current"
    release = next(event["release"] for event in two.instance.ledger(FIRST) if event["type"] == "deployed")
    current.unlink()
    current.symlink_to(f"releases/{release.removeprefix('sha256:')}")
    assert len(two.articles()) == 2
    (alarm,) = two.do("watcher", "watch", "--json", now="12-02 10:00", check=6).data["alarms"]
    assert alarm["id"] == "drifted:blog"
    looked = two.do("ci", "reconcile", "blog", now="12-02 10:05", check=7)
    assert "it holds the older one of deployment 1" in looked.text
    assert "--repair" in looked.text
    two.do("ci", "reconcile", "blog", "--repair", "--reason", "an older job came late", now="12-02 10:10")
    after = live_files(two.instance.folder)
    assert {path for path in after if after[path] != before.get(path)} <= {".well-known/publisher-claim.json"}


@pytest.mark.parametrize(
    "headers", [{}, {"Age": "600", "X-Cache": "HIT", "CF-Cache-Status": "HIT", "Cache-Control": "max-age=600"}], ids=["none", "many"]
)  # fmt: skip
def test_D_06_verifier_that_wants_one_hosts_headers(tmp_path: Path, headers: Mapping[str, str]) -> None:
    body = b"<!doctype html><title>Fences</title>"
    (tmp_path / "index.html").write_bytes(body)

    class Behind(StaticSite):
        def answer(self, request: Request) -> tuple[int, bytes, Mapping[str, str]]:
            status, data, own = super().answer(request)
            return status, data, {**own, **headers}

    with serving(Behind(root=tmp_path)) as site:
        seen = HttpProbes(site_url=site.url).look([site.url], seconds=10, bust="n1")
        other = ExpectedPage(url=site.url, digest=digest(b"another page"))
        assert judge([ExpectedPage(url=site.url, digest=digest(body))], seen).verdict is Verdict.CONFIRMED
        assert judge([other], seen).verdict is Verdict.ABSENT


def test_D_08_announced_before_it_exists(approved: Scene) -> None:
    """A page that never appears is never announced; once it is seen, the confirmed addresses are, after the confirmation."""
    approved.web.missing.add("/article-0002/")
    approved.run("12-01 09:01", check=6)
    assert told(approved) == []
    approved.web.missing.clear()
    approved.run("12-01 09:30")
    kinds = approved.events(FIRST)
    assert kinds.index("confirmed") < kinds.index("announce-intent")
    posts = (approved.instance.folder / "post.jsonl").read_text()
    assert all(f"{approved.instance.url}/article-000{number}/" in posts for number in (1, 2))


def test_D_09_a_second_too_early(approved: Scene) -> None:
    """404, 404, 200: looked at again within the deadline, and announced once."""
    plain, seen = approved.web.answer, []

    def answer(request: Request) -> Any:
        if request.path == "/article-0002/":
            seen.append(request.path)
            if len(seen) <= 2:
                return 404, b"not yet", {}
        return plain(request)

    approved.web.answer = answer  # type: ignore[method-assign]
    try:
        approved.run("12-01 09:01")
    finally:
        del approved.web.answer
    assert len(seen) >= 3
    assert (approved.events(FIRST).count("confirmed"), len(told(approved))) == (1, 2)


def test_D_11_shrunken_site(public: Scene) -> None:
    """A public text is lost from the build source's folder: the release has it all the same. A shorter one is refused by name."""
    before = public.live
    public.edit({"site-src/blog/articles/a-0001/index.md": None, "site-src/blog/articles/a-0001/chart.png": None})
    public.run("12-02 09:01")
    assert set(before) < set(public.live), "texts come from the records, not from a folder's listing"

    def content(*names: str) -> Content:
        texts = {name: text_of(name) for name in names}
        return Content(texts=texts)

    bench: Any = SimpleNamespace(
        plan=publication(), production=SimpleNamespace(content=content(*(f"a-{number:03d}" for number in range(120))))
    )
    for missing in ({"a-017", "a-099"}, set(bench.production.content.texts)):
        kept = [name for name in bench.production.content.texts if name not in missing]
        with pytest.raises(StoppedForSafety) as refusal:
            build._check_removals(bench, content(*kept))
        assert refusal.value.code == "would-unpublish"
        assert ", ".join(sorted(missing)) in refusal.value.says


def test_D_12_withdrawal_that_withdraws_nothing(public: Scene) -> None:
    """Gone in every outlet, and confirmed only when the address answers so."""
    public.approve(public.propose("12-01 10:00", "change", "withdraw", "a-0002", "--reason", "no longer true"), "12-01 10:05")
    path = "blog/changes/2026/2026-12-01-1"
    kept, plain = public.page("/article-0002/"), public.web.answer
    public.web.answer = lambda request: (  # type: ignore[method-assign]
        (200, kept, {}) if request.path == "/article-0002/" else plain(request)
    )
    try:
        done = public.run("12-01 10:10", check=6)
    finally:
        del public.web.answer
    assert done.code_of(path) == "public-partial"
    assert "/article-0002/" in done.plan(path)["problem"]["says"]
    public.run("12-01 10:30")
    assert public.events(path).count("confirmed") == 1
    assert public.page("/article-0002/") is None
    for name in ("feed.xml", "atom.xml", "sitemap.xml", "index.html", "archive/index.html"):
        assert b"/article-0002/" not in public.live[name]


def test_D_14_source_that_is_missing_once(two: Scene) -> None:
    """A public article's draft was deleted before the next publication: nothing is removed for it."""
    assert two.instance.remote.git("ls-tree", "main", f"{source(2)}/") == ""
    assert "a-0002" in two.articles()
    assert two.page("/article-0002/") is not None


def test_D_15_retry_meets_something_there(approved: Scene) -> None:
    """What is live is looked at before it is switched: other bytes are a conflict. (The same bytes: S-19.)"""
    approved.killed("12-01 09:01", "before:target.switch:1")
    folder = approved.instance.public / "releases" / ("f" * 64)
    folder.mkdir()
    (folder / "index.html").write_bytes(b"somebody else's")
    (approved.instance.public / "current").symlink_to(f"releases/{folder.name}")
    log = approved.folder / "conflict.log"
    log.unlink(missing_ok=True)
    done = approved.run("12-01 09:20", check=7, log=str(log))
    assert done.code_of(FIRST) == "foreign-live"
    assert "target.switch" not in effects(log)
    assert approved.live == {"index.html": b"somebody else's"}
