"""The README's quick starts, typed as they stand there: each ends with a public site, or with an instance that only needs its App."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support import workflow_files
from tests.support.gitrepos import Repository
from tests.support.quick_start import BRANCH, Stranger, blocks, commands, stranger
from tests.support.shipped import Shipped

STARTS = ("A new blog", "Your existing blog", "Ten sites")
POST = "---\nlayout: post\ntitle: {title}\ndate: 2024-05-01\n---\n\nText of {title}.\n\n---\n\nAnd more of it.\n"


@pytest.mark.parametrize("title", STARTS)
def test_each_has_less_than_ten_commands(title: str) -> None:
    assert 5 < len(commands(title)) < 10


def go_to(them: Stranger, clock: str, day: int) -> None:
    """It is so late, so many days from today, in the editor's zone (in summer an hour later, which no schedule minds)."""
    date = (datetime.now(UTC) + timedelta(days=day)).date()
    them.sim.set_now(datetime.fromisoformat(f"{date}T{clock}:00+01:00"))


def proposed_and_merged(them: Stranger) -> None:
    """The next morning: the request that the schedule opens, reviewed by publisher, approved and merged by the owner, recorded."""
    go_to(them, "07:23", day=1)
    them.actions.tick("plan.yml")
    (request,) = (one for one in them.sim.pulls.all if not one.closed_at)
    assert request.user.login == "github-actions[bot]"
    assert [one for one in them.sim.issues.comments if "no problem found" in one.body]
    go_to(them, "07:50", day=1)
    them.sim.reviews.submit(them.ann, request.number, "APPROVED")
    them.sim.pulls.merge(them.ann, request.number, method="squash")
    go_to(them, "07:51", day=1)
    for ran in them.actions.pending():
        assert ran.conclusion == "success", ran.log


def published(them: Stranger, site: str, day: int) -> list[str]:
    """One morning's publication, and what is public then."""
    go_to(them, "09:07", day)
    ran = them.actions.tick("publish.yml")
    assert (ran.conclusion, ran.ids) == ("success", ["due", "publish"]), ran.log
    assert "confirmed" in ran.summary
    return sorted(item["url"] for item in json.loads(them.sites.page(f"{site}/.well-known/publisher.json"))["articles"])


def test_a_new_blog(shipped: Shipped, tmp_path: Path) -> None:
    with stranger(tmp_path, "drafts", shipped) as them:
        for command in commands("A new blog"):
            them.types(command)
        assert them.sim.settings.secrets == {"PUBLISHER_DEPLOY_KEY"}
        assert not Repository(them.at).git("status", "--porcelain")
        proposed_and_merged(them)
        assert published(them, "garden", day=1) == ["/hello/"]
        assert set(Repository(them.sites.root / "garden.git").refs()) == {f"refs/heads/{BRANCH}"}


def test_an_existing_blog_and_the_ten_lines(shipped: Shipped, tmp_path: Path) -> None:
    with stranger(tmp_path, "blog", shipped) as them:
        them.types(f"git clone --quiet {them.sim.clone_url} && mkdir blog/posts")
        for n, title in enumerate(("One", '"Two"', "Three: 3"), 1):
            (them.at / f"blog/posts/2024-05-0{n}-part-{n}.md").write_text(POST.format(title=title))
        (them.at / "blog/README.md").write_text("Mine\n")
        them.types("cd blog && git add --all && git commit --quiet -m Posts && git push --quiet origin HEAD:main && cd ..")
        for command in commands("Your existing blog"):
            them.types(command)
        assert (them.at / "README.md").read_text() == "Mine\n"
        proposed_and_merged(them)
        assert published(them, "blog", day=1) == ["/part-1/"]

        lines = blocks()["Ten lines"]
        assert len(lines.splitlines()) == 10
        flow = lines.replace("OWNER/publisher", shipped.uses.split("@")[0]).replace("COMMIT", shipped.commit)
        (them.at / ".github/workflows/publish.yml").write_text(flow)
        them.types("git commit --quiet --all -m Shorter && git pull --quiet --rebase && git push --quiet")
        assert published(them, "blog", day=2) == ["/part-1/", "/part-2/"]
        page = them.sites.page("blog/part-2/index.html")
        assert all(part in page for part in (b"<h1>Two</h1>", b"Text of", b"And more of it.")) and b"layout" not in page


def test_ten_sites(shipped: Shipped, tmp_path: Path) -> None:
    """Up to the commit; that ten sites are published by one App is the same job ten times."""
    with stranger(tmp_path, "press", shipped) as them:
        (them.folder / "work" / "app.private-key.pem").write_text("-----BEGIN RSA PRIVATE KEY-----\n")
        for command in commands("Ten sites"):
            them.types(command)
        said = json.loads(them.types("publisher sites --json"))
        assert len(said["sites"]) == 10
        targets = (them.at / "publisher.yaml").read_text()
        assert all(f"{them.sites.root}/{one['site']}.git" in targets for one in said["sites"])
        assert them.sim.settings.secrets == {"PUBLISHER_APP_PRIVATE_KEY"}
        assert set(them.sim.settings.variables) == {"PUBLISHER_ROOT", "PUBLISHER_APP_CLIENT_ID"}
        called = workflow_files.read(shipped.text(".github/workflows/publish.yml"))
        job = workflow_files.read((them.at / ".github/workflows/publish.yml").read_text())["jobs"]["publish"]
        workflow_files.require_callable({**job, "with": {"repositories": "press,atlas"}}, called)


if sys.platform == "darwin":  # act's host mode was tried on Linux only
    pytestmark = pytest.mark.skip(reason="the workflows are executed on Linux")
