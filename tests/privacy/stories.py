"""Whole stories with private drafts beside them: everything that a person, a timer or a failure can make publisher say.

Which drafts there are, all of them private for the whole story, each with the mark in every field:

* ``queued`` and ``held`` stand in the queue and are in no plan; ``odd`` lies beside the queue; ``marked`` says ``draft: true``;
* ``broken`` cannot be read; ``elsewhere`` lies on another branch;
* ``later`` stands in an approved plan whose date has not come, ``asked`` in an open request: their addresses are plain, since
  plans name them;
* ``edited`` is a change, which nobody approved, of a text that is public already.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.privacy.outlets import Watch
from tests.privacy.sentinels import MARK, TOKEN, WORD, private_draft
from tests.support.gitrepos import Repository, bare
from tests.support.instance import Instance, make_instance, source
from tests.support.mail import Mailbox, mail_server
from tests.support.scene import Done, daily, warm_process
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
        self.folder, self.kind, self.web, self.box = folder, kind, web, box
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

    def do(self, who: str, *argv: str, now: str, check: int | None = None, actions: bool = False, **driver: str) -> Done:
        return self.watch.do(who, *argv, now=now, check=check, actions=actions, **driver)

    def save(self, name: str) -> None:
        subprocess.run(["cp", "-a", str(self.instance.folder), str(self.folder / f"saved-{name}")], check=True)

    def back_to(self, name: str) -> None:
        shutil.rmtree(self.instance.folder)
        subprocess.run(["cp", "-a", str(self.folder / f"saved-{name}"), str(self.instance.folder)], check=True)

    def approve(self, number: int, now: str) -> None:
        self.do("reviewer", "approve", str(number), "--yes", now=now, check=0)

    def finish(self) -> Watch:
        """Everything that stands somewhere at the end."""
        self.watch.collect(("planner", "reviewer", "ci"))
        for number, mail in enumerate(self.box.raw):
            self.watch.add("mail", str(number), mail)
        # The monitor's address is a secret that the monitor knows.
        for number, request in enumerate(request for request in self.web.log if not request.path.startswith("/ping/")):
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


def planned(story: Story) -> None:
    """Three dates are planned and approved, a fourth is asked for; saved as ``planned``."""
    story.save("new")
    story.do("planner", "plan", "--days", "3", "--json", now="12-01 08:00", check=0)
    story.do("reviewer", "review", "--head", "origin/publisher/requests/1", "--json", now="12-01 08:01")
    story.approve(1, "12-01 08:05")
    story.do("planner", "plan", "--date", "2026-12-04", now="12-01 08:06", check=0)
    story.save("planned")


def published(story: Story) -> None:
    """The first two dates become public, and everybody is told; between them, somebody edits what is public."""
    story.do("ci", "run", "--scheduled", now="12-01 08:30", check=0)
    story.do("ci", "run", "--json", now="12-01 09:01", check=0, actions=True)
    story.do("ci", "run", now="12-01 09:05", check=0)
    edited = story.instance.remote.git("show", f"main:{source(1)}/index.md") + f"\n{MARK}, which nobody approved.\n"
    story.edit({f"{source(1)}/index.md": edited.encode()})
    story.do("ci", "run", now="12-02 09:01", check=0)


CHANGES: Sequence[tuple[str, ...]] = (
    ("change", "correct", "a-0002"), ("change", "withdraw", "a-0003"), ("change", "presentation"), ("revise", LATER),
)  # fmt: skip


def changed(story: Story, changes: Sequence[tuple[str, ...]] = CHANGES) -> None:
    """A correction, a withdrawal, another presentation; a revision of what is not public yet."""
    text = story.instance.remote.git("show", f"main:{source(2)}/index.md") + "\nA better sentence.\n"
    style = "site-src/blog/theme/style.css"
    darker = story.instance.remote.git("show", f"main:{style}") + "\n/* darker */\n"
    story.edit({f"{source(2)}/index.md": text.encode(), style: darker.encode()})
    for number, argv in enumerate(changes, start=3):
        story.do("planner", *argv, "--reason", "it is better so", "--json", now="12-02 10:00", check=0)
        story.approve(number, "12-02 10:01")
        story.do("ci", "run", "--json", now="12-02 10:02", check=0)


LOOKS: Sequence[tuple[str, ...]] = (
    ("status",), ("status", "--all", "--fresh"), ("preview",), ("preview", LATER, "--fresh"), ("log",), ("log", FIRST),
    ("sites",), ("sites", "--due", "--fresh"), ("why", FIRST), ("why", "a-0001"), ("why", "2026-12-04"), ("why", "/plum/"),
    ("audit",), ("audit", "--rebuild"), ("doctor",), ("queue", "list"), ("watch",), ("reconcile", "blog"),
    ("review", "--requests"), ("review", "--head", "origin/main"), ("plan", "--local"), ("plan", "--days", "9"),
    ("plan",), ("schema", "draft"), ("simulate", "--histories", "2"), ("approve",), ("approve", "--record"), ("completion", "bash"),
)  # fmt: skip
DECISIONS: Sequence[tuple[str, ...]] = (
    ("pause", "blog"), ("resume", "blog"), ("skip", "2026-12-09", "--site", "blog"), ("retry", FIRST, "deploy"),
    ("settle", FIRST, "deploy", "--happened"), ("cancel", ASKED), ("cancel", LATER),
)  # fmt: skip
MISTAKES: Sequence[tuple[str, ...]] = (
    ("queue", "add", BROKEN), ("new",), ("nonsense",), ("run", "no-such/plan"), ("run", FIRST, "--expect", "nothing.json"),
    ("change", "correct", "q-queued"), ("preview", "--now", "x"), ("plan", "--launch", "--source", BROKEN), ("why", "q-queued"),
    ("approve", "77"), ("init",), ("serve", "--site", "none"), ("status", "--site", "none"), ("--debug", "run", "no-such/plan"),
)  # fmt: skip


def asked_about(story: Story, looks: Sequence[tuple[str, ...]] = LOOKS) -> None:
    """Verbs that say something, in words, in JSON, and in a CI."""
    for argv in looks:
        who = "planner" if argv[0] == "plan" else "ci"
        story.do(who, *argv, now="12-02 11:00")
        story.do(who, *argv, "--json", now="12-02 11:00", actions=True)


def decided(story: Story, decisions: Sequence[tuple[str, ...]] = DECISIONS) -> None:
    """What people decide, and what a timer finds then."""
    for argv in decisions:
        story.do("reviewer", *argv, "--reason", "a person said so", now="12-02 12:00")
    story.do("ci", "run", "--json", now="12-03 09:01")
    story.do("ci", "watch", "--json", now="12-03 12:01")


def mistaken(story: Story, mistakes: Sequence[tuple[str, ...]] = MISTAKES) -> None:
    """What goes wrong before anything begins: texts that cannot be read, wrong words, wrong places."""
    for argv in mistakes:
        story.do("planner", *argv, now="12-02 13:00")
        story.do("planner", *argv, "--json", now="12-02 13:00", actions=True)


STRUCK = (
    "error:at:target.look:1", "error:at:target.store:1", "error:at:target.switch:1", "error:at:alerts.say:1",
    "lost-response:at:git.push:1", "lost-response:at:git.push:2", "lost-response:at:git.push:3", "error:at:git.push:2",
    "hang:at:channel.send:1", "error:at:channel.send:1", "lost-response:at:channel.send:2", "hang:at:probes.look:2",
    "stale:at:git.remote_refs:2", "full:at:reads.draft:1", "full:at:builder.public_form:1", "full:at:builder.build:1",
    "full:at:builder.leaks:1", "full:at:git.compose:1", "full:at:target.store:1", "full:at:git.fetch:1",
    "kill:before:builder.public_form:1", "kill:after:builder.build:1", "kill:after:builder.leaks:1", "kill:before:git.push:1",
    "kill:after:git.push:2", "kill:after:target.switch:1", "kill:before:probes.look:2", "kill:after:channel.send:1",
)  # fmt: skip
"""What strikes a run, and where; a target that joins the ledger's push has no ``store`` and no ``switch``."""


