"""``publisher init``: a new instance in a git repository, or a further site in an instance.

Rules:
* nothing that exists is overwritten; what is missing is written, so that an interrupted ``init`` is finished by the same command;
* a first ledger is begun only where nothing is public: the site's manifest is looked for first, and no answer is no "no".
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import output
from publisher.cli.boundary import Asked
from publisher.cli.init_answers import Given, answers_for, read_people
from publisher.cli.new_instance import (
    HEAD_APPROVAL,
    HEAD_INSTANCE,
    HEAD_POLICY,
    HEAD_QUEUE,
    WELCOME,
    Answers,
    Who,
    approval_values,
    ignored,
    instance_values,
    policy_values,
    site_values,
)
from publisher.cli.verb import Verb
from publisher.domain.instance import Instance, Site
from publisher.errors import ComeBackLater, NeedsPerson, StoppedForSafety, UsageProblem

if TYPE_CHECKING:
    from publisher.gitstore.first_ledger import Begun
    from publisher.gitstore.gateway import Git

SECONDS = 20.0
"""How long the site's manifest is waited for."""


@click.command(
    cls=Verb,
    examples=(
        "publisher init",
        "publisher init --site garden --url https://garden.example/ --zone Europe/Paris --target directory:/srv/garden \\\n"
        "      --reviewer ann@example.org=ann.pub --planner planner@example.org=planner.pub",
        "publisher init --site local --url http://127.0.0.1:8000/ --zone UTC --target directory:public/local --new-site",
        "publisher init --site garden          # writes what is still missing of a site in publisher.yaml",
    ),
)
@click.argument("folder", metavar="[DIR]", required=False, default=".", type=click.Path())
@click.option("--site", metavar="ID", help="The site's id: small letters, digits, hyphens.")
@click.option("--url", metavar="URL", help="Where the public finds it.")
@click.option("--zone", metavar="ZONE", help="The editor's time zone, such as Asia/Hong_Kong.")
@click.option("--target", metavar="KIND:WHERE", help="Where releases go: directory:PATH or git-branch:BRANCH.")
@click.option("--title", metavar="TEXT", help="The site's title; its id when not given.")
@click.option("--author", metavar="NAME", help="Who writes; the title when not given.")
@click.option("--language", metavar="TAG", default="en", show_default=True, help="The language of the site.")
@click.option("--time", "publish_time", metavar="HH:MM", default="", help="When articles appear; 00:00 when not given.")
@click.option("--quantity", metavar="N", type=click.IntRange(1, 50), default=1, show_default=True, help="Articles a day.")
@click.option(
    "--forge", type=click.Choice(["git", "github"]), default="git", show_default=True, help="Where approvals come from."
)
@click.option("--state-branch", metavar="NAME", help="Where the ledger is written; the default branch when not given.")
@click.option("--reviewer", metavar="NAME=KEY.pub", multiple=True, help="A person who may approve, with a public SSH key.")
@click.option("--planner", metavar="NAME=KEY.pub", multiple=True, help="Who proposes plans, with a public SSH key.")
@click.option("--on-call", metavar="WHO", multiple=True, help="Who is told when something is wrong.")
@click.option("--new-site", is_flag=True, help="Say that nothing is public at the URL, where it gives no answer.")
@click.option("--no-example", is_flag=True, help="No example draft.")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@click.pass_obj
def command(asked: Asked, folder: str, new_site: bool, no_example: bool, yes: bool, **given: Any) -> None:
    """Make a new instance in the git repository at DIR, or add a site to the one that is there.

    Writes configuration, policy, queue, theme, a first draft and the first record of the ledger, and tells what comes next.
    Whatever exists already stays as it is. On a terminal it asks for what was not given.
    """
    from publisher.wiring import SystemClock

    root, git = _repository(folder)
    now = SystemClock().now()
    work = _Work(root=root, git=git, now=now, asks=output.is_interactive() and not yes and not asked.as_json)
    work.prepare(Given(**given), example=not no_example)
    begins = work.needs_ledger()
    if begins:
        _require_not_public(work.site, new_site=new_site)
    if work.asks and work.files:
        work.confirm()
    begun = work.write(begins)
    _tell(asked, work, begun)


def _repository(folder: str) -> tuple[Path, Git]:
    from publisher.gitstore.gateway import Git

    start = Path(folder).absolute()
    if not any((above / ".git").exists() for above in (start, *start.parents)) or not start.is_dir():
        raise UsageProblem("not-a-repository", f"{folder} is not inside a git repository", next=f"git init {folder}")
    git = Git.find(start)
    return git.root(), git


