"""Git objects as values: names, trees, commits, packs. Pure: bytes in, values out.

Rules:
* an object id or a ref that goes on a command line is checked here first: full hex ids, full ref names, nothing that could be
  taken for an option or a revision expression;
* ids are computed again from bytes wherever bytes are used, because git does not do that for packed objects;
* new trees are made from the folders they touch, so that a commit costs the same however large the repository has grown.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from publisher.errors import Bug, InputProblem, StoppedForSafety

OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
REF = re.compile(r"refs/(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*/)*[A-Za-z0-9_][A-Za-z0-9_.+-]*", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@{}^~-]*", re.ASCII)
PLAIN_FILE = "100644"
FOLDER = "40000"

# Above this many new objects one pack is written instead of as many loose files, each of which costs a disk flush.
LOOSE_AT_MOST = 24


@dataclass(frozen=True, kw_only=True)
class TreeEntry:
    """One entry of a tree. ``path`` is relative to the repository's top; ``kind`` is blob, tree or commit (a submodule)."""

    path: str
    mode: str
    kind: str
    oid: str


@dataclass(frozen=True, kw_only=True)
class CommitInfo:
    """A commit's own words. Names, times and message are whatever its writer chose, and never evidence."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author_name: str
    author_email: str
    committer_at: datetime
    message: str


@dataclass(frozen=True, kw_only=True)
class NewObject:
    """An object to store: its id, its type's name and its bytes."""

    oid: str
    kind: str
    data: bytes


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """What one commit did to one file against its first parent. ``mode`` and ``new`` are "" where it removed the file."""

    commit: str
    path: str
    mode: str
    old: str
    new: str


def is_oid(text: str) -> bool:
    return OID.fullmatch(text) is not None


def check_ref(ref: str) -> str:
    """``ref`` if it is a full, plain ref name; a bug otherwise, since publisher makes every ref name it writes."""
    bad = not REF.fullmatch(ref) or ".." in ref or any(part.endswith((".lock", ".")) for part in ref.split("/"))
    if bad:
        raise Bug("ref-name", "a ref name that publisher never makes was about to be used")
    return ref


def check_path(path: str) -> str:
    """``path`` if it may stand in a tree on every system: relative, no dot folders, nothing called ``.git``."""
    parts = path.split("/")
    if "\n" in path or "\0" in path or "\\" in path or any(p in ("", ".", "..") or p.lower() == ".git" for p in parts):
        raise Bug("tree-path", "a path that publisher never makes was about to be written")
    return path


def text_of(data: bytes) -> str:
    """A path's text; refused where it is not UTF-8, since no file system agrees on what such a name is."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputProblem("path-not-utf8", "a path in the repository is not UTF-8 text", next="git mv it to a plain name")


# --- ids and packs ----------------------------------------------------------------------------------------------------------


def new_object(kind: str, data: bytes, algorithm: str) -> NewObject:
    return NewObject(oid=object_id(kind, data, algorithm), kind=kind, data=data)


def object_id(kind: str, data: bytes, algorithm: str) -> str:
    """The id git gives an object: SHA-1 (or SHA-256) over a header and its bytes."""
    found = hashlib.new(algorithm, usedforsecurity=False)
    found.update(b"%s %d\0" % (kind.encode(), len(data)))
    found.update(data)
    return found.hexdigest()


def algorithm_of(oid: str) -> str:
    return "sha1" if len(oid) == 40 else "sha256"


_PACK_TYPES = {"commit": 1, "tree": 2, "blob": 3}


def pack_of(objects: Iterable[NewObject], algorithm: str) -> bytes:
    """A version 2 pack stream without deltas (gitformat-pack(5))."""
    unique = {item.oid: item for item in objects}
    out = bytearray(b"PACK" + struct.pack(">II", 2, len(unique)))
    for item in unique.values():
        size = len(item.data)
        byte, size = (_PACK_TYPES[item.kind] << 4) | (size & 0x0F), size >> 4
        while size:
            out.append(byte | 0x80)
            byte, size = size & 0x7F, size >> 7
        out.append(byte)
        out += zlib.compress(item.data)
    return bytes(out) + hashlib.new(algorithm, out, usedforsecurity=False).digest()


# --- trees --------------------------------------------------------------------------------------------------------------------

Folder = dict[str, tuple[str, str]]
"""A folder's entries: name → (mode, id)."""


def parse_listing(out: bytes) -> tuple[TreeEntry, ...]:
    """The entries of ``ls-tree -z``."""
    entries = []
    for record in out.split(b"\0")[:-1]:
        head, _, path = record.partition(b"\t")
        mode, kind, oid = head.decode("ascii").split(" ")
        entries.append(TreeEntry(path=text_of(path), mode=mode, kind=kind, oid=oid))
    return tuple(entries)


def parse_folder(data: bytes, width: int) -> Folder:
    """A raw tree object; ``width`` is the length of an id in bytes."""
    entries: Folder = {}
    at = 0
    while at < len(data):
        space, end = data.index(b" ", at), data.index(b"\0", at)
        oid = data[end + 1 : end + 1 + width]
        entries[text_of(data[space + 1 : end])] = (data[at:space].decode("ascii"), oid.hex())
        at = end + 1 + width
    return entries


def folder_bytes(folder: Folder) -> bytes:
    """A raw tree object. Git sorts by bytes, with a folder's name taken as if it ended with a slash."""
    rows = [(name.encode("utf-8"), mode, oid) for name, (mode, oid) in folder.items()]
    rows.sort(key=lambda row: row[0] + b"/" if row[1] == FOLDER else row[0])
    return b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for name, mode, oid in rows)


