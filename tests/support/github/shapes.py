"""The JSON of people, repositories, commits, pull requests and their history, as GitHub's API writes it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.support.github.accounts import ROLES, Account
from tests.support.github.git import Commit, Person

if TYPE_CHECKING:
    from tests.support.github.activity import Entry
    from tests.support.github.protection import Ruleset, Suite
    from tests.support.github.pulls import Pull
    from tests.support.github.reviews import Review
    from tests.support.github.simulator import Simulator

Json = dict[str, Any]
REPOSITORY_ID, FORK_ID = 700_001, 700_100
USER_LINKS = (
    "followers", "following", "gists", "starred", "subscriptions", "organizations", "repos", "events", "received_events",
)  # fmt: skip
REPO_LINKS = {
    "archive": "{archive_format}{/ref}", "assignees": "assignees{/user}", "blobs": "git/blobs{/sha}",
    "branches": "branches{/branch}", "collaborators": "collaborators{/collaborator}", "comments": "comments{/number}",
    "commits": "commits{/sha}", "compare": "compare/{base}...{head}", "contents": "contents/{+path}",
    "contributors": "contributors", "deployments": "deployments", "downloads": "downloads", "events": "events",
    "forks": "forks", "git_commits": "git/commits{/sha}", "git_refs": "git/refs{/sha}", "git_tags": "git/tags{/sha}",
    "hooks": "hooks", "issue_comment": "issues/comments{/number}", "issue_events": "issues/events{/number}",
    "issues": "issues{/number}", "keys": "keys{/key_id}", "labels": "labels{/name}", "languages": "languages",
    "merges": "merges", "milestones": "milestones{/number}", "notifications": "notifications{?since,all,participating}",
    "pulls": "pulls{/number}", "releases": "releases{/id}", "stargazers": "stargazers", "statuses": "statuses/{sha}",
    "subscribers": "subscribers", "subscription": "subscription", "tags": "tags", "teams": "teams", "trees": "git/trees{/sha}",
}  # fmt: skip


def moment(when: datetime) -> str:
    """The server's time, to the second."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(kind: str, number: int | str) -> str:
    return f"{kind}_{number}"


def user(sim: Simulator, who: Account) -> Json:
    at = f"{sim.api_url}/users/{who.login}"
    links = {f"{name}_url": f"{at}/{name}" for name in USER_LINKS}
    own = {"html_url": f"{sim.server_url}/{who.login}", "avatar_url": f"{sim.server_url}/avatars/{who.id}", "gravatar_id": ""}
    return {
        "login": who.login, "id": who.id, "node_id": node("U", who.id), "url": at, **own, **links,
        "type": who.type if sim.models("bots-are-marked") else "User", "site_admin": False, "user_view_type": "public",
    }  # fmt: skip


def user_or_null(sim: Simulator, who: Account | None) -> Json | None:
    return None if who is None or (who.deleted and sim.models("deleted-reviewers-are-null")) else user(sim, who)


def user_or_ghost(sim: Simulator, who: Account) -> Json:
    return user(sim, sim.accounts.ghost if who.deleted else who)


def app(sim: Simulator, who: Account) -> Json | None:
    """The App behind a bot's deed; nothing for a person's."""
    if not who.is_bot:
        return None
    slug = who.login.removesuffix("[bot]")
    return {
        "id": who.id % 100_000, "slug": slug, "node_id": node("A", who.id), "owner": user(sim, sim.accounts.owner),
        "name": slug, "description": "", "external_url": f"{sim.server_url}/apps/{slug}",
        "html_url": f"{sim.server_url}/apps/{slug}", "created_at": moment(sim.created_at),
        "updated_at": moment(sim.created_at), "permissions": dict(who.permissions), "events": [],
    }  # fmt: skip


def association(sim: Simulator, who: Account) -> str:
    if who.id == sim.accounts.owner.id:
        return "OWNER"
    return "COLLABORATOR" if ROLES.index(who.role) > ROLES.index("read") else "CONTRIBUTOR" if who.is_bot else "NONE"


# --- repositories -----------------------------------------------------------------------------------------------------------


