"""``publisher init``: a new instance in a git repository, or a further site in an instance.

Rules:
* nothing that exists is overwritten; what is missing is written, so that an interrupted ``init`` is finished by the same command;
* a first ledger is begun only where nothing is public: the site's manifest is looked for first, and no answer is no "no".
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import output
from publisher.cli.boundary import Asked
from publisher.cli.init_answers import Given
from publisher.cli.init_github import next_steps
from publisher.cli.init_work import InitWork
from publisher.cli.verb import Verb
from publisher.domain.instance import Site
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
        "publisher init --github --site garden --url https://garden.example/ --zone Europe/Paris --time 09:00 \\\n"
        "      --approver ann:1234567 --site-repository ann/garden --uses OWNER/publisher@COMMIT",
        "publisher init --site local --url http://127.0.0.1:8000/ --zone UTC --target directory:public/local --new-site",
        "publisher init --site garden          # writes what is still missing of a site in publisher.yaml",
    ),
)
@click.argument("folder", metavar="[DIR]", required=False, default=".", type=click.Path())
@click.option("--site", metavar="ID", help="The site's id: small letters, digits, hyphens.")
@click.option("--url", metavar="URL", help="Where the public finds it.")
@click.option("--zone", metavar="ZONE", help="The editor's time zone, such as Asia/Hong_Kong.")
@click.option("--target", metavar="KIND:WHERE", help="Where releases go: directory:PATH, git-branch:BRANCH or github-pages.")
@click.option(
    "--staging", metavar="KIND:WHERE", help="Where a release is put first; beside a directory when not given; or none."
)
@click.option("--title", metavar="TEXT", help="The site's title; its id when not given.")
@click.option("--author", metavar="NAME", help="Who writes; the title when not given.")
@click.option("--language", metavar="TAG", default="en", show_default=True, help="The language of the site.")
@click.option("--time", "publish_time", metavar="HH:MM", default="", help="When articles appear; 00:00 when not given.")
@click.option("--quantity", metavar="N", type=click.IntRange(1, 50), default=1, show_default=True, help="Articles a day.")
@click.option("--forge", type=click.Choice(["git"]), default="git", show_default=True, help="Where approvals come from.")
@click.option(
    "--github", is_flag=True, help="Approvals by pull request at GitHub: also writes workflows and what goes with them."
)
@click.option("--repository", metavar="OWNER/NAME", help="With --github: this repository there; from origin when not given.")
@click.option(
    "--approver", metavar="LOGIN:ID", multiple=True, help="With --github: an account that may approve, and its number."
)
@click.option(
    "--site-repository", metavar="OWNER/NAME", help="With --github: the public repository that releases are pushed to."
)
@click.option("--uses", metavar="OWNER/NAME@COMMIT", help="With --github: the publisher that the workflows call.")
@click.option("--state-branch", metavar="NAME", help="Where the ledger is written; the default branch when not given.")
@click.option("--reviewer", metavar="NAME=KEY.pub", multiple=True, help="A person who may approve, with a public SSH key.")
@click.option("--planner", metavar="NAME=KEY.pub", multiple=True, help="Who proposes plans, with a public SSH key.")
@click.option("--on-call", metavar="WHO", multiple=True, help="Who is told when something is wrong.")
@click.option("--new-site", is_flag=True, help="Say that nothing is public at the URL, where it gives no answer.")
@click.option("--no-example", is_flag=True, help="No example draft.")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@click.pass_obj
def command(asked: Asked, /, folder: str, new_site: bool, no_example: bool, yes: bool, **given: Any) -> None:
    """Make a new instance in the git repository at DIR, or add a site to the one that is there.

    Writes configuration, policy, queue, theme, a first draft and the first record of the ledger, and tells what comes next.
    Whatever exists already stays as it is. On a terminal it asks for what was not given.
    """
    from publisher.wiring import SystemClock

    root, git = _repository(folder)
    now = SystemClock().now()
    asks = output.is_interactive() and not yes and not asked.as_json
    work = InitWork(root=root, git=git, now=now, asks=asks)
    work.prepare(Given(**given), example=not no_example)
    begins = work.needs_ledger()
    if begins:
        _require_not_public(work.site, new_site=new_site)
    if asks and work.files:
        _confirm(work.files)
    begun = work.write(begins)
    _tell(asked, work, begun)


def _repository(folder: str) -> tuple[Path, Git]:
    from publisher.gitstore.gateway import Git

    start = Path(folder).absolute()
    if not any((above / ".git").exists() for above in (start, *start.parents)) or not start.is_dir():
        raise UsageProblem("not-a-repository", f"{folder} is not inside a git repository", next=f"git init {folder}")
    git = Git.find(start)
    return git.root(), git


def _confirm(paths: Iterable[str]) -> None:
    for path in sorted(paths):
        click.echo(f"  {output.clean(path)}", err=True)
    click.confirm("Write these files?", default=True, abort=True, err=True)


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


def _tell(asked: Asked, work: InitWork, begun: Begun | None) -> None:
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
    for gap in _gaps(work):
        output.note(gap)
    for number, step in enumerate(steps):
        output.note(f"  {'next:' if number == 0 else '     '} {step}")


def _gaps(work: InitWork) -> Iterator[str]:
    """What a person still has to add before runs can work alone."""
    assert work.instance is not None
    if work.nobody_approves:
        who = "approvers, with login and id," if work.github else "signers' public keys"
        yield f"approval.yaml names nobody who may approve yet: add the {who} before you commit it"
    if work.site.staging is None:
        yield f"site {work.site_id} has no staging target in publisher.yaml: scheduled runs release nothing before it has one"
    if not work.instance.on_call:
        yield "nobody is on call in publisher.yaml: scheduled runs release nothing before somebody is"


def _next_steps(work: InitWork, begun: Begun | None) -> Iterator[str]:
    if work.wrote:
        yield "git add --all, then git commit"
    if work.github and work.instance:
        yield from next_steps(work.github, work.instance)
        return
    if begun and begun.commit:
        yield f"git push origin {begun.branch}"
    yield from (
        f"publisher serve --site {work.site_id} --drafts",
        f"publisher plan --site {work.site_id}",
        "publisher doctor, which prints the value of PUBLISHER_ROOT to keep outside the repository",
    )
