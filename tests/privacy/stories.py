"""Whole stories with private drafts beside them: everything that a person, a timer or a failure can make publisher say.

Which drafts there are, all of them private for the whole story, each with the mark in every field:

* ``queued`` and ``held`` stand in the queue and are in no plan; ``odd`` lies beside the queue; ``marked`` says ``draft: true``;
* ``broken`` cannot be read; ``elsewhere`` lies on another branch;
* ``later`` stands in an approved plan whose date has not come, ``asked`` in an open request: their addresses are plain, since
  plans name them;
* ``edited`` is a change, which nobody approved, of a text that is public already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.privacy.outlets import Watch
from tests.privacy.sentinels import MARK, TOKEN, WORD, private_draft
from tests.support.gitrepos import Repository, bare
from tests.support.instance import Instance, make_instance, source
from tests.support.mail import Mailbox, mail_server
from tests.support.scene import daily, warm_process
from tests.support.stage import BranchSite
from tests.support.web import StaticSite, serving

FIRST, SECOND, LATER, ASKED = (daily(f"12-0{day}") for day in (1, 2, 3, 4))
KINDS = ("directory", "same-repository", "other-repository")
REACHABLE = {"directory": "{kind: directory, path: ../public}", "same-repository": "{kind: git-branch, branch: pages}",
             "other-repository": "{kind: git-branch, branch: pages, repository: ../site.git}"}  # fmt: skip
READERS = ("anna@example.org", "ben@example.org")
QUEUE = "plans/blog/queue.yaml"
BROKEN = "drafts/blog/that-one"
PLAIN = {"later": "plum", "asked": "quince"}
"""The addresses of the drafts that plans name."""


def channels(port: int) -> str:
    lists = "lists: ../lists, pseudonym_key_secret: LIST_KEY"
    return f"""\
    channels:
      post: {{kind: file, path: ../post.jsonl, {lists}}}
      mail:
        kind: smtp
        host: 127.0.0.1
        port: {port}
        security: none
        from: "The blog <blog@example.org>"
        {lists.replace(", ", chr(10) + "        ")}
    announce: {{channels: [post, mail], list: readers, at_most: 5}}
"""


def drafts() -> dict[str, bytes]:
    """The private drafts' files, by path."""
    files = {}
    for name in ("queued", "held", "odd"):
        files |= private_draft(name)
    files |= private_draft("marked", head="draft: true\n")
    for name, slug in PLAIN.items():
        files |= private_draft(name, slug=slug, category="guide")
    files[f"{BROKEN}/index.md"] = f'---\nid: q-broken\ntitle: "{MARK}\nsummary: [{MARK}\n---\n{MARK}\n'.encode()
    return files


def queue() -> str:
    """Articles 1 to 4 first, then those that later plans name, then what is in none."""
    listed = [(f"a-{n:04d}", source(n)) for n in (1, 2, 3, 4)]
    listed += [("q-later", f"drafts/blog/{PLAIN['later']}"), ("a-0006", source(6))]
    listed += [("q-asked", f"drafts/blog/{PLAIN['asked']}"), ("a-0008", source(8))]
    listed += [(f"q-{name}", f"drafts/blog/{WORD}-{name}") for name in ("queued", "held")]
    return "articles:\n" + "".join(f"  - {{id: {id_}, source: {folder}}}\n" for id_, folder in listed)


