"""The repository as publisher sees it: committed files read at a commit, records written as commits on the state branch.

Rules:
* everything is read from git objects at a named commit, never from the working tree or the index;
* a record is one child of the state tip that was read, pushed with an exact lease; whatever the push says, the remote is read
  afterwards, and only what that read shows counts;
* a missing state branch is reported as missing, never taken for a first run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from publisher.domain.article import Draft
from publisher.domain.business_calendar import in_utc
from publisher.domain.gates import GateFile
from publisher.domain.instance import Instance
from publisher.domain.ledger_events import BrokenLedger, Event, NewEvent, decode, encode
from publisher.domain.plan import Plan
from publisher.domain.policy import Policy
from publisher.domain.queue import Queued
from publisher.errors import Bug, ComeBackLater, InputProblem, Refusal, StoppedForSafety
from publisher.gitstore import drafts, instance_files
from publisher.gitstore.gateway import Git
from publisher.ports import Batch, BranchUpdate, Landing, PlanFile, Tips

REQUESTS = "publisher/requests/"
DRAFTS_REF = "refs/publisher/drafts"
MOST_LOOKS = 4
MOST_RECORDS = 50
"""Commits that are looked through for the one that brought an event."""
WRITTEN_BY_PUBLISHER = ("ledger/", "site-src/")
PLAIN_FILE = "100644"


class GitStore:
    """Implements ``ReadsRepository`` and, with a writable clone, ``Records``."""

    def __init__(
        self,
        git: Git,
        *,
        references: Callable[[str], tuple[str, ...]],
        remote: str = "origin",
        actor: str = "publisher",
        run: str = "",
        fetch_into_refs: bool = True,
        host_requests: Callable[[Instance], Mapping[int, str] | None] = lambda instance: None,
        state_push: Callable[[Instance], tuple[str, str]] = lambda instance: ("", ""),
        drafts: bool = True,
    ) -> None:
        """``host_requests`` gives number and branch of each open request where a pull-request host numbers them, else None.
        ``state_push`` gives an ssh URL of the same remote and the variable with the key for it, where records are pushed so.
        ``drafts`` False leaves drafts of another repository alone, and their tip "".
        ``fetch_into_refs`` False fetches objects only and moves no ref: for a look that must leave the clone as it is."""
        self._into_refs, self._drafts = fetch_into_refs, drafts
        self._host_requests = host_requests
        self._state_push = state_push
        self._git = git
        self._references = references
        self._remote = remote
        self._actor = actor
        self._run = run
        self._instances: dict[str, Instance] = {}
        self._plans: dict[tuple[str, str], PlanFile] = {}
        self._ledger: tuple[tuple[str, str], Mapping[str, tuple[Event, ...]]] = (("", ""), {})

    # --- tips ---------------------------------------------------------------------------------------------------------

    def tips(self) -> Tips:
        """The remote-tracking refs as they are here. Where there is no remote yet, HEAD stands in and is marked unpushed."""
        prefix = f"refs/remotes/{self._remote}/"
        refs = self._git.tracking([prefix, DRAFTS_REF])
        head = self._git.resolve("HEAD")
        start = refs.get(prefix + "HEAD") or refs.get(prefix + "main") or refs.get(prefix + "master") or head
        if not start:
            raise InputProblem("no-commits", "this repository has no commit yet", next="publisher init")
        instance = self.instance(start)
        default = refs.get(prefix + instance.default_branch, "") or start
        state = refs.get(prefix + instance.state_branch, "")
        if not state and default == head:
            state = head if instance.state_branch == instance.default_branch else self._git.resolve(instance.state_branch)
        return Tips(
            default=default,
            state=state,
            drafts=refs.get(DRAFTS_REF, "") if instance.drafts.remote else default,
            requests=_requests(refs, prefix + REQUESTS),
            age=self._age(prefix + instance.default_branch),
            unpushed=bool(head) and head != default and not self._git.is_ancestor(head, default),
        )

    def _age(self, ref: str) -> float | None:
        folder = self._git.git_dir()
        times = [
            path.stat().st_mtime for path in (folder / ref, folder / "FETCH_HEAD", folder / "packed-refs") if path.exists()
        ]
        return max(0.0, time.time() - max(times)) if times else None

    def refresh(self, *, drafts: bool = True) -> Tips:
        """Asks the remote which branches it has, and fetches those that publisher reads; ``drafts`` as for the store."""
        refs, drafts = self._remote_branches(), drafts and self._drafts
        for _ in range(MOST_LOOKS):
            try:
                return self._fetched(refs, drafts)
            except ComeBackLater:
                # A request that was decided meanwhile has no branch to fetch any more; then the remote shows other branches now.
                before, refs = refs, self._remote_branches()
                if refs == before:
                    raise
        return self._fetched(refs, drafts)

    def _remote_branches(self) -> Mapping[str, str]:
        return self._git.remote_refs(self._remote, ["HEAD", "refs/heads/*"])

    def _fetched(self, refs: Mapping[str, str], drafts: bool) -> Tips:
        start = refs.get("HEAD") or refs.get("refs/heads/main") or refs.get("refs/heads/master")
        here = dict(self._git.tracking([f"refs/remotes/{self._remote}/"]))
        if not start:
            raise _hidden(bool(here), "") or InputProblem("empty-remote", "the remote has no branch yet", next="git push")
        self._fetch(here, refs, [name for name, oid in refs.items() if oid == start and name != "HEAD"][:1])
        instance = self.instance(start)
        default, state = f"refs/heads/{instance.default_branch}", f"refs/heads/{instance.state_branch}"
        if default not in refs:
            known = f"refs/remotes/{self._remote}/{instance.default_branch}" in here
            raise _hidden(known, instance.default_branch) or InputProblem(
                "no-default-branch", f"the remote has no branch {instance.default_branch}", where="publisher.yaml:1:1"
            )
        requests = self._request_branches(instance, refs)
        self._fetch(here, refs, [default, *([state] if state in refs else [])])
        self._fetch(here, refs, requests.values(), {name: f"{REQUESTS}{number}" for number, name in requests.items()})
        return Tips(
            default=refs[default],
            state=refs.get(state, ""),
            drafts="" if instance.drafts.remote and not drafts else self._fetch_drafts(instance) or refs[default],
            requests={number: refs[name] for number, name in requests.items()},
            age=0.0,
        )

    def _request_branches(self, instance: Instance, refs: Mapping[str, str]) -> dict[int, str]:
        """The branch of each open request: numbered by its own name or, with a pull-request host, by the host."""
        listed = self._host_requests(instance)
        if listed is None:
            return {number: f"refs/heads/{REQUESTS}{number}" for number in _requests(refs, f"refs/heads/{REQUESTS}")}
        named = {number: f"refs/heads/{branch}" for number, branch in listed.items()}
        return {number: name for number, name in sorted(named.items()) if name in refs}

    def _fetch(
        self, here: dict[str, str], refs: Mapping[str, str], wanted: Iterable[str], names: Mapping[str, str] | None = None
    ) -> None:
        """Brings branches here that are not among ``here``, the remote-tracking refs, and adds them there.

        ``names`` gives a branch another name among the remote-tracking refs.
        """
        names = names or {}
        local = {name: names.get(name, name.removeprefix("refs/heads/")) for name in wanted}
        short = {name: f"refs/remotes/{self._remote}/{own}" for name, own in local.items()}
        missing = [name for name, local in short.items() if here.get(local) != refs[name]]
        if missing:
            self._git.fetch(self._remote, [f"+{name}:{short[name]}" for name in missing] if self._into_refs else missing)
        self._git.require_fetched(refs[name] for name in missing)
        here.update({short[name]: refs[name] for name in missing})

    def _fetch_drafts(self, instance: Instance) -> str:
        if not instance.drafts.remote:
            return ""
        if instance.drafts.key:
            self._git.use_key(instance.drafts.remote, instance.drafts.key)
        ref = f"refs/heads/{instance.drafts.branch or 'main'}"
        found = self._git.remote_refs(instance.drafts.remote, [ref]).get(ref, "")
        if not found:
            raise InputProblem(
                "no-drafts-branch",
                "the drafts' repository has no such branch",
                where="publisher.yaml:1:1",
                next="edit publisher.yaml",
            )
        self._git.fetch(instance.drafts.remote, [f"+{ref}:{DRAFTS_REF}" if self._into_refs else ref])
        return found

    # --- committed files ---------------------------------------------------------------------------------------------

    def instance(self, commit: str) -> Instance:
        if commit not in self._instances:
            data = self._git.blob_at(commit, "publisher.yaml")
            if data is None:
                raise InputProblem(
                    "not-an-instance",
                    "the default branch has no publisher.yaml",
                    where="publisher.yaml:1:1",
                    next="publisher init",
                )
            self._instances[commit] = instance_files.instance_of(data, "publisher.yaml")
        return self._instances[commit]

    def policy(self, commit: str, site: str) -> Policy:
        path = f"plans/{site}/policy.yaml"
        return instance_files.policy_of(self._required(commit, path), path)

    def queue(self, commit: str, site: str) -> tuple[Queued, ...]:
        path = f"plans/{site}/queue.yaml"
        return instance_files.queue_of(self._required(commit, path), path)

    def _required(self, commit: str, path: str) -> bytes:
        data = self._git.blob_at(commit, path)
        if data is None:
            raise InputProblem("missing-file", f"{path} does not exist", where=f"{path}:1:1", next="publisher init")
        return data

    def plan_paths(self, commit: str, site: str) -> tuple[str, ...]:
        return tuple(path for path, _ in self._plan_blobs(commit, site))

    def _plan_blobs(self, commit: str, site: str) -> list[tuple[str, str]]:
        found = []
        for entry in self._git.tree(commit, f"plans/{site}"):
            path = entry.path.removeprefix("plans/").removesuffix(".yaml")
            area = path.split("/")[1]
            if entry.path.endswith(".yaml") and area in ("daily", "changes", "launch", "episodes"):
                if entry.mode != PLAIN_FILE:
                    raise InputProblem("not-a-plain-file", "a plan is a plain file", where=f"{entry.path}:1:1")
                found.append((path, entry.oid))
        return sorted(found)

    def plans(self, commit: str, site: str, only: Iterable[str] | None = None) -> tuple[PlanFile, ...]:
        chosen = None if only is None else set(only)
        wanted = [(path, oid) for path, oid in self._plan_blobs(commit, site) if chosen is None or path in chosen]
        texts = self._git.blobs([oid for path, oid in wanted if (path, oid) not in self._plans])
        for path, oid in wanted:
            if (path, oid) not in self._plans:
                self._plans[path, oid] = _read_plan(path, texts[oid])
        return tuple(self._plans[key] for key in wanted)

    def plan(self, commit: str, path: str) -> Plan | None:
        data = self._git.blob_at(commit, f"plans/{path}.yaml")
        return None if data is None else instance_files.plan_of_file(data, f"plans/{path}.yaml")

    def gates(self, commit: str, site: str) -> tuple[GateFile, ...]:
        entries = [e for e in self._git.tree(commit, f"plans/{site}/gates") if e.path.endswith(".yaml")]
        texts = self._git.blobs([entry.oid for entry in entries])
        return tuple(instance_files.gate_of_file(texts[entry.oid], entry.path) for entry in entries)

    def draft(self, commit: str, source: str) -> Draft:
        self._require_drafts()
        return drafts.read_draft(self._git, commit, source, self._references)

    def drafts(self, commit: str, site: str, sources: Iterable[str]) -> tuple[Mapping[str, Draft], Mapping[str, InputProblem]]:
        self._require_drafts()
        return drafts.read_drafts(self._git, commit, site, sources, self._references)

    def _require_drafts(self) -> None:
        if not self._drafts:
            raise Bug("draft-refused", "this process deploys, and must not read a draft", next="publisher doctor")

    def draft_sources(self, commit: str, site: str) -> tuple[str, ...]:
        self._require_drafts()
        return drafts.draft_sources(self._git, commit, site)

    def files(self, commit: str, folder: str) -> Mapping[str, bytes]:
        entries = self._git.tree(commit, folder)
        for entry in entries:
            if entry.mode != PLAIN_FILE:
                raise InputProblem(
                    "not-a-plain-file", "links, submodules and executables are not published", where=f"{entry.path}:1:1"
                )
        texts = self._git.blobs([entry.oid for entry in entries])
        return {entry.path.removeprefix(folder.rstrip("/") + "/"): texts[entry.oid] for entry in entries}

    def blobs(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        return self._git.blobs(oids)

    def blob_ids(self, commit: str, folder: str) -> Mapping[str, str]:
        """Blob ids below a folder by repository path."""
        return {entry.path: entry.oid for entry in self._git.tree(commit, folder)}

    def last_change(self, commit: str, path: str) -> str:
        changes = self._git.first_parent_changes(commit, path)
        return changes[0] if changes else ""

    def recorded_in(self, state: str, path: str, n: int) -> str:
        file, found = f"ledger/{path}.jsonl", ""
        changes = self._git.first_parent_changes(state, file, MOST_RECORDS)
        for commit in changes:
            if (self._git.blob_at(commit, file) or b"").count(b"\n") < n:
                return found
            found = commit
        return found if len(changes) < MOST_RECORDS else ""

    def plan_before(self, commit: str, path: str) -> Plan | None:
        change = self.last_change(commit, f"plans/{path}.yaml")
        parents = self._git.commit(change).parents if change else ()
        return self.plan(parents[0], path) if parents else None

    # --- the ledger -----------------------------------------------------------------------------------------------------

    def ledger(self, state: str, site: str) -> Mapping[str, tuple[Event, ...]]:
        if self._ledger[0] != (state, site):
            self._ledger = ((state, site), self._read_ledger(state, site))
        return self._ledger[1]

    def _read_ledger(self, state: str, site: str) -> Mapping[str, tuple[Event, ...]]:
        entries = [entry for entry in self._git.tree(state, f"ledger/{site}") if entry.path.endswith(".jsonl")]
        texts = self._git.blobs([entry.oid for entry in entries])
        return {_ledger_name(entry.path): _events(entry.path, texts[entry.oid]) for entry in entries}

    def keep(self, data: bytes) -> str:
        return self._git.write_blob(data)

    def compose(self, tips: Tips, batch: Batch, at: datetime) -> str:
        changes: dict[str, bytes | None] = dict(batch.files)
        for name, new in batch.events.items():
            path = f"ledger/{name}.jsonl"
            text = (self._git.blob_at(tips.state, path) or b"") if tips.state else b""
            changes[path] = text + self._lines(path, text, new, tips.default, at)
        return self._git.compose(
            parents=[tips.state] if tips.state else [],
            base_tree=tips.state,
            changes=changes,
            message=f"{batch.message}\nRun: {self._run}\n" if self._run else f"{batch.message}\n",
            author="publisher",
            email="publisher@localhost",
            at=at,
        )

    def _lines(self, path: str, text: bytes, new: Sequence[NewEvent], commit: str, at: datetime) -> bytes:
        after = _events(path, text)[-1] if text else None
        lines = b""
        for event in new:
            line, after = encode(event, after=after, at=in_utc(at), actor=self._actor, commit=commit)
            lines += line
        return lines

    def publish(self, tips: Tips, commit: str, joined: Sequence[BranchUpdate] = ()) -> Landing:
        self._require_only_ours(commit, tips)
        branch = self.instance(tips.default).state_branch
        updates = [(commit, f"refs/heads/{branch}", tips.state), *((item.commit, item.ref, item.expected) for item in joined)]
        self._git.push(self._pushed_to(self.instance(tips.default)), updates)
        seen = self.refresh()
        landed = bool(seen.state) and (seen.state == commit or self._git.is_ancestor(commit, seen.state))
        return Landing(landed=landed, tips=seen)

    def _pushed_to(self, instance: Instance) -> str:
        """Where records go: the remote, or the same repository over ssh with a key of its own. It is read by its own name."""
        url, key = self._state_push(instance)
        if not key:
            return self._remote
        self._git.use_key(url, key)
        return url

    def _require_only_ours(self, commit: str, tips: Tips) -> None:
        """The last look at what leaves: a record's push carries nothing but ledger lines and public forms."""
        for _, path in self._git.new_objects(commit, [tips.state, tips.default]):
            if not path.startswith(WRITTEN_BY_PUBLISHER):
                says = "a record would push something that is neither ledger nor public form"
                raise StoppedForSafety("foreign-objects", says, next="publisher audit")

    def start(self, tips: Tips, branch: str, batch: Batch, at: datetime) -> Tips:
        """Creates a missing state branch with its first records: for ``init`` and ``reconcile --restore`` only."""
        commit = self.compose(replace(tips, state=""), batch, at)
        self._git.push(self._pushed_to(self.instance(tips.default)), [(commit, f"refs/heads/{branch}", "")])
        seen = self.refresh()
        if seen.state != commit:
            raise ComeBackLater("state-branch-raced", "the state branch was created by somebody else", next="publisher status")
        return seen


