"""The demo's story, chapter by chapter: plan, review, a run that is killed, recovery, a second run, and what is refused."""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from publisher.cli.demo_stage import Chapter, Running, Stage
from publisher.cli.demo_texts import SETTINGS, SITE, TITLE, draft_files, notes
from publisher.domain.article import MANIFEST_PATH
from publisher.domain.fingerprint import digest, short, tree_digest
from publisher.errors import EXIT_PERSON

UNTIL = ("planned", "approved", "confirmed")
LEASE = 3.0
"""Seconds that a claim holds in the demo; ``demo_texts.SETTINGS`` says the same."""
SEEN = 1.0
"""Seconds that the run may go on looking at an address where nobody answers, before it is killed."""
STEPS = ["approved", "prepared", "built", "deploy-intent", "deployed", "confirmed"]


class Story:
    """The whole demo on a stage. ``day`` is the date of the plan."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._folder = stage.folder
        self.url = f"http://127.0.0.1:{_free_port()}/"
        self.reached = ""
        self._lease_ends = 0.0
        self._day: date = datetime.now(UTC).date()

    @property
    def plan(self) -> str:
        return f"{SITE}/daily/{self._day.year:04d}/{self._day.isoformat()}"

    @property
    def tomorrow(self) -> str:
        return (self._day + timedelta(days=1)).isoformat()

    def go(self, until: str) -> None:
        """Plays up to a stage ("" = to the end). ``Unexpected`` at the first thing that does not hold."""
        self._instance()
        self._plan()
        self.reached = "planned"
        if until == self.reached:
            return
        self._review()
        self.reached = "approved"
        if until == self.reached:
            return
        self._killed_run()
        server = self._web_server()
        self._recovery()
        self.reached = "confirmed"
        if until == self.reached:
            return
        self._second_run()
        self._trail()
        self._refused()
        self.reached = "over"
        server.end()

    def notes(self, publisher: str) -> bytes:
        return notes(stage=self.reached, url=self.url, publisher=publisher, plan=self.plan, tomorrow=self.tomorrow)

    # --- the chapters -----------------------------------------------------------------------------------------------------

    def _instance(self) -> None:
        stage = self._stage
        stage.chapter(
            "An instance",
            "A bare repository that everybody pushes to, an editor who plans, a reviewer who approves, each with a key.",
        )
        stage.run("", "git", "init", "--quiet", "--bare", "--initial-branch=main", "remote.git")
        (self._folder / "keys").mkdir()
        for who in ("editor", "reviewer"):
            stage.run("", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", f"keys/{who}")
        self._clone("editor")
        stage.run(
            "", "publisher", "init", "editor", "--site", SITE, "--title", TITLE, "--url", self.url, "--zone", "UTC", "--target",
            "directory:../public", "--quantity", "2", "--planner", "editor@example.org=keys/editor.pub", "--reviewer",
            "reviewer@example.org=keys/reviewer.pub", "--on-call", "editor@example.org", "--no-example", "--new-site", "--yes", most=4,
        )  # fmt: skip
        drafts = draft_files()
        self._write(drafts)
        settings = self._folder / "editor/publisher.yaml"
        self._write({"publisher.yaml": settings.read_bytes() + SETTINGS})
        stage.tell(
            f"Written here, not by a command: {len(drafts)} short drafts below editor/drafts/{SITE}/, and at the end of "
            f"publisher.yaml that a claim holds for 3 seconds (10 minutes is usual)."
        )
        sources = sorted({path.rpartition("/")[0] for path in drafts})
        stage.run("editor", "publisher", "queue", "add", *sources, shown=f"publisher queue add drafts/{SITE}/*", most=3)
        stage.run("editor", "git", "add", "--all")
        stage.run("editor", "git", "commit", "--quiet", "-m", "A new instance")
        stage.run("editor", "git", "push", "--quiet", "origin", "main")
        self._clone("reviewer")
        self._clone("ci")
        stage.check(self._live() == {}, "nothing is public yet")

    def _plan(self) -> None:
        stage = self._stage
        stage.chapter("Plan", "The editor proposes the next two articles of the queue for today. A proposal binds nothing yet.")
        said = stage.run("editor", "publisher", "plan").said
        named = [line.split()[0] for line in said if line.startswith(f"{SITE}/daily/")]
        stage.check(len(named) == 1, "one plan, for one date")
        self._day = date.fromisoformat(named[0].rpartition("/")[2])
        seen = stage.run("editor", "git", "ls-remote", "origin", "refs/heads/publisher/requests/*")
        stage.check(len(seen.said) == 1 and seen.said[0].endswith("/requests/1"), "the proposal waits as request 1")

    def _review(self) -> None:
        stage = self._stage
        stage.chapter("Review", "Somebody else approves, in their own clone. The signature names exactly this payload.")
        stage.run("reviewer", "publisher", "approve")
        stage.run("reviewer", "publisher", "approve", "1", "--yes")
        seen = stage.run("reviewer", "git", "cat-file", "blob", f"origin/main:plans/{self.plan}.yaml", cut=True)
        stage.check(
            sum(line.startswith("  - {id: a-") for line in seen.said) == 2, "two articles stand approved on the default branch"
        )

    def _killed_run(self) -> None:
        stage = self._stage
        stage.chapter(
            "A run, killed",
            "CI deploys, and looks for the pages in public. No web server runs at the address yet, so it waits; then it is killed.",
        )
        running = stage.begin("ci", "publisher", "run")
        waits = stage.watch(running, self._folder / "public/current", SEEN)
        stage.check(waits, "the release is at the target, and the run waits until the public can see it")
        stage.kill(running)
        self._lease_ends = time.monotonic() + LEASE
        stage.check(
            len(self._live()) > 0, "the machine is gone; nothing was confirmed, and the ledger still says: about to deploy"
        )

    def _web_server(self) -> Running:
        stage = self._stage
        stage.chapter("The web server", "Now the site's address answers, with whatever the target holds.")
        server = stage.begin("ci", "publisher", "serve")
        said = stage.first_line(server)
        listed = self._manifest()
        stage.check(said == self.url and len(listed) == 2, f"{self.url} answers, and lists two articles")
        return server

    def _recovery(self) -> None:
        stage = self._stage
        left = max(0.0, self._lease_ends - time.monotonic())
        wait = f" It waits until the claim of the killed run has lapsed (about {left:.0f} s)." if left >= 1 else ""
        stage.chapter(
            "Recovery",
            f"Another machine, with a fresh clone.{wait} It shuts the killed run out at the target, looks at what is really there, "
            "and finishes the same work.",
        )
        self._clone("ci-2")
        # The claim was made before the kill, so it lapses no later than this.
        time.sleep(max(0.0, self._lease_ends - time.monotonic()) + 0.2)
        stage.run("ci-2", "publisher", "run")
        seen = stage.run("ci-2", "git", "cat-file", "blob", f"origin/main:ledger/{self.plan}.jsonl", cut=True)
        events = [event for event in map(json.loads, seen.said) if event["type"] != "noticed"]
        stage.check([event["type"] for event in events] == STEPS, "the same two articles are confirmed: one intent, one deploy")
        stage.check(events[4]["how"] == "seen", "the deploy was found at the target and recorded, not repeated")

    def _second_run(self) -> None:
        stage = self._stage
        stage.chapter("A second run adds nothing", "The same command again. Compare the remote and every byte of the target.")
        before = self._facts(tell=True)
        stage.run("ci-2", "publisher", "run")
        stage.check(self._facts(tell=True) == before, "no record, no push, no deploy")

    def _trail(self) -> None:
        stage = self._stage
        stage.chapter(
            "The audit trail", "Plans in, ledger out: git log is the story, and an audit proves it from the clone alone."
        )
        stage.run("ci-2", "git", "log", "--oneline", "origin/main", cut=True)
        stage.run(
            "ci-2",
            "publisher",
            "audit",
            why="everything public was approved, in order, and its text is made again from its source",
        )

    def _refused(self) -> None:
        stage, name = self._stage, f"{SITE}/daily/{self.tomorrow[:4]}/{self.tomorrow}"
        stage.chapter(
            "Without a review",
            "The editor writes tomorrow's plan, exchanges the order of its articles, and pushes it straight to the default branch.",
        )
        stage.run("editor", "git", "pull", "--quiet", "--ff-only", "origin", "main")
        stage.run("editor", "publisher", "plan", "--date", self.tomorrow, "--local")
        path = f"plans/{name}.yaml"
        self._write({path: _exchanged((self._folder / "editor" / path).read_bytes())})
        stage.tell(f"Written here: editor/{path} with its two articles in the other order.")
        stage.run("editor", "git", "add", "plans")
        stage.run("editor", "git", "commit", "--quiet", "-m", "Approved by everybody, honestly")
        stage.run("editor", "git", "push", "--quiet", "origin", "HEAD:main")
        before = self._facts()
        stage.run(
            "ci-2",
            "publisher",
            "run",
            name,
            "--yes",
            ends=EXIT_PERSON,
            why=f"refused (exit {EXIT_PERSON}: a person must decide)",
        )
        stage.check(self._facts() == before, "nothing was written, and nothing new is public")
        stage.run("editor", "git", "revert", "--no-edit", "HEAD", most=1)
        stage.run("editor", "git", "push", "--quiet", "origin", "HEAD:main")

    # --- facts ------------------------------------------------------------------------------------------------------------

    def _facts(self, *, tell: bool = False) -> tuple[str, dict[str, str]]:
        """Where the remote's branch is, and a digest of every file of the target."""
        remote = self._stage.run("", "git", "-C", "remote.git", "rev-parse", "main").said[-1]
        live = self._live()
        if tell:
            self._stage.tell(f"the target: {len(live)} files, digest over all of them {short(tree_digest(live))}")
        return remote, live

    def _live(self) -> dict[str, str]:
        """Every file below the target with its digest, links by where they lead."""
        root = self._folder / "public"
        found = {}
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_symlink():
                found[name] = digest(str(path.readlink()).encode())
            elif path.is_file():
                found[name] = digest(path.read_bytes())
        return found

    def _manifest(self) -> Sequence[Any]:
        """The articles that the site's address lists."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(self.url + MANIFEST_PATH, timeout=10) as answer:
                listed = json.load(answer)["articles"]
        except (OSError, ValueError, KeyError):
            return ()
        return listed if isinstance(listed, list) else ()

    # --- hands ------------------------------------------------------------------------------------------------------------

    def _clone(self, who: str) -> None:
        key = ("-c", f"publisher.signingkey=../keys/{who}") if (self._folder / "keys" / who).exists() else ()
        identity = ("-c", f"user.name={who}", "-c", f"user.email={who}@example.org")
        self._stage.run("", "git", "clone", "--quiet", *identity, *key, "remote.git", who, most=1)

    def _write(self, files: dict[str, bytes]) -> None:
        from publisher.wiring import write_file

        for path, data in files.items():
            write_file(self._folder / "editor" / path, data)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _exchanged(plan: bytes) -> bytes:
    """A plan's text with its two articles in the other order."""
    head, first, second = plan.rstrip(b"\n").rsplit(b"\n", 2)
    return b"\n".join([head, second, first, b""])


def table(chapters: Sequence[Chapter]) -> Iterator[str]:
    """One line per chapter, with its time and whether everything held."""
    width = max(len(chapter.title) for chapter in chapters)
    for number, chapter in enumerate(chapters, start=1):
        held = sum(ok for _, ok in chapter.checked)
        mark = "✓" if chapter.holds else "✗"
        yield f"{mark} {number}  {chapter.title.ljust(width)}  {chapter.seconds:5.1f} s   {held} of {len(chapter.checked)} held"
