"""The job of GitHub Actions that a process runs in, as far as a target needs it.

Rules:
* everything comes from the environment that Actions sets; elsewhere the target can be looked at and nothing more;
* the job's identity token is asked for when it is needed, used once, and never shown, kept or written;
* outputs are single lines, so that no value can pass for another output.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from publisher.errors import Bug, ComeBackLater, NeedsPerson

SECONDS = 20.0
NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LARGEST_TOKEN = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class ActionsJob:
    """``environment`` is the process's."""

    environment: Mapping[str, str] = field(repr=False)

    @property
    def run(self) -> str:
        """The workflow run's number. ``ComeBackLater`` outside of Actions: a job will come."""
        return self._number("GITHUB_RUN_ID")

    @property
    def attempt(self) -> str:
        return self._number("GITHUB_RUN_ATTEMPT")

    def _number(self, name: str) -> str:
        value = self.environment.get(name, "")
        if not NUMBER.fullmatch(value):
            raise ComeBackLater(
                "not-in-actions", "a release goes to GitHub Pages from a job of GitHub Actions; here it can only be looked at",
                next="gh workflow run pages.yml",
            )  # fmt: skip
        return value

    @property
    def artifact(self) -> str:
        """The number of the artifact that an earlier step uploaded, "" for none."""
        value = self.environment.get("PUBLISHER_PAGES_ARTIFACT_ID", "").strip()
        return value if NUMBER.fullmatch(value) else ""

    @property
    def folder(self) -> str:
        """Where a release is put for the step that uploads it."""
        chosen = self.environment.get("PUBLISHER_PAGES_DIR", "").strip()
        temporary = self.environment.get("RUNNER_TEMP", "").strip()
        if not chosen and not temporary:
            self._number("")  # no job of Actions: it sets RUNNER_TEMP
        return chosen or str(Path(temporary) / "publisher-pages")

    def say(self, **outputs: str) -> None:
        """Outputs of the step, for later steps of the job."""
        if any(not value.isprintable() for value in outputs.values()):
            raise Bug("output-lines", "an output of a step is one line")
        path = self.environment.get("GITHUB_OUTPUT", "")
        if path:
            with Path(path).open("a", encoding="utf-8") as file:
                file.writelines(f"{name}={value}\n" for name, value in outputs.items())

    def identity_token(self) -> str:
        """The proof, for Pages, of which run of which repository this is (docs.github.com, "OpenID Connect")."""
        url = self.environment.get("ACTIONS_ID_TOKEN_REQUEST_URL", "")
        bearer = self.environment.get("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "")
        at = urlsplit(url)
        if not bearer or not (at.scheme == "https" or (at.scheme == "http" and at.hostname in LOOPBACK)):
            raise NeedsPerson(
                "no-identity-token", "this job cannot prove to GitHub Pages which run it is",
                next="give the job the permission id-token: write",
            )  # fmt: skip
        token = _asked(url, bearer)
        if not token:
            raise ComeBackLater("identity-unreachable", "GitHub gave the job no identity token", next="publisher run")
        return token


def _asked(url: str, bearer: str) -> str:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {bearer}", "Accept": "application/json"})
    opener = urllib.request.build_opener(_NoRedirect())
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            value = json.loads(answer.read(LARGEST_TOKEN))["value"]
    except (OSError, HTTPException, ValueError, KeyError, TypeError, RecursionError):
        return ""  # their text may hold the token
    return value if isinstance(value, str) else ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *given: object, **named: object) -> None:
        """The bearer's token goes to the address that the runner named, and nowhere else."""
