"""A small instance for forge ``git``: a bare remote, a clone, real SSH keys, and ways to build the merges an attacker would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from publisher.domain.approval import NAMESPACE, ApprovalRules, Signer, Statement, Subject, Verdict
from publisher.domain.business_calendar import in_utc
from publisher.domain.fingerprint import payload_hash
from publisher.errors import InputProblem
from publisher.forge.requests import SignedGitRequests
from publisher.forge.signed_git import SignedGit
from publisher.forge.statements import Signed, block_of
from publisher.gitstore.gateway import Git
from publisher.ports import Tips

INSTANCE = "inst-7f3a"
START = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
PLAN = "plans/handbook/daily/2026/2026-12-01.yaml"
OTHER_PLAN = "plans/handbook/daily/2026/2026-12-02.yaml"
RULES = "approval.yaml"
MAIN = "refs/heads/main"
REQUESTS = "refs/heads/publisher/requests/"
Changes = Mapping[str, bytes | None]
PEOPLE = ("planner", "alice", "bob", "mallory")
LISTED = {"planner": ["commit"], "alice": ["commit", "approve"], "bob": ["commit", "approve"]}


def payload_of(path: str, data: bytes) -> tuple[str, int]:
    try:
        fields = yaml.safe_load(data)
    except yaml.YAMLError:
        fields = None
    if not isinstance(fields, dict):
        raise InputProblem("not-a-mapping", "this file is not a mapping", where=f"{path}:1:1")
    return payload_hash(fields), fields.get("revision", 1)


def parse_rules(data: bytes, path: str) -> ApprovalRules:
    payload_of(path, data)
    fields = yaml.safe_load(data)
    if set(fields) != {"count", "signers"}:
        raise InputProblem("not-rules", "these are no rules", where=f"{path}:1:1")
    signers = tuple(
        Signer(
            principal=who["principal"], key=who["key"], may_commit="commit" in who["may"], may_approve="approve" in who["may"]
        )
        for who in fields["signers"]
    )
    return ApprovalRules(count=fields["count"], signers=signers)


def plan_text(title: str = "a-0001", revision: int = 1) -> bytes:
    return f"kind: publication\nrevision: {revision}\narticles: [{title}]\n".encode()


def make_keys(folder: Path) -> None:
    for who in PEOPLE:
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", str(folder / who)], check=True, capture_output=True
        )


def rules_text(keys: Path, listed: Mapping[str, list[str]] = LISTED, count: int = 1) -> bytes:
    signers = [
        {"principal": f"{who}@example.org", "key": (keys / f"{who}.pub").read_text().strip(), "may": may}
        for who, may in listed.items()
    ]
    return json.dumps({"count": count, "signers": signers}).encode()


def run_git(*arguments: str, cwd: Path, **more: str) -> str:
    """Plain git for what the gateway refuses to do; ``more`` are environment variables."""
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", **more}
    return subprocess.run(["git", *arguments], cwd=cwd, env=env, check=True, capture_output=True, text=True).stdout


@dataclass
class World:
    """One remote (``remote.git``) and one clone (``work``) that every actor of a test may use. ``now`` moves with each act."""

    folder: Path
    keys: Path
    now: datetime = START

    def __post_init__(self) -> None:
        self.git = Git(self.folder / "work")

    def clock(self) -> datetime:
        return self.now

    def tick(self, **units: float) -> datetime:
        self.now += timedelta(**(units or {"minutes": 1}))
        return self.now

    # --- the product's doors -------------------------------------------------------------------------------------------

    def forge(self, git: Git | None = None, pinned_root: str = "", instance: str = INSTANCE, branch: str = "main") -> SignedGit:
        return SignedGit(
            git or self.git, instance=instance, branch=branch, parse_rules=parse_rules, payload_of=payload_of, clock=self.clock,
            pinned_root=pinned_root,
        )  # fmt: skip

    def requests(self, who: str | None, git: Git | None = None) -> SignedGitRequests:
        git = git or self.git
        key = self.keys / who if who else None
        return SignedGitRequests(git, self.forge(git), clock=self.clock, signing_key=key)

    def tips(self, git: Git | None = None) -> Tips:
        git = git or self.git
        refs = git.remote_refs("origin", ["refs/heads/*"])
        if len(git.sizes(refs.values())) < len(set(refs.values())):
            git.fetch("origin", ["+refs/heads/*:refs/remotes/origin/*"])
        numbers = {int(ref.removeprefix(REQUESTS)): oid for ref, oid in refs.items() if ref.startswith(REQUESTS)}
        return Tips(default=refs[MAIN], state=refs[MAIN], drafts=refs[MAIN], requests=numbers)

    def open(self, files: Mapping[str, bytes], marker: str = "m1", who: str = "planner", git: Git | None = None) -> int:
        self.tick()
        return self.requests(who, git).open(self.tips(git), files, "Propose plans", marker)

    def decide(self, number: int, who: str = "alice", approve: bool = True, git: Git | None = None) -> Any:
        now = self.tick()
        return self.requests(who, git).decide(self.tips(git), number, approve, now)

    def verdict(self, path: str = PLAN, data: bytes | None = None, **forge: Any) -> Verdict:
        tips = self.tips()
        return self.forge(**forge).verdict(tips, self.subject(path, data or self.git.blob_at(tips.default, path)))

    def code(self, path: str = PLAN, data: bytes | None = None, **forge: Any) -> str:
        """The verdict's code; the name of its class where it has none."""
        verdict = self.verdict(path, data, **forge)
        return getattr(verdict, "code", type(verdict).__name__)

    def subject(self, path: str, data: bytes | None = None) -> Subject:
        payload, revision = payload_of(path, data or plan_text())
        return Subject(path=path, payload=payload, revision=revision)

    # --- by hand, as anybody with push rights could -----------------------------------------------------------------------

    def commit(
        self, changes: Changes, parents: Iterable[str], who: str | None = "planner", message: str = "by hand",
        author: str = "", base: str = "",
    ) -> str:  # fmt: skip
        parents = list(parents)
        name = author or f"{who or 'planner'}@example.org"
        return self.git.compose(
            parents=parents, base_tree=base or next(iter(parents), ""), changes=changes, message=message, author=name, email=name,
            at=self.tick(), signing_key=self.keys / who if who else None,
        )  # fmt: skip

    def push(self, commit: str, ref: str = MAIN) -> str:
        """What a forced push does. The remote borrows the clone's objects, so that writing the ref is all there is to do."""
        return set_ref(self.folder, ref, commit)

    def branch(self, number: int, *commits: Changes, who: str | None = "planner", **more: Any) -> str:
        """A request branch made by hand: one commit for each mapping, on top of the default branch."""
        head = self.tips().default
        for changes in commits:
            head = self.commit(changes, [head], who, **more)
        return self.push(head, f"{REQUESTS}{number}")

    def signed(
        self, path: str = PLAN, data: bytes | None = None, who: str = "alice", namespace: str = NAMESPACE, **fields: Any
    ) -> Signed:
        """A statement as ``decide`` makes it, with single fields replaced."""
        payload, revision = payload_of(path, data or plan_text())
        plain = Statement(
            instance=INSTANCE, branch="main", path=path, payload=payload, revision=revision, request=1, time=in_utc(self.now),
            decision="approve",
        )  # fmt: skip
        said = replace(plain, **fields)
        return Signed(statement=said, signature=self.git.sign(self.keys / who, namespace, said.signed_bytes()))

    def merge(
        self, head: str, signed: Iterable[Signed], changes: Changes, who: str | None = "alice", text: str = "",
        parents: Iterable[str] = (),
    ) -> str:  # fmt: skip
        """A merge on the default branch made by hand, pushed."""
        statements = list(signed)
        message = f"Merge\n\n{text}\n{block_of(statements) if statements else ''}\n"
        first = self.tips().default
        return self.push(self.commit(changes, [first, head, *parents], who, message))

    def crafted(
        self, *signed: Signed, data: bytes | None = None, path: str = PLAN, who: str | None = "alice", text: str = ""
    ) -> str:
        """A well-made request for one plan, merged by hand with the given statements."""
        files = {path: data or plan_text()}
        return self.merge(self.branch(1, files), signed, files, who, text)


