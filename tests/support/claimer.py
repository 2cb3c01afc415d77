"""One of several actors that want the same claim at the same moment, each with a clone of its own.

    python -m tests.support.claimer     (in a clone)

For every line ``look INSTANT`` it reads the remote, and answers ``ready``; for every line ``claim`` it makes one call of the production
``Journal.claim`` on what it has read, and answers with the fence it got, or with the code of the refusal.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime
from pathlib import Path

from publisher.engine.deciding import decide
from publisher.engine.journal import Journal
from publisher.engine.site_view import SiteView, load
from publisher.errors import Refusal
from publisher.ports import Tips
from publisher.wiring import Wired, new_nonce, open_instance


class StandingClock:
    """Says the instant it was given; both are set by the test."""

    instant: datetime

    def now(self) -> datetime:
        return self.instant

    def sleep(self, seconds: float) -> None:
        """The standing clock stands; whoever holds the branch for a moment is waited for."""
        time.sleep(seconds)


def looked(wired: Wired, plan: str, known: SiteView | None) -> tuple[Journal, SiteView]:
    """A journal on what the remote has now; ``known`` serves where that is the same."""

    def again(tips: Tips) -> SiteView:
        return load(wired.store, wired.forge, tips, plan.split("/")[0])

    tips = wired.store.refresh()
    view = known if known and known.tips == tips else again(tips)
    return Journal(records=wired.store, load=again, clock=wired.clock, view=view, actor=wired.actor), view


def main(plan: str) -> None:
    clock = StandingClock()
    wired = open_instance(Path.cwd(), clock=clock)
    view: SiteView | None = None
    for line in sys.stdin:
        if line.startswith("look "):
            clock.instant = datetime.fromisoformat(line.removeprefix("look ").strip())
            journal, view = looked(wired, plan, view)
            answer = "ready"
        else:
            assert view is not None
            decision = decide(view.plans[plan], view, clock.now())
            try:
                fence = journal.claim(decision, nonce=new_nonce())
                answer = f"won {fence.number} {fence.nonce}"
            except Refusal as refusal:
                answer = f"lost {refusal.code}"
            view = journal.view
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
