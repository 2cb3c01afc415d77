"""A clone that lies or obeys somebody else, and command lines that are no arguments."""

from __future__ import annotations

from collections.abc import Callable

from tests.hostile.case import INPUT, LATER, PLAN, QUEUE, SAFETY, STATUS, USAGE, Case, S
from tests.hostile.ground import PLAN as DUE
from tests.hostile.ground import Ground

MARK = "hostile-was-here"
"""A file that only appears when something of the clone's was executed."""


def _config(text: str) -> Callable[[Ground], None]:
    def act(ground: Ground) -> None:
        with (ground.clone.path / ".git" / "config").open("a", encoding="utf-8") as file:
            file.write(text.replace("MARK", str(ground.folder / MARK)))

    return act


def _file(path: str, text: str) -> Callable[[Ground], None]:
    def act(ground: Ground) -> None:
        file = ground.clone.path / ".git" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("BASE", ground.base).replace("MARK", str(ground.folder / MARK)), encoding="utf-8")
        if path.startswith("hooks/"):
            file.chmod(0o755)

    return act


def _replaced(ground: Ground) -> None:
    other = ground.clone.git("commit-tree", "-m", "x", f"{ground.base}^{{tree}}")
    ground.clone.git("update-ref", f"refs/replace/{ground.base}", other)


