"""The repository itself, its commits, files, refs and people.

Rules:
* a path names a file, or a folder as a list; a file above 1 MB has no content in ``contents``, only in ``git/blobs``;
* ``PUT contents`` replaces exactly the blob that the caller names: another one is 409, none is 422;
* ``POST git/refs`` only creates (422), ``PATCH git/refs`` without ``force`` only moves forward (422);
* someone's permission is ``admin``, ``write``, ``read`` or ``none``; ``role_name`` is finer; a bot is nobody here (404).
"""

from __future__ import annotations

import base64
from typing import Any

from tests.support.github import shapes
from tests.support.github.accounts import Account
from tests.support.github.answers import Answer, ApiError, Call, Page, not_found, route
from tests.support.github.simulator import Simulator

LARGEST = 1_000_000
PERMISSIONS = {"maintain": "write", "triage": "read"}


@route("GET", "")
def repository(call: Call) -> Any:
    return shapes.full_repository(call.sim, call.account)


@route("GET", "commits", "contents")
def list_commits(call: Call) -> Any:
    start = call.sim.git.resolved(call.query.get("sha", call.sim.default))
    if not start:
        raise not_found()
    path = ["--", call.query["path"]] if "path" in call.query else []
    return Page(call.sim.git.lines("rev-list", start, *path), lambda sha: shapes.commit(call.sim, sha))


def named_commit(call: Call, name: str) -> str:
    sha = call.sim.git.resolved(name) or call.sim.git.branch(name)
    if not sha:
        raise ApiError(422, f"No commit found for SHA: {name}")
    return sha


@route("GET", "commits/{ref}", "contents")
def get_commit(call: Call) -> Any:
    from tests.support.github.pulls_api import diff_entries, file_shape

    sim, sha = call.sim, named_commit(call, call.at["ref"])
    parents = sim.git.commit(sha).parents
    base = parents[0] if parents else sim.git.run("hash-object", "-t", "tree", "-w", "--stdin", stdin=b"")
    entries = diff_entries(sim.git, base, sha)
    stats = {name: sum(one[name] for one in entries) for name in ("additions", "deletions")}
    return {
        **shapes.commit(sim, sha), "stats": {**stats, "total": sum(stats.values())},
        "files": [file_shape(sim, sha, one) for one in entries[:300]],
    }  # fmt: skip


@route("GET", "git/commits/{commit_sha}", "contents")
def get_git_commit(call: Call) -> Any:
    sha = call.sim.git.resolved(call.at["commit_sha"])
    if not sha:
        raise not_found()
    return shapes.git_commit(call.sim, call.sim.git.commit(sha))


@route("GET", "git/blobs/{file_sha}", "contents")
def get_blob(call: Call) -> Any:
    sha = call.sim.git.resolved(call.at["file_sha"], "blob")
    if not sha:
        raise not_found()
    data = call.sim.git.raw("cat-file", "blob", sha).stdout
    return {
        "sha": sha, "node_id": shapes.node("B", sha), "size": len(data), "url": f"{call.sim.repo_url}/git/blobs/{sha}",
        "content": base64.encodebytes(data).decode(), "encoding": "base64",
    }  # fmt: skip


# --- files ------------------------------------------------------------------------------------------------------------------


def entry_shape(sim: Simulator, ref: str, mode: str, sha: str, size: int, path: str) -> dict[str, Any]:
    kind = {"040000": "dir", "160000": "submodule", "120000": "symlink"}.get(mode, "file")
    at, git = f"{sim.repo_url}/contents/{path}?ref={ref}", f"{sim.repo_url}/git/{'trees' if kind == 'dir' else 'blobs'}/{sha}"
    html = f"{sim.html_url}/{'tree' if kind == 'dir' else 'blob'}/{ref}/{path}"
    return {
        "name": path.rsplit("/", 1)[-1], "path": path, "sha": sha, "size": size, "type": kind, "url": at, "git_url": git,
        "html_url": html, "download_url": None if kind == "dir" else f"{sim.html_url}/raw/{ref}/{path}",
        "_links": {"self": at, "git": git, "html": html},
    }  # fmt: skip


def entries_of(sim: Simulator, commit: str, path: str) -> list[tuple[str, str, int, str]]:
    """(mode, id, size, path) of ``path`` itself, or of what a folder (with a slash at its end) holds."""
    rows = sim.git.run("ls-tree", "-l", "-z", commit, *(["--", path] if path else [])).split("\0")
    found = []
    for row in filter(None, rows):
        meta, name = row.split("\t", 1)
        mode, _, sha, size = meta.split()
        found.append((mode, sha, 0 if size == "-" else int(size), name))
    return found


