"""Issues, comments, labels, and the timeline that issues and pull requests share with their numbers.

Rules:
* a pull request is an issue too: it is listed among them and takes its number from the same row;
* the timeline's events carry the server's time and actor, but for ``committed``, which knows only what git says;
* a ``reviewed`` event shows the review as it is now.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.support.github import shapes
from tests.support.github.accounts import Account
from tests.support.github.answers import Answer, ApiError, Call, Page, invalid, not_found, route

if TYPE_CHECKING:
    from tests.support.github.pulls import Pull
    from tests.support.github.reviews import Review
    from tests.support.github.simulator import Simulator


@dataclass(eq=False, kw_only=True)
class Issue:
    number: int
    title: str
    body: str
    user: Account
    created_at: datetime
    updated_at: datetime
    labels: list[str] = field(default_factory=list)
    state: str = "open"
    closed_at: datetime | None = None
    closed_by: Account | None = None


@dataclass(eq=False, kw_only=True)
class Comment:
    id: int
    number: int
    user: Account
    body: str
    created_at: datetime
    updated_at: datetime


@dataclass(eq=False, kw_only=True)
class Event:
    id: int
    kind: str
    actor: Account
    at: datetime
    commit: str = ""
    review: Review | None = None
    comment: Comment | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


class Issues:
    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.all: list[Issue] = []
        self.comments: list[Comment] = []
        self.labels: dict[str, dict[str, Any]] = {}
        self.timelines: dict[int, list[Event]] = {}
        self._numbers = itertools.count(1)

    def next_number(self) -> int:
        return next(self._numbers)

    def numbered(self, number: int) -> Issue | Pull:
        found = [one for one in self.everything() if one.number == number]
        if not found:
            raise not_found()
        return found[0]

    def everything(self) -> list[Issue | Pull]:
        return [*self.all, *self.sim.pulls.all]

    def open(self, account: Account, title: str, body: str = "", labels: tuple[str, ...] = ()) -> int:
        with self.sim.lock:
            now = self.sim.now
            made = Issue(
                number=self.next_number(),
                title=title,
                body=body,
                user=account,
                created_at=now,
                updated_at=now,
                labels=list(labels),
            )
            self.all.append(made)
            for name in labels:
                self.note(made.number, "labeled", account, label={"name": name, "color": shapes.label(self.sim, name)["color"]})
            return made.number

    def comment(self, account: Account, number: int, body: str) -> int:
        with self.sim.lock:
            self.numbered(number)
            now = self.sim.now
            made = Comment(id=self.sim.new_id(), number=number, user=account, body=body, created_at=now, updated_at=now)
            self.comments.append(made)
            self.note(number, "commented", account, comment=made)
            return made.id

    def comments_of(self, number: int) -> list[Comment]:
        return [one for one in self.comments if one.number == number]

    def found_comment(self, number: int) -> Comment:
        found = [one for one in self.comments if one.id == number]
        if not found:
            raise not_found()
        return found[0]

    # --- timelines ----------------------------------------------------------------------------------------------------------

    def note(
        self, number: int, kind: str, actor: Account, *, commit: str = "", review: Review | None = None,
        comment: Comment | None = None, **more: Any,
    ) -> None:  # fmt: skip
        made = Event(
            id=self.sim.new_id(),
            kind=kind,
            actor=actor,
            at=self.sim.now,
            commit=commit,
            review=review,
            comment=comment,
            more=more,
        )
        self.timelines.setdefault(number, []).append(made)

    def forget_commits(self, number: int, kept: set[str]) -> None:
        """A timeline lists the commits that the request has now."""
        events = self.timelines.get(number, [])
        self.timelines[number] = [one for one in events if not one.commit or one.commit in kept]

    def shown(self, number: int, one: Event) -> Any:
        sim = self.sim
        if one.commit:
            made = {**shapes.git_commit(sim, sim.git.commit(one.commit)), "event": "committed"}
            return (
                made if sim.models("timeline-commits-have-their-own-dates") else {**made, "created_at": shapes.moment(one.at)}
            )
        if one.review:
            pull = sim.pulls.numbered(number)
            made = {**shapes.review(sim, pull, one.review), "event": "reviewed"}
            state = one.review.state.lower() if sim.models("timeline-shows-reviews-as-they-are") else one.more["state"]
            return {**made, "user": shapes.user_or_ghost(sim, one.review.user), "state": state}
        if one.comment:
            made = comment_shape(sim, one.comment)
            return {**made, "event": "commented", "actor": shapes.user_or_ghost(sim, one.actor)}
        return shapes.event(sim, one.kind, one.actor, one.at, one.id, **one.more)


def comment_shape(sim: Simulator, one: Comment) -> Any:
    at = f"{sim.repo_url}/issues/comments/{one.id}"
    return {
        "id": one.id, "node_id": shapes.node("IC", one.id), "url": at,
        "html_url": f"{sim.html_url}/issues/{one.number}#issuecomment-{one.id}",
        "issue_url": f"{sim.repo_url}/issues/{one.number}", "user": shapes.user_or_ghost(sim, one.user), "body": one.body,
        "created_at": shapes.moment(one.created_at), "updated_at": shapes.moment(one.updated_at),
        "author_association": shapes.association(sim, one.user), "performed_via_github_app": shapes.app(sim, one.user),
    }  # fmt: skip


def issue_shape(sim: Simulator, one: Issue | Pull) -> Any:
    at = f"{sim.repo_url}/issues/{one.number}"
    kind = "issues" if isinstance(one, Issue) else "pull"
    html = f"{sim.html_url}/{kind}/{one.number}"
    made = {
        "id": 80_000 + one.number, "node_id": shapes.node("I", one.number), "url": at, "html_url": html, "number": one.number,
        "repository_url": sim.repo_url, "labels_url": f"{at}/labels{{/name}}", "comments_url": f"{at}/comments",
        "events_url": f"{at}/events", "timeline_url": f"{at}/timeline", "title": one.title, "body": one.body or None,
        "user": shapes.user_or_ghost(sim, one.user), "labels": [shapes.label(sim, name) for name in one.labels],
        "state": one.state, "locked": False, "assignee": None, "assignees": [], "milestone": None,
        "comments": len(sim.issues.comments_of(one.number)), "created_at": shapes.moment(one.created_at),
        "updated_at": shapes.moment(one.updated_at), "closed_at": one.closed_at and shapes.moment(one.closed_at),
        "author_association": shapes.association(sim, one.user), "active_lock_reason": None,
        "state_reason": "completed" if one.state == "closed" else None, "performed_via_github_app": shapes.app(sim, one.user),
    }  # fmt: skip
    if isinstance(one, Issue):
        return {**made, "closed_by": shapes.user_or_null(sim, one.closed_by)}
    pull = f"{sim.repo_url}/pulls/{one.number}"
    links = {"url": pull, "html_url": html, "diff_url": f"{html}.diff", "patch_url": f"{html}.patch"}
    merged = {"merged_at": one.merged_at and shapes.moment(one.merged_at)}
    return {**made, "draft": one.draft, "pull_request": {**links, **merged}}


def edited(call: Call, one: Issue | Pull) -> None:
    """What ``PATCH issues/{n}`` and ``PATCH pulls/{n}`` share: labels, title and body of an issue, open and closed."""
    sim, body = call.sim, call.body
    if not isinstance(one, Issue):
        sim.pulls.edit(call.actor, one.number, title=body.get("title"), body=body.get("body"), base=body.get("base", ""))
        if body.get("state") == "closed":
            sim.pulls.close(call.actor, one.number)
        elif body.get("state") == "open":
            sim.pulls.reopen(call.actor, one.number)
    else:
        one.title, one.body = body.get("title", one.title), body.get("body", one.body)
        state = body.get("state", one.state)
        if state != one.state:
            one.state, one.closed_at = state, sim.now if state == "closed" else None
            one.closed_by = call.actor if state == "closed" else None
            sim.issues.note(one.number, "closed" if state == "closed" else "reopened", call.actor)
        one.updated_at = sim.now
    if "labels" in body:
        one.labels[:] = labels_in(body["labels"])


def labels_in(given: Any) -> list[str]:
    return [one if isinstance(one, str) else one["name"] for one in given]


@route("GET", "issues", "issues")
def list_issues(call: Call) -> Any:
    sim, query = call.sim, call.query
    state, labels = query.get("state", "open"), set(filter(None, query.get("labels", "").split(",")))
    found = [
        one
        for one in sim.issues.everything()
        if state in ("all", one.state)
        and labels <= set(one.labels)
        and query.get("creator", one.user.login) == one.user.login
        and shapes.moment(one.updated_at) >= query.get("since", "")
    ]
    moments = {"created": "created_at", "updated": "updated_at"}
    name = moments.get(query.get("sort", "created"), "created_at")
    found.sort(key=lambda one: (getattr(one, name), one.number), reverse=query.get("direction", "desc") == "desc")
    return Page(found, lambda one: issue_shape(sim, one))


@route("POST", "issues", "issues", "write")
def create_issue(call: Call) -> Any:
    if not call.body.get("title"):
        raise invalid("Issue", "title", "missing_field")
    labels = tuple(labels_in(call.body.get("labels", ())))
    number = call.sim.issues.open(call.actor, str(call.body["title"]), call.body.get("body") or "", labels)
    return Answer(201, issue_shape(call.sim, call.sim.issues.numbered(number)))


@route("GET", "issues/{issue_number}", "issues")
def get_issue(call: Call) -> Any:
    return issue_shape(call.sim, call.sim.issues.numbered(call.number("issue_number")))


@route("PATCH", "issues/{issue_number}", "issues", "write")
def edit_issue(call: Call) -> Any:
    found = call.sim.issues.numbered(call.number("issue_number"))
    edited(call, found)
    return issue_shape(call.sim, found)


@route("GET", "issues/{issue_number}/comments", "participate")
def list_comments(call: Call) -> Any:
    number = call.sim.issues.numbered(call.number("issue_number")).number
    return Page(call.sim.issues.comments_of(number), lambda one: comment_shape(call.sim, one))


@route("POST", "issues/{issue_number}/comments", "participate", "write")
def create_comment(call: Call) -> Any:
    if not call.body.get("body"):
        raise invalid("IssueComment", "body", "missing_field")
    made = call.sim.issues.comment(call.actor, call.number("issue_number"), call.body["body"])
    return Answer(201, comment_shape(call.sim, call.sim.issues.found_comment(made)))


@route("GET", "issues/comments/{comment_id}", "participate")
def get_comment(call: Call) -> Any:
    return comment_shape(call.sim, call.sim.issues.found_comment(call.number("comment_id")))


def own_comment(call: Call) -> Comment:
    found = call.sim.issues.found_comment(call.number("comment_id"))
    if found.user.id != call.actor.id and not call.actor.may("issues", "write", public=False):
        raise ApiError(403, "Must have write access to change somebody else's comment")
    return found


@route("PATCH", "issues/comments/{comment_id}", "participate", "write")
def edit_comment(call: Call) -> Any:
    found = own_comment(call)
    found.body, found.updated_at = call.body["body"], call.sim.now
    return comment_shape(call.sim, found)


@route("DELETE", "issues/comments/{comment_id}", "participate", "write")
def delete_comment(call: Call) -> Any:
    call.sim.issues.comments.remove(own_comment(call))
    return Answer(204)


@route("GET", "issues/{issue_number}/timeline", "participate")
def timeline(call: Call) -> Any:
    number = call.sim.issues.numbered(call.number("issue_number")).number
    return Page(call.sim.issues.timelines.get(number, []), lambda one: call.sim.issues.shown(number, one))


@route("GET", "issues/{issue_number}/labels", "issues")
def labels_of_issue(call: Call) -> Any:
    return Page(call.sim.issues.numbered(call.number("issue_number")).labels, lambda one: shapes.label(call.sim, one))


@route("POST", "issues/{issue_number}/labels", "labels", "write")
def add_labels(call: Call) -> Any:
    found = call.sim.issues.numbered(call.number("issue_number"))
    for name in labels_in(call.body["labels"]):
        if name not in found.labels:
            found.labels.append(name)
            color = shapes.label(call.sim, name)["color"]
            call.sim.issues.note(found.number, "labeled", call.actor, label={"name": name, "color": color})
    return [shapes.label(call.sim, name) for name in found.labels]


@route("DELETE", "issues/{issue_number}/labels/{name}", "labels", "write")
def remove_label(call: Call) -> Any:
    found = call.sim.issues.numbered(call.number("issue_number"))
    if call.at["name"] not in found.labels:
        raise ApiError(404, "Label does not exist")
    found.labels.remove(call.at["name"])
    return [shapes.label(call.sim, name) for name in found.labels]


@route("GET", "labels", "issues")
def list_labels(call: Call) -> Any:
    return Page(list(call.sim.issues.labels), lambda one: shapes.label(call.sim, one))


@route("POST", "labels", "issues", "write")
def create_label(call: Call) -> Any:
    if call.body["name"] in call.sim.issues.labels:
        raise invalid("Label", "name", "already_exists")
    call.sim.issues.labels[call.body["name"]] = dict(call.body)
    return Answer(201, shapes.label(call.sim, call.body["name"]))


@route("GET", "labels/{name}", "issues")
def get_label(call: Call) -> Any:
    if call.at["name"] not in call.sim.issues.labels:
        raise not_found()
    return shapes.label(call.sim, call.at["name"])
