"""Target ``github-pages``: a site that GitHub Pages shows from a deployment made in a job of Actions.

The upload can only be made by an action of GitHub's, so a publication takes two runs in one job: the first exports the release as a
folder and comes back later; a step uploads the folder; the second finds the artifact and deploys it.

Rules (DESIGN.md, section 6):
* GitHub takes no condition with a deployment, so nobody can be shut out: the claim serialises, what is live is verified before and
  after, and a stale deployment that lands late is found by the next look and repaired by a person's command;
* what is live is recomputed from the public files themselves, past every cache. The list of files comes from the site; a file that
  only Pages itself could have added would not be noticed, since a deployment always replaces the whole site;
* a deployment's version is the ledger's commit that announced it: each has one of its own, and it can be asked for by name later;
* ending the wait cancels nothing, and what a time-out left behind is never run again: the next run looks first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import SystemRandom

from publisher.domain.article import CLAIM_PATH, MANIFEST_PATH, Release
from publisher.domain.claim import Fence
from publisher.domain.fingerprint import digest, release_id, short
from publisher.errors import Bug, ComeBackLater, NeedsPerson, OutcomeUnknown, Refusal, StoppedForSafety
from publisher.ports import BranchUpdate, Live
from publisher.targets.actions_job import ActionsJob
from publisher.targets.claim_file import LARGEST_CLAIM, ClaimFile, read_claim, require_base, require_fence
from publisher.targets.options import Surroundings, read_options, target_folder
from publisher.targets.pages_deployment import WATCHED, WATCHED_UNSEEN, Deployments, Outcome
from publisher.targets.pages_export import FILES_PATH, LARGEST_LIST, artifact_name, export, exported, read_files_list
from publisher.targets.pages_reading import PublicSite
from publisher.targets.release_bytes import live_release, require_sound

HOME = "index.html"
ALL_UP_TO = 1000
"""Files of a live release that one look reads, all of them up to this number; of more, so many by chance, and the first ones."""
LOOKS = 3
SETTLING = 2.0
"""Seconds between two looks at files that differ: the parts of a deployment need not appear in the same moment."""
ABSENT = "absent"
"""Stands for the digest of a file that is not there."""
VISIBLE = 60.0
"""Seconds after GitHub's word that a deployment succeeded, within which the site must show it."""


