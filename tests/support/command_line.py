"""The command line in this process: what it returns, prints and says."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from publisher.cli.main import answer


@dataclass(frozen=True, kw_only=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


def publisher(*argv: str, at: Path | None = None) -> Said:
    """Carries out ``publisher ARGV`` as if started in ``at``."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(at or Path.cwd()), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = answer(argv)
    return Said(code=code, out=out.getvalue(), err=err.getvalue())
