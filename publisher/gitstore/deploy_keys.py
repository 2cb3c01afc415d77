"""Private SSH keys out of environment variables (a deploy key kept as a CI secret), and the ssh command that uses one.

Rules:
* ``publisher.yaml`` names a variable, never a key and never a path;
* a key lies in a file of this process's private folder, for as long as the process lives; it is in no command line and in no
  message, and git and ssh do not inherit the variable (``local_config.unwanted``);
* it is tried before it is used: what is no private key, or needs a passphrase, is refused by the variable's name;
* ssh offers this key and nothing else: no agent, no other identity, nobody's configuration file, no password;
* a host must prove itself by a key that was known before. GitHub's published ones are shipped, others stand in the variable
  ``PUBLISHER_KNOWN_HOSTS``. Nothing is ever learnt from the host itself.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from publisher.errors import InputProblem, NeedsPerson
from publisher.gitstore.private_folder import private_file
from publisher.gitstore.ssh_signatures import keygen

KNOWN_HOSTS = "PUBLISHER_KNOWN_HOSTS"
SHIPPED = Path(__file__).parent / "known_hosts"
NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}", re.ASCII)
LARGEST_KEY = 64 * 1024

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\n")
_END = re.compile(r"\n-----END (?:[A-Z]+ )*PRIVATE KEY-----\n")
_SCP = re.compile(r"(?:[^@/:]+@)?(\[[0-9a-fA-F:]+\]|[^@/:\[\]]+):(?!/?/)")
_OPTIONS = (
    "BatchMode=yes", "ConnectTimeout=20", "IdentitiesOnly=yes", "IdentityAgent=none", "StrictHostKeyChecking=yes",
    "GlobalKnownHostsFile=/dev/null", "UpdateHostKeys=no", "PreferredAuthentications=publickey", "ControlMaster=no",
    "ControlPath=none",
)  # fmt: skip


def ssh_host(remote: str) -> str:
    """The host of an ssh remote as known hosts name it (``host``, or ``[host]:port``); "" for any other remote."""
    if "://" in remote:
        try:
            parts = urlsplit(remote)
            host, port = parts.hostname or "", parts.port or 22
        except ValueError:
            return ""
        if parts.scheme.lower() != "ssh" or not host:
            return ""
        return host if port == 22 else f"[{host}]:{port}"
    found = _SCP.match(remote)
    return found[1].strip("[]").lower() if found else ""


class DeployKeys:
    """Which remote is talked to with which variable's key."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._commands: dict[tuple[str, str, str, str], str] = {}

    def use(self, remote: str, name: str) -> None:
        """``remote`` is talked to with the key in ``name`` from now on. The variable is not looked at yet."""
        if not NAME.fullmatch(name):
            # Whoever wrote the key itself here must not find it in a log.
            raise InputProblem(
                "key-name", "a key is given by the name of an environment variable, such as PUBLISHER_DEPLOY_KEY",
                where="publisher.yaml", next="edit publisher.yaml",
            )  # fmt: skip
        if not ssh_host(remote):
            raise InputProblem(
                "key-without-ssh", "a key goes with a repository that is reached by ssh: git@host:path or ssh://…",
                where="publisher.yaml", next="edit publisher.yaml",
            )  # fmt: skip
        self._names[remote] = name

    def name_for(self, remote: str) -> str:
        """The variable that holds the key for a remote, "" for none."""
        return self._names.get(remote, "")

    def environment_for(self, remote: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """What git needs to talk to a remote with its key; nothing where it has none."""
        name = self.name_for(remote)
        if not name:
            return {}
        wanted = (name, environ.get(name, ""), ssh_host(remote), environ.get(KNOWN_HOSTS, ""))
        if wanted not in self._commands:
            self._commands[wanted] = _command(*wanted)
        return {"GIT_SSH_COMMAND": self._commands[wanted], "GIT_SSH_VARIANT": "ssh"}


def _command(name: str, value: str, host: str, hosts: str) -> str:
    key = _key_file(name, value)
    known = _known_hosts(host, hosts)
    options = [word for option in (*_OPTIONS, f'UserKnownHostsFile="{known}"') for word in ("-o", option)]
    return shlex.join(["ssh", "-F", "none", "-i", str(key), *options])


def _key_file(name: str, value: str) -> Path:
    path = private_file(f"key-{name}", _normalised(name, value).encode("ascii"))
    if keygen("-y", "-P", "", "-f", str(path)).returncode != 0:
        path.unlink()
        raise _unusable(name, "does not hold a private SSH key that can be used; it may be cut off, or need a passphrase")
    return path


def _normalised(name: str, value: str) -> str:
    """The key's text as ssh wants it. Copying it into a secret often changes its line ends or loses the last one."""
    if not value.strip():
        raise NeedsPerson(
            "key-missing", f"the environment variable {name}, which holds the key for a remote, is not set here",
            next=f"set {name} (in CI: a secret of the repository or environment), then publisher run",
        )  # fmt: skip
    text = value.strip().replace("\r\n", "\n").replace("\r", "\n")
    if "\n" not in text:
        text = text.replace("\\r", "").replace("\\n", "\n")
    text = "\n".join(line.strip() for line in text.split("\n")) + "\n"
    if text.startswith(("ssh-", "ecdsa-", "sk-")):
        raise _unusable(name, "holds a public key; the private half belongs there")
    if len(text) > LARGEST_KEY or not text.isascii() or not _BEGIN.match(text) or not _END.search(text):
        raise _unusable(name, "does not hold a private SSH key, from its BEGIN line to its END line")
    return text


def _known_hosts(host: str, more: str) -> Path:
    lines = more.replace("\r\n", "\n").replace("\r", "\n").strip()
    text = SHIPPED.read_text(encoding="ascii") + (f"{lines}\n" if lines else "")
    path = private_file("known-hosts", text.encode("utf-8", "replace"))
    # Hosts may stand there in a hashed form, which ssh-keygen can read.
    if keygen("-F", host, "-f", str(path)).returncode != 0:
        raise NeedsPerson(
            "host-keys-unknown", f"the host keys of {host} are not known, so it cannot prove itself",
            next=f"ssh-keyscan, compare the fingerprints with the published ones, then set {KNOWN_HOSTS}",
        )  # fmt: skip
    return path


def _unusable(name: str, says: str) -> NeedsPerson:
    return NeedsPerson(
        "key-unusable", f"the environment variable {name} {says}",
        next=f"ssh-keygen -t ed25519 -N '' -f KEY, and put the whole text of the file KEY into {name}",
    )  # fmt: skip
