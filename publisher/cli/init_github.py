"""What ``init --github`` writes beside an instance's own files: workflows that call publisher's, who is asked, what editors check.

The texts are files in ``templates/github``; words such as ``__ZONE__`` in them are replaced here.

Rules:
* the arrangement that is written when nothing else is asked for is a private instance that deploys into a public site's repository;
* what is called from publisher's repository is named by its full commit: nobody else decides later what runs here;
* a workflow hands on the secrets that this instance needs, by name, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from publisher.cli.init_answers import Given
from publisher.cli.new_instance import Answers
from publisher.domain.instance import Instance
from publisher.errors import UsageProblem

USES = ""
"""``OWNER/NAME@COMMIT`` of the release that this is; written here when a release is made. Without one it has to be said."""
STATE_BRANCH = "publisher-state"
SITE_BRANCH = "gh-pages"
DEPLOY_KEY = "PUBLISHER_DEPLOY_KEY"
APP_KEY = "PUBLISHER_APP_PRIVATE_KEY"
PING = "PUBLISHER_PING_URL"
TEMPLATES = Path(__file__).parent / "templates" / "github"
EDITOR = ".vscode"

FIRST, AGAIN, WATCH = 7, 101, 149
"""Minutes after the time of publication: the run, the one for when GitHub dropped it, and the look whether it happened."""

LOGIN = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})"
REPOSITORY = re.compile(rf"{LOGIN}/[A-Za-z0-9._-]{{1,100}}", re.ASCII)
_USES = re.compile(rf"({LOGIN}/[A-Za-z0-9._-]{{1,100}})@([0-9a-f]{{40}})(?: ?# ?(v[0-9A-Za-z.+-]{{1,40}}))?", re.ASCII)
_APPROVER = re.compile(rf"({LOGIN}):([1-9][0-9]{{0,15}})", re.ASCII)
_REMOTE = re.compile(
    rf"(?:(https?)://(?:[^/@]*@)?|ssh://git@|git@)([A-Za-z0-9.-]+(?::[0-9]+)?)[/:]({LOGIN}/[A-Za-z0-9._-]+?)(?:\.git)?/?",
    re.ASCII,
)

PERMISSIONS: Mapping[str, Mapping[str, str]] = {
    "publish": {"contents": "write", "pull-requests": "write", "statuses": "read", "issues": "write", "pages": "write"},
    "plan": {"contents": "write", "pull-requests": "write", "statuses": "write"},
    "review": {"contents": "read", "pull-requests": "write", "statuses": "write"},
    "approve": {"contents": "write", "pull-requests": "read", "statuses": "read"},
    "watch": {"actions": "read", "contents": "write", "issues": "write", "pull-requests": "read", "statuses": "read"},
    "decisions": {"contents": "write", "pull-requests": "write", "statuses": "read"},
}
"""What each workflow grants the one that it calls: as much as that asks for."""
FOR_PAGES = {"actions": "read", "id-token": "write"}
"""What pages.yml asks for beside what publish.yml does."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the instance is: ``api`` "" at github.com."""

    repository: str
    host: str = "github.com"
    api: str = ""

    def values(self) -> dict[str, str]:
        """The mapping ``github`` of ``publisher.yaml``."""
        return {"repository": self.repository} | ({"api": self.api} if self.api else {})


@dataclass(frozen=True, kw_only=True)
class GithubAnswers:
    """What a person said of the repository at GitHub. ``approvers`` are (login, account number); ``uses`` and ``version`` name the
    publisher that is called."""

    place: Place
    approvers: tuple[tuple[str, int], ...]
    site_repository: str
    uses: tuple[str, str, str]


