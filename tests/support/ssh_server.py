"""A real sshd on a port of its own, with keys of three kinds: one that may write, one that may only read, one that it does not know.

It serves the repositories of this machine to the user who runs the tests, by forced commands, as a git host does for deploy keys.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized
PidFile {folder}/pid
PasswordAuthentication no
KbdInteractiveAuthentication no
PubkeyAuthentication yes
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
KexAlgorithms curve25519-sha256
UseDNS no
LogLevel VERBOSE
"""
READ_ONLY = 'case "$SSH_ORIGINAL_COMMAND" in git-upload-pack*) exec git-shell -c "$SSH_ORIGINAL_COMMAND";; esac; exit 1'


@dataclass
class SshServer:
    """``folder`` holds the server's own files and the keys."""

    folder: Path
    port: int

    def url(self, repository: Path) -> str:
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{repository}"

    def key(self, name: str) -> str:
        """The private key's text: ``writer``, ``reader`` or ``stranger``."""
        return (self.folder / name).read_text()

    @property
    def known_hosts(self) -> str:
        """What somebody who compared fingerprints would write down."""
        return self.named((self.folder / "host.pub").read_text())

    def another_host_key(self) -> str:
        """The same line with a key that is not this server's."""
        return self.named(make_key(self.folder / "another").with_suffix(".pub").read_text())

    def named(self, public: str) -> str:
        kind, key = public.split()[:2]
        return f"[127.0.0.1]:{self.port} {kind} {key}\n"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()


def make_key(path: Path, passphrase: str = "") -> Path:
    if not path.exists():
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", path.name, "-f", str(path)]
        subprocess.run(command, check=True, capture_output=True)
    return path


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    assert SSHD
    folder.mkdir(parents=True)
    for name in ("host", "writer", "reader", "stranger"):
        make_key(folder / name)
    write, read = folder / "write", folder / "read"
    write.write_text('#!/bin/sh\nexec git-shell -c "$SSH_ORIGINAL_COMMAND"\n')
    read.write_text(f"#!/bin/sh\n{READ_ONLY}\n")
    for script in (write, read):
        script.chmod(0o755)
    lines = [f'command="{folder / does}",restrict {(folder / f"{who}.pub").read_text()}' for who, does in KEYS.items()]
    (folder / "authorized").write_text("".join(lines))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    server = SshServer(folder, _free_port())
    (folder / "config").write_text(CONFIG.format(port=server.port, folder=folder))
    process = subprocess.Popen([SSHD, "-D", "-f", str(folder / "config"), "-E", str(folder / "log")])
    try:
        _wait(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=10)


KEYS = {"writer": "write", "reader": "read"}


def _free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


def _wait(server: SshServer, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert process.poll() is None, server.log
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(server.log)