def minimal_repository(sim: Simulator, fork: Account | None = None) -> Json:
    owner = fork or sim.accounts.owner
    name = f"{owner.login}/{sim.name}"
    at = f"{sim.api_url}/repos/{name}"
    links = {f"{key}_url": f"{at}/{ending}" for key, ending in REPO_LINKS.items()}
    return {
        "id": FORK_ID + owner.id if fork else REPOSITORY_ID, "node_id": node("R", owner.id), "name": sim.name,
        "full_name": name, "owner": user(sim, owner), "private": sim.private, "html_url": f"{sim.server_url}/{name}",
        "description": None, "fork": fork is not None, "url": at, **links,
    }  # fmt: skip


def repository(sim: Simulator, fork: Account | None = None) -> Json:
    """As it stands in a pull request's head and base."""
    made = minimal_repository(sim, fork)
    html, name, when = made["html_url"], made["full_name"], moment(sim.created_at)
    counted = (
        "forks", "forks_count", "stargazers_count", "watchers", "watchers_count", "open_issues", "open_issues_count", "size",
    )  # fmt: skip
    return {
        **made, **dict.fromkeys(counted, 0), "clone_url": f"{html}.git", "git_url": f"git://{html.split('//')[1]}.git",
        "svn_url": html, "ssh_url": f"git@{html.split('//')[1].split(':')[0]}:{name}.git", "mirror_url": None,
        "homepage": None, "language": None, "default_branch": sim.default, "has_downloads": True, "has_issues": True,
        "has_projects": True, "has_wiki": False, "has_pages": sim.pages.build_type != "", "has_discussions": False,
        "archived": False, "disabled": False, "visibility": "private" if sim.private else "public", "license": None,
        "pushed_at": when, "created_at": when, "updated_at": when, "allow_forking": True, "is_template": False, "topics": [],
        "web_commit_signoff_required": False,
    }  # fmt: skip


def full_repository(sim: Simulator, seen_by: Account | None) -> Json:
    made = {**repository(sim), "network_count": 0, "subscribers_count": 0}
    made["pushed_at"] = moment(sim.activity.entries[-1].at if sim.activity.entries else sim.created_at)
    if seen_by is None:
        return made
    if seen_by.kind == "user":
        levels = {"pull": "read", "triage": "triage", "push": "write", "maintain": "maintain", "admin": "admin"}
        made["permissions"] = {name: ROLES.index(seen_by.role) >= ROLES.index(role) for name, role in levels.items()}
        made["permissions"]["pull"] |= not sim.private
    if seen_by.may("contents", "write", public=not sim.private):
        methods = {"merge": "allow_merge_commit", "squash": "allow_squash_merge", "rebase": "allow_rebase_merge"}
        made |= {key: method in sim.settings.merge_methods for method, key in methods.items()}
        made |= {"delete_branch_on_merge": sim.settings.delete_branch_on_merge, "allow_auto_merge": False}
    return made


# --- commits ----------------------------------------------------------------------------------------------------------------


def person(one: Person) -> Json:
    return {"name": one.name, "email": one.email, "date": one.iso}


def verification(sim: Simulator, commit: Commit) -> Json:
    """GitHub signs what it commits on its own pages, but for rebased commits."""
    made_here = commit.sha in sim.pulls.made_here
    return {
        "verified": made_here, "reason": "valid" if made_here else "unsigned", "signature": None, "payload": None,
        "verified_at": commit.committer.iso if made_here else None,
    }  # fmt: skip


def git_commit(sim: Simulator, commit: Commit) -> Json:
    at = f"{sim.repo_url}/git/commits/{commit.sha}"
    parents = [
        {"sha": one, "url": f"{sim.repo_url}/git/commits/{one}", "html_url": f"{sim.html_url}/commit/{one}"}
        for one in commit.parents
    ]
    return {
        "sha": commit.sha, "node_id": node("C", commit.sha), "url": at, "html_url": f"{sim.html_url}/commit/{commit.sha}",
        "author": person(commit.author), "committer": person(commit.committer), "message": commit.message, "parents": parents,
        "tree": {"sha": commit.tree, "url": f"{sim.repo_url}/git/trees/{commit.tree}"},
        "verification": verification(sim, commit),
    }  # fmt: skip


