"""Every link into the site leads somewhere in the same release, down to the anchor."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from publisher.domain.article import PublicArticle, page_path
from publisher.errors import InputProblem
from publisher.sitebuilder.public_form import HEAD_LINES, source_path
from publisher.sitebuilder.references import Source
from publisher.sitebuilder.rendered import Link, Rendered


def article_source(site: str, article: PublicArticle) -> Source:
    """Where an article's text stands in the build source."""
    return Source(path=source_path(site, article.id), lines_before=HEAD_LINES)


def check(site: str, articles: Collection[PublicArticle], rendered: Mapping[str, Rendered], outputs: Collection[str]) -> None:
    """``InputProblem`` for the first link that leads nowhere, in order of articles and lines.

    ``rendered`` maps article ids to their HTML; ``outputs`` are the release's paths.
    """
    anchors = {article.url: rendered[article.id].anchors for article in articles}
    for article in articles:
        for link in rendered[article.id].links:
            problem = _problem(link, article.url, anchors, outputs)
            if problem:
                where = article_source(site, article).at(link.line)
                raise InputProblem(problem, _SAYS[problem].format(path=link.path or article.url), where=where)


_SAYS = {
    "broken-link": "the link to {path} leads nowhere in this release",
    "link-without-slash": "the link to {path} needs a slash at its end",
    "broken-anchor": "the link to {path} names a section that is not there",
}


def _problem(link: Link, own: str, anchors: Mapping[str, Collection[str]], outputs: Collection[str]) -> str:
    path = link.path or own
    name = path.removeprefix("/")
    if path.endswith("/"):
        if page_path(path) not in outputs:
            return "broken-link"
    elif name not in outputs:
        return "link-without-slash" if page_path(path + "/") in outputs else "broken-link"
    if link.anchor and link.anchor not in anchors.get(path, ()):
        return "broken-anchor"
    return ""