def struck(story: Story, wheres: Sequence[str] = STRUCK) -> None:
    """Each time from the approved plans on: a run is struck, and the next ones find out and finish."""
    for where in wheres:
        story.back_to("planned")
        story.do("ci", "run", "--json", now="12-01 09:01", at=where, actions=True)
        story.do("ci", "run", "--json", now="12-01 09:03")
        story.do("ci", "watch", now="12-01 10:30")


def lost_and_restored(story: Story) -> None:
    """The state branch is gone: runs stop, and a restore finds what is public."""
    story.instance.remote.git("update-ref", "-d", "refs/heads/publisher-state")
    story.instance.fresh_clone("rescue", key_of="reviewer")
    story.do("rescue", "run", "--json", now="12-02 14:00", check=7)
    story.do("rescue", "reconcile", "blog", "--restore", "--reason", "the branch was lost", "--json", now="12-02 14:01")
    story.do("rescue", "run", now="12-02 14:03")
    story.do("rescue", "audit", now="12-02 14:04")


def launched(story: Story) -> None:
    """A launch, with its release on staging before anybody decides."""
    story.back_to("new")
    sources = [f"--source={source(number)}" for number in (1, 2)]
    story.do("planner", "plan", "--launch", *sources, "--json", now="12-01 08:00", check=0)
    story.approve(1, "12-01 08:01")
    story.do("planner", "run", "--json", now="12-01 09:01")  # who asks for the gate signs its request
    story.approve(2, "12-01 09:02")
    story.do("planner", "run", now="12-01 09:03", check=0)
