"""The files of a checkout as a person edits them: for the verbs that write drafts, the queue and a new instance.

Nothing here is evidence of anything: runs, plans and approvals read git objects only.

Rules:
* a file is replaced as a whole, by rename, or not at all; a new file never replaces one that is there;
* comments, order and spelling of what is not changed stay as they are; what was written is read back by the strict reader;
* ids are opaque, unique in the whole instance whatever their case, and never given twice: one higher than any that is known.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from publisher.domain.article import Draft
from publisher.domain.instance import Instance
from publisher.domain.policy import Policy
from publisher.errors import Bug, ComeBackLater, InputProblem, UsageProblem
from publisher.gitstore import drafts, instance_files, strict_yaml, yaml_lines
from publisher.gitstore.git_objects import PLAIN_FILE, TreeEntry
from publisher.gitstore.validation import SCHEMAS
from publisher.gitstore.yaml_writing import render_yaml

INSTANCE = "publisher.yaml"
NUMBERED_ID = re.compile(rb"(?<![^\s\"'\[,:{])a-([0-9]{1,9})(?![^\s\"'\],}])", re.IGNORECASE)
"""An id as a value of YAML or JSON; never a part of a path."""

# --- files ------------------------------------------------------------------------------------------------------------------


def find_root(start: Path) -> Path:
    """The nearest folder, from ``start`` upwards, that holds a ``publisher.yaml``."""
    for folder in (start.absolute(), *start.absolute().parents):
        if (folder / INSTANCE).is_file():
            return folder
    raise InputProblem("not-an-instance", f"there is no {INSTANCE} here or above", where=str(start), next="publisher init")


def read_file(root: Path, path: str) -> bytes | None:
    """A plain file's bytes; None where there is none. A link is refused: git would keep the link, not the text."""
    file = root / path
    with told(path):
        if file.is_symlink():
            raise InputProblem("not-a-plain-file", f"{path} must be a plain file", where=f"{path}:1:1")
        return file.read_bytes() if file.is_file() else None


def write_file(file: Path, data: bytes) -> None:
    """Replaces a file as a whole, keeping its mode; makes the folders above it."""
    with _beside(file, data) as scratch:
        scratch.replace(file)


def create_file(file: Path, data: bytes) -> bool:
    """Writes a new file; False, and nothing changed, where something stands already."""
    with _beside(file, data) as scratch:
        try:
            os.link(scratch, file)
        except FileExistsError:
            return False
    return True


@contextmanager
def _beside(file: Path, data: bytes) -> Iterator[Path]:
    """A durable file with ``data`` in the folder of ``file``, gone again afterwards unless it was moved into place."""
    with told(file.name):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".publisher-", dir=file.parent)
        scratch = Path(name)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
                os.fchmod(out.fileno(), _mode_for(file))
                out.flush()
                os.fsync(out.fileno())
            yield scratch
            _flush_folder(file.parent)
        finally:
            with suppress(FileNotFoundError):
                scratch.unlink()


def _mode_for(file: Path) -> int:
    with suppress(FileNotFoundError):
        return file.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def told(path: str) -> Iterator[None]:
    """What the operating system refuses, as a refusal that names the file and the reason's symbol."""
    try:
        yield
    except OSError as problem:
        symbol = errno.errorcode.get(problem.errno or 0, "EIO")
        raise ComeBackLater(
            "file-trouble", f"{path} could not be read or written ({symbol})", next="look at its permissions and the free space"
        )


def schema_texts() -> dict[str, str]:
    """The shipped JSON Schemas by name (``plan``, ``queue``, …)."""
    return {path.name.removesuffix(".schema.json"): path.read_text("utf-8") for path in sorted(SCHEMAS.glob("*.schema.json"))}


# --- configuration ----------------------------------------------------------------------------------------------------------


def read_instance(root: Path) -> Instance:
    """``publisher.yaml`` of the checkout."""
    data = read_file(root, INSTANCE)
    if data is None:
        raise InputProblem("not-an-instance", f"there is no {INSTANCE} here", where=f"{INSTANCE}:1:1", next="publisher init")
    return instance_files.instance_of(data, INSTANCE)


def read_policy(root: Path, site: str) -> Policy | None:
    """A site's policy; None before there is one."""
    path = f"plans/{site}/policy.yaml"
    data = read_file(root, path)
    return None if data is None else instance_files.policy_of(data, path)


def with_site(root: Path, site: str, values: Mapping[str, Any]) -> tuple[bytes, Instance]:
    """``publisher.yaml`` with one more site at the end of its ``sites``, everything else as it stands; nothing is written."""
    data = read_file(root, INSTANCE) or b""
    document = strict_yaml.load(data, INSTANCE)
    block = render_yaml({"sites": {site: values}}).decode("utf-8").splitlines(keepends=True)[1:]
    text = yaml_lines.into_mapping(data, document, "sites", block).encode("utf-8")
    require_same(strict_yaml.load(text, INSTANCE).data, {**document.data, "sites": {**document.data["sites"], site: values}})
    return text, instance_files.instance_of(text, INSTANCE)