def _nested(ground: Ground) -> None:
    """A bare repository among the drafts, whose configuration wants to execute something."""
    folder = ground.clone.path / "drafts" / "blog" / "nested"
    for name in ("objects", "refs/heads"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(f'[core]\n\tbare = true\n\tfsmonitor = "touch {ground.folder / MARK}"\n')


def nothing_ran(ground: Ground, _: str) -> bool:
    return not (ground.folder / MARK).exists()


REFUSED: dict[str, tuple[Callable[[Ground], None], str, int]] = {
    "replace ref": (_replaced, "replaced-objects", SAFETY),
    "graft": (_file("info/grafts", "BASE\n"), "grafted-history", SAFETY),
    "shallow": (_file("shallow", "BASE\n"), "shallow-history", SAFETY),
    "alternates": (_file("objects/info/alternates", "/tmp\n"), "alternate-objects", SAFETY),
    "http alternates": (_file("objects/info/http-alternates", "https://evil.example/\n"), "alternate-objects", SAFETY),
    "insteadOf": (_config('[url "https://evil.example/"]\n\tinsteadOf = /\n'), "hostile-config", SAFETY),
    "pushInsteadOf": (_config('[url "https://evil.example/"]\n\tpushInsteadOf = /\n'), "hostile-config", SAFETY),
    "include": (_config("[include]\n\tpath = hooks.inc\n"), "hostile-config", SAFETY),
    "include if": (_config('[includeIf "onbranch:**"]\n\tpath = /tmp/x\n'), "hostile-config", SAFETY),
    "proxy": (_config("[http]\n\tproxy = http://evil.example/\n"), "hostile-config", SAFETY),
    "no verification": (_config("[http]\n\tsslVerify = false\n"), "hostile-config", SAFETY),
    "password in a key": (_config('[url "https://user:zq7731 private words@x/"]\n\tinsteadOf = y\n'), "hostile-config", SAFETY),
    "remote helper": (_config('[remote "origin"]\n\tvcs = evil\n'), "hostile-config", SAFETY),
    "alternate command": (_config("[core]\n\talternateRefsCommand = touch MARK\n"), "hostile-config", SAFETY),
    "bundle": (_config("[fetch]\n\tbundleURI = https://evil.example/\n"), "hostile-config", SAFETY),
    "partial": (_config('[remote "origin"]\n\tpromisor = true\n'), "partial-clone", SAFETY),
    "ext remote": (_config('[remote "origin"]\n\turl = ext::touch MARK\n'), "remote-protocol", INPUT),
    "option as a remote": (_config('[remote "origin"]\n\turl = --upload-pack=touch\n'), "remote-protocol", INPUT),
    "plain http": (_config('[remote "origin"]\n\turl = http://evil.example/x\n'), "remote-protocol", INPUT),
    "helper remote": (_config('[remote "origin"]\n\turl = evil::x\n'), "remote-protocol", INPUT),
    "git protocol": (_config('[remote "origin"]\n\turl = git://evil.example/x\n'), "remote-protocol", INPUT),
}
OBEYED_BY_NOBODY: dict[str, Callable[[Ground], None]] = {
    "fsmonitor": _config("[core]\n\tfsmonitor = touch MARK\n"),
    "ssh command": _config("[core]\n\tsshCommand = touch MARK\n"),
    "pager": _config("[core]\n\tpager = touch MARK\n"),
    "editor": _config("[core]\n\teditor = touch MARK\n"),
    "hooks path": _config("[core]\n\thooksPath = /tmp\n"),
    "diff": _config("[diff]\n\texternal = touch MARK\n"),
    "askpass": _config("[core]\n\taskPass = touch MARK\n"),
    "credential helper": _config('[credential]\n\thelper = "!touch MARK"\n'),
    "alias": _config('[alias]\n\tls-tree = "!touch MARK"\n'),
    "filter": _config('[filter "x"]\n\tsmudge = touch MARK\n\tclean = touch MARK\n'),
    "signing program": _config("[gpg]\n\tprogram = touch MARK\n"),
    "hook": _file("hooks/pre-push", "#!/bin/sh\ntouch MARK\n"),
    "reference hook": _file("hooks/reference-transaction", "#!/bin/sh\ntouch MARK\n"),
    "attributes": _file("info/attributes", "* filter=x diff=x\n"),
    "bare repository inside": _nested,
    "upload pack": _config('[remote "origin"]\n\tuploadpack = touch MARK\n'),
}
# command line → (code, exit)
ARGUMENTS: dict[str, tuple[tuple[str, ...], str, int]] = {
    "plan of passwords": (("status", "../../../../etc/passwd"), "bad-plan-name", USAGE),
    "plan as an option": (("status", "--", "--upload-pack=x/y"), "unknown-site", INPUT),
    "plan with escapes": (("status", "blog/\x1b[31m"), "no-such-plan", USAGE),
    "plan with a command": (("status", "blog/x\n::error::y"), "no-such-plan", USAGE),
    "site": (("status", "--site", "../blog"), "unknown-site", INPUT),
    "site with escapes": (("status", "--site", "\x1b]0;x"), "unknown-site", INPUT),
    "site in wide letters": (("status", "--site", "ｂlog"), "unknown-site", INPUT),
    "compact date": (("plan", "--date", "20260303"), "bad-date", USAGE),
    "week date": (("plan", "--date", "2026-W10-2"), "bad-date", USAGE),
    "date and newline": (("plan", "--date", "2026-03-03\n"), "bad-date", USAGE),
    "wide date": (("plan", "--date", "２０２６-03-03"), "bad-date", USAGE),
    "no such date": (("plan", "--date", "2026-02-30"), "bad-date", USAGE),
    "year 0": (("plan", "--date", "0000-01-01"), "bad-date", USAGE),
    "many days": (("plan", "--days", "9" * 30), "usage", USAGE),
    "head as an option": (("review", "--head=--output=x"), "no-such-commit", USAGE),
    "head with a range": (("review", "--head", "HEAD..main"), "no-such-commit", USAGE),
    "head with a path": (("review", "--head", "HEAD:publisher.yaml"), "no-such-commit", USAGE),
    "head of another kind": (("review", "--head", "HEAD^{tree}"), "no-such-commit", USAGE),
    "slug": (("new", "x", "--slug", "../x", "--category", "note", "--summary", "y"), "bad-slug", USAGE),
    "slug of a device": (("new", "x", "--slug", "con", "--category", "note", "--summary", "y"), "bad-slug", USAGE),
    "slug as an option": (("new", "x", "--slug=-rf", "--category", "note", "--summary", "y"), "bad-slug", USAGE),
    "title with escapes": (("new", "a\x1b[31mb", "--category", "note", "--summary", "y"), "not-one-line", USAGE),
    "title of bidi": (("new", "a\u202eb", "--category", "note", "--summary", "y"), "not-one-line", USAGE),
    "endless title": (("new", "a" * 9000, "--category", "note", "--summary", "y"), "too-long", USAGE),
    "category": (("new", "x", "--category", "../x", "--summary", "y"), "bad-category", USAGE),
    "redirect": (
        ("change", "withdraw", "a-0001", "--redirect-to", "//evil.example/", "--reason", "x", "--local"),
        "bad-redirect",
        USAGE,
    ),
    "redirect up": (
        ("change", "withdraw", "a-0001", "--redirect-to", "/../", "--reason", "x", "--local"),
        "bad-redirect",
        USAGE,
    ),
    "article": (("change", "withdraw", "../a", "--reason", "x", "--local"), "not-public", USAGE),
    "wait": (("run", DUE, "--yes", "--wait", "1e9h"), "bad-duration", USAGE),
    "report": (("run", "--expect", "/dev/zero"), "not-a-report", USAGE),
    "since": (("log", "--since", "yesterday"), "bad-date", USAGE),
    "now": (("preview", "--now", "2026-03-03"), "bad-instant", USAGE),
    "into the source": (("preview", DUE, "--output", "site-src/blog/static"), "bad-output", USAGE),
    "queue": (("queue", "add", "drafts/../../etc"), "no-such-draft", USAGE),
    "form": (("decide", "--form", "[" * 9000), "no-decision", USAGE),
    "why": (("why", "'; DROP TABLE plans"), "bad-question", USAGE),
}


def cases(texts: dict[str, bytes]) -> list[Case]:
    made = [
        Case(kind="clone", name=name, argv=PLAN, code=code, exit=exit, act=act, holds=nothing_ran)
        for name, (act, code, exit) in REFUSED.items()
    ]
    made += [Case(kind="obeyed", name=name, argv=STATUS, act=act, holds=nothing_ran) for name, act in OBEYED_BY_NOBODY.items()]
    made += [
        Case(kind="argument", name=name, argv=argv, code=code, exit=exit) for name, (argv, code, exit) in ARGUMENTS.items()
    ]
    made.append(
        Case(
            kind="clone",
            name="queue is a link",
            argv=QUEUE,
            code="not-a-plain-file",
            where="plans/blog/queue.yaml",
            act=_linked_queue,
        )
    )
    made.append(
        Case(
            kind="clone",
            name="unreachable",
            argv=PLAN,
            code="remote-unreachable",
            exit=LATER,
            act=_unreachable,
            holds=nothing_ran,
        )
    )
    assert S
    return made


def _unreachable(ground: Ground) -> None:
    ground.clone.git("config", "remote.origin.url", "/nowhere")


def _linked_queue(ground: Ground) -> None:
    file = ground.clone.path / "plans/blog/queue.yaml"
    file.unlink()
    file.symlink_to("/etc/passwd")
