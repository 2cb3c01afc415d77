"""A stage whose run talks with its remote, and with a site's repository, over smart HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.git_http import GitHost, serving_git
from tests.support.gitrepos import Repository
from tests.support.instance import Instance
from tests.support.stage import Stage, stage_of
from tests.support.warm import Warm


@dataclass
class HttpStage:
    """``stage.restore`` as ever; ``ready`` then gives clones whose remote is ``host``."""

    stage: Stage
    host: GitHost

    def ready(self, name: str = "approved") -> Instance:
        """A saved state, with a host that tells no lies, and ``ci`` on its way to it."""
        self.host.honest_again()
        instance = self.stage.restore(name)
        self.over_http("ci")
        return instance

    def over_http(self, who: str) -> Repository:
        """The clone of ``who``, made where there is none yet."""
        clone = self.stage.instance.clone(who)
        clone.git("remote", "set-url", "origin", self.host.url())
        return clone


@contextmanager
def http_stage_of(kind: str, folder: Path, warm: Warm, *, lease: str = "1s", channels: bool = True) -> Iterator[HttpStage]:
    """The approved plan and the undisturbed run, both saved; the site's repository is configured by its URL."""
    with stage_of(kind, folder, warm, lease=lease, channels=channels) as stage, serving_git(stage.instance.folder) as host:
        if kind == "other-repository":
            _configure(stage, "../site.git", host.url("site.git"))
        stage.approved()
        stage.undisturbed()
        yield HttpStage(stage, host)


def _configure(stage: Stage, old: str, new: str) -> None:
    editor = stage.instance.clone("editor")
    text = (editor.path / "publisher.yaml").read_text()
    assert old in text
    editor.commit({"publisher.yaml": text.replace(old, new)}, "the site's repository by its address")
    editor.push()
    for who in ("planner", "reviewer", "ci"):
        stage.instance.clone(who).git("pull", "--quiet")
    stage.save("empty")
