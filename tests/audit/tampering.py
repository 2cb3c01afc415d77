"""Kinds of tampering with a published instance, each done with git as somebody could who may push, or who hands out a clone.

A kind changes a copy of the CI's clone and says what the audit must answer: the finding's code, and the place. Those that write
well-made but untrue records stand in ``tests/engine/test_auditing.py``; here are the other ways: files and lines, claims, whole
branches, the object store, merges and their signatures, and the public bytes.

    python -m tests.audit.tampering        prints the table of kinds
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from publisher.domain.approval import NAMESPACE, Approval, Statement, Subject
from publisher.domain.business_calendar import in_utc
from publisher.domain.fingerprint import digest, tree_digest
from publisher.domain.ledger_events import FIRST_PREV
from publisher.engine.assembling import ReleaseAssembler
from publisher.gitstore.gateway import Git
from tests.support.audited import (
    CLAIMS,
    CONTROLS,
    FIRST,
    OTHER_DRAFTS,
    SECOND,
    STATE,
    WITHDRAWAL,
    Step,
    Tampered,
    chained,
    find,
    finished_story,
)
from tests.support.gitrepos import Repository, signing_key

LEDGER = "ledger/{}.jsonl"
FILE = LEDGER.format(FIRST)
CLAIM_FILE = LEDGER.format(CLAIMS)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """``do`` changes the world and may return the tip that an earlier audit had printed. ``reason`` must stand in the finding."""

    area: str
    name: str
    code: str
    where: str
    do: Callable[[Tampered], str | None]
    reason: str = ""
    refused: bool = False
    """The audit does not begin: nothing could be proven from such a clone."""


KINDS: dict[str, Kind] = {}


def kind(area: str, name: str, code: str, where: str, *, reason: str = "", refused: bool = False) -> Callable[[Any], Any]:
    def take(do: Callable[[Tampered], str | None]) -> Callable[[Tampered], str | None]:
        assert name not in KINDS, name
        KINDS[name] = Kind(area=area, name=name, code=code, where=where, do=do, reason=reason, refused=refused)
        return do

    return take


# --- lines and files of the ledger ------------------------------------------------------------------------------------------


def lines_of(world: Tampered, path: str = FILE) -> list[bytes]:
    return world.text(path).splitlines(keepends=True)


def chained_again(lines: Sequence[bytes]) -> bytes:
    """The same records, numbered and chained as publisher would: what somebody does who knows about the chain."""
    records = [{name: value for name, value in json.loads(line).items() if name not in ("n", "prev")} for line in lines]
    return chained(b"", records)


def changed(line: bytes, **fields: Any) -> bytes:
    return json.dumps({**json.loads(line), **fields}, separators=(",", ":")).encode() + b"\n"


LINES = "lines"


@kind(LINES, "a record is edited and the chain made again", "ledger-rewritten", FILE)
def _(world: Tampered) -> None:
    first, *rest = lines_of(world)
    world.commit({FILE: chained_again([changed(first, by=["mallory@example.org"]), *rest])})


@kind(LINES, "a record is put between two others", "ledger-rewritten", FILE)
def _(world: Tampered) -> None:
    first, *rest = lines_of(world)
    world.commit({FILE: chained_again([first, changed(first, request=99), *rest])})


@kind(LINES, "two records change places", "ledger-rewritten", FILE)
def _(world: Tampered) -> None:
    first, second, third, *rest = lines_of(world)
    world.commit({FILE: chained_again([first, third, second, *rest])})


@kind(LINES, "the last record is cut off", "ledger-rewritten", FILE)
def _(world: Tampered) -> None:
    world.commit({FILE: b"".join(lines_of(world)[:-1])})


@kind(LINES, "a record is repeated byte for byte", "ledger-broken", f"{FILE}:7:1")
def _(world: Tampered) -> None:
    lines = lines_of(world)
    world.commit({FILE: b"".join([*lines, lines[-1]])})


@kind(LINES, "a record is repeated with a number of its own", "claim-superseded", f"{FILE}:7:1")
def _(world: Tampered) -> None:
    lines = lines_of(world)
    world.commit({FILE: chained_again([*lines, lines[-1]])})


@kind(LINES, "the lines end otherwise", "ledger-broken", f"{FILE}:2:1")
def _(world: Tampered) -> None:
    world.commit({FILE: world.text(FILE).replace(b"\n", b"\r\n")})


@kind(LINES, "a record is written with other spaces", "ledger-broken", f"{FILE}:3:1")
def _(world: Tampered) -> None:
    first, second, *rest = lines_of(world)
    world.commit({FILE: b"".join([first, second.replace(b'":', b'": '), *rest])})


@kind(LINES, "a name stands twice in a record", "ledger-broken", f"{FILE}:7:1")
def _(world: Tampered) -> None:
    lines = lines_of(world)
    twice = changed(lines[-1], n=7, prev=digest(lines[-1])).replace(b'"actor":', b'"actor":"ci","actor":')
    world.commit({FILE: b"".join([*lines, twice])})


@kind(LINES, "an empty line", "ledger-broken", f"{FILE}:7:1")
def _(world: Tampered) -> None:
    world.commit({FILE: world.text(FILE) + b"\n"})


@kind(LINES, "a type that no version knows", "ledger-broken", f"{FILE}:3:1")
def _(world: Tampered) -> None:
    steps = world.steps()
    find(steps, FIRST, "built")["type"] = "rebuilt"
    world.replay(steps)


@kind(LINES, "a field that the type does not have", "field-unknown", f"{FILE}:3:1")
def _(world: Tampered) -> None:
    steps = world.steps()
    find(steps, FIRST, "built")["remark"] = "looks good to me"
    world.replay(steps)


@kind(LINES, "a run's record without a claim", "ledger-broken", f"{FILE}:3:1")
def _(world: Tampered) -> None:
    steps = world.steps()
    find(steps, FIRST, "built")["claim"] = None
    world.replay(steps)


FILES = "files"


@kind(FILES, "a plan's file is named after another date", "plan-differs", "ledger/blog/daily/2026/2026-01-09.jsonl:1:1")
def _(world: Tampered) -> None:
    world.commit({FILE: None, "ledger/blog/daily/2026/2026-01-09.jsonl": world.text(FILE)})


@kind(FILES, "a plan's records stand in another plan's file", "ledger-rewritten", LEDGER.format(SECOND))
def _(world: Tampered) -> None:
    world.commit({LEDGER.format(SECOND): world.text(FILE)})


@kind(FILES, "a second file for the same date", "plan-differs", "ledger/blog/daily/2026/2026-01-05-b.jsonl:1:1")
def _(world: Tampered) -> None:
    world.commit({"ledger/blog/daily/2026/2026-01-05-b.jsonl": world.text(FILE)})


@kind(FILES, "two plans' files are exchanged", "plan-differs", f"{FILE}:1:1")
def _(world: Tampered) -> None:
    world.commit({FILE: world.text(LEDGER.format(SECOND)), LEDGER.format(SECOND): world.text(FILE)})


@kind(FILES, "a submodule in place of a ledger file", "ledger-not-a-plain-file", LEDGER.format(WITHDRAWAL))
def _(world: Tampered) -> None:
    hand, tip = Repository(world.path), world.tip()
    path = LEDGER.format(WITHDRAWAL)
    hand.git("read-tree", tip)
    hand.git("update-index", "--add", "--cacheinfo", f"160000,{tip},{path}")
    tree = hand.git("write-tree")
    world.move(STATE, hand.git("commit-tree", "-p", tip, "-m", "by hand", tree))


# --- claims -----------------------------------------------------------------------------------------------------------------

HELD = "claims"


def claim_events(steps: Sequence[Step], wanted: str) -> list[dict[str, Any]]:
    return [event for step in steps for event in step.events.get(CLAIMS, []) if event["type"] == wanted]


@kind(HELD, "a claim is made while another's lease stands", "claims-overlap", f"{CLAIM_FILE}:3:1")
def _(world: Tampered) -> None:
    steps = world.steps()
    released = claim_events(steps, "released")[0]
    for step in steps:
        step.events[CLAIMS] = [event for event in step.events.get(CLAIMS, []) if event is not released]
    claimed = claim_events(steps, "claimed")[1]
    claimed["at"] = "2026-01-05T00:04:00Z"
    world.replay(_without_empty(steps))


def _without_empty(steps: Sequence[Step]) -> list[Step]:
    for step in steps:
        step.events = {path: events for path, events in step.events.items() if events}
    return [step for step in steps if step.events or step.files]


@kind(HELD, "a claim has the nonce of another", "nonce-doubled", f"{CLAIM_FILE}:6:1")
def _(world: Tampered) -> None:
    steps = world.steps()
    first, _, third = claim_events(steps, "claimed")[:3]
    for event in (third, claim_events(steps, "released")[2]):
        event["nonce"] = first["nonce"]
    world.replay(steps)


@kind(HELD, "an epoch begins again under its old number", "claims-corrupt", f"{CLAIM_FILE}:14:1")
def _(world: Tampered) -> None:
    old = json.loads(lines_of(world, CLAIM_FILE)[0])
    again = {**old, "at": "2026-01-06T01:00:00Z", "epoch_id": "a" * 32, "reason": "restored"}
    world.commit({CLAIM_FILE: world.text(CLAIM_FILE) + changed(json.dumps(again).encode(), n=14, prev=_end(world, CLAIM_FILE))})


def _end(world: Tampered, path: str) -> str:
    lines = lines_of(world, path)
    return digest(lines[-1]) if lines else FIRST_PREV


@kind(HELD, "claims are brought again as those of an earlier year", "fence-doubled", f"{CLAIM_FILE}:2:1")
def _(world: Tampered) -> None:
    world.commit({"ledger/blog/claims/2025.jsonl": world.text(CLAIM_FILE)})


@kind(HELD, "a fence is taken back and given to somebody else", "ledger-rewritten", CLAIM_FILE)
def _(world: Tampered) -> None:
    *before, claimed, released = lines_of(world, CLAIM_FILE)
    mine = [changed(line, nonce="b" * 32, actor="mallory") for line in (claimed, released)]
    world.commit({CLAIM_FILE: chained_again([*before, changed(mine[0], holder="mallory"), mine[1]])})


# --- branches ---------------------------------------------------------------------------------------------------------------

BRANCHES = "branches"


@kind(BRANCHES, "the state branch is put back by a forced push", "tip-lost", "{tip}")
def _(world: Tampered) -> str:
    printed = world.tip()
    world.move(STATE, world.git.own_line(printed)[4])
    return printed


@kind(BRANCHES, "the state branch is written again from its first record on", "tip-lost", "{tip}")
def _(world: Tampered) -> str:
    printed = world.tip()
    world.replay(world.steps())  # not one word is changed, so nothing else can give it away
    return printed


@kind(BRANCHES, "the default branch is put back by a forced push", "tip-lost", "{tip}")
def _(world: Tampered) -> str:
    printed = world.tip("main")
    world.move("main", world.git.commit(printed).parents[0])
    return printed


@kind(BRANCHES, "the state branch is turned around by a merge", "ledger-other-line", LEDGER.format(WITHDRAWAL))
def _(world: Tampered) -> None:
    real = world.tip()
    steps = world.steps()
    for step in steps:
        step.events.pop(WITHDRAWAL, None)
    world.replay(_without_empty(steps))
    world.commit({}, parents=[world.tip(), real])  # a fast-forward of the real branch, which no rule of a host refuses


@kind(BRANCHES, "a plan's records are left out of a new history", "deployment-missing", f"{LEDGER.format(SECOND)}:5:1")
def _(world: Tampered) -> None:
    steps = world.steps()
    for step in steps:
        step.events.pop(FIRST, None)
    world.replay(_without_empty(steps))


@kind(BRANCHES, "a ledger begun anew says that it was restored", "text-differs", "ledger/blog/baseline/0002.jsonl:1:1")
def _(world: Tampered) -> None:
    steps = world.steps()
    put = find(steps, FIRST, "prepared")["puts"][0]
    other = b"never approved\n"
    put["files"]["index.md"] = [world.git.write_blob(other), digest(other)]
    built, tip = find(steps, FIRST, "built"), world.tip("main")
    mine = {"at": "2026-01-06T01:00:00Z", "claim": None, "actor": "mallory", "commit": tip}
    epoch = {**mine, "type": "epoch", "epoch": 2, "epoch_id": "a" * 32, "reason": "restored"}
    baseline = {
        **mine, "type": "baseline", "deployment": 1, "release": built["release"], "why": "restored", "puts": [put],
        "withdraws": [], "presentation": built["presentation"],
    }  # fmt: skip
    payload = find(steps, FIRST, "approved")["plan_payload"]
    restored = {**mine, "type": "restored", "payload": payload, "release": built["release"], "urls": []}
    put["digest"] = digest_of(put)
    world.replay([Step({CLAIMS: [epoch], "blog/baseline/0002": [baseline], FIRST: [restored]}, {})])


def digest_of(put: dict[str, Any]) -> str:
    return tree_digest({name: pair[1] for name, pair in put["files"].items()})


# --- the clone's object store -----------------------------------------------------------------------------------------------

STORE = "object store"


def loose(world: Tampered) -> None:
    """Every object as a file of its own, as in a clone that was never packed."""
    packs = sorted((world.path / ".git" / "objects" / "pack").iterdir())
    for file in packs:
        file.rename(world.path / file.name)
    for file in packs:
        if file.suffix == ".pack":
            Repository(world.path).git("unpack-objects", "-q", stdin=(world.path / file.name).read_bytes())


def swap(world: Tampered, oid: str, kind_of: str, data: bytes) -> None:
    """Other bytes under an object's id."""
    loose(world)
    file = world.path / ".git" / "objects" / oid[:2] / oid[2:]
    file.unlink()
    file.write_bytes(zlib.compress(b"%s %d\0" % (kind_of.encode(), len(data)) + data))
    world.git = Git(world.path)


