"""The judge itself: it accepts what an undisturbed run leaves, and refuses every single thing that is not so."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.support.instance import Instance
from tests.support.oracle import accept
from tests.support.stage import DATE, KINDS, NEXT, PLAN, Stage, at, plan

Stages = Callable[[str], Stage]


def live(instance: Instance, name: str, data: bytes) -> None:
    path = instance.public / "current" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def another_page(instance: Instance) -> None:
    live(instance, "more/index.html", b"more")


def another_text(instance: Instance) -> None:
    live(instance, "article-0001/index.html", b"something else")


def a_draft_beside_the_release(instance: Instance) -> None:
    (instance.public / "incoming" / "left.html").write_bytes(b"with marker-0005 in it")


def told_again(instance: Instance) -> None:
    post = instance.folder / "post.jsonl"
    post.write_text(post.read_text() + post.read_text().splitlines()[0] + "\n")


def told_nobody(instance: Instance) -> None:
    (instance.folder / "post.jsonl").unlink()


def deployed_twice(instance: Instance) -> None:
    path = f"ledger/{PLAN}.jsonl"
    lines = instance.remote.git("show", f"main:{path}").splitlines()
    lines.append(next(line for line in lines if '"type":"deployed"' in line))
    editor = instance.fresh_clone("forger")
    editor.commit({path: "\n".join(lines) + "\n"})
    editor.push()


def something_is_due(instance: Instance) -> None:
    plan(instance, NEXT, 100, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_it_accepts_a_finished_day(stages: Stages, kind: str) -> None:
    stage = stages(kind)
    accept(stage.restore("first"), DATE, first=stage.first, now=at(60))


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (another_page, "not the ledger's last"),
        (another_text, "not the ledger's last"),
        (a_draft_beside_the_release, "marker-0005 left"),
        (told_again, "not told once each"),
        (told_nobody, "not told once each"),
        (deployed_twice, "2 deployed records"),
        (something_is_due, "further run"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_it_refuses(stages: Stages, harm: Callable[[Instance], None], reason: str) -> None:
    stage = stages("directory")
    instance = stage.restore("first")
    harm(instance)
    with pytest.raises(AssertionError, match=re.escape(reason)):
        accept(instance, DATE, first=stage.first, now=at(25 * 3600))


def test_it_refuses_what_nobody_has_run(stages: Stages) -> None:
    with pytest.raises((AssertionError, KeyError)):
        accept(stages("directory").restore("approved"), DATE, now=at(60))
