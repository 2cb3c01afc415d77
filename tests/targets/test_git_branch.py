"""What only a branch does: pushes whose answer lies, foreign commits, what may leave, the shape of its commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.article import CLAIM_PATH, Release
from publisher.errors import Bug, ComeBackLater, OutcomeUnknown, Refusal, StoppedForSafety
from publisher.ports import Live
from publisher.targets.git_branch import GitBranchTarget
from tests.support.target_actors import SITE, at, bare_repository, clone, commit_files, fence, make_release, run_git

REF = "refs/heads/gh-pages"


class Place:
    """A remote with one clone, whose gateway a test may change by ``having``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.remote = bare_repository(folder / "site.git")
        self.git: Any = clone(folder / "clone")

    def target(self, *, joined: bool = False, git: Any = None) -> GitBranchTarget:
        return GitBranchTarget(git=git or self.git, remote=str(self.remote), ref=REF, joined=joined, site=SITE, now=at)

    def tip(self) -> str:
        return run_git(self.remote, "rev-parse", REF)

    def release(self, word: str) -> Release:
        return make_release(self.folder / "built" / word, word)

    def publish(self, release: Release, base: str, number: int) -> None:
        self.target().store(release)
        self.target().switch(release, base=base, fence=fence(number))


class Having:
    """A gateway of which some methods are another's."""

    def __init__(self, git: Any, **methods: Callable[..., Any]) -> None:
        self._git = git
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._git, name)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def refused(act: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as found:
        act()
    return found.value


# --- the shape of the commits -------------------------------------------------------------------------------------------------


def test_the_branch_holds_the_release_and_its_claim_and_starts_without_a_parent(place: Place) -> None:
    first, second = place.release("first"), place.release("second")
    place.publish(first, "", 1)
    assert run_git(place.remote, "log", "--format=%P|%an <%ae>|%ct|%B", REF) == (
        f"|publisher <publisher@localhost>|{int(at().timestamp())}|Release {first.id[7:19]} of handbook\n\n"
        f"Release: {first.id}\nClaim: 1.1\nBase: none"
    )
    place.publish(second, first.id, 2)
    listed = run_git(place.remote, "ls-tree", "-r", "--name-only", REF).splitlines()
    assert sorted(listed) == sorted([*second.files, CLAIM_PATH])
    assert {line[:6] for line in run_git(place.remote, "ls-tree", "-r", REF).splitlines()} == {"100644"}
    assert run_git(place.remote, "rev-list", "--count", REF) == "2"
    assert run_git(place.remote, "fsck", "--strict") == ""


def test_a_branch_of_somebody_else_s_can_be_taken_over_from_what_it_holds(place: Place) -> None:
    commit_files(place.remote, REF, {"index.html": b"the old site"})
    old = place.target().look()
    assert old.release and old.fence is None
    first = place.release("first")
    place.publish(first, old.release, 1)
    assert place.target().look() == Live(release=first.id, fence=fence(1), base=old.release)


# --- pushes whose answer lies -------------------------------------------------------------------------------------------------


def test_a_push_that_landed_and_was_reported_as_failed_counts(place: Place) -> None:
    def push(*arguments: Any) -> bool:
        place.git.push(*arguments)
        return False

    first, git = place.release("first"), Having(place.git, push=push)
    place.target(git=git).switch(first, base="", fence=fence(1))
    place.target(git=git).raise_fence(fence(2))
    assert place.target().look() == Live(release=first.id, fence=fence(2))


def test_a_push_that_was_reported_as_done_and_did_not_land_does_not_count(place: Place) -> None:
    first, second = place.release("first"), place.release("second")
    place.publish(first, "", 1)
    before = place.tip()
    git = Having(place.git, push=lambda *arguments: True)
    for act, code in (
        (lambda: place.target(git=git).switch(second, base=first.id, fence=fence(2)), "switch-not-taken"),
        (lambda: place.target(git=git).raise_fence(fence(2)), "fence-not-taken"),
    ):
        refusal = refused(act)
        assert isinstance(refusal, ComeBackLater) and refusal.code == code
    assert place.tip() == before


def test_a_remote_that_cannot_be_read_after_the_push_leaves_it_unknown(place: Place) -> None:
    first = place.release("first")
    place.publish(first, "", 1)
    pushed: list[str] = []

    def push(*arguments: Any) -> bool:
        pushed.append("pushed")
        return bool(place.git.push(*arguments))

    def remote_refs(*arguments: Any) -> Any:
        if pushed:
            raise ComeBackLater("remote-unreachable", "no answer")
        return place.git.remote_refs(*arguments)

    git = Having(place.git, push=push, remote_refs=remote_refs)
    refusal = refused(lambda: place.target(git=git).switch(place.release("second"), base=first.id, fence=fence(2)))
    assert isinstance(refusal, OutcomeUnknown) and refusal.code == "switch-unknown"
    assert place.target().look().release == place.release("second").id  # it did land; looking tells


def test_what_a_branch_holds_is_read_past_a_lock_that_a_killed_git_left(place: Place, tmp_path: Path) -> None:
    first, second = place.release("first"), place.release("second")
    place.publish(first, "", 1)
    assert place.target().look().release == first.id
    (seen,) = (tmp_path / "clone" / ".git" / "refs" / "publisher").rglob("targets/*/*")
    seen.with_name(f"{seen.name}.lock").touch()
    place.publish(second, first.id, 2)
    assert place.target().look() == Live(release=second.id, fence=fence(2), base=first.id)


def test_an_unreachable_remote_is_not_taken_for_an_empty_one(place: Place) -> None:
    place.remote.rename(place.folder / "away")
    assert refused(place.target().look).code == "remote-unreachable"
    assert refused(lambda: place.target().raise_fence(fence(1))).code == "remote-unreachable"


def test_raising_starts_again_when_the_branch_moves_and_gives_up_in_the_end(place: Place) -> None:
    first = place.release("first")
    place.publish(first, "", 1)
    moves: list[str] = []

    def rival(most: int) -> Callable[..., bool]:
        def push(*arguments: Any) -> bool:
            if len(moves) < most:
                moves.append(commit_files(place.remote, REF, {"note.txt": str(len(moves)).encode()}))
            return bool(place.git.push(*arguments))

        return push

    place.target(git=Having(place.git, push=rival(2))).raise_fence(fence(2))
    assert place.target().look().fence == fence(2)
    assert run_git(place.remote, "show", f"{REF}:note.txt") == "1"  # what the others wrote is kept
    refusal = refused(lambda: place.target(git=Having(place.git, push=rival(99))).raise_fence(fence(3)))
    assert isinstance(refusal, ComeBackLater) and refusal.code == "target-busy"
    assert len(moves) == 2 + 5


# --- what may leave -----------------------------------------------------------------------------------------------------------


def private_commit(place: Place, files: dict[str, bytes]) -> str:
    """A commit of the private instance, in the actor's clone; its message is private too."""
    return str(
        place.git.compose(
            parents=[], base_tree="", changes=files, message="a private sentence", author="editor", email="editor@example.org",
            at=at(),
        )
    )  # fmt: skip


PRIVATE = {
    "a draft": {"drafts/handbook/secret/index.md": b"a private sentence"},
    "only its message": {"index.html": b"home of second"},
}


@pytest.mark.parametrize("what", PRIVATE)
@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("live", [False, True])
def test_a_private_commit_in_the_lineage_never_leaves(place: Place, joined: bool, live: bool, what: str) -> None:
    first, second = place.release("first"), place.release("second")
    if live:
        place.publish(first, "", 1)
    private = private_commit(place, PRIVATE[what])
    objects = run_git(place.remote, "count-objects", "-v")

    def compose(*, parents: Sequence[str], **others: Any) -> str:
        return str(place.git.compose(parents=[*parents, private], **others))

    target = place.target(joined=joined, git=Having(place.git, compose=compose))
    base = first.id if live else ""
    act = target.joined_update if joined else target.switch
    refusal = refused(lambda: act(second, base=base, fence=fence(2)))
    assert isinstance(refusal, StoppedForSafety) and refusal.code == "foreign-objects"
    if not joined:
        assert refused(lambda: target.raise_fence(fence(2))).code == "foreign-objects"
    assert run_git(place.remote, "count-objects", "-v") == objects


def test_an_object_that_is_no_file_of_the_release_never_leaves(place: Place) -> None:
    private = place.git.write_blob(b"a private sentence")

    def new_objects(*arguments: Any) -> Any:
        return [*place.git.new_objects(*arguments), (private, "index.html")]

    git = Having(place.git, new_objects=new_objects)
    refusal = refused(lambda: place.target(git=git).switch(place.release("first"), base="", fence=fence(1)))
    assert refusal.code == "foreign-objects"
    assert run_git(place.remote, "for-each-ref") == ""


def test_a_commit_that_does_not_hold_the_release_is_not_pushed(place: Place) -> None:
    def compose(*, changes: Any, **others: Any) -> str:
        return str(place.git.compose(changes={**changes, "more.html": b"more"}, **others))

    git = Having(place.git, compose=compose)
    refusal = refused(lambda: place.target(git=git).switch(place.release("first"), base="", fence=fence(1)))
    assert refusal.code == "release-differs"
    assert run_git(place.remote, "for-each-ref") == ""


def test_a_rollback_sends_what_an_older_commit_had(place: Place) -> None:
    first, second = place.release("first"), place.release("second")
    place.publish(first, "", 1)
    place.publish(second, first.id, 2)
    place.publish(first, second.id, 3)
    assert place.target().look() == Live(release=first.id, fence=fence(3), base=second.id)


# --- strange branches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["100755", "120000", "160000"])
def test_anything_but_plain_files_stops(place: Place, mode: str) -> None:
    first = place.release("first")
    place.publish(first, "", 1)
    oid = place.tip() if mode == "160000" else run_git(place.remote, "hash-object", "-w", "--stdin", stdin=b"/etc/passwd")
    run_git(place.remote, "read-tree", REF)
    run_git(place.remote, "update-index", "--add", "--cacheinfo", f"{mode},{oid},more")
    tree = run_git(place.remote, "write-tree")
    run_git(place.remote, "update-ref", REF, run_git(place.remote, "commit-tree", tree, "-p", REF, "-m", "by hand"))
    before = place.tip()
    for act in (
        place.target().look,
        lambda: place.target().raise_fence(fence(2)),
        lambda: place.publish(place.release("second"), first.id, 2),
    ):
        refusal = refused(act)
        assert isinstance(refusal, StoppedForSafety) and refusal.code == "target-foreign"
        assert "'more'" in refusal.says
    assert place.tip() == before


@pytest.mark.parametrize("claim", [b"", b"{}", b"no json", b'{"site": "handbook", "epoch": 1}', b" " * 5000])
def test_a_claim_file_that_does_not_read_is_never_taken_for_no_fence(place: Place, claim: bytes) -> None:
    first = place.release("first")
    place.publish(first, "", 1)
    commit_files(place.remote, REF, {CLAIM_PATH: claim})
    for act in (
        place.target().look,
        lambda: place.target().raise_fence(fence(9)),
        lambda: place.publish(place.release("second"), first.id, 9),
    ):
        assert refused(act).code == "claim-corrupt"


def test_two_branches_of_one_site_do_not_mix_in_one_clone(place: Place) -> None:
    first, second = place.release("first"), place.release("second")
    staging = GitBranchTarget(
        git=place.git, remote=str(place.remote), ref="refs/heads/staging", joined=False, site=SITE, now=at
    )
    place.publish(first, "", 1)
    staging.store(second)
    staging.switch(second, base="", fence=fence(1))
    assert (place.target().look().release, staging.look().release) == (first.id, second.id)
    assert len(place.git.tracking([f"refs/publisher/targets/{SITE}/"])) == 2


# --- the ledger's own repository ----------------------------------------------------------------------------------------------


def test_a_joined_update_names_what_it_replaces_and_pushes_nothing(place: Place) -> None:
    first, second = place.release("first"), place.release("second")
    place.publish(first, "", 1)
    before = place.tip()
    update = place.target(joined=True).joined_update(second, base=first.id, fence=fence(2))
    assert (update.ref, update.expected) == (REF, before)
    assert place.git.commit(update.commit).parents == (before,)
    assert place.tip() == before
    # Repeated for what is live already, it is still a move: a ref that stays is no part of an atomic push.
    again = place.target(joined=True).joined_update(first, base="", fence=fence(1))
    assert again.commit != again.expected == before


def test_each_kind_of_branch_refuses_the_other_s_way(place: Place) -> None:
    first = place.release("first")
    joined, apart = place.target(joined=True), place.target()
    assert (joined.joins_ledger, apart.joins_ledger) == (True, False)
    assert joined.can_fence and apart.can_fence
    assert joined.guarantee != apart.guarantee
    assert isinstance(refused(lambda: joined.switch(first, base="", fence=fence(1))), Bug)
    assert isinstance(refused(lambda: apart.joined_update(first, base="", fence=fence(1))), Bug)
    joined.raise_fence(fence(7))
    assert run_git(place.remote, "for-each-ref") == ""


def test_a_release_is_judged_before_anything_is_stored(place: Place) -> None:
    first = place.release("first")
    assert refused(lambda: place.target().store(replace(first, files={}))).code == "release-inconsistent"
