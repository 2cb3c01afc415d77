"""What of a clone's configuration, and of the caller's environment, may reach git.

A clone's ``.git/config`` can name programs to execute and places to talk to, and it may have come out of a cache or an archive.
Rules:
* neither the system's nor the user's configuration is read, with one exception: the user's own ``credential.*`` settings are
  handed on when an https remote is talked to, because a token is found by them;
* a local setting that executes something is overridden (``OVERRIDES``, which beat the files), and so is harmless;
* a local setting that redirects and cannot be overridden is refused by name (``find_refused``);
* ``http.<url>.extraheader`` works: CI checkouts keep their token there, some of them in a file that ``includeIf`` names;
* a talk that carries such a header follows no redirect: git repeats it to whatever host it is sent on to [tried];
* of the caller's ``GIT_*`` variables only the ``KEPT`` stay, and no variable that holds a private key does. ``core.sshCommand`` is
  not used; ``GIT_SSH_COMMAND`` is, except with a remote that has a key of its own (``deploy_keys``).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from publisher.errors import InputProblem, StoppedForSafety

Settings = tuple[tuple[str, str], ...]
"""(key, value) in the order read; section and variable in lower case, as git prints them."""

OVERRIDES: Settings = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.fsync", "all"),
    ("core.fsyncMethod", "fsync"),
    ("core.askPass", ""),
    ("core.quotePath", "false"),
    ("core.autocrlf", "false"),
    ("credential.helper", ""),  # an empty value forgets every helper named before it
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("gc.auto", "0"),
    ("gpg.format", "ssh"),
    ("gpg.ssh.program", "ssh-keygen"),
    ("gpg.ssh.defaultKeyCommand", ""),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "20"),
    ("i18n.commitEncoding", "UTF-8"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("maintenance.auto", "false"),
    ("protocol.ext.allow", "never"),
    ("push.followTags", "false"),
    ("push.gpgSign", "false"),
    ("push.negotiate", "false"),
    ("push.pushOption", ""),  # likewise forgets earlier ones
    ("push.recurseSubmodules", "no"),
    ("push.useForceIfIncludes", "false"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("transfer.bundleURI", "false"),
    ("transfer.fsckObjects", "true"),
)

FIXED_ENVIRONMENT: Mapping[str, str] = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOW_PROTOCOL": "file:https:ssh",
}

# What a person or a CI system sets on purpose to reach a remote.
KEPT = frozenset(
    {
        "GIT_ASKPASS", "GIT_HTTP_PROXY_AUTHMETHOD", "GIT_HTTP_USER_AGENT", "GIT_PROXY_SSL_CAINFO", "GIT_SSH", "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY",
    }
)  # fmt: skip

DEFAULT_SSH = "ssh -oBatchMode=yes -oConnectTimeout=20"

_REFUSED = re.compile(
    r"url\..*\.(?:insteadof|pushinsteadof)"
    r"|remote\..*\.(?:vcs|proxy|proxyauthmethod)"
    r"|http\.(?:.*\.)?(?:proxy|curloptresolve|sslverify|cookiefile|savecookies)"
    r"|core\.alternaterefscommand"
    r"|fetch\.bundleuri",
    re.ASCII | re.DOTALL,
)
_INCLUDE = re.compile(r"include\.path|includeif\..*\.path", re.ASCII | re.DOTALL)
_PARTIAL = re.compile(r"remote\..*\.(?:promisor|partialclonefilter)|extensions\.partialclone", re.ASCII | re.DOTALL)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def token_header(urls: Iterable[str], environ: Mapping[str, str]) -> Settings:
    """The header that carries a CI's token, for remotes at the host that issued it and for nobody else.

    ``PUBLISHER_TOKEN`` (an App's, or a person's) goes before ``GITHUB_TOKEN``. The host is ``GITHUB_SERVER_URL``, which Actions
    sets; without it there is no header, and git's own credentials are used. Git sends a token as the password of the user
    ``x-access-token`` (GitHub, "Authenticating as a GitHub App installation").
    """
    server, token = (
        environ.get("GITHUB_SERVER_URL", "").rstrip("/"),
        environ.get("PUBLISHER_TOKEN") or environ.get("GITHUB_TOKEN"),
    )
    at = urlsplit(server)
    safe = at.scheme == "https" or (at.scheme == "http" and at.hostname in _LOOPBACK)
    if not token or not safe or not all(url.startswith(f"{server}/") for url in urls):
        return ()
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode("ascii")
    # An empty value first: a header that the checkout left in .git/config would be sent beside this one.
    return ((f"http.{server}/.extraheader", ""), (f"http.{server}/.extraheader", f"Authorization: Basic {basic}"))


def no_redirects(urls: Iterable[str], settings: Settings) -> Settings:
    """Keeps a talk where it is, if a header goes along with it. Said for each URL, since a more exact setting beats another."""
    if not any(key.lower().startswith("http.") and key.lower().endswith(".extraheader") and value for key, value in settings):
        return ()
    return (("http.followRedirects", "false"), *((f"http.{url}.followRedirects", "false") for url in urls if "://" in url))


def unwanted(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables of the caller's environment that must not reach git: its own settings, and private keys."""
    own = {name for name in environ if name.startswith("GIT_") and name not in KEPT}
    return tuple(sorted(own | {name for name, value in environ.items() if "PRIVATE KEY-----" in value}))


