"""A stage for reviews: an instance with a public plan, an approved one and an open request, and heads that somebody proposes.

``Proposals.review`` calls the engine in this process, on real git objects in a clone; ``tests/cli`` runs the real command line on
the same stage. Times are those of ``tests.support.scene``.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from publisher.engine.review_desk import Requested, ReviewDoors
from publisher.engine.reviewing import Review, review
from publisher.gitstore.yaml_writing import render_yaml
from publisher.wiring import open_instance
from tests.support.gitrepos import Repository, environment
from tests.support.scene import Scene, at, daily, scene_of

NOW = "12-01 12:00"
PUBLIC, APPROVED, REQUESTED, NEXT = (daily(f"12-0{day}") for day in (1, 2, 3, 4))
REQUEST = 3


def file_of(plan: str) -> str:
    return f"plans/{plan}.yaml"


class Fixed:
    """A clock that stands still."""

    def __init__(self, moment: str) -> None:
        self._now = datetime.fromisoformat(at(moment))

    def now(self) -> datetime:
        return self._now

    def sleep(self, seconds: float) -> None:
        raise AssertionError("a review never waits")


@contextmanager
def reviewing_stage(folder: Path, **options: Any) -> Iterator[Scene]:
    """Articles 1 and 2 are public, 3 and 4 stand in an approved plan, 5 and 6 in open request 3; 7 to 12 are queued."""
    with scene_of(folder, articles=12, **options) as scene:
        for day in ("2026-12-01", "2026-12-02"):
            scene.approve(scene.plan(NOW, "--date", day), NOW)
        scene.run(NOW)
        assert scene.plan(NOW, "--date", "2026-12-03") == REQUEST
        scene.save("staged")
        yield scene


@dataclass
class Proposals:
    """What people propose on a stage, each from a clone of their own."""

    scene: Scene
    repository: Repository

    @classmethod
    def of(cls, scene: Scene, name: str = "proposer") -> Proposals:
        clone = scene.instance.clone(name)
        clone.git("fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
        return cls(scene, clone)

    # --- heads --------------------------------------------------------------------------------------------------------------

    def head(self, files: Mapping[str, bytes | str | None], start: str = "origin/main") -> str:
        """One commit of ``files`` on top of ``start``."""
        self.repository.git("checkout", "--quiet", "--detach", "--force", start)
        self.repository.git("clean", "-qfdx")
        return self.repository.commit(files, "A proposal")

    def tree(self, entries: Mapping[str, tuple[str, str]], start: str = "origin/main") -> str:
        """A commit whose index entries are set as (mode, object id), whatever a working tree would say to that."""
        index = self.repository.path / ".git" / "proposal-index"
        env = {**environment(self.repository.who), "GIT_INDEX_FILE": str(index)}

        def git(*words: str, stdin: bytes = b"") -> str:
            done = subprocess.run(
                ["git", *words], cwd=self.repository.path, env=env, input=stdin, capture_output=True, check=True
            )
            return done.stdout.decode().strip()

        git("read-tree", start)
        listed = b"".join(f"{mode} {oid}\t".encode() + path.encode() + b"\0" for path, (mode, oid) in entries.items())
        git("update-index", "-z", "--index-info", stdin=listed)
        index_tree = git("write-tree")
        index.unlink()
        return git("commit-tree", "-p", start, "-m", "A proposal", index_tree)

    def blob(self, data: bytes) -> str:
        return self.repository.git("hash-object", "-w", "--stdin", stdin=data)

    def text(self, path: str, ref: str = "origin/main") -> str:
        return self.repository.git("show", f"{ref}:{path}") + "\n"

    def plan(self, name: str = REQUESTED, ref: str = f"origin/publisher/requests/{REQUEST}", **fields: Any) -> dict[str, Any]:
        """A plan as somebody committed it, with some fields changed; None takes one away."""
        data: dict[str, Any] = yaml.load(self.text(file_of(name), ref), yaml.BaseLoader)
        data["revision"] = int(data["revision"])
        if "policy" in data:
            data["policy"]["version"] = int(data["policy"]["version"])
        return {key: value for key, value in {**data, **fields}.items() if value is not None}

    def next_plan(self, *numbers: int, day: str = "2026-12-04", **fields: Any) -> dict[str, Any]:
        """A new publication of some queued articles, as the planner would write it."""
        articles = [self.article(number) for number in numbers]
        return self.plan(date=day, key=f"daily-publication:{day}", articles=articles, **fields)

    def article(self, number: int, ref: str = "HEAD", **fields: str) -> dict[str, str]:
        """An article as a plan names it, with its fingerprint at a commit."""
        with self.opened() as wired:
            source = f"drafts/blog/article-{number:04d}"
            draft = wired.store.draft(self.repository.head(ref), source)
        from publisher.engine.review_texts import fingerprint

        return {
            "id": draft.id, "source": source, "category": draft.category, "url": f"/{draft.slug}/",
            "guid": f"tag:blog.example,2026:blog/{draft.id}", "fingerprint": fingerprint(draft), **fields,
        }  # fmt: skip

    # --- reviews ------------------------------------------------------------------------------------------------------------

    @contextmanager
    def opened(self, now: str = NOW) -> Iterator[Any]:
        with tempfile.TemporaryDirectory() as objects:
            yield open_instance(self.repository.path, clock=Fixed(now), environment={}, objects=Path(objects))

    def review(
        self, head: str, *, base: str = "origin/main", folder: Path | None = None, now: str = NOW, **asked: Any
    ) -> Review:
        """The review of a head, judged by ``base``; ``asked`` are further fields of ``Requested``."""
        with self.opened(now) as wired:
            tips = wired.store.tips()
            base = self.repository.head(base)
            requested = Requested(tips=replace(tips, default=base, drafts=base), head=head, **asked)
            doors = ReviewDoors(
                reads=wired.store, git=wired.git, forge=wired.forge, verdict=wired.forge.verdict, files=wired.proposed_files,
                builder=wired.builder, clock=wired.clock, progress=wired.progress,
            )  # fmt: skip
            return review(doors, requested, folder)

    def proposed(self, plan: dict[str, Any], **asked: Any) -> Review:
        """The review of one plan on the default branch."""
        return self.review(self.head({file_of(path_of(plan)): render_yaml(plan)}), **asked)


def path_of(plan: Mapping[str, Any]) -> str:
    date = plan["date"]
    if plan["kind"] == "change":
        return f"{plan['site']}/changes/{date[:4]}/{plan['key'].removeprefix('change:')}"
    return f"{plan['site']}/daily/{date[:4]}/{date}"


def codes(found: Review) -> list[str]:
    """The codes of a review's findings, in order, those of mere notes left out."""
    return [item.code for item in found.findings if item.level != "ok"]


def place(found: Review, code: str) -> str:
    """Where the one finding of a code is."""
    (only,) = [item for item in found.findings if item.code == code]
    return only.where
