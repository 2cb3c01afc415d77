"""The stories that are recorded for replay: what people and runs do to an instance, by the real command line.

Each story is a function of a stage whose every command leaves a snapshot: the instant, and the tips that the remote had then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from publisher.domain.business_calendar import in_utc
from publisher.sitebuilder.theme import default_theme
from tests.support import github_instance as at_github
from tests.support import instance as plain
from tests.support.gitrepos import bare
from tests.support.instance import draft, first_epoch, source
from tests.support.mail import mail_server
from tests.support.scene import Done, Scene, at, daily, warm_process
from tests.support.stage import READERS, SITE_MORE, BranchSite
from tests.support.web import serving

FIRST, SECOND, THIRD = daily("12-01"), daily("12-02"), daily("12-03")
REQUEST = re.compile(r"refs/heads/publisher/requests/([1-9][0-9]*)")
TARGETS = {
    "directory": "{kind: directory, path: ../public}",
    "same-repository": "{kind: git-branch, branch: pages}",
    "other-repository": "{kind: git-branch, branch: pages, repository: ../site.git}",
}
SHOP = """\
  shop:
    url: {url}/
    zone: Asia/Hong_Kong
    title: "Shop"
    description: "A second site"
    language: en
    author: "Test"
    tag_authority: "shop.example,2026"
    target: {{kind: directory, path: ../shop}}
    staging: {{kind: directory, path: ../shop-staging}}
    confirm_within: 5s
"""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What the remote had after a command that ended at ``now``."""

    now: str
    did: str
    default: str
    state: str
    requests: Mapping[int, str]


@dataclass
class RecordedScene(Scene):
    """A scene that remembers the tips after each command."""

    snapshots: list[Snapshot] = field(default_factory=list)

    def do(self, who: str, *argv: str, now: str, check: int | None = 0, **driver: str) -> Done:
        try:
            return super().do(who, *argv, now=now, check=check, **driver)
        finally:
            self.snap(now, f"{who}: {' '.join(argv)}")

    def snap(self, now: str, did: str) -> None:
        refs = self.refs()
        requests = {int(found[1]): oid for name, oid in refs.items() if (found := REQUEST.fullmatch(name))}
        self.snapshots.append(
            Snapshot(
                now=in_utc(datetime.fromisoformat(at(now)) + timedelta(seconds=30)), did=did, default=refs["refs/heads/main"],
                state=refs.get(f"refs/heads/{self.state}", ""), requests=requests,
            )
        )  # fmt: skip

    def edit(self, files: Mapping[str, bytes | str | None], message: str = "An edit") -> str:
        made = super().edit(files, message)
        if self.snapshots:
            last = self.snapshots[-1].now
            self.snap(last.replace("Z", "+00:00"), "editor: an edit")
        return made


@dataclass(frozen=True, kw_only=True)
class Story:
    """``options`` are those of ``make_instance``; ``target`` is a kind of ``TARGETS`` or ``github``."""

    name: str
    tell: Callable[[Any], None]
    target: str = "directory"
    options: Mapping[str, Any] = field(default_factory=dict)


STORIES: dict[str, Story] = {}


def story(name: str, target: str = "directory", **options: Any) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    def take(tell: Callable[[Any], None]) -> Callable[[Any], None]:
        STORIES[name] = Story(name=name, tell=tell, target=target, options=options)
        return tell

    return take