class Story:
    """An instance with private drafts, watched. Times are Hong Kong's."""

    def __init__(self, folder: Path, kind: str, web: StaticSite, box: Mailbox) -> None:
        self.kind, self.web, self.box = kind, web, box
        self.instance: Instance = make_instance(
            folder / "instance", url=web.url.rstrip("/"), articles=8, publish_time="09:00", state="publisher-state",
            target=REACHABLE[kind], more=channels(box.port), lease="1s", confirm="5s",
        )  # fmt: skip
        self.instance.warm = warm_process()
        repositories = [self.instance.remote.path]
        if kind == "other-repository":
            repositories.append(bare(self.instance.folder / "site.git").path)
        lists = self.instance.folder / "lists"
        lists.mkdir()
        (lists / "readers.txt").write_text("".join(f"{reader}\n" for reader in READERS))
        self.instance.environment |= {"LIST_KEY": f"{TOKEN}-of-the-list", "GITHUB_TOKEN": f"{TOKEN}-of-github"}
        self.instance.environment |= {"PUBLISHER_PING_URL": f"{web.url}ping/{TOKEN}", "MAIL_PASSWORD": f"{TOKEN}-of-the-mail"}
        self.edit({**drafts(), QUEUE: queue().encode(), "plans/blog/policy.yaml": self.policy()})
        self._push_elsewhere()
        self.watch = Watch(self.instance, folder / "watch", tuple(repositories))

    def policy(self) -> bytes:
        text = self.instance.remote.git("show", "main:plans/blog/policy.yaml") + "\n"
        return text.replace("2026-01-01", "2026-12-01").encode()

    def edit(self, files: dict[str, bytes | None]) -> None:
        """A plain push by a person."""
        editor = self.editor()
        editor.commit(files, "An edit")
        editor.push()

    def editor(self) -> Repository:
        editor = self.instance.clone("editor")
        editor.git("fetch", "--quiet", "origin")
        editor.git("reset", "--quiet", "--hard", "origin/main")
        return editor

    def _push_elsewhere(self) -> None:
        editor = self.editor()
        editor.git("checkout", "--quiet", "-B", f"{WORD}-wip")
        editor.commit(private_draft("elsewhere"), f"{MARK}, on another branch")
        editor.push("wip")
        editor.git("checkout", "--quiet", "main")
        editor.git("branch", "--quiet", "-D", f"{WORD}-wip")

    def do(self, who: str, *argv: str, now: str, check: int | None = None, **more: object) -> object:
        return self.watch.do(who, *argv, now=now, check=check, **more)  # type: ignore[arg-type]

    def approve(self, number: int, now: str) -> None:
        self.do("reviewer", "approve", str(number), "--yes", now=now, check=0)

    def finish(self) -> Watch:
        """Everything that stands somewhere at the end."""
        self.watch.collect(("planner", "reviewer", "ci"))
        for number, mail in enumerate(self.box.raw):
            self.watch.add("mail", str(number), mail)
        for number, request in enumerate(self.web.log):
            headers = "\n".join(f"{name}: {value}" for name, value in request.headers.items())
            self.watch.add("public web", str(number), f"{request.path}?{request.query}\n{headers}".encode())
        return self.watch


@contextmanager
def story_of(kind: str, folder: Path) -> Iterator[Story]:
    places = {"directory": "public/current", "same-repository": "remote.git", "other-repository": "site.git"}
    root = folder / "instance" / places[kind]
    with mail_server() as box, serving(root if kind == "directory" else BranchSite(root=root)) as web:
        web.date = None
        yield Story(folder, kind, web, box)


# --- chapters ---------------------------------------------------------------------------------------------------------------------


def planned_and_public(story: Story) -> None:
    """Three dates are planned and approved, a fourth is asked for; the first two become public, and everybody is told."""
    story.do("planner", "plan", "--days", "3", "--json", now="12-01 08:00", check=0)
    story.do("reviewer", "review", "--head", "origin/publisher/requests/1", "--json", now="12-01 08:01")
    story.approve(1, "12-01 08:05")
    story.do("planner", "plan", "--date", "2026-12-04", now="12-01 08:06", check=0)
    story.do("ci", "run", "--scheduled", now="12-01 08:30", check=0)
    story.do("ci", "run", "--json", now="12-01 09:01", check=0, actions=True)
    story.do("ci", "run", now="12-01 09:05", check=0)
    edited = story.instance.remote.git("show", f"main:{source(1)}/index.md") + f"\n{MARK}, which nobody approved.\n"
    story.edit({f"{source(1)}/index.md": edited.encode()})
    story.do("ci", "run", now="12-02 09:01", check=0)


def changed(story: Story) -> None:
    """A correction, a withdrawal, a presentation, a rollback; a revision of what is not public."""
    number = 2
    text = story.instance.remote.git("show", f"main:{source(2)}/index.md") + "\nA better sentence.\n"
    story.edit({f"{source(2)}/index.md": text.encode()})
    theme = story.instance.remote.git("ls-tree", "-r", "--name-only", "main", "site-src/blog/theme").splitlines()
    style = next(name for name in theme if name.endswith(".css"))
    for argv in (("change", "correct", "a-0002"), ("change", "withdraw", "a-0003"), ("change", "presentation"),
                 ("change", "rollback", "--site", "blog", "--to", FIRST), ("revise", LATER)):  # fmt: skip
        if argv[1] == "presentation":
            story.edit({style: story.instance.remote.git("show", f"main:{style}").encode() + b"\n/* darker */\n"})
        said = story.do("planner", *argv, "--reason", "it is better so", "--json", now="12-02 10:00")
        if getattr(said, "code", 1) == 0:
            number += 1
            story.approve(number, "12-02 10:01")
            story.do("ci", "run", "--json", now="12-02 10:02", check=None)