@dataclass(kw_only=True)
class _Work:
    """One ``init`` on its way. ``files`` are those to write, all of them new; ``ignore`` is a line for ``.gitignore``."""

    root: Path
    git: Git
    now: datetime
    asks: bool
    files: dict[str, bytes] = field(default_factory=dict)
    ignore: str = ""
    added: Mapping[str, Any] | None = None
    wrote: list[str] = field(default_factory=list)
    instance: Instance | None = None
    site_id: str = ""
    nobody_approves: bool = False

    @property
    def site(self) -> Site:
        assert self.instance is not None
        return self.instance.sites[self.site_id]

    # --- what to write --------------------------------------------------------------------------------------------------

    def prepare(self, given: Given, *, example: bool) -> None:
        """Works out everything before a byte is written. Refuses what does not go together."""
        from publisher.gitstore import working_tree

        there = working_tree.read_instance(self.root) if (self.root / working_tree.INSTANCE).exists() else None
        answers = answers_for(given, there, self.root, self.now, asks=self.asks)
        self.site_id = answers.site
        people = read_people(given.reviewer, given.planner)
        if there is None:
            self._new_instance(given, answers, people)
        elif people or given.on_call:
            raise UsageProblem(
                "rules-exist", "approval.yaml and publisher.yaml exist; people are changed there, by an approved change",
                next="publisher init --site ID, without --reviewer, --planner and --on-call",
            )  # fmt: skip
        else:
            self.instance = there
            if answers.site not in there.sites:
                self.added = site_values(answers)
                self.instance = working_tree.with_site(self.root, answers.site, self.added)[1]
        self._site_files(answers, example=example)
        self._ignore_target()

    def _new_instance(self, given: Given, answers: Answers, people: tuple[Who, ...]) -> None:
        from publisher.gitstore import first_ledger, instance_files
        from publisher.gitstore.yaml_writing import render_yaml

        branch = first_ledger.checked_out_branch(self.root) or "main"
        values = instance_values(
            answers, instance_id=secrets.token_hex(8), forge=given.forge, default_branch=branch,
            state_branch=given.state_branch or branch, on_call=given.on_call,
        )  # fmt: skip
        data = HEAD_INSTANCE.encode() + render_yaml(values)
        self.instance = instance_files.instance_of(data, "publisher.yaml")
        self.files["publisher.yaml"] = data
        approval = HEAD_APPROVAL.encode() + render_yaml(approval_values(people))
        instance_files.rules_of(approval, "approval.yaml")
        self._add("approval.yaml", approval)
        self.nobody_approves = given.forge == "git" and not any(who.may_approve for who in people)

    def _site_files(self, answers: Answers, *, example: bool) -> None:
        from publisher.gitstore import instance_files, working_tree
        from publisher.gitstore.yaml_writing import render_yaml
        from publisher.sitebuilder.theme import default_theme

        site = answers.site
        policy = HEAD_POLICY.encode() + render_yaml(policy_values(answers, self.now))
        instance_files.policy_of(policy, f"plans/{site}/policy.yaml")
        self._add(f"plans/{site}/policy.yaml", policy)
        queue_path = f"plans/{site}/queue.yaml"
        articles: list[dict[str, str]] = []
        if example and not (self.root / queue_path).exists() and not working_tree.draft_sources(self.root, site):
            articles = [self._example(site)]
        self._add(queue_path, HEAD_QUEUE.encode() + render_yaml({"articles": articles}))
        if not any((self.root / f"site-src/{site}/theme").glob("*")):
            for name, data in default_theme().items():
                self._add(f"site-src/{site}/theme/{name}", data)

    def _example(self, site: str) -> dict[str, str]:
        from publisher.cli.new import front_matter
        from publisher.gitstore import working_tree

        article = working_tree.next_article_id(self.root)
        head = front_matter(article, "Hello", "The first article of this site, and how it becomes public.", "note")
        self._add(f"drafts/{site}/hello/index.md", head + WELCOME.encode())
        return {"id": article, "source": f"drafts/{site}/hello"}

    def _add(self, path: str, data: bytes) -> None:
        if not os.path.lexists(self.root / path):
            self.files[path] = data

    def _ignore_target(self) -> None:
        """Releases inside the checkout are not committed."""
        path = str(self.site.target.options.get("path", ""))
        folder = Path(os.path.normpath(self.root / Path(path).expanduser()))
        if self.site.target.kind != "directory" or not folder.is_relative_to(self.root) or folder == self.root:
            return
        inside = folder.relative_to(self.root)
        from publisher.gitstore import working_tree

        lines = (working_tree.read_file(self.root, ".gitignore") or b"").decode("utf-8", "replace").splitlines()
        names = {above.as_posix() for above in (inside, *inside.parents)}
        if not any(line.strip().strip("/") in names for line in lines):
            self.ignore = ignored(inside.as_posix())

    # --- the ledger -----------------------------------------------------------------------------------------------------

    def needs_ledger(self) -> bool:
        from publisher.gitstore import first_ledger

        assert self.instance is not None
        if self._own_branch:
            first_ledger.require_known_state(self.git, self.instance.state_branch)
        return not first_ledger.has_ledger(self.root, self.git, self.site_id, self.instance.state_branch)

    @property
    def _own_branch(self) -> bool:
        assert self.instance is not None
        return self.instance.state_branch != self.instance.default_branch

    # --- writing ----------------------------------------------------------------------------------------------------------

    def confirm(self) -> None:
        for path in sorted(self.files):
            click.echo(f"  {output.clean(path)}", err=True)
        click.confirm("Write these files?", default=True, abort=True, err=True)

    def write(self, begins: bool) -> Begun | None:
        from publisher.gitstore import first_ledger, working_tree

        assert self.instance is not None
        for path, data in self.files.items():
            if working_tree.create_file(self.root / path, data):
                self.wrote.append(path)
        if self.added is not None:
            working_tree.write_file(
                self.root / "publisher.yaml", working_tree.with_site(self.root, self.site_id, self.added)[0]
            )
            self.wrote.append("publisher.yaml")
        if self.ignore:
            text = working_tree.read_file(self.root, ".gitignore") or b""
            line = "" if not text or text.endswith(b"\n") else "\n"
            working_tree.write_file(self.root / ".gitignore", text + f"{line}{self.ignore}\n".encode())
            self.wrote.append(".gitignore")
        if not begins:
            return None
        begun = first_ledger.begin(
            self.root, self.git, self.site_id, state_branch=self.instance.state_branch, own_branch=self._own_branch,
            now=self.now, epoch_id=secrets.token_hex(16),
        )  # fmt: skip
        if not begun.commit:
            self.wrote.append(begun.path)
        return begun