def answers_of(given: Given, remote: str) -> GithubAnswers:
    """Everything but the site. ``remote`` is the URL of the clone's origin, "" without one."""
    uses = _USES.fullmatch(given.uses or USES)
    if not given.uses and not uses:
        raise UsageProblem(
            "which-publisher", "say which publisher the workflows call, by its full commit",
            next="--uses OWNER/NAME@COMMIT, from: git ls-remote https://github.com/OWNER/NAME",
        )  # fmt: skip
    if not uses:
        raise UsageProblem("bad-uses", "--uses is OWNER/NAME@COMMIT with all 40 digits; a version may follow: # v1.2.3")
    if given.site_repository and not REPOSITORY.fullmatch(given.site_repository):
        raise UsageProblem("bad-repository", "--site-repository is OWNER/NAME")
    if given.site_repository and given.target and not given.target.startswith("git-branch:"):
        raise UsageProblem("bad-target", "a site's own repository gets a branch: --target git-branch:BRANCH, or none")
    return GithubAnswers(
        place=_place(given.repository, remote), approvers=tuple(_approver(text) for text in given.approver),
        site_repository=given.site_repository or "", uses=(uses[1], uses[2], uses[3] or ""),
    )  # fmt: skip


def _place(named: str | None, remote: str) -> Place:
    if named:
        if not REPOSITORY.fullmatch(named):
            raise UsageProblem("bad-repository", "--repository is OWNER/NAME")
        return Place(repository=named)
    found = _REMOTE.fullmatch(remote)
    if not found:
        raise UsageProblem(
            "which-repository", "origin names no repository at GitHub; say which it is, or will be",
            next="--repository OWNER/NAME, or git remote add origin git@github.com:OWNER/NAME.git",
        )  # fmt: skip
    scheme, host, repository = found[1] or "https", found[2], found[3]
    return Place(repository=repository, host=host, api="" if host == "github.com" else f"{scheme}://{host}/api/v3")


def _approver(text: str) -> tuple[str, int]:
    found = _APPROVER.fullmatch(text)
    if not found:
        raise UsageProblem(
            "bad-approver", "--approver is LOGIN:ID, the account's name and its number", next="gh api users/LOGIN --jq .id"
        )
    return found[1], int(found[2])


def completed(given: Given, answers: GithubAnswers, there: Instance | None) -> Given:
    """The same answers with what ``--github`` takes for granted. ``there`` is the instance that exists, which keeps what it says."""
    if there is not None and there.forge != "github":
        raise UsageProblem("instance-exists", "this instance takes its approvals from signed merges; a forge is chosen once")
    target = given.target or (f"git-branch:{SITE_BRANCH}" if answers.site_repository and given.url else None)
    if there is not None:
        return replace(given, target=target)
    return replace(
        given, target=target, forge="github", state_branch=given.state_branch or STATE_BRANCH,
        on_call=given.on_call or tuple(login for login, _ in answers.approvers),
    )  # fmt: skip


def placed(site: Answers, answers: GithubAnswers, there: Instance | None) -> Answers:
    """The site with its target's remaining options, and a branch of this repository for staging where none was named.

    The first site with a repository of its own gets the deploy key; GitHub takes a key for one repository only, so that the
    others are written to by a GitHub App.
    """
    target = dict(site.target)
    if not target:
        return site  # publisher.yaml describes it already
    taken = there is not None and any(one.target.options.get("key") == DEPLOY_KEY for one in there.sites.values())
    host = answers.place.host
    if answers.site_repository and taken:
        target |= {"repository": f"https://{host}/{answers.site_repository}.git"}
    elif answers.site_repository:
        target |= {"repository": f"git@{host}:{answers.site_repository}.git", "key": DEPLOY_KEY}
    elif target.get("kind") == "git-branch":
        target |= {"pages": "build"}  # what the run's own token pushes starts no build by itself
    staging = site.staging or {"kind": "git-branch", "branch": f"staging/{site.site}"}
    return replace(site, target=target, staging=staging)


# --- files ------------------------------------------------------------------------------------------------------------------


