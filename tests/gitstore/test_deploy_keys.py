"""Deploy keys against a real sshd: what gets in with which key, what never leaves, and what stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from publisher.errors import ComeBackLater, InputProblem, NeedsPerson, Refusal
from publisher.gitstore.deploy_keys import SHIPPED, DeployKeys, ssh_host
from publisher.gitstore.gateway import Git
from publisher.gitstore.private_folder import PREFIX
from tests.support import ssh_server as ssh
from tests.support.gitrepos import script_at
from tests.support.ssh_server import SSHD, SshServer
from tests.support.target_actors import at, bare_repository, clone, commit_files

MAIN = "refs/heads/main"
NAME = "PUBLISHER_DEPLOY_KEY"
needs_sshd = pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: openssh-server)")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh.ssh_server(tmp_path_factory.mktemp("ssh") / "server") as running:
        yield running


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A repository behind the server."""
    folder = bare_repository(tmp_path / "site.git")
    commit_files(folder, MAIN, {"a.txt": b"one"})
    return folder


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Private files of these tests lie here."""
    folder = tmp_path / "with a blank"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("publisher.gitstore.private_folder._OURS", {})
    return folder


def opened(folder: Path, server: SshServer, site: Path, monkeypatch: pytest.MonkeyPatch, who: str = "writer") -> Git:
    monkeypatch.setenv(NAME, server.key(who) if who else "")
    monkeypatch.setenv("PUBLISHER_KNOWN_HOSTS", server.known_hosts)
    git = clone(folder)
    git.use_key(server.url(site), NAME)
    return git


def push_something(git: Git, server: SshServer, site: Path) -> tuple[bool, str]:
    """Whether the push said that it worked, and the commit."""
    git.fetch(server.url(site), [f"+{MAIN}:refs/publisher/seen"])
    tip = git.resolve("refs/publisher/seen")
    made = git.compose(parents=[tip], base_tree=tip, changes={"b": b"2"}, message="m", author="r", email="r@x", at=at())
    return git.push(server.url(site), [(made, MAIN, tip)]), made


def refused(git: Git, server: SshServer, site: Path) -> Refusal:
    with pytest.raises(Refusal) as stopped:
        git.remote_refs(server.url(site), ["refs/heads/*"])
    return stopped.value


# --- with the server ------------------------------------------------------------------------------------------------------------


@needs_sshd
def test_a_key_opens_its_remote(server: SshServer, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = opened(tmp_path / "c", server, site, monkeypatch)
    said, made = push_something(git, server, site)
    assert said
    assert git.remote_refs(server.url(site), [MAIN]) == {MAIN: made}


@needs_sshd
def test_a_key_that_may_only_read_moves_nothing(
    server: SshServer, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = opened(tmp_path / "c", server, site, monkeypatch, "reader")
    before = git.remote_refs(server.url(site), [MAIN])
    assert not push_something(git, server, site)[0]
    assert git.remote_refs(server.url(site), [MAIN]) == before != {}


@needs_sshd
def test_a_wrong_key_is_refused_by_the_variable_s_name(
    server: SshServer, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = refused(opened(tmp_path / "c", server, site, monkeypatch, "stranger"), server, site)
    assert isinstance(problem, ComeBackLater)
    assert problem.code == "remote-unreachable" and NAME in problem.says
    assert_says_no_key(problem, server)


@needs_sshd
def test_neither_an_agent_s_key_nor_the_caller_s_ssh_command_is_used(
    server: SshServer, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = tmp_path / "used"
    monkeypatch.setenv("GIT_SSH_COMMAND", str(script_at(tmp_path / "evil", f"touch {used}; exit 1")))
    monkeypatch.setenv("GIT_SSH", str(tmp_path / "evil"))
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(tmp_path / "agent")], stdout=subprocess.DEVNULL)
    try:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
        for _ in range(100):
            if (tmp_path / "agent").exists():
                break
            time.sleep(0.02)
        subprocess.run(["ssh-add", "-q", str(server.folder / "writer")], check=True, capture_output=True)
        problem = refused(opened(tmp_path / "c", server, site, monkeypatch, "stranger"), server, site)
        assert problem.code == "remote-unreachable"
    finally:
        agent.terminate()
        agent.wait()
    assert not used.exists()


@needs_sshd
def test_a_host_with_another_key_than_the_known_one_gets_nothing(
    server: SshServer, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = opened(tmp_path / "c", server, site, monkeypatch)
    monkeypatch.setenv("PUBLISHER_KNOWN_HOSTS", server.another_host_key())
    before = server.log.count("Accepted")
    problem = refused(git, server, site)
    assert problem.code == "remote-unreachable" and "host key" in problem.says
    assert server.log.count("Accepted") == before
    monkeypatch.setenv("PUBLISHER_KNOWN_HOSTS", server.another_host_key() + server.known_hosts)  # both may be known
    assert git.remote_refs(server.url(site), [MAIN])


@needs_sshd
def test_a_host_that_nobody_knows_is_not_even_asked(
    server: SshServer, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = opened(tmp_path / "c", server, site, monkeypatch)
    monkeypatch.delenv("PUBLISHER_KNOWN_HOSTS")
    before = server.log
    problem = refused(git, server, site)
    assert isinstance(problem, NeedsPerson) and problem.code == "host-keys-unknown"
    assert f"[127.0.0.1]:{server.port}" in problem.says and "PUBLISHER_KNOWN_HOSTS" in problem.next
    assert server.log == before


@needs_sshd
def test_known_hosts_may_be_hashed_and_written_on_another_system(
    server: SshServer, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = opened(tmp_path / "c", server, site, monkeypatch)
    hashed = tmp_path / "hashed"
    hashed.write_text(server.known_hosts)
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(hashed)], check=True, capture_output=True)
    assert "127.0.0.1" not in hashed.read_text()
    monkeypatch.setenv("PUBLISHER_KNOWN_HOSTS", "\r\n" + hashed.read_text().replace("\n", "\r\n"))
    assert git.remote_refs(server.url(site), [MAIN])


SPOILT = {
    "as it is": lambda key: key,
    "without its last line end": lambda key: key.rstrip("\n"),
    "from Windows": lambda key: key.replace("\n", "\r\n"),
    "from an old Mac": lambda key: key.replace("\n", "\r"),
    "on one line": lambda key: key.replace("\n", "\\n"),
    "indented": lambda key: "\n\n  " + key.replace("\n", "\n    "),
}


@needs_sshd
@pytest.mark.parametrize("how", SPOILT)
def test_a_key_that_copying_has_changed_is_put_right(
    server: SshServer, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    git = opened(tmp_path / "c", server, site, monkeypatch)
    monkeypatch.setenv(NAME, SPOILT[how](server.key("writer")))
    assert git.remote_refs(server.url(site), [MAIN])


@needs_sshd
def test_the_key_is_in_no_command_line_and_in_no_environment(
    server: SshServer, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git and ssh are watched from inside: each is a script that writes down what it was given, and goes on as the real one."""
    seen = tmp_path / "seen.jsonl"
    folder = tmp_path / "bin"
    for name in ("ssh", "git"):
        real = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
        script = folder / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(
            f"#!{sys.executable}\nimport json, os, sys\n"
            f"open({str(seen)!r}, 'a').write(json.dumps([sys.argv, dict(os.environ)]) + '\\n')\n"
            f"os.execv({real!r}, sys.argv)\n"
        )
        script.chmod(0o755)
    git = opened(tmp_path / "c", server, site, monkeypatch)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert push_something(git, server, site)[0]
    watched = [json.loads(line) for line in seen.read_text().splitlines()]
    assert {"ssh", "git"} <= {Path(argv[0]).name for argv, _ in watched}
    body = server.key("writer").splitlines()[2]
    assert body not in seen.read_text()
    assert all(NAME not in environment for _, environment in watched)


