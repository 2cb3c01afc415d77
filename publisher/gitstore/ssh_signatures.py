"""SSH signatures (ssh-keygen(1), ``-Y``): sign, and tell whose signature something is.

Rules:
* who signed is found from the key in the signature and the allowed-signers text; a name in the message counts for nothing;
* a key that stands for two principals stands for none: one person would count twice;
* no passphrase is ever asked for; a protected key is used through ssh-agent.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

from publisher.errors import ComeBackLater, NeedsPerson

SECONDS = 20.0
PRINCIPAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._+-]{0,127}", re.ASCII)
NAMESPACE = re.compile(r"[a-z][a-z0-9-]{0,63}", re.ASCII)
_KEY_TYPE = re.compile(r"(?:ssh|ecdsa|sk)-", re.ASCII)
_HEAD = "-----BEGIN SSH SIGNATURE-----"
_LONGEST = 16 * 1024


def sign(key: Path, namespace: str, data: bytes) -> str:
    """The armored signature of ``data``. ``NeedsPerson`` when the key cannot be used."""
    assert NAMESPACE.fullmatch(namespace)
    if not key.is_file():
        raise NeedsPerson("signing-key-missing", "the signing key does not exist", next="ssh-keygen -t ed25519")
    done = keygen("-Y", "sign", "-f", str(key.absolute()), "-n", namespace, stdin=data)
    if done.returncode != 0 or not done.stdout.startswith(_HEAD.encode()):
        raise NeedsPerson("signing-failed", "the signing key could not be used", next="ssh-add the key, if it has a passphrase")
    return done.stdout.decode("ascii")


def verify(signers: str, namespace: str, data: bytes, signature: str) -> str:
    """The one principal of ``signers`` whose key signed ``data`` in ``namespace``; "" when there is none."""
    assert NAMESPACE.fullmatch(namespace)
    signers = _unambiguous(signers)
    if not signature.startswith(_HEAD) or len(signature) > _LONGEST or not signature.isascii() or not signers:
        return ""
    with tempfile.TemporaryDirectory(prefix="publisher-") as folder:
        allowed, armored = Path(folder, "signers"), Path(folder, "signature")
        allowed.write_text(signers, encoding="utf-8")
        armored.write_text(signature, encoding="ascii")
        files = ("-s", str(armored), "-f", str(allowed))
        found = keygen("-Y", "find-principals", *files)
        principals = set(found.stdout.decode("utf-8", "replace").split("\n")) - {""}
        if found.returncode != 0 or len(principals) != 1:
            return ""
        principal = principals.pop()
        if not PRINCIPAL.fullmatch(principal):
            return ""
        checked = keygen("-Y", "verify", "-I", principal, "-n", namespace, *files, stdin=data)
        return principal if checked.returncode == 0 else ""


def _unambiguous(signers: str) -> str:
    """The lines of an allowed-signers text whose key stands for one principal. ssh-keygen would take the first of several."""
    owners: dict[bytes, set[str]] = {}
    lines = []
    for line in signers.splitlines():
        words = line.split()
        keys = [later for kind, later in pairwise(words) if _KEY_TYPE.match(kind)]
        if not keys or words[0].startswith("#"):
            continue
        try:
            key = base64.b64decode(keys[-1], validate=True)
        except binascii.Error:
            continue
        owners.setdefault(key, set()).add(words[0])
        lines.append((key, line))
    return "".join(line + "\n" for key, line in lines if len(owners[key]) == 1)


def public_key_of(key: Path) -> str:
    """The public half of a key as ``type base64``."""
    if not key.is_file():
        raise NeedsPerson("signing-key-missing", "the signing key does not exist", next="ssh-keygen -t ed25519")
    beside = key if key.suffix == ".pub" else key.with_name(key.name + ".pub")
    done = None if key.suffix == ".pub" else keygen("-y", "-f", str(key.absolute()))
    if done is not None and done.returncode == 0:
        text = done.stdout.decode("utf-8", "replace")
    elif beside.is_file():  # a key with a passphrase; its other half lies beside it in the clear
        text = beside.read_text(encoding="utf-8", errors="replace")
    else:
        text = ""
    words = text.split()
    if len(words) < 2:
        raise NeedsPerson(
            "signing-key-unreadable", "the public half of the signing key cannot be read", next="ssh-keygen -y -f KEY"
        )
    return f"{words[0]} {words[1]}"


def keygen(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    env = {name: os.environ[name] for name in ("PATH", "HOME", "SSH_AUTH_SOCK", "TMPDIR") if name in os.environ}
    env |= {"LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"}
    try:
        # A session of its own has no terminal, so that no passphrase can be asked for.
        return subprocess.run(
            ["ssh-keygen", *arguments],
            input=stdin,
            capture_output=True,
            env=env,
            timeout=SECONDS,
            start_new_session=True,
            check=False,
        )
    except FileNotFoundError:
        raise NeedsPerson("ssh-keygen-missing", "ssh-keygen is not installed", next="install OpenSSH 8.2 or newer")
    except subprocess.TimeoutExpired:
        raise ComeBackLater("ssh-keygen-slow", "ssh-keygen did not answer in time", next="the same command again")
