"""Leaks on purpose: the mark put where publisher never puts it, by hand, so that it is seen that the watch would find it there.

Each way goes through the real place: a program that prints, a push, a file in the release, a mail, a request to the host. What the
place cannot take (a zero byte in an argument, a space in a branch's name) is no way for a leak either.
"""

from __future__ import annotations

import os
import shutil
import smtplib
import subprocess
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.privacy.hosted import Hosted
from tests.privacy.outlets import Watch, text_of
from tests.support.gitrepos import Repository, bare, clone, environment
from tests.support.instance import Instance
from tests.support.mail import Mailbox, mail_server
from tests.support.web import StaticSite, serving


class Rogue(Instance):
    """An instance whose commands are shell scripts: a publisher that does what it must not."""

    def driven(self, who: str, *argv: str, check: int | None = None, **driver: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["sh", "-ec", argv[-1]], cwd=self.folder, env={**environment(who), **self.env(who)}, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        # Latin-1 keeps every byte apart; the watch encodes what it is given, so bytes above 127 are planted as they print.
        out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
        return subprocess.CompletedProcess(list(argv), 0, out, err)


class Ground:
    """A bare remote, a clone, a target's folder, a web server and a mail server, watched."""

    def __init__(self, folder: Path, web: StaticSite, box: Mailbox) -> None:
        self.web, self.box = web, box
        self.rogue = Rogue(folder / "instance", web.url)
        self.rogue.folder.mkdir()
        self.remote = bare(self.rogue.folder / "remote.git")
        self.editor = clone(self.remote, self.rogue.folder / "ci", "ci")
        self.editor.commit({"README.md": "hello\n"}, "start")
        self.editor.push()
        self.given = folder / "given"
        self.watch = Watch(self.rogue, folder / "watch", ())
        self.count = 0

    def fresh(self) -> Watch:
        self.watch.forget()
        self.count += 1
        return self.watch

    def script(self, words: str, **more: Any) -> None:
        """A program of the rogue; ``$GIVEN`` is the file with what it lets out."""
        self.rogue.environment["GIVEN"] = str(self.given)
        self.watch.do("ci", words, now="12-01 09:00", **more)

    def place(self, where: str) -> Path:
        path = self.rogue.folder / where
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


@contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    with mail_server() as box, serving(folder / "nothing") as web:
        yield Ground(folder, web, box)


def _shell(words: str) -> Callable[[Ground, bytes], None]:
    return lambda ground, data: ground.script(words, actions=True)


def _file(where: str) -> Callable[[Ground, bytes], None]:
    def plant(ground: Ground, data: bytes) -> None:
        path = ground.place(where)
        path.write_bytes(b"something before it: " + data + b" and after it\n")
        ground.watch.collect(("ci",))
        path.unlink()

    return plant


def _pushed(ground: Ground, data: bytes) -> None:
    ground.watch.repositories = (ground.remote.path,)
    ground.script(f'cd ci; cp "$GIVEN" leak-{ground.count}; git add .; git commit -qm leak; git push -q origin HEAD:main')


def _committed(ground: Ground, data: bytes) -> None:
    ground.watch.repositories = (ground.remote.path,)
    # Written as an object: whatever made a commit, it may hold anything.
    ground.script(
        'cd ci; { printf "tree %s\\nparent %s\\n" $(git rev-parse HEAD^{tree} HEAD); '
        'printf "author a <a@b.c> 1 +0000\\ncommitter a <a@b.c> 1 +0000\\n\\n"; cat "$GIVEN"; } > ../commit; '
        f"oid=$(git hash-object --literally -t commit -w ../commit); git push -q origin +$oid:refs/heads/leak-{ground.count}"
    )


def _named(ground: Ground, data: bytes) -> None:
    name = f"refs/heads/leak-{ground.count}/{os.fsdecode(data)}"
    ground.watch.repositories = (ground.remote.path,)
    Repository(ground.remote.path).git("update-ref", name, ground.editor.head())
    ground.watch.collect()
    Repository(ground.remote.path).git("update-ref", "-d", name)


def _on_site_branch(ground: Ground, data: bytes) -> None:
    """In a commit before the branch's tip: whoever fetches the branch gets it."""
    ground.watch.repositories = (ground.remote.path,)
    editor = ground.editor
    editor.git("checkout", "--quiet", "--orphan", "site")
    editor.commit({"leak": data}, "with it")
    editor.commit({"leak": None}, "without it")
    editor.git("push", "--quiet", "--force", "origin", "HEAD:refs/heads/pages")
    ground.watch.collect()
    editor.git("push", "--quiet", "--delete", "origin", "pages")
    editor.git("checkout", "--quiet", "main")
    editor.git("branch", "--quiet", "-D", "site")


def _mailed(ground: Ground, data: bytes) -> None:
    with smtplib.SMTP("127.0.0.1", ground.box.port, local_hostname="test.example") as server:
        server.sendmail("a@example.org", ["b@example.org"], b"Subject: new\r\n\r\n" + data.replace(b"\n", b"\r\n"))
    ground.watch.add("mail", "0", ground.box.raw[-1])


def _asked_the_web(ground: Ground, data: bytes) -> None:
    """In a header that a client may send as it likes."""
    request = urllib.request.Request(ground.web.url, headers={"X-Note": data.decode("latin-1")})
    with suppress_404():
        urllib.request.urlopen(request, timeout=10)
    seen = ground.web.log[-1]
    ground.watch.add("public web", "0", text_of([seen.path, seen.query, seen.headers["x-note"].encode("latin-1")]))


@contextmanager
def suppress_404() -> Iterator[None]:
    try:
        yield
    except urllib.error.HTTPError as answer:
        answer.close()


def _killed(ground: Ground, data: bytes) -> None:
    ground.script('mkdir -p "$TMPDIR/left"; cp "$GIVEN" "$TMPDIR/left/file"')
    shutil.rmtree(Path(ground.rogue.environment["TMPDIR"]) / "left")


WAYS: Mapping[str, Callable[[Ground, bytes], None]] = {
    "stdout": _shell('cat "$GIVEN"'),
    "stderr": _shell('cat "$GIVEN" >&2'),
    "step summary": _shell('cat "$GIVEN" >> "$GITHUB_STEP_SUMMARY"'),
    "step output": _shell('{ echo "x=$(date)"; cat "$GIVEN"; } >> "$GITHUB_OUTPUT"'),
    "child arguments": _shell('git -c "publisher.x=$(cat "$GIVEN")" version'),
    "child environment": _shell('NOTE="$(cat "$GIVEN")" git version'),
    "temporary files": _killed,
    "release": _file("public/current/article/index.html"),
    "target": _file("public/releases/old/feed.xml"),
    "messages": _file("post.jsonl"),
    "alerts": _file("alerts.jsonl"),
    "clone": _file("ci/.git/logs/refs/heads/main"),
    "pushed files": _pushed,
    "pushed commits": _committed,
    "refs": _named,
    "site branch": _on_site_branch,
    "mail": _mailed,
    "public web": _asked_the_web,
}
LONGEST_NAME = 200
PROGRAM_TEXT = frozenset({"stdout", "stderr"})
"""What is read as text of UTF-8."""
ARGUMENT = frozenset({"child arguments", "child environment"})


def fits(outlet: str, data: bytes) -> bool:
    """Whether an outlet can carry these bytes at all."""
    if outlet in PROGRAM_TEXT:
        return _is_text(data)
    if outlet in ARGUMENT:
        return b"\0" not in data
    if outlet == "mail":
        return b"\0" not in data and b"\r" not in data and max(map(len, data.split(b"\n"))) < 900
    if outlet == "public web":
        return not any(byte in data for byte in b"\0\r\n") and b"\t" not in data
    if outlet == "refs":
        name = f"refs/heads/leak/{os.fsdecode(data)}"
        if b"\0" in data or len(data) > LONGEST_NAME:
            return False
        return subprocess.run(["git", "check-ref-format", os.fsencode(name)]).returncode == 0
    return True


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# --- at the host ------------------------------------------------------------------------------------------------------------------


def at_the_host(hosted: Hosted, outlet: str, text: str) -> None:
    """A document that the host takes, with ``text`` in it, sent by the run's own account."""
    from publisher.forge.github_api import GithubApi

    api = GithubApi(hosted.sim.repository, hosted.instance.people["ci"].token, api=hosted.sim.api_url, pause=0)
    tip = hosted.sim.git.branch("main")
    if outlet == "statuses":
        api.send("POST", f"statuses/{tip}", {"state": "success", "context": "x", "description": text[:140]})
    elif outlet == "issues":
        api.send("POST", "issues", {"title": "t", "body": text})
    else:
        (number,) = hosted.open_numbers()[:1]
        api.send("POST", f"issues/{number}/comments", {"body": text})