def require_same(found: object, expected: object) -> None:
    """What an edited file says must be what was meant; otherwise nothing is written."""
    if found != expected:
        raise Bug("edit-went-wrong", "an edit would have changed more than was asked for; nothing was written")


# --- drafts -----------------------------------------------------------------------------------------------------------------


class Files:
    """The checkout's files in the shape of ``gateway.Git``'s reading methods: ``drafts`` judges both by one set of rules.

    A file's "id" is its path; its mode is what git would record.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def tree(self, _: str, folder: str, recursive: bool = True) -> tuple[TreeEntry, ...]:
        assert not recursive, "drafts have no folders"
        with told(folder):
            found = sorted((self._root / folder).iterdir()) if (self._root / folder).is_dir() else []
            return tuple(
                TreeEntry(path=f"{folder}/{file.name}", mode=_mode_of(file), kind="blob", oid=f"{folder}/{file.name}")
                for file in found
            )

    def sizes(self, oids: Iterable[str]) -> dict[str, int]:
        return {oid: (self._root / oid).stat().st_size for oid in oids}

    def blobs(self, oids: Iterable[str]) -> dict[str, bytes]:
        return {oid: (self._root / oid).read_bytes() for oid in oids}


def _mode_of(file: Path) -> str:
    mode = file.lstat().st_mode
    if stat.S_ISREG(mode):
        return "100755" if mode & stat.S_IXUSR else PLAIN_FILE
    return "040000" if stat.S_ISDIR(mode) else "120000"


def read_draft(root: Path, source: str, references: drafts.References = lambda _: ()) -> Draft:
    """A draft as it stands in the checkout, by the rules for committed ones. ``InputProblem`` names what is wrong, and where.

    Without ``references`` its text is read and the files beside it are not.
    """
    # Files has the three methods that read_draft uses.
    git: Any = Files(root)
    with told(source):
        return drafts.read_draft(git, "", source, references)


def draft_sources(root: Path, site: str) -> tuple[str, ...]:
    """The folders of a site's drafts, sorted."""
    folder = root / "drafts" / site
    with told(f"drafts/{site}"):
        return tuple(f"drafts/{site}/{name.name}" for name in sorted(folder.glob("*")) if (name / "index.md").is_file())


def find_draft(root: Path, sites: Iterable[str], article: str) -> tuple[str, ...]:
    """The sources whose front matter carries an id; more than one is a mistake of the checkout."""
    wanted = re.compile(rb"(?m)^id: *[\"']?" + re.escape(article).encode() + rb"[\"']? *(?:#.*)?$", re.IGNORECASE)
    sources = [source for site in sites for source in draft_sources(root, site)]
    return tuple(source for source in sources if wanted.search(_head(root / source / "index.md")))


def new_draft(root: Path, site: str, slug: str, text: bytes) -> str:
    """Makes ``drafts/<site>/<slug>/index.md`` and returns its path; refuses a slug that is taken."""
    folder = root / "drafts" / site / slug
    with told(f"drafts/{site}"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir()
        except FileExistsError:
            raise UsageProblem("slug-taken", f"drafts/{site}/{slug} exists already", next="publisher new --slug ANOTHER …")
    try:
        create_file(folder / "index.md", text)
    except BaseException:
        with suppress(OSError):
            folder.rmdir()
        raise
    return f"drafts/{site}/{slug}/index.md"


def next_article_id(root: Path, elsewhere: Iterable[bytes] = ()) -> str:
    """One higher than any numbered id in the checkout's drafts, queues, plans, ledger and public texts.

    ``elsewhere`` are further texts that name ids, such as the ledger of a state branch that is not checked out.
    """
    highest = 0
    for text in (*_texts_with_ids(root), *elsewhere):
        highest = max([highest, *(int(number) for number in NUMBERED_ID.findall(text))])
    return f"a-{highest + 1:04d}"


def _texts_with_ids(root: Path) -> Iterator[bytes]:
    with told("the checkout"):
        for pattern in ("plans/*/**/*.yaml", "ledger/*/**/*.jsonl"):
            for path in root.glob(pattern):
                yield path.read_bytes()
        for pattern in ("drafts/*/*/index.md", "site-src/*/articles/*/index.md"):
            for path in root.glob(pattern):
                yield _head(path)


def _head(path: Path) -> bytes:
    """The front matter of a Markdown file, unread as YAML: enough to find an id in a draft that is not well-formed."""
    parts = path.read_bytes().split(b"\n---", 1)
    return parts[0] if parts[0].startswith(b"---") else b""


def ledger_elsewhere(root: Path, instance: Instance) -> Iterator[bytes]:
    """The ledger's files on a state branch that is not the checked-out one, as far as this clone knows it."""
    if instance.state_branch == instance.default_branch or not (root / ".git").exists():
        return
    from publisher.gitstore.gateway import Git  # imported late: most instances do not need git here

    git = Git(root)
    names = (f"refs/heads/{instance.state_branch}", f"refs/remotes/origin/{instance.state_branch}")
    for commit in set(git.tracking(names).values()):
        entries = [entry for entry in git.tree(commit, "ledger") if entry.path.endswith(".jsonl")]
        yield from git.blobs(entry.oid for entry in entries).values()
