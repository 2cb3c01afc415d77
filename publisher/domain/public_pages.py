"""What the public must show of a plan: the pages that a confirmation looks at.

Rule: the plan's own pages, the list, both feeds and the manifest, each with the bytes of the release that is live now (a later
plan's deploy changed lists and feeds); withdrawn addresses must be gone, or show their redirect.
"""

from __future__ import annotations

from urllib.parse import urljoin

from publisher.domain.article import MANIFEST_PATH, Release, page_path
from publisher.domain.evidence import ExpectedPage
from publisher.domain.facts import Prepared
from publisher.domain.site_content import Content

SHARED_PAGES = (("index.html", ""), ("feed.xml", "feed.xml"), ("atom.xml", "atom.xml"), (MANIFEST_PATH, MANIFEST_PATH))


def plan_urls(prepared: Prepared, content: Content) -> tuple[str, ...]:
    """URL paths that the plan's texts and redirects answer at."""
    shown = {text.id for text in content.shown}
    redirects = [item["url"] for item in prepared.withdraws if item["answer"] == "redirect"]
    return (*(text.url for text in prepared.puts if text.id in shown), *redirects)


def absolute(site_url: str, path: str) -> str:
    """The full address of a URL path on a site, which may itself live below a path."""
    return urljoin(site_url.rstrip("/") + "/", path.lstrip("/"))


def expected_pages(site_url: str, release: Release, prepared: Prepared, content: Content) -> tuple[ExpectedPage, ...]:
    """Every page that must be seen before a plan counts as confirmed."""
    paths = [(page_path(url), url) for url in plan_urls(prepared, content)]
    pages = [
        ExpectedPage(url=absolute(site_url, url), digest=release.files[path])
        for path, url in (*paths, *SHARED_PAGES)
        if path in release.files
    ]
    gone = [item["url"] for item in prepared.withdraws if item["answer"] == "gone"]
    return (*pages, *(ExpectedPage(url=absolute(site_url, url), digest="", gone=True) for url in gone))
