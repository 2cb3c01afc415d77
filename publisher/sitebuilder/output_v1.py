"""Output version 1: the first one. Recorded releases are built again by it, byte for byte."""

from __future__ import annotations

from publisher.ports import BuildRequest
from publisher.sitebuilder.markdown import render
from publisher.sitebuilder.site_files import Version, files_of

VERSION = Version(render=render)


def outputs(request: BuildRequest) -> dict[str, bytes]:
    """Every file of the release by path. ``InputProblem`` when text, theme or links break a rule."""
    return files_of(request, VERSION)
