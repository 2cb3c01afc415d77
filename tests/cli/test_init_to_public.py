"""What ``init`` writes is a working instance: its first draft goes through plan, approval and run, and is seen in public."""

from __future__ import annotations

import json
import subprocess

import pytest

from publisher.cli.drafts_site import DraftsSite
from publisher.cli.web_server import Place
from publisher.wiring import open_instance
from tests.cli.test_web_server import get, serving
from tests.support.command_line import publisher
from tests.support.gitrepos import bare, clone
from tests.support.instance_folder import draft, write


@pytest.mark.parametrize("state", ["main", "publisher-state"])
def test_from_nothing_to_public_and_on(tmp_path, state):
    for who in ("planner", "ann"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / who)], check=True)
    remote = bare(tmp_path / "remote.git")
    editor = clone(remote, tmp_path / "editor", "planner")
    with serving(Place(folder=lambda: tmp_path / "public/current")) as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        made = publisher(
            "init", "--site", "garden", "--url", url, "--zone", "Asia/Hong_Kong", "--target", f"directory:{tmp_path}/public",
            "--reviewer", f"ann@example.org={tmp_path}/ann.pub", "--planner", f"planner@example.org={tmp_path}/planner.pub",
            "--on-call", "ann@example.org", "--state-branch", state, "--json", at=editor.path,
        )  # fmt: skip
        assert made.code == 0, made.err
        editor.commit({}, key=tmp_path / "planner")
        editor.push()
        if state != "main":
            editor.git("push", "--quiet", "origin", state)
        editor.git("fetch", "--quiet")
        editor.setting("publisher.signingkey", str(tmp_path / "planner"))
        assert publisher("plan", at=editor.path).code == 0

        reviewer = clone(remote, tmp_path / "reviewer", "ann")
        reviewer.setting("publisher.signingkey", str(tmp_path / "ann"))
        assert publisher("approve", "1", "--yes", at=reviewer.path).code == 0

        ci = clone(remote, tmp_path / "ci", "ci")
        done = publisher("run", "--scheduled", "--json", at=ci.path)
        assert done.code == 0, done.out + done.err
        assert get(tmp_path / "public", "/hello/")[0] == 200

        again = tmp_path / "again"
        clone(bare(tmp_path / "again.git"), again, "planner")
        refused = publisher(
            "init", "--site", "garden", "--url", url, "--zone", "UTC", "--target", "directory:x", "--new-site", at=again
        )
        assert (refused.code, [path.name for path in again.iterdir()]) == (7, [".git"])

    ci.git("fetch", "--quiet")
    write(ci.path, {"drafts/garden/next/index.md": draft("a-0002", body="See [the first one](/hello/).\n")})
    assert publisher("queue", "add", "a-0002", at=ci.path).code == 0
    told: list[str] = []
    coming = DraftsSite(open_instance(ci.path), "garden", unqueued=False, tell=told.append)
    try:
        listed = json.loads((coming.folder() / ".well-known/publisher.json").read_text())["articles"]
    finally:
        coming.close()
    assert [entry["id"] for entry in listed] == ["a-0001", "a-0002"], told
    assert listed[0]["date"][:10] < listed[1]["date"][:10], "the day after the one that is public"
