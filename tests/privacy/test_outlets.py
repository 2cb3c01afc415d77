"""Private drafts beside whole stories: no trace of them in anything that leaves, in any encoding; nor of a token or key.

In a release run every chapter is told whole on every kind of target; in CI on one of them, with a slice of the verbs and failures.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.privacy import hosted, stories
from tests.privacy.outlets import Watch
from tests.privacy.sentinels import TOKEN
from tests.privacy.stories import KINDS, story_of
from tests.support.volume import RELEASE, fair_slice

EVERYWHERE = {"stdout", "stderr", "step summary", "refs", "pushed files", "pushed commits", "child arguments"}
PRIVATE = {"messages", "mail", "public web", "clone", "temporary files"}
HOST = {"pull requests", "issues", "statuses", "host requests"}


def require_silence(watch: Watch, outlets: set[str], tokens: tuple[str, ...] = (TOKEN,)) -> None:
    """No trace in any outlet, and something was looked through in each of ``outlets``."""
    assert outlets <= watch.outlets(), f"nothing was collected of {outlets - watch.outlets()}"
    assert watch.traces() == {}
    for token in tokens:
        # A program that publisher starts has the environment that publisher was given; its arguments are seen by everybody.
        said = {name: traces for name, traces in watch.traces(token).items() if not name.startswith("child environment: ")}
        assert said == {}


def verb(argv: tuple[str, ...]) -> str:
    return argv[0]


@pytest.mark.parametrize("kind", KINDS if RELEASE else KINDS[:1])
def test_a_whole_story_lets_nothing_private_out(tmp_path: Path, kind: str) -> None:
    """Planned, approved, run, corrected, withdrawn, asked about, decided, mistaken, lost and restored."""
    with story_of(kind, tmp_path) as story:
        stories.planned(story)
        stories.published(story)
        stories.changed(story, fair_slice("changes beside private drafts", stories.CHANGES, 2))
        stories.asked_about(story, fair_slice("verbs beside private drafts", stories.LOOKS, 9, stratum=lambda _: 0))
        stories.decided(story, fair_slice("decisions beside private drafts", stories.DECISIONS, 3, stratum=lambda _: 0))
        stories.mistaken(story, fair_slice("mistakes beside private drafts", stories.MISTAKES, 5, stratum=lambda _: 0))
        stories.lost_and_restored(story)
        expected = {"release", "target"} if kind == "directory" else {"site branch"}
        require_silence(story.finish(), EVERYWHERE | expected | PRIVATE - {"temporary files"})


@pytest.mark.parametrize("kind", KINDS if RELEASE else KINDS[:1])
def test_a_run_that_is_struck_lets_nothing_private_out(tmp_path: Path, kind: str) -> None:
    """A failure of each step, a full disk, a lost answer, a killed process; then a launch. What a killed run leaves is looked at."""
    with story_of(kind, tmp_path) as story:
        stories.planned(story)
        mode = {where: where.partition(":")[0] for where in stories.STRUCK}
        stories.struck(
            story, fair_slice("struck runs beside private drafts", stories.STRUCK, 6, stratum=lambda where: mode[where])
        )
        stories.launched(story)
        require_silence(story.finish(), EVERYWHERE | {"target", "temporary files", "mail"})


def test_a_public_instance_with_private_drafts_lets_nothing_out(tmp_path: Path) -> None:
    """Requests, comments, issues, statuses and logs are public; the drafts lie in a private repository."""
    with hosted.hosted(tmp_path) as place:
        hosted.public_story(place)
        tokens = (TOKEN, *(person.token for person in place.instance.people.values()))
        require_silence(place.finish(), EVERYWHERE | HOST | {"release", "target"}, tokens)