@contextmanager
def staged(told: Story, folder: Path) -> Iterator[Any]:
    """A new instance for a story, whose files name no place of this machine."""
    with relative_paths():
        if told.target == "github":
            with at_github.github_instance(folder, articles=12, publish_time="09:00") as instance:
                yield instance
            return
        places = {"directory": "public/current", "same-repository": "remote.git", "other-repository": "site.git"}
        root = folder / "instance" / places[told.target]
        with serving(root if told.target == "directory" else BranchSite(root=root)) as web:
            web.date = None  # the story has a clock of its own
            usual = {"publish_time": "09:00", "state": "publisher-state", "target": TARGETS[told.target]}
            instance = plain.make_instance(folder / "instance", url=web.url.rstrip("/"), **{**usual, **told.options})
            instance.warm = warm_process()
            if told.target == "other-repository":
                bare(instance.folder / "site.git")
            (instance.folder / "lists").mkdir()
            (instance.folder / "lists" / "readers.txt").write_text("".join(f"{reader}\n" for reader in READERS))
            (instance.folder / "lists" / "removed.txt").write_text("")
            instance.environment["LIST_KEY"] = "a key of more than sixteen characters"
            yield RecordedScene(folder, web, instance)


@contextmanager
def relative_paths() -> Iterator[None]:
    before, host = plain.INSTANCE, at_github.INSTANCE
    plain.INSTANCE = before.replace("{alerts}", "../alerts.jsonl").replace("{staging}", "../staging")
    at_github.INSTANCE = plain.INSTANCE.replace("{target}", "{{kind: directory, path: ../public}}")
    try:
        yield
    finally:
        plain.INSTANCE, at_github.INSTANCE = before, host


# --- a day on each kind of target -------------------------------------------------------------------------------------------


def two_days(scene: RecordedScene) -> None:
    scene.approve(scene.plan("12-01 08:00", "--days", "2"), "12-01 08:05")
    scene.run("12-01 08:30", check=None)
    scene.run("12-01 09:01")
    scene.run("12-01 09:31")
    scene.run("12-02 09:01")


@story("daily-directory", more=SITE_MORE)
def _(scene: RecordedScene) -> None:
    """Two dates, announced to a file; a run before their time, and one that has nothing to do."""
    two_days(scene)


@story("daily-same-repository", target="same-repository", state="main")
def _(scene: RecordedScene) -> None:
    """The ledger on the default branch, the site on another branch of the same repository."""
    two_days(scene)


@story("daily-other-repository", target="other-repository")
def _(scene: RecordedScene) -> None:
    """The site in a repository of its own."""
    two_days(scene)


# --- what is public changes -------------------------------------------------------------------------------------------------


@story("changes")
def _(scene: RecordedScene) -> None:
    """Correct, withdraw, a new presentation, and a rollback to the first release."""
    scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")
    scene.run("12-01 09:01")
    scene.edit({f"{source(1)}/index.md": draft(1, "guide", body="The corrected sentence.\n")})
    scene.publish("12-01 10:00", "change", "correct", "a-0001", "--reason", "a wrong figure")
    scene.publish("12-01 11:00", "change", "withdraw", "a-0002", "--reason", "no longer true")
    style = "site-src/blog/theme/style.css"
    scene.edit({style: scene.text(style) + "/* another */\n"})
    scene.publish("12-01 12:00", "change", "presentation", "--site", "blog", "--reason", "a new style")
    scene.approve(scene.plan("12-02 08:00"), "12-02 08:05")
    scene.run("12-02 09:01")
    scene.publish("12-02 12:00", "change", "rollback", "1", "--site", "blog", "--reason", "back to the first")


@story("takedown")
def _(scene: RecordedScene) -> None:
    """Published by mistake: withdrawn, and what that leaves behind gone through step by step."""
    scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")
    scene.run("12-01 09:01")
    scene.publish("12-01 10:00", "change", "withdraw", "a-0002", "--reason", "published by mistake")
    scene.do("reviewer", "takedown", "a-0002", "--reason", "it names somebody", now="12-01 10:30", check=None)
    ways = {"search-engines": "--done", "feed-readers": "--not-possible"}
    for number, (risk, way) in enumerate(ways.items()):
        scene.do(
            "reviewer", "takedown", "a-0002", risk, way, "--reason", "looked at", now=f"12-01 1{number + 1}:00", check=None
        )
    scene.run("12-01 12:00", check=None)