def asked_about(story: Story) -> None:
    """Every verb that says something, in words, in JSON, and in a CI."""
    looks: tuple[tuple[str, ...], ...] = (
        ("status",), ("status", "--all", "--fresh"), ("preview",), ("preview", LATER, "--fresh"), ("log",), ("log", FIRST),
        ("sites",), ("sites", "--due", "--fresh"), ("why", FIRST), ("why", "a-0001"), ("why", "2026-12-04"), ("why", "/plum/"),
        ("audit",), ("audit", "--rebuild"), ("doctor",), ("queue", "list"), ("watch",), ("reconcile", "blog"),
        ("review", "--requests"), ("review", "--head", "origin/main"), ("plan", "--local"), ("plan", "--days", "9"),
        ("schema", "draft"), ("simulate", "--histories", "2"), ("approve",), ("approve", "--record"),
    )  # fmt: skip
    for argv in looks:
        story.do("ci" if argv[0] != "plan" else "planner", *argv, now="12-02 11:00")
        story.do("ci" if argv[0] != "plan" else "planner", *argv, "--json", now="12-02 11:00", actions=True)
    story.do("planner", "plan", "--json", now="12-02 11:00", actions=True)


def decided(story: Story) -> None:
    """What people decide."""
    reason = ("--reason", "a person said so")
    for argv in (("pause", "blog"), ("resume", "blog"), ("skip", "2026-12-09", "--site", "blog"), ("retry", FIRST, "deploy"),
                 ("settle", FIRST, "deploy", "--happened"), ("cancel", ASKED), ("cancel", LATER)):  # fmt: skip
        story.do("reviewer", *argv, *reason, now="12-02 12:00")
        if argv[0] == "pause":
            story.do("ci", "run", "--json", now="12-03 09:01")
            story.do("ci", "watch", "--json", now="12-03 12:01")


def mistaken(story: Story) -> None:
    """What goes wrong before anything begins: texts that cannot be read, wrong words, wrong places, a crash in all of them."""
    for argv in (("queue", "add", BROKEN), ("new",), ("nonsense",), ("run", "no-such/plan"),
                 ("run", FIRST, "--expect", "nothing.json"), ("change", "correct", "q-queued"), ("preview", "--now", "x"),
                 ("plan", "--launch", "--source", BROKEN), ("why", "q-queued"),
                 ("approve", "77"), ("init",), ("serve", "--site", "none"), ("status", "--site", "none")):  # fmt: skip
        for form in ((), ("--json",)):
            story.do("planner", *argv, *form, now="12-02 13:00", actions=bool(form))


STRUCK = (
    "error:at:target.look:1", "error:at:target.store:1", "error:at:target.switch:1", "error:at:alerts.say:1",
    "lost-response:at:git.push:1", "lost-response:at:git.push:2", "lost-response:at:git.push:3", "error:at:git.push:2",
    "hang:at:channel.send:1", "error:at:channel.send:1", "lost-response:at:channel.send:2", "hang:at:probes.look:2",
    "stale:at:git.remote_refs:2", "full:at:reads.draft:1", "full:at:builder.public_form:1", "full:at:builder.build:1",
    "full:at:builder.leaks:1", "full:at:git.compose:1", "full:at:target.store:1", "full:at:git.fetch:1",
    "kill:before:builder.public_form:1", "kill:after:builder.build:1", "kill:after:builder.leaks:1", "kill:before:git.push:1",
    "kill:after:git.push:2", "kill:after:target.switch:1", "kill:before:probes.look:2", "kill:after:channel.send:1",
)  # fmt: skip
"""What strikes a run, and where; not all of it exists for each kind of target."""


def struck(story: Story, wheres: tuple[str, ...], back: Callable[[], None]) -> None:
    """Each time from the approved plan on: a run is struck, and the next ones find out and finish."""
    for where in wheres:
        back()
        with suppress(AssertionError):  # what this kind of target does not have
            story.do("ci", "run", "--json", now="12-01 09:01", at=where, actions=True)
        story.do("ci", "status", now="12-01 09:02")
        story.do("ci", "run", "--json", now="12-01 09:03")
        story.do("ci", "watch", now="12-01 10:30")


def lost_and_restored(story: Story) -> None:
    """The state branch is gone: runs stop, and a restore finds what is public."""
    story.instance.remote.git("update-ref", "-d", "refs/heads/publisher-state")
    story.instance.fresh_clone("rescue", key_of="reviewer")
    story.do("rescue", "run", "--json", now="12-02 14:00")
    story.do("rescue", "reconcile", "blog", "--restore", "--json", now="12-02 14:01")
    story.do("rescue", "reconcile", "blog", "--restore", "--reason", "the branch was lost", now="12-02 14:02")
    story.do("rescue", "run", now="12-02 14:03")
    story.do("rescue", "audit", now="12-02 14:04")


def launched(story: Story) -> None:
    """A launch, with its release on staging before anybody decides."""
    sources = [f"--source={source(number)}" for number in (1, 2)]
    story.do("planner", "plan", "--launch", *sources, "--json", now="12-01 08:00", check=0)
    story.approve(1, "12-01 08:01")
    story.do("ci", "run", "--json", now="12-01 09:01")
    story.do("reviewer", "approve", "2", "--yes", now="12-01 09:02")
    story.do("ci", "run", now="12-01 09:03")


