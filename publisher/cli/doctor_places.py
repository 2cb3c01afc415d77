"""What ``doctor`` looks at around the files: this machine, the clone, the remote, and what each site's releases go through."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from publisher.cli.tools import require_git, require_ssh_keygen
from publisher.domain.article import PublicArticle
from publisher.domain.instance import ChannelSpec, Instance, Site
from publisher.engine.examining import Finding, found, good, problem, warning
from publisher.errors import EXIT_INPUT, Refusal
from publisher.ports import BuildRequest

if TYPE_CHECKING:
    from publisher.ports import Tips
    from publisher.wiring import Wired

STALE = 60.0
"""Seconds after which a lock of git's belongs to a process that was killed, more likely than not."""


# --- the machine --------------------------------------------------------------------------------------------------------------


def machine() -> Iterator[Finding]:
    yield good("Python", platform.python_version())
    yield from found("git", lambda: [good("git", require_git())])
    yield from found("ssh-keygen", _ssh_keygen)


def _ssh_keygen() -> list[Finding]:
    require_ssh_keygen()
    return [good("ssh-keygen", "is here")]


# --- the clone ------------------------------------------------------------------------------------------------------------------


def clone(wired: Wired) -> Iterator[Finding]:
    """Whether this clone tells the truth about history, and what a killed git left behind."""
    wired.git.require_trustworthy()
    yield good("clone", "whole history, and nothing in its configuration redirects git")
    yield from _locks(wired.git.git_dir())


def _locks(git_dir: Path) -> Iterator[Finding]:
    for path in sorted({*git_dir.glob("*.lock"), *git_dir.glob("refs/**/*.lock")}):
        with suppress(FileNotFoundError):  # it went while we looked: somebody's git is at work
            age = time.time() - path.stat().st_mtime
            if age > STALE:
                name = f".git/{path.relative_to(git_dir).as_posix()}"
                yield warning(
                    "git locks", f"{name} has been there for {_age(age)}; a git that was killed leaves such a file",
                    next=f"rm {name}, if no git is running here", code="stale-lock",
                )  # fmt: skip