def folders_of(paths: Iterable[str]) -> tuple[str, ...]:
    """Every folder above ``paths``, deepest first, ending with "" for the top."""
    found = {""}
    for path in paths:
        parts = path.split("/")[:-1]
        found.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return tuple(sorted(found, key=lambda folder: (-len(folder.split("/")) if folder else 0, folder)))


def changed_trees(before: Mapping[str, Folder], changes: Mapping[str, bytes | None], algorithm: str) -> tuple[NewObject, ...]:
    """The blobs and trees that ``changes`` make of the touched folders ``before``; the top tree comes last.

    A change of None removes the file; folders that become empty go with it, except the top.
    """
    folders = {folder: dict(before.get(folder, {})) for folder in folders_of(changes)}
    made: list[NewObject] = []
    for path, data in changes.items():
        folder, _, name = check_path(path).rpartition("/")
        if folders[folder].get(name, ("", ""))[0] == FOLDER or path in folders:
            raise Bug("tree-conflict", "a file was about to be written where a folder is")
        if data is None:
            folders[folder].pop(name, None)
            continue
        blob = new_object("blob", data, algorithm)
        made.append(blob)
        folders[folder][name] = (PLAIN_FILE, blob.oid)
    for folder, entries in folders.items():
        parent, _, name = folder.rpartition("/")
        if folder and folders[parent].get(name, (FOLDER, ""))[0] != FOLDER:
            raise Bug("tree-conflict", "a folder was about to be made where a file is")
        if folder and not entries:
            folders[parent].pop(name, None)
            continue
        tree = new_object("tree", folder_bytes(entries), algorithm)
        made.append(tree)
        if folder:
            folders[parent][name] = (FOLDER, tree.oid)
    return tuple(made)


# --- what commands print ----------------------------------------------------------------------------------------------------

COMMIT_FORMAT = "%H%x00%T%x00%P%x00%an%x00%ae%x00%ct%x00%B%x00"
_FIELDS = COMMIT_FORMAT.count("%x00")
_LATEST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())


def parse_commits(out: bytes) -> tuple[CommitInfo, ...]:
    """The commits that ``rev-list --format=COMMIT_FORMAT --no-commit-header`` printed."""
    fields = [field.decode("utf-8", "replace") for field in out.split(b"\0")]
    commits = []
    for start in range(0, len(fields) - 1, _FIELDS):
        oid, tree, parents, name, email, at, message = fields[start : start + _FIELDS]
        # A commit may carry any number as its time; beyond the calendar it means "very late".
        when = datetime.fromtimestamp(min(int(at), _LATEST), UTC)
        commits.append(
            CommitInfo(
                oid=oid.removeprefix("\n"), tree=tree, parents=tuple(parents.split()), author_name=name, author_email=email,
                committer_at=when, message=message,
            )
        )  # fmt: skip
    return tuple(commits)


def parse_batch(out: bytes, asked: int) -> Iterator[tuple[str, str, bytes] | None]:
    """The answers of ``cat-file --batch`` in order: (id, kind, bytes), or None for a missing one."""
    at = 0
    for _ in range(asked):
        end = out.find(b"\n", at)
        words = out[at:end].split(b" ") if end >= 0 else []
        if words and words[-1] == b"missing":
            at = end + 1
            yield None
            continue
        if len(words) != 3 or not words[2].isdigit() or len(out) < end + 2 + int(words[2]):
            raise StoppedForSafety("object-unreadable", "git could not read an object of this repository", next="git fsck")
        size = int(words[2])
        yield words[0].decode("ascii"), words[1].decode("ascii"), out[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def parse_objects(out: bytes) -> tuple[tuple[str, str], ...]:
    """The (id, path) lines of ``rev-list --objects``."""
    found = []
    for line in out.split(b"\n")[:-1]:
        oid, _, path = line.partition(b" ")
        if not OID.fullmatch(oid.decode("ascii", "replace")):
            raise InputProblem(
                "path-line-break", "a path in the repository holds a line break", next="git mv it to a plain name"
            )
        found.append((oid.decode("ascii"), text_of(path)))
    return tuple(found)


def parse_changes(out: bytes) -> tuple[FileChange, ...]:
    """The commits and raw lines of ``diff-tree --stdin -r -z``."""
    words = out.split(b"\0")[:-1]
    changes: list[FileChange] = []
    commit, at = "", 0
    while at < len(words):
        if not words[at].startswith(b":"):
            commit, at = words[at].decode("ascii"), at + 1
            continue
        _, mode, old, new, _ = words[at].decode("ascii").split(" ")
        there = {"old": "" if set(old) == {"0"} else old, "new": "" if set(new) == {"0"} else new}
        changes.append(FileChange(commit=commit, path=text_of(words[at + 1]), mode=mode if there["new"] else "", **there))
        at += 2
    return tuple(changes)


def split_signature(commit: bytes) -> tuple[bytes, str]:
    """A raw commit as (what was signed, the armored signature); the signature is "" when there is none or more than one.

    The signature is the header ``gpgsig`` (``gpgsig-sha256`` in SHA-256 repositories) with its indented lines; what was signed
    is the commit without it (gitformat-signature(5)).
    """
    head, blank, message = commit.partition(b"\n\n")
    kept: list[bytes] = []
    signatures: list[list[bytes]] = []
    inside = False
    for line in head.split(b"\n"):
        if inside and line.startswith(b" "):
            signatures[-1].append(line[1:])
            continue
        name, _, value = line.partition(b" ")
        inside = name.startswith(b"gpgsig")
        if inside:
            signatures.append([value])
        else:
            kept.append(line)
    if len(signatures) != 1:
        return commit, ""
    signature = b"\n".join(signatures[0]).decode("ascii", "replace")
    return b"\n".join(kept) + blank + message, signature + "\n"
