"""Private sources, read from git objects at a commit.

Rules:
* a draft is a folder ``drafts/<site>/<slug>`` with ``index.md`` and the files that its text uses, all of them plain files
  (mode 100644): what a link, a submodule or an LFS pointer stands for was never reviewed;
* front matter stands between a first line ``---`` and the next line ``---``, in strict YAML;
* sizes are known before anything is read;
* no message quotes anything out of a draft: positions, names of fields, and names of files beside it only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from publisher.domain.article import FILE_NAME, LFS_POINTER, Draft, Private, is_safe_name
from publisher.errors import InputProblem
from publisher.gitstore.gateway import Git
from publisher.gitstore.git_objects import PLAIN_FILE, TreeEntry
from publisher.gitstore.strict_yaml import load
from publisher.gitstore.validation import check

TEXT = "index.md"
LARGEST_TEXT = 1024 * 1024
LARGEST_FILE = 10 * 1024 * 1024
MOST_FILES = 200
FENCE = "---"

# What feeds and pages cannot carry: control characters but tab and line feed, and code points that are no characters.
_ILLEGAL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff\ufeff]")

References = Callable[[str], tuple[str, ...]]
"""Markdown → the files it uses; refuses at ``index.md:<line>:1``, counting the lines of the text that it was given."""


def draft_sources(git: Git, commit: str, site: str) -> tuple[str, ...]:
    """The folders below ``drafts/<site>`` with an ``index.md``, sorted. Refuses names that only some systems keep apart."""
    _require_name(site, f"drafts/{site}")
    paths = [entry.path for entry in git.tree(commit, f"drafts/{site}")]
    twins = collisions(paths)
    if twins:
        says = "two names here are one on systems that ignore letter case or accents' spelling"
        raise InputProblem("names-collide", says, where=f"{twins[0][1]}:1:1", next="git mv one of them")
    return tuple(sorted(path.removesuffix(f"/{TEXT}") for path in paths if path.count("/") == 3 and path.endswith(f"/{TEXT}")))


def collisions(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of paths (or of folders above them) that case-insensitive or normalising file systems take for one."""
    seen: dict[str, str] = {}
    found = []
    names = {"/".join(parts[:count]) for parts in (path.split("/") for path in paths) for count in range(1, len(parts) + 1)}
    for name in sorted(names):
        first = seen.setdefault(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()), name)
        if first != name:
            found.append((first, name))
    return tuple(found)


def read_draft(git: Git, commit: str, source: str, references: References) -> Draft:
    """The draft in the folder ``source`` at a commit of the drafts' repository, with exactly the files that it uses."""
    slug = _slug_of(source)
    entries = {entry.path.removeprefix(f"{source}/"): entry for entry in git.tree(commit, source, recursive=False)}
    if TEXT not in entries:
        raise InputProblem("draft-missing", "there is no draft here", where=f"{source}/{TEXT}:1:1", next="publisher new")
    parsed = _parse(source, slug, entries, _bytes(git, [entries[TEXT]])[TEXT], references)
    return parsed.with_files(_bytes(git, [entries[name] for name in parsed.used]))


def read_drafts(
    git: Git, commit: str, site: str, sources: Iterable[str], references: References
) -> tuple[dict[str, Draft], dict[str, InputProblem]]:
    """Many drafts of a site at the cost of a few processes: those that can be read, and why the others cannot."""
    wanted = set(sources)
    folders: dict[str, dict[str, TreeEntry]] = {source: {} for source in sorted(wanted)}
    for entry in git.tree(commit, f"drafts/{site}"):
        folder, _, name = entry.path.rpartition("/")
        if folder in folders:
            folders[folder][name] = entry
    problems: dict[str, InputProblem] = {}
    texts = _many(git, {source: [entries[TEXT]] for source, entries in folders.items() if TEXT in entries}, problems)
    parsed: dict[str, _Parsed] = {}
    for source, files in texts.items():
        try:
            parsed[source] = _parse(source, _slug_of(source), folders[source], files[TEXT], references)
        except InputProblem as problem:
            problems[source] = problem
    used = _many(git, {source: [folders[source][name] for name in one.used] for source, one in parsed.items()}, problems)
    return {source: parsed[source].with_files(files) for source, files in used.items()}, problems


