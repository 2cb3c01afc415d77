"""How many requests a token has left this hour (GitHub's primary rate limit).

Rules:
* 5000 an hour for a person or an App, 1000 for a job's GITHUB_TOKEN, 60 for nobody; ``rate_limit`` itself is free;
* beyond it every request is refused (403) with ``X-RateLimit-Remaining: 0`` and the second at which the hour begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.github.accounts import Account
from tests.support.github.answers import ApiError

if TYPE_CHECKING:
    from tests.support.github.simulator import Simulator

LIMITS = {"actions": 1000, "user": 5000, "app": 5000}


class Quota:
    """``limit``: another number for every token, so that a test can run into it."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.limit: int | None = None
        self._used: dict[tuple[str, int], int] = {}

    def _key(self, account: Account | None) -> tuple[str, int]:
        return account.token if account else "", self.sim.seconds // 3600

    def of(self, account: Account | None) -> dict[str, int]:
        full = self.limit if self.limit is not None else LIMITS.get(account.kind, 5000) if account else 60
        used = min(self._used.get(self._key(account), 0), full)
        return {"limit": full, "remaining": full - used, "reset": self.reset_at(), "used": used}

    def reset_at(self) -> int:
        return (self.sim.seconds // 3600 + 1) * 3600

    def spend(self, account: Account | None) -> None:
        if self.of(account)["remaining"] == 0 and self.sim.models("requests-are-counted"):
            raise self.exceeded(account)
        key = self._key(account)
        self._used[key] = self._used.get(key, 0) + 1

    def exceeded(self, account: Account | None) -> ApiError:
        headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(self.reset_at())}
        return ApiError(403, f"API rate limit exceeded for user ID {account.id if account else 0}.", headers=headers)

    def headers(self, account: Account | None) -> dict[str, str]:
        now = self.of(account)
        return {f"X-RateLimit-{name.capitalize()}": str(now[name]) for name in now} | {"X-RateLimit-Resource": "core"}
