"""The endpoints of pull requests; what they mean is in ``pulls.py``."""

from __future__ import annotations

from typing import Any

from tests.support.github import shapes
from tests.support.github.answers import Answer, ApiError, Call, Page, not_found, route
from tests.support.github.git import BareGit
from tests.support.github.simulator import Simulator

MOST_FILES, MOST_COMMITS = 3000, 250
STATUSES = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "C": "copied", "T": "changed"}


@route("GET", "pulls", "pull_requests")
def list_pulls(call: Call) -> Any:
    query = call.query
    state, head = query.get("state", "open"), query.get("head", "")
    found = [
        one
        for one in call.sim.pulls.all
        if state in ("all", one.state)
        and query.get("base", one.base) == one.base
        and head in ("", f"{(one.fork or call.sim.accounts.owner).login}:{one.head}")
    ]
    by_update = query.get("sort") == "updated"
    found.sort(
        key=lambda one: (one.updated_at if by_update else one.created_at, one.number),
        reverse=query.get("direction", "desc" if query.get("sort", "created") == "created" else "asc") == "desc",
    )
    return Page(found, lambda one: shapes.simple_pull(call.sim, one))


@route("POST", "pulls", "participate", "write")
def create_pull(call: Call) -> Any:
    body = call.body
    number = call.sim.pulls.open(
        call.actor, body["head"], body["base"], body.get("title", ""), body.get("body") or "", bool(body.get("draft"))
    )
    made = shapes.pull(call.sim, call.sim.pulls.numbered(number))
    return Answer(201, made, {"Location": made["url"]})


@route("GET", "pulls/{pull_number}", "pull_requests")
def get_pull(call: Call) -> Any:
    found = call.sim.pulls.numbered(call.number("pull_number"))
    call.sim.pulls.test(found)
    return shapes.pull(call.sim, found)


@route("PATCH", "pulls/{pull_number}", "participate", "write")
def edit_pull(call: Call) -> Any:
    from tests.support.github.issues import edited

    found = call.sim.pulls.numbered(call.number("pull_number"))
    allowed = call.actor.may("pull_requests", "write", public=not call.sim.private)
    if found.user.id != call.actor.id and not allowed:
        raise not_found()
    edited(call, found)
    return shapes.pull(call.sim, found)


@route("GET", "pulls/{pull_number}/commits", "pull_requests")
def commits_of_pull(call: Call) -> Any:
    commits = call.sim.pulls.commits(call.sim.pulls.numbered(call.number("pull_number")))
    return Page(commits[:MOST_COMMITS], lambda sha: shapes.commit(call.sim, sha))


@route("GET", "pulls/{pull_number}/files", "pull_requests")
def files_of_pull(call: Call) -> Any:
    found = call.sim.pulls.numbered(call.number("pull_number"))
    base, _ = call.sim.pulls.span(found)
    entries = diff_entries(call.sim.git, base, found.head_sha) if base else []
    most = MOST_FILES if call.sim.models("files-end-at-3000") else len(entries)
    return Page(entries[:most], lambda one: file_shape(call.sim, found.head_sha, one))


@route("GET", "pulls/{pull_number}/merge", "pull_requests")
def is_merged(call: Call) -> Any:
    if call.sim.pulls.numbered(call.number("pull_number")).merged_at is None:
        raise not_found()
    return Answer(204)


@route("PUT", "pulls/{pull_number}/merge", "contents", "write")
def merge_pull(call: Call) -> Any:
    body = call.body
    lines = [one for one in (body.get("commit_title"), body.get("commit_message")) if one]
    message = "\n\n".join(lines)
    made = call.sim.pulls.merge(
        call.actor, call.number("pull_number"), body.get("merge_method", "merge"), body.get("sha"), message=message
    )
    return {"sha": made, "merged": True, "message": "Pull Request successfully merged"}


@route("PUT", "pulls/{pull_number}/update-branch", "pull_requests", "write")
def update_branch(call: Call) -> Any:
    number = call.number("pull_number")
    call.sim.pulls.update_branch(call.actor, number, call.body.get("expected_head_sha", ""))
    return Answer(202, {"message": "Updating pull request branch.", "url": f"{call.sim.repo_url}/pulls/{number}"})


@route("GET", "commits/{commit_sha}/pulls", "pull_requests")
def pulls_of_commit(call: Call) -> Any:
    sha = call.sim.git.resolved(call.at["commit_sha"])
    if not sha:
        raise ApiError(422, f"No commit found for SHA: {call.at['commit_sha']}")
    return Page(call.sim.pulls.of_commit(sha), lambda one: shapes.simple_pull(call.sim, one))


# --- differences ------------------------------------------------------------------------------------------------------------


def diff_entries(git: BareGit, base: str, head: str) -> list[dict[str, Any]]:
    """One entry for each changed file: status, blob, names, counts."""
    raw = git.run("diff", "--raw", "--no-abbrev", "-M", "-z", base, head).split("\0")
    counted = _counts(git, base, head)
    entries, at = [], 0
    while at + 1 < len(raw):
        _, _, old, new, status = raw[at].removeprefix(":").split(" ")
        renamed = status[0] in "RC"
        name = raw[at + 2] if renamed else raw[at + 1]
        plus, minus = counted.get(name, (0, 0))
        entry = {"filename": name, "status": STATUSES[status[0]], "sha": old if status == "D" else new, "additions": plus}
        entry |= {"deletions": minus, "changes": plus + minus, **({"previous_filename": raw[at + 1]} if renamed else {})}
        entries.append(entry)
        at += 3 if renamed else 2
    return entries


def _counts(git: BareGit, base: str, head: str) -> dict[str, tuple[int, int]]:
    parts = git.run("diff", "--numstat", "-M", "-z", base, head).split("\0")
    found, at = {}, 0
    while at < len(parts) and parts[at]:
        plus, minus, name = parts[at].split("\t")
        if not name:  # a renamed file: its two names follow
            name, at = parts[at + 2], at + 2
        found[name] = (0, 0) if plus == "-" else (int(plus), int(minus))
        at += 1
    return found


def file_shape(sim: Simulator, head: str, entry: dict[str, Any]) -> Any:
    name = entry["filename"]
    return {
        **entry, "blob_url": f"{sim.html_url}/blob/{head}/{name}", "raw_url": f"{sim.html_url}/raw/{head}/{name}",
        "contents_url": f"{sim.repo_url}/contents/{name}?ref={head}",
    }  # fmt: skip