@story("revisions")
def _(scene: RecordedScene) -> None:
    """A revision in time, one that comes too late and is refused, and an edit that is neither."""
    scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")
    swap = ("revise", FIRST, "--swap", "a-0002=a-0004", "--reason", "not ready")
    number = scene.propose("12-01 08:10", *swap)
    scene.run("12-01 08:12", check=None)
    scene.approve(number, "12-01 08:15")
    scene.run("12-01 09:01")
    scene.approve(scene.plan("12-02 08:00"), "12-02 08:05")
    late = scene.propose("12-02 08:10", "revise", SECOND, "--reason", "late")
    scene.run("12-02 09:01", check=None, at="kill:after:target.switch:1")
    scene.approve(late, "12-02 09:03")
    scene.run("12-02 09:20", check=None)
    scene.run("12-02 09:40", check=None)
    path = f"plans/{THIRD}.yaml"
    scene.approve(scene.plan("12-03 08:00"), "12-03 08:05")
    scene.edit({path: scene.text(path) + "# a remark is no other payload\n"})
    scene.run("12-03 09:01", check=None)
    scene.edit({path: scene.text(path).replace("revision: 1", "revision: 3")})
    scene.run("12-03 09:31", check=None)


# --- people decide ----------------------------------------------------------------------------------------------------------


def built_shop(scene: RecordedScene) -> None:
    """A second site whose launch is built, and waits for its gate."""
    theme = {f"site-src/shop/theme/{path}": data for path, data in default_theme().items()}
    scene.web.root = scene.instance.folder / "shop" / "current"
    scene.edit(
        {
            **theme, "drafts/shop/hello/index.md": draft(100, "guide"), "ledger/shop/claims/2026.jsonl": first_epoch(),
            "publisher.yaml": scene.text("publisher.yaml") + SHOP.format(url=scene.instance.url),
        }
    )  # fmt: skip
    scene.instance.clone("ci").setting("publisher.signingkey", str(scene.instance.folder / "keys" / "planner"))
    launch = scene.plan("12-01 08:00", "--launch", "--site", "shop", "--source", "drafts/shop/hello")
    scene.approve(launch, "12-01 08:05")
    scene.run("12-01 08:10", "--site", "shop", check=4)


@story("launch", state="main", articles=2)
def _(scene: RecordedScene) -> None:
    """A second site by its gate: the approval expires, is asked for again, and the release follows."""
    built_shop(scene)
    scene.approve(2, "12-01 08:20")
    scene.run("12-02 09:00", "--site", "shop", check=None)
    scene.run("12-02 09:10", "--site", "shop", check=None)
    scene.approve(3, "12-02 09:20")
    scene.run("12-02 09:30", "--site", "shop")
    scene.run("12-02 09:40", "--site", "shop")


@story("launch-rejected", state="main", articles=2)
def _(scene: RecordedScene) -> None:
    """The gate of a launch is rejected: nothing of it is released, whoever runs."""
    built_shop(scene)
    scene.approve(2, "12-01 08:20", "--reject")
    scene.run("12-01 08:30", "--site", "shop", check=None)
    scene.run("12-01 08:40", "--site", "shop", check=None)


@story("expired")
def _(scene: RecordedScene) -> None:
    """A date is missed, asked for again and published on the next day; another is skipped."""
    scene.approve(scene.plan("12-01 08:00", "--days", "2"), "12-01 08:05")
    scene.run("12-03 10:00", check=4)
    again = scene.do("planner", "plan", "--again", FIRST, "--json", now="12-03 11:00").data["proposed"][0]
    scene.run("12-03 11:05", check=4)
    scene.approve(again["request"], "12-03 11:10")
    scene.run("12-03 11:15", check=4)
    scene.do("reviewer", "skip", SECOND[-10:], "--site", "blog", "--reason", "too late for it", now="12-03 12:00")
    scene.run("12-03 12:05")


