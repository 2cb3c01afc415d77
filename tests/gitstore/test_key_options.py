"""Keys in ``publisher.yaml``: variables by name, for the drafts' repository and for the state branch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from publisher.domain.instance import GithubHost, Instance
from publisher.errors import InputProblem
from publisher.gitstore.instance_files import instance_of
from publisher.wiring import Wired

TEXT = """\
instance: {{id: i-5f0c2b6c9d1e4a7b8c3d2e1f0a9b8c7d}}
forge: git
branches: {{default: main, state: publisher-state}}
{more}
sites:
  blog:
    url: https://blog.example/
    zone: Asia/Hong_Kong
    title: T
    description: D
    language: en
    author: A
    tag_authority: "blog.example,2026"
    target: {{kind: git-branch, branch: pages, repository: "git@github.com:ann/blog.git", key: PUBLISHER_DEPLOY_KEY}}
"""


def read(more: str) -> Instance:
    return instance_of(TEXT.format(more=more).encode(), "publisher.yaml")


def test_keys_are_read_as_names() -> None:
    found = read(
        'drafts: {repository: "git@github.com:ann/drafts.git", key: DRAFTS_KEY}\n'
        "github: {repository: ann/site, state_key: STATE_KEY, state_remote: 'ssh://git@ssh.github.com:443/ann/site.git'}"
    )
    assert found.github
    assert (found.drafts.key, found.github.state_key) == ("DRAFTS_KEY", "STATE_KEY")
    assert found.sites["blog"].target.options["key"] == "PUBLISHER_DEPLOY_KEY"
    assert found.github.ssh_url("") == "ssh://git@ssh.github.com:443/ann/site.git"
    plain = read("github: {repository: ann/site}")
    assert plain.github and (plain.drafts.key, plain.github.state_key, plain.github.state_remote) == ("", "", "")


@pytest.mark.parametrize(
    "value", ['"-----BEGIN OPENSSH PRIVATE KEY-----"', "/home/ann/.ssh/id_ed25519", "deploy_key", '"A B"', '""', "7"]
)
@pytest.mark.parametrize("where", ["drafts: {{repository: x, key: {}}}", "github: {{repository: ann/site, state_key: {}}}"])
def test_anything_but_a_name_is_refused_and_not_quoted(where: str, value: str) -> None:
    with pytest.raises(InputProblem) as wrong:
        read(where.format(value))
    assert wrong.value.code in ("schema-pattern", "schema-type")
    assert wrong.value.where.startswith("publisher.yaml:4:")
    assert len(value) < 4 or value.strip('"') not in wrong.value.says


@pytest.mark.parametrize(
    "url", ["https://github.com/ann/site.git", "ssh://github.com/x", "git@github.com:ann/site.git", "ssh://git@-x/y", "ext::sh"]
)
def test_a_state_remote_is_an_ssh_url(url: str) -> None:
    with pytest.raises(InputProblem):
        read(f'github: {{repository: ann/site, state_key: K, state_remote: "{url}"}}')


@pytest.mark.parametrize(
    ("host", "server", "url"),
    [
        (GithubHost(repository="ann/site"), "", "git@github.com:ann/site.git"),
        (GithubHost(repository="ann/site"), "https://github.com", "git@github.com:ann/site.git"),
        (GithubHost(repository="ann/site"), "https://git.example:8443", "git@git.example:ann/site.git"),
        (GithubHost(repository="ann/site", api="https://git.example/api/v3"), "", "git@git.example:ann/site.git"),
        (GithubHost(repository="ann/site", api="https://api.o.ghe.com"), "https://o.ghe.com", "git@o.ghe.com:ann/site.git"),
    ],
)
def test_where_a_repository_is_reached_by_ssh(host: GithubHost, server: str, url: str) -> None:
    assert host.ssh_url(server) == url


@pytest.mark.parametrize(
    ("more", "environment", "expected"),
    [
        ("", {"STATE_KEY": "x"}, ("", "")),
        ("github: {repository: ann/site}", {"STATE_KEY": "x"}, ("", "")),
        ("github: {repository: ann/site, state_key: STATE_KEY}", {}, ("", "")),
        ("github: {repository: ann/site, state_key: STATE_KEY}", {"STATE_KEY": " \n"}, ("", "")),
        (
            "github: {repository: ann/site, state_key: STATE_KEY}",
            {"STATE_KEY": "x", "GITHUB_SERVER_URL": "https://github.com"},
            ("git@github.com:ann/site.git", "STATE_KEY"),
        ),
    ],
)
def test_records_go_over_ssh_where_the_key_is_set(more: str, environment: dict[str, str], expected: tuple[str, str]) -> None:
    wired: Any = Wired(root=Path(), git=None, store=None, clock=None, environment=environment)  # type: ignore[arg-type]
    assert wired.state_push(read(more)) == expected
