"""Git smart HTTP: git's own ``http-backend`` behind GitHub's authentication.

Rules:
* a private repository asks nobodies for credentials (401) and does not exist for those who may not see it (404);
* a token is the password, whatever the user name; pushing needs ``contents: write`` (403);
* pushes run beside each other, so that their races are decided by git; each is noted before its answer is sent;
* ``refs/pull`` can be fetched and never pushed; refs of forks are not shown.
"""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tests.support.github.accounts import Account
from tests.support.github.activity import Moved
from tests.support.github.answers import ApiError
from tests.support.github.git import environment

if TYPE_CHECKING:
    from tests.support.github.simulator import Simulator

PATH = re.compile(r"/(?P<owner>[^/]+)/(?P<name>[^/]+?)(?:\.git)?/(?P<rest>info/refs|git-upload-pack|git-receive-pack)")
Reply = tuple[int, dict[str, str], bytes]


def token_in(authorization: str) -> str:
    """The token of a header: ``token``, ``Bearer``, or the password of ``Basic``."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic":
        return value.strip()
    try:
        return base64.b64decode(value).decode("utf-8").partition(":")[2]
    except ValueError:
        return ""


def account_of(sim: Simulator, found: re.Match[str], authorization: str, service: str) -> Account | None:
    """Who asks. Raises what git is told otherwise."""
    account = sim.accounts.holding(token_in(authorization)) if authorization else None
    challenge = {"WWW-Authenticate": 'Basic realm="GitHub"'}
    writes = service == "git-receive-pack"
    if (authorization and account is None) or (account is None and (writes or sim.private)):
        raise ApiError(401, "Bad credentials", headers=challenge)
    there = (found["owner"].lower(), found["name"].lower()) == (sim.owner.lower(), sim.name.lower())
    if not there or (account and not account.may("contents", "read", public=not sim.private)):
        raise ApiError(404, "Repository not found.")
    if writes:
        sim.may_push(account)
    return account


def commands(body: bytes) -> Iterator[Moved]:
    """What a push asks for: pkt-lines of ``old new ref`` up to the flush."""
    at = 0
    while at + 4 <= len(body) and body[at : at + 4] != b"0000":
        size = int(body[at : at + 4], 16)
        old, new, ref = body[at + 4 : at + size].split(b"\0")[0].decode("utf-8").strip().split(" ", 2)
        yield Moved(ref, old, new)
        at += size


def serve(sim: Simulator, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Reply:
    """Runs the backend and, after a push, takes note of what it moved."""
    found = PATH.fullmatch(path)
    assert found
    service = found["rest"] if method == "POST" else query.partition("service=")[2]
    account = account_of(sim, found, headers.get("authorization", ""), service)
    env = {
        "GIT_PROJECT_ROOT": str(sim.bare.parent), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": f"/{sim.bare.name}/{found['rest']}",
        "QUERY_STRING": query, "REQUEST_METHOD": method, "CONTENT_TYPE": headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": "127.0.0.1", "REMOTE_USER": account.key if account else "",
    }  # fmt: skip
    optional = {"HTTP_CONTENT_ENCODING": "content-encoding", "HTTP_GIT_PROTOCOL": "git-protocol"}
    env |= {name: headers[header] for name, header in optional.items() if header in headers}
    asked = tuple(commands(body)) if service == "git-receive-pack" and method == "POST" else ()
    if asked and account:
        env |= sim.activity.begin(account, asked)
    try:
        done = subprocess.run(["git", "http-backend"], env=environment(env), input=body, capture_output=True, check=False)
    finally:
        sim.activity.catch_up()
    head, _, sent = done.stdout.partition(b"\r\n\r\n")
    answer = dict(line.split(": ", 1) for line in head.decode("latin-1").splitlines() if ": " in line)
    return int(answer.pop("Status", "200").split(" ")[0]), answer, sent