def _many(git: Git, wanted: Mapping[str, list[TreeEntry]], problems: dict[str, InputProblem]) -> dict[str, Mapping[str, bytes]]:
    """Each source's files by name, all read at once; a source with an unfit file goes to ``problems``."""
    sizes = git.sizes(entry.oid for entries in wanted.values() for entry in entries)
    fit: dict[str, list[TreeEntry]] = {}
    for source, entries in wanted.items():
        try:
            _require_fit(entries, sizes)
            fit[source] = entries
        except InputProblem as problem:
            problems[source] = problem
    texts = git.blobs(entry.oid for entries in fit.values() for entry in entries)
    found: dict[str, Mapping[str, bytes]] = {}
    for source, entries in fit.items():
        try:
            found[source] = _named(entries, texts)
        except InputProblem as problem:
            problems[source] = problem
    return found


@dataclass(frozen=True, kw_only=True)
class _Parsed:
    """A draft whose text is read, and the names of the files that it uses."""

    source: str
    slug: str
    fields: Mapping[str, Any]
    body: str
    text: bytes
    used: tuple[str, ...]

    def with_files(self, files: Mapping[str, bytes]) -> Draft:
        fields = self.fields
        return Draft(
            id=fields["id"],
            slug=self.slug,
            source=self.source,
            title=Private(fields["title"]),
            summary=Private(fields["summary"]),
            category=fields["category"],
            tags=tuple(fields.get("tags", ())),
            draft_mark=fields.get("draft", False),
            salt=fields.get("salt", ""),
            body=Private(self.body),
            files={TEXT: self.text, **files},
        )


def _parse(source: str, slug: str, entries: Mapping[str, TreeEntry], data: bytes, references: References) -> _Parsed:
    where = f"{source}/{TEXT}"
    fields, body, line = _split(_text(data, where), where)
    used = _used(references, body, where, line)
    missing = [name for name in used if name not in entries]
    if missing:
        place = f"{where}:{_line_of(body, missing[0], line)}:1"
        raise InputProblem(
            "draft-file-missing", f"the file {missing[0]} is not beside this text", where=place, next="git add it"
        )
    return _Parsed(source=source, slug=slug, fields=fields, body=body, text=data, used=used)


def _slug_of(source: str) -> str:
    parts = source.split("/")
    if len(parts) != 3 or parts[0] != "drafts":
        raise InputProblem("draft-place", "a draft is a folder drafts/<site>/<slug>", next="publisher queue list")
    for part in parts[1:]:
        _require_name(part, source)
    return parts[2]


def _require_name(name: str, where: str) -> None:
    if not is_safe_name(name):
        shown = where if where.isascii() and where.isprintable() and len(where) < 200 else "drafts"
        raise InputProblem(
            "draft-name", "a site or slug is written with small letters, digits and hyphens, and is no reserved name",
            where=f"{shown}:1:1", next="git mv",
        )  # fmt: skip


def _bytes(git: Git, entries: list[TreeEntry]) -> Mapping[str, bytes]:
    """The bytes of files by their plain names. Kinds and sizes are judged before anything is read."""
    if not entries:
        return {}
    _require_fit(entries, git.sizes(entry.oid for entry in entries))
    return _named(entries, git.blobs(entry.oid for entry in entries))


def _require_fit(entries: list[TreeEntry], sizes: Mapping[str, int]) -> None:
    for entry in entries:
        _require_plain(entry)
        most = LARGEST_TEXT if entry.path.endswith(f"/{TEXT}") else LARGEST_FILE
        if sizes.get(entry.oid, 0) > most:
            says = f"this file is larger than {most // (1024 * 1024)} MiB"
            raise InputProblem("draft-too-big", says, where=f"{entry.path}:1:1")


