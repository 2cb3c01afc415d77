"""The CI's token as a git header: for the host that issued it, over a connection that nobody reads, and for nothing else."""

from __future__ import annotations

import base64

import pytest

from publisher.gitstore.local_config import token_header

SERVER = "https://github.com"
REMOTE = "https://github.com/ann/site.git"


def header(url: str = REMOTE, **environ: str) -> tuple[tuple[str, str], ...]:
    return token_header([url], {"GITHUB_SERVER_URL": SERVER, "GITHUB_TOKEN": "t0ken", **environ})


def sent(settings: tuple[tuple[str, str], ...]) -> str:
    """What the last of the settings would authenticate as."""
    return base64.b64decode(settings[-1][1].removeprefix("Authorization: Basic ")).decode()


def test_the_token_is_sent_to_its_own_host_and_replaces_the_checkouts() -> None:
    settings = header()
    assert [name for name, _ in settings] == ["http.https://github.com/.extraheader"] * 2
    assert settings[0][1] == "" and sent(settings) == "x-access-token:t0ken"


def test_the_apps_token_goes_before_the_jobs_own() -> None:
    assert sent(header(PUBLISHER_TOKEN="app")) == "x-access-token:app"


def test_an_enterprise_host_gets_its_own_token() -> None:
    at = {"GITHUB_SERVER_URL": "https://git.example.org:8443"}
    assert header("https://git.example.org:8443/o/r", **at)[0][0] == "http.https://git.example.org:8443/.extraheader"
    assert header(REMOTE, **at) == ()


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com.evil.example/x", "https://evil.example/github.com/x", "http://github.com/ann/site.git",
        "git@github.com:ann/site.git", "ssh://git@github.com/ann/site.git", "/srv/site.git", "https://github.com",
        "https://github.com@evil.example/x",
    ],
)  # fmt: skip
def test_nobody_else_gets_it(url: str) -> None:
    assert header(url) == ()


def test_one_foreign_url_among_several_is_enough_to_send_nothing() -> None:
    assert token_header([REMOTE, "https://evil.example/x"], {"GITHUB_SERVER_URL": SERVER, "GITHUB_TOKEN": "t"}) == ()


@pytest.mark.parametrize("server", ["", "http://github.com", "ftp://github.com", "https//github.com"])
def test_without_a_safe_host_there_is_no_header(server: str) -> None:
    assert header(GITHUB_SERVER_URL=server) == ()


def test_a_loopback_host_may_be_plain_http() -> None:
    assert sent(
        token_header(["http://127.0.0.1:81/a/b.git"], {"GITHUB_SERVER_URL": "http://127.0.0.1:81", "GITHUB_TOKEN": "x"})
    )


def test_without_a_token_there_is_no_header() -> None:
    assert header(GITHUB_TOKEN="") == ()
