"""Every door to the outside world, as Protocols. Reading and writing doors are split: a command that only reads is handed
reading doors only, so that "preview changes nothing" is a matter of types.

``EFFECTS`` lists the methods that change something outside this process. Workers declare which of them they use; the crash
sweep wraps exactly these, and fails when a worker causes one that it did not declare.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from publisher.domain.approval import Approval, ApprovalRules, Subject, Verdict
from publisher.domain.article import Draft, PublicArticle, Release, Withdrawn
from publisher.domain.claim import Fence
from publisher.domain.evidence import Seen
from publisher.domain.gates import GateFile
from publisher.domain.handover import Handed
from publisher.domain.history import History
from publisher.domain.instance import Instance, Site
from publisher.domain.ledger_events import Event, EventType, NewEvent
from publisher.domain.plan import Plan, Presentation
from publisher.domain.policy import Policy
from publisher.domain.queue import Queued
from publisher.domain.site_content import Content, Production
from publisher.errors import InputProblem

EFFECTS = (
    "records.publish",  # a push to the state branch (and, with a target that joins, the site branch)
    "requests.open",  # a push of a request branch, and with a host its pull request
    "target.store",  # a release's bytes put where the target keeps them, not yet public
    "target.raise_fence",  # a conditional write that refuses older holders from now on
    "target.switch",  # the release becomes public
    "target.show",  # what is behind the target is asked to show what it holds
    "staging.store",
    "staging.switch",  # the release can be seen by the people who decide a gate
    "channel.send",  # one message to one recipient
    "alerts.say",  # one notice to the people on call
)


class Clock(Protocol):
    """The time. ``now`` is aware and in UTC; ``sleep`` waits that many seconds."""

    def now(self) -> datetime: ...

    def sleep(self, seconds: float) -> None: ...


# --- git ------------------------------------------------------------------------------------------------------------------


class CommitFacts(Protocol):
    """What a commit object says; author and message are free text and never evidence."""

    @property
    def oid(self) -> str: ...

    @property
    def tree(self) -> str: ...

    @property
    def parents(self) -> tuple[str, ...]: ...

    @property
    def author_name(self) -> str: ...

    @property
    def author_email(self) -> str: ...

    @property
    def committer_at(self) -> datetime: ...

    @property
    def message(self) -> str: ...


class TreeFile(Protocol):
    """One entry of a tree: repository-relative path, git mode and object id."""

    @property
    def path(self) -> str: ...

    @property
    def mode(self) -> str: ...

    @property
    def oid(self) -> str: ...


class FileChange(Protocol):
    """What one commit did to one file against its first parent: git mode and object ids, "" where the file is not."""

    @property
    def commit(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def mode(self) -> str: ...

    @property
    def old(self) -> str: ...

    @property
    def new(self) -> str: ...


class GitReads(Protocol):
    """The reading half of the git gateway, for rooms that judge or compare git objects."""

    def require_trustworthy(self) -> None: ...

    def require_sound(self) -> None:
        """Refuses a clone with an object that is missing or not what its id says. Reads every object: for an audit only."""

    def resolve(self, name: str) -> str: ...

    def tree(self, commit: str, folder: str, recursive: bool = True) -> Sequence[TreeFile]: ...

    def sizes(self, oids: Iterable[str]) -> Mapping[str, int]:
        """How many bytes objects have, without reading them."""

    def blobs(self, oids: Iterable[str]) -> Mapping[str, bytes]: ...

    def blob_at(self, commit: str, path: str) -> bytes | None: ...

    def blob_ids(self, commit: str, paths: Sequence[str]) -> Mapping[str, str]: ...

    def commit(self, oid: str) -> CommitFacts: ...

    def commits(self, include: Sequence[str], exclude: Sequence[str]) -> Sequence[CommitFacts]: ...

    def is_ancestor(self, older: str, newer: str) -> bool: ...

    def first_parent_changes(self, commit: str, path: str, limit: int = 1) -> Sequence[str]: ...

    def own_line(self, commit: str) -> Sequence[str]:
        """Newest first: the first-parent chain of ``commit``."""

    def changes_on_any_line(self, commit: str, path: str) -> Sequence[str]:
        """The commits reachable from ``commit``, on any line, in which ``path`` differs from all their parents."""

    def later_changes(self, change: str, tip: str, path: str) -> Sequence[str]:
        """Commits of ``tip`` that descend from ``change``, on any line, and in which ``path`` differs from one of their parents."""

    def folder_history(self, commit: str, folder: str) -> Sequence[FileChange]:
        """Oldest first: what the commits on the first-parent chain of ``commit`` did to the files below ``folder``."""

    def remote_refs(self, remote: str, patterns: Sequence[str]) -> Mapping[str, str]: ...

    def verify(self, signers: str, namespace: str, data: bytes, signature: str) -> str: ...

    def commit_signer(self, oid: str, signers: str) -> str: ...

    def commit_signature(self, oid: str) -> str: ...

    def new_objects(self, commit: str, known: Sequence[str]) -> Sequence[tuple[str, str]]:
        """(id, path) of the blobs that a push of ``commit`` may send to a remote which has ``known``; never one less."""


class GitWrites(GitReads, Protocol):
    """The writing half: objects, fetches and pushes. A push returns a hint only; the remote is read afterwards."""

    def write_blob(self, data: bytes) -> str: ...

    def compose(
        self,
        *,
        parents: Sequence[str],
        base_tree: str,
        changes: Mapping[str, bytes | None],
        message: str,
        author: str,
        email: str,
        at: datetime,
        signing_key: Path | None = None,
    ) -> str: ...

    def compose_tree(self, files: Mapping[str, bytes]) -> str: ...

    def use_key(self, remote: str, name: str) -> None:
        """``remote``, an ssh URL, is talked to with the private key in the environment variable ``name`` from now on."""

    def fetch(self, remote: str, refspecs: Sequence[str]) -> None: ...

    def require_fetched(self, oids: Iterable[str]) -> None: ...

    def push(self, remote: str, updates: Sequence[tuple[str, str, str]]) -> bool: ...

    def sign(self, key: Path, namespace: str, data: bytes) -> str: ...

    def public_key_of(self, key: Path) -> str: ...


# --- the repository -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Tips:
    """What the remote's branches were when looked at. ``requests`` maps a request's number to its head commit.

    ``state`` is "" where the state branch does not exist, which is never taken for a first run. ``age`` tells how long ago
    (seconds) the remote was asked, None when that is not known; ``unpushed`` says that local work is not in these tips.
    """

    default: str
    state: str
    drafts: str
    requests: Mapping[int, str] = field(default_factory=dict)
    age: float | None = 0.0
    unpushed: bool = False


@dataclass(frozen=True, kw_only=True)
class PlanFile:
    """A plan as committed, or the refusal that reading it gave."""

    path: str
    plan: Plan | None
    problem: Exception | None = None


class ReadsRepository(Protocol):
    """Committed things, read from git objects at a commit; never the working tree or the index."""

    def tips(self) -> Tips:
        """The tips known locally (remote-tracking refs). Opens no connection and writes nothing."""

    def instance(self, commit: str) -> Instance: ...

    def policy(self, commit: str, site: str) -> Policy: ...

    def queue(self, commit: str, site: str) -> tuple[Queued, ...]: ...

    def plan_paths(self, commit: str, site: str) -> tuple[str, ...]: ...

    def plans(self, commit: str, site: str, only: Iterable[str] | None = None) -> tuple[PlanFile, ...]:
        """Every plan file of a site, or those whose paths are in ``only``, in path order."""

    def plan(self, commit: str, path: str) -> Plan | None:
        """One plan at one commit; None where it does not exist there."""

    def draft(self, commit: str, source: str) -> Draft:
        """A private source and the files it uses, at a commit of the drafts' repository."""

    def drafts(self, commit: str, site: str, sources: Iterable[str]) -> tuple[Mapping[str, Draft], Mapping[str, InputProblem]]:
        """Many sources at once: those that can be read, and why the others cannot."""

    def draft_sources(self, commit: str, site: str) -> tuple[str, ...]: ...

    def ledger(self, state: str, site: str) -> Mapping[str, tuple[Event, ...]]:
        """Every ledger file of a site by its path under ``ledger/`` without ending. Chain and schema are checked."""

    def gates(self, commit: str, site: str) -> tuple[GateFile, ...]:
        """Every gate request file of a site at a commit."""

    def blobs(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        """Bytes of blobs that a ledger record names."""

    def blob_ids(self, commit: str, folder: str) -> Mapping[str, str]:
        """Blob ids below a folder by repository path."""

    def files(self, commit: str, folder: str) -> Mapping[str, bytes]:
        """The blobs below a folder by relative path; symbolic links, submodules and executables are refused."""

    def last_change(self, commit: str, path: str) -> str:
        """The newest commit on the first-parent chain of ``commit`` that changed ``path``; "" when none did."""

    def recorded_in(self, state: str, path: str, n: int) -> str:
        """The commit that brought the ``n``-th event of a ledger file; "" when it is not among the newest."""

    def plan_before(self, commit: str, path: str) -> Plan | None:
        """A plan as it was before its newest change on the first-parent chain; None where that change added it."""


class ProposedFiles(Protocol):
    """The instance's own files as somebody proposes them: from bytes to values, by the rules that committed ones are read by.

    Each reading refuses with ``path:line:col``.
    """

    def instance(self, data: bytes, path: str) -> Instance: ...

    def rules(self, data: bytes, path: str) -> ApprovalRules: ...

    def policy(self, data: bytes, path: str) -> Policy: ...

    def queue(self, data: bytes, path: str) -> tuple[Queued, ...]: ...

    def plan(self, data: bytes, path: str) -> Plan: ...

    def gate(self, data: bytes, path: str) -> GateFile: ...

    def where(self, data: bytes, path: str, place: Sequence[str | int]) -> str:
        """``path:line:col`` of a value, of a file that could be read."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Events and files that become one commit on the state branch.

    ``events`` maps a ledger path (without ending) to the events to append; ``files`` are whole files to write by path.
    ``message`` is the commit's message, ids only.
    """

    events: Mapping[str, Sequence[NewEvent]]
    files: Mapping[str, bytes] = field(default_factory=dict)
    message: str


@dataclass(frozen=True, kw_only=True)
class BranchUpdate:
    """A further ref that moves in the same atomic push: ``expected`` is the full id it must have ("" = must not exist)."""

    ref: str
    commit: str
    expected: str


@dataclass(frozen=True, kw_only=True)
class Landing:
    """What a read of the remote showed after a push. ``tips`` are the tips as read then."""

    landed: bool
    tips: Tips


class Records(Protocol):
    """The writing door to the state branch."""

    def keep(self, data: bytes) -> str:
        """Puts bytes into the local object store and returns their blob id; nothing refers to them yet."""

    def refresh(self) -> Tips:
        """Asks the remote and fetches. ``ComeBackLater`` when it cannot be reached."""

    def compose(self, tips: Tips, batch: Batch, at: datetime) -> str:
        """The commit that ``batch`` makes on top of ``tips.state``; objects only, no ref moves."""

    def publish(self, tips: Tips, commit: str, joined: Sequence[BranchUpdate] = ()) -> Landing:
        """Pushes ``commit`` with an exact lease on ``tips.state`` and then reads the remote, whatever the push said."""

    def start(self, tips: Tips, branch: str, batch: Batch, at: datetime) -> Tips:
        """Creates a missing state branch with its first records: for ``init`` and ``reconcile --restore`` only."""


# --- the pull-request host ---------------------------------------------------------------------------------------------


class HostReads(Protocol):
    """GitHub's REST API, reading. A path is below the instance's repository (``pulls/7``), or absolute (``/users/ann``).

    Answers are the API's JSON. Reads are repeated a bounded number of times. ``ComeBackLater`` when the host gives no answer
    (``host-unreachable``) or asks to slow down (``host-busy``); ``NeedsPerson`` (``host-forbidden``) when the token may not.
    """

    @property
    def repository(self) -> str:
        """``owner/name``."""

    def get(self, path: str, **query: str | int) -> Any:
        """One document; None where there is nothing (404)."""

    def pages(self, path: str, **query: str | int) -> Iterable[Any]:
        """Every item of a list, over all its pages; none where there is nothing."""


class HostWrites(HostReads, Protocol):
    """The writing half: one attempt each, never repeated by itself."""

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """Asks the host to change something; the answer's JSON, None for an empty one.

        ``OutcomeUnknown`` (``host-answer-lost``) when it was sent and no usable answer came: look before doing it again.
        ``NeedsPerson`` when it was refused: ``host-forbidden`` (401, 403, 404), ``host-refused`` (409, 422).
        """


class ReviewBoard(Protocol):
    """Where a review is shown beside its pull request. Each answers "" when it stands there now, else why it was not posted."""

    def comment(self, number: int, head: str, text: str, *, only_edit: bool = False) -> str:
        """The one comment of this kind, edited in place; with ``only_edit``, none is made where there is none.

        Nothing is said about a request whose head is no longer ``head``.
        """

    def status(self, sha: str, ok: bool, says: str) -> str:
        """The commit status that carries the payload; ``says`` has at most 140 characters."""


# --- approvals -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OpenRequest:
    """A request that nobody has decided yet: its number, head commit and the files under ``plans/`` that it brings."""

    number: int
    head: str
    paths: tuple[str, ...]


class ReadsForge(Protocol):
    """Where approvals come from."""

    def rules(self, commit: str) -> ApprovalRules:
        """The approval rules in force at a commit: the last version that was itself approved."""

    def verdict(self, tips: Tips, subject: Subject) -> Verdict:
        """What people decided about one file, derived from the default branch each time it is asked."""

    def open_requests(self, tips: Tips) -> tuple[OpenRequest, ...]: ...


class Requests(Protocol):
    """The writing door of the forge."""

    @property
    def left_alone(self) -> Collection[int]:
        """Requests that ``open`` found and did not bring up to date, because somebody reviewed or changed them."""

    def open(self, tips: Tips, files: Mapping[str, bytes], title: str, marker: str, body: str = "") -> int:
        """Proposes files for review and returns the request's number. ``marker`` makes a repetition find the same one.

        ``body`` is Markdown for the people who review, where the forge shows such a text.
        """

    def decide(self, tips: Tips, number: int, approve: bool, now: datetime) -> tuple[Approval, ...]:
        """A person's decision, signed by them (forge ``git`` only): merges the request, or closes it."""


# --- building ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """Everything that a release is a function of. ``articles`` in order of their first publication, oldest first.

    ``theme`` and ``static`` are the site's files by relative path; ``output`` is the builder's output version.
    """

    site: Site
    articles: tuple[PublicArticle, ...]
    withdrawn: tuple[Withdrawn, ...] = ()
    theme: Mapping[str, bytes] = field(repr=False)
    static: Mapping[str, bytes] = field(repr=False, default_factory=dict)
    output: int


class SiteBuilder(Protocol):
    """Approved public forms and a theme into an immutable release."""

    def references(self, markdown: str) -> tuple[str, ...]:
        """The relative files that a Markdown text uses, sorted: what its fingerprint covers beside the text itself."""

    def public_form(self, draft: Draft, article: PublicArticle) -> Mapping[str, bytes]:
        """The files (``index.md`` and images, by name) that ``prepare`` writes for an article."""

    def read_public_form(self, files: Mapping[str, bytes]) -> PublicArticle: ...

    def build(self, request: BuildRequest, into: str) -> Release:
        """Writes the site below the empty directory ``into``. The same request gives the same bytes anywhere."""

    def leaks(self, release: Release, private: Sequence[Draft], approved: Sequence[PublicArticle]) -> tuple[str, ...]:
        """Findings as ``path: draft id`` for private text found in a release; never the text itself."""

    def leaks_in(
        self, items: Mapping[str, bytes], private: Sequence[Draft], approved: Sequence[PublicArticle]
    ) -> tuple[str, ...]:
        """The same over named bytes: objects that are about to be pushed, a notice, a message."""


# --- targets -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Live:
    """What a target holds. ``release`` is recomputed from the bytes there ("" = nothing there yet).

    ``fence`` is the highest the target has accepted (None = never fenced); ``base`` is the release that the live one says it
    was switched from.
    """

    release: str
    fence: Fence | None
    base: str = ""


class Target(Protocol):
    """Where a release becomes public."""

    guarantee: str
    """One sentence: what this target promises about stale actors. ``doctor`` prints it."""

    joins_ledger: bool
    """Whether the switch is part of the same atomic push as its ledger record."""

    can_fence: bool
    """Whether an older holder can be shut out before looking."""

    def look(self) -> Live:
        """What is there now, from its bytes. ``ComeBackLater`` when the target cannot be reached."""

    def store(self, release: Release, *, base: str = "", fence: Fence | None = None) -> None:
        """Puts the release's bytes in place, not yet public; verified by reading back. Repeatable.

        ``base`` and ``fence`` are for targets whose claim file travels with the bytes.
        """

    def raise_fence(self, fence: Fence) -> None:
        """From now on a holder with a lower fence is refused. Read back. ``StoppedForSafety`` when a higher one is there."""

    def switch(self, release: Release, *, base: str, fence: Fence, record: str = "") -> None:
        """Makes ``release`` public if ``base`` is live and no higher fence was seen; else ``StoppedForSafety``.

        What became of it is learnt from ``look``, not from the return. Where the target cannot be fenced, any refusal but
        ``OutcomeUnknown`` says that nothing was set going, or that it ended for good and made nothing public. ``record`` is the
        state branch's commit that announced the switch.
        """

    def came_to_nothing(self, release: str, *, record: str) -> bool:
        """Only where the target cannot be fenced: whether the switch that ``record`` announced has ended, and made nothing public.

        ``ComeBackLater`` while it is under way; False when the target does not know of it, or says that it happened.
        """

    def show(self) -> None:
        """Sets going what still has to happen behind the target before visitors see what it holds. Repeatable.

        Never a refusal: what visitors see is for the probes to say.
        """

    def joined_update(self, release: Release, *, base: str, fence: Fence) -> BranchUpdate:
        """For targets with ``joins_ledger``: the ref update that makes the release public."""


# --- the public and people ------------------------------------------------------------------------------------------------------


class Probes(Protocol):
    """Looks at the public site. Never shares code with what did the deploying."""

    def look(self, urls: Sequence[str], *, seconds: float, bust: str) -> Mapping[str, Seen]:
        """One look at each URL within ``seconds`` for all. ``bust`` makes caches pass the question on ("" = plain)."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One announcement to one recipient, made from confirmed public facts only. ``id`` is stable across retries."""

    id: str
    recipient: str
    subject: str
    text: str


class Sent(Protocol):
    """Outcome of one send: ``sent``, ``refused`` (definitely not sent) or ``unknown``, with a code."""

    @property
    def outcome(self) -> str: ...

    @property
    def code(self) -> str: ...


class Channel(Protocol):
    """An outlet for announcements."""

    idempotent: bool
    """Whether the same message id sent twice arrives once, so that an open intent may simply be carried out again."""

    def recipients(self, list_name: str) -> tuple[str, ...]:
        """The addresses on a list now, less removals, sorted and unique."""

    def pseudonym(self, recipient: str) -> str:
        """A keyed digest that stands for the address in the ledger."""

    def send(self, message: Message) -> Sent: ...


class Alerts(Protocol):
    """Speaks to the people on call. ``thread`` is what several notices are about ("" = this one alone); ``over`` ends it,
    with "" as ``text`` without a word."""

    def say(self, notice_id: str, text: str, *, thread: str = "", over: bool = False) -> None: ...


class Progress(Protocol):
    """Tells a waiting person what is going on, on stderr."""

    def __call__(self, text: str) -> None: ...


class Assembler(Protocol):
    """Releases from recorded content, each built once per run."""

    def presentation_at(self, commit: str, output: int | None = None) -> Presentation:
        """Theme, static files and site configuration at a commit, under one digest."""

    def build(self, content: Content, presentation: Presentation) -> Release: ...

    def articles(self, content: Content) -> tuple[PublicArticle, ...]:
        """The shown texts, each compared with its recorded digest."""


# --- workers ---------------------------------------------------------------------------------------------------------------


class Bench(Protocol):
    """What the engine hands to a worker: one plan's facts, the doors a step may use, and the run's journal.

    ``approval`` is the verified approval the step runs under (None only after the deploy was observed). ``production`` is what
    the ledger says is public, this run's own records included.
    """

    plan: Plan
    site: Site
    instance: Instance
    approval: Approval | None
    fence: Fence
    reads: ReadsRepository
    builder: SiteBuilder
    assembler: Assembler
    target: Target
    staging: Target | None
    probes: Probes
    clock: Clock
    progress: Progress
    handed: Mapping[str, Handed] | None
    """What the process that reads drafts handed over, by plan; None where this process reads them itself."""

    @property
    def tips(self) -> Tips: ...

    @property
    def history(self) -> History: ...

    @property
    def production(self) -> Production: ...

    def channel(self, name: str) -> Channel: ...

    def announced_in(self) -> str:
        """The state branch's commit that recorded this plan's newest deploy intent; its tip, where there is none."""

    def keep(self, data: bytes) -> str:
        """A blob for a text that the journal will record."""

    def note(self, kind: EventType, **fields: Any) -> None:
        """Adds an event of this plan to the journal; it is pushed with the next ``commit``."""

    def put(self, files: Mapping[str, bytes]) -> None:
        """Adds files of the build source to the journal."""

    def commit(self, subject: str, joined: Sequence[BranchUpdate] = (), *, fact: bool = False) -> None:
        """Pushes the journal and reads it back; raises when this run may no longer write.

        ``fact`` says that the records are observations, which stay true whatever was decided meanwhile.
        """

    def require_in_time(self) -> None:
        """The decision taken once more at this moment: a build may have outlasted its approval."""

    def require_still_allowed(self) -> None:
        """Reads the remote once more: the same plan, approval, controls and claim, or a refusal."""

    def outgoing(self) -> Mapping[str, bytes]:
        """What the next ``commit`` would push, by path: files of the build source, and the events as JSON."""

    def private_drafts(self) -> Sequence[Draft]:
        """The drafts that must not leave: every source of the site that is neither public nor this plan's."""


@dataclass(frozen=True, kw_only=True)
class Worker:
    """How a step is done. ``effects`` are the members of ``EFFECTS`` that it may cause beside the journal's pushes."""

    step: str
    effects: tuple[str, ...]
    work: Callable[[Bench], None]
    vouch: Callable[[Bench], Handed] | None = None
    """Makes the release that the line's deploy would deploy, from the approved sources, and says which it is."""