def set_ref(folder: Path, ref: str, commit: str) -> str:
    """Points a ref of the remote at a commit; "" deletes it."""
    file = folder / "remote.git" / ref
    file.parent.mkdir(parents=True, exist_ok=True)
    if commit:
        file.write_text(commit + "\n")
    else:
        file.unlink()
    return commit


def make_template(folder: Path, keys: Path, rules: bytes) -> str:
    """A remote with one root commit, and a clone; relative URL, so that the folder can be copied. Returns the root."""
    run_git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(folder / "remote.git"), cwd=folder)
    run_git("init", "--quiet", "--template=", "--initial-branch=main", str(folder / "work"), cwd=folder)
    run_git("remote", "add", "origin", "../remote.git", cwd=folder / "work")
    git = Git(folder / "work")
    root = git.compose(
        parents=[], base_tree="", changes={RULES: rules, "publisher.yaml": b"id: x\n", "drafts/a/index.md": b"text\n"},
        message="Begin", author="alice@example.org", email="alice@example.org", at=START, signing_key=keys / "alice",
    )  # fmt: skip
    borrowed = folder / "remote.git" / "objects" / "info"
    borrowed.mkdir(exist_ok=True)
    (borrowed / "alternates").write_text("../../work/.git/objects\n")
    return set_ref(folder, MAIN, root)


def copy_world(template: Path, folder: Path, keys: Path, now: datetime = START) -> World:
    shutil.copytree(template, folder, dirs_exist_ok=True)
    return World(folder=folder, keys=keys, now=now)
