"""A channel's options, read strictly, and the secrets that they name.

A secret is always named, never written into a file: the option holds the name of an environment variable. It is looked up
when it is needed and not before, so that commands that send nothing run without it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from publisher.domain.instance import ChannelSpec
from publisher.errors import InputProblem, NeedsPerson

SECRET_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}", re.ASCII)


NOT_FOR_CHANNELS = re.compile(
    r"PUBLISHER_TOKEN|GITHUB_TOKEN|GH_TOKEN|ACTIONS_.*|PUBLISHER_(?:DEPLOY|STATE|DRAFTS|APP_PRIVATE)_KEY", re.ASCII
)
"""What opens this repository or its targets is sent to no mail server, whatever ``publisher.yaml`` says."""


def is_secret_name(value: object) -> bool:
    return isinstance(value, str) and SECRET_NAME.fullmatch(value) is not None


@dataclass(frozen=True, kw_only=True)
class Options:
    """One channel's options. ``base`` is the folder that relative paths start from: the root of the instance's checkout."""

    spec: ChannelSpec
    base: Path
    secrets: Mapping[str, str] = field(repr=False)

    def problem(self, name: str, rule: str) -> InputProblem:
        return InputProblem(
            "channel-option", f"channel {self.spec.name}: {name} {rule}", where="publisher.yaml",
            next=f"correct the channel {self.spec.name} in publisher.yaml",
        )  # fmt: skip

    def only(self, names: Collection[str]) -> None:
        """Refuses options that the channel's kind does not have: a misspelt one must not be passed over."""
        for name in self.spec.options:
            if name not in names:
                raise self.problem(f"the option {name!r:.40}", f"is not one of {', '.join(sorted(names))}")

    def text(self, name: str, default: str | None = None) -> str:
        """A single line of text. Without a default the option is required."""
        value = self.spec.options.get(name, default)
        if not isinstance(value, str) or (default is None and not value) or not value.isprintable():
            raise self.problem(name, "is missing, or is not one line of text")
        return value

    def number(self, name: str, default: int, *, low: int, high: int) -> int:
        value = self.spec.options.get(name, default)
        if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value, re.ASCII):
            value = int(value)
        if type(value) is not int or not low <= value <= high:
            raise self.problem(name, f"is a whole number from {low} to {high}")
        return value

    def path(self, name: str) -> Path | None:
        """A path as written, ``~`` expanded and relative to ``base``; None when the option is absent."""
        if name not in self.spec.options:
            return None
        return self.base / Path(self.text(name)).expanduser()

    def private_path(self, name: str) -> Path | None:
        """A path that must lie outside the checkout, where no commit can take it along."""
        path = self.path(name)
        if path is not None and path.resolve().is_relative_to(self.base.resolve()):
            raise self.problem(name, "holds people's addresses and lies outside the repository")
        return path

    def secret_name(self, name: str) -> str:
        """The name of a secret, or "" when the option is absent. The value is not looked at."""
        value = self.text(name, "")
        if value and not is_secret_name(value):
            # Whoever writes the secret itself here must not find it in a log; so the value is not quoted.
            raise self.problem(name, "is the name of an environment variable, such as MAIL_PASSWORD")
        if NOT_FOR_CHANNELS.fullmatch(value):
            raise self.problem(name, "names a secret that opens this repository or a target, and is sent to no channel")
        return value

    def secret(self, secret_name: str) -> str:
        """A secret's value. ``NeedsPerson`` names it when it is not set."""
        value = self.secrets.get(secret_name, "")
        if not value:
            raise NeedsPerson(
                "secret-missing", f"channel {self.spec.name} needs the secret {secret_name}, and it is not set",
                next=f"set the environment variable {secret_name} (in CI: a repository secret), then publisher run",
            )  # fmt: skip
        return value