def commit(sim: Simulator, sha: str) -> Json:
    found = sim.git.commit(sha)
    at, html = f"{sim.repo_url}/commits/{sha}", f"{sim.html_url}/commit/{sha}"
    inner = {
        "url": f"{sim.repo_url}/git/commits/{sha}", "author": person(found.author), "committer": person(found.committer),
        "message": found.message, "comment_count": 0, "verification": verification(sim, found),
        "tree": {"sha": found.tree, "url": f"{sim.repo_url}/git/trees/{found.tree}"},
    }  # fmt: skip
    who = {
        role: user_or_null(sim, sim.accounts.writing_from(one.email))
        for role, one in (("author", found.author), ("committer", found.committer))
    }
    parents = [
        {"sha": one, "url": f"{sim.repo_url}/commits/{one}", "html_url": f"{sim.html_url}/commit/{one}"}
        for one in found.parents
    ]
    return {
        "url": at, "sha": sha, "node_id": node("C", sha), "html_url": html, "comments_url": f"{at}/comments", "commit": inner,
        **who, "parents": parents,
    }  # fmt: skip


# --- pull requests ----------------------------------------------------------------------------------------------------------


def simple_pull(sim: Simulator, pull: Pull) -> Json:
    at, html = f"{sim.repo_url}/pulls/{pull.number}", f"{sim.html_url}/pull/{pull.number}"
    issue = f"{sim.repo_url}/issues/{pull.number}"
    links = {
        "self": at, "html": html, "issue": issue, "comments": f"{issue}/comments", "review_comments": f"{at}/comments",
        "review_comment": f"{sim.repo_url}/pulls/comments{{/number}}", "commits": f"{at}/commits",
        "statuses": f"{sim.repo_url}/statuses/{pull.head_sha}",
    }  # fmt: skip
    whose = pull.fork or sim.accounts.owner
    head_repo = None if pull.fork and pull.fork.deleted else repository(sim, pull.fork)
    head = {
        "label": f"{whose.login}:{pull.head}",
        "ref": pull.head,
        "sha": pull.head_sha,
        "user": user(sim, whose),
        "repo": head_repo,
    }
    base = {
        "label": f"{sim.owner}:{pull.base}", "ref": pull.base, "sha": pull.base_sha, "user": user(sim, sim.accounts.owner),
        "repo": repository(sim),
    }  # fmt: skip
    nothing: Json = {
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "milestone": None,
        "locked": False,
    }
    return {
        "url": at, "id": 90_000 + pull.number, "node_id": node("PR", pull.number), "html_url": html,
        "diff_url": f"{html}.diff", "patch_url": f"{html}.patch", "issue_url": issue, "number": pull.number,
        "state": pull.state, "title": pull.title, "user": user_or_ghost(sim, pull.user), "body": pull.body or None,
        "created_at": moment(pull.created_at), "updated_at": moment(pull.updated_at),
        "closed_at": pull.closed_at and moment(pull.closed_at), "merged_at": pull.merged_at and moment(pull.merged_at),
        "merge_commit_sha": pull.merge_commit_sha or None, **nothing, "labels": [label(sim, one) for one in pull.labels],
        "draft": pull.draft, "commits_url": f"{at}/commits", "review_comments_url": f"{at}/comments",
        "review_comment_url": links["review_comment"], "comments_url": links["comments"], "statuses_url": links["statuses"],
        "head": head, "base": base, "_links": {name: {"href": url} for name, url in links.items()},
        "author_association": association(sim, pull.user), "auto_merge": None, "active_lock_reason": None,
    }  # fmt: skip


def pull(sim: Simulator, one: Pull) -> Json:
    counts = sim.pulls.counts(one)
    merged = one.merged_at is not None
    able = None if merged else bool(one.test_merge)
    state = "unknown" if merged else sim.protection.mergeable_state(one) if able else "dirty"
    return {
        **simple_pull(sim, one), **counts, "merged": merged, "merged_by": user_or_null(sim, one.merged_by), "mergeable": able,
        "rebaseable": able, "mergeable_state": state, "review_comments": 0,
        "comments": len(sim.issues.comments_of(one.number)), "maintainer_can_modify": False,
    }  # fmt: skip


