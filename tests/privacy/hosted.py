"""The same drafts in a private repository of their own, the instance in public, its gate at the simulated GitHub.

Here plans name ids, addresses and categories of what is coming, and nothing more; requests, comments, issues, statuses and logs are
read by everybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.privacy.outlets import Watch, text_of
from tests.privacy.sentinels import MARK, TOKEN
from tests.privacy.stories import QUEUE, drafts, queue
from tests.support.github import http_server
from tests.support.github_instance import GithubInstance, github_instance
from tests.support.gitrepos import bare, clone
from tests.support.instance import draft, source

ALERTS = "alerts: {kind: github-issue}"


class Hosted:
    """A public instance at the simulated GitHub, watched."""

    def __init__(self, folder: Path, instance: GithubInstance, heard: list[bytes]) -> None:
        self.instance, self.sim, self.heard = instance, instance.sim, heard
        self.private = clone(bare(folder / "drafts.git"), folder / "private")
        articles = {f"{source(n)}/index.md": draft(n, "guide" if n % 2 else "note").encode() for n in range(1, 9)}
        self.private.commit({**articles, **drafts()}, "The drafts")
        self.private.push()
        gone = dict.fromkeys(articles)
        alerts = f"alerts: {{kind: file, path: {instance.folder / 'alerts.jsonl'}}}"
        policy = self.text("plans/blog/policy.yaml").replace("2026-01-01", "2026-12-01")
        configuration = self.text("publisher.yaml").replace(alerts, ALERTS).replace("[ops@example.org]", "[ann]")
        self.moment("11-29 08:00")
        self.edit(
            {
                **gone, QUEUE: queue(), "plans/blog/policy.yaml": policy,
                "publisher.yaml": f"{configuration}drafts: {{repository: '{folder / 'drafts.git'}', branch: main}}\n",
            }
        )  # fmt: skip
        instance.environment |= {"LIST_KEY": f"{TOKEN}-of-the-list", "SMTP_PASSWORD": f"{TOKEN}-of-the-mail"}
        root = instance.remote.git("rev-list", "--max-parents=0", "main").split()[-1]
        instance.environment["PUBLISHER_ROOT"] = root
        self.watch = Watch(instance, folder / "watch", (self.sim.bare,))

    def text(self, path: str) -> str:
        return self.instance.remote.git("show", f"main:{path}") + "\n"

    def edit(self, files: Mapping[str, bytes | str | None]) -> None:
        """By the owner; the default branch of this instance is not protected."""
        self.sim.commit(self.instance.people["owner"], "main", files, "An edit")

    def moment(self, moment: str) -> str:
        self.instance.go_to(moment)
        return moment

    def do(self, who: str, *argv: str, now: str, **more: Any) -> Any:
        self.moment(now)
        return self.watch.do(who, *argv, now=now, actions=True, **more)

    def merge(self, number: int, now: str) -> None:
        self.instance.merge(number, now)

    def open_numbers(self) -> list[int]:
        return [pull.number for pull in self.sim.pulls.all if pull.state == "open"]

    def finish(self) -> Watch:
        self.watch.collect(())
        for pull in self.sim.pulls.all:
            self.watch.add("pull requests", str(pull.number), text_of([pull.title, pull.body, pull.head, pull.labels]))
        for comment in self.sim.issues.comments:
            on_pull = comment.number in {pull.number for pull in self.sim.pulls.all}
            self.watch.add("pull requests" if on_pull else "issues", str(comment.number), comment.body.encode())
        for issue in self.sim.issues.all:
            self.watch.add("issues", str(issue.number), text_of([issue.title, issue.body, issue.labels]))
        for status in self.sim.checks.statuses:
            self.watch.add("statuses", status.sha, text_of([status.context, status.description, status.target_url]))
        for number, request in enumerate(self.heard):
            self.watch.add("host requests", str(number), request)
        return self.watch


@contextmanager
def hosted(folder: Path) -> Iterator[Hosted]:
    """The instance, with everything noted that the host's API is asked and told."""
    heard: list[bytes] = []
    plain = http_server.Api.answer

    def answer(
        self: http_server.Api, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> Any:
        # The token in its own header is what the host is given on purpose.
        kept = {name: value for name, value in headers.items() if name != "authorization"}
        heard.append(f"{method} {path} ".encode() + text_of([query, kept]) + b"\n" + body)
        return plain(self, method, path, query, headers, body)

    http_server.Api.answer = answer  # type: ignore[method-assign]
    try:
        with github_instance(folder, articles=8, publish_time="09:00", private=False) as instance:
            yield Hosted(folder, instance, heard)
    finally:
        http_server.Api.answer = plain  # type: ignore[method-assign]


def public_story(hosted: Hosted) -> None:
    """Proposed, reviewed, merged, run, corrected, withdrawn; a second request waits; a schedule fails and somebody is told."""
    hosted.do("planner", "plan", "--days", "3", "--json", now="12-01 08:00", check=0)
    (first,) = hosted.open_numbers()
    hosted.do("ci", "review", "--request", str(first), "--post", now="12-01 08:01")
    hosted.merge(first, "12-01 08:05")
    hosted.do("ci", "approve", "--record", now="12-01 08:06", check=0)
    hosted.do("planner", "plan", "--date", "2026-12-04", now="12-01 08:07", check=0)
    hosted.do("ci", "run", "--json", now="12-01 09:01", check=0)
    hosted.private.commit({f"{source(1)}/index.md": draft(1, "guide").encode() + f"\n{MARK}\n".encode()}, "Not approved")
    hosted.private.push()
    hosted.do("ci", "run", now="12-02 09:01", check=0)
    hosted.private.commit({f"{source(2)}/index.md": draft(2, "note").encode() + b"\nA better sentence.\n"}, "Corrected")
    hosted.private.push()
    for argv in (("correct", "a-0002"), ("withdraw", "a-0003")):
        before = set(hosted.open_numbers())
        hosted.do("planner", "change", *argv, "--reason", "it is better so", now="12-02 10:00", check=0)
        (number,) = set(hosted.open_numbers()) - before
        hosted.do("ci", "review", "--request", str(number), "--post", "--json", now="12-02 10:01")
        hosted.merge(number, "12-02 10:02")
        hosted.do("ci", "run", "--json", now="12-02 10:03", check=0)
    hosted.do("ci", "review", "--requests", "--post", now="12-02 10:04")
    hosted.do("ci", "status", "--fresh", "--json", now="12-02 10:05")
    hosted.do("ci", "audit", now="12-02 10:06")
    hosted.do("ci", "watch", "--no-ping", now="12-04 12:00")
    hosted.sim.faults.next("GET /repos/*", status=503, times=1000)
    hosted.do("ci", "run", "--scheduled", now="12-04 12:05")
    hosted.sim.faults.clear()
