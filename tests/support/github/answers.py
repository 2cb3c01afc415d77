"""What a handler is given and what it may answer: documents, pages of a list, and GitHub's refusals."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.github.accounts import Account
    from tests.support.github.simulator import Simulator

Json = Any
WITH_SLASHES = ("path", "branch", "ref")


class ApiError(Exception):
    """GitHub's refusal; also raised by the Python API of the simulator."""

    def __init__(
        self, status: int, message: str, *, errors: Sequence[Json] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(f"{status} {message}")
        self.status, self.message, self.errors, self.headers = status, message, list(errors), dict(headers or {})

    def body(self) -> Json:
        made = {"message": self.message, "documentation_url": "https://docs.github.com/rest", "status": str(self.status)}
        return {**made, "errors": self.errors} if self.errors else made


def not_found() -> ApiError:
    return ApiError(404, "Not Found")


def invalid(resource: str, field_name: str, code: str = "invalid", message: str = "") -> ApiError:
    """422, as GitHub words it: each error names its resource, field and code."""
    error = {"resource": resource, "field": field_name, "code": code, **({"message": message} if message else {})}
    return ApiError(422, "Validation Failed", errors=[error])


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request to the API, its path taken apart."""

    sim: Simulator
    account: Account | None
    path: str
    at: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Json]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def actor(self) -> Account:
        if self.account is None:
            raise ApiError(401, "Requires authentication")
        return self.account

    def number(self, name: str) -> int:
        try:
            return int(self.at[name])
        except ValueError:
            raise not_found() from None


@dataclass(frozen=True)
class Answer:
    status: int
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """A list that the server cuts into pages; ``under`` names the field that holds it, where it is not the answer itself.

    ``cursor``: pages are named by the item that they begin after, not by number. ``shape`` makes each item's document, for the
    page that is sent only.
    """

    items: Sequence[Any]
    shape: Callable[[Any], Json] = lambda item: item
    under: str = ""
    cursor: bool = False
    beside: Mapping[str, Json] = field(default_factory=dict)


Handler = Callable[[Call], Any]


@dataclass(frozen=True)
class Route:
    """``operation`` is named as in GitHub's OpenAPI description; ``needs`` is (area, level) of the caller's token."""

    operation: str
    needs: tuple[str, str]
    handler: Handler
    pattern: re.Pattern[str]

    @property
    def method(self) -> str:
        return self.operation.split(" ")[0]

    @property
    def literals(self) -> int:
        return sum(not part.startswith("{") for part in self.operation.split("/"))


ROUTES: list[Route] = []
REPO = "/repos/{owner}/{repo}"


def route(
    method: str, template: str, area: str = "metadata", level: str = "read", *, named: str = ""
) -> Callable[[Handler], Handler]:  # fmt: skip
    """Registers a handler. ``template`` below the repository, unless it starts with a slash; ``named``: as it is described."""
    path = template if template.startswith("/") else f"{REPO}/{template}".rstrip("/")

    def part(found: re.Match[str]) -> str:
        return f"(?P<{found[1]}>{'.+' if found[1] in WITH_SLASHES else '[^/]+'})"

    def registered(handler: Handler) -> Handler:
        pattern = re.compile(re.sub(r"\{(\w+)\}", part, path))
        ROUTES.append(Route(f"{method} {f'{REPO}/{named}' if named else path}", (area, level), handler, pattern))
        ROUTES.sort(key=lambda one: -one.literals)
        return handler

    return registered