def _require_not_public(site: Site, *, new_site: bool) -> None:
    """Refuses to begin a ledger for a site that is public already, or that might be."""
    from publisher.domain.article import MANIFEST_PATH
    from publisher.domain.public_pages import absolute
    from publisher.domain.public_site import read_manifest
    from publisher.verify.probes import HttpProbes

    url = absolute(site.url, MANIFEST_PATH)
    with output.progress() as progress:
        progress(f"looking whether {site.id} is public already")
        seen = HttpProbes(site_url=site.url).look([url], seconds=SECONDS, bust=secrets.token_hex(6))[url]
    try:
        manifest = read_manifest(seen)
    except (ComeBackLater, StoppedForSafety):
        if new_site:
            return
        raise NeedsPerson(
            "perhaps-public", f"{url} gave no clear answer ({seen.problem or seen.status}); that does not say that nothing is public",
            next="the same command with --new-site, if nothing is public there yet",
        )  # fmt: skip
    if manifest is not None:
        raise StoppedForSafety(
            "already-public", f"{url} lists {len(manifest.articles)} articles of site {manifest.site}; its ledger is not begun anew",
            next="publisher reconcile --restore",
        )  # fmt: skip


# --- telling ----------------------------------------------------------------------------------------------------------------


def _tell(asked: Asked, work: _Work, begun: Begun | None) -> None:
    steps = list(_next_steps(work, begun))
    if asked.as_json:
        ledger = {"path": begun.path, "branch": begun.branch, "commit": begun.commit} if begun else None
        output.say_json({
            "schema": "publisher.init/1", "site": work.site_id, "wrote": work.wrote, "ledger": ledger, "next": steps,
        })  # fmt: skip
        return
    for path in work.wrote:
        output.say(path)
    if begun and begun.commit:
        output.say(f"{begun.path} on branch {begun.branch}")
    if not work.wrote and begun is None:
        output.note(f"nothing is missing of site {work.site_id}")
        return
    if work.nobody_approves:
        output.note("approval.yaml names nobody who may approve yet: add the signers' public keys before you commit it")
    for number, step in enumerate(steps):
        output.note(f"  {'next:' if number == 0 else '     '} {step}")


def _next_steps(work: _Work, begun: Begun | None) -> Iterator[str]:
    if work.wrote:
        yield "git add --all, then git commit"
    if begun and begun.commit:
        yield f"git push origin {begun.branch}"
    yield from (
        f"publisher serve --site {work.site_id} --drafts",
        f"publisher plan --site {work.site_id}",
        "publisher doctor, which prints the value of PUBLISHER_ROOT to keep outside the repository",
    )
