"""The two sides of a divided run on the command line, and the file between them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from publisher.errors import InputProblem, UsageProblem

if TYPE_CHECKING:
    from publisher.domain.handover import Handed
    from publisher.engine.outcomes import SiteOutcome

BUILD, DEPLOY = "build", "deploy"
BUILD_COMMAND = "publisher run --only build --handover FILE"


class Divided:
    """``--only`` and ``--handover`` as they were given; neither is a whole run."""

    def __init__(self, side: str | None, file: str | None) -> None:
        if bool(side) != bool(file):
            raise UsageProblem(
                "half-divided", "--only and --handover go together: one side writes the file, the other reads it",
                next=BUILD_COMMAND,
            )  # fmt: skip
        self._side, self._file = side or "", Path(file) if file else None
        self._handed: Mapping[str, Handed] | None = None

    @property
    def reads_drafts(self) -> bool:
        return self._side != DEPLOY

    def arguments(self) -> dict[str, Any]:
        """What ``run_site`` is told."""
        from publisher.engine.sides import Side

        return {"side": Side(self._side), "handed": self._handed}

    def read(self, instance: str) -> None:
        """On the deploy side: what was handed over. ``InputProblem`` for a file that is not there or not this instance's."""
        if self._side != DEPLOY or self._file is None:
            return
        from publisher.domain import handover

        try:
            with self._file.open("rb") as file:
                self._handed = handover.read(file.read(handover.LARGEST + 1), instance)
        except OSError:
            raise UsageProblem("no-handover", f"{self._file} cannot be read", next=BUILD_COMMAND) from None
        except ValueError as rule:
            where = f"{self._file}:1:1"
            raise InputProblem("not-a-handover", f"{rule}; nothing was deployed", where=where, next=BUILD_COMMAND) from None

    def write(self, instance: str, outcomes: Sequence[SiteOutcome]) -> None:
        """On the build side: the file, whole or not at all; with nothing in it when nothing is ready."""
        if self._side != BUILD or self._file is None:
            return
        from publisher.domain import handover

        data = handover.written(instance, [entry for outcome in outcomes for entry in outcome.handed.values()])
        try:
            handle, name = tempfile.mkstemp(dir=self._file.absolute().parent, prefix=".handover-")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(self._file)
        except OSError:
            raise UsageProblem("handover-not-written", f"{self._file} cannot be written", next=BUILD_COMMAND) from None
