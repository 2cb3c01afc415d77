"""A request as git has it: the commits it brings and the files they change.

Rules:
* a request is a straight line of commits on top of a commit of the default branch; merges inside it are refused, so that
  "what it changes" has one meaning;
* it touches plain files under ``plans/`` and ``approval.yaml`` and nothing else, in every one of its commits;
* every commit is SSH-signed by a listed signer, and names that signer as its author.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from publisher.domain.approval import ApprovalRules
from publisher.forge.reasons import Unproven
from publisher.forge.statements import inside, key_of
from publisher.forge.tree_changes import Entry, Trees
from publisher.ports import CommitFacts, GitReads

RULES_PATH = "approval.yaml"


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """What ``head`` brings on top of ``base``: its commits, oldest first, and the files that differ."""

    base: str
    head: str
    commits: tuple[CommitFacts, ...]
    files: Mapping[str, Entry]


def is_ours(path: str) -> bool:
    """Whether a request may touch a path."""
    return path.startswith("plans/") or path == RULES_PATH


def incoming(git: GitReads, trees: Trees, target: str, head: str) -> Incoming:
    """What merging ``head`` into ``target`` brings. Raises ``Unproven`` when it is not a request as the rules want it."""
    commits = straight_line(git, target, head)
    base = commits[0].parents[0]
    files: dict[str, Entry] = {}
    for path, entry in _all_changes(trees, commits, base, head).items():
        if entry is None:
            raise Unproven("request-deletes", path)
        if not entry.is_plain:
            raise Unproven("not-a-plain-file", path)
        files[path] = entry
    return Incoming(base=base, head=head, commits=commits, files=files)


def straight_line(git: GitReads, target: str, head: str) -> tuple[CommitFacts, ...]:
    """The commits that ``head`` has and ``target`` has not, oldest first, each with exactly one parent."""
    found = {commit.oid: commit for commit in git.commits([head], [target])}
    if not found:
        raise Unproven("nothing-brought-in")
    line: list[CommitFacts] = []
    oid = head
    while oid in found:
        commit = found[oid]
        if not commit.parents:
            raise Unproven("unrelated-history")
        if len(commit.parents) > 1:
            raise Unproven("request-not-linear")
        line.append(commit)
        oid = commit.parents[0]
    return tuple(reversed(line))


def _all_changes(trees: Trees, commits: tuple[CommitFacts, ...], base: str, head: str) -> dict[str, Entry | None]:
    """The request's changes; refuses a commit that touches more, even when a later one takes it back."""
    changes = trees.changes(base, head)
    steps = [changes]
    if len(commits) > 1:
        steps += [trees.changes(commit.parents[0], commit.oid) for commit in commits]
    for step in steps:
        for path in step:
            if not is_ours(path):
                raise Unproven("request-touches-more", path)
    return changes


def signers_of(git: GitReads, commits: tuple[CommitFacts, ...], rules: ApprovalRules) -> tuple[str, ...]:
    """Who signed each commit, in order. Raises ``Unproven`` for the first that proves nobody."""
    return tuple(signer_of(git, commit, rules) for commit in commits)


def signer_of(git: GitReads, commit: CommitFacts, rules: ApprovalRules) -> str:
    """The listed signer of a commit, who must also be its only named author."""
    principal = git.commit_signer(commit.oid, rules.allowed("git"))
    if not principal:
        raise Unproven(_why_nobody(git.commit_signature(commit.oid), rules), commit.oid[:12])
    others = {signer.principal for signer in rules.signers} - {principal}
    named = {commit.author_name, commit.author_email}
    if principal not in named or named & others:
        raise Unproven("author-not-signer", commit.oid[:12])
    return principal


def _why_nobody(signature: str, rules: ApprovalRules) -> str:
    if not signature:
        return "unsigned-commit"
    try:
        key, _ = inside(signature)
    except ValueError:
        return "bad-commit-signature"
    listed = {key_of(signer.key) for signer in rules.signers if signer.may_commit}
    return "bad-commit-signature" if key in listed else "unknown-signer"


def writers_of(git: GitReads, commits: tuple[CommitFacts, ...], rules: ApprovalRules) -> frozenset[str]:
    """Everybody whom the commits name as author or whose key signed one; commits signed by nobody listed add only names."""
    signed = {git.commit_signer(commit.oid, rules.allowed("git")) for commit in commits}
    return names_in(commits) | (signed - {""})


def names_in(commits: tuple[CommitFacts, ...]) -> frozenset[str]:
    """Every name and address that the commits' author fields hold: claims, good enough to keep somebody out."""
    return frozenset(name for commit in commits for name in (commit.author_name, commit.author_email))
