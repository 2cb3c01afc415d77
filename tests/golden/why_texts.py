"""What ``publisher why`` says about the recorded stories: the questions, and the answers as people read them.

python -m tests.golden.why_texts        writes the answers anew: read the difference
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from unittest import mock

from publisher import wiring
from publisher.domain.business_calendar import parse_instant
from tests.replay import corpus
from tests.support.audited import StandingClock
from tests.support.command_line import publisher

FOLDER = Path(__file__).parent / "why"
DAY = "blog/daily/2026/2026-12-0{}".format
QUESTIONS: dict[str, tuple[tuple[str, int], ...]] = {
    # story: (what is asked, at which snapshot: -1 is the story's end)
    "daily-directory": ((DAY(1), -1), ("2026-12-02", -1), (DAY(2), 3)),
    "changes": (("a-0001", -1), ("/article-0002/", -1), ("change:2026-12-01-3", -1), ("2026-12-05", -1), ("a-0007", -1)),
    "revisions": ((DAY(1), -1), (DAY(2), -1), (DAY(3), -1)),
    "launch": (("shop/launch", 3), ("shop/launch", -1)),
    "launch-rejected": (("shop/launch", -1),),
    "expired": ((DAY(1), 2), (DAY(1), -1), ("2026-12-02", -1)),
    "pause": ((DAY(1), 3), (DAY(1), -1), ("2026-12-02", -1), ("2026-12-03", -1)),
    "killed": ((DAY(3), 6), (DAY(3), -1)),
    "failed": ((DAY(1), 3), (DAY(1), -1)),
    "unknown-deploy": ((DAY(1), 5), (DAY(1), -1)),
    "unknown-confirm": ((DAY(1), 2), ("a-0001", -1)),
    "unknown-announcement": ((DAY(1), 3), (DAY(1), -1)),
    "restored": ((DAY(1), -1), ("a-0005", -1)),
    "github": ((DAY(1), -1), ("2026-12-03", -1), (DAY(4), -1)),
}


def answers(story: str, folder: Path) -> str:
    """Every answer about a story, each below its question."""
    item = next(item for item in corpus.every_story() if item.name == story)
    objects = corpus.unpacked(item.version, folder)
    said = []
    for number, (question, place) in enumerate(QUESTIONS[story]):
        snapshot = item.snapshots[place]
        clone = corpus.clone_of(item, objects, folder / f"clone-{number}", snapshot)
        clock = StandingClock(parse_instant(snapshot["now"]))
        with mock.patch.object(wiring, "open_instance", partial(wiring.open_instance, clock=clock)):
            done = publisher("why", question, at=clone)
        assert done.code == 0, done.err
        said.append(f"# {snapshot['now']}, after {snapshot['did']}\n$ publisher why {question}\n{done.out}")
    return "\n".join(said)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in QUESTIONS:
        with tempfile.TemporaryDirectory(prefix="why-") as made:
            (FOLDER / f"{name}.txt").write_text(answers(name, Path(made)), "utf-8")
