"""GitHub Actions for the simulated repository: executes runs that the simulator started, by ``act``, on this machine.

What is executed are the bytes of the workflow file at the run's commit, and of the shipped files that it calls, but for the two
keys that act does not know (``workflow_files.runnable``). The actions from elsewhere are stood in for by ``stub_actions``; the
checkout really clones from the simulator, and publisher is really installed by its own action.

Not as at GitHub: concurrency groups are ignored, so that two runs of one group can race; a run has one token, with all that its
jobs ask for together; an ``environment:`` guards nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support import driver, workflow_files
from tests.support.act_log import Ran, ran_of
from tests.support.github import shapes
from tests.support.github.accounts import Account
from tests.support.github.actions_api import FOLDER, Run, Workflow
from tests.support.github.simulator import Simulator
from tests.support.gitrepos import Repository
from tests.support.shipped import NAME, ROOT, Shipped, pip_environment, python_folder

LONGEST = 240
"""Seconds after which a run that hangs is killed and fails its test."""
INHERITED = ("LANG", "TMPDIR", "SSL_CERT_FILE")
BEARER = "of-the-job"
KEY_OF_APP = "the key of the App"
ACT = ROOT / ".venv/bin/act"


@dataclass
class Actions:
    """``secrets`` and ``variables`` are the repository's; ``app`` is the GitHub App that makes tokens, where there is one."""

    sim: Simulator
    shipped: Shipped
    folder: Path
    url: str
    """Where the stand-ins hand in artifacts, and where jobs that may ask for the proof of which run they are."""
    secrets: dict[str, str] = field(default_factory=dict)
    app: Account | None = None
    ran: list[Ran] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        return self.sim.settings.variables

    # --- what is executed ---------------------------------------------------------------------------------------------------

    def execute(self, run: Run | None, **options: Any) -> Ran:
        """One run from its beginning to its end; see ``begin``."""
        return self.begin(run, **options).wait()

    def pending(self, **options: Any) -> list[Ran]:
        """Every run that the simulator has started and that nobody has executed yet."""
        return [self.execute(run, **options) for run in list(self.sim.workflows.runs) if run.status == "queued"]

    def tick(self, name: str, **options: Any) -> Ran:
        return self.execute(self.sim.workflows.tick(name), **options)

    def dispatch(self, who: Account, name: str, inputs: Mapping[str, str] | None = None, **options: Any) -> Ran:
        return self.execute(self.sim.workflows.dispatch(who, name, self.sim.default, inputs or {}), **options)

    def shipped_run(self, name: str, event: str, who: Account, inputs: Mapping[str, str] | None = None) -> Run:
        """A run of a workflow as it lies in publisher's repository, as if this repository had the same file."""
        now = self.sim.now
        workflow = Workflow(id=self.sim.new_id(), path=f"{FOLDER}/{name}", name=name, state="active", created_at=now)
        return Run(
            id=self.sim.new_id(), number=1, workflow=workflow, event=event, sha=self.sim.git.branch(self.sim.default), at=now,
            started_at=now, branch=self.sim.default, actor=who, triggering=who, inputs=dict(inputs or {}),
            schedule=(workflow_files.crons(workflow_files.read(self.shipped.text(workflow.path))) or [""])[0],
        )  # fmt: skip

    def begin(self, run: Run | None, *, more: Mapping[str, str] | None = None, **drive: str) -> Running:
        """Starts a run. ``drive`` are the driver's variables for the steps of publisher (``at="kill:before:target.switch:1"``);
        ``more`` are variables of every step."""
        assert run is not None, "GitHub would have started no run"
        place = self.folder / f"run-{run.id}-{run.attempt}-{len(self.ran)}-{threading.get_ident()}"
        checkout = self._checkout(run, place)
        text = self._file(run)
        (place / "flows").mkdir()
        (place / "flows" / Path(run.workflow.path).name).write_text(
            workflow_files.runnable(text, NAME, self.shipped.commit), "utf-8"
        )
        flow = workflow_files.read(text)
        (place / "event.json").write_text(json.dumps(self._event(run, flow)))
        asked = self._asked(run, flow)
        command = [*self._command(run, asked, place), "-C", str(checkout), *self._variables(run)]
        process = subprocess.Popen(
            command, env=self._environment(run, asked, place) | self._driven(drive) | dict(more or {}), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        run.status = "in_progress"
        return Running(self, run, process, place)

    def _file(self, run: Run) -> str:
        data = self.sim.git.raw("cat-file", "blob", f"{self._tested(run)}:{run.workflow.path}")
        return data.stdout.decode("utf-8") if data.returncode == 0 else self.shipped.text(run.workflow.path)

    def _checkout(self, run: Run, place: Path) -> Path:
        """Where act reads the event's commit and branch from. The run's own checkout is made by its first step."""
        folder = place / "event"
        Repository(self.folder).git("clone", "--quiet", "--shared", "--no-checkout", str(self.sim.bare), str(folder))
        made = Repository(folder)
        made.git("fetch", "--quiet", "origin", self._tested(run))
        made.git("checkout", "--quiet", "-B", run.branch if not run.pull else "merge", "FETCH_HEAD")
        made.git("remote", "set-url", "origin", self.sim.clone_url)
        return folder

    def _tested(self, run: Run) -> str:
        """The commit that a run is about: for a pull request, what merging it would give."""
        return self.sim.pulls.numbered(run.pull).test_merge if run.pull else run.sha

    def _event(self, run: Run, flow: Mapping[str, Any]) -> dict[str, Any]:
        common = {
            "repository": shapes.minimal_repository(self.sim) | {"default_branch": self.sim.default, "private": self.sim.private},
            "sender": shapes.user(self.sim, run.actor),
        }  # fmt: skip
        if run.event == "pull_request":
            pull = self.sim.pulls.numbered(run.pull)
            more = {"action": "synchronize", "number": run.pull, "pull_request": shapes.pull(self.sim, pull)}
        elif run.event == "workflow_dispatch":
            more = {"inputs": workflow_files.form(flow, run.inputs), "ref": f"refs/heads/{run.branch}"}
        elif run.event == "schedule":
            more = {"schedule": run.schedule}
        else:
            more = {"ref": f"refs/heads/{run.branch}", "after": run.sha}
        return common | more

    # --- act ------------------------------------------------------------------------------------------------------------------

    def _command(self, run: Run, asked: Mapping[str, str], place: Path) -> list[str]:
        given = {"GITHUB_TOKEN": self._token(asked)} | (self.secrets if not self._from_fork(run) else {})
        if self.app:
            given["PUBLISHER_APP_PRIVATE_KEY"] = KEY_OF_APP
        return [
            str(ACT), run.event, "--json", "--eventpath", str(place / "event.json"), "--workflows", str(place / "flows"),
            "--platform", "ubuntu-24.04=-self-hosted", "--container-daemon-socket", "-", "--no-cache-server", "--pull=false",
            "--no-skip-checkout", "--action-offline-mode", "--action-cache-path", str(place / "cache"), "--actor", run.actor.login,
            *(word for one in self.shipped.local_repositories for word in ("--local-repository", one)),
            *(word for name, value in given.items() for word in ("--secret", f"{name}={value}")),
            *(word for name, value in self.variables.items() for word in ("--var", f"{name}={value}")),
        ]  # fmt: skip

    def _variables(self, run: Run) -> list[str]:
        values = {
            "GITHUB_API_URL": self.sim.api_url, "GITHUB_SERVER_URL": self.sim.server_url, "GITHUB_REPOSITORY": self.sim.repository,
            "GITHUB_RUN_ID": str(run.id), "GITHUB_RUN_NUMBER": str(run.number), "GITHUB_RUN_ATTEMPT": str(run.attempt),
            "GITHUB_ACTOR_ID": str(run.actor.id), "GITHUB_TRIGGERING_ACTOR": run.triggering.login,
        }  # fmt: skip
        return [word for name, value in values.items() for word in ("--env", f"{name}={value}")]

    def _environment(self, run: Run, asked: Mapping[str, str], place: Path) -> dict[str, str]:
        """The runner's, with nothing of this machine's but its programs."""
        kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
        home = place / "home"
        home.mkdir()
        values = kept | pip_environment() | {
            "HOME": str(home), "PATH": f"{python_folder(self.folder)}:{os.environ['PATH']}", "STUB_ARTIFACTS": f"{self.url}artifacts",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
        }  # fmt: skip
        if self.app:
            values |= {"STUB_APP_ID": self.app.login, "STUB_APP_KEY": KEY_OF_APP, "STUB_APP_TOKEN": self.app.token}
        if asked.get("id-token") == "write":
            values |= {"ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.url}identity/{run.id}", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": BEARER}
        return values

    def _driven(self, drive: Mapping[str, str]) -> dict[str, str]:
        """The simulator's clock, where a test has set it, is that of the steps too."""
        asked = dict(drive)
        if self.sim._fixed is not None:
            asked.setdefault("now", self.sim.now.isoformat())
        if not asked:
            return {}
        values = {f"DRIVER_{name.upper()}": value for name, value in asked.items()}
        return values | {"DRIVER_FILE": driver.__file__, "PYTHONPATH": str(Path(__file__).parent / "in_step")}

    def _from_fork(self, run: Run) -> bool:
        return bool(run.pull) and self.sim.pulls.numbered(run.pull).fork is not None

    def _asked(self, run: Run, flow: Mapping[str, Any]) -> dict[str, str]:
        """What the jobs of a run ask for together. Where a fork's request started the run, writing is not given."""
        asked = dict(workflow_files.permissions(flow))
        for job in flow["jobs"].values():
            if "uses" in job:
                called = workflow_files.read(self.shipped.text(job["uses"].split(f"{NAME}/")[1].split("@")[0]))
                workflow_files.require_callable(job, called)
        return {scope: "read" if level == "write" and self._from_fork(run) else level for scope, level in asked.items()}

    def _token(self, asked: Mapping[str, str]) -> str:
        """The run's own token."""
        return self.sim.actions_token({scope.replace("-", "_"): level for scope, level in asked.items()}).token


@dataclass
class Running:
    """A run that was started."""

    actions: Actions
    run: Run
    process: subprocess.Popen[str]
    place: Path

    def wait(self) -> Ran:
        try:
            out, err = self.process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            out, err = self.process.communicate()
            err += f"\nkilled after {LONGEST} seconds"
        ran = ran_of(out, err, self.process.returncode)
        self.actions.ran.append(ran)
        self.actions.sim.workflows.finish(self.run, ran.conclusion)
        shutil.rmtree(self.place, ignore_errors=True)
        return ran

    def steps_of_publisher(self) -> list[int]:
        """The processes of ``python -m publisher`` in this run (Linux)."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                here = entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(self.place)
                if here and b"-m\0publisher\0" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


@contextmanager
def actions_at(sim: Simulator, shipped: Shipped, folder: Path) -> Iterator[Actions]:
    """The Actions of a simulated repository, with a place for its artifacts."""
    folder.mkdir(parents=True, exist_ok=True)

    class Services(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._say(*_kept(sim, folder, asked))

        def do_GET(self) -> None:
            """The identity token of a job (docs.github.com, "OpenID Connect"); here it names the run."""
            right = self.headers["Authorization"] == f"Bearer {BEARER}"
            self._say(200 if right else 401, json.dumps({"value": f"identity-of-{self.path.rsplit('/', 1)[1]}"}))

        def _say(self, status: int, says: str) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(says.encode())

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Services)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Actions(sim, shipped, folder, f"http://127.0.0.1:{server.server_port}/")
    finally:
        server.shutdown()
        server.server_close()


def _kept(sim: Simulator, folder: Path, asked: Mapping[str, Any]) -> tuple[int, str]:
    with sim.lock:
        if any((one.run, one.name) == (int(asked["run"]), asked["name"]) for one in sim.pages.artifacts):
            return 409, "an artifact of this name exists in this run"
        copy = folder / "upload"
        hidden = shutil.ignore_patterns(".*") if not asked["hidden"] else shutil.ignore_patterns(".git", ".github")
        shutil.copytree(asked["path"], copy, ignore=hidden)
        number = sim.pages.upload(copy, asked["name"], int(asked["run"]))
        shutil.rmtree(copy)
        return 200, str(number)
