"""``publisher review``: what a request would approve and make public, and what is wrong with it, before anybody approves it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import ci_report, output
from publisher.cli.opening import asked_of
from publisher.cli.verb import Verb
from publisher.errors import ComeBackLater, InputProblem, NeedsPerson, UsageProblem, worst

if TYPE_CHECKING:
    from publisher.cli.review_asked import Event
    from publisher.domain.instance import Instance
    from publisher.engine.review_desk import Requested, ReviewDoors
    from publisher.engine.reviewing import Review
    from publisher.ports import Tips
    from publisher.wiring import Wired

PUBLIC_INSTANCE = "they are private and this repository is not known to be: none was opened, and nothing was rendered"
FROM_A_FORK = "they lie in a private repository and this request comes from a fork: none was opened, and nothing was rendered"


@click.command(
    cls=Verb,
    examples=(
        "publisher review                       # in a job of a pull_request event: that request",
        "publisher review --base main --head my-branch --output /tmp/site",
        "publisher review --request 7 --post    # with its comment and commit status",
        "publisher review --requests --post     # every request that publisher opened itself",
    ),
)
@click.option("--base", metavar="REF", help="The default branch to judge by; as the remote has it when absent.")
@click.option("--head", metavar="REF", help="The commit that is proposed.")
@click.option("--request", "number", metavar="N", type=click.IntRange(1, 999_999_999), help="The request's number.")
@click.option("--requests", "every", is_flag=True, help="Every open request that publisher opened.")
@click.option("--output", "folder", metavar="DIR", type=click.Path(file_okay=False), help="Render the site with it into DIR.")
@click.option("--post", is_flag=True, help="Comment on the request and set its commit status.")
@click.pass_context
def command(
    context: click.Context, base: str | None, head: str | None, number: int | None, every: bool, folder: str | None, post: bool
) -> int:
    """Judge a request before anybody approves it: each problem at its line, the payloads, the leak scan.

    Reads git objects only and executes nothing of the request; the default branch's rules judge it. Ends with 3 when
    something must be fixed, 7 when private text would become public.
    """
    if every and (base or head or number or folder):
        raise UsageProblem("review-which", "--requests goes with no --base, --head, --request or --output")
    with _opened(context) as wired:
        wired.git.require_trustworthy()
        if folder:
            _require_output(wired, Path(folder))
        job = _Job(wired, post=post, folder=folder or "")
        reviews = job.every() if every else [job.one(base, head, number)]
    return _tell(context, job, reviews, every=every)


@contextmanager
def _opened(context: click.Context) -> Iterator[Wired]:
    """The instance, with a temporary object store: a review leaves the clone as it is."""
    from publisher.wiring import open_instance

    with output.progress() as progress, tempfile.TemporaryDirectory(prefix="publisher-review-") as objects:
        yield open_instance(asked_of(context).start, progress=progress, objects=Path(objects))


def _require_output(wired: Wired, folder: Path) -> None:
    inside = folder.resolve()
    for part in ("site-src", "drafts", "plans", "ledger", "publisher", ".git"):
        if inside.is_relative_to((wired.root / part).resolve()):
            raise UsageProblem("bad-output", f"pages are never rendered into {part}/, where a build could read them")
    if folder.exists() and any(folder.iterdir()):
        raise UsageProblem("not-empty", "the output directory is not empty", next="name a new directory")


class _Job:
    """The reviews of one command, and what became of posting them."""

    def __init__(self, wired: Wired, *, post: bool, folder: str) -> None:
        self.wired = wired
        self.post = post
        self.folder = folder
        self.posted: dict[str, dict[str, str]] = {}
        """Why something was not posted, by head."""
        self.codes: list[int] = []
        self.connected = False
        self._tips_at: dict[str, Tips] = {}

    # --- which ----------------------------------------------------------------------------------------------------------------

    def one(self, base: str | None, head: str | None, number: int | None) -> Review:
        """The request that the options name, else that of the event which started this job."""
        from publisher.cli.review_asked import event_of

        if head:
            tips = self._local(base)
            requested = self._requested(tips, self._commit(head, "--head"), number or 0, fork=False, private=None)
        elif number:
            tips = self._look()
            found = tips.requests.get(number) or self._fetched(number, "")
            requested = self._requested(tips, found, number, fork=False, private=None)
        elif ci_report.in_actions():
            requested = self._of_event(event_of(self.wired.environment))
        else:
            raise UsageProblem("what-to-review", "say what to review", next="publisher review --base main --head BRANCH")
        return self._review(requested)

    def every(self) -> list[Review]:
        """Every open request of publisher's own."""
        from publisher.cli.review_asked import is_private, payload_of

        tips = self._look()
        private = is_private(payload_of(self.wired.environment))
        waiting = [(number, head) for number, head in sorted(tips.requests.items())]
        waiting = [(number, head) for number, head in waiting if not self.wired.git.is_ancestor(head, tips.default)]
        return [self._review(self._requested(tips, head, number, fork=False, private=private)) for number, head in waiting]

    def _of_event(self, event: Event) -> Requested:
        tips = self._look()
        head = self._fetched(event.number, event.head)
        requested = self._requested(tips, head, event.number, fork=event.fork, private=event.private)
        default = self.wired.store.instance(tips.default).default_branch
        return requested if event.branch == default else replace(requested, aside=event.branch or "(unnamed)")

    def _local(self, base: str | None) -> Tips:
        """The tips that this clone knows, with another base where one is named. Opens no connection."""
        tips: Tips = self.wired.store.tips()
        default = self._commit(base, "--base") if base else tips.default
        drafts = tips.drafts if self.wired.store.instance(default).drafts.remote else default
        return replace(tips, default=default, drafts=drafts)

    def _commit(self, name: str, option: str) -> str:
        found: str = self.wired.git.resolve(name)
        if not found:
            raise UsageProblem("no-such-commit", f"{option} names no commit of this clone", next="git fetch")
        return found

    def _look(self) -> Tips:
        """The remote's tips now, without drafts of another repository."""
        self.connected = True
        self.wired.progress("asking the remote")
        tips: Tips = self.wired.store.refresh(drafts=False)
        return tips

    def _fetched(self, number: int, head: str) -> str:
        """The head of a request, brought here where it is missing. ``head`` "" is whatever it is now."""
        if head and self.wired.git.resolve(head):
            return head
        ref = f"refs/pull/{number}/head"
        now = self.wired.git.remote_refs("origin", [ref]).get(ref, "") if number else ""
        if now:
            self.wired.git.fetch("origin", [ref])
        if not now or not self.wired.git.resolve(head or now):
            raise ComeBackLater(
                "request-moved", "the remote has this request's head no longer", next="look at its newest review"
            )
        return head or now

    # --- how ------------------------------------------------------------------------------------------------------------------

    def _requested(self, tips: Tips, head: str, number: int, *, fork: bool, private: bool | None) -> Requested:
        from publisher.engine.review_desk import Requested

        instance = self.wired.store.instance(tips.default)
        vars(self.wired)["instance"] = instance  # the base's, whatever this job has checked out
        closed = self._closed(instance, fork, private)
        return Requested(tips=self._with_drafts(tips, instance, closed), head=head, number=number, closed=closed)

    def _closed(self, instance: Instance, fork: bool, private: bool | None) -> str:
        """Why drafts are not opened. Where they lie in this very repository, whoever reads the request may read them."""
        shown_to_others = self.post or ci_report.in_actions()
        if not instance.drafts.remote or not shown_to_others:
            return ""
        if fork:
            return FROM_A_FORK
        if private is None and instance.forge == "github" and self.connected:
            found = self.wired.host.get("")
            private = found.get("private") if isinstance(found, dict) else None
        return "" if private is True else PUBLIC_INSTANCE

    def _with_drafts(self, tips: Tips, instance: Instance, closed: str) -> Tips:
        if not instance.drafts.remote or closed or tips.drafts or not self.connected:
            return tips
        if tips.default not in self._tips_at:
            try:
                self._tips_at[tips.default] = self.wired.store.refresh()
            except (ComeBackLater, InputProblem, NeedsPerson):
                self._tips_at[tips.default] = tips  # the review says that it could not read them
        return replace(tips, drafts=self._tips_at[tips.default].drafts)

    def _review(self, requested: Requested) -> Review:
        from publisher.engine.reviewing import review

        found = review(self._doors, requested, Path(self.folder) if self.folder and not requested.closed else None)
        if self.post:
            self._post(found)
        return found

    @cached_property
    def _doors(self) -> ReviewDoors:
        from publisher.engine.review_desk import ReviewDoors

        wired = self.wired
        # What the ledger recorded judges what stands; only a payload's earlier rejection is asked of the host.
        online = self.connected and wired.instance.forge == "github"
        verdict = wired.host_forge.verdict if online else wired.forge.verdict
        return ReviewDoors(
            reads=wired.store, git=wired.git, forge=wired.forge, verdict=verdict, files=wired.proposed_files, builder=wired.builder,
            clock=wired.clock, progress=wired.progress,
        )  # fmt: skip

    # --- posting --------------------------------------------------------------------------------------------------------------

    def _post(self, review: Review) -> None:
        from publisher.cli.review_text import comment, status_line

        self.wired.progress("posting")
        why = self.posted.setdefault(review.head, {})
        if self.wired.instance.forge != "github":
            why["status"] = why["comment"] = "forge git shows no pull requests"
            return
        board = self.wired.review_board
        with self._told(why, "status"):
            why["status"] = board.status(review.head, review.good, status_line(review))
        if review.number:
            with self._told(why, "comment"):
                text = comment(review, self._page())
                why["comment"] = board.comment(review.number, review.head, text, only_edit=not review.concerns)

    @contextmanager
    def _told(self, why: dict[str, str], what: str) -> Iterator[None]:
        try:
            yield
        except ComeBackLater as refusal:
            why[what] = refusal.says
            self.codes.append(refusal.exit_code)

    def _page(self) -> str:
        """The address of this run, where it keeps the pages that were rendered."""
        names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
        server, repository, run = (self.wired.environment.get(name, "") for name in names)
        page = f"{server}/{repository}/actions/runs/{run}"
        return page if self.folder and re.fullmatch(r"https?://[A-Za-z0-9.:_/-]+/actions/runs/[0-9]+", page) else ""


def _tell(context: click.Context, job: _Job, reviews: list[Review], *, every: bool) -> int:
    from publisher.cli import review_text

    code = worst([*(review.exit_code for review in reviews), *job.codes])
    if asked_of(context).as_json:
        listed = [_data(job, review) for review in reviews]
        output.say_json(
            {"schema": "publisher.reviews/1", "reviews": listed, "exit": code} if every else {**listed[0], "exit": code}
        )
    else:
        for review in reviews:
            review_text.tell(review, job.folder)
        if not reviews:
            output.say("no open request")
    for review in reviews:
        if not every:
            review_text.annotate(review)
        review_text.summarise(review)
        for what, reason in job.posted.get(review.head, {}).items():
            if reason:
                output.note(f"({what} not posted: {reason})")
    return code


def _data(job: _Job, review: Review) -> Mapping[str, Any]:
    posted = {what: reason or None for what, reason in job.posted.get(review.head, {}).items()}
    return {**review.as_data(), "not_posted": posted} if job.post else review.as_data()
