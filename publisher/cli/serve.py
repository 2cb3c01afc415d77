"""``publisher serve``: a local web server for a site as it is, or as it will be. Writes nothing into the repository."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

import click

from publisher.cli import output
from publisher.cli.boundary import Asked
from publisher.cli.verb import Verb
from publisher.cli.web_server import HOST, LOCAL_NAMES, LocalServer, Place
from publisher.cli.which_site import site_of
from publisher.domain.instance import Site
from publisher.errors import UsageProblem

PORT = 8000
"""Where a site is shown whose own address is not on this machine."""


@click.command(
    cls=Verb,
    examples=(
        "publisher serve                        # a directory target, as a web server would show it",
        "publisher serve --drafts               # the site as it will be with the queued drafts",
        "publisher serve --drafts --all --port 0",
    ),
)
@click.option("--site", metavar="SITE", help="Which site; not needed where there is one.")
@click.option(
    "--port", type=int, metavar="N", help="The port; otherwise the one of the site's URL, or 8000. 0 takes any free one."
)
@click.option("--drafts", is_flag=True, help="Show the site as it will be, with the queued drafts of this checkout.")
@click.option("--all", "unqueued", is_flag=True, help="With --drafts: also the drafts that are not queued.")
@click.pass_obj
def command(asked: Asked, site: str | None, port: int | None, drafts: bool, unqueued: bool) -> None:
    """Show a site in your own browser, on this machine only.

    Without --drafts it serves a `directory` target as it is and stands in for the web server: a release that a run switches to
    shows at once. With --drafts it renders what is public together with your drafts, and again whenever a file has changed.
    """
    from publisher.gitstore import working_tree

    if unqueued and not drafts:
        raise UsageProblem("does-not-go", "--all goes with --drafts", next="publisher serve --drafts --all")
    root = working_tree.find_root(asked.start)
    chosen = site_of(working_tree.read_instance(root), site, "serve")
    say = _silent if asked.quiet else _to_stderr
    with _until_stopped(), _folder(asked, root, chosen, drafts=drafts, unqueued=unqueued, say=say) as folder:
        place = Place(folder=folder, prefix=urlsplit(chosen.url).path.rstrip("/") + "/", say=_only_trouble(say))
        server = LocalServer(place, _port_of(chosen) if port is None else port)
        _announce(asked, chosen, server, place, drafts=drafts)
        _serve(server)


@contextmanager
def _folder(
    asked: Asked, root: Path, site: Site, *, drafts: bool, unqueued: bool, say: Callable[[str], None]
) -> Iterator[Callable[[], Path]]:
    """What gives the folder to serve, at each request."""
    if not drafts:
        current = _directory(root, site) / "current"
        if not current.exists():
            output.note(f"nothing is public at {site.id} yet; what a run switches to will show at once")
        yield lambda: current
        return
    from publisher.cli.drafts_site import DraftsSite
    from publisher.errors import Refusal
    from publisher.wiring import open_instance

    with output.progress() as progress:
        rendered = DraftsSite(open_instance(asked.start, progress=progress), site.id, unqueued=unqueued, tell=say)
        try:
            rendered.folder()
        except Refusal:
            pass  # told already; the page shows it until the file is mended
        except BaseException:
            rendered.close()
            raise
    try:
        yield rendered.folder
    finally:
        rendered.close()


def _directory(root: Path, site: Site) -> Path:
    if site.target.kind != "directory":
        raise UsageProblem(
            "no-directory", f"the target of {site.id} is {site.target.kind}, which no folder of this machine shows",
            next=f"publisher serve --site {site.id} --drafts",
        )  # fmt: skip
    return root / Path(str(site.target.options.get("path", ""))).expanduser()


def _port_of(site: Site) -> int:
    parts = urlsplit(site.url)
    return (parts.port or 80) if parts.hostname in LOCAL_NAMES else PORT


def _announce(asked: Asked, site: Site, server: LocalServer, place: Place, *, drafts: bool) -> None:
    host = urlsplit(site.url).hostname
    url = f"http://{host if host in LOCAL_NAMES else HOST}:{server.server_port}{place.prefix}"
    if asked.as_json:
        shows = "drafts" if drafts else "public"
        output.say_json({"schema": "publisher.serve/1", "site": site.id, "url": url, "shows": shows})
    else:
        output.say(url)
    own = _port_of(site)
    if not drafts and host in LOCAL_NAMES and server.server_port != own:
        output.note(f"runs look for {site.id} at port {own}, not here")
    output.note("Ctrl-C stops it")


def _serve(server: LocalServer) -> None:
    try:
        server.serve_forever()
    finally:
        server.server_close()


@contextmanager
def _until_stopped() -> Iterator[None]:
    """Ctrl-C, a request to end and a closed terminal are how a server is meant to stop; what it rendered goes in each case."""
    ends = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, _end) for number in ends]
    try:
        yield
    except KeyboardInterrupt:
        output.note("stopped")
    finally:
        for number, handler in zip(ends, before, strict=True):
            signal.signal(number, handler)


def _end(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def _only_trouble(say: Callable[[str], None]) -> Callable[[str], None]:
    return lambda line: say(line) if line[:1] in "45" else None


def _to_stderr(line: str) -> None:
    output.write("\n".join(output.clean(part) for part in line.split("\n")) + "\n", err=True)


def _silent(_: str) -> None:
    """With ``--quiet`` nobody hears of single answers."""