class GithubPagesTarget:
    """``public`` is read, ``deployments`` are made; ``folder`` is where an export goes."""

    guarantee: str = (
        "Deployments are serialised by the claim, and what is live is verified before and after each. GitHub takes no condition with "
        "a deployment: a stale one that lands late is detected by the next look, and repaired by publisher reconcile. Pages are "
        "cached for 10 minutes."
    )
    joins_ledger: bool = False
    can_fence: bool = False

    def __init__(
        self, *, public: PublicSite, deployments: Deployments, job: ActionsJob, folder: Callable[[], Path], site: str,
        environment: str, sleep: Callable[[float], None],
    ) -> None:  # fmt: skip
        self._public = public
        self._deployments = deployments
        self._job = job
        self._folder = folder
        self._site = site
        self._environment = environment
        self._sleep = sleep
        self._switched: tuple[ClaimFile, Fence] | None = None
        self._verified = b""

    @classmethod
    def from_options(cls, options: object, around: Surroundings) -> GithubPagesTarget:
        """From ``publisher.yaml``: ``environment``, that of the job that deploys, where it is not github-pages, and ``url``, where
        the deployment is seen, when that is not the site's own address."""
        chosen = read_options(options, site=around.site, required=(), optional=("environment", "url"))
        job = ActionsJob(environment=around.environment)
        url = chosen["url"] or around.url
        return cls(
            public=PublicSite(url, site=around.site, sleep=around.sleep),
            deployments=Deployments(around.host, site=around.site, sleep=around.sleep), job=job,
            folder=lambda: target_folder(job.folder, around), site=around.site,
            environment=chosen["environment"], sleep=around.sleep,
        )  # fmt: skip

    # --- looking ------------------------------------------------------------------------------------------------------

    def look(self) -> Live:
        """What the public site shows, from its files. The claim is read first and last: nothing may change in between."""
        for _ in range(LOOKS):
            marks = self._marks()
            live = self._live(*marks)
            if self._marks() == marks:
                return live
        raise ComeBackLater("target-busy", f"the public site of {self._site} keeps changing", next="publisher status")

    def _marks(self) -> tuple[bytes | None, bytes | None]:
        return self._public.body(CLAIM_PATH, most=LARGEST_CLAIM), self._public.body(FILES_PATH, most=LARGEST_LIST)

    def _live(self, claim_data: bytes | None, files_data: bytes | None) -> Live:
        if claim_data is None or files_data is None:
            # Without both it is not ours. What stands there all the same is named by what can be seen of it.
            seen = self._public.digests([HOME, CLAIM_PATH, FILES_PATH])
            return Live(release=release_id(seen) if seen else "", fence=None)
        claim = read_claim(claim_data, site=self._site)
        files = read_files_list(files_data, site=self._site)
        known = digest(claim_data + files_data).encode()
        wanted = _some(files, 0) if known == self._verified else _some(files, ALL_UP_TO)
        release = live_release({**files, **self._seen(files, wanted)})
        if release == claim.release:
            self._verified = known
        fence = self._switched[1] if self._switched and self._switched[0] == claim else claim.fence
        return Live(release=release, fence=fence, base=claim.base)

    def _seen(self, files: Mapping[str, str], wanted: list[str]) -> Mapping[str, str]:
        """What ``wanted`` files are now."""
        seen: dict[str, str] = {}
        for attempt in range(LOOKS):
            left = [path for path in wanted if seen.get(path) != files[path]]
            if attempt and left:
                self._sleep(SETTLING)
            found = self._public.digests(left) if left else {}
            seen |= {path: found.get(path, ABSENT) for path in left}
        return seen

    # --- changing -----------------------------------------------------------------------------------------------------

    def store(self, release: Release, *, base: str = "", fence: Fence | None = None) -> None:
        """Returns when the release is an artifact of this workflow run. Else it is exported, and ``ComeBackLater``."""
        require_sound(release)
        if FILES_PATH in release.files:
            raise StoppedForSafety(
                "release-path", f"the release holds {FILES_PATH}, which is the target's", next="publisher doctor"
            )
        claim = self._exported(release, base)
        if claim and self._is_uploaded(claim):
            return
        if fence is None:
            raise Bug("export-without-claim", "an export names the claim that made it")
        folder = self._folder()
        last = exported(folder, site=self._site)
        if last and last.fence == fence and last.release != release.id:
            raise ComeBackLater(
                "artifact-wanted", f"another release of {self._site} is uploaded first; this one follows in the next run",
                next="publisher run",
            )  # fmt: skip
        claim = ClaimFile(fence=fence, base=base, release=release.id, site=self._site)
        name = artifact_name(claim, run=self._job.run, attempt=self._job.attempt)
        export(release, claim, folder)
        self._job.say(pages_path=str(folder), pages_artifact=name)
        raise ComeBackLater(
            "artifact-wanted",
            f"release {short(release.id)} of {self._site} waits to be uploaded as {name}",
            next="publisher run",
        )

    def _exported(self, release: Release, base: str) -> ClaimFile | None:
        """The claim of this job's export, if it is this release's on this base."""
        claim = exported(self._folder(), site=self._site)
        return claim if claim and (claim.release, claim.base) == (release.id, base) else None

    def _is_uploaded(self, claim: ClaimFile) -> bool:
        artifact, run = self._job.artifact, self._job.run
        name = artifact_name(claim, run=run, attempt=self._job.attempt)
        return bool(artifact) and self._deployments.is_artifact(artifact, name=name, run=run)

    def raise_fence(self, fence: Fence) -> None:
        raise Bug("cannot-fence", "GitHub Pages takes no condition, so nobody can be shut out")

    def switch(self, release: Release, *, base: str, fence: Fence, record: str = "") -> None:
        """Deploys this job's artifact of the release, from ``base``. Repeating a switch that is live deploys nothing."""
        require_sound(release)
        live = self.look()
        require_fence(live.fence, fence, site=self._site)
        require_base(live.release, release=release.id, base=base, site=self._site)
        if live == Live(release=release.id, fence=fence, base=base):
            return
        claim = self._exported(release, base)
        if claim is None or not self._is_uploaded(claim) or (live.fence and claim.fence < live.fence):
            raise ComeBackLater(
                "artifact-wanted",
                f"release {short(release.id)} of {self._site} is no artifact of this workflow run",
                next="publisher run",
            )
        if not record:
            raise Bug("no-record", "a deployment is named by the record that announces it")
        self._deploy(release, claim, fence, record)

    def _deploy(self, release: Release, claim: ClaimFile, fence: Fence, record: str) -> None:
        token = self._job.identity_token()
        answered = self._deployments.create(
            artifact=self._job.artifact, version=record, environment=self._environment, token=token
        )
        self._switched = (claim, fence)
        outcome = self._deployments.watched(record, seconds=WATCHED if answered else WATCHED_UNSEEN)
        if outcome is Outcome.FAILED:
            raise NeedsPerson(
                "deployment-failed", f"GitHub says that the deployment of release {short(release.id)} of {self._site} failed",
                next="look at the job's log and at githubstatus.com, then publisher retry",
            )  # fmt: skip
        if outcome is not Outcome.SUCCEEDED or not self._is_visible(release.id):
            raise OutcomeUnknown(
                "deployment-unknown",
                f"the deployment of release {short(release.id)} of {self._site} was begun, and its end was not seen",
                next="publisher run",
            )

    def _is_visible(self, release: str) -> bool:
        """Whether the site shows the claim of a release within a while; whether its files are there is for ``look``."""
        waited = 0.0
        while True:
            try:
                data = self._public.body(CLAIM_PATH, most=LARGEST_CLAIM)
                if data is not None and read_claim(data, site=self._site).release == release:
                    return True
            except Refusal:
                pass  # not now
            if waited >= VISIBLE:
                return False
            self._sleep(SETTLING)
            waited += SETTLING

    def joined_update(self, release: Release, *, base: str, fence: Fence) -> BranchUpdate:
        raise Bug("no-joined-update", "a deployment is not part of a push")

    def came_to_nothing(self, release: str, *, record: str) -> bool:
        """Whether GitHub says that the deployment failed for good."""
        outcome = self._deployments.outcome(record)
        if outcome is Outcome.UNDER_WAY:
            raise ComeBackLater(
                "deployment-under-way",
                f"the deployment of release {short(release)} of {self._site} is under way",
                next="publisher run",
            )
        if outcome is Outcome.SUCCEEDED:
            self._is_visible(release)
        return outcome is Outcome.FAILED

    def show(self) -> None:
        """A deployment is all there is."""


def _some(files: Mapping[str, str], most: int) -> list[str]:
    """All files, or ``most`` of them by chance; the home page and the manifest always."""
    if len(files) <= most:
        return sorted(files)
    chosen = {path for path in (HOME, MANIFEST_PATH) if path in files}
    return sorted(chosen | set(SystemRandom().sample(sorted(files), most)))
