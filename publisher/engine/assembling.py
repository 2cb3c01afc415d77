"""A release from recorded content: what build makes, what deploy makes again on a moved base, what confirm compares with.

Articles come from the texts that the ledger records, by git blob and digest; theme and configuration from the presentation's
commit. A directory is never listed to find out what is public.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from publisher.domain.article import LFS_POINTER, PublicArticle, Release, Withdrawn
from publisher.domain.fingerprint import canonical_json, digest
from publisher.domain.plan import Presentation
from publisher.domain.site_content import Content
from publisher.errors import InputProblem, StoppedForSafety
from publisher.ports import BuildRequest, Progress, ReadsRepository, SiteBuilder

OUTPUT = 2
"""The builder's output version for new presentations; a recorded release names its own."""


class ReleaseAssembler:
    """Implements ``ports.Assembler`` for one site; ``scratch`` is a directory that its owner removes."""

    def __init__(self, *, reads: ReadsRepository, builder: SiteBuilder, site: str, scratch: Path, progress: Progress) -> None:
        self._reads = reads
        self._builder = builder
        self._site = site
        self._scratch = scratch
        self._progress = progress
        self._built: dict[str, Release] = {}

    def presentation_at(self, commit: str, output: int | None = None) -> Presentation:
        version = OUTPUT if output is None else output
        files = self._look_files(commit)
        _require_no_pointer(self._site, files)
        configuration = dict(self._reads.instance(commit).sites[self._site].presentation_data())
        listed = [[path, digest(data)] for path, data in sorted(files.items())]
        value = digest(canonical_json({"output": version, "site": configuration, "files": listed}))
        return Presentation(commit=commit, output=version, digest=value)

    def build(self, content: Content, presentation: Presentation) -> Release:
        key = _key(content, presentation)
        if key not in self._built:
            self._progress(f"building {self._site}: {len(content.shown)} articles")
            into = tempfile.mkdtemp(prefix="release-", dir=self._scratch)
            self._built[key] = self._builder.build(self.request(content, presentation), into)
        return self._built[key]

    def articles(self, content: Content) -> tuple[PublicArticle, ...]:
        blobs = self._reads.blobs([oid for text in content.shown for oid, _ in text.files.values()])
        articles = []
        for text in content.shown:
            files = {name: blobs[oid] for name, (oid, _) in text.files.items()}
            for name, (_, expected) in text.files.items():
                if digest(files[name]) != expected:
                    raise StoppedForSafety(
                        "text-differs", f"{text.id}: {name} is not the recorded text", next="publisher audit"
                    )
            articles.append(self._builder.read_public_form(files))
        return tuple(articles)

    def request(self, content: Content, presentation: Presentation) -> BuildRequest:
        """The builder's input for some content in some presentation."""
        files = self._look_files(presentation.commit)
        return BuildRequest(
            site=self._reads.instance(presentation.commit).sites[self._site],
            articles=self.articles(content),
            withdrawn=tuple(Withdrawn(**item) for item in content.withdrawn.values()),
            theme=_below(files, "theme/"),
            static=_below(files, "static/"),
            output=presentation.output,
        )

    def _look_files(self, commit: str) -> Mapping[str, bytes]:
        theme = self._reads.files(commit, f"site-src/{self._site}/theme")
        static = self._reads.files(commit, f"site-src/{self._site}/static")
        if not theme:
            where = f"site-src/{self._site}/theme:1:1"
            raise InputProblem(
                "no-theme", "the site has no theme at the presentation's commit", where=where, next="publisher init"
            )
        return {**{f"theme/{path}": data for path, data in theme.items()}, **{f"static/{p}": d for p, d in static.items()}}


def _require_no_pointer(site: str, files: Mapping[str, bytes]) -> None:
    """Asked of a presentation when it is chosen: one that is recorded can always be built again."""
    for path, data in files.items():
        if data.startswith(LFS_POINTER):
            raise InputProblem(
                "lfs-pointer", "this is a Git LFS pointer; readers would get it instead of the file",
                where=f"site-src/{site}/{path}:1:1", next="git lfs untrack, then add the file itself",
            )  # fmt: skip


def _below(files: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
    return {path.removeprefix(folder): data for path, data in files.items() if path.startswith(folder)}


def _key(content: Content, presentation: Presentation) -> str:
    listed = [[text.id, text.digest] for text in content.shown]
    withdrawn = [dict(item) for item in content.withdrawn.values()]
    return digest(canonical_json({"articles": listed, "withdrawn": withdrawn, "presentation": presentation.digest}))
