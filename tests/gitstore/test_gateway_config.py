"""A hostile clone and a hostile environment: nothing is executed, nothing is redirected unseen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from publisher.errors import ComeBackLater, StoppedForSafety
from publisher.gitstore.gateway import Git
from tests.support import gitrepos
from tests.support.git_http import serving_git
from tests.support.git_http_lies import sent_on
from tests.support.gitrepos import Repository

AT = datetime(2026, 12, 1, tzinfo=UTC)
MAIN = "refs/heads/main"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Repository, Repository]:
    return gitrepos.started(tmp_path, {"a.txt": "one\n", ".gitattributes": "* filter=evil diff=evil merge=evil\n"})


def use_everything(git: Git, head: str, key: Path | None = None) -> None:
    git.tracking(["refs/"])
    git.tree(head, "")
    git.blob_at(head, "a.txt")
    git.commits([head], [])
    git.first_parent_changes(head, "a.txt")
    git.new_objects(head, [])
    git.remote_refs("origin", ["refs/heads/*"])
    git.fetch("origin", [f"+{MAIN}:refs/publisher/seen"])
    made = git.compose(
        parents=[head], base_tree=head, changes={"n": b"1"}, message="m", author="r", email="r@x", at=AT, signing_key=key
    )
    git.write_blob(b"x")
    git.push("origin", [(made, "refs/heads/new", "")])


def test_a_hostile_configuration_executes_nothing(pair: tuple[Repository, Repository], tmp_path: Path) -> None:
    editor = pair[1]
    marker = tmp_path / "executed"
    evil = gitrepos.script_at(tmp_path / "evil", f'echo "$0 $@" >> {marker}; exit 1')
    head, key = editor.head(), gitrepos.signing_key(tmp_path / "keys", "robot")
    for name in (
        "core.sshCommand", "core.fsmonitor", "core.askPass", "core.pager", "core.editor", "core.gitProxy", "credential.helper",
        "credential.https://127.0.0.1.helper", "diff.external", "diff.evil.textconv", "diff.evil.command", "filter.evil.clean",
        "filter.evil.smudge", "filter.evil.process", "merge.evil.driver", "gpg.program", "gpg.ssh.program",
        "gpg.ssh.defaultKeyCommand", "remote.origin.uploadpack", "remote.origin.receivepack", "uploadpack.packObjectsHook",
        "sequence.editor", "alias.fetch", "alias.cat-file", "pager.config", "interactive.diffFilter", "trailer.x.command",
    ):  # fmt: skip
        editor.setting(name, str(evil))
    editor.setting("filter.evil.required", "true")
    editor.setting("core.hooksPath", str(tmp_path / "hooks"))
    editor.setting("core.fsmonitor", str(evil))
    editor.setting("push.gpgSign", "true")
    editor.setting("commit.gpgSign", "true")
    (tmp_path / "hooks").mkdir()
    for hook in ("pre-push", "reference-transaction", "post-checkout", "pre-auto-gc", "post-index-change"):
        gitrepos.script_at(tmp_path / "hooks" / hook, f"echo {hook} >> {marker}")
        editor.hook(hook, f"echo {hook} >> {marker}")
    git = Git(editor.path)
    git.require_trustworthy()
    use_everything(git, head, key)
    for url in ("ssh://127.0.0.1:9/x", "https://127.0.0.1:9/x"):
        with pytest.raises(ComeBackLater):
            git.remote_refs(url, ["refs/heads/*"])
    assert not marker.exists(), marker.read_text()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("url.https://evil.example/.insteadOf", "/"),
        ("url.ext::sh.pushInsteadOf", "/"),
        ("remote.origin.vcs", "evil"),
        ("remote.origin.proxy", "http://evil.example"),
        ("http.proxy", "http://evil.example"),
        ("http.https://github.com/.proxy", "http://evil.example"),
        ("http.sslVerify", "false"),
        ("http.curloptResolve", "github.com:443:127.0.0.1"),
        ("core.alternateRefsCommand", "evil"),
        ("fetch.bundleURI", "https://evil.example"),
        ("include.path", "../a.txt"),
        ("includeIf.onbranch:main.path", "/etc/gitconfig"),
    ],
)
def test_what_redirects_is_refused_by_name(pair: tuple[Repository, Repository], key: str, value: str) -> None:
    editor = pair[1]
    editor.setting(key, value)
    with pytest.raises(StoppedForSafety) as problem:
        Git(editor.path).require_trustworthy()
    assert problem.value.code == "hostile-config"
    section, variable = key.split(".")[0].lower(), key.rsplit(".", 1)[1].lower()
    assert section in problem.value.says and variable in problem.value.says
    assert problem.value.next.startswith("git config --unset-all ")


def test_a_password_in_a_key_is_not_told(pair: tuple[Repository, Repository]) -> None:
    pair[1].setting("url.https://robot:hunter2@evil.example/.insteadOf", "/")
    with pytest.raises(StoppedForSafety) as problem:
        Git(pair[1].path).require_trustworthy()
    assert "hunter2" not in str(problem.value)


def test_includes_are_looked_into_and_those_of_ci_work(pair: tuple[Repository, Repository], tmp_path: Path) -> None:
    editor = pair[1]
    outside = tmp_path / "credentials.config"
    outside.write_text('[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic x\n')
    editor.setting(f"includeIf.gitdir:{editor.path}/.git.path", str(outside))
    Git(editor.path).require_trustworthy()
    assert Git(editor.path).local_setting("http.https://github.com/.extraheader") == "AUTHORIZATION: basic x"
    outside.write_text('[url "https://evil.example/"]\n\tinsteadOf = /\n')
    with pytest.raises(StoppedForSafety):
        Git(editor.path).require_trustworthy()
    outside.write_text("")
    editor.setting("includeIf.gitdir:/.path", str(editor.path / "a.txt"))
    with pytest.raises(StoppedForSafety):
        Git(editor.path).require_trustworthy()


def test_the_environment_does_not_lead_git_elsewhere(
    pair: tuple[Repository, Repository], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, editor = pair
    _, other = gitrepos.started(tmp_path / "elsewhere", {"other.txt": "x"})
    trace = tmp_path / "trace"
    for name, value in {
        "GIT_DIR": str(other.path / ".git"), "GIT_WORK_TREE": str(other.path), "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "objects"), "GIT_COMMON_DIR": str(other.path / ".git"),
        "GIT_NAMESPACE": "evil", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "nonsense",
        "GIT_CONFIG_PARAMETERS": "'core.bare=nonsense'", "GIT_TRACE": str(trace), "GIT_TRACE2_EVENT": str(trace),
        "GIT_SHALLOW_FILE": str(tmp_path / "shallow"), "GIT_GRAFT_FILE": str(tmp_path / "grafts"),
        "GIT_EXEC_PATH": str(tmp_path), "GIT_ALLOW_PROTOCOL": "ext", "GIT_GLOB_PATHSPECS": "1", "GIT_CEILING_DIRECTORIES": "/",
        "GIT_REPLACE_REF_BASE": "refs/heads/", "GIT_DEFAULT_HASH": "sha256",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    git = Git(editor.path)
    head = git.resolve("HEAD")
    assert head == editor.head()
    use_everything(git, head)
    assert remote.refs()[MAIN] == head
    assert not trace.exists()
    assert not (tmp_path / "objects").exists()


def test_configuration_of_person_and_system_is_not_read_except_credentials(
    pair: tuple[Repository, Repository], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = pair[1]
    note = tmp_path / "asked"
    helper = gitrepos.script_at(tmp_path / "helper", f"echo $1 >> {note}; echo username=robot; echo password=hunter2")
    config = tmp_path / "gitconfig"
    config.write_text(
        f'[url "ext::sh"]\n\tinsteadOf = {pair[0].path}\n'
        f'[credential "https://127.0.0.1"]\n\thelper = {helper}\n\tusername = robot\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    git = Git(editor.path)
    assert git.remote_refs("origin", [MAIN]) == {MAIN: editor.head()}
    assert git._user_settings(r"^credential\.")[-2:] == (
        ("credential.https://127.0.0.1.helper", str(helper)), ("credential.https://127.0.0.1.username", "robot"),
    )  # fmt: skip
    assert not note.exists()


class Refuses(BaseHTTPRequestHandler):
    """Asks for a password and notes what it is given."""

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization", ""))
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def asking() -> Iterator[str]:
    """The URL of a server on this machine that asks for a password."""
    Refuses.seen.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/x.git"
        server.shutdown()


def test_helpers_of_the_clone_are_not_asked_and_ci_headers_are_sent(
    pair: tuple[Repository, Repository], asking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, note = pair[1], tmp_path / "asked"
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.delenv(name, raising=False)
    helper = gitrepos.script_at(tmp_path / "helper", f"echo $1 >> {note}; echo username=robot; echo password=hunter2")
    for key in ("credential.helper", "credential.http://127.0.0.1.helper", f"credential.{asking}.helper", "core.askPass"):
        editor.setting(key, str(helper))
    with pytest.raises(ComeBackLater):
        Git(editor.path).remote_refs(asking, [MAIN])
    assert set(Refuses.seen) == {""}
    assert not note.exists()
    editor.setting(f"http.{asking}.extraheader", "AUTHORIZATION: basic Y2k=")
    with pytest.raises(ComeBackLater):
        Git(editor.path).remote_refs(asking, [MAIN])
    assert Refuses.seen[-1] == "basic Y2k="
    assert not note.exists()


@pytest.mark.parametrize("kept_in", ["environment", "configuration"])
def test_a_header_does_not_follow_a_redirect_to_another_host(
    pair: tuple[Repository, Repository], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_in: str
) -> None:
    remote, editor = pair
    with serving_git(remote.path.parent) as host, serving_git(remote.path.parent) as other:
        host.lie = lambda asked: sent_on(f"http://localhost:{other.port}")()
        assert Git(editor.path).remote_refs(host.url(), [MAIN]) == {MAIN: editor.head()}  # nothing secret goes along
        if kept_in == "environment":
            monkeypatch.setenv("GITHUB_SERVER_URL", f"http://127.0.0.1:{host.port}")
            monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
        else:
            editor.setting(f"http.http://127.0.0.1:{host.port}/.extraheader", "AUTHORIZATION: basic Y2k=")
            editor.setting(f"http.{host.url()}.followRedirects", "true")
        git = Git(editor.path)
        for talk in (lambda: git.remote_refs(host.url(), [MAIN]), lambda: git.fetch(host.url(), [MAIN])):
            with pytest.raises(ComeBackLater):
                talk()
        assert not git.push(host.url(), [(editor.head(), "refs/heads/new", "")])
        assert host.shown and not other.shown


def test_the_persons_own_helper_is_asked(
    pair: tuple[Repository, Repository], asking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = gitrepos.script_at(tmp_path / "helper", "echo username=robot; echo password=hunter2")
    config = tmp_path / "gitconfig"
    config.write_text(f'[credential "{asking}"]\n\thelper = {helper}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    git = Git(pair[1].path)
    done = git._run("ls-remote", asking, env={"GIT_ALLOW_PROTOCOL": "http"}, config=git._user_settings(r"^credential\."))
    assert done.code != 0
    assert Refuses.seen[-1] == "Basic cm9ib3Q6aHVudGVyMg=="


def test_local_settings(pair: tuple[Repository, Repository]) -> None:
    editor = pair[1]
    editor.setting("publisher.signingKey", "/k\nx")
    editor.setting("remote.Two.url", "first")
    editor.setting("remote.Two.url", "last")
    git = Git(editor.path)
    assert git.local_setting("publisher.signingkey") == git.local_setting("Publisher.signingKey") == "/k\nx"
    assert git.local_setting("remote.Two.url") == "last"
    assert git.local_setting("remote.two.url") == ""
    assert git.local_setting("gc.auto") == ""  # ours, not the clone's


def test_ssh_command_of_the_clone_is_named_when_it_would_have_mattered(
    pair: tuple[Repository, Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_SSH_COMMAND", raising=False)
    pair[1].setting("core.sshCommand", "ssh -i deploy")
    with pytest.raises(ComeBackLater) as problem:
        Git(pair[1].path).remote_refs("/nowhere", [MAIN])
    assert "GIT_SSH_COMMAND" in problem.value.says