@story("pause")
def _(scene: RecordedScene) -> None:
    """Paused before its time and resumed after; a plan that is canceled, and one that is rejected."""
    scene.approve(scene.plan("12-01 08:00", "--days", "2"), "12-01 08:05")
    scene.do("reviewer", "pause", "blog", "--reason", "a look first", now="12-01 08:30")
    scene.run("12-01 09:01", check=4)
    scene.do("reviewer", "resume", "blog", "--reason", "looked", now="12-01 09:30")
    scene.run("12-01 09:31", check=None)
    scene.do("reviewer", "cancel", SECOND, "--reason", "not this one", now="12-01 10:00")
    scene.run("12-02 09:01", check=None)
    scene.approve(scene.plan("12-03 08:00"), "12-03 08:05", "--reject")
    scene.run("12-03 09:01", check=None)


# --- trouble ----------------------------------------------------------------------------------------------------------------


@story("killed")
def _(scene: RecordedScene) -> None:
    """Killed after the claim, after the intent and after the switch, and finished each time by the next run."""
    scene.approve(scene.plan("12-01 08:00", "--days", "3"), "12-01 08:05")
    scene.killed("12-01 09:01", "after:records.publish:1")
    scene.run("12-01 09:20")
    scene.killed("12-02 09:01", "after:records.publish:2")
    scene.run("12-02 09:20")
    scene.killed("12-03 09:01", "after:target.switch:1")
    scene.run("12-03 09:20")


@story("failed")
def _(scene: RecordedScene) -> None:
    """A source is edited before its approval: the step fails, and a person revises; then a retry that fails again."""
    number = scene.plan("12-01 08:00")
    scene.edit({f"{source(1)}/index.md": draft(1, "guide", body="Edited after the plan.\n")})
    scene.approve(number, "12-01 08:05")
    scene.run("12-01 09:01", check=4)
    scene.do("reviewer", "retry", FIRST, "prepare", "--reason", "once more", now="12-01 09:30")
    scene.run("12-01 09:31", check=4)
    scene.publish("12-01 10:00", "revise", FIRST, "--reason", "with the edited text")


@story("unknown-deploy")
def _(scene: RecordedScene) -> None:
    """Something foreign stands at the target while an intent is open: a person says that it did not happen, and lets it run again."""
    scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")
    scene.killed("12-01 09:01", "before:target.switch:1")
    folder = scene.instance.public / "releases" / ("f" * 64)
    folder.mkdir(parents=True)
    (folder / "index.html").write_bytes(b"somebody else's")
    link = scene.instance.public / "current"
    link.unlink(missing_ok=True)
    link.symlink_to(f"releases/{folder.name}")
    scene.run("12-01 09:20", check=None)
    scene.run("12-01 09:40", check=None)
    link.unlink()
    reason = ("--reason", "somebody had used the folder")
    scene.run("12-01 09:50", check=6)
    scene.do("reviewer", "settle", FIRST, "deploy", "--did-not", *reason, now="12-01 10:00")
    scene.run("12-01 10:10", check=4)
    scene.do("reviewer", "retry", FIRST, "deploy", *reason, now="12-01 10:20")
    scene.run("12-01 10:30")


@story("unknown-confirm", confirm="2s")
def _(scene: RecordedScene) -> None:
    """The public does not show a page: not confirmed, and settled by a person; the next day's is seen later by itself."""
    scene.approve(scene.plan("12-01 08:00", "--days", "2"), "12-01 08:05")
    scene.web.missing.add("/article-0001/")
    scene.run("12-01 09:01", check=6)
    scene.run("12-01 09:30", check=6)
    reason = ("--reason", "seen from elsewhere")
    scene.do("reviewer", "settle", FIRST, "confirm", "--happened", *reason, now="12-01 10:00")
    scene.web.missing = {"/article-0003/"}
    scene.run("12-02 09:01", check=6)
    scene.web.missing.clear()
    scene.run("12-02 09:30")


