"""Deployments of GitHub Pages: one is created, and watched until it is over or time is.

What GitHub does, and its documentation does not say (public reports, see docs/decisions/0015):
* ``pages_build_version`` must be a commit of this repository that was pushed, though it is described as any unique string; anything
  else is answered 404;
* a version that was deployed before is not deployed again: the answer is success, and nothing changes. So every deployment has a
  commit of its own, the ledger's record that announces it;
* while one deployment is under way, another is refused (400).

Rules:
* one attempt each, never repeated here; an answer that is lost is settled by asking for the version;
* a deployment is never cancelled: ending the wait says nothing about it, and one that is cut off is neither here nor there;
* a word that is not known counts as "under way".
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from publisher.errors import ComeBackLater, NeedsPerson, OutcomeUnknown
from publisher.ports import HostWrites

WATCHED, WATCHED_UNSEEN = 300.0, 60.0
"""Seconds that a deployment is watched for: most take less than one minute. It is less than a claim's lease. The shorter time is
for one whose creation was not answered."""
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 15.0
SETTING = "Settings, Pages: the source is GitHub Actions"
ENDED_BADLY = ("deployment_failed", "deployment_content_failed", "deployment_cancelled")


class Outcome(StrEnum):
    """What became of a deployment. ``NONE``: GitHub does not know it. ``LOST``: GitHub does not know how it ended."""

    NONE = "none"
    UNDER_WAY = "under-way"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"


class Deployments:
    """Deployments of the repository behind ``host``."""

    def __init__(self, host: Callable[[], HostWrites], *, site: str, sleep: Callable[[float], None]) -> None:
        self._host = host
        self._site = site
        self._sleep = sleep

    def is_artifact(self, number: str, *, name: str, run: str) -> bool:
        """Whether an artifact was uploaded under this name by this workflow run, and is still there."""
        found: Any = self._host().get(f"actions/artifacts/{number}")
        if not isinstance(found, dict) or found.get("expired") is not False:
            return False
        by = found.get("workflow_run")
        return found.get("name") == name and isinstance(by, dict) and str(by.get("id")) == run

    def create(self, *, artifact: str, version: str, environment: str, token: str) -> bool:
        """Asks for a deployment; False when the answer was lost. Any refusal says that none was begun."""
        body = {"artifact_id": int(artifact), "pages_build_version": version, "oidc_token": token}
        if environment:
            body["environment"] = environment
        try:
            self._host().send("POST", "pages/deployments", body)
        except OutcomeUnknown:
            return False
        except NeedsPerson as refusal:
            if refusal.code != "host-refused":
                refusal.next += f"; {SETTING}" if refusal.code == "host-forbidden" else ""
                raise
            raise ComeBackLater(
                "pages-busy", f"GitHub began no deployment of {self._site}; another one may be under way", next="publisher run"
            ) from None
        return True

    def outcome(self, version: str) -> Outcome:
        """What GitHub says of a version now."""
        found: Any = self._host().get(f"pages/deployments/{version}")
        if not isinstance(found, dict):
            return Outcome.NONE
        word = found.get("status")
        if word == "succeed":
            return Outcome.SUCCEEDED
        if word in ENDED_BADLY:
            return Outcome.FAILED
        return Outcome.LOST if word == "deployment_lost" else Outcome.UNDER_WAY

    def watched(self, version: str, *, seconds: float) -> Outcome:
        """What became of a deployment that was begun; ``UNDER_WAY`` when time is over first, or GitHub does not answer."""
        pause, waited = FIRST_PAUSE, 0.0
        while waited < seconds:
            self._sleep(pause)
            waited, pause = waited + pause, min(pause * 1.5, LONGEST_PAUSE)
            try:
                outcome = self.outcome(version)
            except (ComeBackLater, NeedsPerson):
                continue
            if outcome not in (Outcome.UNDER_WAY, Outcome.NONE):
                return outcome
        return Outcome.UNDER_WAY