@kind(STORE, "a commit has other parents than its id says", "object-corrupt", "", refused=True)
def _(world: Tampered) -> None:
    middle = world.git.own_line(world.tip())[3]
    parent = world.git.commit(middle).parents[0]
    data = subprocess.run(["git", "cat-file", "commit", middle], cwd=world.path, check=True, capture_output=True).stdout
    before = world.git.commit(parent).parents[0]
    swap(world, middle, "commit", data.replace(f"parent {parent}".encode(), f"parent {before}".encode()))


@kind(STORE, "a source has other bytes than its id says", "object-corrupt", "", refused=True)
def _(world: Tampered) -> None:
    oid = world.git.blob_ids(world.tip("main"), ["drafts/blog/article-0003/index.md"])["drafts/blog/article-0003/index.md"]
    swap(world, oid, "blob", world.git.blobs([oid])[oid].replace(b"marker", b"ribbon"))


@kind(STORE, "an old version of the ledger is missing", "object-corrupt", "", refused=True)
def _(world: Tampered) -> None:
    old = world.git.folder_history(world.tip(), "ledger")[2].new
    loose(world)
    (world.path / ".git" / "objects" / old[:2] / old[2:]).unlink()


@kind(STORE, "a commit-graph names other parents", "object-corrupt", "", refused=True)
def _(world: Tampered) -> None:
    Repository(world.path).git("commit-graph", "write", "--reachable")
    file = world.path / ".git" / "objects" / "info" / "commit-graph"
    data = bytearray(file.read_bytes()[:-20])
    chunks = {bytes(data[at : at + 4]): int.from_bytes(data[at + 4 : at + 12]) for at in range(8, 8 + 12 * (data[6] + 1), 12)}
    commits = int.from_bytes(data[chunks[b"OIDF"] + 1020 : chunks[b"OIDF"] + 1024])
    rows = [chunks[b"CDAT"] + 36 * n for n in range(commits)]
    # Each row is a tree, two parents by position, generation and date (gitformat-commit-graph(5)).
    row = next(at for at in rows if int.from_bytes(data[at + 20 : at + 24]) < commits)
    parent = int.from_bytes(data[row + 20 : row + 24])
    data[row + 20 : row + 24] = ((parent + 1) % commits).to_bytes(4)
    file.chmod(0o644)
    file.write_bytes(bytes(data) + hashlib.sha1(data, usedforsecurity=False).digest())