def _hidden(known: bool, branch: str) -> ComeBackLater | None:
    """A remote that lacks what this clone has seen there gave no usable answer: a proxy's page and a failed replica look like that."""
    return ComeBackLater(
        "remote-unreachable", f"the remote repository does not show {branch or 'any branch'}, and did when this clone last looked",
        next="publisher doctor",
    ) if known else None  # fmt: skip


def _requests(refs: Mapping[str, str], prefix: str) -> dict[int, str]:
    found = {name.removeprefix(prefix): oid for name, oid in refs.items() if name.startswith(prefix)}
    return {int(number): oid for number, oid in found.items() if number.isascii() and number.isdigit() and number[0] != "0"}


def _read_plan(path: str, text: bytes) -> PlanFile:
    try:
        return PlanFile(path=path, plan=instance_files.plan_of_file(text, f"plans/{path}.yaml"))
    except Refusal as problem:
        return PlanFile(path=path, plan=None, problem=problem)


def _ledger_name(path: str) -> str:
    return path.removeprefix("ledger/").removesuffix(".jsonl")


def _events(path: str, text: bytes) -> tuple[Event, ...]:
    try:
        return decode(text)
    except BrokenLedger as broken:
        raise StoppedForSafety(
            "ledger-broken", f"a ledger line breaks the rule: {broken.rule}", where=f"{path}:{broken.line}:1",
            next="publisher audit",
        ) from None  # fmt: skip