def _named(entries: list[TreeEntry], texts: Mapping[str, bytes]) -> Mapping[str, bytes]:
    for entry in entries:
        if texts[entry.oid].startswith(LFS_POINTER):
            says = "this is a Git LFS pointer; what it points at was not reviewed"
            raise InputProblem(
                "draft-lfs-pointer", says, where=f"{entry.path}:1:1", next="git lfs untrack, then add the file itself"
            )
    return {entry.path.rsplit("/", 1)[1]: texts[entry.oid] for entry in entries}


_KINDS = {
    "120000": ("draft-symlink", "this is a symbolic link; a draft holds plain files"),
    "160000": ("draft-submodule", "this is a submodule; a draft holds plain files"),
    "100755": ("draft-executable", "this file is executable; a draft holds plain files"),
    "040000": ("draft-folder", "this is a folder; a draft's files lie beside its text"),
}


def _require_plain(entry: TreeEntry) -> None:
    if entry.mode != PLAIN_FILE:
        code, says = _KINDS.get(entry.mode, ("draft-mode", "this is no plain file"))
        fix = "git update-index --chmod=-x" if code == "draft-executable" else "replace it by the file itself"
        raise InputProblem(code, says, where=f"{entry.path}:1:1", next=fix)


def _text(data: bytes, where: str) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise InputProblem("draft-not-utf8", "this is not UTF-8 text", where=f"{where}:{line}:1")
    if "\r" in text:
        line = text.count("\n", 0, text.index("\r")) + 1
        says = "lines end with a carriage return; save with LF line ends"
        raise InputProblem("draft-line-ends", says, where=f"{where}:{line}:1", next="git config core.autocrlf input")
    found = _ILLEGAL.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise InputProblem("draft-characters", "this line holds a character that pages cannot carry", where=f"{where}:{line}:1")
    return text


def _split(text: str, where: str) -> tuple[dict[str, Any], str, int]:
    """(front matter, the text after it, how many lines stand before that text)."""
    lines = text.split("\n")
    if lines[0] != FENCE:
        raise InputProblem("front-matter-missing", "the first line is not exactly ---", where=f"{where}:1:1")
    try:
        end = lines.index(FENCE, 1)
    except ValueError:
        raise InputProblem("front-matter-open", "the front matter is not closed by a line ---", where=f"{where}:1:1")
    document = load("\n".join([*lines[1:end], ""]).encode("utf-8"), where, first_line=2)
    check(document, "draft")
    fields: dict[str, Any] = document.data
    for name in ("id", "category"):
        if not is_safe_name(fields[name]):
            raise InputProblem("draft-name", f"{name} is a reserved name", where=document.where([name]))
    for number, tag in enumerate(fields.get("tags", ())):
        if tag != "git" and not is_safe_name(tag):  # a tag names a folder of the site
            raise InputProblem("draft-name", "a tag is a reserved name", where=document.where(["tags", number]))
    return fields, "\n".join(lines[end + 1 :]), end + 1


def _used(references: References, body: str, where: str, line: int) -> tuple[str, ...]:
    """The files that a text uses, by plain names. Its refusals get the file's own path and line."""
    try:
        names = references(body)
    except InputProblem as problem:
        place = problem.where.split(":")
        number = int(place[1]) + line if len(place) > 1 and place[1].isdigit() else line + 1
        code, says, fix = problem.code, problem.says, problem.next
        raise InputProblem(code, says, next=fix, where=f"{where}:{number}:1") from None
    for name in names:
        if name == TEXT or not FILE_NAME.fullmatch(name):
            place_of = f"{where}:{_line_of(body, name, line)}:1"
            raise InputProblem(
                "draft-reference", "a file is used that is not beside this text under a plain name", where=place_of
            )
    if len(names) > MOST_FILES:
        raise InputProblem("draft-too-many-files", f"this text uses more than {MOST_FILES} files", where=f"{where}:1:1")
    return names


def _line_of(body: str, name: str, line: int) -> int:
    """The line of the file in which ``name`` first stands; the text's first line where it is spelt another way."""
    at = body.find(name)
    return line + 1 + (body.count("\n", 0, at) if at >= 0 else 0)
