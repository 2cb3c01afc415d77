"""How a history ends: nothing goes wrong any more, what is late arrives, leases run out, people answer what waits for them.

People do what ``publisher`` tells them to, verb by verb; where a question is about the world, they look at it and say what is so.
In the end every date is closed, what is live is what the ledger says, and a further run adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from publisher.domain.ledger_events import Event
from publisher.domain.plan import Plan
from publisher.simulation import stage
from publisher.simulation.history import History
from publisher.simulation.oracles import Violation

MOST_ROUNDS = 24
MOST_RETRIES = 2
ASK_AGAIN = frozenset({"request-closed", "approved-too-early", "missed"})
GIVE_UP = frozenset({"plan-deleted", "skipped", "already-public", "fingerprint-differs", "presentation-differs", "not-public"})
REVISE = frozenset({"conflict", "revision-refused"})
RESTORE = frozenset(
    {"no-state-branch", "no-ledger", "ledger-not-live", "claims-corrupt", "deployments-doubled", "deployment-missing", "fence-refused"}
)  # fmt: skip
WAIT = frozenset({"busy", "claimed-meanwhile", "deployment-under-way"})


class Ending:
    """The end of one history. ``rounds`` counts the runs it took."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._world = history.world
        self._retries: dict[str, int] = {}
        self.rounds = 0
        self.codes: list[str] = []

    def reach(self) -> None:
        """Raises ``Violation`` where a history does not come to a good end."""
        self._calm_down()
        while self.rounds < MOST_ROUNDS:
            self.rounds += 1
            outcome = self._act("run")
            if not self._answer(outcome):
                break
        else:
            raise Violation("never-ends", f"people still have to answer: {', '.join(self.codes[-6:])}")
        self._require_rest()
        self._require_truth()

    def _calm_down(self) -> None:
        history, world = self._history, self._world
        history.do(("domain", False))
        while history.alive or world.pending:
            for actor in list(history.alive):
                actor.skew = 0
                history.do(("step", actor.number, -1))
            while world.pending:
                history.do(("arrive",))
        history.do(("tick", stage.LEASE + 60))
        if not history.restored:
            self._act("restore")

    def _act(self, *program: Any) -> tuple[Any, ...]:
        actor = self._history.start(program)
        self._history.do(("step", actor.number, -1))
        outcome = actor.player.node.outcome
        assert outcome is not None
        return outcome

    # --- answers ----------------------------------------------------------------------------------------------------------------------

    def _answer(self, outcome: tuple[Any, ...]) -> bool:
        """Does what the run asks people to do; False when it asks nothing."""
        _, problem, _, plans = outcome
        self.codes.append(problem or "/".join(sorted({decision[0] for *_, decision in plans})))
        if problem and self._answer_site(problem):
            return True
        if self._mend_target():
            return True
        acted = [self._answer_plan(path, trouble, *decision) for path, _, trouble, decision in plans]
        return any(acted) or bool(problem)

    def _answer_site(self, problem: str) -> bool:
        if problem in WAIT:
            return self._history.do(("tick", stage.LEASE + 60))
        if problem == "clock-behind":
            newest = max(event.at for events in self._events().values() for event in events)
            gap = stage.seconds_of(_moment(newest)) - self._world.now
            return self._history.do(("tick", max(gap, 60)))
        if problem in RESTORE:
            return bool(self._act("restore")[0] == "restored")
        return False

    def _mend_target(self) -> bool:
        """Somebody compares what is live with the ledger, as ``reconcile`` shows it, and has it put right."""
        world = self._world
        facts = self._history.oracles.facts(world.state)
        if world.files == facts.last_release or facts.open_intents:
            return False
        known = {
            event.fields.get("release", "")
            for events in self._events().values()
            for event in events
            if event.type in ("deployed", "restored")
        }
        # An older release that came back is known, and no sign that the ledger lost anything.
        if world.files and world.files == self._history.oracles.last_confirmed and world.files not in known:
            raise Violation(
                "ledger-forgot", f"{world.files[7:15]} was confirmed and is live, the ledger says {facts.last_release[7:15]}"
            )
        if world.files and world.files not in known:
            self._history.do(("wipe",))
        return bool(self._act("repair")[0] == "repaired")

    def _answer_plan(self, path: str, trouble: str, code: str, step: str, who: str) -> bool:
        history, world = self._history, self._world
        if code in ("over", ""):
            return False
        if code == "not-due":
            return history.do(("tick", stage.seconds_of(self._plan(path).publish_at) - world.now))
        if code == "paused":
            return self._done("resume")
        if code == "approval-absent" and world.requests:
            return history.do(("decide", "grant"))
        if code == "missed" and world.now % 120:
            return self._done("skip", path.rsplit("/", 1)[-1])
        if code in ASK_AGAIN or code.startswith("approval-"):
            return self._done("again", path) or self._done("cancel", path)
        if code in REVISE:
            return self._revise(path)
        if code in GIVE_UP:
            return self._done("cancel", path)
        if code == "deploy-unknown":
            return self._done("settle", path, "deploy", self._intended(path) == world.files)
        if code == "announce-unknown":
            return self._done("settle", path, "announce", True)
        if who == "person" and step and code not in ("not-confirmed", "rejected"):
            return self._try_again(path, step)
        return True

    def _done(self, *program: Any) -> bool:
        return bool(self._act(*program)[0] != "refused")

    def _try_again(self, path: str, step: str) -> bool:
        self._retries[path] = self._retries.get(path, 0) + 1
        if self._retries[path] > MOST_RETRIES and self._done("cancel", path):
            return True
        return self._done("retry", path, step)

    def _revise(self, path: str) -> bool:
        """The way out of a conflict that people are told: the next revision of what the key is bound to, reviewed and merged."""
        made = self._act("revise", path)
        if made[0] != "revised":
            return self._done("cancel", path)
        return self._history.do(("edit", "revise", path, made[1])) or self._done("cancel", path)

    def _plan(self, path: str) -> Plan:
        return self._history.memo.shared.contents.defaults[self._world.default].plans[path]

    def _events(self) -> dict[str, Sequence[Event]]:
        found = self._history.memo.shared.contents.states.get(self._world.state)
        return dict(found.events) if found else {}

    def _intended(self, path: str) -> str:
        events = self._events().get(path, ())
        return next((str(event.fields["release"]) for event in reversed(events) if event.type == "deploy-intent"), "")

    # --- the end ----------------------------------------------------------------------------------------------------------------------

    def _require_rest(self) -> None:
        before = self._everything()
        self._act("run")
        if self._everything() != before:
            raise Violation("not-at-rest", "a further run added something")

    def _everything(self) -> tuple[Any, ...]:
        world = self._world
        return (
            world.default, world.state, world.files, world.claim, world.fence, sum(world.delivered.values()),
            sum(world.alerts.values()), tuple(world.requests),
        )  # fmt: skip

    def _require_truth(self) -> None:
        world, oracles = self._world, self._history.oracles
        facts = oracles.facts(world.state)
        if facts.last_release != world.files:
            raise Violation("ledger-differs", f"live is {world.files[7:15]}, the ledger says {facts.last_release[7:15]}")
        shown, gone = oracles.shown(world.files) if world.files else ((), ())
        public = {name for name, _ in shown}
        for path, events in self._events().items():
            kinds = [event.type for event in events]
            if "/daily/" in path and ("confirmed" in kinds or "restored" in kinds) and "canceled" not in kinds:
                plan = next(e.fields for e in reversed(events) if e.type in ("prepared", "restored"))
                names = {item["id"] for item in plan["puts"]} if "puts" in plan else set()
                if not names <= public | set(gone):
                    raise Violation("vanished", f"{path} was confirmed and is not public")
        if len(public) != len(shown):
            raise Violation("not-as-approved", "an article is public twice")


def _moment(text: str) -> Any:
    from datetime import datetime

    return datetime.fromisoformat(text)