@route("GET", "contents/{path}", "contents")
def get_contents(call: Call) -> Any:
    sim, ref, path = call.sim, call.query.get("ref", call.sim.default), call.at["path"].strip("/")
    commit = sim.git.resolved(ref) or sim.git.branch(ref)
    if not commit:
        raise ApiError(404, f"No commit found for the ref {ref}")
    found = entries_of(sim, commit, path)
    if not found:
        raise not_found()
    if found[0][0] == "040000":
        return [entry_shape(sim, ref, *one) for one in entries_of(sim, commit, f"{path}/")]
    made = entry_shape(sim, ref, *found[0])
    if made["type"] != "file":
        return made
    if made["size"] > LARGEST and sim.models("large-files-have-no-content"):
        return {**made, "content": "", "encoding": "none"}
    return {
        **made,
        "content": base64.encodebytes(sim.git.raw("cat-file", "blob", made["sha"]).stdout).decode(),
        "encoding": "base64",
    }


@route("GET", "contents", "contents", named="contents/{path}")
def get_root(call: Call) -> Any:
    ref = call.query.get("ref", call.sim.default)
    commit = call.sim.git.resolved(ref) or call.sim.git.branch(ref)
    if not commit:
        raise not_found()
    return [entry_shape(call.sim, ref, *one) for one in entries_of(call.sim, commit, "")]