@story("unknown-announcement")
def _(scene: RecordedScene) -> None:
    """A mail's outcome is not known: settled as not arrived, and told to that reader alone after a retry."""
    with mail_server() as box:
        lists = "lists: ../lists, removals: ../lists/removed.txt, pseudonym_key_secret: LIST_KEY"
        more = (
            f"    channels:\n      mail: {{kind: smtp, host: 127.0.0.1, port: {box.port}, security: none, "
            f"from: news@blog.example, {lists}, timeout: 5}}\n    announce: {{channels: [mail], list: readers, at_most: 3}}\n"
        )
        scene.edit({"publisher.yaml": scene.text("publisher.yaml") + more})
        scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")

        async def unheard(server: Any, session: Any, envelope: Any) -> str:
            server.transport.abort()
            return "250 never heard"

        box.__dict__["handle_DATA"] = unheard
        scene.run("12-01 09:01", check=6)
        scene.run("12-01 09:30", check=6)
        box.__dict__.pop("handle_DATA")
        scene.do("reviewer", "settle", FIRST, "announce", "--did-not", "--reason", "the server says so", now="12-01 10:00")
        scene.run("12-01 10:05", check=4)
        scene.do("reviewer", "retry", FIRST, "announce", "--reason", "once more", now="12-01 10:10")
        scene.run("12-01 10:15")


@story("restored")
def _(scene: RecordedScene) -> None:
    """The ledger is lost after two days, restored in a second epoch, and the third day follows."""
    scene.approve(scene.plan("12-01 08:00", "--days", "2"), "12-01 08:05")
    scene.run("12-01 09:01")
    scene.run("12-02 09:01")
    scene.instance.remote.git("update-ref", "-d", "refs/heads/publisher-state")
    scene.run("12-02 12:00", check=7)
    scene.do("ci", "reconcile", "blog", "--restore", "--json", now="12-02 12:05")
    scene.run("12-02 12:10")
    scene.approve(scene.plan("12-03 08:00"), "12-03 08:05")
    scene.run("12-03 09:01")


# --- at GitHub --------------------------------------------------------------------------------------------------------------


@story("github", target="github")
def _(instance: Any) -> None:
    """Pull requests: one merged and published, one squashed, one merged without a review, one left open."""
    instance.snapshots = []

    def do(who: str, *argv: str, now: str, check: int | None = 0) -> None:
        instance.do(who, *argv, now=now, check=check)
        refs = instance.remote.refs()
        waiting = {pull.number: pull.head_sha for pull in instance.sim.pulls.all if pull.state == "open"}
        moment = in_utc(datetime.fromisoformat(at(now)) + timedelta(seconds=30))
        state = refs[f"refs/heads/{at_github.STATE}"]
        instance.snapshots.append(
            Snapshot(now=moment, did=f"{who}: {' '.join(argv)}", default=refs["refs/heads/main"], state=state, requests=waiting)
        )

    first = instance.propose("11-30 18:00", "--date", "2026-12-01")
    instance.merge(first, "11-30 20:00")
    do("ci", "approve", "--record", now="11-30 20:01")
    do("ci", "run", "--scheduled", now="12-01 08:59")
    do("ci", "run", "--scheduled", now="12-01 09:07")
    second = instance.propose("12-01 18:00", "--date", "2026-12-02")
    instance.merge(second, "12-01 20:00", "squash")
    do("ci", "run", "--scheduled", now="12-02 09:07")
    third = instance.propose("12-02 18:00", "--date", "2026-12-03")
    instance.merge(third, "12-02 20:00", review=False)
    do("ci", "approve", "--record", now="12-02 20:01", check=4)
    do("ci", "run", "--scheduled", now="12-03 09:07", check=4)
    instance.propose("12-03 18:00", "--date", "2026-12-04")
    do("ci", "run", "--scheduled", now="12-04 09:07", check=None)
