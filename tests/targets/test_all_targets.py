"""The registry, and which options each kind takes and refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from publisher.domain.instance import TargetSpec
from publisher.errors import Bug, InputProblem
from publisher.targets.all_targets import TARGETS, make_target
from publisher.targets.directory import DirectoryTarget
from publisher.targets.git_branch import GitBranchTarget
from publisher.targets.github_pages import GithubPagesTarget
from tests.support.target_actors import SITE, at, bare_repository, clone, fence, make_release


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "instance"
    clone(folder)
    for name in ("plans", "ledger", "drafts", "site-src", "publisher"):
        (folder / name).mkdir()
    return folder


def make(base: Path, kind: str, options: Any) -> Any:
    from publisher.gitstore.gateway import Git

    spec = TargetSpec(kind=kind, options=options)
    return make_target(
        spec,
        site=SITE,
        base=base,
        git=Git(base),
        state_remote=str(base.parent / "remote.git"),
        now=at,
        url="https://site.example/",
    )


def test_the_registry_is_a_literal_table() -> None:
    assert dict(TARGETS) == {"directory": DirectoryTarget, "git-branch": GitBranchTarget, "github-pages": GithubPagesTarget}


@pytest.mark.parametrize("kind", ["", "s3", "publisher.targets.directory.DirectoryTarget", "Directory"])
def test_an_unknown_kind_is_refused(base: Path, kind: str) -> None:
    with pytest.raises(InputProblem) as wrong:
        make(base, kind, {"path": "public"})
    assert wrong.value.code == "target-kind"
    assert "directory, git-branch, github-pages" in wrong.value.says


@pytest.mark.parametrize("path", ["public", "../public", "./a/../public", "sub/site", "plansdir"])
def test_a_directory_s_path_starts_at_the_repository(base: Path, tmp_path: Path, path: str) -> None:
    target = make(base, "directory", {"path": path})
    release = make_release(tmp_path / "built", "first")
    target.store(release)
    target.switch(release, base="", fence=fence(1))
    assert ((base / path).resolve() / "current" / "index.html").is_file()
    assert (target.joins_ledger, target.can_fence) == (False, True)
    assert "local file system" in target.guarantee
    with pytest.raises(Bug):
        target.joined_update(release, base="", fence=fence(1))


def test_an_absolute_path_is_taken_as_it_is(base: Path, tmp_path: Path) -> None:
    make(base, "directory", {"path": str(tmp_path / "www")}).raise_fence(fence(1))
    assert (tmp_path / "www" / "fence.json").is_file()


@pytest.mark.parametrize(
    "path",
    [".", "..", "../..", "/", ".git", ".git/x", "plans", "plans/handbook", "PLANS/x", "ledger/x", "drafts", "x/../drafts/y",
     "site-src/handbook", "publisher/targets", ".github", "link/x"],
)  # fmt: skip
def test_a_path_that_the_repository_needs_is_refused(base: Path, path: str) -> None:
    (base / "link").symlink_to("plans")
    with pytest.raises(InputProblem) as wrong:
        make(base, "directory", {"path": path})
    assert wrong.value.code == "target-options"
    assert str(base) not in str(wrong.value)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("directory", {}),
        ("directory", {"path": ""}),
        ("directory", {"path": 3}),
        ("directory", {"path": "a\nb"}),
        ("directory", {"path": "public", "pth": "x"}),
        ("directory", ["path"]),
        ("git-branch", {}),
        ("git-branch", {"branch": "gh-pages", "path": "x"}),
        *(
            ("git-branch", {"branch": name})
            for name in (
                "-x", "a..b", "a b", "refs/heads/x", "HEAD", "x.lock", "a/", "/a", "a~1", "a:b", "+a", "ä", "a/.b", "a\n",
            )
        ),
        *(
            ("git-branch", {"branch": "gh-pages", "repository": url})
            for url in (
                "https://user:secret@example.org/x.git", "https://secret@example.org/x.git", "ext::sh -c id",
                "-oProxyCommand=id", "http://example.org/x.git", "git://example.org/x.git", "ssh://-oProxyCommand=id/x",
                "-x@host:y", "a@-x:y", "x\ny",
            )
        ),
        *(
            ("git-branch", {"branch": "gh-pages", "repository": "git@github.com:o/site.git", "key": key})
            for key in (
                "secret", "/home/me/.ssh/secret", "-----BEGIN OPENSSH PRIVATE KEY-----", "a\nsecret", "A SECRET", 3, "9SECRET"
            )
        ),
        *(
            ("git-branch", {"branch": "gh-pages", "repository": url, "key": "DEPLOY_KEY"})
            for url in ("https://github.com/o/site.git", "../site.git", "", "/srv/site.git")
        ),
        ("git-branch", {"branch": "gh-pages", "key": "DEPLOY_KEY"}),
        ("git-branch", {"branch": "gh-pages", "pages": "yes"}),
        ("git-branch", {"branch": "gh-pages", "pages": True}),
        ("git-branch", {"branch": "gh-pages", "repository": "git@github.com:o/site.git", "pages": "build"}),
        ("github-pages", {"branch": "gh-pages"}),
        ("github-pages", {"environment": 3}),
        ("github-pages", {"repository": "o/secret"}),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_without_quoting_them(base: Path, kind: str, options: Any) -> None:
    with pytest.raises(InputProblem) as wrong:
        make(base, kind, options)
    assert wrong.value.code == "target-options"
    assert wrong.value.where == "publisher.yaml"
    assert "secret" not in str(wrong.value)


def test_a_branch_without_a_repository_joins_the_ledger(base: Path, tmp_path: Path) -> None:
    bare_repository(base.parent / "remote.git")
    target = make(base, "git-branch", {"branch": "gh-pages"})
    release = make_release(tmp_path / "built", "first")
    update = target.joined_update(release, base="", fence=fence(1))
    assert (target.joins_ledger, update.ref, update.expected) == (True, "refs/heads/gh-pages", "")


@pytest.mark.parametrize("repository", ["../site.git", "absolute"])
def test_a_branch_of_another_repository_is_found_from_the_base(base: Path, tmp_path: Path, repository: str) -> None:
    remote = bare_repository(base.parent / "site.git")
    chosen = str(remote) if repository == "absolute" else repository
    target = make(base, "git-branch", {"branch": "gh-pages", "repository": chosen})
    release = make_release(tmp_path / "built", "first")
    target.store(release)
    target.switch(release, base="", fence=fence(1))
    assert (target.joins_ledger, target.look().release) == (False, release.id)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/o/site.git",
        "git@github.com:o/site.git",
        "ssh://git@example.org:2222/o/site",
        "http://127.0.0.1:8000/s.git",
    ],
)
def test_urls_are_passed_to_git_as_they_stand(base: Path, url: str) -> None:
    asked: list[str] = []

    class Asked:
        def remote_refs(self, remote: str, patterns: Any) -> dict[str, str]:
            asked.append(remote)
            return {}

    spec = TargetSpec(kind="git-branch", options={"branch": "gh-pages", "repository": url})
    make_target(spec, site=SITE, base=base, git=Asked(), state_remote="origin", now=at).look()  # type: ignore[arg-type]
    assert asked == [url]


def test_a_key_is_handed_to_git_by_its_name(base: Path) -> None:
    given: list[tuple[str, str]] = []

    class Told:
        def use_key(self, remote: str, name: str) -> None:
            given.append((remote, name))

    url = "git@github.com:o/site.git"
    spec = TargetSpec(kind="git-branch", options={"branch": "gh-pages", "repository": url, "key": "PUBLISHER_DEPLOY_KEY"})
    make_target(spec, site=SITE, base=base, git=Told(), state_remote="origin", now=at)  # type: ignore[arg-type]
    assert given == [(url, "PUBLISHER_DEPLOY_KEY")]


@pytest.mark.parametrize("url", ["http://site.example/", "ftp://site.example/", "site.example", ""])
def test_a_pages_site_is_read_over_https(base: Path, url: str) -> None:
    spec = TargetSpec(kind="github-pages", options={})
    with pytest.raises(InputProblem) as wrong:
        make_target(spec, site=SITE, base=base, git=None, state_remote="origin", now=at, url=url)  # type: ignore[arg-type]
    assert wrong.value.code == "site-url"


def test_a_pages_target_says_what_it_cannot_promise(base: Path) -> None:
    target = make(base, "github-pages", {"environment": "production", "url": "https://preview.example/"})
    assert (target.joins_ledger, target.can_fence) == (False, False)
    assert "detected" in target.guarantee and "10 minutes" in target.guarantee
    with pytest.raises(Bug):
        target.raise_fence(fence(1))


def test_github_is_not_asked_where_there_is_none(base: Path) -> None:
    target = make(base, "github-pages", {})
    with pytest.raises(InputProblem) as wrong:
        target.came_to_nothing("sha256:" + "0" * 64, record="0" * 40)
    assert wrong.value.code == "no-host"
