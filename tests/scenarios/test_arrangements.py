"""Where things live: the ledger on a branch of its own, drafts in a second repository, an approval read there and nowhere else."""

from __future__ import annotations

from pathlib import Path

from tests.support.gitrepos import Repository, bare, clone
from tests.support.instance import Instance, make_instance
from tests.support.web import serving

EVENING = "2026-03-01T08:00:00+08:00"
DUE = "2026-03-01T09:01:00+08:00"


def with_private_drafts(folder: Path, url: str) -> tuple[Instance, Repository]:
    """An instance whose default branch holds no draft: they lie in a repository of their own."""
    instance = make_instance(folder, url=url, publish_time="09:00", state="publisher-state", lease="1s")
    private = clone(bare(folder / "drafts.git"), folder / "drafts-editor")
    editor = instance.clone("editor")
    drafts = [path for path in (editor.path / "drafts").rglob("*") if path.is_file()]
    private.commit({path.relative_to(editor.path).as_posix(): path.read_bytes() for path in drafts})
    private.push()
    editor.git("rm", "-rq", "drafts")
    text = (editor.path / "publisher.yaml").read_text()
    drafts_line = f"drafts: {{repository: {folder / 'drafts.git'}, branch: main}}\n"
    editor.commit({"publisher.yaml": text.replace("on_call:", drafts_line + "on_call:")})
    editor.push()
    return instance, private


def test_private_drafts_and_a_state_branch_of_its_own(tmp_path: Path) -> None:
    with serving(tmp_path / "i" / "public" / "current") as web:
        web.date = None
        instance, private = with_private_drafts(tmp_path / "i", web.url)
        instance.driven("planner", "plan", now=EVENING, check=0)
        instance.driven("reviewer", "approve", "1", "--yes", now=EVENING, check=0)
        path = private.path / "drafts/blog/article-0001/index.md"
        private.commit({"drafts/blog/article-0001/index.md": path.read_text() + "edited-after-approval\n"})
        private.push()
        default = instance.remote.head("main")
        instance.driven("ci", "run", now=DUE, check=0)

        live = instance.live()
        assert b"marker-0001" in live["article-0001/index.html"]
        assert b"edited-after-approval" not in b"".join(live.values())
        assert instance.remote.head("main") == default, "nothing of publisher's is written to the default branch"
        assert instance.ledger("blog/daily/2026/2026-03-01", "publisher-state")[-1]["type"] == "confirmed"
        pushed = instance.remote.git("ls-tree", "-r", "--name-only", "publisher-state").splitlines()
        assert all(name.startswith(("ledger/", "site-src/blog/articles/")) for name in pushed)

        commits = instance.commits("publisher-state")
        instance.driven("ci", "run", now="2026-03-01T09:05:00+08:00", check=0)
        assert instance.commits("publisher-state") == commits

        instance.driven("planner", "change", "correct", "a-0001", "--reason", "x", now="2026-03-01T10:00:00+08:00", check=0)
        instance.driven("reviewer", "approve", "2", "--yes", now="2026-03-01T10:00:00+08:00", check=0)
        instance.driven("ci", "run", now="2026-03-01T10:01:00+08:00", check=0)
        assert b"edited-after-approval" in instance.live()["article-0001/index.html"]
        instance.driven("ci", "audit", "--rebuild", now="2026-03-01T10:02:00+08:00", check=0)


def test_the_ledger_of_the_public_branch_never_names_a_private_title(tmp_path: Path) -> None:
    with serving(tmp_path / "i" / "public" / "current") as web:
        web.date = None
        instance, _ = with_private_drafts(tmp_path / "i", web.url)
        instance.driven("planner", "plan", "--days", "2", now=EVENING, check=0)
        instance.driven("reviewer", "approve", "1", "--yes", now=EVENING, check=0)
        said = instance.driven("ci", "run", now=DUE, check=0)
        everything = said.stdout + said.stderr
        for ref in instance.remote.refs():
            everything += instance.remote.git("log", "--format=%B", ref)
        everything += instance.remote.git("grep", "-h", "", "publisher-state", "--", "ledger")
        for number in range(1, 9):
            assert f"Article number {number}" not in everything
            assert f"marker-{number:04d}" not in everything