def as_environment(settings: Settings) -> dict[str, str]:
    """Settings as the variables that git reads them from (git-config(1), GIT_CONFIG_COUNT)."""
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env


def parse_settings(out: bytes) -> Settings:
    """The clone's own settings out of ``git config --list --null --show-scope``; included files count as the clone's own."""
    words = out.decode("utf-8", "surrogateescape").split("\0")
    found = []
    for scope, entry in zip(words[::2], words[1::2], strict=False):
        if scope in ("local", "worktree"):
            key, _, value = entry.partition("\n")
            found.append((key, value))
    return tuple(found)


def parse_values(out: bytes) -> Settings:
    """The (key, value) pairs out of ``git config --null --get-regexp``."""
    entries = [entry.partition("\n") for entry in out.decode("utf-8", "surrogateescape").split("\0") if entry]
    return tuple((key, value) for key, _, value in entries)


def value_of(settings: Settings, name: str) -> str:
    """The last value of a setting, "" when it is not set. Section and variable are compared in lower case."""
    section, _, rest = name.partition(".")
    middle, dot, variable = rest.rpartition(".")
    wanted = f"{section.lower()}.{middle}{dot}{variable.lower()}"
    return next((value for key, value in reversed(settings) if key == wanted), "")


def refuse_hostile(settings: Settings, repository: Path) -> None:
    """Refuses, by name, what a clone's configuration must not hold."""
    for key, value in settings:
        if _PARTIAL.fullmatch(key):
            raise StoppedForSafety(
                "partial-clone", f"this clone leaves objects out ({_shown(key)}), so history cannot be judged in it",
                next="git clone without --filter",
            )  # fmt: skip
        if _REFUSED.fullmatch(key) or (_INCLUDE.fullmatch(key) and not _include_of_ci(key, value, repository)):
            raise StoppedForSafety(
                "hostile-config", f"{_shown(key)} in .git/config redirects git and cannot be overridden",
                next=f"git config --unset-all {_shown(key)}",
            )  # fmt: skip


def _shown(key: str) -> str:
    """A key without its middle part where that may hold a URL with a password."""
    section, _, rest = key.partition(".")
    middle, _, variable = rest.rpartition(".")
    return f"{section}.<…>.{variable}" if "@" in middle or not middle.isprintable() else key


def _include_of_ci(key: str, value: str, repository: Path) -> bool:
    """Whether an include is of the kind that CI checkouts write: for a git directory, to a file outside the repository."""
    if not key.startswith("includeif.gitdir"):
        return False
    target = Path(value)
    return target.is_absolute() and not target.resolve().is_relative_to(repository.resolve())


def check_remote(remote: str, settings: Settings) -> tuple[str, ...]:
    """The URLs behind a remote's name (or the URL itself). Refuses what could be an option or another protocol."""
    if remote.startswith("-") or not remote.isprintable() or not remote:
        raise InputProblem("remote-name", "a remote is named by a word, a path or a URL", next="git remote -v")
    urls = [value for key, value in settings if key in (f"remote.{remote}.url", f"remote.{remote}.pushurl")]
    for url in urls or [remote]:
        if not _protocol_allowed(url):
            raise InputProblem(
                "remote-protocol", "a remote is reached by https, ssh or a path (http only on this machine)",
                next="git remote set-url",
            )  # fmt: skip
    return tuple(urls) or (remote,)


def _protocol_allowed(url: str) -> bool:
    if url.startswith("-") or "::" in url.split("/", 1)[0]:
        return False
    if "://" not in url:
        return True  # a path, or host:path for ssh
    scheme = url.split("://", 1)[0].lower()
    return scheme in ("https", "ssh", "file") or (scheme == "http" and is_loopback(url))


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine."""
    try:
        return (urlsplit(url).hostname or "") in _LOOPBACK
    except ValueError:
        return False
