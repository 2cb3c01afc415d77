"""The only user of git, through GitPython.

Rules:
* git has no time-out of its own: every process runs in a session of its own, against a wall-clock limit, and its whole process
  group is ended when the limit passes or we are interrupted;
* reading never writes into the repository; writing never touches the index or the working tree, whose locks survive a kill;
* no exit code of ``git push`` is evidence: ``push`` returns a hint; the caller reads the remote and looks for its own nonce;
* nothing is decided by git's prose: exit codes, ``-z`` and batch formats only, and what git says is never passed on;
* the environment and the configuration that git sees are ours (``local_config``).

Needs git 2.36 or newer (``core.fsync``), and OpenSSH 8.2 or newer for signatures.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

from publisher.errors import Bug, ComeBackLater, InputProblem, NeedsPerson, StoppedForSafety
from publisher.gitstore import clone_files, git_objects, local_config, object_reader, ssh_signatures
from publisher.gitstore.deploy_keys import DeployKeys
from publisher.gitstore.git_objects import CommitInfo, FileChange, NewObject, TreeEntry, check_ref, is_oid
from publisher.gitstore.object_reader import Memory, ObjectReader, Started

GRACE = 2.0
"""Seconds between asking a process group to end, so that git removes its lock files, and ending it."""

_MISSING = "a commit or file that must exist cannot be read from this clone"


class _Done(NamedTuple):
    code: int
    out: bytes
    late: bool


class Git:
    """One repository. ``objects`` is a private object directory: reads go through it, and fetched objects land in it only."""

    def __init__(self, repository: Path, *, limit: float = 60.0, objects: Path | None = None) -> None:
        self._root = repository.absolute()
        self._git_dir = clone_files.git_dir_of(self._root)
        self._common = clone_files.common_dir_of(self._git_dir)
        self._limit = limit
        self._objects = objects
        self._keys = DeployKeys()
        self._reader = ObjectReader(self._cat_file, _end_group, limit)
        self._listings: Memory[tuple[TreeEntry, ...]] = Memory()
        # What follows from commits' ids alone stays as it is.
        self._walks: Memory[Any] = Memory()
        self._unreplaced = False

    @classmethod
    def find(cls, start: Path) -> Git:
        """The repository whose working tree holds ``start``. A bare repository is never found by being inside it."""
        for folder in (start.absolute(), *start.absolute().parents):
            if (folder / ".git").exists():
                return cls(folder)
        raise InputProblem("not-a-repository", "this is not inside a git repository", next="publisher init", where=str(start))

    def root(self) -> Path:
        """The top of the working tree, or the bare repository itself."""
        return self._root

    def git_dir(self) -> Path:
        """Where this working tree's own git files are."""
        return self._git_dir

    # --- trust --------------------------------------------------------------------------------------------------------------

    def require_trustworthy(self) -> None:
        """Refuses a clone that lies about history or whose configuration redirects git."""
        clone_files.refuse_incomplete(self._common)
        local_config.refuse_hostile(self._settings, self._root)
        # Looked at once: no process that publisher starts obeys such refs anyway.
        self._unreplaced = self._unreplaced or not self.tracking(["refs/replace/"])
        if not self._unreplaced:
            raise StoppedForSafety(
                "replaced-objects", "refs/replace/ changes objects of this clone", next="git replace --delete"
            )
        self._require_owner()

    def require_sound(self, seconds: float = 3600.0) -> None:
        """Refuses a clone with an object that is missing or not what its id says.

        Bytes are compared with ids wherever publisher reads them itself; git's own walks over commits compare nothing.
        """
        done = self._run("fsck", "--full", "--no-dangling", "--no-reflogs", "--no-progress", limit=seconds)
        if done.late:
            raise self._unreadable(done)
        if done.code != 0:
            raise StoppedForSafety(
                "object-corrupt",
                "an object of this clone is missing or is not what its id says",
                next="git fsck, then clone again",
            )

    def _require_owner(self) -> None:
        """Git's own ownership rule (``safe.directory``), which naming the repository explicitly would go around."""
        owners = {os.geteuid()} | ({int(os.environ.get("SUDO_UID", "0") or 0)} if os.geteuid() == 0 else set())
        if self._git_dir.stat().st_uid in owners:
            return
        allowed = {value for _, value in self._user_settings(r"^safe\.directory$")}
        if allowed.isdisjoint({"*", str(self._root), str(self._git_dir)}):
            raise StoppedForSafety(
                "foreign-owner", "this repository belongs to another user", next="git config --global --add safe.directory PATH"
            )

    def local_setting(self, name: str) -> str:
        """One value of the clone's own configuration (the last, when it stands there several times), or ""."""
        return local_config.value_of(self._settings, name)

    @cached_property
    def _settings(self) -> local_config.Settings:
        return local_config.parse_settings(self._must("config", "--list", "--null", "--show-scope"))

    # --- reading ------------------------------------------------------------------------------------------------------------

    def resolve(self, name: str) -> str:
        """The full id of the commit that ``name`` stands for, or ""."""
        if not git_objects.NAME.fullmatch(name):
            return ""
        done = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
        return done.out.decode("ascii").strip() if done.code == 0 else ""

    def tracking(self, prefixes: Sequence[str]) -> dict[str, str]:
        """The refs of this clone below ``prefixes`` (full names or folders) and the ids they point at now."""
        out = self._must("for-each-ref", "--format=%(objectname) %(refname)", "--end-of-options", *prefixes)
        rows = [line.split(" ", 1) for line in out.decode("utf-8", "replace").splitlines()]
        return {ref: oid for oid, ref in rows}

    def tree(self, commit: str, folder: str, recursive: bool = True) -> tuple[TreeEntry, ...]:
        """The entries below ``folder`` ("" for the top), in git's order; none where there is no such folder."""
        folder = folder.rstrip("/")
        found = self._reader.find(self._oid(commit), folder)
        if found is None or found.kind != "tree":
            return ()
        prefix = f"{folder}/" if folder else ""
        if not recursive:
            rows = object_reader.listed(self._reader.folder(found.oid), prefix)
            return tuple(TreeEntry(path=path, mode=it.mode, kind=it.kind, oid=it.oid) for path, it in rows)
        known = self._listings.get((found.oid, prefix))
        if known is not None:
            return known
        out = self._must("ls-tree", "-z", "--full-tree", "-r", found.oid)
        entries = tuple(replace(entry, path=prefix + entry.path) for entry in git_objects.parse_listing(out))
        return self._listings.keep((found.oid, prefix), entries, 5 * len(out))

    def blob_ids(self, commit: str, paths: Iterable[str]) -> dict[str, str]:
        """The ids of those of ``paths`` that are files at a commit."""
        top = self._oid(commit)
        found = {path: self._reader.find(top, path) for path in sorted(set(paths))}
        return {path: entry.oid for path, entry in found.items() if entry and entry.kind == "blob"}

    def blob_at(self, commit: str, path: str) -> bytes | None:
        """A plain file's bytes at a commit; None where nothing stands at ``path``. Links and the like are refused."""
        entry = self._reader.find(self._oid(commit), path)
        if entry is None or entry.kind == "tree":
            return None
        if entry.mode != git_objects.PLAIN_FILE:
            raise InputProblem(
                "not-a-plain-file", "this must be a plain, non-executable file", next=f"git rm {path}", where=f"{path}:1:1"
            )
        return self.blobs([entry.oid])[entry.oid]

    def blobs(self, oids: Iterable[str]) -> dict[str, bytes]:
        """The bytes of blobs by id, from one process, each checked against its id."""
        found = self._objects_by_id(oids)
        if any(kind != "blob" for kind, _ in found.values()):
            raise StoppedForSafety("object-missing", "a file's id names something else", next="git fsck")
        return {oid: data for oid, (_, data) in found.items()}

    def _objects_by_id(self, oids: Iterable[str]) -> dict[str, tuple[str, bytes]]:
        wanted = list(dict.fromkeys(self._oid(oid) for oid in oids))
        if not wanted:
            return {}
        found = dict(zip(wanted, self._reader.read(wanted), strict=True))
        if None in found.values():
            raise StoppedForSafety("object-missing", _MISSING, next="git fetch, then git fsck")
        return cast("dict[str, tuple[str, bytes]]", found)

    def sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """How many bytes objects have, without reading them; ids that this clone lacks are left out."""
        wanted = list(dict.fromkeys(self._oid(oid) for oid in oids))
        lines = "".join(f"{oid}\n" for oid in wanted).encode("ascii")
        rows = [row.split() for row in self._must("cat-file", "--batch-check", stdin=lines).decode("ascii").splitlines()]
        return {row[0]: int(row[2]) for row in rows if len(row) == 3}

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether ``newer`` is ``older`` or descends from it."""
        pair = (self._oid(older), self._oid(newer))
        known = self._walks.get(pair)
        if known is None:
            done = self._run("merge-base", "--is-ancestor", "--end-of-options", *pair)
            if done.code not in (0, 1):
                raise self._unreadable(done)
            known = self._walks.keep(pair, done.code == 0, 200)
        return bool(known)

    def commit(self, oid: str) -> CommitInfo:
        return self._walk([self._oid(oid)], "--no-walk")[0]

    def commits(self, include: Sequence[str], exclude: Sequence[str]) -> tuple[CommitInfo, ...]:
        """The commits reachable from ``include`` and not from ``exclude``, children before parents."""
        revisions = [self._oid(name) for name in include] + [f"^{self._oid(name)}" for name in exclude]
        return self._walk(revisions, "--topo-order") if include else ()

    def _walk(self, revisions: Sequence[str], *options: str) -> tuple[CommitInfo, ...]:
        form = f"--format={git_objects.COMMIT_FORMAT}"
        lines = "".join(f"{revision}\n" for revision in revisions).encode("ascii")
        known: tuple[CommitInfo, ...] | None = self._walks.get((options, lines))
        if known is None:
            out = self._must("rev-list", "--no-commit-header", form, *options, "--stdin", stdin=lines)
            known = self._walks.keep((options, lines), git_objects.parse_commits(out), 3 * len(out))
        return known

    def _changes(self, *arguments: str) -> tuple[str, ...]:
        """The commits that a walk from whole ids names."""
        known: tuple[str, ...] | None = self._walks.get(arguments)
        if known is None:
            out = self._must("rev-list", *arguments)
            known = self._walks.keep(arguments, tuple(out.decode("ascii").split()), 3 * len(out))
        return known

    def first_parent_changes(self, commit: str, path: str, limit: int = 1) -> tuple[str, ...]:
        """Newest first: commits on the first-parent chain of ``commit`` that changed ``path`` against their first parent."""
        return self._changes("--first-parent", f"--max-count={limit:d}", self._oid(commit), "--", path)

    def own_line(self, commit: str) -> tuple[str, ...]:
        """Newest first: the first-parent chain of ``commit``."""
        return self._changes("--first-parent", self._oid(commit))

    def changes_on_any_line(self, commit: str, path: str) -> tuple[str, ...]:
        """The commits reachable from ``commit``, on any line, in which ``path`` differs from all their parents."""
        return self._changes("--full-history", "--topo-order", self._oid(commit), "--", path)

    def later_changes(self, change: str, tip: str, path: str) -> tuple[str, ...]:
        """Commits of ``tip`` that descend from ``change``, on any line, and in which ``path`` differs from one of their parents."""
        options = ("--ancestry-path", "--full-history", "--topo-order")
        return self._changes(*options, f"^{self._oid(change)}", self._oid(tip), "--", path)

    def folder_history(self, commit: str, folder: str) -> tuple[FileChange, ...]:
        """Oldest first: what the commits on the first-parent chain of ``commit`` did to the files below ``folder``."""
        # Commits may carry any date, so nothing may depend on dates: children come before parents, then all is turned around.
        chain = ("--first-parent", "--topo-order", "--reverse", "--parents")
        out = self._must("rev-list", *chain, self._oid(commit), "--", folder)
        # The parents named here are the nearest commits before that changed the folder too, so the differences are the same.
        # A line without a parent is compared with nothing; any further parent is left out.
        pairs = "".join(" ".join(line.split()[:2]) + "\n" for line in out.decode("ascii").splitlines())
        options = ("--stdin", "-r", "-z", "-m", "--root", "--no-renames", "--no-abbrev")
        return git_objects.parse_changes(self._must("diff-tree", *options, "--", folder, stdin=pairs.encode("ascii")))

    def new_objects(self, commit: str, known: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """(id, path) of the blobs reachable from ``commit`` and not from ``known``.

        It may name one more, which an older known commit had and the newest has not; it never names one less.
        """
        lines = "\n".join([self._oid(commit), *(f"^{self._oid(name)}" for name in known), ""]).encode("ascii")
        only_blobs = ("--filter=object:type=blob", "--filter-provided-objects")
        return git_objects.parse_objects(self._must("rev-list", "--objects", *only_blobs, "--stdin", stdin=lines))

    # --- writing objects ----------------------------------------------------------------------------------------------------

    def write_blob(self, data: bytes) -> str:
        """Stores bytes as they are (no filter, no line-end conversion) and returns their id."""
        return self._must("hash-object", "-w", "--stdin", "--no-filters", stdin=data, writes=True).decode("ascii").strip()

    def compose_tree(self, files: Mapping[str, bytes]) -> str:
        """A whole tree from scratch."""
        return self._store_tree("", files)

    def compose(
        self, *, parents: Sequence[str], base_tree: str, changes: Mapping[str, bytes | None], message: str, author: str,
        email: str, at: datetime, signing_key: Path | None = None,
    ) -> str:  # fmt: skip
        """A commit of ``changes`` (None removes) on top of a tree, as objects only: no index, no working tree, no ref.

        ``base_tree`` is a commit's or tree's id, "" for empty. With a key the commit is SSH-signed.
        """
        tree = self._store_tree(base_tree, changes)
        when = f"@{int(at.timestamp())} +0000"
        env = {
            "GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_NAME": author, "GIT_COMMITTER_EMAIL": email, "GIT_COMMITTER_DATE": when,
        }  # fmt: skip
        if signing_key and not signing_key.is_file():
            raise NeedsPerson("signing-key-missing", "the signing key does not exist", next="ssh-keygen -t ed25519")
        signed = (f"-S{signing_key.absolute()}",) if signing_key else ()
        above = [word for parent in parents for word in ("-p", self._oid(parent))]
        done = self._run("commit-tree", *signed, *above, "-F", "-", tree, stdin=message.encode("utf-8"), env=env)
        if done.code != 0 and signing_key:
            raise NeedsPerson(
                "signing-failed", "the commit could not be signed", next="ssh-add the key, if it has a passphrase"
            )
        if done.code != 0:
            there = self.sizes([tree, *above[1::2]])
            raise clone_files.not_written() if {tree, *above[1::2]} <= there.keys() else self._unreadable(done)
        return done.out.decode("ascii").strip()

    def _store_tree(self, base: str, changes: Mapping[str, bytes | None]) -> str:
        made = git_objects.changed_trees(self._folders(base, changes), changes, self._algorithm)
        self._store(made)
        return made[-1].oid

    def _folders(self, base: str, changes: Mapping[str, bytes | None]) -> dict[str, git_objects.Folder]:
        """The folders that ``changes`` touch, as they are in ``base``."""
        if not base:
            return {}
        names = git_objects.folders_of(git_objects.check_path(path) for path in changes)
        top = self._oid(base)
        found = {name: it.oid for name in names if (it := self._reader.find(top, name)) and it.kind == "tree"}
        objects = self._objects_by_id(found.values())
        return {name: git_objects.parse_folder(objects[oid][1], len(top) // 2) for name, oid in found.items()}

    def _store(self, made: Sequence[NewObject]) -> None:
        if len(made) > git_objects.LOOSE_AT_MOST:  # most of a site's files are there already, from the release before
            present = self.sizes(item.oid for item in made)
            made = [item for item in made if item.oid not in present]
        if not made:
            return
        pack = git_objects.pack_of(made, self._algorithm)
        if len(made) > git_objects.LOOSE_AT_MOST:
            self._must("index-pack", "--stdin", "--fsck-objects", stdin=pack, writes=True)
        else:
            self._must("unpack-objects", "-q", "--strict", stdin=pack, writes=True)

    @property
    def _algorithm(self) -> str:
        return self.local_setting("extensions.objectformat") or "sha1"

    # --- the remote ---------------------------------------------------------------------------------------------------------

    def use_key(self, remote: str, name: str) -> None:
        """``remote``, an ssh URL, is talked to with the private key in the environment variable ``name`` from now on."""
        self._keys.use(remote, name)

    def fetch(self, remote: str, refspecs: Sequence[str]) -> None:
        """Fetches exactly ``refspecs``; no tags, no FETCH_HEAD, no other tracking ref. ``ComeBackLater`` when it fails.

        The objects are here then. A ref on this side may stand where it stood: a git that was killed leaves its lock behind.
        """
        if not refspecs or any(spec.startswith("-") for spec in refspecs):
            raise Bug("refspec", "a fetch names what it wants")
        options = (
            "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--no-prune",
            "--refmap=", "--upload-pack=git-upload-pack", "--end-of-options",
        )  # fmt: skip
        done = self._talk("fetch", remote, (*options, remote, *refspecs))
        if done.code != 0 and not done.late and any(map(self._is_locked, refspecs)):
            # Objects are what is needed. The lock stays for a person to judge: git cannot tell whose it is (doctor: stale-lock).
            sources = [spec.removeprefix("+").partition(":")[0] for spec in refspecs]
            done = self._talk("fetch", remote, (*options, remote, *sources))
        if done.code != 0:
            raise self._unreachable(remote)

    def require_fetched(self, oids: Iterable[str]) -> None:
        """What a remote named must be here after it was fetched. ``ComeBackLater`` where another of its machines lags behind."""
        if None in self._reader.read([self._oid(oid) for oid in oids]):
            raise ComeBackLater(
                "remote-lags", "the remote named a commit and did not hand it over: one of its machines lags behind",
                next="publisher run",
            )  # fmt: skip

    def _is_locked(self, refspec: str) -> bool:
        return ":" in refspec and (self._common / f"{refspec.rpartition(':')[2]}.lock").exists()

    def remote_refs(self, remote: str, patterns: Sequence[str]) -> dict[str, str]:
        """The remote's refs that match ``patterns`` (``HEAD`` or full names, ``*`` allowed). Else ``ComeBackLater``."""
        options = ("--quiet", "--upload-pack=git-upload-pack", "--end-of-options")
        done = self._talk("ls-remote", remote, (*options, remote, *patterns))
        if done.code != 0:
            raise self._unreachable(remote)
        rows = [line.split("\t", 1) for line in done.out.decode("utf-8", "replace").splitlines()]
        # Git matches a pattern against the end of a name too: refs/x/refs/heads/main would pass for refs/heads/main.
        # Names ending ^{} are what annotated tags point at, not refs.
        rows = [row for row in rows if is_oid(row[0]) and not row[1].endswith("^{}")]
        return {ref: oid for oid, ref in rows if any(fnmatchcase(ref, pattern) for pattern in patterns)}

    def push(self, remote: str, updates: Sequence[tuple[str, str, str]]) -> bool:
        """Asks the remote to move refs: (new id, full ref, the full id it must have now or "" for "must not exist").

        A new id of "" deletes. All or none move. What is returned is a hint and no evidence: True is said of identical refs
        too, and False of pushes that did succeed. Read the remote afterwards, whatever this says.
        """
        leases, refspecs = [], []
        for oid, ref, expected in updates:
            if any(given and not is_oid(given) for given in (oid, expected)) or not (oid or expected):
                raise Bug("push-update", "a push names full ids")
            leases.append(f"--force-with-lease={check_ref(ref)}:{expected}")
            refspecs.append(f"{oid}:{ref}")
        if not updates:
            raise Bug("push-update", "a push names what it moves")
        options = (
            "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--no-recurse-submodules",
            "--no-force-if-includes", "--receive-pack=git-receive-pack", *(("--atomic",) if len(updates) > 1 else ()),
            *leases, "--end-of-options",
        )  # fmt: skip
        return self._talk("push", remote, (*options, remote, *refspecs)).code == 0

    def _talk(self, verb: str, remote: str, arguments: Sequence[str]) -> _Done:
        urls = local_config.check_remote(remote, self._settings)
        env = self._keys.environment_for(remote)
        config: local_config.Settings = ()
        if any(url.lower().startswith("https://") for url in urls):
            config = self._user_settings(r"^credential\.")
        config = (*config, *local_config.token_header(urls, os.environ))
        config = (*config, *local_config.no_redirects(urls, (*self._settings, *config)))
        if any(url.lower().startswith("http://") for url in urls):
            env["GIT_ALLOW_PROTOCOL"] = local_config.FIXED_ENVIRONMENT["GIT_ALLOW_PROTOCOL"] + ":http"
        return self._run(verb, *arguments, env=env, config=config)

    def _unreachable(self, remote: str) -> ComeBackLater:
        hint, key = "", self._keys.name_for(remote)
        if key:
            hint = f"; or its host key is another than the known one, or it does not take the key in {key}"
        elif self.local_setting("core.sshcommand") and "GIT_SSH_COMMAND" not in os.environ:
            hint = "; core.sshCommand of .git/config is not used, GIT_SSH_COMMAND is"
        return ComeBackLater(
            "remote-unreachable", f"the remote repository did not give an answer{hint}", next="publisher doctor"
        )

    def _user_settings(self, pattern: str) -> local_config.Settings:
        """Settings of the person's and the system's own configuration: the one place where those are read."""
        env = {name: os.environ.get(name, "") for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM") if name in os.environ}
        done = _execute(["config", "--null", "--get-regexp", pattern], cwd="/", env={"LC_ALL": "C", **env}, limit=self._limit)
        return local_config.parse_values(done.out) if done.code == 0 else ()

    # --- signatures ---------------------------------------------------------------------------------------------------------

    def sign(self, key: Path, namespace: str, data: bytes) -> str:
        """An armored SSH signature. ``NeedsPerson`` when ssh-keygen or the key cannot be used."""
        return ssh_signatures.sign(key, namespace, data)

    def verify(self, signers: str, namespace: str, data: bytes, signature: str) -> str:
        """The principal of ``signers`` (an allowed-signers text) whose key signed ``data``, or ""."""
        return ssh_signatures.verify(signers, namespace, data, signature)

    def commit_signer(self, oid: str, signers: str) -> str:
        """The principal whose key signed a commit; "" for an unsigned one, an unknown key or a bad signature."""
        kind, data = self._objects_by_id([oid])[self._oid(oid)]
        signed, signature = git_objects.split_signature(data)
        return ssh_signatures.verify(signers, "git", signed, signature) if kind == "commit" and signature else ""

    def commit_signature(self, oid: str) -> str:
        """The armored signature inside a commit, unverified; "" when it has none. Only for saying why nobody signed it."""
        return git_objects.split_signature(self._objects_by_id([oid])[self._oid(oid)][1])[1]

    def public_key_of(self, key: Path) -> str:
        return ssh_signatures.public_key_of(key)

    # --- processes ----------------------------------------------------------------------------------------------------------

    def _oid(self, name: str) -> str:
        """A full id as it is; anything else must be the name of a commit that exists."""
        oid = name if is_oid(name) else self.resolve(name)
        if not oid:
            raise StoppedForSafety("object-missing", _MISSING, next="git fetch")
        return oid

    def _must(self, *arguments: str, stdin: bytes | None = None, writes: bool = False) -> bytes:
        done = self._run(*arguments, stdin=stdin)
        if done.code != 0:
            raise clone_files.not_written() if writes and not done.late else self._unreadable(done)
        return done.out

    def _unreadable(self, done: _Done) -> ComeBackLater | StoppedForSafety:
        if done.late:
            return ComeBackLater("git-slow", "git did not finish in time", next="publisher doctor")
        return StoppedForSafety("object-missing", _MISSING, next="git fetch, then git fsck")

    def _run(
        self, *arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None,
        config: local_config.Settings = (), limit: float = 0,
    ) -> _Done:  # fmt: skip
        ours = {**self._environment(config), **(env or {})}
        if "GIT_SSH" not in os.environ and "GIT_SSH_COMMAND" not in ours:
            ours["GIT_SSH_COMMAND"] = os.environ.get("GIT_SSH_COMMAND", local_config.DEFAULT_SSH)
        return _execute(
            [f"--git-dir={self._git_dir}", *arguments], stdin=stdin, cwd=str(self._root), env=ours, limit=limit or self._limit
        )

    def _cat_file(self) -> Started:
        return _start([f"--git-dir={self._git_dir}", "cat-file", "--batch"], cwd=str(self._root), env=self._environment())

    def _environment(self, config: local_config.Settings = ()) -> dict[str, str]:
        ours = {**local_config.FIXED_ENVIRONMENT, **local_config.as_environment((*local_config.OVERRIDES, *config))}
        if self._objects:
            ours["GIT_OBJECT_DIRECTORY"] = str(self._objects.absolute())
            ours["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = clone_files.quoted(self._common / "objects")
        return ours


def _execute(arguments: Sequence[str], *, cwd: str, env: Mapping[str, str], limit: float, stdin: bytes | None = None) -> _Done:
    """Runs git to its end or to the limit. The standard error stream is drained and forgotten."""
    started = _start(arguments, cwd=cwd, env=env)
    process = started.process
    try:
        out, _ = process.communicate(stdin, timeout=limit)
    except subprocess.TimeoutExpired:
        _end_group(process)
        return _Done(-1, b"", True)
    except BaseException:
        _end_group(process)
        raise
    return _Done(process.returncode, out, False)


def _start(arguments: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> Started:
    """A git with pipes, in a session of its own, whose environment is ``env`` and what is harmless of ours."""
    try:
        from git.cmd import Git as GitPython  # imported late: it costs 150 ms, and many commands never need it
    except ImportError:
        raise NeedsPerson("git-missing", "git is not installed", next="install git 2.36 or newer")
    # GitPython can add variables to a child's environment, not take any away; env(1) can.
    unset = [word for name in local_config.unwanted(os.environ) if name not in env for word in ("-u", name)]
    prefix = ["env", *unset] if unset else []
    command = [*prefix, str(GitPython.GIT_PYTHON_GIT_EXECUTABLE), *arguments]
    handle = GitPython(cwd).execute(
        command, as_process=True, istream=subprocess.PIPE, env=dict(env), shell=False, start_new_session=True
    )
    return Started(cast("subprocess.Popen[bytes]", handle.proc), handle)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and everything it started: first asked, so that git removes its locks, then killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired, ValueError):
            process.communicate(timeout=GRACE)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
