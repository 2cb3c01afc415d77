"""Pages: a site that is built from a branch, or deployed by a workflow from an artifact, and served below ``/pages/``.

Rules:
* a branch's push starts a build, but GITHUB_TOKEN's does not; ``POST pages/builds`` starts one; a newer build cancels an older one;
* a deployment is named by its build version: the same version again is the same deployment;
* while one is in progress another is refused (400); it can be cancelled; nothing of it is conditional;
* what is served changes when a build or deployment ends well, and says ``Cache-Control: max-age=600``.

Builds and deployments end when the test says so (``finish``), or by themselves when ``at_once`` is set.
"""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.github import shapes
from tests.support.github.accounts import Account
from tests.support.github.answers import Answer, ApiError, Call, Page, not_found, route
from tests.support.github.git import ZERO

if TYPE_CHECKING:
    from tests.support.github.simulator import Simulator

ENDED = ("succeed", "deployment_cancelled", "deployment_failed", "deployment_content_failed", "deployment_lost")
Files = dict[str, bytes]


@dataclass(eq=False, kw_only=True)
class Build:
    id: int
    commit: str
    pusher: Account
    at: datetime
    status: str = "queued"
    error: str | None = None


@dataclass(eq=False, kw_only=True)
class Deployment:
    version: str
    artifact: int
    status: str = "deployment_in_progress"


@dataclass(eq=False, kw_only=True)
class Artifact:
    id: int
    name: str
    run: int
    files: Files = field(repr=False)
    at: datetime


class Pages:
    """``build_type``: empty (no Pages), ``legacy`` (from ``branch``) or ``workflow``."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.build_type, self.branch, self.folder = "", "", "/"
        self.at_once = True
        self.builds: list[Build] = []
        self.deployments: dict[str, Deployment] = {}
        self.artifacts: list[Artifact] = []
        self.live: Files = {}

    @property
    def url(self) -> str:
        return f"{self.sim.server_url}/pages/{self.sim.name}/"

    def from_branch(self, branch: str, folder: str = "/") -> None:
        self.build_type, self.branch, self.folder = "legacy", branch, folder

    def from_workflow(self) -> None:
        self.build_type = "workflow"

    # --- builds of a branch -------------------------------------------------------------------------------------------------

    def branch_moved(self, ref: str, after: str, actor: Account) -> None:
        if self.build_type != "legacy" or ref != f"refs/heads/{self.branch}" or after == ZERO:
            return
        if actor.kind == "actions" and self.sim.models("the-actions-token-builds-no-pages"):
            return
        self.build(actor)

    def build(self, actor: Account) -> Build:
        commit = self.sim.git.branch(self.branch)
        for one in self.builds:
            if one.status in ("queued", "building") and self.sim.models("newer-builds-cancel-older"):
                one.status, one.error = "errored", "Canceling since a higher priority waiting request exists"
        made = Build(id=self.sim.new_id(), commit=commit, pusher=actor.who, at=self.sim.now)
        self.builds.append(made)
        if self.at_once:
            self.finish(made)
        return made

    def finish(self, what: Build | Deployment, status: str = "") -> None:
        """Ends a build (``built``, ``errored``) or a deployment (``succeed`` and the other words of the API)."""
        if isinstance(what, Build):
            what.status = status or "built"
            if what.status == "built":
                self.live = self._tree(what.commit)
            return
        what.status = status or "succeed"
        if what.status == "succeed":
            self.live = next(one.files for one in self.artifacts if one.id == what.artifact)

    def _tree(self, commit: str) -> Files:
        with tarfile.open(fileobj=io.BytesIO(self.sim.git.raw("archive", "--format=tar", commit).stdout)) as packed:
            found = {one.name: packed.extractfile(one).read() for one in packed if one.isfile()}  # type: ignore[union-attr]
        below = self.folder.strip("/")
        return {
            name.removeprefix(f"{below}/"): data for name, data in found.items() if not below or name.startswith(f"{below}/")
        }

    # --- deployments --------------------------------------------------------------------------------------------------------

    def upload(self, source: Path, name: str = "github-pages", run: int = 0) -> int:
        """What ``upload-pages-artifact`` does: a folder or a tar file becomes an artifact of a run. Returns its id."""
        if source.is_dir():
            files = {one.relative_to(source).as_posix(): one.read_bytes() for one in sorted(source.rglob("*")) if one.is_file()}
        else:
            with tarfile.open(source) as packed:
                files = {
                    one.name.removeprefix("./"): packed.extractfile(one).read() for one in packed if one.isfile()  # type: ignore[union-attr]
                }  # fmt: skip
        made = Artifact(id=self.sim.new_id(), name=name, run=run, files=files, at=self.sim.now)
        self.artifacts.append(made)
        return made.id

    def deploy(self, version: str, artifact: int) -> Deployment:
        if self.build_type != "workflow":
            raise not_found()
        running = [one for one in self.deployments.values() if one.status not in ENDED]
        if running and self.sim.models("one-deployment-at-a-time"):
            says = f"due to in progress deployment. Please cancel {running[0].version} first or wait for it to complete."
            raise ApiError(400, f"Deployment request failed for {version} {says}")
        if not any(one.id == artifact for one in self.artifacts):
            raise ApiError(404, "Artifact not found")
        if version in self.deployments and self.sim.models("a-version-is-one-deployment"):
            made = self.deployments[version]
            made.artifact, made.status = artifact, "deployment_in_progress"
        else:
            made = Deployment(version=version, artifact=artifact)
            key = version if version not in self.deployments else f"{version}-{len(self.deployments)}"
            self.deployments[key] = made
        if self.at_once:
            self.finish(made)
        return made

    def served(self, path: str) -> tuple[int, bytes, str]:
        """(status, bytes, file name) of a public request below the site's address."""
        name = path.lstrip("/")
        if name == "" or name.endswith("/"):
            name += "index.html"
        if name in self.live:
            return 200, self.live[name], name
        return 404, self.live.get("404.html", b"There isn't a GitHub Pages site here."), "404.html"