def files_of(
    answers: GithubAnswers, instance: Instance, site: str, publish_time: str, schemas: Mapping[str, str]
) -> dict[str, bytes]:
    """Path → bytes. ``schemas`` are those of publisher's files, by name."""
    words = _words(answers, instance, site, publish_time)
    pages = instance.sites[site].target.kind == "github-pages"
    made = {
        f".github/workflows/{name}.yml": _workflow(name, answers, pages=pages and name == "publish") for name in PERMISSIONS
    }
    made |= {
        ".github/CODEOWNERS": _text("CODEOWNERS") if answers.approvers else "",
        ".github/pull_request_template.md": _text("pull_request_template.md"),
        ".github/dependabot.yml": _text("dependabot.yml"),
        f"{EDITOR}/settings.json": _text("settings.json"),
        "README.md": _readme(answers),
        **{
            f"{EDITOR}/publisher/{name}.schema.json": text
            for name, text in schemas.items()
            if f"/{name}.schema" in _text("settings.json")
        },
    }
    return {path: _filled(text, words).encode("utf-8") for path, text in made.items() if text}


def _workflow(name: str, answers: GithubAnswers, *, pages: bool) -> str:
    granted = {**PERMISSIONS[name], **(FOR_PAGES if pages else {})}
    repository, commit, version = answers.uses
    called = f"{repository}/.github/workflows/{'pages' if pages else name}.yml@{commit}" + (f" # {version}" if version else "")
    secrets = [
        APP_KEY,
        *([DEPLOY_KEY] if name == "publish" and answers.site_repository else []),
        *([PING] if name == "watch" else []),
    ]
    words = {
        "PERMISSIONS": ", ".join(f"{scope}: {level}" for scope, level in granted.items()),
        "CALLED": called,
        "SECRETS": "\n      ".join(f"{one}: ${{{{ secrets.{one} }}}}" for one in secrets),
    }
    return _filled(_text(f"workflows/{name}.yml"), words)


def _readme(answers: GithubAnswers) -> str:
    keys = _text("keys.md") if answers.site_repository else ""
    return _text("README.md").replace("__KEYS__\n", keys).replace("__LAST__", "5" if keys else "4")


def _words(answers: GithubAnswers, instance: Instance, site: str, publish_time: str) -> dict[str, str]:
    about = instance.sites[site]
    hour, minute = (int(part) for part in (publish_time or "00:00").split(":"))
    return {
        "SITE": site, "TITLE": about.title, "URL": about.url, "ZONE": about.zone_name, "HOST": answers.place.host,
        "PUBLISHER": answers.uses[0], "REPOSITORY": answers.place.repository, "SITE_REPOSITORY": answers.site_repository,
        "SITE_BRANCH": str(about.target.options.get("branch", "")), "STATE": instance.state_branch, "DEFAULT": instance.default_branch,
        "OWNERS": " ".join(f"@{login}" for login, _ in answers.approvers),
        **{word: daily(hour, minute, after) for word, after in (("PUBLISH", FIRST), ("AGAIN", AGAIN), ("WATCH", WATCH))},
    }  # fmt: skip


def daily(hour: int, minute: int, after: int) -> str:
    """The cron line of once a day, so many minutes after a wall time, and never on the hour, when GitHub's load is highest."""
    at = hour * 60 + minute + after
    at += 4 if at % 60 == 0 else 0
    return f"{at % 60} {at // 60 % 24} * * *"


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8")


def _filled(text: str, words: Mapping[str, Any]) -> str:
    return re.sub(r"__([A-Z_]+?)__", lambda found: str(words.get(found[1], found[0])), text)


def next_steps(answers: GithubAnswers, instance: Instance) -> Sequence[str]:
    """What a person does after ``init``; README.md has all of it."""
    root = "git log --first-parent --diff-filter=A --format=%H -- approval.yaml | tail -n 1"
    return (
        f"git push origin {instance.default_branch} {instance.state_branch}",
        f'gh variable set PUBLISHER_ROOT --repo {answers.place.repository} --body "$({root})"',
        "README.md, which has the rest: secrets, and what Actions must be allowed",
        "publisher doctor",
    )


def approvers_of(answers: GithubAnswers) -> list[dict[str, Any]]:
    """``approvers`` of ``approval.yaml``."""
    return [{"login": login, "id": number} for login, number in answers.approvers]
