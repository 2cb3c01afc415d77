"""Who receives: lists of addresses, removals, and the pseudonyms that stand for them in the ledger.

Rules:
* addresses live outside the repository, in a file or a secret; one a line, ``#`` begins a comment;
* whoever is on the removals list receives nothing, in whatever case the address is written; a removals list that is named
  and cannot be read stops, since sending without it could reach somebody who asked to be left alone;
* an address that is not one is named by file and line, never quoted;
* addresses that differ in case only are one recipient, and have one pseudonym.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from publisher.domain.article import is_safe_name
from publisher.errors import InputProblem
from publisher.notify.options import Options, is_secret_name

LIST_OPTIONS = frozenset({"lists", "list_secrets", "removals", "removals_secret", "pseudonym_key_secret"})
LARGEST_LIST = 16 * 1024 * 1024
SHORTEST_KEY = 16
COMMENT = re.compile(r"(?:^|\s)#.*")
ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# The dot-atom form of RFC 5321, 4.1.2. Quoted local parts are legal and unused; they are where parsers disagree.
ADDRESS = re.compile(rf"(?=.{{1,64}}@.{{1,253}}\Z){ATOM}(?:\.{ATOM})*@{LABEL}(?:\.{LABEL})+", re.ASCII)


def is_address(text: str) -> bool:
    return ADDRESS.fullmatch(text) is not None


def read_addresses(text: str, source: str) -> tuple[str, ...]:
    """The addresses in a list's text with their domain in lower case, in the text's order. ``source`` names it in refusals."""
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        address = COMMENT.sub("", line).strip()
        if not address:
            continue
        if not is_address(address):
            raise InputProblem(
                "bad-address", "this line is not an e-mail address", where=f"{source}:{number}:1",
                next="correct the line, then publisher run",
            )  # fmt: skip
        local, _, domain = address.rpartition("@")
        found.append(f"{local}@{domain.lower()}")
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class Lists:
    """Where a channel's addresses are: ``<folder>/<list>.txt``, or by list the secret that holds one."""

    options: Options
    folder: Path | None
    secrets: Mapping[str, str]
    removals: Path | None
    removals_secret: str

    @classmethod
    def of(cls, options: Options) -> Lists:
        secrets = options.spec.options.get("list_secrets", {})
        if not isinstance(secrets, Mapping) or not all(is_secret_name(value) for value in secrets.values()):
            raise options.problem("list_secrets", "maps a list's name to the name of a secret")
        return cls(
            options=options,
            folder=options.private_path("lists"),
            secrets=secrets,
            removals=options.private_path("removals"),
            removals_secret=options.secret_name("removals_secret"),
        )

    @property
    def configured(self) -> bool:
        return self.folder is not None or bool(self.secrets)

    def addresses(self, name: str) -> tuple[str, ...]:
        """The addresses on a list now, less removals, sorted and unique."""
        if not is_safe_name(name):
            raise self.options.problem("the list's name in the plan", "is missing, or is not a plain name such as readers")
        removed = {address.lower() for address in self._removed()}
        chosen: dict[str, str] = {}
        for address in sorted(self._on(name)):
            if address.lower() not in removed:
                chosen.setdefault(address.lower(), address)
        return tuple(sorted(chosen.values()))

    def _on(self, name: str) -> tuple[str, ...]:
        if name in self.secrets:
            return self._from_secret(self.secrets[name])
        if self.folder is None:
            raise self.options.problem(f"the list {name}", "has no file and no secret")
        return _from_file(self.folder / f"{name}.txt")

    def _removed(self) -> tuple[str, ...]:
        found: tuple[str, ...] = ()
        if self.removals is not None:
            found += _from_file(self.removals)
        if self.removals_secret:
            found += self._from_secret(self.removals_secret)
        return found

    def _from_secret(self, secret_name: str) -> tuple[str, ...]:
        return read_addresses(self.options.secret(secret_name), f"${secret_name}")


def _from_file(path: Path) -> tuple[str, ...]:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_LIST + 1)
        if len(data) > LARGEST_LIST:
            raise ValueError
        text = data.decode("utf-8-sig")
    except (OSError, ValueError):
        raise InputProblem(
            "list-unreadable", "this list of addresses cannot be read as UTF-8 text", where=str(path),
            next="restore the file, then publisher run",
        ) from None  # fmt: skip
    return read_addresses(text, str(path))


def pseudonym_of(recipient: str, options: Options) -> str:
    """``p-`` and 20 hex digits (HMAC-SHA256, RFC 2104) that stand for an address in the ledger.

    The key keeps a reader of a public ledger from finding an address by trying addresses, so a short one is refused.
    """
    name = options.secret_name("pseudonym_key_secret")
    if not name:
        raise options.problem("pseudonym_key_secret", "is missing: the ledger holds keyed pseudonyms instead of addresses")
    key = options.secret(name).encode()
    if len(key) < SHORTEST_KEY:
        raise options.problem("pseudonym_key_secret", f"names a secret ({name}) of fewer than {SHORTEST_KEY} characters")
    return "p-" + hmac.new(key, recipient.lower().encode(), hashlib.sha256).hexdigest()[:20]
