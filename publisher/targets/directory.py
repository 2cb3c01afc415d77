"""Target ``directory``: a folder on this machine that a web server serves through the link ``current``.

    releases/<64 hex>/   immutable releases, each with its claim file at .well-known/publisher-claim.json
    incoming/            what is on its way in; never served
    current              link to the live release, replaced by rename
    fence.json           the highest fence accepted
    lock                 held while the fence is raised or the link is changed (target_lock.py)

Rules:
* what is live is recomputed from every byte behind ``current``; a name proves nothing;
* fence, then base, then the stored release are checked, and the link changed, under one lock;
* the fence is durable before the claim, the claim before the link: a kill anywhere leaves the old or the new release live;
* anything that publisher does not put there (a folder in place of the link, links inside a release) stops.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from publisher.domain.article import CLAIM_PATH, Release
from publisher.domain.claim import Fence
from publisher.errors import Bug, ComeBackLater, StoppedForSafety
from publisher.ports import BranchUpdate, Live
from publisher.targets.claim_file import ClaimFile, fence_record, read_claim, read_fence, require_base, require_fence
from publisher.targets.durable import flush_folder, make_folder, replace_file, system_errors
from publisher.targets.options import Surroundings, read_options, target_folder
from publisher.targets.release_bytes import live_release, require_sound
from publisher.targets.release_folders import INCOMING, RELEASES, ReleaseFolders, Strange, digests_below
from publisher.targets.target_lock import LOCK, TargetLock

CURRENT = "current"
FENCE = "fence.json"
LINK = re.compile(rf"{RELEASES}/([0-9a-f]{{64}})", re.ASCII)
LOOKS = 5
"""How often a look is taken again because another run switched in the middle of it."""


class DirectoryTarget:
    """``shown`` is the path as configured, for messages; ``keep`` releases stay; ``lock_wait`` is in seconds."""

    guarantee: str = (
        "A stale actor or an old release cannot switch: fence and base are checked, and the link changed, under one lock. "
        "This holds on a local file system; a process stopped inside the lock blocks others, who name it."
    )
    joins_ledger: bool = False
    can_fence: bool = True

    def __init__(
        self, path: Path, *, shown: str, site: str, now: Callable[[], datetime], keep: int = 5, lock_wait: float = 10.0
    ) -> None:
        self._root = path
        self._shown = shown
        self._site = site
        self._keep = keep
        self._folders = ReleaseFolders(path)
        self._lock = TargetLock(path, site=site, wait=lock_wait, now=now)

    @classmethod
    def from_options(cls, options: object, around: Surroundings) -> DirectoryTarget:
        """From ``publisher.yaml``: ``path``, relative to the repository's root."""
        path = read_options(options, site=around.site, required=("path",))["path"]
        return cls(target_folder(path, around), shown=path, site=around.site, now=around.now)

    # --- looking ------------------------------------------------------------------------------------------------------

    def look(self) -> Live:
        """What is live, from its bytes. Takes no lock and writes nothing."""
        with system_errors(self._shown):
            for _ in range(LOOKS):
                before = self._marks()
                try:
                    live = Live(release=self._live_release(), fence=self._fence(), base=self._live_base())
                except (FileNotFoundError, StoppedForSafety):
                    if self._marks() == before:
                        raise
                    continue
                if self._marks() == before:
                    return live
        raise ComeBackLater("target-busy", f"the target of {self._site} keeps changing", next="publisher status")

    def _marks(self) -> tuple[str, bytes]:
        """What a switch or a raised fence changes first and last."""
        self._require_layout()
        return self._current(), self._fence_bytes()

    def _require_layout(self) -> None:
        """Refuses when something in the target's folder is not of the kind that publisher makes."""
        folder, file, link = stat.S_ISDIR, stat.S_ISREG, stat.S_ISLNK
        kinds = {RELEASES: folder, INCOMING: folder, CURRENT: link, FENCE: file, LOCK: file}
        if os.path.lexists(self._root) and not self._root.is_dir():
            raise self._foreign("it is not a folder")
        for name, is_kind in kinds.items():
            try:
                mode = (self._root / name).lstat().st_mode
            except FileNotFoundError:
                continue
            if not is_kind(mode):
                raise self._foreign(f"{name} is not what publisher put there")

    def _current(self) -> str:
        """The 64 hex digits that the link names, "" without a link."""
        try:
            text = str((self._root / CURRENT).readlink())
        except FileNotFoundError:
            return ""
        found = LINK.fullmatch(text)
        if not found:
            raise self._foreign(f"{CURRENT} leads elsewhere than to a release")
        return found[1]

    def _live_release(self) -> str:
        name = self._current()
        if not name:
            return ""
        folder = self._folders.folder(name)
        if not os.path.lexists(folder):
            raise self._foreign(f"{CURRENT} leads to a release that is not there")
        try:
            return live_release(digests_below(folder))
        except Strange as strange:
            raise self._foreign(f"{strange.path} in the live release is neither a file nor a folder") from None

    def _live_base(self) -> str:
        """The base that the live release's claim file names; "" without one."""
        name = self._current()
        try:
            data = (self._folders.folder(name) / CLAIM_PATH).read_bytes() if name else b""
        except FileNotFoundError:
            return ""
        return read_claim(data, site=self._site).base if name else ""

    def _fence_bytes(self) -> bytes:
        try:
            return (self._root / FENCE).read_bytes()
        except FileNotFoundError:
            return b""

    def _fence(self) -> Fence | None:
        data = self._fence_bytes()
        if not data and not os.path.lexists(self._root / FENCE):
            return None
        return read_fence(data, site=self._site)

    def _foreign(self, reason: str) -> StoppedForSafety:
        return StoppedForSafety(
            "target-foreign", f"{self._shown} was not left like this by publisher, and stays as it is: {reason}",
            next="publisher reconcile",
        )  # fmt: skip

    # --- changing -----------------------------------------------------------------------------------------------------

    def store(self, release: Release, *, base: str = "", fence: Fence | None = None) -> None:
        """Puts the release beside the live one; see ``ReleaseFolders.store``."""
        require_sound(release)
        with self._prepared():
            self._folders.store(release)

    def raise_fence(self, fence: Fence) -> None:
        """Writes the fence under the lock and reads it back; refuses when a higher one, or another's, is there."""
        with self._prepared(), self._holding():
            require_fence(self._fence(), fence, site=self._site)
            self._write_fence(fence)

    def switch(self, release: Release, *, base: str, fence: Fence, record: str = "") -> None:
        """Makes a stored release live, from ``base``, under the lock. Repeating it changes nothing but the claim file."""
        require_sound(release)
        with self._prepared(), self._holding():
            require_fence(self._fence(), fence, site=self._site)
            require_base(self._live_release(), release=release.id, base=base, site=self._site)
            self._folders.require(release)
            self._write_fence(fence)
            self._write_claim(ClaimFile(fence=fence, base=base, release=release.id, site=self._site))
            self._link(self._folders.folder(release.id).name)
            with suppress(OSError):  # the switch is done; what cannot be pruned is met again next time
                os.utime(self._folders.folder(release.id))
                self._folders.prune(keep=self._keep, always={release.id, base})

    def joined_update(self, release: Release, *, base: str, fence: Fence) -> BranchUpdate:
        raise Bug("no-joined-update", "a directory target is not part of a push")

    def came_to_nothing(self, release: str, *, record: str) -> bool:
        raise Bug("fenced-target", "this target is fenced before anybody asks what became of a switch")

    def show(self) -> None:
        """The link is all there is."""

    @contextmanager
    def _prepared(self) -> Iterator[None]:
        with system_errors(self._shown):
            self._require_layout()
            self._root.mkdir(parents=True, exist_ok=True)
            self._folders.make()
            yield

    @contextmanager
    def _holding(self) -> Iterator[None]:
        with self._lock.held():
            self._require_layout()
            self._folders.clear_scratch()
            yield

    def _write_fence(self, fence: Fence) -> None:
        if self._fence() != fence:
            replace_file(self._root / FENCE, fence_record(fence, site=self._site), scratch=self._folders.scratch())
        if self._fence() != fence:
            raise StoppedForSafety("fence-not-kept", f"{self._shown} did not keep the fence", next="publisher doctor")

    def _write_claim(self, claim: ClaimFile) -> None:
        path = self._folders.folder(claim.release) / CLAIM_PATH
        make_folder(path.parent)
        replace_file(path, claim.as_bytes(), scratch=self._folders.scratch())

    def _link(self, name: str) -> None:
        """Points ``current`` at a release by rename, so that every request meets the old release or the new one."""
        if self._current() != name:
            scratch = self._folders.scratch()
            scratch.symlink_to(f"{RELEASES}/{name}")
            scratch.replace(self._root / CURRENT)
        flush_folder(self._root)
