"""What ``init`` needs to know of a site: from the command line, from ``publisher.yaml``, or asked on a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click

from publisher.cli.new_instance import Answers, Who, tag_authority
from publisher.domain.article import is_safe_name
from publisher.domain.business_calendar import parse_clock_time, parse_zone
from publisher.domain.instance import Instance
from publisher.errors import UsageProblem

KINDS: Mapping[str, str] = {"directory": "path", "git-branch": "branch", "github-pages": ""}
"""Target kind → the option that stands after the colon; "" where nothing does."""

PUBLIC_KEY = re.compile(r"((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/]+=*)(?: [^\n]*)?\n*")
LARGEST_KEY = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class Given:
    """The command line's answers; None where a question was not answered there."""

    site: str | None
    url: str | None
    zone: str | None
    target: str | None
    staging: str | None
    title: str | None
    author: str | None
    language: str
    publish_time: str
    quantity: int
    forge: str
    state_branch: str | None
    reviewer: tuple[str, ...]
    planner: tuple[str, ...]
    on_call: tuple[str, ...]
    github: bool = False
    repository: str | None = None
    site_repository: str | None = None
    approver: tuple[str, ...] = ()
    uses: str | None = None


def answers_for(given: Given, instance: Instance | None, root: Path, now: datetime, *, asks: bool) -> Answers:
    """Everything about the site. A site that ``publisher.yaml`` describes is taken from there."""
    if instance is not None and given.site in instance.sites:
        return _described(given, instance)
    if instance is not None and given.site is None and not asks:
        raise UsageProblem(
            "which-site", f"this is an instance already, with {', '.join(sorted(instance.sites))}; name the site",
            next="publisher init --site ID",
        )  # fmt: skip
    if instance is not None and (given.state_branch or given.forge != "git"):
        raise UsageProblem("instance-exists", "--forge and --state-branch are said once, when an instance is made")
    questions = _Questions(asks)
    site = questions.ask("site", given.site, "The site's id", _slug(root.name), check_site)
    url = questions.ask("url", given.url, "Its public URL", "http://127.0.0.1:8000/", check_url)
    zone = questions.ask("zone", given.zone, "The editor's time zone", _machine_zone(), check_zone)
    target = questions.ask("target", given.target, "Where releases go", f"directory:public/{site}", check_target)
    questions.require_all()
    title = given.title or site.replace("-", " ").capitalize()
    return Answers(
        site=site, url=url.rstrip("/") + "/", zone=zone, target=_target(target), staging=_staging(given.staging, target),
        title=title, description=title, language=given.language, author=given.author or title,
        tag_authority=tag_authority(url, now), quantity=given.quantity, publish_time=_checked_time(given.publish_time),
    )  # fmt: skip


def _described(given: Given, instance: Instance) -> Answers:
    if any((given.url, given.zone, given.target, given.staging, given.title, given.author)):
        raise UsageProblem(
            "site-exists", f"publisher.yaml describes {given.site} already; this would not change it",
            next=f"publisher init --site {given.site}, or edit publisher.yaml",
        )  # fmt: skip
    site = instance.sites[given.site or ""]
    return Answers(
        site=site.id, url=site.url, zone=site.zone_name, target={}, staging={}, title=site.title, description=site.description,
        language=site.language, author=site.author, tag_authority=site.tag_authority, quantity=given.quantity,
        publish_time=_checked_time(given.publish_time),
    )  # fmt: skip


def _target(text: str) -> Mapping[str, str]:
    kind, _, where = text.partition(":")
    return {"kind": kind} | ({KINDS[kind]: where} if KINDS[kind] else {})


def _staging(given: str | None, target: str) -> Mapping[str, str]:
    """Where a release is put before it is public. A folder has room beside it; elsewhere a person says where, or nowhere."""
    if given is not None:
        return {} if given == "none" else _target(check_target(given))
    return _target(f"{target.rstrip('/')}-staging") if target.startswith("directory:") else {}


