"""``llms.txt`` (https://llmstxt.org): the site and its newest articles in Markdown, for readers that are programs.

A convention that nobody is known to require; it costs one small file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from publisher.sitebuilder.views import Entry, SiteView

PATH = "llms.txt"
NEWEST = 100
MARKS = re.compile(r"([\\\[\]*_`<])")


def llms(site: SiteView, entries: Sequence[Entry]) -> dict[str, bytes]:
    lines = [f"# {_plain(site.title)}", ""]
    if site.description:
        lines += [f"> {_plain(site.description)}", ""]
    lines += ["## Articles", ""]
    lines += [
        f"- [{_plain(entry.title)}]({site.absolute(entry.path)}): {_plain(entry.summary)}"
        for entry in list(reversed(entries))[:NEWEST]
    ]
    lines += ["", "## Optional", "", f"- [All articles]({site.absolute('/archive/')})"]
    lines += [f"- [Feed]({site.absolute('/feed.xml')})"]
    return {PATH: ("\n".join(lines) + "\n").encode("utf-8")}


def _plain(text: str) -> str:
    return MARKS.sub(r"\\\1", text)
