"""Addresses that were public and are not any more.

Rules:
* *gone*: the release has no page there, so the target answers 404; the manifest says that it is on purpose (a static target
  cannot answer 410 by itself, and a page that says "gone" with status 200 would be a lie to machines);
* *redirect*: a small page with a refresh and a canonical link leads to the new address, which must exist;
* a withdrawn address is never used by an article at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from publisher.domain.article import URL_PATH, Withdrawn, page_path
from publisher.errors import InputProblem
from publisher.sitebuilder.theme import Theme
from publisher.sitebuilder.views import Page, SiteView

GONE, REDIRECT = "gone", "redirect"


def check(withdrawn: Sequence[Withdrawn], urls: Collection[str], files: Collection[str]) -> None:
    """``InputProblem`` when an address answers in two ways, or a redirect leads nowhere or to another redirect.

    ``urls`` are the articles' site paths, ``files`` the release's.
    """
    seen: set[str] = set(urls)
    moved = {item.url for item in withdrawn}
    for item in withdrawn:
        if item.answer not in (GONE, REDIRECT) or bool(item.to) != (item.answer == REDIRECT):
            raise InputProblem(
                "bad-withdrawal",
                f"the withdrawal of {item.id} is neither gone nor a redirect with its address",
                next='publisher revise PLAN --reason "…"',
            )
        if item.url in seen or not URL_PATH.fullmatch(item.url):
            raise InputProblem(
                "bad-withdrawal",
                f"the withdrawn address of {item.id} is in use or no site path",
                next='publisher revise PLAN --reason "…"',
            )
        seen.add(item.url)
        inside = item.to.endswith("/") and page_path(item.to) in files and item.to not in moved
        if item.answer == REDIRECT and not inside and not _is_outside(item.to):
            raise InputProblem(
                "broken-redirect",
                f"the withdrawn {item.id} redirects to an address that is not there",
                next='publisher revise PLAN --reason "…"',
            )


def _is_outside(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc and not set(url) & set(" \"'<>\\")


def pages(theme: Theme, site: SiteView, withdrawn: Sequence[Withdrawn]) -> dict[str, bytes]:
    """The redirect pages by release path. The template gets ``to`` (for the link) and ``to_url`` (absolute)."""
    made = {}
    for item in withdrawn:
        if item.answer == REDIRECT:
            inside = item.to.startswith("/")
            page = Page(kind="moved", path=item.url, title="", description="")
            to, to_url = (site.href(item.to), site.absolute(item.to)) if inside else (item.to, item.to)
            made[page_path(item.url)] = theme.render("moved", page=page, to=to, to_url=to_url)
    return made