class _Questions:
    """Asks on a terminal what was not given; elsewhere collects what is missing."""

    def __init__(self, asks: bool) -> None:
        self._asks = asks
        self._missing: list[str] = []

    def ask(self, name: str, given: str | None, question: str, suggestion: str, check: Callable[[str], str]) -> str:
        if given is not None:
            return check(given)
        if not self._asks:
            self._missing.append(f"--{name}")
            return suggestion
        while True:
            answer = click.prompt(question, default=suggestion, err=True)
            try:
                return check(str(answer).strip())
            except UsageProblem as problem:
                click.echo(f"  {problem.says}", err=True)

    def require_all(self) -> None:
        if self._missing:
            raise UsageProblem(
                "not-given",
                f"a new site also needs {', '.join(self._missing)}",
                next="publisher init --help, which has an example",
            )


def check_site(text: str) -> str:
    if not is_safe_name(text):
        raise UsageProblem("bad-site", "a site's id is small letters, digits and hyphens, and no reserved name")
    return text


def check_url(text: str) -> str:
    from publisher.gitstore.validation import check_site_url

    if not check_site_url(text):
        raise UsageProblem("bad-url", "a site's URL is https:// (http:// only on this machine) without user, query or fragment")
    return text


def check_zone(text: str) -> str:
    try:
        parse_zone(text)
    except ValueError as rule:
        raise UsageProblem("bad-zone", f"--zone: {rule}", next="publisher init --zone Asia/Hong_Kong …") from None
    return text


def check_target(text: str) -> str:
    kind, _, where = text.partition(":")
    if kind not in KINDS or bool(KINDS[kind]) != bool(where) or not where.isprintable() or text.endswith(":"):
        raise UsageProblem("bad-target", "a target is directory:PATH, git-branch:BRANCH or github-pages")
    return text


def _checked_time(text: str) -> str:
    if text:
        try:
            parse_clock_time(text)
        except ValueError as rule:
            raise UsageProblem("bad-time", f"--time: {rule}") from None
    return text


def _slug(name: str) -> str:
    words = re.findall(r"[a-z0-9]+", name.lower())
    slug = "-".join(words)
    return slug if is_safe_name(slug) else "site"


def _machine_zone() -> str:
    """The machine's own zone as a suggestion, where it says one by name."""
    named = os.environ.get("TZ", "").lstrip(":") or os.path.realpath("/etc/localtime").rpartition("/zoneinfo/")[2]
    try:
        parse_zone(named)
    except ValueError:
        return "UTC"
    return named


# --- people -----------------------------------------------------------------------------------------------------------------


def read_people(reviewers: tuple[str, ...], planners: tuple[str, ...]) -> tuple[Who, ...]:
    """The signers, each from ``NAME=FILE`` with a public key. A private key is refused before anything of it is kept."""
    return tuple(
        _who(text, option, may_approve=may_approve)
        for option, texts, may_approve in (("--reviewer", reviewers, True), ("--planner", planners, False))
        for text in texts
    )


def _who(text: str, option: str, *, may_approve: bool) -> Who:
    name, sign, file = text.partition("=")
    if not sign or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9@._+-]{0,127}", name):
        raise UsageProblem("bad-person", f"{option} is NAME=KEY.pub, such as ann@example.org=ann.pub")
    try:
        with Path(file).expanduser().open("rb") as handle:
            found = PUBLIC_KEY.fullmatch(handle.read(LARGEST_KEY).decode("ascii", "replace"))
    except OSError:
        raise UsageProblem("no-key-file", f"{option}: there is no readable file for {name}", next="ssh-keygen -t ed25519")
    if not found:
        raise UsageProblem(
            "no-public-key",
            f"{option}: the file for {name} is not one public SSH key",
            next="name the file that ends with .pub",
        )
    return Who(principal=name, key=found[1], may_approve=may_approve)