def assert_says_no_key(problem: Refusal, server: SshServer) -> None:
    said = json.dumps(problem.as_data()) + str(problem) + repr(problem.args)
    for who in ("writer", "reader", "stranger"):
        assert not any(line in said for line in server.key(who).splitlines()[1:-1])


# --- without a server -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("keys")
    plain, locked = ssh.make_key(folder / "plain"), ssh.make_key(folder / "locked", "a pass phrase")
    text = plain.read_text()
    lines = text.splitlines(keepends=True)
    return {
        "nothing": "",
        "blank": " \n",
        "a public key": plain.with_suffix(".pub").read_text(),
        "a path": str(plain),
        "cut off": "".join(lines[:-2]),
        "missing a line": "".join(lines[:2] + lines[3:]),
        "with other letters": text.replace(lines[1], "ä" * 20 + "\n"),
        "with a passphrase": locked.read_text(),
        "another PEM": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    }


REFUSED = {
    "nothing": "key-missing", "blank": "key-missing", "a public key": "key-unusable", "a path": "key-unusable",
    "cut off": "key-unusable", "missing a line": "key-unusable", "with other letters": "key-unusable",
    "with a passphrase": "key-unusable", "another PEM": "key-unusable",
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_usable_key_is_refused_before_it_is_used(
    keys: dict[str, str], own_temporary_folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv(NAME, keys[what])
    made = DeployKeys()
    made.use("git@github.com:o/r.git", NAME)
    with pytest.raises(NeedsPerson) as stopped:
        made.environment_for("git@github.com:o/r.git")
    assert stopped.value.code == REFUSED[what]
    assert NAME in stopped.value.says
    said = str(stopped.value)
    assert not any(line in said for line in keys[what].splitlines() if len(line) > 12)
    assert not list(own_temporary_folder.rglob("key-*")), "nothing of it stays on the disk"


def test_the_shipped_host_keys_are_those_that_github_publishes() -> None:
    listed = subprocess.run(["ssh-keygen", "-l", "-f", str(SHIPPED)], capture_output=True, text=True, check=True).stdout
    published = {  # docs.github.com, "GitHub's SSH key fingerprints"
        "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU", "SHA256:p2QAMXNIC1TJYWeIOttrVc98/R1BUFWu3/LiyKgUfQM",
        "SHA256:uNiVztksCsDhcc0u9e8BujQXVUpKZIDTMczCvj3tD2s",
    }  # fmt: skip
    rows = [line.split() for line in listed.splitlines()]
    assert {row[1] for row in rows} == published
    assert {row[2] for row in rows} == {"github.com"}


@pytest.mark.parametrize(
    ("remote", "host"),
    [
        ("git@github.com:o/r.git", "github.com"), ("ssh://git@GitHub.com/o/r.git", "github.com"),
        ("ssh://git@host:22/x", "host"), ("ssh://git@host:2222/x", "[host]:2222"), ("host:x", "host"),
        ("https://github.com/o/r.git", ""), ("/a/path:with/colon", ""), ("../site.git", ""), ("origin", ""), ("ssh://", ""),
        ("ssh://host:port/x", ""), ("file:///x", ""),
    ],
)  # fmt: skip
def test_the_host_of_a_remote(remote: str, host: str) -> None:
    assert ssh_host(remote) == host


@pytest.mark.parametrize("name", ["", "deploy", "-----BEGIN OPENSSH PRIVATE KEY-----", "A B", "9A", "A\n", "/root/.ssh/id"])
def test_a_key_is_named_never_given(name: str) -> None:
    with pytest.raises(InputProblem) as wrong:
        DeployKeys().use("git@github.com:o/r.git", name)
    assert wrong.value.code == "key-name"
    assert not name or name not in str(wrong.value)


def test_a_key_goes_with_ssh_only() -> None:
    for remote in ("https://github.com/o/r.git", "/srv/site.git", "origin"):
        with pytest.raises(InputProblem) as wrong:
            DeployKeys().use(remote, NAME)
        assert wrong.value.code == "key-without-ssh"


def test_a_remote_without_a_key_is_left_to_git(monkeypatch: pytest.MonkeyPatch) -> None:
    made = DeployKeys()
    made.use("git@github.com:o/r.git", NAME)
    assert made.environment_for("git@github.com:o/other.git") == {}


# --- what stays behind -----------------------------------------------------------------------------------------------------------

HOLDS = """
import os, signal, stat, sys
from publisher.gitstore.private_folder import private_file
path = private_file("key", b"secret")
assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
if os.fork() == 0:  # a child of it ends first, and takes nothing along
    sys.exit(0)
os.wait()
assert path.read_bytes() == b"secret"
print(path, flush=True)
if sys.argv[1] == "wait":
    sys.stdin.read()
elif sys.argv[1] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def started(how: str) -> subprocess.Popen[str]:
    """A process that holds a private file; its mask would let everybody read it."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLDS, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, umask=0,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip


def test_private_files_end_with_their_process(own_temporary_folder: Path) -> None:
    out, _ = started("end").communicate(timeout=30)
    assert Path(out.strip()).is_relative_to(own_temporary_folder)
    assert list(own_temporary_folder.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next_and_a_living_one_s_is_not(own_temporary_folder: Path) -> None:
    killed = started("die")
    left = Path(killed.communicate(timeout=30)[0].strip())
    assert killed.returncode == -signal.SIGKILL
    assert [path.name for path in own_temporary_folder.iterdir()] == [left.parent.name]
    assert left.parent.name.startswith(PREFIX) and left.parent.stat().st_mode & 0o077 == 0
    assert left.stat().st_mode & 0o077 == 0
    living = started("wait")
    assert living.stdout
    kept = Path(living.stdout.readline().strip())
    assert not left.exists() and kept.exists()
    started("end").communicate(timeout=30)
    assert kept.exists()
    living.communicate("", timeout=30)
    assert list(own_temporary_folder.iterdir()) == []


def test_folders_that_are_not_ours_to_remove_are_left(own_temporary_folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("x")
    (own_temporary_folder / f"{PREFIX}link").symlink_to(elsewhere)
    (own_temporary_folder / f"{PREFIX}file").write_text("x")
    (own_temporary_folder / f"{PREFIX}new").mkdir()  # somebody is just making it
    started("end").communicate(timeout=30)
    assert (elsewhere / "kept").exists()
    assert sorted(path.name for path in own_temporary_folder.iterdir()) == [f"{PREFIX}{n}" for n in ("file", "link", "new")]
    old = own_temporary_folder / f"{PREFIX}new"
    os.utime(old, (0, 0))
    started("end").communicate(timeout=30)
    assert not old.exists()