def replaced(call: Call, blob: str) -> Any:
    """One file of a branch becomes ``blob`` (empty: it goes), as a commit on GitHub's own pages."""
    sim, path, branch = call.sim, call.at["path"], call.body.get("branch", call.sim.default)
    tip = sim.git.branch(branch)
    if not tip:
        raise ApiError(404, f"Branch {branch} not found")
    there = [sha for _, sha, _, _ in entries_of(sim, tip, path)]
    if there and "sha" not in call.body:
        raise ApiError(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if "sha" in call.body and [call.body["sha"]] != there and sim.models("contents-compare-the-blob"):
        raise ApiError(409, f"{path} does not match {call.body.get('sha')}")
    commit = sim.commit(call.actor, branch, {path: blob or None}, call.body["message"], blobs=True)
    made = shapes.git_commit(sim, sim.git.commit(commit))
    entry = next(iter(entries_of(sim, commit, path)), None)
    content = None if entry is None else entry_shape(sim, branch, *entry)
    return Answer(200 if there else 201, {"content": content, "commit": made})


@route("PUT", "contents/{path}", "contents", "write")
def put_contents(call: Call) -> Any:
    data = base64.b64decode(call.body["content"])
    return replaced(call, call.sim.git.run("hash-object", "-w", "--stdin", stdin=data))


@route("DELETE", "contents/{path}", "contents", "write")
def delete_contents(call: Call) -> Any:
    return replaced(call, "")


# --- refs -------------------------------------------------------------------------------------------------------------------


def ref_shape(sim: Simulator, ref: str, sha: str) -> Any:
    at = f"{sim.repo_url}/git/{ref}"
    target = {"type": "commit", "sha": sha, "url": f"{sim.repo_url}/git/commits/{sha}"}
    return {"ref": ref, "node_id": shapes.node("REF", ref), "url": at, "object": target}


@route("GET", "git/ref/{ref}", "contents")
def get_ref(call: Call) -> Any:
    ref = f"refs/{call.at['ref']}"
    sha = call.sim.git.refs(ref).get(ref)
    if not sha or ref.startswith("refs/forks/"):
        raise not_found()
    return ref_shape(call.sim, ref, sha)


@route("GET", "git/matching-refs/{ref}", "contents")
def matching_refs(call: Call) -> Any:
    start = f"refs/{call.at['ref']}"
    found = [one for one in call.sim.git.refs("refs/heads", "refs/tags", "refs/pull").items() if one[0].startswith(start)]
    return Page(found, lambda one: ref_shape(call.sim, *one))


@route("POST", "git/refs", "contents", "write")
def create_ref(call: Call) -> Any:
    ref, sha = call.body["ref"], call.body["sha"]
    if not call.sim.git.resolved(sha):
        raise ApiError(422, "Object does not exist")
    if call.sim.git.refs(ref) and call.sim.models("creating-a-ref-never-moves-it"):
        raise ApiError(422, "Reference already exists")
    call.sim.push_as(call.actor, sha, ref)
    return Answer(201, ref_shape(call.sim, ref, sha))


@route("PATCH", "git/refs/{ref}", "contents", "write")
def move_ref(call: Call) -> Any:
    ref, sha = f"refs/{call.at['ref']}", call.body["sha"]
    tip = call.sim.git.refs(ref).get(ref)
    if not tip or not call.sim.git.resolved(sha):
        raise ApiError(422, "Reference does not exist" if not tip else "Object does not exist")
    force = bool(call.body.get("force")) or not call.sim.models("moving-a-ref-is-a-fast-forward")
    if not force and not call.sim.git.is_ancestor(tip, sha):
        raise ApiError(422, "Update is not a fast forward")
    call.sim.push_as(call.actor, sha, ref, force=force)
    return ref_shape(call.sim, ref, sha)


@route("DELETE", "git/refs/{ref}", "contents", "write")
def delete_ref(call: Call) -> Any:
    ref = f"refs/{call.at['ref']}"
    if not call.sim.git.refs(ref):
        raise ApiError(422, "Reference does not exist")
    call.sim.push_as(call.actor, "", ref)
    return Answer(204)


def protection_of(sim: Simulator, branch: str) -> dict[str, Any]:
    return {"protected": bool(sim.protection.of(branch)), "protection": {"enabled": False}}


@route("GET", "branches", "contents")
def list_branches(call: Call) -> Any:
    sim = call.sim
    found = [(ref.removeprefix("refs/heads/"), sha) for ref, sha in sim.git.refs("refs/heads").items()]

    def shown(one: tuple[str, str]) -> Any:
        link = f"{sim.repo_url}/branches/{one[0]}/protection"
        target = {"sha": one[1], "url": f"{sim.repo_url}/commits/{one[1]}"}
        return {"name": one[0], "commit": target, **protection_of(sim, one[0]), "protection_url": link}

    return Page(found, shown)


@route("GET", "branches/{branch}", "contents")
def get_branch(call: Call) -> Any:
    sim, name = call.sim, call.at["branch"]
    sha = sim.git.branch(name)
    if not sha:
        raise ApiError(404, "Branch not found")
    at = f"{sim.repo_url}/branches/{name}"
    links = {"self": at, "html": f"{sim.html_url}/tree/{name}"}
    return {
        "name": name, "commit": shapes.commit(sim, sha), "_links": links, **protection_of(sim, name),
        "protection_url": f"{at}/protection",
    }  # fmt: skip


# --- people -----------------------------------------------------------------------------------------------------------------


@route("GET", "collaborators/{username}/permission")
def permission(call: Call) -> Any:
    found = call.sim.accounts.named(call.at["username"])
    if found is None or (found.is_bot and call.sim.models("bots-are-no-collaborators")):
        raise ApiError(404, f"{call.at['username']} is not a user")
    role = "read" if found.role == "none" and not call.sim.private else found.role
    word = PERMISSIONS.get(role, role)
    flags = {"pull": "read", "triage": "triage", "push": "write", "maintain": "maintain", "admin": "admin"}
    who = {
        **shapes.user(call.sim, found), "role_name": role,
        "permissions": {name: found.role != "none" and _reaches(role, needed) for name, needed in flags.items()},
    }  # fmt: skip
    return {"permission": word, "role_name": role, "user": who}


def _reaches(role: str, needed: str) -> bool:
    from tests.support.github.accounts import ROLES

    return ROLES.index(role) >= ROLES.index(needed)


def public_user(sim: Simulator, who: Account) -> Any:
    unknown = dict.fromkeys(("name", "company", "location", "email", "hireable", "bio", "twitter_username"))
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    when = shapes.moment(sim.created_at)
    return {**shapes.user(sim, who), **unknown, "blog": "", **counts, "created_at": when, "updated_at": when}


@route("GET", "/users/{username}")
def get_user(call: Call) -> Any:
    found = call.sim.accounts.named(call.at["username"])
    if found is None:
        raise not_found()
    return public_user(call.sim, found)


@route("GET", "/user/{account_id}")
def get_user_by_id(call: Call) -> Any:
    found = call.sim.accounts.numbered(call.number("account_id"))
    if found is None or found.kind == "deploy-key":
        raise not_found()
    return public_user(call.sim, found)


@route("GET", "/user")
def get_myself(call: Call) -> Any:
    if call.actor.is_bot:
        raise ApiError(403, "Resource not accessible by integration")
    return public_user(call.sim, call.actor)


@route("GET", "/rate_limit")
def rate_limit(call: Call) -> Any:
    now = call.sim.quota.of(call.account)
    return {"resources": {"core": now, "search": {"limit": 30, "remaining": 30, "reset": now["reset"], "used": 0}}, "rate": now}
