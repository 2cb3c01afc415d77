"""Target ``git-branch``: a branch whose files are the site, in this repository or in another one.

Rules (DESIGN.md, section 6):
* in the same repository the release becomes public in the very push that records it (``joined_update``): a stale actor
  cannot move the ledger, so it cannot move the site either, and no fence of its own is needed;
* in another repository the fence stands in the claim file; it is raised by a push of its own before anything is judged;
* every push names the exact commit that was read, and afterwards the remote is read, whatever the push said;
* a repository that is reached by ssh may have a key of its own, named by the variable that holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime

from publisher.domain.article import Release
from publisher.domain.claim import Fence
from publisher.domain.fingerprint import short
from publisher.errors import Bug, ComeBackLater, OutcomeUnknown, Refusal, StoppedForSafety
from publisher.ports import BranchUpdate, GitWrites, Live
from publisher.targets.claim_file import ClaimFile, require_base, require_fence
from publisher.targets.options import Surroundings, branch_ref, key_name, read_options, repository_of, wrong_option
from publisher.targets.pages_builds import PagesBuilds
from publisher.targets.release_bytes import BuiltFiles, require_sound
from publisher.targets.site_branch import BranchState, SiteBranch

RAISES = 5
"""How often raising a fence starts again because the branch moved."""

JOINED = (
    "A stale actor or an old release cannot move the branch: it moves in one atomic push with the ledger's record, or not at "
    "all. What the pages host makes of the branch follows later and may be cached (GitHub Pages: 10 minutes)."
)
APART = (
    "A stale actor or an old release cannot move the branch: the fence in its claim file is raised first, and every push "
    "names the exact commit it replaces. What the pages host makes of the branch follows later and may be cached "
    "(GitHub Pages: 10 minutes)."
)


class GitBranchTarget:
    """``ref`` at ``remote``; ``joined`` when that is the repository that holds the ledger. ``now`` dates the commits.

    ``key`` names the variable with the key for it; ``pages`` is asked to build the branch where a push alone does not start that.
    """

    can_fence: bool = True

    def __init__(
        self, *, git: GitWrites, remote: str, ref: str, joined: bool, site: str, now: Callable[[], datetime],
        key: str = "", pages: PagesBuilds | None = None,
    ) -> None:  # fmt: skip
        self.joins_ledger: bool = joined
        self.guarantee: str = JOINED if joined else APART
        self._git = git
        self._ref = ref
        self._site = site
        self._now = now
        self._key = key
        self._pages = pages
        self._branch = SiteBranch(git, remote=remote, ref=ref, site=site)

    @classmethod
    def from_options(cls, options: object, around: Surroundings) -> GitBranchTarget:
        """From ``publisher.yaml``: ``branch``, and ``repository`` (a path or URL) unless it is the ledger's own.

        ``key`` names the environment variable with the SSH key for that repository. ``pages: build``, in the ledger's own
        repository, has GitHub Pages build the branch.
        """
        chosen = read_options(options, site=around.site, required=("branch",), optional=("repository", "key", "pages"))
        remote = repository_of(chosen["repository"], around) if chosen["repository"] else around.state_remote
        if chosen["key"]:
            around.git.use_key(remote, key_name(chosen["key"], remote, around))
        return cls(
            git=around.git, remote=remote, ref=branch_ref(chosen["branch"], around), joined=not chosen["repository"],
            site=around.site, now=around.now, key=chosen["key"], pages=_pages(chosen, around),
        )  # fmt: skip

    def look(self) -> Live:
        """What the remote's branch holds, from its blobs."""
        return self._branch.read().live

    def store(self, release: Release, *, base: str = "", fence: Fence | None = None) -> None:
        """Puts the release's blobs and tree into the local object store; nothing leaves yet."""
        self._tree(release)

    def _tree(self, release: Release) -> str:
        require_sound(release)
        return self._git.compose_tree(BuiltFiles(release))

    def raise_fence(self, fence: Fence) -> None:
        """Moves the fence in the claim file on the remote, and reads it back.

        In the ledger's own repository there is nothing to raise: the branch only moves together with the state branch, in one
        atomic push with the exact lease on both, and taking the claim has already moved the state branch. A stale actor's push
        is therefore refused whole, whatever the claim file says.
        """
        if self.joins_ledger:
            return
        for _ in range(RAISES):
            state = self._branch.read()
            require_fence(state.live.fence, fence, site=self._site)
            if state.live.fence == fence:
                return
            commit = self._raised(state, fence)
            problem = self._branch.push(commit, expected=state.tip)
            tip = self._branch.tip()
            if tip == commit:
                return
            if tip == state.tip:
                raise problem or self._not_taken("fence-not-taken")
        raise ComeBackLater("target-busy", f"the site branch of {self._site} keeps moving", next="publisher run")

    def _raised(self, state: BranchState, fence: Fence) -> str:
        claim = ClaimFile(fence=fence, base=state.live.base, release=state.live.release, site=self._site)
        message = f"Raise the fence of {self._site} to {fence.number}\n\nClaim: {fence.epoch}.{fence.number}\n"
        tree = self._branch.tree_of(state.tip)
        return self._branch.extend(state.tip, tree=tree, claim=claim, message=message, at=self._now(), sends=())

    def switch(self, release: Release, *, base: str, fence: Fence, record: str = "") -> None:
        """One push with the exact lease on what was read. Repeating a switch that is live pushes nothing."""
        if self.joins_ledger:
            raise Bug("joined-switch", "this target is switched by the push that records it; see joined_update")
        state = self._judged(release, base=base, fence=fence)
        if state.live == Live(release=release.id, fence=fence, base=base):
            return
        commit = self._composed(state, release, base=base, fence=fence)
        problem = self._branch.push(commit, expected=state.tip)
        try:
            tip = self._branch.tip()
        except Refusal:
            raise OutcomeUnknown(
                "switch-unknown",
                f"release {short(release.id)} of {self._site} was pushed, and the remote could not be read afterwards",
                next="publisher run",
            ) from None
        if tip == commit:
            return
        if tip == state.tip:
            raise problem or self._not_taken("switch-not-taken")
        raise StoppedForSafety(
            "base-moved",
            f"the site branch of {self._site} moved to {tip[:12] or 'nothing'} while release {short(release.id)} was pushed",
            next="publisher reconcile",
        )

    def joined_update(self, release: Release, *, base: str, fence: Fence) -> BranchUpdate:
        """The branch's move, for the push that records the deploy.

        Always a new commit, because a ref that does not change is not part of an atomic push.
        """
        if not self.joins_ledger:
            raise Bug("no-joined-update", "a branch of another repository is not part of the ledger's push")
        state = self._judged(release, base=base, fence=fence)
        commit = self._composed(state, release, base=base, fence=fence)
        return BranchUpdate(ref=self._ref, commit=commit, expected=state.tip)

    def came_to_nothing(self, release: str, *, record: str) -> bool:
        raise Bug("fenced-target", "this target is fenced before anybody asks what became of a switch")

    def show(self) -> None:
        """Has the pages host build what the branch holds, where it must be asked."""
        if self._pages:
            with suppress(Refusal):
                self._pages.show(self._branch.tip())

    def _judged(self, release: Release, *, base: str, fence: Fence) -> BranchState:
        """The remote's branch, if this fence may move it from this base."""
        state = self._branch.read()
        require_fence(state.live.fence, fence, site=self._site)
        require_base(state.live.release, release=release.id, base=base, site=self._site)
        return state

    def _composed(self, state: BranchState, release: Release, *, base: str, fence: Fence) -> str:
        claim = ClaimFile(fence=fence, base=base, release=release.id, site=self._site)
        message = (
            f"Release {short(release.id)} of {self._site}\n\n"
            f"Release: {release.id}\nClaim: {fence.epoch}.{fence.number}\nBase: {base or 'none'}\n"
        )
        tree, sends = self._tree(release), set(release.files.values())
        return self._branch.extend(state.tip, tree=tree, claim=claim, message=message, at=self._now(), sends=sends)

    def _not_taken(self, code: str) -> ComeBackLater:
        hint = f"; perhaps the key in {self._key} may not write" if self._key else ""
        return ComeBackLater(
            code, f"the remote of {self._site} did not take the push and still holds what it had{hint}", next="publisher run"
        )


def _pages(chosen: Mapping[str, str], around: Surroundings) -> PagesBuilds | None:
    if not chosen["pages"]:
        return None
    if chosen["pages"] != "build" or chosen["repository"]:
        raise wrong_option(
            around.site,
            "the target option pages is build, for a branch of this repository; a key's or person's push needs none",
        )
    return PagesBuilds(around.host, sleep=around.sleep)