def build_shape(sim: Simulator, one: Build) -> Any:
    return {
        "url": f"{sim.repo_url}/pages/builds/{one.id}", "status": one.status, "error": {"message": one.error},
        "pusher": shapes.user(sim, one.pusher), "commit": one.commit, "duration": 0, "created_at": shapes.moment(one.at),
        "updated_at": shapes.moment(one.at),
    }  # fmt: skip


def configured(call: Call) -> Pages:
    if not call.sim.pages.build_type:
        raise not_found()
    return call.sim.pages


@route("GET", "pages", "pages")
def get_pages(call: Call) -> Any:
    pages = configured(call)
    made = {
        "url": f"{call.sim.repo_url}/pages", "status": "built" if pages.live else None, "cname": None,
        "custom_404": "404.html" in pages.live, "html_url": pages.url, "build_type": pages.build_type, "public": True,
        "https_enforced": False,
    }  # fmt: skip
    return {**made, "source": {"branch": pages.branch or call.sim.default, "path": pages.folder}}


@route("GET", "pages/builds", "pages")
def list_builds(call: Call) -> Any:
    return Page(list(reversed(configured(call).builds)), lambda one: build_shape(call.sim, one))


@route("POST", "pages/builds", "pages", "write")
def request_build(call: Call) -> Any:
    pages = configured(call)
    if pages.build_type != "legacy":
        raise ApiError(422, "Pages is not built from a branch")
    pages.build(call.actor)
    return Answer(201, {"url": f"{call.sim.repo_url}/pages/builds/latest", "status": "queued"})


@route("GET", "pages/builds/latest", "pages")
def latest_build(call: Call) -> Any:
    if not configured(call).builds:
        raise not_found()
    return build_shape(call.sim, call.sim.pages.builds[-1])


@route("GET", "pages/builds/{build_id}", "pages")
def get_build(call: Call) -> Any:
    found = [one for one in configured(call).builds if one.id == call.number("build_id")]
    if not found:
        raise not_found()
    return build_shape(call.sim, found[0])


@route("POST", "pages/deployments", "pages", "write")
def create_deployment(call: Call) -> Any:
    version = call.body["pages_build_version"]
    call.sim.pages.deploy(version, int(call.body.get("artifact_id", 0)))
    at = f"{call.sim.repo_url}/pages/deployments/{version}"
    return {"id": version, "status_url": at, "page_url": call.sim.pages.url}


def deployment_of(call: Call) -> Deployment:
    found = call.sim.pages.deployments.get(call.at["pages_deployment_id"])
    if found is None:
        raise not_found()
    return found


@route("GET", "pages/deployments/{pages_deployment_id}", "pages")
def deployment_status(call: Call) -> Any:
    return {"status": deployment_of(call).status}


@route("POST", "pages/deployments/{pages_deployment_id}/cancel", "pages", "write")
def cancel_deployment(call: Call) -> Any:
    found = deployment_of(call)
    if found.status not in ENDED:
        found.status = "deployment_cancelled"
    return Answer(204)


def artifact_shape(sim: Simulator, one: Artifact) -> Any:
    at = f"{sim.repo_url}/actions/artifacts/{one.id}"
    when = shapes.moment(one.at)
    return {
        "id": one.id, "node_id": shapes.node("MDg", one.id), "name": one.name,
        "size_in_bytes": sum(map(len, one.files.values())), "url": at, "archive_download_url": f"{at}/zip", "expired": False,
        "created_at": when, "expires_at": when, "updated_at": when, "workflow_run": {"id": one.run},
    }  # fmt: skip


@route("GET", "actions/artifacts/{artifact_id}", "actions")
def artifact(call: Call) -> Any:
    for one in call.sim.pages.artifacts:
        if one.id == call.number("artifact_id"):
            return artifact_shape(call.sim, one)
    raise not_found()


@route("GET", "actions/runs/{run_id}/artifacts", "actions")
def artifacts_of_run(call: Call) -> Any:
    name = call.query.get("name", "")
    found = [one for one in call.sim.pages.artifacts if one.run == call.number("run_id") and name in ("", one.name)]
    return Page(found, lambda one: artifact_shape(call.sim, one), under="artifacts", beside={"total_count": len(found)})