@kind(STORE, "the clone borrows objects from elsewhere", "alternate-objects", "", refused=True)
def _(world: Tampered) -> None:
    (world.path / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (world.path / ".git" / "objects" / "info" / "alternates").write_text("/somewhere/else\n")


# --- approvals --------------------------------------------------------------------------------------------------------------

APPROVALS = "approvals"
PLAN_FILE = f"plans/{OTHER_DRAFTS}.yaml"
RECORD = f"ledger/{OTHER_DRAFTS}.jsonl:1:1"


def keys() -> Path:
    return finished_story().instance.folder / "keys"


def recorded(world: Tampered, merge: str, by: str = "reviewer@example.org") -> None:
    """The ledger's record of the last request's approval, naming ``merge``."""
    wired = finished_story().wired("ci")
    tips = wired.store.tips()
    plan = wired.store.plan(tips.default, OTHER_DRAFTS)
    assert plan is not None
    approval = wired.forge.verdict(tips, Subject(path=PLAN_FILE, payload=plan.payload, revision=plan.revision))
    assert isinstance(approval, Approval)
    record = {
        "at": "2026-01-06T00:22:00Z", "type": "approved", "claim": None, "actor": "ci", "commit": merge, "gate": "plan",
        "plan_payload": plan.payload, "plan_commit": merge, "payload": plan.payload, "path": PLAN_FILE, "revision": 1,
        "steps": [step.name for step in plan.steps], "by": [by], "merged_at": in_utc(approval.merged_at), "merge": merge,
        "request": approval.request, "evidence": dict(approval.evidence),
    }  # fmt: skip
    world.commit({f"ledger/{OTHER_DRAFTS}.jsonl": chained(b"", [record])})


def merged_again(
    world: Tampered, *, author: str = "planner", commit_key: str = "planner", merge_key: str = "reviewer",
    message: str | None = None, changes: dict[str, bytes | None] | None = None, swapped: bool = False,
) -> str:  # fmt: skip
    """The last request's commit and merge made again, in some way wrong, in place of the real ones; and recorded."""
    git, real = world.git, world.git.commit(world.tip("main"))
    base, head = real.parents
    made = {"at": real.committer_at, "author": f"{author}@example.org", "email": f"{author}@example.org"}
    commit = git.compose(
        parents=[base], base_tree=head, changes={}, message=git.commit(head).message,
        signing_key=keys() / commit_key if commit_key else None, **made,
    )  # fmt: skip
    signer = f"{merge_key or 'reviewer'}@example.org"
    approver = {"at": real.committer_at, "author": signer, "email": signer}
    merge = git.compose(
        parents=[commit, base] if swapped else [base, commit], base_tree=head, changes=changes or {},
        message=real.message if message is None else message, signing_key=keys() / merge_key if merge_key else None, **approver,
    )  # fmt: skip
    world.move("main", merge)
    recorded(world, merge)
    return merge


@kind(APPROVALS, "a request's signature is stripped", "approval-not-proven", RECORD, reason="unsigned-commit")
def _(world: Tampered) -> None:
    merged_again(world, commit_key="")


@kind(APPROVALS, "a merge's signature is stripped", "approval-not-proven", RECORD, reason="unsigned-merge")
def _(world: Tampered) -> None:
    merged_again(world, merge_key="")


@kind(APPROVALS, "a merge is signed by somebody else", "approval-not-proven", RECORD, reason="merge-not-by-approver")
def _(world: Tampered) -> None:
    merged_again(world, merge_key="planner")


@kind(APPROVALS, "the approver wrote the request", "approval-not-proven", RECORD, reason="own-approval")
def _(world: Tampered) -> None:
    merged_again(world, author="reviewer", commit_key="reviewer")


@kind(APPROVALS, "a merge without the signed statement", "approval-not-proven", RECORD, reason="no-statement")
def _(world: Tampered) -> None:
    merged_again(world, message="Approve request 8\n\nPublisher-Approved-By: reviewer@example.org\n")


@kind(APPROVALS, "the statement of another request", "approval-not-proven", RECORD, reason="other-path")
def _(world: Tampered) -> None:
    earlier = world.git.commit(world.git.commit(world.tip("main")).parents[0])
    merged_again(world, message=earlier.message)


@kind(APPROVALS, "a statement is changed under its signature", "approval-not-proven", RECORD, reason="bad-signature")
def _(world: Tampered) -> None:
    message = world.git.commit(world.tip("main")).message
    head, _, block = message.partition("Publisher-Approval: ")
    statements = json.loads(base64.b64decode("".join(block.split())))
    statements[0]["statement"]["time"] = "2026-01-06T00:20:30Z"
    text = base64.b64encode(json.dumps(statements, sort_keys=True, separators=(",", ":")).encode()).decode()
    merged_again(world, message=f"{head}Publisher-Approval: {text}\n")


@kind(APPROVALS, "a merge holds another plan than its request", "plan-differs", RECORD)
def _(world: Tampered) -> None:
    text = world.text(PLAN_FILE, "main").replace(b"reason: test", b"reason: tested")
    assert text != world.text(PLAN_FILE, "main")
    merged_again(world, changes={PLAN_FILE: text})


@kind(APPROVALS, "a merge changes more than its request", "approval-not-proven", RECORD, reason="evil-merge")
def _(world: Tampered) -> None:
    merged_again(world, changes={"site-src/blog/theme/extra.txt": b"smuggled\n"})


@kind(APPROVALS, "a merge's parents change places", "approval-elsewhere", RECORD)
def _(world: Tampered) -> None:
    merged_again(world, swapped=True)


@kind(APPROVALS, "somebody lets themselves in by approval.yaml", "approval-not-proven", RECORD, reason="unknown-key")
def _(world: Tampered) -> None:
    key = signing_key(world.path / "stolen", "mallory")
    public = " ".join(key.with_name("mallory.pub").read_text().split()[:2])
    rules = world.text("approval.yaml", "main")
    rules += f'  - {{principal: mallory@example.org, key: "{public}", may: [commit, approve]}}\n'.encode()
    git, real = world.git, world.git.commit(world.tip("main"))
    base, head = real.parents
    hand = {"at": real.committer_at, "author": "mallory@example.org", "email": "mallory@example.org"}
    opened = git.compose(parents=[base], base_tree=base, changes={"approval.yaml": rules}, message="let me in", **hand)
    planner = {"at": real.committer_at, "author": "planner@example.org", "email": "planner@example.org"}
    added: dict[str, bytes | None] = {PLAN_FILE: world.text(PLAN_FILE, "main")}
    commit = git.compose(
        parents=[opened], base_tree=opened, changes=added, message=git.commit(head).message, signing_key=keys() / "planner", **planner
    )  # fmt: skip
    words, _, block = real.message.partition("Publisher-Approval: ")
    statements = json.loads(base64.b64decode("".join(block.split())))
    signed = Statement(**statements[0]["statement"]).signed_bytes()
    statements[0]["signature"] = git.sign(key, NAMESPACE, signed)
    text = base64.b64encode(json.dumps(statements, sort_keys=True, separators=(",", ":")).encode()).decode()
    merge = git.compose(
        parents=[opened, commit], base_tree=commit, changes={}, message=f"{words}Publisher-Approval: {text}\n", signing_key=key, **hand
    )  # fmt: skip
    world.move("main", merge)
    recorded(world, merge, by="mallory@example.org")


@kind(APPROVALS, "history is rewritten below an approval", "approval-elsewhere", f"{LEDGER.format(WITHDRAWAL)}:1:1")
def _(world: Tampered) -> None:
    """The merge of the withdrawal is made again with the same words, signatures and files; its time is another."""
    steps, git = world.steps(), world.git
    merge = find(steps, WITHDRAWAL, "approved")["merge"]
    real = git.commit(merge)
    world.move("main", git.compose(
        parents=real.parents, base_tree=merge, changes={}, message=real.message, author="reviewer@example.org",
        email="reviewer@example.org", at=world.now, signing_key=keys() / "reviewer",
    ))  # fmt: skip


# --- what is public ---------------------------------------------------------------------------------------------------------

PUBLIC = "what is public"
THEME = "site-src/blog/theme/base.html.j2"


@kind(PUBLIC, "an unapproved theme is released", "presentation-not-approved", f"{LEDGER.format(SECOND)}:5:1")
def _(world: Tampered) -> None:
    steps = world.steps()
    edited = world.commit({THEME: world.text(THEME, "main") + b"<!-- mine -->"}, "main")
    doors = world.doors()
    assembler = ReleaseAssembler(
        reads=doors.reads, builder=doors.builder, site="blog", scratch=world.path, progress=doors.progress
    )
    shown = assembler.presentation_at(edited)
    find(steps, SECOND, "built")["presentation"] = {"commit": edited, "output": shown.output, "digest": shown.digest}
    world.replay(steps)


@kind(PUBLIC, "a publication is taken out, and later ones numbered again", "base-differs", f"{LEDGER.format(SECOND)}:5:1")
def _(world: Tampered) -> None:
    steps = world.steps()
    for step in steps:
        step.events.pop(FIRST, None)
    for path in (SECOND, "blog/changes/2026/2026-01-06-1", WITHDRAWAL):
        for name in ("deploy-intent", "deployed"):
            find(steps, path, name)["deployment"] -= 1
    world.replay(_without_empty(steps))


@kind(PUBLIC, "a public copy is edited in place", "build-source-differs", "site-src/blog/articles/a-0005")
def _(world: Tampered) -> None:
    path = "site-src/blog/articles/a-0005/index.md"
    world.commit({path: world.text(path).replace(b"marker", b"ribbon")})


@kind(PUBLIC, "a pause is taken out of the record", "ledger-deleted", LEDGER.format(CONTROLS))
def _(world: Tampered) -> None:
    record = {
        "at": "2026-01-06T00:30:00Z",
        "type": "paused",
        "claim": None,
        "actor": "editor",
        "commit": "0" * 40,
        "reason": "wait",
    }
    world.commit({LEDGER.format(CONTROLS): chained(b"", [record])})
    world.commit({LEDGER.format(CONTROLS): None})


@kind(PUBLIC, "the record of a confirmation is taken out", "ledger-rewritten", FILE)
def _(world: Tampered) -> None:
    kept = [line for line in lines_of(world) if json.loads(line)["type"] != "confirmed"]
    world.commit({FILE: chained_again(kept)})


@kind(PUBLIC, "a reader is told once more", "announced-twice", f"{FILE}:9:1")
def _(world: Tampered) -> None:
    steps = world.steps()
    mine = {"at": "2026-01-05T00:08:00Z", "claim": 3, "actor": "ci", "commit": "0" * 40, "channel": "mail"}
    telling = {**mine, "type": "announce-intent", "to": ["p1"]}
    told = {**mine, "type": "announce-result", "results": {"p1": "sent"}, "codes": {}}
    step = next(step for step in steps if any(event["type"] == "confirmed" for event in step.events.get(FIRST, [])))
    step.events[FIRST] += [telling, told, dict(telling)]
    world.replay(steps)


if __name__ == "__main__":
    for item in KINDS.values():
        print(f"| {item.area} | {item.name} | `{item.code}`{f' ({item.reason})' if item.reason else ''} |")