def _age(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{int(seconds)} seconds"


def remote(wired: Wired, tips: Tips, instance: Instance, *, offline: bool) -> Iterator[Finding]:
    """The remote answers, and this clone knows what it has. Asks only; fetches nothing."""
    if not wired.git.local_setting("remote.origin.url"):
        yield warning("remote", "there is no remote origin yet", next="git remote add origin URL, then git push -u origin HEAD")
    elif offline:
        yield warning("remote", "not asked (--offline)")
    else:
        wanted = [f"refs/heads/{name}" for name in dict.fromkeys((instance.default_branch, instance.state_branch))]
        refs = wired.git.remote_refs("origin", wanted)
        behind = [ref for ref, tip in zip(wanted, (tips.default, tips.state), strict=False) if refs.get(ref, "") != tip]
        if behind:
            yield warning(
                "remote",
                "answers, and has moved on since this clone looked",
                next="git fetch origin, then the same",
                code="behind",
            )
        else:
            yield good("remote", "answers; this clone knows its newest commits")
    if tips.unpushed:
        yield warning("unpushed", "commits here are not on the remote, so no run sees them", next="git push", code="unpushed")


def signing(wired: Wired, principals: Mapping[str, str]) -> Iterator[Finding]:
    """As whom this clone signs. ``principals`` maps public keys to names."""
    key = wired.signing_key
    if key is None:
        yield good("signing key", "none in this clone, so it neither plans nor approves; a run needs none")
        return
    name = principals.get(wired.git.public_key_of(key), "")
    if name:
        yield good("signing key", f"this clone signs as {name}")
    else:
        yield warning(
            "signing key", "this clone's key is not in approval.yaml", next="add its public half to signers", code="key-unknown"
        )


# --- a site's ways out --------------------------------------------------------------------------------------------------------


def target_place(wired: Wired, site: Site, head: str) -> Iterator[Finding]:
    """A directory target inside the repository is not among what git keeps."""
    if site.target.kind != "directory" or not head:
        return
    root = wired.root.resolve()
    folder = Path(os.path.normpath(root / Path(str(site.target.options.get("path", ""))).expanduser()))
    if folder.is_relative_to(root) and folder != root:
        inside = folder.relative_to(root).as_posix()
        if wired.git.tree(head, inside):
            yield problem(
                "target", "target-tracked", f"{inside}/ is committed, and releases are written there",
                next=f"git rm -r --cached {inside}, and /{inside}/ into .gitignore", exit_code=EXIT_INPUT,
            )  # fmt: skip


def channels(wired: Wired, instance: Instance, site: Site | None) -> Iterator[Finding]:
    """Channels are well described, and their secrets are there, by name. ``site`` None is for the instance's alerts."""
    from publisher.notify.channels import make_channel

    if site is None:
        yield from found("alerts", lambda: _alerts(wired, instance))
        return
    for spec in site.channels:
        about = f"channel {spec.name}"

        def look(spec: ChannelSpec = spec, about: str = about) -> Iterator[Finding]:
            make_channel(spec, wired.root, wired.environment)
            yield from _secrets(about, spec, wired.environment)

        yield from found(about, look)


def _alerts(wired: Wired, instance: Instance) -> Iterator[Finding]:
    from publisher.notify.alerts import make_alerts

    make_alerts(instance.alerts, wired.root, wired.environment, instance.on_call)
    if instance.alerts is None:
        yield good("alerts", "no channel; notices go to the run's own log")
    else:
        yield from _secrets("alerts", instance.alerts, wired.environment)


def _secrets(about: str, spec: ChannelSpec, environment: Mapping[str, str]) -> Iterator[Finding]:
    names = sorted(secret_names(spec.options))
    missing = [name for name in names if not environment.get(name)]
    if not missing:
        yield good(about, f"{spec.kind}" + (f"; {', '.join(names)} set" if names else ""))
        return
    says, then = f"{spec.kind}; not set here: {', '.join(missing)}", "set it where runs happen (in CI: a repository secret)"
    if environment.get("CI"):
        yield problem(about, "secret-missing", says, next=then)
    else:
        yield warning(about, says, next=then, code="secret-missing")


def secret_names(options: Mapping[str, Any]) -> Iterator[str]:
    """The environment variables that a channel's options name."""
    from publisher.notify.options import is_secret_name

    for key, value in options.items():
        values = value.values() if isinstance(value, Mapping) else (value,)
        if key.endswith(("_secret", "_secrets")):
            yield from (item for item in values if is_secret_name(item))


def theme(wired: Wired, site: Site) -> Iterator[Finding]:
    """The checkout's theme renders every kind of page, with an article that is nobody's."""
    import tempfile

    from publisher.engine.assembling import OUTPUT
    from publisher.gitstore.working_tree import told

    with told(f"site-src/{site.id}"), tempfile.TemporaryDirectory(prefix="publisher-doctor-") as into:
        files, static = (_below(wired.root / "site-src" / site.id / name) for name in ("theme", "static"))
        request = BuildRequest(site=site, articles=(_sample(site),), theme=files, static=static, output=OUTPUT)
        release = wired.builder.build(request, into)
    yield good("theme", f"renders: {len(release.files)} files for one article")


def _below(folder: Path) -> dict[str, bytes]:
    """The plain files below a folder by relative path."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _sample(site: Site) -> PublicArticle:
    return PublicArticle(
        id="a-0000", url="/a-sample/", guid=site.guid_of("a-0000"), title="A sample", summary="Nobody sees it.", category="note",
        tags=("sample",), date="2026-01-01T00:00:00+00:00", body="A paragraph, and `code`.\n",
    )  # fmt: skip


def try_view(wired: Wired, tips: Tips, site: str) -> tuple[Any, Refusal | None]:
    """A site's view without approvals, or why there is none."""
    from publisher.engine.site_view import load

    try:
        return load(wired.store, wired.forge, tips, site, judge=False), None
    except Refusal as refusal:
        return None, refusal