def label(sim: Simulator, name: str) -> Json:
    found = sim.issues.labels.get(name, {})
    return {
        "id": zlib.crc32(name.encode()), "node_id": node("LA", name), "url": f"{sim.repo_url}/labels/{name}", "name": name,
        "description": found.get("description") or "", "color": found.get("color") or "ededed", "default": False,
    }  # fmt: skip


def review(sim: Simulator, pull_: Pull, one: Review) -> Json:
    at, html = f"{sim.repo_url}/pulls/{pull_.number}", f"{sim.html_url}/pull/{pull_.number}#pullrequestreview-{one.id}"
    made = {
        "id": one.id, "node_id": node("PRR", one.id), "user": user_or_null(sim, one.user), "body": one.body,
        "state": one.state, "html_url": html, "pull_request_url": at, "author_association": association(sim, one.user),
        "_links": {"html": {"href": html}, "pull_request": {"href": at}}, "commit_id": one.commit or None,
    }  # fmt: skip
    return made if one.state == "PENDING" else {**made, "submitted_at": moment(one.submitted_at)}


def event(sim: Simulator, kind: str, actor: Account, when: datetime, number: int, **more: Any) -> Json:
    """One event of a timeline that the server noted itself."""
    return {
        "id": number, "node_id": node("EV", number), "url": f"{sim.repo_url}/issues/events/{number}",
        "actor": user_or_ghost(sim, actor), "event": kind, "commit_id": None, "commit_url": None, "created_at": moment(when),
        "performed_via_github_app": app(sim, actor), **more,
    }  # fmt: skip


# --- refs and rules ---------------------------------------------------------------------------------------------------------


def activity(sim: Simulator, entry: Entry) -> Json:
    own = sim.models("activity-has-the-servers-word") or not sim.git.resolved(entry.after)
    when = moment(entry.at) if own else sim.git.commit(entry.after).committer.iso
    return {
        "id": entry.id, "node_id": node("PSH", entry.id), "before": entry.before, "after": entry.after, "ref": entry.ref,
        "timestamp": when, "activity_type": entry.kind, "actor": user_or_null(sim, entry.actor),
    }  # fmt: skip


def parameters_of(rule: str, parameters: Mapping[str, Any]) -> Json:
    return {"parameters": dict(parameters)} if parameters else {}


def ruleset(sim: Simulator, one: Ruleset, *, detailed: bool = False, seen_by: Account | None = None) -> Json:
    made: Json = {
        "id": one.id, "name": f"rules of {one.pattern}", "target": "branch", "source_type": "Repository",
        "source": sim.repository, "enforcement": "active", "node_id": node("RRS", one.id),
        "created_at": moment(sim.created_at), "updated_at": moment(sim.created_at),
        "_links": {"self": {"href": f"{sim.repo_url}/rulesets/{one.id}"}},
    }  # fmt: skip
    if not detailed:
        return made
    made["conditions"] = {"ref_name": {"include": [one.ref], "exclude": []}}
    made["rules"] = [{"type": rule, **parameters_of(rule, parameters)} for rule, parameters in one.rules.items()]
    made["current_user_can_bypass"] = one.mode if seen_by in one.bypass else "never"
    if seen_by is not None and seen_by.may("administration", "write", public=False):
        types = {"user": "User", "app": "Integration", "deploy-key": "DeployKey"}
        made["bypass_actors"] = [
            {
                "actor_id": None if who.kind == "deploy-key" else who.id, "actor_type": types.get(who.kind, "Integration"),
                "bypass_mode": one.mode,
            }
            for who in one.bypass
        ]  # fmt: skip
    return made


def suite(sim: Simulator, one: Suite) -> Json:
    return {
        "id": one.id, "actor_id": one.actor.who.id, "actor_name": one.actor.who.login, "before_sha": one.before,
        "after_sha": one.after, "ref": one.ref, "repository_id": REPOSITORY_ID, "repository_name": sim.name,
        "pushed_at": one.at, "result": one.result, "evaluation_result": one.result,
    }  # fmt: skip
